"""How a metric depends on unknowns: the class prior, and the selection of the labels.

`prior_curve` and `selection_curve` work for any registered metric. `tipping_selection` returns how
much hidden positives must differ from labeled ones before a claim fails. `forced_selection` returns
the smallest difference that the rows require.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_level, check_number, check_prior, check_selection
from noneg.errors import InputError
from noneg.intervals import exact_limits, z_score
from noneg.metrics import find_metric
from noneg.performance.ordering import prior_range
from noneg.results import Estimate, Table, end_columns
from noneg.selection import VALUE_GRID, Box, feasible, smallest_factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores


__all__ = [
    "MetricByPrior",
    "MetricBySelection",
    "forced_selection",
    "prior_curve",
    "selection_curve",
    "tipping_selection",
]

POINTS = 41
# Default selection factors.
FACTORS = np.linspace(1.0, 3.0, 21)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MetricByPrior(Table):
    """A metric at many priors.

    Attributes
    ----------
    metric, title : str
    prior, value : ndarray
    low, high : ndarray or None
        Ends of the interval at each prior, as if that prior were known, if a level was given.
    level : float or None
    """

    metric: str
    title: str
    prior: Floats
    value: Floats
    low: Floats | None
    high: Floats | None
    level: float | None

    _facts = ("metric", "title", "level")

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest value over these priors."""
        return float(np.nanmin(self.value)), float(np.nanmax(self.value))


def prior_curve(
    metric: str | Callable[..., float],
    scores: PUScores,
    *,
    priors: ArrayLike | None = None,
    level: float | None = None,
    **options: object,
) -> MetricByPrior:
    """Return a metric as a function of the class prior.

    Rows are sorted once; every further prior reuses their sums.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "auroc", or the function itself.
    scores : PUScores
        Positive and unlabeled rows; in fully labeled data, the labels determine the prior.
    priors : array-like, optional
        Priors to evaluate. By default, 41 priors over the range of possible priors or, if the prior
        is exact, from half to twice its odds.
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
        msg = (
            "must be positives and unlabeled rows: in fully labeled data, the labels "
            "determine the prior"
        )
        raise InputError("scores", f"{msg}, {scores.known_prior:.6g}.")
    grid = np.linspace(*prior_range(scores), POINTS) if priors is None else _grid(priors)
    at = [scores.with_prior(float(prior)) for prior in grid]
    ends: dict[str, Any] = {"low": None, "high": None}
    if level is None:
        ends["value"] = np.array([entry.function(one, **options) for one in at], dtype=np.float64)
    else:
        level = check_level(level)
        ends = dict(end_columns(entry.estimate(one, level=level, **options) for one in at))
    return MetricByPrior(metric=entry.name, title=entry.title, prior=grid, level=level, **ends)


def _grid(priors: ArrayLike) -> Floats:
    values = np.asarray(priors, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise InputError("priors", f"must be a list of priors, got shape {values.shape}.")
    for value in values:
        check_prior(float(value), "priors")
    return values


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MetricBySelection(Table):
    """A metric at many selection factors.

    Attributes
    ----------
    metric, title : str
    value : float
        The estimate if labeled positives are a random sample.
    selection : ndarray
    least, most : ndarray
        Smallest and largest value possible without noise.
    low, high : ndarray
        Ends of the interval, which covers these values and the noise.
    level : float
    """

    metric: str
    title: str
    value: float
    selection: Floats
    least: Floats
    most: Floats
    low: Floats
    high: Floats
    level: float

    _facts = ("metric", "title", "value", "level")


def selection_curve(
    metric: str | Callable[..., float],
    scores: PUScores,
    selections: ArrayLike = FACTORS,
    *,
    level: float = 0.95,
    **options: object,
) -> MetricBySelection:
    """Return the range of a metric as a function of the selection factor.

    Rows are sorted once; every further factor reuses their sums.

    Parameters
    ----------
    metric : str or callable
        Registered name, such as "auroc", or the function itself.
    scores : PUScores
        Positive and unlabeled rows.
    selections : array-like
        Factors of at least 1; by default, 21 factors from 1 to 3.
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
    if not factors.size:
        raise InputError("selections", "must contain at least one factor, got none.")
    found = [entry.estimate(scores.with_selection(g), level=level, **options) for g in factors]
    least, most = np.array([one.identified or (one.value, one.value) for one in found]).T
    ends = end_columns(found)
    return MetricBySelection(
        metric=entry.name,
        title=entry.title,
        value=found[0].value,
        selection=factors,
        least=least,
        most=most,
        low=ends["low"],
        high=ends["high"],
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

    Below this factor, the metric stays on its side of the target no matter how hidden positives
    differ from labeled ones.

    Parameters
    ----------
    metric, scores, options
        As in `selection_curve`.
    target : float
        A claim such as "AUROC above 0.8" holds up to the factor at which 0.8 becomes possible.
    level : float, optional
        Level at which noise is included; with None, only values possible without noise count.

    Returns
    -------
    float
        1 if the target is possible with random labels; infinity if it is impossible even at 100.

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

    If labeled positives were a random sample, the prior and their share in a range of scores would
    determine the number of positives there, which cannot exceed the number of rows. Where it does,
    hidden positives must differ from labeled ones, or the prior is too large.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval``, the result holds for every prior in it.
    level : float
        Confidence level of the lower limit. A lower limit above 1 is evidence against random
        labels.

    Returns
    -------
    Estimate
        The upper limit is infinite, because rows can never show that labels are random.

    Examples
    --------
    >>> from noneg import PUScores
    >>> rows = [0.9] * 20 + [0.1] * 180
    >>> scores = PUScores([0.9] * 80 + [0.1] * 20, rows, prior=0.3, setting="two-sample")
    >>> print(forced_selection(scores))
    3.3334 [1.2511, inf]
    """
    level, box = check_level(level), Box.of(scores)
    # Simultaneous limits: three per cell (labeled share from both sides, marginal share from
    # above), and one for the labeled share of all rows.
    share = 1.0 - 2.0 * (1.0 - level) / (3.0 * box.positive.size + 1.0)
    careful = box.with_fewer_labeled(z_score(share))
    ones = np.ones_like(box.positive)
    low, high = exact_limits(box.positive, scores.effective_positive * ones, share)
    _, most = exact_limits(box.marginal, scores.effective_marginal * ones, share)

    def smallest(box: Box, least: Floats, largest: Floats, marginal: Floats) -> float:
        grid = np.linspace(*scores.prior_set, VALUE_GRID[0])

        def holds(factor: float) -> bool:
            given = replace(box, selection=factor)
            return any(
                feasible(given.ends(prior), prior, least, largest, marginal)
                for prior in grid.tolist()
            )

        return smallest_factor(holds)

    value = smallest(box, box.positive, box.positive, box.marginal)
    return Estimate(
        value=value,
        low=min(value, smallest(careful, low, high, most)),
        high=float("inf"),
        level=level,
        method="rows against labeled positives in cells, Bonferroni limits",
    )
