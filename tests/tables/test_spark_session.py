"""The calls to Spark and its messages, without a cluster."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from noneg.tables.engines import _scan, _spark_errors, spark_table


class Reader:
    """Records the options and files it is given."""

    def __init__(self):
        self.options = {}

    def option(self, name, value):
        self.options[name] = value
        return self

    def csv(self, files):
        return "csv", files, self.options

    def parquet(self, *files):
        return "parquet", list(files)


@pytest.mark.parametrize(
    ("files", "separator"),
    [(["a.csv", "b.CSV.gz"], ","), (["a.tsv"], "\t"), (["a.csv", "b.tsv"], ",")],
)
def test_text_has_a_header_and_a_separator(files, separator):
    kind, read, options = _scan(SimpleNamespace(read=Reader()), files)
    assert (kind, read) == ("csv", files)
    assert options == {
        "header": "true",
        "inferSchema": "true",
        "mode": "FAILFAST",
        "sep": separator,
    }


def test_other_files_are_parquet():
    assert _scan(SimpleNamespace(read=Reader()), ["a", "b"]) == ("parquet", ["a", "b"])


@pytest.mark.parametrize(("files", "table"), [([], None), (["a.csv"], "t")])
def test_rows_come_from_files_or_from_a_table(files, table):
    with (
        pytest.raises(
            ValueError, match="'table' must be given with Spark if, and only if, no files"
        ),
        spark_table("local[1]", files, table),
    ):
        pass


def test_a_session_that_runs_is_used_and_left_running(monkeypatch):
    stopped = []
    running = SimpleNamespace(table=lambda name: f"rows of {name}", stop=lambda: stopped.append(1))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: running)
    with spark_table("local[1]", [], "t") as frame:
        assert frame == "rows of t"
    assert not stopped


def test_a_missing_pyspark_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with (
        pytest.raises(ImportError, match=r"needs pyspark\. .*noneg\[spark\]"),
        spark_table("local[1]", [], "t"),
    ):
        pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (AnalysisException("\n[TABLE_NOT_FOUND] The table is not there.\nmore"), "TABLE_NOT_FOUND"),
        (Py4JError("one line"), "one line"),
    ],
)
def test_spark_errors_become_one_sentence(error, reason):
    with pytest.raises(ValueError, match=f"'source' cannot be read by Spark: 'x': .*{reason}"):
        raise_within(error)


def raise_within(error):
    with _spark_errors("x"):
        raise error
