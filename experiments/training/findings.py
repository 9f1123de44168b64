"""The paper's three findings, the error in its code, and calibration results, with intervals."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from experiments.training.plan import CORRECTED, TOLD
from experiments.training.selections import (
    PLACE,
    SAME,
    Interval,
    against,
    checkpoints,
    chosen,
    common,
    complete,
    correlation,
    defaults,
    fair,
    interval,
    main_runs,
    over_methods,
    rank_correlation,
    single,
    title,
    where,
)
from noneg.lab.bench import Ranks, rank_methods
from noneg.lab.bench.summaries import Cell
from noneg.learning.algorithms import ALGORITHMS

WITHOUT_LABELS = ("proxy_accuracy", "proxy_auc", "pu_log_loss", "pu_brier", "pu_ece")
KINDS = ("batch", "ref", "two")


def ranks(runs: pd.DataFrame, metric: str, criterion: str) -> Ranks:
    """Rank methods in every split of every problem."""
    asked = {"metric": metric, "criterion": criterion}
    unknown = {"std": np.nan, "error": np.nan, "splits": 1}
    cells = [
        Cell(world=(*world, split), method=title(method), mean=float(value), **asked, **unknown)
        for (world, method, split), value in chosen(fair(runs), criterion)[metric].items()
    ]
    return rank_methods(cells, **asked)


def criteria(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means for the models that each criterion chooses, and differences from proxy
    accuracy."""
    found = []
    for criterion in (*WITHOUT_LABELS, "oracle_accuracy"):
        own = where(rows, criterion=criterion)
        row: dict[str, Any] = {"criterion": criterion, "n": len(own)}
        for metric in ("accuracy", "auc", "ece", "log_loss"):
            row[metric] = float(own[metric].mean())
            if criterion != "proxy_accuracy":
                row[f"{metric}_gap"] = against(rows, criterion, "proxy_accuracy", metric)
        found.append(row)
    return found


def twins_agree(runs: pd.DataFrame) -> tuple[int, int]:
    """Return how many pairs of equivalent runs choose the same model with the same score, and the
    total."""
    found = checkpoints(runs, "oracle_accuracy")
    found = found[found["given_prior"].isna()]
    twins = found[found["method"].isin(SAME)].copy()
    twins["method"] = twins["method"].map(SAME)
    keys = ["method", "dataset", "case", "setting", "rate", "configuration", "split"]
    both = twins.merge(found, on=keys)
    same = (both["accuracy_x"] == both["accuracy_y"]) & (both["step_x"] == both["step_y"])
    return int(same.sum()), len(both)


def more_labels(runs: pd.DataFrame, few: float = 0.1, many: float = 0.5) -> dict[str, Interval]:
    """Return the effect of more labeled rows on accuracy, uncorrected and corrected, paired over
    splits."""
    found = chosen(defaults(runs), "oracle_accuracy")
    found = found[(found["variant"] == "bench") & ~found["method"].isin(SAME)]
    keys = ["correction", "dataset", "algorithm", "case", "setting", "split"]
    at = {rate: found[found["rate"] == rate].set_index(keys)["accuracy"] for rate in (few, many)}
    gaps = (at[many] - at[few]).dropna()
    return {
        kind: interval([" ".join(place[1:3]) for place in own.index], own)
        for kind, own in gaps.groupby(level="correction")
    }


