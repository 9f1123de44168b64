"""BBE, the largest compatible prior, DEDPUL, AlphaMax, Elkan-Noto and regrouping."""

from types import SimpleNamespace

import numpy as np
import pytest
from prior.worlds import gaussian
from scipy.optimize import minimize
from scipy.stats import gaussian_kde

from noneg.checks import least_prior
from noneg.performance.assumptions import largest_prior
from noneg.prior import (
    AlphaMax,
    AlphaMaxNoise,
    BestBin,
    Dedpul,
    ElkanNotoMax,
    ElkanNotoMean,
    ElkanNotoRatio,
    Quick,
    ReCPE,
    ScoreLaws,
)
from noneg.prior.from_scores import (
    SHARES,
    _density,
    _fixed_point,
    _Posterior,
    _slopes_below,
    elbow,
    likelihoods,
    regroup,
)
from noneg.simulation import LogisticGaussian


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_separated_classes_are_recovered_on_average(share):
    found = [BestBin().find(gaussian(share, 5, 2000, 4000, seed)).share for seed in range(20)]
    assert abs(np.mean(found) - share) < 0.02
    assert np.mean(np.abs(np.array(found) - share)) < 0.02


def test_without_an_allowance_the_cut_is_the_published_one():
    laws = gaussian(0.4, 3, 300, 600, seed=3)
    found = [BestBin(allowance=k).find(laws) for k in (0.0, 1e-12, 1.0)]
    assert found[0].share == found[1].share
    # There are more positives above the cut, and the share is not smaller.
    assert found[2].diagnostics["pure_mass"] > found[0].diagnostics["pure_mass"]
    assert found[2].share >= found[0].share
    with pytest.raises(ValueError, match=r"'allowance' must be a number of standard errors.*-1"):
        BestBin(allowance=-1)


@pytest.mark.parametrize("allowance", [0.0, 1.0])
def test_the_upper_bound_holds(allowance):
    """Rows of U are drawn from the mixture, so their share of positives varies as well."""
    rng = np.random.default_rng(0)
    above = inside = 0
    for trial in range(400):
        share = (0.2, 0.5, 0.8)[trial % 3]
        positive = rng.random(1000) < share
        u = np.where(positive, rng.normal(3, 1, 1000), rng.normal(0, 1, 1000))
        laws = ScoreLaws.from_arrays(rng.normal(3, 1, 300), u, setting="two-sample", scale="logit")
        found = BestBin(allowance=allowance).fit(laws, level=0.95)
        above += found.high >= share
        inside += found.low <= share <= found.high
    assert above >= 0.95 * 400
    assert inside >= 0.95 * 400


def test_the_formula_by_brute_force():
    rng = np.random.default_rng(1)
    p, u = rng.integers(2, 10, 40) / 10, rng.integers(0, 10, 60) / 10
    slack = 1.01 * sum(np.sqrt(np.log(4 / 0.1) / (2 * n)) for n in (40, 60))
    tried = [((u >= c).mean(), (p >= c).mean()) for c in np.unique([*p, *u]) if (p >= c).any()]
    best = min(tried, key=lambda pair: (pair[0] + slack) / pair[1])
    found = BestBin().find(ScoreLaws.from_arrays(p, u, setting="two-sample"))
    assert found.share == pytest.approx(min(1, best[0] / best[1]))
    assert found.diagnostics["pure_mass"] == pytest.approx(best[1])


def test_the_bound_shrinks_as_rows_grow():
    widths = []
    for n in (100, 400, 1600):
        found = BestBin().fit(gaussian(0.3, 4, n, 2 * n, seed=0))
        widths.append(found.sampling[1] - found.sampling[0])
    # Square-root rate: a factor of two each time, to within a third.
    assert widths[0] / widths[1] > 1.5
    assert widths[1] / widths[2] > 1.5


