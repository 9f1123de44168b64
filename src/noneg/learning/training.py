"""The training loop for all algorithms; `noneg.learning.contract` describes its guarantees.

`Trainer` contains the options, and `Run` the state of one run: row streams, optimizers,
checkpoints and everything needed to resume. `RowStream` gives the order of the rows.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from noneg.atomic import replacing
from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch import Tensor, nn

from noneg.learning.algorithms import find_algorithm
from noneg.learning.contract import (
    Algorithm,
    Batch,
    Epoch,
    PUData,
    choose_task,
    torch_generator,
)
from noneg.metrics import find_metric
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from noneg.checks import Setting
    from noneg.learning.task import Correction, Task

    Network = nn.Module | Callable[[], nn.Module]
    Monitor = Callable[[Algorithm, int], dict[str, float]]

Precision = Literal["float32", "bfloat16", "float16"]
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Options of the training loop, independent of the algorithm.

    Parameters
    ----------
    steps : int, optional
        Number of updates; by default, `epochs` passes over the unlabeled rows.
    epochs : int
        Number of passes over the unlabeled rows, each ``max(1, n_unl // batch_size)`` steps long.
    batch_size : int
        Number of P rows, and also of U rows, in each step.
    optimizer : {"adam", "sgd"} or callable
        A callable receives the parameters. SGD uses momentum 0.9.
    lr, weight_decay : float
        Learning rate and weight decay of the optimizer.
    seed : int
        The only source of randomness; the global random state is not changed.
    device : str, optional
        By default, a GPU if there is one. All rows are moved to it.
    precision : {"float32", "bfloat16", "float16"}
        Half precision means mixed precision: weights and losses stay in single precision.
    checkpoint_every : int, optional
        Steps between checkpoints; by default, one epoch. A checkpoint evaluates the criterion on
        validation rows, keeps the best weights, and is written to `folder` if one is given.
    criterion : str
        A name in `noneg.performance.CRITERIA`, evaluated on validation rows.
    patience : int, optional
        Stop after this many checkpoints without improvement; by default, never.
    folder : path, optional
        Where to write ``last.pt``, from which `fit` can resume.
    progress : bool
        Show a progress bar if standard error is a terminal.

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
                raise InputError(name, "must be an integer of at least 1", value=value)
        if self.precision not in ("float32", *HALVES):
            rule = "'float32', 'bfloat16' or 'float16'"
            raise InputError("precision", f"must be {rule}", value=self.precision)
        if self.optimizer not in ("adam", "sgd") and not callable(self.optimizer):
            rule = "'adam', 'sgd' or a function of the parameters"
            raise InputError("optimizer", f"must be {rule}", value=self.optimizer)
        find_metric(self.criterion, "criterion")

    def make_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a new optimizer for these parameters."""
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
        """Train an algorithm and keep its best weights (the last ones without validation rows).

        Parameters
        ----------
        algorithm : Algorithm
            Trained in place.
        network : Module or callable
            A module, which is copied, or a function without arguments that builds one with seeded
            weights.
        data : PUData
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; never guessed.
        prior : float, optional
            Share of positives in the population.
        correction : {"weighted", "shift", "batch", "none"}, optional
            One-sample correction; see `noneg.learning.task`. By default, the algorithm's own.
        validation : PUData, optional
            Rows held out for the criterion.
        monitor : callable, optional
            ``monitor(algorithm, step)`` returns numbers to add to the history at each checkpoint.
        resume : path, optional
            A file written by an earlier, interrupted run with the same arguments.
        """
        task = choose_task(algorithm, data, setting=setting, prior=prior, correction=correction)
        with seeded(self.seed, find_device(self.device)):
            run = Run(self, algorithm, network, data, task, validation, monitor)
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
        Any network with one or two logits per row, or a function that builds one.
    pos, unl : array-like or Tensor
        Inputs of the labeled positives and of the unlabeled rows.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled.
    prior : float, optional
        Share of positives in the population.
    correction : str, optional
        One-sample correction.
    validation : PUData, optional
        Rows held out for the criterion.
    **options
        Passed to `Trainer`.

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


