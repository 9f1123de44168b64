"""
A reliability diagram without negatives
=======================================

This example uses scores of a thousand known positives and ten thousand unlabeled rows, from a
simulation with known truth. The diagram, estimated without a single negative, follows the true
curve, which is computed from the distributions that both samples were drawn from.
"""

import math

from noneg.plots import ReliabilityDisplay
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.less_calibrated()
scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
display = ReliabilityDisplay.from_scores(scores, name="estimated")

truth = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
ReliabilityDisplay.from_scores(truth, ax=display.ax_, name="true")
