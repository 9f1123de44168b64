"""Two samples beside one: who loses, and what corrects it."""

# ruff: noqa: E501 - the text is broken where the page breaks it

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from choices import NAMES, WORLD_NAMES, chosen, defaults, title
from findings import SHORT
from intervals import interval
from pages import percent, table
from plan import CORRECTED, TWINS

from noneg.learning.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from intervals import Interval

    from noneg.bench import Selected

    Record = dict[str, Any]

_TWINS = {"/".join(m for m in twin if m) for twin in TWINS}
_WORDS = {True: "holds", False: "is not supported", None: "was not tested"}


def shift(records: list[Record], criterion: str) -> dict[str, Any]:
    """Two-sample methods: in two samples, in one sample as they are, corrected, and original."""
    runs = [r for r in defaults(records) if r["run"]["algorithm"] in CORRECTED]
    found = chosen(runs, criterion)
    table: dict[str, dict[str, list[float]]] = {}
    repaired: dict[str, tuple[list[str], list[float]]] = {
        "batch": ([], []), "ref": ([], []), "two": ([], [])
    }  # fmt: skip
    for (world, method, split), s in found.items():
        dataset, _, case, rate, prior = world
        name, *rest = method.split("/")
        if rate != 0.3 or prior is not None or rest[-1:] != ["none"] or method in _TWINS:
            continue
        plain = s.metrics["accuracy"]
        batch = _same(found, world, name, "batch", split)
        ref = found.get((world, name, split))
        two = found.get(((dataset, "two-sample", case, rate, prior), f"{name}/bench", split))
        row = table.setdefault(f"{dataset} {case} {name}", {})
        row.setdefault("none", []).append(plain)
        for kind, other in (("batch", batch), ("ref", ref), ("two", two)):
            if other is not None:
                row.setdefault(kind, []).append(other.metrics["accuracy"])
                repaired[kind][0].append(f"{dataset} {case} {name}")
                repaired[kind][1].append(other.metrics["accuracy"] - plain)
    return {
        "rows": {
            name: {k: float(np.mean(v)) for k, v in row.items()} for name, row in table.items()
        },
        "gaps": {kind: interval(*pairs) for kind, pairs in repaired.items() if pairs[1]},
        "medians": {kind: _median(*pairs) for kind, pairs in repaired.items() if pairs[1]},
    }


def _median(groups: list[str], gaps: list[float]) -> dict[str, Any]:
    """Return the median over groups of their mean gaps, and in how many it is above 0."""
    means = [
        np.mean([g for n, g in zip(groups, gaps, strict=True) if n == name]) for name in set(groups)
    ]
    return {
        "median": float(np.median(means)),
        "better": int(np.sum(np.array(means) > 0)),
        "of": len(means),
    }


def _same(found: dict, world: tuple, name: str, correction: str, split: int) -> Selected | None:
    """Return a corrected method, or the one that is the same and was run on all splits."""
    own = (name, "bench", correction)
    places = [(world, "/".join(method), split) for method in (TWINS.get(own, own), own)]
    return next((found[place] for place in places if place in found), None)


def both_samples(records: list[Record], criterion: str) -> dict[str, dict[str, list[float]]]:
    """Accuracies of USPS, case 1, by version: in two samples, and in one without a correction."""
    found = chosen(defaults(records), criterion)
    rows: dict[str, dict[str, list[float]]] = {}
    for (world, method, split), two in found.items():
        if world[1] != "two-sample" or method == "pusb/bench":
            continue
        place = (world[0], "one-sample", *world[2:])
        names = (f"{method}/none", method)
        one = next((found[place, m, split] for m in names if (place, m, split) in found), None)
        if one is not None:
            row = rows.setdefault(method, {"two": [], "one": []})
            row["two"].append(two.metrics["accuracy"])
            row["one"].append(one.metrics["accuracy"])
    return rows


def losses(records: list[Record], criterion: str) -> dict[str, Any]:
    """What one sample costs: the paper's versions that are told a prior, and their originals."""
    rows = both_samples(records, criterion)
    gaps = {m: np.subtract(row["two"], row["one"]) for m, row in rows.items()}
    told = [m for m in gaps if m.endswith("/bench") and ALGORITHMS[m.split("/")[0]].needs_prior]
    own = [m.split("/")[0] for m in told if m.split("/")[0] in gaps]
    clear = [m for m in told if gaps[m].mean() > 2.0 * _error(gaps[m])]
    return {
        "rows": rows,
        "told": told,
        "clear": sorted(clear, key=lambda m: -gaps[m].mean()),
        "gaps": gaps,
        "bench": _over(told, gaps),
        "original": _over(own, gaps),
        "beyond": _over([m for m in told if m.split("/")[0] in gaps], gaps, beyond=True),
    }