@dataclass(frozen=True)
class Fit:
    """The result of a training run.

    Attributes
    ----------
    algorithm : Algorithm
        The trained algorithm.
    history : list of dict
        One entry per checkpoint: step, loss, criterion, and the monitor's numbers.
    step : int
        Step whose weights were kept.
    steps : int
        Number of steps that were run.
    seconds : float
    diverged : bool
        Whether training stopped early because the loss or the weights were no longer finite.

    Examples
    --------
    >>> from noneg.learning import networks, train
    >>> pos, unl = torch.ones(20, 2), torch.zeros(60, 2)
    >>> train("upu", networks.MLP(2), pos, unl, setting="two-sample", prior=0.3, steps=7).steps
    7
    """

    algorithm: Algorithm
    history: list[dict[str, float]]
    step: int
    steps: int
    seconds: float
    diverged: bool = False


# Columns with a larger root mean square slow training down or prevent it.
LARGEST_SCALE = 5.0


def _warn_of_scale(data: PUData) -> None:
    """Warn if the columns of a table are not standardized; several methods then collapse."""
    if data.unl.ndim != 2:
        return
    scale = data.rows.float().square().mean(0).sqrt().max().item()
    if scale > LARGEST_SCALE:
        warnings.warn(
            "columns are not standardized: one has a root mean square of "
            f"{scale:.3g}. Networks learn slowly or not at all from such a table. "
            "Standardize the columns first, as PUClassifier does.",
            UserWarning,
            stacklevel=3,
        )


def find_device(name: str | None) -> torch.device:
    """Return a device by name; by default, a GPU if there is one."""
    chosen = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        # The device of a tensor also has the index of the current GPU.
        return torch.empty(0, device=chosen).device
    except (AssertionError, RuntimeError):
        rule = "must be a torch device that works on this machine, such as 'cpu'"
        raise InputError("device", rule, value=name) from None


