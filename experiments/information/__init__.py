"""Calibration on seen and unseen rows (Futami & Fujisawa, 2024)."""
