"""The page in a browser: its sliders agree with Python, and no data leave it."""

import os
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from noneg import PUScores, compare, evaluate
from noneg.calibration import reliability, smooth_reliability
from noneg.demo import handwritten_loops
from noneg.evaluation import outside_notice
from noneg.page_state import EXPLORED, TOPS
from noneg.performance import contingency_bounds, fdp_envelope
from noneg.performance.assumptions import largest_prior, noise_floor
from noneg.performance.risk import risk
from noneg.performance.thresholds import at_threshold
from noneg.registry import METRICS, registered_rules
from noneg.report import About, comparison_to_html, to_html
from noneg.report.content import document
from noneg.report.document import MISSING
from noneg.report.words import plain_prior
from noneg.rules import Rule
from noneg.sentences import say
from noneg.simulation import LogisticGaussian

RULES = registered_rules(EXPLORED)
CLOSE = {"rel": 0.0, "abs": 1e-9}
N_PRIORS = 10
MOVED = "exactly {:.4g}, set with the slider (original report: {})"
# initially shown with three decimals
FACTS = {"debiased_ece", "auroc", "average_precision", "brier"}


def rare():
    """A rare class, importance weights, and scores of exactly 0 and 1."""
    world = LogisticGaussian.less_calibrated(0.03)
    score, label = world.draw_rows(4000, seed=5)
    score = np.where(score < 0.002, 0.0, np.where(score > 0.995, 1.0, score))
    labeled = label & (np.random.default_rng(5).random(label.size) < 0.5)
    weight = np.random.default_rng(6).uniform(0.5, 2.0, label.size)
    return PUScores.from_pu_labels(
        labeled,
        score,
        prior=0.03,
        setting="two-sample",
        sample_weight=weight,
        weight_kind="importance",
    )


DATA = {
    "two samples": lambda: LogisticGaussian.less_calibrated(0.2).draw(
        300, 3000, setting="two-sample", seed=0
    ),
    "one sample, digits": lambda: handwritten_loops().scores,
    "rare, weighted": rare,
}
every_data = pytest.mark.parametrize("name", [*DATA])
DATA["labeled"] = lambda: LogisticGaussian.calibrated().draw(n=2000, setting="labeled", seed=0)
DATA["interval"] = lambda: DATA["two samples"]().with_prior(0.2, (0.12, 0.3))


@cache
def drawn(name):
    return DATA[name]()


@cache
def evaluated(name, *, recalibrate=False):
    return evaluate(drawn(name), recalibrate=recalibrate)


@cache
def written(name, *, recalibrate=False):
    return to_html(evaluated(name, recalibrate=recalibrate))


def priors(scores, n=N_PRIORS):
    """Random priors allowed by the setting, over the whole range."""
    rng = np.random.default_rng(7)
    least = scores.least_prior
    share = scores.n_positive / (scores.n_positive + scores.n_unlabeled)
    # The last one looks as if every positive were labeled.
    return [*(least + (0.995 - least) * rng.uniform(0.001, 1.0, n)).tolist(), 1.003 * share]


MOVE = """prior => {
  const box = document.getElementById("prior-number");
  box.value = String(prior);
  box.dispatchEvent(new Event("change"));
  const text = (name) => document.querySelector(`[data-text="${name}"]`)?.textContent ?? null;
  const names = ["verdict_title", "verdict_where", "verdict_error", "action", "command", "bound",
    "floor", "plan"];
  return {
    numbers: noneg.evaluate(noneg.data, prior),
    texts: Object.fromEntries(names.map((name) => [name, text(name)])),
    warnings: [...document.querySelectorAll("[data-warnings] li")].map((e) => e.textContent),
    shown: Object.fromEntries(
      [...document.querySelectorAll("[data-number]")].reverse()
        .map((e) => [e.dataset.number, e.textContent])),
    state: noneg.stateAt(noneg.data, prior, noneg.data.selection),
    code: document.querySelector("[data-code]").textContent,
    sample: text("sample"),
    smooth: noneg.smooth(noneg.data.sums.smooth, prior),
    strip: noneg.strip.segments()
      .find((one) => one.left <= prior && prior <= one.right)?.state ?? null,
    largest: noneg.largestPrior(noneg.data),
    floor: noneg.assumptions(noneg.data, prior).noise_floor,
    bound: [noneg.biasBound(noneg.data, prior, null),
            noneg.biasBound(noneg.data, prior, 1 - noneg.data.level)],
    diagram: noneg.reliability(noneg.data.sums.diagrams.width, prior),
  };
}"""


