"""Sketches from SQL: DuckDB, SQLite and PostgreSQL give the same buckets and counts."""

import json
import os
import shutil
import sqlite3
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main
from noneg.kernels import FINE_GRID, GRID, bucket_of
from noneg.tables.batches import Wanted
from noneg.tables.warehouse import DIALECTS, read_groups, read_sums, sketch_query

duckdb = pytest.importorskip("duckdb")
sqlglot = pytest.importorskip("sqlglot")

EDGES = np.concatenate([[0.0, -0.0, 5e-324, 1.0, 0.5], 2.0 ** -np.arange(1.0, 70.0)])
NEXT = [np.nextafter(EDGES, 0.0), np.nextafter(EDGES, 1.0)]
CORNERS = np.concatenate([EDGES, *NEXT, 1.0 - EDGES, *(1.0 - x for x in NEXT)])


def rows(n=3000, seed=0):
    """Scores of all magnitudes and edge cases, labels, groups and weights."""
    random = np.random.default_rng(seed)
    u = random.random(n)
    score = np.concatenate([u, u**30, 1.0 - u**30, CORNERS, CORNERS])
    label = (random.random(score.size) < 0.3).astype(np.int64)
    label[-CORNERS.size :] = 1 - label[-2 * CORNERS.size : -CORNERS.size]
    region = np.array(["north", "south"])[random.integers(0, 2, score.size)]
    weight = random.integers(0, 4, score.size).astype(np.float64)
    return pa.table({"p": score, "y": label, "region": region, "w": weight})


TABLE = rows()
PLAIN = Wanted(score="p", label="y")


def expected(table, wanted=PLAIN, weights=None):
    flags, scores = np.asarray(table["y"]) == 1, np.asarray(table["p"])
    return noneg.Sketch(weight_kind=wanted.weight_kind).update(flags, scores, weights)


def assert_same(found, wanted):
    """Buckets, counts and ranges are identical; sums of doubles depend on their order."""
    one, other = found.to_dict(), wanted.to_dict()
    assert one["bucket"] == other["bucket"]
    assert one["low"] == other["low"]
    assert one["high"] == other["high"]
    for group in ("unlabeled", "positive"):
        assert one[group]["n"] == other[group]["n"]
        for name in one[group]:
            np.testing.assert_allclose(one[group][name], other[group][name], rtol=1e-12)


def in_duckdb(query, table):
    with duckdb.connect() as connection:
        connection.register("scores", table)
        return connection.sql(query).to_arrow_table()


def in_sqlite(query, table):
    connection = sqlite3.connect(":memory:")
    names = ", ".join(table.column_names)
    connection.execute(f"CREATE TABLE scores ({names})")
    insert = f"INSERT INTO scores VALUES ({', '.join('?' * len(table.column_names))})"  # noqa: S608
    columns = [column.to_pylist() for column in table.columns]
    connection.executemany(insert, zip(*columns, strict=True))
    cursor = connection.execute(query)
    found, titles = cursor.fetchall(), [column[0] for column in cursor.description]
    connection.close()
    return pa.table({title: [row[k] for row in found] for k, title in enumerate(titles)})


def server_tools():
    """Return the folder with the PostgreSQL programs, or None if there is no server."""
    found, folders = shutil.which("initdb"), sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return Path(found).resolve().parent if found else folders[-1] if folders else None


