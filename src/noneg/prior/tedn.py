"""TEDn's estimator: best bin on scores of a classifier that drops likely positives as it learns.

Garg et al. (2021), Algorithm 2 (TED^n) with Algorithm 3 (CVIR): estimate the share, leave that
share of the unlabeled rows, those with the highest scores, out of the training set, train again,
and repeat. The networks of the paper become any scikit-learn classifier, its epochs whole fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noneg.checks import check_level
from noneg.prior.best_bin import BestBin
from noneg.prior.candidates import default_forest
from noneg.prior.contract import answer
from noneg.prior.discriminator import FOLDS, cross_fit
from noneg.prior.features import FeatureEstimator, FeatureSamples
from noneg.prior.laws import ScoreLaws

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.checks import Setting
    from noneg.prior.contract import Found
    from noneg.prior.result import PriorEstimate


@dataclass(frozen=True, kw_only=True)
class Tedn(FeatureEstimator):
    """TEDn: classifier and share in turns, every row scored by classifiers that did not see it.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        By default a random forest, the first of `noneg.prior.default_classifiers`: best bin looks
        at ranks alone, and after the first round no density ratio is learned.
    rounds : int
        Fits; the first one is on all unlabeled rows.
    folds : int
        Of the cross-fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.prior import Tedn
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 300) for m in (4, 4, 0)])
    >>> tedn = Tedn(classifier=LogisticRegression())
    >>> found = tedn.fit(x[:, None], [1] * 300 + [0] * 600, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.05
    True
    """

    name: ClassVar[str] = "tedn"
    title: ClassVar[str] = "TEDn"
    citation: ClassVar[str] = "Garg et al. (2021), Mixture proportion estimation and PU learning"
    assumption: ClassVar[str] = BestBin.assumption

    classifier: Any = None
    rounds: int = 3
    folds: int = FOLDS

    def find(self, samples: FeatureSamples) -> Found:
        """Return best bin's answer on the scores of the last round."""
        return BestBin().find(self.laws(samples))

    def laws(self, samples: FeatureSamples) -> ScoreLaws:
        """Return the scores of the last round."""
        if self.rounds < 1:
            raise ValueError(f"'rounds' must be at least 1, got {self.rounds!r}.")
        model = default_forest(self.seed) if self.classifier is None else self.classifier
        kept: np.ndarray | None = None
        for _ in range(self.rounds):
            positive, unlabeled = cross_fit(
                samples, model, folds=self.folds, seed=self.seed, kept=kept
            )
            laws = ScoreLaws.from_arrays(
                positive, unlabeled, setting=samples.setting, scale="logit"
            )
            share = BestBin().find(laws).share
            # Two rows at least must be left for every fold to learn from.
            n_left = max(2 * self.folds, round((1.0 - share) * unlabeled.size))
            kept = np.argsort(np.argsort(unlabeled, kind="stable")) < n_left
        return laws

    def fit(
        self, X: ArrayLike, labeled: ArrayLike, *, setting: Setting, level: float = 0.95
    ) -> PriorEstimate:
        """Estimate the class prior, with best bin's own bounds; see `FeatureEstimator.fit`."""
        level, rule = check_level(level), BestBin()
        laws = self.laws(FeatureSamples.of(X, labeled, setting=setting))
        found = rule.find(laws)
        interval = rule.interval(laws, found.share, level)
        return replace(answer(rule, laws, found, interval, level), method=self.name)
