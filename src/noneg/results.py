"""Answers that carry their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


# A value this close to its range lies in it.
ROUNDING = 1e-9


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
        How the interval was made, and what it assumes.
    identified : (float, float) or None
        Values that are possible without noise, over all that is not known (priors, selection);
        the interval covers them and the noise. None if everything is known.
    raw : float or None
        The estimate as the rows gave it, if it lay outside of its range; None if it did not.

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
        """Return the estimate and its interval kept in a range.

        Examples
        --------
        >>> found = Estimate(value=1.06, low=0.9, high=1.2, level=0.95, method="delta method")
        >>> kept = found.within(0.0, 1.0)
        >>> print(kept, kept.raw)
        1.0000 [0.9000, 1.0000] 1.06
        """
        ends = (self.low, self.high, *(self.identified or ()))
        value, *kept = (float(np.clip(x, low, high)) for x in (self.value, *ends))
        outside = abs(value - self.value) > ROUNDING
        return replace(
            self,
            value=value,
            low=kept[0],
            high=kept[1],
            identified=(kept[2], kept[3]) if self.identified else None,
            raw=self.value if outside else self.raw,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers and text; those that say nothing are left out."""
        plain: dict[str, Any] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
        }
        if self.identified is not None:
            plain["identified"] = list(self.identified)
        return plain if self.raw is None else plain | {"raw": self.raw}

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as a table whose columns begin at the same place.

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
    """Return columns as a data frame of a library that is installed.

    Parameters
    ----------
    columns : mapping of str to ndarray
    backend : {"pandas", "polars", "pyarrow"}, optional
        By default the first of these that is installed.
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


class Table:
    """A result that is a table: its columns, as they are, as a frame or as plain lists."""

    _names: ClassVar[tuple[str, ...]] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: np.atleast_1d(getattr(self, name)) for name in self._names}

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, object]:
        """Return the columns as plain lists."""
        return {name: column.tolist() for name, column in self.columns().items()}


def fitting(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write numbers with as many decimals as their uncertainty leaves of meaning: two digits of it.

    Examples
    --------
    >>> fitting(0.31234, 0.2811, 0.3599), fitting(0.01234, 0.0121, 0.0126)
    (('0.312', '0.281', '0.360'), ('0.01234', '0.01210', '0.01260'))
    """
    width = max(high - low, 1e-6)
    places = min(6, max(2, 1 - math.floor(math.log10(width))))
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"
