"""Estimators of the class prior, ours and published ones, on mixtures with a known share."""
