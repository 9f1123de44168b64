"""Every kind of input to `noneg.read` gives the same numbers, and every invalid one a clear
message."""

import base64
import gzip
import io
import os
import socket
import sys
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow.parquet import encryption

import noneg
from noneg.simulation import LogisticGaussian
from noneg.tables import write

NAMES = {"score": "score", "label": "label"}
PU = {**NAMES, "setting": "two-sample", "prior": 0.5}
LABELED = {**NAMES, "setting": "labeled"}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    score = rng.random(400)
    label = (rng.random(400) < score).astype(np.int64)
    return {"id": np.arange(400), "score": score, "label": label, "note": ["a,b"] * 400}


@pytest.fixture(scope="module")
def expected(columns):
    return contents(
        noneg.PUScores.from_pu_labels(
            columns["label"], columns["score"], prior=0.5, setting="two-sample"
        )
    )


def contents(scores):
    """Return everything that a number can depend on: setting, knowledge, and both groups in
    order."""
    groups = [
        [np.broadcast_to(part, chunk[0].shape).tolist() for part in chunk]
        for chunk in scores.in_order()
    ]
    return scores.setting, scores.knowledge, groups


def text(path, content, *, mode="w"):
    with path.open(mode, **({} if "b" in mode else {"encoding": "utf-8", "newline": ""})) as file:
        file.write(content)
    return path


def csv_of(columns, delimiter=","):
    rows = zip(columns["id"], columns["score"], columns["label"], strict=True)
    lines = [delimiter.join((str(i), repr(float(s)), str(y), '"a,""b"')) for i, s, y in rows]
    return "\n".join([delimiter.join(["id", "score", "label", "note"]), *lines, ""])


def zst(path, content):
    plain = text(path.with_suffix(".plain"), content)
    with duckdb.connect() as connection:
        relation = connection.sql(f"FROM read_csv('{plain}', all_varchar=true)")
        relation.write_csv(str(path), compression="zstd")
    return path


def parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


