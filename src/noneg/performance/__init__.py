"""Performance: risk, threshold metrics, curves, bounds, selection, assumptions."""
