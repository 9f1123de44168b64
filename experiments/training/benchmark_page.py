"""The page of the benchmark: every number on it is computed from the records."""

from collections import Counter
from pathlib import Path

import numpy as np

from experiments.tables import grid, percent, table
from experiments.training import findings, plan
from experiments.training.findings import THREE
from experiments.training.selections import (
    WORLD_NAMES,
    Interval,
    Record,
    chosen,
    configs,
    defaults,
    fair,
    interval,
    main_runs,
    sem,
    single,
    title,
)
from noneg.lab.bench import against_paper, summarise
from noneg.lab.bench.summaries import paper_name, paper_numbers
from noneg.lab.bench.work import set_up, versions
from noneg.learning.algorithms import ALGORITHMS

# The page, then the passages that it has only sometimes, each below its name.
PAGE, *_PASSAGES = Path(__file__).with_name("benchmark.md").read_text("utf-8").split("\n<!-- ")
PASSAGES = dict(passage.split(" -->\n") for passage in _PASSAGES)
SHORT = {
    "proxy_accuracy": "PA",
    "proxy_auc": "PAUC",
    "oracle_accuracy": "OA",
    "pu_log_loss": "PU log loss",
    "pu_brier": "PU Brier",
    "pu_ece": "PU-ECE",
}
RATE_ROWS = (
    ("upu", "none", "uPU"),
    ("nnpu", "none", "nnPU = PUSB"),
    ("nnpu-ga", "none", "nnPU-GA"),
    ("upu", "batch", "uPU-c = nnPU-c = nnPU-GA-c = PUSB-c"),
    ("vpu", "none", "VPU"),
    ("vpu", "batch", "VPU-c"),
    ("dist-pu", "none", "Dist-PU"),
    ("dist-pu", "batch", "Dist-PU-c"),
)
WORLD_HEAD = "method | splits | by PA | by PAUC | by OA | paper, OA | true ECE | recalibrated"
CASES = sorted(plan.WORLDS, reverse=True, key=lambda world: (world[0], -world[1]))


def text(records: list[Record]) -> str:
    """Fill the template."""
    sections = (about, short, first_two, third, calibrated, selecting, rates, told, whole, cost)
    fields = {name: getattr(plan, name) for name in dir(plan) if name.isupper()}
    for section in sections:
        fields |= section(records)
    return PAGE.format_map(fields)


def done(records: list[Record]) -> list[Record]:
    return [r for r in records if r["status"] == "done"]


def counted(counts: Counter) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


def holds(*, true: bool) -> str:
    return "holds" if true else "is not supported"


def about(records: list[Record]) -> dict:
    failed = [r for r in records if r["status"] != "done"]
    trouble = dict(Counter(r["error"].split(":")[0] for r in failed))
    runs = configs(single(done(main_runs(records))))
    splits: dict[tuple, set[int]] = {}
    for run, _ in configs(defaults(done(main_runs(records)))):
        splits.setdefault((run.dataset, run.case, run.method), set()).add(run.split)
    there = {place for place in splits if place[2] in {run.method for run, _ in runs}}
    left = [
        f"{title(method)} on {WORLD_NAMES[dataset]} {case}"
        for method in sorted({method for *_, method in there})
        for dataset, case in CASES
        if (dataset, case, method) not in there
    ]
    cells = sorted(Counter(map(len, splits.values())).items(), reverse=True)
    return {
        "done": len(records) - len(failed),
        "failed": f"{len(failed)} failed" + (f" ({trouble})" if trouble else ""),
        "hours": sum(r["cpu_seconds"] for r in done(records)) / 3600,
        "steps": " and ".join(f"{s:,}" for s in sorted({r["run"]["steps"] for r in records})),
        "splits": ", ".join(f"{n} cells with {k} split{'s' * (k > 1)}" for k, n in cells),
        "missing": f"; none of {', '.join(left)}" if left else "",
        "methods": len({run.method for run, _ in configs(single(main_runs(records)))}),
        "twins": findings.twins_agree(records),
    }


