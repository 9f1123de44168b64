"""Calibration curve and error by binomial process modelling, on the worlds and nets of the paper.

    python experiments/bpm/run.py [--runs 100] [--processes 2] [--quick]

Table 4, Figures 3 to 5 and the uncalibrated rows of Tables 1 and 5 of Combining Priors with
Experience (Dong et al., AAAI 2025), the coverage of the interval, a check that minima are global,
and a stopwatch. Tables go to csv files, figures are drawn from them, and the README is filled in.
Tables that are there already are kept: remove them to start anew.
Figure 3 needs the folder named by the environment variable NONEG_DATA.
"""

from __future__ import annotations

import os

# Every process has one thread; set before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
import hashlib
import platform
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path

import curves
import figures
import numpy as np
from scipy.optimize import differential_evolution, minimize
from scipy.special import expit
from scipy.stats import wilcoxon

from noneg import PUScores, calibration, ece
from noneg.calibration import bpm_curve, tce_bpm, tce_bpm_interval
from noneg.calibration.bpm_fit import CurveRows, Objective, design, objective
from noneg.simulation import BinomialProcess, CalibrationCurve

HERE = Path(__file__).parent
QUICK = HERE.parents[1] / "build" / "bpm"
NAMES = ("D1", "D2", "D3", "D4", "D5")
# The curve of D1 with the law of the score in the code released with the paper.
RELEASED = "D1, released law"
CALIBRATED = "calibrated"
WORLDS = {name: BinomialProcess(name) for name in NAMES} | {
    RELEASED: BinomialProcess(
        CalibrationCurve("logit", -0.88, 0.49, -0.49), alpha=1.1233, beta=0.1147
    ),
    CALIBRATED: BinomialProcess(CalibrationCurve("logit", 0.0, 1.0, -1.0), alpha=1.0, beta=0.4),
}
GRID = np.arange(1001) / 1000

# Table 4 of the paper: mean and sd over 100 runs of the method and of histogram binning.
PAPER_TABLE_4 = {
    "D1": (0.0099, 0.0062, 0.0233, 0.0047),
    "D2": (0.0368, 0.0196, 0.1710, 0.0200),
    "D3": (0.0161, 0.0063, 0.0299, 0.0037),
    "D4": (0.0105, 0.0048, 0.0168, 0.0042),
    "D5": (0.0067, 0.0029, 0.0181, 0.0030),
}
TABLE_4_SIZES = (5000, 10_000)

METRICS = {
    "tce_bpm": tce_bpm,
    "tce_bpm, empirical": lambda scores: tce_bpm(scores, density="empirical"),
    "ece, 15 mass bins": lambda scores: ece(scores, bins=_bins(scores, 15)),
    "ece, 15 width bins": lambda scores: ece(scores, bins=15, binning="width"),
    "ece": ece,
    "debiased_ece": lambda scores: calibration.debiased_ece(scores, bins=_bins(scores, 15)),
    "sweep_ece": calibration.sweep_ece,
    "ks_error": calibration.ks_error,
    "smooth_ece": calibration.smooth_ece,
    "logit_smoothed_ece": calibration.logit_smoothed_ece,
    "kernel_ece": calibration.kernel_ece,
}
LABELLED, MANY, FEW = "labelled", "n_P = n, n_U = n", "n_P = n/10, n_U = n"
KINDS = (LABELLED, MANY, FEW)
SIZES = tuple(range(500, 5001, 500))
PU_SIZES = (500, 1000, 2000, 3500, 5000)

COVERAGE_DATA = {
    "labelled": {"n": 2000, "setting": "labelled"},
    "two-sample": {"n_positive": 500, "n_unlabeled": 5000, "setting": "two-sample"},
    "one-sample": {"n_positive": 500, "n_unlabeled": 4500, "setting": "one-sample"},
}


