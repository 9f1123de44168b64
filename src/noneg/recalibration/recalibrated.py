"""`Recalibrated`: a scikit-learn classifier whose probabilities are repaired as it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
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

from noneg.checks import check_flags, check_setting, is_labelled
from noneg.errors import InputError
from noneg.prior import estimate_prior
from noneg.recalibration.choose import find_calibrator
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.recalibration.base import Calibrator

    Floats = NDArray[np.float64]


class Recalibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Train any classifier on positives and unlabeled rows, and calibrate it without negatives.

    The rows are dealt to folds. A copy of the classifier is trained on all folds but one and scores
    the rows of that fold, so that no row is scored by a classifier that has seen it. A calibrator
    is fitted on these scores; then the classifier is trained once more, on all rows.

    A classifier trained on such labels tells labelled from unlabeled rows; after calibration its
    probability is that of being *positive*. Use it like any classifier: ``fit(X, labeled)``,
    ``predict_proba(X)``.

    Parameters
    ----------
    classifier : scikit-learn classifier
        With ``predict_proba``, or else ``decision_function``, whose sigmoid is then calibrated.
    method : str or Calibrator
        Name in `noneg.recalibration.METHODS`, or a calibrator whose parameters are used.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; never guessed, so it must be given.
    prior : float or "estimate", optional
        Share of positives in the population, or what the out-of-fold scores tell of it; needed
        unless the setting is "labelled".
    cv : int or splitter
        Number of folds, stratified by label, or an object with scikit-learn's ``split(X, y)``.
    random_state : int
        Seed of the folds.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Folds side by side.

    Notes
    -----
    scikit-learn's own checks of an estimator pass, but for those that train on labels such as 1 and
    2 or "one" and "two" without saying which one is positive: that is never guessed, so
    `positive_label` must be given for them.

    Attributes
    ----------
    classifier_ : estimator
        The classifier, trained on all rows.
    calibrator_ : Calibrator
        What maps its scores to probabilities.
    out_of_fold_ : PUScores
        Scores of all rows by classifiers that have not seen them, before calibration. Pass it to
        `noneg.recalibration.held_out` to see what calibration does.
    classes_ : ndarray, shape (2,)
        The label of other rows, then the positive one.

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

    def __init__(
        self,
        classifier: Any,  # noqa: ANN401
        *,
        method: str | Calibrator = "auto",
        setting: Setting | None = None,
        prior: float | Literal["estimate"] | None = None,
        cv: Any = 5,  # noqa: ANN401
        random_state: int = 0,
        positive_label: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.setting = setting
        self.prior = prior
        self.cv = cv
        self.random_state = random_state
        self.positive_label = positive_label
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ANN401
        """Train and calibrate.

        Parameters
        ----------
        X : array-like, shape (n, features)
        y : array-like, shape (n,)
            1 for labelled positives and 0 for unlabeled rows; in the setting "labelled" the labels.
        sample_weight : array-like, optional
            Importance of each row, for the classifier if it takes weights, and for the calibrator.
        """
        self._check_prior(check_setting(self.setting))
        calibrator = find_calibrator(self.method)
        X, labels = indexable(X, column_or_1d(y, warn=True))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        flags = self._flags(labels, weight)
        scores = self._out_of_fold(X, labels, flags, weight)
        self.out_of_fold_ = self._scores(flags, scores, weight)
        self.calibrator_ = calibrator.fit(self.out_of_fold_)
        self.classifier_ = trained(self.classifier, X, labels, weight)
        self._take_names()
        return self

    def _take_names(self) -> None:
        """Tell the features of the classifier as one's own."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.classifier_, name):
                setattr(self, name, getattr(self.classifier_, name))

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the probabilities of both classes, the positive one second."""
        check_is_fitted(self)
        return self.calibrator_.predict_proba(self._score(self.classifier_, X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the more probable class of each row."""
        probable = self.predict_proba(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[probable]
        return chosen

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags

    def _check_prior(self, setting: Setting) -> None:
        if is_labelled(setting) != (self.prior is None):
            rule = "must not be given" if is_labelled(setting) else "must be given"
            remedy = "Labels of every row determine it, and nothing else does."
            rule = f"{rule} with setting='{setting}'"
            raise InputError("prior", rule, value=self.prior, remedy=remedy)

    def _flags(self, labels: NDArray[Any], weight: Floats | None) -> NDArray[np.bool_]:
        check_binary(labels)
        flags = check_flags(labels, "y", self.positive_label)
        counted = flags if weight is None else flags[weight > 0.0]
        if counted.all() or not counted.any():
            rule = "must hold two classes, labelled positives and other rows, got one class"
            raise InputError("y", rule)
        self.classes_ = np.array([labels[~flags][0], labels[flags][0]])
        return flags

    def _out_of_fold(
        self,
        X: Any,  # noqa: ANN401
        labels: NDArray[Any],
        flags: NDArray[np.bool_],
        weight: Floats | None,
    ) -> Floats:
        """Return the score of each row by a classifier that has not seen it."""

        def scored(train: NDArray[np.intp], test: NDArray[np.intp]) -> Floats:
            rows, answers = _safe_split(self.classifier, X, labels, train)
            importance = None if weight is None else weight[train]
            model = trained(self.classifier, rows, answers, importance)
            held_out, _ = _safe_split(self.classifier, X, labels, test, train)
            return self._score(model, held_out)

        out, folds = np.full(flags.size, np.nan), list(self._splitter(flags).split(X, flags))
        found = Parallel(n_jobs=self.n_jobs)(delayed(scored)(*fold) for fold in folds)
        for (_, test), score in zip(folds, found, strict=True):
            out[test] = score
        missing = np.flatnonzero(np.isnan(out))
        if missing.size:
            rule, remedy = "must put every row into one test fold", "Use folds, not random splits."
            raise InputError("cv", rule, row=int(missing[0]), lack="is in none", remedy=remedy)
        return out

    def _splitter(self, flags: NDArray[np.bool_]) -> Any:  # noqa: ANN401
        if hasattr(self.cv, "split") or np.iterable(self.cv):
            return check_cv(self.cv)
        fewest = int(min(flags.sum(), (~flags).sum()))
        if isinstance(self.cv, bool) or not isinstance(self.cv, int) or not 2 <= self.cv <= fewest:
            rule = f"must be a splitter, or a number of folds from 2 to {fewest}, the number of"
            raise InputError("cv", f"{rule} rows of the smaller class", value=self.cv)
        return StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)

    def _score(self, model: Any, X: Any) -> Floats:  # noqa: ANN401
        """Return a number in [0, 1] a row, higher for the positive label."""
        if not hasattr(model, "predict_proba"):
            sign = 1.0 if model.classes_[1] == self.classes_[1] else -1.0
            margin = sign * np.asarray(model.decision_function(X), dtype=np.float64)
            squashed: Floats = 1.0 / (1.0 + np.exp(-np.clip(margin, -700.0, 700.0)))
            return squashed
        place = int(np.flatnonzero(np.asarray(model.classes_) == self.classes_[1])[0])
        # Single-precision probabilities may exceed 1 by a rounding.
        return np.clip(np.asarray(model.predict_proba(X), dtype=np.float64)[:, place], 0.0, 1.0)

    def _scores(self, flags: NDArray[np.bool_], score: Floats, weight: Floats | None) -> PUScores:
        options: dict[str, Any] = {"sample_weight": weight, "weight_kind": "importance"}
        if self.prior is None:
            return PUScores.from_labels(flags, score, **options)
        options["setting"] = check_setting(self.setting)
        if self.prior == "estimate":
            scores = PUScores.from_pu_labels(flags, score, **options)
            return estimate_prior(scores).apply(scores)
        return PUScores.from_pu_labels(flags, score, prior=self.prior, **options)


def check_binary(labels: NDArray[Any]) -> None:
    """Refuse labels that are no two classes, in the words that scikit-learn uses for it."""
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind != "binary":
        msg = f"Only binary classification is supported. The type of the target is {kind}."
        raise ValueError(f"{msg} Use noneg.recalibration.OneVsRest for many classes.")


def trained(
    classifier: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    labels: NDArray[Any],
    weight: Floats | None,
) -> Any:  # noqa: ANN401
    """Return a new copy of the classifier, trained."""
    options = {}
    if weight is not None and has_fit_parameter(classifier, "sample_weight"):
        options["sample_weight"] = weight
    return clone(classifier).fit(X, labels, **options)
