"""Random numbers of a training run: torch's seeded state, and the order of the rows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noneg.extras import optional

with optional("noneg.learning"):
    import torch

from noneg.learning.contract import torch_generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


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
