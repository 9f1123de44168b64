"""What a trained classifier's logits say: errors on test rows, before and after recalibration."""

from __future__ import annotations

import csv
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as student

from noneg import PUScores
from noneg.calibration import brier, ece, log_loss
from noneg.performance import accuracy, auroc
from noneg.randomness import stream
from noneg.recalibration import CalibrationWarning, make
from noneg.simulation.worlds import sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from storage import Model

ERRORS = (ece, brier, log_loss)
AUTO_TRIALS, AUTO_FROM = 10, 1000  # trials and sizes; it compares nine methods, which takes long
CALIBRATORS = ("platt", "isotonic", "auto")
PAPER = ("PN-logistic", "PN-sigmoid", "PU-sigmoid", "PU-logistic")
OTHERS = ("PU-GA-sigmoid", "PU-GA-logistic", "PU-mixed-sigmoid", "PU-mixed-logistic")
NAMES = (*PAPER, *OTHERS)
NEAR = 0.01  # a score this close to 0 or 1 is called extreme
# The paper's ordering, the smaller error first, for each reading of its "nnPU".
CLAIMS = (
    ("PN-logistic", "PU-logistic"),
    ("PN-logistic", "PU-GA-logistic"),
    ("PN-logistic", "PN-sigmoid"),
    ("PN-sigmoid", "PU-sigmoid"),
    ("PU-sigmoid", "PU-logistic"),
    ("PN-sigmoid", "PU-GA-sigmoid"),
    ("PU-GA-sigmoid", "PU-GA-logistic"),
    ("PN-sigmoid", "PU-mixed-sigmoid"),
    ("PU-mixed-sigmoid", "PU-mixed-logistic"),
)


def labelled_scores(
    model: Model, change: Callable[[np.ndarray], np.ndarray] | None = None
) -> PUScores:
    """Return all test rows with their labels; `change` maps the scores first."""
    parts = [model.logits[g] for g in ("test_neg", "test_pos")]
    y = np.repeat([0, 1], [p.size for p in parts])
    s = sigmoid(np.concatenate(parts))
    return PUScores.from_labels(y, s if change is None else change(s))


def held_out_scores(model: Model) -> PUScores:
    """Return held-out rows as PU data: the labelled positives, and all rows as unlabeled ones."""
    groups = ("held_neg", "held_pos", "held_labelled")
    unlabeled = np.concatenate([model.logits[g] for g in groups])
    positive = model.logits["held_labelled"]
    return PUScores(sigmoid(positive), sigmoid(unlabeled), prior=model.prior, setting="two-sample")


def pu_scores(model: Model) -> PUScores:
    """Return half of the test rows as unlabeled ones, and the positives of the other half."""
    rng = stream(model.trial, "halves of the test rows")
    negative, positive = (model.logits[g] for g in ("test_neg", "test_pos"))
    first, second = (rng.random(part.size) < 0.5 for part in (negative, positive))
    unlabeled = np.concatenate([negative[first], positive[second]])
    return PUScores(
        sigmoid(positive[~second]), sigmoid(unlabeled), prior=model.prior, setting="two-sample"
    )


def redrawn_scores(model: Model) -> PUScores:
    """Return the test scores with labels drawn from them: what a calibrated classifier shows."""
    rng = stream(model.trial, "labels drawn from scores")
    s = sigmoid(np.concatenate([model.logits[g] for g in ("test_neg", "test_pos")]))
    return PUScores.from_labels((rng.random(s.size) < s).astype(int), s)


def fitted(name: str, scores: PUScores):
    """Fit a calibrator; what it warns of is no matter in a study of many fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return make(name).fit(scores)


def errors(scores: PUScores, suffix: str) -> dict[str, float]:
    return {f"{f.__name__}{suffix}": f(scores) for f in ERRORS}


def measure(model: Model) -> dict[str, object]:
    """Return a row of ``models.csv``."""
    scores, positive = labelled_scores(model), model.logits["test_pos"]
    s = sigmoid(np.concatenate([model.logits["test_neg"], positive]))
    row: dict[str, object] = {
        "data": model.data,
        "name": model.name,
        "n": model.n,
        "trial": model.trial,
        "epoch": model.epoch,
        "held_out_risk": float(model.risks.min()),
        "accuracy": accuracy(scores, threshold=0.5),
        "auc": auroc(scores),
        "pu_ece": ece(pu_scores(model)),
        "ece_if_calibrated": ece(redrawn_scores(model)),
        "positive_median": float(np.median(positive)),
        "positive_iqr": float(np.subtract(*np.quantile(positive, [0.75, 0.25]))),
        "negative_median": float(np.median(model.logits["test_neg"])),
        "extreme": float(np.mean((s < NEAR) | (s > 1.0 - NEAR))),
    } | errors(scores, "")
    held = held_out_scores(model)
    for name in CALIBRATORS:
        if name == "auto" and (model.trial >= AUTO_TRIALS or model.n < AUTO_FROM):
            row |= dict.fromkeys([*(f"{f.__name__}_auto" for f in ERRORS), "auto"], "")
            continue
        calibrator = fitted(name, held)
        row |= errors(labelled_scores(model, calibrator.transform), f"_{name}")
        if name == "auto":
            row["auto"] = calibrator.chosen_.name
    return row


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Return the mean over trials and its standard error."""
    if values.size == 0:
        return math.nan, math.nan
    if values.size < 2:
        return float(values.mean()), math.nan
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size))


