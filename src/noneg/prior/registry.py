"""The estimators by name, and `estimate_prior`: any of them on scores or on features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from noneg.checks import check_setting
from noneg.prior.alphamax import AlphaMax, AlphaMaxNoise
from noneg.prior.best_bin import BestBin
from noneg.prior.contract import ScoreEstimator
from noneg.prior.dedpul import Dedpul
from noneg.prior.discriminator import discriminate
from noneg.prior.elkan_noto import ElkanNotoMax, ElkanNotoMean, ElkanNotoRatio
from noneg.prior.features import FeatureEstimator
from noneg.prior.kernel_mean import KernelMeanGradient, KernelMeanRoot
from noneg.prior.penalised import PenalisedL1
from noneg.prior.quick import Quick
from noneg.prior.recpe import ReCPE, ReCPEFeatures
from noneg.prior.tedn import Tedn
from noneg.prior.tice import Tice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.checks import Setting
    from noneg.prior.result import PriorEstimate

    Estimator = ScoreEstimator | FeatureEstimator

# The estimator with the smallest error over many worlds: experiments/prior.
DEFAULT = "dedpul"

FROM_SCORES: dict[str, type[ScoreEstimator]] = {
    kind.name: kind
    for kind in (
        Dedpul,
        BestBin,
        Quick,
        AlphaMax,
        AlphaMaxNoise,
        ElkanNotoMean,
        ElkanNotoRatio,
        ElkanNotoMax,
        ReCPE,
    )
}
FROM_FEATURES: dict[str, type[FeatureEstimator]] = {
    kind.name: kind
    for kind in (Tedn, KernelMeanRoot, KernelMeanGradient, Tice, PenalisedL1, ReCPEFeatures)
}
ESTIMATORS: dict[str, type[ScoreEstimator | FeatureEstimator]] = {
    **FROM_SCORES,
    **FROM_FEATURES,
}


def find_estimator(method: str | Estimator) -> Estimator:
    """Return an estimator given by name, or itself.

    Examples
    --------
    >>> find_estimator("bbe").title
    'Best bin (BBE)'
    """
    if isinstance(method, (ScoreEstimator, FeatureEstimator)):
        return method
    if method not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise ValueError(f"'method' must be an estimator of the prior ({known}), got {method!r}.")
    return ESTIMATORS[method]()


def estimate_prior(
    data: Any,  # noqa: ANN401 - scores, or whatever NumPy makes a table of
    labeled: ArrayLike | None = None,
    *,
    setting: Setting | None = None,
    method: str | Estimator = DEFAULT,
    classifier: Any = None,  # noqa: ANN401 - scikit-learn has no types
    level: float = 0.95,
    seed: int = 0,
) -> PriorEstimate:
    """Estimate the class prior, from scores or from features.

    Parameters
    ----------
    data : PUScores, ScoreLaws, or array-like of shape (n, d)
        Scores of rows that the classifier was not trained on (a prior in them is ignored), or
        features.
    labeled : array-like, optional
        With features: 1 for labelled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}, optional
        With features: how the rows were sampled; never guessed.
    method : str or estimator
        A name in `ESTIMATORS`, or an estimator with options of its own.
    classifier : scikit-learn classifier, optional
        With features: what tells positives from unlabeled rows; see `discriminate`. Fields of an
        estimator that is passed as an object win.
    level : float
        Nominal coverage of the interval.
    seed : int
        Of the folds of cross-fitting.

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
    if labeled is None:
        return _from_scores(estimator, data, level)
    sampled = check_setting(setting)
    if isinstance(estimator, ScoreEstimator):
        laws = discriminate(data, labeled, setting=sampled, classifier=classifier, seed=seed)
        return estimator.fit(laws, level=level)
    if isinstance(method, str) and isinstance(estimator, (Tedn, ReCPEFeatures)):
        estimator = replace(estimator, classifier=classifier, seed=seed)
    return estimator.fit(data, labeled, setting=sampled, level=level)


def _from_scores(estimator: Estimator, data: Any, level: float) -> PriorEstimate:  # noqa: ANN401
    if isinstance(estimator, FeatureEstimator):
        msg = (
            f"'method' must work on scores ({', '.join(FROM_SCORES)}), got {estimator.name!r}, "
            "which looks at features. Pass the features, with labeled= and setting=."
        )
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for wrong arguments
    return estimator.fit(data, level=level)
