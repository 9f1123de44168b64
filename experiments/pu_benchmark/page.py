"""The page: every number on it is computed from the records."""

# ruff: noqa: E501 - the text is broken where the page breaks it

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import configurations
import figures
import findings
import numpy as np
import samples
from choices import MAIN, WORLD_NAMES, configs, main_runs, title
from findings import SHORT, single
from intervals import interval
from pages import percent, table
from plan import CONFIGURATIONS, EVERY, IMAGE_EVERY
from tables import cost, images, tables
from thin import collect

from noneg.bench import load_records

if TYPE_CHECKING:
    from pathlib import Path

    Record = dict[str, Any]


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


def write(folder: Path, out: Path) -> None:
    """Write records, pictures and the page."""
    collect(folder, out)
    records = load_records(out / "records.jsonl")
    figures.draw(records, out)
    parts = [
        head(records),
        short(records),
        first(records),
        second(records),
        samples.section(records),
        slipped(records),
    ]
    parts += [
        calibrated(records),
        selecting(records),
        rates(records),
        told(records),
        images(records),
    ]
    parts += [configurations.section(records), tables(records), cost(records)]
    (out / "README.md").write_text("\n".join(part.strip() + "\n" for part in parts))


def splits_of(records: list[Record]) -> Counter:
    return Counter(len(found) for found in _splits(records).values())


def _splits(records: list[Record]) -> dict[tuple, set[int]]:
    found: dict[tuple, set[int]] = {}
    for run, r in configs(main_runs(records)):
        if r["status"] == "done" and run.configuration == 0:
            found.setdefault((run.dataset, run.case, run.method), set()).add(run.split)
    return found


def head(records: list[Record]) -> str:
    done = [r for r in records if r["status"] == "done"]
    failed = [r for r in records if r["status"] != "done"]
    methods = {run.method for run, _ in configs(single(main_runs(records)))}
    steps = sorted({run.steps for run, _ in configs(records)})
    counts = splits_of(records)
    splits = ", ".join(
        f"{n} cells with {k} split{'s' * (k > 1)}" for k, n in sorted(counts.items(), reverse=True)
    )
    hours = sum(r["cpu_seconds"] for r in done) / 3600
    trouble = Counter(r["error"].split(":")[0] for r in failed)
    return f"""# The PU benchmark, with calibration

    export NONEG_DATA=...
    python experiments/pu_benchmark/run.py --full --jobs 8
    python experiments/pu_benchmark/run.py --full --part images --device cuda --jobs 2
    python experiments/pu_benchmark/run.py --full --part page

The first two lines train what has no record yet (stop and repeat them as you like), the third writes this page and its
pictures; every number below is computed by it. `records.jsonl` holds all runs, at the checkpoints that some criterion chooses.

{len(done)} runs, {len(failed)} failed{f" ({dict(trouble)})" if trouble else ""}, {hours:.1f} CPU hours. The protocol is that of the
PU benchmark paper ("Accessible, Realistic, and Fair Evaluation of Positive-Unlabeled Learning Algorithms"): one sample, 30 %
of all rows labelled, the same rows for every method, SGD with momentum 0.9 at rate 1e-3 and batches of 64 + 64 by default,
mirrored and turned digits, mirrored and shifted images. Other than the paper: {" and ".join(f"{s:,}" for s in steps)} steps where it has 20,000
(a warm-up counts), a checkpoint every {EVERY} steps ({IMAGE_EVERY} for CIFAR-10), validation rows as they are, and the default configuration where it has that and {CONFIGURATIONS} random ones
(a second one for some, in a section of its own).
{splits} (a cell is a data set, a case and a method){_missing(records)}. {len(methods)} methods: "(bench)" is the version behind the paper's
numbers, "-c" with its correction; the others are the original methods, made right for one sample.

With a prior of 1/2 and equal batches, uPU-c, nnPU-c, nnPU-GA-c and PUSB-c are one loss, and PUSB decides as nnPU does (all in
the paper's version), so they are shown once: {_twins(records)}.

Intervals are 95 % percentile bootstraps over methods, since runs of one method are no independent evidence.
"""


def _missing(records: list[Record]) -> str:
    """Name what has no run yet."""
    found = set(_splits(single(records)))
    methods = sorted({method for *_, method in found})
    left = [
        f"{title(method)} on {WORLD_NAMES[dataset]} {case}"
        for method in methods
        for dataset, case in MAIN
        if (dataset, case, method) not in found
    ]
    return f"; none of {', '.join(left)}" if left else ""


