"""
A reliability diagram without negatives
=======================================

Scores of a thousand known positives and ten thousand unlabeled rows, from a world whose truth is
known. The diagram estimated without a single negative follows the true curve, which replaces both
samples by the laws they were drawn from.
"""

import math

from noneg.plots import ReliabilityDisplay
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.less_calibrated()
scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
display = ReliabilityDisplay.from_scores(scores, name="estimated")

truth = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
ReliabilityDisplay.from_scores(truth, ax=display.ax_, name="true")
