"""
How many labels do I need?
==========================

Before anybody pays for labels: how precise will the calibration error be? `noneg.theory.planning`
answers for a tolerance: by the usual size of the error, or by a bound that holds for every
classifier.
"""

import matplotlib.pyplot as plt
import numpy as np

from noneg.theory import plan

print(plan(0.05, prior=0.2, method="normal"))
print(plan(0.05, prior=0.2, method="bound"))

# %%
# The first is what usually happens, the second what is promised whatever the classifier: theory
# is expensive. With a small prior a few positives go a long way, since together they stand for
# little mass.

tolerance = np.geomspace(0.01, 0.2, 15)
for prior, marker in ((0.05, "o"), (0.2, "s"), (0.5, "^")):
    needed = [plan(eps, prior=prior, method="normal").n_positive for eps in tolerance]
    plt.loglog(tolerance, needed, marker=marker, label=f"prior {prior}")
plt.xlabel("half-width of the interval of the calibration error")
plt.ylabel("labelled positives")
plt.legend()
