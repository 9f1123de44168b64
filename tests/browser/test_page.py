"""The page in a browser: its sliders give what Python gives, and nothing leaves it."""

from itertools import pairwise

import numpy as np
import pytest

from noneg import PUScores, compare, evaluate
from noneg.demo import handwritten_loops
from noneg.evaluation import outside_notice
from noneg.page_state import EXPLORED
from noneg.performance import contingency_bounds, fdp_envelope
from noneg.performance.assumptions import largest_prior, noise_floor
from noneg.performance.risk import risk
from noneg.performance.thresholds import at_threshold
from noneg.registry import METRICS, registered_rules
from noneg.report import About, comparison_to_html, to_html
from noneg.report.content import document
from noneg.rules import Rule
from noneg.simulation import LogisticGaussian

RULES = registered_rules(EXPLORED)
CLOSE = {"rel": 0.0, "abs": 1e-9}
N_PRIORS = 20
FACTS = {"debiased_ece", "auroc", "average_precision", "brier"}  # shown with three decimals first


def rare():
    """A rare class, importance weights, and scores of exactly 0 and 1."""
    world = LogisticGaussian.less_calibrated(0.03)
    score, label = world.draw_rows(4000, seed=5)
    score = np.where(score < 0.002, 0.0, np.where(score > 0.995, 1.0, score))
    labelled = label & (np.random.default_rng(5).random(label.size) < 0.5)
    weight = np.random.default_rng(6).uniform(0.5, 2.0, label.size)
    return PUScores.from_pu_labels(
        labelled,
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
every_data = pytest.mark.parametrize("scores", [make() for make in DATA.values()], ids=DATA)


def priors(scores, n=N_PRIORS):
    """Random priors that the setting allows, over the whole range."""
    rng = np.random.default_rng(7)
    least = scores.least_prior
    share = scores.n_positive / (scores.n_positive + scores.n_unlabeled)
    # The last one looks as if every positive were labelled.
    return [*(least + (0.995 - least) * rng.uniform(0.001, 1.0, n)).tolist(), 1.003 * share]


MOVE = """prior => {
  const box = document.getElementById("prior-number");
  box.value = String(prior);
  box.dispatchEvent(new Event("change"));
  const text = (name) => document.querySelector(`[data-text="${name}"]`)?.textContent ?? null;
  const names = ["verdict_title", "verdict_where", "verdict_error", "bound", "floor", "plan"];
  return {
    numbers: noneg.evaluate(noneg.data, prior),
    texts: Object.fromEntries(names.map((name) => [name, text(name)])),
    warnings: [...document.querySelectorAll("[data-warnings] li")].map((e) => e.textContent),
    shown: Object.fromEntries(
      [...document.querySelectorAll("[data-number]")].reverse()
        .map((e) => [e.dataset.number, e.textContent])),
    state: noneg.stateAt(noneg.data, prior),
    strip: noneg.strip.segments().find((one) => one.left <= prior && prior <= one.right).state,
    largest: noneg.data.sums.largest_prior,
    floor: noneg.assumptions(noneg.data, prior).noise_floor,
    bound: [noneg.biasBound(noneg.data, prior, null),
            noneg.biasBound(noneg.data, prior, 1 - noneg.data.level)],
    diagram: noneg.reliability(noneg.data.sums.diagrams.width, prior),
  };
}"""


def state(evaluation, prior):
    """Return whether prior and scores go together, as the headline says it."""
    if evaluation.assumptions[0].verdict == "contradicted" or prior < evaluation.sums.least_prior:
        return "impossible"
    return "off" if evaluation.rejected else "fine"


def same(found, expected):
    return found == pytest.approx(expected, **CLOSE)


def moving_warnings(evaluation, moving):
    """Warnings; numbers that the page does not move are not named as outside of their range."""
    for warning in evaluation.warnings:
        known = {name: one for name, one in evaluation.metrics.items() if name in moving}
        yield from outside_notice(known) if warning.code == "outside" else [warning]


@every_data
def test_numbers_at_any_prior_are_those_of_python(scores, open_page):
    given = evaluate(scores)
    page = open_page(to_html(given))
    for prior in priors(scores):
        at = scores.with_prior(prior)
        expected = evaluate(at, edges=given.edges)
        found = page.evaluate(MOVE, prior)
        estimates = expected.metrics | {
            name: getattr(expected, name) for name in ("ece_width_15", "ece_mass_15")
        }
        for name, interval_moves in given.sums.moving.items():
            number, estimate = found["numbers"][name], estimates[name]
            if number["value"] is None:
                assert np.isnan(estimate.value), name
                continue
            assert same(number["value"], estimate.value), (name, prior)
            if interval_moves:
                assert same(number["low"], estimate.low), (name, prior)
                assert same(number["high"], estimate.high), (name, prior)
            digits = 3 if name in FACTS else 4
            assert float(found["shown"][f"{name}.value"]) == pytest.approx(
                round(estimate.value, digits), abs=1.01 * 10**-digits
            )
        assert same(found["largest"], largest_prior(at))
        assert same(found["floor"], noise_floor(at, edges=given.edges))
        assert same(found["bound"], [expected.bounds[k].value for k in ("expected", "probable")])
        for row, low, high in zip(
            found["diagram"], expected.reliability.low, expected.reliability.high, strict=True
        ):
            assert same([row["low"], row["high"]], [low, high])
        content = document(expected)
        told = {
            one.key: one.text
            for part in (content.verdict, *(section.sentences for section in content.sections))
            for one in part
        }
        assert found["state"] == found["strip"] == state(expected, prior)
        for key, text in found["texts"].items():
            assert text == told[key], key
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


@every_data
def test_thresholds_are_those_of_python(scores, open_page):
    given = evaluate(scores)
    page = open_page(to_html(given))
    cuts = given.sums.tails.threshold
    rng = np.random.default_rng(3)
    for prior in priors(scores, 20):
        at = scores.with_prior(prior)
        for i in rng.integers(1, cuts.size - 1, 2).tolist():
            found = page.evaluate(EXPLORE, [prior, i])
            for name, rule in RULES.items():
                expected = rule.interval(at, float(cuts[i]), 0.95)
                number = found["rules"][name]
                if number["value"] is None:
                    assert np.isnan(expected.value)
                    continue
                got = [number["value"], number["low"], number["high"]]
                assert same(got, [expected.value, expected.low, expected.high]), (name, cuts[i])
            cost = risk(at, "cost-sensitive", threshold=float(cuts[i]), cost=(1.0, 5.0))
            assert same(found["cost"], cost)
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
    scores = DATA["two samples"]().with_prior(0.2, (0.12, 0.3))
    given = evaluate(scores)
    page = open_page(to_html(given))
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
    scores = DATA["two samples"]()
    page = open_page(to_html(evaluate(scores)))
    title = page.text_content("[data-text=verdict_error]")
    page.focus("#prior-slider")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    prior = float(page.input_value("#prior-number"))
    assert prior > scores.prior
    assert page.get_attribute("#prior-slider", "aria-valuetext") == f"class prior {prior:.4g}"
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


def test_a_wrong_prior_is_refused(open_page):
    scores = handwritten_loops().scores
    page = open_page(to_html(evaluate(scores)))
    page.fill("#prior-number", "0.01")  # fewer positives than are labelled
    page.keyboard.press("Tab")
    assert not page.evaluate("document.getElementById('prior-number').checkValidity()")
    assert not page.evaluate("document.body.classList.contains('moved')")


def test_at_the_given_prior_the_page_says_what_python_wrote(open_page):
    scores = DATA["two samples"]()
    evaluation = evaluate(scores)
    page = open_page(to_html(evaluation))
    text = page.text_content("body")
    for sentence in document(evaluation).verdict:
        assert str(sentence) in text
    # Every chart has been drawn, and every chart has a table and a label.
    charts = page.query_selector_all("[data-chart]")
    assert len(charts) == 6
    for chart in charts:
        assert chart.query_selector("svg path") is not None
    for label in page.query_selector_all("figure [role=img]"):
        assert "table below" in label.get_attribute("aria-label")


def test_labelled_data_has_no_prior_to_move(open_page):
    scores = LogisticGaussian.less_calibrated().draw(n=2000, setting="labelled", seed=0)
    page = open_page(to_html(evaluate(scores)))
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
        # A mark that turns the line is shown as its escape.
        shown = name.replace("\u202e", "\\u202e")
        assert shown in page.text_content("h1")
        assert shown in page.text_content("#computed table")
        assert shown in page.text_content("#computed-code")
        assert shown in page.title()
    assert page.complaints == []
    assert page.outside == []
    assert page.evaluate("document.querySelectorAll('script').length") == 7
    assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_an_injected_script_would_not_run(open_page):
    scores = LogisticGaussian.calibrated().draw(50, 200, setting="two-sample", seed=0)
    html = to_html(evaluate(scores))
    page = open_page(html.replace("<main>", "<main><script>window.ran = true</script>", 1))
    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_legible(width, scheme, open_page):
    scores = DATA["two samples"]()
    page = open_page(to_html(evaluate(scores, recalibrate=True)), width=width, scheme=scheme)
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
    """Contrast of text and background by the rule of WCAG 2."""
    colours = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    lights = sorted(luminance(colour) for colour in colours)
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(x) / 255 for x in colour[4:-1].split(",")]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_axes_are_named_and_nothing_is_cut(open_page):
    page = open_page(to_html(evaluate(DATA["two samples"]())), width=390)
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
        """() => [...document.querySelectorAll('[data-chart]')].map((chart) =>
             [...chart.querySelectorAll('.role-axis-title text')]
               .filter((e) => e.textContent).length)"""
    )
    assert titles == [2] * 6


