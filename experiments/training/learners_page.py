"""Tables from runs: accuracy compared with the paper's, and calibration before and after repair."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import panels
from experiments.tables import Row, Tables, column, pick
from experiments.training.learners import (
    BATCH,
    CONFIGURATIONS,
    FARTHEST,
    RATE,
    REPEATED,
    SEARCHED,
    Job,
    configuration,
)
from experiments.training.selections import printed
from noneg import PUScores, ece
from noneg.learning.algorithms import ALGORITHMS
from noneg.randomness import stream
from noneg.recalibration import Auto, Platt
from noneg.recalibration.base import fit_quietly

# Prior of each population, and the share of its positives that is labeled.
PRIOR = {"gaussians": (0.4, 0.5), "usps": (0.5, 0.6)}
STAGES = {"before": ("#D55E00", "o"), "platt": ("#0072B2", "s"), "auto": ("#009E73", "^")}


def summary(job: Job, folder: Path) -> Row | None:
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
    """Return PU-ECE and true ECE of the test rows, before and after repair with held-out PU rows.

    Test rows are subsampled to the prior of the population; then a share of the positives is
    labeled for the PU estimate, and the true error uses all labels.
    """
    prior, c = PRIOR[job.world]
    random = stream(job.split, "test rows")
    positive, negative = (random.permutation(np.flatnonzero(z["labels"] == y)) for y in (1, 0))
    n = int(min(positive.size / prior, negative.size / (1 - prior)))
    positive, negative = positive[: round(prior * n)], negative[: n - round(prior * n)]
    cut = round(c * positive.size)
    labeled, rest = positive[:cut], np.concatenate([positive[cut:], negative])
    y = np.repeat([1, 0], [positive.size, negative.size])
    held = PUScores(z["held_pos"], z["held_unl"], prior=prior, setting="one-sample")
    found = {}
    for stage, repair in repairs(held).items():
        s = repair(z["test"])
        pu = PUScores(s[labeled], s[rest], prior=prior, setting="one-sample")
        true = PUScores.from_labels(y, s[np.concatenate([positive, negative])])
        found |= {f"pu_ece_{stage}": ece(pu), f"ece_{stage}": ece(true)}
    return found


def repairs(held: PUScores):
    # The fit is finite even for separable scores.
    platt, auto = fit_quietly(Platt(), held), fit_quietly(Auto(), held)
    return {"before": lambda s: s, "platt": platt.transform, "auto": auto.transform}


def mean(rows: list[Row], name: str) -> float:
    return float(column(rows, name).mean()) if rows else np.nan


def chosen(rows: list[Row], **wanted: object) -> list[Row]:
    return pick(rows, **({"lr": RATE, "batch": BATCH, "repeat": 0} | wanted))


def acceptance(tables: Tables) -> Iterator[dict]:
    """Yield our runs and the paper's accuracy, for each method and correction."""
    published, usps = printed("usps", 1), chosen(tables("runs"), world="usps")
    for name, kind in ALGORITHMS.items():
        ran = chosen(usps, algorithm=name)
        for correction in dict.fromkeys(["none", *kind.bench_corrections]) if ran else ():
            with_c, own = correction == "batch", "bench" in kind.variants
            asked = correction if kind.bench_corrections else "default"
            bench = chosen(ran, variant="bench", correction=asked)
            ref = chosen(ran, variant="ref")
            if own or not with_c:
                yield {
                    "title": f"{kind.title}{'-c' if with_c else ''}",
                    "paper": published.get(f"{name}+c" if with_c else name),
                    "bench": bench,
                    "compared": bench if own else ref,
                    "ref": [] if with_c else ref,
                }


def search(tables: Tables) -> Iterator[dict]:
    """Yield the paper's protocol for each method: the best configuration by OA in each split."""
    published = printed("usps", 1)
    for name, way in SEARCHED.items():
        runs = [tried(tables("runs"), split, way) for split in range(3)]
        if all(runs):
            yield {
                "title": ALGORITHMS[name].title,
                "paper": published[name],
                "default": [split[0] for split in runs],
                "same": [best_run(pick(split, batch=BATCH)) for split in runs],
                "best": [best_run(split) for split in runs],
                "numbers": [len(split) for split in runs],
            }


def tried(rows: list[Row], split: int, way: tuple[str, str, str]) -> list[Row]:
    """Return the runs of the paper's configurations on a split, the default first."""
    own = pick(named(rows, way), split=split)
    grid = [configuration(index, split) for index in range(CONFIGURATIONS)]
    found = [chosen(own, lr=lr, batch=batch) for lr, batch in grid]
    return [run for part in found for run in part] if found[0] else []


def best_run(runs: list[Row]) -> Row:
    """Return the run with the best accuracy on held-out rows, as the paper does."""
    return max(runs, key=lambda row: row["oracle"])


def named(rows: list[Row], way: tuple[str, str, str]) -> list[Row]:
    names = ("algorithm", "variant", "correction")
    return pick(rows, world="usps", **dict(zip(names, way, strict=True)))


def repeated(tables: Tables) -> list[Row]:
    """Return the runs of one configuration on one split that differ only in their seed."""
    return pick(named(tables("runs"), REPEATED), split=0, lr=RATE, batch=BATCH)


def farthest(tables: Tables) -> list[Row]:
    """Return all configurations of the method that differs most, on the first split."""
    runs = pick(named(tables("runs"), FARTHEST), split=0)
    return sorted(runs, key=lambda r: (-r["batch"], r["lr"]))


def draw_calibration(tables: Tables) -> plt.Figure:
    """Plot the true error before and after, one line per method, one panel per population."""
    figure, axes = panels(1, 2, size=(11, 6.2), shade=None, layout=None, sharey=True)
    names = [n for n in ALGORITHMS if chosen(tables("runs"), algorithm=n)][::-1]
    for ax, world in zip(axes, PRIOR, strict=True):
        mine = [chosen(tables("runs"), world=world, algorithm=n, variant="ref") for n in names]
        for stage, (color, marker) in STAGES.items():
            label = stage if stage == "before" else f"after {stage.title()}"
            x = [mean(rows, f"ece_{stage}") for rows in mine]
            ax.plot(x, range(len(names)), marker, color=color, label=label)
        ax.set(title={"gaussians": "two Gaussians", "usps": "USPS"}[world], xlabel="true ECE")
        ax.set_xlim(left=0.0)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_yticks(range(len(names)), [ALGORITHMS[n].title for n in names])
    axes[-1].legend(frameon=False)
    figure.tight_layout()
    return figure