def by_trial(rows: list[dict], data: str, name: str, n: int, column: str) -> dict[int, float]:
    return {
        int(r["trial"]): float(r[column])
        for r in rows
        if (r["data"], r["name"], int(r["n"])) == (data, name, n) and r[column] != ""
    }


def sizes_of(rows: list[dict], data: str) -> list[int]:
    return sorted({int(r["n"]) for r in rows if r["data"] == data})


SUMMARY = (
    "accuracy",
    "auc",
    "pu_ece",
    "ece_if_calibrated",
    "epoch",
    "positive_median",
    "positive_iqr",
    "negative_median",
    "extreme",
    *(f"{f.__name__}{s}" for s in ("", *(f"_{c}" for c in CALIBRATORS)) for f in ERRORS),
)


def summary_rows(rows: list[dict]) -> list[dict[str, object]]:
    """Return means over trials with their standard errors, a row a classifier and size."""
    out = []
    for data in sorted({r["data"] for r in rows}, reverse=True):
        for n in sizes_of(rows, data):
            for name in NAMES:
                found = {c: by_trial(rows, data, name, n, c) for c in SUMMARY}
                trials = len(found["ece"])
                if not trials:
                    continue
                row: dict[str, object] = {"data": data, "n": n, "name": name, "trials": trials}
                for column, values in found.items():
                    mean, error = mean_and_error(np.array(list(values.values())))
                    row |= {column: mean, f"{column}_se": error}
                out.append(row)
    return out


def difference(lower: dict[int, float], higher: dict[int, float]) -> dict[str, object]:
    """Compare two classifiers over the trials that both have: mean, 95 % interval, who wins."""
    common = sorted(lower.keys() & higher.keys())
    d = np.array([higher[t] - lower[t] for t in common])
    mean, error = mean_and_error(d)
    reach = float(student.ppf(0.975, d.size - 1)) * error if d.size > 1 else math.nan
    verdict = "undecided"
    if mean - reach > 0:
        verdict = "as in the paper"
    elif mean + reach < 0:
        verdict = "the other way"
    return {
        "difference": mean,
        "low": mean - reach,
        "high": mean + reach,
        "share_of_trials": float(np.mean(d > 0)),
        "trials": d.size,
        "verdict": verdict,
    }


def ordering_rows(rows: list[dict]) -> list[dict[str, object]]:
    """Return the paper's ordering, claim by claim, at every size, before and after calibrators."""
    out = []
    for data in sorted({r["data"] for r in rows}, reverse=True):
        for column in ("ece", *(f"ece_{c}" for c in CALIBRATORS)):
            for n in sizes_of(rows, data):
                for low, high in CLAIMS:
                    pair = [by_trial(rows, data, name, n, column) for name in (low, high)]
                    if pair[0].keys() & pair[1].keys():
                        named = {"data": data, "error": column, "n": n}
                        claim = {"smaller": low, "larger": high}
                        out.append(named | claim | difference(*pair))
    return out


def histogram_rows(shown: dict[str, Model]) -> list[dict[str, object]]:
    """Return counts of logits and of scores in each class, of one trial of each classifier."""
    out = []
    for world, model in shown.items():
        logits = {"negative": model.logits["test_neg"], "positive": model.logits["test_pos"]}
        both = np.concatenate(list(logits.values()))
        reach = np.linspace(*np.quantile(both, [0.001, 0.999]), 61)
        for kind, edges in (("logit", reach), ("score", np.linspace(0.0, 1.0, 51))):
            for label, values in logits.items():
                v = np.clip(values, edges[0], edges[-1]) if kind == "logit" else sigmoid(values)
                count = np.histogram(v, edges)[0]
                named = {"world": world, "kind": kind, "class": label}
                columns = zip(edges[:-1], edges[1:], count.tolist(), strict=True)
                out += [named | {"left": a, "right": b, "count": c} for a, b, c in columns]
    return out


def write_csv(path: Path, rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _short(v) for k, v in row.items()} for row in rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _short(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float | np.floating) else value
