"""Curves for Figures 3 and 4: ours, from labels and from PU data, compared with histogram
binning."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments.study import seeded
from experiments.tables import Row
from noneg import PUScores
from noneg.calibration import bpm_curve
from noneg.calibration.bpm_fit import CurveRows
from noneg.simulation import BinomialProcess

SHOWN = np.linspace(0.0, 1.0, 201)
# Appendix B.2 of the paper: equal mass, 10 to 50 bins.
HISTOGRAM_BINS = range(10, 51)
SIMULATED_ROWS, SHARE_LABELED = 10_000, 0.1
# The paper's name, the file, and the name used in the file.
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
    """Return the frequency in the bin that contains each score, one row per binning."""
    rows, out = CurveRows(scores), []
    for n_bins in HISTOGRAM_BINS:
        points = rows.points([n_bins])
        ends = points.cuts[points.last - 1]
        out.append(points.frequency[np.searchsorted(ends[:-1], at, side="left")])
    return np.array(out)


def curve_rows(
    name: str, labeled: PUScores, hidden: PUScores, truth: np.ndarray | None = None
) -> list[Row]:
    """Return the points of all curves in one panel; histograms only where there are scores."""
    s = CurveRows(labeled).marginal[0]
    binned = histograms(labeled, SHOWN)
    ours, pu = bpm_curve(labeled)(SHOWN), bpm_curve(hidden)(SHOWN)
    seen = (s[min(19, s.size - 1)] <= SHOWN) & (s[-1] >= SHOWN)
    return [
        {
            "panel": name,
            "score": score,
            "curve": ours[i],
            "curve_pu": pu[i],
            "histogram": binned[:, i].mean(),
            "histogram_low": binned[:, i].min(),
            "histogram_high": binned[:, i].max(),
            "has_scores": int(seen[i]),
            "truth": "" if truth is None else float(truth[i]),
        }
        for i, score in enumerate(SHOWN)
    ]


def hide(hit: np.ndarray, score: np.ndarray, rng: np.random.Generator) -> PUScores:
    """Keep the labels of a tenth of the positives, as one sample with a known prior."""
    hits = np.flatnonzero(hit)
    kept = rng.choice(hits, round(SHARE_LABELED * hits.size), replace=False)
    labeled = np.zeros(hit.size, dtype=np.int64)
    labeled[kept] = 1
    return PUScores.from_pu_labels(labeled, score, prior=hit.mean(), setting="one-sample")


def simulated_rows(worlds: dict[str, BinomialProcess]) -> list[Row]:
    rows = []
    for name, world in worlds.items():
        rng = seeded("figure 4", name)
        score, y = world.draw_rows(SIMULATED_ROWS, rng)
        pair = PUScores.from_labels(y, score), hide(y, score, rng)
        rows += curve_rows(name, *pair, world.posterior(SHOWN))
    return rows


def load(folder: Path, file: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidence of the predicted class, and whether it was right."""
    with np.load(folder / f"{file}.npz", allow_pickle=False) as arrays:
        if file.startswith("logits"):
            logits = arrays[f"{name}_logits"].astype(np.float64)
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            return p.max(axis=1), p.argmax(axis=1) == arrays[f"{name}_labels"]
        truth = "imagenet_true" if name.startswith("imagenet") else f"{name}_true"
        hit = arrays[f"{name}_pred"] == arrays[truth]
        return np.minimum(arrays[f"{name}_conf"].astype(np.float64), 1.0), hit


def real_tables(folder: Path, metrics: dict[str, Callable]) -> dict[str, list[Row]]:
    """Return the curves for Figure 3, and each network's metrics with all labels and with few."""
    rows, table = [], []
    for net, (file, name) in NETS.items():
        score, hit = load(folder, file, name)
        labeled, hidden = (
            PUScores.from_labels(hit, score),
            hide(hit, score, seeded("figure 3", name)),
        )
        rows += curve_rows(net, labeled, hidden)
        for data, scores in (("labeled", labeled), ("one hit in ten labeled", hidden)):
            head = {"net": net, "n": hit.size, "accuracy": hit.mean(), "data": data}
            table.append(head | {metric: function(scores) for metric, function in metrics.items()})
    return {"figure3": rows, "real": table}
