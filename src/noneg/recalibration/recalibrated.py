"""Classifiers for scikit-learn: `Recalibrated`, and `PUThresholdClassifier` with its guarantee."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from noneg import performance
from noneg.checks import (
    check_estimated_alone,
    check_flags,
    check_prior_given,
    check_setting,
    is_labeled,
)
from noneg.errors import InputError
from noneg.prior import estimate_prior
from noneg.recalibration.choose import find_calibrator
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats, Places
    from noneg.checks import Setting, WeightKind
    from noneg.performance import Promise
    from noneg.recalibration.base import Calibrator


@dataclass(eq=False, repr=False)
class Wrapped(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A wrapper around a classifier that scores each row with a copy that has not seen it."""

    classifier: Any
    _: KW_ONLY
    setting: Setting | None = None
    prior: float | Literal["estimate"] | None = None
    cv: Any = 5
    random_state: int = 0
    positive_label: object = None
    weight_kind: WeightKind = "importance"
    n_jobs: int | None = None

    def _fit(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        *,
        prefit: bool = False,
        **known: object,
    ) -> PUScores:
        """Train the classifier unless it is fitted, and return scores of rows it has not seen."""
        X, labels = indexable(X, column_or_1d(y, warn=True))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        flags = self._flags(labels, weight)
        if prefit:
            check_is_fitted(self.classifier)
            self.classifier_, score = self.classifier, self._score(self.classifier, X)
        else:
            score = self._out_of_fold(X, labels, flags, weight)
            self.classifier_ = self._trained(X, labels, weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.classifier_, name):
                setattr(self, name, getattr(self.classifier_, name))
        options = {"sample_weight": weight, "weight_kind": self.weight_kind}
        return self._scores(flags, score, options, known)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags

    def _flags(self, labels: NDArray[Any], weight: Floats | None) -> Flags:
        check_binary(labels)
        flags = check_flags(labels, "y", self.positive_label)
        counted = flags if weight is None else flags[weight > 0.0]
        if counted.all() or not counted.any():
            rule = "must contain two classes, labeled positives and other rows, got one class"
            raise InputError("y", rule)
        self.classes_ = np.array([labels[~flags][0], labels[flags][0]])
        return flags

    def _out_of_fold(
        self,
        X: Any,  # noqa: ANN401
        labels: NDArray[Any],
        flags: Flags,
        weight: Floats | None,
    ) -> Floats:
        """Return each row's score from a classifier that has not seen it."""

        def scored(train: Places, test: Places) -> Floats:
            rows, answers = _safe_split(self.classifier, X, labels, train)
            model = self._trained(rows, answers, None if weight is None else weight[train])
            held_out, _ = _safe_split(self.classifier, X, labels, test, train)
            return self._score(model, held_out)

        out, folds = np.full(flags.size, np.nan), list(self._splitter(flags).split(X, flags))
        found = Parallel(n_jobs=self.n_jobs)(delayed(scored)(*fold) for fold in folds)
        for (_, test), score in zip(folds, found, strict=True):
            out[test] = score
        missing = np.flatnonzero(np.isnan(out))
        if missing.size:
            rule, remedy = "must assign every row to one test fold", "Use folds, not random splits."
            raise InputError("cv", rule, row=int(missing[0]), lack="is in none", remedy=remedy)
        return out

    def _trained(self, X: Any, labels: NDArray[Any], weight: Floats | None) -> Any:  # noqa: ANN401
        """Return a trained copy of the classifier."""
        options = {} if weight is None else weight_options(self.classifier, weight)
        return clone(self.classifier).fit(X, labels, **(options or {}))

    def _splitter(self, flags: Flags) -> Any:  # noqa: ANN401
        if hasattr(self.cv, "split") or np.iterable(self.cv):
            return check_cv(self.cv)
        fewest = int(min(flags.sum(), (~flags).sum()))
        if isinstance(self.cv, bool) or not isinstance(self.cv, int) or not 2 <= self.cv <= fewest:
            rule = f"must be a splitter, or a number of folds from 2 to {fewest}, the number of"
            raise InputError("cv", f"{rule} rows of the smaller class", value=self.cv)
        return StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)

    def _score(self, model: Any, X: Any) -> Floats:  # noqa: ANN401
        """Return a number in [0, 1] per row, higher for the positive label."""
        if not hasattr(model, "predict_proba"):
            sign = 1.0 if model.classes_[1] == self.classes_[1] else -1.0
            margin = sign * np.asarray(model.decision_function(X), dtype=np.float64)
            return np.asarray(expit(margin))
        place = int(np.flatnonzero(np.asarray(model.classes_) == self.classes_[1])[0])
        # Single-precision probabilities may exceed 1 by rounding error.
        return np.clip(np.asarray(model.predict_proba(X), dtype=np.float64)[:, place], 0.0, 1.0)

    def _scores(self, flags: Flags, score: Floats, options: Any, known: Any) -> PUScores:  # noqa: ANN401
        setting = check_setting(self.setting)
        if is_labeled(setting):
            return PUScores.from_labels(flags, score, **options)
        estimated = self.prior == "estimate"
        options |= {"prior": None if estimated else self.prior, "setting": setting, **known}
        scores = PUScores.from_pu_labels(flags, score, **options)
        return estimate_prior(scores).apply(scores) if estimated else scores


