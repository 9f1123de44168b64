"""Binomial process modeling: calibration curve and error on the paper's populations and networks.

Table 4, Figures 3 to 5 and the uncalibrated rows of Tables 1 and 5 of Combining Priors with
Experience (Dong et al., AAAI 2025), the coverage of the interval, a check that minima are global,
and timings. Figure 3 needs the folder named by the environment variable NONEG_DATA.
"""

import time
from itertools import product

import numpy as np
from scipy.optimize import differential_evolution, minimize
from scipy.special import expit
from scipy.stats import wilcoxon

from experiments.bpm.curves import histograms, real_tables, simulated_rows
from experiments.drawing import style
from experiments.study import Run, Study, cells, data_file, seeded
from experiments.tables import Row
from noneg import PUScores, calibration, ece
from noneg.calibration import bpm_curve, tce_bpm, tce_bpm_interval
from noneg.calibration.bpm_fit import CurveRows, Objective, design, objective
from noneg.simulation import BinomialProcess, CalibrationCurve

NAMES = ("D1", "D2", "D3", "D4", "D5")
# The curve of D1 with the score distribution from the code released with the paper.
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
METRICS = {
    "tce_bpm": tce_bpm,
    "tce_bpm, empirical": lambda scores: tce_bpm(scores, density="empirical"),
    "ece, 15 mass bins": lambda scores: ece(scores, bins=_bins(scores)),
    "ece, 15 width bins": lambda scores: ece(scores, bins=15, binning="width"),
    "ece": ece,
    "debiased_ece": lambda scores: calibration.debiased_ece(scores, bins=_bins(scores)),
    "sweep_ece": calibration.sweep_ece,
    "ks_error": calibration.ks_error,
    "smooth_ece": calibration.smooth_ece,
    "logit_smoothed_ece": calibration.logit_smoothed_ece,
    "kernel_ece": calibration.kernel_ece,
}
LABELED, MANY, FEW = "labeled", "n_P = n, n_U = n", "n_P = n/10, n_U = n"
SIZES, PU_SIZES = range(500, 5001, 500), (500, 1000, 2000, 3500, 5000)
COVERAGE_DATA = {
    "labeled": {"n": 2000, "setting": "labeled"},
    "two-sample": {"n_positive": 500, "n_unlabeled": 5000, "setting": "two-sample"},
    "one-sample": {"n_positive": 500, "n_unlabeled": 4500, "setting": "one-sample"},
}


