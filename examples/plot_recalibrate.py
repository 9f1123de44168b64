"""
Repairing probabilities without a negative
==========================================

These scores rank well but are poorly calibrated. A calibrator learns the map from score to
probability from positives and unlabeled rows, and no row is evaluated with a map fitted to it.
"""

import json

import matplotlib.pyplot as plt
import numpy as np

import noneg
from noneg.recalibration import Auto, held_out, load
from noneg.simulation import LogisticGaussian

world = LogisticGaussian.less_calibrated()
scores = world.draw(1000, 10_000, setting="two-sample", seed=5)

# %%
# `Auto` tries the methods on held-out folds and explains its choice.

calibrator = Auto().fit(scores)
print(calibrator.reason_)

# %%
# Compare held-out rows before and after, with an interval for the change.

print(held_out("auto", scores))

# %%
# Compare the map with the truth, which is known in this simulation.

s = np.linspace(0.01, 0.99, 200)
plt.plot(s, s, color="gray", linestyle=":", label="as it was")
plt.plot(s, world.posterior(s), color="black", label="truth")
plt.plot(s, calibrator.transform(s), label=f"Auto: {calibrator.chosen_.name}")
plt.xlabel("score")
plt.ylabel("probability")
plt.legend()

# %%
# Recalibrate new rows from the same simulation, and evaluate them with their true labels. The map
# is stored as JSON.

text = calibrator.to_json()
print(json.dumps(json.loads(text), indent=2)[:300])

new, hidden = world.draw_rows(20_000, seed=6)
for name, values in {"before": new, "after": load(text).transform(new)}.items():
    rows = noneg.PUScores.from_labels(hidden, values)
    print(f"{name:8}true calibration error {noneg.estimate('ece', rows)}")
