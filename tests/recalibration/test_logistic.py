"""Curves fitted by likelihood: close to the truth, stable files, and bands that cover."""

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from risk_cases import METHODS as RISKY, cases
from scipy.special import expit, logit
from sklearn.base import clone

from noneg import PUScores, Sketch
from noneg.recalibration import (
    BPM,
    Auto,
    Beta,
    CalibrationWarning,
    Isotonic,
    Platt,
    Spline,
    Temperature,
    load,
    make,
)
from noneg.simulation import LogisticGaussian

HERE = Path(__file__).parent
WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)
CURVES = (Platt, Temperature, Beta, Spline, BPM)
SCORES = WORLD.draw(200, 2000, setting="two-sample", seed=5)


@cache
def truth(world=WORLD, n=4000):
    s = world.marginal_law().quantiles((np.arange(n) + 0.5) / n)
    return s, world.posterior(s)


def distance(calibrator, s, eta):
    return float(np.abs(calibrator.transform(s) - eta).mean())


class TestFiles:
    @pytest.mark.filterwarnings("ignore::noneg.recalibration.CalibrationWarning")
    def test_fits_by_risk_are_what_they_were(self):
        stored = json.loads((HERE / "risk.json").read_text())
        for name, scores in cases():
            for method in RISKY:
                found = make(method, fit="risk").fit(scores).transform(stored["at"])
                np.testing.assert_allclose(
                    found, stored["values"][name][method], rtol=0.0, atol=1e-12
                )

    def test_files_of_the_first_version_map_as_they_did(self):
        stored = json.loads((HERE / "old_files.json").read_text())
        for file in stored["files"]:
            assert load(file["text"]).transform(stored["at"]).tolist() == file["values"]

    def test_the_parameter_survives_copies_and_files(self):
        platt = Platt(fit="risk")
        assert repr(platt) == "Platt(fit='risk')"
        assert clone(platt).get_params() == {"fit": "risk"}
        assert load(platt.fit(SCORES).to_json()).get_params() == {"fit": "risk"}
        platt.set_params(fit="likelihood")
        assert platt.fit(SCORES).slope_ == Platt().fit(SCORES).slope_
        with pytest.raises(ValueError, match="'fit' must be one of likelihood, risk, got 'prior'"):
            Platt(fit="prior").fit(SCORES)

    @pytest.mark.parametrize(
        ("method", "state"),
        [
            (Platt, {"at_zero": "low"}),
            (Spline, {"knots": [1.0, 0.0]}),
            (Spline, {"values": [1.0]}),
            (Spline, {"low": 0.5}),
        ],
    )
    def test_states_are_checked(self, method, state):
        with pytest.raises(ValueError, match="must"):
            method()._check(method().fit(SCORES).state_ | state)


def saturated(n, seed):
    """Forty percent of the scores are exactly 0 or 1, whatever the label."""
    rng = np.random.default_rng(seed)
    z = logit(0.4) + 2.0 * (rng.normal(size=n) + np.where(rng.random(n) < 0.4, 1.0, -1.0))
    s = np.where(rng.random(n) < 0.4, rng.random(n) < 0.5, expit(1.5 * z))
    eta = np.where((s == 0.0) | (s == 1.0), np.nan, expit(z))
    return s, expit(z), np.where(np.isnan(eta), expit(z).mean(), eta)


def drawn(n_positive, n, seed, setting="two-sample"):
    s, chance, _ = saturated(20 * n_positive, seed)
    rng = np.random.default_rng([seed, 1])
    positive = s[rng.random(s.size) < chance][:n_positive]
    return PUScores(positive, saturated(n, seed + 500)[0], prior=0.4, setting=setting)


