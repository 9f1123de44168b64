"""Exact limits of shares: they solve the binomial equations that define them."""

import numpy as np
import pytest
from scipy.stats import binom

from noneg.shares import clopper_pearson, lower_limit, upper_limit

TAIL = 0.025


@pytest.mark.parametrize(("hits", "n"), [(1, 7), (4, 9), (6, 7), (30, 4000)])
def test_a_share_at_a_limit_leaves_the_tail(hits, n):
    low, high = (limit(hits, n - hits, TAIL) for limit in (lower_limit, upper_limit))
    assert binom.sf(hits - 1, n, low) == pytest.approx(TAIL, rel=1e-9)
    assert binom.cdf(hits, n, high) == pytest.approx(TAIL, rel=1e-9)


def test_no_hits_and_no_misses_leave_one_side_open():
    assert lower_limit(0, 5, TAIL) == 0.0
    assert upper_limit(5, 0, TAIL) == 1.0


def test_hits_and_misses_swap_the_limits():
    counts = np.array([0.0, 0.5, 3.0, 20.0]), np.array([8.0, 2.5, 3.0, 0.0])
    assert lower_limit(*counts, TAIL) == pytest.approx(1.0 - upper_limit(*counts[::-1], TAIL))


def test_a_share_of_infinitely_many_rows_is_known():
    low, high = clopper_pearson(np.array([0.2]), np.inf, 2 * TAIL)
    assert low == high == 0.2
