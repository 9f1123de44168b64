"""Simulated populations compared with closed forms and with quadrature in other variables."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import betainc, betaincc, betaln, expit, logit
from scipy.stats import norm

from noneg.simulation import (
    BetaLaw,
    BinomialProcess,
    CalibrationCurve,
    LogisticGaussian,
    LogitMixture,
    MixtureLaw,
)
from noneg.simulation.worlds import converged_breaks, panel_integrals, sign_changes

LESS = LogisticGaussian(-0.5, 1.5)
BETTER = LogisticGaussian(-0.2, 1.9)
SKEWED = LogisticGaussian(0.4, -0.7, prior=0.1)
BIMODAL = LogitMixture(
    positive=([0.6, 0.4], [4.0, 0.5], [1.0, 2.0]),
    negative=([0.3, 0.7], [-1.0, -6.0], [0.5, 3.0]),
    prior=0.2,
)
TABLE_2 = {name: BinomialProcess(name) for name in ("D1", "D2", "D3", "D4", "D5")}
WORLDS = {"less": LESS, "better": BETTER, "skewed": SKEWED, "bimodal": BIMODAL, **TABLE_2}
EDGES = np.array([0.0, 0.01, 0.1, 0.3, 0.30001, 0.5, 0.9, 0.999, 1.0])

every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)

priors = st.floats(0.02, 0.98)
logits = st.floats(-6, 6)
sds = st.floats(0.05, 5)
mixtures = (
    st.integers(1, 3)
    .flatmap(
        lambda k: st.tuples(*(st.lists(e, min_size=k, max_size=k) for e in (priors, logits, sds)))
    )
    .map(lambda columns: ([w / sum(columns[0]) for w in columns[0]], *columns[1:]))
)
worlds = st.builds(LogitMixture, positive=mixtures, negative=mixtures, prior=priors)
bin_edges = st.lists(st.floats(0, 1), max_size=12).map(lambda inner: [0.0, *sorted(inner), 1.0])


# --- the truth -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "tce"),
    [
        (LESS, 0.0744432620),
        (BETTER, 0.0234589129),
        (LogisticGaussian(-0.5, -1.5, mirror=True), 0.0744432620),
        (LogisticGaussian(-0.2, -1.9, mirror=True), 0.0234589129),
        (TABLE_2["D1"], 0.0497260183),
        (TABLE_2["D2"], 0.0129348049),
        (TABLE_2["D3"], 0.0409891008),
        (TABLE_2["D4"], 0.0738305881),
        (TABLE_2["D5"], 0.2754111710),
    ],
)
def test_true_calibration_error_of_the_papers_populations(world, tce):
    assert world.tce() == pytest.approx(tce, abs=1e-10)


@pytest.mark.parametrize("prior", [0.03, 0.5, 0.9])
@pytest.mark.parametrize("mirror", [False, True])
def test_score_equal_to_the_posterior_has_no_error(prior, mirror):
    world = LogisticGaussian.calibrated(prior, mirror=mirror)
    assert world.tce() < 1e-14
    s = np.linspace(0.001, 0.999, 50)
    np.testing.assert_allclose(world.posterior(s), s, atol=1e-14)


@pytest.mark.parametrize("world", [LESS, SKEWED, BIMODAL], ids=["less", "skewed", "bimodal"])
def test_tce_agrees_with_quadrature_over_the_score(world):
    def integrand(s):
        v = logit(s)
        positive = world.prior * density(world.positive_law(), v)
        marginal = positive + (1 - world.prior) * density(world.negative_law(), v)
        return abs(positive - s * marginal) / (s * (1 - s))

    cuts = expit(np.linspace(-30, 30, 241))
    value = sum(quad(integrand, *ends, epsabs=1e-14)[0] for ends in pairwise(cuts))
    assert world.tce() == pytest.approx(value, abs=1e-10)


def test_tce_with_a_closed_form():
    # Density 2 s and the curve with odds sqrt(s / (1 - s)): the integral is (log 2 - 1/2) / 2.
    curve = CalibrationCurve("logit", 0.0, log_slope=0.5, logflip_slope=-0.5)
    world = BinomialProcess(curve, alpha=2.0, beta=1.0)
    assert world.tce() == pytest.approx((math.log(2) - 0.5) / 2, abs=1e-13)


@pytest.mark.parametrize("sd", [1e-8, 1e-3])
def test_scores_at_two_points_in_the_limit(sd):
    # Scores concentrate at 0.2 (mostly negatives) and 0.7 (mostly positives).
    means = [float(logit(0.2)), float(logit(0.7))]
    world = LogitMixture(
        positive=([0.1, 0.9], means, [sd, sd]), negative=([0.6, 0.4], means, [sd, sd]), prior=0.5
    )
    mass = np.array([0.35, 0.65])
    truth = np.array([0.05, 0.45]) / mass
    expected = mass @ np.abs(truth - [0.2, 0.7])
    assert world.tce() == pytest.approx(expected, abs=sd)
    np.testing.assert_allclose(world.posterior([0.2, 0.7]), truth, rtol=1e-6)


def test_mirrored_populations_have_the_same_laws():
    mirrored = LogisticGaussian(-0.5, -1.5, prior=0.3, mirror=True)
    world = LogisticGaussian(-0.5, 1.5, prior=0.3)
    assert mirrored.positive_law() == world.positive_law()
    assert mirrored.marginal_law() == world.marginal_law()
    assert LogisticGaussian.less_calibrated(0.3, mirror=True) == mirrored
    assert LogisticGaussian.better_calibrated(mirror=True) == LogisticGaussian(
        -0.2, -1.9, mirror=True
    )


def test_logistic_gaussian_is_a_logit_mixture_of_single_components():
    mixture = LogitMixture(
        positive=([1.0], [-0.3], [0.7]), negative=([1.0], [1.1], [0.7]), prior=0.1
    )
    assert mixture.tce() == pytest.approx(SKEWED.tce(), abs=1e-14)
    np.testing.assert_allclose(
        mixture.positive_law().moments(EDGES), SKEWED.positive_law().moments(EDGES), atol=1e-14
    )


def test_mixture_takes_distributions_or_triples():
    laws = {
        "positive": MixtureLaw(weights=[0.6, 0.4], means=[4.0, 0.5], sds=[1.0, 2.0]),
        "negative": MixtureLaw(weights=[0.3, 0.7], means=[-1.0, -6.0], sds=[0.5, 3.0]),
    }
    assert LogitMixture(**laws, prior=0.2) == BIMODAL
    assert LogitMixture(**laws, prior=0.3) != BIMODAL


@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_posterior_is_the_logistic_model_of_the_paper(prior):
    x = np.linspace(-4, 4, 41)
    world = LogisticGaussian(-0.5, 1.5, prior)
    expected = expit(2 * x + logit(prior))
    np.testing.assert_allclose(world.posterior(expit(-0.5 + 1.5 * x)), expected, rtol=1e-11)


def test_posterior_falls_when_the_score_ranks_backwards():
    posterior = SKEWED.posterior(np.linspace(0, 1, 101))
    assert np.all(np.diff(posterior) < 0)
    assert (posterior[0], posterior[-1]) == (1, 0)


@pytest.mark.parametrize(
    ("name", "curve"),
    [
        ("D1", lambda s: expit(-0.88 + 0.49 * logit(s))),
        ("D2", lambda s: 1 - np.exp(-0.12 + 0.58 * np.log(1 - s))),
        ("D3", lambda s: np.exp(-0.03 + 1.27 * np.log(s))),
        ("D4", lambda s: expit(-0.77 - 0.80 * np.log(1 - s))),
        ("D5", lambda s: expit(-0.97 + 0.34 * logit(s))),
    ],
)
def test_posterior_is_the_printed_curve(name, curve):
    s = np.linspace(0.001, 0.999, 500)
    np.testing.assert_allclose(TABLE_2[name].posterior(s), curve(s), rtol=1e-12)


def test_posterior_at_the_ends_is_the_limit():
    limits = {name: world.posterior([0.0, 1.0]).tolist() for name, world in TABLE_2.items()}
    assert limits["D1"] == limits["D5"] == [0, 1]
    assert limits["D2"] == pytest.approx([1 - math.exp(-0.12), 1])
    assert limits["D3"] == pytest.approx([0, math.exp(-0.03)])
    assert limits["D4"] == pytest.approx([expit(-0.77), 1])
    assert BIMODAL.posterior([0.0, 1.0]).tolist() == [0, 0]  # the widest component is negative


def test_family_of_equation_12_is_a_curve():
    alpha, beta, c = 0.7, 1.3, 0.4
    s = np.linspace(0.01, 0.99, 99)
    curve = CalibrationCurve("logit", -c, log_slope=alpha, logflip_slope=-beta)
    expected = 1 / (1 + s**-alpha * (1 - s) ** beta * math.exp(c))
    np.testing.assert_allclose(curve.at_logit(logit(s)), expected, rtol=1e-12)


# --- binned errors -------------------------------------------------------------------------------


@every_world
def test_one_bin_leaves_the_bias_of_the_mean(world):
    mean = world.marginal_law().moments([0.0, 1.0])[0, 1]
    assert world.binned_tce([0, 1]) == pytest.approx(abs(world.prior - mean), abs=1e-13)


@every_world
def test_binned_error_is_made_of_moments(world):
    positive = world.positive_law().moments(EDGES)
    marginal = world.marginal_law().moments(EDGES)
    expected = np.abs(world.prior * positive[:, 0] - marginal[:, 1]).sum()
    assert world.binned_tce(EDGES) == pytest.approx(expected, abs=1e-13)


@every_world
def test_binned_error_rises_to_the_true_error_as_bins_halve(world):
    errors = [world.binned_tce(np.arange(2**k + 1) / 2**k) for k in range(11)]
    assert np.all(np.diff(errors) >= -1e-13)
    assert world.tce() - 1e-6 < errors[-1] <= world.tce() + 1e-13


@settings(max_examples=40, deadline=None)
@given(worlds, bin_edges)
def test_binned_error_lies_between_one_bin_and_the_true_error(world, edges):
    error = world.binned_tce(edges)
    assert world.binned_tce([0, 1]) - 1e-12 <= error <= world.tce() + 1e-12


def test_cut_at_the_sign_change_loses_nothing():
    # beta0 + beta1 x = 2 x at x = -1, the only point where the score is right.
    crossing = float(expit(-0.5 + 1.5 * -1))
    assert LESS.binned_tce([0, crossing, 1]) == pytest.approx(LESS.tce(), abs=1e-13)


# --- population distributions ---------------------------------------------------------------------


def density(law, v):
    """Gaussian mixture density by scipy's normal density."""
    return norm.pdf(np.asarray(v)[..., None], law.means, law.sds) @ np.asarray(law.weights)


