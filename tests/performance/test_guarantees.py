"""Guarantees in populations whose truth is known: they hold, and they are not trivial."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr
from scipy.stats import beta, betabinom, binom

from noneg import PUScores
from noneg.errors import InputError
from noneg.performance import (
    budget_threshold,
    cost_threshold,
    fdp_envelope,
    precision_threshold,
    recall_threshold,
)
from noneg.performance.guarantees import Counts, counts_above, least_share, local_tail, tolerated


def positives(p, **options):
    return PUScores(p, [0.5], setting="two-sample", **options)


def at_most(broken, draws, tail):
    """Three standard errors above the guaranteed tail probability."""
    assert broken / draws <= tail + 3 * np.sqrt(tail * (1 - tail) / draws)


# --- recall ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [30, 100, 200])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_the_order_statistic_is_the_last_one_for_which_the_guarantee_holds(n, alpha):
    s = np.arange(1, n + 1) / (n + 1)
    threshold = recall_threshold(positives(s), recall=1 - alpha).threshold
    k = round(threshold * (n + 1))
    assert k == 0 or beta.cdf(alpha, k, n + 1 - k) >= 0.95
    assert beta.cdf(alpha, k + 1, n - k) < 0.95
    average = recall_threshold(positives(s), recall=1 - alpha, confidence=None).threshold
    assert round(average * (n + 1)) == int(alpha * (n + 1) + 1e-9)


def test_the_example_of_the_formula():
    s = np.arange(1, 201) / 201
    assert round(recall_threshold(positives(s), recall=0.9).threshold * 201) == 13


def test_recall_needs_no_prior_and_too_few_positives_flag_everything():
    assert recall_threshold(positives([0.9] * 28)).threshold == 0.0
    assert recall_threshold(positives([0.9] * 29)).threshold == 0.9
    labeled = PUScores.from_labels([1] * 29 + [0], [0.9] * 29 + [0.1])
    assert recall_threshold(labeled).threshold == 0.9


@pytest.mark.parametrize("draw", ["continuous", "ties", "importance", "propensity"])
def test_recall_is_kept_in_draws(draw):
    rng, draws, alpha, broken = np.random.default_rng(1), 1000, 0.1, 0
    for _ in range(draws):
        options, miss = {}, ndtr
        x = rng.normal(size=150)
        if draw == "ties":
            x = np.round(x * 2) / 2
            miss = lambda t: ndtr(t - 0.25)  # noqa: E731
        if draw == "importance":  # low scores are under-sampled by a factor of up to 3
            keep = rng.random(3000) < 1 / (1 + 2 * ndtr(-(z := rng.normal(size=3000))))
            x = z[keep][:150]
            options = {"positive_weight": 1 + 2 * ndtr(-x), "weight_kind": "importance"}
        if draw == "propensity":
            keep = rng.random(3000) < 0.3 + 0.6 * ndtr(z := rng.normal(size=3000))
            x = z[keep][:150]
            options = {"propensity": 0.3 + 0.6 * ndtr(x)}
        found = recall_threshold(positives(expit(x), **options), recall=1 - alpha)
        t = logit(found.threshold) if found.threshold else -np.inf
        broken += miss(t) > alpha
    at_most(broken, draws, 0.05)
    assert broken > 0 or draw != "continuous"


def test_frequency_weights_are_repeated_rows():
    rng = np.random.default_rng(2)
    s, f = rng.random(80), rng.integers(1, 5, 80)
    counted = recall_threshold(positives(s, positive_weight=f), recall=0.8)
    assert counted.threshold == recall_threshold(positives(np.repeat(s, f)), recall=0.8).threshold
    equal = positives(s, positive_weight=np.full(80, 2.5), weight_kind="importance")
    assert (
        recall_threshold(equal, recall=0.8).threshold
        == recall_threshold(positives(s), recall=0.8).threshold
    )


@given(st.floats(0.001, 0.6), st.floats(0.0, 1.0), st.floats(1.0, 5.0))
def test_the_tolerated_miss_solves_its_equation(miss, c, g):
    a = tolerated(miss, c, g)
    assert 0 < a <= miss + 1e-12
    hidden = 1 - least_share(np.array(1 - a), g)
    assert c * a + (1 - c) * hidden == pytest.approx(miss, abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("gamma", [1.5, 2.0])
def test_recall_is_kept_by_the_worst_selection(setting, gamma):
    """Hidden positives are concentrated below: gamma times as many of the lowest 1 / (1 +
    gamma)."""
    rng, draws, broken, n, pi = np.random.default_rng(3), 600, 0, 4000, 0.1
    c = 0.4 if setting == "one-sample" else 0.0
    corner = 1 / (1 + gamma)

    def miss(p):  # among all positives, if a share p of the labeled ones is missed
        hidden = np.where(p < corner, gamma * p, 1 - (1 - p) / gamma)
        return c * p + (1 - c) * hidden

    for _ in range(draws):
        labeled = rng.binomial(n, c * pi) if c else 160
        p, u = rng.random(labeled), rng.random(n - labeled)
        scores = PUScores(p, u, prior=pi, setting=setting, selection=gamma)
        broken += miss(recall_threshold(scores, recall=0.8).threshold) > 0.2
    at_most(broken, draws, 0.05)
    assert broken > 0


def test_a_known_prior_helps_under_selection_in_one_sample():
    p, u = np.linspace(0, 1, 500), np.linspace(0, 1, 4500)
    known = PUScores(p, u, prior=0.12, setting="one-sample", selection=2.0)
    unknown = PUScores(p, u, setting="one-sample", selection=2.0)
    plain = PUScores(p, u, setting="one-sample")
    found = [recall_threshold(x, recall=0.9).threshold for x in (unknown, known, plain)]
    assert found[0] < found[1] < found[2]


# --- precision ------------------------------------------------------------------------------------


class World:
    """Positives N(d, 1) and negatives N(0, 1); the score is the sigmoid."""

    def __init__(self, d, prior):
        self.d, self.prior = d, prior

    def recall(self, t):
        return ndtr(self.d - logit(t))

    def flagged(self, t):
        return self.prior * self.recall(t) + (1 - self.prior) * ndtr(-logit(t))

    def precision(self, t):
        return self.prior * self.recall(t) / self.flagged(t)

    def at_recall(self, recall):
        return expit(brentq(lambda x: ndtr(self.d - x) - recall, -20, 20))

    def draw(self, rng, n_positive, n_unlabeled, setting="two-sample", **options):
        y = rng.random(n_unlabeled) < self.prior
        x = rng.normal(size=n_unlabeled) + self.d * y
        if setting == "labeled":
            return PUScores.from_labels(y, expit(x))
        p = rng.normal(self.d, 1, n_positive)
        if setting == "one-sample":
            labeled = y & (rng.random(n_unlabeled) < n_positive / (self.prior * n_unlabeled))
            p, x = x[labeled], x[~labeled]
        options = {"prior": self.prior, **options}
        return PUScores(expit(p), expit(x), setting=setting, **options)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_the_envelope_holds_at_all_thresholds_at_once(setting):
    world, rng, draws, broken = World(1.5, 0.2), np.random.default_rng(4), 300, 0
    for _ in range(draws):
        found = fdp_envelope(world.draw(rng, 300, 4000, setting))
        broken += (found.promised > world.precision(found.threshold)).any()
        assert (found.promised <= 1).all()
    at_most(broken, draws, 0.05)


@pytest.mark.parametrize("prior", [0.02, 0.3])
@pytest.mark.parametrize("interval", [None, (0.9, 1.2)])
def test_a_guaranteed_precision_holds_and_finds_positives(prior, interval):
    world, rng, draws = World(2.0, prior), np.random.default_rng(5), 100
    wanted = world.precision(world.at_recall(0.8 if interval is None else 0.9))
    ends = None if interval is None else (prior * interval[0], prior * interval[1])
    found = []
    for _ in range(draws):
        scores = world.draw(rng, 1000, 20_000, prior_interval=ends)
        found.append(precision_threshold(scores, precision=wanted).threshold)
    broken = (world.precision(np.array(found)) < wanted).sum()
    at_most(broken, draws, 0.05)
    assert world.recall(np.array(found)).mean() > 0.55


def test_flat_precision_is_not_guaranteed_by_chance():
    """Uninformative scores: every threshold has the prior as its precision."""
    world, rng, draws, broken = World(0.0, 0.3), np.random.default_rng(6), 200, 0
    for _ in range(draws):
        try:
            precision_threshold(world.draw(rng, 200, 2000), precision=0.3 + 1e-9)
        except InputError:
            continue
        broken += 1
    at_most(broken, draws, 0.05)


def test_precision_under_the_worst_selection():
    """Hidden positives have scores as low as gamma allows; the precision guarantee holds."""
    gamma, prior, rng = 1.5, 0.3, np.random.default_rng(7)
    corner = 1 / (1 + gamma)
    draws, broken, kept = 200, 0, 0
    for _ in range(draws):
        y = rng.random(5000) < prior
        # Ranks among labeled positives: hidden ones are denser below the corner.
        low = rng.random(5000) < gamma * corner
        rank = np.where(low, corner * rng.random(5000), corner + (1 - corner) * rng.random(5000))
        s = np.where(y, 0.3 + 0.7 * rank, 0.6 * rng.random(5000))
        scores = PUScores(
            0.3 + 0.7 * rng.random(800), s, prior=prior, setting="two-sample", selection=gamma
        )
        try:
            t = precision_threshold(scores, precision=0.7).threshold
        except InputError:
            continue
        kept += 1
        p = (1 - t) / 0.7
        tpr = min(max(p / gamma, 1 - gamma * (1 - p)), 1)
        broken += prior * tpr / (prior * tpr + 0.7 * max(0, 1 - t / 0.6)) < 0.7
    assert kept > draws / 2
    at_most(broken, draws, 0.05)


def test_an_impossible_guarantee_reports_the_limit_and_a_remedy():
    scores = World(2.0, 0.1).draw(np.random.default_rng(8), 60, 3000, prior_interval=(0.08, 0.12))
    with pytest.raises(InputError) as caught:
        precision_threshold(scores, precision=0.7)
    text = str(caught.value)
    best = float(fdp_envelope(scores).promised.max())
    assert f"can be guaranteed up to {best:.3g}" in text
    for words in ("labeled positives", "unlabeled rows", "an exact prior", "a review of"):
        assert words in text
    assert precision_threshold(scores, precision=best - 1e-9).value == best - 1e-9


def test_more_knowledge_allows_stronger_guarantees():
    world, rng = World(2.0, 0.1), np.random.default_rng(9)
    scores = world.draw(rng, 500, 5000)
    plain = fdp_envelope(scores).promised
    assert (fdp_envelope(scores.with_prior(0.1, (0.08, 0.1))).promised < plain).all()
    assert (fdp_envelope(scores.with_selection(1.5)).promised < plain).all()
    assert (fdp_envelope(scores, confidence=0.8).promised >= plain).all()
    with pytest.raises(InputError, match="confidence"):
        fdp_envelope(scores, confidence=95)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.999])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_a_single_positive_and_any_confidence_have_an_answer(confidence, setting):
    scores = PUScores([0.9], [0.8, 0.3], prior=0.5, setting=setting)
    found = fdp_envelope(scores, confidence=confidence)
    assert found.promised.shape == (1,)
    assert 0 <= found.promised[0] <= 0.75
    assert np.isnan(found.precision[0]) == (setting == "two-sample")
    assert recall_threshold(scores, recall=0.3, confidence=confidence).threshold in (0.0, 0.9)


def test_labeled_rows_with_weights_are_counted_in_one_unit():
    rng = np.random.default_rng(14)
    y = rng.random(500) < 0.3
    s = expit(rng.normal(size=500) + 2 * y)
    weight = np.where(y, 0.5, 1.0)
    scores = PUScores.from_labels(y, s, sample_weight=weight, weight_kind="importance")
    found = fdp_envelope(scores)
    assert (found.promised <= found.precision + 1e-12).all()
    at = fdp_envelope(scores, thresholds=found.threshold[::10])
    assert at.promised == pytest.approx(found.promised[::10])


def test_many_positives_are_thinned():
    scores = World(2.0, 0.1).draw(np.random.default_rng(10), 20_000, 20_000)
    found = fdp_envelope(scores)
    assert found.threshold.size <= 500
    assert (np.diff(found.threshold) < 0).all()
    assert found.recall[0] >= 0.05
    assert found.recall[-1] == 1.0


@given(st.integers(20, 400))
@settings(max_examples=20)
def test_the_local_tail_lies_between_one_look_and_bonferroni(n):
    law = Counts(np.arange(np.ceil(0.05 * n), n + 1.0), float(n))
    assert 0.05 / law.above.size / 3 < local_tail(0.05, law) < 0.05


def test_counts_are_units_of_the_largest_weight():
    scores = PUScores(
        [0.9, 0.5],
        [0.8, 0.2, 0.1],
        setting="two-sample",
        positive_weight=[1.0, 4.0],
        unlabeled_weight=[2.0, 1.0, 1.0],
        weight_kind="importance",
    )
    positive, marginal = counts_above(scores, np.array([0.6, 0.5, 0.0]))
    assert positive.above == pytest.approx([0.25, 1.25, 1.25])
    assert marginal.above == pytest.approx([1.0, 1.0, 2.0])
    assert (positive.low(0.05) <= positive.share).all()
    assert (positive.high(0.05) >= positive.share).all()


def test_limits_are_clopper_pearson():
    law = Counts(np.array([0.0, 3.0, 10.0]), 10.0)
    assert law.low(0.05)[1] == pytest.approx(beta.ppf(0.05, 3, 8))
    assert binom.cdf(3, 10, law.high(0.05)[1]) == pytest.approx(0.05)
    assert law.low(0.05)[0] == 0.0
    assert law.high(0.05)[2] == 1.0


# --- cost and workload ----------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_a_guaranteed_cost_holds_and_is_near_the_optimum(setting):
    world, rng, draws, found = World(2.0, 0.2), np.random.default_rng(11), 150, []

    def cost(t):
        miss = world.prior * (1 - world.recall(t))
        return world.flagged(t) * (1 - world.precision(t)) + 5 * miss

    for _ in range(draws):
        scores = world.draw(rng, 400, 5000, setting)
        promise = cost_threshold(scores, cost=(1, 5))
        found.append((cost(promise.threshold), promise.value))
    true, promised = np.array(found).T
    at_most((true > promised).sum(), draws, 0.05)
    best = min(cost(t) for t in expit(np.linspace(-3, 4, 300)))
    assert true.mean() < 1.15 * best
    assert promised.mean() < 1.6 * best


def test_never_acting_can_be_guaranteed():
    scores = World(0.0, 0.1).draw(np.random.default_rng(12), 100, 1000)
    promise = cost_threshold(scores, cost=(10, 1))
    assert promise.threshold == np.inf
    assert promise.value == pytest.approx(0.1)
    with pytest.raises(InputError, match="cost"):
        cost_threshold(scores, cost=(-1, 1))


@pytest.mark.parametrize("ties", [False, True])
def test_the_budget_is_kept(ties):
    rng, draws, over, used = np.random.default_rng(13), 400, 0, []
    shown = (lambda x: np.round(x, 1)) if ties else (lambda x: x)
    for _ in range(draws):
        now, later = shown(rng.random(1500)), shown(rng.random(2000))
        scores = PUScores([0.9], now, setting="two-sample")
        t = budget_threshold(scores, budget=300, rows=2000, confidence=0.95).threshold
        over += (later >= t).sum() > 300
        used.append((later >= t).sum())
    at_most(over, draws, 0.05)
    assert ties or np.mean(used) > 240


def test_the_budget_rule_is_the_beta_binomial_one():
    s = np.arange(1, 1000) / 1000
    scores = PUScores([0.9], s, setting="two-sample")
    t = budget_threshold(scores, budget=50, rows=1000, confidence=0.95).threshold
    m = (s >= t).sum()
    assert betabinom.cdf(50, 1000, m + 1, 999 - m) >= 0.95
    assert betabinom.cdf(50, 1000, m + 2, 998 - m) < 0.95
    assert budget_threshold(scores, budget=1000, rows=1000).threshold == 0.001
    none = PUScores([0.9], [0.5] * 100, setting="two-sample")
    assert budget_threshold(none, budget=5, rows=100).threshold == np.inf
    with pytest.raises(InputError, match="budget"):
        budget_threshold(scores, budget=11, rows=10)
