"""Shares of whom: every conversion and its way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noneg.prior import (
    frequency_of_prior,
    prior_of_share,
    remove_overlap,
    share_of_frequency,
    share_of_prior,
)

labelled = st.floats(0.0, 0.95)
share = st.floats(0.001, 1.0)


@given(share, labelled)
def test_there_and_back(a, ell):
    prior = prior_of_share(a, ell)
    assert share_of_prior(prior, ell) == pytest.approx(a, abs=1e-9)
    if ell > 0.001:
        frequency = frequency_of_prior(prior, ell)
        assert share_of_frequency(frequency, ell) == pytest.approx(a, rel=1e-6)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_counts_agree(labelled_positives, hidden, negatives):
    n = labelled_positives + hidden + negatives
    ell, a = labelled_positives / n, hidden / (hidden + negatives)
    assert prior_of_share(a, ell) == pytest.approx((labelled_positives + hidden) / n)
    c = labelled_positives / (labelled_positives + hidden)
    assert frequency_of_prior(prior_of_share(a, ell), ell) == pytest.approx(c)


def test_two_samples_need_no_conversion():
    assert prior_of_share(0.3, 0.0) == share_of_prior(0.3, 0.0) == 0.3


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.99))
def test_overlap_is_removed_exactly(a, kappa):
    identifiable = a + (1 - a) * kappa
    assert remove_overlap(identifiable, kappa) == pytest.approx(a, abs=1e-9)


def test_overlap_must_leave_negatives():
    with pytest.raises(ValueError, match=r"'overlap'.*got 1.0"):
        remove_overlap(0.4, 1.0)
    assert remove_overlap(0.1, 0.2) == 0.0
    assert np.isclose(remove_overlap(0.36, 0.2), 0.2)