@pytest.mark.parametrize("law", ["positive_law", "negative_law", "marginal_law"])
@pytest.mark.parametrize("world", [LESS, SKEWED, BIMODAL], ids=["less", "skewed", "bimodal"])
def test_mixture_moments_agree_with_quadrature_over_the_score(world, law):
    law = getattr(world, law)()
    cdf = norm.cdf(logit(EDGES)[:, None], law.means, law.sds) @ np.asarray(law.weights)
    moments = law.moments(EDGES)
    np.testing.assert_allclose(moments[:, 0], np.diff(cdf), atol=1e-13)

    def integrand(s, k):
        return s**k * density(law, logit(s)) / (s * (1 - s))

    for k in (1, 2):
        inner = [
            quad(integrand, *ends, args=(k,), epsabs=1e-13, limit=200)[0]
            for ends in pairwise(EDGES[1:-1])
        ]
        np.testing.assert_allclose(moments[1:-1, k], inner, atol=1e-11)


@pytest.mark.parametrize("world", TABLE_2.values(), ids=TABLE_2)
def test_beta_moments_agree_with_the_incomplete_beta_function(world):
    a, b = world.alpha, world.beta
    moments = world.marginal_law().moments(EDGES)
    for k in range(3):
        scale = math.exp(betaln(a + k, b) - betaln(a, b))
        expected = -scale * np.diff(betaincc(a + k, b, EDGES))
        np.testing.assert_allclose(moments[:, k], expected, atol=1e-13)


