"""The training cells, their stored margins on seen and unseen rows, and the gaps, bounds and
information computed from them, without torch."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.tables import Row, mean_and_sd
from noneg import theory
from noneg.atomic import replacing
from noneg.bins import bin_scores, labeled_order_rule, order_rule
from noneg.lab.datasets import load
from noneg.lab.information import (
    Runs,
    generalization_bound,
    measure_information,
    printed_information,
    reused_error,
    seen_and_unseen,
)
from noneg.lab.supersample import PUSupersample, Supersample, draw_membership, pick
from noneg.randomness import stream
from noneg.scores import PUScores

SEED = 0
# Labeled positives per unlabeled row in the PU cells.
POSITIVES = 0.25


@dataclass(frozen=True)
class Cell:
    """Networks that differ only in their training rows, coins, initial weights and batches."""

    data: str
    kind: str  # "labeled" or "pu"
    optimizer: str
    n: int
    supersamples: int
    draws: int
    epochs: int

    @property
    def group(self) -> str:
        """The file in which it is stored."""
        return f"{self.data}-{self.kind}-{self.optimizer}"

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.n}x{self.supersamples}x{self.draws}"

    @property
    def networks(self) -> int:
        return self.supersamples * self.draws

    def pairs(self, number: int) -> Supersample | PUSupersample:
        """Return a supersample whose rows are image indices."""
        labels = pool(self.data)[1]
        seed = SEED + number
        order = stream(seed, f"rows {self.data} {self.n}").permutation(labels.size)
        if self.kind == "labeled":
            rows = order[: 2 * self.n]
            return Supersample.pair(rows, labels[rows], seed=seed)
        unlabeled, others = order[: 2 * self.n], order[2 * self.n :]
        positive = others[labels[others] == 1][: 2 * max(1, int(POSITIVES * self.n))]
        # The share in the whole pool: the distribution that both samples are drawn from.
        prior = float(labels.mean())
        return PUSupersample.pair(positive, unlabeled, prior=prior, seed=seed)

    def membership(self, number: int) -> NDArray[np.bool_]:
        """Return the coins for all draws of a supersample, with shape (draws, pairs)."""
        n, seed = self.pairs(number).n, SEED + number
        return np.stack([draw_membership(n, seed=seed, draw=k) for k in range(self.draws)])


@cache
def pool(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (rows, channels, height, width) and labels; nine and dog are 1."""
    data = load(name)
    images, labels = (
        np.concatenate([getattr(data, f"{x}_train"), getattr(data, f"{x}_test")]) for x in "Xy"
    )
    if name == "mnist":
        chosen = np.isin(labels, (4, 9))
        images, labels = images[chosen].reshape(-1, 1, 28, 28), labels[chosen] == 9
    else:
        images, labels = images.transpose(0, 3, 1, 2), labels == 5
    return np.ascontiguousarray(images, dtype=np.uint8), labels.astype(np.int64)


def full() -> list[Cell]:
    """Return all cells, most important first."""
    mnist = Cell("mnist", "labeled", "adam", 75, 5, 10, 200)
    cifar = Cell("cifar10", "labeled", "sgd", 500, 2, 5, 40)
    sizes = (75, 250, 1000, 4000)
    many = [replace(mnist, n=n, supersamples=1, draws=100) for n in (75, 250, 1000)]
    return [
        *over(mnist, ("adam", "sgld"), sizes),
        *over(replace(mnist, kind="pu"), ("adam", "sgld"), sizes),
        *over(cifar, ("sgd", "sgld"), (500,)),
        *over(mnist, ("sgld-code",), sizes),
        *(replace(cell, optimizer=o) for o in ("adam", "sgld") for cell in many),
        *over(cifar, ("sgd", "sgld"), (1000,)),
        *over(cifar, ("sgld-code",), (500, 1000)),
        *over(replace(cifar, supersamples=2, draws=3), ("sgd", "sgld", "sgld-code"), (5000,)),
        *over(replace(cifar, kind="pu"), ("sgd", "sgld"), (500, 1000)),
        # All images that are at hand.
        *over(replace(cifar, supersamples=1, draws=3), ("sgd",), (10_000,)),
    ]


def quick() -> list[Cell]:
    """Return one small cell of each kind."""
    mnist = Cell("mnist", "labeled", "adam", 40, 2, 3, 3)
    cifar = Cell("cifar10", "labeled", "sgd", 20, 1, 2, 1)
    return [
        *over(mnist, ("adam", "sgld", "sgld-code"), (40, 80)),
        *over(replace(mnist, kind="pu"), ("adam", "sgld"), (40, 80)),
        replace(mnist, supersamples=1, draws=12),
        *over(cifar, ("sgd", "sgld"), (20,)),
    ]


def over(cell: Cell, optimizers: tuple[str, ...], sizes: tuple[int, ...]) -> list[Cell]:
    return [replace(cell, optimizer=o, n=n) for n in sizes for o in optimizers]


