"""What all PU estimators of scikit-learn's kind share; no torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from noneg.checks import check_flags, check_prior, check_same_length
from noneg.learning.task import check_pu_setting
from noneg.recalibration.recalibrated import check_binary
from noneg.sklearn import scorer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]

# The largest double below 1 and the smallest above 1/2.
_BELOW_ONE, _ABOVE_HALF = np.nextafter([1.0, 0.5], [0.0, 1.0])


class PUEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers whose ``y`` is 1 for labelled positives and 0 for unlabeled rows."""

    setting: Setting
    prior: float | None

    def _check_rows(
        self, X: ArrayLike, labeled: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        check_pu_setting(self.setting)
        rows = self._check_inputs(X, fresh=True)
        if labeled is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        labels = column_or_1d(labeled, warn=True)
        check_binary(labels)
        flags = check_flags(labels, "labeled", choosable=False)
        check_same_length(X=len(rows), labeled=flags.size)
        for found, what in ((flags, "labelled positive"), (~flags, "unlabeled row")):
            if not found.any():
                msg = f"'labeled' must hold at least one {what}, got none: only one class is there."
                raise ValueError(msg)
        # As it was given: 0 or -1, False, and so on.
        self.classes_ = np.array([labels[~flags][0], labels[flags][0]])
        return rows, flags

    def _check_inputs(self, X: ArrayLike, *, fresh: bool = False) -> NDArray[Any]:
        if not fresh:
            check_is_fitted(self)
        rows: NDArray[Any] = validate_data(
            self, X, reset=fresh, allow_nd=True, dtype=(np.float32, np.float64)
        )
        return rows

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _need_prior(self, what: str) -> float:
        if self.prior is None:
            msg = (
                f"'prior' must be given {what}: the share of positives in the population, which "
                "noneg.prior.estimate_prior(X, labeled, setting=...) can estimate."
            )
            raise ValueError(msg)
        return check_prior(self.prior)

    def _positive(self, X: ArrayLike) -> Floats:
        """Return the probability of the positive class."""
        raise NotImplementedError

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of both classes, negative first, shape (n, 2)."""
        positive = self._positive(X)
        return np.stack([1.0 - positive, positive], axis=-1)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return finite log odds of the positive class; above 0 where it is predicted."""
        # Odds of 0 and 1 are infinite, and scikit-learn's areas refuse infinite scores.
        return np.asarray(logit(np.clip(self._positive(X), np.finfo(float).tiny, _BELOW_ONE)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the positive label where its probability is above 1/2, else the other one."""
        positive = (self.decision_function(X) > 0.0).astype(np.intp)
        chosen: NDArray[Any] = self.classes_[positive]
        return chosen

    def score(self, X: ArrayLike, labeled: ArrayLike, sample_weight: None = None) -> float:
        """Return the proxy accuracy, which is the accuracy plus the prior, without any negative.

        Parameters
        ----------
        X : array-like
        labeled : array-like
            1 for labelled positives, 0 for unlabeled rows.
        sample_weight : None
            Not supported.
        """
        if sample_weight is not None:
            raise ValueError("'sample_weight' must be None; weigh with noneg.sklearn.scorer.")
        self._check_inputs(X)
        prior = self._need_prior("for the score")
        # A metric counts scores from the threshold on, `predict` those above 1/2.
        cut = float(_ABOVE_HALF)
        score = scorer("proxy_accuracy", setting=self.setting, prior=prior, threshold=cut)
        return float(score(self, X, labeled))


def sigmoid(margin: Floats) -> Floats:
    """Return probabilities that are above 1/2 exactly where the margin is above 0."""
    return np.maximum(expit(margin), np.where(margin > 0.0, _ABOVE_HALF, 0.0))
