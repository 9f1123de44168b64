"""Default hyperparameters beside the best of several, and how near to the paper that comes."""

# ruff: noqa: E501 - the text is broken where the page breaks it

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from choices import WORLD_NAMES, chosen, common, complete, configs, defaults, main_runs, title
from findings import SHORT, WITHOUT_LABELS, single
from intervals import interval
from noneg.bench.selection import best_checkpoint
from noneg.bench.work import set_up
from pages import percent, table
from plan import CONFIGURATIONS, run
from tables import compared, published, theirs

from noneg.bench import RunConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    Record = dict[str, Any]

ALL = (*WITHOUT_LABELS, "oracle_accuracy")
# Where a few methods have more configurations than the others, on one split.
LETTER = ("letter", "one-sample", 1, 0.3, None)


def shared(records: list[Record]) -> dict[tuple[str, int], set[int]]:
    """Configurations that every method has, by world; worlds with several alone."""
    found: dict[tuple[str, int], set[int]] = {}
    for one, _ in configs(common(complete(single(main_runs(records))))):
        found.setdefault((one.dataset, one.case), set()).add(one.configuration)
    return {world: numbers for world, numbers in sorted(found.items()) if len(numbers) > 1}


def several(records: list[Record]) -> list[Record]:
    """Runs of the worlds and configurations that every method has."""
    worlds = shared(records)
    kept = common(complete(single(main_runs(records))))
    return [r for r in kept if (r["run"]["dataset"], r["run"]["case"]) in worlds]


def gains(records: list[Record]) -> list[dict[str, Any]]:
    """What choosing among configurations by each criterion is worth, and how often it differs."""
    runs = several(records)
    rows = []
    for criterion in ALL:
        best, first = chosen(runs, criterion), chosen(defaults(runs), criterion)
        groups = [method for _, method, _ in first]
        change = [best[p].metrics["accuracy"] - first[p].metrics["accuracy"] for p in first]
        rows.append(
            {
                "criterion": criterion,
                "n": len(first),
                "default": float(np.mean([s.metrics["accuracy"] for s in first.values()])),
                "best": float(np.mean([s.metrics["accuracy"] for s in best.values()])),
                "gap": interval(groups, change),
                "other": float(np.mean([s.run.configuration > 0 for s in best.values()])),
            }
        )
    return rows


def section(records: list[Record]) -> str:
    """The part of the page on configurations."""
    worlds = shared(records)
    if not worlds:
        return ""
    many = max(len(numbers) for numbers in worlds.values())
    names = " and ".join(f"{WORLD_NAMES[d]} {c}" for d, c in worlds)
    rows = gains(records)
    body = [
        [SHORT[r["criterion"]], percent(r["default"]), percent(r["best"]), r["gap"].text(100), percent(r["other"])]
        for r in rows
    ]  # fmt: skip
    head = ["selected by", "default alone", f"best of {many}", "difference", "not the default, %"]
    return f"""
## Default hyperparameters, and the best of {many} configurations

All other sections show the default configuration alone. The paper chooses among {CONFIGURATIONS + 1}: the default and {CONFIGURATIONS} random ones (rate 10^U(-4.5, -2.5),
batches of 16, 32 or 64). On {names} every method shown and every split has {many} configurations here: the default and {_drawn(worlds)}.
Each criterion chooses configuration and checkpoint at once, from the records. Mean test accuracy in % over {rows[0]["n"]} selections:

{table(head, body, "lr")}

{_near(records)}

{_letter(records)}
"""


def _drawn(worlds: dict[tuple[str, int], set[int]]) -> str:
    numbers = sorted(set().union(*worlds.values()) - {0})
    return ", ".join(_setting(LETTER[0], number) for number in numbers)


def _setting(dataset: str, number: int) -> str:
    setup = set_up(run(("upu", "bench", "batch"), dataset, 1, 0, configuration=number))
    return f"rate {setup.lr:.1e} with batches of {setup.batch} + {setup.batch}"


def _near(records: list[Record]) -> str:
    """How far from the paper the worlds with several configurations are."""
    runs = several(records)
    ways = {name: compared(part) for name, part in (("one", defaults(runs)), ("all", runs))}
    parts = []
    for (dataset, case), numbers in shared(records).items():
        gaps = {
            name: [r["difference"] for r in rows if (r["dataset"], r["case"]) == (dataset, case)]
            for name, rows in ways.items()
        }
        if not gaps["one"]:
            continue
        parts.append(
            f"{WORLD_NAMES[dataset]} {case} {np.mean(gaps['one']):+.1f} by default and {np.mean(gaps['all']):+.1f} with the best of {len(numbers)}"
            f" ({len(gaps['one'])} methods; medians {np.median(gaps['one']):+.1f} and {np.median(gaps['all']):+.1f})"
        )
    if not parts:
        return ""
    return f"Ours minus the paper's, points of accuracy selected by OA, mean: {'; '.join(parts)}."