def state(evaluation, prior):
    """Return whether the prior and the scores are consistent, according to the headline."""
    if evaluation.assumptions[0].verdict == "contradicted" or prior < evaluation.sums.least_prior:
        return "impossible"
    return evaluation.verdict.code


def same(found, expected):
    return found == pytest.approx(expected, **CLOSE)


def moving_warnings(evaluation, moving):
    """Warnings; fixed numbers on the page are not reported as outside their range."""
    for warning in evaluation.warnings:
        known = {name: one for name, one in evaluation.metrics.items() if name in moving}
        yield from outside_notice(known) if warning.code == "outside" else [warning]


def same_diagram(found, at, given):
    """Compare the bins and the smooth curve, whose windows belong to the given prior."""
    drawn = reliability(at, bins=given.sums.diagram_bins)
    for row, low, high in zip(found["diagram"], drawn.low, drawn.high, strict=True):
        assert same([row["low"], row["high"]], [low, high])
    width = smooth_reliability(at.with_prior(given.prior.value)).width
    curve = smooth_reliability(at, width=width)
    for name in ("score", "frequency", "low", "high"):
        assert same([row[name] for row in found["smooth"]], getattr(curve, name).tolist())


@every_data
def test_numbers_at_any_prior_are_those_of_python(name, open_page):
    scores, given, page = drawn(name), evaluated(name), open_page(written(name))
    for prior in priors(scores):
        at = scores.with_prior(prior)
        expected = evaluate(at, edges=given.edges)
        found = page.evaluate(MOVE, prior)
        estimates = expected.metrics | {
            name: getattr(expected, name) for name in ("ece_width_15", "ece_mass_15")
        }
        for metric, interval_moves in given.sums.moving.items():
            number, estimate = found["numbers"][metric], estimates[metric]
            if number["value"] is None:
                assert np.isnan(estimate.value), metric
                continue
            assert same(number["value"], estimate.value), (metric, prior)
            if interval_moves:
                assert same(number["low"], estimate.low), (metric, prior)
                assert same(number["high"], estimate.high), (metric, prior)
            digits = 3 if metric in FACTS else 4
            assert float(found["shown"][f"{metric}.value"]) == pytest.approx(
                round(estimate.value, digits), abs=1.01 * 10**-digits
            )
        assert same(found["largest"], largest_prior(at))
        assert same(found["floor"], noise_floor(at, edges=given.edges))
        assert same(found["bound"], [expected.bounds[k].value for k in ("expected", "probable")])
        same_diagram(found, at, given)
        assert found["code"] == say(f"code_{expected.verdict.code}")
        assert MOVED.format(prior, plain_prior(given)) in found["sample"]
        content = document(expected)
        parts = (content.verdict, content.action, *(one.sentences for one in content.sections))
        told = {one.key: one.text for part in parts for one in part}
        # The strip ends where the slider does.
        assert {found["state"], found["strip"]} - {None} == {state(expected, prior)}
        for key, text in found["texts"].items():
            assert text == told.get(key, ""), key  # at an impossible prior, some texts are empty
        assert found["warnings"] == list(moving_warnings(expected, given.sums.moving))
    assert page.complaints == []
    assert page.outside == []


def test_a_metric_registered_at_run_time_moves(open_page):
    scores, rule = DATA["two samples"](), Rule(lambda tpr, ppr: (0.0, tpr, ppr, 1.0 - tpr))

    def threat_score(scores, *, threshold=0.5):
        return rule.value(scores, threshold)

    at_threshold(threat_score, "Threat score at 0.5", rule)
    try:
        page = open_page(to_html(evaluate(scores)))
        found = page.evaluate(MOVE, 0.27)
        shown = page.text_content('[data-range="threat_score"]')
        expected = METRICS["threat_score"].interval(scores.with_prior(0.27), level=0.95)
    finally:
        del METRICS["threat_score"]
    number = found["numbers"]["threat_score"]
    got = [number["value"], number["low"], number["high"]]
    assert same(got, [expected.value, expected.low, expected.high])
    assert found["shown"]["threat_score.value"] == f"{expected.value:.4f}"
    assert shown == f"[{expected.low:.4f}, {expected.high:.4f}]"


