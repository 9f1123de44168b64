"""Fill the tables of this experiment's README from its csv files."""

from __future__ import annotations

import math
import sys
from itertools import product
from pathlib import Path

import numpy as np
from figures import TITLES

from noneg.theory import recalibration_bound, reuse_bound

sys.path.append(str(Path(__file__).parents[1]))
import pages
from pages import Row, column, pick, read, table

# Table 1 of the paper: TCE after recalibration with separate rows and with the training rows.
PAPER = {
    ("mnist-labelled-adam", 4000): ((".0085 ± .0016", ".8475"), (".0058 ± .0026", ".1444")),
    ("mnist-labelled-sgld", 4000): ((".0101 ± .0025", ".8475"), (".0072 ± .0007", ".1444")),
    ("cifar10-labelled-sgd", 20_000): ((".0139 ± .0010", "1.455"), (".0197 ± .0044", ".0865")),
    ("cifar10-labelled-sgld", 20_000): ((".0109 ± .0012", "1.455"), (".0089 ± .0006", ".0865")),
}
KINDS = {"labelled": "labelled", "pu": "labels hidden"}


def fill(folder: Path, made_with: str | None) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end -->``.

    Without `made_with` the tables are old, and what made them stays as it is.
    """
    # The documentation shows the outcome, too.
    (folder / "agreement.md").write_text(f"{agreement(folder)}\n", encoding="utf-8")
    blocks = {
        "runs": runs,
        "zero": zero,
        "figure1": figure1,
        "gaps": gaps,
        "pu": pu,
        "table1": table1,
        "information": information,
        "accuracy": accuracy,
        "agreement": agreement,
    }
    parts = {name: made(folder) for name, made in blocks.items()}
    if made_with is not None:
        parts["versions"] = made_with
    pages.fill(folder / "README.md", parts)


def rows(folder: Path, name: str) -> list[Row]:
    path = folder / f"{name}.csv"
    return read(path) if path.exists() else []


def short(value: str, digits: int = 4) -> str:
    return f"{float(value):.{digits}f}"


def spread(row: Row, name: str) -> str:
    return f"{short(row[name])} ± {short(row[f'{name}_sd'])}"


def runs(folder: Path) -> str:
    """Where, with what and how long the networks were trained."""
    found = rows(folder, "runs")
    places = {
        f"{r['device']}, torch {r['torch']}, Python {r['python']}, numpy {r['numpy']}"
        for r in found
    }
    commands = {f"`{r['command']}`" for r in found}
    lines = [
        (
            TITLES[r["group"]],
            r["n"],
            f"{r['supersamples']} x {r['draws']}",
            r["epochs"],
            r["way"],
            short(r["seconds"], 0),
        )
        for r in found
    ]
    places, commands = ("; ".join(sorted(names)) for names in (places, commands))
    head = ["networks", "n", "supersamples x draws", "epochs", "convolutions", "seconds for all"]
    return f"{commands}, seed {found[0]['seed']}; on {places}.\n\n{table(head, lines)}"


def zero(_: Path) -> str:
    """The bounds that need no training."""
    lines = []
    for n, bins, published in ((4000, 15, (".8475", ".1444")), (20_000, 27, ("1.455", ".0865"))):
        ours = [
            recalibration_bound(100, bins=bins).value,
            *(reuse_bound(n, bins=bins, form=f).value for f in ("printed", "corrected")),
        ]
        words = [f"{value:.5f}" for value in ours]
        lines.append((f"{n:,}", str(bins), published[0], words[0], published[1], *words[1:]))
    head = [
        "n",
        "B",
        "100 separate rows, paper",
        "ours",
        "reuse, paper",
        "printed form, ours",
        "corrected form",
    ]
    # The printed form, 2 sqrt(2 (I + B log 2) / n), solved for I.
    nats = 4000 * 0.1444**2 / 8 - 15 * math.log(2.0)
    return f"{table(head, lines)}\n\nAn information of {nats:.2f} nats would make .1442 the .1444."


def figure1(folder: Path) -> str:
    lines = [
        [r["world"], f"{int(r['n']):,}", r["bins"], short(r["bound"]), short(r["gap"]),
         short(r["largest_gap"]), r["bins_of_least_bound"], r["bins_of_least_gap"]]
        for r in rows(folder, "figure1")
    ]  # fmt: skip
    head = [
        "classifier",
        "n",
        "optimal B",
        "bound",
        "mean gap",
        "largest gap",
        "candidate with least bound",
        "candidate with least gap",
    ]
    return f"{table(head, lines)}\n\n{slopes(rows(folder, 'figure1'))}"


def slopes(found: list[Row]) -> str:
    """How fast gap and bound fall, on log scales, from n = 1000 on."""
    parts = []
    for world in dict.fromkeys(r["world"] for r in found):
        some = [r for r in pick(found, world=world) if int(r["n"]) >= 1000]
        n = np.log(column(some, "n"))
        gap, bound = (np.polyfit(n, np.log(column(some, k)), 1)[0] for k in ("gap", "bound"))
        parts.append(f"{world} {gap:.2f} (bound {bound:.2f})")
    return f"Slope of the mean gap on log scales, n from 1000: {', '.join(parts)}."


def gap_line(r: Row) -> tuple[str, ...]:
    gap, bound = float(r["ece_gap"]), float(r["bound"])
    return (
        TITLES[r["group"]],
        r["n"],
        r["networks"],
        r["bins"],
        spread(r, "ece_gap"),
        *(short(r[name]) for name in ("largest_gap", "bin_gap", "seen", "unseen", "bound")),
        "yes" if bound < 1.0 else "no",
        "yes" if gap < bound else "NO",
        short(r["printed_information"], 1),
        short(r["bound_at_most_information"], 2),
    )


GAP_HEAD = [
    "networks",
    "n",
    "number",
    "B",
    "ECE gap ± sd",
    "largest gap",
    "sum over bins",
    "ECE seen",
    "ECE unseen",
    "bound at zero information",
    "below 1",
    "gap below it",
    "printed information",
    "bound at n log 2",
]


def at_rule(folder: Path, kind: str, binning: str = "mass") -> list[Row]:
    found = pick(rows(folder, "bounds"), binning=binning, is_rule=1)
    order = list(TITLES)
    some = [r for r in found if f"-{kind}-" in r["group"]]
    return sorted(some, key=lambda r: (order.index(r["group"]), int(r["n"])))


def gaps(folder: Path) -> str:
    return table(GAP_HEAD, map(gap_line, at_rule(folder, "labelled")))


def pu(folder: Path) -> str:
    return table(GAP_HEAD, map(gap_line, at_rule(folder, "pu")))


def table1(folder: Path) -> str:
    lines = [
        (
            TITLES[r["group"]],
            r["n"],
            r["bins"],
            *(spread(r, name) for name in ("before", "separate", "reuse")),
            *(short(r[name]) for name in ("separate_bound", "reuse_printed", "reuse_corrected")),
        )
        for r in rows(folder, "recalibration")
    ]
    for (group, n), (separate, reuse) in PAPER.items():
        found, bounds = zip(separate, reuse, strict=True)
        lines.append((f"*paper:* {TITLES[group]}", str(n), "", "", *found, *bounds, ""))
    head = [
        "networks",
        "n",
        "B",
        "ECE before",
        "after, 100 separate rows",
        "after, training rows",
        "bound, separate",
        "bound, reuse, printed",
        "corrected",
    ]
    return table(head, lines)


def information(folder: Path) -> str:
    nats = ("fcmi", "fcmi_noise", "ecmi", "ecmi_noise", "most", "ece_gap", "most_shown")
    lines = [
        (
            TITLES[r["group"]],
            r["n"],
            r["draws"],
            *(short(r[name], 1) for name in nats),
            *(short(r[name], 3) for name in ("zero_bound", "excess_bound")),
            "yes" if r["vacuous"] == "1" else "no",
        )
        for r in rows(folder, "information")
    ]
    head = [
        "networks",
        "n",
        "draws",
        "scores",
        "shuffled",
        "bins",
        "shuffled",
        "most possible",
        "printed estimate",
        "most it could be",
        "bound at zero",
        "bound with scores less shuffled",
        "vacuous",
    ]
    return table(head, lines)


def accuracy(folder: Path) -> str:
    lines = [
        [TITLES[r["group"]], r["n"], r["networks"], short(r["accuracy_seen"]),
         short(r["accuracy_unseen"]), short(r["loss_seen"]), short(r["loss_unseen"])]
        for r in rows(folder, "training")
    ]  # fmt: skip
    head = ["networks", "n", "number", "accuracy seen", "unseen", "log loss seen", "unseen"]
    return table(head, lines)


def agreement(folder: Path) -> str:
    """What the tables say about the paper's claims."""
    labelled, hidden = (at_rule(folder, kind) for kind in ("labelled", "pu"))
    wide = at_rule(folder, "pu", binning="width")
    mass = below(hidden, "ece_gap", "bound")
    reuse = below(labelled, "reused", "reuse_printed")
    corrected = f"Corrected: {below(labelled, 'reused', 'reuse_corrected')}."
    return "\n".join(
        [
            f"- **Labelled rows: {below(labelled, 'ece_gap', 'bound')}.** {largest(labelled)}",
            f"- **Labels hidden, mass bins: {mass}.** {crowds(hidden)}",
            f"- Labels hidden, width bins: {below(wide, 'ece_gap', 'bound')}.",
            f"- **After recalibration on the training rows: {reuse}**, as printed. {corrected}",
            f"- Bounds at zero information above 1, vacuous: {above_one(folder)}.",
            f"- **Informed bounds: {vacuous(folder)}.**",
            f"- **Separate rows or training rows: {winners(folder)}.**",
        ]
    )


