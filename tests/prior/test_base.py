"""Properties of every score-based estimator, its result, and its warnings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from prior.worlds import gaussian
from scipy.stats import binom
from strategies import samples

from noneg import PUScores
from noneg.checks import least_prior
from noneg.prior import DEFAULT, FROM_SCORES, Dedpul, ScoreLaws, estimate_prior, find_estimator
from noneg.prior.base import implied_separation
from noneg.simulation import LogisticGaussian

NAMES = list(FROM_SCORES)
RANK_BASED = [name for name, kind in FROM_SCORES.items() if kind.rank_based]
PU = ("two-sample", "one-sample")
FEW = settings(max_examples=12)


def share(name, laws):
    return find_estimator(name).find(ScoreLaws.of(laws)).share


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(settings=PU, max_size=40), random=st.randoms(use_true_random=False))
@FEW
def test_row_order_is_irrelevant(name, sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    shuffled = sample.take(order).build()
    assert share(name, sample.build()) == pytest.approx(share(name, shuffled), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(settings=PU, max_size=30))
@FEW
def test_a_row_twice_is_a_row_of_weight_two(name, sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    assert share(name, twice) == pytest.approx(share(name, weighted), abs=1e-9)


@pytest.mark.parametrize("name", RANK_BASED)
@given(sample=samples(settings=PU, max_size=40))
@FEW
def test_only_ranks_matter(name, sample):
    _, rank = np.unique(sample.score, return_inverse=True)
    p, u = rank[sample.flags], rank[~sample.flags]
    ranks = ScoreLaws.from_arrays(p, u, setting=sample.setting, scale="logit")
    same = share(name, sample.build()) == pytest.approx(share(name, ranks), abs=1e-9)
    assert same, f"{name} depends on more than ranks: set rank_based = False in its class"


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(settings=PU, max_size=30))
@FEW
def test_any_data_gets_a_defined_answer(name, sample):
    estimator = FROM_SCORES[name](resamples=3)
    found = estimator.fit(sample.build())
    labeled = sample.flags.mean() if sample.setting == "one-sample" else 0.0
    assert found.kind == "upper bound"
    assert found.low == (least_prior(labeled, sample.flags.size) if labeled else 0.0)
    assert max(found.low, labeled - 1e-12) <= found.value <= found.high <= 1 + 1e-12
    assert 0 <= found.share <= 1
    assert found.assumption
    assert found.interval
    assert found.to_dict()["method"] == name


@pytest.mark.parametrize("name", NAMES)
def test_both_settings_see_the_same_share(name):
    two = gaussian(0.3, 4, 300, 900, seed=0)
    one = gaussian(0.3, 4, 300, 900, seed=0, setting="one-sample")
    estimator = FROM_SCORES[name](resamples=2)
    a, b = estimator.fit(two), estimator.fit(one)
    assert a.share == a.value == pytest.approx(b.share)
    assert b.value == pytest.approx((300 + 900 * b.share) / 1200)


EXTREMES = {
    "one positive": ([0.7], [0.1, 0.9, 0.5, 0.6, 0.3]),
    "one unlabeled row": ([0.7, 0.8, 0.2], [0.5]),
    "one of each": ([0.5], [0.5]),
    "constant": ([0.5] * 20, [0.5] * 30),
    "zeros and ones": ([1.0] * 20, [0.0] * 10 + [1.0] * 10),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", EXTREMES)
def test_extremes_have_answers_and_warnings(name, case):
    found = FROM_SCORES[name](resamples=5).fit(
        ScoreLaws.from_arrays(*EXTREMES[case], setting="two-sample")
    )
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.warnings[0].endswith("no interval from so few rows can be trusted.")


@pytest.mark.parametrize("name", ["dedpul", "bbe", "quick", "elkan-noto-e1", "alphamax"])
def test_identical_distributions_mean_all_positive_and_are_doubted(name):
    s = np.linspace(0.01, 0.99, 200)
    found = FROM_SCORES[name](resamples=5).fit(ScoreLaws.from_arrays(s, s, setting="two-sample"))
    assert found.value > 0.95
    assert "do not separate positives from unlabeled" in " ".join(found.warnings)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "recpe"])
def test_disjoint_distributions_mean_no_positives(name):
    p, u = np.linspace(0.8, 0.9, 60), np.linspace(0.1, 0.2, 90)
    found = FROM_SCORES[name](resamples=5).fit(ScoreLaws.from_arrays(p, u, setting="two-sample"))
    assert found.value < 1e-6
    assert found.high > 0
    assert not found.warnings
    with pytest.raises(ValueError, match="no unlabeled row looks positive"):
        found.apply(PUScores(p, u, prior=0.5, setting="two-sample"))


def test_the_default_is_close_in_separated_populations():
    errors = [
        abs(share(DEFAULT, gaussian(a, 3, 1000, 2000, seed)) - a)
        for a in (0.05, 0.2, 0.5, 0.8, 0.9)
        for seed in range(4)
    ]
    assert np.mean(errors) < 0.02


def test_the_default_interval_holds_where_classes_are_far_apart():
    """Rows of U are drawn from the mixture; at 95%, at least 35 of 40 are expected in 99% of
    cases."""
    rng, estimator = np.random.default_rng(0), find_estimator(DEFAULT)
    inside = 0
    for trial in range(40):
        a = (0.2, 0.5, 0.8)[trial % 3]
        u = rng.normal(4.0 * (rng.random(1000) < a), 1.0)
        laws = ScoreLaws.from_arrays(rng.normal(4, 1, 500), u, setting="two-sample", scale="logit")
        found = replace(estimator, resamples=100).fit(laws, overlap=0.0)
        inside += found.low <= a <= found.high
    assert inside >= binom.ppf(0.01, 40, 0.95)


def test_a_million_rows_take_seconds():
    import time

    laws = gaussian(0.3, 3, 200_000, 800_000, seed=0)
    scores = PUScores(*_sigmoid(laws, np.random.default_rng(0)), prior=0.5, setting="two-sample")
    start = time.process_time()
    found = estimate_prior(scores)
    assert time.process_time() - start < 10
    assert found.value == pytest.approx(0.3, abs=0.01)


def _sigmoid(laws, rng):
    p = 1 / (1 + np.exp(-3 * rng.normal(3, 1, 200_000)))
    u = np.append(rng.normal(3, 1, 240_000), rng.normal(0, 1, 560_000))
    assert laws.n_unlabeled == u.size
    return p, 1 / (1 + np.exp(-3 * u))


def test_the_interval_flows_into_every_number():
    from noneg import estimate

    scores = PUScores(
        *(1 / (1 + np.exp(-x)) for x in _logits(500, 2000)), prior=0.5, setting="two-sample"
    )
    found = estimate_prior(scores)
    used = found.apply(scores)
    assert used.prior_interval[0] == pytest.approx(0.5 / 2000)
    assert used.prior_interval[1] <= found.high
    assert used.knowledge.kind == found.kind == "upper bound"
    exact = scores.with_prior(found.value)
    for metric in ("ece", "auroc", "precision"):
        wide, narrow = estimate(metric, used), estimate(metric, exact)
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high
        assert wide.high - wide.low > narrow.high - narrow.low


def _logits(n, m):
    rng = np.random.default_rng(3)
    return rng.normal(2, 1, n), np.append(rng.normal(2, 1, m // 2), rng.normal(-2, 1, m // 2))


@pytest.mark.parametrize("name", NAMES)
def test_a_sketch_gives_the_same_answer(name):
    from noneg import Sketch

    p, u = (1 / (1 + np.exp(-x)) for x in _logits(300, 1000))
    scores = PUScores(p, u, prior=0.9, setting="one-sample")
    sketch = Sketch.from_scores(scores).scores()
    assert share(name, scores) == pytest.approx(share(name, sketch), abs=0.005)


SCORES = LogisticGaussian.calibrated(0.3).draw(200, 800, setting="two-sample", seed=0)


def test_an_estimate_is_one_line():
    found = estimate_prior(SCORES)
    assert str(found) == f"{found.value:.2f}, at most {found.high:.2f}, by {found.method}"
    sure = replace(found, kind="interval", low=0.30, value=0.3123, high=0.3141)
    assert str(sure) == f"0.312 [0.300, 0.314] by {found.method}"


@pytest.mark.parametrize(("value", "words"), [(0.0, "no unlabeled row"), (1.0, "no negatives")])
def test_an_extreme_estimate_cannot_be_applied(value, words):
    found = replace(estimate_prior(SCORES), value=value)
    with pytest.raises(ValueError, match=words):
        found.apply(SCORES)


def wide(seed, share=0.3, n=1000, m=3000):
    """Negatives N(-1, 2^2) against positives N(0, 1), scored by the exact density ratio."""
    rng = np.random.default_rng(seed)
    hidden = round(share * m)
    p, u = rng.normal(0, 1, n), rng.normal(0, 1, m)
    u[hidden:] = rng.normal(-1, 2, m - hidden)

    def score(x):
        return -(x**2) / 2 + (x + 1) ** 2 / 8

    return ScoreLaws.from_arrays(score(p), score(u), setting="two-sample", scale="logit")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_reducible_populations_are_flagged(share):
    """Negatives are nowhere negligible: the result is an upper bound, and is reported as one."""
    for seed in range(5):
        found = estimate_prior(wide(seed, share), method=Dedpul(resamples=2))
        assert found.value > share + 0.05
        assert "Treat the estimate as an upper bound." in " ".join(found.warnings)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_separated_populations_are_not(share):
    for seed in range(5):
        assert not Dedpul(resamples=2).fit(gaussian(share, 4, 1000, 3000, seed)).warnings


def test_undetectable_overlap_is_reported_in_numbers():
    """A fifth of the negatives are drawn like positives, which looks exactly like a larger
    share."""
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
