"""How a metric depends on what is not known: the class prior, and the selection of the labels.

`prior_curve` and `selection_curve` work for any registered metric. `tipping_selection` says how far
hidden positives must differ from labelled ones before a claim falls, and `forced_selection` how far
they must differ at least, given the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_level, check_number, check_prior, check_selection
from noneg.errors import InputError
from noneg.intervals import wilson
from noneg.metrics import find_metric
from noneg.performance.selection import prior_range
from noneg.results import Estimate, Table
from noneg.selection import VALUE_GRID, Box, feasible, smallest_factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

__all__ = [
    "MetricByPrior",
    "MetricBySelection",
    "forced_selection",
    "prior_curve",
    "selection_curve",
    "tipping_selection",
]

POINTS = 41
# Selection factors looked at by default.
FACTORS = np.linspace(1.0, 3.0, 21)


@dataclass(frozen=True, kw_only=True, eq=False)
class MetricByPrior(Table):
    """A metric at many priors.

    Attributes
    ----------
    metric, title : str
    prior, value : ndarray
    low, high : ndarray or None
        Ends of the interval at each prior as if it were known, where a level was given.
    level : float or None
    """

    metric: str
    title: str
    prior: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    level: float | None

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest value at the priors looked at."""
        return float(np.nanmin(self.value)), float(np.nanmax(self.value))

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the table as columns."""
        out = {"prior": self.prior, "value": self.value}
        if self.low is not None and self.high is not None:
            out |= {"low": self.low, "high": self.high}
        return out

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        columns = {name: column.tolist() for name, column in self.columns().items()}
        return {"metric": self.metric, "title": self.title, "level": self.level, **columns}


def prior_curve(
    metric: str | Callable[..., float],
    scores: PUScores,
    *,
    priors: ArrayLike | None = None,
    level: float | None = None,
    **options: object,
) -> MetricByPrior:
    """Return a metric as a function of the class prior.

    Rows are put in order once; every further prior reuses their sums.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "auroc", or the function itself.
    scores : PUScores
        Positives and unlabeled rows; labels of every row would determine the prior.
    priors : array-like, optional
        Priors to look at. By default 41 over what is known of the prior, else from half to twice
        its odds.
    level : float, optional
        Also return the interval at each prior.
    **options
        Options of the metric.

    Examples
    --------
    >>> from noneg.sensitivity import prior_curve
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
    >>> curve = prior_curve("accuracy", scores, priors=[0.2, 0.3, 0.4])
    >>> curve.value.shape, bool(curve.range[0] < curve.range[1])
    ((3,), True)
    """
    entry = find_metric(metric)
    if scores.prior_is_estimated:
        msg = "must be positives and unlabeled rows: labels of every row determine a prior"
        raise InputError("scores", f"{msg}, {scores.known_prior:.6g}, and no other can be tried.")
    grid = np.linspace(*prior_range(scores), POINTS) if priors is None else _grid(priors)
    at = [scores.with_prior(float(prior)) for prior in grid]
    if level is None:
        value = np.array([entry.function(one, **options) for one in at], dtype=np.float64)
        low = high = None
    else:
        level = check_level(level)
        found = [entry.estimate(one, level=level, **options) for one in at]
        value, low, high = (
            np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high")
        )
    return MetricByPrior(
        metric=entry.name,
        title=entry.title,
        prior=grid,
        value=value,
        low=low,
        high=high,
        level=level,
    )


def _grid(priors: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(priors, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise InputError("priors", f"must be a list of priors, got shape {values.shape}.")
    for value in values:
        check_prior(float(value), "priors")
    return values


@dataclass(frozen=True, kw_only=True, eq=False)
class MetricBySelection(Table):
    """A metric at many selection factors.

    Attributes
    ----------
    metric, title : str
    value : float
        The estimate if labelled positives are a random draw.
    selection : ndarray
    least, most : ndarray
        Values that are possible without noise.
    low, high : ndarray
        Ends of the interval, which covers them and the noise.
    level : float
    """

    metric: str
    title: str
    value: float
    selection: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    level: float

    _names = ("selection", "least", "most", "low", "high")

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        facts = {"metric": self.metric, "title": self.title, "value": self.value}
        return {**facts, "level": self.level, **super().to_dict()}


def selection_curve(
    metric: str | Callable[..., float],
    scores: PUScores,
    selections: ArrayLike = FACTORS,
    *,
    level: float = 0.95,
    **options: object,
) -> MetricBySelection:
    """Return the range of a metric as a function of the selection factor.

    Rows are put in order once; every further factor reuses their sums.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "auroc", or the function itself.
    scores : PUScores
        Positives and unlabeled rows.
    selections : array-like
        Factors of at least 1; by default 21 from 1 to 3.
    level : float
        Nominal coverage of the interval at each factor.
    **options
        Options of the metric.

    Examples
    --------
    >>> from noneg.sensitivity import selection_curve
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
    >>> curve = selection_curve("auroc", scores, [1, 1.5, 2])
    >>> print(curve.least.round(3), curve.most.round(3))
    [0.894 0.82  0.763] [0.894 0.954 0.977]
    """
    entry, level = find_metric(metric), check_level(level)
    factors = np.array([check_selection(one) for one in np.atleast_1d(selections)])
    found = [entry.estimate(scores.with_selection(g), level=level, **options) for g in factors]
    ranges = [one.identified or (one.value, one.value) for one in found]
    return MetricBySelection(
        metric=entry.name,
        title=entry.title,
        value=found[0].value,
        selection=factors,
        least=np.array([least for least, _ in ranges]),
        most=np.array([most for _, most in ranges]),
        low=np.array([one.low for one in found]),
        high=np.array([one.high for one in found]),
        level=level,
    )


def tipping_selection(
    metric: str | Callable[..., float],
    scores: PUScores,
    target: float,
    *,
    level: float | None = 0.95,
    **options: object,
) -> float:
    """Return the smallest selection factor at which a metric may equal a target.

    Below it, all that hidden positives may look like leaves the metric on its side of the target.

    Parameters
    ----------
    metric, scores, options
        As in `selection_curve`.
    target : float
        A claim such as "AUROC above 0.8" stands up to the factor at which 0.8 becomes possible.
    level : float, optional
        Count noise at this level, too; None asks for the values that are possible without noise.

    Returns
    -------
    float
        1 if the target is possible with random labels; infinity if it is not even at 100.

    Examples
    --------
    >>> from noneg.sensitivity import tipping_selection
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
    >>> round(tipping_selection("auroc", scores, 0.8), 2)
    1.41
    """
    entry = find_metric(metric)
    goal = check_number(target, "target", "a number, a value of the metric")
    coverage = 0.95 if level is None else check_level(level)

    def holds(factor: float) -> bool:
        found = entry.estimate(scores.with_selection(factor), level=coverage, **options)
        ends = found.low, found.high
        if level is None:
            ends = found.identified or (found.value, found.value)
        return ends[0] <= goal <= ends[1]

    return smallest_factor(holds)


def forced_selection(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the smallest selection factor that the rows and the prior allow.

    If labelled positives were a random draw, the prior and their share in a range of scores would
    say how many positives lie there, which cannot be more than there are rows. Where it is, hidden
    positives must differ from labelled ones, or the prior is too large.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the answer holds for every prior in it.
    level : float
        Confidence of the lower end. An end above 1 is evidence against random labels.

    Returns
    -------
    Estimate
        Its upper end is infinite: rows never show that labels are random.

    Examples
    --------
    >>> from noneg import PUScores
    >>> rows = [0.9] * 20 + [0.1] * 180
    >>> scores = PUScores([0.9] * 80 + [0.1] * 20, rows, prior=0.3, setting="two-sample")
    >>> print(forced_selection(scores))
    3.3334 [1.2250, inf]
    """
    level, box = check_level(level), Box.of(scores)
    # Three limits of each cell at once: of the labelled share from both sides, of the rows above.
    share = 1.0 - 2.0 * (1.0 - level) / (3.0 * box.positive.size)
    rows = scores.effective_positive, scores.effective_marginal
    (low, high), (_, most) = (
        wilson(x, np.full_like(x, n), share)
        for x, n in zip((box.positive, box.marginal), rows, strict=True)
    )

    def smallest(least: Floats, largest: Floats, marginal: Floats) -> float:
        grid = np.linspace(*scores.prior_set, VALUE_GRID[0])

        def holds(factor: float) -> bool:
            given = replace(box, selection=factor)
            return any(
                feasible(given.ends(prior), prior, least, largest, marginal)
                for prior in grid.tolist()
            )

        return smallest_factor(holds)

    value = smallest(box.positive, box.positive, box.marginal)
    return Estimate(
        value=value,
        low=min(value, smallest(low, high, most)),
        high=float("inf"),
        level=level,
        method="rows against labelled positives in cells, Bonferroni limits",
    )