def _bins(scores: PUScores) -> int:
    return min(15, int(scores.n_marginal) // 2)


def draw(world: str, data: str, n: int, rng: np.random.Generator) -> PUScores:
    if data == LABELED:
        return WORLDS[world].draw(n=n, setting="labeled", seed=rng)
    return WORLDS[world].draw(n if data == MANY else n // 10, n, setting="two-sample", seed=rng)


def ead(curve: np.ndarray, truth: np.ndarray) -> float:
    """Eq. 51: a sum over 1001 points, divided by 1000."""
    return float(np.abs(curve - truth).sum() / 1000)


def likelihood_curve(scores: PUScores) -> np.ndarray:
    """The maximum likelihood curve in the same family, fitted row by row, on the grid."""
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


def table4_row(world: str, n: int, runs: int) -> Row:
    """Return the distances from the true curve for our curve, histogram binning, and maximum
    likelihood."""
    truth, value = WORLDS[world].posterior(GRID), np.empty((runs, 3))
    for run in range(runs):
        scores = draw(world, LABELED, n, seeded("table 4", world, n, run))
        histogram = histograms(scores, GRID).mean(axis=0)
        found = (bpm_curve(scores)(GRID), histogram, likelihood_curve(scores))
        value[run] = [ead(curve, truth) for curve in found]
    mean, sd = value.mean(axis=0), value.std(axis=0, ddof=1)
    row = {}
    for k, name in enumerate(("ead", "ead_histogram", "ead_likelihood")):
        row |= {name: mean[k], f"{name}_sd": sd[k]}
    row["p_value"] = wilcoxon(value[:, 0], value[:, 1]).pvalue
    printed = PAPER_TABLE_4[world.partition(",")[0]]
    names = ("paper", "paper_sd", "paper_histogram", "paper_histogram_sd")
    row |= dict(zip(names, printed, strict=True))
    within = bool(mean[0] <= printed[0] + 2 * printed[1])
    return row | {"within_two_sd": within, "runs": runs}


def table4(run: Run) -> dict[str, list[Row]]:
    every = cells(world=[*NAMES, RELEASED], n=(5000, 10_000))
    return {"table4": run.rows(table4_row, every, runs=run.trials(100, 6))}


def figure5_rows(world: str, data: str, n: int, runs: int) -> list[Row]:
    values = np.empty((len(METRICS), runs))
    for run in range(runs):
        scores = draw(world, data, n, seeded("figure 5", world, data, n, run))
        values[:, run] = [metric(scores) for metric in METRICS.values()]
    tce = WORLDS[world].tce()
    return [
        {
            "metric": metric,
            "tce": tce,
            "mean": value.mean(),
            "sd": value.std(ddof=1),
            "absolute_error": np.abs(value - tce).mean(),
            "runs": runs,
        }
        for metric, value in zip(METRICS, values, strict=True)
    ]


def figure5(run: Run) -> dict[str, list[Row]]:
    sizes = run.pick(SIZES, (500, 2000, 5000))
    every = cells(world=NAMES, data=(LABELED, MANY, FEW), n=sizes)
    kept = [cell for cell in every if cell["data"] == LABELED or cell["n"] in PU_SIZES]
    return {"figure5": run.rows(figure5_rows, kept, runs=run.trials(100, 6))}


def limit(world: str) -> tuple[PUScores, float]:
    """Return the score distribution of a population, and the limit of tce_bpm."""
    law = WORLDS[world].draw(np.inf, np.inf, setting="two-sample", seed=0)
    return law, tce_bpm(law)


def world_row(world: str) -> Row:
    law, tends_to = limit(world)
    curve = bpm_curve(law)
    return {
        "prior": WORLDS[world].prior,
        "tce": abs(WORLDS[world].tce()),
        "limit": tends_to,
        "ead_limit": ead(curve(GRID), WORLDS[world].posterior(GRID)),
        "alpha": curve.alpha,
        "beta": curve.beta,
        "c": curve.c,
    }


def worlds(run: Run) -> dict[str, list[Row]]:
    return {"worlds": run.rows(world_row, cells(world=WORLDS))}


def coverage_row(world: str, data: str, runs: int) -> Row:
    value, low, high = ends = np.empty((3, runs))
    for run in range(runs):
        rng = seeded("coverage", world, data, run)
        interval = tce_bpm_interval(WORLDS[world].draw(**COVERAGE_DATA[data], seed=rng))
        ends[:, run] = interval.value, interval.low, interval.high
    tce, (_, tends_to) = abs(WORLDS[world].tce()), limit(world)
    return {
        "tce": tce,
        "limit": tends_to,
        "mean": value.mean(),
        "mean_low": low.mean(),
        "mean_high": high.mean(),
        "covers_limit": ((low <= tends_to + 1e-9) & (tends_to <= high)).mean(),
        "limit_below": (tends_to < low - 1e-9).mean(),
        "limit_above": (tends_to > high).mean(),
        "covers_tce": ((low <= tce + 1e-9) & (tce <= high)).mean(),
        "runs": runs,
    }


def coverage(run: Run) -> dict[str, list[Row]]:
    every = cells(world=[*NAMES, CALIBRATED], data=COVERAGE_DATA)
    return {"coverage": run.rows(coverage_row, every, runs=run.trials(100, 6))}


def search(f: Objective) -> float:
    """Minimize by differential evolution over both slopes and the logit at the middle point."""
    middle = f.design[len(f.design) // 2]

    def theta(u: np.ndarray) -> np.ndarray:
        slopes = np.expm1(u[:2])
        return np.stack([*slopes, slopes.T @ middle[:2] - u[2]], axis=-1)

    size = {"popsize": 40, "maxiter": 500, "tol": 1e-13}
    way = {"vectorized": True, "updating": "deferred", "polish": False, "rng": 1}
    limits = [(0, 6), (0, 6), (-30, 30)]
    return float(differential_evolution(lambda u: f.value(theta(u)), limits, **size, **way).fun)


def global_row(world: str, data: str, n: int) -> Row:
    scores = draw(world, data, n, seeded("global", world, data, n))
    curve, rows = bpm_curve(scores), CurveRows(scores)
    f = objective(rows.points(), rows.limits)
    ours, theirs = float(f.value(curve.parameters[None])[0]), search(f)
    found = {"points": curve.n_points, "ours": ours, "differential_evolution": theirs}
    return found | {"ours_minus_theirs": ours - theirs}


def global_minima(run: Run) -> dict[str, list[Row]]:
    samples = ((LABELED, 300), (LABELED, 2000), (MANY, 500), (FEW, 2000))
    every = [{"world": w, "data": d, "n": n} for w, (d, n) in product(NAMES, samples)]
    return {"global": run.rows(global_row, every)}


def speed(_: Run, repeats: int = 4) -> dict[str, list[Row]]:
    """Return CPU seconds (one thread) and wall-clock seconds from raw arrays, the best of a few
    calls."""
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
    return {"speed": rows}


def figure4(_: Run) -> dict[str, list[Row]]:
    return {"figure4": simulated_rows({name: WORLDS[name] for name in (*NAMES, RELEASED)})}


def figure3(_: Run) -> dict[str, list[Row]] | None:
    path = data_file("top1_confidences.npz")
    return None if path is None else real_tables(path.parent, METRICS)


STUDY = Study(
    "bpm",
    parts=(speed, worlds, table4, figure5, coverage, global_minima, figure4, figure3),
    page="experiments.bpm.page",
    style=style(11, 12, 11, 120),
    optional=("figure3", "real"),
)