def short(records: list[Record]) -> dict:
    """The answers in a few lines."""
    wins, columns = findings.winners(records)
    apart, slip = findings.spread(records), findings.slip(records)
    gaps = findings.shift(records, "oracle_accuracy")["gaps"]
    log_loss, brier = (_accuracy(records, c, "proxy_accuracy") for c in ("pu_log_loss", "pu_brier"))
    brier_ece = findings.against(records, "pu_brier", "proxy_accuracy", "ece")
    shares = {name: percent(apart[name]) for name in ("over_one", "over_five")}
    changed = {name: percent(slip[name]) for name in ("changed", "models_changed")}
    return {
        "won": "holds" if wins.most_common(1)[0][1] < columns else "is refuted",
        "winners": len(wins),
        "columns": columns,
        "first": wins.most_common(1)[0][0],
        "times": wins.most_common(1)[0][1],
        "wins": counted(wins),
        "apart": apart | shares,
        "median": 100 * apart["median"],
        "largest": 100 * apart["largest"],
        "suffering": suffering(records, gaps.get("two")),
        "repairs": holds(true=gaps["batch"].low > 0),
        "shifted": gaps,
        "slip": slip | changed,
        "slip_ece": slip["ece"].text(1, 4),
        "gain": findings.recalibration_gain(records).text(1, 3),
        "log_loss": log_loss,
        "beats": "it beats PA" if log_loss.low > 0 else "it does not beat PA",
        "brier": brier,
        "brier_ece": brier_ece.text(1, 4),
    }


def _accuracy(records: list[Record], one: str, two: str) -> Interval:
    return findings.against(records, one, two, "accuracy")


def suffering(records: list[Record], gap: Interval | None) -> str:
    """The third finding's first half: the planned comparison first, then the wider one."""
    if gap is None:
        return "- Two-sample methods in one sample: was not tested."
    found, wider = findings.losses(records, "oracle_accuracy"), ""
    if found["bench"] is not None:
        beyond = f", {found['beyond'].points} beyond the originals" if found["beyond"] else ""
        numbers = {"told": len(found["told"]), "clear": len(found["clear"]), "beyond": beyond}
        wider = PASSAGES["wider"].format(bench=found["bench"], **numbers)
    verdict = holds(true=gap.low > 0)
    return PASSAGES["suffering"].format(verdict=verdict, gap=gap, wider=wider)


def first_two(records: list[Record]) -> dict:
    ranks = findings.ranks(records, "accuracy", "proxy_accuracy")
    top = next((g for g in ranks.groups if ranks.methods[0] in g), (ranks.methods[0],))
    early = [m for m in top if m.split(" ")[0].split("-c")[0] in ("uPU", "nnPU", "nnPU-GA")]
    pauc = _accuracy(records, "proxy_auc", "proxy_accuracy")
    area = findings.against(records, "proxy_auc", "proxy_accuracy", "auc")
    return {
        "ranks": ranks,
        "ranked": len(ranks.methods),
        "top": len(top),
        "early": ", ".join(early) or "none",
        "pauc": pauc,
        "pauc_auc": area,
        "matters": holds(true=pauc.clear or area.clear),
        "oracle": _accuracy(records, "oracle_accuracy", "proxy_accuracy"),
    }


def third(records: list[Record]) -> dict:
    """Two samples beside one: who loses, and what corrects it."""
    found = {c: findings.shift(records, c) for c in ("oracle_accuracy", "proxy_accuracy")}
    lines = []
    for (dataset, case, method), row in found["oracle_accuracy"]["rows"].iterrows():
        name = f"{WORLD_NAMES[dataset]} {case}, {ALGORITHMS[method].title}"
        lines.append([name, *(percent(row[k]) for k in ("two", "none", "batch", "ref"))])
    head = " | two samples | one sample, as it is | corrected (-c) | original, weighted"
    return {
        "verdicts": "\n\n".join(_verdicts(c, f["gaps"], f["medians"]) for c, f in found.items()),
        "shift_table": table(head, lines, "lr"),
        "versions": _all_versions(findings.losses(records, "oracle_accuracy")),
    }


