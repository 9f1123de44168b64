r"""The prior from more than one score: two views, two sources of labels, a review, another period.

None of these needs classes that do not overlap, so each answer is an interval, not a bound.

Two views
    Scores g and h from disjoint groups of features that are independent within each class. With a
    the share of positives among the unlabeled rows,
    :math:`a/(1-a) = \mathrm{Cov}_U(g, h) / [(E_+ g - E_U g)(E_+ h - E_U h)]`. That
    :math:`\mathrm{Cov}_+(g, h) = 0` can be tested on the labeled positives.
Two sources
    Positives that two processes label independently, given the score: per bin of scores, Chapman's
    estimate :math:`N_b = (a+1)(b+1)/(c+1) - 1` from a and b labels of which c agree.
A review
    Rows drawn at random, simply or within strata, and judged: exact binomial limits.
Another period
    If only the prior changed, new rows are old ones plus or minus positives: with shares h, b and p
    of new rows, old unlabeled rows and positives in bins, :math:`h = b + d\,(p - b)` and the prior
    is :math:`a_0 + (1 - a_0) d`, where :math:`a_0` is the old share. The misfit of d is a test of
    whether it was only the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from noneg.calibration.reliability import clopper_pearson
from noneg.checks import check_flags, check_level, check_same_length, check_setting
from noneg.errors import InputError
from noneg.intervals import z_score
from noneg.prior.base import SAMPLED, PriorEstimate
from noneg.prior.samples import ScoreLaws, labelled_share, prior_of_share, share_of_prior

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from noneg.checks import Setting
    from noneg.prior.samples import Floats
    from noneg.scores import PUScores

# Level of the built-in tests of assumptions.
ALARM = 0.05
# Rows that both sources labeled, a bin; fewer make Chapman's estimate biased.
SHARED = 10
MOST_BINS = 10
TITLES = {
    "two-views": "Two views",
    "two-sources": "Two sources",
    "review": "Reviewed rows",
    "earlier": "Earlier period",
}


class _Answer(NamedTuple):
    """A share of positives among the unlabeled rows with its limits."""

    share: float
    low: float
    high: float

    def estimate(
        self,
        method: str,
        level: float,
        setting: Setting,
        *,
        labelled: float = 0.0,
        rows: float = np.inf,
        **said: object,
    ) -> PriorEstimate:
        """Turn shares into priors; the labeled share of so many rows varies, too."""
        share = float(np.clip(self.share, 0.0, 1.0))
        value, rest = prior_of_share(share, labelled), 1.0 - labelled
        chance = z_score(level) * (1.0 - share) * np.sqrt(labelled * rest / rows)
        down, up = (np.hypot(rest * (x - self.share), chance) for x in (self.low, self.high))
        low, high = float(max(value - down, 0.0)), float(min(value + up, 1.0))
        return PriorEstimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=method,
            setting=setting,
            share=share,
            labelled=labelled,
            sampling=(low, high),
            **said,  # type: ignore[arg-type]
        )


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
        Scores made from disjoint groups of features, on any scale.
    labeled : array-like, shape (n,)
        1 for labeled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}
    level : float

    Returns
    -------
    PriorEstimate
        ``diagnostics["dependence_p"]`` is the p-value of independence among the positives; a small
        one is warned of.

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
    views = [_numbers(x, name) for x, name in ((first, "first"), (second, "second"))]
    check_same_length(first=views[0].size, second=views[1].size, labeled=flags.size)
    p, u = (np.stack([view[group] for view in views]) for group in (flags, ~flags))
    for rows in (p, u):
        if rows.shape[1] < 2:
            raise InputError("labeled", "must mark at least two rows, and leave two unlabeled")
    gap = p.mean(axis=1) - u.mean(axis=1)
    noise = np.sqrt(p.var(axis=1) / p.shape[1] + u.var(axis=1) / u.shape[1])
    if (np.abs(gap) < z_score(0.99) * noise).any():
        rule = "must both tell positives from unlabeled rows: one of the views has the same mean"
        raise InputError(("first", "second"), f"{rule} in both")
    odds, error = _odds(p, u, gap)
    # On the scale of the share the limits miss about as often on either side.
    share = max(odds, 0.0) / (1.0 + max(odds, 0.0))
    reach = z_score(level) * error * (1.0 - share) ** 2
    answer = _Answer(share, share - reach, share + reach)
    dependence, counts = _dependence(p), (float(p.shape[1]), float(u.shape[1]))
    return answer.estimate(
        "two-views",
        level,
        setting,
        labelled=labelled_share(check_setting(setting), *counts),
        rows=sum(counts),
        interval="normal approximation; covers sampling",
        assumption=f"{SAMPLED}, and the two views are independent within each class",
        warnings=_alarm(
            dependence,
            "The views are not independent among the labeled positives (p = {:.2g}): the estimate "
            "does not hold.",
        ),
        diagnostics={"dependence_p": dependence},
    )


def _odds(p: Floats, u: Floats, gap: Floats) -> tuple[float, float]:
    """Return the odds of being positive among the unlabeled rows, and their standard error."""
    centered, positive = u - u.mean(axis=1)[:, None], p - p.mean(axis=1)[:, None]
    product = centered[0] * centered[1]
    covariance, scale = float(product.mean()), float(gap[0] * gap[1])
    odds = covariance / scale
    # Both means of the unlabeled rows move the gaps, too.
    by_u = (product - covariance) / scale + odds * (centered[0] / gap[0] + centered[1] / gap[1])
    by_p = odds * (positive[0] / gap[0] + positive[1] / gap[1])
    return odds, float(np.sqrt(by_u.var() / by_u.size + by_p.var() / by_p.size))


def _dependence(p: Floats) -> float:
    """Return the p-value of no covariance between the views among the positives."""
    centered = p - p.mean(axis=1)[:, None]
    product = centered[0] * centered[1]
    error = product.std(ddof=1) / np.sqrt(product.size)
    return float(2.0 * ndtr(-abs(product.mean()) / error)) if error > 0.0 else 1.0


def from_two_sources(
    first: ArrayLike,
    second: ArrayLike,
    *,
    score: ArrayLike | None = None,
    level: float = 0.95,
) -> PriorEstimate:
    """Estimate the prior from two processes that label positives independently of each other.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        1 where the source labeled the row positive, one entry for each row of everyone.
    score : array-like, shape (n,), optional
        Sources need only be independent among positives of about the same score.
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
    s = np.zeros(a.size) if score is None else _numbers(score, "score")
    check_same_length(first=a.size, score=s.size)
    if not (a & b).any():
        rule = "must share at least one labeled row, got none"
        raise InputError(("first", "second"), f"{rule}: nothing tells how many both missed")
    place = np.searchsorted(_even_edges(s[a | b], int((a & b).sum())), s)
    counts = [
        np.array([int(x[place == k].sum()) for k in range(place.max() + 1)], dtype=np.float64)
        for x in (a, b, a & b)
    ]
    hidden, variance = _chapman(*counts)
    n, seen = float(a.size), float((a | b).sum())
    # Chao's interval: the hidden positives are positive, and their logarithm is nearly normal.
    z = z_score(level)
    spread = np.exp(z * np.sqrt(np.log1p(variance / max(hidden, 0.5) ** 2)))
    total = seen + hidden
    chance = np.sqrt(total * (1.0 - min(total / n, 1.0)))
    down = np.hypot(hidden - hidden / spread, z * chance)
    up = np.hypot(max(hidden, 0.5) * spread - hidden, z * chance)
    answer = _Answer(total / n, (total - down) / n, (total + up) / n)
    return answer.estimate(
        "two-sources",
        level,
        "one-sample",
        interval="Chapman's estimate and Chao's limits; covers sampling",
        assumption="the sources label positives independently, given the score, and no negatives",
        diagnostics={"seen": seen, "hidden": hidden, "bins": float(counts[0].size)},
    )


