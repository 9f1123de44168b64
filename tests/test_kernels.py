"""The NumPy reference compared with definitions, and the numba version with the reference."""

import multiprocessing
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import HARD, scores

from noneg import kernels, kernels_numba

EDGES = st.integers(1, 40)


def neighbors(values):
    """Each value with its neighboring doubles."""
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
    s = neighbors(edges)
    expected = np.searchsorted(edges[1:-1], s, side="left")
    assert np.array_equal(kernels.width_index(s, n_bins), expected)
    assert np.array_equal(
        kernels_numba.width_triples(s, None, n_bins)[0, :, 0],
        np.bincount(expected, minlength=n_bins),
    )


@given(scores(max_size=200), EDGES, st.booleans(), st.integers(0, 10))
def test_numba_sums_equal_numpy_sums(s, n_bins, flagged, seed):
    flags = np.random.default_rng(seed).random(s.size) < 0.4 if flagged else None
    plain = kernels.width_triples.__wrapped__(s, flags, n_bins)
    fast = kernels_numba.width_triples(s, flags, n_bins)
    assert np.array_equal(plain[:, :, 0], fast[:, :, 0])
    np.testing.assert_allclose(fast, plain, rtol=1e-13)


HIDDEN = [np.nan, np.inf, -np.inf, -1e-300, np.nextafter(1, 2)]


def copied(copy, s):
    made, inside = copy(s)
    assert not np.shares_memory(made, s)
    assert np.array_equal(made, s, equal_nan=True)
    return inside


CHECKS = {
    "numpy": kernels.in_unit_interval.__wrapped__,
    "numba": kernels_numba.in_unit_interval,
    "numpy copy": partial(copied, kernels.checked_copy.__wrapped__),
    "numba copy": partial(copied, kernels_numba.checked_copy),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_one_bad_score_among_many_is_seen(check):
    s = np.linspace(0, 1, 1001)
    s[0] = -0.0
    assert check(s)
    for row in (0, 7, 1000):
        for bad in HIDDEN:
            hidden = s.copy()
            hidden[row] = bad
            assert not check(hidden)


@given(st.lists(st.sampled_from([0, 1, 1, 0, 2, -1, -(2**63), 2**62])))
def test_numba_flags_equal_numpy_flags(labels):
    labels = np.array(labels, dtype=np.int64)
    plain, fast = kernels.binary_flags_numpy(labels), kernels_numba.binary_flags(labels)
    if set(labels.tolist()) <= {0, 1}:
        assert plain.tolist() == fast.tolist() == (labels == 1).tolist()
    else:
        assert plain is None
        assert fast is None


def every_pass(s, flags):
    """Return the results of each numba kernel for these rows, as one list of arrays."""
    values, offsets, triples = kernels_numba.group_by_run(s, flags)
    groups = [values[o[0] : o[-1]] for o in offsets]
    for o in offsets:
        kernels_numba.sort_runs(values, o)
    return [
        np.array(kernels_numba.in_unit_interval(s)),
        kernels_numba.binary_flags(flags.astype(np.int64)),
        kernels_numba.width_triples(s, flags, 15),
        kernels_numba.node_sums(s, flags, kernels.Axis(1024)),
        kernels_numba.bucket_triples(s, flags),
        values,
        offsets,
        triples,
        np.array(kernels_numba.doubled_wins(*groups)),
        *kernels_numba.count_above(*groups),
    ]


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    s = np.concatenate([rng.beta(0.5, 2, 40_000), rng.integers(0, 5, 10_000) / 4])
    flags = rng.random(s.size) < s
    whole = every_pass(s, flags)
    monkeypatch.setattr(kernels_numba, "ROWS_WORTH_THREADS", 0)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(kernels_numba.config, "NUMBA_NUM_THREADS", threads)
        found.append(every_pass(s, flags))
    for one, *others, unsplit in zip(*found, whole, strict=True):
        for other in others:
            assert np.array_equal(one, other)
        np.testing.assert_allclose(one, unsplit, rtol=1e-12)


FORK = """
import multiprocessing
import numpy as np
import noneg
from noneg import kernels_numba

kernels_numba.ROWS_WORTH_THREADS = 0
s = np.random.default_rng(0).random(60_000)
y = (s > 0.4).astype(int)

def errors():
    scores = noneg.PUScores.from_labels(y, s)
    return [noneg.ece(scores, bins=15, binning=binning) for binning in ("width", "mass")]

def child(pipe):
    pipe.send(errors())

ours, theirs = multiprocessing.Pipe()
expected = errors()
process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
process.start()
process.join(60)
assert process.exitcode == 0, process.exitcode
assert ours.recv() == expected
"""


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)
def test_a_process_may_fork_after_a_kernel_ran():
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_chunks_add_up():
    s = np.random.default_rng(0).random(3 * kernels.CHUNK + 17)
    whole = kernels.cell_triples(kernels.width_index(s, 15), s, 15)
    np.testing.assert_allclose(kernels.width_triples.__wrapped__(s, None, 15)[0], whole, rtol=1e-12)


