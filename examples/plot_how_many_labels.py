"""
How many labels do I need?
==========================

Before paying for labels, you may want to know how precise the calibration error will be. For a
given tolerance, `noneg.theory.planning` computes the number of labels needed, either from the
typical size of the error or from a bound that holds for every classifier.
"""

import matplotlib.pyplot as plt
import numpy as np

from noneg.theory import plan

print(plan(0.05, prior=0.2, method="normal"))
print(plan(0.05, prior=0.2, method="bound"))

# %%
# The first number reflects the typical error, and the second is guaranteed for any classifier; the
# guarantee is expensive. With a small prior, a few positives go a long way, since the positives
# make up only a small share of the population.

tolerance = np.geomspace(0.01, 0.2, 15)
for prior, marker in ((0.05, "o"), (0.2, "s"), (0.5, "^")):
    needed = [plan(eps, prior=prior, method="normal").n_positive for eps in tolerance]
    plt.loglog(tolerance, needed, marker=marker, label=f"prior {prior}")
plt.xlabel("half-width of the interval of the calibration error")
plt.ylabel("labeled positives")
plt.legend()
