"""Fill the tables of the README from the csv files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from measures import CALIBRATORS, NAMES
from mixtures import SYNTHETIC, TOLERANCE
from pictures import TITLES

sys.path.append(str(Path(__file__).parents[1]))
import pages
from pages import pick, read, table

CLASSIFIERS = ("less calibrated", "better calibrated")  # of the paper, in its Figures 4 and 5
USABLE = 0.02  # probabilities that are off by two points on average
SUFFIXES = ("", *(f"_{c}" for c in CALIBRATORS))


def with_error(row: pages.Row, name: str, digits: int = 4) -> str:
    return pages.with_error(row[name], row[f"{name}_se"], digits)


def made(folder: Path) -> str:
    found = json.loads((folder / "made.json").read_text())
    lines = [
        f"- {t['classifiers']:,} classifiers, seeds from {t['seed']}: {t['device']}, "
        f"Python {t['python']}, torch {t['torch']}, numpy {t['numpy']}; `{t['command']}`"
        for t in found["training"]
    ]
    analysis = found["analysis"]
    packages = ", ".join(f"{k} {v}" for k, v in analysis.items() if k != "command")
    return "\n".join([*lines, f"- measured with {packages}; `{analysis['command']}`"])


def figure1(folder: Path) -> str:
    rows = pick(read(folder / "summary.csv"), data="mnist")
    sizes = list(dict.fromkeys(r["n"] for r in rows))
    lines = []
    for name in NAMES:
        own = {r["n"]: r for r in pick(rows, name=name)}
        lines.append([name, own[sizes[0]]["trials"], *(with_error(own[n], "ece") for n in sizes)])
    return table(["classifier", "trials", *(f"n = {int(n):,}" for n in sizes)], lines)


def ordering(folder: Path) -> str:
    rows = pick(read(folder / "ordering.csv"), error="ece")
    lines = [
        [
            r["data"],
            f"{int(r['n']):,}",
            f"{r['smaller']} < {r['larger']}",
            f"{float(r['difference']):+.4f} ({float(r['low']):+.4f}, {float(r['high']):+.4f})",
            r["trials"],
            f"{100 * float(r['share_of_trials']):.0f} %",
            r["verdict"],
        ]
        for r in rows
    ]
    head = "data,n,claim,difference (95 % interval),trials,so in,verdict"
    return table(head.split(","), lines)


def largest(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of each data set with the most labelled images."""
    most = {r["data"]: str(max(int(o["n"]) for o in pick(rows, data=r["data"]))) for r in rows}
    return [r for r in rows if r["n"] == most[r["data"]]]


def place(row: dict[str, str]) -> list[str]:
    return [row["data"], f"{int(row['n']):,}", row["name"]]


def logits(folder: Path) -> str:
    lines = []
    for r in largest(read(folder / "summary.csv")):
        columns = ("positive_median", "positive_iqr", "negative_median")
        middle = [f"{float(r[c]):.1f}" for c in columns]
        accuracy, auc, extreme = (
            f"{100 * float(r[c]):.1f}" for c in ("accuracy", "auc", "extreme")
        )
        lines.append([*place(r), accuracy, auc, *middle, extreme, f"{float(r['epoch']):.0f}"])
    head = "data,n,classifier,accuracy %,AUC %,median logit of positives,their quartile range"
    head += ",median logit of negatives,scores within .01 of 0 or 1 %,epoch kept"
    return table(head.split(","), lines)


def recalibration(folder: Path) -> str:
    lines = [
        [
            *place(r),
            r["trials"],
            *(with_error(r, f"ece{s}") for s in SUFFIXES),
            f"{float(r['ece_if_calibrated']):.4f}",
        ]
        for r in read(folder / "summary.csv")
    ]
    head = "data,n,classifier,trials,ECE,Platt,isotonic,Auto,if calibrated"
    return table(head.split(","), lines)


def usable(folder: Path) -> str:
    """The smallest mean error of each classifier and size over treatments, and which it was."""
    rows = pick(read(folder / "summary.csv"), data="mnist")
    sizes = list(dict.fromkeys(r["n"] for r in rows))
    lines = []
    for name in NAMES:
        cells = []
        for r in pick(rows, name=name):
            errors = {s: float(r[f"ece{s}"]) for s in SUFFIXES if r[f"ece{s}"] != "nan"}
            best = min(errors, key=errors.get)
            text = f"{errors[best]:.3f} {TITLES[best]}"
            cells.append(f"**{text}**" if errors[best] <= USABLE else text)
        lines.append([name, *cells])
    return table(["classifier", *(f"n = {int(n):,}" for n in sizes)], lines)


def proper(folder: Path) -> str:
    """Brier score and log loss: they ask for sharp probabilities too."""
    lines = [
        [
            *place(r),
            *(f"{float(r[f'brier{s}']):.4f}" for s in SUFFIXES),
            *(f"{float(r[f'log_loss{s}']):.3f}" for s in SUFFIXES),
        ]
        for r in largest(read(folder / "summary.csv"))
    ]
    head = "data,n,classifier,Brier,Platt,isotonic,Auto,log loss,Platt,isotonic,Auto"
    return table(head.split(","), lines)


