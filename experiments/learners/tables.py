"""Runs to tables: accuracy beside the paper's, and calibration before and after repair."""

from __future__ import annotations

import csv
import sys
import warnings
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from training import BATCH, CONFIGURATIONS, FARTHEST, RATE, REPEATED, SEARCHED, configuration

from noneg import PUScores, ece
from noneg.learning.algorithms import ALGORITHMS
from noneg.randomness import stream
from noneg.recalibration import Auto, CalibrationWarning, Platt

sys.path.append(str(Path(__file__).parents[1]))
from pages import fill, table

if TYPE_CHECKING:
    from training import Job

# Prior of the population and share of its positives that is labelled, of each world.
PRIOR = {"gaussians": (0.4, 0.5), "usps": (0.5, 0.6)}
MEASURES = ("pu_ece", "ece")
STAGES = ("before", "platt", "auto")


def write(jobs: list[Job], folder: Path, out: Path) -> None:
    """Write everything that the runs in the folder give."""
    found = [summary(job, folder) for job in jobs if job.path(folder).exists()]
    rows = [row for row in found if row is not None]
    with (out / "runs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    tables = {world: sanity(rows, world) for world in PRIOR}
    tables |= {"acceptance": acceptance(rows), "search": search(rows)}
    tables |= {"seeds": seeds(rows), "rates": rates(rows)}
    tables = {name: text for name, text in tables.items() if text}
    for name, text in tables.items():
        (out / f"{name}.md").write_text(text)
    if (out / "README.md").exists():
        fill(out / "README.md", tables)
    draw(rows, out / "calibration.png")


def summary(job: Job, folder: Path) -> dict[str, object] | None:
    """Return one run: test metrics where each criterion is best, and calibration errors.

    None if it diverged before its first checkpoint.
    """
    with np.load(job.path(folder)) as file:
        z = dict(file)
    if not z["step"].size:
        return None
    oracle, proxy = z["oracle"].argmax(), z["proxy"].argmax()
    return {
        **asdict(job),
        "oracle_step": int(z["step"][oracle]),
        "oracle": z["oracle"][oracle],
        "oracle_accuracy": z["accuracy"][oracle],
        "oracle_auc": z["auc"][oracle],
        "proxy_step": int(z["step"][proxy]),
        "accuracy": z["accuracy"][proxy],
        "auc": z["auc"][proxy],
        "last_accuracy": z["accuracy"][-1],
        "diverged_after": int(z["step"][-1]) if z.get("diverged") else "",
        **calibration(job, z),
        "cpu_seconds": float(z["seconds"]),
    }


def calibration(job: Job, z: dict[str, np.ndarray]) -> dict[str, float]:
    """Return PU-ECE and true ECE of the test rows before and after repair from held-out PU rows.

    Test rows are thinned to the prior of the population; then a share of the positives is labelled
    for the PU estimate, and the true error sees all labels.
    """
    prior, c = PRIOR[job.world]
    random = stream(job.split, "test rows")
    positive, negative = (random.permutation(np.flatnonzero(z["labels"] == y)) for y in (1, 0))
    n = int(min(positive.size / prior, negative.size / (1 - prior)))
    positive, negative = positive[: round(prior * n)], negative[: n - round(prior * n)]
    cut = round(c * positive.size)
    labelled, rest = positive[:cut], np.concatenate([positive[cut:], negative])
    y = np.repeat([1, 0], [positive.size, negative.size])
    held = PUScores(z["held_pos"], z["held_unl"], prior=prior, setting="one-sample")
    found = {}
    for stage, repair in repairs(held).items():
        s = repair(z["test"])
        pu = PUScores(s[labelled], s[rest], prior=prior, setting="one-sample")
        true = PUScores.from_labels(y, s[np.concatenate([positive, negative])])
        found |= {f"pu_ece_{stage}": ece(pu), f"ece_{stage}": ece(true)}
    return found


def repairs(held: PUScores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # separable scores: the fit is finite
        platt, auto = Platt().fit(held), Auto().fit(held)
    return {"before": lambda s: s, "platt": platt.transform, "auto": auto.transform}


def mean(rows, name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def spread(rows, name: str) -> float:
    """Standard error, as the paper's tables have it: population deviation / sqrt(trials)."""
    return float(np.std([row[name] for row in rows]) / np.sqrt(len(rows)))


def chosen(rows, **wanted):
    wanted = {"lr": RATE, "batch": BATCH, "repeat": 0} | wanted
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def sanity(rows, world: str) -> str:
    """One line a method: its original version with the library's defaults."""
    names = [f"{m}_{stage}" for m in MEASURES for stage in STAGES]
    lines = []
    for name, kind in ALGORITHMS.items():
        mine = chosen(rows, world=world, algorithm=name, variant="ref")
        if mine:
            cells = [f"{100 * mean(mine, x):.1f}" for x in ("accuracy", "auc")]
            lines.append([kind.title, *cells, *(f"{mean(mine, x):.3f}" for x in names)])
    repairs = ["+ Platt", "+ Auto"]
    head = ["method", "accuracy", "AUC", "PU-ECE", *repairs, "true ECE", *repairs]
    return table(head, lines, "lr") + "\n"


def paper() -> dict[str, tuple[float, float]]:
    """Table 15 of the benchmark paper: accuracy at the oracle's checkpoint, by method."""
    with files("noneg.bench").joinpath("paper.csv").open() as file:
        return {
            row["method"]: (float(row["mean"]), float(row["spread"]))
            for row in csv.DictReader(file)
            if (row["table"], row["metric"], row["criterion"])
            == ("15", "accuracy", "oracle_accuracy")
        }


def acceptance(rows) -> str:
    """Ours beside the paper's, with the gap, a line a method and correction."""
    lines, published = [], paper()
    usps = chosen(rows, world="usps")
    for name, kind in ALGORITHMS.items():
        ref = chosen(usps, algorithm=name, variant="ref")
        for correction in dict.fromkeys(["none", *kind.bench_corrections]):
            with_c = correction == "batch"
            value = published.get(f"{name}+c" if with_c else name)
            asked = correction if kind.bench_corrections else "default"
            bench = chosen(usps, algorithm=name, variant="bench", correction=asked)
            if with_c and "bench" not in kind.variants:
                continue
            cells = [
                "" if value is None else f"{value[0]:.2f} ± {value[1]:.2f}",
                accuracy(bench),
                gap(bench if "bench" in kind.variants else ref, value),
                str(len(bench) or ""),
                "" if with_c else accuracy(ref),
                "" if with_c else str(len(ref) or ""),
            ]
            lines.append([f"{kind.title}{'-c' if with_c else ''}", *cells])
    head = ["method", "paper", "`bench`", "gap", "splits", "`ref`", "splits"]
    return table(head, lines, "lr") + "\n"


def accuracy(rows) -> str:
    """Mean and, of several splits, its standard error."""
    if not rows:
        return ""
    text = f"{100 * mean(rows, 'oracle_accuracy'):.2f}"
    return f"{text} ± {100 * spread(rows, 'oracle_accuracy'):.2f}" if len(rows) > 1 else text


def gap(rows, value) -> str:
    if not rows or value is None:
        return ""
    return f"{100 * mean(rows, 'oracle_accuracy') - value[0]:+.2f}"


def search(rows) -> str:
    """Return, a line a method, the paper's protocol: of a split's configurations the best by OA."""
    lines, published = [], paper()
    for name, (algorithm, variant, correction) in SEARCHED.items():
        way = {"algorithm": algorithm, "variant": variant, "correction": correction}
        runs = [tried(rows, split, world="usps", **way) for split in range(3)]
        if not all(runs):
            continue
        value, best = published[name], [best_run(split) for split in runs]
        same = [best_run([r for r in split if r["batch"] == BATCH]) for split in runs]
        cells = [
            f"{value[0]:.2f} ± {value[1]:.2f}",
            accuracy([split[0] for split in runs]),
            accuracy(same),
            accuracy(best),
            gap(best, value),
            "/".join(str(len(split)) for split in runs),
        ]
        lines.append([ALGORITHMS[name].title, *cells])
    head = ["method", "paper", "default", f"best with batches of {BATCH}", "best of all", "gap"]
    return table([*head, "tried"], lines, "lr") + "\n"


def tried(rows, split: int, **way):
    """Return the runs of the paper's configurations on a split, the default first."""
    grid = [configuration(index, split) for index in range(CONFIGURATIONS)]
    found = [chosen(rows, split=split, lr=lr, batch=batch, **way) for lr, batch in grid]
    return [run for part in found for run in part] if found[0] else []


def best_run(runs):
    """Return the run with the best accuracy on held-out rows, as the paper does."""
    return max(runs, key=lambda row: row["oracle"])


def on_first_split(rows, way):
    names = ("world", "split", "algorithm", "variant", "correction")
    return [row for row in rows if tuple(row[name] for name in names) == ("usps", 0, *way)]


def seeds(rows) -> str:
    """Return the accuracies of one configuration on one split by seed alone."""
    runs = [r for r in on_first_split(rows, REPEATED) if (r["lr"], r["batch"]) == (RATE, BATCH)]
    values = [100 * row["oracle_accuracy"] for row in runs]
    if len(values) < 2:
        return ""
    head = ["method", "seeds", "mean", "standard deviation", "smallest", "largest"]
    numbers = [np.mean(values), np.std(values, ddof=1), min(values), max(values)]
    cells = [ALGORITHMS[REPEATED[0]].title, str(len(values)), *(f"{x:.2f}" for x in numbers)]
    return table(head, [cells], "lr") + "\n"


def rates(rows) -> str:
    """Return all configurations of the method furthest away, on the first split."""
    lines = []
    for row in sorted(on_first_split(rows, FARTHEST), key=lambda r: (-r["batch"], r["lr"])):
        cells = [f"{row['lr']:.2g}", str(row["batch"]), f"{100 * row['oracle_accuracy']:.2f}"]
        cells += [f"{100 * row['oracle_auc']:.2f}", f"{row['oracle_step']:,}"]
        lines.append(cells)
    return table(["learning rate", "batch", "accuracy", "AUC", "at step"], lines, "r") + "\n"


def draw(rows, path: Path) -> None:
    """True error before and after, a line a method, a panel a world."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PRIOR), figsize=(11, 6.2), sharey=True)
    names = list(ALGORITHMS)[::-1]
    colours = {"before": "#D55E00", "platt": "#0072B2", "auto": "#009E73"}
    for ax, world in zip(axes, PRIOR, strict=True):
        for stage, marker in zip(STAGES, "os^", strict=True):
            mine = {n: chosen(rows, world=world, algorithm=n, variant="ref") for n in names}
            x = [mean(v, f"ece_{stage}") if v else np.nan for v in mine.values()]
            label = stage if stage == "before" else f"after {stage.title()}"
            ax.plot(x, range(len(names)), marker, color=colours[stage], label=label)
        ax.set(title={"gaussians": "two Gaussians", "usps": "USPS"}[world], xlabel="true ECE")
        ax.set_xlim(left=0.0)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_yticks(range(len(names)), [ALGORITHMS[n].title for n in names])
    axes[-1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