def _error(values) -> float:
    """Return the standard error of a mean over splits; of one split it is unknown."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.inf


def _over(methods: list[str], gaps: dict, *, beyond: bool = False) -> Interval | None:
    """Interval over methods; `beyond` takes off what the original of the same method shows."""
    groups, values = [], []
    for method in methods:
        own = gaps[method.split("/")[0]].mean() if beyond else 0.0
        groups += [method] * len(gaps[method])
        values += list(gaps[method] - own)
    return interval(groups, values) if values else None


def section(records: list[Record]) -> str:
    """Section 3 of the page."""
    found = {c: shift(records, c) for c in ("oracle_accuracy", "proxy_accuracy")}
    lines = "\n\n".join(_verdicts(c, f) for c, f in found.items())
    rows = [
        [
            _world_method(name),
            *(percent(row.get(k, np.nan)) for k in ("two", "none", "batch", "ref")),
        ]
        for name, row in sorted(found["oracle_accuracy"]["rows"].items())
    ]
    head = ["", "two samples", "one sample, as it is", "corrected (-c)", "original, weighted"]
    return f"""
## 3. Two-sample methods in one sample

Default hyperparameters, test accuracy. First the methods that the paper corrects (intervals over pairs of data set, case and method),
then all that are told a prior.

{lines}

Selected by OA, mean over splits:

{table(head, rows, "lr")}

{_all_versions(records)}
"""


def _verdicts(criterion: str, found: dict[str, Any]) -> str:
    gaps, medians = found["gaps"], found["medians"]
    suffer = gaps["two"].low > 0 if "two" in gaps else None
    repair = gaps["batch"].low > 0 if "batch" in gaps else None
    two = gaps["two"].text(100) if "two" in gaps else "n/a"
    return f"""Selected by {SHORT[criterion]}. **They suffer in one sample, on average: {_WORDS[suffer]}**; two samples
instead would give {two} points{_pairs(medians.get("two"))}. **The correction repairs it: {_WORDS[repair]}**: {gaps["batch"].text(100)} points{_pairs(medians.get("batch"))}; the
original method, corrected by weights, {gaps["ref"].text(100)}."""


def _all_versions(records: list[Record], criterion: str = "oracle_accuracy") -> str:
    """All methods that the paper's versions tell a prior, in both settings, beside the originals."""
    found = losses(records, criterion)
    if found["bench"] is None or found["beyond"] is None:
        return ""
    body = [_version(method, found) for method in sorted(found["told"], key=_order(found))]
    head = ["told the prior", "two samples", "one sample", "lost", "original: two", "one", "lost"]
    names = ", ".join(f"{title(m)} {100 * found['gaps'][m].mean():.1f}" for m in found["clear"])
    return f"""Who suffers: USPS, case 1, selected by {SHORT[criterion]}, all of the paper's versions that are told a prior, as they are in one sample (± is
the standard error over splits). {len(found["clear"])} of {len(found["told"])} lose more than two standard errors ({names}); on average {found["bench"].text(100)}.
The originals, which are told the setting, lose {found["original"].text(100)}; beyond that the paper's versions lose {found["beyond"].text(100)} points.

{table(head, body, "lr")}"""


def _order(found: dict[str, Any]):
    return lambda method: -found["gaps"][method].mean()


def _version(method: str, found: dict[str, Any]) -> list[str]:
    cells = [title(method)]
    for name in (method, method.split("/", maxsplit=1)[0]):
        row = found["rows"].get(name)
        if row is None:
            cells += ["", "", ""]
            continue
        gap = found["gaps"][name]
        lost = f"{100 * gap.mean():+.1f}" + (f" ± {100 * _error(gap):.1f}" if len(gap) > 1 else "")
        cells += [percent(np.mean(row["two"])), percent(np.mean(row["one"])), lost]
    return cells


def _pairs(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return f" (better in {found['better']} of {found['of']}, median {100 * found['median']:+.1f})"


def _world_method(name: str) -> str:
    dataset, case, method = name.split(" ")
    return f"{WORLD_NAMES[dataset]} {case}, {NAMES[method]}"
