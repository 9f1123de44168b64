"""
Clicks: when positives are not labelled at random
=================================================

A shop knows what was clicked, and nothing about what was not: not seen, or not liked? Clicks are
positives, all other pairs of user and item are unlabeled. What is shown at the top of the page is
clicked more often, so the clicks are *not* a random sample of what people like, and that is what
most PU estimators assume. If the chance to be seen is known, it can be repaired.
"""

import matplotlib.pyplot as plt
import numpy as np

import noneg

rng = np.random.default_rng(4)
n = 60_000
taste = rng.normal(size=n)
likes = rng.random(n) < 1 / (1 + np.exp(2 - 2 * taste))
score = 1 / (1 + np.exp(2 - 2 * taste))  # perfectly calibrated

# %%
# The old recommender put what it thought good at the top, where it was seen.

seen = 1 / (1 + np.exp(-0.5 - 1.2 * taste))
clicked = likes & (rng.random(n) < seen)
prior = float(likes.mean())

naive = noneg.PUScores.from_pu_labels(clicked, score, prior=prior, setting="one-sample")
weighed = noneg.PUScores.from_pu_labels(
    clicked, score, prior=prior, setting="one-sample", propensity=seen
)
truth = noneg.PUScores.from_labels(likes, score)

for name in ("ece", "auroc", "recall", "precision"):
    values = [noneg.estimate(name, found) for found in (naive, weighed, truth)]
    print(f"{name:10}", "   ".join(map(str, values)))

# %%
# The first column takes clicks for a random sample: the model looks miscalibrated and too good at
# ranking, because whatever scored high had been shown more. The second weighs each click by one
# over the chance that it was seen, and agrees with the hidden truth in the third.

fig, ax = plt.subplots(layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", linestyle=":")
shown = (("clicks as they come", naive, "o"), ("weighed by exposure", weighed, "s"))
for name, found, marker in shown:
    curve = noneg.calibration.reliability(found, bins=10, binning="mass")
    ax.errorbar(
        curve.score,
        curve.frequency,
        yerr=[curve.frequency - curve.low, curve.high - curve.frequency],
        marker=marker,
        capsize=3,
        label=name,
    )
ax.set(xlabel="score", ylabel="share of likes")
ax.legend()
