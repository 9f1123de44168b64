"""Supersamples and their information, compared with closed forms and full enumeration."""

import itertools
import math

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from noneg import ece
from noneg.bins import bin_scores
from noneg.lab.information import (
    PUSupersample,
    Runs,
    Supersample,
    bin_gaps,
    covering_information,
    draw_limit,
    draw_membership,
    ece_gaps,
    generalization_bound,
    knn_information,
    label_gaps,
    mass_gaps,
    membership_noise,
    plug_in_information,
    printed_information,
    run,
    samplewise_information,
)
from noneg.theory import reuse_bound, training_statistical_bound

LOG2 = math.log(2.0)


def labeled_pairs(n: int, seed: int = 0) -> Supersample:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 2 * n)
    return Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=seed)


def pu_pairs(n_positive: int, n_unlabeled: int, seed: int = 0) -> PUSupersample:
    rng = np.random.default_rng(seed)
    positive = rng.normal(1.0, size=(2 * n_positive, 1))
    y = rng.random(2 * n_unlabeled) < 0.4
    unlabeled = rng.normal(2.0 * y - 1.0)[:, None]
    return PUSupersample.pair(positive, unlabeled, prior=0.4, seed=seed)


def memory(first, second, seed):
    """Score 0.9 for seen rows and 0.1 otherwise."""
    del second, seed
    return lambda rows: np.where(np.isin(rows[:, 0], first[:, 0]), 0.9, 0.1)


def blind(first, second, seed):
    """Score without using the training rows."""
    del first, second
    noise = np.random.default_rng(seed)
    return lambda rows: noise.random(len(rows))


# The setting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [labeled_pairs(20), pu_pairs(7, 13)])
def test_seen_and_unseen_rows_are_a_partition(pairs):
    bits = draw_membership(pairs.n, seed=3, draw=0)
    # For PU pairs the second part is the unlabeled rows, for labeled ones the labels.
    rows, others = (pairs.training(b) for b in (bits, ~bits))
    parts = [*rows, *others] if isinstance(pairs, PUSupersample) else [rows[0], others[0]]
    together = np.sort(np.concatenate(parts).ravel())
    assert np.array_equal(together, np.sort(pairs.rows().ravel()))


def test_coins_are_fair_and_depend_on_the_draw():
    bits = np.stack([draw_membership(50, seed=1, draw=k) for k in range(400)])
    assert abs(bits.mean() - 0.5) < 4 * 0.5 / math.sqrt(bits.size)
    assert np.array_equal(bits[7], draw_membership(50, seed=1, draw=7))
    assert not np.array_equal(bits[7], draw_membership(50, seed=2, draw=7))


def test_runs_hand_the_right_rows_to_the_metrics():
    runs = run(pu_pairs(30, 60), LogisticRegression(), draws=2, seed=0)
    bits, found = runs.membership[1], runs.found[1]
    right = found[np.arange(90), bits.astype(int)]
    seen = runs.seen(1)
    assert (seen.n_positive, seen.n_unlabeled) == (30, 60)
    by_hand = bin_scores(seen, bins=5, binning="width")
    share = np.histogram(right[60:], bins=np.linspace(0, 1, 6))[0] / 30
    assert by_hand.positive == pytest.approx(share)


def test_classifiers_are_cloned_and_seeded():
    model = LogisticRegression()
    one, two = (run(labeled_pairs(40), model, draws=2, seed=5).found for _ in range(2))
    assert np.array_equal(one, two)
    assert not hasattr(model, "coef_")


def test_a_classifier_without_a_random_state_is_fitted_as_it_is():
    pairs = labeled_pairs(40)
    found = run(pairs, GaussianNB(), draws=1, seed=5)
    x, y = pairs.training(found.membership[0])
    expected = GaussianNB().fit(x, y).predict_proba(pairs.rows())[:, 1]
    np.testing.assert_allclose(found.found[0].ravel(), expected)


def test_progress_is_reported_after_every_draw():
    told = []
    run(labeled_pairs(10), memory, draws=3, seed=0, progress=told.append)
    assert told == [1, 2, 3]


