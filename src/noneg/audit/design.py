"""`Design`: the rows to review and everything needed to read the answers, as one JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.strata import Expected
from noneg.audit.targets import Census, Target
from noneg.errors import InputError, MissingFileError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

SCHEMA = "noneg.audit-design/1"


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """Rows to review, and everything needed to read the answers.

    Attributes
    ----------
    targets : tuple of Target
        What the review is for.
    setting : {"one-sample", "two-sample"}
    prior : float or None
        The prior that was given, if any; it only guides the choice of rows.
    seed : int
    sequential : bool
        Whether the review may be stopped anywhere after looking at the answers.
    source : mapping
        Files and columns.
    census : Census
        Everything about the table that needs no review.
    size, share : ndarray
        Unlabeled rows of each stratum, and its part of the reviews.
    group : tuple of str
        The group of each stratum; empty without groups.
    corners : ndarray, shape (strata, 2, features)
        Features at the lowest and the highest score of each stratum.
    id : tuple of str
        The rows to review, in order.
    score, rank, stratum, probability : ndarray
        Of these rows; `probability` is that of being chosen.
    positive_score, positive_rank, positive_stratum : ndarray
        Labeled positives, thinned if there are many.
    n_positive, n_unlabeled : float
    expected : Expected
    """

    targets: tuple[Target, ...]
    setting: Setting
    prior: float | None
    seed: int
    sequential: bool
    source: Mapping[str, Any]
    census: Census
    size: Floats
    share: Floats
    group: tuple[str, ...]
    corners: Floats
    id: tuple[str, ...]
    score: Floats
    rank: Floats
    stratum: Places
    probability: Floats
    positive_score: Floats
    positive_rank: Floats
    positive_stratum: Places
    n_positive: float
    n_unlabeled: float
    expected: Expected

    @property
    def budget(self) -> int:
        """Rows to review."""
        return len(self.id)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the list for reviewers: id, probability, and an empty column for the answer."""
        return {
            "review": np.arange(1, self.budget + 1),
            "id": np.array(self.id, dtype=object),
            "probability": self.probability,
            "answer": np.full(self.budget, "", dtype=object),
        }

    def frame(self, backend: str | None = None) -> object:
        """Return the list as a pandas, Polars or PyArrow frame, whichever is installed."""
        from noneg.results import to_frame

        return to_frame(self.columns(), backend)

    def to_json(self) -> str:
        """Return everything as text that `from_json` reads."""
        return json.dumps(
            {"schema": SCHEMA} | {name: _plain(getattr(self, name)) for name in _FIELDS}
        )

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Return what `to_json` wrote."""
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise KeyError(content["schema"])  # noqa: TRY301
            made = {name: _MADE.get(name, np.array)(content[name]) for name in _FIELDS}
        except (ValueError, KeyError, TypeError) as error:
            rule = f"must be a design that noneg audit plan wrote ({SCHEMA})"
            remedy = "Pass the JSON file that was written with the list."
            raise InputError("design", rule, remedy=remedy) from error
        return cls(**made)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Design:
        """Read a design file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            rule = f"must be a file that exists, got {str(path)!r}"
            remedy = "It was written with the list of rows, and ends in .design.json."
            raise MissingFileError("design", rule, remedy=remedy) from error

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.targets))
        return f"Design({self.budget} rows to review for {names}; {self.size.size} strata)"


def _plain(value: object) -> object:
    if isinstance(value, (Census, Expected)):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple) and value and isinstance(value[0], Target):
        return [[target.name, target.threshold] for target in value]
    return value


_FIELDS = tuple(Design.__dataclass_fields__)
_MADE: dict[str, Callable[[Any], Any]] = {
    "targets": lambda pairs: tuple(Target(*pair) for pair in pairs),
    "setting": str,
    "prior": lambda x: x,
    "seed": int,
    "sequential": bool,
    "source": dict,
    "census": Census.from_dict,
    "group": tuple,
    "id": tuple,
    "stratum": lambda x: np.array(x, dtype=np.intp),
    "positive_stratum": lambda x: np.array(x, dtype=np.intp),
    "n_positive": float,
    "n_unlabeled": float,
    "expected": lambda x: Expected(**{name: np.array(column) for name, column in x.items()}),
}