def _verdicts(criterion: str, gaps: dict, medians: dict) -> str:
    tested = {
        kind: holds(true=gaps[kind].low > 0) if kind in gaps else "was not tested"
        for kind in ("two", "batch")
    }
    better = {
        kind: f" (better in {(m > 0).sum()} of {len(m)}, median {100 * m.median():+.1f})"
        for kind, m in medians.items()
    }
    words = {"criterion": SHORT[criterion], "tested": tested, "two": "n/a", "gaps": gaps}
    words |= {f"better_{kind}": better.get(kind, "") for kind in tested}
    words |= {"two": gaps["two"].points} if "two" in gaps else {}
    return PASSAGES["verdicts"].format_map(words)


def _all_versions(found: dict) -> str:
    """All of the paper's versions that are told a prior, in both settings, beside the originals."""
    if found["bench"] is None or found["beyond"] is None:
        return ""
    lost = found["lost"]
    told = sorted(found["told"], key=lambda m: -lost["mean"][m])
    body = [
        [title(m), *(cell for name in (m, findings.original(m)) for cell in _version(name, found))]
        for m in told
    ]
    head = "told the prior | two samples | one sample | lost | original: two | one | lost"
    names = ", ".join(f"{title(m)} {100 * lost['mean'][m]:.1f}" for m in found["clear"])
    numbers = {"clear": len(found["clear"]), "told": len(told), "names": names}
    shown = found | numbers | {"table": table(head, body, "lr")}
    return PASSAGES["versions"].format_map(shown)


def _version(name: str, found: dict) -> list[str]:
    if name not in found["lost"].index:
        return ["", "", ""]
    lost, mean = found["lost"].loc[name], found["means"].loc[name]
    gap = f"{100 * lost['mean']:+.1f}" + (f" ± {100 * lost['sem']:.1f}" if lost["size"] > 1 else "")
    return [percent(mean["two"]), percent(mean["one"]), gap]


def calibrated(records: list[Record]) -> dict:
    names = ("ece", "pu_ece", "ece_recalibrated", "pu_ece_recalibrated")
    body = [
        [title(method), percent(row["accuracy"]), *(f"{row[k]:.3f}" for k in names)]
        for method, row in findings.calibration(records).iterrows()
    ]
    agree, varied = (findings.agreement(records, varied=v) for v in (False, True))
    head = "method | accuracy | true ECE | PU-ECE | true, recalibrated | PU-ECE, recalibrated"
    return {
        "calibration": table(head, body, "lr"),
        "agree": agree,
        "varied": varied,
        "pu_gap": agree["gap"].text(1, 3),
        "alike": agree["pearson"].n - varied["pearson"].n,
        "constant": counted(findings.constant(records)),
    }


def selecting(records: list[Record]) -> dict:
    rows, lines = findings.criteria(records), []
    metrics = ("accuracy", "auc", "ece", "log_loss")
    body = [[SHORT[row["criterion"]], *(_with_gap(row, m) for m in metrics)] for row in rows]
    for one in ("pu_log_loss", "pu_brier", "pu_ece"):
        for two in ("proxy_accuracy", "proxy_auc"):
            accuracy, ece = (findings.against(records, one, two, m) for m in ("accuracy", "ece"))
            lines.append(
                f"- {SHORT[one]} against {SHORT[two]}: accuracy {accuracy.points} points "
                f"({_verdict(accuracy, 1)}), true ECE {ece.text(1, 4)} ({_verdict(ece, -1)})."
            )
    return {
        "selections": rows[0]["n"],
        "criteria": table("criterion | accuracy | AUC | true ECE | log loss", body, "lr"),
        "duels": "\n".join(lines),
    }


def _with_gap(row: dict, metric: str) -> str:
    shares, gap = metric in ("accuracy", "auc"), row.get(f"{metric}_gap")
    value = percent(row[metric]) if shares else f"{row[metric]:.3f}"
    return value if gap is None else f"{value} ({gap.points if shares else gap.text(1, 3)})"


def _verdict(gap: Interval, better: int) -> str:
    if not gap.clear:
        return "no clear difference"
    return "better" if gap.value * better > 0 else "worse"


