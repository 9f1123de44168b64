"""
Repairing probabilities without a negative
==========================================

The scores order well and lie about their size. A calibrator learns the map from score to
probability from positives and unlabeled rows; no row is judged by a map that has seen it.
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
# `Auto` tries the methods on held-out folds and says why it took the one it took.

calibrator = Auto().fit(scores)
print(calibrator.reason_)

# %%
# Before and after, on rows that were held out, with the interval of the change.

print(held_out("auto", scores))

# %%
# The map beside the truth, which this world knows.

s = np.linspace(0.01, 0.99, 200)
plt.plot(s, s, color="grey", linestyle=":", label="as it was")
plt.plot(s, world.posterior(s), color="black", label="truth")
plt.plot(s, calibrator.transform(s), label=f"Auto: {calibrator.chosen_.name}")
plt.xlabel("score")
plt.ylabel("probability")
plt.legend()

# %%
# New rows of the same world, repaired, and judged by the labels that were hidden so far. The map
# travels as JSON, which anybody can read.

text = calibrator.to_json()
print(json.dumps(json.loads(text), indent=2)[:300])

new, hidden = world.draw_rows(20_000, seed=6)
for name, values in {"before": new, "after": load(text).transform(new)}.items():
    rows = noneg.PUScores.from_labels(hidden, values)
    print(f"{name:8}true calibration error {noneg.estimate('ece', rows)}")
