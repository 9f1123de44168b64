"""How many table scans does a sketch query cost in DuckDB?

    python -m benchmarks.warehouse

Writes warehouse.md. A scan is `SELECT SUM(score), COUNT(*) FILTER (label = 1)` on the same table.
Queries take turns; the best CPU time and the best wall-clock time of each count.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import duckdb

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


def spent(connection, query):
    """Return wall-clock and CPU seconds; the query result is discarded."""
    clock, processor = time.perf_counter(), time.process_time()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE result AS {query}")
    return time.perf_counter() - clock, time.process_time() - processor


def measure(connection, table, rounds):
    """Return the best times for each query."""
    wanted = Wanted(score="score", label="label")
    queries = {name: text.format(table=table) for name, text in QUERIES.items()}
    queries["noneg sketch --sql duckdb"] = sketch_query("duckdb", table=table, wanted=wanted)
    found = {name: [] for name in queries}
    for _ in range(rounds):
        for name, query in queries.items():
            found[name].append(spent(connection, query))
    return {name: [min(x) for x in zip(*times, strict=True)] for name, times in found.items()}


def report(rows, found):
    """Yield the lines of a table: seconds, and their ratio to a scan."""
    command = " ".join(["python -m benchmarks.warehouse", *sys.argv[1:]])
    machine = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
    yield (
        f"{rows:,} rows in DuckDB {duckdb.__version__}: wall-clock / CPU seconds "
        f"(relative to the scan). Written by `{command}`; {machine}."
    )
    yield ""
    yield f"| query | {' | '.join(found)} |"
    yield f"|---|{'---:|' * len(found)}"
    for name in next(iter(found.values())):
        cells = [
            f"{here[name][0]:.2f} / {here[name][1]:.2f} ({here[name][1] / here['a scan'][1]:.1f}x)"
            for here in found.values()
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, duckdb.connect(f"{name}/rows.db") as connection:
        tables = fill(connection, int(asked.rows), Path(name))
        found = {kind: measure(connection, table, asked.rounds) for kind, table in tables.items()}
    text = "\n".join([*report(int(asked.rows), found), ""])
    (asked.out / "warehouse.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
