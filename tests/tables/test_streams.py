"""Many rows: every source gives the same sketch, and errors report their location."""

import gzip
import os
import resource
import signal
import subprocess
import sys
import time

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noneg
from noneg.atomic import replacing
from noneg.evaluation import evaluate
from noneg.kernels import FINE_GRID, GRID, bucket_of
from noneg.tables import batches, files, reading
from noneg.tables.batches import Wanted
from noneg.tables.engines import bucketed, labeled_rows, sketch_of_frame

NAMES = {"score": "score", "label": "label"}
FACTS = {"setting": "one-sample", "prior": 0.4}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    score = np.concatenate([rng.random(20_000), rng.random(2000) ** 20, [0.0, 1.0] * 50])
    return {"score": score, "label": (rng.random(score.size) < 0.4 * score).astype(np.int64)}


def frames(columns):
    """The same rows in every supported library."""
    table = pa.table(columns)
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "polars lazy": pl.LazyFrame(columns),
        "pyarrow": table,
        "duckdb": duckdb.connect().from_arrow(table),
    }


ENGINES = ["pandas", "polars", "polars lazy", "pyarrow", "duckdb", "ibis"]
POWERS = 2.0 ** -np.arange(1.0, 1075.0)
EDGES = np.concatenate([np.arange(513) / 65536, np.arange(65025, 65537) / 65536])
HALVES = EDGES + 2.0**-17
ALL_HARD = np.concatenate(
    [
        *(f(x) for x in (POWERS, 1.0 - POWERS, EDGES, HALVES) for f in (
            np.asarray, lambda x: np.nextafter(x, 0.0), lambda x: np.nextafter(x, 2.0)
        )),
        [0.0, 5e-324, 1e-310, 1.0 - 2.0**-53, 1.0],
    ]
).clip(0.0, 1.0)  # fmt: skip


def native(engine, columns):
    if engine != "ibis":
        return frames(columns)[engine]
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    return ibis.memtable(pa.table(columns))


def check_buckets(engine, score, grid):
    columns = {"score": score, "label": np.zeros(score.size, dtype=np.int64)}
    frame = nw.from_native(native(engine, columns))
    rows = bucketed(labeled_rows(frame, Wanted(**NAMES)), grid).select("score", "bucket")
    got = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    assert len(got) == score.size
    want = bucket_of(got["score"].to_numpy(), grid)
    np.testing.assert_array_equal(got["bucket"].to_numpy(), want)


@pytest.mark.parametrize("grid", [GRID, FINE_GRID])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_puts_hard_doubles_into_the_same_bucket(engine, grid):
    check_buckets(engine, ALL_HARD, grid)


@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "pyarrow", "duckdb"])
def test_every_engine_puts_any_double_into_the_same_bucket(engine):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, np.float64(1.0).view(np.int64), 50_000)
    near_one = 1.0 - 2.0 ** (-53.0 * rng.random(50_000))
    score = np.concatenate([bits.view(np.float64), near_one, rng.random(50_000)])
    check_buckets(engine, score, FINE_GRID)


