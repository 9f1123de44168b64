"""Does the true prior lie in the set that an estimate states, and are verdicts right on it?"""