EXPLORE = """([prior, i]) => ({
  confusion: noneg.confusion(noneg.data.sums.tails, prior, i),
  cost: noneg.cost(noneg.data.sums.tails, prior, i, [1, 5]),
  promised: noneg.promised(noneg.data, prior, i),
  rules: Object.fromEntries(["precision", "recall", "f_beta", "specificity", "false_positive_rate"]
    .map((name) => [name, noneg.atThreshold(noneg.data, name, prior, i)])),
  bounds: noneg.rankBounds(noneg.data, prior)?.map((side) => side[i]) ?? null,
})"""


def confusion(tails, prior, i):
    """Return nonnegative shares of the confusion matrix."""
    ppr = float(tails.ppr[i])
    tp = float(np.clip(prior * tails.tpr[i], max(ppr + prior - 1.0, 0.0), min(prior, ppr)))
    return {"tp": tp, "fp": ppr - tp, "fn": prior - tp, "tn": max(1.0 - prior - ppr + tp, 0.0)}


def same_counts(found, tails, prior, i, cost):
    """Compare counts with the precision and cost from Python, which does not clip counts."""
    counts = confusion(tails, prior, i)
    assert same(found["confusion"], counts)
    assert same(found["cost"], counts["fp"] + 5.0 * counts["fn"])
    if same(counts["tp"], prior * tails.tpr[i]):
        assert same(found["cost"], cost)
    precision = found["rules"]["precision"]["value"]
    if precision is not None:
        assert same(counts["tp"], max(precision * tails.ppr[i], tails.ppr[i] + prior - 1.0))


@every_data
def test_thresholds_are_those_of_python(name, open_page):
    scores, given, page = drawn(name), evaluated(name), open_page(written(name))
    cuts = given.sums.tails.threshold
    rng = np.random.default_rng(3)
    for prior in priors(scores, 20):
        at = scores.with_prior(prior)
        for i in rng.integers(1, cuts.size - 1, 2).tolist():
            found = page.evaluate(EXPLORE, [prior, i])
            for metric, rule in RULES.items():
                expected = rule.interval(at, float(cuts[i]), 0.95)
                number = found["rules"][metric]
                if number["value"] is None:
                    assert np.isnan(expected.value)
                    continue
                got = [number["value"], number["low"], number["high"]]
                assert same(got, [expected.value, expected.low, expected.high]), (metric, cuts[i])
            cost = risk(at, "cost-sensitive", threshold=float(cuts[i]), cost=(1.0, 5.0))
            same_counts(found, given.sums.tails, prior, i, cost)
            envelope = fdp_envelope(at, thresholds=[cuts[i]])
            assert same(found["promised"], float(envelope.promised[0]))
            assert same(sum(found["confusion"].values()), 1.0)
            if given.sums.bounds is None:
                assert found["bounds"] is None
                continue
            tables = contingency_bounds(at, threshold=float(cuts[i]), table="all")
            for side, table in zip(found["bounds"], (tables.lower, tables.upper), strict=True):
                assert same([side["fpr"], side["tpr"]], [table.fpr[0], table.tpr[0]])


def test_at_the_given_prior_thresholds_hold_for_every_prior_in_its_interval(open_page):
    scores, given, page = drawn("interval"), evaluated("interval"), open_page(written("interval"))
    shown = given.metrics["precision"]
    assert page.text_content("[data-explore=precision_range]") == (
        f"[{shown.low:.3f}, {shown.high:.3f}]"
    )
    cuts = given.sums.tails.threshold
    for i in (5, 60, 120, 200):
        for prior, at in ((0.2, scores), (0.25, scores.with_prior(0.25))):
            found = page.evaluate(EXPLORE, [prior, i])
            rules = found["rules"]
            promised = fdp_envelope(at, thresholds=[cuts[i]]).promised[0]
            assert same(found["promised"], float(promised))
            for name, rule in RULES.items():
                expected = rule.interval(at, float(cuts[i]), 0.95)
                if not np.isnan(expected.value):
                    got = [rules[name]["low"], rules[name]["high"]]
                    assert same(got, [expected.low, expected.high]), (name, prior, i)
    points_drawn = page.evaluate(
        "() => [...document.querySelectorAll('[data-table=reliability] tr')]"
        ".map((row) => row.children[4].textContent)"
    )
    page.evaluate(MOVE, 0.25)
    page.click("#prior-reset")
    again = page.evaluate(
        "() => [...document.querySelectorAll('[data-table=reliability] tr')]"
        ".map((row) => row.children[4].textContent)"
    )
    assert again == points_drawn
    assert page.complaints == []


