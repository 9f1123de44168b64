"""The report: the same content in every format, generated only from an evaluation."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import samples

from noneg import PUScores, evaluate, report
from noneg.calibration import ks_error
from noneg.calibration.reliability import reliability
from noneg.calibration.smooth import ks_envelope
from noneg.metrics import METRICS
from noneg.page_state import EXPLORED
from noneg.registry import registered_rules
from noneg.report import About, to_html, to_json, to_markdown, to_notebook, to_text
from noneg.report.charts import CHARTS
from noneg.report.content import document
from noneg.report.document import Number, Range, digest_files
from noneg.report.payload import data_names, datasets, payload
from noneg.report.words import (
    action,
    actions,
    depends,
    flips,
    known,
    positives_needed,
    review_budget,
    verdict_where,
)
from noneg.results import Estimate
from noneg.sentences import in_sentence, say, templates
from noneg.simulation import LogisticGaussian
from noneg.verdict import CODES, LARGE, Point, points, rejects, scale, verdict_key

WORLD = LogisticGaussian.less_calibrated(0.3)
SCORES = {
    "two-sample": WORLD.draw(300, 3000, setting="two-sample", seed=0),
    "one-sample": WORLD.draw(300, 3000, setting="one-sample", seed=0),
    "labeled": WORLD.draw(n=3000, setting="labeled", seed=0),
}
EVALUATIONS = {name: evaluate(scores) for name, scores in SCORES.items()}
every_setting = pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=EVALUATIONS)
ABOUT = About(title="A | title <b>", source={"files": "a|b.csv"}, command="noneg report 'a b'")


# --- content --------------------------------------------------------------------------------------


@every_setting
def test_every_format_has_the_same_content(evaluation):
    content = document(evaluation, ABOUT)
    forms = {
        "html": unescaped(to_html(evaluation, ABOUT)),
        "markdown": to_markdown(evaluation, ABOUT).replace("\\", ""),
        "text": to_text(evaluation, ABOUT, width=10_000),
    }
    for name, text in forms.items():
        for sentence in (*content.verdict, *content.warnings):
            assert str(sentence) in text, name
        for section in content.sections:
            assert section.title in text, name
            for table in section.tables:
                for row in table.rows[:3]:
                    assert all(str(cell) in text for cell in row), (name, row)
    found = json.loads(to_json(evaluation, ABOUT))
    assert found["verdict"] == [str(sentence) for sentence in content.verdict]
    assert found["evaluation"]["ece"]["value"] == evaluation.ece.value
    assert found["source"]["files"] == "a|b.csv"


def unescaped(html):
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", '"')):
        html = html.replace(entity, letter)
    return html.replace("&amp;", "&")


def test_hostile_names_stay_names_in_text_and_markdown():
    about = About(title="\x1b[2J<script>|\u202egpj\n# x", source={"files": "a|b\nc `d`"})
    for text in (
        to_text(EVALUATIONS["labeled"], about),
        to_markdown(EVALUATIONS["labeled"], about),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\n# x" not in text
    markdown = to_markdown(EVALUATIONS["labeled"], about)
    assert "<script>" not in markdown
    row = next(line for line in markdown.splitlines() if line.startswith("| files"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


@every_setting
def test_rendering_is_pure(evaluation):
    assert to_html(evaluation, ABOUT) == to_html(evaluation, ABOUT)
    assert to_markdown(evaluation) == to_markdown(evaluation)


def test_every_metric_is_in_the_tables():
    content = document(EVALUATIONS["two-sample"])
    rows = [row for section in content.sections for table in section.tables for row in table.rows]
    names = {str(row[0]) for row in rows}
    for name, metric in METRICS.items():
        if name not in ("ece", "debiased_ece"):  # named by their bins
            assert metric.title in names


def test_every_number_that_follows_the_prior_moves():
    """Metrics with a rule, a loss or a curve update, and so do those of the top; the others are
    grayed out or independent of the prior."""
    moving = EVALUATIONS["two-sample"].sums.moving
    known = {name for name, metric in METRICS.items() if metric.has_curve and metric.needs_prior}
    assert known <= set(moving)
    top = {"precision_at", "lift_at", "recall_at", "enrichment_factor"}  # The prior limits them.
    assert top <= set(moving)
    free = {name for name, metric in METRICS.items() if not metric.needs_prior}
    assert not (free - top - {"recall"}) & set(moving)
    assert [name for name, interval in moving.items() if not interval] == [
        name for name in moving if name in ("ks_error", "average_precision")
    ]


def test_warnings_have_codes():
    found = evaluate(SCORES["two-sample"].with_prior(0.8))
    assert [one.code for one in found.warnings] == ["prior", "negatives", "mean_score", "outside"]
    assert json.loads(to_json(found))["warnings"] == list(found.warnings)
    assert payload(found)["other_warnings"] == []


@given(samples(min_size=2, max_size=30))
@settings(max_examples=15)
def test_any_data_makes_a_page(sample):
    page = to_html(evaluate(sample.build()))
    data = re.search(r'id="noneg-data">(.*?)</script>', page, re.DOTALL)[1]
    json.loads(data, parse_constant=pytest.fail)  # strict: no NaN, no infinity
    assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).lower()


def test_the_verdict_names_what_is_wrong():
    few = WORLD.draw(20, 100, setting="two-sample", seed=0)
    good = LogisticGaussian.calibrated().draw(50_000, 200_000, setting="two-sample", seed=0)
    titles = {
        "bad": evaluate(WORLD.draw(3000, 30_000, setting="two-sample", seed=0)),
        "good": evaluate(good),
        "few": evaluate(LogisticGaussian.calibrated().draw(20, 60, setting="two-sample", seed=1)),
        "contradiction": evaluate(SCORES["two-sample"].with_prior(0.8)),
    }
    said = {name: str(document(one).verdict[0]) for name, one in titles.items()}
    assert said["bad"] == "Do not read these scores as probabilities."
    assert said["good"] == "These scores can be read as probabilities."
    assert said["few"].startswith("Cannot tell")
    assert said["contradiction"].startswith("The share of positives and the scores contradict")
    assert "With 20 labeled positives" in to_text(evaluate(few))


@pytest.mark.parametrize(
    ("low", "value", "high", "words"),
    [
        (0.001, 0.015, 0.03, "These scores are nearly probabilities."),
        (0.001, 0.03, 0.06, "These scores are somewhat off. Do not use them"),
        (0.001, 0.06, 0.09, "Do not read these scores as probabilities."),
        (0.0, 0.01, 0.05, "No sign of miscalibration: an error large enough to change decisions"),
        (0.0, 0.01, 0.06, "Cannot tell"),
        (0.0, 0.01, 0.02, "These scores can be read as probabilities."),
    ],
)
def test_the_verdict_follows_the_error(low, value, high, words):
    error = Estimate(value=value, low=low, high=high, level=0.95, method="x")
    for prior in (0.2, 0.5):
        key = verdict_key(error, prior=prior, contradicted=False, rejected=low > 0)
        assert say(key, cause="x").startswith(words)


RARE = {
    "four times too high": lambda s: np.minimum(4.0 * s, 1.0),
    "fifty times too low": lambda s: s / 50.0,
    "all zero": lambda s: 0.0 * s,
    "as they are": lambda s: s,
}


@pytest.mark.parametrize("name", RARE)
def test_rare_positives_do_not_make_any_score_a_probability(name):
    """Errors are small if positives are rare, so they are judged relative to the prior."""
    world, change = LogisticGaussian.calibrated(0.005), RARE[name]
    said = []
    for seed in range(20 if name == "as they are" else 3):
        drawn = world.draw(2000, 20_000, setting="two-sample", seed=seed)
        unlabeled, positive = (change(np.asarray(group[0])) for group in drawn.in_order())
        found = evaluate(PUScores(positive, unlabeled, prior=0.005, setting="two-sample"))
        title = str(document(found).verdict[0])
        said.append(title)
        assert not (found.rejected and "can be read as" in title)
    if name != "as they are":
        assert set(said) == {"Do not read these scores as probabilities."}


def test_the_test_alone_decides_between_fine_and_off():
    error = Estimate(value=0.001, low=0.0, high=0.002, level=0.95, method="x")
    options = {"prior": 0.3, "contradicted": False}
    assert verdict_key(error, rejected=False, **options) == "verdict_probabilities"
    assert verdict_key(error, rejected=True, **options) == "verdict_nearly"
    wide = replace(error, low=0.001, value=0.1, high=0.2)
    assert verdict_key(wide, rejected=False, **options) == "verdict_mixed"
    assert verdict_key(error, rejected=False, deviates=True, **options) == "verdict_mixed"
    ends = dict.fromkeys(("frequency", "low", "high", "low_all", "high_all"), 0.4)
    off = [Point(left=0.0, right=1.0, score=0.3, marginal=1.0, **ends)]
    assert verdict_where(off, rejected=True) in verdict_where(off, rejected=False)
    assert verdict_where(off, rejected=False).endswith("The overall deviation is not significant.")


def test_names_keep_their_capital_within_a_sentence():
    """Titles of metrics begin with a capital, which axes and lists drop unless it is a name's."""
    within = {name: in_sentence(metric.title) for name, metric in METRICS.items()}
    assert within["auroc"] == "area under the ROC curve"
    assert within["brier"] == "Brier score"
    assert within["ks_error"].startswith("Kolmogorov-Smirnov")
    capital = {name for name, title in within.items() if title[0].isupper()}
    assert capital == {"ks_error", "brier", "bedroc", "f_beta", "mcc", "cohen_kappa"}


