"""`PUEstimator`: what the learners share as scikit-learn classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from noneg.checks import (
    check_flags,
    check_prior,
    check_propensity,
    check_pu_setting,
    check_same_length,
    check_setting,
    is_labelled,
    is_pooled,
)
from noneg.errors import InputError
from noneg.learning.likelihood import Rows
from noneg.recalibration.recalibrated import check_binary
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold, scorer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.prior import PriorEstimate
    from noneg.recalibration import Calibrator

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Prior = float | Literal["estimate"] | None

# The largest double below 1 and the smallest above 1/2.
_BELOW_ONE, _ABOVE_HALF = np.nextafter([1.0, 0.5], [0.0, 1.0])


class PUEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers that learn from labeled positives and unlabeled rows."""

    setting: Setting
    prior: Prior
    positive_label: object
    random_state: int = 0
    # Whether the setting "labelled" makes sense.
    takes_labels: ClassVar[bool] = False

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled positives and unlabeled rows.

        Parameters
        ----------
        X : array-like or frame
            One row each; for networks also images.
        y : array-like, shape (n,)
            1 for labeled positives, 0 for unlabeled rows; with `positive_label` any two values.
        sample_weight : array-like, optional
            Importance of each row.
        propensity : array-like, optional
            Of each row, the rate in (0, 1] at which a positive like it gets labeled. A common
            factor does not matter, unless the prior of one sample is to be estimated. Without it,
            positives are labeled completely at random.
        """
        rows = self._check_rows(X, y, sample_weight, propensity)
        self.prior_ = self._find_prior(rows)
        self._learn(rows)
        return self

    def _learn(self, rows: Rows) -> None:
        raise NotImplementedError

    def _check_rows(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        weight: ArrayLike | None,
        propensity: ArrayLike | None,
    ) -> Rows:
        check_setting(self.setting) if self.takes_labels else check_pu_setting(self.setting)
        rows = self._check_inputs(X, fresh=True)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        labels = column_or_1d(y, warn=True)
        check_binary(labels)
        flags = check_flags(labels, "y", self.positive_label)
        check_same_length(X=_num_samples(rows), y=flags.size)
        w = None if weight is None else _check_sample_weight(weight, flags, dtype=np.float64)
        if w is not None and (w < 0.0).any():
            raise InputError("sample_weight", "must not be negative", value=float(w.min()))
        e = None if propensity is None else check_propensity(propensity, flags.size)
        other = "negative" if is_labelled(self.setting) else "unlabeled row"
        for found, what in ((flags, "labeled positive"), (~flags, other)):
            if not (found if w is None else found & (w > 0.0)).any():
                msg = f"must hold at least one {what}, got none: only one class is there."
                raise InputError("y", msg)
        # As it was given: 0 or -1, False, and so on.
        self.classes_ = np.array([labels[~flags][0], labels[flags][0]])
        return _counted(Rows(rows, flags, w, e))

    def _check_inputs(self, X: Any, *, fresh: bool = False) -> Any:  # noqa: ANN401
        """Return numbers; learners that take any table say so themselves."""
        if not fresh:
            check_is_fitted(self)
        return validate_data(self, X, reset=fresh, allow_nd=True, dtype=(np.float32, np.float64))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _find_prior(self, rows: Rows) -> float | None:
        if self.prior is None or is_labelled(self.setting):
            if self.prior is not None:
                rule = "must not be given with setting='labelled': the labels determine it"
                raise InputError("prior", rule, value=self.prior)
            return None
        if self.prior != "estimate":
            return check_prior(self.prior)
        if rows.propensity is not None and is_pooled(self.setting):
            # Each labeled row stands for 1/e positives.
            share = float(rows.positive_mass[rows.flags].sum() / rows.mass.sum())
            return check_prior(share)
        self.prior_estimate_ = self._estimate_prior(rows)
        return float(np.clip(self.prior_estimate_.value, 1e-6, 1.0 - 1e-6))

    def _estimate_prior(self, rows: Rows) -> PriorEstimate:
        """Estimate the prior from out-of-fold scores of trees, which take any table."""
        from noneg.learning.boosting import discriminate
        from noneg.prior import estimate_prior

        return estimate_prior(discriminate(rows, self.setting, self.random_state))

    def _known_prior(self, what: str) -> float:
        if self.prior_ is None:
            msg = (
                f"must be given {what}: the share of positives in the population, or 'estimate' to "
                "have it estimated."
            )
            raise InputError("prior", msg)
        return self.prior_

    def _positive(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probability of the positive class."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probabilities of both classes, negative first, shape (n, 2)."""
        positive = self._positive(X)
        return np.stack([1.0 - positive, positive], axis=-1)

    def decision_function(self, X: Any) -> Floats:  # noqa: ANN401
        """Return finite log odds of the positive class; above 0 where it is predicted."""
        # Odds of 0 and 1 are infinite, and scikit-learn's areas refuse infinite scores.
        return np.asarray(logit(np.clip(self._positive(X), np.finfo(float).tiny, _BELOW_ONE)))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the positive label where its probability is above 1/2, else the other one."""
        positive = (self.decision_function(X) > 0.0).astype(np.intp)
        chosen: NDArray[Any] = self.classes_[positive]
        return chosen

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: ANN401
        """Return the proxy accuracy, which is the accuracy plus the prior, without any negative.

        With setting="labelled" it is the accuracy.

        Parameters
        ----------
        X : array-like or frame
        y : array-like
            1 for labeled positives, 0 for unlabeled rows.
        sample_weight : array-like, optional
            Importance of each row.
        """
        check_is_fitted(self)
        if is_labelled(self.setting):
            return float(super().score(X, y, sample_weight))
        prior = self._known_prior("for the score")
        # A metric counts scores from the threshold on, `predict` those above 1/2.
        threshold = float(_ABOVE_HALF)
        accuracy = scorer("proxy_accuracy", setting=self.setting, prior=prior, threshold=threshold)
        flags = check_flags(column_or_1d(y), "y", self.positive_label)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(accuracy(_ByFlags(self), X, flags, **weight))

    def _folds(self, rows: Rows, folds: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Deal rows to folds, of which each holds its share of labeled ones."""
        fewest = int(min(rows.flags.sum(), (~rows.flags).sum()))
        if fewest < 2:
            return []
        deal = PUStratifiedKFold(
            min(folds, fewest), setting=self.setting, random_state=self.random_state
        )
        return list(deal.split(rows.flags, rows.flags))