# What is kept ----------------------------------------------------------------------------------


def test_a_second_call_trains_nothing(tmp_path):
    calls = []

    def train(first, second, seed):
        calls.append(seed)
        return memory(first, second, seed)

    pairs = labeled_pairs(10)
    options = {"draws": 3, "seed": 0, "folder": tmp_path, "name": "memory"}
    first = run(pairs, train, **options)
    assert calls == [0, 1, 2]
    more = run(pairs, train, **{**options, "draws": 4})
    assert calls == [0, 1, 2, 3]
    assert np.array_equal(first.found, more.found[:3])


@pytest.mark.parametrize("make", [labeled_pairs, lambda n, seed: pu_pairs(n, n, seed)])
def test_other_rows_are_trained_again(tmp_path, make):
    for seed in (0, 1, 0):
        run(make(10, seed), memory, draws=1, seed=0, folder=tmp_path, name="memory")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_of_another_shape_is_rejected(tmp_path):
    run(labeled_pairs(10), memory, draws=1, seed=0, folder=tmp_path, name="memory")
    (file,) = tmp_path.iterdir()
    np.save(file, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="Remove that file"):
        run(labeled_pairs(10), memory, draws=1, seed=0, folder=tmp_path, name="memory")


def test_scores_are_not_kept_without_a_name(tmp_path):
    with pytest.raises(ValueError, match="'name' must identify what is trained"):
        run(labeled_pairs(10), memory, draws=1, seed=0, folder=tmp_path)


# Information of one coin -------------------------------------------------------------------------


def test_plug_in_equals_the_entropies_of_a_table():
    counts = np.array([[30, 10], [5, 25], [15, 15]])
    values, coins = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    p = counts / counts.sum()

    def entropy(q):
        return -(q * np.log(q)).sum()

    expected = entropy(p.sum(axis=1)) + entropy(p.sum(axis=0)) - entropy(p)
    assert plug_in_information(values, coins) == pytest.approx(expected, abs=1e-14)


def test_the_correction_takes_off_the_bias_of_independence():
    rng = np.random.default_rng(0)
    draws = [(rng.integers(0, 4, 60), rng.integers(0, 2, 60)) for _ in range(2000)]
    plain = np.array([plug_in_information(*d) for d in draws])
    # (4 - 1)(2 - 1) / 2k, Miller & Madow; the next order is 1 / k^2.
    error = plain.std() / math.sqrt(plain.size)
    assert plain.mean() == pytest.approx(3 / 120, abs=4 * error + 1 / 60**2)
    corrected = np.array([plug_in_information(*d, correct=True) for d in draws])
    assert corrected.mean() < plain.mean() / 2


def test_knn_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    coin = rng.integers(0, 2, 300)
    values = rng.normal(coin)
    expected = mutual_info_classif(values[:, None], coin, n_neighbors=3, random_state=4)[0]
    assert knn_information(values, coin, seed=4) == expected


def test_knn_finds_the_information_of_two_gaussians():
    rng = np.random.default_rng(1)
    coin = rng.integers(0, 2, 20_000)
    values = rng.normal(2.0 * coin - 1.0)
    grid = np.linspace(-9, 9, 200_001)
    densities = np.exp(-((grid - np.array([[-1.0], [1.0]])) ** 2) / 2) / math.sqrt(2 * math.pi)
    mixture = densities.mean(axis=0)
    terms = (densities * np.log(densities / mixture)).mean(axis=0)
    expected = terms.sum() * (grid[1] - grid[0])
    # The estimate averages terms of order one over 20,000 rows.
    assert knn_information(values, coin) == pytest.approx(expected, abs=4 / math.sqrt(20_000))


def test_a_few_draws_of_many_coins_show_no_information_at_all():
    runs = run(labeled_pairs(50), memory, draws=10, seed=0)
    gaps = ece_gaps(runs, bins=5, binning="width")
    assert printed_information(runs, gaps) == 0.0
    # The true value is the maximum: the scores reveal which row of each pair was seen.
    shown, most = draw_limit(10, 50)
    assert (shown, most) == (math.log(10), 50 * LOG2)