def test_every_verdict_has_words_and_a_code():
    assert set(CODES) == {name for name in templates() if name.startswith("verdict_")}


NOWHERE = "No range of scores is off"


@settings(max_examples=15, deadline=None)
@given(
    n_positive=st.sampled_from([30, 300, 3000]),
    beta=st.tuples(st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([1.0, 1.1, 1.5])),
    setting=st.sampled_from(["two-sample", "one-sample"]),
    seed=st.integers(0, 10**6),
)
def test_verdict_test_and_bands_never_disagree(n_positive, beta, setting, seed):
    """A code of "ok" requires all three to agree; the text names no range that the verdict
    denies."""
    world = LogisticGaussian(beta0=beta[0], beta1=beta[1])
    found = evaluate(world.draw(n_positive, 10_000, setting=setting, seed=seed))
    verdict, rejected = found.verdict, rejects(found)
    deviates = any(point.side for point in points(found))
    where = verdict_where(points(found), rejected=rejected)
    assert found.to_dict()["verdict"]["code"] == document(found).code == verdict.code
    fine = ("verdict_probabilities", "verdict_none")
    if rejected or deviates or found.headline.low > 0.0:
        assert verdict.key not in fine
    if verdict.code == "ok" and not rejected:
        assert where.startswith(NOWHERE)
        assert found.headline.high <= LARGE * scale(found.prior.value)
    if verdict.key not in (*fine, "verdict_unsure") and rejected:
        assert not where.startswith(NOWHERE)


