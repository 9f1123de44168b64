"""BBE, the largest compatible prior, Elkan-Noto and regrouping."""

import numpy as np
import pytest
from prior.worlds import gaussian

from noneg.checks import least_prior
from noneg.performance.assumptions import largest_prior
from noneg.prior import (
    BestBin,
    ElkanNotoMax,
    ElkanNotoMean,
    ElkanNotoRatio,
    Quick,
    ReCPE,
    ScoreLaws,
)
from noneg.prior.from_scores import regroup
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
