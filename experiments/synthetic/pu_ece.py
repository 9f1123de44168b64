"""How far is PU-ECE from the true calibration error? Figures 4, 5 and 6 of the PU-ECE paper.

Draws data of growing size from classifiers whose calibration is known exactly, measures |ECE -
TCE|, fits its rate and compares it with Theorem 1.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from matplotlib import pyplot as plt

from experiments import drawing
from experiments.drawing import BLUE, GREEN, ORANGE, VERMILION, line, panels
from experiments.study import Run, Study, seeded
from experiments.synthetic.worlds import PAPER, Known, known
from experiments.tables import Row, Tables, column, pick, records, standard_error
from noneg.bins import bin_scores, labeled_order_rule, order_rule
from noneg.calibration import reliability
from noneg.calibration.errors import norm
from noneg.scores import PUScores
from noneg.theory import Bound, bias_bound, labeled_bias_bound

SIZES = [round(10 ** (1 + k / 4)) for k in range(13)]  # 10 to 10,000
SLOPE_RANGES = ((100, 10_000), (10, 10_000))
RESAMPLES = 2000
FIXED_POSITIVES = (100, 1000, 10_000)
LIMIT = "n_P = N, n_U = inf"
LABELED, LABELED_MORE = "labeled, n = N", "labeled, n = N, more bins"
# Sizes of the positive and the unlabeled sample at N; None for labeled data.
SETTINGS = {
    4: {
        LIMIT: lambda n: (n, math.inf),
        "n_P = inf, n_U = N": lambda n: (math.inf, n),
        "n_P = N, n_U = 10 N": lambda n: (n, 10 * n),
        LABELED: None,
        LABELED_MORE: None,
    },
    5: {f"n_P = {p}, n_U = N": lambda n, p=p: (p, n) for p in FIXED_POSITIVES}
    | {LIMIT: lambda n: (n, math.inf)},
}


@dataclass(frozen=True)
class Cell:
    """One point of a figure: a population, a setting and a size, measured in many trials."""

    figure: int
    world: str
    setting: str
    n: int
    trials: int
    known: Known

    @property
    def curve(self) -> tuple[int, str, str]:
        return self.figure, self.world, self.setting

    @property
    def sizes(self) -> tuple[float, float] | None:
        rule = SETTINGS[self.figure][self.setting]
        return None if rule is None else rule(self.n)

    @property
    def n_marginal(self) -> float:
        return self.n if self.sizes is None else self.sizes[1]

    @property
    def rule(self) -> int:
        """Number of bins by the paper's rule."""
        prior = self.known.world.prior
        if self.sizes is not None:
            return order_rule(*self.sizes, prior)
        if self.setting == LABELED_MORE:
            return order_rule(self.n, math.inf, prior)
        return labeled_order_rule(self.n)

    @property
    def bins(self) -> int:
        """The rule, capped so that every bin of equal mass contains at least two rows."""
        return self.rule if math.isinf(self.n_marginal) else min(self.rule, self.n_marginal // 2)

    @property
    def names(self) -> Row:
        return {"world": self.world, "setting": self.setting, "n": self.n, "bins": self.bins}

    def draw(self, trial: int) -> PUScores:
        rng = seeded(*self.curve, self.n, trial)
        if self.sizes is None:
            return self.known.world.draw(n=self.n, setting="labeled", seed=rng)
        return self.known.world.draw(*self.sizes, setting="two-sample", seed=rng)

    def bound(self, binning: str, delta: float | None = None, form: str = "corrected") -> Bound:
        """Theorem 1, and for labeled data the bound of Futami & Fujisawa (2024) behind it."""
        options = {
            "bins": self.bins,
            "binning": binning,
            "lipschitz": self.known.lipschitz,
            "delta": delta,
            "form": form,
        }
        if self.sizes is None:
            return labeled_bias_bound(self.n, **options)
        return bias_bound(*self.sizes, self.known.world.prior, **options)


@dataclass(frozen=True)
class Measured:
    """Errors of the trials in one cell with one kind of bins, one entry per trial.

    `error` is ECE minus TCE and `total` its size, to which bins and noise contribute.
    """

    cell: Cell
    binning: str
    error: np.ndarray
    total: np.ndarray
    from_binning: np.ndarray
    from_noise: np.ndarray


def all_cells(worlds: dict[str, Known], shown: dict[int, list[str]], sizes: list[int], trials: int):
    """Return the cells for both figures; `shown` names the populations in each."""
    return [
        {"cell": Cell(figure, world, setting, n, trials, worlds[world])}
        for figure, settings in SETTINGS.items()
        for world, setting, n in product(shown[figure], settings, sizes)
    ]


def measure(cell: Cell, binnings: tuple[str, ...]) -> list[Measured]:
    """Run every trial of a cell, with all kinds of bins on the same rows."""
    ece, binned_tce = np.empty((2, len(binnings), cell.trials))
    for trial in range(cell.trials):
        scores = cell.draw(trial)
        for kind, binning in enumerate(binnings):
            binned = bin_scores(scores, bins=cell.bins, binning=binning)
            ece[kind, trial] = norm(binned, 1)
            binned_tce[kind, trial] = cell.known.world.binned_tce(binned.edges)
    error = ece - cell.known.tce
    parts = error, np.abs(error), np.abs(binned_tce - cell.known.tce), np.abs(ece - binned_tce)
    return [Measured(cell, *one) for one in zip(binnings, *parts, strict=True)]


def bias_row(m: Measured) -> Row:
    """One point of Figure 4 or 5."""
    low, high = np.quantile(m.total, [0.05, 0.95])
    return m.cell.names | {
        "capped": m.cell.bins < m.cell.rule,
        "bias": m.total.mean(),
        "low": low,
        "high": high,
        "signed_bias": m.error.mean(),
        "sd": m.error.std(ddof=1),
        "binning_bias": m.from_binning.mean(),
        "statistical_bias": m.from_noise.mean(),
        "bound": m.cell.bound("mass").value,
        "trials": m.cell.trials,
    }


def log_slope(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of log values on log sizes, along the last axis."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.log(values) @ x / (x @ x)


def slope_row(curve: list[Measured], low: int, high: int) -> Row:
    """Fit the rate of one curve; the standard error comes from resampling trials at every size."""
    curve = [m for m in curve if low <= m.cell.n <= high]
    sizes = np.array([m.cell.n for m in curve], dtype=float)
    total = np.array([m.total for m in curve])
    cell = curve[0].cell
    rng = seeded("slope", *cell.curve, low, high)
    pick = rng.integers(cell.trials, size=(RESAMPLES, *total.shape))
    means = np.take_along_axis(total[None], pick, axis=2).mean(axis=2)
    bounds = np.array([m.cell.bound("mass").value for m in curve])
    spread = np.array([m.error.std(ddof=1) for m in curve])
    signed = np.array([m.error.mean() for m in curve])
    return {
        "figure": cell.figure,
        "world": cell.world,
        "setting": cell.setting,
        "n_low": low,
        "n_high": high,
        "slope": log_slope(sizes, total.mean(axis=1)),
        "standard_error": log_slope(sizes, means).std(ddof=1),
        "signed_slope": log_slope(sizes, signed) if (signed > 0.0).all() else math.nan,
        "sd_slope": log_slope(sizes, spread),
        "bound_slope": log_slope(sizes, bounds),
    }


def slope_rows(mass: list[Measured]) -> list[Row]:
    curves: dict[tuple, list[Measured]] = {}
    for m in mass:
        curves.setdefault(m.cell.curve, []).append(m)
    return [slope_row(curve, *ends) for curve in curves.values() for ends in SLOPE_RANGES]


def floor_rows(mass: list[Measured]) -> list[Row]:
    """Return the bias at the largest n_U, and the limit for infinitely many unlabeled rows."""
    found = {(m.cell.world, m.cell.setting, m.cell.n): m.total for m in mass if m.cell.figure == 5}
    worlds, last = dict.fromkeys(world for world, _, _ in found), max(n for _, _, n in found)
    rows = []
    for world, p in product(worlds, FIXED_POSITIVES):
        row = {"world": world, "n_positive": p, "n_unlabeled": last}
        for name, place in (("bias", (f"n_P = {p}, n_U = N", last)), ("floor", (LIMIT, p))):
            values = found[world, *place]
            row |= {name: values.mean(), f"{name}_se": standard_error(values)}
        rows.append(row)
    return rows


def figure_tables(measured: Iterable[Measured], worlds: dict[str, Known]) -> dict[str, list[Row]]:
    """Return the tables for Figures 4 and 5, for bins of equal mass."""
    mass = [m for m in measured if m.binning == "mass"]
    points = {
        f"figure{figure}": [bias_row(m) for m in mass if m.cell.figure == figure]
        for figure in SETTINGS
    }
    rates = {"slopes": slope_rows(mass), "floors": floor_rows(mass)}
    tce, steepest = zip(*((k.tce, k.lipschitz) for k in worlds.values()), strict=True)
    return points | rates | {"worlds": records(world=worlds, tce=tce, lipschitz=steepest)}


SYNTHETIC = ("less calibrated", "better calibrated")
LESS = SYNTHETIC[0]
# The calibrated classifier is a control for the rates; it is not in the paper.
SHOWN = {4: list(PAPER), 5: list(SYNTHETIC)}
BINNINGS = ("mass", "width")
DELTA = 0.1
DIAGRAM_SIZES, DIAGRAM_BINS, GRID = (1000, 10_000), 15, np.linspace(0.0, 1.0, 201)


def theorem_row(m: Measured) -> Row:
    """Return how often a trial violates the bounds that hold with probability 1 - DELTA."""
    tail, printed = (m.cell.bound(m.binning, DELTA, form) for form in ("corrected", "printed"))
    expected = m.cell.bound(m.binning)
    return (
        {"figure": m.cell.figure, "binning": m.binning}
        | m.cell.names
        | {
            "expected_bound": expected.value,
            "expected_statistical_part": expected.statistical,
            "bias_over_expected_bound": m.total.mean() / expected.value,
            "statistical_over_expected_part": m.from_noise.mean() / expected.statistical,
            "bound": tail.value,
            "vacuous": tail.vacuous,
            "share_above": (m.total > tail.value).mean(),
            "share_above_printed": (m.total > printed.value).mean(),
            "share_above_binning_part": (m.from_binning > tail.binning).mean(),
            "share_above_statistical_part": (m.from_noise > tail.statistical).mean(),
            "largest_ratio": (m.total / tail.value).max(),
            "largest_statistical_ratio": (m.from_noise / tail.statistical).max(),
            "trials": m.cell.trials,
        }
    )


def diagram_rows(binning: str, trials: int) -> list[Row]:
    """Figure 6: mean and spread of the points in the diagram, and their true positions."""
    world, options = PAPER[LESS], {"bins": DIAGRAM_BINS, "binning": binning}
    score, frequency = np.empty((2, trials, DIAGRAM_BINS))
    for trial in range(trials):
        rng = seeded(6, LESS, *DIAGRAM_SIZES, trial)
        diagram = reliability(world.draw(*DIAGRAM_SIZES, setting="two-sample", seed=rng), **options)
        score[trial], frequency[trial] = diagram.score, diagram.frequency
    truth = bin_scores(world.draw(math.inf, math.inf, setting="two-sample", seed=0), **options)
    return records(
        binning=binning,
        bin=range(1, DIAGRAM_BINS + 1),
        left=truth.edges[:-1],
        right=truth.edges[1:],
        score=score.mean(axis=0),
        frequency=frequency.mean(axis=0),
        sd=frequency.std(axis=0, ddof=1),
        share_above_one=(frequency > 1.0).mean(axis=0),
        true_score=truth.mean_score,
        true_frequency=truth.frequency,
        trials=trials,
    )


def study(run: Run) -> dict[str, list[Row]]:
    worlds = {name: known(world) for name, world in PAPER.items()}
    sizes, trials = run.pick(SIZES, SIZES[::4]), run.trials(100, 10)
    found = run.map(measure, all_cells(worlds, SHOWN, sizes, trials), binnings=BINNINGS)
    measured = [m for both in found for m in both]
    return figure_tables(measured, worlds) | {
        "figure6": [row for binning in BINNINGS for row in diagram_rows(binning, trials)],
        # The true calibration curve behind Figure 6.
        "figure6_curve": records(score=GRID, posterior=PAPER[LESS].posterior(GRID)),
        "theorem1": [theorem_row(m) for m in measured],
    }


STYLES = {
    4: {
        LIMIT: (BLUE, "o", r"PU-ECE, $n_P=N,\ n_U=\infty$"),
        "n_P = inf, n_U = N": (ORANGE, "s", r"PU-ECE, $n_P=\infty,\ n_U=N$"),
        "n_P = N, n_U = 10 N": (GREEN, "^", r"PU-ECE, $n_P=N,\ n_U=10N$"),
        "labeled, n = N": (VERMILION, "D", r"labeled ECE, $n=N$"),
    },
    5: {
        "n_P = 100, n_U = N": (ORANGE, "s", r"$n_P=100,\ n_U=N$"),
        "n_P = 1000, n_U = N": (GREEN, "^", r"$n_P=1{,}000,\ n_U=N$"),
        "n_P = 10000, n_U = N": (VERMILION, "D", r"$n_P=10{,}000,\ n_U=N$"),
        LIMIT: (BLUE, "o", r"$n_P=N,\ n_U=\infty$"),
    },
}
OUTLINE = {"lw": 0.9, "ls": (0, (2, 1))}
MEAN = ("mean of trials", {"color": "0.25", "marker": "o", "ms": 5, "lw": 2})
BAND = ("90% of trials", {"color": "0.82", "lw": 9})
GUIDE = (r"$N^{-1/3}$ from first point", {"color": "black", "ls": ":", "lw": 1.8})


def add_curve(ax: plt.Axes, rows: list[Row], look: tuple[str, str, str], *, band: bool) -> None:
    """Draw a curve with a band for 90% of its trials, as an outline if it shares a panel."""
    n, ends = column(rows, "n"), [column(rows, end) for end in ("low", "high")]
    if band:
        ax.fill_between(n, *ends, color=look[0], alpha=0.2, lw=0)
    else:
        for end in ends:
            ax.plot(n, end, color=look[0], **OUTLINE)
    line(ax, rows, "n", "bias", color=look[0], marker=look[1], ms=5, lw=2)


def add_guide(ax: plt.Axes, rows: list[Row]) -> None:
    """Draw the theoretical rate, starting from the first measured point."""
    n = column(rows, "n")
    ax.plot(n, rows[0]["bias"] * (n / n[0]) ** (-1 / 3), **GUIDE[1])


def grid_of_panels(worlds: tuple[str, str], number: int, columns: int, width: float, high: float):
    titles = [look[2] for look in STYLES[number].values()]
    labels = {"x": "$N$ (log scale)", "y": [f"{w}\n|ECE $-$ TCE| (log scale)" for w in worlds]}
    options = {"shade": "0.88", "sharex": True, "sharey": True, "titles": titles} | labels
    figure, axes = panels(2, columns, size=(width, 8.2), **options)
    for ax in axes.flat:
        ax.set(xscale="log", yscale="log", xlim=(8.5, 11_800), ylim=(2e-4, high))
    return figure, axes


def draw_figure4(tables: Tables, worlds: tuple[str, str] = SYNTHETIC) -> plt.Figure:
    figure, axes = grid_of_panels(worlds, 4, 4, 14, 9)
    for row, world in zip(axes, worlds, strict=True):
        for ax, setting in zip(row, STYLES[4], strict=True):
            setting_panel(ax, pick(tables("figure4"), world=world), setting)
            fits = pick(tables("slopes"), figure=4, world=world, setting=setting, n_low=100)
            text = r"slope ${slope:.2f} \pm {standard_error:.2f}$, $N \geq 100$"
            ax.text(11, 2.8e-4, text.format_map(fits[0]))
    bound = ("bound on the mean", {"color": "0.25", "ls": "--", "lw": 1.5})
    others = ("the other settings", {"color": "0.7", "lw": 1})
    drawing.legend_below(figure, MEAN, BAND, bound, GUIDE, others)
    return figure


def setting_panel(ax: plt.Axes, rows: list[Row], setting: str) -> None:
    """Draw one panel of Figure 4, with the other settings in gray behind it."""
    for other in STYLES[4]:
        line(ax, pick(rows, setting=other), "n", "bias", color="0.7", lw=1)
    curve, look = pick(rows, setting=setting), STYLES[4][setting]
    add_curve(ax, curve, look, band=True)
    line(ax, curve, "n", "bound", color=look[0], ls="--", lw=1.5)
    add_guide(ax, curve)


def draw_figure5(tables: Tables, worlds: tuple[str, str] = SYNTHETIC) -> plt.Figure:
    figure, axes = grid_of_panels(worlds, 5, 3, 13, 0.6)
    for row, world in zip(axes, worlds, strict=True):
        for ax, floor in zip(row, pick(tables("floors"), world=world), strict=True):
            setting = f"n_P = {floor['n_positive']}, n_U = N"
            curve, reference = (
                pick(tables("figure5"), world=world, setting=s) for s in (setting, LIMIT)
            )
            add_curve(ax, reference, STYLES[5][LIMIT], band=False)
            add_curve(ax, curve, STYLES[5][setting], band=True)
            ax.axhline(floor["floor"], color=STYLES[5][setting][0], ls="--", lw=1.5)
            add_guide(ax, reference)
    blue = (STYLES[5][LIMIT][2], {"color": BLUE, "marker": "o", "ms": 5, "lw": 2})
    fixed = (r"$n_P$ fixed", {"color": "0.25", "marker": "^", "ms": 6, "lw": 2})
    floor = (r"floor: same $n_P,\ n_U=\infty$", {"color": "0.25", "ls": "--", "lw": 1.5})
    outline = ("90%, outlined", {"color": BLUE} | OUTLINE)
    drawing.legend_below(figure, fixed, BAND, floor, blue, outline, GUIDE)
    return figure


def draw_figure6(tables: Tables) -> plt.Figure:
    titles = [f"15 bins of equal {binning}" for binning in ("width", "mass")]
    label = "frequency of positives in the bin"
    figure, axes = panels(1, 2, size=(12, 6.6), sharey=True, titles=titles, y=label)
    for ax, binning in zip(axes, ("width", "mass"), strict=True):
        diagram_panel(ax, pick(tables("figure6"), binning=binning), tables("figure6_curve"))
    drawing.shared_legend(figure, axes[0], 4)
    return figure


def diagram_panel(ax: plt.Axes, points: list[Row], curve: list[Row]) -> None:
    ax.plot([0, 1], [0, 1], color="0.55", ls=":", lw=1.6, label="perfect calibration")
    line(ax, curve, "score", "posterior", color="black", lw=1.6, label="true curve")
    ring = {"marker": "o", "ms": 11, "mfc": "none", "mec": VERMILION, "mew": 1.6, "ls": ""}
    line(ax, points, "true_score", "true_frequency", **ring, label="true value of the bin")
    bars = {"color": BLUE, "ls": "", "marker": "o", "ms": 5, "capsize": 4, "lw": 1.6}
    found = (column(points, name) for name in ("score", "frequency", "sd"))
    ax.errorbar(*found, **bars, label="PU estimate: mean and sd over the trials")
    ax.set(xlabel="mean score of the bin", xlim=(-0.02, 1.02), ylim=(-0.02, 1.1), aspect="equal")


def of_kind(rows: list[Row], *, labeled: bool) -> list[Row]:
    return [r for r in rows if r["setting"].startswith("labeled") == labeled]


def brief(number: float) -> str:
    return f"{number:.2g}" if abs(number) > 1e-12 else "0"


STUDY = Study("pu_ece", parts=(study,), style=drawing.style())
