"""The contract between the trainer and an algorithm.

The training loop (`noneg.learning.training`) has no special cases for individual methods::

    algorithm.begin(network, task, data, seed)      # calls build(network) and prepare(data)
    for step in range(steps):
        if step % epoch_length == 0:
            algorithm.start_epoch(epoch)            # no gradients
        batch = next P rows, next U rows            # two endless independent streams
        for player in algorithm.turns():
            loss = algorithm.loss(player, batch)    # train mode
            zero_grad(player); loss.backward(); step(player)
        algorithm.after_step(batch)                 # no gradients
        every k steps and at the end:
            algorithm.before_scoring(data)          # no gradients
            algorithm.decision(x)                   # eval mode, no gradients

Writing an algorithm
--------------------
An algorithm is a file of about 100 lines at most, with one ``@dataclass(kw_only=True, eq=False)``
derived from `Algorithm`, plus an import in ``algorithms/__init__.py``, which is the registry. The
docstring cites the paper with equation numbers and explains the meaning of the probability. Then:

1. **Fields are hyperparameters**; use `hyper` for those that are searched. Defaults come from the
   original paper; ``hyper(ref, search, bench=other)`` sets a separate default for "bench".
   ``variant`` is inherited: "ref" is the original method, and "bench" is the version behind the PU
   benchmark's numbers. List "bench" in the class attribute ``variants`` only if it exists. The
   learning rate, batch size and number of steps belong to the trainer.
2. **Facts are class attributes** (`name`, `title`, `citation`, `probability`, `needs_prior`,
   `corrections`, `bench_corrections`, `consistent`, `needs_strong`, `needs_validation`,
   `selected`, `clip_norm`).
3. **`loss(player, batch)`** returns a scalar. Get the margins from ``self.scores(batch)``, which
   makes one joint forward pass so that batch normalization sees P and U together. Priors come from
   the task: ``self.task.prior`` is the prior for the loss, ``self.task.mean(on_pos, on_unl)`` is
   the mean over the population, and ``self.task.unlabeled_prior`` is the share of positives among
   the unlabeled rows. Two-sample risks written with the first two are corrected for the one-sample
   setting automatically. Do not branch on a tensor's value in Python; use ``torch.where``.
4. **State** that outlives a step goes in ``self.state`` (tensors, numbers and strings, by name), in
   ``self.players`` (trained modules) or in ``self.frozen`` (modules that no optimizer updates:
   teachers, averages, copies). All three are saved and restored. Per-row state is a tensor on
   ``self.device``, indexed by ``batch.unl.row`` or ``batch.pos.row``; create it in `prepare`.
5. **Several networks**: `build` returns the players. ``new_network(network)`` makes a network with
   new weights, and ``copy.deepcopy`` one with the same weights. `turns` returns the players to
   update in a step, in order. Do not replace a module later; load a ``state_dict`` into it. To
   train several modules with one optimizer, put them into one ``nn.ModuleDict`` player. While
   ``self.state["first_stage"]`` is true, training of the predicting network has not begun, and
   checkpoints do not score; override `ready` for other conditions.
6. **Schedules** use ``batch.progress`` in [0, 1) or, in `start_epoch`, ``epoch.number``, never a
   step count. Warm-ups end with ``epoch.after(share)``, which keeps them long enough. Multi-stage
   methods may modify ``epoch.optimizers[player]`` in `start_epoch` (its ``param_groups``) or
   replace it with another optimizer of the same class: see `Epoch.scale_rate`, `Epoch.restart` and
   `average`.
7. **Randomness**: inside a loss, use `draw_beta`, `draw_order` and `draw_uniform`, which return
   tensors on the CPU (move them with ``.to(x.device)``); elsewhere, use ``self.random`` (a NumPy
   generator) and ``self.generator`` (a CPU torch generator). Dropout and similar layers may use
   torch's global state, which the trainer seeds and restores.
8. **Prediction**: `decision(x)` returns log odds; the default is the margin of ``players["net"]``
   plus the task's shift. Override it if the margin has another meaning. Compute any quantity it
   needs (a threshold, a maximum) in `before_scoring`, and store it in ``self.state``.

9. **Many runs at once**: `noneg.lab.bench.population` calls `loss`, `after_step` and `decision`
   under ``torch.func.vmap`` and replays them. There, tensors and floats in the state and the
   hyperparameters differ from run to run. A Python branch may only test a boolean, a string, None,
   or whether an integer is 0, and the result must not depend on the run. A tensor in the state
   that changes in a step changes in place (``copy_``).

The shared contract test runs every entry of the registry.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from noneg.errors import InputError
from noneg.extras import optional

with optional("noneg.learning"):
    import torch
    from torch import nn

from noneg.learning.networks import margin
from noneg.learning.task import Correction, Task, make_task
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from torch import Tensor
    from torch.optim import Optimizer

    from noneg.checks import Setting

    MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
    Augment = Callable[[Tensor, torch.Generator], Tensor]

Variant = Literal["ref", "bench"]

# Rows per forward pass in evaluation.
CHUNK = 4096
# Minimum number of warm-up steps, if training is at least twice as long.
LEAST_STAGE = 500


@dataclass(frozen=True, slots=True)
class View:
    """A batch of P rows or of U rows.

    Attributes
    ----------
    x : Tensor
        Inputs, weakly augmented if the data define a weak augmentation.
    row : Tensor
        Indices of these rows within P or U.
    strong : Tensor or None
        Strongly augmented inputs, if the algorithm needs them (``needs_strong``); `x` itself if the
        data define no strong augmentation.
    """

    x: Tensor
    row: Tensor
    strong: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one step; ``x`` contains the ``pos`` rows followed by the ``unl`` rows."""

    x: Tensor
    pos: View
    unl: View
    progress: float

    @classmethod
    def of(
        cls, x: Tensor, strong: Tensor | None, pos: Tensor, unl: Tensor, progress: float
    ) -> Batch:
        """Return a batch, given all inputs and the indices of its P rows and of its U rows."""
        n = len(pos)
        weak = x[:n], x[n:]
        if strong is None:
            return cls(x, View(weak[0], pos), View(weak[1], unl), progress)
        other = weak if strong is x else (strong[:n], strong[n:])
        return cls(x, View(weak[0], pos, other[0]), View(weak[1], unl, other[1]), progress)


