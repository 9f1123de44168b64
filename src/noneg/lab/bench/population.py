"""Many runs of one algorithm as one program, with stacked weights and one batch stream per member.

The benchmark's networks are tiny, so a single run leaves a device mostly idle. Here the weights of
all members are stacked along a first axis, and `torch.func.vmap` calls the algorithm's own loss, so
a step for thirty members costs about as much as a step for one. On a GPU, the step is captured once
and replayed. Convolutions gain nothing from stacking; networks for images are populations of one,
whose replays share the device.

A member is a `noneg.learning.training.Run` that never takes a step itself. It draws the same rows,
views and random numbers as a single run would, and its networks are slices of the stacked weights,
so `start_epoch` and `before_scoring` work on it as usual. With the same seed, a member's weights
equal those of the single run up to rounding error. A member whose loss is no longer finite has no
further checkpoints, and the other members are not affected.

The members of a population share the algorithm, the task, the batch size and the schedule; learning
rates and other floating-point hyperparameters are vectors.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.criteria import Checkpoints, Criteria
from noneg.lab.bench.programs import (
    DRAWS,
    Program,
    Reads,
    branch_of,
    drawn_by,
    is_data,
    noted,
    row_plan,
    view_plan,
)

with optional("noneg bench run"):
    import torch
    from torch.func import functional_call, vmap
    from torch.utils._pytree import tree_map

    from noneg.learning.contract import Algorithm, Batch
    from noneg.learning.training import HALVES
    from noneg.learning.views import rearrange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch import Tensor

    from noneg.learning.training import Run

    Stack = dict[str, Tensor]
    # Rows, their strong views, their indices, and random numbers.
    Inputs = tuple[Tensor, Tensor, Tensor, list[Tensor]]

MOMENTUM = 0.9


@dataclass(frozen=True, eq=False)
class Member:
    """One run of a population.

    Attributes
    ----------
    run : Run
        A run at its first step.
    held : Tensor
        Rows to score: validation positives first, then unlabeled validation rows and test rows.
    labels : Tensor
        Hidden labels of the unlabeled validation rows, used only for the oracle criterion.
    criteria : Criteria
        Selection criteria, as functions of the scores of the validation rows.
    random : Tensor
        State of torch's random generator after the run began.
    """

    run: Run
    held: Tensor
    labels: Tensor
    criteria: Criteria
    random: Tensor


class Population:
    """Runs that are trained together.

    Parameters
    ----------
    members : sequence of Member
        Members with the same algorithm, task, batch size and number of steps.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.runs = [member.run for member in members]
        first = self.runs[0]
        _check_alike(self.runs)
        self.device, self.task = first.device, first.algorithm.task
        self.size, self.length, self.total = first.trainer.batch_size, first.length, first.total
        self.every, self.step = first.every, 0
        # Seconds and processor seconds for each member.
        self.spent = np.zeros(2)
        self.errors: dict[int, Exception] = {}
        self.stream: Any = None
        if self.device.type == "cuda":  # pragma: no cover - needs a GPU
            self.stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.template = copy.copy(first.algorithm)
        self.template.players = copy.deepcopy(first.algorithm.players)
        self.template.frozen = copy.deepcopy(first.algorithm.frozen)
        self.shell = self.template.networks
        self._programs: dict[tuple[Any, ...], Program] = {}
        self._state: Stack = {}
        self._stack_weights()
        self._stack_rows()
        self._stack_held(members)
        self._hyper = self._differing()
        kind = type(first.algorithm)
        self._moved = kind.start_epoch is not Algorithm.start_epoch
        self._follows = kind.after_step is not Algorithm.after_step
        self._prepares = kind.before_scoring is not Algorithm.before_scoring
        self._random = [member.random for member in members]
        self._refresh_optimizers()
        if self.stream is not None:  # pragma: no cover - needs a GPU
            self.stream.wait_stream(torch.cuda.current_stream(self.device))

    def __len__(self) -> int:
        return len(self.runs)

    # Stacking.

    def _stack_weights(self) -> None:
        """Stack the weights, and make the members' networks slices of them."""
        shells = [run.algorithm.networks for run in self.runs]
        self.buffers = _stack([dict(shell.named_buffers()) for shell in shells])
        self.weights = _stack([dict(shell.named_parameters()) for shell in shells])
        for name, whole in self.weights.items():
            whole.requires_grad_(name.startswith("players."))
        self.speed = {name: torch.zeros_like(w) for name, w in self.weights.items()}
        self.rates = {
            player: torch.zeros(len(self.runs), device=self.device)
            for player in self.template.players
        }

    def _stack_rows(self) -> None:
        """Stack training rows, and allocate space for a segment of steps."""
        m, rows = len(self.runs), torch.stack([run.data.rows for run in self.runs])
        self.n, self.shape, self.bank = rows.shape[1], rows.shape[2:], rows.flatten(0, 1)
        self.offset = (self.n * torch.arange(m, device=self.device))[:, None]
        self.view = cast("Any", self.runs[0].data.weak)
        self.longest = min(self.length, self.every, self.total)
        self.at = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.loss, self.clock = torch.zeros(m, device=self.device), torch.zeros_like(self.at)
        self.plans = [self._plan(run) for run in self.runs]
        self._given: dict[Any, Tensor] = {}
        if self.view is not None:
            views = torch.arange(self.view.count)
            self.sources = self.view.sources(views, self.shape).to(self.device)
            weak: list[Any] = [run.data.weak for run in self.runs]
            black = torch.tensor([view.black for view in weak], device=self.device)
            self.black = black.reshape(m, 1, 1, 1)

    def _stack_held(self, members: Sequence[Member]) -> None:
        """Stack the rows to score, and allocate space for each criterion's best checkpoints."""
        self.held = torch.stack([one.held for one in members]).to(self.device)
        labels = torch.stack([one.labels for one in members]).to(self.device)
        self.checkpoints = Checkpoints(members[0].criteria, labels, self.held.shape[1])

    def _differing(self) -> Stack:
        """Return the hyperparameters that differ between members, as vectors."""
        found = {}
        for item in fields(self.template):
            values = [getattr(run.algorithm, item.name) for run in self.runs]
            if any(value != values[0] for value in values):
                found[item.name] = torch.tensor(values, device=self.device)
        return found

    # Training.

    def rehearse(self) -> None:
        """Call the loss once to check that the method accepts hyperparameters as vectors."""
        program = self._program("step")
        n = 2 * self.size
        row = torch.zeros(len(self), n, dtype=torch.int64, device=self.device)
        row[:, self.size :] = self.task.n_pos
        x = self.bank[:1].expand(len(self), n, *self.shape)
        draws = [DRAWS[name](given).to(self.device) for name, given in program.draws]
        inputs = x, x, row, [one.expand(len(self), *one.shape) for one in draws]
        state = _copied(self._state_of(program))
        networks = self.weights | _copied(self.buffers)
        for player in program.turns:
            self._each(partial(self._loss, player, self.loss[0]), inputs, state, networks)
        with torch.no_grad():
            self._decide(self._program("score"), self.held[:, :2])

    def advance(self) -> None:
        """Train to the next checkpoint, and score the held-out rows."""
        stop = min(self.step + self.every - self.step % self.every, self.total)
        with _on(self.stream):
            while self.step < stop:
                if self.step % self.length == 0:
                    self._start_epoch()
                until = min(stop, self.step + self.length - self.step % self.length)
                self._train(until - self.step)
            self._score()

    def wait(self) -> None:
        """Wait until the device has finished its work."""
        if self.stream is not None:  # pragma: no cover - needs a GPU
            self.stream.synchronize()

    def _start_epoch(self) -> None:
        for run in self.runs:
            run.step = self.step
        if self._moved:
            self._apart(lambda run: run.start_epoch())
            self._refresh_optimizers()

    def _apart(self, work: Callable[[Run], None]) -> None:
        """Run a function for each member; an error affects only that member."""
        was = torch.get_rng_state()
        for m in set(range(len(self))) - set(self.errors):
            torch.set_rng_state(self._random[m])
            try:
                work(self.runs[m])
            except Exception as error:  # noqa: BLE001 - whatever a member raises is its result
                self.errors[m] = error
            self._random[m] = torch.get_rng_state()
        torch.set_rng_state(was)

    def _refresh_optimizers(self) -> None:
        """Copy learning rates, and reset the momentum of members that restarted."""
        for player, rates in self.rates.items():
            optimizers = [run.optimizers[player] for run in self.runs]
            now = [one.param_groups[0]["lr"] for one in optimizers]
            rates.copy_(_pinned(torch.tensor(now), self.device), non_blocking=True)
            for m, one in enumerate(optimizers):
                if not one.state:
                    mine = one.param_groups[0]["params"][0]
                    one.state[mine] = {"stacked": True}
                    for name in self._names(player) if self.step else ():
                        self.speed[name][m].zero_()

    def _names(self, player: str) -> list[str]:
        return [name for name in self.weights if name.startswith(f"players.{player}.")]

    def _train(self, steps: int) -> None:
        """Take steps within one epoch; a step that changes the program is a separate segment."""
        while steps:
            program = self._program("step")
            here = 1 if program.removed else steps
            self._fill(program, here)
            for _ in range(here):
                self._run(program, self._step)
            for name in program.removed:
                for run in self.runs:
                    run.algorithm.state.pop(name, None)
            self.step, steps = self.step + here, steps - here

    def _run(self, program: Program, work: Callable[[Program], None]) -> None:
        """Run a program, or, on a GPU from the second time on, replay it."""
        if self.stream is None or not program.warm:
            with torch.backends.cudnn.flags(benchmark=True, allow_tf32=True):
                work(program)
            program.warm = True
            return
        if program.graph is None:  # pragma: no cover - needs a GPU
            program.graph = torch.cuda.CUDAGraph()
            program.graph.capture_begin(capture_error_mode="thread_local")
            work(program)
            program.graph.capture_end()
        program.graph.replay()  # pragma: no cover - needs a GPU

    def _step(self, program: Program) -> None:
        """Update all members once, with the rows and random numbers at the current position."""
        names = *self.plans[0], *program.draws
        now = {name: self._given[name].index_select(0, self.at)[0] for name in names}
        row, draws = now["row"].long(), [now[name] for name in program.draws]
        rows, progress = row + self.offset, (self.clock / self.total)[0]
        plain = self.bank.index_select(0, rows.flatten()).reshape(*rows.shape, *self.shape)
        x = self._seen(plain, now.get("weak"))
        strong = self._seen(plain, now.get("strong")) if self.template.needs_strong else x
        given = (x, strong, row, draws), self._state_of(program)
        loss = self.loss
        for player in program.turns:
            half = HALVES.get(self.runs[0].trainer.precision)
            with torch.autocast(self.device.type, dtype=half, enabled=half is not None):
                loss = self._each(partial(self._loss, player, progress), *given)
            self._descend(player, loss)
        if self._follows:
            with torch.no_grad():
                self._each(partial(self._after, progress), *given)
        self.loss.copy_(loss.detach())
        self.at += 1
        self.clock += 1

    def _loss(self, player: str, progress: Tensor, inputs: Inputs) -> Tensor:
        return self.template.loss(player, self._batch(progress, inputs))

    def _after(self, progress: Tensor, inputs: Inputs) -> Tensor:
        self.template.after_step(self._batch(progress, inputs))
        return progress.new_zeros(())

    def _batch(self, progress: Tensor, inputs: Inputs) -> Batch:
        """Return the batch of one member; the template then draws the given random numbers."""
        x, strong, row, draws = inputs
        n, template, drawn = self.size, self.template, iter(draws)
        for name in DRAWS:
            setattr(template, name, lambda _: next(drawn))
        if x.ndim == 4:
            # The fastest layout for convolutions.
            x, strong = (part.to(memory_format=torch.channels_last) for part in (x, strong))
        other = strong if template.needs_strong else None
        return Batch.of(x, other, row[:n], row[n:] - self.task.n_pos, progress)  # type: ignore[arg-type]

    def _seen(self, x: Tensor, which: Tensor | None) -> Tensor:
        """Return the rows with the augmentation applied."""
        return x if which is None else rearrange(x, self.sources[which.long()], self.black)

    def _each(
        self,
        work: Callable[[Any], Tensor],
        inputs: Inputs | Tensor,
        state: Stack,
        networks: Stack | None = None,
    ) -> Tensor:
        """Do the work for all members at once, each with its slice of the stacked tensors."""

        def call(networks: Stack, hyper: Stack, state: Stack, inputs: Any) -> Tensor:  # noqa: ANN401
            for name, value in hyper.items():
                setattr(self.template, name, value)
            self.template.state = self._plain | state
            return functional_call(self.shell, networks, (lambda: work(inputs),))

        given = networks or self.weights | self.buffers, self._hyper, state, inputs
        if len(self) > 1:
            return vmap(call, randomness="error")(*given)
        # The gradient of a squeezed tensor is a view; that of an item would be a copy.
        return call(*tree_map(lambda part: part.squeeze(0), given))[None]

    def _descend(self, player: str, loss: Tensor) -> None:
        """Update a player's weights by SGD with momentum, with rates and clipping per member."""
        names = self._names(player)
        weights = [self.weights[name] for name in names]
        slopes = list(torch.autograd.grad(loss.sum(), weights))
        limit = self.template.clip_norm
        with torch.no_grad():
            if limit is not None:
                squares = torch.stack([g.flatten(1).square().sum(1) for g in slopes]).sum(0)
                factor = (limit / (squares.sqrt() + 1e-6)).clamp(max=1.0)
                slopes = [g * _like(factor, g) for g in slopes]
            speeds = [self.speed[name] for name in names]
            torch._foreach_mul_(speeds, MOMENTUM)
            torch._foreach_add_(speeds, slopes)
            for weight, speed in zip(weights, speeds, strict=True):
                weight.addcmul_(speed, _like(self.rates[player], speed), value=-1.0)

    # The state of the algorithm, and its programs.

    def _program(self, kind: str) -> Program:
        """Return the program for the current stage."""
        algorithm = self.runs[0].algorithm
        plain = {k: branch_of(v) for k, v in algorithm.state.items() if not is_data(v)}
        turns = tuple(algorithm.turns())
        key = (kind, turns, tuple(sorted(plain.items())), tuple(sorted(algorithm.state)))
        if key not in self._programs:
            self._programs[key] = self._discover(kind, turns)
        self._plain = plain
        program = self._programs[key]
        self._sync(program.reads)
        return program

    def _discover(self, kind: str, turns: tuple[str, ...]) -> Program:
        """Find out what a step requires, by running one and discarding it."""
        twin: Any = copy.deepcopy(self.runs[0].algorithm)
        reads, draws, before = Reads(twin.state), list[tuple[str, Any]](), set(twin.state)
        twin.state = reads
        if kind == "score":
            with torch.no_grad():
                twin.decision(self.held[0, :2])
            return Program((), draws, reads.names & before)
        for name, make in DRAWS.items():
            setattr(twin, name, noted(name, make, draws))
        n, zero = self.size, torch.zeros(1, dtype=torch.int64, device=self.device)
        x, row = self.bank[: 2 * n], zero.expand(n)
        strong = x if twin.needs_strong else None
        batch = Batch.of(x, strong, row, row, self.step / self.total)
        for player in turns:
            twin.loss(player, batch)
        with torch.no_grad():
            twin.after_step(batch)
        if len({"draw_beta" in one for one in draws}) < len(draws):
            msg = f"must request one number of each kind per step, got {draws}."
            raise InputError("algorithm", msg)
        return Program(turns, draws, reads.names & before, before - set(reads))

    def _sync(self, names: Iterable[str]) -> None:
        """Stack the members' current states; the members then hold slices of the stack."""
        for name in names:
            values: list[Any] = [run.algorithm.state.get(name) for run in self.runs]
            if not is_data(values[0]):
                continue
            plain = isinstance(values[0], float)
            whole = _pinned(torch.tensor(values), self.device) if plain else torch.stack(values)
            if name in self._state and self._state[name].shape == whole.shape:
                self._state[name].copy_(whole, non_blocking=True)
            else:
                # Captured programs read from the old memory.
                self._state[name] = whole.to(self.device)
                self._forget()
            if not plain:
                for run, slot in zip(self.runs, self._state[name], strict=True):
                    run.algorithm.state[name] = slot

    def _forget(self) -> None:
        for program in self._programs.values():
            program.graph, program.warm = None, False

    def _state_of(self, program: Program) -> Stack:
        return {name: self._state[name] for name in program.reads if name in self._state}

    # Rows and random numbers.

    def _plan(self, run: Run) -> Stack:
        """Return a member's rows and views for all steps; they do not depend on the method."""
        data, seed = run.data, run.trainer.seed
        found = {"row": row_plan(seed, data.n_pos, data.n_unl, self.size, self.total)}
        if self.view is None:
            return found
        kinds = ("weak", "strong") if self.template.needs_strong else ("weak",)
        views = view_plan(data.weak, seed, len(kinds), 2 * self.size, self.total)
        return found | dict(zip(kinds, views.unbind(1), strict=True))

    def _fill(self, program: Program, steps: int) -> None:
        """Upload each member's rows, views and random numbers for the next steps."""
        found: list[dict[Any, Tensor]] = []
        now = slice(self.step, self.step + steps)
        for run, plan in zip(self.runs, self.plans, strict=True):
            drawn: dict[Any, Tensor] = drawn_by(run.algorithm, program.draws, steps)
            found.append({name: part[now] for name, part in plan.items()} | drawn)
        for name in found[0]:
            self._upload(name, torch.stack([one[name] for one in found], 1))
        self.at.zero_()

    def _upload(self, name: object, found: Tensor) -> None:
        """Copy the numbers for several steps to the program's input buffer."""
        place, shape = self._given.get(name), (self.longest, *found.shape[1:])
        if place is None or place.shape != shape or place.dtype != found.dtype:
            place = self._given[name] = torch.zeros(shape, dtype=found.dtype, device=self.device)
            self._forget()
        place[: len(found)].copy_(_pinned(found, self.device), non_blocking=True)

    # Checkpoints.

    def _score(self) -> None:
        """Score all held-out rows, and keep the best scores so far for each criterion."""
        if self._prepares:
            with torch.no_grad():
                self._apart(lambda run: run.algorithm.before_scoring(run.data))
        self.checkpoints.begin(self.step, self.loss, self.weights.values())
        if self.runs[0].algorithm.ready():
            program = self._program("score")
            with torch.no_grad():
                self._run(program, self._keep)

    def _keep(self, program: Program) -> None:
        self.checkpoints.keep(self._decide(program, self.held))

    def _decide(self, program: Program, rows: Tensor) -> Tensor:
        """Return log odds of the rows, using each member's own weights."""
        return self._each(self.template.decision, rows, self._state_of(program))


