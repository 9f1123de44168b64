"""Calibration by binomial process modelling (Dong et al., AAAI 2025)."""
