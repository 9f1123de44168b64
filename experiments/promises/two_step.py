"""Training on certified negatives as a second step, compared with existing learners.

Step one separates labeled from unlabeled rows, out of fold; step two trains on the labeled
positives and the certified negatives. One sample, 15% of the positives labeled, known prior.
"""

from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from experiments.study import seeded
from experiments.tables import Row
from noneg import PUScores
from noneg.learning.tabular import BaggingPU, WeightedPU
from noneg.performance import certified_negatives
from noneg.sklearn import PUStratifiedKFold

DATA = ("Gaussians", "letter", "usps")
RATES = (0.05, 0.1)
LABELED, TRAIN, ROWS = 0.15, 4000, 6000
SETTING = "one-sample"


def load(name: str, folder: Path | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if name == "Gaussians":
        y = rng.random(ROWS) < 0.2
        x = rng.normal(size=(ROWS, 6)) + 1.2 * y[:, None] * (np.arange(6) < 2)
    else:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
            x, y = (
                (z["X"], z["y"] < 13) if name == "letter" else (z["X_train"], z["y_train"] % 2 == 0)
            )
    kept = rng.permutation(len(y))[:ROWS]
    return StandardScaler().fit_transform(x[kept].astype(float)), y[kept]


def new(model: str):
    if model == "logistic":
        return LogisticRegression(max_iter=200)
    return HistGradientBoostingClassifier(max_iter=50, random_state=0)


def learn(data: str, model: str, trial: int, folder: Path | None) -> list[Row]:
    """Return the test AUROC of each learner."""
    rng = seeded("two-step", data, trial)
    x, y = load(data, folder, rng)
    labeled = y & (rng.random(y.size) < LABELED)
    rows, flags, prior = x[:TRAIN], labeled[:TRAIN], float(y.mean())
    learners = {
        "labeled against unlabeled": lambda: new(model).fit(rows, flags),
        "WeightedPU": lambda: WeightedPU(new(model), setting=SETTING, prior=prior).fit(rows, flags),
        "BaggingPU": lambda: BaggingPU(new(model), setting=SETTING, prior=prior).fit(rows, flags),
        **{
            f"two steps, q = {q:g}": lambda q=q: two_steps(model, rows, flags, prior, q)
            for q in RATES
        },
    }
    found = []
    for name, fit in learners.items():
        fitted = fit()
        area = np.nan
        if fitted is not None:
            area = roc_auc_score(y[TRAIN:], fitted.predict_proba(x[TRAIN:])[:, 1])
        found.append({"learner": name, "auroc": area})
    return found


def two_steps(model: str, rows: np.ndarray, flags: np.ndarray, prior: float, q: float):
    """Return the second classifier, or None if too few rows are certified."""
    folds = PUStratifiedKFold(3, setting=SETTING)
    s = cross_val_predict(new(model), rows, flags, cv=folds, method="predict_proba")[:, 1]
    scores = PUScores.from_pu_labels(flags, s, prior=prior, setting=SETTING)
    negative = (s <= certified_negatives(scores, fdr=q).cutoff) & ~flags
    if negative.sum() < 20:
        return None
    used = flags | negative
    return new(model).fit(rows[used], flags[used])