def _twins(records: list[Record]) -> str:
    same, total = findings.twins_agree(records)
    return f"of {total} pairs of runs that were made, {same} choose the same step and have the same test accuracy"


def short(records: list[Record]) -> str:
    """The answers in a few lines."""
    wins, columns = findings.winners(records)
    apart = findings.spread(records)
    gaps = samples.shift(records, "oracle_accuracy")["gaps"]
    slip = findings.slip(records)
    varied = findings.agreement(records, varied=True)
    gain = findings.recalibration_gain(records)
    brier = {
        m: findings.against(records, "pu_brier", "proxy_accuracy", m) for m in ("accuracy", "ece")
    }
    loss = findings.against(records, "pu_log_loss", "proxy_accuracy", "accuracy")
    return f"""
## In short

- No single winner ({_winner(wins, columns)}): {len(wins)} methods come first in {columns} columns, {wins.most_common(1)[0][0]} in {wins.most_common(1)[0][1]}. (Section 1)
- The criterion matters ({_matters(records)}): in {percent(apart["over_five"])} % of selections PA, PAUC and OA differ by more than five points of accuracy. (2)
{_suffering(records)}
- The paper's correction repairs it ({"holds" if gaps["batch"].low > 0 else "is not supported"}): {gaps["batch"].text(100)} points over all pairs of data and method. (3)
- The slip in the published proxy accuracy changes {percent(slip["models_changed"])} % of the selected models and their accuracy by {slip["accuracy"].text(100)} points.
- PU-ECE, which sees no negative, tells the true calibration error: correlation {varied["pearson"].text(1, 2, sign=False)}. PU recalibration
  changes the true error by {gain.text(1, 3)}.
- Selecting by PU log loss instead of PA changes accuracy by {loss.text(100)} points: {_beats(loss)}. The PU Brier score
  changes it by {brier["accuracy"].text(100)} and the true calibration error by {brier["ece"].text(1, 4)}.
"""


def _winner(wins: Counter, columns: int) -> str:
    return "holds" if wins.most_common(1)[0][1] < columns else "is refuted"


def _matters(records: list[Record]) -> str:
    gaps = (
        findings.against(records, "proxy_auc", "proxy_accuracy", m) for m in ("accuracy", "auc")
    )
    return "holds" if any(gap.clear for gap in gaps) else "is not supported"


def _suffering(records: list[Record]) -> str:
    """The third finding's first half: the planned comparison first, then the wider one."""
    gap = samples.shift(records, "oracle_accuracy")["gaps"].get("two")
    if gap is None:
        return "- Two-sample methods in one sample: was not tested."
    verdict = "holds" if gap.low > 0 else "is not supported"
    return f"""- Two-sample methods suffer in one sample ({verdict}): those that the paper corrects lose {gap.text(100)} points. {_wider(records)} (3)"""


def _wider(records: list[Record]) -> str:
    """The same over all versions that are told a prior, which was asked afterwards."""
    found = samples.losses(records, "oracle_accuracy")
    if found["bench"] is None:
        return ""
    beyond = (
        "" if found["beyond"] is None else f", {found['beyond'].text(100)} beyond the originals"
    )
    return f"""Over all {len(found["told"])}
  of its versions that are told a prior, a comparison made after that one was seen, it is {found["bench"].text(100)}{beyond}; {len(found["clear"])} lose clearly, the others do not."""


def first(records: list[Record]) -> str:
    found, columns = findings.winners(records)
    name, times = found.most_common(1)[0]
    ranks = findings.ranks(records, "accuracy", "proxy_accuracy")
    top = next((g for g in ranks.groups if ranks.methods[0] in g), (ranks.methods[0],))
    verdict = _winner(found, columns)
    early = [m for m in top if m.split(" ")[0].split("-c")[0] in ("uPU", "nnPU", "nnPU-GA")]
    listing = ", ".join(f"{m} {n}" for m, n in found.most_common())
    return f"""
## 1. No single winner: {verdict}

Over {columns} columns (data set and case x accuracy, AUC, F1 x PA, PAUC, OA), {len(found)} methods come first at least once;
{name} most often, {times} times. Wins: {listing}.

Ranks by accuracy, selected by PA, over {ranks.worlds} draws (splits of the same data set share test rows, so the test is
optimistic): Friedman p = {ranks.p_value:.1g}, critical difference {ranks.critical_difference:.1f} ranks. {len(top)} of {len(ranks.methods)} methods
do not differ significantly from the best, {ranks.methods[0]}; among them of the early, simple ones: {", ".join(early) or "none"}.

![Critical-difference diagram](ranks.png)
"""


