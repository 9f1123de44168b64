"""How long does it take to sketch a Parquet file, compared with the cheapest possible scan?

    python -m benchmarks.scale --sizes 1e6 1e7 1e8 --folder /tmp --out benchmarks/results

Every case runs in its own process: imports, a warm-up pass, then `--repeats` timed passes. Cases
take turns for `--rounds` rounds, and the best time counts. Both wall-clock and CPU seconds are
reported; on a busy machine, only ratios within one run are meaningful. Memory is the peak resident
set minus what was resident before the first pass. The files are removed afterward unless `--keep`
is given, which also reuses existing files.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.tables import parser, save, versions
from experiments.tables import distinct, pick, table, write

PIECE = 4_000_000
FIELDS = ("rows", "case", "seconds", "cpu_seconds", "times_scan", "times_scan_cpu")
FIELDS += ("rows_per_second", "grown_mb", "peak_mb", "note")
NEEDED = ("noneg", "numpy", "numba", "pyarrow", "duckdb", "polars", "scikit-learn", "torchmetrics")
SETUP = {
    "noneg": (
        "import noneg; from noneg import kernels_numba",
        "noneg.read_sketch(path, score='score', label='labeled')",
    ),
    "noneg without numba": (
        "import noneg, noneg.tables.batches as s; s.fast_loops = lambda n: None",
        "noneg.read_sketch(path, score='score', label='labeled')",
    ),
    "DuckDB sum(score)": (
        "import duckdb; db = duckdb.connect()",
        "db.sql(f\"select sum(score) from '{path}'\").fetchall()",
    ),
    "DuckDB both columns": (
        "import duckdb; db = duckdb.connect()",
        "db.sql(f\"select sum(score), count_if(labeled) from '{path}'\").fetchall()",
    ),
    "Polars sum(score)": (
        "import polars as pl",
        "pl.scan_parquet(path).select(pl.col('score').sum()).collect()",
    ),
    "noneg expression on DuckDB": (
        "import duckdb, noneg; db = duckdb.connect()",
        "noneg.read_sketch(db.read_parquet(path), score='score', label='labeled')",
    ),
    "noneg expression on Polars": (
        "import polars as pl, noneg",
        "noneg.read_sketch(pl.scan_parquet(path), score='score', label='labeled')",
    ),
    "scikit-learn calibration_curve": (
        "import pyarrow.parquet as pq; from sklearn.calibration import calibration_curve",
        (
            "t = pq.read_table(path); y, s = t['labeled'].to_numpy(), t['score'].to_numpy(); "
            "calibration_curve(y, s, n_bins=15)"
        ),
    ),
    "torchmetrics BinaryCalibrationError": (
        (
            "import pyarrow.parquet as pq, torch; "
            "from torchmetrics.functional.classification import binary_calibration_error as ece"
        ),
        (
            "t = pq.read_table(path); ece(torch.tensor(t['score'].to_numpy()), "
            "torch.tensor(t['labeled'].to_numpy()).long(), n_bins=15)"
        ),
    ),
}
# The reason for not running a case above `--limit` rows.
LIMITED = {
    "noneg expression on DuckDB": "takes minutes on a busy machine",
    "noneg expression on Polars": "takes minutes on a busy machine",
    "scikit-learn calibration_curve": "holds all rows in memory, several times over",
    "torchmetrics BinaryCalibrationError": "holds all rows in memory, several times over",
}
RUN = """
import json, sys, time
path = sys.argv[1]
{setup}
def status(key):
    return next(int(x.split()[1]) for x in open('/proc/self/status') if x.startswith(key)) / 1024
before = status('VmRSS')
def one():
    {call}
one()
times, cpu = [], []
for _ in range(int(sys.argv[2])):
    t, c = time.perf_counter(), time.process_time()
    one()
    times.append(time.perf_counter() - t)
    cpu.append(time.process_time() - c)
print(json.dumps([min(times), min(cpu), status('VmHWM') - before, status('VmHWM')]))
"""


def write_file(path, n):
    """Write Beta(2, 5) scores as doubles and labels as booleans."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, PIECE):
        s = rng.beta(2, 5, min(PIECE, n - start))
        table = pa.table({"score": s, "labeled": rng.random(s.size) < 0.5 * s})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=1_000_000)
    writer.close()


