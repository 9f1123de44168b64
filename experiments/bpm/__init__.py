"""Calibration by binomial process modeling (Dong et al., AAAI 2025)."""