def second(records: list[Record]) -> str:
    apart = findings.spread(records)
    gap = findings.against(records, "proxy_auc", "proxy_accuracy", "accuracy")
    area = findings.against(records, "proxy_auc", "proxy_accuracy", "auc")
    oracle = findings.against(records, "oracle_accuracy", "proxy_accuracy", "accuracy")
    verdict = _matters(records)
    return f"""
## 2. The selection criterion matters: {verdict}

Of {apart["n"]} selections (world, method, split) PA, PAUC and OA lead to test accuracies that differ by more than one point in
{percent(apart["over_one"])} % and by more than five in {percent(apart["over_five"])} %; the median is {100 * apart["median"]:.2f} points, the largest {100 * apart["largest"]:.1f}.
Against PA, selection by PAUC changes accuracy by {gap.text(100)} points and AUC by {area.text(100)} points, so the metric that
counts should choose the criterion. Labels for validation (OA) would be worth {oracle.text(100)} points of accuracy.
"""


def slipped(records: list[Record]) -> str:
    found = findings.slip(records)
    return f"""
## The published code's proxy accuracy

In one sample it adds labelled positives *above* the threshold where the definition has those below. It chooses another
checkpoint in {percent(found["changed"])} % of {found["runs"]} runs, and another model in {percent(found["models_changed"])} % of {found["models"]} selections. Against the
criterion as defined the chosen models have {found["accuracy"].text(100)} points of accuracy, {found["recall"].text(100)} of recall, {found["precision"].text(100)} of precision,
{found["f1"].text(100)} of F1, and {found["ece"].text(1, 4)} of true calibration error.
"""


def calibrated(records: list[Record]) -> str:
    rows = findings.calibration(records)
    agree, varied = findings.agreement(records), findings.agreement(records, varied=True)
    gain = findings.recalibration_gain(records)
    names = ("ece", "pu_ece", "ece_recalibrated", "pu_ece_recalibrated")
    body = [[r["method"], percent(r["accuracy"]), *(f"{r[k]:.3f}" for k in names)] for r in rows]
    constant = findings.constant(records)
    listing = ", ".join(f"{name} {n}" for name, n in constant.most_common())
    return f"""
## How calibrated they are

USPS and Letter, both cases, all splits, selected by PA. The true error is that of the test rows at the true prior; PU-ECE is
estimated on held-out rows without any negative; recalibration is Platt scaling on those same rows.

{table(["method", "accuracy", "true ECE", "PU-ECE", "true, recalibrated", "PU-ECE, recalibrated"], body, "lr")}

Over {agree["pearson"].n} runs of this study PU-ECE and the true error correlate by {agree["pearson"].text(1, 2, sign=False)} (ranks: {agree["spearman"].text(1, 2, sign=False)}); without the {agree["pearson"].n - varied["pearson"].n} runs
that call every row the same ({listing}), by {varied["pearson"].text(1, 2, sign=False)} (ranks: {varied["spearman"].text(1, 2, sign=False)}). PU-ECE is
larger by {agree["gap"].text(1, 3)}, the noise of few rows in a bin. Recalibration changes the true error by {gain.text(1, 3)}.

![PU-ECE beside the true calibration error](calibration.png)
"""


def selecting(records: list[Record]) -> str:
    rows = findings.criteria(records)
    body = [
        [
            row["criterion"],
            *(_with_gap(row, metric) for metric in ("accuracy", "auc", "ece", "log_loss")),
        ]
        for row in rows
    ]
    lines = []
    for one in ("pu_log_loss", "pu_brier", "pu_ece"):
        for two in ("proxy_accuracy", "proxy_auc"):
            gaps = {m: findings.against(records, one, two, m) for m in ("accuracy", "ece")}
            lines.append(
                f"- {SHORT[one]} against {SHORT[two]}: accuracy {gaps['accuracy'].text(100)} points "
                f"({_verdict(gaps['accuracy'], better=1)}), true ECE {gaps['ece'].text(1, 4)} ({_verdict(gaps['ece'], better=-1)})."
            )
    return f"""
## Does selecting by PU log loss or PU-ECE beat PA and PAUC?

Means over {rows[0]["n"]} selections; in brackets the difference to PA with its interval, in points for accuracy and AUC.

{table(["criterion", "accuracy", "AUC", "true ECE", "log loss"], body, "lr")}

{chr(10).join(lines)}
"""