@contextmanager
def postgres(folder):
    """Start a server that listens on a socket in its own folder, and stop it."""
    tools, user = server_tools(), {}
    if os.getuid() == 0:  # the server refuses to run as root
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(folder, "postgres")
    made = [tools / "initdb", "-D", folder / "data", "-A", "trust", "-U", "noneg"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder, **user)
    start = [tools / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses="]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(start, cwd=folder, **user, **quiet)
    place = ["-h", folder, "-U", "noneg", "-d", "postgres"]
    try:
        while subprocess.run([tools / "pg_isready", *place], check=False, **quiet).returncode:
            assert server.poll() is None, "the server did not start"
            time.sleep(0.05)
        yield [tools / "psql", *place, "-q", "-X", "-v", "ON_ERROR_STOP=1"]
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Yield the psql command line, connected to a new server that contains the rows."""
    if server_tools() is None:
        pytest.skip("PostgreSQL is not installed: make database")
    folder = Path(f"/tmp/noneg-postgres-{os.getpid()}")  # noqa: S108 - sockets need a short path
    folder.mkdir()
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    pv.write_csv(TABLE, path)
    columns = "p double precision, y integer, region text, w double precision"
    load = f"\\copy scores from '{path}' csv header"
    try:
        with postgres(folder) as psql:
            made = [*psql, "-c", f"CREATE TABLE scores ({columns})", "-c", load]
            subprocess.run(made, check=True, capture_output=True)
            yield psql
    finally:
        shutil.rmtree(folder)


WANTED = {
    "plain": (PLAIN, None),
    "counts": (Wanted(score="p", label="y", weight="w"), np.asarray(TABLE["w"])),
    "weights": (
        Wanted(score="p", label="y", weight="w", weight_kind="importance"),
        np.asarray(TABLE["w"]),
    ),
    "as if weighted": (Wanted(score="p", label="y", weight_kind="importance"), None),
}


@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_engines_in_this_process_give_the_buckets_of_the_sketch(engine, name):
    wanted, weights = WANTED[name]
    run = {"duckdb": in_duckdb, "sqlite": in_sqlite}[engine]
    result = run(sketch_query(engine, table="scores", wanted=wanted), TABLE)
    assert_same(read_sums(result), expected(TABLE, wanted, weights))


@pytest.mark.parametrize("name", WANTED)
def test_a_server_gives_the_buckets_of_the_sketch(client, name, tmp_path):
    wanted, weights = WANTED[name]
    query = sketch_query("postgres", table="public.scores", wanted=wanted)
    done = subprocess.run([*client, "--csv", "-c", query], check=True, capture_output=True)
    path = tmp_path / "result.csv"
    path.write_bytes(done.stdout)
    assert_same(read_sums(str(path)), expected(TABLE, wanted, weights))


def test_a_million_rows_have_the_same_counts_on_three_engines(client, tmp_path):
    table = rows(333_400, seed=1).select(["p", "y"])
    assert table.num_rows >= 1_000_000
    source, result = tmp_path / "rows.csv", tmp_path / "result.csv"
    pv.write_csv(table, source)
    query = {
        name: sketch_query(name, table=where, wanted=PLAIN)
        for name, where in (("duckdb", "scores"), ("sqlite", "scores"), ("postgres", "many"))
    }
    made = "CREATE TABLE many (p double precision, y integer)"
    load = f"\\copy many from '{source}' csv header"
    asked = [made, load, f"\\copy ({' '.join(query['postgres'].split())}) to '{result}' csv header"]
    commands = [part for one in asked for part in ("-c", one)]
    subprocess.run([*client, *commands], check=True, capture_output=True)
    right = expected(table)
    assert_same(read_sums(str(result)), right)
    assert_same(read_sums(in_duckdb(query["duckdb"], table)), right)
    assert_same(read_sums(in_sqlite(query["sqlite"], table)), right)


def test_every_edge_of_every_bucket_has_its_place():
    """The cases in the query agree with `bucket_of` at all powers of two, from both sides."""
    for kind, grid in (("frequency", FINE_GRID), ("importance", GRID)):
        table = pa.table({"p": CORNERS, "y": np.ones(CORNERS.size, dtype=np.int64)})
        wanted = Wanted(score="p", label="y", weight_kind=kind)
        result = in_duckdb(sketch_query("duckdb", table="scores", wanted=wanted), table)
        assert sorted(result["bucket"].to_pylist()) == np.unique(bucket_of(CORNERS, grid)).tolist()


def test_groups_are_further_sketches_and_files_add_up(tmp_path):
    query = sketch_query("duckdb", table="scores", wanted=PLAIN, by=["region"])
    result = in_duckdb(query, TABLE)
    found = dict(read_groups(result, by=["region"]))
    assert set(found) == {("north",), ("south",)}
    for (region,), sketch in found.items():
        here = np.asarray(TABLE["region"]) == region
        assert_same(sketch, expected(TABLE.filter(pa.array(here))))
    halves = [result.slice(0, 100), result.slice(100)]
    paths = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    pq.write_table(halves[0], paths[0])
    pv.write_csv(halves[1], paths[1])
    assert_same(read_sums(list(map(str, paths))), expected(TABLE))


@pytest.mark.parametrize(
    ("label", "values"), [("yes", ["no", "yes"]), ("true", [False, True]), ("2", [1, 2])]
)
def test_labels_may_be_text_booleans_or_other_numbers(label, values):
    table = TABLE.set_column(1, "y", pa.array([values[x] for x in TABLE["y"].to_pylist()]))
    wanted = Wanted(score="p", label="y", positive_label=label)
    result = in_duckdb(sketch_query("duckdb", table="scores", wanted=wanted), table)
    assert_same(read_sums(result), expected(TABLE))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_query_can_be_read_again_in_its_dialect(dialect):
    wanted = Wanted(score="my score", label="y", weight="w", positive_label="yes")
    query = sketch_query(dialect, table="a.b", wanted=wanted, by=["day"], where="day > 3")
    (parsed,) = sqlglot.parse(query, read=dialect)
    assert parsed.sql(dialect, pretty=True) == query
    assert "GROUP BY" in query


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 1.5}, r"must contain scores in \[0, 1\], but 1 row does not"),
        ({"p": None}, r"must contain scores in \[0, 1\], but 1 row does not"),
        ({"p": float("nan")}, r"must contain scores in \[0, 1\], but 1 row does not"),
        ({"y": None}, "must contain a label in every row, but 1 row does not"),
        (
            {"y": 7},
            r"must contain two labels, but in addition to the positive one there are \['0', '7'\]",
        ),
        ({"w": -1.0}, "weights that are positive and finite"),
        ({"w": 0.5}, "whole numbers if they count rows"),
    ],
)
def test_rows_that_are_wrong_are_rejected(change, message):
    wrong = {"p": 0.5, "y": 0, "region": "north", "w": 1.0} | change
    table = pa.concat_tables([TABLE, pa.Table.from_pylist([wrong], schema=TABLE.schema)])
    wanted = WANTED["counts"][0]
    result = in_duckdb(sketch_query("duckdb", table="scores", wanted=wanted), table)
    with pytest.raises(ValueError, match=message):
        read_sums(result)


@pytest.mark.parametrize(
    ("label", "message"), [("2", "must contain two labels"), ("0", "must occur, but every")]
)
def test_a_positive_label_that_never_occurs_is_rejected(label, message):
    table = TABLE if label == "2" else TABLE.set_column(1, "y", pa.array([1] * TABLE.num_rows))
    wanted = Wanted(score="p", label="y", positive_label=label)
    result = in_duckdb(sketch_query("duckdb", table="scores", wanted=wanted), table)
    with pytest.raises(ValueError, match=message):
        read_sums(result)


def test_the_commands_print_the_query_and_read_its_result(tmp_path):
    columns = ["--score", "p", "--label", "y"]
    asked = ["sketch", "--sql", "duckdb", "--table", "scores", *columns]
    printed = CliRunner().invoke(main, asked, catch_exceptions=False)
    path, rows_path = tmp_path / "result.parquet", tmp_path / "rows.parquet"
    pq.write_table(in_duckdb(printed.output.rstrip().rstrip(";"), TABLE), path)
    pq.write_table(TABLE, rows_path)
    sketch = tmp_path / "rows.sketch.json"
    made = ["sketch", str(rows_path), *columns, "-o", str(sketch)]
    assert CliRunner().invoke(main, made).exit_code == 0
    setting = ["--setting", "one-sample", "--json"]
    ways = (["--from-sql", str(path)], [str(sketch), "--from-sketch"])
    found = [CliRunner().invoke(main, ["prior", *way, *setting]) for way in ways]
    assert [one.exit_code for one in found] == [0, 0], found[0].output
    one, other = (json.loads(x.output) for x in found)
    again = ["recalibrate", *ways[1], *setting, "--prior", "0.5", "--out", str(tmp_path / "x.csv")]
    refused = CliRunner().invoke(main, again)
    assert refused.exit_code == 2
    assert "must not be given if the rows are not available on this machine" in refused.output
    assert [x["source"]["summed"] for x in (one, other)] == ["sql", "sketch"]
    value = [x["estimates"]["tightest"]["value"] for x in (one, other)]
    np.testing.assert_allclose(value[0], value[1], rtol=1e-12)


@pytest.mark.parametrize("weight", [[], ["--weight", "w", "--weight-kind", "importance"]])
def test_groups_of_a_result_have_the_numbers_of_their_rows(tmp_path, weight):
    random, n = np.random.default_rng(0), 3000
    region, s = random.choice(["north", "south"], n), random.beta(2, 5, n)
    eta = np.where(region == "south", np.sqrt(s), s)
    rows = {"p": s, "y": (random.random(n) < eta / 2).astype(int), "g": region}
    table = pa.table(rows | {"w": random.choice([0.5, 1.0, 3.0], n)})
    columns = ["--score", "p", "--label", "y", *weight]
    asked = ["sketch", "--sql", "duckdb", "--table", "scores", *columns, "--by", "g"]
    query = CliRunner().invoke(main, asked).output.rstrip().rstrip(";")
    path, rows_path = str(tmp_path / "result.parquet"), str(tmp_path / "rows.parquet")
    pq.write_table(in_duckdb(query, table), path)
    pq.write_table(table, rows_path)
    facts = ["--setting", "one-sample", "--prior", "0.4", "--by", "g", "--json"]
    ways = ([path, "--from-sql"], [rows_path, *columns])
    found = [CliRunner().invoke(main, ["evaluate", *way, *facts]) for way in ways]
    one, other = (json.loads(x.stdout)["groups"] for x in found)
    assert one["by"] == other["by"] == ["g"]
    assert one["worst"] == other["worst"] == "south"
    for name, column in other["table"].items():
        same = pytest.approx(column, abs=1e-6) if name != "group" else column
        assert one["table"][name] == same, name


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["evaluate", "--from-sketch"], "--by must not be given with --from-sketch"),
        (["threshold", "--from-sql", "--f-beta", "1"], "Give --by without --sketch or --from-sql"),
    ],
)
def test_groups_need_rows_or_a_query_that_has_them(more, message):
    asked = ["rows.parquet", "--setting", "one-sample", "--prior", "0.4", "--by", "g"]
    found = CliRunner().invoke(main, [*more, *asked])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--sql", "oracle99", "--table", "t"], "must be one of bigquery"),
        (["--sql", "postgress", "--table", "t"], "Did you mean 'postgres'?"),
        (["--sql", "duckdb"], "requires --table"),
        (["--table", "t", "x.csv"], "--table requires --sql"),
        ([], "Missing argument 'FILE...'"),
    ],
)
def test_the_command_reports_what_is_missing(asked, message):
    found = CliRunner().invoke(main, ["sketch", "--score", "p", "--label", "y", *asked])
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())
