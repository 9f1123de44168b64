"""`PUClassifier`: every algorithm of the registry as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from noneg.learning.base import PUEstimator, sigmoid
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold, PUStratifiedShuffleSplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from torch import nn

    from noneg.checks import Setting
    from noneg.learning.base import Floats
    from noneg.learning.contract import Algorithm
    from noneg.learning.data import PUData
    from noneg.learning.task import Correction
    from noneg.learning.trainer import Fit, Precision, Trainer

    Flags = NDArray[np.bool_]


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

    def __init__(  # noqa: PLR0913
        self,
        algorithm: str | Algorithm = "nnpu",
        *,
        setting: Setting,
        prior: float | None = None,
        network: nn.Module | Callable[[], nn.Module] | None = None,
        recalibrate: str | None = "auto",
        folds: int = 3,
        correction: Correction | None = None,
        validation: float = 0.0,
        standardize: bool = True,
        epochs: int = 30,
        batch_size: int = 128,
        optimizer: str | Callable[..., Any] = "adam",
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        criterion: str = "proxy_auc",
        patience: int | None = None,
        device: str | None = None,
        precision: Precision = "float32",
        progress: bool = False,
        random_state: int = 0,
    ) -> None:
        self.algorithm = algorithm
        self.setting = setting
        self.prior = prior
        self.network = network
        self.recalibrate = recalibrate
        self.folds = folds
        self.correction = correction
        self.validation = validation
        self.standardize = standardize
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.criterion = criterion
        self.patience = patience
        self.device = device
        self.precision = precision
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: ArrayLike, labeled: ArrayLike) -> PUClassifier:
        """Train the network, and in folds what recalibrates it.

        Parameters
        ----------
        X : array-like, shape (n, d) or (n, channels, height, width)
        labeled : array-like, shape (n,)
            1 for labelled positives, 0 for unlabeled rows.
        """
        rows, flags = self._check_rows(X, labeled)
        if self.recalibrate is not None:
            self._need_prior("to recalibrate (or pass recalibrate=None)")
        self._learn_scale(rows)
        rows = self._scaled(rows)
        fit = self._train(rows, flags)
        self.algorithm_, self.history_ = fit.algorithm.to("cpu"), fit.history
        self.calibrator_ = None if self.recalibrate is None else self._calibrator(rows, flags)
        return self

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

        data, held = self._split(rows, flags)
        size = int(np.prod(rows.shape[1:]))
        return self._trainer().fit(
            find_algorithm(self.algorithm),
            (lambda: MLP(size)) if self.network is None else self.network,
            data,
            setting=self.setting,
            prior=self.prior,
            correction=self.correction,
            validation=held,
        )

    def _trainer(self) -> Trainer:
        from noneg.learning.trainer import Trainer

        return Trainer(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            lr=self.lr,
            weight_decay=self.weight_decay,
            criterion=self.criterion,
            patience=self.patience,
            device=self.device,
            precision=self.precision,
            progress=self.progress,
            seed=self.random_state,
        )

    def _split(self, rows: NDArray[np.float32], flags: Flags) -> tuple[PUData, PUData | None]:
        if not self.validation:
            return _data(rows, flags), None
        splitter = PUStratifiedShuffleSplit(
            1, setting=self.setting, test_size=self.validation, random_state=self.random_state
        )
        train, test = next(splitter.split(rows, flags))
        return _data(rows[train], flags[train]), _data(rows[test], flags[test])

    def _learn_scale(self, rows: NDArray[Any]) -> None:
        table = self.standardize and rows.ndim == 2
        self._center = rows.mean(0) if table else 0.0
        scale = rows.std(0) if table else np.ones(1)
        self._scale = np.where(scale > 0.0, scale, 1.0) if table else 1.0

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

    from noneg.learning.data import PUData

    return PUData(torch.as_tensor(rows[flags]), torch.as_tensor(rows[~flags]))


def _log_odds(algorithm: Algorithm, rows: NDArray[np.float32]) -> Floats:
    import torch

    return algorithm.decision(torch.as_tensor(rows)).cpu().numpy().astype(np.float64)
