"""Results with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

# Values this close to their range count as inside.
ROUNDING = 1e-9

# Number of table rows shown in a notebook.
SHOWN_ROWS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with its confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval.
    level : float
        Nominal probability that the interval contains the target.
    method : str
        How the interval was computed, and its assumptions.
    identified : (float, float) or None
        Range of values that are possible without noise, over everything unknown (priors,
        selection); the interval covers this range and the noise. None if everything is known.
    raw : float or None
        The unclipped estimate, if it was outside its range; otherwise None.

    Examples
    --------
    >>> print(Estimate(value=0.043, low=0.021, high=0.06, level=0.95, method="sign split"))
    0.0430 [0.0210, 0.0600]
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    identified: tuple[float, float] | None = None
    raw: float | None = None

    def within(self, low: float, high: float) -> Estimate:
        """Return the estimate with its value and interval clipped to a range.

        Clipping an interval never reduces its coverage, but it may leave a single point, which
        suggests certainty despite noise. An estimate outside the range is therefore moved to the
        nearest end, and the far side of its interval moves along with it: if the target lies beyond
        the moved end, it was also outside the original interval. If the far side has no width, the
        whole interval moves.

        Examples
        --------
        >>> found = Estimate(value=1.06, low=0.9, high=1.2, level=0.95, method="delta method")
        >>> kept = found.within(0.0, 1.0)
        >>> print(kept, kept.raw)
        1.0000 [0.8400, 1.0000] 1.06
        """

        def clip(x: float) -> float:
            return float(np.clip(x, low, high))

        value = clip(self.value)
        move = 0.0 if math.isnan(value) else value - self.value
        outside = abs(move) > ROUNDING
        ends = clip(self.low + min(move, 0.0)), clip(self.high + max(move, 0.0))
        if outside and ends[0] == ends[1]:
            width = self.high - self.low
            ends = clip(value - width), clip(value + width)
        return replace(
            self,
            value=value,
            low=ends[0],
            high=ends[1],
            identified=(clip(self.identified[0]), clip(self.identified[1]))
            if self.identified
            else None,
            raw=self.value if outside else self.raw,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers and text; empty ones are left out."""
        names = ("value", "low", "high", "level", "method")
        plain: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.identified is not None:
            plain["identified"] = list(self.identified)
        return plain if self.raw is None else plain | {"raw": self.raw}

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def _repr_html_(self) -> str:
        """Return the number with a description of its interval below it."""
        legend = f"{100 * self.level:.6g}% interval: {self.method}"
        return f"<p>{self}<br><small>{escape(legend)}</small></p>"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as a table with aligned columns.

    Examples
    --------
    >>> print(aligned([("metric", "value"), ("ece", "0.1")]))
    metric  value
    ece     0.1
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def to_frame(columns: Mapping[str, NDArray[Any]], backend: str | None = None) -> object:
    """Return columns as a data frame of an installed library.

    Parameters
    ----------
    columns : mapping of str to ndarray
    backend : {"pandas", "polars", "pyarrow"}, optional
        Defaults to the first of these that is installed.
    """
    import narwhals.stable.v2 as nw

    known = ("pandas", "polars", "pyarrow")
    chosen = backend or next((name for name in known if find_spec(name)), None)
    if chosen not in known:
        msg = (
            f"must be one of {', '.join(known)}, got {backend!r}."
            if backend
            else f"a frame needs one of {', '.join(known)}; install one, or use columns()."
        )
        raise InputError("backend", msg)
    frame: object = nw.from_dict(dict(columns), backend=chosen).to_native()  # type: ignore[arg-type]
    return frame