def test_positive_moments_with_closed_forms():
    d2, d3 = TABLE_2["D2"], TABLE_2["D3"]

    def incomplete(a, b, base):
        return -math.exp(betaln(a, b) - betaln(*base)) * np.diff(betaincc(a, b, EDGES))

    for k in range(3):
        base = d3.alpha, d3.beta
        curve_mass = math.exp(-0.03) * incomplete(d3.alpha + 1.27 + k, d3.beta, base)
        np.testing.assert_allclose(
            d3.prior * d3.positive_law().moments(EDGES)[:, k], curve_mass, atol=1e-13
        )
        base = d2.alpha, d2.beta
        curve_mass = incomplete(d2.alpha + k, d2.beta, base) - math.exp(-0.12) * incomplete(
            d2.alpha + k, d2.beta + 0.58, base
        )
        np.testing.assert_allclose(
            d2.prior * d2.positive_law().moments(EDGES)[:, k], curve_mass, atol=1e-13
        )


@every_world
@pytest.mark.parametrize("kind", ["positive_law", "marginal_law"])
def test_distribution_has_mass_one_and_adds_up_over_bins(world, kind):
    law = getattr(world, kind)()
    total = law.moments([0.0, 1.0])[0]
    assert total[0] == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(law.moments(EDGES).sum(axis=0), total, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(worlds, bin_edges)
def test_moments_add_up_and_obey_jensen(world, edges):
    law = world.marginal_law()
    moments = law.moments(edges)
    np.testing.assert_allclose(moments.sum(axis=0), law.moments([0.0, 1.0])[0], atol=1e-12)
    mass, first, second = moments.T
    assert np.all(first**2 <= mass * second + 1e-12)
    assert np.all(mass * edges[:-1] <= first + 1e-12)
    assert np.all(first <= mass * edges[1:] + 1e-12)


def test_marginal_is_the_two_classes_mixed():
    mixed = 0.2 * BIMODAL.positive_law().moments(EDGES) + 0.8 * BIMODAL.negative_law().moments(
        EDGES
    )
    np.testing.assert_allclose(BIMODAL.marginal_law().moments(EDGES), mixed, atol=1e-13)


def test_coinciding_edges_hold_nothing_and_outer_edges_take_all():
    law = LESS.marginal_law()
    moments = law.moments([0.0, 0.4, 0.4, 1.0, 1.0])
    assert np.all(moments[[1, 3]] == 0)
    np.testing.assert_allclose(law.moments([-np.inf, 0.4, np.inf]), moments[[0, 2]], atol=1e-14)
    np.testing.assert_allclose(law.moments([0.4, 1.0]), moments[[2]], atol=1e-14)


def test_many_edges_are_taken_in_blocks():
    edges = np.arange(50_001) / 50_000
    law = LESS.marginal_law()
    fine = law.moments(edges)
    np.testing.assert_allclose(fine.reshape(10, 5000, 3).sum(axis=1), law.moments(edges[::5000]))


@pytest.mark.parametrize("name", ["less", "skewed", "bimodal", "D4", "D5"])
@pytest.mark.parametrize("kind", ["positive_law", "marginal_law"])
def test_quantiles_invert_the_distribution_function(name, kind):
    law = getattr(WORLDS[name], kind)()
    q = np.array([1e-6, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9])
    below = [law.moments([0.0, t])[0, 0] for t in law.quantiles(q)]
    np.testing.assert_allclose(below, q, rtol=1e-10)


def test_quantiles_have_the_shape_and_ends_of_their_levels():
    law = LESS.marginal_law()
    assert law.quantiles([[0.0, 0.5, 1.0], [0.1, 0.2, 0.3]]).shape == (2, 3)
    assert law.quantiles(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert law.quantiles(0.5) == law.quantiles([0.5])[0]
    normal = MixtureLaw(weights=[1.0], means=[0.3], sds=[2.0])
    q = np.linspace(0.001, 0.999, 97)
    np.testing.assert_allclose(normal.quantiles(q), expit(norm.ppf(q, 0.3, 2.0)), rtol=1e-11)


@settings(max_examples=25, deadline=None)
@given(worlds)
def test_quantile_bins_hold_equal_mass(world):
    law = world.marginal_law()
    mass = law.moments(law.quantiles(np.arange(9) / 8))[:, 0]
    np.testing.assert_allclose(mass, 1 / 8, atol=1e-9)


def test_quantiles_next_to_one_are_the_double_one():
    quantiles = TABLE_2["D1"].marginal_law().quantiles([0.5, 0.75, 0.8, 0.9])
    assert quantiles[1] < 1
    assert quantiles[2:].tolist() == [1, 1]


# --- draws ---------------------------------------------------------------------------------------

N = 200_000


@every_world
def test_labels_follow_the_posterior(world):
    scores, y = world.draw_rows(N, seed=1)
    p = world.posterior(scores)
    edges = np.unique(np.quantile(scores, np.arange(1, 10) / 10))
    bins = np.searchsorted(edges, scores)
    excess = np.bincount(bins, y - p)
    error = np.sqrt(np.bincount(bins, p * (1 - p)))
    assert np.all(np.abs(excess) < 4 * error + 0.01)  # allows for D1's scores rounded to 1


@every_world
def test_scores_follow_the_marginal_and_the_positive_distribution(world):
    edges = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999, 1.0])
    scores, y = world.draw_rows(N, seed=2)
    samples = [
        (scores, world.marginal_law()),
        (scores[y == 1], world.positive_law()),
        (world.positive_law().draw(N, seed=3), world.positive_law()),
    ]
    for sample, law in samples:
        mass = law.moments(edges)[:, 0]
        share = np.bincount(np.searchsorted(edges[1:-1], sample), minlength=8) / sample.size
        assert np.all(np.abs(share - mass) < 4 * np.sqrt(mass * (1 - mass) / sample.size) + 1e-12)