@dataclass(frozen=True, slots=True)
class Epoch:
    """The information passed to an algorithm between epochs.

    An epoch is one pass over the unlabeled rows: ``max(1, n_unl // batch_size)`` steps.

    Attributes
    ----------
    number : int
        Index of the epoch, starting from 0.
    progress : float
        Share of all steps completed.
    data : PUData
        All training rows, on the device, without augmentation.
    validation : PUData or None
        Rows held out from training, if any.
    optimizers : dict
        The optimizer of each player.
    steps : int
        Number of steps in the whole training run.
    """

    number: int
    progress: float
    data: PUData
    validation: PUData | None
    optimizers: dict[str, Optimizer]
    steps: int = 0

    def after(self, share: float) -> bool:
        """Return whether a first stage that takes this share of training is over.

        The stage has at least 500 steps, or half of all steps if training is shorter than 1,000.
        """
        least = min(LEAST_STAGE, self.steps / 2.0) / max(self.steps, 1)
        return self.progress >= max(share, least)

    def scale_rate(self, factor: float, player: str = "net") -> None:
        """Set a player's learning rate to `factor` times its initial rate.

        Examples
        --------
        >>> import torch
        >>> data = PUData(torch.ones(1, 1), torch.zeros(1, 1))
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        >>> epoch = Epoch(0, 0.0, data, None, {"net": optimizer})
        >>> epoch.scale_rate(0.1)
        >>> epoch.scale_rate(0.2)
        >>> optimizer.param_groups[0]["lr"]
        0.1
        """
        for group in self.optimizers[player].param_groups:
            group["lr"] = factor * group.setdefault("initial_lr", group["lr"])

    def restart(self, player: str = "net") -> None:
        """Discard the momentum and moments of a player's optimizer."""
        self.optimizers[player].state.clear()


