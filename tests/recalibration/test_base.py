"""Requirements for every calibrator: files, scikit-learn's conventions, columns, folds, ranges."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from strategies import HARD, samples

from noneg import PUScores, evaluate
from noneg.recalibration import (
    METHODS,
    Auto,
    CalibrationWarning,
    Isotonic,
    Platt,
    PriorShift,
    load,
    make,
    probability_range,
)
from noneg.recalibration.base import checksum
from noneg.recalibration.folds import splits
from noneg.simulation import LogisticGaussian

NAMES = list(METHODS)
# Cross-fitting assigns rows at random, so copies of a row may end up in different folds.
EXACT = [name for name in NAMES if name != "auto"]
WORLD = LogisticGaussian(beta0=-1.0, beta1=3.0)
GRID = np.sort(np.concatenate([HARD, np.linspace(0.0, 1.0, 101)]))
FEW = settings(max_examples=10)
SCORES = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(100, 600, setting="two-sample", seed=3)
PLAIN = LogisticGaussian.calibrated(0.3).draw(500, 5000, setting="two-sample", seed=0)
WRONG = [
    ("histogram", "values", [0.1, 0.2, 1.5], "'values' must lie in"),
    ("mix-n-match", "low", 0.9, "'low' must lie in"),
    ("mix-n-match", "slope", -1.0, "weights must be nonnegative"),
    ("spline", "scores", [0.2, 0.1], "must increase within"),
    ("spline", "shifts", [], "the same length"),
    ("isotonic", "scores", [-0.1, 0.5], "must increase within"),
    ("isotonic", "scores", [0.7, 0.5], "must increase"),
    ("isotonic", "values", [0.7, 0.5], "never decrease"),
]
COLUMN = PUScores.from_labels(np.arange(60) % 3 == 0, (np.arange(60) * 7 % 60 + 0.5) / 60)
S = np.linspace(0, 1, 7)


def fitted(name, scores):
    """Fit, ignoring warnings that the data do not determine the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return make(name).fit(scores)


def test_the_page_describes_what_each_method_learns():
    page = (Path(__file__).parents[2] / "docs" / "recalibration.md").read_text(encoding="utf-8")
    rows = [f"| `{method.__name__}` | {method.learns} |" for method in METHODS.values()]
    missing = [row for row in rows if row not in page]
    assert not missing, f"add to the table in docs/recalibration.md: {missing}"


@pytest.fixture(scope="module", params=NAMES)
def calibrator(request):
    return make(request.param).fit(WORLD.draw(300, 2000, setting="two-sample", seed=3))


class TestFiles:
    @pytest.mark.parametrize("name", NAMES)
    @given(sample=samples(max_size=30))
    @settings(max_examples=8)
    def test_a_file_restores_the_map_bit_for_bit(self, name, sample):
        first = fitted(name, sample.build())
        second = load(first.to_json())
        assert type(second) is type(first)
        assert second.get_params() == first.get_params()
        assert second.transform(GRID).tobytes() == first.transform(GRID).tobytes()
        assert second.to_json() == first.to_json()

    def test_a_changed_number_is_noticed(self, calibrator):
        text = calibrator.to_json()
        content = json.loads(text)
        content["fitted_on"]["prior"] = 0.25
        with pytest.raises(ValueError, match="checksum"):
            load(json.dumps(content))

    def test_a_changed_state_with_a_new_checksum_is_checked(self, calibrator):
        content = calibrator.to_dict()
        content["state"] = {**content["state"], "surplus": 1.0}
        content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
        with pytest.raises(ValueError, match="state must contain"):
            load(json.dumps(content))

    @pytest.mark.parametrize(
        ("name", "field", "value"),
        [
            ("isotonic", "values", [0.5, 0.1]),
            ("isotonic", "scores", [0.5, 0.5]),
            ("isotonic", "values", [0.5, 1.5]),
            ("histogram", "inner_edges", [0.4, 0.2]),
            ("spline", "scores", []),
            ("temperature", "slope", -1.0),
            ("platt", "slope", "1.0"),
            ("platt", "slope", True),
            ("beta", "low", 0.0),
            ("mix-n-match", "weight_half", 7.0),
        ],
    )
    def test_states_that_no_fit_gives_are_rejected(self, name, field, value):
        content = make(name).fit(WORLD.draw(100, 500, setting="two-sample", seed=0)).to_dict()
        content["state"] = {**content["state"], field: value}
        content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
        with pytest.raises(ValueError, match="not a valid"):
            load(json.dumps(content))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("no json", "not valid JSON"),
            ("[1, 2]", "contains a list"),
            ("{}", "'format' is None"),
            ('{"format": "noneg calibrator", "version": 2}', "version is 2"),
            ('{"format": "noneg calibrator", "version": 1}', "missing or unknown"),
        ],
    )
    def test_foreign_files_are_rejected(self, text, words):
        with pytest.raises(ValueError, match=words):
            load(text)

    def test_an_infinite_number_is_rejected(self):
        text = Platt().fit(WORLD.draw(100, 500, setting="two-sample", seed=0)).to_json()
        slope = json.loads(text)["state"]["slope"]
        with pytest.raises(ValueError, match="not finite"):
            load(text.replace(repr(slope), "NaN"))

    def test_a_class_reads_only_its_own_files(self, calibrator):
        other = PriorShift if calibrator.name != "prior-shift" else Platt
        with pytest.raises(ValueError, match="contains the method"):
            other.from_json(calibrator.to_json())
        assert type(calibrator).from_json(calibrator.to_json()).name == calibrator.name

    def test_an_unknown_method_is_rejected(self):
        content = Platt().fit(WORLD.draw(100, 500, setting="two-sample", seed=0)).to_dict()
        content["method"] = "oracle"
        content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
        with pytest.raises(ValueError, match="'oracle' is unknown"):
            load(json.dumps(content))


