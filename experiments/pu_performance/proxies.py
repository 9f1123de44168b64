"""Proxy accuracy and proxy AUC against what they stand for, on USPS digits.

Propositions 1 and 2 and the shape of Section 4.3 (internal label shift) of "Accessible, Realistic,
and Fair Evaluation of Positive-Unlabeled Learning Algorithms", with scikit-learn classifiers.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from common import auc, seeded, write_csv
from scipy.optimize import minimize
from scipy.special import expit

from noneg import PUScores
from noneg.performance.selection import proxy_accuracy, proxy_auc

if TYPE_CHECKING:
    from pathlib import Path

    from common import Row

CASES = {"case 1": (4, 7, 9, 5, 8), "case 2": (1, 6, 4, 9, 8)}
N_TRAIN, LABELLED = 4000, 0.3  # rows, and the share of positives labelled
SIZES = (250, 1000, 4000)  # rows of a validation set
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def load(folder: Path, case: str):
    """Rows for training, rows for validation and test rows, each with labels."""
    with np.load(folder / "usps.npz", allow_pickle=False) as z:
        x, y = z["X_train"].astype(np.float64), np.isin(z["y_train"], CASES[case]).astype(int)
        test = z["X_test"].astype(np.float64), np.isin(z["y_test"], CASES[case]).astype(int)
    order = seeded("usps", case).permutation(y.size)
    train, rest = order[:N_TRAIN], order[N_TRAIN:]
    return (x[train], y[train]), (x[rest], y[rest]), test


def classifiers() -> dict[str, object]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    found = {f"logistic, C = {c:g}": LogisticRegression(C=c, max_iter=500) for c in (1e-5, 1e-3, 0.1)}
    found |= {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 5, 25, 100)}
    found |= {f"tree, depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 6)}
    found["naive Bayes"] = GaussianNB()
    found["forest"] = RandomForestClassifier(100, random_state=0)
    found["boosting"] = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    return found


def fitted_scores(train, rest, case: str) -> dict[str, np.ndarray]:
    """Validation scores of classifiers that took unlabeled training rows for negatives.

    Each one comes twice: as it is, and with its scores raised (on the logit scale) so that the
    share of rows called positive is the prior.
    """
    x, y = train
    labeled = (y == 1) & (seeded("labels", case).random(y.size) < LABELLED)
    scores: dict[str, np.ndarray] = {}
    for name, model in classifiers().items():
        p = model.fit(x, labeled).predict_proba(rest[0])[:, 1]
        p = p + 1e-7 * seeded("ties", name).random(p.size)  # the order of ties, once and for all
        scores[name] = np.clip(p, 0.0, 1.0)
        cut = np.quantile(scores[name], 1.0 - y.mean())
        scores[f"{name}, moved"] = _moved(scores[name], float(cut))
    return scores


def _moved(p: np.ndarray, cut: float) -> np.ndarray:
    """Map scores monotonically so that the cut becomes one half."""
    return np.where(p < cut, p / (2.0 * cut), 0.5 + (p - cut) / (2.0 * max(1.0 - cut, 1e-12)))


def validation(y: np.ndarray, n: int, setting: str, rng: np.random.Generator):
    """Rows of a PU validation set drawn from the pool: labelled positives, unlabeled ones."""
    if setting == "one-sample":
        rows = rng.integers(y.size, size=n)
        flags = (y[rows] == 1) & (rng.random(n) < LABELLED)
        return rows[flags], rows[~flags]
    n_known = round(LABELLED * y.mean() * n)
    return rng.choice(np.flatnonzero(y), n_known), rng.integers(y.size, size=n - n_known)


def published(known: np.ndarray, rest: np.ndarray, prior: float) -> float:
    """Proxy accuracy as the benchmark's code has it in one sample."""
    hits = (known >= 0.5).mean()
    return 2.0 * prior * hits + (known >= 0.5).sum() / (known.size + rest.size) + (
        rest < 0.5
    ).sum() / (known.size + rest.size)


def measure(scores: dict[str, np.ndarray], y: np.ndarray, setting: str, n: int, trials: int):
    """Proxies of every classifier on many validation sets: arrays (trial, classifier)."""
    prior = float(y.mean())
    values = np.empty((3, trials, len(scores)))
    for trial in range(trials):
        known, rest = validation(y, n, setting, seeded("validation", setting, n, trial))
        for k, s in enumerate(scores.values()):
            pu = PUScores(s[known], s[rest], prior=0.999, setting="two-sample")
            ppr = (s[rest] >= 0.5).mean() if setting == "two-sample" else None
            values[0, trial, k] = (
                proxy_accuracy(pu.with_prior(prior))
                if ppr is not None
                else 2 * prior * (s[known] >= 0.5).mean() + (np.append(s[known], s[rest]) < 0.5).mean()
            )
            values[1, trial, k] = proxy_auc(pu)
            values[2, trial, k] = published(s[known], s[rest], prior)
    return values
