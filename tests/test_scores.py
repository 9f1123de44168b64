"""PUScores: what it contains, what it rejects, and what weights mean."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from strategies import samples

from noneg import PUScores, ece, estimate, kernels, read
from noneg.bins import bin_scores
from noneg.calibration import brier
from noneg.metrics import METRICS
from noneg.performance import auroc, latent_fraction

P, U = [0.9, 0.6], [0.8, 0.3, 0.2, 0.1]


def two_sample(**options):
    return PUScores(P, U, prior=0.4, setting="two-sample", **options)


def from_table(labeled, y_score):
    return PUScores.from_pu_labels(labeled, y_score, prior=0.4, setting="two-sample")


VECTORS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "float32": lambda x: np.array(x, dtype=np.float32),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "object": lambda x: np.array(x, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow": pa.array,
    "unmasked": lambda x: np.ma.masked_array(x, mask=False),
}


@pytest.mark.parametrize("convert", VECTORS.values(), ids=VECTORS)
def test_any_vector_is_welcome(convert):
    scores = PUScores(convert(P), convert(U), prior=0.4, setting="two-sample")
    assert np.allclose(
        bin_scores(scores, bins=2).residual, bin_scores(two_sample(), bins=2).residual
    )


def test_float32_is_read_exactly():
    p, u = np.array(P, np.float32), np.array(U, np.float32)
    a = PUScores(p, u, prior=0.4, setting="two-sample")
    b = PUScores(p.astype(float), u.astype(float), prior=0.4, setting="two-sample")
    assert np.array_equal(a.sums_by_width(5), b.sums_by_width(5))


def test_sizes_in_each_setting():
    one = PUScores(P, U, prior=0.4, setting="one-sample")
    both = PUScores.from_labels([1, 0, 1], [0.5, 0.5, 0.5])
    assert (two_sample().n_positive, two_sample().n_unlabeled, two_sample().n_marginal) == (2, 4, 4)
    assert (one.n_positive, one.n_unlabeled, one.n_marginal) == (2, 4, 6)
    assert (both.n_positive, both.n_marginal, both.prior) == (2, 3, 2 / 3)


def test_labels_make_the_same_scores_as_two_arrays():
    labeled = [1, 1, 0, 0, 0, 0]
    for setting in ("two-sample", "one-sample"):
        a = PUScores.from_pu_labels(labeled, P + U, prior=0.4, setting=setting)
        b = PUScores(P, U, prior=0.4, setting=setting)
        assert np.array_equal(a.sums_by_width(3), b.sums_by_width(3))
        assert repr(a) == repr(b)


@pytest.mark.parametrize(
    "labels",
    [[True, False], [1, 0], [1.0, 0.0], [1, -1], np.array([1, 0], dtype=np.uint8)],
    ids=["bool", "int", "float", "sign", "uint8"],
)
def test_obvious_labels(labels):
    assert PUScores.from_labels(labels, [0.7, 0.2]).prior == 0.5


def test_positive_label_decides():
    names = ["fraud", "unknown", "unknown"]
    scores = PUScores.from_labels(names, [0.7, 0.2, 0.1], positive_label="fraud")
    assert scores.prior == pytest.approx(1 / 3)
    numbers = PUScores.from_labels([1, 2, 2], [0.7, 0.2, 0.1], positive_label="1")
    assert numbers.prior == pytest.approx(1 / 3)


def test_repr_is_for_people():
    scores = two_sample(prior_interval=(0.3, 0.5))
    expected = "PUScores(2 positives, 4 unlabeled rows, two-sample, prior 0.4 in [0.3, 0.5])"
    assert repr(scores) == expected


def test_immutable():
    scores = two_sample()
    with pytest.raises(AttributeError):
        scores.prior = 0.5
    with pytest.raises(AttributeError):
        scores.other = 1
    with pytest.raises(ValueError, match="read-only"):
        scores.sums_by_width(2)[0, 0] = 7


def test_with_prior_shares_all_work():
    scores = two_sample()
    sums = scores.sums_by_width(5)
    other = scores.with_prior(0.2, interval=(0.1, 0.3))
    assert other.sums_by_width(5) is sums
    assert (other.prior, other.prior_interval) == (0.2, (0.1, 0.3))
    assert (scores.prior, scores.prior_interval) == (0.4, None)


@given(samples(), st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_a_row_twice_is_a_row_of_weight_two(sample, counts):
    weight = np.array(counts[: sample.score.size])
    weight[:2] = np.maximum(weight[:2], 1)
    repeated = sample.take(np.repeat(np.arange(sample.score.size), weight))
    try:
        plain = repeated.build()
    except ValueError:
        with pytest.raises(ValueError, match="prior"):
            sample.build(sample_weight=weight)
        return
    weighted = sample.build(sample_weight=weight)
    np.testing.assert_allclose(weighted.sums_by_width(7), plain.sums_by_width(7), atol=1e-12)
    assert (weighted.n_positive, weighted.n_marginal) == (plain.n_positive, plain.n_marginal)
    assert weighted.effective_marginal == pytest.approx(plain.n_marginal)
    assert weighted.prior == pytest.approx(plain.prior)


@given(samples(), st.floats(0.1, 10.0))
def test_importance_weights_have_no_scale(sample, scale):
    w = np.random.default_rng(0).random(sample.score.size) + 0.1
    a = sample.build(sample_weight=w, weight_kind="importance")
    b = sample.build(sample_weight=scale * w, weight_kind="importance")
    np.testing.assert_allclose(bin_scores(a).residual, bin_scores(b).residual, atol=1e-12)
    assert a.effective_marginal == pytest.approx(b.effective_marginal)


def test_kish_size():
    w = np.array([1.0, 1.0, 1.0, 5.0])
    scores = two_sample(positive_weight=[1, 1], unlabeled_weight=w, weight_kind="importance")
    assert scores.effective_marginal == pytest.approx(w.sum() ** 2 / (w @ w))
    assert scores.n_marginal == 4


@given(samples(settings=("two-sample", "one-sample")))
def test_equal_propensities_change_nothing(sample):
    plain, weighted = sample.build(), sample.build(propensity=np.full(sample.score.size, 0.3))
    x, y = bin_scores(plain), bin_scores(weighted)
    np.testing.assert_allclose(x.residual, y.residual, atol=1e-12)
    np.testing.assert_allclose(x.second, y.second, atol=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_inverse_propensities_undo_unequal_labeling(setting):
    rng = np.random.default_rng(3)
    n = 200_000
    s = rng.random(n)
    y = rng.random(n) < s
    rate = 0.2 + 0.6 * s
    labeled = y & (rng.random(n) < rate)
    rows = np.ones(n, dtype=bool)
    flags, score, e = labeled, s, rate
    if setting == "two-sample":
        other = rng.random(n)
        flags = np.concatenate([labeled[labeled], np.zeros(n, dtype=bool)])
        score = np.concatenate([s[labeled], other])
        e = np.concatenate([rate[labeled], np.ones(n)])
        rows = flags | True
    build = {"prior": 0.5, "setting": setting}
    naive = bin_scores(PUScores.from_pu_labels(flags[rows], score, **build), bins=5)
    fair_scores = PUScores.from_pu_labels(flags[rows], score, propensity=e, **build)
    fair = bin_scores(fair_scores, bins=5)
    error = np.sqrt(fair.variance(np.eye(5)))
    assert (np.abs(fair.residual) < 4 * error).all()
    assert (np.abs(naive.residual) > 4 * error).any()


@given(samples(max_size=40), st.integers(1, 20))
def test_numba_rows_answer_like_numpy_rows(sample, n_bins):
    n_bins = min(n_bins, max(1, sample.build().n_marginal // 2))
    plain = bin_scores(sample.build(), bins=n_bins)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        patch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
        fast = bin_scores(sample.build(), bins=n_bins)
    assert np.array_equal(plain.edges, fast.edges)
    np.testing.assert_allclose(fast.residual, plain.residual, atol=1e-14)
    np.testing.assert_allclose(fast.second, plain.second, atol=1e-14)


BAD = [
    (lambda: PUScores([0.5, np.nan], U, prior=0.4, setting="two-sample"), "positive.*nan.*row 1"),
    (lambda: PUScores(P, [0.1, np.inf], prior=0.4, setting="two-sample"), "unlabeled.*inf.*row 1"),
    (lambda: PUScores(P, [-0.1], prior=0.4, setting="two-sample"), r"-0\.1 in row 0.*sigmoid"),
    (lambda: PUScores(P, [1.0000001], prior=0.4, setting="two-sample"), "1.0000001.*clip"),
    (
        lambda: PUScores([], U, prior=0.4, setting="two-sample"),
        "^'positive' must contain at least one labeled positive",
    ),
    (
        lambda: PUScores(P, [], prior=0.4, setting="two-sample"),
        "^'unlabeled' must contain at least one unlabeled row",
    ),
    (lambda: PUScores(["a"], U, prior=0.4, setting="two-sample"), "numbers, got 'a' in row 0"),
    (lambda: PUScores([None], U, prior=0.4, setting="two-sample"), "nan in row 0"),
    (lambda: PUScores([[0.1]], U, prior=0.4, setting="two-sample"), r"shape \(1, 1\)"),
    (lambda: PUScores([True], U, prior=0.4, setting="two-sample"), "numbers, got True"),
    (lambda: PUScores(P, U, prior=0, setting="two-sample"), r"\(0, 1\), got 0"),
    (lambda: PUScores(P, U, prior=1, setting="two-sample"), r"\(0, 1\), got 1"),
    (lambda: PUScores(P, U, prior="a", setting="two-sample"), r"\(0, 1\), got 'a'"),
    (lambda: PUScores(P, U, prior=np.nan, setting="two-sample"), "got nan"),
    (lambda: PUScores(P, U, prior=0.4, setting="both"), "'one-sample': one sample"),
    (lambda: PUScores(P, U, prior=0.4, setting="labeled"), "from_labels"),
    (lambda: PUScores(P, U, prior=0.001, setting="one-sample"), "labeled share 0.333.*got 0.001"),
    (lambda: PUScores(P * 9, [0.1], prior=0.3, setting="one-sample"), "unlabeled rows swapped"),
    (lambda: PUScores(P, [], prior=0.3, setting="one-sample"), "one unlabeled row, got none"),
    (lambda: two_sample(prior_interval=(0.5, 0.6)), "contain the prior 0.4"),
    (lambda: two_sample(prior_interval=0.3), "pair"),
    (lambda: two_sample(positive_weight=[1, -1]), "not negative, got -1.0 in row 1"),
    (lambda: two_sample(positive_weight=[1, 0.5]), "whole numbers.*got 0.5 in row 1"),
    (lambda: two_sample(positive_weight=[1]), "1 entries for 2 rows"),
    (lambda: two_sample(positive_weight=[0, 0]), "not be zero in every row"),
    (lambda: two_sample(positive_weight=[1, 1], weight_kind="x"), "'frequency'.*got 'x'"),
    (lambda: two_sample(positive_weight=[2.0**53, 2]), "at most 9,007.* in all.*2.0 in row 1"),
    (
        lambda: two_sample(positive_weight=[1, 1e200], weight_kind="importance"),
        r"1e\+100 of 1 \(divide all weights by their mean\), got 1e\+200 in row 1",
    ),
    (
        lambda: two_sample(positive_weight=[1, 1e-200], weight_kind="importance"),
        "within a factor.* got 1e-200 in row 1",
    ),
    (lambda: two_sample(propensity=[0.5, 0.0]), "labeled, got 0.0 in row 1"),
    (
        lambda: PUScores.from_pu_labels(
            [0, 1, 1],
            [0.1, 0.2, 0.3],
            prior=0.4,
            setting="two-sample",
            propensity=[np.nan, 1, 2],
        ),
        "labeled, got 2.0 in row 2",
    ),
    (lambda: PUScores.from_labels([0, 1, 2], [0.1, 0.2, 0.3]), "two values, got 3: 0, 1, 2"),
    (lambda: PUScores.from_labels([0, 1], [0.1]), "2 entries for 1 rows"),
    (lambda: PUScores.from_labels(["a", "b"], [0.1, 0.2]), "positive_label"),
    (lambda: PUScores.from_labels([3, 4], [0.1, 0.2]), "3 and 4.*positive_label"),
    (lambda: PUScores.from_labels([1, None], [0.1, 0.2]), "row 1 has none"),
    (
        lambda: PUScores.from_labels(pd.array([True, None], dtype="boolean"), [0.1, 0.2]),
        "'y_true' .* row 1 has none",
    ),
    (lambda: PUScores.from_labels([1.0, np.nan], [0.1, 0.2]), "but row 1 has none"),
    (lambda: PUScores.from_labels([0, 1], [0.1, 0.2], positive_label=5), r"\[0, 1\].*got 5"),
    (lambda: PUScores.from_labels([[1]], [0.2]), r"'y_true'.*shape \(1, 1\)"),
    (lambda: PUScores.from_labels([], []), "^'y_true' must contain at least one row"),
    (lambda: from_table([], []), "^'labeled' must .* one labeled positive, got none"),
    (
        lambda: from_table([0, 0], [0.1, 0.2]),
        "^'labeled' must contain at least one labeled positive",
    ),
    (lambda: from_table([1, 1], [0.1, 0.2]), "^'labeled' must contain at least one unlabeled row"),
    (lambda: PUScores.from_labels([1, 0], [0.1, 0.2]).with_prior(0.3), "labels determine it"),
    (
        lambda: PUScores(
            np.ma.masked_array([0.1, 0.2], mask=[0, 1]), U, prior=0.4, setting="two-sample"
        ),
        "row 1 is masked",
    ),
    (
        lambda: PUScores.from_labels(np.ma.masked_array([1, 0], mask=[0, 1]), [0.1, 0.2]),
        "'y_true'.*row 1 is masked",
    ),
]


@pytest.mark.parametrize(("build", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_gets_a_sentence(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_a_missing_setting_is_an_error():
    with pytest.raises(TypeError, match="setting"):
        PUScores(P, U, prior=0.4)


ADVICE = "got None. Pass the share of positives, or estimate it with noneg.prior.estimate_prior."


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_without_a_prior_metrics_that_need_it_reject_by_name(setting):
    known = PUScores(P, U, prior=0.5, setting=setting)
    unknown = PUScores(P, U, setting=setting)
    assert unknown.prior is None
    assert "prior unknown" in repr(unknown)
    assert unknown.with_prior(0.5).prior == 0.5
    # Only the range of a lift depends on the prior: the precision of these rows is at most 1.
    largest = {"lift_at": 1.0 / 0.5, "enrichment_factor": 1.0 / 0.5, "recall_at": 0.1 / 0.5}
    for name, metric in METRICS.items():
        if not metric.needs_prior:
            found = estimate(name, unknown)
            if name in largest:
                assert found.raw is None
                found = found.within(0.0, largest[name])
            # As text, in which nan equals nan.
            assert repr(found) == repr(estimate(name, known))
            assert repr(metric.function(unknown)) == repr(metric.function(known))
            continue
        with pytest.raises(ValueError, match=f"^'prior' must be known for '{name}', {ADVICE}$"):
            estimate(name, unknown)
        with pytest.raises(ValueError, match=f"^'prior' must be known for this metric, {ADVICE}$"):
            metric.function(unknown)


def test_labeled_data_without_positives_is_data():
    scores = PUScores.from_labels([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4])
    assert scores.prior == 0
    assert bin_scores(scores, bins=1).residual[0] == pytest.approx(-0.25)


@pytest.mark.parametrize("quick", [False, True])
@given(sample=samples(max_size=200))
def test_rows_come_in_order(quick, sample):
    with pytest.MonkeyPatch.context() as patch:
        if quick:
            patch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
            patch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
        scores = sample.build()
        scores.sums_below(np.array([0.3]))
        (unlabeled, *_), (positive, *_) = scores.in_order()
    assert np.array_equal(unlabeled, np.sort(sample.score[~sample.flags]))
    assert np.array_equal(positive, np.sort(sample.score[sample.flags]))


@given(samples(settings=("two-sample", "labeled")))
def test_weighted_rows_come_in_order(sample):
    weight = np.arange(1, sample.score.size + 1)
    scores = sample.build(sample_weight=weight)
    for group, (s, f, _, _) in enumerate(scores.in_order()):
        mine = sample.flags == bool(group)
        order = np.argsort(sample.score[mine], kind="stable")
        assert np.array_equal(s, sample.score[mine][order])
        assert np.array_equal(f, weight[mine][order])


def own(x):
    return x, x


def read_only_view(x):
    view = x.view()
    view.flags.writeable = False
    return view, x


# Containers that share the memory of an array that the caller can still modify.
SHARED = {
    "array": own,
    "read-only view": read_only_view,
    "strided": lambda x: (np.repeat(x, 2)[::2], x),
    "pandas": lambda x: (pd.Series(x, copy=False), x),
    "polars": lambda x: (pl.Series(x), x),
    "arrow": lambda x: (pa.array(x), x),
    "memoryview": lambda x: (memoryview(x), x),
}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_later_changes_to_the_arrays_change_nothing(share, quick, monkeypatch):
    if quick:
        monkeypatch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        monkeypatch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
    rng = np.random.default_rng(0)
    s, y = rng.random(50), np.arange(50) % 2 == 0
    facts = {"prior": 0.6, "setting": "two-sample"}
    builds = [
        lambda s, _: PUScores(s, s, **facts),
        lambda s, y: PUScores.from_pu_labels(y, s, **facts),
        lambda s, y: PUScores.from_labels(y, s),
        lambda s, y: PUScores.from_labels(y, s, sample_weight=s, weight_kind="importance"),
    ]
    for build in builds:
        want = ece(build(s, y))
        for wrong in (np.nan, 1000.0, -1.0):
            (given, mine), flags = share(s.copy()), y.copy()
            scores = build(given, flags)
            mine[:], flags[:] = wrong, True
            assert ece(scores) == want
            assert ece(scores, binning="width", bins=7) < 1.0
            assert np.isfinite(scores.in_order()[0][0]).all()


def test_read_only_arrays_are_not_copied(tmp_path):
    s, y = np.random.default_rng(0).random(20), np.arange(20) % 2
    s.flags.writeable = False
    pd.DataFrame({"s": s, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    mine = PUScores.from_labels(y, s)
    found = read(tmp_path / "t.csv", score="s", label="y", setting="labeled")
    assert mine._rows.scores.base is s
    assert found._rows.scores.base is not None  # a view of the input; a copy has no base


@pytest.mark.parametrize("quick", [False, True])
def test_flags_of_any_bits_are_flags(quick, monkeypatch):
    if quick:
        monkeypatch.setattr(kernels, "ROWS_WORTH_A_CALL", 0)
        monkeypatch.setattr(kernels, "ROWS_WORTH_AN_IMPORT", 0)
    flags = np.array([255, 0, 2, 0], dtype=np.uint8).view(np.bool_)
    scores = PUScores.from_labels(flags, [0.9, 0.2, 0.6, 0.4])
    assert scores.n_positive == 2
    np.testing.assert_array_equal(scores.in_order()[1][0], [0.6, 0.9])


def test_tensors_with_a_gradient_or_a_short_type_are_numbers():
    torch = pytest.importorskip("torch")
    s, y = [0.75, 0.5, 0.25, 0.125], [1, 0, 1, 0]
    want = ece(PUScores.from_labels(y, s, sample_weight=[1, 2, 3, 4]))
    for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        tensor = torch.tensor(s, dtype=kind, requires_grad=True)
        for labels in (torch.tensor(y), torch.tensor(y, dtype=kind, requires_grad=True)):
            weight = torch.tensor([1, 2, 3, 4], dtype=kind, requires_grad=True)
            scores = PUScores.from_labels(labels, tensor, sample_weight=weight)
            assert ece(scores) == want
            assert PUScores.from_labels(labels, tensor).prior == 0.5


@pytest.mark.parametrize(
    ("prior", "n", "c"), [(0.005, 10_000, 0.9), (0.3, 1000, 0.9), (0.05, 2000, 1.0)]
)
def test_chance_may_label_more_rows_than_the_true_prior_promises(prior, n, c):
    above, rng = 0, np.random.default_rng(0)
    for _ in range(200):
        y = rng.random(n) < prior
        labeled, s = y & (rng.random(n) < c), prior + 0.3 * y
        # Rejected in at most one sample in a thousand, and in none of these.
        scores = PUScores.from_pu_labels(labeled, s, prior=prior, setting="one-sample")
        above += scores.labeled_share > prior
        if scores.labeled_share > prior:
            assert 0.0 <= brier(scores) <= 1.0
            assert 0.0 <= auroc(scores) <= 1.0
            assert latent_fraction(scores) == (0.0, 0.0)
    assert above > 0


class TestKnowledge:
    def test_an_interval_alone_is_quoted_at_its_middle(self):
        scores = PUScores([0.9], [0.8, 0.3], prior_interval=(0.2, 0.4), setting="two-sample")
        assert scores.prior == pytest.approx(0.3)
        assert scores.prior_set == (0.2, 0.4)
        assert scores.knowledge.kind == "interval"

    def test_selection_survives_another_prior(self):
        scores = PUScores([0.9], [0.8, 0.3], prior=0.3, selection=2, setting="two-sample")
        assert scores.with_prior(0.2).selection == 2.0
        assert scores.with_selection(1).selection == 1.0
        assert "selection 2" in repr(scores)

    @pytest.mark.parametrize("value", [0.5, -1, float("nan"), float("inf"), "much", None])
    def test_a_selection_below_one_is_rejected(self, value):
        with pytest.raises(ValueError, match="'selection' must be a number of at least 1"):
            PUScores([0.9], [0.8], prior=0.3, selection=value, setting="two-sample")

    def test_an_interval_that_falls_is_rejected(self):
        with pytest.raises(ValueError, match="'prior_interval' must be a pair"):
            PUScores([0.9], [0.8], prior_interval=(0.4, 0.2), setting="two-sample")