def pu_ece(folder: Path) -> str:
    rows = read(folder / "models.csv")
    lines = []
    for data in ("mnist", "cifar10"):
        own = pick(rows, data=data)
        for name in NAMES:
            part = pick(own, name=name)
            if part:
                found, true = (np.array([float(r[c]) for r in part]) for c in ("pu_ece", "ece"))
                gap = np.abs(found - true)
                cells = [f"{v:.4f}" for v in (true.mean(), found.mean(), gap.mean(), gap.max())]
                lines.append([data, name, str(len(part)), *cells])
    head = [
        "data",
        "classifier",
        "models",
        "mean ECE",
        "mean PU-ECE",
        "mean absolute difference",
        "largest",
    ]
    return table(head, lines)


def mixtures(folder: Path) -> str:
    rows, lines = read(folder / "mixtures.csv"), []
    for world in read(folder / "worlds.csv"):
        own = pick(rows, world=world["world"])
        numbers = [str(len(pick(own, **{"class": label}))) for label in ("positive", "negative")]
        prior, tce, steepest = own[0]["prior"], float(world["tce"]), float(world["lipschitz"])
        lines.append([world["world"], prior, *numbers, f"{tce:.4f}", f"{steepest:.3g}"])
    head = ["mixture", "prior", "Gaussians, positives", "negatives", "TCE", "L, logits to ±12"]
    return table(head, lines)


def compared(folder: Path) -> list[dict[str, object]]:
    """Set each slope beside the nearer synthetic one, and beside the one that noise explains."""
    synthetic = pick(read(SYNTHETIC / "slopes.csv"), n_low="100")
    predicted = read(folder / "predicted.csv")
    out = []
    for r in pick(read(folder / "slopes.csv"), n_low="100"):
        keys = {"figure": r["figure"], "setting": r["setting"]}
        known = [s for s in pick(synthetic, **keys) if s["world"] in CLASSIFIERS]
        slope, error = float(r["slope"]), float(r["standard_error"])
        near = min(known, key=lambda s, slope=slope: abs(float(s["slope"]) - slope))
        (expected,) = pick(predicted, world=r["world"], **keys)
        of_near = [p for p in pick(predicted, **keys) if p["world"] in CLASSIFIERS]
        expected_distance = min(abs(float(p["slope"]) - float(expected["slope"])) for p in of_near)
        row = {"world": r["world"], **keys, "slope": slope, "error": error, "near": near}
        row |= {"distance": abs(slope - float(near["slope"]))}
        row |= {"distance_error": float(np.hypot(error, float(near["standard_error"])))}
        row |= {"expected": float(expected["slope"]), "expected_distance": expected_distance}
        out.append(row)
    return out


def slopes(folder: Path) -> str:
    """Slopes on mixtures beside those of the two synthetic classifiers, and beside theory."""
    rows = compared(folder)
    lines = [
        [
            r["figure"],
            r["world"],
            r["setting"],
            f"{r['slope']:.3f} ± {r['error']:.3f}",
            f"{r['expected']:.3f}",
            f"{float(r['near']['slope']):.3f} ({r['near']['world'].split()[0]})",
            f"{r['distance']:.3f} ± {r['distance_error']:.3f}",
            "yes" if r["distance"] <= TOLERANCE else "no",
        ]
        for r in rows
    ]
    head = "figure,mixture,setting,slope from N = 100,expected from noise in bins"
    head += f",nearer synthetic slope,distance,within {TOLERANCE}"
    counts = "\n".join(f"- Figure {f}: {counted(pick(rows, figure=f))}" for f in ("4", "5"))
    return f"{table(head.split(','), lines)}\n\n{counts}"


def counted(rows: list[dict[str, object]]) -> str:
    """Say how many slopes agree, how sure that is, and how many theory expects to differ."""
    far = [r for r in rows if r["distance"] > TOLERANCE]
    sure = [r for r in far if r["distance"] - 2.0 * r["distance_error"] > TOLERANCE]
    foreseen = [r for r in far if r["expected_distance"] > TOLERANCE]
    gaps = np.array([r["slope"] - r["expected"] for r in rows])
    near = int((np.abs(gaps) <= TOLERANCE).sum())
    return (
        f"**within {TOLERANCE} of a synthetic slope: {len(rows) - len(far)} of {len(rows)}.** Of "
        f"the other {len(far)}, by more than two standard errors beyond that: {len(sure)}; as "
        f"expected outside: {len(foreseen)}. Within {TOLERANCE} of the slope expected from noise: "
        f"{near} of {len(rows)} (root mean square {np.sqrt((gaps**2).mean()):.3f})."
    )


def floors(folder: Path) -> str:
    lines = [
        [
            r["world"],
            f"{int(r['n_positive']):,}",
            *(f"{float(r[c]):.4f} ± {float(r[c + '_se']):.4f}" for c in ("bias", "floor")),
        ]
        for r in read(folder / "floors.csv")
    ]
    return table(["mixture", "n_P", "bias at the largest n_U", "floor, n_U infinite"], lines)


TABLES = (
    made,
    figure1,
    ordering,
    logits,
    recalibration,
    usable,
    proper,
    pu_ece,
    mixtures,
    slopes,
    floors,
)


def fill(folder: Path) -> None:
    """Write the numbers between the markers of the README."""
    pages.fill(folder / "README.md", {make.__name__: make(folder) for make in TABLES})