@dataclass(kw_only=True, eq=False)
class Algorithm:
    """A PU learning method; see the docstring of `noneg.learning.contract` for how to write one.

    Parameters
    ----------
    variant : {"ref", "bench"}
        The original method, or the version behind the PU benchmark's numbers.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from torch.nn.functional import softplus
    >>> @dataclass(kw_only=True, eq=False)
    ... class Balanced(Algorithm):
    ...     title = "P against U"
    ...
    ...     def loss(self, player, batch):
    ...         p, u = self.scores(batch)
    ...         return softplus(-p).mean() + softplus(u).mean()
    >>> Balanced()
    Balanced(variant='ref')
    """

    variant: Variant = "ref"

    # Key in the registry.
    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    # User-facing sentence that describes what sigmoid(decision) estimates.
    probability: ClassVar[str]
    needs_prior: ClassVar[bool] = True
    # Valid one-sample corrections, default first; empty if the method works in either setting.
    corrections: ClassVar[tuple[Correction, ...]] = ("weighted", "shift", "batch", "none")
    bench_corrections: ClassVar[tuple[Correction, ...]] = ()
    variants: ClassVar[tuple[Variant, ...]] = ("ref",)
    # Whether the population optimum under the default settings is the Bayes rule.
    consistent: ClassVar[bool] = False
    needs_strong: ClassVar[bool] = False
    needs_validation: ClassVar[bool] = False
    # Whether the method is for positives that are not labeled at random. Recalibration maps that
    # assume labeling at random must not be applied to it.
    selected: ClassVar[bool] = False
    clip_norm: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        if self.variant not in self.variants:
            known = " or ".join(repr(v) for v in self.variants)
            msg = f"of {type(self).__name__} must be {known}, got {self.variant!r}."
            raise InputError("variant", msg)
        for item in fields(self):
            if getattr(self, item.name) is None and self.variant in item.metadata:
                setattr(self, item.name, item.metadata[self.variant])

    @property
    def device(self) -> torch.device:
        """Device of the networks and of the tensors in the state."""
        return next(p.device for module in self.players.values() for p in module.parameters())

    @property
    def networks(self) -> Networks:
        """All players and frozen modules as one module."""
        return Networks(self)

    @property
    def bench(self) -> bool:
        """Whether this is the benchmark version."""
        return self.variant == "bench"

    def begin(self, network: nn.Module, task: Task, data: PUData, seed: int) -> None:
        """Start a run, discarding any earlier one."""
        self.task = task
        self.random: np.random.Generator = stream(seed, "algorithm")
        self.generator: torch.Generator = torch_generator(seed, "algorithm tensors")
        self.state: dict[str, Any] = {}
        self.frozen: dict[str, nn.Module] = {}
        self.players: dict[str, nn.Module] = self.build(network)
        self.prepare(data)

    def build(self, network: nn.Module) -> dict[str, nn.Module]:
        """Return the modules to train, by name; put all other modules in ``self.frozen``."""
        return {"net": network}

    def prepare(self, data: PUData) -> None:
        """Create the state that depends on the rows."""

    def turns(self) -> tuple[str, ...]:
        """Return the players to update in this step, in order."""
        return tuple(self.players)

    def ready(self) -> bool:
        """Return whether training of the predictor has begun; before, checkpoints do not score."""
        return not self.state.get("first_stage", False)

    def loss(self, player: str, batch: Batch) -> Tensor:
        """Return the loss that the player minimizes."""
        raise NotImplementedError

    def start_epoch(self, epoch: Epoch) -> None:
        """Refresh pseudo-labels, weights, thresholds and stages."""

    def after_step(self, batch: Batch) -> None:
        """Update moving averages."""

    def before_scoring(self, data: PUData) -> None:
        """Compute the quantities that `decision` needs from the training rows."""

    def make_optimizer(self, player: str, default: MakeOptimizer) -> Optimizer:
        """Return a player's optimizer; `default` makes the trainer's optimizer."""
        return default(self.players[player].parameters())

    def decision(self, x: Tensor) -> Tensor:
        """Return the log odds of the positive class, one per row."""
        return self.margins(x) + self.task.shift

    def scores(self, batch: Batch, player: str = "net") -> tuple[Tensor, Tensor]:
        """Return the margins of the P rows and of the U rows from one joint forward pass."""
        n = len(batch.pos.x)
        f = margin(self.players[player](batch.x)).float()
        return f[:n], f[n:]

    def draw_beta(self, alpha: float) -> Tensor:
        """Draw a number from the Beta(alpha, alpha) distribution."""
        return torch.tensor(self.random.beta(alpha, alpha), dtype=torch.float64)

    def draw_order(self, n: int) -> Tensor:
        """Draw a random permutation of n rows."""
        return torch.randperm(n, generator=self.generator)

    def draw_uniform(self, n: int) -> Tensor:
        """Draw n uniform numbers from 0 to 1."""
        return torch.rand(n, generator=self.generator, dtype=torch.float64)

    def margins(self, x: Tensor, module: nn.Module | None = None) -> Tensor:
        """Return margins in eval mode, computed in chunks."""
        return margin(self.outputs(x, module))

    @torch.no_grad()
    def outputs(self, x: Tensor, module: nn.Module | None = None) -> Tensor:
        """Return the network's outputs in eval mode, computed in chunks."""
        net = self.players["net"] if module is None else module
        was, device = net.training, next(net.parameters()).device
        net.eval()
        parts = [net(part.to(device)).float() for part in torch.split(x, CHUNK)]
        net.train(was)
        return torch.cat(parts)

    def to(self, device: str | torch.device) -> Self:
        """Move the networks and the state to a device."""
        self.networks.to(device)
        self.state = _moved(self.state, torch.device(device))
        return self

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during training."""
        return {
            "players": {name: m.state_dict() for name, m in self.players.items()},
            "frozen": {name: m.state_dict() for name, m in self.frozen.items()},
            "state": dict(self.state),
            "random": json.dumps(self.random.bit_generator.state),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        for name, module in self.players.items():
            module.load_state_dict(saved["players"][name])
        for name, module in self.frozen.items():
            module.load_state_dict(saved["frozen"][name])
        self.state = _moved(saved["state"], self.device)
        self.random.bit_generator.state = json.loads(saved["random"])
        self.generator.set_state(saved["generator"])


class Networks(nn.Module):
    """All networks of an algorithm; its forward pass calls a function.

    With `torch.func.functional_call`, the function uses other weights.
    """

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__()
        self.players = nn.ModuleDict(algorithm.players)
        self.frozen = nn.ModuleDict(algorithm.frozen)

    def forward(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Call a function with the current weights."""
        return work()


