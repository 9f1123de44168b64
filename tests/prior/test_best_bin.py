"""BBE: the acceptance of the method, its bound, and the formula by brute force."""

import numpy as np
import pytest
from prior.worlds import gaussian

from noneg.prior import BestBin, ScoreLaws


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_separated_classes_are_recovered_on_average(share):
    found = [BestBin().find(gaussian(share, 5, 2000, 4000, seed)).share for seed in range(20)]
    assert abs(np.mean(found) - share) < 0.02
    assert np.mean(np.abs(np.array(found) - share)) < 0.02


def test_without_an_allowance_the_cut_is_the_published_one():
    laws = gaussian(0.4, 3, 300, 600, seed=3)
    found = [BestBin(allowance=k).find(laws) for k in (0.0, 1e-12, 1.0)]
    assert found[0].share == found[1].share
    # More positives above the cut, and no smaller share.
    assert found[2].diagnostics["pure_mass"] > found[0].diagnostics["pure_mass"]
    assert found[2].share >= found[0].share
    with pytest.raises(ValueError, match=r"'allowance' must be a number of standard errors.*-1"):
        BestBin(allowance=-1)


@pytest.mark.parametrize("allowance", [0.0, 1.0])
def test_the_upper_bound_holds(allowance):
    """Rows of U are drawn from the mixture, so that their share of positives varies too."""
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
        widths.append(found.high - found.low)
    # At the rate of the root: a factor of two each time, within a third.
    assert widths[0] / widths[1] > 1.5
    assert widths[1] / widths[2] > 1.5
