r"""The prior from additional information: two views, two label sources, a review, another period.

None of these methods requires separable classes, so each result is an interval, not a bound.

Two views
    Scores g and h from disjoint groups of features that are independent within each class. With the
    share a of positives among the unlabeled rows,
    :math:`a/(1-a) = \mathrm{Cov}_U(g, h) / [(E_+ g - E_U g)(E_+ h - E_U h)]`. The condition
    :math:`\mathrm{Cov}_+(g, h) = 0` can be tested on the labeled positives.
Two sources
    Positives that two processes label independently, given the score. In each score bin, Chapman's
    estimate is :math:`N_b = (a+1)(b+1)/(c+1) - 1` from a and b labels, of which c agree.
A review
    Rows drawn at random, overall or within strata, and judged, with exact binomial limits.
Another period
    If only the prior changed, the new rows are the old rows plus or minus positives: with shares h,
    b and p of new rows, old unlabeled rows and positives in bins, :math:`h = b + d\,(p - b)`, and
    the prior is :math:`a_0 + (1 - a_0) d`, where :math:`a_0` is the old share. The misfit of d
    tests whether only the prior changed.

`reporting_rate` is for labels that arrive late: it gives the share of positives reported by an age.
A delay d is observed only if it is at most the age a of its row, so it is right-truncated. With
:math:`R_i = \#\{j: d_j \le d_i \le a_j\}`, the product-limit estimate of Lynden-Bell (1971) is
:math:`F(t) = \prod_{d_i > t} (1 - 1 / R_i)`, the share reported by t among all positives that are
reported by the largest age.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from noneg.checks import Setting, check_flags, check_level, check_same_length, check_setting
from noneg.errors import InputError
from noneg.intervals import z_score
from noneg.prior.base import SAMPLED, PriorEstimate
from noneg.prior.samples import check_finite, labeled_share, prior_of_share
from noneg.prior.shift import Counts, fit_shift, shared_edges
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.scores import PUScores

# Significance level of the built-in tests of assumptions.
ALARM = 0.05
# Rows per bin labeled by both sources; with fewer, Chapman's estimate is biased.
SHARED = 10
MOST_BINS = 10
TITLES = {
    "two-views": "Two views",
    "two-sources": "Two sources",
    "review": "Reviewed rows",
    "earlier": "Earlier period",
}


def _estimate(
    found: float,
    *ends: float,
    level: float,
    rows: float = np.inf,
    labeled: float = 0.0,
    **said: Any,  # noqa: ANN401
) -> PriorEstimate:
    """Convert a share of the unlabeled rows and its limits to an estimate of the prior.

    The sampling error of the labeled share is included.
    """
    share = float(np.clip(found, 0.0, 1.0))
    value, rest = prior_of_share(share, labeled), 1.0 - labeled
    chance = z_score(level) * (1.0 - share) * np.sqrt(labeled * rest / rows)
    down, up = (np.hypot(rest * (end - found), chance) for end in ends)
    low, high = float(max(value - down, 0.0)), float(min(value + up, 1.0))
    said |= {"level": level, "share": share, "labeled": labeled, "sampling": (low, high)}
    return PriorEstimate(value=value, low=low, high=high, **said)


def from_two_views(
    first: ArrayLike,
    second: ArrayLike,
    labeled: ArrayLike,
    *,
    setting: Setting,
    level: float = 0.95,
) -> PriorEstimate:
    """Estimate the prior from two scores that are independent within each class.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        Scores computed from disjoint groups of features, on any scale.
    labeled : array-like, shape (n,)
        1 for labeled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}
    level : float

    Returns
    -------
    PriorEstimate
        ``diagnostics["dependence_p"]`` is the p-value for independence among the positives; a small
        value adds a warning.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(8000) < 0.3
    >>> views = rng.normal(size=(2, 8000)) + y
    >>> labeled = y & (rng.random(8000) < 0.3)
    >>> found = from_two_views(*views, labeled, setting="one-sample")
    >>> found.low < 0.3 < found.high, found.kind
    (True, 'interval')
    """
    flags, level = check_flags(labeled, "labeled"), check_level(level)
    views = [check_finite(x, name) for x, name in ((first, "first"), (second, "second"))]
    check_same_length(first=views[0].size, second=views[1].size, labeled=flags.size)
    p, u = (np.stack([view[group] for view in views]) for group in (flags, ~flags))
    if min(p.shape[1], u.shape[1]) < 2:
        raise InputError("labeled", "must mark at least two rows, and leave two unlabeled")
    gap = p.mean(axis=1) - u.mean(axis=1)
    noise = np.sqrt(p.var(axis=1) / p.shape[1] + u.var(axis=1) / u.shape[1])
    if (np.abs(gap) < z_score(0.99) * noise).any():
        rule = (
            "must both separate positives from unlabeled rows: one of the views has the same mean"
        )
        raise InputError(("first", "second"), f"{rule} in both")
    odds, error = _odds(p, u, gap)
    # On the share scale, the limits miss about equally often on either side.
    share = max(odds, 0.0) / (1.0 + max(odds, 0.0))
    reach = z_score(level) * error * (1.0 - share) ** 2
    dependence, counts = _dependence(p), (float(p.shape[1]), float(u.shape[1]))
    return _estimate(
        share,
        share - reach,
        share + reach,
        method="two-views",
        level=level,
        setting=setting,
        labeled=labeled_share(check_setting(setting), *counts),
        rows=sum(counts),
        interval="normal approximation; covers sampling error",
        assumption=f"{SAMPLED}, and the two views are independent within each class",
        warnings=_alarm(
            dependence,
            "The views are not independent among the labeled positives (p = {:.2g}), "
            "so the estimate is not valid.",
        ),
        diagnostics={"dependence_p": dependence},
    )


def _odds(p: Floats, u: Floats, gap: Floats) -> tuple[float, float]:
    """Return the odds of being positive among the unlabeled rows, and their standard error."""
    centered, positive = u - u.mean(axis=1)[:, None], p - p.mean(axis=1)[:, None]
    product = centered[0] * centered[1]
    covariance, scale = float(product.mean()), float(gap[0] * gap[1])
    odds = covariance / scale
    # The means of the unlabeled rows also affect the gaps.
    by_u = (product - covariance) / scale + odds * (centered[0] / gap[0] + centered[1] / gap[1])
    by_p = odds * (positive[0] / gap[0] + positive[1] / gap[1])
    return odds, float(np.sqrt(by_u.var() / by_u.size + by_p.var() / by_p.size))


def _dependence(p: Floats) -> float:
    """Return the p-value for zero covariance between the views among the positives."""
    centered = p - p.mean(axis=1)[:, None]
    product = centered[0] * centered[1]
    error = product.std(ddof=1) / np.sqrt(product.size)
    return float(2.0 * ndtr(-abs(product.mean()) / error)) if error > 0.0 else 1.0


def from_two_sources(
    first: ArrayLike, second: ArrayLike, *, score: ArrayLike | None = None, level: float = 0.95
) -> PriorEstimate:
    """Estimate the prior from two processes that label positives independently of each other.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        1 where the source labeled the row positive, with one entry per row of the population.
    score : array-like, shape (n,), optional
        If given, sources need to be independent only among positives with similar scores.
    level : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(20_000) < 0.1
    >>> reported, detected = (y & (rng.random(y.size) < rate) for rate in (0.4, 0.3))
    >>> found = from_two_sources(reported, detected)
    >>> found.low < 0.1 < found.high
    True
    """
    level = check_level(level)
    a, b = (check_flags(x, name) for x, name in ((first, "first"), (second, "second")))
    check_same_length(first=a.size, second=b.size)
    s = np.zeros(a.size) if score is None else check_finite(score, "score")
    check_same_length(first=a.size, score=s.size)
    if not (a & b).any():
        rule = "must share at least one labeled row, got none"
        raise InputError(
            ("first", "second"),
            f"{rule}: the number of positives that both missed cannot be estimated",
        )
    place = np.searchsorted(_even_edges(s[a | b], int((a & b).sum())), s)
    counts = [np.bincount(place, x).astype(np.float64) for x in (a, b, a & b)]
    hidden, variance = _chapman(*counts)
    n, seen = float(a.size), float((a | b).sum())
    # Chao's interval: the number of hidden positives is positive, and its log is nearly normal.
    z = z_score(level)
    spread = np.exp(z * np.sqrt(np.log1p(variance / max(hidden, 0.5) ** 2)))
    total = seen + hidden
    chance = np.sqrt(total * (1.0 - min(total / n, 1.0)))
    down = np.hypot(hidden - hidden / spread, z * chance)
    up = np.hypot(max(hidden, 0.5) * spread - hidden, z * chance)
    return _estimate(
        total / n,
        (total - down) / n,
        (total + up) / n,
        method="two-sources",
        level=level,
        setting="one-sample",
        interval="Chapman's estimate and Chao's limits; covers sampling error",
        assumption="the sources label positives independently given the score, and label no "
        "negatives",
        diagnostics={"seen": seen, "hidden": hidden, "bins": float(counts[0].size)},
    )


def _chapman(a: Floats, b: Floats, both: Floats) -> tuple[float, float]:
    """Return the number of positives that neither source labeled, and its variance."""
    total = (a + 1.0) * (b + 1.0) / (both + 1.0) - 1.0
    variance = (a + 1.0) * (b + 1.0) * (a - both) * (b - both)
    variance /= (both + 1.0) ** 2 * (both + 2.0)
    return float((total - (a + b - both)).sum()), float(variance.sum())


def _even_edges(values: Floats, shared: int) -> Floats:
    """Return inner edges of equally filled bins, with fewer bins if the sources share few rows."""
    bins = int(np.clip(shared // SHARED, 1, MOST_BINS))
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def from_review(
    outcome: ArrayLike,
    *,
    labeled: float = 0.0,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> PriorEstimate:
    """Estimate the prior from unlabeled rows that were drawn at random and judged.

    Parameters
    ----------
    outcome : array-like, shape (n,)
        1 or 0 for judged rows, nan for all other unlabeled rows.
    labeled : float
        Share of labeled rows in one sample, which are positive; 0 for two samples.
    strata : array-like, shape (n,), optional
        Names of the strata within which rows were drawn at random.
    level : float

    Examples
    --------
    >>> outcome = [1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    >>> print(from_review(outcome))
    0.20 [0.03, 0.56] by review
    """
    level = check_level(level)
    y = np.asarray(outcome, dtype=np.float64)
    judged = ~np.isnan(y)
    if not np.isin(y[judged], (0.0, 1.0)).all():
        raise InputError("outcome", "must contain 1, 0, and nan for rows that were not judged")
    names = np.zeros(y.size) if strata is None else np.asarray(strata)
    check_same_length(outcome=y.size, strata=names.size)
    kinds, place = np.unique(names, return_inverse=True)
    weight = np.bincount(place) / y.size
    n = np.bincount(place[judged], minlength=kinds.size)
    if not n.all():
        empty = kinds[int(np.argmin(n))]
        what = f" in stratum '{empty}'" if strata is not None else ""
        raise InputError("outcome", f"must contain at least one judged row{what}, got none")
    share = np.bincount(place[judged], weights=y[judged], minlength=kinds.size) / n
    low, high = clopper_pearson(share, n.astype(np.float64), 1.0 - level)
    value = float(weight @ share)
    # A single stratum keeps its exact limits; several are combined by squared distances.
    down, up = (float(np.sqrt((weight**2) @ (end - share) ** 2)) for end in (low, high))
    return _estimate(
        value,
        value - down,
        value + up,
        method="review",
        level=level,
        setting="one-sample" if labeled else "two-sample",
        labeled=labeled,
        rows=y.size / (1.0 - labeled),
        interval="exact binomial (Clopper-Pearson) limits, strata combined; covers sampling error",
        assumption="rows were drawn for review at random and judged correctly",
        diagnostics={"judged": float(n.sum()), "strata": float(kinds.size)},
    )


def from_earlier(
    before: PUScores, after: ArrayLike, *, bins: int = 10, level: float = 0.95
) -> PriorEstimate:
    """Estimate the prior of new rows from an earlier period, if only the prior changed.

    Parameters
    ----------
    before : PUScores
        Labeled positives and unlabeled rows of the earlier period, with its prior.
    after : array-like
        Scores of new rows, a sample from the whole population.
    bins : int
        Number of score bins with about equal numbers of rows.
    level : float

    Returns
    -------
    PriorEstimate
        ``diagnostics["shape_p"]`` is the p-value for the hypothesis that only the prior changed; a
        small value adds a warning.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.calibrated(0.2)
    >>> before = world.draw(1000, 5000, setting="two-sample", seed=0)
    >>> score, label = world.draw_rows(20_000, seed=1)
    >>> kept = (label == 0) | (np.arange(label.size) % 2 == 0)  # half of the positives are gone
    >>> found = from_earlier(before, score[kept])
    >>> found.low < 0.1 / 0.9 < found.high
    True
    """
    level, new = check_level(level), check_finite(after, "after")
    if new.size < 2:
        raise InputError("after", "must contain at least two rows", value=new.size)
    edges = shared_edges(before, bins)
    fit = fit_shift(Counts.of(before, edges), _counted(new, edges))
    d, shape = float(fit.moved), float(fit.shape_p)
    value, low, high = (a + (1.0 - a) * d for a in (before.known_prior, *before.prior_set))
    reach = z_score(level) * (1.0 - before.known_prior) * float(fit.error)
    return _estimate(
        value,
        low - reach,
        high + reach,
        method="earlier",
        level=level,
        setting="two-sample",
        interval="generalized least squares over bins, for every earlier prior; covers "
        "sampling error",
        assumption=f"{SAMPLED}, and only the share of positives has changed since then",
        warnings=_alarm(
            shape,
            "More than the share of positives changed (p = {:.2g}), so the estimate is not valid.",
        ),
        diagnostics={"shape_p": shape, "moved": d},
    )


def _counted(rows: Floats, edges: Floats) -> Counts:
    """Count the rows in each bin."""
    counts = np.bincount(np.searchsorted(edges[1:-1], rows), minlength=edges.size - 1)
    squares, none = np.array([0.0, rows.size]), np.zeros(counts.size)
    return Counts(none, counts.astype(np.float64), squares, pooled=False)


def _alarm(p_value: float, sentence: str) -> tuple[str, ...]:
    return (sentence.format(p_value),) if p_value < ALARM else ()


def agreement(estimates: Iterable[PriorEstimate]) -> tuple[float, float] | None:
    """Return the priors compatible with all estimates, or None if they contradict each other.

    Examples
    --------
    >>> found = [from_review([1, 0] * 20), from_review([1, 0, 0] * 40)]
    >>> low, high = agreement(found)
    >>> round(low, 2), round(high, 2)
    (0.34, 0.43)
    """
    found = list(estimates)
    low, high = max(one.low for one in found), min(one.high for one in found)
    return (low, high) if low <= high else None


@dataclass(frozen=True, eq=False)
class ReportingRate:
    """A step function for the share of positives reported by an age; see `reporting_rate`.

    Attributes
    ----------
    delay : ndarray
        Distinct delays, in increasing order.
    share : ndarray
        Share of positives reported by each delay; the last one is 1.

    Examples
    --------
    >>> ReportingRate(np.array([1.0, 5.0]), np.array([0.25, 1.0]))([0.5, 1.0, 6.0])
    array([0.  , 0.25, 1.  ])
    """

    delay: Floats
    share: Floats

    def __call__(self, age: ArrayLike) -> Floats:
        """Return the share at each age."""
        place = np.searchsorted(self.delay, np.asarray(age, dtype=np.float64), side="right")
        return np.concatenate([[0.0], self.share])[place]


def reporting_rate(delay: ArrayLike, age: ArrayLike) -> ReportingRate:
    """Estimate the share of positives reported by each age, from those reported so far.

    Delays must not depend on when a row was created. The rate is relative to the largest age:
    positives that take longer are not counted.

    Parameters
    ----------
    delay : array-like, shape (n_reported,)
        Time from each reported row to its report.
    age : array-like, shape (n_reported,)
        Time from each reported row to now, at least its delay.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age, delay = rng.uniform(0, 90, 50_000), rng.exponential(30, 50_000)
    >>> seen = delay <= age
    >>> rate = reporting_rate(delay[seen], age[seen])
    >>> true = (1 - np.exp(-30 / 30)) / (1 - np.exp(-90 / 30))
    >>> bool(abs(rate(30) - true) < 0.02)
    True
    """
    d, a = (np.asarray(x, dtype=np.float64) for x in (delay, age))
    check_same_length(delay=d.size, age=a.size)
    wrong = ~((d >= 0.0) & (d <= a) & np.isfinite(a))
    if wrong.any() or not d.size:
        place = int(np.argmax(wrong)) if d.size else 0
        got = f"{d[place]} at an age of {a[place]} in row {place}" if d.size else "no rows"
        rule = f"must be finite and between 0 and the age, got {got}."
        raise InputError("delay", rule, remedy="Pass only rows that have been reported.")
    times, count = np.unique(d, return_counts=True)
    at_risk = np.searchsorted(np.sort(d), times, "right") - np.searchsorted(np.sort(a), times)
    stays = 1.0 - count / at_risk
    if (stays[1:] <= 0.0).any():
        later = times[1:][stays[1:] <= 0.0][-1]
        rule = f"must overlap, but no row older than {later} was reported earlier than that."
        raise InputError("delay", rule, remedy="Pass more rows, or remove the oldest.")
    # F at a delay is the product over all longer delays.
    return ReportingRate(times, np.cumprod(np.append(stays[1:], 1.0)[::-1])[::-1])
