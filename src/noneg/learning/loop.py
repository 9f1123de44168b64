"""The loop itself: one run's streams, optimizers, checkpoints and what is needed to resume."""

from __future__ import annotations

import copy
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from noneg.atomic import replacing
from noneg.learning.contract import Algorithm, Batch, Epoch, View
from noneg.learning.data import RowStream, torch_generator
from noneg.learning.progress import progress_bar
from noneg.learning.selection import find_criterion, validation_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from noneg.learning.data import PUData
    from noneg.learning.trainer import Trainer

    Monitor = Callable[[Algorithm, int], dict[str, float]]

HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Fit:
    """What a training run gave.

    Attributes
    ----------
    algorithm : Algorithm
        Trained.
    history : list of dict
        One entry a checkpoint: step, loss, the criterion, what the monitor said.
    step : int
        Step whose weights were kept.
    steps : int
        Steps that were run.
    seconds : float
    diverged : bool
        Whether training stopped early because the loss was no finite number any more.

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


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global random state, and put back what was there.

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


def find_device(name: str | None) -> torch.device:
    """Return a device by name; by default a GPU if there is one."""
    device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda" and device.index is None:  # pragma: no cover - needs a GPU
        return torch.device("cuda", torch.cuda.current_device())
    return device


class Run:
    """The state of one run, and the loop."""

    def __init__(
        self,
        trainer: Trainer,
        algorithm: Algorithm,
        data: PUData,
        validation: PUData | None,
        device: torch.device,
        monitor: Monitor | None,
    ) -> None:
        self.trainer, self.algorithm, self.data = trainer, algorithm, data
        self.validation, self.device, self.monitor = validation, device, monitor
        self.length = max(1, data.n_unl // trainer.batch_size)
        self.total = trainer.steps or trainer.epochs * self.length
        self.every = trainer.checkpoint_every or self.length
        self.optimizers = {
            name: algorithm.make_optimizer(name, trainer.make_optimizer)
            for name in algorithm.players
        }
        size, seed = trainer.batch_size, trainer.seed
        self.rows = {
            "pos": RowStream(data.n_pos, size, seed=seed, purpose="positive rows", device=device),
            "unl": RowStream(data.n_unl, size, seed=seed, purpose="unlabeled rows", device=device),
        }
        self.views = torch_generator(seed, "views")
        half = trainer.precision == "float16" and device.type == "cuda"
        self.scaler = torch.amp.GradScaler(device.type, enabled=half)
        self.joint = torch.cat([data.pos, data.unl]) if data.joint is None else data.joint
        self.step, self.history, self.diverged = 0, list[dict[str, float]](), False
        self.best: dict[str, Any] = {"value": None, "step": 0, "state": None, "since": 0}

    def go(self) -> Fit:
        """Run all steps that are left."""
        start = time.perf_counter()
        for module in self.algorithm.players.values():
            module.train()
        with progress_bar(self.total, self.algorithm.title, show=self.trainer.progress) as bar:
            while self.step < self.total and not (self.diverged or self._out_of_patience()):
                self._start_epoch()
                loss = self._update()
                self.step += 1
                if self.step % self.every == 0 or self.step == self.total:
                    self._checkpoint(loss)
                    bar(self.step)
        return self._finish(time.perf_counter() - start)

    def _start_epoch(self) -> None:
        number, within = divmod(self.step, self.length)
        if within == 0:
            progress = self.step / self.total
            epoch = Epoch(number, progress, self.data, self.validation, self.optimizers)
            with torch.no_grad():
                self.algorithm.start_epoch(epoch)

    def _update(self) -> Tensor:
        batch = self._batch()
        algorithm, half = self.algorithm, HALVES.get(self.trainer.precision)
        loss = torch.zeros(())
        for player in algorithm.turns():
            if half is None:
                loss = algorithm.loss(player, batch)
            else:
                with torch.autocast(self.device.type, dtype=half):
                    loss = algorithm.loss(player, batch)
            self._descend(player, loss)
        if self.scaler.is_enabled():  # pragma: no cover - needs a GPU
            self.scaler.update()
        with torch.no_grad():
            algorithm.after_step(batch)
        return loss

    def _descend(self, player: str, loss: Tensor) -> None:
        optimizer, limit = self.optimizers[player], self.algorithm.clip_norm
        optimizer.zero_grad()
        scaled = self.scaler.scale(loss) if self.scaler.is_enabled() else loss
        scaled.backward()  # type: ignore[no-untyped-call]
        if limit is not None:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(self.algorithm.players[player].parameters(), limit)
        if self.scaler.is_enabled():  # pragma: no cover - needs a GPU
            self.scaler.step(optimizer)
        else:
            optimizer.step()

    def _batch(self) -> Batch:
        pos, unl = self.rows["pos"].next(), self.rows["unl"].next()
        n = len(pos)
        x = raw = self.joint.index_select(0, torch.cat([pos, unl + self.data.n_pos]))
        if self.data.weak is not None:
            x = self.data.weak(raw, self.views)
        one, two = View(x[:n], pos), View(x[n:], unl)
        if self.algorithm.needs_strong:
            one, two = self._with_strong(one, two, raw)
        return Batch(x, one, two, self.step / self.total)

    def _with_strong(self, pos: View, unl: View, raw: Tensor) -> tuple[View, View]:
        if self.data.strong is None:
            return View(pos.x, pos.row, pos.x), View(unl.x, unl.row, unl.x)
        strong = self.data.strong(raw, self.views)
        n = len(pos.x)
        return View(pos.x, pos.row, strong[:n]), View(unl.x, unl.row, strong[n:])

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
        """Return whether the last step, too, left numbers: its loss is from before it."""
        modules = self.algorithm.players.values()
        return all(bool(p.isfinite().all()) for module in modules for p in module.parameters())

    def _diverge(self, loss: float) -> None:
        """Stop; an error unless there are weights from before to return."""
        self.diverged = True
        if self.best["state"] is None:
            msg = (
                f"The loss of {self.algorithm.title} is {loss} at step {self.step}. Lower 'lr', "
                "standardize the inputs, or hold out validation rows: then the best weights from "
                "before are kept."
            )
            raise FloatingPointError(msg)

    def _keep_best(self, value: float) -> None:
        better = find_criterion(self.trainer.criterion).sign * value
        if self.best["value"] is None or better > self.best["value"]:
            state = copy.deepcopy(self.algorithm.state_dict())
            self.best = {"value": better, "step": self.step, "state": state, "since": 0}
        else:
            self.best["since"] += 1

    def _out_of_patience(self) -> bool:
        patience = self.trainer.patience
        return patience is not None and self.best["since"] >= patience

    def _finish(self, seconds: float) -> Fit:
        algorithm, kept = self.algorithm, self.step
        if self.best["state"] is not None:
            algorithm.load_state_dict(self.best["state"])
            kept = self.best["step"]
        for module in (*algorithm.players.values(), *algorithm.frozen.values()):
            module.eval()
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
        """Write all that is needed to go on."""
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
        """Go on from a file."""
        state = torch.load(path, map_location="cpu", weights_only=True)
        if state["run"] != self._name():
            msg = (
                f"'resume' must be a file of the same run, {self._name()}; {str(path)!r} is of "
                f"{state['run']}. Start anew, or resume with the arguments of that run."
            )
            raise ValueError(msg)
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