def test_many_draws_show_what_each_pair_gives_away():
    runs = run(labeled_pairs(6), memory, draws=200, seed=0)
    # 200 fair coins have an entropy within 0.03 of log 2 with probability above 0.9999.
    assert samplewise_information(runs) == pytest.approx(np.full(6, LOG2), abs=0.03)


def test_a_blind_classifier_shows_noise_alone():
    runs = run(labeled_pairs(200), blind, draws=40, seed=0)
    found, noise = samplewise_information(runs), membership_noise(runs)
    error = math.hypot(found.std(), noise.std()) / math.sqrt(200)
    assert abs(found.mean() - noise.mean()) < 4 * error
    # the effect of clipping at zero, which is why the noise must be shown
    assert found.mean() > 0.01


def test_unlabeled_pairs_can_be_taken_alone():
    runs = run(pu_pairs(5, 9), memory, draws=60, seed=0)
    assert samplewise_information(runs).shape == (14,)
    assert samplewise_information(runs, unlabeled_only=True).shape == (9,)
    labeled = run(labeled_pairs(5), memory, draws=2, seed=0)
    with pytest.raises(TypeError, match="'unlabeled_only' requires the runs of a PUSupersample"):
        samplewise_information(labeled, unlabeled_only=True)


# Gaps and bounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("binning", ["width", "mass"])
@pytest.mark.parametrize("pairs", [labeled_pairs(60), pu_pairs(40, 80)])
def test_gaps_are_those_of_their_definitions(pairs, binning):
    runs = run(pairs, LogisticRegression(), draws=3, seed=0)
    options = {"bins": 4, "binning": binning}
    seen = bin_scores(runs.seen(0), **options)
    unseen = bin_scores(runs.unseen(0), edges=seen.edges)
    expected = abs(ece(runs.unseen(0), edges=seen.edges) - ece(runs.seen(0), **options))
    assert ece_gaps(runs, **options)[0] == pytest.approx(expected, abs=1e-14)
    share = np.abs(unseen.marginal - seen.marginal).sum()
    assert mass_gaps(runs, **options)[0] == pytest.approx(share, abs=1e-14)
    labels = np.abs(unseen.prior * unseen.positive - seen.prior * seen.positive).sum()
    assert label_gaps(runs, **options)[0] == pytest.approx(labels, abs=1e-14)
    assert (bin_gaps(runs, **options) >= ece_gaps(runs, **options) - 1e-14).all()


def every_membership(pairs, train):
    """Return runs over all memberships, each once, for exact expectations."""
    bits = np.array(list(itertools.product([False, True], repeat=pairs.n)))
    found = [train(*pairs.training(b), 0)(pairs.rows()).reshape(pairs.n, 2) for b in bits]
    return Runs(pairs, bits, np.array(found))


def nearest(first, second, seed):
    """Score by the label of the nearest training row; ties cannot happen."""
    del seed

    def score(rows):
        return 0.1 + 0.8 * second[np.abs(rows - first.T).argmin(axis=1)]

    return score


@pytest.mark.parametrize("train", [nearest, memory])
@pytest.mark.parametrize("seed", range(4))
def test_the_corrected_bound_holds_with_the_exact_information(train, seed):
    pairs = labeled_pairs(8, seed)
    runs = every_membership(pairs, train)
    flat = runs.found.reshape(len(runs.found), -1)
    _, outcome = np.unique(flat, axis=0, return_inverse=True)
    # The scores are a function of the membership, so the information is their entropy.
    exact = plug_in_information(outcome.ravel(), np.arange(len(flat)))
    assert samplewise_information(runs).sum() <= exact + 1e-9
    for bins in (2, 4):
        gap = bin_gaps(runs, bins=bins, binning="width").mean()
        found = generalization_bound(runs, bins=bins, binning="width", information=exact)
        assert gap <= found.bound.value
        assert found.bin_gap == pytest.approx(gap)