@pytest.mark.parametrize("name", ["D1", "D2"])
def test_scores_equal_to_one_come_as_often_as_rounding_makes_them(name):
    world = TABLE_2[name]
    scores, y = world.draw_rows(N, seed=4)
    share = np.mean(scores == 1)
    expected = betainc(world.beta, world.alpha, 2.0**-54)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / N)
    assert scores.max() == 1
    assert y[scores == 1].mean() > 0.9999


def test_bins_next_to_one_hold_the_scores_that_round_into_them():
    law = MixtureLaw(weights=[1.0], means=[36.0], sds=[2.0])
    edges = 1.0 - np.array([2.0**52, 12, 3, 2, 1, 0]) * 2.0**-53
    drawn = law.draw(40_000, seed=0)
    share = np.diff([0, *((drawn <= e).mean() for e in edges[1:])])
    mass = law.moments(np.concatenate([[0.0], edges]))[1:, 0]
    assert np.abs(share - mass).max() < 4 * 0.5 / 40_000**0.5
    # The largest double below 1 represents all closer values: 1 - s between 0.5 and 1.5 of 2**-53.
    ends = (math.log(2.0**53 / k) for k in (1.5, 0.5))
    low, high = (norm.cdf(end, 36.0, 2.0) for end in ends)
    assert mass[-2] == pytest.approx(high - low, abs=1e-12)