def stored(folder: Path) -> Iterator[tuple[Cell, np.ndarray, Row]]:
    """Yield the trained cells, with their margins and training metadata."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.endswith("/margins"):
                    about = json.loads(str(arrays[key.replace("margins", "about")]))
                    names = Cell.__dataclass_fields__
                    yield Cell(**{name: about[name] for name in names}), arrays[key], about


def keep(folder: Path, cell: Cell, found: np.ndarray, about: Row) -> None:
    """Add a cell to the file of its optimizer."""
    path = folder / f"{cell.group}.npz"
    arrays = {}
    if path.exists():
        with np.load(path, allow_pickle=False) as before:
            arrays = dict(before)
    arrays[f"{cell.key}/margins"] = found.astype(np.float32)
    arrays[f"{cell.key}/about"] = json.dumps(asdict(cell) | about)
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


BINS = (6, 9, 14, 22, 34, 52)
SEPARATE = 100
# Number of draws that reveal something about each coin; a cell in the paper has ten or five.
MANY = 12
GAPS = ("ece_gap", "bin_gap", "label_gap", "mass_gap", "reused")
# Errors, and the share of positives in the last bin.
SIDES = ("seen", "unseen", "top_seen", "top_unseen")


def all_runs(cell: Cell, margins: np.ndarray) -> list[Runs]:
    """Return the runs for each supersample in a cell."""
    return [
        Runs(cell.pairs(k), cell.membership(k), expit(margins[k].astype(np.float64)))
        for k in range(cell.supersamples)
    ]


def rule(pairs: Supersample | PUSupersample) -> int:
    """Return the number of bins used in the papers."""
    if isinstance(pairs, PUSupersample):
        return order_rule(pairs.n_positive, pairs.n_unlabeled, pairs.prior)
    return labeled_order_rule(pairs.n)


def bounds(pairs: Supersample | PUSupersample, bins: int, nats: float) -> Row:
    """Return the bounds for a given amount of information: on the gap, and after recalibration."""
    reuse = {"reuse_printed": math.nan, "reuse_corrected": math.nan}
    if isinstance(pairs, PUSupersample):
        sizes = (pairs.n_positive, pairs.n_unlabeled, pairs.prior)
        options = {"bins": bins, "binning": "width", "lipschitz": 0.0, "fcmi": nats}
        whole = theory.generalization_bound(*sizes, **options)
        return {"bound": whole.statistical + whole.information} | reuse
    if pairs.n >= 2 * bins:
        for form in ("printed", "corrected"):
            reuse[f"reuse_{form}"] = theory.reuse_bound(
                pairs.n, bins=bins, fcmi=nats, form=form
            ).value
    return {"bound": theory.training_statistical_bound(pairs.n, bins=bins, ecmi=nats).value} | reuse


def measured(runs: Runs, bins: int, binning: str) -> dict[str, np.ndarray]:
    """Return the quantities that the bounds limit, one entry per draw."""
    out = []
    for seen, unseen in seen_and_unseen(runs, bins=bins, binning=binning):
        labels = seen.prior * seen.positive - unseen.prior * unseen.positive
        pairs = (seen.residual - unseen.residual, labels, seen.marginal - unseen.marginal)
        gaps = [float(np.abs(gap).sum()) for gap in pairs]
        sides = [float(np.abs(side.residual).sum()) for side in (seen, unseen)]
        tops = [float(side.positive[-1]) for side in (seen, unseen)]
        gap = abs(sides[0] - sides[1])
        out.append((gap, *gaps, reused_error(seen, unseen), *sides, *tops))
    return dict(zip((*GAPS, *SIDES), np.array(out).T, strict=True))


def bound_rows(cell: Cell, runs: list[Runs]) -> Iterator[Row]:
    """Yield one row for each kind and number of bins: Figures 2 to 5."""
    pairs = runs[0].supersample
    best, marginal = rule(pairs), getattr(pairs, "n_unlabeled", pairs.n)
    for binning in ("mass", "width"):
        for bins in dict.fromkeys((best, *BINS)):
            if binning == "mass" and 2 * bins > marginal:
                continue
            found = [measured(run, bins, binning) for run in runs]
            nats = [printed_information(r, f["ece_gap"]) for r, f in zip(runs, found, strict=True)]
            row = {"group": cell.group, "n": cell.n, "binning": binning, "bins": bins}
            row |= {"is_rule": int(bins == best), "networks": cell.networks}
            for name in (*GAPS, *SIDES):
                row |= mean_and_sd(name, np.concatenate([f[name] for f in found]))
            row["largest_gap"] = max(f["ece_gap"].max() for f in found)
            row["printed_information"] = float(np.mean(nats))
            row |= bounds(pairs, bins, 0.0)
            row["bound_at_most_information"] = bounds(pairs, bins, pairs.n * math.log(2.0))["bound"]
            yield row


def recalibration_rows(cell: Cell, runs: list[Runs]) -> Iterator[Row]:
    """Yield Table 1: the error on unseen rows after each kind of recalibration."""
    bins = rule(runs[0].supersample)
    found: dict[str, list[float]] = {"before": [], "separate": [], "reuse": []}
    for number, run in enumerate(runs):
        for draw in range(run.draws):
            for name, value in recalibrated(run, draw, bins, number).items():
                found[name].append(value)
    row = {"group": cell.group, "n": cell.n, "bins": bins, "networks": cell.networks}
    for name, values in found.items():
        row |= mean_and_sd(name, values)
    row["separate_bound"] = theory.recalibration_bound(SEPARATE, bins=bins).value
    yield row | bounds(runs[0].supersample, bins, 0.0)


def recalibrated(run: Runs, draw: int, bins: int, number: int) -> dict[str, float]:
    """Return errors on unseen rows, 100 of which are held out for recalibration."""
    n, pairs = run.supersample.n, run.supersample
    order = stream(number, f"separate {draw}").permutation(n)
    scores, labels = (pick(x, ~run.membership[draw]) for x in (run.found[draw], pairs.y))

    def part(chosen: np.ndarray) -> PUScores:
        return PUScores.from_labels(labels[chosen], scores[chosen])

    separate, test = part(order[:SEPARATE]), part(order[SEPARATE:])
    out = {}
    for name, fitted in (("separate", separate), ("reuse", run.seen(draw))):
        source = bin_scores(fitted, bins=bins, binning="mass")
        on_test = bin_scores(test, edges=source.edges)
        out[name] = reused_error(source, on_test)
        if name == "reuse":
            out["before"] = float(np.abs(on_test.residual).sum())
    return out


def information_row(cell: Cell, runs: Runs) -> Row:
    """Return what many draws of one supersample reveal about the coins, and the resulting
    bounds."""
    pairs = runs.supersample
    bins = rule(pairs)
    found = measure_information(runs, bins=bins, binning="mass")
    # Even without information, the estimate is above zero, so the value for shuffled coins is
    # subtracted.
    excess = max(0.0, found.fcmi - found.fcmi_noise)
    gap = generalization_bound(runs, bins=bins, binning="mass", information=excess)
    return {
        "group": cell.group,
        "n": cell.n,
        "bins": bins,
        **found.to_dict(),
        "excess": excess,
        "excess_bound": gap.bound.value,
        "zero_bound": bounds(pairs, bins, 0.0)["bound"],
        "vacuous": int(gap.vacuous),
        "gap": gap.gap,
        "bin_gap_mean": gap.bin_gap,
    }


def accuracies(cell: Cell, margins: np.ndarray, runs: list[Runs]) -> Iterator[list[float]]:
    """Yield the accuracy and log loss of each network on seen and unseen rows."""
    labels = pool(cell.data)[1]
    for run, on_pairs in zip(runs, margins.astype(float), strict=True):
        pairs = run.supersample
        truth = labels[pairs.rows()].reshape(-1, 2)
        # The labels of unlabeled rows are used only here, for evaluation.
        n = getattr(pairs, "n_unlabeled", None)
        for coins, margin in zip(run.membership, on_pairs, strict=True):
            row = []
            for side in (coins, ~coins):
                f, y = pick(margin, side)[:n], pick(truth, side)[:n]
                row += [((f > 0) == y).mean(), (np.logaddexp(0.0, f) - y * f).mean()]
            yield row


def training_row(group: str, n: int, found: list[list[float]]) -> Row:
    a, b, c, d = np.mean(found, axis=0)
    row = {"group": group, "n": n, "networks": len(found)}
    return row | {"accuracy_seen": a, "accuracy_unseen": c, "loss_seen": b, "loss_unseen": d}


def all_tables(stored: Iterable[tuple], say: Callable) -> dict[str, list[Row]]:
    """Return the rows of every table, computed from the trained networks."""
    out: dict[str, list] = {"bounds": [], "recalibration": [], "information": [], "runs": []}
    networks: dict[tuple[str, int], list] = {}
    for cell, margins, about in stored:
        say(cell.group, cell.key)
        runs = all_runs(cell, margins)
        out["runs"].append({"group": cell.group, "key": cell.key, **about})
        networks.setdefault((cell.group, cell.n), []).extend(accuracies(cell, margins, runs))
        if cell.draws >= MANY:
            out["information"].append(information_row(cell, runs[0]))
            continue
        out["bounds"] += bound_rows(cell, runs)
        if cell.kind == "labeled" and cell.n > 2 * SEPARATE:
            out["recalibration"] += recalibration_rows(cell, runs)
    return out | {"training": [training_row(*key, found) for key, found in networks.items()]}
