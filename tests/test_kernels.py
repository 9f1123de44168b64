"""The NumPy reference against the definitions, and the numba twin against the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import HARD, scores

from noneg import kernels, kernels_numba

EDGES = st.integers(1, 40)


def neighbours(values):
    """Each value with the doubles next to it."""
    v = np.asarray(values, dtype=np.float64)
    return np.unique(np.clip(np.concatenate([v, np.nextafter(v, 0), np.nextafter(v, 1)]), 0, 1))


@given(scores(max_size=200), EDGES)
def test_width_index_is_the_definition(s, n_bins):
    edges = kernels.width_edges(n_bins)
    expected = np.searchsorted(edges[1:-1], s, side="left")
    assert np.array_equal(kernels.width_index(s, n_bins), expected)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 49, 100, 1000])
def test_width_index_next_to_every_edge(n_bins):
    edges = kernels.width_edges(n_bins)
    s = neighbours(edges)
    expected = np.searchsorted(edges[1:-1], s, side="left")
    assert np.array_equal(kernels.width_index(s, n_bins), expected)
    assert np.array_equal(
        kernels_numba.width_triples(s, None, n_bins)[0, :, 0],
        np.bincount(expected, minlength=n_bins),
    )


@given(scores(max_size=200), EDGES, st.booleans(), st.integers(0, 10))
def test_numba_sums_equal_numpy_sums(s, n_bins, flagged, seed):
    flags = np.random.default_rng(seed).random(s.size) < 0.4 if flagged else None
    plain = kernels.width_triples_numpy(s, flags, n_bins)
    fast = kernels_numba.width_triples(s, flags, n_bins)
    assert np.array_equal(plain[:, :, 0], fast[:, :, 0])
    np.testing.assert_allclose(fast, plain, rtol=1e-13)


def test_chunks_add_up():
    s = np.random.default_rng(0).random(3 * kernels.CHUNK + 17)
    whole = kernels.cell_triples(kernels.width_index(s, 15), s, 15)
    np.testing.assert_allclose(kernels.width_triples_numpy(s, None, 15)[0], whole, rtol=1e-12)


def test_buckets_rise_and_agree_everywhere_that_matters():
    powers = 2.0 ** -np.arange(1, 80.0)
    s = neighbours(np.concatenate([powers, 1 - powers, HARD, np.linspace(0, 1, 4097)]))
    bucket = kernels.bucket_of(s)
    assert (np.diff(bucket) >= 0).all()
    assert (bucket.min(), bucket.max()) == (0, kernels.N_BUCKETS - 1)
    assert np.array_equal(bucket, kernels_numba.bucket_of(s))


@given(scores(max_size=200))
def test_numba_buckets_equal_numpy_buckets(s):
    assert np.array_equal(kernels.bucket_of(s), kernels_numba.bucket_of(s))


def test_buckets_are_narrow():
    s = np.sort(np.random.default_rng(0).beta(0.3, 0.3, 200_000))
    bucket = kernels.bucket_of(s)
    for k in np.unique(bucket)[::97]:
        inside = s[bucket == k]
        end = min(inside[0], 1 - inside[-1])
        assert inside[-1] - inside[0] <= max(2.0**-16, 2.0**-8 * end)


def test_run_ends_are_the_last_doubles_of_runs():
    ends = kernels.run_ends()
    run = np.arange(kernels.N_RUNS)
    assert (kernels.bucket_of(ends) >> kernels.RUN_SHIFT <= run).all()
    after = np.nextafter(ends[ends < 1], 1)
    assert (kernels.bucket_of(after) >> kernels.RUN_SHIFT > run[ends < 1]).all()


@given(scores(max_size=200), st.booleans(), st.integers(0, 10))
def test_grouping_loses_no_row(s, flagged, seed):
    flags = np.random.default_rng(seed).random(s.size) < 0.4 if flagged else None
    values, offsets, triples = kernels_numba.group_by_run(s, flags)
    marks = np.zeros(s.size, dtype=bool) if flags is None else flags
    for group in (0, 1):
        mine = values[offsets[group, 0] : offsets[group, -1]]
        assert np.array_equal(np.sort(mine), np.sort(s[marks == group]))
        run = kernels.bucket_of(mine) >> kernels.RUN_SHIFT
        assert (np.diff(run) >= 0).all()
        assert np.array_equal(np.diff(offsets[group]), triples[group, :, 0])
        np.testing.assert_allclose(triples[group].sum(0)[1:], [mine.sum(), mine @ mine], rtol=1e-12)
