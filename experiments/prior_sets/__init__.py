"""Does the stated set contain the true prior, and are the verdicts right?"""