def rates(records: list[Record]) -> dict:
    found, more = findings.rate_table(records), findings.more_labels(records)
    levels, body = sorted(set(found.index.get_level_values("rate"))), []
    for dataset in ("usps", "letter"):
        for name, correction, label in RATE_ROWS:
            means = findings.rate_line(found, dataset, name, correction)["mean"]
            numbers = [f"{means[rate]:.1f}" if rate in means.index else "" for rate in levels]
            body.append([f"{WORLD_NAMES[dataset]} 1", label, *numbers])
    words = {1: "help", 0: "do not clearly help", -1: "do harm"}
    kind = {k: words[int(gap.low > 0) - int(gap.high < 0)] for k, gap in more.items()}
    said = ": more labels {none} without the correction, and {batch} with it"
    return {
        "more_none": more["none"].points if "none" in more else "n/a",
        "more_batch": more["batch"].points if "batch" in more else "n/a",
        "labels": said.format_map(kind) if len(kind) == 2 else "",
        "rates": table(["data", "method", *(f"{rate:.0%}" for rate in levels)], body, "llr"),
    }


def told(records: list[Record]) -> dict:
    cells = findings.told_cells(records)
    priors = list(next(iter(cells.values()), {}))
    body = [
        [title(method), *(_pair(found) for found in by_prior.values())]
        for method, by_prior in cells.items()
    ]
    changes = [_change(cells, prior) for prior in priors if prior != 0.5]
    head = ["method", *(f"told {p:g}" for p in priors)]
    return {"changes": " ".join(changes), "told": table(head, body, "lr")}


def _pair(found) -> str:
    return f"{percent(found['accuracy'].mean())} ({found['ece'].mean():.3f})"


def _change(cells: dict, prior: float) -> str:
    """Say what a wrong prior does to the mean over splits, by method."""
    accuracy, ece = (
        interval(list(cells), [c[prior][m].mean() - c[0.5][m].mean() for c in cells.values()])
        for m in ("accuracy", "ece")
    )
    splits = min(len(c[prior]) for c in cells.values())
    return (
        f"Told {prior:g} ({splits} split{'s' * (splits > 1)}): accuracy {accuracy.points} points, "
        f"calibration error {ece.text(1, 3)}."
    )


def whole(records: list[Record]) -> dict:
    """The paper's tables, ours beside its numbers; CIFAR-10; and other configurations."""
    parts = {}
    for dataset, case in CASES:
        kept = chosen_world(fair(records), dataset, case)
        if rows := world_rows(kept):
            name = f"\n### {WORLD_NAMES[dataset]}, case {case}: test accuracy in %\n"
            parts[name] = table(WORLD_HEAD, rows, "lr") + "\n"
    return {
        "images": images(chosen_world(records, "cifar10", 1)),
        "configurations": configurations(records),
        **farthest(records),
        "tables": "\n".join(f"{name}\n{part}" for name, part in parts.items()).lstrip("\n"),
    }


def chosen_world(records: list[Record], dataset: str, case: int) -> list[Record]:
    place = (dataset, case)
    return [r for r in records if (r["run"]["dataset"], r["run"]["case"]) == place]


def images(runs: list[Record]) -> str:
    if not done(runs):
        return "## CIFAR-10\n\nNo runs yet.\n"
    kinds = Counter(f"{r['device']}, {r['precision']}" for r in done(runs))
    return PASSAGES["images"].format(
        steps=plan.IMAGE_STEPS,
        runs=len(done(runs)),
        on=", ".join(f"{n} on {kind}" for kind, n in kinds.items()),
        seconds=np.median([r["seconds"] for r in done(runs)]),
        table=table(WORLD_HEAD, world_rows(runs), "lr"),
    )


def published(method: str) -> str | None:
    """Return the paper's name of a method; None for original methods of which it has a version."""
    algorithm, *rest = method.split("/")
    original = "bench" in ALGORITHMS[algorithm].variants and "bench" not in rest
    return None if original else paper_name(method)


def theirs(dataset: str, case: int) -> dict[str, float]:
    """The paper's accuracies, selected by OA, by its names of methods."""
    wanted = (dataset, case, "accuracy", "oracle_accuracy")
    keys = ("dataset", "case", "metric", "criterion")
    return {
        n["method"]: n["mean"] for n in paper_numbers() if tuple(n[key] for key in keys) == wanted
    }


