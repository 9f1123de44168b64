"""Reporting rates from truncated delays: compared with a plain loop, and with known delays."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from noneg.prior import reporting_rate


def plain(delay, age, t):
    """Compute the product directly."""
    out = 1.0
    for d in np.unique(delay[delay > t]):
        risk = ((delay <= d) & (d <= age)).sum()
        out *= 1.0 - (delay == d).sum() / risk
    return out


@given(st.integers(0, 10_000), st.booleans())
def test_it_is_the_product_limit(seed, ties):
    rng = np.random.default_rng(seed)
    age = rng.uniform(2, 10, 60)
    delay = rng.uniform(0, 1, 60) * age
    delay[:3] = rng.uniform(0, 2, 3)
    if ties:
        age, delay = np.ceil(age), np.floor(delay)
    shortest = delay == delay.min()
    age[shortest] = 11.0  # there is always someone at risk
    rate = reporting_rate(delay, age)
    for t in (0.0, 0.5, *delay[:5], 9.0):
        np.testing.assert_allclose(rate(t), plain(delay, age, t) if t >= delay.min() else 0.0)


def test_the_share_of_positives_is_found():
    """The prior within 90 days; treating recent rows as negatives misses a quarter of them."""
    found, naive = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        positive, age = rng.random(20_000) < 0.1, rng.uniform(0, 90, 20_000)
        delay = rng.exponential(25, 20_000)
        seen = positive & (delay <= age)
        rate = reporting_rate(delay[seen], age[seen])
        found.append(np.sum(1.0 / rate(age[seen])) / age.size)
        naive.append(seen.mean())
    true = 0.1 * (1.0 - np.exp(-90 / 25))
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - true) < 4 * error
    assert np.mean(naive) < 0.8 * true


@pytest.mark.parametrize(
    ("delay", "age", "message"),
    [
        ([3.0], [2.0], "between 0 and the age, got 3.0 at an age of 2.0 in row 0"),
        ([-1.0], [2.0], "got -1.0"),
        ([], [], "no rows"),
        ([1.0, 2.0], [2.0], "one entry"),
        ([1.0, 5.0], [2.0, 6.0], "must overlap"),
    ],
)
def test_bad_input_gets_a_sentence(delay, age, message):
    with pytest.raises(ValueError, match=message):
        reporting_rate(delay, age)
