"""
Clicks: when positives are not labeled at random
=================================================

A shop records which items were clicked. Items without a click may have been disliked or simply not
seen. Clicks are positives, and all other pairs of user and item are unlabeled. Items at the top of
the page are clicked more often, so clicks are *not* a random sample of the items people like, as
most PU estimators assume. If the probability of being seen is known, this bias can be corrected.
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
# The old recommender put the items it rated best at the top, where users saw them.

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
# The first column treats clicks as a random sample: the model looks miscalibrated and too good at
# ranking, because items with high scores had been shown more often. The second column weights each
# click by the inverse of the probability that it was seen, and agrees with the hidden truth in the
# third column.

fig, ax = plt.subplots(layout="constrained")
ax.plot([0, 1], [0, 1], color="gray", linestyle=":")
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