def assert_same(one, other):
    k = one._table.shape[1] // 2 - 1
    exact = [0, k, -2, -1]
    np.testing.assert_array_equal(one._table[:, exact], other._table[:, exact])
    np.testing.assert_allclose(one._table[:, :-2], other._table[:, :-2], rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_makes_the_same_sketch(engine, columns):
    frame = native(engine, columns)
    want = noneg.Sketch().update(columns["label"], columns["score"])
    assert_same(noneg.read_sketch(frame, **NAMES), want)
    assert_same(sketch_of_frame(nw.from_native(frame), Wanted(**NAMES)), want)


@pytest.mark.parametrize("kind", ["frequency", "importance"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_sums_weights(engine, kind, columns):
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 3, columns["score"].size)
    weight = whole if kind == "frequency" else whole * 0.7 + 0.1
    frame = native(engine, columns | {"w": weight})
    want = noneg.Sketch(weight_kind=kind).update(columns["label"], columns["score"], weight)
    wanted = Wanted(**NAMES, weight="w", weight_kind=kind)
    assert_same(sketch_of_frame(nw.from_native(frame), wanted), want)


def write_files(columns, folder):
    """The same rows as several Parquet files, CSV, and compressed CSV."""
    table = pa.table(columns)
    pq.write_table(table.slice(0, 9000), folder / "a.parquet", row_group_size=2000)
    pq.write_table(table.slice(9000), folder / "b.parquet", row_group_size=5000)
    lines = [f"{s!r},{y}" for s, y in zip(columns["score"].tolist(), columns["label"], strict=True)]
    text = "\n".join(["score,label", *lines, ""])
    (folder / "t.csv").write_text(text)
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    return {"parquet": folder / "*.parquet", "csv": folder / "t.csv", "gzip": folder / "t.csv.gz"}


def test_rows_are_sketched_as_soon_as_there_are_too_many(columns, tmp_path, monkeypatch):
    """The number of rows in a compressed file is not known in advance."""
    monkeypatch.setattr(reading, "EXACT_ROWS", 10_000)
    monkeypatch.setattr(files, "BATCH", 2048)
    most = 0

    class Rows(batches._Rows):
        def add(self, rows):
            nonlocal most
            super().add(rows)
            most = max(most, self.n_held)

    monkeypatch.setattr(batches, "_Rows", Rows)
    file = write_files(columns, tmp_path)["gzip"]
    scores = noneg.read(str(file), **NAMES, **FACTS)
    assert scores.n_marginal == columns["score"].size
    assert 8_000 < most <= 10_000


@pytest.mark.parametrize("wrong", [1.5, np.nan])
@pytest.mark.parametrize("exact", [True, False, None])
def test_a_wrong_score_is_named_by_its_row_in_any_batch(exact, wrong, tmp_path, monkeypatch):
    """Scores are checked before they are counted, or kept until there are too many."""
    monkeypatch.setattr(reading, "EXACT_ROWS", 3000)
    monkeypatch.setattr(files, "BATCH", 2048)
    for row in (100, 3500, 7000):
        score = np.full(9000, 0.5)
        score[row] = wrong
        pq.write_table(pa.table({"score": score, "label": [0, 1] * 4500}), tmp_path / "t.parquet")
        with pytest.raises(ValueError, match=rf"column 'score' must contain .* row {row} of"):
            noneg.read(tmp_path / "t.parquet", **NAMES, **FACTS, exact=exact)


@pytest.mark.parametrize("kind", ["parquet", "csv", "gzip"])
def test_files_make_the_same_sketch(kind, columns, tmp_path):
    file = write_files(columns, tmp_path)[kind]
    seen = []
    found = noneg.read_sketch(str(file), **NAMES, progress=lambda *rows: seen.append(rows))
    assert_same(found, noneg.Sketch().update(columns["label"], columns["score"]))
    n = columns["score"].size
    assert max(seen)[0] == n
    assert max(seen)[1] == (n if kind == "parquet" else None)


def test_every_source_gives_the_same_evaluation(columns, tmp_path):
    sources = {name: native(name, columns) for name in ENGINES} | write_files(columns, tmp_path)
    plain = [os.fspath(x) if hasattr(x, "suffix") else x for x in sources.values()]
    first, *others = (noneg.read(x, **NAMES, **FACTS, exact=False) for x in plain)
    # The results depend only on the two groups.
    for other in others:
        for one, group in zip(first.in_order(), other.in_order(), strict=True):
            for part, same in zip(one, group, strict=True):
                np.testing.assert_allclose(same, part, rtol=1e-12)
    found, exact = evaluate(first), evaluate(noneg.read(columns, **NAMES, **FACTS))
    counts = [(e.n_positive, e.n_unlabeled, e.bins) for e in (found, exact)]
    assert counts[0] == counts[1]
    assert found.metrics["brier"].value == pytest.approx(exact.metrics["brier"].value, abs=2e-5)


def test_large_tables_are_sketched_by_themselves(columns, tmp_path, monkeypatch):
    files = write_files(columns, tmp_path)
    monkeypatch.setattr(reading, "EXACT_ROWS", 1000)
    for source in (columns, *frames(columns).values(), str(files["parquet"]), str(files["csv"])):
        scores = noneg.read(source, **NAMES, **FACTS)
        assert scores.n_positive == columns["label"].sum()
        assert not np.isin(scores.in_order()[0][0], columns["score"]).all()
        whole = noneg.read(source, **NAMES, **FACTS, exact=True)
        assert np.isin(whole.in_order()[0][0], columns["score"]).all()
        assert whole.in_order()[0][0].size == (columns["label"] == 0).sum()


LABELS = [
    ([True, False, True], None),
    ([0.0, 1.0, 1.0], None),
    ([-1, 1, 1], None),
    (["yes", "no", "yes"], "yes"),
    (["1", "0", "1"], "1"),
    ([False, True, False], "false"),
]


@pytest.mark.parametrize(("labels", "positive"), LABELS)
def test_labels_mean_the_same_in_a_sketch(labels, positive, tmp_path):
    table = pa.table({"score": [0.1, 0.5, 0.9], "label": labels})
    pq.write_table(table, tmp_path / "t.parquet")
    lines = [f"{s},{y}" for s, y in zip([0.1, 0.5, 0.9], labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["score,label", *lines, ""]))
    options = {**NAMES, "setting": "labeled", "positive_label": positive}
    want = noneg.read(table, **options)
    sources = [str(tmp_path / "t.parquet"), str(tmp_path / "t.csv"), table.to_pandas()]
    for source in [*sources, pl.LazyFrame(pl.from_arrow(table))]:
        found = noneg.read(source, **options, exact=False)
        assert found.n_positive == want.n_positive
        assert noneg.ece(found, bins=1) == pytest.approx(noneg.ece(want, bins=1))


WRONG = {
    "score outside": ("0.5,1\n1.5,0\n", r"got 1.5 in line 1003 of '.*t.csv'"),
    "no score": (",1\n", r"'score' must contain a score in every row, but line 1002 of '.*t.csv'"),
    "score of text": ("high,1\n", r"'score' must contain numbers, got 'high' in line 1002"),
    "no label": ("0.5,\n", r"'label' must contain a label in every row, but line 1002"),
    "third label": ("0.5,2\n", r"'label' must contain two values, got 3"),
    "one field too many": ("0.5,1,7\n", r"t.csv' is malformed: line 1002 has 3 fields"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_row_in_the_middle_of_a_csv_file_is_named(case, tmp_path):
    bad, words = WRONG[case]
    rows = "0.25,0\n0.75,1\n" * 500
    (tmp_path / "t.csv").write_text(f"score,label\n{rows}{bad}{rows}")
    with pytest.raises(ValueError, match=words):
        noneg.read(str(tmp_path / "t.csv"), **NAMES, **FACTS, exact=False)


def parquet_with(tmp_path, **changes):
    n = 5000
    columns = {"score": [0.5] * n, "label": [0, 1] * (n // 2)}
    for name, (row, value) in changes.items():
        columns[name] = list(columns[name])
        columns[name][row] = value
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=1000, use_dictionary=False)
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": (3210, 1.5)}, r"got 1.5 in row 3210 of '.*t.parquet'"),
        ({"score": (3210, None)}, r"but row 3210 of '.*t.parquet'.* has none"),
        ({"score": (3210, float("nan"))}, r"got nan in row 3210"),
        ({"label": (3210, None)}, r"'label' must contain a label in every row, but row 3210"),
        ({"label": (3210, 5)}, r"'label' must contain two values, got 3"),
    ],
)
def test_a_bad_row_of_a_parquet_file_is_named(changes, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        noneg.read(str(parquet_with(tmp_path, **changes)), **NAMES, **FACTS, exact=False)


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_a_parquet_file_that_is_cut_off_is_named(tmp_path, share):
    path = parquet_with(tmp_path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"'source' cannot be read: '.*t.parquet' is truncated"):
        noneg.read(str(path), **NAMES, **FACTS, exact=False)


def test_a_parquet_file_damaged_in_the_middle_is_named(tmp_path):
    path = parquet_with(tmp_path)
    content = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t.parquet' is corrupted or has another format"):
        noneg.read(str(path), **NAMES, **FACTS, exact=False)


WRONG_FRAMES = {
    "score outside": (
        {"score": [0.5, 1.5], "label": [0, 1]},
        "got 1.5 in row 1",
        "but 1 row does not, such as 1.5",
    ),
    "no score": (
        {"score": [0.5, None], "label": [0, 1]},
        "'score' .* row 1 has none",
        "'score' must contain scores",
    ),
    "no label": (
        {"score": [0.5, 0.5], "label": [None, 1]},
        "'label' .* row 0 has none",
        "'label' must contain a label in every row, but 1 row does not",
    ),
    "three labels": (
        {"score": [0.5] * 3, "label": [0, 1, 2]},
        *["must contain two values, got 3"] * 2,
    ),
    "labels of text": (
        {"score": [0.5] * 2, "label": ["a", "b"]},
        *["so the positive value is unclear"] * 2,
    ),
    "scores of text": (
        {"score": ["x", "y"], "label": [0, 1]},
        *["'score' must contain numbers"] * 2,
    ),
    "no row": (
        {"score": pa.array([], pa.float64()), "label": pa.array([], pa.int64())},
        *["one row"] * 2,
    ),
}


@pytest.mark.parametrize("case", WRONG_FRAMES)
@pytest.mark.parametrize("engine", ["polars lazy", "duckdb"])
def test_a_wrong_lazy_frame_is_rejected(engine, case):
    columns, words, words_of_sums = WRONG_FRAMES[case]
    table = pa.table(columns)
    lazy = pl.from_arrow(table).lazy()
    frame = lazy if engine == "polars lazy" else duckdb.connect().from_arrow(table)
    for exact in (True, False):
        with pytest.raises(ValueError, match=words):
            noneg.read(frame, **NAMES, **FACTS, exact=exact)
    with pytest.raises(ValueError, match=words_of_sums):
        sketch_of_frame(nw.from_native(frame), Wanted(**NAMES))


def test_sums_need_the_text_of_the_positive_label():
    frame = nw.from_native(pl.LazyFrame({"score": [0.5, 0.5], "label": ["1.0", "0.0"]}))
    with pytest.raises(ValueError, match="'positive_label' must be written as in column 'label'"):
        sketch_of_frame(frame, Wanted(**NAMES))
    found = sketch_of_frame(frame, Wanted(**NAMES, positive_label="1.0"))
    assert (found.n_positive, found.n_unlabeled) == (1, 1)


def full_disk(script, path):
    """Run a script in a process with a small file size limit, as on a full disk."""
    limit = f"import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, ({4096}, {4096}))"
    ignore = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    code = f"{limit}; {ignore}; import numpy as np, noneg\n{script}"
    # There is no space for a coverage record there.
    unmeasured = {name: x for name, x in os.environ.items() if not name.startswith("COVERAGE_")}
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=unmeasured)


SCORES = "noneg.PUScores.from_labels(np.arange(50000) % 2, np.random.default_rng(0).random(50000))"
WRITERS = {
    "t.csv": f"import sys; from noneg.tables import write; write({SCORES}, sys.argv[1])",
    "t.parquet": f"import sys; from noneg.tables import write; write({SCORES}, sys.argv[1])",
    "s.json": f"import sys; noneg.Sketch.from_scores({SCORES}).save(sys.argv[1])",
    "s.parquet": f"import sys; noneg.Sketch.from_scores({SCORES}).save(sys.argv[1])",
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_no_file_and_names_the_location(name, tmp_path):
    assert hasattr(resource, "RLIMIT_FSIZE")
    done = full_disk(WRITERS[name], tmp_path / name)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "UnwritableFileError: 'path' cannot be written" in last
    assert name in last
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_nothing_under_the_final_name(tmp_path):
    path = tmp_path / "t.csv"
    code = (
        "import sys, time; from noneg.atomic import replacing\n"
        "with replacing(sys.argv[1]) as partial:\n"
        "    partial.write_text('half'); print('ready', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"ready"
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    assert not path.exists()
    assert all(file.name.startswith(".") for file in tmp_path.iterdir())
    with replacing(path) as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole"


def test_an_old_file_survives_a_failed_write(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def fail():
        with replacing(path) as partial:
            partial.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Four times the rows need about the same peak memory, because only the sketch is kept.

    One batch of two million rows is in memory at a time; the peak may grow by at most a quarter of
    the additional rows in the larger file.
    """

    def peak(n):
        path = tmp_path / f"{n}.parquet"
        rng = np.random.default_rng(0)
        columns = {"score": rng.random(n), "label": rng.random(n) < 0.3}
        pq.write_table(pa.table(columns), path, row_group_size=n)
        code = (
            "import sys, noneg\n"
            "noneg.read_sketch(sys.argv[1], score='score', label='label')\n"
            "lines = open('/proc/self/status').read().splitlines()\n"
            "print(*(line.split()[1] for line in lines if line.startswith('VmHWM')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        return int(done.stdout) / 1024.0

    start = time.monotonic()
    small, large = peak(6_000_000), peak(24_000_000)
    more = 18_000_000 * (8 + 1) / 2**20
    words = f"{small} and {large} MB in {time.monotonic() - start:.0f} s"
    assert large < small + more / 4.0, words
