"""
Several classes
===============

Calibration of several classes is the calibration of several binary questions, one per class: "this
class or another?" With labels, temperature and vector scaling act on all logits at once; without
negatives, each class is recalibrated using its own known rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import noneg
from noneg.calibration import classwise_ece, one_vs_rest, top_label
from noneg.recalibration import OneVsRest, TemperatureScaling, VectorScaling

X, y = load_digits(return_X_y=True)
noise = np.random.default_rng(0).normal(scale=4.0, size=X.shape)
prob = cross_val_predict(GaussianNB(var_smoothing=1e-3), X + noise, y, cv=5, method="predict_proba")
half = np.arange(len(y)) % 2 == 0
print("top label:", noneg.estimate("ece", top_label(y, prob)))
print(f"classwise: {classwise_ece(one_vs_rest(y, prob)):.4f}")

# %%
# Naive Bayes is far too confident. Here are maps fitted to the labels of one half of the rows and
# evaluated on the other half:

logits = np.log(np.clip(prob, 1e-12, None))
repaired = {"as it is": prob[~half]}
for scaling in (TemperatureScaling(), VectorScaling()):
    fitted = scaling.fit(logits[half], y[half])
    repaired[type(scaling).__name__] = fitted.predict_proba(logits[~half])

# %%
# Now without negatives: a third of the rows of each class are known, and all others are unlabeled.

rng = np.random.default_rng(1)
known = half & (rng.random(len(y)) < 0.33)
classes = [
    noneg.PUScores.from_pu_labels(
        (known & (y == k))[half],
        prob[half, k],
        prior=float((y[half] == k).mean()),
        setting="one-sample",
    )
    for k in range(10)
]
repaired["OneVsRest, PU"] = OneVsRest("platt").fit(classes).predict_proba(prob[~half])

# %%

for name, p in repaired.items():
    print(
        f"{name:20} top label {noneg.ece(top_label(y[~half], p)):.4f}   "
        f"classwise {classwise_ece(one_vs_rest(y[~half], p)):.4f}   "
        f"accuracy {(p.argmax(axis=1) == y[~half]).mean():.3f}"
    )

fig, ax = plt.subplots(layout="constrained")
ax.plot([0, 1], [0, 1], color="gray", linestyle=":")
for (name, p), style in zip(repaired.items(), ("o-", "s--", "^-.", "D:"), strict=True):
    curve = noneg.calibration.reliability(top_label(y[~half], p), bins=8, binning="mass")
    ax.plot(curve.score, curve.frequency, style, label=name)
ax.set(xlabel="confidence in the top label", ylabel="how often it is right")
ax.legend()
