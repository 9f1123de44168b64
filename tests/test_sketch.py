"""A sketch merges in any order, is small, stays within its error limits, and rejects damage."""

import copy
import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st
from strategies import samples, scores as hard_scores

import noneg.tables.reading
from noneg import PUScores, Sketch, ece, kernels_numba
from noneg.bins import optimal_bin_count
from noneg.calibration import sweep_edges
from noneg.kernels import FINE_GRID, N_BUCKETS, bucket_of
from noneg.metrics import METRICS
from noneg.sketch.forms import Cells, add_rows, empty_table

KINDS = ("frequency", "importance")
FACTS = {"setting": "one-sample", "prior": 0.4}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.beta(1, 6, n)
    return rng.random(n) < 0.5 * s, s


def weights_of(n, kind, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n).astype(float) if kind == "frequency" else rng.random(n) * 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_below_ten_megabytes(kind):
    sketch = Sketch(weight_kind=kind)
    assert sketch.nbytes < 10_000_000
    flags, s = rows(100_000)
    assert sketch.update(flags, s).nbytes < 10_000_000


@settings(max_examples=15)
@given(score=hard_scores(), kind=st.sampled_from(KINDS), data=st.data())
def test_the_fast_loop_is_the_plain_one(score, kind, data):
    bits = st.lists(st.booleans(), min_size=score.size, max_size=score.size)
    flags = np.array(data.draw(bits), dtype=np.bool_)
    for weights in (None, weights_of(score.size, kind)):
        plain, fast = empty_table(kind), empty_table(kind)
        add_rows(plain, flags, score, weights)
        add_rows(fast, flags, score, weights, kernels_numba)
        np.testing.assert_array_equal(plain, fast)


def test_the_fast_loop_is_the_plain_one_in_every_block_of_rows():
    flags, s = rows(50_000)
    plain, fast = empty_table("frequency"), empty_table("frequency")
    add_rows(plain, flags, s, None)
    add_rows(fast, flags, s, None, kernels_numba)
    np.testing.assert_array_equal(plain, fast)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_shards_merge_in_any_order(kind):
    flags, s = rows(100_000)
    w = weights_of(s.size, kind)
    pieces = np.array_split(np.arange(s.size), 1000)

    def merged(order):
        total = Sketch(weight_kind=kind)
        for k in order:
            i = pieces[k]
            total += Sketch(weight_kind=kind).update(flags[i], s[i], w[i])
        return total._table

    rng = np.random.default_rng(2)
    whole = Sketch(weight_kind=kind).update(flags, s, w)._table
    exact = [0, 2, 4, 5] if kind == "frequency" else [0, 4, 8, 9]
    table = merged(rng.permutation(1000))
    np.testing.assert_array_equal(table[:, exact], whole[:, exact])
    np.testing.assert_allclose(table[:, :-2], whole[:, :-2], rtol=1e-12, atol=0.0)


def test_sketches_add_like_numbers():
    one, two = Sketch(**FACTS).update([1, 0], [0.9, 0.1]), Sketch().update([0], [0.5])
    total = sum([one, two])
    assert (total.n_positive, total.n_unlabeled, total.setting) == (1, 2, "one-sample")
    assert (one.n_unlabeled, two.n_unlabeled) == (1, 1)
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({"weight_kind": "importance"}, {}, "'weight_kind' must be the same"),
        ({"setting": "labeled"}, {"setting": "one-sample"}, "'setting' must be the same"),
        ({"prior": 0.2}, {"prior": 0.3}, "'prior' must be the same"),
    ],
)
def test_sketches_that_contradict_each_other_do_not_add(one, other, words):
    with pytest.raises(ValueError, match=words):
        Sketch(**one) + Sketch(**other)


def test_facts_are_never_guessed():
    sketch = Sketch().update([1, 0], [0.9, 0.1])
    with pytest.raises(ValueError, match="'setting' must specify how the rows were sampled"):
        sketch.scores()
    assert sketch.scores(setting="two-sample").prior is None
    with pytest.raises(ValueError, match="'prior' must not be given with setting='labeled'"):
        sketch.scores(setting="labeled", prior=0.5)
    known = sketch.scores(setting="two-sample", prior_interval=(0.2, 0.4))
    assert (known.prior, known.prior_interval) == (pytest.approx(0.3), (0.2, 0.4))
    with pytest.raises(ValueError, match="'weight_kind' must be"):
        Sketch(weight_kind="none")


