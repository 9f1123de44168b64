"""Fill the tables of this experiment's README from its csv files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import pages
from pages import column, percent, pick, read, table


def span(row: dict[str, str], stem: str = "") -> str:
    return f"{percent(row[f'{stem}lower'])} to {percent(row[f'{stem}upper'])}"


def figure2(folder: Path) -> str:
    lines = []
    for row in pick(read(folder / "figure2.csv"), band="pointwise"):
        exact = pick(read(folder / "figure2.csv"), band="exact", n_known=row["n_known"])[0]
        cells = [f"{int(row['n_known']):,}", span(row), percent(row["width"])]
        cells += [percent(row["contains"]), span(exact), percent(exact["contains"])]
        lines.append(cells)
    head = ["known positives", "bounds, %", "width", "contain the true area, % of trials"]
    head += ["exact band", "contain"]
    return table(head, lines)


def figure3(folder: Path) -> str:
    lines = [
        [row["beta"], span(row, "roc_"), span(row, "pr_")] for row in read(folder / "figure3.csv")
    ]
    return table(["assumed beta", "AUROC, %", "area under PR, %"], lines)


def figure4(folder: Path) -> str:
    rows = read(folder / "figure4.csv")
    names = list(dict.fromkeys(row["model"] for row in rows))
    paper = {"0": ("72.5", "73.2"), "0.1": ("75.5", "74.7")}
    lines = []
    for beta, printed in paper.items():
        at = [pick(rows, model=name, beta=beta)[0] for name in names]
        ours = [percent(row["auc"]) for row in at]
        free = [percent(row["auc_unclipped"]) for row in at[:2]]
        lines.append([beta, *printed, *ours[:2], *free, *ours[2:]])
    limits = [float(pick(rows, model=name)[0]["largest_beta"]) for name in names]
    shown = [f"{x:.3f}" for x in limits]
    lines.append(["largest possible", "", "", *shown[:2], "", "", *shown[2:]])
    head = ["assumed beta", "paper's model 1", "2", "ours 1", "2", "1 without clipping", "2"]
    head += ["ours 3", "4"]
    return table(head, lines)


def crossings(folder: Path) -> str:
    lines = [
        [r[name] for name in ("metric", "one", "other", "crossings")]
        for r in read(folder / "crossings.csv")
    ]
    return table(["metric", "model", "model", "order changes at beta"], lines)


def latent(folder: Path) -> str:
    rows = read(folder / "latent.csv")
    lines = []
    for n in dict.fromkeys(row["latent"] for row in rows):
        cells = [
            f"{percent(r['coverage'])} ({percent(r['worst_cut_off'])})"
            for band in ("pointwise", "exact", "prediction")
            for r in pick(rows, latent=n, band=band)
        ]
        lines.append([f"{int(n):,}", *cells])
    return table(["latent positives", "pointwise", "exact", "prediction"], lines)


def figure5(folder: Path) -> str:
    lines = [
        [r["beta"], *(span(r, stem) for stem in ("roc_", "roc_envelope_", "pr_"))]
        for r in read(folder / "figure5.csv")
    ]
    head = ["", "AUROC, %", "of the envelopes", "area under PR, %"]
    inside = percent(read(folder / "figure5_cdf.csv")[0]["inside"])
    note = f"The band holds the latent positives' rank CDF at {inside} % of the cut-offs."
    return f"{table(head, lines)}\n\n{note}"


def tables(folder: Path) -> str:
    rows = pick(read(folder / "tables.csv"), guess="1")
    lines = []
    for known in dict.fromkeys(row["known_positives"] for row in rows):
        cells = []
        for share in ("0", "0.4", "0.8"):
            for basis in ("positives", "tighter")[: 1 if share == "0" else 2]:
                part = pick(rows, known_positives=known, known_negatives=share, basis=basis)
                row = pick(part, band="pointwise")[0]
                mark = "*" if float(row["from_negatives"]) > 0.5 else ""
                cells.append(f"{span(row)}{mark} ({percent(row['contains'], 0)})")
                if share == "0":
                    row = pick(part, band="prediction")[0]
                    cells.append(f"{span(row)} ({percent(row['contains'], 0)})")
        lines.append([percent(known, 0), *cells])
    head = ["positives known, %", "no negatives known", "the same, band for latent positives"]
    head += ["40 %: Table 1", "Table 2", "80 %: Table 1", "Table 2"]
    return table(head, lines)


def propositions(folder: Path) -> str:
    rows = read(folder / "propositions.csv")
    lines = []
    for proxy in ("PA", "PAUC"):
        for setting in ("two-sample", "one-sample"):
            part = pick(rows, proxy=proxy, setting=setting)
            gap = column(part, "mean") - column(part, "expected")
            error = column(part, "standard_error")
            z = gap[error > 1e-9] / error[error > 1e-9]  # who calls nobody positive has no error
            cells = [proxy, setting, str(len(part)), f"{np.abs(gap).max():.4f}"]
            cells += [f"{np.abs(z).max():.1f}", f"{np.sqrt((z**2).mean()):.2f}"]
            lines.append(cells)
    head = ["proxy", "setting", "classifiers", "largest gap of the mean", "in standard errors"]
    head += ["root mean square of these"]
    return table(head, lines)


def orders(folder: Path) -> str:
    lines = []
    for r in read(folder / "orders.csv"):
        cells = [r["case"], r["setting"], r["proxy"], f"{int(r['n']):,}"]
        cells += [percent(r["pairs_in_order"]), percent(r["pairs_in_order_of_means"])]
        cells.append(percent(r["lost_by_choice"], 2))
        lines.append(cells)
    head = ["digits", "setting", "proxy", "rows", "pairs in order, %", "of the mean proxies, %"]
    head += ["lost by choosing the best, points"]
    return table(head, lines)


def shift(folder: Path) -> str:
    rows = read(folder / "shift.csv")
    lines = []
    for case in ("case 1", "case 2"):
        for name in dict.fromkeys(row["training"] for row in rows):
            part = pick(rows, case=case, training=name)
            cells = [f"{percent(r['accuracy'])} ± {percent(r['standard_error'])}" for r in part]
            lines.append([case, name, *cells])
    shares = [percent(r["labelled"], 0) for r in pick(rows, case="case 1", training="two-sample")]
    return table(["digits", "training", *(f"{share} %" for share in shares)], lines)


PARTS = {
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "crossings": crossings,
    "latent": latent,
    "figure5": figure5,
    "tables": tables,
    "propositions": propositions,
    "orders": orders,
    "shift": shift,
}


def fill(folder: Path, versions: str) -> None:
    """Write the numbers between the markers of the README."""
    found = {n: part(folder) for n, part in PARTS.items() if (folder / f"{n}.csv").exists()}
    pages.fill(folder / "README.md", {"versions": versions, **found})
