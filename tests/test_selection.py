"""Bounds under selection: compared with linear programs, monotone, and exact without selection."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from noneg import PUScores
from noneg.bins import bin_scores
from noneg.calibration.bounds import Ranges
from noneg.errors import InputError
from noneg.laws import Ordered
from noneg.metrics import METRICS, estimate
from noneg.selection import _cell_edges
from noneg.simulation import LogisticGaussian

CASES = 200
SHARP_RULES = [name for name, metric in METRICS.items() if metric.rule is not None]
LOSSES = {"brier": {}, "log_loss": {}, "risk": {}, "risk hinge": {"loss": "hinge"}}
REFUSED = (
    *("ks_error", "smooth_ece", "logit_smoothed_ece", "kernel_ece", "tce_bpm", "bedroc"),
    *("calibration_slope", "calibration_intercept", "observed_expected", "boyce_index"),
)


def draw(seed: int, *, ties: bool | None = None) -> PUScores:
    """Draw a few rows with a prior and a selection factor, in either setting."""
    random = np.random.default_rng(seed)
    n_positive, n_unlabeled = random.integers(4, 20), random.integers(10, 40)
    positive, unlabeled = random.beta(2, 1.5, n_positive), random.beta(1, 2, n_unlabeled)
    if ties if ties is not None else seed % 2:
        positive, unlabeled = (np.round(x, 1) for x in (positive, unlabeled))
    setting = ("two-sample", "one-sample")[seed // 2 % 2]
    share = n_positive / (n_positive + n_unlabeled)
    prior = random.uniform(0.1, 0.8) if setting == "two-sample" else random.uniform(share, 0.9)
    return PUScores(
        positive,
        unlabeled,
        prior=float(prior),
        setting=setting,
        selection=float(random.uniform(1.05, 4.0)),
    )


class Program:
    """The distributions of the positives over rows, as a linear program."""

    def __init__(self, scores: PUScores, edges: np.ndarray | None = None) -> None:
        rising, positive, marginal = Ordered(scores).masses()
        self.s, self.nu, self.mu = rising, positive / positive.sum(), marginal / marginal.sum()
        self.prior, gamma = scores.known_prior, scores.selection
        labeled = scores.labeled_share / self.prior
        self.low, self.high = (labeled + (1 - labeled) * g for g in (1 / gamma, gamma))
        edges = _cell_edges(scores) if edges is None else edges
        cell = np.searchsorted(edges[1:-1], rising)
        self.cells = (cell == np.arange(edges.size - 1)[:, None]).astype(float)

    def caps(self, *, strict: bool) -> np.ndarray:
        """Return the largest mass of positives in each cell."""
        rows = self.cells @ self.mu / self.prior
        return rows if strict else np.maximum(rows, self.cells @ self.nu)

    def extremes(self, f: np.ndarray, *, strict: bool = False) -> tuple[float, float] | None:
        """Return the smallest and largest mean of f over all distributions, or None if there are
        none."""
        ends = []
        for sign in (1.0, -1.0):
            found = linprog(
                sign * f,
                A_ub=self.cells,
                b_ub=self.caps(strict=strict),
                A_eq=np.ones((1, f.size)),
                b_eq=[1.0],
                bounds=list(zip(self.low * self.nu, self.high * self.nu, strict=True)),
            )
            if found.status == 2:
                return None
            assert found.status == 0, found.message
            ends.append(sign * found.fun)
        return ends[0], ends[1]


def identified(name: str, scores: PUScores, **options: object) -> tuple[float, float]:
    """Return the identified range, not clipped to the range of the metric."""
    found = METRICS[name.split(maxsplit=1)[0]].interval(scores, **options)
    assert found.identified is not None
    assert found.low <= found.identified[0] <= found.value <= found.identified[1] <= found.high
    return found.identified


def near(found: tuple[float, float], wanted: tuple[float, float], scores: float, reach) -> None:
    """Compare ranges, both clipped to the range of the metric and enclosing the estimate."""
    wanted = np.clip([*wanted, scores], *reach)
    wanted = (min(wanted[0], wanted[2]), max(wanted[1], wanted[2]))
    np.testing.assert_allclose(found, wanted, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", SHARP_RULES)
def test_metrics_of_the_confusion_matrix_are_sharp(name):
    """The program bounds TPR; the metric is monotone in it."""
    for seed in range(CASES if name == "precision" else 40):
        scores = draw(seed)
        threshold = float(np.random.default_rng(seed).uniform(0.2, 0.9))
        program, rule = Program(scores), METRICS[name].rule()
        value = METRICS[name].function(scores, threshold=threshold)
        if np.isnan(value):
            continue
        tail = program.extremes((program.s >= threshold).astype(float))
        ppr = program.mu[program.s >= threshold].sum()
        wanted = sorted(float(rule(np.array(t), np.array(ppr), program.prior)) for t in tail)
        found = identified(name, scores, threshold=threshold)
        near(found, tuple(wanted), value, (rule.low, rule.high))


def linear(name: str, scores: PUScores, program: Program):
    """Return f and the function that turns a mean of f into the metric."""
    prior, below = program.prior, np.cumsum(program.mu) - program.mu / 2
    if name == "auroc":
        return below, lambda x: (x - prior / 2) / (1 - prior)
    if name == "proxy_auc":
        (u, *_), _ = scores.in_order()
        share = [((u < s).sum() + (u == s).sum() / 2) / u.size for s in program.s]
        return np.array(share), lambda x: x
    if name in ("precision_at", "lift_at"):
        above = np.cumsum(program.mu[::-1])[::-1]
        inside = np.clip((0.3 - (above - program.mu)) / np.maximum(program.mu, 1e-300), 0, 1)
        inside = np.where(program.mu > 0, inside, above < 0.3)
        return inside, lambda x: x / 0.3 * (prior if name == "precision_at" else 1.0)
    s = np.clip(program.s, 2.0**-52, 1 - 2.0**-52)
    pair = {
        "brier": ((1 - s) ** 2, s**2),
        "log_loss": (-np.log(s), -np.log(1 - s)),
        "risk": ((s < 0.5) * 1.0, (s >= 0.5) * 1.0),
        "risk hinge": tuple(np.maximum(0, 1 - y * np.log(s / (1 - s))) for y in (1, -1)),
    }[name]
    base = program.mu @ pair[1]
    return pair[0] - pair[1], lambda x: base + prior * x


@pytest.mark.parametrize("name", ["auroc", "proxy_auc", "precision_at", "lift_at", *LOSSES])
def test_linear_metrics_are_sharp(name):
    options = {"k": 0.3} if name.endswith("_at") else LOSSES.get(name, {})
    reach = (0.0, np.inf) if name.startswith("risk") else METRICS[name].range
    reach = (0.0, 1.0) if name == "risk" else reach
    for seed in range(CASES):
        scores = draw(seed)
        program = Program(scores)
        f, shown = linear(name, scores, program)
        wanted = sorted(shown(x) for x in program.extremes(f))
        value = METRICS[name.split()[0]].function(scores, **options)
        if name == "lift_at":
            reach = (0.0, 1.0 / scores.prior_set[0])  # The precision is at most 1.
        near(identified(name, scores, **options), tuple(wanted), value, reach)


def test_a_loss_that_is_not_monotone_is_bounded_without_caps():
    def loss(s, label):
        return np.sin(9 * s) * label + 0.0 * s

    for seed in range(40):
        scores = draw(seed)
        program = Program(scores, np.array([0.0, 1.0]))
        wanted = sorted(program.prior * x for x in program.extremes(loss(program.s, 1)))
        found = METRICS["risk"].interval(scores, loss=loss)
        np.testing.assert_allclose(found.identified, wanted, atol=1e-9)


def largest_error(ranges: Ranges) -> float:
    """Return the largest error by a mixed-integer program: each bin is above or below."""
    k, big = ranges.low.size, 4.0
    # Variables: masses, gaps, sides. gap <= x - m + big (1 - side), gap <= m - x + big side.
    one = np.eye(k)
    rows = [
        LinearConstraint(np.hstack([-one, one, big * one]), ub=big - ranges.target),
        LinearConstraint(np.hstack([one, one, -big * one]), ub=ranges.target),
        LinearConstraint(np.hstack([np.ones(k), np.zeros(2 * k)]), ranges.total, ranges.total),
    ]
    bounds = Bounds(
        np.concatenate([ranges.low, np.zeros(2 * k)]),
        np.concatenate([ranges.high, np.full(k, big), np.ones(k)]),
    )
    cost = np.concatenate([np.zeros(k), -np.ones(k), np.zeros(k)])
    kinds = np.concatenate([np.zeros(2 * k), np.ones(k)])
    found = milp(
        cost, constraints=rows, bounds=bounds, integrality=kinds, options={"mip_rel_gap": 0.0}
    )
    assert found.status == 0
    return -found.fun


def test_calibration_error_has_its_exact_range():
    excess = []
    for seed in range(CASES):
        scores = draw(seed)
        edges = np.linspace(0, 1, 3 + seed % 6)
        program = Program(scores, edges)
        nu, caps = program.cells @ program.nu, program.caps(strict=False)
        binned = bin_scores(scores, edges=edges)
        low, high = (
            program.prior * program.low * nu,
            program.prior * np.minimum(program.high * nu, caps),
        )
        ranges = Ranges(low, high, binned.score, program.prior)
        k = nu.size
        smallest = linprog(
            np.append(np.zeros(k), np.ones(k)),
            A_ub=np.block([[np.eye(k), -np.eye(k)], [-np.eye(k), -np.eye(k)]]),
            b_ub=np.append(binned.score, -binned.score),
            A_eq=np.append(np.ones(k), np.zeros(k))[None],
            b_eq=[program.prior],
            bounds=[*zip(low, high, strict=True), *[(0, None)] * k],
        ).fun
        value = METRICS["ece"].function(scores, edges=edges)
        wanted = smallest, largest_error(ranges)
        near(identified("ece", scores, edges=edges), wanted, value, (0, 1))
        excess.append(ranges.largest(exact=False) - wanted[1])
    assert min(excess) > -1e-9
    assert np.mean(excess) < 0.05


@pytest.mark.parametrize("name", ["partial_auc", "average_precision"])
@pytest.mark.parametrize("ties", [False, True])
def test_bounds_of_curves_contain_what_distributions_in_the_box_give(name, ties):
    """Compared with a search over distributions; sharp for the partial area.

    For average precision, the positive at which the density changes is excluded from its own
    precision; with the four positives of the smallest case, this amounts to a few thousandths.
    """
    from experiments.selection.outer import ends

    room = 0.005 if name == "average_precision" else 1e-9
    for case in range(6):
        outer, inner = ends(f"{name}, ties" if ties else name, case)
        assert np.isfinite(outer).all()
        assert outer[0] <= inner[0] + room
        assert outer[1] >= inner[1] - room
        if name == "partial_auc":
            np.testing.assert_allclose(outer, inner, atol=1e-9)


SUPPORTED = [name for name in METRICS if name not in REFUSED]


def world(setting: str, seed: int = 0, n_positive: int = 300) -> PUScores:
    return LogisticGaussian.less_calibrated().draw(n_positive, 3000, setting=setting, seed=seed)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_bounds_grow_from_the_estimate(name, setting):
    """At 1 nothing changes, and the bounds coincide; they then widen with selection and prior."""
    scores = world(setting)
    plain = estimate(name, scores)
    assert estimate(name, scores.with_selection(1.0)) == plain
    found = [
        estimate(name, scores.with_selection(g)) for g in (1.0 + 1e-9, 1.2, 1.5, 2.0, 3.0, 6.0)
    ]
    np.testing.assert_allclose(found[0].identified, plain.value, atol=1e-7)
    assert all(one.value == plain.value for one in found)
    for ends in ([x.identified for x in found], [(x.low, x.high) for x in found]):
        low, high = np.array(ends).T
        assert (np.diff(low) <= 1e-9).all()
        assert (np.diff(high) >= -1e-9).all()
    prior = scores.known_prior
    wide = estimate(name, scores.with_prior(prior, (0.95 * prior, 1.03 * prior)).with_selection(2))
    narrow = estimate(name, scores.with_prior(prior, (0.98 * prior, prior)).with_selection(2))
    for inner, outer in ((found[3], narrow), (narrow, wide)):
        assert outer.identified[0] <= inner.identified[0] + 1e-9
        assert outer.identified[1] >= inner.identified[1] - 1e-9
        assert outer.low <= inner.low + 1e-9
        assert outer.high >= inner.high - 1e-9


@pytest.mark.parametrize("name", REFUSED)
def test_metrics_without_bounds_reject(name):
    with pytest.raises(InputError, match=r"'selection' must be 1 for .* Use ece"):
        estimate(name, world("two-sample").with_selection(2))


def test_a_metric_that_ignores_selection_cannot_pass():
    """An entry whose interval ignores selection must not appear to account for it."""
    from dataclasses import replace

    entry = replace(
        METRICS["auroc"],
        interval=lambda scores, **_: METRICS["auroc"].interval(scores.with_selection(1)),
    )
    with pytest.raises(InputError, match="no bounds are known"):
        entry.estimate(world("two-sample").with_selection(2))


def test_the_shifted_curve_keeps_its_ends_with_many_rows():
    """Limits of many heights are interpolated, with an error far below their noise."""
    from noneg.intervals import MANY, exact_limits
    from noneg.selection import _step_limits

    share = np.linspace(0.0, 1.0, MANY + 1)
    found = _step_limits(share, MANY, 0.95)
    some = np.linspace(1, MANY - 1, 100).astype(int)
    expected = exact_limits(share[some], np.full(some.size, float(MANY)), 0.95)
    for one, other in zip(found, expected, strict=True):
        assert (one[0], one[-1]) == (0.0, 1.0)
        np.testing.assert_allclose(one[some], other, atol=1e-7)


def test_labeled_data_has_no_hidden_positives():
    scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.6, 0.4, 0.9] * 20)
    for name in ("auroc", "ece", "precision", "kernel_ece"):
        assert estimate(name, scores.with_selection(3)) == estimate(name, scores)


def test_a_prior_is_not_needed_where_the_metric_does_not_need_one():
    """Without one, the rows cannot limit the number of positives: only the selection limits
    remain."""
    scores = PUScores([0.9, 0.7, 0.6, 0.2], [0.8, 0.3, 0.1], setting="two-sample", selection=2)
    assert estimate("recall", scores).identified == pytest.approx((0.5, 0.875))


def test_sketches_and_weights_give_the_same():
    from noneg.sketch import Sketch

    scores = world("one-sample")
    sketched = Sketch.from_scores(scores).scores()
    for name in ("auroc", "precision", "recall", "ece", "brier"):
        one, other = (estimate(name, x.with_selection(2)) for x in (scores, sketched))
        np.testing.assert_allclose(other.identified, one.identified, atol=0.005)
        np.testing.assert_allclose((other.low, other.high), (one.low, one.high), atol=0.02)


def test_commands_take_the_factor(tmp_path):
    """Intervals from the command agree with Python, and the JSON contains the identified range."""
    import json

    from click.testing import CliRunner

    from noneg.cli import main

    scores = world("one-sample", n_positive=100)
    (u, *_), (p, *_) = scores.in_order()
    rows = [*(f"{x!r},1" for x in p.tolist()), *(f"{x!r},0" for x in u.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(["p,known", *rows]))
    reading = ["--score", "p", "--label", "known", "--setting", "one-sample"]
    asked = [str(tmp_path / "rows.csv"), *reading, "--prior", str(scores.prior), "--json"]
    done = CliRunner().invoke(main, ["evaluate", *asked, "--selection", "1.5"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    expected = estimate("auroc", scores.with_selection(1.5))
    assert found["selection"] == 1.5
    assert found["metrics"]["auroc"]["identified"] == pytest.approx(expected.identified)
    assert found["metrics"]["auroc"]["low"] == pytest.approx(expected.low)
    assert "'selection' must be 1" in found["left_out"]["kernel_ece"]
    done = CliRunner().invoke(main, ["evaluate", *asked, "--selection", "0.5"])
    assert done.exit_code != 0
    assert "--selection must be a number of at least 1" in done.output
    done = CliRunner().invoke(main, ["negatives", *asked[:-1], "--selection", "1.5"])
    assert "random sample of all positives, up to a factor of 1.5." in done.output


def test_the_winner_is_printed_with_the_factor_up_to_which_it_leads():
    from noneg.comparison import compare
    from noneg.report.comparing import comparison_summary

    score, label = LogisticGaussian.calibrated(0.3).draw_rows(3000, seed=0)
    random = np.random.default_rng(1)
    labeled = label & (random.random(label.size) < 0.5)
    worse = np.clip(score + random.normal(0.0, 0.3, score.size), 0.0, 1.0)
    models = {"good": score, "noisy": worse}
    found = compare(models, labeled, setting="one-sample", prior=0.3)
    factor = found.criteria["proxy_auc"].tipping["noisy"]
    said = [str(x) for x in comparison_summary(found).sections[0].sentences]
    assert any(x.startswith("Proxy AUC: good beats noisy") and f" {factor:.2f}." in x for x in said)


def test_a_verdict_reports_the_factor_up_to_which_it_holds():
    """Miscalibration is certain at the named factor, but not at the next one."""
    from noneg import evaluate
    from noneg.evaluation import FACTORS
    from noneg.report.content import document

    scores = LogisticGaussian(beta0=0.0, beta1=6.0).draw(2000, 20_000, setting="two-sample", seed=0)
    found = evaluate(scores)
    assert found.stands in (1.0, *FACTORS)
    for factor in (1.0, *FACTORS):
        low = estimate("debiased_ece", scores.with_selection(factor)).low
        assert (low > 0.0) == (factor <= found.stands)
    said = str(document(found).verdict[3])
    assert said.endswith(
        f"by a factor of up to {found.stands:g}." if found.stands > 1 else "or nearly so."
    )
    unsure = evaluate(LogisticGaussian.calibrated().draw(100, 1000, setting="two-sample", seed=0))
    assert unsure.stands is None
    assert "random sample" in str(document(unsure).verdict[3])
    held = evaluate(scores.with_selection(1.5))
    assert "by a factor of up to 1.5." in str(document(held).verdict[3])


def test_the_noise_of_the_labeled_share_is_that_of_simulations():
    """The variance of a lower bound over one-sample draws with few labeled rows."""
    from noneg.selection import Box, Cells, Selected, running_wins

    world, prior, found = LogisticGaussian.calibrated(0.4), 0.4, []
    score, label = world.draw_rows(300 * 600, seed=3)
    labeled = label & (np.random.default_rng(4).random(label.size) < 0.7)
    for s, flags in zip(score.reshape(300, -1), labeled.reshape(300, -1), strict=True):
        scores = PUScores.from_pu_labels(flags, s, prior=prior, setting="one-sample", selection=4.0)
        law = Box.of(scores).without_caps().law(prior, top=False)
        steps = Selected(Cells(scores), law)
        # Return the mean TPR over all rows, which is the area under a step curve.
        weight = np.diff(steps.ppr, append=1.0)
        d_ppr = np.diff(np.append(0.0, steps.tpr)) * -1.0
        found.append((law.mean(*running_wins(scores)), steps.variance(weight, d_ppr, 0.0)))
    values, variances = np.array(found).T
    # A standard deviation from 300 draws is known to 4%; four times that is allowed.
    assert np.sqrt(variances.mean()) / values.std() == pytest.approx(1.0, abs=0.17)