def test_beta_draws_survive_tiny_shapes():
    logits = BetaLaw(1e-3, 1e-3).draw_logits(10_000, np.random.default_rng(0))
    assert np.all(np.isfinite(logits))
    assert abs(np.mean(logits > 0) - 0.5) < 4 * 0.5 / 100


@pytest.mark.parametrize("seed", [7, np.int64(7)])
def test_seed_decides_the_draw_and_global_state_is_left_alone(seed):
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, second = LESS.draw_rows(50, seed), LESS.draw_rows(50, np.random.default_rng(7))
    np.testing.assert_array_equal(first, second)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_generator_moves_on_between_draws():
    rng = np.random.default_rng(0)
    assert not np.array_equal(LESS.draw_rows(50, rng)[0], LESS.draw_rows(50, rng)[0])


# --- the three settings --------------------------------------------------------------------------


def masses(scores, edges=EDGES):
    """Return the positive mass, marginal mass and score sum of each bin, as shares of their
    samples."""
    positive, marginal, score = scores.sums_in_bins(edges).T[:3]
    return positive, marginal, score


def shares_agree(counts, mass, n):
    return np.all(np.abs(counts / n - mass) < 4 * np.sqrt(mass * (1 - mass) / n) + 1e-12)


@pytest.mark.parametrize("world", [LESS, BIMODAL, TABLE_2["D4"]], ids=["less", "bimodal", "D4"])
def test_two_sample_draw(world):
    scores = world.draw(3000, 20_000, setting="two-sample", seed=0)
    assert (scores.n_positive, scores.n_unlabeled) == (3000, 20_000)
    assert (scores.setting, scores.prior) == ("two-sample", world.prior)
    positive, marginal, _ = masses(scores)
    assert shares_agree(positive, world.positive_law().moments(EDGES)[:, 0], 3000)
    assert shares_agree(marginal, world.marginal_law().moments(EDGES)[:, 0], 20_000)