def _check_alike(runs: Sequence[Run]) -> None:
    """Reject runs that cannot share one program."""

    def shared(run: Run) -> tuple[Any, ...]:
        schedule = run.length, run.total, run.every, run.trainer.batch_size
        return type(run.algorithm), run.algorithm.task, *schedule

    if any(shared(run) != shared(runs[0]) for run in runs):
        msg = "must share one algorithm, task, batch size and schedule to form a population."
        raise InputError("runs", msg)


def _stack(parts: Sequence[Stack]) -> Stack:
    """Return stacked tensors, and make the given ones slices of them, with the same layout."""
    found = {}
    for name, first in parts[0].items():
        size = len(parts), *first.shape
        found[name] = first.new_empty_strided(size, (first.numel(), *first.stride()))
        for slot, part in zip(found[name], parts, strict=True):
            part[name].data = slot.copy_(part[name].detach())
    return found


def _copied(parts: Stack) -> Stack:
    return {name: part.clone() for name, part in parts.items()}


def _like(vector: Tensor, other: Tensor) -> Tensor:
    return vector.reshape(-1, *[1] * (other.ndim - 1))


def _pinned(x: Tensor, device: torch.device) -> Tensor:
    return x.pin_memory() if device.type == "cuda" else x


def _on(stream: Any) -> Any:  # noqa: ANN401
    return nullcontext() if stream is None else torch.cuda.stream(stream)