def test_sliders_work_with_the_keyboard(open_page):
    scores, page = drawn("two samples"), open_page(written("two samples"))
    title = page.text_content("[data-text=verdict_error]")
    page.focus("#prior-slider")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    prior = float(page.input_value("#prior-number"))
    assert prior > scores.prior
    assert (
        page.get_attribute("#prior-slider", "aria-valuetext") == f"share of positives {prior:.4g}"
    )
    assert page.text_content("[data-text=verdict_error]") != title
    assert page.evaluate("document.body.classList.contains('moved')")
    page.click("#prior-reset")
    assert page.text_content("[data-text=verdict_error]") == title
    assert float(page.input_value("#prior-number")) == scores.prior

    flagged = page.text_content("[data-explore=flagged]")
    page.focus("#threshold-slider")
    page.keyboard.press("End")
    assert page.text_content("[data-explore=flagged]") != flagged
    page.click("#threshold-f1")
    best = float(page.text_content("[data-explore=f_beta]"))
    assert best >= float(f"{evaluate(scores).metrics['f_beta'].value:.3f}")
    page.fill("#cost-missed", "0")
    page.click("#threshold-cost")
    assert float(page.text_content("[data-explore=cost]")) <= 0.1
    assert page.complaints == []


def test_a_wrong_prior_is_rejected(open_page):
    page = open_page(written("one sample, digits"))
    page.fill("#prior-number", "0.01")  # fewer positives than are labeled
    page.keyboard.press("Tab")
    assert page.text_content("#prior-refused").startswith("0.01 is not possible")
    assert page.input_value("#prior-number") == f"{drawn('one sample, digits').prior:.6g}"
    assert not page.evaluate("document.body.classList.contains('moved')")


def chart_names(evaluation):
    return [chart.name for section in document(evaluation).sections for chart in section.charts]


def test_at_the_given_prior_the_page_agrees_with_python(open_page):
    evaluation, page = evaluated("two samples"), open_page(written("two samples"))
    text = page.text_content("body")
    for sentence in document(evaluation).verdict:
        assert str(sentence) in text
    # Every chart has been drawn, and every chart has a table and a label.
    charts = page.query_selector_all("[data-chart]")
    assert [chart.get_attribute("data-chart") for chart in charts] == chart_names(evaluation)
    for chart in charts:
        name = chart.get_attribute("data-chart")
        assert chart.query_selector("svg path") is not None, f"chart {name} draws nothing"
    for label in page.query_selector_all("figure [role=img]"):
        assert "table below" in label.get_attribute("aria-label")


def test_labeled_data_has_no_prior_to_move(open_page):
    page = open_page(written("labeled", recalibrate=True))
    assert page.query_selector("#prior-slider") is None
    page.click("#threshold-f1")
    assert page.text_content("[data-explore=precision_range]").startswith("[")
    assert page.complaints == []


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'); alert(1); ('",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egpj.exe",
    "🦔 שלום",
    "https://example.org/x.js",
]


