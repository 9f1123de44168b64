"""The prior from two views, two sources, a review and an earlier period: coverage and alarms."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest

from noneg import PUScores
from noneg.prior import agreement, from_earlier, from_review, from_two_sources, from_two_views

DRAWS = 120
# With 95% coverage, at least this many are expected in 99 of 100 cases.
LEAST = binom.ppf(0.01, DRAWS, 0.95)


def covered(draw, truth, seed=0):
    rng = np.random.default_rng(seed)
    found = [draw(rng) for _ in range(DRAWS)]
    values = np.array([one.value for one in found])
    assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(DRAWS) + 0.02 * truth
    assert all(one.kind == "interval" for one in found)
    return sum(one.low <= truth <= one.high for one in found), found


def views(rng, prior, setting, together=0.0):
    """Two views one standard deviation apart; `together` correlates them within classes."""
    n = 3000
    y = rng.random(n) < prior
    if setting == "two-sample":
        y[:600] = True
        labeled = np.arange(n) < 600
    else:
        labeled = y & (rng.random(n) < 0.4)
    z = rng.normal(size=(2, n))
    z[1] = together * z[0] + np.sqrt(1 - together**2) * z[1]
    return from_two_views(*(z + y), labeled, setting=setting)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("prior", [0.15, 0.5])
def test_two_views_cover(prior, setting):
    inside, found = covered(lambda rng: views(rng, prior, setting), prior)
    assert inside >= LEAST
    alarms = sum(bool(one.warnings) for one in found)
    assert alarms <= binom.ppf(0.99, DRAWS, 0.05)


def test_dependent_views_are_reported():
    rng = np.random.default_rng(1)
    found = [views(rng, 0.3, "two-sample", together=0.4) for _ in range(20)]
    assert all("not independent" in one.warnings[0] for one in found)


def test_the_odds_are_the_closed_form():
    rng = np.random.default_rng(2)
    y = rng.random(500) < 0.4
    g, h = rng.normal(size=(2, 500)) + 2 * y
    labeled = y & (rng.random(500) < 0.5)
    u = ~labeled
    gap = [x[labeled].mean() - x[u].mean() for x in (g, h)]
    odds = np.cov(g[u], h[u], bias=True)[0, 1] / (gap[0] * gap[1])
    found = from_two_views(g, h, labeled, setting="two-sample")
    assert found.value == pytest.approx(odds / (1 + odds))
    # Neither scale nor direction of a view matters.
    turned = from_two_views(3 - 5 * g, h / 7, labeled, setting="two-sample")
    assert (turned.value, turned.low) == pytest.approx((found.value, found.low))


def sources(rng, prior=0.1, n=6000):
    """Two sources that find high scores more often, independently given the score."""
    y = rng.random(n) < prior
    score = expit(rng.normal(size=n) + 2 * y)
    rate = 0.2 + 0.5 * score
    first, second = (y & (rng.random(n) < rate) for _ in range(2))
    return from_two_sources(first, second, score=score)


def test_two_sources_cover():
    inside, _ = covered(sources, 0.1)
    assert inside >= LEAST


def test_bins_of_scores_matter_where_both_sources_see_the_same_rows():
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.2
    score = rng.random(y.size)
    first, second = (y & (rng.random(y.size) < 0.1 + 0.8 * score) for _ in range(2))
    plain = from_two_sources(first, second)
    binned = from_two_sources(first, second, score=score)
    assert plain.high < 0.2
    assert binned.low < 0.2 < binned.high


def test_one_stratum_is_the_exact_binomial():
    outcome = np.r_[np.ones(7), np.zeros(43), np.full(900, np.nan)]
    found = from_review(outcome)
    expected = binomtest(7, 50).proportion_ci(0.95, method="exact")
    assert (found.value, found.low, found.high) == pytest.approx((0.14, *expected))
    half = from_review(outcome, labeled=0.5)
    assert half.value == pytest.approx(0.57)
    # The labeled share varies as well.
    chance = 1.959964 * 0.86 * np.sqrt(0.25 / 1900)
    assert half.low == pytest.approx(0.57 - np.hypot((0.14 - found.low) / 2, chance))


def review(rng, prior=0.1, n=4000, judged=160):
    """Half of the reviews are assigned to the fifth of the rows with the highest scores."""
    y = rng.random(n) < prior
    high = rng.random(n) < np.where(y, 0.8, 0.15)
    outcome = np.full(n, np.nan)
    for stratum in (high, ~high):
        rows = rng.choice(np.flatnonzero(stratum), judged // 2, replace=False)
        outcome[rows] = y[rows]
    return from_review(outcome, strata=high)


def test_a_stratified_review_covers():
    inside, _ = covered(review, 0.1)
    assert inside >= LEAST


def period(rng, prior, setting, moved=0.0):
    """An earlier period with prior .2, and a new one; `moved` shifts half of the new rows."""

    def scores(y):
        return expit(2 * y + rng.normal(size=y.size) - 1)

    if setting == "two-sample":
        sample = scores(np.ones(800)), scores(rng.random(3000) < 0.2)
        before = PUScores(*sample, prior=0.2, setting=setting)
    else:
        y = rng.random(4000) < 0.2
        labeled = y & (rng.random(y.size) < 0.5)
        before = PUScores.from_pu_labels(labeled, scores(y), prior=0.2, setting=setting)
    y = rng.random(3000) < prior
    shift = moved * (rng.random(y.size) < 0.5)
    return from_earlier(before, expit(2 * y + rng.normal(size=y.size) - 1 + shift))


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("prior", [0.1, 0.3])
def test_an_earlier_period_covers(prior, setting):
    inside, found = covered(lambda rng: period(rng, prior, setting), prior)
    assert inside >= LEAST
    alarms = sum(bool(one.warnings) for one in found)
    assert alarms <= binom.ppf(0.99, DRAWS, 0.06)


def test_a_change_of_more_than_the_prior_is_reported():
    rng = np.random.default_rng(4)
    found = [period(rng, 0.2, "two-sample", moved=0.7) for _ in range(20)]
    assert sum("More than the share" in " ".join(one.warnings) for one in found) >= 18


def test_answers_agree_or_not():
    few, many = from_review([1, 0, 0, 0, 0] * 20), from_review([1, 0] * 200)
    assert agreement([few, few]) == (few.low, few.high)
    assert agreement([few, many]) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: from_two_sources([1, 0, 0], [0, 1, 0]), "must share at least one labeled row"),
        (lambda: from_review([0.5, 1]), "must contain 1, 0, and nan"),
        (lambda: from_review([1, np.nan], strata=["a", "b"]), "judged row in stratum 'b'"),
        (
            lambda: views(np.random.default_rng(0), 1.0, "two-sample"),
            "must both separate positives",
        ),
    ],
)
def test_unanswerable_questions_are_rejected(call, words):
    with pytest.raises(ValueError, match=words):
        call()