def test_the_verdict_blames_rows_or_the_prior():
    world = LogisticGaussian.calibrated(0.3)
    many = world.draw(20_000, 50_000, setting="two-sample", seed=0)
    few = world.draw(20, 60, setting="two-sample", seed=1)
    said = {
        name: evaluate(scores).verdict
        for name, scores in {
            "prior": many.with_prior(0.3, (0.15, 0.45)),
            "rows": few.with_prior(0.3, (0.29, 0.31)),
        }.items()
    }
    assert "the share of positives is not known well enough" in said["prior"].sentence
    assert "there are too few rows" in said["rows"].sentence
    assert [said[name].code for name in ("prior", "rows")] == ["unknown", "check"]


def test_thresholds_and_diagram_hold_for_every_prior():
    scores = SCORES["two-sample"].with_prior(0.3, (0.2, 0.4))
    found = evaluate(scores)
    tails = found.sums.tails
    for i in (20, 100, 180):
        for name, rule in registered_rules(EXPLORED).items():
            expected = rule.interval(scores, float(tails.threshold[i]), 0.95)
            low, high = (end[i] for end in tails.limits[name])
            assert (low, high) == (expected.low, expected.high)
    at = int(np.flatnonzero(tails.threshold == 0.5)[0])
    shown = found.metrics["precision"]
    assert [end[at] for end in tails.limits["precision"]] == [shown.low, shown.high]
    drawn = reliability(scores, bins=found.sums.diagram_bins)
    for point, low, high in zip(points(found), drawn.low, drawn.high, strict=True):
        assert (point.low, point.high) == pytest.approx((low, high))
    narrow = reliability(scores.with_prior(0.2), bins=15, binning="width")
    np.testing.assert_allclose(found.reliability.low, narrow.low)


def test_labeled_rows_have_no_bounds_and_no_other_prior():
    rows = datasets(EVALUATIONS["labeled"])
    assert [name for name, found in rows.items() if name.endswith("bounds") and found] == []
    assert rows["prior_curve"] == []
    assert datasets(EVALUATIONS["two-sample"])["roc_bounds"]


