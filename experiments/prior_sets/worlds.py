"""Scores with a known prior: classes far apart, overlapping, alike in part; and real models."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from noneg import PUScores
from noneg.prior import ScoreLaws

# What the positives are shifted by (in standard deviations), and what is odd about the negatives.
FAR = {
    "far apart": 4.0,
    "apart": 3.0,
    "some overlap": 2.0,
    "heavy overlap": 1.0,
    "negatives wider": 2.0,
    "a fifth of the negatives alike": 3.0,
}
# Calibrated scores that follow a beta law: the larger its size, the less the scores tell.
BETA = {"calibrated, sharp": 1.0, "calibrated, vague": 3.0}
WORLDS = (*FAR, *BETA)
# Somewhere negatives are negligible against positives.
IRREDUCIBLE = ("far apart", "apart", "some overlap", "heavy overlap", *BETA)


def rows(world: str, prior: float, n: int, rng, *, positive: bool) -> np.ndarray:
    """Return scores of one class on the logit scale."""
    if world in BETA:
        b = BETA[world]
        a = prior * b / (1.0 - prior)
        s = rng.beta(a + 1.0, b, n) if positive else rng.beta(a, b + 1.0, n)
        return logit(np.clip(s, 1e-12, 1.0 - 1e-12))
    far, z = FAR[world], rng.normal(size=n)
    if world == "negatives wider" and not positive:
        z *= 1.5
    alike = world.startswith("a fifth") and not positive and rng.random(n) < 0.2
    return far * (far * (positive | np.asarray(alike)) + z)


def laws(world: str, prior: float, size: int, setting: str, rng) -> ScoreLaws:
    """Draw positives and unlabeled rows: so many positives, and ten times the rows."""
    m = 10 * size
    if setting == "two-sample":
        p, hidden = rows(world, prior, size, rng, positive=True), rng.binomial(m, prior)
    else:
        # A third of the positives is labeled.
        every = rng.binomial(m, prior)
        labeled = max(1, rng.binomial(every, 1.0 / 3.0))
        p, hidden = rows(world, prior, labeled, rng, positive=True), every - labeled
        m -= labeled
    u = [
        rows(world, prior, n, rng, positive=kind)
        for n, kind in ((hidden, True), (m - hidden, False))
    ]
    return ScoreLaws.from_arrays(p, np.concatenate(u), setting=setting, scale="logit")


REAL = ("credit", "covtype", "spambase", "letter", "usps", "mnist")
MODELS = ("logistic", "boosting", "bayes")
SYNTHETIC = ("calibrated, sharp", "calibrated, vague", "logistic-normal")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a real data set, at most 24,000 rows."""
    folder = Path(os.environ["NONEG_DATA"])
    file = {"credit": "uci_credit_default"}.get(name, name)
    with np.load(folder / f"{file}.npz") as found:
        names = set(found.files)
        if name == "covtype":
            X, y = found["quantitative"], found["cover_type"]
        elif "X" in names:
            X, y = found["X"], found["y"]
        else:
            X = np.concatenate([found["X_train"], found["X_test"]])
            y = np.concatenate([found["y_train"], found["y_test"]])
    keep = np.random.default_rng(0).permutation(len(y))[:24_000]
    X, y = X[keep].astype(float), y[keep]
    if name == "covtype":
        return X, y == np.unique(y)[1]
    if name in ("letter", "usps", "mnist"):
        # Half of the classes, so that they overlap.
        return X[:, :: max(1, X.shape[1] // 64)], y % 2 == 0
    return X, y == 1


def _model(name: str):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "boosting":
        return HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0)
    if name == "bayes":
        return make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-2))
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


@cache
def scored(world: str, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated scores and classes of rows that trained nothing.

    A third of the rows trains the model, a third calibrates it by isotonic regression.
    """
    from sklearn.isotonic import IsotonicRegression

    if world in SYNTHETIC:
        rng = np.random.default_rng(1)
        if world == "logistic-normal":
            s = expit(rng.normal(-1.0, 1.5, 40_000))
            return s, rng.random(s.size) < s
        y = rng.random(40_000) < 0.2
        z = np.where(y, *(rows(world, 0.2, y.size, rng, positive=kind) for kind in (True, False)))
        return expit(z), y
    X, y = data(world)
    third = len(y) // 3
    parts = [slice(0, third), slice(third, 2 * third), slice(2 * third, None)]
    fitted = _model(model).fit(X[parts[0]], y[parts[0]])
    raw = [fitted.predict_proba(X[part])[:, 1] for part in parts[1:]]
    steps = IsotonicRegression(out_of_bounds="clip").fit(raw[0], y[parts[1]])
    # A little of the order within a step is kept, so that scores are not a dozen values.
    mapped = 0.98 * steps.predict(raw[1]) + 0.02 * _platt(raw[0], y[parts[1]], raw[1])
    return np.clip(mapped, 0.0, 1.0), y[parts[2]]


def _platt(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    z, at = (logit(np.clip(v, 1e-6, 1.0 - 1e-6))[:, None] for v in (x, new))
    return LogisticRegression().fit(z, y).predict_proba(at)[:, 1]


WRONG = {
    "as it is": lambda z: z,
    "too sure": lambda z: 2.5 * z,
    "not sure enough": lambda z: 0.4 * z,
    "too high": lambda z: z + 1.0,
    "too low": lambda z: z - 1.0,
}


def hidden(s, y, setting: str, rng) -> PUScores:
    """Return the scores with most labels hidden, and the true prior."""
    if setting == "one-sample":
        flags = y & (rng.random(y.size) < 0.3)
        return PUScores.from_pu_labels(flags, s, prior=float(y.mean()), setting=setting)
    positives = rng.permutation(np.flatnonzero(y))
    mine = positives[: max(50, positives.size // 4)]
    # The unlabeled rows keep the prior of all rows.
    rest = np.setdiff1d(np.arange(y.size), mine)
    negatives = rng.permutation(rest[~y[rest]])
    left = rest[y[rest]]
    kept = negatives[: round(left.size * (1.0 - y.mean()) / y.mean())]
    u = np.concatenate([s[left], s[kept]])
    return PUScores(s[mine], u, prior=left.size / u.size, setting=setting)
