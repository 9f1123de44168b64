"""Training rows, and endless independent streams of row numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    Augment = Callable[[Tensor, torch.Generator], Tensor]


_HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class PUData:
    """Inputs of labelled positives and of unlabeled rows; no hidden label is ever in it.

    Parameters
    ----------
    pos, unl : Tensor
        Inputs, a row each along the first axis. Rows are numbered from 0 in each of them.
    weak : callable, optional
        ``weak(x, generator)`` augments a training batch; evaluation never does.
    strong : callable, optional
        The second, stronger view that some methods want.
    joint : Tensor, optional
        All rows in one tensor, of which `pos` and `unl` are slices; `to` makes it.

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
    joint: Tensor | None = None

    def __post_init__(self) -> None:
        for name in ("pos", "unl"):
            if len(getattr(self, name)) == 0:
                raise ValueError(f"'{name}' must hold at least one row, got none.")
        if self.pos.shape[1:] != self.unl.shape[1:]:
            shapes = f"{tuple(self.pos.shape)} and {tuple(self.unl.shape)}"
            raise ValueError(f"'pos' and 'unl' must have rows of one shape, got {shapes}.")

    @property
    def n_pos(self) -> int:
        """Number of labelled positives."""
        return len(self.pos)

    @property
    def n_unl(self) -> int:
        """Number of unlabeled rows."""
        return len(self.unl)

    def to(self, device: torch.device) -> PUData:
        """Return the rows on a device, in single precision, both parts slices of one tensor."""
        joint = torch.cat([self.pos, self.unl]).to(device)
        joint = joint.float() if joint.dtype not in _HALVES else joint
        return replace(self, pos=joint[: self.n_pos], unl=joint[self.n_pos :], joint=joint)


class RowStream:
    """Row numbers without end: one random order of all rows after the other, cut into batches.

    Every row comes equally often, whatever the sizes; a batch larger than the sample holds rows
    more than once.

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
        """Return the next batch of row numbers."""
        if self.place + self.size > len(self.order):
            self._refill()
        self.place += self.size
        return self.order[self.place - self.size : self.place]

    def _refill(self) -> None:
        parts = [self.order[self.place :]]
        while sum(len(part) for part in parts) < self.size:
            parts.append(torch.randperm(self.n, generator=self.generator).to(self.device))
        self.order, self.place = torch.cat(parts), 0

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on from here."""
        return {
            "order": self.order,
            "place": self.place,
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved place."""
        self.order, self.place = state["order"].to(self.device), state["place"]
        self.generator.set_state(state["generator"])


def torch_generator(seed: int, purpose: str) -> torch.Generator:
    """Return a torch generator for one purpose."""
    start = int(stream(seed, purpose).integers(2**62))
    return torch.Generator().manual_seed(start)
