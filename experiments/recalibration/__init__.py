"""Recalibration with and without labels."""