def test_hostile_names_are_inert(open_page):
    scores = LogisticGaussian.calibrated().draw(50, 200, setting="two-sample", seed=0)
    together = " ".join(HOSTILE)
    about = About(
        title=f"Can the scores in {together} be trusted?",
        source={"files": together, **{name: name for name in HOSTILE}},
        command=f"noneg report {together}",
        digests=dict.fromkeys(HOSTILE, "0" * 64),
    )
    page = open_page(to_html(evaluate(scores), about))
    for name in HOSTILE:
        # A character that reverses the text direction is shown as an escape sequence.
        shown = name.replace("\u202e", "\\u202e")
        assert shown in page.text_content("h1")
        assert shown in page.text_content("#computed table")
        assert shown in page.text_content("#computed-code")
        assert shown in page.title()
    assert page.complaints == []
    assert page.outside == []
    assert page.evaluate("document.querySelectorAll('script').length") == 8
    assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_an_injected_script_would_not_run(open_page):
    scores = LogisticGaussian.calibrated().draw(50, 200, setting="two-sample", seed=0)
    html = to_html(evaluate(scores))
    page = open_page(html.replace("<main>", "<main><script>window.ran = true</script>", 1))
    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_legible(width, scheme, open_page):
    html = written("two samples", recalibrate=True)
    page = open_page(html, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.overflow() <= 0
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('p, td, th, label, svg text')]
           .filter((e) => e.textContent.trim() && e.getClientRects().length)
           .map((e) => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert min(sizes) >= 11.5
    assert contrast(page) >= 4.5
    assert page.complaints == []


def contrast(page):
    """Return the contrast between text and background, as defined by WCAG 2."""
    colors = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    lights = sorted(luminance(color) for color in colors)
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(color):
    parts = [int(x) / 255 for x in color[4:-1].split(",")]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_axes_are_named_and_nothing_is_cut(open_page):
    page = open_page(written("two samples"), width=390)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('[data-chart] svg')].flatMap((svg) => {
             const frame = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('text')].filter((e) => {
               const box = e.getBoundingClientRect();
               return e.textContent && (box.left < frame.left - 1 || box.right > frame.right + 1
                 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
             }).map((e) => e.textContent);
           })"""
    )
    assert cut == []
    titles = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('[data-chart]')].map((chart) =>
             [chart.dataset.chart, [...chart.querySelectorAll('.role-axis-title text')]
               .filter((e) => e.textContent).length]))"""
    )
    names = chart_names(evaluated("two samples"))
    assert titles == dict.fromkeys(names, 2), "every chart has a title on both axes"


