"""Bounds on performance and proxies of it (Claesen et al., 2015; the PU benchmark paper)."""