def world_rows(records: list[Record]) -> list[list[str]]:
    """One row a method: accuracy by three criteria, the paper's, and calibration."""
    found = {criterion: chosen(records, criterion) for criterion in THREE}
    oracle, rows = found["oracle_accuracy"], []
    if oracle.empty:
        return []
    numbers = theirs(oracle["dataset"].iloc[0], oracle["case"].iloc[0])
    stats = {
        c: f["accuracy"].groupby(level="method").agg(["mean", sem, "size"])
        for c, f in found.items()
    }
    errors = found["proxy_accuracy"].groupby(level="method")[["ece", "ece_recalibrated"]].mean()
    for method in dict.fromkeys(oracle["method"]):
        own = [stats[c].loc[method] for c in THREE]
        cells = [
            percent(s["mean"]) + (f" ± {100 * s['sem']:.1f}" if s["size"] > 1 else "") for s in own
        ]
        paper = numbers.get(published(method) or "")
        printed = "" if paper is None else f"{paper:.1f}"
        error = [f"{x:.3f}" for x in errors.loc[method]]
        rows.append([title(method), str(int(own[2]["size"])), *cells, printed, *error])
    return sorted(rows, key=lambda row: -float(row[4].split(" ")[0]))


def compared(runs: list[Record]) -> list[dict]:
    """Accuracies selected by OA beside the paper's, where both have the method."""
    cells = summarise(runs, metrics=["accuracy"], criteria=["oracle_accuracy"])
    rows = [row for row in against_paper(cells) if published(row["method"])]
    return [row | {"data": f"{WORLD_NAMES[row['dataset']]} {row['case']}"} for row in rows]


def farthest(records: list[Record]) -> dict[str, str]:
    rows = compared(fair(records) + chosen_world(records, "cifar10", 1))
    gaps: dict[str, list[float]] = {}
    for row in rows:
        gaps.setdefault(row["data"], []).append(row["difference"])
    body = [
        [data, len(found), f"{np.mean(found):+.1f}", f"{np.median(np.abs(found)):.1f}"]
        for data, found in sorted(gaps.items())
    ]
    far = sorted(rows, key=lambda row: -abs(row["difference"]))[:8]
    listing = ", ".join(f"{title(r['method'])} on {r['data']} {r['difference']:+.1f}" for r in far)
    head = "data | methods | mean difference | median of absolute differences"
    return {"compared": table(head, body, "lr"), "farthest": listing}


def configurations(records: list[Record]) -> str:
    """Default hyperparameters beside the best of several, and how near to the paper that comes."""
    worlds = findings.shared(records)
    if not worlds:
        return ""
    rows, many = findings.gains(records), max(map(len, worlds.values()))
    body = [
        [SHORT[r["criterion"]], *(percent(r[k]) for k in ("default", "best")), r["gap"].points]
        for r in rows
    ]
    for line, r in zip(body, rows, strict=True):
        line.append(percent(r["other"]))
    head = f"selected by | default alone | best of {many} | difference | not the default, %"
    return PASSAGES["configurations"].format(
        many=many,
        random=plan.CONFIGURATIONS,
        all=plan.CONFIGURATIONS + 1,
        names=" and ".join(f"{WORLD_NAMES[d]} {c}" for d, c in worlds),
        drawn=", ".join(_setting(k) for k in sorted(set().union(*worlds.values()) - {0})),
        selections=rows[0]["n"],
        table=table(head, body, "lr"),
        near=_near(records, worlds),
        letter=_letter(records),
    )


def _drawn(number: int):
    return set_up(plan.run(("upu", "bench", "batch"), "letter", 1, 0, configuration=number))


def _setting(number: int) -> str:
    setup = _drawn(number)
    return f"rate {setup.lr:.1e} with batches of {setup.batch} + {setup.batch}"


def _rate(number: int) -> float:
    return _drawn(number).lr


def _near(records: list[Record], worlds: dict) -> str:
    """How far from the paper the worlds with several configurations are."""
    runs, parts = findings.several(records), []
    ways = [compared(defaults(runs)), compared(runs)]
    for (dataset, case), numbers in worlds.items():
        data = f"{WORLD_NAMES[dataset]} {case}"
        one, every = ([r["difference"] for r in rows if r["data"] == data] for rows in ways)
        if one:
            parts.append(
                f"{data} {np.mean(one):+.1f} by default and {np.mean(every):+.1f} with the best of "
                f"{len(numbers)} ({len(one)} methods; medians {np.median(one):+.1f} and "
                f"{np.median(every):+.1f})"
            )
    words = "Ours minus the paper's, points of accuracy selected by OA, mean"
    return f"{words}: {'; '.join(parts)}." if parts else ""