@given(samples())
def test_rows_of_a_few_scores_are_kept_exactly(sample):
    """A bucket with one score is that score, so sums, counts and order agree with the rows."""
    bucket = bucket_of(sample.score, FINE_GRID)
    _, first = np.unique(bucket, return_index=True)
    lone = sample.score[first][np.searchsorted(bucket[first], bucket)]
    exact = type(sample)(sample.setting, sample.flags, lone, sample.prior).build()
    found = Sketch.from_scores(exact).scores()
    assert (found.n_positive, found.n_unlabeled) == (exact.n_positive, exact.n_unlabeled)
    cuts = np.unique(np.append(lone, 1.0))
    np.testing.assert_allclose(found.sums_below(cuts), exact.sums_below(cuts), rtol=1e-12)


@pytest.fixture(scope="module")
def study():
    """The program that writes the error table in the documentation."""
    path = Path(__file__).parents[1] / "benchmarks" / "sketch_errors.py"
    spec = importlib.util.spec_from_file_location("sketch_errors", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Tables with more rows than this are sketched automatically.
MANY = noneg.tables.reading.EXACT_ROWS
SETTING_OF = {
    "mild": "two-sample",
    "crowded at 0": "one-sample",
    "saturated at 0 and 1": "labeled",
    "oscillating error": "one-sample",
    "rounded to .01": "two-sample",
}


def single_rows(scores, found, name):
    """Return the effect of single rows on the other side of a cut, which sums cannot distinguish.

    With B bins, there is a cut at the end of each; a row there moves between two bins, in a random
    direction. The slope of the debiased error is two if the error is noise.
    """
    row = scores.prior / scores.n_positive + 1.0 / scores.n_marginal
    bins = optimal_bin_count(scores)
    if name == "sweep_ece":
        bins = sweep_edges(found).size - 1
    if name in ("ece", "sweep_ece"):
        return 2.0 * np.sqrt(bins) * row
    if name == "debiased_ece":
        return 4.0 * np.sqrt(bins) * row
    lift, early = (METRICS[x].function(scores) for x in ("lift_at", "enrichment_factor"))
    return {
        "enrichment_factor": 1.0 / (0.01 * max(1.0, early) * scores.n_positive),
        "recall_at": 1.0 / scores.n_positive,
        "precision_at": scores.prior / (0.1 * scores.n_positive),
        "lift_at": 1.0 / (0.1 * max(1.0, lift) * scores.n_positive),
        "average_precision": 1.0 / scores.n_positive,
    }.get(name, 0.0)


def test_every_metric_is_within_the_error_budget(study, subtests):
    """With the fewest rows that are sketched automatically, one row at a rank cut may exceed the
    limit."""
    rng = np.random.default_rng(3)
    for law, s, p in study.laws(MANY, rng):
        exact = study.rows_of(s, p, SETTING_OF[law], rng)
        found = Sketch.from_scores(exact).scores()
        same_bins = sweep_edges(exact).size == sweep_edges(found).size
        for name, _, error, budget in study.distances(exact, found):
            with subtests.test(f"{name}, {law}"):
                if name in ("precision_at", "recall_at", "lift_at", "enrichment_factor"):
                    assert error <= max(budget, 1.01 * single_rows(exact, found, name))
                elif name != "sweep_ece" or same_bins:
                    assert error <= budget


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_every_metric_of_fewer_rows_is_within_the_budget_or_single_rows(study, setting):
    rng = np.random.default_rng(3)
    for law, s, p in study.laws(200_000, rng):
        exact = study.rows_of(s, p, setting, rng)
        found = Sketch.from_scores(exact).scores()
        for name in METRICS:
            one, other = METRICS[name].function(exact), METRICS[name].function(found)
            if name == "sweep_ece":
                # It stops where single rows determine, and is right for the bins that it uses.
                one = ece(exact, edges=sweep_edges(found))
            allowed = max(2e-5, single_rows(exact, found, name))
            if name in ("lift_at", "enrichment_factor"):
                allowed *= max(1.0, one)
            assert other == pytest.approx(one, abs=allowed, nan_ok=True), (law, name)


@given(
    low=st.floats(0.0, 1.0),
    width=st.floats(0.0, 2.0**-17),
    x=st.floats(0.0, 1.0),
    n=st.integers(1, 10**6),
    share=st.floats(0.0, 1e-3),
)
@example(low=0.0, width=1.27e-06, x=2.2250738585e-313, n=1, share=0.0)
def test_cells_keep_rows_order_and_mean(low, width, x, n, share):
    low, high = np.array([low, low]), np.array([low + width, low])
    mean = low + np.array([x, 0.0]) * (high - low)
    rows = np.array([float(n), 1.0])
    cells = Cells.cut(low, high, np.array([share, 0.0]))
    counts = cells.counts(rows, mean)
    assert (counts >= 0.0).all()
    assert (counts == np.floor(counts)).all()
    np.testing.assert_array_equal(np.bincount(cells.bucket, counts), rows)
    place = cells.places(counts, mean)
    assert (np.diff(place[cells.bucket == 0]) >= 0.0).all()
    assert ((place >= low[0]) & (place <= high[0])).all()
    # The part that the shift moves beyond the range is cut off; it is less than one cell.
    found = np.bincount(cells.bucket, counts * place) / rows
    np.testing.assert_allclose(found, mean, rtol=1e-12, atol=width / cells.number[0])


def test_a_cut_inside_a_bucket_splits_its_rows():
    """All rows are in one bucket with decreasing density: the best that a single mean can do at a
    cut."""
    rng = np.random.default_rng(5)
    n, width = 1_000_000, 2.0**-17
    low = np.floor(0.3 / width) * width
    s = low + width * (1.0 - np.sqrt(1.0 - 0.8 * rng.random(n)))
    scores = Sketch().update(rng.random(n) < 0.5, s).scores(setting="labeled")
    cuts = np.quantile(s, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(scores.sums_below(cuts)[:, 1] / n, [0.1, 0.5, 0.9], atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_intervals_with_weights_are_those_of_the_rows(kind, setting):
    flags, s = rows(30_000)
    options = {"sample_weight": weights_of(s.size, kind), "weight_kind": kind}
    if setting == "labeled":
        exact = PUScores.from_labels(flags, s, **options)
    else:
        exact = PUScores.from_pu_labels(flags, s, prior=0.3, setting=setting, **options)
    found = Sketch.from_scores(exact).scores()
    assert (found.n_positive, found.n_unlabeled) == (exact.n_positive, exact.n_unlabeled)
    assert found.effective_positive == pytest.approx(exact.effective_positive, rel=1e-9)
    assert found.effective_marginal == pytest.approx(exact.effective_marginal, rel=1e-9)
    for name in ("brier", "log_loss", "auroc", "accuracy", "recall", "ks_error"):
        one, other = METRICS[name].interval(exact), METRICS[name].interval(found)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=2e-5), name


def test_the_order_inside_a_bucket_is_that_of_the_means():
    """With two points in one bucket, all of its positives would rank above every other row."""
    rng = np.random.default_rng(5)
    s = 0.3 + rng.random(20_000) * 2.0**-16
    s = s[bucket_of(s, FINE_GRID) == bucket_of(np.array([0.3]), FINE_GRID)[0]]
    for slope in (0.0, 0.4):
        flags = rng.random(s.size) < 0.5 + slope * np.sign(s - np.median(s))
        exact = PUScores.from_labels(flags, s)
        found = Sketch.from_scores(exact).scores()
        auroc = METRICS["auroc"].function
        assert auroc(found) == pytest.approx(auroc(exact), abs=0.02)


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_labeling_rates_are_kept(setting):
    """Inverse rates weight positives in their own distribution; in the marginal one they count
    once."""
    flags, s = rows(5000)
    rates = np.clip(0.1 + 0.9 * np.random.default_rng(4).random(s.size), 0.0, 1.0)
    exact = PUScores.from_pu_labels(flags, s, prior=0.3, setting=setting, propensity=rates)
    sketch = Sketch.from_scores(exact)
    by_hand = Sketch(weight_kind="propensity", setting=setting, prior=0.3)
    for half in (slice(None, 2000), slice(2000, None)):
        by_hand += Sketch(weight_kind="propensity").update(
            flags[half], s[half], propensity=rates[half]
        )
    np.testing.assert_allclose(by_hand._table, sketch._table, rtol=1e-12)
    found = Sketch.from_dict(sketch.to_dict()).scores()
    assert (found.n_positive, found.n_unlabeled) == (exact.n_positive, exact.n_unlabeled)
    assert found.effective_positive == pytest.approx(exact.effective_positive, rel=1e-9)
    assert found.effective_marginal == pytest.approx(exact.effective_marginal, rel=1e-9)
    for name in ("brier", "log_loss", "auroc", "accuracy", "recall", "ks_error"):
        one, other = METRICS[name].interval(exact), METRICS[name].interval(found)
        ends = [(x.value, x.low, x.high) for x in (one, other)]
        assert ends[1] == pytest.approx(ends[0], abs=2e-5), name


def test_rates_of_any_spread_have_masses_above_zero():
    """A hundred rows with one score, one of them labeled a thousand times less often than the
    others."""
    rates = np.append(np.ones(99), 1e-3)
    sketch = Sketch(weight_kind="propensity")
    sketch.update(np.ones(100), np.full(100, 0.5), propensity=rates)
    sketch.update([0], [0.2], propensity=[1.0])
    _, (_, number, inverse, mass) = sketch.scores(setting="one-sample", prior=0.99).in_order()
    assert (inverse > 0.0).all()
    sums = [(number * x).sum() for x in (1.0, inverse, inverse**2, inverse * mass)]
    exact = [100.0, (1 / rates).sum(), (1 / rates**2).sum(), (1 / rates).sum()]
    assert sums == pytest.approx(exact, rel=1e-9)


def test_rates_and_weights_that_no_sketch_keeps_are_rejected():
    given = {"prior": 0.3, "propensity": [0.5, 1.0]}
    weights = {"positive_weight": [1.5, 1.0], "weight_kind": "importance"}
    two = PUScores([0.9, 0.8], [0.1], setting="two-sample", **given, **weights)
    assert Sketch.from_scores(two).masses == pytest.approx((1.0, 4.0))
    one = PUScores([0.9, 0.8], [0.1], setting="one-sample", **given, **weights)
    with pytest.raises(ValueError, match=r"labeling rates \(propensity\)"):
        Sketch.from_scores(one)
    with pytest.raises(ValueError, match="weight_kind='propensity'"):
        Sketch().update([1], [0.5], propensity=[0.5])
    with pytest.raises(ValueError, match="weight_kind='propensity'"):
        Sketch(weight_kind="propensity").update([1], [0.5])


@pytest.fixture(params=KINDS)
def full(request):
    flags, s = rows(3000)
    sketch = Sketch(weight_kind=request.param, prior_interval=(0.3, 0.5), **FACTS)
    return sketch.update(flags, s, weights_of(s.size, request.param))


def assert_same(one, other):
    np.testing.assert_array_equal(one._table, other._table)
    facts = ("weight_kind", "setting", "prior", "prior_interval")
    assert [getattr(one, name) for name in facts] == [getattr(other, name) for name in facts]


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_every_form_comes_back(full, tmp_path, suffix):
    assert_same(Sketch.from_dict(json.loads(json.dumps(full.to_dict()))), full)
    assert_same(Sketch.from_arrow(full.to_arrow()), full)
    full.save(tmp_path / f"s{suffix}")
    assert_same(Sketch.load(tmp_path / f"s{suffix}"), full)
    assert [path.name for path in tmp_path.iterdir()] == [f"s{suffix}"]


def spoil(content, path, value):
    *way, last = path
    for step in way:
        content = content[step]
    content[last] = value


SPOILT = {
    "an earlier version": (("schema",), "noneg.sketch/1", "noneg.sketch/1'. Its buckets are wider"),
    "another version": (("schema",), "noneg.sketch/3", "'noneg.sketch/3'"),
    "another grid": (("buckets",), 65536, "buckets"),
    "no weights": (("weight_kind",), "some", "'weight_kind'"),
    "a setting unheard of": (("setting",), "three-sample", "'setting'"),
    "a prior of 1": (("prior",), 1.0, "'prior'"),
    "buckets that fall": (("bucket", 0), N_BUCKETS - 1, "'bucket' must increase from 0"),
    "half a row": (("unlabeled", "n", 0), 0.5, "'unlabeled_n' must be an integer.*got 0.5"),
    "less than no row": (("positive", "n", 0), -1, "'positive_n'.*negative, got -1.0 in entry 0"),
    "more rows than can be counted": (("positive", "n", 0), 1e17, r"at most 9,007.*got 1e\+17"),
    "more rows than a number": (("positive", "n", 0), 10**400, "'positive_n' must be a list of"),
    "a mean outside": (("unlabeled", "sum", 9), 1e9, "'unlabeled_sum' must give a mean between"),
    "no number": (("positive", "sum", 3), "x", "list of numbers"),
    "nothing": (("low", 3), None, "'low' must be a number.*got nan in entry 3"),
    "a bound in another bucket": (("high", 3), 1.0, "in its bucket"),
    "a bound outside": (("high", 3), 7.0, r"in \[0, 1\]"),
    "a part that is short": (("low",), [0.5], "as long as"),
    "a part that is missing": (("unlabeled",), {}, "'n'"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_corrupted_sketch_is_rejected(full, case, tmp_path):
    path, value, words = SPOILT[case]
    content = json.loads(json.dumps(full.to_dict()))
    spoil(content, path, value)
    with pytest.raises(ValueError, match=words):
        Sketch.from_dict(content)
    file = tmp_path / "spoilt.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"spoilt.json.*{words}"):
        Sketch.load(file)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_truncated_file_is_rejected(full, tmp_path, suffix, share):
    path = tmp_path / f"cut{suffix}"
    full.save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=f"'path' is not a complete sketch: .*cut{suffix}"):
        Sketch.load(path)


def test_other_tables_and_files_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="must be a sketch"):
        Sketch.from_arrow(pa.table({"a": [1]}))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Sketch.load(tmp_path / "none.json")
    for name in ("save", "load"):
        call = getattr(Sketch() if name == "save" else Sketch, name)
        with pytest.raises(ValueError, match=r"must end in .json or .parquet"):
            call(Path("sketch.txt"))


def test_no_row_is_added_when_one_is_wrong():
    sketch = Sketch().update([1, 0], [0.9, 0.1])
    with pytest.raises(ValueError, match=r"got 1.5 in row 1"):
        sketch.update([0, 0], [0.5, 1.5])
    with pytest.raises(ValueError, match="'sample_weight' must be whole numbers"):
        sketch.update([0], [0.5], [0.5])
    assert (sketch.n_positive, sketch.n_unlabeled) == (1, 1)


def test_an_absurdly_large_weight_is_rejected():
    content = Sketch(weight_kind="importance").update([1, 0], [0.9, 0.5], [1.0, 2.0]).to_dict()
    for name, value in (("weight", 1e145), ("square", 1e290), ("sum", 0.5e145)):
        content["unlabeled"][name][0] = value
    with pytest.raises(ValueError, match=r"'unlabeled_weight' must be at most 1e\+100 per row"):
        Sketch.from_dict(content)


def pickled(sketch):
    return pickle.loads(pickle.dumps(sketch))  # noqa: S301


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_has_its_own_table(twin):
    one = Sketch(**FACTS).update([1, 0], [0.9, 0.1])
    other = twin(one)
    other.update([0], [0.5])
    assert (one.n_unlabeled, other.n_unlabeled) == (1, 2)
    assert (other.setting, other.prior) == (one.setting, one.prior)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_weight_zero_leave_no_trace(kind):
    s, y = np.array([0.2, 0.9, 0.5, 0.20000001]), np.array([0, 1, 1, 0])
    want = Sketch(weight_kind=kind).update(y[:2], s[:2], [1, 2]).to_dict()
    for fast in (None, kernels_numba):
        table = empty_table(kind)
        add_rows(table, y == 1, s, np.array([1.0, 2.0, 0.0, 0.0]), fast)
        assert Sketch(weight_kind=kind).add_table(table).to_dict() == want
