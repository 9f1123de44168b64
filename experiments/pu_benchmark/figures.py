"""Pictures: positive rates, wrong priors, ranks, and the two calibration errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from choices import NAMES, chosen, defaults, title
from findings import agreement, ranks
from plan import CORRECTED, TOLD, TWINS

from noneg.plots import CriticalDifferenceDisplay
from noneg.plots.base import COLOURS, DASHES, MARKERS

if TYPE_CHECKING:
    from pathlib import Path


def draw(records, out: Path) -> None:
    for name, figure in (
        ("rates", rates(records)),
        ("priors", priors(records)),
        (
            "ranks",
            CriticalDifferenceDisplay(ranks=ranks(records, "accuracy", "proxy_accuracy"))
            .plot()
            .figure_,
        ),
        ("calibration", errors(records)),
    ):
        figure.savefig(out / f"{name}.png", dpi=110)
        plt.close(figure)


def rate_table(records, criterion: str = "oracle_accuracy"):
    """Accuracies by data set, method, correction and rate, one value a split."""
    table: dict[tuple, dict[float, list[float]]] = {}
    for (world, method, _), s in chosen(defaults(records), criterion).items():
        dataset, setting, case, rate, prior = world
        parts = method.split("/")
        known = parts[0] in CORRECTED and parts[1:2] == ["bench"] and dataset != "cifar10"
        if known and (setting, case, prior) == ("one-sample", 1, None):
            cell = table.setdefault((dataset, parts[0], parts[2]), {})
            cell.setdefault(rate, []).append(s.metrics["accuracy"])
    return table


def rate_line(table, dataset: str, name: str, correction: str):
    """Return rates, means and standard errors; of its twin where a method has one."""
    same, _, kind = TWINS.get((name, "bench", correction), (name, "bench", correction))
    cell = table.get((dataset, same, kind), {})
    x = sorted(cell)
    means = np.array([100 * np.mean(cell[r]) for r in x])
    errors = np.array(
        [
            100 * np.std(cell[r], ddof=1) / np.sqrt(len(cell[r])) if len(cell[r]) > 1 else 0.0
            for r in x
        ]
    )
    return np.array(x), means, errors


def rates(records):
    """Accuracy against the rate of labelled rows, with and without correction."""
    table = rate_table(records)
    figure, axes = plt.subplots(
        2, len(CORRECTED), figsize=(13, 5), sharex=True, sharey="row", layout="constrained"
    )
    for row, dataset in zip(axes, ("usps", "letter"), strict=True):
        for ax, name in zip(row, CORRECTED, strict=True):
            for k, (correction, label) in enumerate((("none", "as it is"), ("batch", "corrected"))):
                x, means, errors = rate_line(table, dataset, name, correction)
                ax.errorbar(
                    100 * x, means, errors, color=COLOURS[k], marker=MARKERS[k],
                    linestyle=DASHES[1 - k], markersize=4, label=label,
                )  # fmt: skip
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_title(NAMES[name] if dataset == "usps" else "", fontsize="medium")
        row[0].set_ylabel(f"{ {'usps': 'USPS', 'letter': 'Letter'}[dataset] } accuracy, %")
    for ax in axes[1]:
        ax.set_xlabel("labelled rows, %")
    axes[0, 0].legend(fontsize="small", edgecolor="none")
    return figure


def told_cells(records) -> dict[str, dict[float, list]]:
    """Metrics by method and prior that was told, an entry a split; priors that all methods have."""
    cells: dict[str, dict[float, list]] = {}
    for (world, method, _), s in chosen(defaults(records), "proxy_accuracy").items():
        if world[:4] == ("usps", "one-sample", 1, 0.3) and method in TOLD:
            prior = 0.5 if world[4] is None else world[4]
            cells.setdefault(method, {}).setdefault(prior, []).append(s.metrics)
    whole = set.intersection(*map(set, cells.values())) if cells else set()
    return {
        method: {prior: found[prior] for prior in sorted(whole)}
        for method, found in sorted(cells.items())
    }


def priors(records):
    """Accuracy and calibration error against the prior that was told."""
    cells = told_cells(records)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (metric, scale, label) in zip(
        axes, (("accuracy", 100, "accuracy, %"), ("ece", 1, "true calibration error")), strict=True
    ):
        for k, (method, found) in enumerate(cells.items()):
            x = list(found)
            y = [scale * np.mean([m[metric] for m in found[p]]) for p in x]
            ax.plot(
                x, y, color=COLOURS[k], marker=MARKERS[k], linestyle=DASHES[k % 4],
                markersize=4.5, label=title(method),
            )  # fmt: skip
        ax.axvline(0.5, color="0.85", zorder=0)
        ax.set(xlabel="prior that was told (true: 0.5)", ylabel=label)
        ax.set_xticks(sorted({p for found in cells.values() for p in found}))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize="small", edgecolor="none")
    return figure


def errors(records):
    """PU-ECE beside the true error, a point a run."""
    found = agreement(records)
    values = found["pairs"]
    figure, ax = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
    top = 1.05 * float(np.nanmax(values))
    ax.plot([0, top], [0, top], color="0.7", linewidth=1)
    ax.plot(values[:, 1], values[:, 0], ".", color=COLOURS[0], alpha=0.4, markersize=5)
    ax.set(
        xlabel="true calibration error, test rows",
        ylabel="PU-ECE, validation rows without negatives",
        title=f"{len(values)} runs, correlation {found['pearson'].value:.2f}",
    )
    ax.spines[["top", "right"]].set_visible(False)
    return figure
