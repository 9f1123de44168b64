"""
Is the new model better?
========================

Two models scored the same rows, so chance hits both alike: the interval of their *difference* is
much shorter than that of either. `noneg.compare` pairs the rows, and says whether the winner
would change if the prior were another.
"""

import matplotlib.pyplot as plt
import numpy as np

import noneg

rng = np.random.default_rng(0)
x = rng.normal(size=8000)
positive = rng.random(x.size) < 1 / (1 + np.exp(1 - 2 * x))
labelled = positive & (rng.random(x.size) < 0.3)
models = {
    "old": 1 / (1 + np.exp(1 - 2 * (x + 0.5 * rng.normal(size=x.size)))),
    "new": 1 / (1 + np.exp(1 - 2 * (x + 0.4 * rng.normal(size=x.size)))),
    "new, overconfident": 1 / (1 + np.exp(2 - 4 * (x + 0.4 * rng.normal(size=x.size)))),
}
prior = float(positive.mean())
found = noneg.compare(models, labelled, setting="one-sample", prior=prior)
print(found)

# %%
# Decisions at one half and the order of scores like the two new models alike. Proper scores and
# the calibration error tell them apart.

fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, criterion in zip(axes, ("proxy_auc", "brier", "ece"), strict=True):
    for row, score in enumerate(models.values()):
        scores = noneg.PUScores.from_pu_labels(labelled, score, prior=prior, setting="one-sample")
        estimate = noneg.estimate(criterion, scores)
        ax.plot([estimate.low, estimate.high], [row, row], color="black")
        ax.plot(estimate.value, row, "o", color="C0")
    ax.set(title=criterion, yticks=range(3), yticklabels=models)
