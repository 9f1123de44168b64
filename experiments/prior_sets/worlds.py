"""Scores with a known prior: classes far apart, overlapping or partly identical; and real
models."""

from functools import cache, partial

import numpy as np
from scipy.special import expit, logit
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from experiments import nceas
from experiments.study import arrays
from noneg import PUScores
from noneg.prior import ScoreLaws, from_earlier, from_review, from_two_sources, from_two_views

# Shift of the positives (in standard deviations), and what is special about the negatives.
FAR = {
    "far apart": 4.0,
    "apart": 3.0,
    "some overlap": 2.0,
    "heavy overlap": 1.0,
    "negatives wider": 2.0,
    "a fifth of the negatives alike": 3.0,
}
# Calibrated scores with a beta distribution: the larger its size, the less informative the scores.
BETA = {"calibrated, sharp": 1.0, "calibrated, vague": 3.0}
WORLDS = (*FAR, *BETA)
# Populations in which negatives are negligible relative to positives somewhere.
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
    """Draw the given number of positives, and ten times as many unlabeled rows."""
    m = 10 * size
    if setting == "two-sample":
        p, hidden = rows(world, prior, size, rng, positive=True), rng.binomial(m, prior)
    else:
        # A third of the positives are labeled.
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
MORE = ("forest", "tree", "neighbors", "quadratic")
SYNTHETIC = ("calibrated, sharp", "calibrated, vague", "logistic-normal")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a real data set, at most 24,000 rows."""
    found = arrays(f"{'uci_credit_default' if name == 'credit' else name}.npz")
    if name == "covtype":
        X, y = found["quantitative"], found["cover_type"]
    elif "X" in found:
        X, y = found["X"], found["y"]
    else:
        X, y = (np.concatenate([found[f"{x}_train"], found[f"{x}_test"]]) for x in "Xy")
    keep = np.random.default_rng(0).permutation(len(y))[:24_000]
    X, y = X[keep].astype(float), y[keep]
    if name == "covtype":
        return X, y == np.unique(y)[1]
    if name in ("letter", "usps", "mnist"):
        # Use half of the classes, so that they overlap.
        return X[:, :: max(1, X.shape[1] // 64)], y % 2 == 0
    return X, y == 1


def _model(name: str):
    quadratic = (StandardScaler(), PCA(10, random_state=0), PolynomialFeatures(2))
    models = {
        "logistic": (StandardScaler(), LogisticRegression(max_iter=300)),
        "boosting": (
            HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0),
        ),
        "bayes": (StandardScaler(), GaussianNB(var_smoothing=1e-2)),
        "forest": (RandomForestClassifier(60, min_samples_leaf=5, random_state=0),),
        "tree": (DecisionTreeClassifier(min_samples_leaf=60, random_state=0),),
        "neighbors": (StandardScaler(), KNeighborsClassifier(40)),
        "quadratic": (*quadratic, LogisticRegression(C=0.1, max_iter=200)),
    }
    return make_pipeline(*models[name])


@cache
def scored(world: str, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated scores and classes for rows that were not used for training.

    A third of the rows is used to train the model, and a third to calibrate it by isotonic
    regression.
    """
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
    # Some of the order within a step is kept, so that there are more than a dozen distinct scores.
    mapped = 0.98 * steps.predict(raw[1]) + 0.02 * _platt(raw[0], y[parts[1]], raw[1])
    return np.clip(mapped, 0.0, 1.0), y[parts[2]]


def _platt(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
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
    # The unlabeled rows have the same prior as all rows.
    rest = np.setdiff1d(np.arange(y.size), mine)
    negatives = rng.permutation(rest[~y[rest]])
    left = rest[y[rest]]
    kept = negatives[: round(left.size * (1.0 - y.mean()) / y.mean())]
    u = np.concatenate([s[left], s[kept]])
    return PUScores(s[mine], u, prior=left.size / u.size, setting=setting)


FEWEST, MOST_SITES = 30, 2000


def species(region: str) -> list[str]:
    """Return the species of a region that have enough records."""
    names, counts = np.unique(nceas.training(region)[0]["spid"].astype(str), return_counts=True)
    return [str(name) for name, n in zip(names, counts, strict=True) if n >= FEWEST]


def survey(region: str, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return features of records and survey sites, which rows are records, and the prevalence."""
    records, _ = nceas.training(region)
    sites, truth = next(pair for pair in nceas.surveys(region) if name in pair[1])
    kept = [c for c in sites if c not in ("group", "siteid", "x", "y") and c in records]
    mine = records["spid"].astype(str) == name
    found, there = (np.column_stack([t[c].astype(float) for c in kept]) for t in (records, sites))
    # The sites are subsampled, so that no estimator takes minutes.
    kept_sites = np.random.default_rng(0).permutation(len(there))[:MOST_SITES]
    X = np.concatenate([found[mine], there[kept_sites]])
    X = np.clip((X - there.mean(axis=0)) / (there.std(axis=0) + 1e-9), -4, 4)
    return X, np.arange(len(X)) < mine.sum(), float(truth[name][kept_sites].mean())


def views(rng, prior: float, setting: str, *, fits: bool):
    """Return two views one standard deviation apart, independent within classes or correlated."""
    y = rng.random(5000) < prior
    labeled = y & (rng.random(y.size) < 0.4)
    if setting == "two-sample":
        labeled = np.arange(y.size) < 1000
        y |= labeled
    together, z = 0.0 if fits else 0.3, rng.normal(size=(2, y.size))
    z[1] = together * z[0] + np.sqrt(1.0 - together**2) * z[1]
    return from_two_views(*(z + y), labeled, setting=setting)


def sources(rng, prior: float, setting: str, *, fits: bool):  # noqa: ARG001
    """Return two sources that find positives with high scores more often."""
    y = rng.random(4000) < prior
    score = expit(rng.normal(size=y.size) + 2 * y)
    first, second = (y & (rng.random(y.size) < 0.2 + 0.5 * score) for _ in range(2))
    return from_two_sources(first, second, score=score)


def review(rng, prior: float, setting: str, *, fits: bool, strata: bool = False):  # noqa: ARG001
    """200 of 4,000 rows are reviewed; with strata, half of them are rows with high scores."""
    y = rng.random(4000) < prior
    group = rng.random(y.size) < np.where(y, 0.8, 0.15)
    outcome = np.full(y.size, np.nan)
    for part in (group, ~group) if strata else (np.ones(y.size, dtype=bool),):
        chosen = rng.choice(np.flatnonzero(part), 100 if strata else 200, replace=False)
        outcome[chosen] = y[chosen]
    return from_review(outcome, strata=group if strata else None)


def period(rng, prior: float, setting: str, *, fits: bool):
    """Return an earlier period with prior .2; half of the new rows move by .25 if not only the
    prior changed."""

    def score(y):
        return expit(2 * y + rng.normal(size=y.size) - 1)

    if setting == "two-sample":
        before = PUScores(
            score(np.ones(1000)), score(rng.random(5000) < 0.2), prior=0.2, setting=setting
        )
    else:
        y = rng.random(6000) < 0.2
        labeled = y & (rng.random(y.size) < 0.5)
        before = PUScores.from_pu_labels(labeled, score(y), prior=0.2, setting=setting)
    y = rng.random(4000) < prior
    moved = 0.0 if fits else 0.25 * (rng.random(y.size) < 0.5)
    return from_earlier(before, expit(2 * y + rng.normal(size=y.size) - 1 + moved))


WAYS = {
    "two views": views,
    "two sources": sources,
    "review": review,
    "stratified review": partial(review, strata=True),
    "earlier period": period,
}