@pytest.mark.parametrize("world", [LESS, BIMODAL, TABLE_2["D4"]], ids=["less", "bimodal", "D4"])
def test_infinite_samples_are_the_population(world):
    scores = world.draw(math.inf, math.inf, setting="two-sample", seed=0)
    assert scores.n_positive == scores.n_unlabeled == math.inf
    positive, _, score = masses(scores)
    assert np.abs(world.prior * positive - score).sum() == pytest.approx(
        world.binned_tce(EDGES), abs=1e-13
    )


def test_one_infinite_sample_leaves_the_other_random():
    few = LESS.draw(100, math.inf, setting="two-sample", seed=0)
    assert (few.n_positive, few.n_unlabeled) == (100, math.inf)
    np.testing.assert_allclose(masses(few)[1], LESS.marginal_law().moments(EDGES)[:, 0])
    assert masses(few)[0].sum() == 100
    many = LESS.draw(math.inf, 100, setting="two-sample", seed=0)
    assert (many.n_positive, many.n_unlabeled) == (math.inf, 100)
    np.testing.assert_allclose(masses(many)[0], LESS.positive_law().moments(EDGES)[:, 0])
    assert masses(many)[1].sum() == 100


def test_one_sample_draw_labels_only_positives():
    apart = LogitMixture(
        positive=([1.0], [20.0], [0.1]), negative=([1.0], [-20.0], [0.1]), prior=0.3
    )
    scores = apart.draw(200, 800, setting="one-sample", seed=0)
    assert (scores.n_positive, scores.n_unlabeled, scores.n_marginal) == (200, 800, 1000)
    assert (scores.setting, scores.prior) == ("one-sample", 0.3)
    positive, marginal, _ = masses(scores, np.array([0.0, 0.5, 1.0]))
    assert positive.tolist() == [0, 200]
    assert abs(marginal[1] - 300) < 4 * math.sqrt(1000 * 0.3 * 0.7)


def test_one_sample_labels_are_a_random_part_of_the_positives():
    scores = LESS.draw(5000, 20_000, setting="one-sample", seed=0)
    positive, marginal, _ = masses(scores)
    assert shares_agree(positive, LESS.positive_law().moments(EDGES)[:, 0], 5000)
    assert shares_agree(marginal, LESS.marginal_law().moments(EDGES)[:, 0], 25_000)