def _with_gap(row: dict[str, Any], metric: str) -> str:
    shares = metric in ("accuracy", "auc")
    value = percent(row[metric]) if shares else f"{row[metric]:.3f}"
    gap = row.get(f"{metric}_gap")
    return value if gap is None else f"{value} ({gap.text(100) if shares else gap.text(1, 3)})"


def _beats(gap) -> str:
    return "it beats PA" if gap.low > 0 else "it does not beat PA"


def _verdict(gap, *, better: int) -> str:
    if not gap.clear:
        return "no clear difference"
    return "better" if gap.value * better > 0 else "worse"


def rates(records: list[Record]) -> str:
    found = figures.rate_table(records)
    levels = sorted({rate for cell in found.values() for rate in cell})
    more = findings.more_labels(records)
    body = []
    for dataset in ("usps", "letter"):
        for name, correction, label in RATE_ROWS:
            x, means, _ = figures.rate_line(found, dataset, name, correction)
            cells = dict(zip(x, means, strict=True))
            numbers = [f"{cells[rate]:.1f}" if rate in cells else "" for rate in levels]
            body.append([f"{WORLD_NAMES[dataset]} 1", label, *numbers])
    return f"""
## More or fewer labelled rows (the paper's Figures 2 and 3)

Test accuracy in %, selected by OA, default hyperparameters, mean over splits, against labelled rows as a share of all. At 50 % every
positive is labelled, and no unlabeled row is one. From 10 to 50 % the accuracy changes by {more["none"].text(100) if "none" in more else "n/a"} points as the methods are, and by
{more["batch"].text(100) if "batch" in more else "n/a"} corrected (intervals over data set and method){_labels(more)}.

![Accuracy against the rate of labelled rows](rates.png)

{table(["data", "method", *(f"{rate:.0%}" for rate in levels)], body, "llr")}"""


def _labels(more: dict[str, Any]) -> str:
    """What more labels do without the correction."""
    if "none" not in more or "batch" not in more:
        return ""
    words = {1: "help", 0: "do not clearly help", -1: "do harm"}
    kind = int(more["none"].low > 0) - int(more["none"].high < 0)
    corrected = int(more["batch"].low > 0) - int(more["batch"].high < 0)
    return f": more labels {words[kind]} without the correction, and {words[corrected]} with it"


def told(records: list[Record]) -> str:
    cells = figures.told_cells(records)
    priors = list(next(iter(cells.values()), {}))
    body = [
        [
            title(method),
            *(
                f"{percent(np.mean([m['accuracy'] for m in found]))} ({np.mean([m['ece'] for m in found]):.3f})"
                for found in by_prior.values()
            ),
        ]
        for method, by_prior in cells.items()
    ]
    changes = [_change(cells, prior) for prior in priors if prior != 0.5]
    return f"""
## A wrong prior (the paper's Appendix E)

The prior is told to the method and to the criterion; the true one is 0.5. USPS case 1, selected by PA: test accuracy in %, and the
true calibration error in brackets. {" ".join(changes)}

![Accuracy and calibration error against the prior that was told](priors.png)

{table(["method", *(f"told {p:g}" for p in priors)], body, "lr")}"""


def _change(cells: dict[str, dict[float, list]], prior: float) -> str:
    """Say what a wrong prior does to the mean over splits, by method."""
    gaps = {
        name: interval(
            list(cells),
            [
                np.mean([m[name] for m in c[prior]]) - np.mean([m[name] for m in c[0.5]])
                for c in cells.values()
            ],
        )
        for name in ("accuracy", "ece")
    }
    splits = min(len(c[prior]) for c in cells.values())
    return (
        f"Told {prior:g} ({splits} split{'s' * (splits > 1)}): accuracy {gaps['accuracy'].text(100)} points, "
        f"calibration error {gaps['ece'].text(1, 3)}."
    )
