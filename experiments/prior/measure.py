"""Every estimator on one mixture, and the choice between a smooth classifier and the forest."""

import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.prior.study import GAUSSIAN, draw
from experiments.tables import Row
from noneg.prior import FROM_SCORES, FeatureSamples, ReCPE, ScoreLaws, Tedn, find_estimator
from noneg.prior.discriminator import cross_fit, default_forest

FOLDS = 3
WITH_INTERVAL = ("dedpul", "bbe", "quick")
FEATURE_SIZES = (50, 200, 1000)


def classifier(world: str):
    """The right classifier for the Gaussian populations, and the default classifier elsewhere."""
    return LogisticRegression() if world in GAUSSIAN else None


def scored(samples: FeatureSamples, model: object) -> tuple[ScoreLaws, np.ndarray]:
    """Return out-of-fold logits as distributions, and the logits of the unlabeled rows."""
    p, u = cross_fit(samples, model, folds=FOLDS)
    options = {"setting": "two-sample", "scale": "logit", "discriminates": True}
    return ScoreLaws.from_arrays(p, u, **options), u


def measure(world: str, prior: float, n_positive: int, seed: int) -> Iterator[Row]:
    """Yield a row for each method."""
    warnings.simplefilter("error", RuntimeWarning)
    positive, unlabeled, hidden = draw(world, prior, n_positive, seed)
    samples = FeatureSamples(positive, unlabeled, "two-sample")
    start = time.process_time()
    laws, u = scored(samples, classifier(world))
    training = time.process_time() - start
    known = {"auc": roc_auc_score(hidden, u), "auc_pu": laws.separation}
    # The current default is the smaller of two of them; see experiments/prior_sets.
    from_scores = {name: find_estimator(name) for name in FROM_SCORES if name != "tightest"}
    for name, estimator in (from_scores | {"recpe-bbe": ReCPE(base=find_estimator("bbe"))}).items():
        yield estimate(name, estimator, laws, training) | known
    for estimator in feature_methods(world, n_positive):
        yield estimate(estimator.name, estimator, samples, 0.0) | known


def feature_methods(world: str, n_positive: int):
    yield Tedn(classifier=classifier(world), folds=FOLDS)
    if n_positive in FEATURE_SIZES:
        yield from map(find_estimator, ("km1", "km2", "tice", "penl1"))


def estimate(name: str, estimator, data, training: float) -> Row:
    start = time.process_time()
    share, low, high = estimator.find(data).share, np.nan, np.nan
    seconds = training + time.process_time() - start
    if name in WITH_INTERVAL:
        low, high, _ = estimator.interval(data, share, 0.95)
    return {"method": name, "value": share, "low": low, "high": high, "seconds": seconds}


def choice(world: str, prior: float, n_positive: int, seed: int) -> tuple[float, float, bool]:
    """Return the errors with the chosen classifier and with the forest, and whether curves were
    chosen."""
    positive, unlabeled, _ = draw(world, prior, n_positive, seed)
    samples = FeatureSamples(positive, unlabeled, "two-sample")
    pair = [scored(samples, model) for model in (None, default_forest())]
    chosen, forest = (abs(find_estimator("dedpul").find(laws).share - prior) for laws, _ in pair)
    return chosen, forest, not np.array_equal(pair[0][1], pair[1][1])
