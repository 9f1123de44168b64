"""How many bins: the papers' rule, their closed forms, and the minimum of their bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from noneg.bin_count import labelled_order_rule, order_rule
from noneg.calibration._bound import LOG2, Binning, check_bins, check_nonnegative
from noneg.calibration._bounds_labelled import labelled_bias_bound
from noneg.calibration._bounds_pu import bias_bound

if TYPE_CHECKING:
    from collections.abc import Callable

Rule = Literal["rule", "closed-form", "bound"]


def optimal_bins(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    binning: Binning = "mass",
    lipschitz: float = 1.0,
    rule: Rule = "rule",
) -> int:
    r"""Return the number of bins that the theory recommends for PU data.

    Parameters
    ----------
    n_positive, n_unlabeled : float
        Sample sizes, not both infinite. For one-sample data pass all rows as ``n_unlabeled``.
    prior : float
        Share of positives, in (0, 1).
    binning : {"mass", "width"}
        Bins of equal mass or of equal width.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        With :math:`A = \pi^2/n_P + 1/n_U`:

        - ``"rule"``: :math:`\lceil A^{-1/3} \rceil` in exact arithmetic, the order of Corollary 1.
        - ``"closed-form"``: the stationary points in the proof of Corollary 1, rounded down:
          :math:`(2(1+L)^2/\log 2)^{1/3} A^{-1/3}` for width bins, where it minimises Theorem 1, and
          :math:`(2+\sqrt{\log 2})^{-2/3} A^{-1/3}` for mass bins, where it minimises a much looser
          bound.
        - ``"bound"``: the whole number that minimises Theorem 1 itself.

    Returns
    -------
    int
        At least 1, and at most half the unlabeled rows.

    Examples
    --------
    >>> [optimal_bins(1000, 10_000, 0.5, rule=r) for r in ("rule", "closed-form", "bound")]
    [15, 7, 19]
    >>> optimal_bins(1000, 10_000, 0.5, rule="bound", binning="width")
    32
    """
    by_order = order_rule(n_positive, n_unlabeled, prior)
    _check(binning, lipschitz, rule)
    if rule == "bound":
        return least_bound(n_positive, n_unlabeled, prior, binning=binning, lipschitz=lipschitz)[1]
    if rule == "rule":
        return capped(by_order, n_unlabeled)
    rate = prior**2 / n_positive + 1.0 / n_unlabeled
    return capped(math.floor(_factor(binning, lipschitz) / math.cbrt(rate)), n_unlabeled)


def labelled_optimal_bins(
    n: float, *, binning: Binning = "mass", lipschitz: float = 1.0, rule: Rule = "rule"
) -> int:
    r"""Return the number of bins that the theory recommends for labelled data.

    Parameters
    ----------
    n : float
        Number of labelled rows, finite.
    binning : {"mass", "width"}
        Bins of equal mass or of equal width.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        - ``"rule"``: :math:`\lfloor n^{1/3} \rfloor` in exact arithmetic.
        - ``"closed-form"``: :math:`\lfloor (2n(1+L)^2/\log 2)^{1/3} \rfloor`, for width bins only.
          Section 6.1 of Futami & Fujisawa (2024) prints the outer power on :math:`\log 2` alone.
        - ``"bound"``: the whole number that minimises Corollary 1 itself.

    Returns
    -------
    int
        At least 1, and at most half the rows.

    Examples
    --------
    >>> labelled_optimal_bins(1000)
    10
    >>> labelled_optimal_bins(1000, binning="width", rule="closed-form")
    22
    """
    by_order = labelled_order_rule(n)
    _check(binning, lipschitz, rule)
    if rule == "rule":
        return capped(by_order, n)
    if rule == "bound":

        def value(bins: int) -> float:
            return labelled_bias_bound(n, bins=bins, binning=binning, lipschitz=lipschitz).value

        return argmin(value, n)
    if binning == "mass":
        raise ValueError(
            "'rule' must be 'rule' or 'bound' for labelled bins of equal mass, got 'closed-form': "
            "none has been published. Choose one of the two, or binning='width'."
        )
    return capped(math.floor(_factor("width", lipschitz) * math.cbrt(n)), n)


def least_bound(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    binning: Binning,
    lipschitz: float,
    delta: float | None = None,
) -> tuple[float, int]:
    """Return the smallest value of `bias_bound` over the number of bins, and that number."""

    def value(bins: int) -> float:
        return bias_bound(
            n_positive,
            n_unlabeled,
            prior,
            bins=bins,
            binning=binning,
            lipschitz=lipschitz,
            delta=delta,
        ).value

    best = argmin(value, n_unlabeled)
    return value(best), best


def capped(bins: int, n: float) -> int:
    """Return the number of bins, but at most one for two rows, and at least one."""
    return bins if n == math.inf else max(1, min(bins, int(n // 2)))


def argmin(value: Callable[[int], float], n: float) -> int:
    """Return the allowed number of bins where a function that falls and then rises is smallest."""
    return first_true(lambda bins: capped(bins + 1, n) <= bins or value(bins + 1) >= value(bins))


def first_true(test: Callable[[int], bool]) -> int:
    """Return the smallest whole number from 1 that passes a test which all larger ones pass."""
    high = 1
    while not test(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle, high)
    return high


def _factor(binning: Binning, lipschitz: float) -> float:
    """Return the stationary point of Appendix A.2 in units of the inverse cube root of A."""
    if binning == "width":
        return math.cbrt(2.0 * (1.0 + lipschitz) ** 2 / LOG2)
    return 1.0 / math.cbrt((2.0 + math.sqrt(LOG2)) ** 2)


def _check(binning: Binning, lipschitz: float, rule: Rule) -> None:
    """Refuse an unknown rule or kind of bins."""
    check_bins(1, binning, math.inf, "n")
    check_nonnegative(lipschitz=lipschitz)
    if rule not in ("rule", "closed-form", "bound"):
        raise ValueError(
            f"'rule' must be 'rule', 'closed-form' or 'bound', got {rule!r}. Choose one; 'rule' is "
            "the papers' own choice."
        )
