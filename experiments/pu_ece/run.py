"""How far PU-ECE lies from the true calibration error: Figures 4, 5 and 6 of the PU-ECE paper.

    python experiments/pu_ece/run.py [--trials 100] [--quick]

Draws data of growing size from two classifiers whose calibration is known exactly, measures
|ECE - TCE|, fits its rate and holds it against Theorem 1. Tables are written beside this file,
pictures drawn from them, and the tables of the README filled in. ``--quick`` takes few sizes and
trials and writes to ``build/pu_ece``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import platform
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import figures
import numpy as np
from scipy.special import expit

from noneg.bins import bin_scores, labelled_order_rule, order_rule
from noneg.calibration import reliability
from noneg.calibration.errors import norm
from noneg.simulation import LogisticGaussian
from noneg.theory import Bound, bias_bound, labelled_bias_bound

if TYPE_CHECKING:
    from noneg.scores import PUScores

HERE = Path(__file__).parent
QUICK = HERE.parents[1] / "build" / "pu_ece"

WORLDS = {
    "less calibrated": LogisticGaussian.less_calibrated(),
    "better calibrated": LogisticGaussian.better_calibrated(),
    "calibrated": LogisticGaussian.calibrated(),
}
# The calibrated classifier is a control of the rates, and in no figure of the paper.
FIGURE_WORLDS = {4: list(WORLDS), 5: ["less calibrated", "better calibrated"]}
SIZES = [round(10 ** (1 + k / 4)) for k in range(13)]  # 10 to 10,000
BINNINGS = ("mass", "width")
DELTA = 0.1
SLOPE_RANGES = ((100, 10_000), (10, 10_000))
RESAMPLES = 2000
DIAGRAM_SIZES, DIAGRAM_BINS = (1000, 10_000), 15
FIXED_POSITIVES = (100, 1000, 10_000)

LIMIT = "n_P = N, n_U = inf"
LABELLED, LABELLED_MORE = "labelled, n = N", "labelled, n = N, more bins"
# Sizes of the positive and of the unlabeled sample at N; None for labelled data.
SETTINGS = {
    4: {
        LIMIT: lambda n: (n, math.inf),
        "n_P = inf, n_U = N": lambda n: (math.inf, n),
        "n_P = N, n_U = 10 N": lambda n: (n, 10 * n),
        LABELLED: None,
        LABELLED_MORE: None,
    },
    5: {f"n_P = {p}, n_U = N": lambda n, p=p: (p, n) for p in FIXED_POSITIVES}
    | {LIMIT: lambda n: (n, math.inf)},
}


def lipschitz(world: LogisticGaussian) -> float:
    """Return the steepest slope of P(Y = 1 | s) between neighbours on a fine grid of logits."""
    logits = np.linspace(-12.0, 12.0, 200_001)
    return float(np.abs(np.diff(world.posterior_of_logit(logits)) / np.diff(expit(logits))).max())


LIPSCHITZ = {name: lipschitz(world) for name, world in WORLDS.items()}
TCE = {name: world.tce() for name, world in WORLDS.items()}


def seeded(*names: object) -> np.random.Generator:
    """Random numbers that depend on these names and on nothing else."""
    digest = hashlib.sha256("|".join(map(str, names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


@dataclass(frozen=True)
class Cell:
    """One point of a figure: a world, a setting and a size, measured in many trials."""

    figure: int
    world: str
    setting: str
    n: int
    trials: int

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
        prior = WORLDS[self.world].prior
        if self.sizes is not None:
            return order_rule(*self.sizes, prior)
        if self.setting == LABELLED_MORE:
            return order_rule(self.n, math.inf, prior)
        return labelled_order_rule(self.n)

    @property
    def bins(self) -> int:
        """The rule, capped so that every bin of equal mass can hold two rows."""
        return self.rule if math.isinf(self.n_marginal) else min(self.rule, self.n_marginal // 2)

    def draw(self, trial: int) -> PUScores:
        world = WORLDS[self.world]
        rng = seeded(self.figure, self.world, self.setting, self.n, trial)
        if self.sizes is None:
            return world.draw(n=self.n, setting="labelled", seed=rng)
        return world.draw(*self.sizes, setting="two-sample", seed=rng)

    def bound(self, binning: str, delta: float | None = None, form: str = "corrected") -> Bound:
        """Theorem 1, and for labelled data the bound of Futami & Fujisawa (2024) behind it."""
        options = {
            "bins": self.bins,
            "binning": binning,
            "lipschitz": LIPSCHITZ[self.world],
            "delta": delta,
            "form": form,
        }
        if self.sizes is None:
            return labelled_bias_bound(self.n, **options)
        return bias_bound(*self.sizes, WORLDS[self.world].prior, **options)


@dataclass(frozen=True)
class Measured:
    """What the trials of one cell gave with one kind of bins, a trial an entry."""

    cell: Cell
    binning: str
    ece: np.ndarray
    binned_tce: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """ECE minus TCE; its absolute value is the total bias."""
        return self.ece - TCE[self.cell.world]


def measure(cell: Cell) -> list[Measured]:
    """Run every trial of a cell, with both kinds of bins on the same rows."""
    values = np.empty((len(BINNINGS), 2, cell.trials))
    for trial in range(cell.trials):
        scores = cell.draw(trial)
        for kind, binning in enumerate(BINNINGS):
            binned = bin_scores(scores, bins=cell.bins, binning=binning)
            values[kind, 0, trial] = norm(binned, 1)
            values[kind, 1, trial] = WORLDS[cell.world].binned_tce(binned.edges)
    return [Measured(cell, binning, *v) for binning, v in zip(BINNINGS, values, strict=True)]


def names(cell: Cell) -> dict[str, object]:
    return {"world": cell.world, "setting": cell.setting, "n": cell.n, "bins": cell.bins}


def bias_row(m: Measured) -> dict[str, object]:
    """One point of Figure 4 or 5."""
    total = np.abs(m.error)
    low, high = np.quantile(total, [0.05, 0.95])
    return names(m.cell) | {
        "capped": m.cell.bins < m.cell.rule,
        "bias": total.mean(),
        "low": low,
        "high": high,
        "signed_bias": m.error.mean(),
        "sd": m.error.std(ddof=1),
        "binning_bias": np.abs(m.binned_tce - TCE[m.cell.world]).mean(),
        "statistical_bias": np.abs(m.ece - m.binned_tce).mean(),
        "bound": m.cell.bound("mass").value,
        "trials": m.cell.trials,
    }


def theorem_row(m: Measured) -> dict[str, object]:
    """How often a trial breaks the bounds that hold with probability 1 - DELTA."""
    tail, printed = (m.cell.bound(m.binning, DELTA, form) for form in ("corrected", "printed"))
    total = np.abs(m.error)
    binning = np.abs(m.binned_tce - TCE[m.cell.world])
    statistical = np.abs(m.ece - m.binned_tce)
    expected = m.cell.bound(m.binning)
    return (
        {"figure": m.cell.figure, "binning": m.binning}
        | names(m.cell)
        | {
            "expected_bound": expected.value,
            "expected_statistical_part": expected.statistical,
            "bias_over_expected_bound": total.mean() / expected.value,
            "statistical_over_expected_part": statistical.mean() / expected.statistical,
            "bound": tail.value,
            "vacuous": tail.vacuous,
            "share_above": (total > tail.value).mean(),
            "share_above_printed": (total > printed.value).mean(),
            "share_above_binning_part": (binning > tail.binning).mean(),
            "share_above_statistical_part": (statistical > tail.statistical).mean(),
            "largest_ratio": (total / tail.value).max(),
            "largest_statistical_ratio": (statistical / tail.statistical).max(),
            "trials": m.cell.trials,
        }
    )


def log_slope(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of log values on log sizes, along the last axis."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.log(values) @ x / (x @ x)


def slope_row(curve: list[Measured], low: int, high: int) -> dict[str, object]:
    """Fit the rate of one curve; the standard error comes from resampling trials at every size."""
    curve = [m for m in curve if low <= m.cell.n <= high]
    sizes = np.array([m.cell.n for m in curve], dtype=float)
    total = np.abs([m.error for m in curve])
    cell = curve[0].cell
    rng = seeded("slope", cell.figure, cell.world, cell.setting, low, high)
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


def slope_rows(mass: list[Measured]) -> list[dict[str, object]]:
    rows = []
    for figure, settings in SETTINGS.items():
        for world, setting, (low, high) in product(FIGURE_WORLDS[figure], settings, SLOPE_RANGES):
            key = (figure, world, setting)
            curve = [m for m in mass if (m.cell.figure, m.cell.world, m.cell.setting) == key]
            rows.append(slope_row(curve, low, high))
    return rows


def floor_rows(mass: list[Measured]) -> list[dict[str, object]]:
    """Bias at the largest n_U beside what infinitely many unlabeled rows would leave."""
    at = {(m.cell.world, m.cell.setting, m.cell.n): m for m in mass if m.cell.figure == 5}
    last = max(n for _, _, n in at)
    rows = []
    for world, positives in product(FIGURE_WORLDS[5], FIXED_POSITIVES):
        here = np.abs(at[world, f"n_P = {positives}, n_U = N", last].error)
        limit = np.abs(at[world, LIMIT, positives].error)
        rows.append(
            {
                "world": world,
                "n_positive": positives,
                "n_unlabeled": last,
                "bias": here.mean(),
                "bias_se": here.std(ddof=1) / math.sqrt(here.size),
                "floor": limit.mean(),
                "floor_se": limit.std(ddof=1) / math.sqrt(limit.size),
            }
        )
    return rows


def diagram_rows(binning: str, trials: int) -> list[dict[str, object]]:
    """Figure 6: mean and spread of the points of the diagram, and where they belong."""
    name, options = "less calibrated", {"bins": DIAGRAM_BINS, "binning": binning}
    world = WORLDS[name]
    score, frequency = np.empty((2, trials, DIAGRAM_BINS))
    for trial in range(trials):
        rng = seeded(6, name, *DIAGRAM_SIZES, trial)
        diagram = reliability(world.draw(*DIAGRAM_SIZES, setting="two-sample", seed=rng), **options)
        score[trial], frequency[trial] = diagram.score, diagram.frequency
    truth = bin_scores(world.draw(math.inf, math.inf, setting="two-sample", seed=0), **options)
    return [
        {
            "binning": binning,
            "bin": b + 1,
            "left": truth.edges[b],
            "right": truth.edges[b + 1],
            "score": score[:, b].mean(),
            "frequency": frequency[:, b].mean(),
            "sd": frequency[:, b].std(ddof=1),
            "share_above_one": (frequency[:, b] > 1.0).mean(),
            "true_score": truth.mean_score[b],
            "true_frequency": truth.frequency[b],
            "trials": trials,
        }
        for b in range(DIAGRAM_BINS)
    ]


def curve_rows() -> list[dict[str, object]]:
    """The true calibration curve behind Figure 6."""
    score = np.linspace(0.0, 1.0, 201)
    posterior = WORLDS["less calibrated"].posterior(score)
    return [{"score": s, "posterior": p} for s, p in zip(score, posterior, strict=True)]


def world_rows() -> list[dict[str, object]]:
    return [{"world": w, "tce": TCE[w], "lipschitz": LIPSCHITZ[w]} for w in WORLDS]


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value


def measure_all(sizes: list[int], trials: int) -> list[Measured]:
    cells = [
        Cell(figure, world, setting, n, trials)
        for figure, settings in SETTINGS.items()
        for world, setting, n in product(FIGURE_WORLDS[figure], settings, sizes)
    ]
    with ProcessPoolExecutor(max_workers=2) as pool:
        return [m for both in pool.map(measure, cells) for m in both]


def write_tables(out: Path, sizes: list[int], trials: int) -> None:
    measured = measure_all(sizes, trials)
    mass = [m for m in measured if m.binning == "mass"]
    for figure in SETTINGS:
        rows = [bias_row(m) for m in mass if m.cell.figure == figure]
        write_csv(out / f"figure{figure}.csv", rows)
    write_csv(out / "figure6.csv", [r for b in BINNINGS for r in diagram_rows(b, trials)])
    write_csv(out / "figure6_curve.csv", curve_rows())
    write_csv(out / "slopes.csv", slope_rows(mass))
    write_csv(out / "floors.csv", floor_rows(mass))
    write_csv(out / "theorem1.csv", [theorem_row(m) for m in measured])
    write_csv(out / "worlds.csv", world_rows())


def versions() -> str:
    packages = ("noneg", "numpy", "scipy", "matplotlib")
    found = [f"{p} {version(p).partition('+')[0]}" for p in packages]
    return ", ".join([f"Python {platform.python_version()}", *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    out, sizes = (QUICK, SIZES[::4]) if options.quick else (HERE, SIZES)
    if options.quick:
        out.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "README.md", out)
    write_tables(out, sizes, options.trials or (10 if options.quick else 100))
    figures.draw_all(out)
    figures.fill_readme(out, versions())


if __name__ == "__main__":
    main()