def test_paper_is_white_and_everything_is_open(open_page):
    page = open_page(to_html(evaluate(DATA["two samples"]())), scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0


def test_it_opens_quickly(open_page):
    page = open_page(to_html(evaluate(DATA["two samples"]())))
    spent = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert spent < 10_000  # a few hundred milliseconds where nothing else runs


def test_the_page_of_several_models(open_page):
    score, label = LogisticGaussian.calibrated().draw_rows(3000, seed=0)
    labelled = label & (np.random.default_rng(0).random(label.size) < 0.4)
    hostile = "</script><script>alert(1)</script>"
    models = {"plain": score, hostile: score**2}
    found = compare(models, labelled, setting="one-sample", prior=float(label.mean()))
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
    scores = DATA["one sample, digits"]()
    page = open_page(to_html(evaluate(scores, recalibrate=True)))
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


SELECT = """([prior, factor]) => {
  for (const [id, value] of [["prior-number", prior], ["factor-number", factor]]) {
    const box = document.getElementById(id);
    box.value = String(value);
    box.dispatchEvent(new Event("change"));
  }
  return {
    numbers: noneg.selection.evaluate(noneg.data, prior, factor),
    diagram: noneg.selection.bands(noneg.data, "width", prior, factor),
    sentence: document.querySelector('[data-text="verdict_selection"]').textContent,
    shown: document.querySelector('[data-range="auroc"]').textContent,
  };
}"""


@every_data
def test_numbers_at_any_selection_are_those_of_python(scores, open_page):
    """Five priors by five factors, on every data set."""
    given = evaluate(scores)
    page = open_page(to_html(given))
    for prior in priors(scores)[:5]:
        for factor in (1.0, 1.1, 1.7, 3.0, 10.0):
            expected = evaluate(scores.with_prior(prior).with_selection(factor), edges=given.edges)
            found = page.evaluate(SELECT, [prior, factor])
            estimates = expected.metrics | {
                name: getattr(expected, name) for name in ("ece_width_15", "ece_mass_15")
            }
            moved = {n: x for n, x in found["numbers"].items() if x["low"] is not None}
            assert {"debiased_ece", "auroc", "precision_at", "brier", "precision"} <= set(moved)
            for name, number in moved.items():
                one = estimates[name]
                assert same(
                    [number[k] for k in ("value", "low", "high")], [one.value, one.low, one.high]
                ), (name, prior, factor)
            for row, low, high in zip(
                found["diagram"], expected.reliability.low, expected.reliability.high, strict=True
            ):
                if factor > 1.0:
                    assert same([row["low"], row["high"]], [low, high])
            assert found["sentence"] == str(document(expected).verdict[3])
            auroc = expected.metrics["auroc"]
            assert found["shown"] == f"[{auroc.low:.3f}, {auroc.high:.3f}]"
    assert page.complaints == []