class _ByFlags(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted learner whose classes are False and True, as a scorer wants them."""

    def __init__(self, model: PUEstimator) -> None:
        self.model, self.classes_ = model, np.array([False, True])

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        return self.model.predict_proba(X)


def _counted(rows: Rows) -> Rows:
    """Leave out rows of no weight."""
    if rows.weight is None or rows.weight.all():
        return rows
    return rows.take(np.flatnonzero(rows.weight))


def fit_calibrator(
    method: str, rows: Rows, score: Floats, setting: Setting, prior: float | None
) -> Calibrator:
    """Return a map fitted to out-of-fold scores, under SCAR or the given propensities."""
    from noneg.recalibration import make

    options: dict[str, Any] = {"sample_weight": rows.weight, "weight_kind": "importance"}
    if is_labelled(setting):
        scores = PUScores.from_labels(rows.flags, score, **options)
    else:
        scores = PUScores.from_pu_labels(
            rows.flags,
            score,
            prior=prior,
            setting=setting,
            propensity=rows.propensity,
            **options,
        )
    return make(method).fit(scores)


def sigmoid(margin: Floats) -> Floats:
    """Return probabilities that are above 1/2 exactly where the margin is above 0."""
    return np.maximum(expit(margin), np.where(margin > 0.0, _ABOVE_HALF, 0.0))


def standard_scale(
    rows: NDArray[Any], weight: Floats | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean and the deviation of each column, 1 for a constant one."""
    if weight is None:
        mean, deviation = rows.mean(0), rows.std(0)
    else:
        mean = np.average(rows, axis=0, weights=weight)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def in_parallel(
    work: Callable[..., Any], arguments: list[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Return the results of a function on several arguments, in processes if asked for."""
    from sklearn.utils.parallel import Parallel, delayed

    found: list[Any] = Parallel(n_jobs=n_jobs)(delayed(work)(*each) for each in arguments)
    return found