@pytest.mark.parametrize("far", [1, 2, 3])
def test_elkan_noto_never_falls_short_without_pure_scores(far):
    for seed in range(5):
        share = ElkanNotoMean().find(gaussian(0.3, far, 2000, 4000, seed)).share
        assert share > 0.28


def test_calibrated_means_and_ratios_agree():
    laws = gaussian(0.4, 2, 300, 500, seed=1)
    one, two = ElkanNotoMean().find(laws).share, ElkanNotoRatio().find(laws).share
    assert one == pytest.approx(two)
    assert ElkanNotoMax().find(laws).share < one


def test_raw_scores_need_a_discriminator():
    laws = gaussian(0.4, 2, 300, 500, seed=1)
    with pytest.raises(ValueError, match="'calibrate' must be True"):
        ElkanNotoMean(calibrate=False).find(laws)


def test_exact_posteriors_give_the_label_frequency():
    """Scores that are already posteriors are used unchanged."""
    g = 0.5 / (0.5 + 0.5 * 0.3)
    laws = ScoreLaws.from_arrays(
        [g] * 50, [g] * 30 + [0.0] * 70, setting="two-sample", discriminates=True
    )
    found = ElkanNotoMean(calibrate=False).find(laws)
    # The same odds in the pooled sample, where labeled rows are a third.
    pooled = (1 / 3) * g / ((1 / 3) * g + (2 / 3) * (1 - g))
    assert found.diagnostics["label_frequency"] == pytest.approx(pooled)


def test_the_bound_of_quick_holds():
    above = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        hidden = rng.binomial(800, 0.3) / 800
        above += Quick().fit(gaussian(hidden, 3, 150, 800, seed)).high >= 0.3
    # One-sided at 95%; 3 standard errors of that share among 200.
    assert above / 200 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_quick_bounds_the_prior_as_the_check_of_a_given_one_does():
    scores = LogisticGaussian.calibrated(0.3).draw(500, 3000, setting="two-sample", seed=0)
    # The cuts differ slightly: those of the check lie on a grid.
    assert abs(Quick().fit(ScoreLaws.of(scores)).high - largest_prior(scores)) < 0.02


def test_the_cuts_divide_the_positives():
    (tpr, _), _ = gaussian(0.3, 2, 320, 1000, seed=0).cuts()
    np.testing.assert_allclose(np.unique(tpr.round(9)), np.arange(1, 33) / 32)


def test_nothing_bounds_quick_from_below():
    found = Quick().fit(gaussian(0.3, 3, 100, 400, seed=0, setting="one-sample"))
    assert found.low == least_prior(100 / 500, 500)
    assert Quick().fit(gaussian(0.3, 3, 100, 400, seed=0)).low == 0.0


def test_regrouping_copies_the_top():
    laws = ScoreLaws.from_arrays([0.5] * 10, np.arange(1, 101) / 100, setting="two-sample")
    more = regroup(laws, 0.1)
    assert more.n_positive == pytest.approx(20)
    top = more.positive[more.points > 0.9]
    np.testing.assert_allclose(top, 1 / 20)
    assert ReCPE(base=BestBin()).find(laws).diagnostics["without_regrouping"] == pytest.approx(
        BestBin().find(laws).share
    )
    with pytest.raises(ValueError, match=r"'fraction'.*got 1.0"):
        ReCPE(fraction=1.0)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("far", [3, 2])
def test_close_at_a_thousand_positives(share, far):
    found = [Dedpul().find(gaussian(share, far, 1000, 2000, seed)).share for seed in range(5)]
    assert np.mean(np.abs(np.array(found) - share)) < 0.05


def test_the_density_is_that_of_scipy():
    x = np.sort(np.random.default_rng(0).normal(size=200))
    ours = _density(x, np.full(200, 1 / 200), 0.1 * x.std(ddof=1), x)
    np.testing.assert_allclose(ours, gaussian_kde(x, 0.1)(x), rtol=1e-9)


