"""
Is the new model better?
========================

Two models scored the same rows, so sampling noise affects both in the same way: the interval for
their *difference* is much shorter than the interval for either model. `noneg.compare` pairs the
rows and reports whether the winner would change under a different prior.
"""

import matplotlib.pyplot as plt
import numpy as np

import noneg

rng = np.random.default_rng(0)
x = rng.normal(size=8000)
positive = rng.random(x.size) < 1 / (1 + np.exp(1 - 2 * x))
labeled = positive & (rng.random(x.size) < 0.3)
models = {
    "old": 1 / (1 + np.exp(1 - 2 * (x + 0.5 * rng.normal(size=x.size)))),
    "new": 1 / (1 + np.exp(1 - 2 * (x + 0.4 * rng.normal(size=x.size)))),
    "new, overconfident": 1 / (1 + np.exp(2 - 4 * (x + 0.4 * rng.normal(size=x.size)))),
}
prior = float(positive.mean())
found = noneg.compare(models, labeled, setting="one-sample", prior=prior)
print(found)

# %%
# The two new models are equally good at ranking and in their decisions at a threshold of one half.
# Proper scoring rules and the calibration error separate them.

fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, criterion in zip(axes, ("proxy_auc", "brier", "ece"), strict=True):
    for row, score in enumerate(models.values()):
        scores = noneg.PUScores.from_pu_labels(labeled, score, prior=prior, setting="one-sample")
        estimate = noneg.estimate(criterion, scores)
        ax.plot([estimate.low, estimate.high], [row, row], color="black")
        ax.plot(estimate.value, row, "o", color="C0")
    ax.set(title=criterion, yticks=range(3), yticklabels=models)
