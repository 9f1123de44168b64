"""Stored sketches with missing parts, and adding something that is not a sketch."""

import pyarrow as pa
import pytest

from noneg import Sketch


def sketch():
    out = Sketch(setting="two-sample", prior=0.5)
    return out.update([1, 0, 0], [0.9, 0.2, 0.4])


def test_a_table_without_a_column_or_with_a_hole_is_rejected():
    table = sketch().to_arrow()
    with pytest.raises(ValueError, match="column 'high' is missing or has missing values"):
        Sketch.from_arrow(table.drop_columns(["high"]))
    place = table.column_names.index("low")
    hole = pa.array([None, *table["low"].to_pylist()[1:]], pa.float64())
    with pytest.raises(ValueError, match="column 'low' is missing or has missing values"):
        Sketch.from_arrow(table.set_column(place, "low", hole))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_that_are_not_numbers_are_rejected(tmp_path, word):
    path = tmp_path / "s.json"
    sketch().save(path)
    path.write_text(path.read_text().replace('"prior": 0.5', f'"prior": {word}'))
    assert word in path.read_text()
    with pytest.raises(ValueError, match=f"{word} is not a number"):
        Sketch.load(path)


@pytest.mark.parametrize("other", [3, "x", None, [1.0]], ids=str)
def test_only_sketches_are_added(other):
    one = sketch()
    with pytest.raises(TypeError):
        one += other
    with pytest.raises(TypeError):
        one + other
    assert repr(one).startswith("Sketch(1 positive, 2 unlabeled rows, 3 buckets)")


def test_a_prior_may_be_unknown():
    rows = Sketch(setting="one-sample").update([1, 0, 0], [0.9, 0.2, 0.4])
    assert rows.scores().prior is None
    assert Sketch.from_scores(rows.scores()).scores().prior is None


@pytest.mark.parametrize("group", ["unlabeled", "positive"])
@pytest.mark.parametrize("count", [2**53 + 2, 2**63, 10**30, 10**200])
def test_more_rows_than_a_double_can_count_are_rejected(group, count):
    content = sketch().to_dict()
    place = content[group]["n"].index(1)
    score = content["low"][place]
    content[group]["n"][place], content[group]["sum"][place] = count, count * score
    with pytest.raises(ValueError, match=f"'{group}_n' must be"):
        Sketch.from_dict(content)
    content[group]["n"][place], content[group]["sum"][place] = 2**50, 2**50 * score
    found = Sketch.from_dict(content)
    assert Sketch.from_arrow(found.to_arrow()).to_dict() == found.to_dict()
