"""Stored sketches that lack something, and what is added to one that is none."""

import sys

import pytest

from noneg import Sketch


def sketch():
    out = Sketch(setting="two-sample", prior=0.5)
    return out.update([1, 0, 0], [0.9, 0.2, 0.4])


def test_a_table_without_a_column_or_with_a_hole_is_refused():
    table = sketch().to_arrow()
    with pytest.raises(ValueError, match="column 'high' is missing or has holes"):
        Sketch.from_arrow(table.drop_columns(["high"]))
    pa = pytest.importorskip("pyarrow")
    place = table.column_names.index("low")
    hole = pa.array([None, *table["low"].to_pylist()[1:]], pa.float64())
    with pytest.raises(ValueError, match="column 'low' is missing or has holes"):
        Sketch.from_arrow(table.set_column(place, "low", hole))


def test_without_pyarrow_json_is_named_as_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow\. .*noneg\[fast\]', or use \.json"):
        sketch().to_arrow()
    sketch().save(tmp_path / "s.json")
    assert Sketch.load(tmp_path / "s.json").n_positive == 1


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_that_are_no_numbers_are_refused(tmp_path, word):
    path = tmp_path / "s.json"
    sketch().save(path)
    path.write_text(path.read_text().replace('"prior": 0.5', f'"prior": {word}'))
    assert word in path.read_text()
    with pytest.raises(ValueError, match=f"{word} is no number"):
        Sketch.load(path)


@pytest.mark.parametrize("other", [3, "x", None, [1.0]], ids=str)
def test_only_sketches_are_added(other):
    one = sketch()
    with pytest.raises(TypeError):
        one += other
    with pytest.raises(TypeError):
        one + other
    assert repr(one).startswith("Sketch(1 positive, 2 unlabeled rows, 3 buckets)")


def test_a_prior_is_asked_for_where_labels_do_not_tell_it():
    rows = Sketch(setting="one-sample").update([1, 0, 0], [0.9, 0.2, 0.4])
    with pytest.raises(ValueError, match="'prior' must be given"):
        rows.scores()
