"""
Payments: confirmed frauds and the unreviewed rest
==================================================

A bank scores every payment. Investigators confirm some of the frauds; payments that were never
reviewed have no label, and no payment is ever marked as legitimate. Can the scores be trusted, and
above which score should a payment be held back?
"""

# %%
# One sample
# ----------
# The confirmed frauds are among the payments of the same month, so this is the one-sample setting.
# An audit of a few hundred random payments found 2% fraud, which is the prior. We simulate a month
# with known truth; noneg sees only the first two arrays.

import numpy as np

import noneg
from noneg.plots import ReliabilityDisplay

rng = np.random.default_rng(1)
risk = rng.beta(0.4, 19.6, 60_000)
fraud = rng.random(risk.size) < risk
confirmed = fraud & (rng.random(risk.size) < 0.5)
score = risk**0.75  # the model is overconfident

scores = noneg.PUScores.from_pu_labels(confirmed, score, prior=0.02, setting="one-sample")
ReliabilityDisplay.from_scores(scores, binning="mass", name="payments")

# %%
# A naive evaluation of the same file counts every unreviewed payment as legitimate, which makes the
# model look even worse than it is. The simulated truth shows which of the two is right.

as_if_honest = noneg.PUScores.from_labels(confirmed, score)
print("PU:                 ", noneg.estimate("ece", scores))
print("unreviewed = honest:", noneg.estimate("ece", as_if_honest))
print(f"truth:               {np.abs(score - risk).mean():.4f}")

# %%
# Which payments to hold back
# ---------------------------
# A missed fraud costs a hundred times as much as a needless call to a customer. `best_threshold`
# takes the cost matrix and returns the threshold, with the confusion matrix at that threshold.

from noneg.performance import best_threshold

costs = [[0, 1], [100, 0]]  # rows: legitimate, fraud; columns: let through, held back
best = best_threshold(scores, cost=costs)
print(best)

# %%
# If every label were known, the chosen threshold would be nearly the same.

hidden_truth = noneg.PUScores.from_labels(fraud, score)
print(best_threshold(hidden_truth, cost=costs))