def test_paper_is_white_and_everything_is_open(open_page):
    page = open_page(written("two samples"), scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0


def test_it_opens_quickly(open_page):
    page = open_page(written("two samples"))
    spent = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert spent < 10_000  # a few hundred milliseconds if nothing else is running


def test_the_page_of_several_models(open_page):
    score, label = LogisticGaussian.calibrated().draw_rows(3000, seed=0)
    labeled = label & (np.random.default_rng(0).random(label.size) < 0.4)
    hostile = "</script><script>alert(1)</script>"
    models = {"plain": score, hostile: score**2}
    found = compare(models, labeled, setting="one-sample", prior=float(label.mean()))
    for width, scheme in ((390, "dark"), (1280, "light")):
        page = open_page(comparison_to_html(found), width=width, scheme=scheme)
        assert page.overflow() <= 0
        assert page.complaints == []
        assert page.outside == []
        charts = page.query_selector_all("[data-chart]")
        orders = [one for one in found.criteria.values() if one.ordering]
        assert len(charts) == 1 + len(found.criteria) + len(orders)
        assert all(chart.query_selector("svg") for chart in charts)
        assert hostile in page.text_content("body")


def test_sections_follow_one_another(open_page):
    page = open_page(written("one sample, digits", recalibrate=True))
    page.evaluate("document.querySelector('#glossary').scrollIntoView()")
    places = page.evaluate(
        """() => [...document.querySelectorAll('section')].map((e) => {
             const box = e.getBoundingClientRect();
             return [box.top, box.bottom];
           })"""
    )
    for (_, bottom), (top, _) in pairwise(places):
        assert bottom <= top + 1
    # Only the bar with the slider stays in view.
    assert page.evaluate("document.querySelector('.prior-bar').getBoundingClientRect().top") == 0


# The strip follows the selection factor with a short delay.
SETTLED = "#strip:not([aria-busy])"
SELECT = """([prior, factor]) => {
  for (const [id, value] of [["prior-number", prior], ["factor-number", factor]]) {
    const box = document.getElementById(id);
    box.value = String(value);
    box.dispatchEvent(new Event("change"));
  }
  return {
    numbers: noneg.selection.evaluate(noneg.data, prior, factor),
    largest: noneg.largestPrior(noneg.data, factor),
    diagram: noneg.selection.bands(noneg.data, "width", prior, factor),
    sentence: document.querySelector('[data-text="verdict_selection"]').textContent,
    shown: document.querySelector('[data-range="auroc"]').textContent,
  };
}"""


@every_data
def test_numbers_at_any_selection_are_those_of_python(name, open_page):
    """Five priors by five factors; on the slower data sets each of them once."""
    scores, given, page = drawn(name), evaluated(name), open_page(written(name))
    factors = (1.0, 1.1, 1.7, 3.0, 10.0)
    for k, prior in enumerate(priors(scores)[:5]):
        for factor in factors if name == "one sample, digits" else factors[k : k + 1]:
            expected = evaluate(scores.with_prior(prior).with_selection(factor), edges=given.edges)
            found = page.evaluate(SELECT, [prior, factor])
            estimates = expected.metrics | {
                name: getattr(expected, name) for name in ("ece_width_15", "ece_mass_15")
            }
            assert same(found["largest"], expected.largest_prior)
            moved = {n: x for n, x in found["numbers"].items() if x["low"] is not None}
            assert {"debiased_ece", "auroc", "brier", "precision", *TOPS} <= set(moved)
            for metric, number in moved.items():
                one = estimates[metric]
                assert same(
                    [number[end] for end in ("value", "low", "high")],
                    [one.value, one.low, one.high],
                ), (metric, prior, factor)
            diagram = reliability(
                scores.with_prior(prior).with_selection(factor), bins=given.sums.diagram_bins
            )
            for row, low, high in zip(found["diagram"], diagram.low, diagram.high, strict=True):
                if factor > 1.0:
                    assert same([row["low"], row["high"]], [low, high])
            told = {one.key: one.text for one in document(expected).verdict}
            assert found["sentence"] == told.get("verdict_selection", "")
            auroc = expected.metrics["auroc"]
            assert found["shown"] == f"[{auroc.low:.3f}, {auroc.high:.3f}]"
    assert page.complaints == []


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_single_positive_leaves_the_losses_open(factor, open_page):
    scores = PUScores([0.9], np.linspace(0.01, 0.95, 40), prior=0.3, setting="two-sample")
    given = evaluate(scores)
    found = open_page(to_html(given)).evaluate(SELECT, [0.2, factor])["numbers"]
    expected = evaluate(scores.with_prior(0.2).with_selection(factor), edges=given.edges).metrics
    for name in ("brier", "log_loss", "risk"):
        number, one = found[name], expected[name]
        ends = [number[end] for end in ("value", "low", "high")]
        assert same(ends, [one.value, one.low, one.high]), name


def test_the_table_of_groups_sorts_by_click(open_page):
    world = LogisticGaussian.less_calibrated(0.3)
    score, label = world.draw_rows(3000, seed=1)
    group = np.array(list("abc"))[np.arange(3000) % 3]
    found = evaluate(PUScores.from_labels(label, score), by=group)
    page = open_page(to_html(found))
    order = (
        "[...document.querySelectorAll('#groups tbody tr')].map((row) => row.cells[0].innerText)"
    )
    assert page.evaluate(order) == list(found.groups.group)
    names = np.array(found.groups.group)
    falling = names[np.argsort(-found.groups.metrics["prior"][0])].tolist()
    click = "document.querySelectorAll('#groups th .sort')[3].click()"
    for expected in (falling, falling[::-1]):
        page.evaluate(click)
        assert page.evaluate(order) == expected


def test_numbers_of_groups_go_when_a_slider_moves(open_page):
    """They are known for the prior and the selection of the report alone."""
    score, label = LogisticGaussian.less_calibrated(0.3).draw_rows(3000, seed=1)
    seen = (label == 1) & (np.arange(3000) % 2 == 0)
    scores = PUScores.from_pu_labels(seen, score, setting="one-sample", prior=0.3)
    group = np.array(list("abc"))[np.arange(3000) % 3]
    page = open_page(to_html(evaluate(scores, by=group)))
    shown = """['table', '.chart', '.away'].map(
      (kind) => document.querySelector(`#groups ${kind}`).checkVisibility())"""
    move = """([name, value]) => {
      const box = document.getElementById(name);
      box.value = value;
      box.dispatchEvent(new Event("change"));
    }"""
    assert page.evaluate(shown) == [True, True, False]
    for box, value in (("prior-number", "0.4"), ("factor-number", "2")):
        page.evaluate(move, [box, value])
        assert page.evaluate(shown) == [False, False, True]
        assert "the original share of positives and selection factor" in page.inner_text(
            "#groups .away"
        )
        page.click("#groups [data-reset]")
        assert page.evaluate(shown) == [True, True, False]
    assert page.complaints == []


# --- the first screen -----------------------------------------------------------------------------


def test_a_view_can_be_sent(open_page):
    """The address stores the slider positions, and a page opened from it shows the same view."""
    html = written("two samples")
    page = open_page(html)
    assert "#" not in page.url
    page.evaluate(SELECT, [0.19, 1.7])
    page.fill("#precision-wanted", "0.6")
    page.click("#threshold-precision")
    page.wait_for_selector(SETTLED)
    sent, shown = page.url, page.inner_text("header")
    assert "prior=0.19&factor=1.7&threshold=" in sent
    assert float(page.text_content("[data-explore=precision]")) >= 0.6
    other = open_page(html, fragment=sent.split("#")[1])
    other.wait_for_selector(SETTLED)
    assert other.inner_text("header") == shown
    flagged = "[data-explore=flagged]"
    assert other.text_content(flagged) == page.text_content(flagged)
    other.click("#factor-reset")
    other.click("#prior-reset")
    assert "prior" not in other.url
    # Values that this page does not allow are ignored.
    wrong = open_page(html, fragment="prior=7&factor=0&threshold=x&diagram=y")
    assert not wrong.evaluate("document.body.classList.contains('moved')")
    assert page.complaints == other.complaints == wrong.complaints == []


def test_what_is_not_known_at_another_prior_disappears(open_page):
    page = open_page(written("two samples", recalibrate=True))
    steady = page.inner_text("header")
    page.evaluate(MOVE, 0.27)
    intervals = page.evaluate(
        "() => [...document.querySelectorAll('.given')].map((e) => e.textContent.trim())"
    )
    assert intervals
    assert set(intervals) == {MISSING}
    assert "p = " not in page.text_content("#metrics")
    assert not page.is_visible("#recalibration .chart")
    assert "exactly 0.27, set with the slider" in page.inner_text(".subtitle")
    assert "exactly 0.27" in page.inner_text(".what-if")
    page.click("#recalibration [data-reset]")
    assert page.is_visible("#recalibration .chart")
    assert page.inner_text("header") == steady
    assert not page.is_visible(".what-if")


def test_links_to_sections_keep_the_sliders(open_page):
    html = written("two samples")
    page = open_page(html)
    page.evaluate(MOVE, 0.31)
    page.click("nav a[href='#glossary']")
    page.wait_for_url("**#prior=0.31&section=glossary")
    other = open_page(html, fragment=page.url.split("#")[1])
    assert other.input_value("#prior-number") == "0.31"
    assert other.evaluate("document.querySelector('#glossary details.fold').open")
    assert page.complaints == other.complaints == []


def test_a_factor_alone_holds_at_exactly_the_given_share(open_page):
    page = open_page(written("interval"))
    page.evaluate(SELECT, [0.2, 1.2])
    assert "exactly 0.2, instead of the whole range from 0.12 to 0.3" in page.inner_text(".what-if")
    assert "exactly 0.2" in page.inner_text(".subtitle")
    command = page.text_content("#next-code").strip()
    assert "--prior-interval" not in command
    assert page.text_content("[data-explore=promised]") == MISSING


def test_guarantees_are_distinguished_from_estimates(open_page):
    page = open_page(written("two samples"))
    best = "() => Math.max(...noneg.data.sums.tails.promised)"
    limit = page.evaluate(best)
    # The page answers before anything is clicked.
    assert re.search(r"\b0\.8\b.* threshold of ", page.text_content("#precision-found"))

    def find(wanted):
        page.fill("#precision-wanted", str(wanted))
        page.click("#threshold-precision")
        return page.text_content("#precision-found")

    assert "is guaranteed with 95% confidence" in find(f"{limit - 0.01:.4f}")
    assert float(page.text_content("[data-explore=promised]")) >= limit - 0.011
    text = find(f"{100 * (limit + 0.01):.2f}")  # as a percentage
    assert text.startswith(f"No threshold is guaranteed to reach {limit + 0.01:.4f}".rstrip("0"))
    assert f"the highest guaranteed precision is {np.floor(1000 * limit) / 1000:.3f}, at" in text
    page.click("#threshold-half")  # the answer stays, whatever the threshold
    assert page.text_content("#precision-found") == text
    assert find(-1).startswith("Enter a precision between 0 and 1")


def test_shares_that_change_the_verdict_are_told(open_page):
    """The strip's ranges in words; at a share that the rows rule out nothing is promised."""
    scores, page = drawn("one sample, digits"), open_page(written("one sample, digits"))
    told = page.evaluate(
        "() => [...document.querySelectorAll('#strip-ranges li')].map((e) => e.textContent)"
    )
    least, limit = f"{scores.least_prior:.3g}", f"{largest_prior(scores):.3g}"
    impossible = f"Impossible with these rows: below {least}, above {limit}"
    assert told == [f"Stop: {least} to {limit}", impossible]
    assert page.text_content("#strip-told") == "The verdict is Stop for every possible share."
    page.evaluate(MOVE, 0.44)
    for threshold in ("0.3", "0.9", "0.98"):
        page.fill("#threshold-number", threshold)
        page.keyboard.press("Tab")
        low = float(page.text_content("[data-explore=precision_range]")[1:].split(",")[0])
        assert float(page.text_content("[data-explore=promised]")) <= low
    assert page.is_visible(".facts")
    page.evaluate(MOVE, 0.6)
    page.click("#threshold-precision")
    assert "rule out this share of positives" in page.text_content("#precision-found")
    assert page.text_content("[data-explore=promised]") == MISSING
    assert not page.is_visible(".facts")


def test_the_first_screen_holds_verdict_and_action(open_page):
    """At 1,300 by 900 pixels, no scrolling is needed, and the right third is used."""
    page = open_page(written("two samples"), width=1300)
    for selector in (".badge", "#strip", "#next-code", ".facts"):
        box = page.query_selector(selector).bounding_box()
        assert box["y"] + box["height"] <= 900, selector
    aside = page.query_selector("aside").bounding_box()
    assert aside["x"] > 800
    assert aside["x"] + aside["width"] > 1200


def test_a_keyboard_reaches_everything(open_page):
    """Move through the page with Tab, open a collapsed section, move a slider, and copy with the
    keyboard."""
    page = open_page(written("two samples"))
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
              const e = document.activeElement;
              const box = e.getBoundingClientRect();
              const ring = getComputedStyle(e).outlineStyle !== "none";
              return [e.id || e.getAttribute("href") || e.textContent.trim().slice(0, 40),
                ring && box.width > 0, e === document.body];
            }"""
        )
        if found[2]:
            break
        reached.append(found[0])
        assert found[1], found[0]
    for wanted in (
        *("strip-slider", "next-code", "#glossary", "prior-slider", "prior-number"),
        *("factor-slider", "threshold-slider", "precision-wanted", "threshold-precision"),
        *("How are the scores distributed?", "Glossary"),
    ):
        assert wanted in reached, wanted
    fold = "#metrics details.fold"
    page.focus(f"{fold} > summary")
    page.keyboard.press("Enter")
    assert page.evaluate(f"document.querySelector('{fold}').open")
    page.focus("nav a[href='#glossary']")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('#glossary details.fold').open")


AXE = Path(os.environ.get("NONEG_AXE", "build/axe/node_modules/axe-core/axe.min.js"))


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run make browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_issue(scheme, open_page):
    """WCAG 2 A and AA rules, with all sections expanded and with all of them collapsed."""
    for name in ("two samples", "labeled"):
        page = open_page(written(name, recalibrate=True), scheme=scheme)
        # The page's security policy forbids scripts, but the browser's debugger may run one.
        page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        for opened in (False, True):
            page.evaluate(
                "(open) => document.querySelectorAll('details').forEach((e) => { e.open = open; })",
                opened,
            )
            found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
            grave = [
                (one["id"], one["nodes"][0]["html"][:200])
                for one in found["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert grave == []