def test_labeled_draw_is_the_rows():
    scores = LESS.draw(n=1000, setting="labeled", seed=5)
    s, y = LESS.draw_rows(1000, seed=5)
    assert (scores.setting, scores.n_marginal, scores.n_positive) == ("labeled", 1000, y.sum())
    positive, marginal, score = masses(scores, np.array([0.0, 0.5, 1.0]))
    assert positive.tolist() == [y[s <= 0.5].sum(), y[s > 0.5].sum()]
    assert marginal.tolist() == [(s <= 0.5).sum(), (s > 0.5).sum()]
    np.testing.assert_allclose(score, [s[s <= 0.5].sum(), s[s > 0.5].sum()])


def test_setting_has_no_default():
    with pytest.raises(TypeError, match="setting"):
        LESS.draw(10, 10, seed=0)


def test_one_sample_can_label_every_expected_positive():
    # 0.29 * 100 is below 29 in doubles; the rule n_positive <= prior * n still holds.
    world = LogisticGaussian(0.0, 2.0, prior=0.29)
    seed = next(s for s in range(100) if world.draw_rows(100, s)[1].sum() >= 29)
    assert world.draw(29, 71, setting="one-sample", seed=seed).n_positive == 29


# --- quadrature ----------------------------------------------------------------------------------


def test_narrow_spikes_are_resolved():
    def spike(v):
        return norm.pdf(v, 0.4321, 1e-5)

    panels = converged_breaks(spike, np.linspace(0, 1, 1001))
    assert panel_integrals(spike, panels[:-1], panels[1:]).sum() == pytest.approx(1, abs=1e-12)


def test_halving_stops_at_its_limit(monkeypatch):
    monkeypatch.setattr("noneg.simulation.worlds._MAX_HALVINGS", 3)
    panels = converged_breaks(lambda v: np.abs(v - 0.3), np.array([0.0, 1.0]))
    assert panels.tolist() == [0, 0.25, 0.375, 0.5, 1]