class TestConventions:
    def test_clone_forgets_the_fit_and_keeps_parameters(self, calibrator):
        copy = clone(calibrator)
        assert copy.get_params() == calibrator.get_params()
        check_is_fitted(calibrator)
        with pytest.raises(NotFittedError, match="not fitted"):
            copy.transform([0.5])

    def test_shapes_are_kept(self, calibrator):
        s = np.linspace(0.0, 1.0, 12)
        flat = calibrator.transform(s)
        np.testing.assert_array_equal(calibrator.transform(s.reshape(3, 4)), flat.reshape(3, 4))
        np.testing.assert_array_equal(calibrator.transform(s[5]), flat[5])
        both = calibrator.predict_proba(s.reshape(-1, 1))
        np.testing.assert_array_equal(both, np.stack([1.0 - flat, flat], axis=-1))
        assert calibrator.transform([]).shape == (0,)

    def test_a_long_array_is_the_same_as_its_pieces(self, calibrator):
        s = np.random.default_rng(0).random(150_000)
        np.testing.assert_array_equal(calibrator.transform(s)[-5:], calibrator.transform(s[-5:]))

    @pytest.mark.parametrize("bad", [[0.5, 1.5], [np.nan], [-0.1]])
    def test_scores_outside_the_range_are_named(self, calibrator, bad):
        with pytest.raises(ValueError, match=r"'s' must contain scores in \[0, 1\], got .* in row"):
            calibrator.transform(bad)

    def test_arguments_are_explained(self):
        with pytest.raises(ValueError, match="'scores' must be a PUScores, got list"):
            Platt().fit([0.1, 0.2])
        with pytest.raises(ValueError, match="must contain numbers"):
            Platt().fit(WORLD.draw(100, 500, setting="two-sample", seed=0)).transform(["a"])
        with pytest.raises(ValueError, match="'name' must be a method"):
            make("oracle")
        with pytest.raises(ValueError, match="'depth' is not a parameter of Platt"):
            Platt().set_params(depth=1)

    def test_changed_parameters_are_shown(self):
        assert repr(make("histogram").set_params(bins=7)) == "Histogram(bins=7)"

    def test_tags_are_those_of_a_transformer(self, calibrator):
        assert calibrator.__sklearn_tags__().transformer_tags is not None


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(max_size=40))
@FEW
def test_maps_stay_in_range_and_rise_where_they_say_so(name, sample):
    q = (calibrator := fitted(name, sample.build())).transform(GRID)
    assert np.isfinite(q).all()
    assert q.min() >= 0.0
    assert q.max() <= 1.0
    if calibrator.monotone:
        assert (np.diff(q) >= -1e-12).all()


