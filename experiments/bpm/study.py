"""Binomial process modeling: calibration curve and error on the paper's populations and networks.

Table 4, Figures 3 to 5 and the uncalibrated rows of Tables 1 and 5 of Combining Priors with
Experience (Dong et al., AAAI 2025), the coverage of the interval, a check that minima are global,
and timings. Figure 3 needs the folder named by the environment variable NONEG_DATA.
"""

import time
from itertools import product

import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import differential_evolution, minimize
from scipy.special import expit, softmax
from scipy.stats import wilcoxon

from experiments import drawing
from experiments.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, line, panels
from experiments.study import Run, Study, arrays, cells, data_file, seeded
from experiments.tables import Row, Tables, column, distinct, mean_and_sd, means, pick, records
from noneg import PUScores, calibration, ece
from noneg.calibration import bpm_curve, tce_bpm, tce_bpm_interval
from noneg.calibration.bpm_fit import CurveRows, Objective, design, objective
from noneg.simulation import BinomialProcess, CalibrationCurve

SHOWN = np.linspace(0.0, 1.0, 201)
# Appendix B.2 of the paper: equal mass, 10 to 50 bins.
HISTOGRAM_BINS = range(10, 51)
SIMULATED_ROWS, SHARE_LABELED = 10_000, 0.1
# The paper's name, the file, and the name used in the file.
NETS = {
    "ResNet-110, CIFAR-10": ("logits_cifar10", "resnet110_kull_test"),
    "DenseNet-40, CIFAR-10": ("top1_confidences", "kull_densenet40_cifar10"),
    "DenseNet-121 (Brier), CIFAR-10": ("logits_cifar10", "densenet121_brier_test"),
    "ResNet-110, CIFAR-100": ("top1_confidences", "kull_resnet110_cifar100"),
    "DenseNet-40, CIFAR-100": ("top1_confidences", "kull_densenet40_cifar100"),
    "Wide-ResNet (Brier), CIFAR-100": ("logits_cifar100", "wide_resnet_brier_test"),
    "DenseNet-161, ImageNet": ("top1_confidences", "imagenet_tv_densenet161"),
    "ResNet-101, ImageNet": ("top1_confidences", "imagenet_tv_resnet101"),
    "ResNet-50, birds": ("top1_confidences", "kull_resnet50_birds"),
}


def histograms(scores: PUScores, at: np.ndarray) -> np.ndarray:
    """Return the frequency in the bin that contains each score, one row per binning."""
    rows, out = CurveRows(scores), []
    for n_bins in HISTOGRAM_BINS:
        points = rows.points([n_bins])
        ends = points.cuts[points.last - 1]
        out.append(points.frequency[np.searchsorted(ends[:-1], at, side="left")])
    return np.array(out)


def curve_rows(
    name: str, labeled: PUScores, hidden: PUScores, truth: np.ndarray | str = ""
) -> list[Row]:
    """Return the points of all curves in one panel; histograms only where there are scores."""
    s = CurveRows(labeled).marginal[0]
    binned = histograms(labeled, SHOWN)
    ours, pu = bpm_curve(labeled)(SHOWN), bpm_curve(hidden)(SHOWN)
    seen = (s[min(19, s.size - 1)] <= SHOWN) & (s[-1] >= SHOWN)
    return records(
        panel=name,
        score=SHOWN,
        curve=ours,
        curve_pu=pu,
        histogram=binned.mean(axis=0),
        histogram_low=binned.min(axis=0),
        histogram_high=binned.max(axis=0),
        has_scores=seen.astype(int),
        truth=truth,
    )


def hide(hit: np.ndarray, score: np.ndarray, rng: np.random.Generator) -> PUScores:
    """Keep the labels of a tenth of the positives, as one sample with a known prior."""
    hits = np.flatnonzero(hit)
    kept = rng.choice(hits, round(SHARE_LABELED * hits.size), replace=False)
    labeled = np.zeros(hit.size, dtype=np.int64)
    labeled[kept] = 1
    return PUScores.from_pu_labels(labeled, score, prior=hit.mean(), setting="one-sample")


