"""Unusual tables: odd label types, narrow number types, no columns, no disk space."""

import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noneg
from noneg.tables.labels import meaning
from noneg.tables.writing import _stage_errors

NAMES = {"score": "score", "label": "label"}
FACTS = {"setting": "labeled"}


def stored(folder, **columns):
    path = folder / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_narrow_numbers_are_sketched_as_they_are(tmp_path):
    s = np.linspace(0, 1, 50, dtype=np.float32)
    path = stored(tmp_path, score=s, label=np.arange(50) % 2)
    exact, sketched = (noneg.read(path, **NAMES, **FACTS, exact=e) for e in (True, False))
    assert sketched.n_marginal == 50
    assert noneg.ece(sketched, bins=5) == pytest.approx(noneg.ece(exact, bins=5), abs=1e-9)


@pytest.mark.parametrize("label", [[True] * 4, [False] * 4, [True, False] * 2], ids=str)
def test_truths_of_one_kind_are_labels_too(tmp_path, label):
    path = stored(tmp_path, score=[0.1, 0.2, 0.3, 0.4], label=label)
    for exact in (True, False):
        assert noneg.read(path, **NAMES, **FACTS, exact=exact).n_positive == sum(label)


def test_labels_that_are_no_numbers_are_missing(tmp_path):
    path = stored(tmp_path, score=[0.1, 0.2, 0.3], label=[1.0, math.nan, 0.0])
    for source in (path, pl.scan_parquet(path)):
        with pytest.raises(ValueError, match="'label'"):
            noneg.read(source, **NAMES, **FACTS, exact=False)


def test_many_labels_are_rejected_while_they_stream(tmp_path):
    path = stored(tmp_path, score=np.linspace(0, 1, 1500), label=np.arange(1500))
    with pytest.raises(ValueError, match="two values"):
        noneg.read(path, **NAMES, **FACTS, exact=False)


def test_weights_that_are_none_are_rejected_in_a_lazy_frame():
    frame = pl.LazyFrame({"score": [0.1, 0.9], "label": [0, 1], "w": [1.0, -2.0]})
    with pytest.raises(ValueError, match="'w'"):
        noneg.read(frame, **NAMES, **FACTS, weight="w", weight_kind="importance", exact=False)


def test_importance_without_a_weight_counts_rows():
    frame = pl.LazyFrame({"score": [0.1, 0.9, 0.9], "label": [0, 1, 0]})
    found = noneg.read(frame, **NAMES, **FACTS, weight_kind="importance", exact=False)
    assert found.effective_marginal == pytest.approx(3.0)


def test_a_table_without_columns_is_named_as_such():
    with pytest.raises(ValueError, match="It has no columns"):
        noneg.read(pd.DataFrame(index=range(3)), **NAMES, **FACTS)


@pytest.mark.parametrize(
    ("label", "means"),
    [("true", True), ("FALSE", False), ("2.5", 2.5), (" 1", 1), ("1_0", "1_0"), (b"yes", "yes")],
)
def test_what_labels_mean(label, means):
    assert meaning(label) == means


def test_a_full_temporary_folder_is_distinguished_from_other_errors():
    with (
        pytest.raises(OSError, match=r"needs space for its scores .* Set TMPDIR"),
        _stage_errors(),
    ):
        raise OSError("No space left on device")
    with pytest.raises(duckdb.IOException, match="elsewhere"), _stage_errors():
        raise duckdb.IOException("elsewhere")


def test_frames_that_answer_to_any_name_are_sketched():
    """A SQLFrame frame turns every requested attribute into a column."""
    session = pytest.importorskip("sqlframe.duckdb").DuckDBSession.builder.getOrCreate()
    frame = session.createDataFrame(pd.DataFrame({"score": [0.1, 0.9], "label": [0, 1]}))
    for exact in (None, True, False):
        assert noneg.read(frame, **NAMES, **FACTS, exact=exact).n_positive == 1
