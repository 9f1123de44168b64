"""The PU benchmark paper's study, with calibration.

It can be stopped at any time; the same command resumes where it stopped. ``--only dataset=usps
case=1 rate=0.3`` trains some of the runs. The page and its tables are generated only from the
records.
"""

import argparse
from collections import Counter
from functools import cache
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from experiments.drawing import bare, panels
from experiments.study import BUILD, Run, Study
from experiments.tables import Tables, percent
from experiments.training import findings, plan
from noneg.lab.bench import CriticalDifferenceDisplay, against_paper, load_records, summarize
from noneg.lab.bench.ranks import Ranks
from noneg.lab.bench.summaries import paper_name
from noneg.lab.bench.work import set_up
from noneg.learning.algorithms import ALGORITHMS
from noneg.plots.base import COLORS, DASHES, MARKERS


def kept(runs: list, rules: list[str]) -> list:
    """Return the runs that match every rule, such as ``given_prior=0.35,0.7``."""
    split = [rule.partition("=") for rule in rules]
    return [
        run
        for run in runs
        if all(str(getattr(run, name)) in values.split(",") for name, _, values in split)
    ]


def folder(run: Run, name: str = "pu_benchmark") -> Path:
    return (run.options.records or BUILD / name) / run.pick("full", "quick-records")


def train(run: Run, runs: list, folder: Path, **options: object) -> None:
    """Train the runs that have no record yet."""
    from noneg.lab.bench.engine import run_all

    asked, left = run.options, 60 * run.options.minutes
    options |= {
        "jobs": asked.processes,
        "device": asked.device,
        "population": asked.population,
    }
    options["seconds"] = left if left < float("inf") else None
    options["tell"] = lambda done, failed, total: run.say(done, "done,", failed, "failed of", total)
    run.say(run_all(runs, folder, **options))


def tables(run: Run) -> None:
    train_some(run, plan.tables(quick=run.quick))


def images(run: Run) -> None:
    train_some(run, plan.images(quick=run.quick))


def train_some(run: Run, runs: list) -> None:
    precision = "bfloat16" if run.options.device.startswith("cuda") else "float32"
    train(run, kept(runs, run.options.only), folder(run), precision=precision)


def records(run: Run) -> None:
    """Add the trained runs to the stored records."""
    findings.collect(folder(run), run.out)


def common_arguments(parser: argparse.ArgumentParser, population: int | None = None) -> None:
    parser.add_argument("--device", default="cpu", help="of torch")
    parser.add_argument("--records", type=Path, help="folder of records")
    parser.add_argument("--population", type=int, default=population, help="runs to train at once")


def arguments(parser: argparse.ArgumentParser) -> None:
    common_arguments(parser)
    add = parser.add_argument
    add("--only", nargs="*", default=[], metavar="FIELD=VALUE,...", help="runs with these values")


SHORT = findings.THREE | {"pu_log_loss": "PU log loss", "pu_brier": "PU Brier", "pu_ece": "PU-ECE"}
RATE_ROWS = (
    ("upu", "none", "uPU"),
    ("nnpu", "none", "nnPU = PUSB"),
    ("nnpu-ga", "none", "nnPU-GA"),
    ("upu", "batch", "uPU-c = nnPU-c = nnPU-GA-c = PUSB-c"),
    ("vpu", "none", "VPU"),
    ("vpu", "batch", "VPU-c"),
    ("dist-pu", "none", "Dist-PU"),
    ("dist-pu", "batch", "Dist-PU-c"),
)
CASES = sorted(plan.WORLDS, reverse=True, key=lambda world: (world[0], -world[1]))


@cache
def stored(folder: Path) -> pd.DataFrame:
    return findings.all_runs(load_records(folder / "records.jsonl"))


def beside(gap: findings.Interval | jinja2.Undefined, digits: int = 0) -> str:
    """Return a difference in parentheses, in points or with the given number of digits."""
    if not isinstance(gap, findings.Interval):
        return ""
    return f" ({gap.text(1, digits) if digits else gap.points})"


def by_rate(numbers) -> list[int]:
    return sorted(numbers, key=lambda number: drawn(number).lr)


def counted(counts: Counter) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def holds(true: bool) -> str:  # noqa: FBT001
    return "holds" if true else "not supported"


def verdict(gap: findings.Interval, better: int) -> str:
    if not gap.clear:
        return "no clear difference"
    return "better" if gap.value * better > 0 else "worse"


def labels(gap: findings.Interval) -> str:
    words = {1: "help", 0: "do not clearly help", -1: "do harm"}
    return words[int(gap.low > 0) - int(gap.high < 0)]


def better(means: pd.Series | jinja2.Undefined) -> str:
    if not isinstance(means, pd.Series):
        return ""
    return f" (better in {(means > 0).sum()} of {len(means)}, median {100 * means.median():+.1f})"


def trouble(failed: pd.DataFrame) -> dict[str, int]:
    return dict(Counter(error.split(":")[0] for error in failed["error"]))


