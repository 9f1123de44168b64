"""Curves of Figures 3 and 4: ours, from labels and from PU data, beside histogram binning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg import PUScores
from noneg.calibration import bpm_curve
from noneg.calibration.bpm_fit import CurveRows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from noneg.simulation import BinomialProcess

    Seeded = Callable[..., np.random.Generator]

SHOWN = np.linspace(0.0, 1.0, 201)
# Appendix B.2 of the paper: equal mass, 10 to 50 bins.
HISTOGRAM_BINS = range(10, 51)
SIMULATED_ROWS, SHARE_LABELLED = 10_000, 0.1
# What the paper calls them, the file, and how they are named in it.
NETS = {
    "ResNet-110, CIFAR-10": ("logits_cifar10", "resnet110_kull_test"),
    "DenseNet-40, CIFAR-10": ("top1_confidences", "kull_densenet40_cifar10"),
    "DenseNet-121 (Brier), CIFAR-10": ("logits_cifar10", "densenet121_brier_test"),
    "ResNet-110, CIFAR-100": ("top1_confidences", "kull_resnet110_cifar100"),
    "DenseNet-40, CIFAR-100": ("top1_confidences", "kull_densenet40_cifar100"),
    "Wide-ResNet (Brier), CIFAR-100": ("logits_cifar100", "wide_resnet_brier_test"),
    "DenseNet-161, ImageNet": ("top1_confidences", "imagenet_tv_densenet161"),
    "ResNet-101, ImageNet": ("top1_confidences", "imagenet_tv_resnet101"),
    "ResNet-50, birds": ("top1_confidences", "kull_resnet50_birds"),
}


def histograms(scores: PUScores, at: np.ndarray) -> np.ndarray:
    """Return the frequency of the bin that holds each score, a row a binning."""
    rows, out = CurveRows(scores), []
    for n_bins in HISTOGRAM_BINS:
        points = rows.points([n_bins])
        ends = points.cuts[points.last - 1]
        out.append(points.frequency[np.searchsorted(ends[:-1], at, side="left")])
    return np.array(out)


def curve_rows(
    name: str, labelled: PUScores, hidden: PUScores, truth: np.ndarray | None
) -> list[dict[str, object]]:
    """Points of all curves of one panel; histograms only where there are scores."""
    s = CurveRows(labelled).marginal[0]
    at = SHOWN
    binned = histograms(labelled, at)
    ours, pu = bpm_curve(labelled)(at), bpm_curve(hidden)(at)
    seen = (at >= s[min(19, s.size - 1)]) & (at <= s[-1])
    return [
        {
            "panel": name,
            "score": at[i],
            "curve": ours[i],
            "curve_pu": pu[i],
            "histogram": binned[:, i].mean(),
            "histogram_low": binned[:, i].min(),
            "histogram_high": binned[:, i].max(),
            "has_scores": int(seen[i]),
            "truth": "" if truth is None else float(truth[i]),
        }
        for i in range(at.size)
    ]


def hide(hit: np.ndarray, score: np.ndarray, rng: np.random.Generator) -> PUScores:
    """Keep the labels of a tenth of the hits, as one sample with the prior known."""
    hits = np.flatnonzero(hit)
    kept = rng.choice(hits, round(SHARE_LABELLED * hits.size), replace=False)
    labeled = np.zeros(hit.size, dtype=np.int64)
    labeled[kept] = 1
    return PUScores.from_pu_labels(labeled, score, prior=hit.mean(), setting="one-sample")


def simulated_rows(worlds: dict[str, BinomialProcess], seeded: Seeded) -> list[dict[str, object]]:
    rows = []
    for name, world in worlds.items():
        rng = seeded("figure 4", name)
        score, y = world.draw_rows(SIMULATED_ROWS, rng)
        labelled = PUScores.from_labels(y, score)
        truth = world.posterior(SHOWN)
        rows += curve_rows(name, labelled, hide(y, score, rng), truth)
    return rows


def load(folder: Path, file: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence of the predicted class, and whether it was right."""
    with np.load(folder / f"{file}.npz", allow_pickle=False) as arrays:
        if file.startswith("logits"):
            logits = arrays[f"{name}_logits"].astype(np.float64)
            labels = arrays[f"{name}_labels"]
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            return p.max(axis=1), p.argmax(axis=1) == labels
        truth = "imagenet_true" if name.startswith("imagenet") else f"{name}_true"
        hit = arrays[f"{name}_pred"] == arrays[truth]
        return np.minimum(arrays[f"{name}_conf"].astype(np.float64), 1.0), hit


def real_rows(
    folder: Path, metrics: dict[str, Callable[[PUScores], float]], seeded: Seeded
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the curves of Figure 3, and the metrics of each net with all labels and with few."""
    rows, table = [], []
    for title, (file, name) in NETS.items():
        score, hit = load(folder, file, name)
        hidden = hide(hit, score, seeded("figure 3", name))
        labelled = PUScores.from_labels(hit, score)
        rows += curve_rows(title, labelled, hidden, None)
        for data, scores in (("labelled", labelled), ("one hit in ten labelled", hidden)):
            values = {metric: function(scores) for metric, function in metrics.items()}
            head = {"net": title, "n": hit.size, "accuracy": hit.mean(), "data": data}
            table.append(head | values)
    return rows, table
