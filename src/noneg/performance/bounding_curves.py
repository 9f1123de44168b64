"""Bounding curves and their areas: what `roc_bounds` and `pr_bounds` return."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from noneg.results import to_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.performance.contingency import Assumptions, Side

    Points = tuple[NDArray[np.float64], NDArray[np.float64]]

_BLOCK: Final = 65_536  # points summed at a time, so that no more memory is needed


@dataclass(frozen=True, eq=False, kw_only=True)
class RocSide:
    """One of the two curves that bound a ROC curve.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling, after the point (0, 0).
    fpr, tpr : ndarray
        False and true positive rate of the bounding table at each cut-off. Where a known row
        passes and no unlabeled one, a rate may step back.
    extremes : (ndarray, ndarray)
        Both rates, each at its own best (upper curve) or worst (lower curve) over the whole range
        of beta; `fpr` and `tpr` themselves if beta is one number.
    side : {"lower", "upper"}
    """

    threshold: NDArray[np.float64]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    extremes: Points
    side: Side

    @cached_property
    def auc(self) -> float:
        """Area by the trapezoidal rule over the points in order of their false positive rate."""
        return _trapezoids(*_in_order(self.fpr, self.tpr))

    @cached_property
    def envelope_auc(self) -> float:
        """Area under `envelope`."""
        return _trapezoids(*self.envelope())

    def envelope(self) -> Points:
        """Return the monotone curve that no ROC curve within the bounds crosses.

        Points are taken in order of their false positive rate; the upper curve is the largest true
        positive rate so far, the lower one the smallest from there on.
        """
        x, y = _in_order(*self.extremes)
        if self.side == "upper":
            return x, np.maximum.accumulate(y)
        return x, np.minimum.accumulate(y[::-1])[::-1]


@dataclass(frozen=True, eq=False, kw_only=True)
class PrSide:
    """One of the two curves that bound a precision-recall curve.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling.
    recall, precision : ndarray
        Rates of the bounding table at each cut-off.
    extremes : (ndarray, ndarray)
        Both rates, each at its own best (upper curve) or worst (lower curve) over the whole range
        of beta; `recall` and `precision` themselves if beta is one number.
    side : {"lower", "upper"}
    """

    threshold: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    extremes: Points
    side: Side

    @cached_property
    def auc(self) -> float:
        """Area by the trapezoidal rule, points in order of recall, level up to the first one."""
        x, y = _in_order(self.recall, self.precision)
        return _trapezoids(x, y) + float(x[0] * y[0])

    @cached_property
    def envelope_auc(self) -> float:
        """Area of the steps of `envelope`: the average interpolated precision."""
        x, y = self.envelope()
        return float((np.diff(x, prepend=0.0) * y).sum())

    def envelope(self) -> Points:
        """Return interpolated precision: the largest one at this recall or a higher one.

        Interpolated precision of the true ranking lies between the two envelopes. Plain precision
        has no useful lower envelope, since the best row alone may be a negative.
        """
        x, y = _in_order(*self.extremes)
        return x, np.maximum.accumulate(y[::-1])[::-1]


class _TwoCurves:
    """What bounds on ROC and PR curves share."""

    lower: RocSide | PrSide
    upper: RocSide | PrSide
    assumes: Assumptions
    _rates: tuple[str, str]

    @property
    def auc(self) -> tuple[float, float]:
        """Areas under both curves, points in order: the paper's."""
        return self.lower.auc, self.upper.auc

    @property
    def envelope_auc(self) -> tuple[float, float]:
        """Areas under both envelopes: safe, and a little wider."""
        return self.lower.envelope_auc, self.upper.envelope_auc

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return both curves, a column a name."""
        table = {"threshold": self.lower.threshold}
        for side in (self.lower, self.upper):
            table |= {f"{side.side}_{rate}": getattr(side, rate) for rate in self._rates}
        return table

    def to_dict(self) -> dict[str, object]:
        """Return curves, areas and assumptions as plain lists, numbers and text."""
        table: dict[str, object] = {name: c.tolist() for name, c in self.columns().items()}
        areas = {"auc": list(self.auc), "envelope_auc": list(self.envelope_auc)}
        return table | areas | self.assumes.to_dict()

    def frame(self, backend: str | None = None) -> object:
        """Return both curves as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


@dataclass(frozen=True, eq=False, kw_only=True)
class RocBounds(_TwoCurves):
    """Bounds on a ROC curve.

    Attributes
    ----------
    lower, upper : RocSide
        The bounding curves.
    assumes : Assumptions
        Beta, band, level, basis and table they rest on.
    auc, envelope_auc : (float, float)
        Areas under the two curves as they are, and under their monotone envelopes.
    """

    lower: RocSide
    upper: RocSide
    assumes: Assumptions
    _rates = ("fpr", "tpr")


@dataclass(frozen=True, eq=False, kw_only=True)
class PrBounds(_TwoCurves):
    """Bounds on a precision-recall curve.

    Attributes
    ----------
    lower, upper : PrSide
        The bounding curves.
    assumes : Assumptions
        Beta, band, level, basis and table they rest on.
    auc, envelope_auc : (float, float)
        Areas under the two curves as they are, and under interpolated precision.
    """

    lower: PrSide
    upper: PrSide
    assumes: Assumptions
    _rates = ("recall", "precision")


def _in_order(x: NDArray[np.float64], y: NDArray[np.float64]) -> Points:
    """Return points in order of x; where x is equal, in their order before, y rising with it."""
    if np.all(x[1:] >= x[:-1]):
        return x, y
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _trapezoids(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    area = 0.0
    for start in range(0, x.size - 1, _BLOCK):
        part = slice(start, start + _BLOCK + 1)
        area += float((np.diff(x[part]) * (y[part][1:] + y[part][:-1])).sum())
    return area / 2.0
