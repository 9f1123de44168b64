"""Sample size planning.

`plan` solves the bound of Theorem 1, or the normal interval of the calibration error, for the
number of rows. The other functions do so for a precision, the prior, the better of two models
(normal intervals) and a guaranteed recall (the exact rule of `noneg.performance.recall_threshold`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.special import bdtr, bdtrik

from noneg.checks import check_choice, check_level, check_number, check_prior, check_share
from noneg.errors import Argument, InputError
from noneg.intervals import z_score
from noneg.results import Record
from noneg.theory.bounds import Binning, bias_bound, check, first_true, least_bound, optimal_bins

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats, Places

    # The error as a function of the two sample sizes.
    Precision = Callable[[float, float], float]

Method = Literal["bound", "normal"]

# Larger sizes are not exact doubles, so one fewer row would be the same number.
MOST_ROWS = 2**53

RATIOS = 1e-9, 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan(Record):
    """Sample sizes that achieve a desired error.

    Attributes
    ----------
    n_positive, n_unlabeled : int
        Number of rows to collect.
    bins : int
        Number of bins to use with these rows.
    error : float
        The error these rows achieve, at most the desired error.
    method : {"bound", "normal"}
        How `error` was computed.
    assumes : str
        The meaning of `error` and its assumptions.
    """

    n_positive: int
    n_unlabeled: int
    bins: int
    error: float
    method: Method
    assumes: str

    def __str__(self) -> str:
        return (
            f"{self.n_positive:,} positives and {self.n_unlabeled:,} unlabeled rows "
            f"in {self.bins} bins give an error of {self.error:.4g} ({self.method}: "
            f"{self.assumes})"
        )


def plan(  # noqa: PLR0913 - two methods share one question
    eps: float,
    prior: float,
    *,
    ratio: float = 10.0,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    method: Method = "normal",
    binning: Binning = "mass",
    lipschitz: float = 1.0,
    delta: float | None = None,
    mean_score: float = 1.0,
) -> Plan:
    r"""Return how many positives and unlabeled rows are needed for an error of at most `eps`.

    Parameters
    ----------
    eps : float
        Desired error, in (0, 1).
    prior : float
        Share of positives, in (0, 1).
    ratio : float
        Number of unlabeled rows per positive, if neither size is fixed; the product is rounded up.
    n_positive, n_unlabeled : int, optional
        A size that is already fixed; the other one is then solved for.
    method : {"normal", "bound"}
        - ``"bound"``: \|PU-ECE - TCE\| by `bias_bound`, with the best number of bins. This is a
          worst-case guarantee that includes the binning bias, so it takes a large number of rows.
        - ``"normal"``: half-width of the interval at its upper end, for fixed bins. The interval
          ends at PU-ECE :math:`+ z_{1-\delta/2}\,\mathrm{sd}` with :math:`\mathrm{sd}^2 = \pi^2
          \mathrm{Var}(\sigma(S_P))/n_P + \mathrm{Var}(\sigma(S) S)/n_U`, where
          :math:`\sigma = \pm 1` is the sign of a score's bin. The plan uses the bound
          :math:`\mathrm{sd}^2 \le \pi^2/n_P + m/n_U`, because a sign has variance at most 1 and
          :math:`\mathrm{Var}(\sigma(S) S) \le E[S^2] \le E[S] \le m`. The binning bias and the
          upward bias of a sum of absolute values are ignored.
    binning, lipschitz
        Kind of bins and the constant L, for the bound.
    delta : float, optional
        Probability with which the error may be exceeded. By default, the bound is on the expected
        error, and the normal interval has level 95%.
    mean_score : float
        The m above, in (0, 1]: an upper bound on the mean score of all rows, for the normal method.
        A value of 1 is the worst case; about `prior` fits a classifier that is calibrated on
        average.

    Returns
    -------
    Plan
        The smallest sizes: with one fewer row in a size solved for, the error exceeds `eps`.

    Examples
    --------
    >>> plan(0.05, 0.3).n_positive
    292
    >>> plan(0.2, 0.3, n_unlabeled=50_000, method="bound").n_positive
    843
    """
    _check(eps, ratio, method, mean_score)
    check(prior=prior, binning=binning, lipschitz=lipschitz, delta=delta)
    level = 0.95 if delta is None else 1.0 - delta

    def by_bound(positives: float, rows: float) -> tuple[float, int]:
        if rows < 2:
            return math.inf, 1
        kinds: dict[str, Any] = {"binning": binning, "lipschitz": lipschitz, "delta": delta}
        return least_bound(partial(bias_bound, positives, rows, prior, **kinds), rows)

    def half_width(positives: float, rows: float) -> float:
        return z_score(level) * math.sqrt(prior**2 / positives + mean_score / rows)

    if method == "bound":
        sizes = solve(lambda *n: by_bound(*n)[0], eps, ratio, n_positive, n_unlabeled)
        error, bins = by_bound(*sizes)
        target = "expected error" if delta is None else f"error with probability {1 - delta:g}"
        assumes = f"{target}, {binning} bins, Lipschitz constant {lipschitz:g}"
    else:
        sizes = solve(half_width, eps, ratio, n_positive, n_unlabeled)
        error, bins = half_width(*sizes), optimal_bins(*sizes, prior)
        assumes = f"half-width at level {level:g}, fixed bins, mean score at most {mean_score:g}"
    return Plan(
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        bins=bins,
        error=error,
        method=method,
        assumes=assumes,
    )


def solve(
    precision: Precision, eps: float, ratio: float, n_positive: int | None, n_unlabeled: int | None
) -> tuple[int, int]:
    """Return the smallest sizes that reach `eps`, with one fixed or both linked by `ratio`."""
    if n_positive is not None and n_unlabeled is not None:
        both = f"{n_positive!r} and {n_unlabeled!r}"
        rule = f"must not both be given, got {both}: there is nothing left to plan"
        remedy = "Omit one, or use bias_bound to compute the error that the two achieve."
        raise InputError(("n_positive", "n_unlabeled"), rule, remedy=remedy)
    if n_positive is not None:
        _check_floor(lambda n: precision(n, math.inf), eps, n_positive, "n_positive")
        return n_positive, _smallest(lambda n: precision(n_positive, n), eps, MOST_ROWS)
    if n_unlabeled is not None:
        _check_floor(lambda n: precision(math.inf, n), eps, n_unlabeled, "n_unlabeled")
        return _smallest(lambda n: precision(n, n_unlabeled), eps, MOST_ROWS), n_unlabeled
    share = Fraction(str(ratio))
    most = math.floor(MOST_ROWS / max(share, Fraction(1)))
    positive = _smallest(lambda n: precision(n, math.ceil(share * n)), eps, most)
    return positive, math.ceil(share * positive)


def _smallest(error_of: Callable[[int], float], eps: float, most: int) -> int:
    """Return the smallest size that reaches `eps`; raise an error if it exceeds `most`."""
    if not error_of(most) <= eps:
        raise InputError(
            "eps",
            f"must be above {error_of(most):.4g}, got {eps!r}: this error remains "
            f"even with {MOST_ROWS:.1e} rows. Use a larger error or another ratio of "
            "the samples.",
        )
    return first_true(lambda n: error_of(n) <= eps)


def _check_floor(floor_of: Callable[[int], float], eps: float, size: int, name: str) -> None:
    """Raise an error if a fixed sample is too small for `eps`, for any size of the other one."""
    check(**{name: size})
    if size > MOST_ROWS or size != int(size):
        msg = f"must be an integer up to {MOST_ROWS}, got {size!r}."
        raise InputError(name, msg, remedy="Pass the number of rows.")
    floor = floor_of(size)
    if floor >= eps:
        remains = f", got {eps!r}: this error remains for any size of the other sample"
        rule = (f"must be above {floor:.4g} with ", Argument(name, size), remains)
        remedy = "Use a larger error, or collect more of these rows."
        raise InputError("eps", rule, remedy=remedy)


def check_ratio(ratio: float) -> float:
    """Return the number of unlabeled rows per positive, checked."""
    if not RATIOS[0] <= ratio <= RATIOS[1]:
        rule = f"must lie in [{RATIOS[0]:g}, {RATIOS[1]:g}]"
        remedy = "Pass the number of unlabeled rows per positive."
        raise InputError("ratio", rule, value=ratio, remedy=remedy)
    return ratio


def _check(eps: float, ratio: float, method: Method, mean_score: float) -> None:
    """Raise an error for arguments without a valid plan."""
    if not 0.0 < eps < 1.0:
        raise InputError("eps", f"must lie in (0, 1), got {eps!r}. Pass the error you can accept.")
    check_ratio(ratio)
    check_choice(method, "method", get_args(Method), "Choose the guarantee or the approximation.")
    if not 0.0 < mean_score <= 1.0:
        remedy = "Pass an upper bound on the mean score of all rows, or 1 if in doubt."
        raise InputError("mean_score", "must lie in (0, 1]", value=mean_score, remedy=remedy)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelPlan(Record):
    """Number of rows needed to answer a question.

    Attributes
    ----------
    question : str
    n_positive, n_unlabeled, n_reviewed : int
        Labeled positives, unlabeled rows, and rows drawn at random and reviewed; 0 if not needed.
    error : float
        The error these rows achieve, at most the desired error.
    assumes : str

    Examples
    --------
    >>> print(plan_prior(0.02, 0.1))
    estimate the prior to within 0.02: 865 reviewed rows (share of positives ...)
    """

    question: str
    n_positive: int = 0
    n_unlabeled: int = 0
    n_reviewed: int = 0
    error: float
    assumes: str

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows to collect, by kind."""
        counts = {
            "labeled positives": self.n_positive,
            "unlabeled rows": self.n_unlabeled,
            "reviewed rows": self.n_reviewed,
        }
        return {name: n for name, n in counts.items() if n}

    def __str__(self) -> str:
        rows = " and ".join(f"{n:,} {name}" for name, n in self.rows.items())
        return f"{self.question}: {rows} ({self.assumes})"


