"""The whole protocol of the PU benchmark paper on USPS and Letter, trained as populations.

Ten configurations, three splits, 20,000 steps, all methods with and without correction; the same on
standardized letters; the original methods for comparison; learning rates; labels that favor
high-scoring positives. A GPU does it in half an hour: ``--device cuda --population 300``. It can be
stopped at any time; the same command resumes where it stopped. The tables contain the models that
the criteria choose.
"""

import argparse
import time
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import torch

from experiments.study import Run, Study
from experiments.tables import Tables, merged, percent, table
from experiments.training import benchmark, findings, plan
from experiments.training.findings import METRICS, THREE, WORLD_NAMES, Interval, title, where, world
from experiments.training.plan import paper_methods
from experiments.training.trees import LEARNERS, table_learner
from noneg.lab.bench import RunConfig, load_records
from noneg.lab.bench.engine import Crew, families, rows_of
from noneg.lab.bench.measures import best_checkpoint
from noneg.lab.bench.protocol import SELECTIONS
from noneg.lab.bench.summaries import paper_name, paper_numbers
from noneg.lab.bench.work import started
from noneg.learning.training import find_device

COLUMNS = ["dataset", "case", "told", "method", "split", "criterion", "configuration", "step"]
COLUMNS += ["accuracy", "auc", "f1", "ece", "ece_recalibrated"]
folder = partial(benchmark.folder, name="pu_protocol")


def train(run: Run, runs: list[RunConfig]) -> set[str]:
    """Train the runs without a record, and return the names of all."""
    if run.quick:
        runs = [replace(r, steps=40, every=20) for r in runs if r.configuration + r.split == 0][:6]
    benchmark.train(run, runs, folder(run))
    return {one.key for one in runs}


def finished(run: Run, asked: set[str]) -> pd.DataFrame:
    """Return the runs with these names that are done."""
    runs = findings.done(findings.all_runs(load_records(folder(run))))
    return runs[[record["key"] in asked for record in runs["record"]]]


def protocol(run: Run) -> None:
    train(run, plan.protocol())


def rates(run: Run) -> None:
    train(run, plan.rates())


def selections(run: Run) -> None:
    train(run, plan.selections())


def features(run: Run) -> dict[str, list[dict]]:
    """Train with labels that favor a feature or a class."""
    runs = finished(run, train(run, plan.features()))
    return {"features": _chosen(runs, "proxy_accuracy"), "time": times(run, "features", runs)}


def later(run: Run) -> dict[str, list[dict]]:
    """Train methods that were published after the benchmark."""
    return {"later": _chosen(finished(run, train(run, plan.later())), *THREE)}


def trees(run: Run) -> dict[str, list[dict]]:
    """Fit learners for tables to the same rows, on processors."""
    worlds = run.pick(plan.WORLDS, plan.WORLDS[:1])
    cells = [
        {"dataset": dataset, "case": case, "method": method, "split": split}
        for dataset, case in worlds
        for method in LEARNERS
        for split in range(run.pick(plan.SPLITS, 1))
    ]
    return {"trees": run.rows(table_learner, cells)}


def two_samples(run: Run) -> dict[str, list[dict]]:
    """Train the methods that the paper corrects in two samples, where they need no correction."""
    runs = finished(run, train(run, plan.two_samples()))
    rows = zip(runs["setting"], runs["record"], strict=True)
    return {
        "two_samples": [{"setting": s} | row for s, r in rows for row in _configuration(r)],
        "time": times(run, "two samples", runs),
    }


def times(run: Run, part: str, runs: pd.DataFrame) -> list[dict]:
    """Return the stored times, with those of one part replaced."""
    return merged(run.out / "time.csv", _time(runs.assign(part=part)), "part", digits=run.digits)


def tables(run: Run) -> dict[str, list[dict]]:
    """Return the models that the criteria choose, from all records in the folder."""
    runs = findings.done(findings.all_runs(load_records(folder(run))))
    runs = runs[(runs["setting"] == "one-sample") | (runs["variant"] != "bench")].copy()
    two = np.where(runs["setting"] == "two-sample", "selection", "chosen")
    runs["part"] = np.where(runs["options"].map(bool), "rates", two)
    parts = {name: where(runs, part=name) for name in ("chosen", "rates", "selection")}
    return {
        "chosen": _chosen(parts["chosen"], *THREE),
        "rates": _chosen(parts["rates"], "oracle_accuracy"),
        "selection": _chosen(parts["selection"], "proxy_accuracy"),
        "configurations": [row for r in parts["chosen"]["record"] for row in _configuration(r)],
        "time": _time(runs.sort_values("part", kind="stable")),
    }