def _means(records: list[Record]):
    return chosen(records, "oracle_accuracy")["accuracy"].groupby(level="method").mean()


def _letter(records: list[Record]) -> str:
    """Letter, case 1: every version that the paper has, by default, searched, and in the paper."""
    runs = chosen_world(findings.several(records), "letter", 1)
    if not runs:
        return ""
    numbers, more = theirs("letter", 1), findings.tried(records)
    on_split = [
        r for r in chosen_world(single(main_runs(records)), "letter", 1) if r["run"]["split"] == 0
    ]
    random = [r for r in runs if r["run"]["configuration"] > 0]
    one, other, best, few = (_means(part) for part in (defaults(runs), random, runs, on_split))
    rows = []
    for method in one.index:
        paper = numbers.get(published(method) or "")
        if paper is not None:
            shown = [percent(part[method]) for part in (one, other, best)]
            shown.append(percent(few[method]) if method in more else "")
            rows.append((100 * one[method] - paper, [title(method), *shown, f"{paper:.1f}"]))
    many = max((len(cells) for cells in more.values()), default=0)
    head = f"Letter 1, by OA | default | random | best of both | best of up to {many}, split 0"
    body = [row for _, row in sorted(rows, key=lambda x: x[0])]
    shown = table(f"{head} | paper", body, "lr")
    reasons = {"reasons": _reasons(records, more), "tried": _tried(more)}
    return PASSAGES["letter"].format(table=shown, **reasons)


def _reasons(records: list[Record], more: dict) -> str:
    """What the numbers say about the distance."""
    ends = {name: percent(findings.late(records, name)) for name in ("letter", "usps")}
    lines = [PASSAGES["late"].format_map(ends)]
    dist = [findings.stuck(records, f"dist-pu/bench/{c}") for c in ("none", "batch")]
    alike, runs = (sum(part[k] for part in dist) for k in range(2))
    if runs:
        least = np.nanmin([part[2] for part in dist])
        lines.append(PASSAGES["stuck"].format(alike=alike, runs=runs, least=least))
    found = more.get("upu/bench/batch", {})
    if len(found) > 2:
        cells = [f"{percent(found[n])} at {_rate(n):.1e}" for n in sorted(found, key=_rate)]
        lines.append(PASSAGES["rates"].format(cells=", ".join(cells)))
    return "\n".join(lines)


def _tried(found: dict[str, dict[int, float]]) -> str:
    """All configurations that a few methods were given on one split."""
    if not found:
        return ""
    body = []
    for number in sorted({n for cells in found.values() for n in cells}, key=_rate):
        cells = [percent(cells.get(number), missing="") for cells in found.values()]
        body.append([f"{_rate(number):.1e}", _drawn(number).batch, *cells])
    head = ["rate", "batch", *(title(m) for m in found)]
    return f"All configurations of a few methods, split 0:\n\n{table(head, body, 'r')}"


def cost(records: list[Record]) -> dict:
    groups: dict[str, list[float]] = {}
    for r in done(records):
        name = f"{WORLD_NAMES[r['run']['dataset']]}, {r['device']}"
        groups.setdefault(name, []).append(r["cpu_seconds"])
    rows = [
        {"name": n, "runs": len(s), "median": np.median(s), "hours": sum(s) / 3600}
        for n, s in sorted(groups.items())
    ]
    made = [r["cpu_seconds"] for r in chosen_world(defaults(done(main_runs(records))), "usps", 1)]
    hours, every = sum(made) / 3600, plan.SPLITS * len(versions())
    machines = Counter(
        "Python {python}, torch {torch}".format_map(r["versions"]) for r in done(records)
    )
    head = "runs | number | CPU seconds each (median) | CPU hours"
    return {
        "cost": grid(head, "{name} | {runs} | {median:.0f} | {hours:.2f}", rows, "lr"),
        "made": len(made),
        "whole": every,
        "table_hours": hours,
        "whole_hours": hours / len(made) * every,
        "machines": ", and ".join(f"{name} ({n} runs)" for name, n in machines.most_common()),
    }