def plan_precision(
    *,
    within: float = 0.03,
    prior: float,
    precision: float,
    flagged: float,
    ratio: float = 10.0,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    level: float = 0.95,
) -> LabelPlan:
    r"""Return how many rows make the half-width of a precision's interval at most `within`.

    With the precision P, the share f of flagged rows, the recall :math:`R = P f/\pi` and a known
    prior, the half-width is :math:`z\,P\,\sqrt{(1-R)/(n_P R) + (1-f)/(n_U f)}`.

    Parameters
    ----------
    within : float
        Desired half-width.
    prior : float
    precision, flagged : float
        Rough expectations at the threshold: the precision, and the share of all rows that reach it.
    ratio, n_positive, n_unlabeled
        As in `plan`.
    level : float

    Examples
    --------
    >>> plan_precision(prior=0.1, precision=0.8, flagged=0.08).n_positive
    4679
    """
    width, prior = check_share(within, "within"), check_prior(prior)
    hit, share = check_share(precision, "precision"), check_share(flagged, "flagged")
    z = z_score(check_level(level))
    recall = hit * share / prior
    if recall > 1.0:
        most = prior / hit
        rule = f"must be at most {most:.4g}; otherwise, more positives would be flagged than exist"
        raise InputError("flagged", rule, value=flagged)

    def error(positives: float, rows: float) -> float:
        spread = (1.0 - recall) / (recall * positives) + (1.0 - share) / (share * rows)
        return z * hit * math.sqrt(spread)

    sizes = solve(error, width, check_ratio(ratio), n_positive, n_unlabeled)
    return LabelPlan(
        question=f"estimate a precision of {hit:g} to within {width:g}",
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        error=error(*sizes),
        assumes=f"half-width at level {level:g}, known prior {prior:g}, share of flagged "
        f"rows {share:g}",
    )


