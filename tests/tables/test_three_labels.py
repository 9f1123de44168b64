"""Label columns with positive, negative and unlabeled values, read as intended."""

import numpy as np
import pyarrow as pa
import pytest

import noneg
from noneg.errors import InputError
from noneg.tables.batches import Wanted
from noneg.tables.labels import Labels
from noneg.tables.reading import read_columns

SCORE = [0.9, 0.2, 0.3, 0.4]
NAMES = {"score": "s", "label": "y"}
KINDS = {
    "1/0/nan": ([1.0, 0.0, np.nan, np.nan], {"unlabeled_is_empty": True}),
    "1/0/-1": ([1, 0, -1, -1], {"unlabeled_label": -1}),
    "1/-1/0": ([1, -1, 0, 0], {"unlabeled_label": "0"}),
    "words": (["fraud", "ok", "?", "?"], {"unlabeled_label": "?", "positive_label": "fraud"}),
    "blank": (["fraud", "ok", "", " "], {"unlabeled_is_empty": True, "positive_label": "fraud"}),
    "none": (["1", "0", None, None], {"unlabeled_is_empty": True}),
    "booleans": ([True, False, None, None], {"unlabeled_is_empty": True}),
}


def columns(source, **options):
    return read_columns(source, Wanted(**NAMES, **options))


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_what_its_label_says(kind):
    label, options = KINDS[kind]
    values = np.array(label, dtype=object if None in label else None)
    found = columns({"s": SCORE, "y": values}, **options)
    assert found.flags.tolist() == [True, False, False, False]
    assert found.negative.tolist() == [False, True, False, False]
    scores = noneg.read({"s": SCORE, "y": values}, **NAMES, setting="one-sample", **options)
    assert (scores.n_positive, scores.n_unlabeled) == (1, 3)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_of_any_kind(tmp_path, ending):
    path = tmp_path / f"three.{ending}"
    if ending == "csv":
        path.write_text("s,y\n0.9,1\n0.2,0\n0.3,\n0.4,\n")
    elif ending == "jsonl":
        rows = ('{"s":0.9,"y":1}', '{"s":0.2,"y":0}', '{"s":0.3,"y":null}', '{"s":0.4}')
        path.write_text("\n".join(rows))
    else:
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"s": SCORE, "y": pa.array([1, 0, None, None], pa.int8())}), path)
    found = columns(path, unlabeled_is_empty=True)
    assert found.flags.tolist() == [True, False, False, False]
    assert found.negative.tolist() == [False, True, False, False]


@pytest.mark.parametrize("kind", ["none", "blank"])
def test_rows_are_located_only_for_an_error(kind):
    label, options = KINDS[kind]
    labels = Labels(Wanted(**NAMES, **options))
    positive, negative = labels.kinds(pa.array(label), pytest.fail)
    assert (positive.tolist(), negative.tolist()) == (
        [True, *[False] * 3],
        [False, True, *[False] * 2],
    )


def test_a_sketch_counts_known_negatives_with_the_unlabeled():
    table = {"s": SCORE, "y": [1, 0, -1, -1]}
    assert noneg.read_sketch(table, **NAMES, unlabeled_label=-1).masses == (3.0, 1.0)


@pytest.mark.parametrize(
    ("label", "options", "words"),
    [
        ([1, 0, -1, -1], {}, "got 3: -1, 0, 1. If one of them means that the row was not reviewed"),
        ([1, 0, np.nan, np.nan], {}, "or pass unlabeled_is_empty"),
        ([1, 0, 0, 0], {"unlabeled_is_empty": True}, "has a label in every row"),
        ([1, 0, -1, -1], {"unlabeled_label": 7}, r"must be a value of column 'y' \(-1, 0, 1\)"),
        ([1, 0, -1, -1], {"unlabeled_label": 1}, "must differ from the positive label"),
        ([1, 0, 2, 3], {"unlabeled_label": 3}, "must contain two values, got 3"),
        (["a", "b", "?", "?"], {"unlabeled_label": "?"}, "so the positive value is unclear"),
        ([1, 0, np.nan, -1], {"unlabeled_label": -1}, "must contain a label in every row"),
    ],
)
def test_missing_options_are_not_guessed(label, options, words):
    with pytest.raises(ValueError, match=words):
        columns({"s": SCORE, "y": label}, **options)


def test_labeled_rows_have_no_unlabeled_ones():
    with pytest.raises(InputError, match="must not be 'labeled' if some rows are unlabeled"):
        noneg.read(
            {"s": SCORE, "y": [1, 0, -1, -1]}, **NAMES, unlabeled_label=-1, setting="labeled"
        )