def _chosen(runs: pd.DataFrame, *criteria: str) -> list[dict]:
    """Return one row for each problem, method, split and criterion."""
    rows = pd.concat([findings.chosen(runs, criterion) for criterion in criteria])
    rows["told"] = rows["given_prior"].astype(object).fillna("")
    return rows[COLUMNS].to_dict("records")


def _configuration(record: dict) -> list[dict]:
    """Return validation and test accuracy of one configuration at its best checkpoint, by OA."""
    found = best_checkpoint(record, "oracle_accuracy")
    if found is None:
        return []
    drawn = {k: v for k, v in record["hyperparameters"].items() if k not in ("lr", "batch")}
    return [
        {
            "dataset": found.run.dataset,
            "case": found.run.case,
            "method": found.method,
            "configuration": found.run.configuration,
            "split": found.run.split,
            "lr": record["hyperparameters"]["lr"],
            "drawn": " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                              for k, v in drawn.items()),
            "value": found.value,
            "accuracy": found.metrics["accuracy"],
        }
    ]  # fmt: skip


def _time(runs: pd.DataFrame) -> list[dict]:
    """Return the runs, steps and device minutes of each part."""
    data = runs["dataset"].where(runs["part"] == "chosen", "")
    kind = np.where(runs["method"].isin(plan.paper_methods()), "paper", "other")
    return [
        {
            "part": part,
            "what": what.strip(),
            "runs": len(found),
            "steps": found["steps"].sum(),
            "minutes": found["seconds"].sum() / 60.0,
            "diverged": found["diverged"].astype(bool).sum(),
            **{f"{k} version": found["versions"].iloc[0][k] for k in ("python", "numpy", "torch")},
        }
        for (part, what), found in runs.groupby(["part", data + " " + kind], sort=False)
    ]


