"""
Payments: confirmed frauds and the unreviewed rest
==================================================

A bank scores every payment. Investigators confirm some of the frauds; whatever nobody looked at
has no label, and nobody ever writes "this one was fine". Can the scores be trusted, and from
which score on should a payment be held back?
"""

# %%
# One sample
# ----------
# Confirmed payments are some of the payments of the same month, so the setting is one sample. An
# audit of a few hundred random payments found 2 % frauds: that is the prior. We draw a month
# whose truth we know; noneg sees only the first two arrays.

import numpy as np

import noneg
from noneg.plots import ReliabilityDisplay

rng = np.random.default_rng(1)
risk = rng.beta(0.4, 19.6, 60_000)
fraud = rng.random(risk.size) < risk
confirmed = fraud & (rng.random(risk.size) < 0.5)
score = risk**0.75  # the model says more than is true

scores = noneg.PUScores.from_pu_labels(confirmed, score, prior=0.02, setting="one-sample")
ReliabilityDisplay.from_scores(scores, binning="mass", name="payments")

# %%
# A naive look at the same file counts every unreviewed payment as honest, and calls the model
# even worse than it is. This world's truth tells which of the two is right.

as_if_honest = noneg.PUScores.from_labels(confirmed, score)
print("PU:                 ", noneg.estimate("ece", scores))
print("unreviewed = honest:", noneg.estimate("ece", as_if_honest))
print(f"truth:               {np.abs(score - risk).mean():.4f}")

# %%
# Which payments to hold back
# ---------------------------
# A missed fraud costs a hundred times what a needless call to a customer costs. `cost` takes the
# table of costs; a threshold follows, with the table of what happens there.

from noneg.performance import best_threshold

costs = [[0, 1], [100, 0]]  # rows: honest, fraud; columns: let through, held back
best = best_threshold(scores, cost=costs)
print(best)

# %%
# With every label known, the choice would have been nearly the same.

hidden_truth = noneg.PUScores.from_labels(fraud, score)
print(best_threshold(hidden_truth, cost=costs))