def measure(name, path, repeats):
    setup, call = SETUP[name]
    code = RUN.format(setup=setup, call=call)
    command = [sys.executable, "-c", code, str(path), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1][:120]
    # DuckDB shows its own progress bar for long queries.
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def run(arguments):
    for n in map(int, arguments.sizes):
        path = arguments.folder / f"noneg-scale-{n}.parquet"
        try:
            if not (arguments.keep and path.exists()):
                write_file(path, n)
            yield from compared(list(_cases(n, path, arguments)))
        finally:
            if not arguments.keep:
                path.unlink(missing_ok=True)


def _cases(n, path, arguments):
    """Yield the best results for each case; cases take turns."""
    found, notes = {}, dict.fromkeys(arguments.cases, "")
    for name in LIMITED.keys() & notes.keys() if n > arguments.limit else ():
        notes[name] = f"not run above {arguments.limit:,} rows: {LIMITED[name]}"
    for _ in range(arguments.rounds):
        for name in [name for name, note in notes.items() if not note]:
            figures, notes[name] = measure(name, path, arguments.repeats)
            if figures is not None:
                *times, grown, peak = zip(figures, found.get(name, figures), strict=True)
                found[name] = [*map(min, times), max(grown), max(peak)]
                print(n, name, found[name], flush=True)
    for name, note in notes.items():
        row = {"rows": n, "case": name, "note": note}
        if name in found:
            wall, cpu, grown, peak = found[name]
            row |= {"seconds": round(wall, 4), "cpu_seconds": round(cpu, 4)}
            row |= {"rows_per_second": round(n / wall), "grown_mb": round(grown)}
            row |= {"peak_mb": round(peak)}
        yield row


def compared(rows):
    """Compare every case with the scan."""
    base = next((row for row in rows if row["case"] == "DuckDB sum(score)"), {})
    for row in rows:
        if "seconds" in row and "seconds" in base:
            row["times_scan"] = round(row["seconds"] / base["seconds"], 2)
            row["times_scan_cpu"] = round(row["cpu_seconds"] / base["cpu_seconds"], 2)
    return rows


def by_size(rows):
    """Return seconds by number of rows as Markdown."""
    sizes, lines = distinct(rows, "rows"), []
    for name in distinct(rows, "case"):
        those = {row["rows"]: row for row in pick(rows, case=name)}
        peak = max((row["peak_mb"] for row in those.values() if "peak_mb" in row), default=None)
        cells = (cell(those.get(n, {})) for n in sizes)
        lines.append([name, *cells, "-" if peak is None else f"{peak} MB"])
    head = ["one pass over the file", *(f"{n:,} rows" for n in sizes), "memory"]
    return table(head, lines)


def cell(row):
    """Return wall-clock seconds, CPU seconds, and the latter relative to the scan."""
    if "seconds" not in row:
        return "-"
    times = f" ({row['times_scan_cpu']:.1f}x)" if "times_scan_cpu" in row else ""
    return f"{row['seconds']:.3g} / {row['cpu_seconds']:.3g}{times}"


def main():
    options = parser(__doc__, repeats=3, rounds=3, limit=10_000_000)
    options.add_argument("--sizes", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    options.add_argument("--cases", nargs="+", choices=list(SETUP), default=list(SETUP))
    options.add_argument("--folder", type=Path, default=Path("/tmp"))  # noqa: S108
    options.add_argument("--keep", action="store_true")
    arguments = options.parse_args()
    whole = all(getattr(arguments, x) == options.get_default(x) for x in ("sizes", "cases"))
    if not whole and arguments.out == options.get_default("out"):
        options.error("only a whole run replaces the stored results: give another folder as --out")
    load = os.getloadavg()[0]
    rows = list(run(arguments))
    write(arguments.out / "scale.csv", [dict.fromkeys(FIELDS, "") | x for x in rows], digits=None)
    # The location of the files is irrelevant to readers.
    words = [w.replace(str(arguments.folder), "FOLDER") for w in sys.argv[1:]]
    command = " ".join(["python -m benchmarks.scale", *words])
    busy = f"{os.cpu_count()} processors, load {load:.0f} before the run"
    units = "Wall-clock / CPU seconds (relative to the scan); peak resident memory"
    head = f"{units}. Written by `{command}`; {busy}."
    save(arguments.out / "scale.md", head, "", by_size(rows))
    about = {"command": command}
    about |= {"load_before": load, "processors": os.cpu_count(), "versions": versions(NEEDED)}
    about |= {"finished": time.strftime("%Y-%m-%d")}
    save(arguments.out / "scale.json", json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