def test_a_second_range_is_named_if_it_counts():
    """Scores are too low below one half and too high above, by the same amount."""

    def point(left, frequency, marginal):
        score = left + 0.1
        limits = {"low": frequency - 0.01, "high": frequency + 0.01}
        limits |= {"low_all": frequency - 0.02, "high_all": frequency + 0.02}
        return Point(left=left, right=left + 0.2, score=score, frequency=frequency,
                     marginal=marginal, **limits)  # fmt: skip

    def diagram(share):
        return [point(0.0, 0.2, share), point(0.4, 0.5, 0.3), point(0.8, 0.7, 0.5)]

    both = verdict_where(diagram(0.4))
    assert both.startswith(
        "Scores above 0.80 are too high: a score of 0.90 actually corresponds to a "
        "probability of about 0.70"
    )
    assert both.endswith(" Scores up to 0.20 are too low.")
    # Deviations below a quarter of the spread are not reported.
    assert "low" not in verdict_where(diagram(0.1))


def test_knowledge_about_the_prior_and_empty_bins_are_reported():
    rng = np.random.default_rng(0)
    score = np.where(rng.random(400) < 0.9, 0.3, rng.random(400))
    scores = PUScores(score[:80], score[80:], prior=0.3, setting="two-sample",
                      prior_interval=(0.2, 0.4))  # fmt: skip
    found = evaluate(scores)
    assert found.occupied_bins < found.bins
    text = to_text(found)
    assert "prior 0.3 in [0.2, 0.4]" in text
    assert f"{found.bins} equal-mass bins, {found.occupied_bins} of which contain rows" in text


def test_metrics_that_need_rows_are_omitted_for_a_known_distribution():
    known = WORLD.draw(float("inf"), 400, setting="two-sample", seed=0)
    content = document(evaluate(known), ABOUT, EVALUATIONS["labeled"])
    assert content.subtitle.startswith("infinitely many labeled positives and 400 unlabeled rows")
    assert [name for name, *_ in content.facts] == ["Calibration error (0 is best)"]
    (truth,) = (section for section in content.sections if section.name == "truth")
    shown = [row[0] for row in truth.tables[0].rows]
    assert METRICS["recall"].title in shown
    assert METRICS["auroc"].title not in shown


def test_the_verdict_finds_the_confidence():
    # Scores above one half are 0.2 too high, and those below are right.
    rng = np.random.default_rng(0)
    score = rng.uniform(size=60_000)
    label = rng.uniform(size=score.size) < np.where(score > 0.5, score - 0.2, score)
    where = str(document(evaluate(PUScores.from_labels(label, score))).verdict[1])
    assert re.match(
        r"Scores above 0\.(47|53) are too high: a score of (0\.\d\d) actually corresponds", where
    )
    score_text, mean = re.search(
        r"score of (\S+) actually corresponds to a probability of about (\S+) ", where
    ).groups()
    assert float(score_text) - float(mean) == pytest.approx(0.2, abs=0.03)


def test_positives_needed_are_those_of_the_planner():
    evaluation = evaluate(WORLD.draw(300, 2_000_000, setting="two-sample", seed=0))
    needed = positives_needed(evaluation)

    def width(n):
        return 1.959963984540054 * np.sqrt(0.3**2 / n + evaluation.sums.mean_score / 2_000_000)

    assert width(needed) <= 0.01 < width(needed - 1)
    assert positives_needed(EVALUATIONS["two-sample"]) is None


# --- the page -------------------------------------------------------------------------------------


@every_setting
def test_the_page_is_one_small_file_that_loads_nothing(evaluation):
    page = to_html(evaluation, ABOUT)
    assert len(page.encode()) < 2_500_000
    markup = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//)", markup)
    assert "default-src 'none'" in unescaped(markup)
    assert "<b>" not in markup  # the title is text


