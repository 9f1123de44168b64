"""Hyperparameters: a field of an algorithm's dataclass is its default and its search space.

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

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np


class Search(Protocol):
    """Where to look for a hyperparameter."""

    def draw(self, random: np.random.Generator) -> Any:  # noqa: ANN401
        """Return one value."""


@dataclass(frozen=True)
class Choice:
    """One of a few values, each as likely.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> Choice(0.5, 0.7).draw(stream(0, "search")) in (0.5, 0.7)
    True
    """

    values: tuple[Any, ...]

    def __init__(self, *values: object) -> None:
        object.__setattr__(self, "values", values)

    def draw(self, random: np.random.Generator) -> Any:  # noqa: ANN401
        """Return one of the values."""
        return self.values[int(random.integers(len(self.values)))]


@dataclass(frozen=True)
class Uniform:
    """Any number of an interval.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> 0.0 <= Uniform(0.0, 1.0).draw(stream(0, "search")) < 1.0
    True
    """

    low: float
    high: float

    def draw(self, random: np.random.Generator) -> float:
        """Return a number of the interval."""
        return float(random.uniform(self.low, self.high))


@dataclass(frozen=True)
class LogUniform:
    """A number whose logarithm is uniform.

    Examples
    --------
    >>> from noneg.randomness import stream
    >>> 1e-4 <= LogUniform(1e-4, 1e-2).draw(stream(0, "search")) < 1e-2
    True
    """

    low: float
    high: float

    def draw(self, random: np.random.Generator) -> float:
        """Return a number of the interval."""
        return float(self.low * (self.high / self.low) ** random.random())


def hyper(default: Any, search: Search | None = None, *, bench: Any = None) -> Any:  # noqa: ANN401
    """Return a dataclass field with its default and its search space, if it is searched at all.

    With `bench`, the default depends on the variant; `Algorithm` fills it in.
    """
    notes: dict[str, Any] = {} if search is None else {"search": search}
    if bench is None:
        return field(default=default, metadata=notes)
    return field(default=None, metadata=notes | {"ref": default, "bench": bench})


def space(algorithm: type[Any]) -> dict[str, Search]:
    """Return the searched fields of a dataclass."""
    return {f.name: f.metadata["search"] for f in fields(algorithm) if "search" in f.metadata}