def _moved(state: dict[str, Any], device: torch.device) -> dict[str, Any]:
    return {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in state.items()}


def choose_task(
    algorithm: Algorithm,
    data: PUData,
    *,
    setting: Setting,
    prior: float | None = None,
    correction: str | None = None,
) -> Task:
    """Return the task of a run; raise an error for what the method lacks or does not support."""
    name = type(algorithm).__name__
    if algorithm.needs_prior and prior is None:
        raise InputError("prior", f"must be given: {name} needs the share of positives.")
    known = algorithm.bench_corrections if algorithm.bench else algorithm.corrections
    default = known[0] if known else "none"
    if correction not in (None, "none", *known):
        msg = f"of {name} must be one of {', '.join(known) or 'none'}, got {correction!r}."
        raise InputError("correction", msg)
    chosen = default if correction is None else correction
    return make_task(data.n_pos, data.n_unl, setting=setting, prior=prior, correction=chosen)


_HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class PUData:
    """Inputs of labeled positives and unlabeled rows, without any hidden labels.

    Parameters
    ----------
    pos, unl : Tensor
        Inputs, with rows along the first axis. Rows are numbered from 0 in each tensor.
    weak : callable, optional
        ``weak(x, generator)`` augments a training batch; it is never used in evaluation.
    strong : callable, optional
        A second, stronger augmentation that some methods need.

    Attributes
    ----------
    joint : Tensor or None
        All rows in one tensor, of which `pos` and `unl` are slices; created by `to`.

    Examples
    --------
    >>> import torch
    >>> data = PUData(torch.ones(3, 2), torch.zeros(5, 2))
    >>> data.n_pos, data.n_unl
    (3, 5)
    """

    pos: Tensor
    unl: Tensor
    weak: Augment | None = None
    strong: Augment | None = None
    # Not an argument, so that `replace` with other rows does not keep it.
    joint: Tensor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("pos", "unl"):
            if len(getattr(self, name)) == 0:
                raise InputError(name, "must contain at least one row, got none.")
        if self.pos.shape[1:] != self.unl.shape[1:]:
            shapes = f"{tuple(self.pos.shape)} and {tuple(self.unl.shape)}"
            raise InputError("pos", f"and 'unl' must have rows of the same shape, got {shapes}.")

    @property
    def n_pos(self) -> int:
        """Number of labeled positives."""
        return len(self.pos)

    @property
    def n_unl(self) -> int:
        """Number of unlabeled rows."""
        return len(self.unl)

    @property
    def rows(self) -> Tensor:
        """All rows, positives first."""
        return torch.cat([self.pos, self.unl]) if self.joint is None else self.joint

    def to(self, device: torch.device) -> PUData:
        """Return the rows on a device as slices of one tensor, in single precision or lower."""
        joint = self.rows.to(device)
        joint = joint.float() if joint.dtype not in _HALVES else joint
        made = replace(self, pos=joint[: self.n_pos], unl=joint[self.n_pos :])
        object.__setattr__(made, "joint", joint)
        return made


