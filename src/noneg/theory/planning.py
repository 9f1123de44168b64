"""How many rows: the bound of Theorem 1 and the normal interval, solved for sample sizes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from noneg.checks import check_prior
from noneg.errors import Argument, InputError
from noneg.theory.bounds import (
    Binning,
    check_bins,
    check_nonnegative,
    check_size,
    first_true,
    least_bound,
    log_tail,
    optimal_bins,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    # Error and number of bins, of two sample sizes.
    Precision = Callable[[float, float], tuple[float, int]]

Method = Literal["bound", "normal"]

# Larger sizes are no exact doubles any more, and one row fewer is the same number.
MOST_ROWS = 2**53

RATIOS = 1e-9, 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Sample sizes that reach a wanted precision.

    Attributes
    ----------
    n_positive, n_unlabeled : int
        Rows to collect.
    bins : int
        Number of bins to use with them.
    error : float
        What these rows achieve, at most the wanted error.
    method : {"bound", "normal"}
        How `error` was computed.
    assumes : str
        What `error` means, and under which assumptions.
    """

    n_positive: int
    n_unlabeled: int
    bins: int
    error: float
    method: Method
    assumes: str

    def __str__(self) -> str:
        return (
            f"{self.n_positive:,} positives and {self.n_unlabeled:,} unlabeled rows in {self.bins} "
            f"bins reach {self.error:.4g} ({self.method}: {self.assumes})"
        )

    def to_dict(self) -> dict[str, float | str]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


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
    r"""Return how many positives and unlabeled rows an error of at most `eps` takes.

    Parameters
    ----------
    eps : float
        Wanted error, in (0, 1).
    prior : float
        Share of positives, in (0, 1).
    ratio : float
        Unlabeled rows for each positive, rounded up, when neither size is fixed.
    n_positive, n_unlabeled : int, optional
        A size that is fixed already; the other one is then solved for.
    method : {"normal", "bound"}
        - ``"bound"``: \|PU-ECE - TCE\| by `bias_bound`, with the best number of bins. A guarantee,
          with binning bias and worst case included, and so a large number of rows.
        - ``"normal"``: half-width of the interval's upper end, for fixed bins. The interval ends at
          PU-ECE :math:`+ z_{1-\delta/2}\,\mathrm{sd}` with :math:`\mathrm{sd}^2 = \pi^2
          \mathrm{Var}(\sigma(S_P))/n_P + \mathrm{Var}(\sigma(S) S)/n_U`, where
          :math:`\sigma = \pm 1` is the sign of a score's bin. Here
          :math:`\mathrm{sd}^2 \le \pi^2/n_P + m/n_U` is used: a sign has variance at most 1, and
          :math:`\mathrm{Var}(\sigma(S) S) \le E[S^2] \le E[S] \le m`. The binning bias and the
          upward bias of a sum of absolute values are not in it.
    binning, lipschitz
        Kind of bins and the constant L, for the bound.
    delta : float, optional
        Probability with which the error may be exceeded. By default the bound is on the expected
        error, and the normal interval has level 95 %.
    mean_score : float
        The m above, in (0, 1]: an upper bound on the mean score of all rows, for the normal method.
        One is the worst case; about `prior` fits a classifier that is calibrated on average.

    Returns
    -------
    Plan
        The smallest sizes: with one row fewer of those solved for, the error exceeds `eps`.

    Examples
    --------
    >>> plan(0.05, 0.3).n_positive
    292
    >>> plan(0.2, 0.3, n_unlabeled=50_000, method="bound").n_positive
    843
    """
    _check(eps, ratio, method, mean_score)
    check_prior(prior)
    check_bins(1, binning, math.inf, "n_unlabeled")
    check_nonnegative(lipschitz=lipschitz)
    log_tail(delta)
    if method == "bound":
        precision: Precision = partial(
            _bound_precision, prior=prior, binning=binning, lipschitz=lipschitz, delta=delta
        )
        target = "expected error" if delta is None else f"error with probability {1 - delta:g}"
        assumes = f"{target}, {binning} bins, Lipschitz constant {lipschitz:g}"
    else:
        level = 0.95 if delta is None else 1.0 - delta
        precision = partial(_normal_precision, prior=prior, level=level, mean_score=mean_score)
        assumes = f"half-width at level {level:g}, fixed bins, mean score at most {mean_score:g}"
    positive, unlabeled = solve(precision, eps, ratio, n_positive, n_unlabeled)
    error, bins = precision(positive, unlabeled)
    return Plan(
        n_positive=positive,
        n_unlabeled=unlabeled,
        bins=bins,
        error=error,
        method=method,
        assumes=assumes,
    )