def _chapman(a: Floats, b: Floats, both: Floats) -> tuple[float, float]:
    """Return the positives that neither source labeled, and the variance of their number."""
    total = (a + 1.0) * (b + 1.0) / (both + 1.0) - 1.0
    variance = (a + 1.0) * (b + 1.0) * (a - both) * (b - both)
    variance /= (both + 1.0) ** 2 * (both + 2.0)
    return float((total - (a + b - both)).sum()), float(variance.sum())


def _even_edges(values: Floats, shared: int) -> Floats:
    """Return inner edges of bins with as many values each, fewer if sources share few rows."""
    bins = int(np.clip(shared // SHARED, 1, MOST_BINS))
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def from_review(
    outcome: ArrayLike,
    *,
    labelled: float = 0.0,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> PriorEstimate:
    """Estimate the prior from unlabeled rows that were drawn at random and judged.

    Parameters
    ----------
    outcome : array-like, shape (n,)
        1 or 0 for judged rows, nan for all other unlabeled rows.
    labelled : float
        Share of labeled rows in one sample, which are positive; 0 for two samples.
    strata : array-like, shape (n,), optional
        Names of strata within which rows were drawn at random.
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
        raise InputError("outcome", "must hold 1, 0, and nan for rows that were not judged")
    names = np.zeros(y.size) if strata is None else np.asarray(strata)
    check_same_length(outcome=y.size, strata=names.size)
    kinds, place = np.unique(names, return_inverse=True)
    weight = np.bincount(place) / y.size
    n = np.bincount(place[judged], minlength=kinds.size)
    if not n.all():
        empty = kinds[int(np.argmin(n))]
        what = f" in stratum '{empty}'" if strata is not None else ""
        raise InputError("outcome", f"must hold at least one judged row{what}, got none")
    share = np.bincount(place[judged], weights=y[judged], minlength=kinds.size) / n
    low, high = clopper_pearson(share, n.astype(np.float64), 1.0 - level)
    value = float(weight @ share)
    # One stratum keeps its exact limits; several are combined by their squared distances.
    down, up = (float(np.sqrt((weight**2) @ (end - share) ** 2)) for end in (low, high))
    return _Answer(value, value - down, value + up).estimate(
        "review",
        level,
        "one-sample" if labelled else "two-sample",
        labelled=labelled,
        rows=y.size / (1.0 - labelled),
        interval="exact binomial (Clopper-Pearson) limits, strata combined; covers sampling",
        assumption="rows were drawn for review at random, and judged rightly",
        diagnostics={"judged": float(n.sum()), "strata": float(kinds.size)},
    )


def from_earlier(
    before: PUScores, after: ArrayLike, *, bins: int = 10, level: float = 0.95
) -> PriorEstimate:
    """Estimate the prior of new rows from a period whose prior is known, if only that changed.

    Parameters
    ----------
    before : PUScores
        Labeled positives and unlabeled rows of the earlier period, with its prior.
    after : array-like
        Scores of new rows, a sample of everyone.
    bins : int
        Bins of scores that hold about as many rows each.
    level : float

    Returns
    -------
    PriorEstimate
        ``diagnostics["shape_p"]`` is the p-value of a change of the prior alone; a small one is
        warned of.

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
    level, laws = check_level(level), ScoreLaws.of(before)
    new = _numbers(after, "after")
    if new.size < 2:
        raise InputError("after", "must hold at least two rows", value=new.size)
    counted = _in_bins(laws, new, bins)
    d, error, shape = _shift(*counted, (laws.n_positive, laws.n_unlabeled, float(new.size)))
    old = [share_of_prior(x, laws.labelled) for x in (before.known_prior, *before.prior_set)]
    value, low, high = (a + (1.0 - a) * d for a in old)
    # The share among unlabeled rows varies with the labeled share of one sample, too.
    rows = laws.n_positive + laws.n_unlabeled
    labelled = np.sqrt(laws.labelled * (1.0 - laws.labelled) / rows) / (1.0 - laws.labelled)
    noise = np.hypot((1.0 - old[0]) * error, (1.0 - d) * (1.0 - old[0]) * labelled)
    reach = z_score(level) * float(noise)
    return _Answer(value, low - reach, high + reach).estimate(
        "earlier",
        level,
        "two-sample",
        interval="generalized least squares over bins, for every earlier prior; covers sampling",
        assumption=f"{SAMPLED}, and only the share of positives changed since",
        warnings=_alarm(
            shape,
            "More than the share of positives changed (p = {:.2g}): the estimate does not hold.",
        ),
        diagnostics={"shape_p": shape, "moved": d},
    )


def _in_bins(laws: ScoreLaws, new: Floats, bins: int) -> tuple[Floats, Floats, Floats]:
    """Return the shares of positives, old unlabeled rows and new rows in bins that hold rows."""
    mass = np.cumsum(laws.positive + laws.unlabeled) / 2.0
    wanted = np.arange(1, bins) / bins
    edges = np.unique(laws.points[np.minimum(np.searchsorted(mass, wanted), mass.size - 1)])
    place = np.searchsorted(edges, laws.points)
    k = edges.size + 1
    p, u = np.zeros(k), np.zeros(k)
    np.add.at(p, place, laws.positive)
    np.add.at(u, place, laws.unlabeled)
    h = np.bincount(np.searchsorted(edges, new), minlength=k) / new.size
    there = (p + u + h) > 0.0
    return p[there], u[there], h[there]


def _shift(
    p: Floats, b: Floats, h: Floats, rows: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return how far new rows moved towards the positives, its error, and the p-value of misfit."""
    # The last bin follows from the others.
    y, u = (h - b)[:-1], (p - b)[:-1]
    d, inverse = 0.0, _covariance(p)
    for _ in range(3):
        parts = zip((p, b, h), (d, 1.0 - d, 1.0), rows, strict=True)
        total = sum((c**2 * _covariance(x)[:-1, :-1] / n for x, c, n in parts), np.zeros(()))
        inverse = np.asarray(np.linalg.pinv(total), dtype=np.float64)
        d = float(u @ inverse @ y / (u @ inverse @ u))
    error = float(1.0 / np.sqrt(u @ inverse @ u))
    misfit = y - d * u
    return d, error, float(chdtrc(max(y.size - 1, 1), misfit @ inverse @ misfit))


def _covariance(share: Floats) -> Floats:
    out: Floats = np.diag(share) - np.outer(share, share)
    return out


def _alarm(p_value: float, sentence: str) -> tuple[str, ...]:
    return (sentence.format(p_value),) if p_value < ALARM else ()


def _numbers(values: ArrayLike, name: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(name, "must be a column of finite numbers")
    return found


def agreement(estimates: Iterable[PriorEstimate]) -> tuple[float, float] | None:
    """Return the priors that all estimates allow; None if they contradict each other.

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