def torch_generator(seed: int, purpose: str) -> torch.Generator:
    """Return a torch generator for a given purpose."""
    start = int(stream(seed, purpose).integers(2**62))
    return torch.Generator().manual_seed(start)


class Choice:
    """One of several values, all equally likely.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> Choice(0.5, 0.7).draw(stream(0, "search")) in (0.5, 0.7)
    True
    """

    def __init__(self, *values: Any) -> None:  # noqa: ANN401
        self.values = values

    def draw(self, random: np.random.Generator) -> Any:  # noqa: ANN401
        """Draw one of the values."""
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class Uniform:
    """A number drawn uniformly from an interval.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> 0.0 <= Uniform(0.0, 1.0).draw(stream(0, "search")) < 1.0
    True
    """

    low: float
    high: float

    def draw(self, random: np.random.Generator) -> float:
        """Draw a number from the interval."""
        return float(random.uniform(self.low, self.high))


class LogUniform(Uniform):
    """A number whose logarithm is uniformly distributed.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> 1e-4 <= LogUniform(1e-4, 1e-2).draw(stream(0, "search")) < 1e-2
    True
    """

    def draw(self, random: np.random.Generator) -> float:
        """Draw a number from the interval."""
        return float(self.low * (self.high / self.low) ** random.random())


# Search spaces of a hyperparameter.
Search: TypeAlias = Choice | Uniform


def hyper(default: Any, search: Search | None = None, *, bench: Any = None) -> Any:  # noqa: ANN401
    """Return a dataclass field with a default and an optional search space.

    With `bench`, the default depends on the variant, and `Algorithm` fills it in.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from noneg.randomness import stream
    >>> @dataclass(kw_only=True)
    ... class Example:
    ...     temperature: float = hyper(1.0, Uniform(0.5, 2.0))
    >>> Example().temperature
    1.0
    >>> sorted(space(Example))
    ['temperature']
    >>> 0.5 < space(Example)["temperature"].draw(stream(0, "search")) < 2.0
    True
    """
    notes: dict[str, Any] = {} if search is None else {"search": search}
    if bench is None:
        return field(default=default, metadata=notes)
    return field(default=None, metadata=notes | {"ref": default, "bench": bench})


def space(algorithm: type[Any]) -> dict[str, Search]:
    """Return the search spaces of a dataclass's fields, by name."""
    return {f.name: f.metadata["search"] for f in fields(algorithm) if "search" in f.metadata}


def average(into: nn.Module, network: nn.Module, keep: float) -> None:
    """Update the moving average `into`: weight `keep` on itself, the rest on the network.

    Buffers, such as batch normalization statistics, are copied.

    Examples
    --------
    >>> from torch import nn
    >>> old, new = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    >>> _ = old.requires_grad_(False).weight.fill_(1.0), new.requires_grad_(False).weight.fill_(3.0)
    >>> average(old, new, 0.75)
    >>> old.weight.item()
    1.5
    """
    for mine, theirs in zip(into.parameters(), network.parameters(), strict=True):
        mine.add_((theirs.detach() - mine) * (1.0 - keep))
    for buffer, other in zip(into.buffers(), network.buffers(), strict=True):
        buffer.copy_(other)