@pytest.mark.parametrize("name", NAMES)
@given(sample=samples(max_size=30), random=st.randoms(use_true_random=False))
@FEW
def test_row_order_is_irrelevant(name, sample, random):
    order = list(range(sample.score.size))
    random.shuffle(order)
    first, second = fitted(name, sample.build()), fitted(name, sample.take(order).build())
    assert same_on(sample.score, first, second)


@pytest.mark.parametrize("name", EXACT)
@given(sample=samples(max_size=30))
@FEW
def test_a_row_twice_is_a_row_of_weight_two(name, sample):
    twice = sample.take(np.repeat(np.arange(sample.score.size), 2)).build()
    weighted = sample.build(sample_weight=np.full(sample.score.size, 2))
    assert same_on(sample.score, fitted(name, twice), fitted(name, weighted))


@pytest.mark.parametrize("name", EXACT)
@given(sample=samples(settings=("labeled",), max_size=30))
@FEW
def test_with_everything_labeled_pu_is_the_labeled_map(name, sample):
    prior = sample.flags.mean()
    one = PUScores.from_pu_labels(sample.flags, sample.score, prior=prior, setting="one-sample")
    # The rule for the number of bins differs between the settings, so it is fixed here.
    options = {"bins": 2} if name in ("histogram", "scaling-binning") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        first = make(name, **options).fit(one)
        second = make(name, **options).fit(sample.build())
    assert same_on(sample.score, first, second)