class TestEnds:
    @pytest.mark.parametrize("method", [Platt, Temperature, Beta, BPM])
    def test_exact_ends_do_not_bend_the_curve(self, method):
        s, _, eta = saturated(20_000, 99)
        found = [distance(method().fit(drawn(2000, 10_000, k)), s, eta) for k in range(5)]
        risk = distance(method(fit="risk").fit(drawn(2000, 10_000, 0)), s, eta)
        assert np.mean(found) < 0.02
        assert risk > 0.1

    def test_ends_are_stored_and_checked(self):
        calibrator = Platt().fit(drawn(300, 2000, 0))
        assert {"at_zero", "at_one"} <= set(calibrator.state_)
        again = load(calibrator.to_json())
        at = [0.0, 1e-25, 0.2, 1.0]
        assert again.transform(at).tolist() == calibrator.transform(at).tolist()
        assert again.transform(0.0) == again.transform(1e-25) > again.transform(1e-3)

    def test_labeled_rows_keep_their_frequencies_at_the_ends(self):
        rng = np.random.default_rng(0)
        s = np.concatenate([np.zeros(500), rng.random(2000), np.ones(500)])
        y = rng.random(s.size) < np.where(s == 0.0, 0.3, np.where(s == 1.0, 0.6, s))
        inside = (s > 0.0) & (s < 1.0)
        for method in (Platt, Temperature, Beta):
            found = method().fit(PUScores.from_labels(y, s))
            apart = method().fit(PUScores.from_labels(y[inside], s[inside]))
            np.testing.assert_allclose(found.transform(S), apart.transform(S), atol=1e-9)
            assert found.transform(0.0) == pytest.approx(y[:500].mean(), abs=0.01)
            assert found.transform(1.0) == pytest.approx(y[-500:].mean(), abs=0.01)

    def test_nothing_but_ends(self):
        scores = PUScores.from_labels([0, 0, 1, 1, 1, 0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            for method in (Platt, Temperature, Beta, Spline):
                low, high = method().fit(scores).transform([0.0, 1.0])
                assert 0.0 < low < 0.5 < high < 1.0


S = np.linspace(0.01, 0.99, 50)


class TestAccuracy:
    """Mean distance to the truth over few draws; the study has many, and thirteen populations."""

    @pytest.mark.parametrize(
        ("method", "sizes", "most"),
        [
            (Platt, (100, 3000), 0.030),
            (Platt, (1000, 10_000), 0.0110),
            (Beta, (1000, 10_000), 0.021),
            (Spline, (1000, 10_000), 0.019),
            (BPM, (1000, 10_000), 0.021),
        ],
    )
    def test_it_is_close_to_the_truth(self, method, sizes, most):
        found = [
            distance(method().fit(WORLD.draw(*sizes, setting="two-sample", seed=k)), *truth())
            for k in range(10)
        ]
        assert np.mean(found) < most

    def test_a_family_that_cannot_hold_the_curve_is_fitted_by_the_better_criterion(self):
        """Likelihood alone would leave .032, because it weights errors by the information in the
        labels."""
        rng = np.random.default_rng(3)
        z = logit(0.6) + 3.0 * (
            rng.normal(size=60_000) + np.where(rng.random(60_000) < 0.6, 1.5, -1.5)
        )
        s, eta = expit(z) ** 4, expit(z)
        positive = s[:30_000][rng.random(30_000) < eta[:30_000]][:3000]
        scores = PUScores(positive, s[30_000:40_000], prior=0.6, setting="two-sample")
        found = distance(Platt().fit(scores), s[40_000:], eta[40_000:])
        risk = distance(Platt(fit="risk").fit(scores), s[40_000:], eta[40_000:])
        assert found < 1.1 * risk

    def test_a_straight_correction_is_left_to_the_spline_that_has_it(self):
        """Scores in (.3, .7): the truth is linear in the score, not in its logit."""
        rng = np.random.default_rng(5)
        z = logit(0.3) + 2.0 * (rng.normal(size=40_000) + np.where(rng.random(40_000) < 0.3, 1, -1))
        s, eta = 0.3 + 0.4 * expit(z), expit(z)
        labeled = (rng.random(z.size) < eta) & (rng.random(z.size) < 0.3)
        scores = PUScores.from_pu_labels(labeled, s, prior=0.3, setting="one-sample")
        spline = Spline().fit(scores)
        assert "shifts" in spline.state_
        assert distance(spline, s, eta) < 0.02
        with pytest.raises(ValueError, match="use the likelihood criterion"):
            spline.band(scores, S)

    def test_buckets_of_a_sketch_fit_like_rows(self):
        scores = WORLD.draw(2000, 20_000, setting="two-sample", seed=0)
        buckets = Sketch.from_scores(scores).scores()
        for method in CURVES:
            rows, sums = (method().fit(x).transform(S) for x in (scores, buckets))
            assert np.abs(rows - sums).max() < 2e-3


class TestBand:
    def test_platt_covers(self):
        """One score at a time, 120 draws: 95% up to 3 standard errors of a share."""
        at = np.array([0.05, 0.3, 0.7, 0.95])
        true = WORLD.posterior(at)
        covered = []
        for seed in range(120):
            scores = WORLD.draw(100, 1000, setting="two-sample", seed=seed)
            low, high = Platt().fit(scores).band(scores, at)
            covered.append((low <= true) & (true <= high))
        shares = np.mean(covered, axis=0)
        assert (shares > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 120) - 0.02).all()

    @pytest.mark.parametrize("method", [Spline, BPM])
    def test_others_resample(self, method):
        calibrator = method().fit(SCORES)
        low, high = calibrator.band(SCORES, S.reshape(5, 10), draws=30)
        middle = calibrator.transform(S.reshape(5, 10))
        assert low.shape == (5, 10)
        assert (low < high).all()
        assert ((low <= middle) & (middle <= high)).mean() > 0.8
        again = calibrator.band(SCORES, S.reshape(5, 10), draws=30)
        assert np.array_equal(low, again[0])

    @pytest.mark.filterwarnings("ignore::noneg.recalibration.CalibrationWarning")
    def test_beta_covers_where_classes_hardly_overlap(self):
        """AUC .99: resampled fits covered .55 there. 40 draws, five scores each."""
        rng, covered = np.random.default_rng(8), []
        for _ in range(40):
            z = logit(0.3) + 3.3 * (
                rng.normal(size=5000) + np.where(rng.random(5000) < 0.3, 1.65, -1.65)
            )
            s, eta = expit(1.5 * z + 0.5), expit(z)
            positive = s[3000:][rng.random(2000) < eta[3000:]][:100]
            scores = PUScores(positive, s[:3000], prior=0.3, setting="two-sample")
            place = np.argsort(s)[[250, 1250, 2500, 3750, 4750]]
            low, high = Beta().fit(scores).band(scores, s[place])
            covered.append((low <= eta[place]) & (eta[place] <= high))
        # Scores in one draw are correlated, so the error is that of 40 draws.
        assert np.mean(covered) > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 40)

    def test_the_profile_is_the_likelihood_ratio(self):
        """At an end of the band, no curve through it is better than the test allows, according to a
        search."""
        from scipy.optimize import minimize

        from noneg.likelihood import gather, log_likelihood

        scores = WORLD.draw(100, 1000, setting="two-sample", seed=4)
        fit = Platt._curve(gather(scores), {"low": 1e-9, "high": 1e-9})
        at = logit(0.8)
        low, high = Platt().fit(scores).band(scores, [0.8])
        drops = []
        for end in (logit(low[0]), logit(high[0])):

            def loss(slope, end=end):
                z = slope[0] * (logit(fit.curve.sample.s) - at) + end
                return -log_likelihood(fit.curve.sample, z).value

            drops.append(minimize(loss, [fit.theta[0]], method="Nelder-Mead").fun)
        low, high = np.array(drops) + fit.value.value
        # Both ends fall short by the same amount: 1.92 times the ratio of the variances, at least
        # one.
        assert low == pytest.approx(high, rel=0.1)
        assert 1.9 < low < 1.6 * 1.92

    def test_the_resampled_band_has_the_width_of_the_profile(self):
        scores = WORLD.draw(1000, 10_000, setting="two-sample", seed=0)
        platt = Platt().fit(scores)
        by_profile = np.subtract(*platt.band(scores, S))
        Platt.has_profile = False
        try:
            by_draws = np.subtract(*platt.band(scores, S, draws=150))
        finally:
            Platt.has_profile = True
        assert np.median(by_draws / by_profile) == pytest.approx(1.0, abs=0.15)

    def test_labeled_rows_have_one_too(self):
        scores = WORLD.draw(n=2000, setting="labeled", seed=0)
        low, high = Platt().fit(scores).band(scores, S)
        assert ((low < WORLD.posterior(S)) & (WORLD.posterior(S) < high)).mean() > 0.5
        assert (high - low).max() < 0.15

    def test_methods_without_a_band_raise_an_error(self):
        with pytest.raises(ValueError, match="'fit' must use the likelihood criterion"):
            Platt(fit="risk").fit(SCORES).band(SCORES, S)
        with pytest.raises(ValueError, match="must be a curve fitted by likelihood to have a band"):
            Isotonic().fit(SCORES).band(SCORES, S)

    def test_auto_has_the_band_of_what_it_took(self):
        auto = Auto(candidates=["platt"]).fit(SCORES)
        assert np.array_equal(auto.band(SCORES, S), Platt().fit(SCORES).band(SCORES, S))


def test_calibrated_models_are_left_alone():
    """The true error after selection, which is zero before."""
    moved = []
    for prior in (0.1, 0.6):
        world = LogisticGaussian.calibrated(prior=prior)
        for seed in range(6):
            scores = world.draw(100, 2000, setting="two-sample", seed=seed)
            moved.append(distance(Auto().fit(scores), *truth(world)))
    assert np.mean(moved) < 0.004
