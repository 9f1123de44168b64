"""Studies in populations whose calibration is known exactly: coverage, metrics, and bias of
PU-ECE."""
