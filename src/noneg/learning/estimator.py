"""PU estimators of scikit-learn's kind: their base, and `PUClassifier` for every algorithm.

Torch is loaded when a network is trained, not before.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from noneg.checks import check_flags, check_prior, check_pu_setting, check_same_length
from noneg.errors import InputError
from noneg.learning.task import make_task
from noneg.recalibration.recalibrated import check_binary
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold, PUStratifiedShuffleSplit, scorer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from torch import nn

    from noneg.checks import Setting
    from noneg.learning.contract import Algorithm, PUData
    from noneg.learning.task import Correction, Task
    from noneg.learning.training import Fit, Precision

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# The largest double below 1 and the smallest above 1/2.
_BELOW_ONE, _ABOVE_HALF = np.nextafter([1.0, 0.5], [0.0, 1.0])


class PUEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers whose ``y`` is 1 for labelled positives and 0 for unlabeled rows."""

    setting: Setting
    prior: float | None

    def fit(self, X: ArrayLike, labeled: ArrayLike) -> Self:
        """Learn from labelled positives and unlabeled rows.

        Parameters
        ----------
        X : array-like, shape (n, d), for networks also (n, channels, height, width)
        labeled : array-like, shape (n,)
            1 for labelled positives, 0 for unlabeled rows.
        """
        self._learn(*self._check_rows(X, labeled))
        return self

    def _learn(self, rows: NDArray[Any], flags: Flags) -> None:
        raise NotImplementedError

    def _check_rows(self, X: ArrayLike, labeled: ArrayLike) -> tuple[NDArray[Any], Flags]:
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
                msg = f"must hold at least one {what}, got none: only one class is there."
                raise InputError("labeled", msg)
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
                f"must be given {what}: the share of positives in the population, which "
                "noneg.prior.estimate_prior(X, labeled, setting=...) can estimate."
            )
            raise InputError("prior", msg)
        return check_prior(self.prior)

    def _task(self, flags: Flags, prior: float | None) -> Task:
        n_pos, n_unl = int(flags.sum()), int((~flags).sum())
        return make_task(n_pos, n_unl, setting=self.setting, prior=prior, correction="weighted")

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
            raise InputError("sample_weight", "must be None; weigh with noneg.sklearn.scorer.")
        self._check_inputs(X)
        prior = self._need_prior("for the score")
        # A metric counts scores from the threshold on, `predict` those above 1/2.
        threshold = float(_ABOVE_HALF)
        accuracy = scorer("proxy_accuracy", setting=self.setting, prior=prior, threshold=threshold)
        return float(accuracy(self, X, labeled))


def sigmoid(margin: Floats) -> Floats:
    """Return probabilities that are above 1/2 exactly where the margin is above 0."""
    return np.maximum(expit(margin), np.where(margin > 0.0, _ABOVE_HALF, 0.0))