def test_the_size_does_not_follow_the_rows():
    sizes = {
        n: len(to_html(evaluate(WORLD.draw(n // 10, n, setting="two-sample", seed=0))))
        for n in (2000, 20_000, 400_000)
    }
    # With two hundred times the rows, only the number of bins grows, with the cube root.
    assert sizes[400_000] < 1.2 * sizes[2000]


def test_charts_are_valid_and_described():
    assert all(chart.description for chart in CHARTS.values())
    still = {"audit", "groups", "recalibration", "truth"}
    known = set(datasets(EVALUATIONS["two-sample"])) | still
    for chart in CHARTS.values():
        assert {one for one in data_names(chart.spec) if not one.startswith("data-")} <= known


def test_every_chart_is_in_a_section():
    modules = {
        path.stem: path.read_text("utf-8") for path in Path(report.__file__).parent.glob("*.py")
    }
    shown = "".join(text for name, text in modules.items() if name not in ("charts", "payload"))
    missing = [name for name in CHARTS if not re.search(rf"charts\.{name}\b", shown)]
    assert not missing, f"add to the charts of a section in report/content.py: {missing}"


def test_every_chart_next_to_another_has_a_title():
    page = to_html(EVALUATIONS["two-sample"])
    assert "<h3>ROC curve</h3>" in page
    assert "<h3></h3>" not in page
    assert all(chart.title for chart in CHARTS.values())


def test_hidden_labels_can_be_revealed():
    truth = evaluate(SCORES["labeled"], edges=EVALUATIONS["one-sample"].edges)
    page = to_html(EVALUATIONS["one-sample"], truth=truth)
    assert "The truth, revealed" in page
    assert "The truth, revealed" not in to_html(EVALUATIONS["one-sample"])


def test_recalibration_is_shown_before_and_after():
    evaluation = evaluate(SCORES["two-sample"], recalibrate=True)
    before, after = evaluation.recalibration.errors["debiased_ece"]
    assert after < before
    page = unescaped(to_html(evaluation))
    assert "Can the scores be recalibrated?" in page
    assert evaluation.recalibration.calibrator.to_json().strip() in page
    assert json.loads(to_json(evaluation))["recalibration"]["method"]


def test_a_notebook_shows_still_charts():
    shown = EVALUATIONS["one-sample"]._repr_html_()
    assert len(shown) == pytest.approx(len(to_notebook(EVALUATIONS["one-sample"])), abs=50)
    assert str(document(EVALUATIONS["one-sample"]).verdict[0]) in shown
    assert shown.count("<svg") == 4
    assert "<script" not in shown
    assert "var(--" not in shown


def test_digests_are_those_of_the_files(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("abc")
    assert digest_files([str(path), "-"]) == {
        str(path): "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    }


# --- sums -----------------------------------------------------------------------------------------


@given(samples(settings=("two-sample", "one-sample"), min_size=2, max_size=60))
def test_the_envelope_is_the_ks_error_at_every_prior(sample):
    scores = sample.build()
    envelope = ks_envelope(scores)
    least = scores.n_positive / scores.n_marginal if scores.setting == "one-sample" else 0.0
    for share in (0.0, 0.2, 0.5, 0.9, 1.0):
        prior = min(max(least + (1.0 - least) * share, 1e-6), 1.0 - 1e-9)
        assert envelope(prior) == pytest.approx(ks_error(scores.with_prior(prior)), abs=1e-12)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_sums_at_the_given_prior_are_the_evaluation(setting):
    found = EVALUATIONS[setting]
    sums, prior = found.sums, found.prior.value
    assert sums.bins["ece"].binned.residual.__abs__().sum() == found.ece.value
    gain, base, *_ = sums.risks["brier"]
    assert prior * gain + base == pytest.approx(found.metrics["brier"].value)
    assert sums.envelope(prior) == pytest.approx(found.metrics["ks_error"].value)
    half = int(np.flatnonzero(sums.tails.threshold == 0.5)[0])
    assert sums.tails.tpr[half] == found.metrics["recall"].value
    assert sums.bounds.auroc[0] <= found.metrics["auroc"].value <= sums.bounds.auroc[1]
    again = evaluate(SCORES[setting], edges=found.edges)
    assert again.metrics["debiased_ece"] == found.metrics["debiased_ece"]


def test_the_diagram_has_no_more_bins_than_the_rows_allow():
    few = evaluate(WORLD.draw(30, 300, setting="two-sample", seed=0))
    assert few.sums.diagram_bins == few.bins < 15
    assert EVALUATIONS["two-sample"].sums.diagram_bins <= 15


def test_precision_is_not_drawn_from_a_handful_of_rows():
    evaluation = EVALUATIONS["two-sample"]
    rows = datasets(evaluation)["curves"]
    shown = [row for row in rows if row["enough"]]
    assert min(row["tpr"] * evaluation.n_positive for row in shown) >= 5
    assert any(row["tpr"] > 0 and not row["enough"] for row in rows)


# --- the first screen -----------------------------------------------------------------------------


def test_the_first_screen_speaks_plainly():
    """A word, the next step, and no technical term before the first section."""
    for evaluation in EVALUATIONS.values():
        content = document(evaluation, replace(ABOUT, model="risk 7"))
        page = unescaped(to_html(evaluation, replace(ABOUT, model="risk 7")))
        screen = re.sub(r"<[^>]*>", " ", page[page.index("<header>") : page.index("<nav")])
        for term in ("one-sample", "two-sample", "implied negatives", "irreducib", "marginal"):
            assert term not in screen.replace(str(content.action[1]), ""), term
        for text in (say(f"code_{content.code}"), *map(str, content.action), "risk 7"):
            assert text in screen


@pytest.mark.parametrize("key", CODES)
def test_every_verdict_names_an_action(key):
    for evaluation in EVALUATIONS.values():
        name = actions(evaluation)[key]
        told = say(f"do_{name}", budget=200)
        command = say(f"run_{name}", rows="x", known="", prior=0.3, budget=200)
        assert told.endswith(".")
        assert command.startswith("noneg ")


def test_no_more_rows_are_reviewed_than_there_are():
    world = LogisticGaussian.calibrated(0.3)
    few = evaluate(world.draw(30, 90, setting="two-sample", seed=0))
    assert actions(few)[few.verdict.key] == "review"
    told, command = action(few, "x.csv")
    assert told.startswith("Have 90 rows reviewed.")
    assert "--budget 90 " in command
    assert review_budget(EVALUATIONS["two-sample"]) == 200


def test_scores_that_no_map_improves_have_no_before_and_after():
    scores = LogisticGaussian.calibrated(0.3).draw(300, 3000, setting="two-sample", seed=0)
    evaluation = evaluate(scores, recalibrate=True)
    assert evaluation.recalibration.chosen == "identity"
    section = next(one for one in document(evaluation).sections if one.name == "recalibration")
    assert "no recalibrated scores are better" in section.sentences[0].text
    assert (section.charts, section.tables, section.code) == ((), (), "")


def test_recalibration_is_not_advised_if_no_map_does_better():
    calibrated = LogisticGaussian.calibrated(0.3).draw(1000, 10_000, setting="two-sample", seed=3)
    unchanged = evaluate(calibrated, recalibrate=True).recalibration
    assert unchanged.chosen == "identity"
    off = evaluate(WORLD.draw(3000, 30_000, setting="two-sample", seed=0), recalibrate=True)
    assert action(off, "x.csv")[1].startswith("noneg recalibrate x.csv")
    assert action(replace(off, recalibration=unchanged), "x.csv")[1].startswith("noneg audit plan")


def test_commands_repeat_what_is_known():
    scores = SCORES["two-sample"]
    told = {
        "exact": (scores, " --prior 0.3"),
        "interval": (scores.with_prior(0.3, (0.2, 0.4)), " --prior 0.3 --prior-interval 0.2 0.4"),
        "selected": (scores.with_selection(2.0), " --prior 0.3 --selection 2"),
        "labeled": (SCORES["labeled"], ""),
    }
    for given_scores, options in told.values():
        assert known(evaluate(given_scores)) == options


def test_changes_that_flip_the_verdict_are_reported():
    world = LogisticGaussian.calibrated(0.3)
    scores = world.draw(300, 3000, setting="two-sample", seed=0)
    fine, off = evaluate(scores), evaluate(scores.with_prior(0.15))
    low, high = (float(flips(fine)[name]) for name in ("low", "high"))
    assert low < 0.3 < high
    assert "Outside that range, the scores are at least slightly off" in depends(fine)
    assert "consistent with calibrated scores only if" in depends(off)
    limit = fine.largest_prior
    assert float(flips(fine)["limit"]) <= limit < float(flips(fine)["limit"]) + 0.01
    reaches = evaluate(scores.with_prior(0.3, (0.25, limit + 0.05)))
    assert depends(reaches).startswith(
        f"These rows rule out any share of positives above {flips(reaches)['limit']},"
    )
    # At a share that the rows rule out, nothing is stated about individual scores.
    assert "actually corresponds" not in str(
        document(evaluate(scores.with_prior(limit + 0.05))).verdict
    )
    # Slightly outside the stated range the test rejects, and slightly inside it does not.
    for prior in (low - 0.02, low + 0.02):
        assert evaluate(scores.with_prior(prior), edges=fine.edges).rejected == (prior < low)


def test_no_zero_is_negative():
    assert str(Number(-4e-17)) == "0.0000"
    assert str(Range(-1e-3, -4e-17, digits=2)) == "[0.00, 0.00]"
    assert str(Number(-1234.56, digits=1)) == "-1,234.6"
    almost = Estimate(value=-4e-17, low=-0.1, high=4e-17, level=0.95, method="")
    assert str(almost) == "0.0000 [-0.1000, 0.0000]"
