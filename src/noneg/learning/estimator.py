"""`PUClassifier`: one scikit-learn classifier for tables and images, with usable probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_array

from noneg.checks import is_labeled
from noneg.errors import InputError, did_you_mean
from noneg.learning.base import PUEstimator, Rows, sigmoid, standard_scale
from noneg.learning.boosting import BoostedPU
from noneg.learning.tabular import BaggingPU, LinearPU, WeightedPU
from noneg.likelihood import LabelLaw
from noneg.recalibration import Calibrator, make
from noneg.sklearn import PUStratifiedShuffleSplit
from noneg.tables.frames import Columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import nn

    from noneg.arrays import Floats
    from noneg.learning.contract import Algorithm, PUData
    from noneg.learning.task import Correction
    from noneg.learning.training import Fit, Precision

# Learners for tables, by name.
TABLE_LEARNERS: dict[str, type[PUEstimator]] = {
    "boosted": BoostedPU,
    "bagging": BaggingPU,
    "linear": LinearPU,
    "weighted": WeightedPU,
}
# The learners that "auto" chooses from, and the number of folds it uses.
CANDIDATES, AUTO_FOLDS = ("boosted", "bagging", "linear"), 3
AUTO, TREES, NETWORK = "auto", "boosted", "nnpu"
# Default number of epochs, and limits on the number of updates.
EPOCHS, LEAST_STEPS, MOST_STEPS = 30, 1_000, 20_000
# Default share of rows held out for algorithms that need validation rows.
VALIDATION = 0.2
_EDGE = 1e-6


@dataclass(eq=False, repr=False)
class PUClassifier(PUEstimator):
    """A classifier trained on positives and unlabeled rows, with usable probabilities.

    By default, tables are fitted with boosted trees (`BoostedPU`) and images with a neural network.
    A network is also used if you pass one or name an algorithm in `noneg.learning.ALGORITHMS`.

    With most PU losses, a network's probabilities are too extreme. By default, the network is
    therefore retrained on each of a few folds, its scores on held-out rows are pooled, and a
    calibration map chosen on these PU data corrects the probabilities of the network trained on all
    rows. Methods for positives that are *not* labeled at random (PUSB, LBE, PUe) are not
    recalibrated: the map assumes labeling at random, so it would undo the method.

    Parameters
    ----------
    algorithm : str or Algorithm, optional
        "boosted", "bagging", "linear" or "weighted" for a table learner; a name in
        `noneg.learning.ALGORITHMS`, or an algorithm with your hyperparameters, for a network (its
        attribute ``probability`` describes its probabilities before recalibration); "auto" to
        choose among boosted trees, bagged trees and a linear model by the likelihood of held-out
        labels (boosted trees if there are categories or missing values). By default, boosted trees
        for tables and nnPU for images.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed. Boosted trees also accept "labeled".
    prior : float or "estimate"
        Share of positives in the population. A few algorithms do not need it; without it, they are
        not recalibrated.
    network : Module or callable, optional
        Any network with one or two logits per row, or a function that builds one. By default, one
        hidden layer of 500 units.
    recalibrate : str or None
        A method in `noneg.recalibration`, such as "auto" or "platt"; None leaves scores unchanged.
        By default, "likelihood" for boosted trees (see `BoostedPU`), "auto" for networks, and None
        for methods designed for positives that are not labeled at random.
    folds : int, optional
        Folds for recalibration; by default three for networks, and as in `BoostedPU` for trees.
    correction : {"weighted", "shift", "batch", "none"}, optional
        One-sample correction; see `noneg.learning.task`.
    validation : float, optional
        Share of rows to hold out for early stopping of a network; by default, a fifth for
        algorithms that need validation rows and none for the others.
    standardize : bool
        Whether to standardize the columns for a network (mean 0, standard deviation 1).
    epochs : int, optional
        By default 30, but at least 1,000 and at most 20,000 updates.
    batch_size, optimizer, lr, weight_decay, criterion, patience
        Passed to `noneg.learning.Trainer`.
    device, precision, progress
        Passed to `noneg.learning.Trainer`.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Number of threads for boosted trees, or of processes for the other table learners.
    random_state : int
        Seed; the only source of randomness.

    Attributes
    ----------
    model_ : PUEstimator or None
        The fitted table learner; None with a network.
    algorithm_ : Algorithm
        The trained algorithm, with a network.
    history_ : list of dict
        The loss and the criterion on held-out rows at every checkpoint of a network.
    calibrator_ : Calibrator or None
        The map from a network's scores to probabilities.
    compared_ : dict
        With "auto", the mean loss on held-out labels for each learner.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.learning import PUClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> model = PUClassifier(setting="one-sample", prior=0.4).fit(X, labeled)
    >>> model.model_
    BoostedPU(prior=0.4, setting='one-sample')
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    algorithm: str | Algorithm | None = None
    _: KW_ONLY
    network: nn.Module | Callable[[], nn.Module] | None = None
    recalibrate: str | None = "default"
    folds: int | None = None
    correction: Correction | None = None
    validation: float | None = None
    standardize: bool = True
    epochs: int | None = None
    batch_size: int = 128
    optimizer: str | Callable[..., Any] = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    criterion: str = "proxy_auc"
    patience: int | None = None
    device: str | None = None
    precision: Precision = "float32"
    progress: bool = False
    n_jobs: int | None = None

    takes_labels: ClassVar[bool] = True

    def _learn(self, rows: Rows) -> None:
        self.model_: Any = None
        self.calibrator_: Calibrator | None = None
        if not self._for_tables:
            self._learn_network(rows)
        else:
            name = self._choose(rows) if self._kind == AUTO else str(self._kind)
            self.model_ = self._fitted(name, rows)

    @property
    def _for_tables(self) -> bool:
        return isinstance(self._kind, str) and self._kind in (AUTO, *TABLE_LEARNERS)

    def _check_inputs(self, X: Any, *, fresh: bool = False) -> Any:  # noqa: ANN401
        if fresh:
            flat = Columns.of(X) is not None or np.ndim(X) <= 2
            default = TREES if flat and self.network is None else NETWORK
            self._kind = default if self.algorithm is None else _check_kind(self.algorithm)
        check = self._check_table if self._for_tables else super()._check_inputs
        return check(X, fresh=fresh)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.algorithm in (None, TREES)
        return tags

    def _fitted(self, name: str, rows: Rows) -> PUEstimator:
        """Return a table learner, fitted with the given or estimated prior."""
        kind = TABLE_LEARNERS[name]
        own = {item.name for item in fields(kind)} & {"setting", "n_jobs", "random_state"}
        shared = {"prior": self.prior_} | {key: getattr(self, key) for key in own}
        if kind is BoostedPU:
            shared["folds"] = self.folds
            if self.recalibrate != "default":
                shared["recalibrate"] = self.recalibrate
        model = kind(**shared)
        return model.fit(rows.X, rows.flags, rows.weight, propensity=rows.propensity)

    def _choose(self, rows: Rows) -> str:
        """Return the learner under which the labels of held-out rows are most likely."""
        labeled = is_labeled(self.setting)
        if not labeled:
            self._known_prior("to choose a learner")
        law = LabelLaw.of(rows, self.setting, self.prior_)
        able = [x for x in _able(rows) if TABLE_LEARNERS[x].takes_labels or not labeled]
        losses = dict.fromkeys(able, 0.0)
        for train, test in self._folds(rows, AUTO_FOLDS):
            held = rows.take(test)
            for name in losses:
                p = self._fitted(name, rows.take(train)).predict_proba(held.X)[:, 1]
                f = logit(np.clip(p, _EDGE, 1.0 - _EDGE))
                losses[name] += float(held.mass @ law.take(test).loss(held.flags, f))
        self.compared_ = {name: loss / float(rows.mass.sum()) for name, loss in losses.items()}
        return min(losses, key=lambda name: losses[name])

    def _learn_network(self, rows: Rows) -> None:
        from noneg.learning.algorithms import find_algorithm

        for given, name in ((rows.weight, "sample_weight"), (rows.propensity, "propensity")):
            if given is not None:
                remedy = "Use a learner for tables, such as BoostedPU."
                raise InputError(name, "must not be given to a network", remedy=remedy)
        algorithm, table = find_algorithm(self._kind), rows.X
        self._center, self._scale = np.zeros(1, table.dtype), np.ones(1, table.dtype)
        if self.standardize and table.ndim == 2:
            self._center, self._scale = standard_scale(table)
        rows = replace(rows, X=self._scaled(table))
        fit = self._train(algorithm, rows)
        self.algorithm_, self.history_ = fit.algorithm.to("cpu"), fit.history
        if self._recalibrates(algorithm):
            self.calibrator_ = self._calibrator(algorithm, rows)

    def _recalibrates(self, algorithm: Algorithm) -> bool:
        if self.recalibrate is None or (self.recalibrate == "default" and algorithm.selected):
            return False
        if self.prior_ is None and algorithm.needs_prior:
            self._known_prior("to recalibrate (or pass recalibrate=None)")
        return self.prior_ is not None

    def _calibrator(self, algorithm: Algorithm, rows: Rows) -> Calibrator:
        score = np.empty(len(rows))
        for train, test in self._folds(rows, self.folds or 3):
            trained = self._train(algorithm, rows.take(train)).algorithm
            score[test] = sigmoid(_log_odds(trained, rows.X[test]))
        method = "auto" if self.recalibrate in (None, "default") else self.recalibrate
        return make(method).fit(rows.scores(score, self.setting, self.prior_))

    def _train(self, algorithm: Algorithm, rows: Rows) -> Fit:
        from noneg.learning.algorithms import find_algorithm
        from noneg.learning.networks import MLP
        from noneg.learning.training import Trainer

        own, size = self.get_params(deep=False), int(np.prod(rows.X.shape[1:]))
        shared = {item.name: own[item.name] for item in fields(Trainer) if item.name in own}
        data, held = self._split(algorithm, rows)
        if self.epochs is None:
            epoch = max(1, data.n_unl // self.batch_size)
            steps = min(max(EPOCHS * epoch, LEAST_STEPS), MOST_STEPS)
            shared |= {"epochs": EPOCHS, "steps": steps}
        return Trainer(seed=self.random_state, **shared).fit(
            find_algorithm(algorithm),
            (lambda: MLP(size)) if self.network is None else self.network,
            data,
            setting=self.setting,
            prior=self.prior_,
            correction=self.correction,
            validation=held,
        )

    def _split(self, algorithm: Algorithm, rows: Rows) -> tuple[PUData, PUData | None]:
        share = self.validation
        if share is None:
            share = VALIDATION if algorithm.needs_validation else 0.0
        if not share:
            return _data(rows), None
        splitter = PUStratifiedShuffleSplit(
            1, setting=self.setting, test_size=share, random_state=self.random_state
        )
        train, test = next(splitter.split(rows.flags, rows.flags))
        return _data(rows.take(train)), _data(rows.take(test))

    def _scaled(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        return np.asarray((rows - self._center) / self._scale, dtype=np.float32)

    def _margin(self, X: Any) -> Floats:  # noqa: ANN401
        if self.model_ is not None:
            return self.model_.decision_function(X)
        return _log_odds(self.algorithm_, self._scaled(X))

    def _positive(self, X: Any) -> Floats:  # noqa: ANN401
        return super()._positive(X) if self.model_ is None else self.model_.predict_proba(X)[:, 1]


def _check_kind(algorithm: str | Algorithm) -> str | Algorithm:
    """Return an algorithm or the name of a learner; raise an error for an unknown name."""
    known: tuple[str, ...] = (AUTO, *TABLE_LEARNERS)
    if not isinstance(algorithm, str) or algorithm in known:
        return algorithm
    try:
        from noneg.learning.algorithms import ALGORITHMS
    except ImportError as error:
        rule = f"must be one of {', '.join(known)}, or the name of a network, got {algorithm!r}"
        msg = f"'algorithm' {rule}.{did_you_mean(algorithm, known)} For networks, {error}"
        raise ImportError(msg, name=error.name) from error
    known += tuple(ALGORITHMS)
    if algorithm not in known:
        rule, remedy = f"must be one of {', '.join(known)}", did_you_mean(algorithm, known).strip()
        raise InputError("algorithm", rule, value=algorithm, remedy=remedy)
    return algorithm


def _able(rows: Rows) -> tuple[str, ...]:
    """Return the candidates that accept these rows; only trees take categories and gaps."""
    columns = Columns.of(rows.X)
    try:
        check_array(rows.X)
    except (TypeError, ValueError):
        return CANDIDATES[:1]
    return CANDIDATES if columns is None or not columns.categories else CANDIDATES[:1]


def _data(rows: Rows) -> PUData:
    import torch

    from noneg.learning.contract import PUData

    return PUData(torch.as_tensor(rows.X[rows.flags]), torch.as_tensor(rows.X[~rows.flags]))


def _log_odds(algorithm: Algorithm, rows: NDArray[np.float32]) -> Floats:
    import torch

    return algorithm.decision(torch.as_tensor(rows)).cpu().numpy().astype(np.float64)