def test_sign_changes_are_found_to_rounding():
    roots = sign_changes(lambda v: (v - 0.1) * (v - 0.7) * (v + 3), np.linspace(-5, 5, 24))
    np.testing.assert_allclose(roots, [-3, 0.1, 0.7], atol=1e-15)
    assert sign_changes(np.exp, np.linspace(0, 1, 5)).size == 0


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticGaussian(0.0, 0.0), "'beta1' must be finite and at least 1e-12 .*got 0.0"),
        (lambda: LogisticGaussian(math.nan, 1.0), "'beta0' must be finite, got nan"),
        (lambda: LogisticGaussian(0.0, 1.0, prior=1.0), "'prior' must be .* got 1.0"),
        (lambda: LogisticGaussian.calibrated(prior=0.0), "'prior' must be .* got 0.0"),
        (
            lambda: MixtureLaw(weights=[0.5, 0.5], means=[0.0], sds=[1.0]),
            r"same length of at least 1, got \[2, 1, 1\]",
        ),
        (lambda: MixtureLaw(weights=[], means=[], sds=[]), "same length of at least 1"),
        (
            lambda: MixtureLaw(weights=[0.5, 0.4], means=[0.0, 1.0], sds=[1.0, 1.0]),
            "'weights' must sum to 1, got a sum of 0.9",
        ),
        (
            lambda: MixtureLaw(weights=[1.5, -0.5], means=[0.0, 1.0], sds=[1.0, 1.0]),
            r"'weights' must lie in \(0, 1\], got 1.5 for component 0",
        ),
        (
            lambda: MixtureLaw(weights=[0.5, 0.5], means=[0.0, 1.0], sds=[1.0, 0.0]),
            "'sds' must be finite and positive, got 0.0 for component 1",
        ),
        (
            lambda: MixtureLaw(weights=[1.0], means=[math.inf], sds=[1.0]),
            "'means' must be finite, got inf for component 0",
        ),
        (
            lambda: LogitMixture(positive=([1.0], [2.0]), negative=([1], [0], [1]), prior=0.5),
            "'positive' must be a MixtureLaw or the triple",
        ),
        (lambda: BinomialProcess("D6"), "'curve' must be one of .* got 'D6'"),
        (lambda: BinomialProcess("D1", alpha=2.0), "'alpha' and 'beta' are fixed by 'D1'"),
        (
            lambda: BinomialProcess(CalibrationCurve("logit", 0.0), alpha=1.0),
            "'alpha' and 'beta' must be given .* beta=None",
        ),
        (
            lambda: BinomialProcess(CalibrationCurve("logit", -1e4), alpha=1.0, beta=1.0),
            "'curve' must give both labels a positive probability",
        ),
        (lambda: BetaLaw(0.0, 1.0), "'alpha' must be positive and finite, got 0.0"),
        (lambda: BetaLaw(1.0, math.inf), "'beta' must be positive and finite, got inf"),
        (lambda: CalibrationCurve("probit", 0.0), "'link' must be .* got 'probit'"),
        (lambda: CalibrationCurve("logit", math.nan), "must be finite"),
        (lambda: CalibrationCurve("log", 0.1), "'intercept' must be <= 0 .* 'log' link"),
        (lambda: CalibrationCurve("logflip", 0.0, -1.0), "slopes >= 0 with the 'logflip' link"),
        (lambda: LESS.posterior([0.5, 1.2]), r"'score' must lie in \[0, 1\], got .*1.2"),
        (lambda: LESS.posterior(math.nan), r"'score' must lie in \[0, 1\], got .*nan"),
        (lambda: LESS.marginal_law().quantiles([0.5, 50.0]), r"'q' must contain .* got .*50.0"),
        (lambda: LESS.binned_tce([0.1, 1.0]), r"'edges' must cover \[0, 1\], got edges from 0.1"),
        (lambda: LESS.binned_tce([0.0]), r"'edges' must be one-dimensional .* shape \(1,\)"),
        (lambda: LESS.binned_tce([[0.0, 1.0]]), r"'edges' must be one-dimensional"),
        (lambda: LESS.binned_tce([0, 0.6, 0.4, 1]), "'edges' must not decrease .* at position 1"),
        (lambda: LESS.binned_tce([0, math.nan, 1]), "'edges' must not decrease"),
        (lambda: LESS.draw_rows(0, seed=0), "'n' must be an integer >= 1, got 0"),
        (lambda: LESS.draw_rows(2.5, seed=0), "'n' must be an integer >= 1, got 2.5"),
        (lambda: LESS.draw_rows(10, seed=None), "'seed' must be an integer >= 0 .* got None"),
        (lambda: LESS.draw_rows(10, seed=-1), "'seed' must be an integer >= 0 .* got -1"),
        (lambda: LESS.draw_rows(10, seed=True), "'seed' must be an integer >= 0 .* got True"),
        (lambda: LESS.draw(10, 10, setting="pu", seed=0), "'setting' must .* got 'pu'"),
        (lambda: LESS.draw(10, setting="two-sample", seed=0), "'n_unlabeled' must be an integer"),
        (lambda: LESS.draw(10, 10, n=20, setting="two-sample", seed=0), "'n' is not used in the"),
        (lambda: LESS.draw(10, setting="labeled", seed=0), "'n_positive' is not used in the"),
        (
            lambda: LESS.draw(n=math.inf, setting="labeled", seed=0),
            "'n' must be an integer .*two-sample",
        ),
        (
            lambda: LESS.draw(10, math.inf, setting="one-sample", seed=0),
            "'n_unlabeled' must be an integer .*two-sample",
        ),
        (
            lambda: LESS.draw(60, 40, setting="one-sample", seed=0),
            r"'n_positive' must be at most prior \* n = 50",
        ),
    ],
)
def test_errors_name_the_argument_the_value_and_the_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_one_sample_cannot_label_more_positives_than_it_drew():
    short = next(s for s in range(100) if LESS.draw_rows(100, s)[1].sum() < 50)
    with pytest.raises(ValueError, match="at most the number of positive rows drawn"):
        LESS.draw(50, 50, setting="one-sample", seed=short)