def slip(runs: pd.DataFrame) -> dict[str, Any]:
    """Return how often the published criterion chooses a different checkpoint or run, and the
    cost."""
    pair = ("proxy_accuracy", "proxy_accuracy_slip")
    kept, keys = single(main_runs(runs)), [*PLACE, "configuration"]
    a, b = (checkpoints(kept, criterion).set_index(keys)["step"] for criterion in pair)
    first, second = (chosen(fair(runs), criterion) for criterion in pair)
    models = (first[["configuration", "step"]] != second[["configuration", "step"]]).any(axis=1)
    return {
        "changed": float((a != b).mean()),
        "runs": len(a),
        "models_changed": float(models.mean()),
        "models": len(models),
        **{
            metric: over_methods(second[metric] - first[metric])
            for metric in ("accuracy", "recall", "precision", "f1", "ece")
        },
    }


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the calibration and scoring errors of every method, before and after recalibration."""
    names = ["accuracy", "ece", "pu_ece", "ece_recalibrated", "pu_ece_recalibrated"]
    found = where(rows, criterion="proxy_accuracy").groupby("method")
    return found[names].mean().sort_values("ece", kind="stable")


def known_prior(runs: pd.DataFrame) -> pd.DataFrame:
    found = checkpoints(single(runs), "proxy_accuracy")
    return found[found["given_prior"].isna()]


def agreement(runs: pd.DataFrame, *, varied: bool = False) -> dict[str, Any]:
    """Return the correlation of PU-ECE with the true error over all runs.

    `varied` omits runs that assign every test row to the same class.
    """
    found = known_prior(runs)
    if varied:
        found = found[~found["recall"].isin((0.0, 1.0))]
    groups, values = found["method"].to_numpy(str), found[["pu_ece", "ece"]].to_numpy(float)
    return {
        "pairs": values,
        "pearson": interval(groups, values, correlation),
        "spearman": interval(groups, values, rank_correlation),
        "gap": interval(groups, values[:, 0] - values[:, 1]),
    }


def constant(runs: pd.DataFrame) -> Counter:
    """Return runs whose chosen model assigns all test rows to one class, by data set and method."""
    found = known_prior(runs)
    found = found[found["recall"].isin((0.0, 1.0))]
    return Counter(f"{title(r.method)} on {r.dataset}" for r in found.itertuples())


def recalibration_gain(rows: pd.DataFrame) -> Interval:
    """Return the interval for the effect of recalibration on the true error."""
    found = where(rows, criterion="proxy_accuracy").set_index("method")
    return over_methods(found["ece_recalibrated"] - found["ece"])


def shift(runs: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Two-sample methods: in two samples, uncorrected in one sample, corrected, and original."""
    runs = where(defaults(runs), rate=0.3)
    runs = runs[runs["algorithm"].isin(CORRECTED) & runs["given_prior"].isna()]
    found = chosen(runs, criterion)
    keys = ["dataset", "case", "algorithm", "split"]
    one = found[found["setting"] == "one-sample"]
    batch = one[one["correction"] == "batch"].set_index(keys)["accuracy"]
    for twin, same in SAME.items():
        # Return a corrected method, or the equivalent one that was run on all splits.
        if twin.endswith("batch"):
            names = [same.split("/")[0], twin.split("/")[0]]
            own = batch[batch.index.get_level_values("algorithm") == names[0]]
            own = own.rename(index={names[0]: names[1]}, level="algorithm")
            batch = own.combine_first(batch)
    parts = {
        "none": one[(one["correction"] == "none") & ~one["method"].isin(SAME)],
        "ref": one[one["variant"] == "ref"],
        "two": found[(found["setting"] == "two-sample") & (found["variant"] == "bench")],
    }
    wide = pd.DataFrame({k: part.set_index(keys)["accuracy"] for k, part in parts.items()})
    wide = wide.join(batch.rename("batch")).dropna(subset="none")
    means = wide.groupby(level=keys[:3]).mean()
    gaps = wide[list(KINDS)].sub(wide["none"], axis=0)
    groups = [" ".join(map(str, place[:3])) for place in wide.index]
    there = [kind for kind in KINDS if gaps[kind].notna().any()]
    return {
        "rows": means,
        "gaps": {k: _interval(groups, gaps[k]) for k in there},
        "medians": {k: gaps[k].dropna().groupby(level=keys[:3]).mean() for k in there},
    }


def _interval(groups: list[str], gaps: pd.Series) -> Interval:
    known = gaps.notna().to_numpy()
    return interval(np.array(groups)[known], gaps[known])