def test_the_mean_posterior_and_its_fixed_point():
    ratio = np.array([0.0, 0.5, 2.0, 4.0])
    weight = np.array([0.4, 0.2, 0.2, 0.2])
    posterior = _Posterior(ratio, weight)
    for a in (0.1, 0.3, 0.6, 1.0):
        exact = weight @ np.minimum(1, a * ratio)
        assert posterior(np.array([a]))[0] == pytest.approx(exact)
    a = _fixed_point(posterior)
    assert weight @ np.minimum(1, a * ratio) == pytest.approx(a, abs=1e-4)


def test_the_interval_covers_sampling():
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(40):
        hidden = rng.binomial(1500, 0.3) / 1500
        found = Dedpul(resamples=20, seed=seed).fit(gaussian(hidden, 4, 400, 1500, seed))
        inside += found.low <= 0.3 <= found.high
    assert inside / 40 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


class Creeping(SimpleNamespace):
    """A posterior mean that always lies a little below its share."""

    def __call__(self, share):
        return share - self.step


def test_a_fixed_point_that_is_never_reached_ends_after_a_thousand_steps():
    found = _fixed_point(Creeping(step=1e-4, ratio=np.array([1e9])))
    assert found == pytest.approx(1.0 - 1000 * 1e-4)


def test_the_likelihood_is_the_maximum_that_a_solver_finds():
    rng = np.random.default_rng(0)
    w, v = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    ours = likelihoods(w, v)
    for k in (10, 40, 80):
        c = SHARES[k]

        def minus(u, c=c):
            u = np.clip(u, 1e-12, None)
            return -(w @ np.log(w - u + c * v) + v @ np.log(u / c))

        total = {"type": "eq", "fun": lambda u, c=c: u.sum() - c}
        found = minimize(minus, c * w, bounds=[(1e-12, x) for x in w], constraints=total, tol=1e-12)
        # The curve is the maximum from here on, so it is never below the solver's.
        assert ours[k] >= -found.fun - 1e-6
        if (np.diff(ours)[k:] < -1e-9).all():
            assert ours[k] == pytest.approx(-found.fun, abs=1e-4)


def test_the_curve_never_rises():
    rng = np.random.default_rng(1)
    curve = likelihoods(rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20)))
    assert (np.diff(curve) <= 1e-12).all()


@pytest.mark.parametrize("knee", [0.05, 0.3, 0.8])
def test_the_elbow_of_a_bent_line_is_its_bend(knee):
    curve = -np.maximum(0.0, SHARES - knee)
    assert elbow(curve, 0.0) == pytest.approx(knee, abs=0.03)


def test_a_flat_curve_means_all_positive():
    assert elbow(np.zeros(SHARES.size), 0.0) == SHARES[-1]


def test_lines_below_all_points_by_brute_force():
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.random((1, 11))), rng.random((1, 11))
    tried = np.linspace(-5, 5, 20_001)
    rest = y - tried[:, None] * x
    rest -= rest.min(axis=1, keepdims=True)
    best = (rest**2).sum(axis=1).min()
    slope = _slopes_below(x, y, -5.0)[0]
    ours = y[0] - slope * x[0]
    assert ((ours - ours.min()) ** 2).sum() == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_alphamax_recovers_separated_classes(share):
    found = [AlphaMax().find(gaussian(share, 4, 1000, 2000, seed)).share for seed in range(3)]
    assert abs(np.mean(found) - share) < 0.05


def test_noisy_labels_are_found_out():
    rng = np.random.default_rng(3)
    p = np.append(rng.normal(5, 1, 800), rng.normal(0, 1, 200))
    u = np.append(rng.normal(5, 1, 1500), rng.normal(0, 1, 1500))
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit")
    plain, noisy = AlphaMax().find(laws).share, AlphaMaxNoise().find(laws)
    # If the labels are assumed to be right, .5 / .8 of the rows are found.
    assert plain == pytest.approx(0.625, abs=0.06)
    assert noisy.share == pytest.approx(0.5, abs=0.06)
    assert noisy.diagnostics["purity"] == pytest.approx(0.8, abs=0.06)