def _bound_precision(
    n_positive: float,
    n_unlabeled: float,
    *,
    prior: float,
    binning: Binning,
    lipschitz: float,
    delta: float | None,
) -> tuple[float, int]:
    """Return the smallest bound of Theorem 1; a single row cannot make bins of equal mass."""
    if n_unlabeled < 2:
        return math.inf, 1
    return least_bound(
        n_positive, n_unlabeled, prior, binning=binning, lipschitz=lipschitz, delta=delta
    )


def _normal_precision(
    n_positive: float, n_unlabeled: float, *, prior: float, level: float, mean_score: float
) -> tuple[float, int]:
    """Return the largest half-width that the normal interval can have, and the rule's bins."""
    deviation = math.sqrt(prior**2 / n_positive + mean_score / n_unlabeled)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    return z * deviation, optimal_bins(n_positive, n_unlabeled, prior)


def solve(
    precision: Precision,
    eps: float,
    ratio: float,
    n_positive: int | None,
    n_unlabeled: int | None,
) -> tuple[int, int]:
    """Return the smallest sizes that reach `eps`, when one is fixed or both are tied by `ratio`."""
    if n_positive is not None and n_unlabeled is not None:
        both = f"{n_positive!r} and {n_unlabeled!r}"
        rule = f"must not both be given, got {both}: nothing is left to plan"
        remedy = "Leave one out, or ask bias_bound what the two achieve."
        raise InputError(("n_positive", "n_unlabeled"), rule, remedy=remedy)
    if n_positive is not None:
        _check_floor(lambda n: precision(n, math.inf)[0], eps, n_positive, "n_positive")
        return n_positive, _smallest(lambda n: precision(n_positive, n)[0], eps, MOST_ROWS)
    if n_unlabeled is not None:
        _check_floor(lambda n: precision(math.inf, n)[0], eps, n_unlabeled, "n_unlabeled")
        return _smallest(lambda n: precision(n, n_unlabeled)[0], eps, MOST_ROWS), n_unlabeled
    share = Fraction(str(ratio))
    most = math.floor(MOST_ROWS / max(share, Fraction(1)))
    positive = _smallest(lambda n: precision(n, math.ceil(share * n))[0], eps, most)
    return positive, math.ceil(share * positive)


def _smallest(error_of: Callable[[int], float], eps: float, most: int) -> int:
    """Return the smallest size that reaches `eps`, unless it would be larger than `most`."""
    if not error_of(most) <= eps:
        raise InputError(
            "eps",
            f"must be above {error_of(most):.4g}, got {eps!r}: that much remains with "
            f"{MOST_ROWS:.1e} rows. Ask for a larger error, or for another ratio of the samples.",
        )
    return first_true(lambda n: error_of(n) <= eps)


def _check_floor(floor_of: Callable[[int], float], eps: float, size: int, name: str) -> None:
    """Refuse a fixed sample that is too small for `eps` however large the other one."""
    check_size(size, name)
    if size > MOST_ROWS or size != int(size):
        msg = f"must be a whole number up to {MOST_ROWS}, got {size!r}."
        raise InputError(name, msg, remedy="Pass the number of rows.")
    floor = floor_of(size)
    if floor >= eps:
        remains = f", got {eps!r}: that much remains however large the other sample"
        rule = (f"must be above {floor:.4g} with ", Argument(name, size), remains)
        remedy = "Ask for a larger error or collect more of these rows."
        raise InputError("eps", rule, remedy=remedy)


def check_ratio(ratio: float) -> float:
    """Return the number of unlabeled rows for each positive."""
    if not RATIOS[0] <= ratio <= RATIOS[1]:
        raise InputError(
            "ratio",
            f"must lie in [{RATIOS[0]:g}, {RATIOS[1]:g}], got {ratio!r}. Pass how many "
            "unlabeled rows come with a positive.",
        )
    return ratio


def _check(eps: float, ratio: float, method: Method, mean_score: float) -> None:
    """Refuse a question that has no answer."""
    if not 0.0 < eps < 1.0:
        raise InputError("eps", f"must lie in (0, 1), got {eps!r}. Pass the error you can accept.")
    check_ratio(ratio)
    if method not in ("bound", "normal"):
        raise InputError(
            "method",
            f"must be 'bound' or 'normal', got {method!r}. Choose the guarantee or the "
            "approximation.",
        )
    if not 0.0 < mean_score <= 1.0:
        raise InputError(
            "mean_score",
            f"must lie in (0, 1], got {mean_score!r}. Pass an upper bound on the mean "
            "score of all rows, 1 in doubt.",
        )
