"""What is wanted of a table, what comes out of it, and the rules both sides must follow."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from noneg.checks import (
    check_flags,
    check_same_length,
    check_scores,
    check_weights,
    number_advice,
    remedy,
)
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.checks import WeightKind

# More distinct labels than this are not worth counting: it is the wrong column.
MOST_LABELS = 1000
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

    @classmethod
    def checked(
        cls,
        score: object,
        flags: NDArray[np.bool_],
        weight: object | None,
        wanted: Wanted,
        place: Callable[[int], str] | None = None,
    ) -> Columns:
        """Check scores and weights; `place` says where a row is if its number is not enough."""
        with about_columns(place):
            scores = check_scores(score, wanted.score)
            weights = None
            if weight is not None:
                kind, name = wanted.weight_kind, str(wanted.weight)
                weights = check_weights(weight, kind, scores.size, name)
            check_same_length(**{wanted.score: scores.size, wanted.label: flags.size})
        return cls(scores, flags, weights)


@contextmanager
def about_columns(place: Callable[[int], str] | None = None) -> Iterator[None]:
    """Let errors about arguments tell of the columns they stand for, and the place of a row."""
    try:
        yield
    except InputError as error:
        raise error.of_column(place) from error


def positive_among(found: Sequence[object], wanted: Wanted) -> NDArray[np.bool_]:
    """Return which of the distinct label values mean positive."""
    if len(found) > MOST_LABELS:
        shown = ", ".join(repr(value) for value in found[:3])
        msg = (
            f"column {wanted.label!r} must hold two values, got more than {MOST_LABELS:,}, such as "
            f"{shown}. Is it the label?"
        )
        raise ValueError(msg)
    values = np.empty(len(found), dtype=object)
    values[:] = [float(value) if isinstance(value, Decimal) else value for value in found]
    meant = wanted.positive_label
    if meant is not None:
        meant = next((value for value in values if is_label(value, meant)), meant)
    with about_columns():
        return check_flags(values, wanted.label, meant)


def values_of_text(texts: Sequence[str]) -> list[object]:
    """Return labels written as text as the numbers or truth values they all are, else as text."""
    for kind in (int, float, _truth):
        try:
            return [kind(text) for text in texts]
        except ValueError:
            continue
    return list(texts)


def refuse_missing(argument: str, name: str, place: str, example: str = "") -> NoReturn:
    """Refuse a row without a value."""
    remedy = {
        "label": "Write the value that stands for unlabeled into such rows.",
        "score": "Remove or impute the rows without a score; none is dropped silently.",
        "weight": "Write the weight into such rows, 0 to leave one out.",
    }[argument]
    msg = f"column {name!r} must hold a {argument} in every row, but {place} has none{example}."
    raise ValueError(f"{msg} {remedy}")


def refuse_text(name: str, value: object, place: str) -> NoReturn:
    """Refuse a row whose number is none."""
    msg = f"column {name!r} must hold numbers, got {value!r} in {place}."
    raise ValueError(f"{msg} {number_advice(value)}")


def refuse_some(argument: str, name: str, count: int = 1) -> NoReturn:
    """Refuse rows whose number in the table nobody knows."""
    rule = {
        "label": "a label in every row",
        "weight": "weights that are finite and not negative, and whole numbers if they count rows",
    }[argument]
    has = "1 row does not" if count == 1 else f"{count:,} rows do not"
    raise ValueError(f"column {name!r} must hold {rule}, but {has}. Repair or fill such rows.")


def refuse_scores(name: str, count: int, examples: Sequence[float]) -> NoReturn:
    """Refuse scores outside [0, 1], or none at all, in rows whose number nobody knows."""
    wrong = [value for value in examples if not 0.0 <= value <= 1.0]
    such = f", such as {wrong[0]!r}" if wrong else ""
    has = "1 row does not" if count == 1 else f"{count:,} rows do not"
    msg = f"column {name!r} must hold scores in [0, 1], but {has}{such}."
    raise ValueError(f"{msg} {remedy(wrong[0] if wrong else math.nan)}")


def number_of_label(meant: object) -> float:
    """Return the number that a label means, nan if it means none."""
    if str(meant).casefold() in ("true", "false"):
        return float(str(meant).casefold() == "true")
    try:
        return float(str(meant))
    except ValueError:
        return math.nan


def is_label(value: object, meant: object) -> bool:
    """Compare as values, as text, and as numbers: 1, '1' and '1.0' mean the same label."""
    if value == meant or str(value) == str(meant):
        return True
    if isinstance(value, bool) and str(value).casefold() == str(meant).casefold():
        return True
    try:
        return isinstance(value, (int, float)) and value == float(str(meant))
    except ValueError:
        return False


def _truth(text: str) -> bool:
    if text.casefold() not in ("true", "false"):
        raise ValueError(text)
    return text.casefold() == "true"


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
