"""The fitted calibration curve, its error and its interval, compared with definitions and
truths."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime, differential_evolution, minimize
from scipy.stats import beta as beta_law, binom
from strategies import samples

from noneg import PUScores
from noneg.calibration import bpm, bpm_fit
from noneg.calibration.bpm import BPMCurve, bpm_curve, tce_bpm, tce_bpm_interval
from noneg.calibration.bpm_fit import CurveRows, Objective, fit, local_minima, objective
from noneg.simulation import BinomialProcess, CalibrationCurve, LogisticGaussian

WORLDS = {name: BinomialProcess(name) for name in ("D1", "D2", "D3", "D4", "D5")}
# The score is already calibrated, so the error is zero.
CALIBRATED = BinomialProcess(CalibrationCurve("logit", 0.0, 1.0, -1.0), alpha=1.0, beta=0.4)
GRID = np.arange(1001) / 1000


def draw(world, setting, n, seed, ratio=5):
    if setting == "labeled":
        return world.draw(n=n, setting=setting, seed=seed)
    return world.draw(n, ratio * n, setting=setting, seed=seed)


def make_curve(alpha, beta, c, low=1e-300, high=2.0**-54):
    rest = {"log_objective": 0.0, "n_rows": 1, "n_bins": (1,), "n_points": 1, "last_step": 0.0}
    return BPMCurve(alpha=alpha, beta=beta, c=c, low=low, high=high, **rest)


# The points.


@pytest.mark.parametrize(
    ("n", "numbers"),
    [
        (5000, range(50, 251, 20)),
        (240, range(2, 13)),
        (199, range(1, 10)),
        (39, [1]),
        (1, [1]),
        (50_000, range(500, 2501, 200)),
        (400_000, range(500, 2501, 200)),
    ],
)
def test_numbers_of_bins(n, numbers):
    scores = PUScores.from_labels(np.arange(n) % 2, np.linspace(0, 1, n))
    assert CurveRows(scores).numbers == list(numbers)


def test_few_positives_make_few_bins():
    unlabeled = np.linspace(0.01, 0.99, 10_000)
    scores = PUScores(unlabeled[:100], unlabeled, prior=0.2, setting="two-sample")
    assert CurveRows(scores).n_rows == 500
    assert CurveRows(scores.with_prior(0.05)).n_rows == 2000


@settings(max_examples=40)
@given(samples(min_size=30, max_size=130), st.integers(1, 9))
def test_points_are_their_definition(sample, n_bins):
    points = CurveRows(sample.build()).points([n_bins])
    positive = sample.score[sample.flags]
    marginal = np.sort(
        sample.score[~sample.flags] if sample.setting == "two-sample" else sample.score
    )
    prior = sample.build().prior
    n = marginal.size
    edges = [
        marginal[n * b // n_bins - 1] if n * b >= n_bins else marginal[0] for b in range(1, n_bins)
    ]
    edges = np.unique([e for e in edges if e < marginal[-1]])
    bins = np.searchsorted(edges, marginal, side="left")
    mass = np.bincount(bins, minlength=edges.size + 1) / n
    shares = np.bincount(np.searchsorted(edges, positive, side="left"), minlength=mass.size)
    assert points.weight == pytest.approx(mass)
    assert points.score * mass == pytest.approx(np.bincount(bins, marginal) / n, abs=1e-12)
    assert points.frequency == pytest.approx(prior * shares / positive.size / mass)
    assert points.score + points.complement == pytest.approx(1.0)


def test_means_next_to_1_keep_their_distance():
    gaps = np.concatenate([np.full(50, 2e-16), np.full(50, 1e-13), np.linspace(0.1, 0.9, 10_000)])
    points = CurveRows(PUScores.from_labels([1, 0] * 5050, 1.0 - gaps)).points([202])
    assert points.complement[-1] == pytest.approx((1.0 - (1.0 - gaps[:50])).mean(), rel=1e-9)
    assert points.complement[-2] == pytest.approx(1e-13, rel=1e-2)


def test_cells_add_up_to_bins():
    rows = CurveRows(WORLDS["D3"].draw(n=700, setting="labeled", seed=0))
    points = rows.points()
    s, mass = rows.marginal
    below = np.append(0.0, np.cumsum(mass))[np.searchsorted(s, points.cuts, side="right")]
    bins = points.add_up(np.diff(below, prepend=0.0))
    assert bins / bins.sum() == pytest.approx(points.weight)
    assert points.weight.sum() == pytest.approx(1)


def test_scores_of_exactly_0_and_1_stand_for_half_the_next_gap():
    rounded = np.array([0.0, 0.001, 0.5, 0.998, 1.0])
    assert CurveRows(PUScores.from_labels([0, 0, 1, 1, 1], rounded)).limits == pytest.approx(
        (0.0005, 0.001)
    )
    low, high = CurveRows(PUScores.from_labels([0, 1], [0.2, 0.9])).limits
    assert (low, high) == (1e-300, 2.0**-54)
    assert CurveRows(PUScores.from_labels([0, 1, 1], [0, 0.5, 1])).limits == (0.005, 0.005)


# The objective and its minimum.


def random_objective(seed, members=1):
    rng = np.random.default_rng(seed)
    s = np.sort(rng.random(40))
    x = np.stack([np.log(s), -np.log1p(-s), -np.ones(40)], axis=1)
    return Objective(x, rng.random((members, 40)) * 1.5, np.full(40, 1 / 40))


@pytest.mark.parametrize("theta", [(1, 1, 0), (0.3, 2, -1), (0, 0, 0.4), (5, 0.1, 3)], ids=str)
def test_derivatives_are_those_of_the_value(theta):
    f, theta = random_objective(1), np.array(theta, dtype=float)
    gradient, hessian, _ = f.derivatives(theta[None])
    found = approx_fprime(theta, lambda t: f.value(t[None])[0], 1e-7)
    assert gradient[0] == pytest.approx(found, abs=1e-6)
    found = approx_fprime(theta, lambda t: f.derivatives(t[None])[0][0], 1e-7)
    assert hessian[0] == pytest.approx(found, abs=1e-5)


def test_the_value_is_the_logarithm_of_equation_9():
    rows = CurveRows(WORLDS["D4"].draw(n=900, setting="labeled", seed=0))
    curve, total = bpm.fit_curve(rows), 0.0
    for n_bins in rows.numbers:
        points = rows.points([n_bins])
        square = (curve(points.score) - points.frequency) ** 2
        total += (points.weight * np.exp(square)).sum() / len(rows.numbers)
    assert curve.objective == pytest.approx(total, abs=1e-12)
    assert curve.log_objective == pytest.approx(math.log(total), abs=1e-12)


def test_frequencies_far_above_1_do_not_overflow():
    """All positives have one of many scores: an assumption is violated, but the result stays
    finite."""
    unlabeled = np.linspace(0.01, 0.99, 20_000)
    scores = PUScores(np.full(10_000, 0.5), unlabeled, prior=0.5, setting="two-sample")
    curve = bpm_curve(scores)
    assert curve.log_objective > 700
    assert curve.objective == math.inf
    assert 0 <= tce_bpm(scores) <= 1
    json.dumps(curve.to_dict(), allow_nan=False)


def search_evolution(f, seed=1):
    """Return the minimum of F by differential evolution over slopes and the logit at the
    midpoint."""
    middle = f.design[len(f.design) // 2]

    def theta(u):
        slopes = np.expm1(u[:2])
        return np.stack([*slopes, slopes.T @ middle[:2] - u[2]], axis=-1)

    found = differential_evolution(
        lambda u: f.value(theta(u)),
        [(0, 6), (0, 6), (-30, 30)],
        vectorized=True,
        updating="deferred",
        popsize=30,
        maxiter=250,
        tol=1e-12,
        polish=False,
        rng=seed,
    )
    return found.fun


@pytest.mark.parametrize(
    "scores",
    [
        WORLDS["D2"].draw(n=500, setting="labeled", seed=0),  # has a second minimum
        WORLDS["D3"].draw(100, 1500, setting="two-sample", seed=3),  # likewise
        WORLDS["D5"].draw(60, 800, setting="one-sample", seed=3),
        PUScores.from_labels(np.arange(400) % 7 > 2, np.linspace(0, 1, 400) ** 2),
        PUScores.from_labels(np.arange(400) < 120, np.linspace(0, 1, 400)),  # falls
    ],
    ids=["D2", "D3 two-sample", "D5 one-sample", "flat", "falling"],
)
def test_the_minimum_is_global(scores):
    rows = CurveRows(scores)
    f = objective(rows.points(), rows.limits)
    found = f.value(bpm.fit_curve(rows).parameters[None])[0]
    assert found <= search_evolution(f) + 1e-10


def test_the_minimum_is_that_of_scipy():
    rows = CurveRows(WORLDS["D5"].draw(n=3000, setting="labeled", seed=2))
    f = objective(rows.points(), rows.limits)
    found = minimize(
        lambda t: (f.value(t[None])[0] * 1e4, f.derivatives(t[None])[0][0] * 1e4),
        [1, 1, 0],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 1000},
    )
    curve = bpm.fit_curve(rows)
    assert curve.parameters == pytest.approx(found.x, abs=1e-4)
    assert curve.last_step < 1e-10


def test_a_batch_is_fitted_as_if_alone():
    f = random_objective(3, members=4)
    together, _ = local_minima(f, np.tile([1.0, 1.0, 0.0], (4, 1)))
    for k in range(4):
        alone, _ = local_minima(
            Objective(f.design, f.frequency[[k]], f.weight), np.array([[1.0, 1, 0]])
        )
        assert together[k] == pytest.approx(alone[0], abs=1e-7)


def test_constraints_hold_and_the_curve_never_falls():
    falling = PUScores.from_labels(np.arange(1000) < 400, np.linspace(0, 1, 1000))
    curve = bpm_curve(falling)
    assert (curve.alpha, curve.beta) == (0, 0)
    assert curve([0, 0.3, 1]) == pytest.approx(0.4, abs=0.05)
    for world in WORLDS.values():
        values = bpm_curve(world.draw(n=500, setting="labeled", seed=1))(GRID)
        assert (np.diff(values) >= 0).all()


# The curve.


@pytest.mark.parametrize(("name", "reach"), [("D1", 0.04), ("D4", 0.01), ("D5", 0.01)])
def test_a_curve_of_the_family_is_recovered(name, reach):
    world = WORLDS[name]
    curve = bpm_curve(world.draw(n=100_000, setting="labeled", seed=0))
    # At 0, the curve is 0 for any alpha > 0.
    assert np.abs(curve(GRID[1:]) - world.posterior(GRID[1:])).max() < reach


def test_the_population_gives_the_curve_itself():
    curve = bpm_curve(WORLDS["D4"].draw(math.inf, math.inf, setting="two-sample", seed=0))
    assert curve.parameters == pytest.approx([0.0, 0.8, 0.77], abs=0.01)
    half = WORLDS["D4"].draw(math.inf, 3000, setting="two-sample", seed=0)
    assert bpm_curve(half).beta == pytest.approx(0.8, abs=0.1)
    assert tce_bpm(half, density="empirical") == pytest.approx(WORLDS["D4"].tce(), abs=0.02)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_pu_data_gives_the_curve_too(setting):
    world = WORLDS["D5"]
    curve = bpm_curve(world.draw(20_000, 100_000, setting=setting, seed=0))
    assert np.abs(curve(GRID[10:]) - world.posterior(GRID[10:])).max() < 0.03


def test_propensities_correct_the_positives():
    rng = np.random.default_rng(0)
    world = WORLDS["D5"]
    s = world.positive_law().draw(60_000, seed=1)
    rate = 0.2 + 0.7 * s
    seen = rng.random(s.size) < rate
    unlabeled = world.marginal_law().draw(60_000, seed=2)
    plain = {"prior": world.prior, "setting": "two-sample"}
    curve = bpm_curve(PUScores(s[seen], unlabeled, propensity=rate[seen], **plain))
    biased = bpm_curve(PUScores(s[seen], unlabeled, **plain))
    errors = [np.abs(c(GRID) - world.posterior(GRID)).mean() for c in (curve, biased)]
    assert errors[0] < 0.03 < errors[1]


def test_the_curve_is_equation_12():
    curve = make_curve(0.7, 1.3, 0.2)
    s = np.array([0.01, 0.5, 0.97])
    assert curve(s) == pytest.approx(1 / (1 + s**-0.7 * (1 - s) ** 1.3 * math.exp(0.2)))
    assert curve.at_logit(np.log(s / (1 - s))) == pytest.approx(curve(s))
    assert make_curve(1, 1, 0)(GRID) == pytest.approx(GRID)
    assert curve(0.5).shape == ()
    with pytest.raises(ValueError, match=r"'s' must lie in \[0, 1\], got .*1.5"):
        curve([0.5, 1.5])
    with pytest.raises(ValueError, match="nan"):
        curve(math.nan)


def test_the_curve_is_plain_json():
    curve = bpm_curve(WORLDS["D1"].draw(n=800, setting="labeled", seed=0))
    fields = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    fields["n_bins"] = tuple(fields["n_bins"])
    assert BPMCurve(**fields) == curve
    assert curve.n_points <= sum(curve.n_bins)


@pytest.mark.parametrize("name", ["D1", "D2"])
def test_saturated_scores(name):
    scores, y = WORLDS[name].draw_rows(5000, seed=0)
    assert (scores == 1.0).mean() > 0.2
    data = PUScores.from_labels(y, scores)
    curve = bpm_curve(data)
    assert curve.high == 2.0**-54
    assert np.isfinite(curve([0, 5e-324, 0.5, 1 - 2.0**-53, 1])).all()
    assert curve(1.0) > 0.99
    assert tce_bpm(data) == pytest.approx(WORLDS[name].tce(), abs=0.015)


# The error.


@pytest.mark.parametrize(
    ("parameters", "shape"),
    [
        ((1.4, 0.3, 0.5), (2, 3)),
        ((0.2, 2, -1), (0.5, 0.7)),
        ((3, 3, 0), (1, 1)),
        ((0, 0, 1), (5, 2)),
    ],
)
def test_quadrature(parameters, shape):
    curve, law = make_curve(*parameters), beta_law(*shape)
    expected = sum(
        quad(lambda s: abs(curve(s) - s) * law.pdf(s), a, b, limit=200)[0]
        for a, b in pairwise(np.linspace(0, 1, 41))
    )
    assert bpm._beta_error(curve, law.mean(), law.var()) == pytest.approx(expected, abs=1e-6)


def test_quadrature_with_nearly_all_mass_at_the_ends():
    """Beta(0.02, 0.01) has a third of its mass below 1e-17 of an end."""
    world = BinomialProcess(CalibrationCurve("logit", -0.3, 0.6, -0.2), alpha=0.02, beta=0.01)
    curve = make_curve(0.6, 0.2, 0.3, low=1e-300, high=1e-300)
    law = beta_law(0.02, 0.01)
    assert bpm._beta_error(curve, law.mean(), law.var()) == pytest.approx(world.tce(), abs=2e-3)
    flat = make_curve(0, 0, 0)
    assert bpm._beta_error(flat, 0.5, 1 / 12) == pytest.approx(0.25, abs=1e-12)
    assert bpm._beta_error(make_curve(1, 1, 0), 0.9, 0.05) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("variance", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-20])
def test_concentrated_scores(variance):
    flat = make_curve(0, 0, 0)
    assert bpm._beta_error(flat, 0.3, variance) == pytest.approx(0.2, abs=1e-8 + variance)
    folded = math.sqrt(2 / math.pi * variance)  # mean of |s - 1/2| for a normal s
    assert bpm._beta_error(flat, 0.5, variance) == pytest.approx(folded, rel=1e-2)


def test_the_empirical_error_is_a_mean_over_rows():
    for setting in ("labeled", "two-sample", "one-sample"):
        data = draw(WORLDS["D3"], setting, 400, 1)
        curve, rows = bpm_curve(data), CurveRows(data)
        s, mass = rows.marginal
        assert mass.sum() == data.n_marginal
        expected = np.average(np.abs(curve(s) - s), weights=mass)
        assert tce_bpm(data, density="empirical") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("density", ["beta", "empirical"])
@pytest.mark.parametrize("name", ["D1", "D4", "D5"])
def test_the_error_tends_to_the_true_one(name, density):
    data = WORLDS[name].draw(n=60_000, setting="labeled", seed=0)
    assert tce_bpm(data, density=density) == pytest.approx(WORLDS[name].tce(), abs=0.005)


def test_a_calibrated_score_has_next_to_no_error():
    assert tce_bpm(CALIBRATED.draw(n=60_000, setting="labeled", seed=0)) < 0.004
    world = LogisticGaussian.calibrated()
    assert tce_bpm(world.draw(6000, 60_000, setting="two-sample", seed=0)) < 0.01


@settings(max_examples=15)
@given(st.sampled_from(sorted(WORLDS)), st.integers(0, 10**6), st.integers(40, 1500))
def test_everything_labeled_is_the_labeled_case(name, seed, n):
    score, y = WORLDS[name].draw_rows(n, seed)
    y[0], y[1] = 1, 0
    labeled = PUScores.from_labels(y, score)
    one = PUScores.from_pu_labels(y, score, prior=y.mean(), setting="one-sample")
    two = PUScores(score[y == 1], score, prior=y.mean(), setting="two-sample")
    expected = bpm_curve(labeled)
    for other in (one, two):
        assert bpm_curve(other).n_bins == expected.n_bins
        for density in ("beta", "empirical"):
            a, b = (tce_bpm(x, density=density) for x in (labeled, other))
            assert a == pytest.approx(b, abs=1e-8)


def error_or_message(scores, **options):
    try:
        return tce_bpm(scores, **options)
    except ValueError as refusal:
        return str(refusal)[:40]


@settings(max_examples=30)
@given(samples(max_size=90), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant(sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    for density in ("beta", "empirical"):
        a = error_or_message(sample.build(), density=density)
        b = error_or_message(sample.take(order).build(), density=density)
        assert a == b if isinstance(a, str) else a == pytest.approx(b, abs=1e-8)


@settings(max_examples=30)
@given(samples(max_size=60))
def test_a_row_twice_is_a_row_of_weight_two(sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    a, b = (error_or_message(x, density="empirical") for x in (twice, weighted))
    assert a == pytest.approx(b, abs=1e-6)


def test_equal_importance_weights_are_none_and_zero_weights_drop_rows():
    data = WORLDS["D4"].draw_rows(400, seed=0)
    score, y = data
    plain = tce_bpm(PUScores.from_labels(y, score))
    options = {"weight_kind": "importance"}
    assert tce_bpm(PUScores.from_labels(y, score, sample_weight=np.full(400, 3.7), **options)) == (
        pytest.approx(plain, abs=1e-8)
    )
    more = np.append(score, [1.0, 1.0]), np.append(y, [0, 1]), np.append(np.ones(400), [0, 0])
    dropped = PUScores.from_labels(more[1], more[0], sample_weight=more[2], **options)
    assert tce_bpm(dropped) == pytest.approx(plain, abs=1e-8)


@pytest.mark.parametrize("name", ["D3", "D5"])
def test_larger_bins_instead_of_more_give_the_same(name, monkeypatch):
    data = WORLDS[name].draw(n=200_000, setting="labeled", seed=0)
    capped = tce_bpm(data)
    monkeypatch.setattr(bpm_fit, "MOST_ROWS", 10**9)
    assert len(CurveRows(data).points().score) > 50_000
    assert tce_bpm(data) == pytest.approx(capped, abs=1e-4)


# Degenerate data.


@pytest.mark.parametrize(
    "score",
    [[0.3] * 60, [0.0] * 60, [1.0] * 60, [0.0, 1.0] * 30, [0.3, 0.7] * 30, [0.5, 1.0] * 30],
    ids=["equal", "all 0", "all 1", "0 and 1", "two values", "half at 1"],
)
@pytest.mark.parametrize("labels", ["both", "positives", "negatives", "one positive"])
def test_degenerate_scores_and_labels(score, labels):
    y = {
        "both": np.arange(60) % 3 == 0,
        "positives": np.ones(60, bool),
        "negatives": np.zeros(60, bool),
        "one positive": np.arange(60) == 7,
    }[labels]
    scores = PUScores.from_labels(y, score)
    assert 0 <= tce_bpm(scores, density="empirical") <= 1
    json.dumps(bpm_curve(scores).to_dict(), allow_nan=False)
    interval = tce_bpm_interval(scores, density="empirical")
    assert 0 <= interval.low <= interval.value <= interval.high
    if len(set(score)) == 1:
        with pytest.raises(ValueError, match=r"'scores' must vary for density='beta'.*empirical"):
            tce_bpm(scores)
    elif set(score) == {0.0, 1.0}:
        with pytest.raises(ValueError, match="vary less than scores of only 0 and 1"):
            tce_bpm(scores)
    else:
        assert 0 <= tce_bpm(scores) <= 1


def test_equal_scores_of_the_right_frequency_have_no_error():
    scores = PUScores.from_labels([1, 0, 0, 0] * 50, [0.25] * 200)
    assert tce_bpm(scores, density="empirical") == pytest.approx(0, abs=1e-6)
    wrong = PUScores.from_labels([1, 0, 0, 0] * 50, [0.75] * 200)
    assert tce_bpm(wrong, density="empirical") == pytest.approx(0.5, abs=1e-4)


def test_one_positive_and_one_unlabeled_row():
    one = PUScores([0.7], np.linspace(0, 1, 50), prior=0.5, setting="two-sample")
    assert 0 <= tce_bpm(one) <= 1
    interval = tce_bpm_interval(one)
    assert (interval.low, interval.high) == (0, 1)
    row = PUScores([0.7, 0.6], [0.4], prior=0.5, setting="two-sample")
    assert tce_bpm(row, density="empirical") == pytest.approx(0.1, abs=1e-3)
    with pytest.raises(ValueError, match="must vary"):
        tce_bpm(row)


@pytest.mark.parametrize("function", [tce_bpm, tce_bpm_interval])
def test_bad_options(function):
    data = WORLDS["D5"].draw(n=100, setting="labeled", seed=0)
    with pytest.raises(ValueError, match="'density' must be 'beta' or 'empirical', got 'normal'"):
        function(data, density="normal")
    with pytest.raises(ValueError, match="confidence level"):
        tce_bpm_interval(data, level=2)


# The interval.


@pytest.mark.parametrize(
    ("world", "setting", "density"),
    [
        (WORLDS["D4"], "labeled", "beta"),
        (WORLDS["D5"], "two-sample", "empirical"),
        (CALIBRATED, "two-sample", "beta"),
    ],
)
def test_nominal_95_percent_covers(world, setting, density):
    """A small version of the table in experiments/bpm."""
    trials, covered = 30, 0
    for seed in range(trials):
        interval = tce_bpm_interval(draw(world, setting, 600, seed), density=density)
        covered += interval.low <= world.tce() + 1e-12 <= interval.high
    # If the coverage is 95%, the probability of fewer hits than this is below 0.1%.
    assert covered >= binom.ppf(0.001, trials, 0.95)


@settings(max_examples=10)
@given(samples(max_size=90), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_holds_the_estimate(sample, level):
    scores = sample.build()
    interval = tce_bpm_interval(scores, level=level, density="empirical")
    assert 0 <= interval.low <= interval.value <= interval.high
    assert interval.value == tce_bpm(scores, density="empirical")
    assert interval.level == level


def test_higher_levels_are_wider_and_seeds_matter_little():
    scores = draw(WORLDS["D5"], "two-sample", 300, 0)
    intervals = [tce_bpm_interval(scores, level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    assert all(b.low <= a.low and a.high <= b.high for a, b in pairwise(intervals))
    again = tce_bpm_interval(scores)
    assert again == intervals[2]
    other = tce_bpm_interval(scores, seed=1)
    width = again.high - again.low
    assert abs(other.low - again.low) + abs(other.high - again.high) < 0.5 * width


def test_an_unknown_prior_widens_the_interval():
    scores = draw(WORLDS["D5"], "two-sample", 300, 3)
    prior = scores.prior
    unsure = tce_bpm_interval(scores.with_prior(prior, interval=(prior - 0.05, prior + 0.05)))
    for other in (prior - 0.05, prior, prior + 0.05):
        sure = tce_bpm_interval(scores.with_prior(other))
        assert unsure.low <= sure.low
        assert sure.high <= unsure.high
    assert "every prior" in unsure.method


def test_more_rows_narrow_the_interval():
    widths = []
    for n in (300, 3000, 60_000):
        interval = tce_bpm_interval(WORLDS["D4"].draw(n=n, setting="labeled", seed=4))
        widths.append(interval.high - interval.low)
    assert widths[0] > 2 * widths[1] > 6 * widths[2]


def test_an_infinite_sample_leaves_no_doubt():
    law = WORLDS["D5"].draw(math.inf, math.inf, setting="two-sample", seed=0)
    interval = tce_bpm_interval(law)
    assert interval.high - interval.low < 1e-6
    assert interval.value == pytest.approx(WORLDS["D5"].tce(), abs=1e-3)


def test_the_search_needs_no_fine_binning():
    rows = CurveRows(WORLDS["D2"].draw(n=8000, setting="labeled", seed=0))
    full, *_ = fit(rows.points(), rows.points(), rows.limits)
    coarse, *_ = fit(rows.points(), rows.coarse_points(500), rows.limits)
    assert full == pytest.approx(coarse, abs=1e-8)


def test_interval_of_scores_that_hardly_vary():
    """Two neighboring floats: the density of their beta distribution would overflow."""
    scores = PUScores([0.0, 0.0], [0.5, np.nextafter(0.5, 1.0)], prior=0.5, setting="two-sample")
    found = tce_bpm_interval(scores)
    assert np.isfinite([found.low, found.value, found.high]).all()
    assert found.low <= found.value <= found.high
    at_scores = tce_bpm_interval(scores, density="empirical")
    assert found.value == pytest.approx(at_scores.value, abs=1e-9)
    assert found.high == pytest.approx(at_scores.high, abs=1e-9)
