"""One loop for all algorithms; `noneg.learning.contract` says what it promises them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from noneg.learning.contract import Algorithm, choose_correction
from noneg.learning.data import PUData
from noneg.learning.loop import HALVES, Fit, Run, find_device, seeded
from noneg.learning.selection import find_criterion
from noneg.learning.task import make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from noneg.checks import Setting
    from noneg.learning.loop import Monitor
    from noneg.learning.task import Correction

    Network = nn.Module | Callable[[], nn.Module]

__all__ = ["Fit", "Trainer", "train"]

Precision = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How long and by which means to train; what is trained is the algorithm's business.

    Parameters
    ----------
    steps : int, optional
        Updates; by default `epochs` passes over the unlabeled rows.
    epochs : int
        Passes over the unlabeled rows, of ``max(1, n_unl // batch_size)`` steps each.
    batch_size : int
        Rows of P and rows of U in each step.
    optimizer : {"adam", "sgd"} or callable
        A callable takes the parameters. SGD has momentum 0.9.
    lr, weight_decay : float
        Of the optimizer.
    seed : int
        Everything random depends on it alone; the global random state is left as it was.
    device : str, optional
        By default a GPU if there is one. All rows are moved to it.
    precision : {"float32", "bfloat16", "float16"}
        Half precisions are mixed: weights and losses stay in single precision.
    checkpoint_every : int, optional
        Steps between checkpoints; by default one epoch. A checkpoint evaluates the criterion on
        validation rows, keeps the best weights, and is written if there is a folder.
    criterion : str
        A name in `noneg.performance.CRITERIA`, for validation rows.
    patience : int, optional
        Stop after so many checkpoints without a better value; by default never.
    folder : path, optional
        Where ``last.pt`` is written, from which `fit` can resume.
    progress : bool
        Show a bar when standard error is a terminal.

    Examples
    --------
    >>> import torch
    >>> from noneg.learning import ALGORITHMS, PUData, networks
    >>> data = PUData(torch.randn(30, 2) + 1.0, torch.randn(90, 2))
    >>> trainer = Trainer(steps=20, batch_size=16, seed=1)
    >>> fit = trainer.fit(
    ...     ALGORITHMS["upu"](), lambda: networks.MLP(2), data, setting="two-sample", prior=0.3
    ... )
    >>> fit.steps
    20
    """

    steps: int | None = None
    epochs: int = 30
    batch_size: int = 128
    optimizer: str | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    seed: int = 0
    device: str | None = None
    precision: Precision = "float32"
    checkpoint_every: int | None = None
    criterion: str = "proxy_auc"
    patience: int | None = None
    folder: str | Path | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "batch_size", "checkpoint_every", "patience"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value < 1):
                raise ValueError(f"'{name}' must be a whole number from 1 on, got {value!r}.")
        if self.precision not in ("float32", *HALVES):
            rule = "'float32', 'bfloat16' or 'float16'"
            raise ValueError(f"'precision' must be {rule}, got {self.precision!r}.")
        if self.optimizer not in ("adam", "sgd") and not callable(self.optimizer):
            rule = "'adam', 'sgd' or a function of the parameters"
            raise ValueError(f"'optimizer' must be {rule}, got {self.optimizer!r}.")
        find_criterion(self.criterion)

    def make_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a new optimizer of these parameters."""
        if callable(self.optimizer):
            return self.optimizer(parameters)
        if self.optimizer == "adam":
            return torch.optim.Adam(parameters, lr=self.lr, weight_decay=self.weight_decay)
        return torch.optim.SGD(parameters, lr=self.lr, momentum=0.9, weight_decay=self.weight_decay)

    def fit(  # noqa: PLR0913
        self,
        algorithm: Algorithm,
        network: Network,
        data: PUData,
        *,
        setting: Setting,
        prior: float | None = None,
        correction: Correction | None = None,
        validation: PUData | None = None,
        monitor: Monitor | None = None,
        resume: str | Path | None = None,
    ) -> Fit:
        """Train, and return the algorithm with its best weights (the last without validation).

        Parameters
        ----------
        algorithm : Algorithm
            It is used as it is and holds the result.
        network : Module or callable
            A module is copied; a function without arguments makes one, with seeded weights.
        data : PUData
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; never guessed.
        prior : float, optional
            Share of positives in the population.
        correction : {"weighted", "shift", "batch", "none"}, optional
            One-sample correction; see `noneg.learning.task`. By default the algorithm's.
        validation : PUData, optional
            Rows held out for the criterion.
        monitor : callable, optional
            ``monitor(algorithm, step)`` returns numbers to keep in the history at checkpoints.
        resume : path, optional
            A file that an earlier, interrupted run of the same arguments wrote.
        """
        if algorithm.needs_prior and prior is None:
            name = type(algorithm).__name__
            raise ValueError(f"'prior' must be given: {name} needs the share of positives.")
        if algorithm.needs_validation and validation is None:
            name = type(algorithm).__name__
            raise ValueError(f"'validation' must be given: {name} needs held-out rows.")
        chosen = choose_correction(algorithm, correction, setting)
        task = make_task(data.n_pos, data.n_unl, setting=setting, prior=prior, correction=chosen)
        device = find_device(self.device)
        with seeded(self.seed, device):
            net = copy.deepcopy(network) if isinstance(network, nn.Module) else network()
            rows = data.to(device)
            algorithm.begin(net.to(device), task, rows, self.seed)
            held = None if validation is None else validation.to(device)
            run = Run(self, algorithm, rows, held, device, monitor)
            if resume is not None:
                run.load(resume)
            return run.go()


def train(
    algorithm: str | Algorithm,
    network: Network,
    pos: Any,  # noqa: ANN401
    unl: Any,  # noqa: ANN401
    *,
    setting: Setting,
    prior: float | None = None,
    correction: Correction | None = None,
    validation: PUData | None = None,
    **options: Any,  # noqa: ANN401
) -> Fit:
    """Train a network on positives and unlabeled rows.

    Parameters
    ----------
    algorithm : str or Algorithm
        A name in `noneg.learning.ALGORITHMS`, or an algorithm with your hyperparameters.
    network : Module or callable
        Any network with one or two logits a row, or a function that makes it.
    pos, unl : array-like or Tensor
        Inputs of the labelled positives and of the unlabeled rows.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled.
    prior : float, optional
        Share of positives in the population.
    correction : str, optional
        One-sample correction.
    validation : PUData, optional
        Rows held out for the criterion.
    **options
        Of `Trainer`.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.learning import networks, train
    >>> rng = np.random.default_rng(0)
    >>> pos = rng.normal(1.0, 1.0, (200, 2))
    >>> unl = np.concatenate([rng.normal(1.0, 1.0, (200, 2)), rng.normal(-1.0, 1.0, (200, 2))])
    >>> fit = train(
    ...     "nnpu", lambda: networks.MLP(2, (8,)), pos, unl, prior=0.5, setting="two-sample"
    ... )
    >>> fit.algorithm.decision(torch.tensor([[2.0, 2.0], [-2.0, -2.0]])).sign().tolist()
    [1.0, -1.0]
    """
    from noneg.learning.algorithms import find_algorithm

    data = PUData(torch.as_tensor(pos), torch.as_tensor(unl))
    return Trainer(**options).fit(
        find_algorithm(algorithm),
        network,
        data,
        setting=setting,
        prior=prior,
        correction=correction,
        validation=validation,
    )
