"""
Images: which digits have a loop?
=================================

In scikit-learn's digits, 0, 6, 8 and 9 have a loop. A third of those images are labeled, and no
others. A small convolutional network is trained on these data with nnPU, and its probabilities are
recalibrated on held-out rows without negatives.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from torch import nn

import noneg
from noneg.learning import PUClassifier
from noneg.plots import ReliabilityDisplay

images, digit = load_digits(return_X_y=True)
images = images.astype(np.float32).reshape(-1, 1, 8, 8) / 16
loop = np.isin(digit, [0, 6, 8, 9])
rng = np.random.default_rng(0)
labeled = loop & (rng.random(loop.size) < 0.33)
train = rng.random(loop.size) < 0.6
prior = float(loop.mean())
print(f"{labeled[train].sum()} labeled, {(~labeled[train]).sum()} unlabeled images to learn from")


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 1),
        nn.Flatten(0),
    )


# %%
# Any module that outputs one number per row will work.

model = PUClassifier(
    "nnpu",
    setting="one-sample",
    prior=prior,
    network=network,
    epochs=25,
    batch_size=64,
    folds=2,
    standardize=False,
)
model.fit(images[train], labeled[train])
probability = model.predict_proba(images[~train])[:, 1]

# %%
# Estimates without the true labels, and with them:

blind = noneg.PUScores.from_pu_labels(
    labeled[~train], probability, prior=prior, setting="one-sample"
)
truth = noneg.PUScores.from_labels(loop[~train], probability)
for name in ("accuracy", "auroc", "ece"):
    print(f"{name:10} {noneg.estimate(name, blind)}   true {noneg.estimate(name, truth)}")
ReliabilityDisplay.from_scores(blind, bins=8, binning="mass", name="without answers")

# %%
# The images with probabilities near one half, where the network is least certain.

unsure = np.argsort(np.abs(probability - 0.5))[:12]
fig, axes = plt.subplots(2, 6, figsize=(8, 3), layout="constrained")
for ax, i in zip(axes.flat, unsure, strict=True):
    ax.imshow(images[~train][i, 0], cmap="gray_r")
    ax.set(title=f"{probability[i]:.2f}", xticks=[], yticks=[])
