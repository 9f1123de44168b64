"""
A threshold with a precision of at least 90%
============================================

Everyone above the threshold gets a letter, and nine in ten letters should reach the right people.
Precision depends on the number of false positives, which is unknown. The scores of known positives
and of a sample of the population are enough to estimate it.
"""

# %%
# Simulate known positives and a sample of a population with 30% positives.

import matplotlib.pyplot as plt
import numpy as np

import noneg
from noneg.performance import best_threshold
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.better_calibrated()
scores = world.draw(2000, 20_000, setting="two-sample", seed=3)

choice = best_threshold(scores, precision=0.9)
print(choice)

# %%
# The estimate is the lowest threshold with an estimated precision of 90%, so its true precision is
# about 90% and in half of all samples a little less. To be on the safe side, require it for the
# lower end of the interval.

thresholds = np.linspace(0.3, 0.95, 40)
precision = [noneg.estimate("precision", scores, threshold=t) for t in thresholds]
recall = [noneg.estimate("recall", scores, threshold=t) for t in thresholds]
safe = thresholds[np.argmax([found.low >= 0.9 for found in precision])]

for name, found in (("precision", precision), ("recall", recall)):
    plt.plot(thresholds, [estimate.value for estimate in found], label=name)
    low, high = ([getattr(estimate, end) for estimate in found] for end in ("low", "high"))
    plt.fill_between(thresholds, low, high, alpha=0.25)
plt.axhline(0.9, color="gray", linestyle=":")
plt.axvline(choice.threshold, color="black", linestyle="--", label="first at 90%")
plt.axvline(safe, color="black", label="surely at 90%")
plt.xlabel("threshold")
plt.legend()

# %%
# The true precision at both thresholds:

exact = world.draw(np.inf, np.inf, setting="two-sample", seed=0)
for name, t in {"first": choice.threshold, "surely": safe}.items():
    print(f"{name:8}{t:.3f}  precision {noneg.performance.precision(exact, threshold=t):.3f}")
