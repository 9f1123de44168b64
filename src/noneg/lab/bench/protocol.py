"""What a run depends on, and its name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from noneg.checks import check_prior
from noneg.lab.bench.plans import find_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PUSetting = Literal["two-sample", "one-sample"]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run.

    Attributes
    ----------
    dataset : str
        A name in `PLANS`.
    setting : {"one-sample", "two-sample"}
    case : int
        Which classes are positive, from 1.
    rate : float
        Labelled positives as a share of all training rows.
    algorithm : str
        A name in `noneg.learning.ALGORITHMS`.
    variant : {"ref", "bench"}
        The original method, or the version behind the benchmark paper's numbers.
    correction : str or None
        One-sample correction; None for the algorithm's own.
    configuration : int
        0 for default hyperparameters; others are drawn at random, the same for every algorithm
        where they share a hyperparameter.
    split : int
        Number of the draw of the rows.
    steps, every : int
        Updates, and updates between checkpoints.
    given_prior : float or None
        The prior told to the algorithm and to the criteria, where it is not the true one.
    augmented : bool
        Whether training images vary as the plan of the data set says.

    Examples
    --------
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> run.key == RunConfig.from_dict(run.to_dict()).key
    True
    """

    dataset: str
    setting: PUSetting
    algorithm: str
    case: int = 1
    rate: float = 0.3
    variant: Literal["ref", "bench"] = "ref"
    correction: str | None = None
    configuration: int = 0
    split: int = 0
    steps: int = 20_000
    every: int = 100
    given_prior: float | None = None
    augmented: bool = True

    def __post_init__(self) -> None:
        find_plan(self.dataset).positives(self.case)
        if self.setting not in ("one-sample", "two-sample"):
            msg = f"'setting' must be 'one-sample' or 'two-sample', got {self.setting!r}."
            raise ValueError(msg)
        if not 0.0 < self.rate < 1.0:
            msg = f"'rate' must be a share in (0, 1), got {self.rate!r}."
            raise ValueError(msg)
        if self.given_prior is not None:
            check_prior(self.given_prior, "given_prior")
        for name in ("steps", "every"):
            if getattr(self, name) < 1:
                msg = f"'{name}' must be at least 1, got {getattr(self, name)!r}."
                raise ValueError(msg)

    @property
    def key(self) -> str:
        """The name of the run: a hash of everything it depends on."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def method(self) -> str:
        """What the tables call it: algorithm, variant and correction."""
        parts = [self.algorithm, *(["bench"] if self.variant == "bench" else [])]
        return "/".join([*parts, *([self.correction] if self.correction else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """Return the run that `to_dict` described."""
        known = {f.name for f in fields(cls)}
        if set(values) - known:
            msg = f"'values' must hold fields of a run, got {sorted(set(values) - known)}."
            raise ValueError(msg)
        return cls(**values)


def sweep(**axes: Iterable[Any]) -> list[RunConfig]:
    """Return all runs of a grid.

    Parameters
    ----------
    **axes : iterable
        Values of fields of `RunConfig`, by their names.

    Examples
    --------
    >>> grid = sweep(
    ...     dataset=["digits"], setting=["one-sample"], algorithm=["upu", "nnpu"], split=range(3)
    ... )
    >>> len(grid), grid[-1].algorithm, grid[-1].split
    (6, 'nnpu', 2)
    """
    points = product(*axes.values())
    return [RunConfig.from_dict(dict(zip(axes, point, strict=True))) for point in points]
