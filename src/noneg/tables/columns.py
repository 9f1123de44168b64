"""The columns to read, the columns that come out, and the refusals of single rows."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from noneg.checks import number_advice
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from noneg.checks import WeightKind

_MOST_NAMES = 20


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The columns to read, by name, and the label that means positive."""

    score: str
    label: str
    weight: str | None = None
    positive_label: object = None
    weight_kind: WeightKind = "frequency"

    def __post_init__(self) -> None:
        for argument, name in self.names().items():
            if not isinstance(name, str):
                msg = f"'{argument}' must be the name of a column, got {name!r}. Pass it as text."
                raise ValueError(msg)  # noqa: TRY004 - one kind of error for wrong arguments
        if len(set(self.names().values())) < len(self.names()):
            named = ", ".join(repr(name) for name in self.names().values())
            rule, remedy = f"must be different columns, got {named}", "Name each one once."
            raise InputError(("score", "label", "weight"), rule, remedy=remedy)

    def names(self) -> dict[str, str]:
        """Return the columns that are needed, by argument."""
        names = {"score": self.score, "label": self.label}
        return names if self.weight is None else {**names, "weight": self.weight}

    def check_names(self, there: Sequence[str], where: str) -> None:
        """Refuse a table that lacks a column or has it twice; say which ones it has."""
        for argument, name in self.names().items():
            count = list(there).count(name)
            if count > 1:
                msg = f"'{argument}' is {name!r}, but {where} has {count} columns of that name."
                raise ValueError(f"{msg} Rename all but one.")
            if count == 0:
                msg = f"'{argument}' must name a column of {where}, got {name!r}."
                raise ValueError(f"{msg}{_closest(name, there)} {_listed(there)}")


@dataclass(frozen=True, eq=False)
class Columns:
    """Scores, which rows are labelled positive, and weights."""

    score: NDArray[np.float64]
    flags: NDArray[np.bool_]
    weight: NDArray[np.float64] | None


@contextmanager
def about_columns(place: Callable[[int], str] | None = None) -> Iterator[None]:
    """Let errors about arguments tell of the columns they stand for, and the place of a row."""
    try:
        yield
    except InputError as error:
        raise error.of_column(place) from error


def refuse_missing(argument: str, name: str, place: str) -> NoReturn:
    """Refuse a row without a value."""
    advice = {
        "label": "Write the value that stands for unlabeled into such rows.",
        "score": "Remove or impute the rows without a score; none is dropped silently.",
        "weight": "Write the weight into such rows, 0 to leave one out.",
    }.get(argument, "Fill gaps first, or name the columns to use with --feature.")
    what = argument if argument in ("label", "score", "weight") else "number"
    msg = f"column {name!r} must hold a {what} in every row, but {place} has none."
    raise ValueError(f"{msg} {advice}")


def refuse_text(name: str, value: object, place: str) -> NoReturn:
    """Refuse a row that holds text where a number should be."""
    msg = f"column {name!r} must hold numbers, got {value!r} in {place}."
    raise ValueError(f"{msg} {number_advice(value)}")


def _closest(name: str, there: Sequence[str]) -> str:
    names = [str(other) for other in there]
    close = get_close_matches(name, names, n=1)
    close += [other for other in names if other.casefold() == name.casefold()]
    return f" Did you mean {close[0]!r}?" if close else ""


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "It has no columns."
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"It has {shown}" + (f" and {more} more." if more > 0 else ".")