def standard_scale(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean and the deviation of each column, 1 for a constant one."""
    deviation = rows.std(0)
    return rows.mean(0), np.where(deviation > 0.0, deviation, 1.0)


@dataclass(eq=False, repr=False)
class PUClassifier(PUEstimator):
    """A neural network trained on positives and unlabeled rows, with usable probabilities.

    Most PU losses give probabilities that are too extreme. By default the network is therefore
    trained once more in each of a few folds, its scores of held-out rows are pooled, and a map
    chosen by `noneg.recalibration.Auto` from these PU data repairs the probabilities of the network
    trained on all rows.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name in `noneg.learning.ALGORITHMS`, or one with your hyperparameters. What its
        probability means before recalibration is in its attribute ``probability``.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float, optional
        Share of positives in the population. Needed for recalibration and by most algorithms.
    network : Module or callable, optional
        Any network with one or two logits a row, or a function that makes it. By default one
        hidden layer of 500 units.
    recalibrate : str or None
        Method of `noneg.recalibration`, such as "auto" or "platt"; None leaves scores as they are.
    folds : int
        Folds for recalibration.
    correction : {"weighted", "shift", "batch", "none"}, optional
        One-sample correction; see `noneg.learning.task`.
    validation : float
        Share of rows to hold out for early stopping, and for algorithms that need it; 0 for none.
    standardize : bool
        Whether columns of a table are brought to mean 0 and deviation 1.
    epochs, batch_size, optimizer, lr, weight_decay, criterion, patience
        Of `noneg.learning.Trainer`.
    device, precision, progress
        Of `noneg.learning.Trainer`.
    random_state : int
        Everything random depends on it alone.

    Attributes
    ----------
    algorithm_ : Algorithm
        Trained.
    history_ : list of dict
        Loss, and the criterion on held-out rows, at every checkpoint.
    calibrator_ : Calibrator or None
        The map from scores to probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.learning import PUClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> model = PUClassifier("nnpu", setting="one-sample", prior=0.4, epochs=10)
    >>> bool((model.fit(X, labeled).predict(X) == y).mean() > 0.9)
    True
    """

    algorithm: str | Algorithm = "nnpu"
    _: KW_ONLY
    setting: Setting
    prior: float | None = None
    network: nn.Module | Callable[[], nn.Module] | None = None
    recalibrate: str | None = "auto"
    folds: int = 3
    correction: Correction | None = None
    validation: float = 0.0
    standardize: bool = True
    epochs: int = 30
    batch_size: int = 128
    optimizer: str | Callable[..., Any] = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    criterion: str = "proxy_auc"
    patience: int | None = None
    device: str | None = None
    precision: Precision = "float32"
    progress: bool = False
    random_state: int = 0

    def _learn(self, rows: NDArray[Any], flags: Flags) -> None:
        if self.recalibrate is not None:
            self._need_prior("to recalibrate (or pass recalibrate=None)")
        self._center, self._scale = np.zeros(1, rows.dtype), np.ones(1, rows.dtype)
        if self.standardize and rows.ndim == 2:
            self._center, self._scale = standard_scale(rows)
        rows = self._scaled(rows)
        fit = self._train(rows, flags)
        self.algorithm_, self.history_ = fit.algorithm.to("cpu"), fit.history
        self.calibrator_ = None if self.recalibrate is None else self._calibrator(rows, flags)

    def _calibrator(self, rows: NDArray[np.float32], flags: Flags) -> Any:  # noqa: ANN401
        from noneg.recalibration import make

        score = np.empty(len(rows))
        folds = PUStratifiedKFold(self.folds, setting=self.setting, random_state=self.random_state)
        for train, test in folds.split(rows, flags):
            held = self._train(rows[train], flags[train]).algorithm
            score[test] = sigmoid(_log_odds(held, rows[test]))
        pooled = PUScores.from_pu_labels(
            flags, score, prior=self._need_prior("to recalibrate"), setting=self.setting
        )
        return make(str(self.recalibrate)).fit(pooled)

    def _train(self, rows: NDArray[np.float32], flags: Flags) -> Fit:
        from noneg.learning.algorithms import find_algorithm
        from noneg.learning.networks import MLP
        from noneg.learning.training import Trainer

        own, size = self.get_params(deep=False), int(np.prod(rows.shape[1:]))
        shared = {item.name: own[item.name] for item in fields(Trainer) if item.name in own}
        data, held = self._split(rows, flags)
        return Trainer(seed=self.random_state, **shared).fit(
            find_algorithm(self.algorithm),
            (lambda: MLP(size)) if self.network is None else self.network,
            data,
            setting=self.setting,
            prior=self.prior,
            correction=self.correction,
            validation=held,
        )

    def _split(self, rows: NDArray[np.float32], flags: Flags) -> tuple[PUData, PUData | None]:
        if not self.validation:
            return _data(rows, flags), None
        splitter = PUStratifiedShuffleSplit(
            1, setting=self.setting, test_size=self.validation, random_state=self.random_state
        )
        train, test = next(splitter.split(rows, flags))
        return _data(rows[train], flags[train]), _data(rows[test], flags[test])

    def _scaled(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        return np.asarray((rows - self._center) / self._scale, dtype=np.float32)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return log odds of the positive class; above 0 where it is predicted."""
        check_is_fitted(self)
        return self._margin(X) if self.calibrator_ is None else super().decision_function(X)

    def _positive(self, X: ArrayLike) -> Floats:
        raw = sigmoid(self._margin(X))
        return raw if self.calibrator_ is None else np.asarray(self.calibrator_.transform(raw))

    def _margin(self, X: ArrayLike) -> Floats:
        """Return the algorithm's log odds, before recalibration."""
        rows = self._check_inputs(X)
        return _log_odds(self.algorithm_, self._scaled(rows))


def _data(rows: NDArray[np.float32], flags: Flags) -> PUData:
    import torch

    from noneg.learning.contract import PUData

    return PUData(torch.as_tensor(rows[flags]), torch.as_tensor(rows[~flags]))


def _log_odds(algorithm: Algorithm, rows: NDArray[np.float32]) -> Floats:
    import torch

    return algorithm.decision(torch.as_tensor(rows)).cpu().numpy().astype(np.float64)