def crowds(found: list[Row]) -> str:
    """Where the labelled positives are, in the cell with the largest gap."""
    r = max(found, key=lambda r: float(r["ece_gap"]))
    return (
        f"In {named(r)}, the last of {r['bins']} bins holds {float(r['top_seen']):.0%} of the seen "
        f"positives and {float(r['top_unseen']):.0%} of the unseen ones."
    )


def named(r: Row) -> str:
    return f"{TITLES[r['group']]}, n = {int(r['n']):,}"


def below(found: list[Row], gap: str, bound: str) -> str:
    over = [r for r in found if float(r[gap]) >= float(r[bound])]
    words = f"the mean lies below the bound at zero information in {len(found) - len(over)} of "
    words += f"{len(found)} cells"
    if not over:
        return words
    return f"{words}, not in " + "; ".join(
        f"{named(r)} ({short(r[gap], 3)} against {short(r[bound], 3)})" for r in over
    )


def largest(found: list[Row]) -> str:
    """The largest bound, and the largest share of it that a gap reaches."""
    top = max(found, key=lambda r: float(r["bound"]))
    near = max(found, key=lambda r: float(r["ece_gap"]) / float(r["bound"]))
    share = float(near["ece_gap"]) / float(near["bound"])
    singles = sum(float(r["largest_gap"]) < float(r["bound"]) for r in found)
    return (
        f"The largest bound is {short(top['bound'], 3)}; the mean gap is at most {share:.0%} of "
        f"its bound ({named(near)}). Every single network lies below in {singles} cells."
    )