def _letter(records: list[Record]) -> str:
    """Letter, case 1: every version that the paper has, by default, searched, and in the paper."""
    runs = [r for r in several(records) if (r["run"]["dataset"], r["run"]["case"]) == ("letter", 1)]
    if not runs:
        return ""
    numbers = theirs("letter", 1)
    best = _means(chosen(runs, "oracle_accuracy"))
    one = _means(chosen(defaults(runs), "oracle_accuracy"))
    other = _means(chosen([r for r in runs if r["run"]["configuration"] > 0], "oracle_accuracy"))
    few, many = _ten(records)
    rows: list[tuple[float, list[str]]] = []
    for method in one:
        paper = numbers.get(published(method) or "")
        if paper is not None:
            more = percent(few[method]) if method in few else ""
            cells = [percent(one[method]), percent(other[method]), percent(best[method]), more]
            rows.append((100 * one[method] - paper, [title(method), *cells, f"{paper:.1f}"]))
    head = [
        "Letter 1, by OA",
        "default",
        "random",
        "best of both",
        f"best of up to {many}, split 0",
        "paper",
    ]
    return f"""### Why Letter lies below the paper

{table(head, [row for _, row in sorted(rows, key=lambda x: x[0])], "lr")}

{_reasons(records)}

{_tried(records)}"""


def late(records: list[Record], dataset: str, share: float = 0.8) -> float:
    """How many runs with default hyperparameters are best, by OA, near the end of training."""
    found = chosen(defaults(single(main_runs(records))), "oracle_accuracy").values()
    own = [s.step > share * s.run.steps for s in found if s.run.dataset == dataset]
    return float(np.mean(own))


def stuck(records: list[Record], method: str) -> tuple[int, int, float]:
    """Default runs on Letter that call every row positive, of how many, and their least error."""
    found = chosen(defaults(single(main_runs(records))), "oracle_accuracy")
    own = [s.metrics for (w, m, _), s in found.items() if (w[0], m) == ("letter", method)]
    # Who calls every row positive has the share of positives for accuracy and for precision.
    alike = [m for m in own if m["recall"] == 1.0 and m["accuracy"] == m["precision"]]
    return len(alike), len(own), min((m["ece"] for m in alike), default=np.nan)


_UNDONE = """- Training is half as long, and Letter is not done: in {letter} % of its default runs the best checkpoint by OA lies in the last
  fifth of training (USPS: {usps} %)."""


def _reasons(records: list[Record]) -> str:
    """What the numbers say about the distance."""
    ends = {name: percent(late(records, name)) for name in ("letter", "usps")}
    lines = [_UNDONE.format(**ends)]
    dist = [stuck(records, f"dist-pu/bench/{c}") for c in ("none", "batch")]
    alike, runs = (sum(part[k] for part in dist) for k in range(2))
    if runs:
        lines.append(
            f"""- Dist-PU needs another rate: features are whole numbers up to 15, unscaled as in the paper, and the first steps at rate 1e-3 send every
  logit so far up that the sigmoid has no slope left. {alike} of {runs} default runs call every test row positive, with a true calibration
  error of at least {min(part[2] for part in dist):.3f}. Far smaller rates learn (below)."""
        )
    rates = tried(records).get("upu/bench/batch", {})
    if len(rates) > 2:
        ordered = sorted(rates, key=_rate)
        cells = ", ".join(f"{percent(rates[n])} at {_rate(n):.1e}" for n in ordered)
        lines.append(
            f"- uPU-c, which has a rate and a batch to choose and nothing else, has {cells} (split 0)."
        )
    return "\n".join(lines)


def _means(found: dict[tuple, Any]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for (_, method, _), s in found.items():
        values.setdefault(method, []).append(s.metrics["accuracy"])
    return {method: float(np.mean(v)) for method, v in values.items()}


def tried(records: Iterable[Record]) -> dict[str, dict[int, float]]:
    """Letter 1, split 0: accuracy by OA of each configuration, of methods with more than two."""
    found: dict[str, dict[int, float]] = {}
    for record in single(main_runs(records)):
        one = RunConfig.from_dict(record["run"])
        if (one.dataset, one.case, one.split) == ("letter", 1, 0) and record["status"] == "done":
            best = best_checkpoint(record, "oracle_accuracy")
            if best is not None:
                found.setdefault(one.method, {})[one.configuration] = best.metrics["accuracy"]
    return {method: cells for method, cells in found.items() if len(cells) > 2}


def _ten(records: list[Record]) -> tuple[dict[str, float], int]:
    """Accuracy of the best of all configurations by OA, on one split, and how many they are."""
    methods = tried(records)
    runs = [
        r
        for r in single(main_runs(records))
        if (r["run"]["dataset"], r["run"]["case"], r["run"]["split"]) == ("letter", 1, 0)
    ]
    best = _means({p: s for p, s in chosen(runs, "oracle_accuracy").items() if p[1] in methods})
    return best, max((len(cells) for cells in methods.values()), default=0)


def _tried(records: list[Record]) -> str:
    """All configurations that a few methods were given on one split."""
    found = tried(records)
    if not found:
        return ""
    numbers = sorted({n for cells in found.values() for n in cells}, key=_rate)
    body = []
    for number in numbers:
        setup = set_up(run(("upu", "bench", "batch"), "letter", 1, 0, configuration=number))
        cells = [percent(cells.get(number), missing="") for cells in found.values()]
        body.append([f"{setup.lr:.1e}", str(setup.batch), *cells])
    return f"""All configurations of a few methods, split 0:

{table(["rate", "batch", *(title(m) for m in found)], body, "r")}"""


def _rate(number: int) -> float:
    return set_up(run(("upu", "bench", "batch"), "letter", 1, 0, configuration=number)).lr
