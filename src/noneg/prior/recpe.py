"""ReCPE: regroup before estimating, where negatives may look like positives.

Yao et al. (2022), Rethinking class-prior estimation for positive-unlabeled learning. The most
positive-looking part A of the unlabeled rows is copied into the positives, which moves the
negatives in A to the positive side; any estimator then answers. If negatives do not contain
positives, the answer grows by at most ``(1 - a) p_N(A)``; if they do, a larger bias goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noneg.prior.contract import Found, ScoreEstimator
from noneg.prior.dedpul import Dedpul
from noneg.prior.discriminator import cross_fit
from noneg.prior.features import FeatureEstimator, FeatureSamples
from noneg.prior.kernel_mean import KernelMeanGradient

if TYPE_CHECKING:
    from noneg.prior.laws import ScoreLaws

ASSUMPTION = (
    "labelled positives are a random sample of all positives; negatives may overlap with them a "
    "little, and the part of the unlabeled rows that is copied is mostly positive"
)


@dataclass(frozen=True, kw_only=True)
class ReCPE(ScoreEstimator):
    """Regrouping in front of an estimator from scores.

    The copies count by rows: with few positives beside many unlabeled rows they would drown the
    positives, so that `fraction` should stay well below the share of positives.

    Parameters
    ----------
    base : ScoreEstimator
    fraction : float
        Part of the unlabeled rows to copy, those with the highest scores.

    Examples
    --------
    >>> from noneg.prior import ReCPE, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> found = ReCPE(fraction=0.1).fit(laws)
    >>> round(found.diagnostics["without_regrouping"], 2)
    0.3
    """

    name: ClassVar[str] = "recpe"
    title: ClassVar[str] = "Regrouping (ReCPE)"
    citation: ClassVar[str] = "Yao et al. (2022), Rethinking class-prior estimation"
    assumption: ClassVar[str] = ASSUMPTION
    rank_based: ClassVar[bool] = False
    bootstrap_points: ClassVar[int] = 512

    base: ScoreEstimator = field(default_factory=Dedpul)
    fraction: float = 0.1

    def __post_init__(self) -> None:
        _check_fraction(self.fraction)

    def find(self, laws: ScoreLaws) -> Found:
        """Return the base's answer after regrouping, and without it."""
        found = self.base.find(regroup(laws, self.fraction))
        plain = self.base.find(laws).share
        return Found(found.share, {**found.diagnostics, "without_regrouping": plain})


@dataclass(frozen=True, kw_only=True)
class ReCPEFeatures(FeatureEstimator):
    """Regrouping in front of an estimator from features; see `ReCPE`.

    Parameters
    ----------
    base : FeatureEstimator
    fraction : float
    classifier : scikit-learn classifier, optional
        Says which unlabeled rows look positive, cross-fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.prior import PenalisedL1, ReCPEFeatures
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (4, 4, 0)])
    >>> regrouping = ReCPEFeatures(base=PenalisedL1(), classifier=LogisticRegression(), resamples=2)
    >>> found = regrouping.fit(x[:, None], [1] * 200 + [0] * 400, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name: ClassVar[str] = "recpe-features"
    title: ClassVar[str] = "Regrouping of features (ReCPE)"
    citation: ClassVar[str] = ReCPE.citation
    assumption: ClassVar[str] = ASSUMPTION

    base: FeatureEstimator = field(default_factory=KernelMeanGradient)
    fraction: float = 0.1
    classifier: Any = None

    def __post_init__(self) -> None:
        _check_fraction(self.fraction)

    def find(self, samples: FeatureSamples) -> Found:
        """Return the base's answer after regrouping."""
        _, scores = cross_fit(samples, self.classifier, seed=self.seed)
        count = max(1, round(self.fraction * scores.size))
        copied = samples.unlabeled[np.argsort(-scores, kind="stable")[:count]]
        more = np.concatenate([samples.positive, copied])
        return self.base.find(FeatureSamples(more, samples.unlabeled, samples.setting))


def regroup(laws: ScoreLaws, fraction: float) -> ScoreLaws:
    """Copy the unlabeled rows with the highest scores into the positives.

    Examples
    --------
    >>> from noneg.prior import ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.5], [0.1, 0.5, 0.7, 0.9], setting="two-sample")
    >>> regroup(laws, 0.25).n_positive
    2.0
    """
    over = np.cumsum(laws.unlabeled[::-1])[::-1] - laws.unlabeled
    copied = np.clip(fraction - over, 0.0, laws.unlabeled) * laws.n_unlabeled
    total = laws.n_positive * laws.positive + copied
    n = float(total.sum())
    return replace(laws, positive=total / n, n_positive=n, discriminates=False)


def _check_fraction(fraction: float) -> None:
    if not 0.0 < fraction < 1.0:
        msg = "'fraction' must be the part of the unlabeled rows to copy, a number in (0, 1)"
        raise ValueError(f"{msg}, got {fraction!r}.")