def above_one(folder: Path) -> str:
    """Count the bounds above 1 over all numbers of bins, and at the rule's."""
    parts, every = [], rows(folder, "bounds")
    for (kind, word), binning in product(KINDS.items(), ("mass", "width")):
        some = [r for r in pick(every, binning=binning) if f"-{kind}-" in r["group"]]
        over = [int(r["n"]) for r in some if float(r["bound"]) > 1.0]
        parts.append(f"{word}, {binning} bins, {len(over)} of {len(some)}")
        parts[-1] += f" (n up to {max(over):,})" if over else ""
    ours = sum(float(r["bound"]) > 1.0 for r in pick(every, is_rule=1))
    return f"{'; '.join(parts)}; at the rule's number of bins {ours}"


def vacuous(folder: Path) -> str:
    found = rows(folder, "information")
    parts = [
        f"{named(r)}: {short(r['zero_bound'], 2)} becomes {short(r['excess_bound'], 2)}"
        + (", vacuous" if r["vacuous"] == "1" else "")
        for r in found
    ]
    return "with the information that pairs show, " + "; ".join(parts)


def winners(folder: Path) -> str:
    found = rows(folder, "recalibration")
    reuse = [r for r in found if float(r["reuse"]) < float(r["separate"])]
    best = [r for r in found if float(r["before"]) < min(float(r["reuse"]), float(r["separate"]))]
    return (
        f"training rows are the better ones in {len(reuse)} of {len(found)} cells "
        f"({'; '.join(named(r) for r in reuse)}); no recalibration at all is best in {len(best)}"
    )
