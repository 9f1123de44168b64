"""Groups: their priors, metrics and intervals, compared with counts by hand and hidden labels."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, norm
from sklearn.metrics import precision_score, recall_score, roc_auc_score

import noneg
from noneg import PUScores
from noneg.errors import InputError
from noneg.groups import by_group, count_limits
from noneg.report.answers import group_section
from noneg.tables import batches
from noneg.tables.groups import Grouping, group_rows, groups_of
from noneg.tables.reading import read_grouped

FACTS = {"score": "p", "label": "y", "setting": "one-sample", "prior": 0.3}


def rows(n=6000, seed=0, groups="abc"):
    """Return scores, labels and groups of calibrated rows; later groups have higher scores."""
    random = np.random.default_rng(seed)
    group = random.integers(0, len(groups), n)
    score = expit(random.normal(-1.5 + 0.5 * group, 1.5))
    return score, random.random(n) < score, np.array(list(groups))[group]


def hidden(share=0.4, seed=0, **options):
    score, label, group = rows(seed=seed)
    seen = label & (np.random.default_rng(seed + 1).random(label.size) < share)
    facts = {"setting": "one-sample", "prior": float(label.mean())} | options
    return PUScores.from_pu_labels(seen, score, **facts), score, seen, label, group


def test_labeled_groups_are_what_scikit_learn_counts():
    score, label, group = rows()
    table = by_group(PUScores.from_labels(label, score), group_rows(group, score, label))
    for k, name in enumerate(table.group):
        here = group == name
        expected = {
            "prior": label[here].mean(),
            "bias": label[here].mean() - score[here].mean(),
            "auroc": roc_auc_score(label[here], score[here]),
            "precision": precision_score(label[here], score[here] >= 0.5),
            "recall": recall_score(label[here], score[here] >= 0.5),
        }
        for metric, value in expected.items():
            assert table.metrics[metric][0, k] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("metric", ["auroc", "recall"])
def test_intervals_of_labeled_groups_are_those_of_the_group_alone(metric):
    """The prior of a group does not affect these two; only rows in the group do."""
    score, label, group = rows()
    table = by_group(PUScores.from_labels(label, score), group_rows(group, score, label))
    level = 0.95 ** (1 / 3)
    for name in table.group:
        here = group == name
        alone = noneg.estimate(metric, PUScores.from_labels(label[here], score[here]), level=level)
        found = table.estimate(name, metric)
        assert found.high - found.low == pytest.approx(alone.high - alone.low, rel=0.03)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_the_prior_of_a_group_follows_from_the_labels(setting):
    positive, unlabeled = [30, 60], [100, 300]
    flags = np.repeat([True, False], [90, 400])
    group = np.repeat(["a", "b", "a", "b"], positive + unlabeled)
    score = np.full(flags.size, 0.4)
    scores = PUScores.from_pu_labels(flags, score, prior=0.3, setting=setting)
    table = by_group(scores, group_rows(group, score, flags))
    rows = np.array(unlabeled) + (np.array(positive) if setting == "one-sample" else 0)
    expected = 0.3 * (np.array(positive) / 90) / (rows / rows.sum())
    assert table.metrics["prior"][0] == pytest.approx(expected)
    assert (expected * rows).sum() / rows.sum() == pytest.approx(0.3)


def test_one_group_has_the_overall_numbers():
    scores, score, seen, _, _ = hidden()
    table = by_group(scores, group_rows(np.full(score.size, "all"), score, seen))
    assert table.metrics["prior"][:, 0] == pytest.approx(scores.prior)
    # The prior is known, but the mean score is not.
    reach = norm.ppf(0.975) * score.std() / score.size**0.5
    assert np.ptp(table.metrics["bias"][1:, 0]) == pytest.approx(2 * reach, rel=1e-3)
    for name in ("auroc", "precision", "recall"):
        found = noneg.estimate(name, scores)
        assert table.metrics[name][0, 0] == pytest.approx(found.value)
    assert table.p_value is None


def test_standard_errors_are_those_of_repeated_draws():
    """Monte Carlo over 150 draws has a relative error of 1/sqrt(300); four of these are allowed."""
    values, reach = [], []
    for seed in range(150):
        score, label, group = rows(n=1500, seed=seed)
        seen = label & (np.random.default_rng(seed + 1).random(label.size) < 0.4)
        scores = PUScores.from_pu_labels(seen, score, setting="one-sample", prior=0.3)
        table = by_group(scores, group_rows(group, score, seen), metrics=[])
        values.append(table.metrics["bias"][0])
        reach.append(table.metrics["bias"][2] - table.metrics["bias"][1])
    z = norm.ppf(0.5 + 0.95 ** (1 / 3) / 2)
    spread, claimed = np.std(values, axis=0), np.mean(reach, axis=0) / (2 * z)
    assert claimed / spread == pytest.approx(1.0, abs=4 / np.sqrt(300))


def test_hidden_labels_lie_in_the_simultaneous_intervals():
    scores, score, seen, label, group = hidden(share=0.5, seed=3)
    table = by_group(scores, group_rows(group, score, seen))
    truth = by_group(PUScores.from_labels(label, score), group_rows(group, score, label))
    for name, (_, low, high) in table.metrics.items():
        if name != "debiased_ece":
            assert (low <= truth.metrics[name][0]).all()
            assert (truth.metrics[name][0] <= high).all()


def test_counts_have_the_exact_interval_of_poisson():
    low, high = count_limits(7.0, 7.0**0.5, 1.0, 0.99)
    assert low == pytest.approx(chi2.ppf(0.005, 14) / 2)
    assert high == pytest.approx(chi2.ppf(0.995, 16) / 2)
    assert count_limits(0.0, 0.0, 0.1, 0.95)[1] == pytest.approx(0.1 * chi2.ppf(0.975, 2) / 2)


@pytest.mark.parametrize("kind", ["frequency", "importance"])
def test_weights_count_rows_or_carry_mass(kind):
    score, label, group = rows(n=1500)
    weight = np.random.default_rng(5).integers(1, 4, score.size).astype(float)
    weights = {"sample_weight": weight, "weight_kind": kind}
    scores = PUScores.from_labels(label, score, **weights)
    sums = group_rows(group, score, label, weight=weight, weight_kind=kind)
    table = by_group(scores, sums)
    many = np.repeat(np.arange(score.size), weight.astype(int))
    repeated = PUScores.from_labels(label[many], score[many])
    expected = by_group(repeated, group_rows(group[many], score[many], label[many]))
    for name in ("prior", "auroc", "recall"):
        assert table.metrics[name][0] == pytest.approx(expected.metrics[name][0])
        width, other = (np.ptp(x.metrics[name][1:], axis=0) for x in (table, expected))
        if kind == "frequency":
            assert width == pytest.approx(other)
        else:
            assert (width > other).all()  # fewer rows than the weights add up to


def test_labels_do_not_decide_which_groups_are_pooled():
    """Twenty groups of the same rows: chance must not determine which of them are shown
    separately."""
    score = np.tile(np.linspace(0.05, 0.35, 60), 20)
    group = np.repeat([f"{k:02}" for k in range(20)], 60)
    sums = []
    for seed in range(2):
        seen = np.random.default_rng(seed).random(score.size) < score * 0.95
        scores = PUScores.from_pu_labels(seen, score, setting="one-sample", prior=0.25)
        table = by_group(scores, group_rows(group, score, seen), metrics=[])
        sums.append((table.pooled, table.positives.min()))
    assert [pooled for pooled, _ in sums] == [0, 0]
    assert min(least for _, least in sums) < 10


def test_rows_that_are_all_labeled_do_not_make_the_precision_certain():
    """Both rows above the threshold are labeled, and 40% of the positives are."""
    score = np.r_[np.full(2, 0.9), np.full(398, 0.2)]
    seen = np.r_[True, True, np.arange(398) < 38]
    scores = PUScores.from_pu_labels(seen, score, setting="one-sample", prior=0.25)
    sums = group_rows(np.full(400, "all"), score, seen)
    one = by_group(scores, sums, metrics=["precision"]).estimate("all", "precision")
    # Clopper and Pearson: (0.4 p)^2 = 0.025.
    assert one.low == pytest.approx(0.025**0.5 / 0.4, abs=1e-6)


def test_small_groups_are_pooled_and_named():
    score, label, group = rows(n=3000, groups="abcdefghij")
    group = np.where(np.arange(3000) < 60, np.arange(3000).astype(str), group)
    table = by_group(PUScores.from_labels(label, score), group_rows(group, score, label))
    assert table.pooled == 60
    assert table.group[-1] == "other (60 groups)"
    assert table.rows.sum() == 3000


def test_a_group_that_is_wrong_is_named_and_calibrated_ones_are_not():
    score, label, group = rows(n=12_000)
    scores = PUScores.from_labels(label, score)
    assert by_group(scores, group_rows(group, score, label)).p_value > 0.01
    wrong = label & ~((group == "b") & (np.random.default_rng(0).random(label.size) < 0.3))
    table = by_group(PUScores.from_labels(wrong, score), group_rows(group, score, wrong))
    assert (table.p_value, table.worst, table.worst_p_value) == (0.001, "b", 0.001)


def test_the_test_needs_no_prior():
    found = {}
    for prior in (0.28, 0.45):
        scores, score, seen, _, group = hidden(prior=prior, setting="two-sample")
        table = by_group(scores, group_rows(group, score, seen), metrics=[])
        found[prior] = (table.p_value, table.worst_p_value)
    assert found[0.28] == pytest.approx(found[0.45], abs=0.005)


def test_an_interval_of_the_prior_widens_every_group():
    exact, score, seen, _, group = hidden(prior=0.35)
    sums = group_rows(group, score, seen)
    one, two = (by_group(scores, sums) for scores in (exact, exact.with_prior(0.35, (0.3, 0.4))))
    for name, (_, low, high) in two.metrics.items():
        assert (low <= one.metrics[name][1] + 1e-12).all()
        assert (high >= one.metrics[name][2] - 1e-12).all()
    assert two.metrics["recall"] == pytest.approx(one.metrics["recall"])


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_selection_by_group_is_inside_its_range(factor):
    """Positives in one group are labeled at a different rate, within the factor."""
    score, label, group = rows(n=40_000)
    rate = np.where(group == "c", 0.2 / factor, 0.2)
    seen = label & (np.random.default_rng(1).random(label.size) < rate)
    prior = float(label.mean())
    plain = PUScores.from_pu_labels(seen, score, setting="one-sample", prior=prior)
    truth = label[group == "c"].mean()
    for selection, inside in ((1.0, False), (2.5, True)):
        scores = plain.with_selection(selection)
        found = by_group(scores, group_rows(group, score, seen), metrics=["recall"])
        one = found.estimate("c", "prior")
        assert (one.low <= truth <= one.high) == inside


def test_a_stream_gives_the_sums_of_all_rows(monkeypatch):
    score, label, group = rows(n=4000)
    table = {"p": score, "y": label.astype(int), "g": group}
    whole = by_group(*read_grouped(table, **FACTS, by="g"))
    monkeypatch.setattr(batches, "HELD", 500)
    monkeypatch.setattr(batches, "BATCH", 300)
    monkeypatch.setattr("noneg.tables.groups.CELLS", 600)
    streamed = by_group(*read_grouped(table, **FACTS, by="g", exact=False))
    assert streamed.group == whole.group
    for name in ("prior", "bias", "precision", "recall"):
        assert streamed.metrics[name] == pytest.approx(whole.metrics[name])
    assert streamed.metrics["auroc"] == pytest.approx(whole.metrics["auroc"], abs=0.005)


def test_groups_that_come_late_get_their_rows():
    grouping, flag = Grouping(["g"]), np.array([False])
    grouping.add(grouping.codes([["x"]]), np.array([0.2]), flag)
    grouping.add(grouping.codes([["w"]]), np.array([0.7]), ~flag)
    sums = grouping.finished()
    assert sums.labels == [("w",), ("x",)]
    assert sums.rows.tolist() == [[0, 1], [1, 0]]


def test_columns_of_a_table_and_an_array_agree():
    score, label, group = rows(n=2000)
    sex = np.where(np.arange(2000) % 2, "f", "m")
    table = {"p": score, "y": label.astype(int), "g": group, "sex": sex}
    found = noneg.evaluate(table, **FACTS, by=["g", "sex"]).groups
    joined = [f"{a}, {b}" for a, b in zip(group, sex, strict=True)]
    scores = noneg.read(table, **FACTS)
    other = by_group(scores, groups_of(scores, joined))
    assert found.group == other.group == tuple(sorted(set(joined)))
    for name, values in found.metrics.items():
        assert other.metrics[name] == pytest.approx(values)
    assert found.by == ("g", "sex")


def test_two_arrays_have_their_positives_first():
    scores = PUScores([0.9, 0.6], [0.8, 0.3], prior=0.4, setting="two-sample")
    assert groups_of(scores, ["a", "a", "b", "b"]).rows.tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("region", "must name a column of .*Did you mean 'regions'"),
        ([], "must name one or more distinct columns"),
        (["regions", "regions"], "must name one or more distinct columns"),
    ],
)
def test_columns_that_are_not_there_are_rejected(by, message):
    table = {"p": [0.5, 0.2], "y": [1, 0], "regions": ["a", "b"]}
    with pytest.raises(InputError, match=message):
        noneg.evaluate(table, **FACTS, by=by)


def test_a_row_without_a_group_is_named():
    table = {"p": [0.5, 0.2], "y": [1, 0], "region": ["a", None]}
    with pytest.raises(InputError, match=r"column .region. must .* row 1 has none. Give such rows"):
        noneg.evaluate(table, **FACTS, by="region")
    with pytest.raises(InputError, match=r"row 1 has none\. Give such rows a group of their own"):
        group_rows(["a", None], np.array([0.5, 0.2]), np.array([True, False]))


def test_weighted_scores_need_their_table():
    scores = PUScores.from_labels([0, 1], [0.2, 0.9], sample_weight=[1, 2])
    with pytest.raises(InputError, match="must be unweighted rows"):
        noneg.evaluate(scores, by=["a", "b"])


def test_a_metric_that_is_not_available_by_group_is_rejected():
    score, label, group = rows(n=500)
    with pytest.raises(InputError, match="Did you mean 'precision'"):
        by_group(
            PUScores.from_labels(label, score),
            group_rows(group, score, label),
            metrics=["precison"],
        )


def test_the_tests_keep_their_size_in_two_samples_with_many_groups():
    """Scores that happen to be low in a group must not make its gap look large."""
    random, groups = np.random.default_rng(0), 150
    grid = np.linspace(0.05, 0.6, 8)
    mass = np.tile(grid, groups) / (grid.sum() * groups)
    names = np.repeat(np.arange(groups).astype(str), grid.size)
    p_values = []
    for _ in range(150):
        rows = random.multinomial(60 * groups, np.full(mass.size, 1.0 / mass.size))
        seen = random.multinomial(60 * groups, mass)
        score, by = (
            np.concatenate([np.repeat(x, n) for n in (rows, seen)])
            for x in (np.tile(grid, groups), names)
        )
        flags = np.arange(score.size) >= rows.sum()
        scores = PUScores.from_pu_labels(flags, score, setting="two-sample", prior=grid.mean())
        sums = group_rows(by, score, flags)
        p_values.append(noneg.groups._equal(scores, sums, 0)[::2])
    rejected = (np.array(p_values) <= 0.05).mean(axis=0)
    assert (rejected <= 0.1).all(), rejected


def test_redraws_set_no_scale_that_the_observation_does_not():
    """With many groups and few redraws, a scale from the redraws alone flatters them.

    The squares of 1,000 groups would then add up to 4% more for the observation, 0.9 standard
    deviations, and the mean p-value of calibrated rows would be 0.26 instead of 0.5.
    """
    random, groups, n = np.random.default_rng(1), 1000, 50
    labels = [f"{k:05d}" for k in range(groups)]
    flags, score = np.arange(2 * groups) >= groups, np.full(2 * groups, 0.3)
    p_values = []
    for trial in range(40):
        seen = random.binomial(n, 0.15, groups)
        weight = np.concatenate([n - seen, seen]).astype(float)
        sums = group_rows(labels * 2, score, flags, weight=weight)
        kinds = {"positive_weight": [seen.sum()], "unlabeled_weight": [n * groups - seen.sum()]}
        scores = PUScores([0.3], [0.3], setting="one-sample", prior=0.3, **kinds)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("noneg.groups.REDRAWS", 49)
            p_values.append(noneg.groups._equal(scores, sums, trial)[0])
    assert abs(np.mean(p_values) - 0.5) < 3.0 / np.sqrt(12 * len(p_values))


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_a_group_without_labels_has_the_limits_of_a_zero_count(setting):
    score, label, group = rows(n=4000)
    seen = label & (group != "a")
    scores = PUScores.from_pu_labels(seen, score, setting=setting, prior=0.3)
    table = by_group(scores, group_rows(group, score, seen))
    prior, bias = (table.estimate("a", name) for name in ("prior", "bias"))
    each = table.level ** (1 / 3)
    rows_a = group == "a" if setting == "one-sample" else (group == "a") & ~seen
    share = rows_a.sum() / (score.size if setting == "one-sample" else (~seen).sum())
    zero = -np.log((1.0 - each) / 2.0) * 0.3 / seen.sum() / share
    assert (prior.value, prior.low) == (0.0, 0.0)
    assert prior.high >= zero * (1.0 - 1e-9)
    assert bias.high - bias.value >= prior.high * (1.0 - 1e-9)
    assert bias.low < bias.value == pytest.approx(-score[rows_a].mean())


def test_a_name_that_is_not_in_the_table_is_rejected():
    score, label, group = rows(n=900)
    table = by_group(PUScores.from_labels(label, score), group_rows(group, score, label))
    with pytest.raises(InputError, match=r"'metric' must be in the table, got 'aurok'\. Did you"):
        table.estimate("a", "aurok")
    with pytest.raises(InputError, match="'group' must be in the table, got 'd'"):
        table.estimate("d", "auroc")


def test_a_table_of_groups_shows_priors_and_says_how_many_more_there_are():
    score, label, group = rows(n=900)
    scores = PUScores.from_labels(label, score)
    shown = repr(by_group(scores, group_rows(group, score, label), metrics=()))
    assert [line.split()[0] for line in shown.splitlines()] == ["group", "a", "b", "c"]
    every = group_rows(np.arange(900) % 30, score, label)
    many = by_group(scores, every, metrics=(), pool=False)
    assert repr(many).endswith("... 30 groups in all")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("region", "must contain one group per row, got 0 dimensions. For names of columns"),
        (["a"], "'by' must have one entry per row, got 1 entries for 2 rows of 'scores'"),
    ],
)
def test_groups_of_scores_are_one_value_per_row(by, message):
    with pytest.raises(InputError, match=message):
        noneg.evaluate(PUScores.from_labels([0, 1], [0.2, 0.9]), by=by)


@pytest.mark.parametrize("selection", [1.0, 1.5])
@pytest.mark.parametrize("wrong", ["a", "b"])
def test_of_two_groups_the_one_with_the_larger_bias_is_the_worst(wrong, selection):
    """Both gaps of two groups are equal, and with selection there is no test."""
    random = np.random.default_rng(0)
    score, group = random.beta(2, 5, 4000), np.where(random.random(4000) < 0.4, "a", "b")
    eta = np.where(group == wrong, np.sqrt(score), score)
    seen = random.random(4000) < 0.5 * eta
    facts = {"setting": "one-sample", "prior": eta.mean(), "selection": selection}
    scores = PUScores.from_pu_labels(seen, score, **facts)
    assert by_group(scores, group_rows(group, score, seen), metrics=()).worst == wrong


def test_values_with_commas_do_not_make_equal_names():
    score, label, group = rows(groups="ab")
    grouping = Grouping(["one", "two"])
    codes = grouping.codes(
        [np.where(group == "a", "a, b", "a"), np.where(group == "a", "c", "b, c")]
    )
    grouping.add(codes, score, label)
    table = by_group(PUScores.from_labels(label, score), grouping.finished())
    assert set(table.group) == {"'a, b', c", "a, 'b, c'"}
    assert set(grouping.names_of(codes)) == set(table.group)
    (shown,) = group_section(table).tables
    mean = shown.header.index("Prior")
    assert [(row[0], row[mean].value) for row in shown.rows] == [
        (group, table.estimate(group, "prior").value) for group in table.group
    ]
