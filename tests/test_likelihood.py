"""The likelihood of the labels: its formula, its derivatives, its maximum and its covariance."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from noneg import PUScores, likelihood
from noneg.likelihood import gather, log_likelihood
from noneg.recalibration import Platt
from noneg.recalibration.logistic import clip_limits
from noneg.simulation import LogisticGaussian

WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)


def draw(setting, seed=0, n=(300, 3000)):
    return WORLD.draw(*n, setting=setting, seed=seed)


def fit_platt(scores):
    """Fit a line on the logit; the ends of the scale have parameters of their own."""
    return Platt._curve(gather(scores), clip_limits(scores))


def by_hand(scores, theta):
    """The empirical likelihood from its definition, with row weights found by an optimizer."""
    positive, unlabeled = scores.in_order()[1][0], scores.in_order()[0][0]
    rows = np.concatenate([positive, unlabeled])
    eta = expit(theta[0] * logit(rows) + theta[1])
    gap = eta - scores.prior

    def dual(mu):
        level = 1.0 + mu[0] * gap
        return -np.log(level).sum() if level.min() > 0.0 else np.inf

    weights = minimize(dual, [0.01], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-13})
    labels = np.log(eta[: positive.size]).sum()
    if scores.setting == "one-sample":
        c = np.linspace(0.001, 0.999, 200_001)[:, None]
        few = np.unique(eta[positive.size :].round(3), return_counts=True)
        part = positive.size * np.log(c[:, 0]) + np.log1p(-c * few[0]) @ few[1]
        labels += part.max()
    return labels + weights.fun


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_value_is_the_profile_of_the_definition(setting):
    scores = draw(setting, n=(60, 400))
    sample = gather(scores)
    theta = np.array([0.8, 0.2])
    found = log_likelihood(sample, theta @ np.stack([logit(sample.s), np.ones(sample.s.size)]))
    assert found.value == pytest.approx(by_hand(scores, theta), abs=0.05)
    # The weights sum to one and satisfy the prior constraint.
    eta = expit(theta[0] * logit(sample.s) + theta[1])
    p = sample.mass / sample.mass.sum() / (1.0 + found.multiplier * (eta - scores.prior))
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert p @ eta == pytest.approx(scores.prior, abs=1e-9)


@pytest.mark.parametrize("impose", [True, False])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_slopes_are_the_gradient(setting, impose):
    scores = (
        WORLD.draw(n=60, setting=setting, seed=1)
        if setting == "labeled"
        else draw(setting, n=(20, 60))
    )
    sample = gather(scores)
    z = 0.7 * logit(sample.s) + 0.4
    value = log_likelihood(sample, z, impose=impose)
    gradient = sample.labeled * value.slope[0] + sample.other * value.slope[1]
    for i in range(0, z.size, 7):
        ends = [
            log_likelihood(sample, z + step * np.eye(z.size)[i], impose=impose).value
            for step in (1e-5, -1e-5)
        ]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_without_the_prior_it_is_logistic_regression_with_a_known_offset():
    """P(labeled | s) = a eta / (1 + a eta): a penalized fit, directly from the formula."""
    scores = draw("two-sample")
    sample = gather(scores)
    x = np.stack([logit(sample.s), np.ones(sample.s.size)])
    a = scores.n_positive / (scores.prior * scores.n_unlabeled)

    def loss(theta):
        chance = a * expit(theta @ x) / (1.0 + a * expit(theta @ x))
        return -(sample.labeled @ np.log(chance) + sample.other @ np.log1p(-chance))

    center = np.array([1.0, 0.0])
    fit = likelihood.fit_features(sample, x, center, criterion="plain")
    hold = fit.curve.hold
    found = minimize(lambda t: loss(t) + 0.5 * hold @ (t - center) ** 2, center, tol=1e-12)
    np.testing.assert_allclose(fit.theta, found.x, atol=1e-4)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_the_fit_is_a_maximum(setting):
    fit = fit_platt(draw(setting))
    best = fit.value.value - fit.curve.penalty(fit.theta)
    for step in np.random.default_rng(0).normal(scale=1e-3, size=(20, 2)):
        theta = fit.theta + step
        near = log_likelihood(fit.curve.sample, fit.curve.z(theta)).value
        assert near - fit.curve.penalty(theta) < best


def test_labeled_rows_give_logistic_regression():
    scores = WORLD.draw(n=4000, setting="labeled", seed=0)
    (negative, *_), (positive, *_) = scores.in_order()
    s = np.concatenate([negative, positive])
    y = np.repeat([0, 1], [negative.size, positive.size])
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(s)[:, None], y)
    fit = fit_platt(scores)
    assert fit.theta == pytest.approx([reference.coef_[0, 0], reference.intercept_[0]], abs=2e-3)


@pytest.mark.parametrize(
    ("setting", "sizes"), [("two-sample", (300, 3000)), ("one-sample", (300, 1000))]
)
def test_the_covariance_is_that_of_many_draws(setting, sizes):
    fits = [fit_platt(WORLD.draw(*sizes, setting=setting, seed=seed)) for seed in range(150)]
    spread = np.cov([fit.theta for fit in fits], rowvar=False)
    stated = np.median([fit.covariance for fit in fits], axis=0)
    # A variance of 150 draws has a relative error of 12%.
    np.testing.assert_allclose(np.diag(stated), np.diag(spread), rtol=0.4)
    bias = np.mean([fit.theta for fit in fits], axis=0) - [2 / 3, 2 / 3]
    assert (np.abs(bias) < 4.0 * np.sqrt(np.diag(spread) / 150) + 0.02).all()


class TestRows:
    """Points stand for rows."""

    @pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
    def test_cells_fit_like_scores(self, setting, monkeypatch):
        sizes = (
            {"n": 40_000} if setting == "labeled" else {"n_positive": 4000, "n_unlabeled": 40_000}
        )
        scores = WORLD.draw(**sizes, setting=setting, seed=3)
        joined = fit_platt(scores)
        assert joined.curve.sample.s.size < 3000
        monkeypatch.setattr(likelihood.labels, "EXACT_ROWS", 10**6)
        exact = fit_platt(scores)
        error = np.sqrt(np.diag(exact.covariance))
        assert (np.abs(joined.theta - exact.theta) < 3e-3 * error).all()
        np.testing.assert_allclose(joined.covariance, exact.covariance, rtol=1e-3)

    def test_buckets_and_weighted_rows_give_the_same_cells(self):
        scores = draw("two-sample", n=(4000, 40_000))
        (unlabeled, *_), (positive, *_) = scores.in_order()
        options = {"prior": scores.prior, "setting": "two-sample"}
        ones = np.ones(unlabeled.size), np.ones(positive.size)
        weighted = PUScores(
            positive, unlabeled, unlabeled_weight=ones[0], positive_weight=ones[1], **options
        )
        one, two = gather(scores), gather(weighted)
        assert one.mass.sum() == two.mass.sum() == 44_000
        np.testing.assert_allclose(fit_platt(scores).theta, fit_platt(weighted).theta, atol=1e-4)

    def test_ends_are_points_of_their_own(self):
        s = np.concatenate([np.zeros(9000), np.linspace(0.01, 0.99, 30_000), np.ones(9000)])
        for n in (s.size, 3000):
            some = s[:: s.size // n]
            scores = PUScores.from_labels(np.arange(some.size) % 3 == 0, some)
            sample = gather(scores)
            assert sample.ends == {"at_zero": 0, "at_one": sample.s.size - 1}
            assert sample.mass[0] == (some == 0.0).sum()
            assert sample.mass[-1] == (some == 1.0).sum()
            fit = fit_platt(scores)
            z = fit.curve.z(fit.theta)[[0, -1]]
            share = sample.labeled[[0, -1]] / sample.mass[[0, -1]]
            np.testing.assert_allclose(expit(z), share, atol=0.01)

    @pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
    def test_frequency_weights_are_copies_and_importance_weights_scale(self, setting):
        rng = np.random.default_rng(4)
        s, y = WORLD.draw_rows(1500, seed=2)
        labeled, count = (y == 1) & (rng.random(y.size) < 0.3), rng.integers(1, 4, y.size)
        options = {"prior": 0.5, "setting": setting}
        copies = PUScores.from_pu_labels(np.repeat(labeled, count), np.repeat(s, count), **options)
        counted = PUScores.from_pu_labels(labeled, s, sample_weight=count, **options)
        np.testing.assert_allclose(fit_platt(copies).theta, fit_platt(counted).theta, atol=1e-9)
        kind = {"weight_kind": "importance"}
        one, ten = (
            fit_platt(
                PUScores.from_pu_labels(labeled, s, sample_weight=k * count, **options, **kind)
            )
            for k in (1.0, 10.0)
        )
        np.testing.assert_allclose(one.theta, ten.theta, atol=1e-9)
        np.testing.assert_allclose(one.covariance, ten.covariance, atol=1e-9)
        assert one.theta == pytest.approx(fit_platt(copies).theta, abs=0.05)

    @pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
    def test_propensities_undo_unequal_labeling(self, setting):
        """Positives with a high score are labeled three times as often; weights correct for it."""
        errors, bare = [], []
        for seed in range(12):
            rng = np.random.default_rng(1000 + seed)
            s, y = WORLD.draw_rows(12_000, seed=seed)
            rate = np.where(s > 0.5, 0.6, 0.2)
            labeled = (y == 1) & (rng.random(y.size) < rate)
            if setting == "one-sample":
                options = {"prior": 0.5, "setting": setting}
                given = [
                    PUScores.from_pu_labels(labeled, s, **options, **more)
                    for more in ({"propensity": rate}, {})
                ]
            else:
                other = WORLD.draw_rows(12_000, seed=seed + 100)[0]
                options = {"prior": 0.5, "setting": setting}
                given = [
                    PUScores(s[labeled], other, **options, **more)
                    for more in ({"propensity": rate[labeled]}, {})
                ]
            fits = [fit_platt(scores) for scores in given]
            errors.append((fits[0].theta - 2 / 3) / np.sqrt(np.diag(fits[0].covariance)))
            bare.append(np.abs(fits[1].theta - 2 / 3).max())
        assert np.abs(np.mean(errors, axis=0)).max() < 4.0 / np.sqrt(12)
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.5)
        assert np.mean(bare) > 0.15


def test_a_constant_score_gets_the_prior():
    scores = PUScores([0.3] * 5, [0.3] * 20, prior=0.4, setting="two-sample")
    fit = fit_platt(scores)
    assert expit(fit.curve.z(fit.theta)) == pytest.approx([0.4], abs=1e-6)
