"""Calibration of networks trained without negatives (the PU-ECE paper)."""