SOURCES = {
    "mapping": lambda c, _: c,
    "mapping of lists": lambda c, _: {k: list(v) for k, v in c.items()},
    "pandas": lambda c, _: pd.DataFrame(c),
    "pandas nullable": lambda c, _: pd.DataFrame(c).convert_dtypes(),
    "polars": lambda c, _: pl.DataFrame(c),
    "polars lazy": lambda c, _: pl.LazyFrame(c),
    "pyarrow": lambda c, _: pa.table(c),
    "csv": lambda c, p: text(p / "t.csv", csv_of(c)),
    "csv as text": lambda c, p: str(text(p / "t.csv", csv_of(c))),
    "csv as bytes": lambda c, p: os.fsencode(text(p / "t.csv", csv_of(c))),
    "tsv": lambda c, p: text(p / "t.tsv", csv_of(c, "\t")),
    "semicolons": lambda c, p: text(p / "t.txt", csv_of(c, ";")),
    "bars": lambda c, p: text(p / "t.csv", csv_of(c, "|")),
    "windows": lambda c, p: text(p / "t.csv", "\ufeff" + csv_of(c).replace("\n", "\r\n")),
    "gzip": lambda c, p: text(p / "t.csv.gz", gzip.compress(csv_of(c).encode()), mode="wb"),
    "gzip by content": lambda c, p: text(p / "t", gzip.compress(csv_of(c).encode()), mode="wb"),
    "zstd": lambda c, p: zst(p / "t.csv.zst", csv_of(c)),
    "parquet": lambda c, p: parquet(p / "t.parquet", c),
    "parquet by content": lambda c, p: parquet(p / "t.bin", c),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_rows(source, columns, expected, tmp_path):
    scores = noneg.read(SOURCES[source](columns, tmp_path), **PU)
    assert contents(scores) == expected


def test_duckdb_relation_gives_the_same_rows(columns, expected):
    with duckdb.connect() as connection:
        relation = connection.from_arrow(pa.table(columns))
        assert contents(noneg.read(relation, **PU)) == expected


@pytest.mark.parametrize("as_parquet", [False, True])
def test_standard_input(columns, expected, tmp_path, monkeypatch, as_parquet):
    source = SOURCES["parquet" if as_parquet else "csv"](columns, tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
    assert contents(noneg.read("-", **PU)) == expected


def test_named_pipe(columns, expected):
    content = csv_of(columns).encode()
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    assert contents(noneg.read(f"/dev/fd/{reading}", **PU)) == expected
    os.close(reading)


def test_files_are_read_in_order_whatever_their_layout(columns, expected, tmp_path):
    parts = [{k: v[i : i + 100] for k, v in columns.items()} for i in range(0, 400, 100)]
    text(tmp_path / "1.csv", csv_of(parts[0]))
    text(tmp_path / "2.csv", csv_of(parts[1]))
    swapped = {"label": parts[2]["label"].astype(float), "score": parts[2]["score"]}
    parquet(tmp_path / "3.parquet", swapped)
    text(tmp_path / "4.csv", csv_of(parts[3], "\t"))
    assert contents(noneg.read(str(tmp_path / "*"), **PU)) == expected
    files = [tmp_path / name for name in ("1.csv", "2.csv", "3.parquet", "4.csv")]
    assert contents(noneg.read(files, **PU)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "a[1].csv",
        "a*.csv",
        "q'uo\"te.csv",
        "line\nbreak 🦔.csv",
        "back\\slash.csv",
        "x=1",
        os.fsdecode(b"\xff"),
    ],
)
def test_a_file_is_found_by_its_exact_name(tmp_path, name):
    text(tmp_path / "a1.csv", "score,label\n0.1,0\n")
    path = text(tmp_path / name, "score,label\n0.5,1\n0.5,0\n0.5,0\n")
    assert noneg.read(str(path), **LABELED).n_marginal == 3


@pytest.mark.parametrize(
    "name",
    ['say "hi"', "it's", "a,b", "[red]", "line\nbreak", "🦔", "a; DROP TABLE x; --", "c1"],
)
@pytest.mark.parametrize("kind", ["csv", "parquet", "relation"])
def test_a_column_is_found_by_its_exact_name(tmp_path, name, kind):
    if kind == "csv":
        quoted = name.replace('"', '""')
        source = text(tmp_path / "t.csv", f'x,"{quoted}",label\n0,0.25,1\n0,0.75,0\n')
    else:
        table = pa.table({"x": [0, 0], name: [0.25, 0.75], "label": [1, 0]})
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
        source = duckdb.connect().from_arrow(table) if kind == "relation" else source
    scores = noneg.read(source, **(LABELED | {"score": name}))
    assert noneg.ece(scores, bins=1) == 0.0
    assert noneg.ece(scores, bins=2, binning="width") == 0.75


LABELS = [
    (["1", "0", "0"], None),
    (["1.0", "0.0", "0.0"], None),
    (["1.0", "0.0", "0.0"], "1"),
    (["1", "-1", "-1"], None),
    (["True", "False", "False"], None),
    (["TRUE", "FALSE", "FALSE"], "true"),
    (["yes", "no", "no"], "yes"),
    (["2", "1", "1"], "2"),
    (["2", "1", "1"], 2),
    (["it's", "🦔", "🦔"], "it's"),
    (["1", "0", "0.0"], None),
]


@pytest.mark.parametrize(("labels", "positive"), LABELS)
def test_labels_of_a_csv_file(tmp_path, labels, positive):
    rows = "".join(f"0.5,{label}\n" for label in labels)
    path = text(tmp_path / "t.csv", f"score,label\n{rows}")
    assert noneg.read(path, **LABELED, positive_label=positive).n_positive == 1


TYPED_LABELS = [
    (pa.array([True, False, False]), None),
    (pa.array([True, False, False]), "True"),
    (pa.array([1, 0, 0], pa.int8()), None),
    (pa.array([1, 0, 0], pa.uint64()), "1"),
    (pa.array([1.0, -1.0, -1.0]), None),
    (pa.array([1.0, 0.0, 0.0]), "1"),
    (pa.array(["1", "0", "0"]), 1),
    (pa.array(["b", "a", "a"]), "b"),
    (pa.array(["b", "a", "a"]).dictionary_encode(), "b"),
    (pa.array([Decimal("1.0"), Decimal("0.0"), Decimal("0.0")]), "1"),
    (pa.array([Decimal("1.0"), Decimal("0.0"), Decimal("0.0")]), None),
]


@pytest.mark.parametrize(("labels", "positive"), TYPED_LABELS)
@pytest.mark.parametrize("kind", ["parquet", "pyarrow", "polars", "pandas", "relation"])
def test_labels_with_a_type(tmp_path, labels, positive, kind):
    table = pa.table({"score": [0.5] * 3, "label": labels})
    if kind == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
    sources = {
        "parquet": lambda: tmp_path / "t.parquet",
        "pyarrow": lambda: table,
        "polars": lambda: pl.from_arrow(table),
        "pandas": table.to_pandas,
        "relation": lambda: duckdb.connect().from_arrow(table),
    }
    assert noneg.read(sources[kind](), **LABELED, positive_label=positive).n_positive == 1


@pytest.mark.parametrize(
    "scores",
    [
        pa.array([0.1, 0.3], pa.float32()),
        pa.array([0, 1], pa.int8()),
        pa.array([0, 1], pa.uint64()),
        pa.array([Decimal("0.10"), Decimal("0.30")]),
        pa.array([1 / 3, 5e-324]),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "pyarrow", "polars", "pandas", "relation"])
def test_scores_of_every_number_type_are_exact(tmp_path, scores, kind):
    table = pa.table({"score": scores, "label": [0, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    sources = {
        "parquet": tmp_path / "t.parquet",
        "pyarrow": table,
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(),
        "relation": duckdb.connect().from_arrow(table),
    }
    assert _values(noneg.read(sources[kind], **LABELED)) == [float(s.as_py()) for s in scores]


def _values(scores):
    return scores._rows.scores.tolist()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=200))
def test_a_score_in_text_is_the_nearest_double(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("exact") / "t.csv"
    text(path, "score,label\n" + "".join(f"{value!r},1\n" for value in values))
    assert _values(noneg.read(path, **LABELED)) == values


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "tsv", "parquet"])
@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_written_scores_come_back(tmp_path, suffix, setting):
    world = LogisticGaussian.less_calibrated()
    size = {"n": 300} if setting == "labeled" else {"n_positive": 50, "n_unlabeled": 250}
    scores = world.draw(**size, setting=setting, seed=1)
    path = tmp_path / f"t.{suffix}"
    write(scores, path, score='the "score"')
    prior = None if setting == "labeled" else 0.5
    back = noneg.read(path, score='the "score"', label="label", setting=setting, prior=prior)
    assert contents(back) == contents(scores)


def test_what_cannot_be_written(tmp_path):
    scores = noneg.PUScores.from_labels([1, 0], [0.5, 0.5])
    weighted = noneg.PUScores.from_labels([1, 0], [0.5, 0.5], sample_weight=[1, 2])
    with pytest.raises(ValueError, match=r"must end in one of \.parquet, .*got 't\.xlsx'"):
        write(scores, "t.xlsx")
    with pytest.raises(ValueError, match="folder that does not exist"):
        write(scores, tmp_path / "no" / "t.csv")
    with pytest.raises(ValueError, match="unweighted rows"):
        write(weighted, tmp_path / "t.csv")


def test_weights_are_read(tmp_path):
    path = text(tmp_path / "t.csv", "score,label,w\n0.5,1,2\n0.5,0,3\n")
    assert noneg.read(path, **LABELED, weight="w").n_marginal == 5
    frame = pd.read_csv(path)
    assert noneg.read(frame, **LABELED, weight="w").prior == 0.4
    importance = {"weight": "w", "weight_kind": "importance"}
    assert noneg.read(frame, **LABELED, **importance).n_marginal == 2


def test_only_needed_columns_are_computed():
    def fail(_):
        raise AssertionError

    lazy = pl.LazyFrame({"score": [0.5, 0.5], "label": [0, 1]})
    lazy = lazy.with_columns(other=pl.col("score").map_elements(fail, return_dtype=pl.Float64))
    assert noneg.read(lazy, **LABELED).n_positive == 1


def test_the_prior_and_its_interval_arrive():
    table = {"score": [0.5, 0.5], "label": [0, 1]}
    scores = noneg.read(table, **PU, prior_interval=(0.4, 0.6))
    assert (scores.prior, scores.prior_interval) == (0.5, (0.4, 0.6))


SCORE, LABEL = {"score": [0.5, 0.5]}, {"label": [1, 0]}
WRONG_TABLES = {
    "nan": ({"score": [0.5, np.nan], **LABEL}, {}, "column 'score' .* got nan in row 1"),
    "lengths": ({"score": [0.5], **LABEL}, {}, "column 'label' .* 2 entries for 1 rows"),
    "missing": (SCORE, {}, r"'label' must name a column of the mapping, got 'label'\. It has 's"),
    "shape": ({"score": np.ones((2, 2)), **LABEL}, {}, r"one-dimensional, got shape \(2, 2\)"),
    "masked score": ({"score": np.ma.array([0, 0], mask=[0, 1]), **LABEL}, {}, "row 1 has none"),
    "masked label": ({**SCORE, "label": np.ma.array([1, 0], mask=[0, 1])}, {}, "row 1 has none"),
    "no label": ({**SCORE, "label": [1, None]}, {}, "column 'label' .* row 1 has none"),
    "NA": ({**SCORE, "label": pd.array([True, None], dtype="boolean")}, {}, "row 1 has none"),
    "no rows": ({"score": [], "label": []}, {}, "'source' .* at least one row"),
    "weights": ({**SCORE, **LABEL, "w": [1]}, {"weight": "w"}, "column 'w' .* 1 entries for 2"),
    "zeros": ({**SCORE, **LABEL, "w": [0, 0]}, {"weight": "w"}, "column 'w' .* zero in every row"),
    "kind": ({**SCORE, **LABEL, "w": [1, 1]}, {"weight": "w", "weight_kind": "x"}, "'weight_kind'"),
    "name": ({**SCORE, **LABEL}, {"score": 3}, "'score' must be the name of a column, got 3"),
    "same name": ({**SCORE, **LABEL}, {"label": "score"}, "different columns, got 'score', 'sc"),
    "prior": ({**SCORE, **LABEL}, {"prior": 0.5}, "'prior' must not be given .* got 0.5"),
    "interval": (
        {**SCORE, **LABEL},
        {"prior_interval": (0.1, 0.9)},
        "'prior_interval' must not be",
    ),
    "setting": ({**SCORE, **LABEL}, {"setting": "pn"}, "'setting' .* got 'pn'.*'two-sample'"),
    "array": (np.ones((2, 2)), {}, "'source' must be .* got ndarray"),
    "nothing": (None, {}, "'source' must be .* got NoneType"),
    "list": ([[0.5], [1]], {}, "'source' must be a list of paths, got one that contains list"),
    "no files": ([], {}, "'source' must name at least one file"),
    "null score": (pl.DataFrame({"score": [0.5, None], **LABEL}), {}, "'score' .* row 1 has none"),
    "null label": (pl.DataFrame({**SCORE, "label": [1, None]}), {}, "'label' .* row 1 has none"),
    "nan label": (pl.DataFrame({**SCORE, "label": [1.0, np.nan]}), {}, "'label' .* row 1 has none"),
    "text": (
        pd.DataFrame({"score": ["a", "b"], **LABEL}),
        {},
        "'score' .* numbers, but its type is text, such as 'a'",
    ),
    "dates": (
        pl.DataFrame({"score": [1, 2], **LABEL}).with_columns(pl.col("score").cast(pl.Date)),
        {},
        "column 'score' must contain numbers, but its type is date",
    ),
    "twice": (pd.DataFrame([[0.5, 0.5, 1]], columns=["score", "score", "label"]), {}, "'score' 2"),
    "numbered": (pd.DataFrame([[0.5, 1]]), {}, "'score' must name a column .* It has 0, 1"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_a_wrong_table_is_rejected(case):
    source, options, message = WRONG_TABLES[case]
    with pytest.raises(ValueError, match=message):
        noneg.read(source, **(LABELED | options))


@pytest.mark.parametrize("bins", [0, -1, 2, 1.5, "many"])
def test_wrong_bins_for_the_rows_that_were_read_are_rejected(bins):
    scores = noneg.read({"score": [0.5, 0.4, 0.3], "label": [1, 0, 0]}, **LABELED)
    with pytest.raises(ValueError, match=rf"'bins' .*{bins}"):
        noneg.ece(scores, bins=bins)


def test_a_wrong_relation_is_rejected():
    with duckdb.connect() as connection:
        for query, message in {
            "SELECT NULL::DOUBLE AS score, 1 AS label": "'score' .* row 0 has none",
            "SELECT 'a' AS score, 1 AS label": "'score' .* type is text, such as 'a'",
            "SELECT 0.5 AS score, NULL AS label": "'label' .* row 0 has none",
            "SELECT 0.5 AS score, 'nan'::DOUBLE AS label": "'label' .* row 0 has none",
            "SELECT 0.5 AS score, 1 AS label WHERE false": "at least one row",
            "SELECT 0.5 AS score, 1 AS labels": "'label' must name a column of the relation",
            "SELECT error('boom') AS score, 1 AS label": "'source' cannot be read: the relation",
            "SELECT 0.5 AS score, range AS label FROM range(2000)": "more than 1,000",
        }.items():
            with pytest.raises(ValueError, match=message):
                noneg.read(connection.sql(query), **LABELED)


GOOD = "score,label\n0.5,1\n0.5,0\n"
WRONG_FILES = {
    "second file": ("score,label\n0.5,1\n2,0\n", r"got 2\.0 in line 3 of .*b\.csv'\. Div"),
    "other columns": ("s,label\n0.5,1\n", r"'score' must name a column of .*b\.csv', got 'score'"),
    "label in second": (
        "score,label\n0.5,\n",
        r"but line 2 of .*b\.csv' has none",
    ),
    "text in second": ("label,score\n1,x\n", r"got 'x' in line 2 of .*b\.csv'"),
    "third label": ("score,label\n0.5,2\n", "got 3: 0, 1, 2"),
    "ragged": ("score,label\n0.5,1\n0.5\n", r"b\.csv' is malformed: line 3 has 1 fields"),
    "quote": ('score,label\n0.5,"1\n', r"b\.csv' is malformed: line 2 opens a quote"),
    "latin": (
        "score,label\n0.5,\xe9\n".encode("latin-1"),
        r"b\.csv' is not valid UTF-8 text: line 2",
    ),
    "latin elsewhere": (
        b"score,label,\xefther\n0.5,1,1\n2,0,1\n",
        r"got 2\.0 in line 3 of .*b\.csv'",
    ),
    "line ends": ("score,label\r\n0.5,1\n0.5,0\r\n", r"b\.csv' is not valid CSV"),
    "no names": ("\n\n0.5,1\n", r"must start with column names, but .*b\.csv'"),
    "duplicate": ("score,score,label\n0.5,0.5,1\n", r"b\.csv' has 2 columns of that name"),
    "excel": (b"PK\x03\x04....", r"b\.csv' is a zip archive or an Excel workbook"),
    "cut gzip": (gzip.compress(os.urandom(999))[:-9], r"b\.csv' is truncated"),
    "cut zstd": (bytes.fromhex("28b52ffd20000100"), r"b\.csv' is truncated"),
    "cut parquet": (b"PAR1" + bytes(50), r"b\.csv' is truncated or not a Parquet"),
    "tiny parquet": (b"PAR1", r"b\.csv' is too short to be a Parquet file"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_a_wrong_file_among_good_ones_is_named(tmp_path, case):
    content, message = WRONG_FILES[case]
    text(tmp_path / "a.csv", GOOD)
    text(tmp_path / "b.csv", content, mode="wb" if isinstance(content, bytes) else "w")
    with pytest.raises(ValueError, match=message) as caught:
        noneg.read(tmp_path / "*.csv", **LABELED)
    assert "\n" not in str(caught.value)


def test_a_file_that_comes_twice_is_rejected(tmp_path):
    path = text(tmp_path / "a.csv", GOOD)
    with pytest.raises(ValueError, match="every file once"):
        noneg.read([path, tmp_path / "*.csv"], **LABELED)


def test_missing_files_say_what_is_there(tmp_path):
    text(tmp_path / "scores.csv", GOOD)
    with pytest.raises(
        FileNotFoundError, match=r"scroes.* does not exist\..*Did you mean .*scores\.csv"
    ):
        noneg.read(tmp_path / "scroes.csv", **LABELED)
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.parquet"):
        noneg.read(tmp_path / "*.parquet", **LABELED)
    with pytest.raises(FileNotFoundError, match=r"of .* does not exist"):
        noneg.read(tmp_path / "no" / "scores.csv", **LABELED)


def test_what_cannot_be_opened_or_parsed_is_rejected(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)
        listener.bind("socket")
        with pytest.raises(ValueError, match="cannot be read: 'socket': No such device"):
            noneg.read("socket", **LABELED)
    path = text(tmp_path / "t.csv", "x" * 200_000)
    with pytest.raises(ValueError, match="no valid header"):
        noneg.read(path, **LABELED)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input, but there is none"):
        noneg.read("-", **LABELED)


def test_the_reason_of_duckdb_stays_attached(tmp_path):
    path = text(tmp_path / "t.csv", "score,label\n0.5,1\n0.5\n")
    with pytest.raises(ValueError, match="line 3") as caught:
        noneg.read(path, **LABELED)
    assert isinstance(caught.value.__cause__, duckdb.Error)


def test_an_interrupted_query_is_a_keyboard_interrupt():
    from noneg.tables.files import plain_errors

    with pytest.raises(KeyboardInterrupt), plain_errors("x"):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="other"), plain_errors("x"):
        raise RuntimeError("other")


@pytest.mark.parametrize("cut", [9, 100, 500, -5, -1])
def test_a_truncated_zstd_file_is_rejected(tmp_path, columns, cut):
    whole = zst(tmp_path / "t.csv.zst", csv_of(columns)).read_bytes()
    path = text(tmp_path / "t.csv.zst", whole[:cut], mode="wb")
    with pytest.raises(ValueError, match=r"t\.csv\.zst' is truncated"):
        noneg.read(path, **LABELED)


@pytest.mark.parametrize("flip", [-1, -5, -8, 700])
def test_a_gzip_file_that_was_changed_is_rejected(tmp_path, columns, flip):
    """Length, checksum or data: DuckDB would accept all of them."""
    content = bytearray(gzip.compress(csv_of(columns).encode(), mtime=0))
    content[flip] ^= 1
    path = text(tmp_path / "t.csv.gz", content, mode="wb")
    for exact in (True, False):
        with pytest.raises(
            ValueError, match=r"'source' cannot be read: .*t\.csv\.gz' is corrupted"
        ):
            noneg.read(path, **LABELED, exact=exact)


def test_no_flipped_bit_of_a_gzip_file_changes_a_number(tmp_path):
    content = gzip.compress(b"score,label\n0.1,0\n0.9,1\n0.4,0\n", mtime=0)
    path = text(tmp_path / "t.csv.gz", content, mode="wb")
    want = _values(noneg.read(path, **LABELED))
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            found = _values(noneg.read(path, **LABELED))
        except ValueError:
            continue
        assert found == want, bit


@pytest.mark.parametrize("exact", [True, False])
def test_page_checksums_are_verified(tmp_path, exact):
    path = tmp_path / "t.parquet"
    table = pa.table({"score": np.linspace(0, 1, 1000), "label": np.arange(1000) % 2})
    plain = {"compression": "none", "use_dictionary": False}
    pq.write_table(table, path, write_page_checksum=True, **plain)
    content = bytearray(path.read_bytes())
    content[pq.read_metadata(path).row_group(0).column(0).data_page_offset + 4000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet' is corrupted: a page"):
        noneg.read(path, **LABELED, exact=exact)


JSON_LINES = '{"score": 0.9, "label": true}\n\n{"label": false, "score": %s, "x": [1]}\n'


@pytest.mark.parametrize("packed", [False, True])
def test_json_lines_are_read(tmp_path, packed):
    content = (JSON_LINES % "1e-5").encode()
    path = text(tmp_path / "t.jsonl", gzip.compress(content) if packed else content, mode="wb")
    scores = noneg.read(path, **LABELED)
    assert (scores.n_positive, _values(scores)) == (1, [0.9, 1e-5])


def test_json_that_is_a_list_is_read(tmp_path):
    path = text(
        tmp_path / "t.json", '[{"score": 0.9, "label": "yes"}, {"score": 0, "label": "no"}]'
    )
    assert _values(noneg.read(path, **LABELED, positive_label="yes")) == [0.9, 0.0]


@pytest.mark.parametrize(
    ("score", "words"),
    [
        ("2", "got 2.0 in line 3 of"),
        ("null", "line 3 of .* has none"),
        ('"high"', "got 'high' in line 3 of"),
        ("0.5, oops", "line [23] is not a JSON object"),
    ],
)
def test_a_wrong_line_of_json_is_named(tmp_path, score, words):
    path = text(tmp_path / "t.jsonl", JSON_LINES % score)
    with pytest.raises(ValueError, match=words):
        noneg.read(path, **LABELED)


@pytest.mark.parametrize("exact", [True, False])
def test_the_line_of_a_row_counts_quoted_line_ends_and_empty_lines(tmp_path, exact):
    rows = 'note,score,label\n"two\nlines",0.5,1\n\n"a ""b""\n",0.5,0\nx,1.5,0\n'
    path = text(tmp_path / "t.csv", rows)
    with pytest.raises(ValueError, match=r"got 1\.5 in line 7 of"):
        noneg.read(path, **LABELED, exact=exact)


NUMBERS = {"0.1_2": "Convert the column", "1,000": "Write 1000, or", "0x1": "Convert"}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("exact", [True, False])
def test_text_that_is_not_a_number_is_rejected(tmp_path, number, exact):
    path = text(tmp_path / "t.csv", f"score;label;w\n0.5;1;1\n0.5;0;{number}\n")
    with pytest.raises(ValueError, match=rf"'w' .* got {number!r} in line 3 .*{NUMBERS[number]}"):
        noneg.read(path, **LABELED, weight="w", exact=exact)


def test_spaces_around_numbers_do_not_matter(tmp_path):
    path = text(tmp_path / "t.csv", "score,label\n 0.5,1\n+1e-1 ,0\n")
    assert _values(noneg.read(path, **LABELED)) == [0.5, 0.1]


MIXTURES = [
    [["1", "0"], pa.array([1, 0]), pa.array([1.0, 0.0]), pa.array([True, False])],
    [["1.0", "0.0"], pa.array(["1", "0"]), pa.array([Decimal("1.0"), Decimal("0.0")])],
    [["yes", "no"], pa.array(["yes", "no"]).dictionary_encode(), pa.array(["yes", "no"])],
]


@pytest.mark.parametrize("mixture", MIXTURES, ids=["numbers", "text", "words"])
@pytest.mark.parametrize("exact", [True, False])
def test_files_may_write_the_same_labels_in_their_own_types(tmp_path, mixture, exact):
    first, *others = mixture
    text(tmp_path / "0.csv", "score,label\n" + "".join(f"0.5,{label}\n" for label in first))
    for number, labels in enumerate(others, start=1):
        parquet(tmp_path / f"{number}.parquet", {"score": [0.5, 0.5], "label": labels})
    positive = "yes" if "yes" in first else None
    found = noneg.read(tmp_path / "*", **LABELED, positive_label=positive, exact=exact)
    assert (found.n_positive, found.n_marginal) == (len(mixture), 2 * len(mixture))


@pytest.mark.parametrize("exact", [True, False])
def test_a_label_that_is_nan_is_named_with_its_row(tmp_path, exact):
    label = np.arange(5000) % 2.0
    label[4321] = np.nan
    typed = parquet(tmp_path / "t.parquet", {"score": [0.5] * 5000, "label": label})
    written = text(tmp_path / "t.csv", "score,label\n" + "".join(f"0.5,{y}\n" for y in label))
    for path, place in ((typed, "row 4321 of"), (written, "line 4323 of")):
        with pytest.raises(ValueError, match=f"'label' must contain a label .* {place}"):
            noneg.read(path, **LABELED, exact=exact)


FRAMES = {
    "boolean": (pd.array([True, None, False], dtype="boolean"), "row 1 has none"),
    "category": (pd.Categorical([1, 0, 1]), 2),
    "category of text": (pd.Categorical(["b", "a", "b"], categories=["a", "b", "c"]), 2),
    "objects": (np.array([1, "a", 2.5], dtype=object), "values of one type"),
    "lists": (pd.Series([[1], [0], [1]]), "two values, but its type is list"),
}


@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("exact", [True, False])
def test_labels_of_pandas(case, exact):
    labels, want = FRAMES[case]
    frame = pd.DataFrame({"score": [0.5, 0.25, 0.75], "label": labels})
    options = {**LABELED, "positive_label": "b" if "text" in case else None, "exact": exact}
    if isinstance(want, int):
        assert noneg.read(frame, **options).n_positive == want
    else:
        with pytest.raises(ValueError, match=want):
            noneg.read(frame, **options)


@pytest.mark.parametrize("exact", [True, False])
def test_scores_that_are_lists_are_rejected(tmp_path, exact):
    path = parquet(tmp_path / "t.parquet", {"score": [[0.5], [0.1]], "label": [0, 1]})
    with pytest.raises(ValueError, match=r"'score' must contain numbers, but its type is list"):
        noneg.read(path, **LABELED, exact=exact)


class Keys(encryption.KmsClient):
    """Stores keys in plain text."""

    def __init__(self, _):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, _):
        return base64.b64encode(key)


@pytest.mark.parametrize("plaintext_footer", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_an_encrypted_file_is_rejected(tmp_path, plaintext_footer, exact):
    """Arrow crashes the process if the metadata of an encrypted column is accessed."""
    table = pa.table({"score": [0.5, 0.1], "label": [0, 1]})
    chosen = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["score"]}, plaintext_footer=plaintext_footer
    )
    keys = encryption.CryptoFactory(Keys)
    properties = keys.file_encryption_properties(encryption.KmsConnectionConfig(), chosen)
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="encrypted"):
        noneg.read(path, **LABELED, exact=exact)
