"""`PUThresholdClassifier`: a scikit-learn classifier that carries its promised threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from noneg import performance
from noneg.checks import check_setting, is_labelled
from noneg.errors import InputError
from noneg.prior import estimate_prior
from noneg.recalibration.recalibrated import Recalibrated, trained
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.performance import Promise

    Floats = NDArray[np.float64]

GOALS: dict[str, Callable[..., Promise]] = {
    "recall": performance.recall_threshold,
    "precision": performance.precision_threshold,
    "cost": performance.cost_threshold,
}
PREFIT = "prefit"


class PUThresholdClassifier(Recalibrated):
    """Give a classifier the threshold that keeps a promise, without negatives.

    Like scikit-learn's ``TunedThresholdClassifierCV``, but the rows are labeled positives and
    unlabeled rows, and the threshold does not maximize a score: it guarantees a recall, a precision
    or a cost with the given confidence (`noneg.performance.recall_threshold` and its neighbors).

    Parameters
    ----------
    classifier : scikit-learn classifier
        With ``predict_proba``, or else ``decision_function``, whose sigmoid is then the score.
    recall, precision : float, optional
        Promise at least this.
    cost : array-like, optional
        Promise the smallest cost; see `noneg.performance.cost_threshold`. Exactly one of the three
        must be given.
    confidence : float or None
        Probability with which the promise holds; None for a recall on average.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; never guessed, so it must be given.
    prior : float or "estimate", optional
        Share of positives in the population, or what the scores tell of it; a promise of recall
        needs none.
    prior_interval : (float, float), optional
        What is known of the prior.
    selection : float
        How far hidden positives may differ from labeled ones; see `noneg.PUScores`.
    cv : "prefit", int or splitter
        With "prefit" the classifier is fitted already, on other rows than `fit` gets, and the
        promise holds for it. With folds it is fitted on all rows at the end, and the threshold
        comes from classifiers that have not seen the rows they score; the promise then holds as
        far as the last classifier scores new rows alike.
    random_state : int
        Seed of the folds.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Folds trained at the same time.

    Attributes
    ----------
    classifier_ : estimator
    promise_ : noneg.performance.Promise
    threshold_ : float
        Rows whose score reaches it are predicted positive.
    scores_ : PUScores
        The scores that the threshold was chosen on.
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

    def __init__(  # noqa: PLR0913 - what is wanted, and what is known
        self,
        classifier: Any,  # noqa: ANN401
        *,
        recall: float | None = None,
        precision: float | None = None,
        cost: ArrayLike | None = None,
        confidence: float | None = 0.95,
        setting: Setting | None = None,
        prior: float | Literal["estimate"] | None = None,
        prior_interval: tuple[float, float] | None = None,
        selection: float = 1.0,
        cv: Any = PREFIT,  # noqa: ANN401
        random_state: int = 0,
        positive_label: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.recall = recall
        self.precision = precision
        self.cost = cost
        self.confidence = confidence
        self.setting = setting
        self.prior = prior
        self.prior_interval = prior_interval
        self.selection = selection
        self.cv = cv
        self.random_state = random_state
        self.positive_label = positive_label
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ANN401
        """Choose the threshold, and train the classifier unless it is fitted already.

        Parameters
        ----------
        X : array-like, shape (n, features)
        y : array-like, shape (n,)
            1 for labeled positives and 0 for unlabeled rows; in the setting "labelled" the labels.
        sample_weight : array-like, optional
            Importance of each row.
        """
        check_setting(self.setting)
        goal = self._goal()
        X, labels = indexable(X, column_or_1d(y, warn=True))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        flags = self._flags(labels, weight)
        if isinstance(self.cv, str) and self.cv == PREFIT:
            check_is_fitted(self.classifier)
            self.classifier_, found = self.classifier, self._score(self.classifier, X)
        else:
            found = self._out_of_fold(X, labels, flags, weight)
            self.classifier_ = trained(self.classifier, X, labels, weight)
        self.scores_ = self._scores(flags, found, weight)
        self.promise_ = self._promise(goal)
        self.threshold_ = self.promise_.threshold
        self._take_names()
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the classifier's own probabilities, the positive class second."""
        check_is_fitted(self)
        score = self._score(self.classifier_, X)
        return np.stack([1.0 - score, score], axis=-1)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the positive class for rows that reach the threshold, else the other one."""
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

    def _scores(self, flags: NDArray[np.bool_], score: Floats, weight: Floats | None) -> PUScores:
        options: dict[str, Any] = {"sample_weight": weight, "weight_kind": "importance"}
        setting = check_setting(self.setting)
        if is_labelled(setting):
            return PUScores.from_labels(flags, score, **options)
        scores = PUScores.from_pu_labels(
            flags,
            score,
            prior=None if self.prior == "estimate" else self.prior,
            prior_interval=self.prior_interval,
            selection=self.selection,
            setting=setting,
            **options,
        )
        return estimate_prior(scores).apply(scores) if self.prior == "estimate" else scores
