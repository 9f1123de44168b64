"""Are guaranteed thresholds reliable, and what do they cost?"""
