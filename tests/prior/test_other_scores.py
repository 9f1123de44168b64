"""Elkan-Noto, the largest compatible prior, regrouping, and what is said of reducible worlds."""

import numpy as np
import pytest
from prior.worlds import gaussian

from noneg.performance.assumptions import largest_prior
from noneg.prior import (
    BestBin,
    Dedpul,
    ElkanNotoMax,
    ElkanNotoMean,
    ElkanNotoRatio,
    Quick,
    ReCPE,
    ScoreLaws,
    estimate_prior,
)
from noneg.prior.doubts import implied_separation
from noneg.prior.quick import share_cuts
from noneg.prior.recpe import regroup
from noneg.simulation import LogisticGaussian


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
    """Scores that are posteriors already are used as they are."""
    g = 0.5 / (0.5 + 0.5 * 0.3)
    laws = ScoreLaws.from_arrays(
        [g] * 50, [g] * 30 + [0.0] * 70, setting="two-sample", discriminates=True
    )
    found = ElkanNotoMean(calibrate=False).find(laws)
    # The same odds in the pooled sample, where labelled rows are a third.
    pooled = (1 / 3) * g / ((1 / 3) * g + (2 / 3) * (1 - g))
    assert found.diagnostics["label_frequency"] == pytest.approx(pooled)


def test_the_bound_of_quick_holds():
    above = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        hidden = rng.binomial(800, 0.3) / 800
        above += Quick().fit(gaussian(hidden, 3, 150, 800, seed)).high >= 0.3
    # One-sided at 95 %; 3 standard errors of that share among 200.
    assert above / 200 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_quick_bounds_the_prior_as_the_check_of_a_given_one_does():
    scores = LogisticGaussian.calibrated(0.3).draw(500, 3000, setting="two-sample", seed=0)
    # The cuts are not quite the same: those of the check lie on a grid.
    assert abs(Quick().fit(ScoreLaws.of(scores)).high - largest_prior(scores)) < 0.02


def test_the_cuts_divide_the_positives():
    tpr, _ = share_cuts(gaussian(0.3, 2, 320, 1000, seed=0))
    np.testing.assert_allclose(np.unique(tpr.round(9)), np.arange(1, 33) / 32)


def test_nothing_bounds_quick_from_below():
    found = Quick().fit(gaussian(0.3, 3, 100, 400, seed=0, setting="one-sample"))
    assert found.low == pytest.approx(100 / 500)


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


def wide(seed, share=0.3, n=1000, m=3000):
    """Negatives N(-1, 2^2) against positives N(0, 1), scored by the exact ratio of densities."""
    rng = np.random.default_rng(seed)
    hidden = round(share * m)
    p, u = rng.normal(0, 1, n), rng.normal(0, 1, m)
    u[hidden:] = rng.normal(-1, 2, m - hidden)

    def score(x):
        return -(x**2) / 2 + (x + 1) ** 2 / 8

    return ScoreLaws.from_arrays(score(p), score(u), setting="two-sample", scale="logit")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_reducible_worlds_are_flagged(share):
    """Negatives nowhere negligible: the answer is an upper bound, and it is called one."""
    for seed in range(5):
        found = estimate_prior(wide(seed, share), method=Dedpul(resamples=2))
        assert found.value > share + 0.05
        assert "Read the estimate as an upper bound." in " ".join(found.warnings)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_separated_worlds_are_not(share):
    for seed in range(5):
        assert not Dedpul(resamples=2).fit(gaussian(share, 4, 1000, 3000, seed)).warnings


def test_what_no_data_can_show_is_said_in_numbers():
    """A fifth of the negatives drawn like positives looks exactly like a larger share."""
    hidden = 0.3 + 0.7 * 0.2
    found = Dedpul(resamples=2).fit(gaussian(hidden, 4, 1000, 3000, seed=0))
    assert found.value == pytest.approx(hidden, abs=0.03)
    assert "upper bound" in found.assumption
    assert found.with_overlap(0.2) == pytest.approx(0.3, abs=0.04)


def test_the_implied_separation_is_that_of_the_classes():
    rng = np.random.default_rng(0)
    p, n = rng.normal(2, 1, 400), rng.normal(0, 1, 600)
    u = np.concatenate([p, n])
    laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit")
    auc = np.mean(p[:, None] > n[None, :])
    assert implied_separation(laws.separation, 0.4) == pytest.approx(auc)
    assert np.isnan(implied_separation(laws.separation, 1.0))
