"""
Genes: a hundred known, nine hundred unknown
============================================

Of 986 genes related to aging, 110 are known to be linked to dietary restriction; the status of the
others is unknown. These are naturally PU data: there are no known negatives, and the prior is
unknown too.

The table is read from the folder in the environment variable ``NONEG_DATA``. Without it, a
synthetic table of the same shape is used.
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
# Compute scores from a random forest that separates known from unknown genes; each gene is scored
# by trees that were not trained on it.

forest = ExtraTreesClassifier(300, min_samples_leaf=2, class_weight="balanced", random_state=0)
folds = PUStratifiedKFold(5, setting="one-sample", random_state=0)
score = cross_val_predict(forest, X, known, cv=folds, method="predict_proba")[:, 1]

# %%
# How many are there?
# -------------------
# The scores give an upper bound. The interval is wide, and the analysis below takes it into
# account.

share = known.mean()
rows = noneg.PUScores.from_pu_labels(known, score, prior=float(share), setting="one-sample")
prior = estimate_prior(rows)
print(prior)
print(prior.assumption)

# %%
# How good is the ranking?
# ------------------------
# The plot shows the curve at the estimated prior, and the region that contains the true curve if
# the known genes are a random sample of all genes linked to dietary restriction.

value, low, high = prior.value, max(prior.low, share), prior.high
scores = rows.with_prior(value, interval=(low, high))
PURocDisplay.from_scores(scores)
print(noneg.estimate("auroc", scores))
print(noneg.estimate("lift_at", scores, k=0.05))

# %%
# Are the scores probabilities?
# -----------------------------
# The forest was trained to separate known from unknown genes, so its scores need not be
# probabilities. Their calibration error depends on the prior, but varies little within the prior's
# interval (shaded).

PriorSensitivityDisplay.from_scores(scores)