def load(file: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence of the predicted class, and whether it was right."""
    found = arrays(f"{file}.npz")
    if file.startswith("logits"):
        p = softmax(found[f"{name}_logits"].astype(np.float64), axis=1)
        return p.max(axis=1), p.argmax(axis=1) == found[f"{name}_labels"]
    truth = "imagenet_true" if name.startswith("imagenet") else f"{name}_true"
    hit = found[f"{name}_pred"] == found[truth]
    return np.minimum(found[f"{name}_conf"].astype(np.float64), 1.0), hit


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
    (s, y), limits = scores.as_given(), CurveRows(scores).limits
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
    truth, found = WORLDS[world].posterior(GRID), []
    for run in range(runs):
        scores = draw(world, LABELED, n, seeded("table 4", world, n, run))
        histogram = histograms(scores, GRID).mean(axis=0)
        curves = (bpm_curve(scores)(GRID), histogram, likelihood_curve(scores))
        found.append([ead(curve, truth) for curve in curves])
    row, values = {}, np.transpose(found)
    for name, value in zip(("ead", "ead_histogram", "ead_likelihood"), values, strict=True):
        row |= mean_and_sd(name, value)
    row["p_value"] = wilcoxon(*values[:2]).pvalue
    names = ("paper", "paper_sd", "paper_histogram", "paper_histogram_sd")
    row |= zip(names, PAPER_TABLE_4[world.partition(",")[0]], strict=True)
    within = bool(row["ead"] <= row["paper"] + 2 * row["paper_sd"])
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
    mean, sd = values.mean(axis=1), values.std(axis=1, ddof=1)
    error = np.abs(values - tce).mean(axis=1)
    return records(metric=METRICS, tce=tce, mean=mean, sd=sd, absolute_error=error, runs=runs)


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
    tce, (_, tends_to) = abs(WORLDS[world].tce()), limit(world)
    found = []
    for run in range(runs):
        rng = seeded("coverage", world, data, run)
        one = tce_bpm_interval(WORLDS[world].draw(**COVERAGE_DATA[data], seed=rng))
        below, above = tends_to < one.low - 1e-9, tends_to > one.high
        row = {"mean": one.value, "mean_low": one.low, "mean_high": one.high}
        row |= {"covers_limit": not (below or above), "limit_below": below, "limit_above": above}
        found.append(row | {"covers_tce": one.low <= tce + 1e-9 and tce <= one.high})
    return {"tce": tce, "limit": tends_to} | means(found, count="runs")[0]


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
    rows = []
    for name in (*NAMES, RELEASED):
        rng = seeded("figure 4", name)
        score, y = WORLDS[name].draw_rows(SIMULATED_ROWS, rng)
        pair = PUScores.from_labels(y, score), hide(y, score, rng)
        rows += curve_rows(name, *pair, WORLDS[name].posterior(SHOWN))
    return {"figure4": rows}


def figure3(_: Run) -> dict[str, list[Row]]:
    """Return the curves for Figure 3, and each network's metrics with all labels and with few."""
    rows, table = [], []
    for net, (file, name) in NETS.items() if data_file("top1_confidences.npz") else ():
        score, hit = load(file, name)
        labeled = PUScores.from_labels(hit, score)
        hidden = hide(hit, score, seeded("figure 3", name))
        rows += curve_rows(net, labeled, hidden)
        for data, scores in (("labeled", labeled), ("one hit in ten labeled", hidden)):
            head = {"net": net, "n": hit.size, "accuracy": hit.mean(), "data": data}
            table.append(head | {metric: function(scores) for metric, function in METRICS.items()})
    return {"figure3": rows, "real": table}


KINDS = {
    "labeled": "labeled, $n$ rows",
    "n_P = n, n_U = n": "PU, $n$ positives,\n$n$ unlabeled",
    "n_P = n/10, n_U = n": "PU, $n/10$ positives,\n$n$ unlabeled",
}
# Half the height of the panels in Figure 5, in percent, one row per kind of data.
REACH = (2.5, 4.5, 9.0)
# Color, marker, line, name in the legend.
STYLES = {
    "tce_bpm": (VERMILION, "o", "-", "TCE_bpm"),
    "ece, 15 mass bins": (BLUE, "s", "-", "ECE, 15 mass bins"),
    "ece": (SKY, "D", "-", "ECE, optimal bins"),
    "debiased_ece": (GREEN, "^", "-", "debiased ECE, 15 bins"),
    "sweep_ece": (ORANGE, "v", "--", "sweep ECE"),
    "ks_error": (PURPLE, "x", "--", "KS error"),
    "smooth_ece": ("0.35", "+", "--", "smooth ECE"),
    "logit_smoothed_ece": ("0.6", "1", ":", "logit-smoothed ECE"),
    "kernel_ece": ("0.6", "*", "-", "kernel ECE"),
}
COMPARED = [metric for metric in STYLES if metric not in ("ece", "kernel_ece")]


def draw_figure5(tables: Tables) -> plt.Figure:
    rows = tables("figure5")
    worlds = distinct(rows, "world")
    titles = [f"{w}: TCE {100 * pick(rows, world=w)[0]['tce']:.2f}%" for w in worlds]
    labels = {"x": "$n$", "y": [f"{words}\n\nmean of the runs, %" for words in KINDS.values()]}
    shape = len(KINDS), len(worlds)
    figure, axes = panels(*shape, size=(16, 9.5), sharex=True, titles=titles, **labels)
    for panel_row, kind, reach in zip(axes, KINDS, REACH, strict=True):
        for ax, world in zip(panel_row, worlds, strict=True):
            metric_panel(ax, pick(rows, world=world, data=kind), reach)
    looks = [
        (label, {"color": c, "marker": m, "ls": ls, "lw": 2 if c == VERMILION else 1.4})
        for c, m, ls, label in STYLES.values()
    ]
    drawing.legend_below(figure, ("true error", {"color": "black", "lw": 2.5}), *looks, ncols=5)
    return figure


def metric_panel(ax: plt.Axes, rows: list[Row], reach: float) -> None:
    tce = 100 * rows[0]["tce"]
    ax.axhline(tce, color="black", lw=2.5)
    for metric, (color, marker, dashes, _) in STYLES.items():
        bold = metric == "tce_bpm"
        look = {"color": color, "marker": marker, "ls": dashes, "ms": 6}
        look |= {"lw": 2.4, "zorder": 3} if bold else {"lw": 1.4, "zorder": 2}
        line(ax, pick(rows, metric=metric), "n", "mean", 100, **look)
    ax.set(xlim=(300, 5200), xticks=[1000, 3000, 5000], ylim=(max(tce - reach, 0), tce + reach))


def curve_panel(ax: plt.Axes, rows: list[Row], title: str) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", ls=":", lw=1.4, label="perfect calibration")
    seen = pick(rows, has_scores=1)
    ends = (column(seen, name) for name in ("score", "histogram_low", "histogram_high"))
    label = "histogram binning, 10 to 50 bins: range"
    ax.fill_between(*ends, color=SKY, alpha=0.35, lw=0, label=label)
    line(ax, seen, "score", "histogram", color=BLUE, lw=1.6, label="histogram binning: mean")
    if rows[0]["truth"] != "":
        line(ax, rows, "score", "truth", color="black", lw=3.2, label="true curve")
    line(ax, rows, "score", "curve", color=VERMILION, lw=2, label="BPM curve, all labels")
    label = "BPM curve, a tenth of the positives labeled"
    line(ax, rows, "score", "curve_pu", color=ORANGE, lw=2, ls="--", label=label)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")


def curves(rows: list[Row], shape: tuple[int, int], x: str, y: str) -> plt.Figure:
    size = 3.9 * shape[1], 4.05 * shape[0] + 0.9
    options = {"sharex": True, "sharey": True, "x": x, "y": y}
    figure, axes = panels(*shape, size=size, shade="0.92", **options)
    for ax, panel in zip(axes.flat, distinct(rows, "panel"), strict=True):
        curve_panel(ax, pick(rows, panel=panel), panel)
    drawing.shared_legend(figure, axes.flat[0], 2)
    return figure


def draw_figure4(tables: Tables) -> plt.Figure:
    return curves(tables("figure4"), (2, 3), "score", "share of positives")


def draw_figure3(tables: Tables) -> plt.Figure:
    return curves(tables("figure3"), (3, 3), "confidence", "share of hits")


def closest(rows: list[Row], kind: str) -> list[str]:
    """Return the metric in the paper that is closest on average, for each population and size."""
    found = {}
    for row in pick(rows, data=kind):
        if row["metric"] in COMPARED:
            gap = abs(row["mean"] - row["tce"])
            found.setdefault((row["world"], row["n"]), []).append((gap, row["metric"]))
    return [min(gaps)[1] for gaps in found.values()]


STUDY = Study(
    "bpm",
    parts=(speed, worlds, table4, figure5, coverage, global_minima, figure4, figure3),
    style=drawing.style(11, 12, 11, 120),
    optional=("figure3", "real"),
)