def _bins(scores: PUScores, n_bins: int) -> int:
    return min(n_bins, int(scores.n_marginal) // 2)


def seeded(*names: object) -> np.random.Generator:
    """Random numbers that depend on these names and on nothing else."""
    digest = hashlib.sha256("|".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def draw(world: str, kind: str, n: int, rng: np.random.Generator) -> PUScores:
    if kind == LABELLED:
        return WORLDS[world].draw(n=n, setting="labelled", seed=rng)
    return WORLDS[world].draw(n if kind == MANY else n // 10, n, setting="two-sample", seed=rng)


# Table 4.


def ead(curve: np.ndarray, truth: np.ndarray) -> float:
    """Eq. 51: a sum over 1001 points, divided by 1000."""
    return float(np.abs(curve - truth).sum() / 1000)


def likelihood_curve(scores: PUScores) -> np.ndarray:
    """The curve of the same family that makes the labels most likely, row by row, on the grid."""
    _, positive = scores.in_order()
    s = np.concatenate([chunk[0] for chunk in scores.in_order()])
    y = np.arange(s.size) >= s.size - positive[0].size
    limits = CurveRows(scores).limits
    x = design(s, 1.0 - s, limits)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = x @ theta
        g = expit(eta)
        return float(np.mean(np.logaddexp(0.0, eta) - y * eta)), (g - y) @ x / s.size

    bounds = [(0, None), (0, None), (None, None)]
    found = minimize(loss, [1.0, 1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
    return expit(design(GRID, 1.0 - GRID, limits) @ found.x)


def table4_run(job: tuple[str, int, int]) -> tuple[float, float, float]:
    world, n, run = job
    scores = draw(world, LABELLED, n, seeded("table 4", world, n, run))
    truth = WORLDS[world].posterior(GRID)
    histogram = curves.histograms(scores, GRID).mean(axis=0)
    found = (bpm_curve(scores)(GRID), histogram, likelihood_curve(scores))
    return tuple(ead(curve, truth) for curve in found)


def table4_rows(pool: ProcessPoolExecutor, runs: int) -> list[dict[str, object]]:
    cells = list(product([*NAMES, RELEASED], TABLE_4_SIZES))
    jobs = [(world, n, run) for world, n in cells for run in range(runs)]
    values = np.array(list(pool.map(table4_run, jobs, chunksize=10))).reshape(len(cells), runs, 3)
    rows = []
    for (world, n), value in zip(cells, values, strict=True):
        paper = PAPER_TABLE_4[world.partition(",")[0]]
        mean, sd = value.mean(axis=0), value.std(axis=0, ddof=1)
        rows.append(
            {
                "world": world,
                "n": n,
                "ead": mean[0],
                "ead_sd": sd[0],
                "ead_histogram": mean[1],
                "ead_histogram_sd": sd[1],
                "ead_likelihood": mean[2],
                "ead_likelihood_sd": sd[2],
                "p_value": wilcoxon(value[:, 0], value[:, 1]).pvalue,
                "paper": paper[0],
                "paper_sd": paper[1],
                "paper_histogram": paper[2],
                "paper_histogram_sd": paper[3],
                "within_two_sd": bool(mean[0] <= paper[0] + 2 * paper[1]),
                "runs": runs,
            }
        )
    return rows


# Figure 5.


def figure5_cell(job: tuple[str, str, int, int]) -> list[dict[str, object]]:
    world, kind, n, runs = job
    values = np.empty((len(METRICS), runs))
    for run in range(runs):
        scores = draw(world, kind, n, seeded("figure 5", world, kind, n, run))
        values[:, run] = [metric(scores) for metric in METRICS.values()]
    tce = WORLDS[world].tce()
    return [
        {
            "world": world,
            "data": kind,
            "n": n,
            "metric": metric,
            "tce": tce,
            "mean": value.mean(),
            "sd": value.std(ddof=1),
            "absolute_error": np.abs(value - tce).mean(),
            "runs": runs,
        }
        for metric, value in zip(METRICS, values, strict=True)
    ]


def figure5_rows(pool: ProcessPoolExecutor, sizes: list[int], runs: int) -> list[dict[str, object]]:
    jobs = [
        (world, kind, n, runs)
        for world, kind, n in product(NAMES, KINDS, sizes)
        if kind == LABELLED or n in PU_SIZES
    ]
    # The longest first, so that no process is left with them.
    order = sorted(range(len(jobs)), key=lambda i: -jobs[i][2])
    found = {}
    for i, rows in zip(order, pool.map(figure5_cell, [jobs[i] for i in order]), strict=True):
        found[i] = rows
        print(f"figure 5: {len(found)} of {len(jobs)} cells", flush=True)
    return [row for i in range(len(jobs)) for row in found[i]]


# The worlds, and what tce_bpm tends to in them.


def world_rows() -> list[dict[str, object]]:
    rows = []
    for name, world in WORLDS.items():
        law = world.draw(np.inf, np.inf, setting="two-sample", seed=0)
        curve = bpm_curve(law)
        rows.append(
            {
                "world": name,
                "prior": world.prior,
                "tce": abs(world.tce()),
                "limit": tce_bpm(law),
                "ead_limit": ead(curve(GRID), world.posterior(GRID)),
                "alpha": curve.alpha,
                "beta": curve.beta,
                "c": curve.c,
            }
        )
    return rows


# Coverage.


@dataclass(frozen=True)
class Cover:
    world: str
    data: str
    limit: float
    runs: int

    def measure(self) -> dict[str, object]:
        ends = np.empty((3, self.runs))
        for run in range(self.runs):
            rng = seeded("coverage", self.world, self.data, run)
            scores = WORLDS[self.world].draw(**COVERAGE_DATA[self.data], seed=rng)
            interval = tce_bpm_interval(scores)
            ends[:, run] = interval.value, interval.low, interval.high
        value, low, high = ends
        tce, limit = abs(WORLDS[self.world].tce()), self.limit
        return {
            "world": self.world,
            "data": self.data,
            "tce": tce,
            "limit": limit,
            "mean": value.mean(),
            "mean_low": low.mean(),
            "mean_high": high.mean(),
            "covers_limit": ((low <= limit + 1e-9) & (limit <= high)).mean(),
            "limit_below": (limit < low - 1e-9).mean(),
            "limit_above": (limit > high).mean(),
            "covers_tce": ((low <= tce + 1e-9) & (tce <= high)).mean(),
            "runs": self.runs,
        }


def coverage_rows(
    pool: ProcessPoolExecutor, worlds: list[dict[str, object]], runs: int
) -> list[dict[str, object]]:
    limits = {row["world"]: row["limit"] for row in worlds}
    cells = [
        Cover(world, data, limits[world], runs)
        for world, data in product([*NAMES, CALIBRATED], COVERAGE_DATA)
    ]
    return list(pool.map(Cover.measure, cells))


# Global minima.


def search(f: Objective) -> float:
    """Minimise by differential evolution over both slopes and the logit at the middle point."""
    middle = f.design[len(f.design) // 2]

    def theta(u: np.ndarray) -> np.ndarray:
        slopes = np.expm1(u[:2])
        return np.stack([*slopes, slopes.T @ middle[:2] - u[2]], axis=-1)

    found = differential_evolution(
        lambda u: f.value(theta(u)),
        [(0, 6), (0, 6), (-30, 30)],
        vectorized=True,
        updating="deferred",
        popsize=40,
        maxiter=500,
        tol=1e-13,
        polish=False,
        rng=1,
    )
    return float(found.fun)


def global_row(job: tuple[str, str, int]) -> dict[str, object]:
    world, kind, n = job
    scores = draw(world, kind, n, seeded("global", world, kind, n))
    curve, rows = bpm_curve(scores), CurveRows(scores)
    f = objective(rows.points(), rows.limits)
    ours, theirs = float(f.value(curve.parameters[None])[0]), search(f)
    return {
        "world": world,
        "data": kind,
        "n": n,
        "points": curve.n_points,
        "ours": ours,
        "differential_evolution": theirs,
        "ours_minus_theirs": ours - theirs,
    }


GLOBAL_CASES = [
    (world, kind, n)
    for world in NAMES
    for kind, n in ((LABELLED, 300), (LABELLED, 2000), (MANY, 500), (FEW, 2000))
]


def speed_rows(repeats: int = 4) -> list[dict[str, object]]:
    """Seconds from raw arrays, the best of a few: of the processor (one thread) and of the wall."""
    functions = {"tce_bpm": tce_bpm, "tce_bpm_interval": tce_bpm_interval}
    rows = []
    for n, (name, function) in product((10_000, 100_000, 1_000_000), functions.items()):
        score, y = WORLDS["D5"].draw_rows(n, seeded("speed", n))
        times = []
        for _ in range(repeats):
            scores = PUScores.from_labels(y, score)
            start = time.process_time(), time.perf_counter()
            function(scores)
            times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
        processor, wall = np.min(times, axis=0)
        rows.append({"n": n, "function": name, "processor": processor, "wall": wall})
    return rows


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


def write_tables(out: Path, runs: int, sizes: list[int], processes: int) -> None:
    """Write every table that is not there yet: a run that was stopped goes on where it was."""
    worlds = world_rows()
    with ProcessPoolExecutor(max_workers=processes) as pool:
        tables = {
            "speed": speed_rows,
            "worlds": lambda: worlds,
            "table4": lambda: table4_rows(pool, runs),
            "figure5": lambda: figure5_rows(pool, sizes, runs),
            "coverage": lambda: coverage_rows(pool, worlds, runs),
            "global": lambda: list(pool.map(global_row, GLOBAL_CASES)),
            "figure4": lambda: curves.simulated_rows(
                {name: WORLDS[name] for name in (*NAMES, RELEASED)}, seeded
            ),
        }
        for name, rows in tables.items():
            if not (out / f"{name}.csv").exists():
                write_csv(out / f"{name}.csv", rows())
                print(f"wrote {name}.csv", flush=True)
    folder = os.environ.get("NONEG_DATA")
    if not folder:
        print("NONEG_DATA is not set: the real nets (Figure 3) are left out.")
        return
    rows, table = curves.real_rows(Path(folder), METRICS, seeded)
    write_csv(out / "figure3.csv", rows)
    write_csv(out / "real.csv", table)


def versions() -> str:
    packages = ("noneg", "numpy", "scipy", "matplotlib")
    found = [f"{p} {version(p).partition('+')[0]}" for p in packages]
    return ", ".join([f"Python {platform.python_version()}", *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    out, sizes = (QUICK, [500, 2000, 5000]) if options.quick else (HERE, list(SIZES))
    if options.quick:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        shutil.copy(HERE / "README.md", out)
    runs = options.runs or (6 if options.quick else 100)
    write_tables(out, runs, sizes, options.processes)
    figures.draw_all(out)
    figures.fill_readme(out, versions())


if __name__ == "__main__":
    main()
