"""`PUEstimator`: the base class of the learners, which are scikit-learn classifiers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
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
    is_labeled,
    is_pooled,
)
from noneg.errors import InputError
from noneg.likelihood import LabeledRows
from noneg.performance import proxy_accuracy
from noneg.recalibration.recalibrated import check_binary
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold
from noneg.tables.frames import Columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats, Places
    from noneg.checks import Setting
    from noneg.prior import PriorEstimate
    from noneg.recalibration import Calibrator

Prior = float | Literal["estimate"] | None

# Numbers stay as they are if they have one of these types, and otherwise get the first one.
_KINDS = (np.float64, np.float32)
# The largest double below 1 and the smallest above 1/2.
_BELOW_ONE, _ABOVE_HALF = np.nextafter([1.0, 0.5], [0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Rows(LabeledRows):
    """Labeled rows to learn from, with a table of any kind, and whether weights were given."""

    X: Any = None
    weighted: bool = False

    def __len__(self) -> int:
        return int(self.flags.size)

    @property
    def weight(self) -> Floats | None:
        """Weights for methods that may not accept any; None if none were given."""
        return self.mass if self.weighted else None

    def scores(self, score: Floats, setting: Setting, prior: float | None = None) -> PUScores:
        """Return scores of the rows, under SCAR or the given propensities."""
        options: dict[str, Any] = {"sample_weight": self.weight, "weight_kind": "importance"}
        if is_labeled(setting):
            return PUScores.from_labels(self.flags, score, **options)
        options |= {"prior": prior, "setting": setting, "propensity": self.propensity}
        return PUScores.from_pu_labels(self.flags, score, **options)

    def population(self, setting: Setting) -> Flags:
        """Return which rows are a sample of the population."""
        return np.ones(len(self), dtype=bool) if is_pooled(setting) else ~self.flags

    def take(self, index: Places) -> Self:
        """Return the selected rows."""
        e = None if self.propensity is None else self.propensity[index]
        table, flags, mass = _safe_indexing(self.X, index), self.flags[index], self.mass[index]
        return replace(self, flags=flags, mass=mass, propensity=e, X=table)

    def for_law(self, setting: Setting) -> Self:
        """Return the rows with propensities as weights on the labeled rows, for two samples."""
        if self.propensity is None or is_pooled(setting):
            return self
        return replace(self.as_random(), weighted=True)


@dataclass(eq=False, repr=False)
class PUEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of classifiers that learn from labeled positives and unlabeled rows."""

    _: KW_ONLY
    setting: Setting
    prior: Prior = None
    positive_label: object = None
    random_state: int = 0

    # Whether the setting "labeled" is supported.
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
            One row per example; networks also accept images.
        y : array-like, shape (n,)
            1 for labeled positives, 0 for unlabeled rows; with `positive_label`, any two values.
        sample_weight : array-like, optional
            Importance weight of each row.
        propensity : array-like, optional
            For each row, the rate in (0, 1] at which a positive like it is labeled. A common
            factor does not matter, unless the prior is to be estimated in the one-sample setting.
            By default, positives are assumed to be labeled completely at random.
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
        # Without rows, scikit-learn's check would fail before ours, which says what is missing.
        mass = np.ones(flags.size)
        if weight is not None:
            mass = _check_sample_weight(weight, flags, dtype=np.float64)
        if (mass < 0.0).any():
            raise InputError("sample_weight", "must not be negative", value=float(mass.min()))
        if propensity is not None and is_labeled(self.setting):
            raise InputError("propensity", "must not be given with setting='labeled'")
        e = None if propensity is None else check_propensity(propensity, flags.size)
        other = "negative" if is_labeled(self.setting) else "unlabeled row"
        for found, what in ((flags, "labeled positive"), (~flags, other)):
            if not mass[found].any():
                msg = f"must contain at least one {what}, got none: only one class is present."
                raise InputError("y", msg)
        # Keep the labels as given: 0, -1, False, and so on.
        self.classes_ = np.array([labels[~flags][0], labels[flags][0]])
        made = Rows(flags, mass, e, rows, weighted=weight is not None)
        return made if mass.all() else made.take(np.flatnonzero(mass))

    def _check_inputs(self, X: Any, *, fresh: bool = False) -> Any:  # noqa: ANN401
        """Return the input as numbers; learners that accept any table override this."""
        return validate_data(self, X, reset=fresh, allow_nd=True, dtype=_KINDS)

    def _check_table(self, X: Any, *, fresh: bool) -> Any:  # noqa: ANN401
        """Return a frame unchanged, and anything else as numbers, possibly missing."""
        if Columns.of(X) is not None:
            validate_data(self, X, reset=fresh, skip_check_array=True)
            return X
        return validate_data(self, X, reset=fresh, dtype=_KINDS, ensure_all_finite="allow-nan")

    def _check_new(self, X: Any) -> Any:  # noqa: ANN401
        """Return rows to predict, which must have the columns seen in training."""
        check_is_fitted(self)
        return self._check_inputs(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _find_prior(self, rows: Rows) -> float | None:
        if self.prior is None or is_labeled(self.setting):
            if self.prior is not None:
                rule = "must not be given with setting='labeled': the labels determine it"
                raise InputError("prior", rule, value=self.prior)
            return None
        if self.prior != "estimate":
            return check_prior(self.prior)
        if rows.propensity is not None and is_pooled(self.setting):
            # Each labeled row represents 1/e positives.
            share = float(rows.positive_mass[rows.flags].sum() / rows.mass.sum())
            return check_prior(share)
        self.prior_estimate_ = self._estimate_prior(rows)
        return float(np.clip(self.prior_estimate_.value, 1e-6, 1.0 - 1e-6))

    def _estimate_prior(self, rows: Rows) -> PriorEstimate:
        """Estimate the prior from out-of-fold scores of trees, which accept any table."""
        from noneg.learning.boosting import discriminate
        from noneg.prior import estimate_prior

        return estimate_prior(discriminate(rows, self.setting, self.random_state))

    def _known_prior(self, what: str) -> float:
        if self.prior_ is None:
            msg = (
                f"must be given {what}: the share of positives in the population, or "
                "'estimate' to estimate it."
            )
            raise InputError("prior", msg)
        return self.prior_

    def _positive(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probability of the positive class in checked rows, before recalibration.

        A learner overrides this or `_margin`.
        """
        return sigmoid(self._margin(X))

    def _margin(self, X: Any) -> Floats:  # noqa: ANN401
        """Return a finite number for each row, above 0 where `_positive` is above 1/2."""
        return _log_odds(self._positive(X))

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probabilities of both classes, negative first, shape (n, 2)."""
        positive = self._recalibrated(self._check_new(X))
        return np.stack([1.0 - positive, positive], axis=-1)

    @property
    def _map(self) -> Calibrator | None:
        """The map from scores to probabilities, if the learner fitted one."""
        return getattr(self, "calibrator_", None)

    def _recalibrated(self, X: Any) -> Floats:  # noqa: ANN401
        raw = self._positive(X)
        return raw if self._map is None else np.asarray(self._map.transform(raw))

    def decision_function(self, X: Any) -> Floats:  # noqa: ANN401
        """Return a finite number for each row, above 0 where the positive class is predicted.

        These are log odds, or the margins described by the learner.
        """
        rows = self._check_new(X)
        return self._margin(rows) if self._map is None else _log_odds(self._recalibrated(rows))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the positive label where its probability is above 1/2, otherwise the other one."""
        positive = (self.decision_function(X) > 0.0).astype(np.intp)
        chosen: NDArray[Any] = self.classes_[positive]
        return chosen

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: ANN401
        """Return the proxy accuracy: the accuracy plus the prior, computed without negatives.

        With setting="labeled", this is the accuracy.

        Parameters
        ----------
        X : array-like or frame
        y : array-like
            1 for labeled positives, 0 for unlabeled rows.
        sample_weight : array-like, optional
            Importance weight of each row.
        """
        check_is_fitted(self)
        if is_labeled(self.setting):
            return float(super().score(X, y, sample_weight))
        prior = self._known_prior("for the score")
        flags = check_flags(column_or_1d(y), "y", self.positive_label)
        given: dict[str, Any] = {"sample_weight": sample_weight, "weight_kind": "importance"}
        given |= {"setting": self.setting, "prior": prior}
        scores = PUScores.from_pu_labels(flags, self.predict_proba(X)[:, 1], **given)
        # A metric counts scores at or above the threshold; `predict` requires more than 1/2.
        return proxy_accuracy(scores, threshold=float(_ABOVE_HALF))

    def _folds(self, rows: Rows, folds: int) -> list[tuple[Places, Places]]:
        """Split the rows into folds, stratified by label."""
        fewest = int(min(rows.flags.sum(), (~rows.flags).sum()))
        if fewest < 2:
            return []
        deal = PUStratifiedKFold(
            min(folds, fewest), setting=self.setting, random_state=self.random_state
        )
        return list(deal.split(rows.flags, rows.flags))


def _log_odds(positive: Floats) -> Floats:
    # Probabilities 0 and 1 have infinite log odds, which scikit-learn's AUC functions reject.
    return np.asarray(logit(np.clip(positive, np.finfo(float).tiny, _BELOW_ONE)))


def sigmoid(margin: Floats) -> Floats:
    """Return probabilities that are above 1/2 exactly where the margin is above 0."""
    return np.maximum(expit(margin), np.where(margin > 0.0, _ABOVE_HALF, 0.0))


def standard_scale(
    rows: NDArray[Any], weight: Floats | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean and standard deviation of each column; constant columns get deviation 1."""
    if weight is None:
        mean, deviation = rows.mean(0), rows.std(0)
    else:
        mean = np.average(rows, axis=0, weights=weight)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(deviation > 0.0, deviation, 1.0)