class Run:
    """The state of one run, and the loop; takes a task and the parameters of `Trainer.fit`.

    Create it within `seeded`, since building a network draws its weights.
    """

    def __init__(
        self,
        trainer: Trainer,
        algorithm: Algorithm,
        network: Network,
        data: PUData,
        task: Task,
        validation: PUData | None = None,
        monitor: Monitor | None = None,
    ) -> None:
        if algorithm.needs_validation and validation is None:
            name = type(algorithm).__name__
            raise InputError("validation", f"must be given: {name} needs held-out rows.")
        self.trainer, self.algorithm, self.monitor = trainer, algorithm, monitor
        self.device = find_device(trainer.device)
        net = copy.deepcopy(network) if isinstance(network, nn.Module) else network()
        self.data = data.to(self.device)
        _warn_of_scale(self.data)
        algorithm.begin(net.to(self.device), task, self.data, trainer.seed)
        self.validation = None if validation is None else validation.to(self.device)
        self._start()

    def _start(self) -> None:
        trainer, algorithm, data, device = self.trainer, self.algorithm, self.data, self.device
        size, seed = trainer.batch_size, trainer.seed
        self.length = max(1, data.n_unl // size)
        self.total = trainer.steps or trainer.epochs * self.length
        self.every = trainer.checkpoint_every or self.length
        self.optimizers = {
            name: algorithm.make_optimizer(name, trainer.make_optimizer)
            for name in algorithm.players
        }
        self.rows = {
            "pos": RowStream(data.n_pos, size, seed=seed, purpose="positive rows", device=device),
            "unl": RowStream(data.n_unl, size, seed=seed, purpose="unlabeled rows", device=device),
        }
        self.views = torch_generator(seed, "views")
        half = trainer.precision == "float16" and device.type == "cuda"
        self.scaler = torch.amp.GradScaler(device.type, enabled=half)
        self.step, self.history, self.diverged = 0, list[dict[str, float]](), False
        self.best: dict[str, Any] = {"value": None, "step": 0, "state": None, "since": 0}

    def go(self) -> Fit:
        """Run all remaining steps."""
        start, patience = time.perf_counter(), self.trainer.patience or math.inf
        for module in self.algorithm.players.values():
            module.train()
        with progress_bar(self.total, self.algorithm.title, show=self.trainer.progress) as bar:
            while self.step < self.total and self.best["since"] < patience and not self.diverged:
                loss = self.advance()
                if self.step % self.every == 0 or self.step == self.total:
                    self._checkpoint(loss)
                    bar(self.step)
        return self._finish(time.perf_counter() - start)

    def advance(self) -> Tensor:
        """Take one step, and return its loss."""
        self.start_epoch()
        loss = self._update()
        self.step += 1
        return loss

    def start_epoch(self) -> None:
        """Notify the algorithm if an epoch begins at this step."""
        number, within = divmod(self.step, self.length)
        if within == 0:
            progress = self.step / self.total
            state = (self.data, self.validation, self.optimizers, self.total)
            epoch = Epoch(number, progress, *state)
            with torch.no_grad():
                self.algorithm.start_epoch(epoch)

    def _update(self) -> Tensor:
        batch = self._batch()
        algorithm, half = self.algorithm, HALVES.get(self.trainer.precision)
        loss = torch.zeros(())
        for player in algorithm.turns():
            with torch.autocast(self.device.type, dtype=half, enabled=half is not None):
                loss = algorithm.loss(player, batch)
            self._descend(player, loss)
        self.scaler.update()
        with torch.no_grad():
            algorithm.after_step(batch)
        return loss

    def _descend(self, player: str, loss: Tensor) -> None:
        optimizer, limit = self.optimizers[player], self.algorithm.clip_norm
        optimizer.zero_grad()
        # A disabled scaler passes everything through unchanged.
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if limit is not None:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(self.algorithm.players[player].parameters(), limit)
        self.scaler.step(optimizer)

    def _batch(self) -> Batch:
        data, pos, unl = self.data, self.rows["pos"].next(), self.rows["unl"].next()
        raw = data.rows.index_select(0, torch.cat([pos, unl + data.n_pos]))
        x = raw if data.weak is None else data.weak(raw, self.views)
        strong = None
        if self.algorithm.needs_strong:
            strong = x if data.strong is None else data.strong(raw, self.views)
        return Batch.of(x, strong, pos, unl, self.step / self.total)

    def _checkpoint(self, loss: Tensor) -> None:
        algorithm, entry = self.algorithm, {"step": float(self.step), "loss": float(loss.detach())}
        if not (math.isfinite(entry["loss"]) and self._weights_are_finite()):
            self._diverge(entry["loss"])
            return
        if self.validation is not None or self.monitor is not None:
            with torch.no_grad():
                algorithm.before_scoring(self.data)
        if self.validation is not None and algorithm.ready():
            value = validation_value(algorithm, self.validation, self.trainer.criterion)
            entry[self.trainer.criterion] = value
            self._keep_best(value)
        if self.monitor is not None:
            entry |= self.monitor(algorithm, self.step)
        self.history.append(entry)
        if self.trainer.folder is not None:
            self.save(Path(self.trainer.folder) / "last.pt")

    def _weights_are_finite(self) -> bool:
        """Return whether weights are finite; the last loss was computed before the last update."""
        modules = self.algorithm.players.values()
        return all(bool(p.isfinite().all()) for module in modules for p in module.parameters())

    def _diverge(self, loss: float) -> None:
        """Stop the run; raise an error if there are no earlier weights to return."""
        self.diverged = True
        if self.best["state"] is None:
            msg = (
                f"The loss of {self.algorithm.title} is {loss} at step {self.step}. Lower 'lr', "
                "standardize the inputs, or hold out validation rows so that the "
                "best earlier weights are kept."
            )
            raise FloatingPointError(msg)

    def _keep_best(self, value: float) -> None:
        better = find_metric(self.trainer.criterion).merit(value)
        if self.best["value"] is None or better > self.best["value"]:
            state = copy.deepcopy(self.algorithm.state_dict())
            self.best = {"value": better, "step": self.step, "state": state, "since": 0}
        else:
            self.best["since"] += 1

    def _finish(self, seconds: float) -> Fit:
        algorithm, kept = self.algorithm, self.step
        if self.best["state"] is not None:
            algorithm.load_state_dict(self.best["state"])
            kept = self.best["step"]
        algorithm.networks.eval()
        with torch.no_grad():
            algorithm.before_scoring(self.data)
        return Fit(algorithm, self.history, kept, self.step, seconds, self.diverged)

    def _name(self) -> str:
        algorithm, data = self.algorithm, self.data
        return (
            f"{algorithm.title} ({algorithm.variant}) with seed {self.trainer.seed}, {self.total} "
            f"steps of {self.trainer.batch_size}, {data.n_pos} positives and {data.n_unl} "
            "unlabeled rows"
        )

    def save(self, path: Path) -> None:
        """Write everything needed to resume."""
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "run": self._name(),
            "step": self.step,
            "history": self.history,
            "best": self.best,
            "algorithm": self.algorithm.state_dict(),
            "optimizers": {name: o.state_dict() for name, o in self.optimizers.items()},
            "rows": {name: rows.state_dict() for name, rows in self.rows.items()},
            "views": self.views.get_state(),
            "scaler": self.scaler.state_dict(),
            "torch": torch.get_rng_state(),
            "gpu": torch.cuda.get_rng_state() if self.device.type == "cuda" else None,
        }
        with replacing(path) as partial:
            torch.save(state, partial)

    def load(self, path: str | Path) -> None:
        """Resume from a file."""
        state = torch.load(path, map_location="cpu", weights_only=True)
        if state["run"] != self._name():
            msg = (
                f"must be a file from the same run, {self._name()}; {str(path)!r} is "
                f"from {state['run']}. Start again, or resume with the arguments of "
                "that run."
            )
            raise InputError("resume", msg)
        self.step, self.history, self.best = state["step"], state["history"], state["best"]
        self.algorithm.load_state_dict(state["algorithm"])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
        for name, rows in self.rows.items():
            rows.load_state_dict(state["rows"][name])
        self.views.set_state(state["views"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["torch"])
        if state["gpu"] is not None:  # pragma: no cover - needs a GPU
            torch.cuda.set_rng_state(state["gpu"])


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global random state, and restore the previous state on exit.

    Examples
    --------
    >>> before = torch.get_rng_state()
    >>> with seeded(0, torch.device("cpu")):
    ...     x = torch.rand(2)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    devices = [device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        start = torch_generator(seed, "torch").initial_seed()
        torch.default_generator.manual_seed(start)
        for index in devices:  # pragma: no cover - needs a GPU
            with torch.cuda.device(index):
                torch.cuda.manual_seed(start)
        yield


class RowStream:
    """An endless stream of row indices: successive random permutations, cut into batches.

    Every row occurs equally often for any batch size; a batch larger than the sample contains
    rows more than once.

    Examples
    --------
    >>> rows = RowStream(3, 2, seed=0, purpose="positives", device=torch.device("cpu"))
    >>> sorted(torch.cat([rows.next() for _ in range(3)]).tolist())
    [0, 0, 1, 1, 2, 2]
    """

    def __init__(self, n: int, size: int, *, seed: int, purpose: str, device: torch.device) -> None:
        self.n, self.size, self.device = n, size, device
        self.generator = torch_generator(seed, purpose)
        self.order = torch.empty(0, dtype=torch.int64, device=device)
        self.place = 0

    def next(self) -> Tensor:
        """Return the next batch of row indices."""
        return self.take(1)

    def take(self, batches: int) -> Tensor:
        """Return the row indices of the next batches, concatenated."""
        count = batches * self.size
        if self.place + count > len(self.order):
            self._refill(count)
        self.place += count
        return self.order[self.place - count : self.place]

    def _refill(self, count: int) -> None:
        parts = [self.order[self.place :]]
        missing = count - len(parts[0])
        parts += [
            torch.randperm(self.n, generator=self.generator).to(self.device)
            for _ in range(-(-missing // self.n))
        ]
        self.order, self.place = torch.cat(parts), 0

    def state_dict(self) -> dict[str, Any]:
        """Return the state needed to continue from this position."""
        generator = self.generator.get_state()
        return {"order": self.order, "place": self.place, "generator": generator}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved position."""
        self.order, self.place = state["order"].to(self.device), state["place"]
        self.generator.set_state(state["generator"])


def validation_value(algorithm: Algorithm, rows: PUData, criterion: str) -> float:
    """Return the criterion for the current algorithm on held-out positives and unlabeled rows."""
    task, metric = algorithm.task, find_metric(criterion, "criterion")
    if metric.needs_prior and task.population_prior is None:
        msg = f"must be given for the criterion {criterion!r}; 'proxy_auc' does not need it."
        raise InputError("prior", msg)
    positive, unlabeled = (_scores(algorithm.decision(x)) for x in (rows.pos, rows.unl))
    scores = PUScores(positive, unlabeled, prior=task.population_prior, setting=task.setting)
    return float(metric.function(scores))


def _scores(logits: Tensor) -> NDArray[np.float64]:
    # In double precision, so that large logits remain distinct.
    return expit(logits.cpu().numpy().astype(np.float64))


@contextmanager
def progress_bar(total: int, title: str, *, show: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a progress bar to a given step.

    Examples
    --------
    >>> with progress_bar(10, "nnPU", show=False) as at:
    ...     at(5)
    """
    if not show:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda step: bar.update(task, completed=step)