def test_the_printed_bound_fails_where_a_classifier_remembers():
    """The information in the gap alone is zero, and the bound at zero information is exceeded."""
    rng = np.random.default_rng(0)
    pairs = Supersample(rng.random((2000, 2, 1)), np.zeros((2000, 2), dtype=int))
    runs = run(pairs, memory, draws=3, seed=0)
    gaps = ece_gaps(runs, bins=4, binning="width")
    information = printed_information(runs, gaps)
    options = {"bins": 4, "binning": "width", "information": information, "form": "printed"}
    found = generalization_bound(runs, **options)
    assert found.gap > found.bound.value
    honest = generalization_bound(runs, **{**options, "information": 2000 * LOG2})
    assert honest.vacuous


def test_numbers_at_zero_information_are_those_of_the_papers():
    # Table 1 of Futami & Fujisawa has .1444 and .0865 for n = 4000 and 20,000.
    assert reuse_bound(4000, bins=15, form="printed").value == pytest.approx(0.1444, abs=3e-4)
    assert reuse_bound(20_000, bins=27, form="printed").value == pytest.approx(0.0865, abs=1e-4)
    runs = run(labeled_pairs(100), blind, draws=2, seed=0)
    found = generalization_bound(runs, bins=4, binning="mass", information=0.0)
    assert found.bound.value == training_statistical_bound(100, bins=4, ecmi=0.0).value


def test_pu_pairs_have_lemma_5_and_theorem_3():
    pairs = pu_pairs(50, 200)
    runs = run(pairs, LogisticRegression(), draws=3, seed=0)
    rate = 0.4**2 / 50 + 1 / 200
    found = generalization_bound(runs, bins=5, binning="mass", information=2.0)
    assert found.bound.value == pytest.approx(math.sqrt(8 * rate * (2.0 + 5 * LOG2)))
    whole = generalization_bound(runs, bins=5, binning="width", information=2.0, lipschitz=1.0)
    assert whole.bound.value == pytest.approx(found.bound.value + 2 / 5)
    assert found.to_dict()["bound"]["reference"] == "PU-ECE, Lemma 5"


def test_labeled_pairs_have_theorem_5():
    runs = run(labeled_pairs(100), blind, draws=2, seed=0)
    options = {"bins": 4, "information": 1.0, "lipschitz": 1.0}
    width = generalization_bound(runs, binning="width", **options).bound
    mass = generalization_bound(runs, binning="mass", edge_information=0.0, **options).bound
    root = math.sqrt(8 * (1.0 + 4 * LOG2) / 100)
    assert width.value == pytest.approx(0.5 + root)
    assert mass.value == pytest.approx(0.5 + root + 2 * math.sqrt(8 * 4 * LOG2 / 100))


def test_covers_have_the_entropy_of_a_grid():
    assert covering_information(3, 2.0, 0.1) == pytest.approx(3 * math.log(10))


# Bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Supersample(np.zeros((4, 3)), np.zeros((4, 2))), "'X' must contain pairs"),
        (lambda: Supersample(np.zeros((4, 2)), np.zeros((3, 2))), "'y' must have the shape"),
        (
            lambda: Supersample(np.zeros((4, 2)), np.full((4, 2), 2)),
            "'y' must contain only 0 and 1",
        ),
        (lambda: Supersample.pair([1.0], [1], seed=0), "'X' must contain at least two rows"),
        (
            lambda: PUSupersample(np.zeros((4, 2, 3)), np.zeros((4, 2, 2)), prior=0.5),
            "rows of the same shape",
        ),
        (lambda: run(labeled_pairs(3), memory, draws=0, seed=0), "'draws' must be at least 1"),
        (lambda: knn_information([1.0, 2.0], [0]), "columns of the same length"),
        (lambda: covering_information(0, 1.0, 1.0), "'dimension' must be at least 1"),
    ],
)
def test_bad_input_is_rejected_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_what_cannot_be_trained_is_rejected():
    with pytest.raises(TypeError, match="'train' must be a function of rows and a seed"):
        run(labeled_pairs(3), "logistic", draws=1, seed=0)