def split_counts(runs: pd.DataFrame) -> list[tuple[int, int]]:
    """Return how many cells (data set, case, method) have how many splits, largest first."""
    splits = findings.main_defaults(runs).groupby(findings.CELL).size()
    return sorted(Counter(splits).items(), reverse=True)


def missing(runs: pd.DataFrame) -> list[str]:
    """Return the names of methods without a run."""
    there = findings.single(findings.main_defaults(runs)).groupby(findings.CELL).groups
    return [
        f"{findings.title(method)} on {findings.world(dataset, case)}"
        for method in sorted({method for *_, method in there})
        for dataset, case in CASES
        if (dataset, case, method) not in there
    ]


def ties(ranks: Ranks) -> tuple[str, ...]:
    """Return the methods that do not differ significantly from the best."""
    return next((g for g in ranks.groups if ranks.methods[0] in g), (ranks.methods[0],))


def early(tied: tuple[str, ...]) -> list[str]:
    return [m for m in tied if m.split(" ")[0].split("-c")[0] in ("uPU", "nnPU", "nnPU-GA")]


def change(cells: dict, prior: float, metric: str) -> findings.Interval:
    """Return the effect of a wrong prior on the mean over splits, by method."""
    gaps = [c[prior][metric].mean() - c[0.5][metric].mean() for c in cells.values()]
    return findings.interval(list(cells), gaps)


def kinds(runs: pd.DataFrame):
    own = findings.done(runs)
    return Counter(own["device"] + ", " + own["precision"]).items()


def machines(runs: pd.DataFrame):
    place = "Python {python}, torch {torch}"
    return Counter(map(place.format_map, findings.done(runs)["versions"])).most_common()


def by_device(runs: pd.DataFrame):
    own = findings.done(runs)
    return own.groupby(own["dataset"].map(findings.WORLD_NAMES) + ", " + own["device"])


def median(gaps: list[float]) -> float:
    return float(np.median(np.abs(gaps)))


def published(method: str) -> str | None:
    """Return the paper's name for a method; None for original methods with a benchmark version."""
    algorithm, *rest = method.split("/")
    original = "bench" in ALGORITHMS[algorithm].variants and "bench" not in rest
    return None if original else paper_name(method)


def world_rows(runs: pd.DataFrame) -> list[dict]:
    """Return one row per method: accuracy by three criteria, the paper's, and calibration."""
    metrics = ("accuracy", "ece", "ece_recalibrated")
    found = summarize(runs["record"], metrics=metrics, criteria=findings.THREE)
    cells = {(c.method, c.criterion, c.metric): c for c in found}
    numbers = findings.printed(runs["dataset"].iloc[0], runs["case"].iloc[0])
    rows = [
        {
            "method": method,
            "accuracy": [cells[method, criterion, "accuracy"] for criterion in findings.THREE],
            "paper": numbers.get(published(method) or ""),
            "errors": [cells[method, "proxy_accuracy", name].mean for name in metrics[1:]],
        }
        for method in sorted({cell.method for cell in found})
    ]
    # Sort by the printed accuracy; ties keep the order of the methods.
    return sorted(rows, key=lambda row: -round(100 * row["accuracy"][-1].mean, 1))


def world_tables(runs: pd.DataFrame):
    parts = [(place, on_world(findings.fair(runs), *place)) for place in CASES]
    return [(place, part) for place, part in parts if len(findings.done(part))]


def on_world(runs: pd.DataFrame, dataset: str, case: int) -> pd.DataFrame:
    return findings.where(runs, dataset=dataset, case=case)


