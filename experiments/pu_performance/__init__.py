"""Bounds on performance, and proxy metrics (Claesen et al., 2015; the PU benchmark paper)."""
