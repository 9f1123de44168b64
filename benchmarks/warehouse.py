"""How many table scans does a sketch query cost in DuckDB?

    python -m benchmarks.warehouse

Writes warehouse.md. A scan is `SELECT SUM(score), COUNT(*) FILTER (label = 1)` on the same table.
Queries take turns; the best CPU time and the best wall-clock time of each count.
"""

import tempfile
from functools import partial
from pathlib import Path

import duckdb

from benchmarks.measure import best_of_turns
from benchmarks.tables import parser, save, written
from experiments.tables import table
from noneg.tables.batches import Wanted
from noneg.tables.warehouse import sketch_query

SCAN = "SELECT SUM(score), COUNT(*) FILTER (label = 1) FROM {table}"
BUCKETS = "SELECT label, CAST(FLOOR(score * 131072) AS BIGINT) AS bucket, "
SUMS = "COUNT(*), SUM(score), MIN(score), MAX(score)"
GROUPED = " FROM {table} GROUP BY label, bucket"
QUERIES = {
    "a scan": SCAN,
    "buckets of equal width, counts": f"{BUCKETS} COUNT(*){GROUPED}",
    "buckets of equal width, counts and sums": f"{BUCKETS} COUNT(*), SUM(score){GROUPED}",
    "buckets of equal width, counts, sums and ranges": f"{BUCKETS} {SUMS}{GROUPED}",
    "an eighth as many of these": f"{BUCKETS.replace('131072', '16384')} {SUMS}{GROUPED}",
}


def fill(connection, rows, folder):
    """Create the rows in DuckDB, as a table in a database file and as a Parquet file."""
    score = "0.5 * (RANDOM() + POWER(RANDOM(), 4))"
    connection.execute("SELECT SETSEED(0.5)")
    connection.execute(
        f"CREATE TABLE scores AS SELECT s AS score, CAST(RANDOM() < s AS INTEGER) AS label "  # noqa: S608
        f"FROM (SELECT {score} AS s FROM RANGE({rows}))"
    )
    connection.execute("CHECKPOINT")
    path = folder / "scores.parquet"
    connection.execute(f"COPY scores TO '{path}' (COMPRESSION zstd)")
    return {"table": "scores", "Parquet file": f"'{path}'"}


def measure(connection, table, rounds):
    """Return the best times for each query; query results are discarded."""
    wanted = Wanted(score="score", label="label")
    queries = {name: text.format(table=table) for name, text in QUERIES.items()}
    queries["noneg sketch --sql duckdb"] = sketch_query("duckdb", table=table, wanted=wanted)
    made = {name: f"CREATE OR REPLACE TEMP TABLE result AS {q}" for name, q in queries.items()}
    calls = {name: partial(connection.execute, query) for name, query in made.items()}
    return best_of_turns(calls, rounds)


def report(rows, found):
    """Yield the lines of a table: seconds, and their ratio to a scan."""
    what = f"{rows:,} rows in DuckDB {duckdb.__version__}: wall-clock / CPU seconds"
    yield f"{what} (relative to the scan). {written('warehouse')}."
    yield ""
    lines = []
    for name in next(iter(found.values())):
        times = [(*here[name], here[name][0] / here["a scan"][0]) for here in found.values()]
        lines.append([name, *(f"{wall:.2f} / {cpu:.2f} ({x:.1f}x)" for cpu, wall, x in times)])
    yield table(["query", *found], lines, "lr")


def main():
    asked = parser(__doc__, rows=1e8, rounds=3).parse_args()
    with tempfile.TemporaryDirectory() as name, duckdb.connect(f"{name}/rows.db") as connection:
        tables = fill(connection, int(asked.rows), Path(name))
        found = {kind: measure(connection, table, asked.rounds) for kind, table in tables.items()}
    save(asked.out / "warehouse.md", *report(int(asked.rows), found))


if __name__ == "__main__":
    main()
