"""Bounds after recalibration and by metric entropy, joint information estimates, and saved
scorers."""

import math

import joblib
import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from noneg import PUScores
from noneg.calibration import ece
from noneg.lab.information import (
    PUSupersample,
    Runs,
    Supersample,
    binned_information,
    covering_information,
    draw_membership,
    entropy_bound,
    generalization_bound,
    measure_information,
    reuse_bound,
    run,
    samplewise_information,
)
from noneg.recalibration import Histogram
from noneg.theory import (
    labeled_generalization_bound,
    recalibration_bound,
    reuse_bound as theory_reuse_bound,
)

LOG2 = math.log(2.0)


def labeled_pairs(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 2 * n)
    return Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=seed)


def pu_pairs(n_positive, n_unlabeled, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(2 * n_unlabeled) < 0.4
    rows = [rng.normal(1.0, size=(2 * n_positive, 1)), rng.normal(2.0 * y - 1.0)[:, None]]
    return PUSupersample.pair(*rows, prior=0.4, seed=seed)


class Memory:
    """Score 0.9 for seen rows and 0.1 otherwise; can be pickled."""

    def __init__(self, rows):
        self.rows = rows

    def __call__(self, rows):
        return np.where(np.isin(rows[:, 0], self.rows[:, 0]), 0.9, 0.1)


def memory(first, second, seed):
    del second, seed
    return Memory(first)


# The numbers of the papers -----------------------------------------------------------------------


def test_bounds_of_the_published_table():
    """Table 1 of Futami & Fujisawa: .8475 and 1.455 for separate rows, .1444 and .0865 for reuse.

    Sizes 4000 and 20,000, bins floor(n^(1/3)), 100 separate rows. Their digits are truncated, not
    rounded (.84755 and 1.45578 here), and their .1444 is .1442 at zero information.
    """
    bins = [int(np.floor(np.cbrt(n))) for n in (4000, 20_000)]
    assert bins == [15, 27]
    separate = [recalibration_bound(100, bins=b).value for b in bins]
    assert math.floor(1e4 * separate[0]) == 8475
    assert math.floor(1e3 * separate[1]) == 1455
    reused = [
        theory_reuse_bound(n, bins=b, form="printed").value
        for n, b in zip((4000, 20_000), bins, strict=True)
    ]
    assert reused == pytest.approx([0.1442, 0.0865], abs=5e-5)


# Recalibration on the training rows --------------------------------------------------------------


def test_the_error_after_reuse_is_that_of_the_histogram_calibrator():
    runs = run(labeled_pairs(300), LogisticRegression(), draws=3, seed=0)
    found = reuse_bound(runs, bins=6, information=0.0)
    errors = []
    for draw in range(3):
        seen, unseen = runs.seen(draw), runs.unseen(draw)
        y, s = (side(runs, draw) for side in (unseen_labels, unseen_scores))
        after = Histogram(bins=6).fit(seen).transform(s)
        edges = np.unique([0.0, *np.unique(after)[:-1], 1.0])
        errors.append(ece(PUScores.from_labels(y, after), edges=edges))
        assert unseen.n_marginal == 300
    assert found.gap == pytest.approx(np.mean(errors), abs=1e-12)
    assert found.bound.value == theory_reuse_bound(300, bins=6).value
    assert found.bound.form == "corrected"


def unseen_labels(runs, draw):
    return runs.supersample.training(~runs.membership[draw])[1]


def unseen_scores(runs, draw):
    return runs.found[draw][np.arange(300), (~runs.membership[draw]).astype(int)]


def test_an_empty_bin_of_the_seen_rows_keeps_its_scores():
    rows = np.array([[[0.05], [0.55]], [[0.15], [0.75]], [[0.2], [0.3]], [[0.3], [0.35]]])
    pairs = Supersample(rows, np.array([[0, 1], [0, 0], [1, 0], [0, 1]]))
    bits = np.zeros((1, 4), dtype=bool)
    runs = Runs(pairs, bits, rows[None, :, :, 0])
    # Mass bins of the seen scores are [0, .15] and (.15, 1], with frequencies 0 and 1/2.
    found = reuse_bound(runs, bins=2, information=0.0)
    # Of the unseen rows, none are in the first bin, and four with two positives are in the second.
    assert found.gap == pytest.approx(0.0)


def test_corollary_4_takes_two_informations():
    runs = run(labeled_pairs(100), LogisticRegression(), draws=2, seed=0)
    options = {"bins": 4, "information": 0.0, "label_information": 1.0, "mass_information": 2.0}
    found = reuse_bound(runs, **options).bound
    parts = [math.sqrt(8 * (nats + 4 * LOG2) / 100) for nats in (1.0, 2.0)]
    assert found.value == pytest.approx(sum(parts))
    assert found.reference.endswith("Corollary 4")
    printed = reuse_bound(runs, **options, form="printed").bound
    assert printed.value == pytest.approx(sum(parts) / 2)


def test_there_is_no_reuse_bound_for_pu_pairs():
    runs = run(pu_pairs(10, 20), LogisticRegression(), draws=2, seed=0)
    with pytest.raises(TypeError, match="'runs' must be those of a Supersample"):
        reuse_bound(runs, bins=2, information=0.0)


def test_the_flag_is_up_where_a_bound_exceeds_one():
    runs = run(labeled_pairs(50), LogisticRegression(), draws=2, seed=0)
    for nats, vacuous in ((0.0, False), (50 * LOG2, True)):
        found = generalization_bound(runs, bins=3, binning="mass", information=nats)
        assert (found.vacuous, found.to_dict()["vacuous"]) == (vacuous, vacuous)
        assert (found.bound.value > 1) is vacuous


# Metric entropy ----------------------------------------------------------------------------------


def test_the_corrected_entropy_bound_is_theorem_5_of_the_rounded_classifier():
    nats = covering_information(3, lipschitz=2.0, radius=0.05)
    found = entropy_bound(500, bins=6, lipschitz=1.0, entropy=nats)
    other = labeled_generalization_bound(500, bins=6, binning="width", lipschitz=1.0, ecmi=nats)
    assert found.value == pytest.approx(other.value)
    printed = entropy_bound(500, bins=6, lipschitz=1.0, entropy=nats, radius=0.1, form="printed")
    expected = 2 / 6 + 3 * 0.1 + math.sqrt(8 * 6 * (nats + LOG2) / 500)
    assert printed.value == pytest.approx(expected)


def test_the_printed_entropy_bound_fails_for_scores_that_hug_an_edge():
    """One classifier covers them all, and they memorize every label by the side of 1/2."""
    rng = np.random.default_rng(0)
    n, tiny = 4000, 1e-9
    x, y = rng.random((n, 2)), rng.integers(0, 2, (n, 2))
    coins = draw_membership(n, seed=0, draw=0)[None]
    picked = np.where(coins[0], y[:, 1], y[:, 0])
    side = rng.integers(0, 2, (n, 2))  # unseen rows get a side of their own
    side[np.arange(n), coins[0].astype(int)] = picked
    runs = Runs(Supersample(x, y), coins, 0.5 + tiny * (2 * side[None] - 1))
    train = ece(runs.seen(0), bins=4, binning="width")
    assert train == pytest.approx(0.5, abs=1e-6)
    # Labels are fair coins for every score: the curve is flat (L = 0), and the TCE is 'tiny'.
    unseen = ece(runs.unseen(0), bins=4, binning="width")
    assert unseen < 4 * math.sqrt(1 / n)
    printed = entropy_bound(n, bins=4, lipschitz=0.0, entropy=0.0, radius=2 * tiny, form="printed")
    assert train - tiny > printed.value
    # The scores carry one bit per row, which makes the underlying theorem vacuous.
    assert generalization_bound(runs, bins=4, binning="width", information=n * LOG2).vacuous


def test_a_radius_above_a_bin_is_rejected():
    with pytest.raises(ValueError, match="'radius' must lie in"):
        entropy_bound(100, bins=5, lipschitz=1.0, entropy=1.0, radius=0.3)


# Information -------------------------------------------------------------------------------------


def test_bins_of_a_memory_say_the_coin_and_shuffled_coins_nothing():
    runs = run(labeled_pairs(20), memory, draws=200, seed=0)
    found = binned_information(runs, bins=4, binning="width")
    assert found == pytest.approx(np.full(20, LOG2), abs=0.03)
    noise = binned_information(runs, bins=4, binning="width", seed=0)
    # Two-by-two tables of independent coins: mean 1/2k before correction, and never below 0.
    assert 0.0 <= noise.mean() < 0.01


def test_bins_know_no_more_than_scores():
    rng = np.random.default_rng(0)
    pairs = labeled_pairs(12)
    coins = rng.integers(0, 2, (4000, 12)).astype(bool)
    # Four scores, of which two share a bin: the bins are a function of the scores.
    noise = rng.random((4000, 12)) < 0.3
    level = 2 * (coins ^ noise) + rng.integers(0, 2, (4000, 12))
    found = np.stack([0.1 + 0.05 * (level % 2) + 0.5 * (level // 2), np.full(level.shape, 0.9)], -1)
    runs = Runs(pairs, coins, found)
    bins = binned_information(runs, bins=2, binning="width")
    expected = LOG2 + 0.3 * math.log(0.3) + 0.7 * math.log(0.7)
    # The standard deviation of the log ratio of a channel with error 0.3, over 4000 draws.
    spread = math.log(7 / 3) * math.sqrt(0.21 / 4000)
    assert bins == pytest.approx(np.full(12, expected), abs=5 * spread)
    assert (bins <= samplewise_information(runs) + 1e-12).all()


@pytest.mark.parametrize("pairs", [labeled_pairs(8), pu_pairs(3, 5)])
def test_all_informations_at_once_are_those_one_by_one(pairs):
    runs = run(pairs, memory, draws=60, seed=0)
    found = measure_information(runs, bins=2, binning="width")
    assert found.fcmi == pytest.approx(samplewise_information(runs).sum())
    assert found.ecmi == pytest.approx(binned_information(runs, bins=2, binning="width").sum())
    assert found.most == pytest.approx(8 * LOG2)
    assert found.most_shown == pytest.approx(math.log(60))
    assert found.fcmi_noise < found.fcmi / 4
    if isinstance(pairs, PUSupersample):
        alone = samplewise_information(runs, unlabeled_only=True).sum()
        assert found.fcmi_unlabeled == pytest.approx(alone)
    else:
        assert math.isnan(found.fcmi_unlabeled)
    assert found.to_dict()["draws"] == 60


def test_a_few_draws_of_many_coins_show_nothing_of_a_perfect_memory():
    runs = run(labeled_pairs(60), memory, draws=10, seed=0)
    found = measure_information(runs, bins=3, binning="width")
    assert (found.ece_gap, found.label_gap, found.mass_gap, found.bin_gap) == (0, 0, 0, 0)
    assert found.most_shown < 3 < found.most
    # One coin per pair can be estimated from ten draws.
    assert found.ecmi > 0.5 * found.most


# Scorers on disk ---------------------------------------------------------------------------------


JOBLIB = (joblib.dump, joblib.load)


def save_weights(scorer, path):
    with path.open("wb") as stream:
        np.savez(stream, weights=scorer.weights)


def load_weights(path):
    with np.load(path, allow_pickle=False) as kept:
        return Line(kept["weights"])


class Line:
    """A scorer that is an array of weights."""

    def __init__(self, weights):
        self.weights = weights

    def __call__(self, rows):
        return expit(rows @ self.weights)


def line(rows, y, seed):
    return Line(np.random.default_rng(seed).normal(size=rows.shape[1]) + y.mean())


@pytest.mark.parametrize(
    ("train", "keep"),
    [(LogisticRegression(), JOBLIB), (line, (save_weights, load_weights))],
)
def test_scorers_are_kept_and_score_other_rows(tmp_path, train, keep):
    pairs = labeled_pairs(30)
    runs = run(pairs, train, draws=2, seed=0, folder=tmp_path, name="line", keep=keep)
    assert sorted(tmp_path.glob("*.scorer")) == list(runs.files)
    again = runs.scorer(1)(pairs.rows()).reshape(30, 2)
    assert np.array_equal(again, runs.found[1])
    assert runs.scorer(0)(np.array([[0.0], [3.0]])).shape == (2,)


def test_a_kept_scorer_is_not_trained_again_where_its_scores_are_lost(tmp_path):
    options = {"draws": 2, "seed": 0, "folder": tmp_path, "name": "memory", "keep": JOBLIB}
    pairs = labeled_pairs(10)
    first = run(pairs, memory, **options)
    for file in tmp_path.glob("*.npy"):
        file.unlink()

    def never(*_):
        pytest.fail("was trained again")

    second = run(pairs, never, **options)
    assert np.array_equal(first.found, second.found)


def test_scores_alone_are_trained_again_when_scorers_are_asked_for(tmp_path):
    options = {"draws": 1, "seed": 0, "folder": tmp_path, "name": "memory"}
    runs = run(labeled_pairs(10), memory, **options)
    with pytest.raises(ValueError, match="'runs' has no stored scorers"):
        runs.scorer(0)
    runs = run(labeled_pairs(10), memory, **options, keep=JOBLIB)
    assert runs.scorer(0)(np.zeros((1, 1))).tolist() == [0.1]


def test_a_location_for_scorers_is_required():
    with pytest.raises(ValueError, match="'folder' must be given to store scorers"):
        run(labeled_pairs(3), memory, draws=1, seed=0, keep=JOBLIB)
