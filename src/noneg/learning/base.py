"""What all PU estimators of scikit-learn's kind share; no torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted

from noneg.checks import check_filled, check_flags, check_prior, check_same_length
from noneg.learning.task import check_pu_setting
from noneg.sklearn import scorer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]


class PUEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers whose ``y`` is 1 for labelled positives and 0 for unlabeled rows."""

    setting: Setting
    prior: float | None

    def _check_rows(
        self, X: ArrayLike, labeled: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        check_pu_setting(self.setting)
        rows, flags = self._check_inputs(X, fresh=True), check_flags(labeled, "labeled")
        check_same_length(X=len(rows), labeled=flags.size)
        check_filled(int(flags.sum()), "labeled", "labelled positive")
        check_filled(int((~flags).sum()), "labeled", "unlabeled row")
        self.classes_ = np.array([0, 1])
        return rows, flags

    def _check_inputs(self, X: ArrayLike, *, fresh: bool = False) -> NDArray[Any]:
        rows: NDArray[Any] = check_array(X, allow_nd=True, dtype=(np.float32, np.float64))
        if fresh:
            self.n_features_in_ = rows.shape[1]
        else:
            check_is_fitted(self)
            if rows.shape[1] != self.n_features_in_:
                msg = f"'X' must have {self.n_features_in_} columns as in fit, got {rows.shape[1]}."
                raise ValueError(msg)
        return rows

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

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return 1 where the probability is at least 1/2, else 0."""
        return (self._positive(X) >= 0.5).astype(np.int64)  # noqa: PLR2004

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
        prior = self._need_prior("for the score")
        return float(scorer("proxy_accuracy", setting=self.setting, prior=prior)(self, X, labeled))