def test_buckets_rise_and_agree_everywhere_that_matters():
    powers = 2.0 ** -np.arange(1, 80.0)
    s = neighbors(np.concatenate([powers, 1 - powers, HARD, np.linspace(0, 1, 4097)]))
    bucket = kernels.bucket_of(s)
    assert (np.diff(bucket) >= 0).all()
    assert (bucket.min(), bucket.max()) == (0, kernels.N_BUCKETS - 1)
    assert np.array_equal(bucket, kernels_numba.bucket_of(s))


@given(scores(max_size=200))
def test_numba_buckets_equal_numpy_buckets(s):
    assert np.array_equal(kernels.bucket_of(s), kernels_numba.bucket_of(s))


@pytest.mark.parametrize("grid", [kernels.GRID, kernels.FINE_GRID])
def test_buckets_are_narrow(grid):
    s = np.sort(np.random.default_rng(0).beta(0.3, 0.3, 200_000))
    bucket = kernels.bucket_of(s, grid)
    assert (np.diff(bucket) >= 0).all()
    assert kernels.bucket_of(np.array([0.0, 1.0]), grid).tolist() == [0, grid.size - 1]
    for k in np.unique(bucket)[::97]:
        inside = s[bucket == k]
        end = min(inside[0], 1 - inside[-1])
        assert inside[-1] - inside[0] <= max(1.0 / grid.scale, 2.0**-8 * end)


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


CROWDED = {
    "even": np.linspace(0.3, 0.3001, 500),
    "equal": np.full(50, 0.3),
    "two values": np.repeat([0.3, 0.30001], 200),
    "one far away": np.append(0.3 + 1e-12 * np.arange(500), 0.3004),
    "denormal": 5e-324 * np.arange(100),
    "at the end": np.nextafter(1.0, np.array([0.0, 1.0])).repeat(50),
}


@pytest.mark.parametrize("s", CROWDED.values(), ids=CROWDED)
def test_runs_are_sorted_however_crowded_they_are(s):
    mixed = np.random.default_rng(0).permutation(np.concatenate([s, CROWDED["even"]]))
    values, offsets, _ = kernels_numba.group_by_run(mixed, None)
    kernels_numba.sort_runs(values, offsets[0])
    assert np.array_equal(values, np.sort(mixed))


@given(scores(max_size=200))
def test_sorting_runs_sorts(s):
    values, offsets, _ = kernels_numba.group_by_run(s, None)
    kernels_numba.sort_runs(values, offsets[0])
    assert np.array_equal(values, np.sort(s))


def test_many_rows_do_without_numba_where_it_is_not_installed(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(kernels, "find_spec", lambda _: None)
    assert kernels.fast_kernels(10**9) is None
