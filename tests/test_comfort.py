"""Shortcuts: a data frame can be passed directly, and results come in convenient forms."""

import json

import pytest

import noneg
from noneg.errors import InputError
from noneg.results import Estimate, Table
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian.less_calibrated().draw(300, 2000, setting="two-sample", seed=0)
EVALUATION = noneg.evaluate(SCORES)
TABLE = {"p": [0.9, 0.2, 0.4, 0.7] * 50, "bought": [1, 0, 0, 0] * 50}
FACTS = {"score": "p", "label": "bought", "setting": "one-sample", "prior": 0.4}


def test_a_frame_gives_what_its_scores_give(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE)
    frame.to_csv(tmp_path / "x.csv", index=False)
    expected = noneg.evaluate(noneg.read(TABLE, **FACTS)).to_dict()
    for source in (TABLE, frame, tmp_path / "x.csv"):
        assert noneg.evaluate(source, **FACTS).to_dict() == expected


@pytest.mark.parametrize("missing", ["score", "label", "setting"])
def test_a_frame_without_its_facts_is_rejected_by_name(missing):
    facts = {name: value for name, value in FACTS.items() if name != missing}
    with pytest.raises(InputError, match=f"'{missing}' must be given"):
        noneg.evaluate(TABLE, **facts)


def test_scores_know_their_facts_already():
    with pytest.raises(InputError, match="'prior' must not be given with PUScores"):
        noneg.evaluate(SCORES, prior=0.3)


def test_flat_numbers_are_those_of_the_metrics():
    flat = EVALUATION.flat()
    for name, one in EVALUATION.metrics.items():
        assert (flat[f"{name}.value"], flat[f"{name}.low"]) == (one.value, one.low)
    assert flat["calibration_p_value"] == EVALUATION.test.p_value
    assert all(isinstance(x, float) for x in flat.values())


@pytest.mark.parametrize("suffix", ["html", "md", "txt", "json"])
def test_save_writes_the_format_given_by_the_name(tmp_path, suffix):
    path = tmp_path / f"report.{suffix}"
    EVALUATION.save(path)
    text = path.read_text(encoding="utf-8")
    assert "Can these scores be trusted?" in text
    if suffix == "json":
        found = json.loads(text)["evaluation"]["metrics"]["auroc"]["value"]
        assert found == EVALUATION.metrics["auroc"].value


def test_save_rejects_a_format_it_does_not_know(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.html"):
        EVALUATION.save(tmp_path / "report.docx")


def test_the_frame_has_a_row_for_each_metric():
    frame = EVALUATION.to_frame("pandas")
    assert list(frame["metric"]) == list(EVALUATION.metrics)
    assert EVALUATION.reliability.to_frame("pandas").equals(EVALUATION.reliability.frame("pandas"))


def test_tables_show_themselves_briefly_with_a_legend():
    diagram = EVALUATION.reliability
    assert repr(diagram).startswith("Reliability(15 rows: left, right, score,")
    shown = diagram._repr_html_()
    assert "Points of a reliability diagram" in shown
    assert shown.count("<tr>") == 16


def test_long_tables_are_cut_and_say_so():
    shown = noneg.performance.roc(SCORES)._repr_html_()
    assert shown.count("<tr>") == 21
    assert "The first 20 of" in shown


def test_every_table_keeps_its_short_form():
    """A dataclass with the default repr would print whole arrays."""
    todo, seen = [Table], 0
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        seen += 1
        assert not hasattr(kind.__repr__, "__wrapped__"), kind
    assert seen > 10


def test_names_are_escaped():
    shown = Estimate(value=0.1, low=0.0, high=0.2, level=0.95, method="<b>")._repr_html_()
    assert "95% interval: &lt;b&gt;" in shown


@pytest.mark.parametrize(("wrong", "right"), [("AUROC", "auroc"), ("debiased-ece", "debiased_ece")])
def test_a_misspelled_metric_gets_the_closest_name(wrong, right):
    for find in (noneg.estimate, lambda name, _: noneg.sklearn.scorer(name, setting="one-sample")):
        with pytest.raises(InputError, match=f"Did you mean '{right}'"):
            find(wrong, SCORES)