def both_samples(runs: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Return the accuracies on USPS, case 1, by version and split: in two samples, and uncorrected
    in one."""
    found = chosen(defaults(runs), criterion).drop(columns=PLACE).reset_index()
    found = found[found["correction"].fillna("none") == "none"]
    found["method"] = found["method"].str.removesuffix("/none")
    found["given_prior"] = found["given_prior"].fillna(-1.0)
    keys = ["method", "split", "dataset", "case", "rate", "given_prior"]
    wide = found.pivot_table(index=keys, columns="setting", values="accuracy")
    wide = wide.reindex(columns=["two-sample", "one-sample"]).dropna()
    return wide.set_axis(["two", "one"], axis=1).drop("pusb/bench", level="method", errors="ignore")


def losses(runs: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Return the loss in one sample: for the paper's versions that use a prior, and their
    originals."""
    rows = both_samples(runs, criterion)
    gaps = rows["two"] - rows["one"]
    stats = gaps.groupby(level="method").agg(["mean", "sem", "size"])
    told = [m for m in stats.index if m.endswith("/bench") and needs_prior(m)]
    clear = [m for m in told if stats["mean"][m] > 2.0 * stats["sem"].fillna(np.inf)[m]]
    paired = [m for m in told if original(m) in stats.index]
    beyond = gaps - gaps.index.get_level_values("method").map(
        lambda m: stats["mean"].get(original(m), np.nan)
    )
    return {
        "means": rows.groupby(level="method").mean(),
        "lost": stats,
        "told": told,
        "clear": sorted(clear, key=lambda m: -stats["mean"][m]),
        "bench": _over(gaps, told),
        "original": _over(gaps, [original(m) for m in paired]),
        "beyond": _over(beyond, paired),
    }


def original(method: str) -> str:
    return method.split("/", maxsplit=1)[0]


def needs_prior(method: str) -> bool:
    return ALGORITHMS[original(method)].needs_prior


def _over(gaps: pd.Series, methods: list[str]) -> Interval | None:
    own = gaps[gaps.index.get_level_values("method").isin(methods)]
    return over_methods(own) if len(own) else None


def several(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs for problems with several configurations, limited to those that every method
    has."""
    kept = common(complete(single(main_runs(runs))))
    many = kept.groupby(["dataset", "case"])["configuration"].transform("nunique")
    return kept[many > 1]


def shared(runs: pd.DataFrame) -> dict[tuple[str, int], set[int]]:
    """Return the configurations that every method has, for problems with several of them."""
    found = several(runs).groupby(["dataset", "case"])["configuration"]
    return {world: set(numbers) for world, numbers in found}


def gains(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the gain from choosing configurations by each criterion, and how often it differs."""
    runs, rows = several(runs), []
    for criterion in (*WITHOUT_LABELS, "oracle_accuracy"):
        best, first = chosen(runs, criterion), chosen(defaults(runs), criterion)
        rows.append(
            {
                "criterion": criterion,
                "n": len(first),
                "default": float(first["accuracy"].mean()),
                "best": float(best["accuracy"].mean()),
                "gap": over_methods(best["accuracy"] - first["accuracy"]),
                "other": float((best["configuration"] > 0).mean()),
            }
        )
    return rows


def by_oracle(runs: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the default runs on the main problems at the checkpoint that the oracle chooses."""
    return chosen(where(defaults(single(main_runs(runs))), **wanted), "oracle_accuracy")


def late(runs: pd.DataFrame, dataset: str, share: float = 0.8) -> float:
    """Return how many runs with default hyperparameters are best, by OA, near the end of
    training."""
    own = by_oracle(runs, dataset=dataset)
    return float((own["step"] > share * own["steps"]).mean())


def stuck(runs: pd.DataFrame, method: str) -> tuple[int, int, float]:
    """Return the default runs on Letter that predict only positives, the total, and their smallest
    error."""
    own = by_oracle(runs, dataset="letter", method=method)
    # If every row is predicted positive, accuracy and precision equal the share of positives.
    alike = own[(own["recall"] == 1.0) & (own["accuracy"] == own["precision"])]
    return len(alike), len(own), float(alike["ece"].min())


def tried(runs: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Return the accuracy by OA of each configuration on Letter 1, split 0, for methods with more
    than two."""
    runs = where(single(main_runs(runs)), dataset="letter", case=1, split=0)
    own = checkpoints(runs, "oracle_accuracy")
    cells = {
        m: dict(zip(p["configuration"], p["accuracy"], strict=True))
        for m, p in own.groupby("method", sort=False)
    }
    return {method: values for method, values in cells.items() if len(values) > 2}


def rate_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy and its standard error, in %, by data set, method, correction and
    rate.

    Methods that are equivalent to another one under this protocol have its numbers.
    """
    runs = where(defaults(runs), variant="bench", setting="one-sample", case=1)
    known = runs["algorithm"].isin(CORRECTED) & runs["given_prior"].isna()
    found = chosen(runs[known & (runs["dataset"] != "cifar10")], "oracle_accuracy")
    keys = ["dataset", "algorithm", "correction", "rate"]
    cells = found.set_index(keys)["accuracy"].groupby(level=keys).agg(["mean", "sem"])
    return 100 * cells.fillna({"sem": 0.0})


def rate_line(cells: pd.DataFrame, dataset: str, name: str, correction: str) -> pd.DataFrame:
    """Return means and errors by rate, from the equivalent method if there is one."""
    own = SAME.get(f"{name}/bench/{correction}", f"{name}/bench/{correction}").split("/")
    place = (dataset, own[0], own[2])
    return cells.loc[place] if place in cells.index else cells.iloc[:0].droplevel([0, 1, 2])


def told_cells(runs: pd.DataFrame) -> dict[str, dict[float, pd.DataFrame]]:
    """Return metrics by method and given prior, one row per split, for priors that all methods
    have."""
    runs = where(defaults(runs), dataset="usps", setting="one-sample", case=1, rate=0.3)
    found = chosen(runs[runs["method"].isin(TOLD)], "proxy_accuracy")
    told = found["given_prior"].astype(float).fillna(0.5).to_numpy()
    cells = {
        m: dict(list(p.groupby(told[found["method"] == m])))
        for m, p in found.groupby(level="method")
    }
    whole = sorted(set.intersection(*map(set, cells.values()))) if cells else []
    return {method: {prior: own[prior] for prior in whole} for method, own in cells.items()}