def plan_prior(within: float, prior: float, *, level: float = 0.95) -> LabelPlan:
    r"""Return how many randomly drawn, reviewed rows determine the prior to within an error.

    The number is :math:`n = z^2 \pi (1 - \pi)/\mathrm{within}^2`. An audit that selects rows by
    score needs fewer; estimates from positive and unlabeled rows alone need no reviews, but they
    need assumptions.

    Examples
    --------
    >>> plan_prior(0.02, 0.1).n_reviewed
    865
    """
    width, prior, z = check_share(within, "within"), check_prior(prior), z_score(check_level(level))
    n = math.ceil(z**2 * prior * (1.0 - prior) / width**2)
    return LabelPlan(
        question=f"estimate the prior to within {width:g}",
        n_reviewed=n,
        error=z * math.sqrt(prior * (1.0 - prior) / n),
        assumes="share of positives among rows drawn at random",
    )


def plan_comparison(  # noqa: PLR0913 - a question has that many sides
    difference: float,
    prior: float,
    *,
    auroc: float,
    correlation: float = 0.5,
    power: float = 0.8,
    ratio: float = 10.0,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    level: float = 0.95,
) -> LabelPlan:
    r"""Return how many rows distinguish two models whose AUROC values differ by `difference`.

    The interval for the difference then excludes zero with probability `power`. The variance of an
    area is that for exponential scores (Hanley & McNeil 1982), of positives against unlabeled rows;
    it is divided by :math:`(1-\pi)^2`, like the squared area, and multiplied by twice one minus the
    correlation of the models.

    Examples
    --------
    >>> plan_comparison(0.02, 0.1, auroc=0.85).n_positive
    1495
    """
    gap, prior = check_share(difference, "difference"), check_prior(prior)
    area = check_share(auroc, "auroc")
    both = z_score(check_level(level)) + NormalDist().inv_cdf(check_share(power, "power"))
    rule = "a correlation in [0, 1)"
    check_number(correlation, "correlation", rule, lambda x: 0.0 <= x < 1.0)

    def error(positives: float, rows: float) -> float:
        variance = 2.0 * (1.0 - correlation) * _proxy_variance(area, prior, positives, rows)
        return both * math.sqrt(variance) / (1.0 - prior)

    sizes = solve(error, gap, check_ratio(ratio), n_positive, n_unlabeled)
    return LabelPlan(
        question=f"detect an AUROC difference of {gap:g} between two models",
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        error=error(*sizes),
        assumes=f"power {power:g} at level {level:g}, AUROC near {area:g}, "
        f"correlation {correlation:g} between the models",
    )