def paper_runs(runs: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([findings.fair(runs), on_world(runs, "cifar10", 1)])


def beside_paper(runs: pd.DataFrame) -> list[dict]:
    """Compare accuracies selected by OA with the paper's, for methods in both."""
    cells = summarize(runs["record"], metrics=["accuracy"], criteria=["oracle_accuracy"])
    rows = [row for row in against_paper(cells) if published(row["method"])]
    return [row | {"data": findings.world(row["dataset"], row["case"])} for row in rows]


def farthest(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: -abs(row["difference"]))[:8]


def drawn(number: int):
    """Return the hyperparameters of a configuration."""
    return set_up(plan.run(("upu", "bench", "batch"), "letter", 1, 0, configuration=number))


def settings(worlds: dict) -> list[str]:
    found = [drawn(number) for number in sorted(set().union(*worlds.values()) - {0})]
    return [f"rate {s.lr:.1e} with batches of {s.batch} + {s.batch}" for s in found]


def near(runs: pd.DataFrame, worlds: dict) -> list[dict]:
    """Return how far from the paper the populations with several configurations are."""
    runs, rows = findings.several(runs), []
    ways = [beside_paper(findings.defaults(runs)), beside_paper(runs)]
    for (dataset, case), numbers in worlds.items():
        data = findings.world(dataset, case)
        gaps = [[r["difference"] for r in found if r["data"] == data] for found in ways]
        if gaps[0]:
            means, medians = np.mean(gaps, axis=1), np.median(gaps, axis=1)
            rows.append({"data": data, "many": len(numbers), "methods": len(gaps[0])})
            rows[-1] |= {"means": means, "medians": medians}
    return rows


def means(runs: pd.DataFrame) -> pd.Series:
    return findings.chosen(runs, "oracle_accuracy")["accuracy"].groupby(level="method").mean()


def letter_rows(runs: pd.DataFrame) -> list[list[str]]:
    """Letter, case 1: every version in the paper, with defaults, with the search, and in the
    paper."""
    own = on_world(findings.several(runs), "letter", 1)
    if own.empty:
        return []
    numbers, more, rows = findings.printed("letter", 1), findings.tried(runs), []
    parts = findings.defaults(own), own[own["configuration"] > 0], own, findings.first_letter(runs)
    one, other, best, few = (means(part) for part in parts)
    for method in one.index:
        paper = numbers.get(published(method) or "")
        if paper is not None:
            shown = [percent(part[method]) for part in (one, other, best)]
            shown.append(percent(few[method]) if method in more else "")
            gap = 100 * one[method] - paper["mean"]
            rows.append((gap, [findings.title(method), *shown, f"{paper['mean']:.1f}"]))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def stuck(runs: pd.DataFrame) -> tuple[int, int, float]:
    """Return the Dist-PU runs on Letter that predict only positives, the total, and their smallest
    error."""
    found = [findings.stuck(runs, f"dist-pu/bench/{c}") for c in ("none", "batch")]
    alike, runs, least = zip(*found, strict=True)
    return sum(alike), sum(runs), min((x for x in least if not np.isnan(x)), default=np.nan)


def all_tried(tried: dict[str, dict[int, float]]) -> set[int]:
    return {number for cells in tried.values() for number in cells}


# Figures


def draw_ranks(tables: Tables) -> plt.Figure:
    ranks = findings.ranks(stored(tables.folder), "accuracy", "proxy_accuracy")
    return CriticalDifferenceDisplay(ranks=ranks).plot().figure_


def draw_rates(tables: Tables) -> plt.Figure:
    """Plot accuracy against the share of labeled rows, with and without correction."""
    cells = findings.rate_table(stored(tables.folder))
    shape = {"size": (13, 5), "shade": None, "sharex": True, "sharey": "row"}
    figure, axes = panels(2, len(plan.CORRECTED), **shape)
    for row, dataset in zip(axes, ("usps", "letter"), strict=True):
        for ax, name in zip(row, plan.CORRECTED, strict=True):
            for k, (correction, label) in enumerate((("none", "as it is"), ("batch", "corrected"))):
                found = findings.rate_line(cells, dataset, name, correction)
                points = 100 * found.index.to_numpy(float), found["mean"], found["sem"]
                look = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": DASHES[1 - k]}
                ax.errorbar(*points, **look, markersize=4, label=label)
            bare(ax)
            ax.set_title(ALGORITHMS[name].title if dataset == "usps" else "", fontsize="medium")
        row[0].set_ylabel(f"{findings.WORLD_NAMES[dataset]} accuracy, %")
    for ax in axes[1]:
        ax.set_xlabel("labeled rows, %")
    axes[0, 0].legend(fontsize="small", edgecolor="none")
    return figure


def draw_priors(tables: Tables) -> plt.Figure:
    """Plot accuracy and calibration error against the given prior."""
    cells = findings.told_cells(stored(tables.folder))
    figure, axes = panels(1, 2, size=(9, 3.6), shade=None)
    shown = (("accuracy", 100, "accuracy, %"), ("ece", 1, "true calibration error"))
    for ax, (metric, scale, label) in zip(axes, shown, strict=True):
        for k, (method, found) in enumerate(cells.items()):
            y = [scale * own[metric].mean() for own in found.values()]
            look = {"color": COLORS[k], "marker": MARKERS[k], "linestyle": DASHES[k % 4]}
            ax.plot(list(found), y, **look, markersize=4.5, label=findings.title(method))
        ax.axvline(0.5, color="0.85", zorder=0)
        ax.set(xlabel="prior that was told (true: 0.5)", ylabel=label)
        ax.set_xticks(sorted({p for found in cells.values() for p in found}))
        bare(ax)
    axes[0].legend(fontsize="small", edgecolor="none")
    return figure


def draw_calibration(tables: Tables) -> plt.Figure:
    """Plot PU-ECE against the true error, one point per run."""
    found = findings.agreement(stored(tables.folder))
    values = found["pairs"]
    figure, ax = panels(size=(4.8, 4.6), shade=None)
    top = 1.05 * float(np.nanmax(values))
    ax.plot([0, top], [0, top], color="0.7", linewidth=1)
    ax.plot(values[:, 1], values[:, 0], ".", color=COLORS[0], alpha=0.4, markersize=5)
    ax.set_title(f"{len(values)} runs, correlation {found['pearson'].value:.2f}")
    ax.set_xlabel("true calibration error, test rows")
    ax.set_ylabel("PU-ECE, validation rows without negatives")
    bare(ax)
    return figure


STUDY = Study(
    "pu_benchmark",
    parts=(tables, images, records),
    style={"savefig.dpi": 110},
    named=("images",),
    arguments=arguments,
)
