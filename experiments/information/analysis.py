"""From margins on seen and unseen rows to gaps, bounds and informations; no torch needed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
from cells import Cell
from noneg.information.quantities import reused_error, seen_and_unseen
from noneg.information.supersample import PUSupersample, Supersample, pick
from scipy.special import expit

from noneg.bins import bin_scores, labelled_order_rule, order_rule
from noneg.information import Runs, generalization_bound, measure_information, printed_information
from noneg.randomness import stream
from noneg.scores import PUScores
from noneg.theory import (
    generalization_bound as pu_generalization_bound,
)
from noneg.theory import (
    recalibration_bound,
    reuse_bound,
    training_statistical_bound,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BINS = (6, 9, 14, 22, 34, 52)
SEPARATE = 100
# So many draws show something of each coin; a cell of the paper has ten or five.
MANY = 12
GAPS = ("ece_gap", "bin_gap", "label_gap", "mass_gap", "reused")
# Errors, and the share of the positives in the last bin.
SIDES = ("seen", "unseen", "top_seen", "top_unseen")


def stored(folder: Path) -> Iterator[tuple[Cell, np.ndarray, dict]]:
    """Yield the cells that were trained, with margins and what is known of the training."""
    names = ("data", "kind", "optimiser", "n", "supersamples", "draws", "epochs")
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.endswith("/margins"):
                    about = json.loads(str(arrays[key.replace("margins", "about")]))
                    yield Cell(*(about[name] for name in names)), arrays[key], about


def all_runs(cell: Cell, margins: np.ndarray) -> list[Runs]:
    """Return the runs of each supersample of a cell."""
    return [
        Runs(cell.pairs(k), cell.membership(k), expit(margins[k].astype(np.float64)))
        for k in range(cell.supersamples)
    ]


def rule(pairs: Supersample | PUSupersample) -> int:
    """Return the papers' number of bins."""
    if isinstance(pairs, PUSupersample):
        return order_rule(pairs.n_positive, pairs.n_unlabeled, pairs.prior)
    return labelled_order_rule(pairs.n)


def bounds(pairs: Supersample | PUSupersample, bins: int, nats: float) -> dict[str, float]:
    """Return the bounds at a given information: on the gap, and after recalibration."""
    none = float("nan")
    if isinstance(pairs, PUSupersample):
        sizes = (pairs.n_positive, pairs.n_unlabeled, pairs.prior)
        whole = pu_generalization_bound(
            *sizes, bins=bins, binning="width", lipschitz=0.0, fcmi=nats
        )
        return {
            "bound": whole.statistical + whole.information,
            "reuse_printed": none,
            "reuse_corrected": none,
        }
    return {
        "bound": training_statistical_bound(pairs.n, bins=bins, ecmi=nats).value,
        "reuse_printed": reuse_bound(pairs.n, bins=bins, fcmi=nats, form="printed").value
        if pairs.n >= 2 * bins
        else none,
        "reuse_corrected": reuse_bound(pairs.n, bins=bins, fcmi=nats).value
        if pairs.n >= 2 * bins
        else none,
    }


def measured(runs: Runs, bins: int, binning: str) -> dict[str, np.ndarray]:
    """Return what the bounds speak of, a draw an entry."""
    out: dict[str, list[float]] = {name: [] for name in (*GAPS, *SIDES)}
    for seen, unseen in seen_and_unseen(runs, bins=bins, binning=binning):
        sides = [float(np.abs(side.residual).sum()) for side in (seen, unseen)]
        tops = [float(side.positive[-1]) for side in (seen, unseen)]
        for name, value in zip(SIDES, (*sides, *tops), strict=True):
            out[name].append(value)
        out["ece_gap"].append(abs(sides[0] - sides[1]))
        out["bin_gap"].append(float(np.abs(seen.residual - unseen.residual).sum()))
        labels = seen.prior * seen.positive - unseen.prior * unseen.positive
        out["label_gap"].append(float(np.abs(labels).sum()))
        out["mass_gap"].append(float(np.abs(seen.marginal - unseen.marginal).sum()))
        out["reused"].append(reused_error(seen, unseen))
    return {name: np.array(values) for name, values in out.items()}


def bound_rows(cell: Cell, runs: list[Runs]) -> Iterator[dict[str, object]]:
    """Yield a row for each kind and number of bins: Figures 2 to 5."""
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
                values = np.concatenate([f[name] for f in found])
                row |= {name: values.mean(), f"{name}_sd": values.std(ddof=1)}
            row["largest_gap"] = max(f["ece_gap"].max() for f in found)
            row["printed_information"] = float(np.mean(nats))
            row |= bounds(pairs, bins, 0.0)
            row["bound_at_most_information"] = bounds(pairs, bins, pairs.n * math.log(2.0))["bound"]
            yield row


def recalibration_rows(cell: Cell, runs: list[Runs]) -> Iterator[dict[str, object]]:
    """Yield Table 1: the error on unseen rows after each way to recalibrate."""
    bins = rule(runs[0].supersample)
    found: dict[str, list[float]] = {"before": [], "separate": [], "reuse": []}
    for number, run in enumerate(runs):
        for draw in range(run.draws):
            for name, value in recalibrated(run, draw, bins, number).items():
                found[name].append(value)
    row = {"group": cell.group, "n": cell.n, "bins": bins, "networks": cell.networks}
    for name, values in found.items():
        row |= {name: float(np.mean(values)), f"{name}_sd": float(np.std(values, ddof=1))}
    row["separate_bound"] = recalibration_bound(SEPARATE, bins=bins).value
    yield row | bounds(runs[0].supersample, bins, 0.0)


def recalibrated(run: Runs, draw: int, bins: int, number: int) -> dict[str, float]:
    """Return errors on unseen rows, 100 of which are set apart to recalibrate with."""
    n, pairs = run.supersample.n, run.supersample
    order = stream(number, f"separate {draw}").permutation(n)
    scores, labels = (
        pick(run.found[draw], ~run.membership[draw]),
        pick(pairs.y, ~run.membership[draw]),
    )

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


def information_row(cell: Cell, runs: Runs) -> dict[str, object]:
    """Return what many draws of one supersample show of the coins, and the bounds with that."""
    pairs = runs.supersample
    bins = rule(pairs)
    found = measure_information(runs, bins=bins, binning="mass")
    # An estimate of no information is above zero: what shuffled coins show is taken off.
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


def tables(folder: Path, say: object) -> dict[str, list[dict[str, object]]]:
    """Return the rows of every table, from what was trained."""
    out: dict[str, list] = {"bounds": [], "recalibration": [], "information": [], "runs": []}
    for cell, margins, about in stored(folder):
        say(cell.group, cell.key)
        runs = all_runs(cell, margins)
        out["runs"].append({"group": cell.group, "key": cell.key, **about})
        if cell.draws >= MANY:
            out["information"].append(information_row(cell, runs[0]))
            continue
        out["bounds"] += bound_rows(cell, runs)
        if cell.kind == "labelled" and cell.n > 2 * SEPARATE:
            out["recalibration"] += recalibration_rows(cell, runs)
    size = lambda row: (row["group"], row["n"])  # noqa: E731
    return {name: sorted(rows, key=size) for name, rows in out.items()}