class Record:
    """A result with a few named facts: its fields, unless it lists others."""

    __slots__ = ()
    _facts: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and text, ready for JSON."""
        return plain_fields(self, *self._facts)


class Table:
    """A result that is a table, available as columns, as a data frame or as plain lists."""

    # Attributes that are columns, by default all fields that are arrays, and other facts.
    _names: ClassVar[tuple[str, ...]] = ()
    _facts: ClassVar[tuple[str, ...]] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        columns = {name: getattr(self, name) for name in self._names or _field_names(self)}
        return {
            name: np.atleast_1d(column)
            for name, column in columns.items()
            if self._names or isinstance(column, np.ndarray)
        }

    def to_frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)

    def frame(self, backend: str | None = None) -> object:
        """Return `to_frame` under its older name."""
        return self.to_frame(backend)

    def to_dict(self) -> dict[str, object]:
        """Return the columns as plain lists, after the other facts."""
        facts = {name: _plain(getattr(self, name)) for name in self._facts}
        return facts | {name: column.tolist() for name, column in self.columns().items()}

    def __repr__(self) -> str:
        columns = self.columns()
        rows = max((column.size for column in columns.values()), default=0)
        return f"{type(self).__name__}({rows} rows: {', '.join(columns)})"

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook, with the description of the table as a caption."""
        columns = self.columns()
        rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
        legend = (type(self).__doc__ or "").partition("\n")[0]
        if len(rows) > SHOWN_ROWS:
            legend += f" The first {SHOWN_ROWS} of {len(rows):,} rows."
        lines = [_html_row("th", columns), *(_html_row("td", row) for row in rows[:SHOWN_ROWS])]
        return f"<table><caption>{escape(legend)}</caption>{''.join(lines)}</table>"


def _field_names(found: Any) -> list[str]:  # noqa: ANN401
    return [field.name for field in fields(found)]


def end_columns(found: Iterable[Estimate | None], name: str = "") -> dict[str, NDArray[Any]]:
    """Return estimates as columns "value", "low" and "high", or under a name; nan for None.

    Examples
    --------
    >>> end_columns([None], "gap")
    {'gap': array([nan]), 'gap_low': array([nan]), 'gap_high': array([nan])}
    """
    names = (name, f"{name}_low", f"{name}_high") if name else ("value", "low", "high")
    rows = [(np.nan,) * 3 if one is None else (one.value, one.low, one.high) for one in found]
    return dict(zip(names, np.reshape(rows, (-1, 3)).T, strict=True))


def plain_fields(found: object, *names: str) -> dict[str, Any]:
    """Return attributes of a result, by default all fields, as plain numbers, lists and text."""
    return {name: _plain(getattr(found, name)) for name in names or _field_names(found)}


def _plain(value: Any) -> object:  # noqa: ANN401
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.to_dict() if hasattr(value, "to_dict") else value


def plain(value: object) -> object:
    """Return a value that strict JSON can represent: no NaN, no infinity, no NumPy, no results.

    Examples
    --------
    >>> plain({"value": float("nan"), "sizes": (1, float("inf"))})
    {'value': None, 'sizes': [1, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _html_row(tag: str, cells: Iterable[object]) -> str:
    texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"


def count(n: float, noun: str = "") -> str:
    """Return a number of things with their noun, if there is one.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row"), count(math.inf)
    ('1 row', '2,000 rows', 'infinitely many')
    """
    number = "infinitely many" if math.isinf(n) else f"{n:,.0f}"
    return f"{number} {noun}{'s' * (n != 1)}" if noun else number


def fitting(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Format numbers with enough decimals to show two digits of their uncertainty.

    Examples
    --------
    >>> fitting(0.31234, 0.2811, 0.3599), fitting(0.01234, 0.0121, 0.0126)
    (('0.312', '0.281', '0.360'), ('0.01234', '0.01210', '0.01260'))
    """
    width = max(high - low, 1e-6)
    places = min(6, max(2, 1 - math.floor(math.log10(width))))
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"


def at_most(x: float, digits: int = 4) -> str:
    """Format an upper limit with the given number of digits, rounded down, without trailing zeros.

    Examples
    --------
    >>> at_most(0.127891), at_most(0.00499999), at_most(0.49), at_most(1.0)
    ('0.1278', '0.004999', '0.49', '1')
    """
    if not 0.0 < x < 1.0:
        return f"{x:.6g}"
    places = digits - 1 - math.floor(math.log10(x))
    return f"{math.floor(x * 10**places + 1e-9) / 10**places:.{digits}g}"
