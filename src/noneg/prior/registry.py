"""Estimators by name, and `estimate_prior`, which runs any of them on scores or features.

A new estimator takes one line in `KINDS`. Its class defines everything else: the base class
determines whether it needs scores or features, and its attributes give the name, the title and the
assumption that ``noneg prior`` prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from noneg.checks import Setting, check_setting
from noneg.errors import InputError
from noneg.prior import from_features, from_scores
from noneg.prior.base import FeatureEstimator, ScoreEstimator, TrainedEstimator
from noneg.prior.discriminator import discriminate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.prior.base import Classifier, PriorEstimate

    Estimator = ScoreEstimator | FeatureEstimator

# In listing order; score-based estimators come first.
KINDS: tuple[type[Estimator], ...] = (
    from_scores.Tightest,
    from_scores.Quick,
    from_scores.Dedpul,
    from_scores.BestBin,
    from_scores.AlphaMax,
    from_scores.AlphaMaxNoise,
    from_scores.ElkanNotoMean,
    from_scores.ElkanNotoRatio,
    from_scores.ElkanNotoMax,
    from_scores.ReCPE,
    from_features.Tedn,
    from_features.KernelMeanRoot,
    from_features.KernelMeanGradient,
    from_features.Tice,
    from_features.PenalizedL1,
    from_features.ReCPEFeatures,
)
# The estimator with the smallest error with and without overlap; see experiments/prior.
DEFAULT = from_scores.Tightest.name

ESTIMATORS = {kind.name: kind for kind in KINDS}
FROM_SCORES = {kind.name: kind for kind in KINDS if issubclass(kind, ScoreEstimator)}
FROM_FEATURES = {kind.name: kind for kind in KINDS if issubclass(kind, FeatureEstimator)}


def find_estimator(method: str | Estimator) -> Estimator:
    """Return the estimator with this name; an estimator is returned unchanged.

    Examples
    --------
    >>> find_estimator("bbe").title
    'Best bin (BBE)'
    """
    if isinstance(method, (ScoreEstimator, FeatureEstimator)):
        return method
    if method not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise InputError("method", f"must be an estimator of the prior ({known})", value=method)
    return ESTIMATORS[method]()


def estimate_prior(  # noqa: PLR0913 - the rows, their sampling, and the method
    data: Any,  # noqa: ANN401 - scores, or whatever NumPy makes a table of
    labeled: ArrayLike | None = None,
    *,
    setting: Setting | None = None,
    method: str | Estimator = DEFAULT,
    classifier: Classifier = None,
    level: float = 0.95,
    overlap: float | None = None,
    propensity: ArrayLike | None = None,
    seed: int = 0,
) -> PriorEstimate:
    """Estimate the class prior, from scores or from features.

    Parameters
    ----------
    data : PUScores, ScoreLaws, or array-like of shape (n, d)
        Scores of rows that the classifier was not trained on (a prior in them is ignored), or
        features.
    labeled : array-like, optional
        With features: 1 for labeled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}, optional
        With features: how the rows were sampled; it is never guessed.
    method : str or estimator
        A name in `ESTIMATORS`, or an estimator with its own options.
    classifier : scikit-learn classifier, optional
        With features: the classifier that separates positives from unlabeled rows; see
        `discriminate`. If `method` is an estimator object, its own fields take precedence.
    level : float
        Nominal coverage of the interval.
    overlap : float, optional
        Largest part of the negatives that may look exactly like positives, 0 for none; it cannot be
        estimated from data. Without it, the result is an upper bound for the prior.
    propensity : array-like, optional
        With features: for each row, the rate at which positives like it are labeled; a common
        factor does not matter. `PUScores` have their own rates.
    seed : int
        Seed of the cross-fitting folds.

    Examples
    --------
    >>> from noneg.prior import estimate_prior
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 4000, setting="one-sample", seed=0)
    >>> found = estimate_prior(scores, method="bbe")
    >>> found.low < 0.3 < found.high
    True
    """
    estimator = find_estimator(method)
    wanted: dict[str, Any] = {"level": level, "overlap": overlap}
    if labeled is None:
        if not isinstance(estimator, ScoreEstimator):
            msg = (
                f"must work on scores ({', '.join(FROM_SCORES)}), got {estimator.name!r}, "
                "which works on features. Pass the features, with labeled= and setting=."
            )
            raise InputError("method", msg)
        if propensity is not None:
            rule = "must be given with features and labeled="
            raise InputError("propensity", rule, remedy="Build PUScores with propensity= instead.")
        return estimator.fit(data, **wanted)
    trained = {"classifier": classifier, "seed": seed}
    rows: dict[str, Any] = {"setting": check_setting(setting), "propensity": propensity}
    if isinstance(estimator, ScoreEstimator):
        return estimator.fit(discriminate(data, labeled, **rows, **trained), **wanted)
    if isinstance(method, str) and isinstance(estimator, TrainedEstimator):
        estimator = replace(estimator, **trained)
    return estimator.fit(data, labeled, **rows, **wanted)
