"""How many bins: the order rules of the papers, in exact arithmetic.

In doubles ``1000 ** (1 / 3)`` is below 10, and a reciprocal cube root of 26 can come out above it.
Here sizes and prior are read as the decimal numbers they are printed as, and cubes are integers.
"""

from __future__ import annotations

import math
from fractions import Fraction

from noneg.checks import check_prior


def order_rule(n_positive: float, n_marginal: float, prior: float) -> int:
    r"""Return :math:`\lceil (\pi^2/n_P + 1/n_M)^{-1/3} \rceil`, the bin count for PU data.

    This is the order of Corollary 1 of the PU-ECE paper (Estimating Expected Calibration Error for
    Positive-Unlabeled Learning) with constant one. It is not capped: bins of equal mass need
    ``n_marginal >= 2 * bins``.

    Parameters
    ----------
    n_positive, n_marginal : float
        Sizes of the positive and of the marginal sample, at least 1. One of them may be infinite;
        its term is then zero. In the one-sample setting the marginal sample is all rows.
    prior : float
        Share of positives, in (0, 1).

    Returns
    -------
    int
        The smallest B with :math:`B^3 (\pi^2/n_P + 1/n_M) \ge 1`.

    Examples
    --------
    >>> order_rule(1000, 10_000, 0.5)
    15
    >>> order_rule(8788, 35_152, 0.5)  # 26 ** 3 == 17576 == 1 / (0.25 / 8788 + 1 / 35152)
    26
    """
    check_prior(prior)
    positive, marginal = _inverse(n_positive, "n_positive"), _inverse(n_marginal, "n_marginal")
    rate = Fraction(str(prior)) ** 2 * positive + marginal
    if rate == 0:
        raise ValueError(
            "'n_positive' and 'n_marginal' must not both be infinite: there is then no best number "
            "of bins, more are always better. Pass the size of at least one sample."
        )
    cube = math.ceil(1 / rate)
    root = _cube_root(cube)
    return root if root**3 == cube else root + 1


def labelled_order_rule(n: float) -> int:
    r"""Return :math:`\lfloor n^{1/3} \rfloor`, the bin count for labelled data.

    The choice of Futami & Fujisawa (2024), Section 6, whose Corollary 1 gives its order.

    Parameters
    ----------
    n : float
        Number of labelled rows, finite and at least 1.

    Returns
    -------
    int
        The largest B with :math:`B^3 \le n`.

    Examples
    --------
    >>> labelled_order_rule(1000), int(1000 ** (1 / 3))
    (10, 9)
    """
    if _inverse(n, "n") == 0:
        raise ValueError(
            "'n' must be finite, got inf: there is then no best number of bins, more are always "
            "better. Pass the number of rows."
        )
    return _cube_root(math.floor(n))


def _inverse(size: float, name: str) -> Fraction:
    """Return 1/size exactly, zero for an infinite sample."""
    if not size >= 1:
        raise ValueError(f"'{name}' must be at least 1, got {size!r}. Pass the number of rows.")
    return Fraction(0) if size == math.inf else 1 / Fraction(str(size))


def _cube_root(value: int) -> int:
    """Return the integer part of the cube root of a positive integer, by Newton's method."""
    root = 1 << -(-value.bit_length() // 3)
    while (better := (2 * root + value // root**2) // 3) < root:
        root = better
    return root
