"""The parts of a population's steps: programs, and the random numbers that they need."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from noneg.extras import optional

with optional("noneg bench run"):
    import torch
    from torch import Tensor

    from noneg.learning.contract import Algorithm, torch_generator
    from noneg.learning.training import RowStream

if TYPE_CHECKING:
    from collections.abc import Callable

    Draws = list[tuple[str, Any]]


class Reads(UserDict[str, Any]):
    """A state that records which of its entries were read."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        self.names.add(name)
        return super().__getitem__(name)


@dataclass(eq=False)
class Program:
    """A step, or a scoring pass, in one stage of the algorithm.

    Attributes
    ----------
    turns : tuple of str
        Players to update.
    draws : list
        Random numbers that a step needs, in order.
    reads : set of str
        Entries of the state that a step reads.
    removed : set of str
        Entries of the state that a step removes.
    """

    turns: tuple[str, ...]
    draws: Draws
    reads: set[str]
    removed: set[str] = field(default_factory=set)
    warm: bool = False
    graph: Any = None


def is_data(value: object) -> bool:
    """Return whether a state entry is per-member data rather than a branch of the program."""
    return isinstance(value, (float, torch.Tensor))


def branch_of(value: Any) -> Any:  # noqa: ANN401
    """Return the part of a state entry that a program may depend on."""
    return min(value, 1) if type(value) is int else value


@lru_cache(maxsize=128)
def row_plan(seed: int, n_pos: int, n_unl: int, size: int, steps: int) -> Tensor:
    """Return the row indices for all steps, positives first, as a single run draws them."""
    parts, cpu = [], torch.device("cpu")
    for purpose, n, first in (("positive rows", n_pos, 0), ("unlabeled rows", n_unl, n_pos)):
        rows = RowStream(n, size, seed=seed, purpose=purpose, device=cpu)
        parts.append(rows.take(steps).reshape(steps, size) + first)
    small = n_pos + n_unl <= torch.iinfo(torch.int16).max
    return torch.cat(parts, 1).to(torch.int16 if small else torch.int32)


@lru_cache(maxsize=128)
def view_plan(view: Any, seed: int, kinds: int, rows: int, steps: int) -> Tensor:  # noqa: ANN401
    """Return the views for all steps of a run: one per row, or a weak and then a strong one."""
    random = torch_generator(seed, "views")
    drawn = [view.draw(rows, random).to(torch.int16) for _ in range(steps * kinds)]
    return torch.stack(drawn).reshape(steps, kinds, rows)


# Values for an algorithm's random draws in a step that is discarded.
DRAWS: dict[str, Callable[[Any], Tensor]] = {
    "draw_beta": lambda _: torch.full((), 0.5, dtype=torch.float64),
    "draw_order": torch.arange,
    "draw_uniform": lambda n: torch.full((n,), 0.5, dtype=torch.float64),
}


def noted(name: str, make: Callable[[Any], Tensor], into: Draws) -> Callable[[Any], Tensor]:
    """Return a function that makes a draw and records the request."""

    def draw(argument: Any) -> Tensor:  # noqa: ANN401
        into.append((name, argument))
        return make(argument)

    return draw


def drawn_by(algorithm: Algorithm, draws: Draws, steps: int) -> dict[tuple[str, Any], Tensor]:
    """Return the random numbers for the next steps, as single steps would draw them."""
    # Beta draws have a separate generator; a step uses only one of the other two kinds.
    made: dict[str, Callable[[Any], Tensor]] = {
        # In single precision, like the rows that they multiply.
        "draw_beta": lambda a: torch.from_numpy(algorithm.random.beta(a, a, steps)).float(),
        "draw_order": lambda n: torch.stack([algorithm.draw_order(n) for _ in range(steps)]),
        "draw_uniform": lambda n: algorithm.draw_uniform(steps * n).reshape(steps, n),
    }
    return {(name, argument): made[name](argument) for name, argument in draws}