@dataclass(eq=False, repr=False)
class Recalibrated(Wrapped):
    """Train any classifier on positive and unlabeled rows, and calibrate it without negatives.

    The rows are split into folds. A copy of the classifier is trained on all folds but one and
    scores the rows of that fold, so no row is scored by a classifier that has seen it. A calibrator
    is fitted to these scores, and then the classifier is retrained on all rows.

    A classifier trained on such labels separates labeled from unlabeled rows; after calibration,
    its output is the probability of being *positive*. Use it like any classifier:
    ``fit(X, labeled)``, ``predict_proba(X)``.

    Parameters
    ----------
    classifier : scikit-learn classifier
        With ``predict_proba`` or, failing that, ``decision_function``, whose sigmoid is calibrated.
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled. Required, because it is never guessed.
    prior : float or "estimate", optional
        Share of positives in the population, or "estimate" to estimate it from the out-of-fold
        scores. Required unless the setting is "labeled".
    cv : int or splitter
        Number of folds, stratified by label, or an object with scikit-learn's ``split(X, y)``.
    random_state : int
        Seed of the folds.
    positive_label : object, optional
        The label for positives; not needed for 0/1, -1/1 and true/false.
    weight_kind : {"importance", "frequency"}
        Whether weights correct for unequal sampling or count identical rows; see `noneg.PUScores`.
    n_jobs : int, optional
        Number of folds trained in parallel.

    Notes
    -----
    scikit-learn's own estimator checks pass, except those that train on labels such as 1 and 2 or
    "one" and "two" without specifying which is positive: this is never guessed, so `positive_label`
    is required for them. The check that a row of weight two equals two rows applies to weights that
    count rows: it passes with ``weight_kind="frequency"``.

    Attributes
    ----------
    classifier_ : estimator
        The classifier, trained on all rows.
    calibrator_ : Calibrator
        Maps the classifier's scores to probabilities.
    out_of_fold_ : PUScores
        Scores of all rows from classifiers that have not seen them, before calibration. Pass it to
        `noneg.recalibration.held_out` to evaluate the calibration.
    classes_ : ndarray, shape (2,)
        The label of the other rows, followed by the positive label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from noneg.recalibration import Recalibrated
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.5
    >>> X = rng.normal(size=(4000, 1)) + y[:, None]
    >>> labeled = y & (rng.random(4000) < 0.3)  # a third of the positives is known
    >>> model = Recalibrated(GaussianNB(), setting="one-sample", prior=0.5, method="platt")
    >>> round(float(model.fit(X, labeled).predict_proba(X)[:, 1].mean()), 2)
    0.5
    """

    _: KW_ONLY
    method: str | Calibrator = "auto"

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Train and calibrate.

        Parameters
        ----------
        X : array-like, shape (n, features)
        y : array-like, shape (n,)
            1 for labeled positives and 0 for unlabeled rows; in the setting "labeled", the true
            labels.
        sample_weight : array-like, optional
            Weight of each row, for the calibrator and, if it accepts weights, for the classifier.
        propensity : array-like, optional
            For each row, the rate in (0, 1] at which a positive like it is labeled, for the
            calibrator. By default, positives are assumed to be labeled completely at random.
        """
        setting = check_setting(self.setting)
        check_prior_given(setting, self.prior, ranged=False)
        if propensity is not None and is_labeled(setting):
            raise InputError("propensity", "must not be given with setting='labeled'")
        calibrator = find_calibrator(self.method)
        self.out_of_fold_ = self._fit(X, y, sample_weight, propensity=propensity)
        self.calibrator_ = calibrator.fit(self.out_of_fold_)
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probabilities of both classes, positive class second."""
        check_is_fitted(self)
        return self.calibrator_.predict_proba(self._score(self.classifier_, X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the more probable class for each row."""
        probable = self.predict_proba(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[probable]
        return chosen


def check_binary(labels: NDArray[Any]) -> None:
    """Reject labels that are not binary, with the wording used by scikit-learn."""
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind != "binary":
        msg = f"Only binary classification is supported. The type of the target is {kind}."
        raise ValueError(f"{msg} Use noneg.recalibration.OneVsRest for many classes.")


def weight_options(classifier: Any, weight: Floats) -> dict[str, Any] | None:  # noqa: ANN401
    """Return how to pass weights to a classifier's fit, or None if it does not accept them.

    A pipeline passes them to its last step.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> list(weight_options(make_pipeline(LogisticRegression()), np.ones(2)))
    ['logisticregression__sample_weight']
    >>> weight_options(KNeighborsClassifier(), np.ones(2))
    """
    name, last = "sample_weight", classifier
    if isinstance(classifier, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return {name: weight}
        step, last = classifier.steps[-1]
        name = f"{step}__{name}"
    return {name: weight} if has_fit_parameter(last, "sample_weight") else None


GOALS: dict[str, Callable[..., Promise]] = {
    "recall": performance.recall_threshold,
    "precision": performance.precision_threshold,
    "cost": performance.cost_threshold,
}
PREFIT = "prefit"


@dataclass(eq=False, repr=False)
class PUThresholdClassifier(Wrapped):
    """Give a classifier a threshold with a guarantee, without negatives.

    This is like scikit-learn's ``TunedThresholdClassifierCV``, but the rows are labeled positives
    and unlabeled rows, and the threshold does not maximize a score: it guarantees a recall, a
    precision or a cost with the given confidence (see `noneg.performance.recall_threshold` and
    related functions).

    Parameters
    ----------
    classifier : scikit-learn classifier
        With ``predict_proba`` or, failing that, ``decision_function``, whose sigmoid is the score.
    recall, precision : float, optional
        Guarantee at least this value.
    cost : array-like, optional
        Guarantee the smallest cost; see `noneg.performance.cost_threshold`. Exactly one of the
        three must be given.
    confidence : float or None
        Probability with which the guarantee holds; None for a recall on average.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled. Required, because it is never guessed.
    prior : float or "estimate", optional
        Share of positives in the population, or "estimate" to estimate it from the scores. Not
        needed for a recall guarantee.
    prior_interval : (float, float), optional
        Interval known to contain the prior.
    selection : float
        How far hidden positives may differ from labeled ones; see `noneg.PUScores`.
    cv : "prefit", int or splitter
        With "prefit", the classifier has already been fitted, on rows other than those passed to
        `fit`, and the guarantee holds for it. With folds, the final classifier is fitted on all
        rows, and the threshold comes from classifiers that have not seen the rows they score; the
        guarantee then holds to the extent that the final classifier scores new rows in the same
        way.
    random_state : int
        Seed of the folds.
    positive_label : object, optional
        The label for positives; not needed for 0/1, -1/1 and true/false.
    weight_kind : {"importance", "frequency"}
        Whether weights correct for unequal sampling or count identical rows; see `noneg.PUScores`.
    n_jobs : int, optional
        Number of folds trained in parallel.

    Attributes
    ----------
    classifier_ : estimator
    promise_ : noneg.performance.Promise
    threshold_ : float
        Rows with at least this score are predicted to be positive.
    scores_ : PUScores
        The scores used to choose the threshold.
    classes_ : ndarray, shape (2,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from noneg.sklearn import PUThresholdClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.3
    >>> X = rng.normal(size=(4000, 1)) + 2 * y[:, None]
    >>> labeled = y & (rng.random(4000) < 0.5)
    >>> model = GaussianNB().fit(X[:2000], labeled[:2000])
    >>> careful = PUThresholdClassifier(model, recall=0.9, setting="one-sample")
    >>> found = careful.fit(X[2000:], labeled[2000:]).predict(X)
    >>> bool(found[y].mean() >= 0.9)
    True
    """

    _: KW_ONLY
    recall: float | None = None
    precision: float | None = None
    cost: ArrayLike | None = None
    confidence: float | None = 0.95
    prior_interval: tuple[float, float] | None = None
    selection: float = 1.0
    cv: Any = PREFIT

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ANN401
        """Choose the threshold, and train the classifier unless it is already fitted.

        Parameters
        ----------
        X : array-like, shape (n, features)
        y : array-like, shape (n,)
            1 for labeled positives and 0 for unlabeled rows; in the setting "labeled", the true
            labels.
        sample_weight : array-like, optional
            Weight of each row.
        """
        if is_labeled(check_setting(self.setting)):
            check_prior_given("labeled", self.prior, self.prior_interval)
        check_estimated_alone(self.prior, self.prior_interval)
        goal = self._goal()
        known = {"prior_interval": self.prior_interval, "selection": self.selection}
        prefit = isinstance(self.cv, str) and self.cv == PREFIT
        self.scores_ = self._fit(X, y, sample_weight, prefit=prefit, **known)
        self.promise_ = self._promise(goal)
        self.threshold_ = self.promise_.threshold
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the classifier's own probabilities, positive class second."""
        check_is_fitted(self)
        score = self._score(self.classifier_, X)
        return np.stack([1.0 - score, score], axis=-1)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the positive class for rows that reach the threshold, else the other class."""
        flagged = self.predict_proba(X)[:, 1] >= self.threshold_
        chosen: NDArray[Any] = self.classes_[flagged.astype(np.intp)]
        return chosen

    def _goal(self) -> str:
        given = [name for name in GOALS if getattr(self, name) is not None]
        if len(given) != 1:
            rule = f"must be given one at a time, got {', '.join(given) or 'none'}"
            raise InputError(tuple(GOALS), rule)
        return given[0]

    def _promise(self, goal: str) -> Promise:
        options = {goal: getattr(self, goal), "confidence": self.confidence}
        return GOALS[goal](self.scores_, **options)