# Steps of the single run, and chunks of 100 steps of the population.
STEPS, CHUNKS = 150, 5


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def alone(method, device: torch.device, steps: int) -> float:
    """Return the steps per second of the plain loop; a third of the steps are warm-up."""
    one = plan.run(method, "usps", 1, 0, steps=plan.PAPER_STEPS)
    start = 0.0
    with started(one, rows_of(one), device=str(device)) as begun:
        for step in range(steps):
            if step == steps // 3:
                wait(device)
                start = time.perf_counter()
            begun.advance()
        wait(device)
    return (steps - steps // 3) / (time.perf_counter() - start)


def together(method, device: torch.device, chunks: int) -> float:
    """Return the member steps per second of a population of 30, including checkpoints; the fastest
    chunk."""
    runs = list(plan.on_splits([method], ["usps"], numbers=plan.NUMBERS, steps=plan.PAPER_STEPS))
    crew, best = Crew(".", device=str(device)), 0.0
    for family in families(runs):
        crew.begin(family)
    for _ in range(chunks):
        start = time.perf_counter()
        for _, population in crew.going:
            population.advance()
        wait(device)
        best = max(best, plan.EVERY * crew.size / (time.perf_counter() - start))
    return best


def speeds(method, name: str) -> dict[str, object]:
    """Return both speeds on the device with this name."""
    device = find_device(name)
    one, many = alone(method, device, STEPS), together(method, device, CHUNKS)
    kind = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    row = {"method": "/".join(part for part in method if part), "device": kind}
    return row | {"single": round(one), "population": round(many), "times": round(many / one, 1)}


def speed(run: Run) -> dict[str, list[dict]]:
    """Return the steps per second of one run and of a population; other devices keep their rows."""
    versions = run.pick(plan.paper_versions(), plan.paper_versions()[:1])
    found = [speeds(method, run.options.device) for method in versions]
    return {"speed": merged(run.out / "speed.csv", found, "device", digits=run.digits)}


def arguments(parser: argparse.ArgumentParser) -> None:
    benchmark.common_arguments(parser, population=300)


WORLDS = [("usps", 1), ("usps", 2), ("letter", 1), ("letter", 2)]
POINTS, ERRORS = 2.0, 2.0
# Networks beside the learners for tables: the likelihood of the labels, and a common choice.
ALIKE = ("likelihood", "nnpu")
FEATURE_WORLDS = ("1", "4", "feature 2", "feature 4", "feature 4 repaired", "class 2")
SCORE_WORLDS = (
    *("1", *(f"{g:g}" for g in SELECTIONS), "2 repaired", "4 repaired"),
    *("1 told 0.4", "1 told 0.6", "2 told 0.4", "2 told 0.6"),
)
FAVORED_CLASS_WORLDS = ("class 4", "class 4 repaired")
# Hyperparameters that we search and the benchmark fixes at these values.
CONSTANTS = {
    "count-loss/bench": ("exact count, weight 1", {"target": "exact", "weight": "1"}),
    "p3mix-e": ("teacher's weight 5", {"weight_teacher": "5"}),
    "pan/bench": ("weight 0.0001", {"weight": "0.0001"}),
    "vpu/bench/none": ("regularizer 0.03", {"regularizer": "0.03"}),
}
REASONS = {
    "count-loss/bench": "We search the target and the weight of the loss; the benchmark does not.",
    "p3mix-e": "We search the weight of the teacher; with 5, most runs predict one class.",
    "holistic-pu": "We train the original method, not the benchmark's version of it.",
    "p3mix-c": "Constants are the benchmark's; the rest follows the paper.",
    "pan/bench": "We search the weight; the benchmark does not.",
    "pue/bench": "Not explained.",
    "pusb/bench/none": "The same decisions as nnPU, whose cell agrees; the paper's draws differ.",
    "vpu/bench/none": "We search the regularizer; the benchmark does not.",
    "dist-pu/bench/none": "Raw letters: above a rate of 0.0003, it predicts one class (see below).",
}


def frame(tables: Tables, name: str) -> pd.DataFrame:
    return pd.DataFrame(tables(name))


def label(method: str) -> str:
    return title(method).replace(" (bench)", "")


def published(tables: Tables, data: tuple[str, ...] = ("usps", "letter")) -> pd.DataFrame:
    """Return the chosen models of the paper's methods."""
    rows = frame(tables, "chosen")
    return rows[rows.method.isin(paper_methods()) & rows.dataset.isin(data)]


def compared(tables: Tables) -> pd.DataFrame:
    """Return our cells and the paper's, in percent."""
    place = ["dataset", "case", "method", "criterion", "metric"]
    ours = published(tables).melt(place[:4], list(METRICS), "metric", "value")
    ours["value"] *= 100
    cells = ours.groupby(place)["value"].agg(ours=np.average, error="sem")
    cells = cells.reset_index().assign(name=lambda rows: rows["method"].map(paper_name))
    paper = pd.DataFrame(paper_numbers()).rename(columns={"method": "name", "mean": "paper"})
    cells = cells.merge(paper, on=["dataset", "case", "name", "criterion", "metric"])
    cells["gap"] = cells.ours - cells.paper
    noise = np.hypot(cells.error, cells.spread)
    cells["agrees"] = (cells.gap.abs() <= POINTS) | (cells.gap.abs() <= ERRORS * noise)
    return cells


def by_oracle(cells: pd.DataFrame) -> pd.DataFrame:
    return where(cells, metric="accuracy", criterion="oracle_accuracy")


def corrected_letter(cells: pd.DataFrame) -> float:
    part = by_oracle(cells).set_index(["dataset", "case", "method"])
    return float(part.ours["letter", 1, "upu/bench/batch"])


def apart(cells: pd.DataFrame, tables: Tables) -> str:
    """Return the cells for accuracy by OA that do not agree, each with a reason."""
    part, rows = by_oracle(cells), []
    for c in part[~part.agrees].sort_values(["method", "dataset", "case"]).itertuples():
        reason = REASONS.get(c.method, "Not explained.")
        if c.method in CONSTANTS:
            words, rule = CONSTANTS[c.method]
            value, error = restricted(tables, c.dataset, c.case, c.method, rule)
            reason += f" With {words}: {value:.1f} ± {error:.1f}."
        both = (f"{c.ours:.1f} ± {c.error:.1f}", f"{c.paper:.1f} ± {c.spread:.1f}")
        place = (world(c.dataset, c.case), label(c.method))
        rows.append([*place, *both, f"{c.gap:+.1f}", reason])
    return table("data | method | ours | paper | gap | reason", rows)


def restricted(
    tables: Tables, dataset: str, case: int, method: str, rule: dict[str, str]
) -> tuple[float, float]:
    """Return the accuracy chosen by OA among configurations with the benchmark's constants."""
    rows = where(frame(tables, "configurations"), dataset=dataset, case=case, method=method)

    def fits(drawn: str) -> bool:
        found = dict(part.split("=") for part in str(drawn).split())
        return all(found.get(name, value) == value for name, value in rule.items())

    rows = rows[[fits(drawn) for drawn in rows.drawn]]
    best = rows.loc[rows.groupby("split").value.idxmax()].accuracy.astype(float) * 100
    return best.mean(), best.sem()


# The claims


def gain(tables: Tables, criterion: str, *, against_ref: bool = False) -> Interval:
    """Return the corrected or original method's accuracy minus the accuracy without correction."""
    rows = where(frame(tables, "chosen"), criterion=criterion)
    mean, gaps = rows.groupby(findings.CELL).accuracy.mean(), {}
    for name, place in product(plan.CORRECTED, WORLDS):
        better = mean[*place, name if against_ref else f"{name}/bench/batch"]
        gaps[f"{name}{world(*place)}"] = better - mean[*place, f"{name}/bench/none"]
    return findings.interval(list(gaps), list(gaps.values()))


def between_settings(tables: Tables) -> pd.DataFrame:
    """Return the accuracies without correction in two samples and in one, for equal runs."""
    both, default = frame(tables, "two_samples"), frame(tables, "configurations")
    default = where(default[default.method.str.endswith("/none")], dataset="usps")
    one = pd.concat([default, where(both, setting="one-sample")])
    one = one.assign(method=one.method.str.removesuffix("/none"))
    same = ["dataset", "case", "method", "configuration", "split"]
    return where(both, setting="two-sample").merge(one, on=same, suffixes=("_two", "_one"))


def best_in_settings(tables: Tables) -> pd.DataFrame:
    """Return the accuracies of the configurations that OA chooses in each setting."""
    rows, place = between_settings(tables), ["dataset", "case", "method", "split"]
    found = {}
    for name in ("two", "one"):
        best = rows.loc[rows.groupby(place)[f"value_{name}"].idxmax()].set_index(place)
        found[name] = best[f"accuracy_{name}"]
    return pd.DataFrame(found).reset_index()


def setting_gap(rows: pd.DataFrame, *names: str) -> Interval:
    """Return the accuracy in two samples minus the accuracy in one, for these data sets."""
    rows = rows[rows.dataset.isin(names)]
    groups = rows.method + rows.dataset + rows.case.astype(str)
    return findings.interval(groups, rows.two - rows.one)


def setting_means(tables: Tables) -> pd.DataFrame:
    """Return the mean accuracies in both settings by data set, method and case."""
    place = ["dataset", "method", "case"]
    means = best_in_settings(tables).groupby(place)[["two", "one"]].mean()
    return means.sort_index(level="dataset", ascending=False, sort_remaining=False)


def later_cells(tables: Tables) -> str:
    """Return a later method's accuracy by each criterion, in percent."""
    rows = frame(tables, "later").assign(accuracy=lambda found: 100 * found.accuracy)
    found = rows.groupby("criterion").accuracy.agg(["mean", "sem"])
    cells = [f"{found['mean'][c]:.1f} ± {found['sem'][c]:.1f} by {THREE[c]}" for c in THREE]
    return ", ".join(cells)


def default_means(tables: Tables) -> pd.Series:
    """Return the mean accuracy by OA of every version on USPS, case 1, with its defaults."""
    ours = frame(tables, "configurations")
    both = [
        where(ours, dataset="usps", case=1, configuration=0),
        where(frame(tables, "later"), criterion="oracle_accuracy"),
    ]
    return pd.concat(both).groupby("method").accuracy.mean().sort_values(ascending=False)


def world_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean accuracy and calibration error on each problem, the best method first."""
    means = rows.groupby(["method", "dataset", "case"])[["accuracy", "ece"]].mean()
    order = rows.groupby("method").accuracy.mean().sort_values(ascending=False).index
    return means.reindex(order, level="method")


def tree_means(tables: Tables) -> pd.DataFrame:
    return world_means(frame(tables, "trees"))


def network_means(tables: Tables) -> pd.DataFrame:
    """Return the means of the networks chosen by PA."""
    return world_means(where(frame(tables, "chosen"), criterion="proxy_accuracy"))


def columns_ahead(tables: Tables) -> pd.Series:
    """Return in how many worlds each learner for tables is above every network chosen by PA."""
    best = network_means(tables).accuracy.groupby(["dataset", "case"]).max()
    ours = tree_means(tables).accuracy
    ahead = ours > best.reindex(ours.index.droplevel("method")).to_numpy()
    return ahead.groupby("method").sum()


def tree_table(tables: Tables) -> str:
    """Return accuracy and calibration error of the learners for tables, and of networks."""
    rows, nets = tree_means(tables), network_means(tables)
    shown = [(name, rows.loc[name]) for name in rows.index.unique("method")]
    shown += [(title(name), nets.loc[name]) for name in ALIKE]
    body = [[name, *(_cell(means.loc[place]) for place in WORLDS)] for name, means in shown]
    best = [nets.xs(place, level=("dataset", "case")).accuracy for place in WORLDS]
    first = [f"{100 * x.max():.1f} ({label(x.idxmax())})" for x in best]
    head = ["method", *(world(*place) for place in WORLDS)]
    return table(head, [*body, ["best network by PA", *first]])


def _cell(found: pd.Series) -> str:
    return f"{100 * found.accuracy:.1f} ({found.ece:.3f})"


# Letters


def letter_table(tables: Tables) -> str:
    """Return the accuracy on raw and standardized letters, chosen by OA, for all methods."""
    rows = frame(tables, "chosen")
    rows = rows[(rows.criterion == "oracle_accuracy") & rows.dataset.str.startswith("letter")]
    kind = np.where(rows.dataset == "letter", "raw", "standardized")
    rows = rows.assign(world=rows.case.astype(str) + ", " + kind)
    worlds = ["1, raw", "1, standardized", "2, raw", "2, standardized"]
    return accuracy_table(rows, rows, worlds)


def accuracy_table(rows: pd.DataFrame, first: pd.DataFrame, worlds: list[str]) -> str:
    """Return accuracy and calibration error by method and world, ordered by the accuracy in
    `first`."""
    mean = rows.groupby(["method", "world"])[["accuracy", "ece"]].mean()
    order = first.groupby("method").accuracy.mean().sort_values(ascending=False).index
    body = [[title(m), *(_cell(mean.loc[m, place]) for place in worlds)] for m in order]
    return table(["method", *worlds], body)


def rate_table(tables: Tables, dataset: str) -> str:
    """Return the accuracy of each method at each learning rate."""
    rows = tried(tables)
    rows = rows[(rows.dataset == dataset) & rows.weight.isna()]
    wide = rows.pivot_table(index="plain", columns="rate", values="accuracy")
    return wide_table(wide.rename(title), ["method", *(f"{x:g}" for x in wide.columns)])


def weight_table(tables: Tables) -> str:
    """Return the accuracy of Count Loss for each weight and learning rate."""
    rows = tried(tables).pivot_table(index="dataset", columns=["weight", "rate"], values="accuracy")
    names = [f"weight {w:g}, rate {r:g}" for w, r in rows.columns]
    return wide_table(rows.rename(WORLD_NAMES), ["data", *names])


def tried(tables: Tables) -> pd.DataFrame:
    """Return accuracies, with the learning rate and the weight in separate columns."""
    rows = frame(tables, "rates")
    parts = rows.method.str.extract(r"(?P<plain>.*)/lr=(?P<rate>[^/]*)(?:/weight=(?P<weight>.*))?")
    numbers = parts[["rate", "weight"]].astype(float)
    return rows.assign(plain=parts.plain, **numbers)


def wide_table(wide: pd.DataFrame, head: list[str]) -> str:
    return table(head, [[name, *map(percent, row)] for name, row in wide.iterrows()])


# Labels that are not random


def selected(tables: Tables) -> pd.DataFrame:
    rows = pd.concat([frame(tables, "selection"), frame(tables, "features")])
    rows["data"] = rows.dataset.str.replace(r"-selected.*", "", regex=True)
    favors = rows.dataset.str.extract(r"-by-(\w+)-")[0].add(" ").fillna("")
    suffix = rows.dataset.str.extract(r"-selected-.*?([\d.]+)")[0].fillna("1")
    repaired = np.where(rows.dataset.str.endswith("repaired"), " repaired", "")
    told = rows.told.map(lambda x: "" if x in ("", None) or pd.isna(x) else f" told {x}")
    rows["world"] = favors + suffix + repaired + told
    return rows


def selection_table(tables: Tables, data: str, worlds: tuple[str, ...] = SCORE_WORLDS) -> str:
    rows = selected(tables)
    rows = rows[rows.data == data]
    return accuracy_table(rows, rows[rows.world == "1"], list(worlds))


def change(
    tables: Tables, world: str, base: str = "1", metric: str = "accuracy", data: str | None = None
) -> Interval:
    """Return the change relative to another problem, over methods that do not predict a single
    class."""
    rows = selected(tables)
    rows = rows if data is None else rows[rows.data == data]
    rows = rows[~rows.method.isin(["naive", "lbe"])]
    wide = rows.pivot_table(index=["data", "method", "split"], columns="world", values=metric)
    return findings.over_methods(wide[world] - wide[base])


STUDY = Study(
    "pu_protocol",
    parts=(protocol, rates, selections, features, later, trees, two_samples, tables, speed),
    named=("features", "later", "trees", "two_samples", "speed"),
    arguments=arguments,
    digits=5,
    page_of_all=True,
)