def same_on(s, first, second):
    """The maps agree on the rows; where the likelihood is flat, coefficients may differ
    slightly."""
    return np.abs(first.transform(s) - second.transform(s)).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_outside_the_range_of_the_data_maps_go_on_sanely(name):
    rng = np.random.default_rng(0)
    s = 0.4 + 0.2 * rng.random(3000)
    calibrator = fitted(name, PUScores.from_labels(rng.random(3000) < s, s))
    q = calibrator.transform([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    inside = q[2:4]
    assert np.abs(inside - [0.4, 0.6]).max() < 0.1
    assert (q[:2] <= inside[0] + 0.02).all()
    assert (q[4:] >= inside[1] - 0.02).all()


def test_importing_the_library_does_not_load_the_calibrators():
    import subprocess
    import sys

    code = "import noneg, sys; assert 'noneg.recalibration' not in sys.modules; "
    code += "import noneg.recalibration; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_object_that_is_nested_too_deeply_is_rejected():
    """It cannot come from JSON, whose parser fails first, but a program can create it."""
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    fitted = Platt().fit(WORLD.draw(100, 500, setting="two-sample", seed=0))
    content = fitted.to_dict() | {"state": deep}
    with pytest.raises(ValueError, match="it is nested too deeply"):
        Platt.from_dict(content)


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
    options = {"fit": "risk"} if name == "spline" else {}
    text = forged(METHODS[name](**options).fit(SCORES), **state)
    with pytest.raises(ValueError, match=words):
        load(text)


@pytest.mark.parametrize("key", ["parameters", "fitted_on", "state"])
def test_parts_must_be_objects(key):
    content = Platt().fit(SCORES).to_dict() | {key: [1.0]}
    content["checksum"] = checksum({k: v for k, v in content.items() if k != "checksum"})
    with pytest.raises(ValueError, match="must be objects"):
        load(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("score_range", [0.1], "must contain two numbers"),
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


@pytest.mark.parametrize("name", METHODS)
def test_a_column_keeps_its_kind_name_and_index(name):
    fitted = METHODS[name]().fit(COLUMN)
    expected = fitted.transform(S)
    assert isinstance(expected, np.ndarray)
    pandas = fitted.transform(pd.Series(S, index=range(3, 10), name="p"))
    pd.testing.assert_series_equal(pandas, pd.Series(expected, index=range(3, 10), name="p"))
    polars = fitted.transform(pl.Series("p", S))
    assert polars.equals(pl.Series("p", expected), check_names=True)
    arrow = fitted.transform(pa.chunked_array([S]))
    assert isinstance(arrow, pa.ChunkedArray)
    assert arrow.to_pylist() == expected.tolist()


def test_lists_and_tables_give_arrays():
    fitted = Platt().fit(COLUMN)
    assert isinstance(fitted.transform(S.tolist()), np.ndarray)
    assert fitted.transform(S[:6].reshape(2, 3)).shape == (2, 3)
    assert isinstance(fitted.transform(0.5), np.ndarray)
    assert isinstance(fitted.predict_proba(pd.Series(S)), np.ndarray)
    assert isinstance(fitted.transform(memoryview(S)), np.ndarray)


@pytest.mark.parametrize(("kind", "made"), [("pandas", pd.Series), ("polars", pl.Series)])
def test_set_output_chooses_the_library(kind, made):
    fitted = Platt().fit(COLUMN)
    expected = fitted.transform(S).tolist()
    assert fitted.set_output(transform=kind) is fitted
    for column in (S, pd.Series(S, index=range(3, 10), name="p"), pl.Series("p", S)):
        found = fitted.transform(column)
        assert isinstance(found, made)
        assert found.to_list() == expected
        assert found.name == ("" if isinstance(column, np.ndarray) else "p")
    assert isinstance(fitted.set_output(transform=None).transform(S), made)
    assert isinstance(fitted.set_output(transform="default").transform(S), np.ndarray)
    with pytest.raises(ValueError, match="'transform' must be one of default, pandas, polars"):
        fitted.set_output(transform="numpy")


def test_rows_of_no_weight_fill_no_fold():
    """Two unlabeled rows with weight among many without: each fold leaves one for fitting."""
    weight = np.array([3.0, 3.0, *[0.0] * 9, 2.0, 2.0])
    scores = PUScores.from_pu_labels(
        [1, 1, *[0] * 11],
        [0.4, 0.8, *np.linspace(0.1, 0.9, 11)],
        prior=0.5,
        setting="two-sample",
        sample_weight=weight,
        weight_kind="importance",
    )
    assert (scores.n_unlabeled, scores.n_positive) == (2, 2)
    for seed in range(20):
        for rest, _ in splits(scores, 2, seed):
            assert rest.effective_marginal == rest.effective_positive == 1
    with pytest.raises(ValueError, match="at most the number of unlabeled rows, which is 2"):
        next(splits(scores, 3, 0))
    assert Auto().fit(scores).reason_


def test_a_population_has_no_rows_to_hold_out():
    known = LogisticGaussian.calibrated().draw(np.inf, 50, setting="two-sample", seed=0)
    with pytest.raises(ValueError, match="'scores' must contain rows"):
        next(splits(known, 2, 0))
    with pytest.raises(ValueError, match="'scores' must contain rows"):
        Auto().fit(known)
    assert evaluate(known, recalibrate=True).recalibration is None


def test_the_range_meets_the_map_and_widens():
    grid, calibrator = np.linspace(0, 1, 21), Isotonic().fit(PLAIN)
    value = calibrator.transform(grid)
    low, high = probability_range(calibrator, grid, PLAIN)
    np.testing.assert_allclose([low, high], [value, value])
    for factor in (1.5, 3.0):
        least, most = probability_range(calibrator, grid, PLAIN.with_selection(factor))
        np.testing.assert_allclose(least, value / factor)
        np.testing.assert_allclose(most, np.minimum(factor * value, 1.0))


def test_what_is_labeled_is_certain():
    """In one sample, only hidden positives are uncertain: half of the positives, half of the
    range."""
    score = np.linspace(0.05, 0.35, 1000)
    labeled = np.arange(1000) % 10 == 0
    scores = PUScores.from_pu_labels(labeled, score, prior=0.2, setting="one-sample", selection=2)
    low, high = probability_range(Platt().fit(scores), [0.3], scores)
    value = float(Platt().fit(scores).transform([0.3])[0])
    assert low[0] == pytest.approx(0.75 * value)
    assert high[0] == pytest.approx(min(1.5 * value, 1.0))


def test_the_truth_of_a_selected_population_lies_inside():
    """Labels that favor high scores twofold; the true curve stays within the factor."""
    random = np.random.default_rng(0)
    score, y = LogisticGaussian.calibrated(0.3).draw_rows(60_000, seed=1)
    positive = score[np.asarray(y, dtype=bool)]
    rate = np.where(positive > np.median(positive), 2.0, 1.0)
    labeled = positive[random.random(positive.size) < 0.05 * rate]
    scores = PUScores(labeled, score, prior=0.3, setting="two-sample", selection=2.0)
    grid = np.linspace(0.1, 0.9, 9)
    low, high = probability_range(Isotonic().fit(scores), grid, scores)
    assert (low <= grid + 0.03).all()
    assert (high >= grid - 0.03).all()
