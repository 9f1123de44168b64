"""
Genes: a hundred known, nine hundred unknown
============================================

110 of 986 genes that have to do with ageing are known to be linked to dietary restriction; of the
others nobody knows. This is PU data by nature: there is no negative to be had, and nobody knows
the prior either.

The table is read from the folder named by ``NONEG_DATA``. Without it a made-up table of the same
shape takes its place.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_predict

import noneg
from noneg.plots import PriorSensitivityDisplay, PURocDisplay
from noneg.prior import estimate_prior
from noneg.sklearn import PUStratifiedKFold

file = Path(os.environ.get("NONEG_DATA", "")) / "pu_dr_genes_pathdip.npz"
if file.is_file():
    table = np.load(file)
    X, known = table["X"], table["s"] == 1
else:
    rng = np.random.default_rng(0)
    linked = rng.random(986) < 0.3
    X = rng.random((986, 400)) < 0.02 + 0.05 * linked[:, None] * (np.arange(400) < 60)
    known = linked & (rng.random(986) < 0.37)
print(f"{known.sum()} known genes, {(~known).sum()} unknown, {X.shape[1]} pathways")

# %%
# Scores of a forest that tells known genes from unknown ones, each gene scored by trees that have
# not seen it.

forest = ExtraTreesClassifier(300, min_samples_leaf=2, class_weight="balanced", random_state=0)
folds = PUStratifiedKFold(5, setting="one-sample", random_state=0)
score = cross_val_predict(forest, X, known, cv=folds, method="predict_proba")[:, 1]

# %%
# How many are there?
# -------------------
# The scores bound the answer from above. The interval is wide; the honest thing is to carry it
# along.

share = known.mean()
rows = noneg.PUScores.from_pu_labels(known, score, prior=float(share), setting="one-sample")
prior = estimate_prior(rows)
print(prior)
print(prior.assumption)

# %%
# How good is the ranking?
# ------------------------
# The curve at the estimated prior, and the region in which the true curve lies if the genes that
# became known are like those that did not.

value, low, high = prior.value, max(prior.low, share), prior.high
scores = rows.with_prior(value, interval=(low, high))
PURocDisplay.from_scores(scores)
print(noneg.estimate("auroc", scores))
print(noneg.estimate("lift_at", scores, k=0.05))

# %%
# Are the scores probabilities?
# -----------------------------
# They were trained to tell known genes from unknown ones, so there is no reason that they should
# be. How far they are off depends on the prior, within its interval (shaded) by little.

PriorSensitivityDisplay.from_scores(scores)
