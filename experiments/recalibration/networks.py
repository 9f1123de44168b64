"""Tables 1 and 5 of the binomial-process paper, and the same with labels hidden.

    NONEG_DATA=... python networks.py

A network's top-label question is binary: the score is the largest class probability, the label
whether that class is right. Calibrators learn on the calibration split and are judged on the test
split, all of whose labels are used for judging alone.

Labels hidden: of the calibration rows, each *hit* is marked with probability `rate`, by a coin;
misses and unmarked hits look alike. That is one sample with known prior, the share of hits.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
from common import NAMES, fitted, save

from noneg import PUScores, compare
from noneg.calibration import debiased_ece, ece, ks_error, smooth_ece, sweep_ece, tce_bpm
from noneg.recalibration.multiclass import TemperatureScaling, VectorScaling

DATA = Path(os.environ["NONEG_DATA"])
# The networks nearest to those of the paper's tables: the first is the very same.
PAPERS = ("resnet110_kull cifar10", "wide_resnet_brier cifar100", "densenet161 imagenet")
RATES = (0.2, 0.5, 0.8)
HIDINGS = 10
METRICS = {
    "ece": lambda scores: ece(scores, bins=15),
    "debiased": lambda scores: debiased_ece(scores, bins=15, norm="l1"),
    "sweep": sweep_ece,
    "ks": ks_error,
    "smooth": smooth_ece,
    "bpm": tce_bpm,
}


def softmax(logits):
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def top(probabilities, labels):
    best = probabilities.argmax(axis=1)
    return probabilities[np.arange(len(best)), best], best == labels


def networks():
    """Yield name, whether class probabilities are known, and both splits."""
    for data in ("cifar10", "cifar100"):
        with np.load(DATA / f"logits_{data}.npz", allow_pickle=False) as stored:
            names = [key.removesuffix("_test_logits") for key in stored.files if "_test_l" in key]
            for name in sorted(n for n in names if not n.endswith("labels")):
                parts = [
                    stored[f"{name}_{s}_{x}"] for s in ("val", "test") for x in ("logits", "labels")
                ]
                yield f"{name} {data}", *(p.astype(float) if p.ndim == 2 else p for p in parts)
    with np.load(DATA / "top1_confidences.npz", allow_pickle=False) as stored:
        hit = stored["imagenet_tv_densenet161_pred"] == stored["imagenet_true"]
        order = np.random.default_rng(0).permutation(hit.size)
        score = np.minimum(stored["imagenet_tv_densenet161_conf"].astype(float), 1.0)[order]
        hit = hit[order]
        half = hit.size // 2
        yield "densenet161 imagenet", score[:half], hit[:half], score[half:], hit[half:]


def top_label(part, labels):
    return top(softmax(part), labels) if part.ndim == 2 else (part, labels)


def differences(after, before, hit):
    """Return the changes of the calibration error (over optimal bins) and of the Brier score."""
    found = compare(
        {"after": after, "before": before},
        hit,
        setting="labelled",
        criteria=["ece", "brier"],
        reference="before",
    )
    return [found.criteria[c].differences["after"] for c in ("ece", "brier")]


def row(name, method, test_score, test_hit, before):
    """Return all metrics after a method, and the change of the error with its interval."""
    scores = PUScores.from_labels(test_hit, test_score)
    found = {metric: float(function(scores)) for metric, function in METRICS.items()}
    ends = ("change", "change_low", "change_high", "brier_change", "brier_low", "brier_high")
    change = dict.fromkeys(ends, "")
    if before is not None:
        error, score = differences(test_score, before, test_hit)
        values = (error.value, error.low, error.high, score.value, score.low, score.high)
        change = dict(zip(ends, values, strict=True))
    return {"network": name, "method": method, **found, **change}


def labelled(name, val, val_labels, test, test_labels):
    """Yield the rows of the paper's table, all labels known."""
    s, hit = top_label(val, val_labels)
    t, test_hit = top_label(test, test_labels)
    yield row(name, "none", t, test_hit, None)
    for method in NAMES:
        after = fitted(method, PUScores.from_labels(hit, s)).transform(t)
        yield row(name, method, after, test_hit, t)
    if val.ndim == 2:
        for method in (TemperatureScaling(), VectorScaling()):
            scaled = method.fit(val, val_labels).predict_proba(test)
            after, its_hit = top(scaled, test_labels)
            # Another class may come out on top, so rows are not the same question any more.
            same = np.array_equal(its_hit, test_hit)
            yield row(name, f"{method.name} (logits)", after, its_hit, t if same else None)


def hidden(name, val, val_labels, test, test_labels):
    """Yield, for each rate, hiding and method, the error on the test split."""
    s, hit = top_label(val, val_labels)
    t, test_hit = top_label(test, test_labels)
    for rate in RATES:
        for seed in range(HIDINGS):
            marked = hit & (
                np.random.default_rng([seed, round(100 * rate)]).random(hit.size) < rate
            )
            scores = PUScores.from_pu_labels(marked, s, prior=hit.mean(), setting="one-sample")
            for method in NAMES:
                after = fitted(method, scores).transform(t)
                pair = PUScores.from_labels(test_hit, after)
                out = {"network": name, "rate": rate, "seed": seed, "method": method}
                out["ece"] = float(ece(pair, bins=15))
                for criterion, gap in zip(
                    ("ece", "brier"), differences(after, t, test_hit), strict=True
                ):
                    out[f"{criterion}_change"] = gap.value
                    out[f"{criterion}_low"] = gap.low
                    out[f"{criterion}_high"] = gap.high
                yield out


def main():
    start, table, pu = time.time(), [], []
    found = {name: parts for name, *parts in networks()}
    for name in (*PAPERS, *(name for name in found if name not in PAPERS)):
        table += labelled(name, *found[name])
        save("networks.csv", table)
        if name in PAPERS:
            pu += hidden(name, *found[name])
            save("networks_hidden.csv", pu)
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
