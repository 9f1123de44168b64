"""Do promised thresholds keep their promise, and what do they buy?"""