def _proxy_variance(auroc: float, prior: float, positives: float, rows: float) -> float:
    """Return the variance of the AUC of positives against unlabeled rows, both exponential.

    With F and G the distribution functions of negatives and positives, this is the variance of ``(1
    - prior) F + prior G`` over positives plus that of G over the mixture, each divided by its
    sample size.
    """
    a, rest = auroc, 1.0 - prior
    mean = rest * a + prior / 2.0
    both = a - 0.5 + (1.0 - a) / (2.0 - a)  # Mean of F G over positives.
    square = rest**2 * 2.0 * a**2 / (1.0 + a) + prior**2 / 3.0 + 2.0 * prior * rest * both
    other = rest * a / (2.0 - a) + prior / 3.0
    return (square - mean**2) / positives + (other - mean**2) / rows


def plan_recall(recall: float, *, confidence: float = 0.95, within: float = 0.03) -> LabelPlan:
    """Return how many labeled positives guarantee a recall without flagging many more rows.

    With few positives, the threshold must be so low that the true recall far exceeds the guarantee,
    or that every row is flagged. With this many, some rows are not flagged, and the expected recall
    exceeds the guarantee by at most `within`.

    Examples
    --------
    >>> plan_recall(0.9).n_positive
    286
    """
    miss, slack = 1.0 - check_share(recall, "recall"), check_share(within, "within")
    tail = 1.0 - check_level(confidence)
    # The excess decreases with n except for the steps of k, which occur every 1 / miss rows.
    period = np.arange(math.ceil(1.0 / max(miss, slack)) + 1)
    n = first_true(lambda n: bool(_excess(n + period, miss, tail).max() <= slack))
    return LabelPlan(
        question=f"guarantee a recall of {1.0 - miss:g}",
        n_positive=n,
        error=float(_excess(np.array(n), miss, tail)),
        assumes=f"confidence {confidence:g}; expected recall at most {slack:g} above the guarantee",
    )


def _excess(n: Places, miss: float, tail: float) -> Floats:
    """Return by how much the expected recall exceeds the guaranteed one with n positives.

    The threshold is the k-th smallest score; it is infinite where every row would be flagged.
    """
    # The quantile of a binomial number of missed positives; the inverse may be one too large.
    k = np.ceil(bdtrik(tail, n, miss))
    less = np.maximum(k - 1.0, 0.0)
    k = np.where(bdtr(less, n, miss) >= tail, less, k)
    return np.where(k > 0.0, miss - k / (n + 1.0), np.inf)
