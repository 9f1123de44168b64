"""States that somebody wrote by hand: each method says what is wrong with its own."""

import json

import numpy as np
import pytest

from noneg.recalibration import METHODS, Platt, load
from noneg.recalibration.base import checksum
from noneg.recalibration.choose import held_out
from noneg.recalibration.multiclass import TemperatureScaling
from noneg.simulation import LogisticGaussian

SCORES = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(100, 600, setting="two-sample", seed=3)
WRONG = [
    ("histogram", "values", [0.1, 0.2, 1.5], "'values' must lie in"),
    ("mix-n-match", "low", 0.9, "'low' must lie in"),
    ("mix-n-match", "slope", -1.0, "weights must not be negative"),
    ("spline", "scores", [0.2, 0.1], "must rise in"),
    ("spline", "shifts", [], "equally long"),
    ("isotonic", "scores", [-0.1, 0.5], "must rise in"),
    ("isotonic", "scores", [0.7, 0.5], "must rise"),
    ("isotonic", "values", [0.7, 0.5], "never fall"),
]


def forged(calibrator, **state):
    content = calibrator.to_dict()
    content["state"] = content["state"] | state
    content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
    return json.dumps(content)


@pytest.mark.parametrize(("name", "field", "value", "words"), WRONG, ids=lambda x: str(x)[:12])
def test_each_method_checks_its_state(name, field, value, words):
    state = {field: value}
    if name == "histogram":
        state["inner_edges"] = [0.3, 0.6]
    if name == "isotonic":
        state = {"scores": [0.2, 0.5], "values": [0.1, 0.9]} | state
    if name == "spline":
        state = {"scores": [0.2, 0.5], "shifts": [0.1, 0.0]} | state
    with pytest.raises(ValueError, match=words):
        load(forged(METHODS[name]().fit(SCORES), **state))


@pytest.mark.parametrize("key", ["parameters", "fitted_on", "state"])
def test_parts_must_be_objects(key):
    content = Platt().fit(SCORES).to_dict() | {key: [1.0]}
    content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
    with pytest.raises(ValueError, match="must be objects"):
        load(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("score_range", [0.1], "must hold two numbers"),
        ("score_range", ["a", "b"], "list of finite decimal numbers"),
        ("score_column", 3, "must be text"),
    ],
)
def test_what_it_was_fitted_on_is_checked(name, value, words):
    content = Platt().fit(SCORES).to_dict()
    content["fitted_on"][name] = value
    content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
    with pytest.raises(ValueError, match=words):
        load(json.dumps(content))


def test_numbers_that_are_not_finite():
    content = Platt().fit(SCORES).to_dict()
    content["fitted_on"]["prior"] = float("nan")
    with pytest.raises(ValueError, match="not finite"):
        load(json.dumps(content))


def test_a_population_has_no_rows_to_fit():
    known = LogisticGaussian.calibrated().draw(np.inf, np.inf, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="got a population"):
        Platt().fit(known)


def test_fit_and_transform_at_once():
    s = np.linspace(0, 1, 11)
    assert np.array_equal(Platt().fit_transform(SCORES, s), Platt().fit(SCORES).transform(s))


def test_the_held_out_table_has_a_row_for_each_metric():
    found = held_out("platt", SCORES, folds=3)
    columns = found.columns()
    assert list(columns["metric"]) == list(found.change)
    for part, estimates in (("before", found.before), ("after", found.after)):
        assert columns[part].tolist() == [x.value for x in estimates.values()]
        assert columns[f"{part}_low"].tolist() == [x.low for x in estimates.values()]
    assert found.frame("pandas").shape == (len(found.change), 10)


def test_no_row_has_no_temperature():
    with pytest.raises(ValueError, match="at least one row"):
        TemperatureScaling().fit(np.zeros((0, 3)), np.zeros(0, dtype=int))
