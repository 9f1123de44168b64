"""A PU model on covtype: Figure 5 and Tables 1 and 2 of Claesen et al."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from common import GRID, auc, on_grid, seeded, write_csv
from scipy.special import expit

from noneg import PUScores
from noneg.performance.bounds import pr_bounds, rank_cdf, roc_bounds

if TYPE_CHECKING:
    from pathlib import Path

    from common import Row

N_TEST = 20_000  # of each class
TRAIN_KNOWN, TRAIN_REST = 2000, 20_000
KNOWN = (0.1, 0.2, 0.4, 0.6, 0.8)
NEGATIVE = (0.0, 0.2, 0.4, 0.6, 0.8)
GUESSES = (0.8, 1.0, 1.2)
N_TABLE = (2000, 10_000)  # positives and negatives of the tables


def load(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels, class 2 (lodgepole pine) against the rest."""
    with np.load(folder / "covtype.npz", allow_pickle=False) as z:
        parts = [z["quantitative"], np.eye(4)[z["wilderness"]], np.eye(40)[z["soil"]]]
        return np.hstack(parts).astype(np.float32), z["cover_type"] == 2


class BaggedSvm:
    """Small class-weighted SVMs on resampled known positives and unlabeled rows, averaged.

    After Claesen et al. (2015), "A robust ensemble approach to learn from positive and unlabeled
    data using SVM base models", with fixed instead of tuned parameters.
    """

    def __init__(self, members: int) -> None:
        self.members = members

    def fit(self, known: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> BaggedSvm:
        from sklearn.svm import SVC

        self.models = []
        for _ in range(self.members):
            rows = [x[rng.integers(len(x), size=n)] for x, n in ((known, 200), (rest, 400))]
            model = SVC(C=3.0, gamma=0.05, class_weight={1: 2.0, 0: 1.0})
            self.models.append(model.fit(np.concatenate(rows), np.repeat([1, 0], [200, 400])))
        return self

    def score(self, x: np.ndarray) -> np.ndarray:
        total = sum(model.decision_function(x) for model in self.models)
        return expit(2.0 * total / self.members)


def test_scores(folder: Path, members: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels of 20,000 positive and 20,000 negative rows kept from training."""
    x, y = load(folder)
    rng = seeded("covtype")
    positive, negative = (rng.permutation(np.flatnonzero(y == c)) for c in (True, False))
    test = np.concatenate([positive[:N_TEST], negative[:N_TEST]])
    pool = rng.permutation(np.concatenate([positive[N_TEST:], negative[N_TEST:]]))
    rest, other = pool[:TRAIN_REST], pool[TRAIN_REST:]
    known = other[y[other]][:TRAIN_KNOWN]
    mean, sd = x[rest].mean(axis=0), x[rest].std(axis=0) + 1e-9
    known, rest, test_x = ((x[rows] - mean) / sd for rows in (known, rest, test))
    return BaggedSvm(members).fit(known, rest, rng).score(test_x), y[test]


# --- Figure 5 ------------------------------------------------------------------------------------


def figure5(score: np.ndarray, y: np.ndarray, resamples: int) -> dict[str, list[Row]]:
    """Rank CDF, curves and areas with 5 % of the positives known."""
    rng = seeded("figure 5")
    known = np.zeros(y.size, dtype=bool)
    known[rng.choice(np.flatnonzero(y), N_TEST // 20, replace=False)] = True
    scores = PUScores.from_pu_labels(known, score, prior=0.5, setting="one-sample")
    beta = y[~known].mean()
    options = {"band": "bootstrap", "resamples": resamples}
    truth = PUScores.from_labels(y, score)
    cases = {
        "true": (truth, {}),
        "beta = 0": (scores, {"beta": 0.0, **options}),
        "beta": (scores, {"beta": beta, **options}),
        "0.8 to 1.2 beta": (scores, {"beta": (0.8 * beta, 1.2 * beta), **options}),
        "beta, prediction": (scores, {"beta": beta, "band": "prediction"}),
    }
    curves: list[Row] = []
    areas: list[Row] = []
    for name, (data, extra) in cases.items():
        roc, pr = roc_bounds(data, **extra), pr_bounds(data, **extra)
        curves += _curve_rows(name, roc, pr)
        areas.append(
            {
                "beta": name,
                "roc_lower": roc.auc[0],
                "roc_upper": roc.auc[1],
                "roc_envelope_lower": roc.envelope_auc[0],
                "roc_envelope_upper": roc.envelope_auc[1],
                "pr_lower": pr.auc[0],
                "pr_upper": pr.auc[1],
            }
        )
    return {
        "figure5": areas,
        "figure5_curves": curves,
        "figure5_cdf": _cdf_rows(scores, score[~known], y[~known], options),
    }


def _curve_rows(name: str, roc, pr) -> list[Row]:
    rows: list[Row] = [
        {"beta": name, "curve": "roc", "x": x, "lower": a, "upper": b}
        for x, a, b in zip(GRID, *on_grid(roc), strict=True)
    ]
    ends = [_precision_at(side, GRID[1:]) for side in (pr.lower, pr.upper)]
    rows += [
        {"beta": name, "curve": "pr", "x": x, "lower": a, "upper": b}
        for x, a, b in zip(GRID[1:], *ends, strict=True)
    ]
    return rows


def _precision_at(side, recall: np.ndarray) -> np.ndarray:
    """Precision at the first cut-off that reaches a recall."""
    row = np.searchsorted(side.recall, recall - 1e-12)
    return side.precision[np.minimum(row, side.recall.size - 1)]


def _cdf_rows(scores: PUScores, rest: np.ndarray, hidden: np.ndarray, options) -> list[Row]:
    cdf = rank_cdf(scores, **options)
    latent = np.sort(rest[hidden])
    truth = 1.0 - np.searchsorted(latent, cdf.threshold) / latent.size
    inside = ((cdf.low <= truth) & (truth <= cdf.high)).mean()
    place = np.linspace(0, cdf.rank.size - 1, 201).round().astype(int)
    return [
        {
            "rank": cdf.rank[k],
            "share": cdf.share[k],
            "low": cdf.low[k],
            "high": cdf.high[k],
            "latent": truth[k],
            "inside": inside,
        }
        for k in place
    ]


# --- Tables 1 and 2 ------------------------------------------------------------------------------


def table_rows(score: np.ndarray, y: np.ndarray, trials: int) -> list[Row]:
    """Range of the area by the known shares of both classes, from positives or the tighter."""
    sums: dict[tuple[object, ...], list[tuple[float, ...]]] = {}
    for trial in range(trials):
        rng = seeded("tables", trial)
        ranks = [rng.permutation(score[y == c])[:n] for c, n in zip((1, 0), N_TABLE, strict=True)]
        truth = auc(np.repeat([1, 0], N_TABLE), np.concatenate(ranks))
        for p, n in product(KNOWN, NEGATIVE):
            _measure(ranks, truth, p, n, sums)
    return [_table_row(key, np.array(v)) for key, v in sums.items()]


def _measure(ranks: list[np.ndarray], truth: float, p: float, n: float, sums) -> None:
    cut = round(p * N_TABLE[0]), round(n * N_TABLE[1])
    known, latent = ranks[0][: cut[0]], ranks[0][cut[0] :]
    negative, hidden = ranks[1][: cut[1]], ranks[1][cut[1] :]
    scores = PUScores(known, np.concatenate([latent, hidden]), prior=0.5, setting="two-sample")
    beta = latent.size / (latent.size + hidden.size)
    for guess, basis, band in product(
        GUESSES, ("positives", "tighter"), ("pointwise", "prediction")
    ):
        if band == "prediction" and guess != 1.0:
            continue
        options = {"beta": guess * beta, "band": band, "basis": basis}
        bounds = roc_bounds(scores, known_negatives=negative if n else None, **options)
        key = (p, n, guess, basis, band)
        reversed_ = bounds.assumes.basis == "negatives"
        sums.setdefault(key, []).append((*bounds.auc, truth, reversed_))


def _table_row(key: tuple[object, ...], values: np.ndarray) -> Row:
    low, high, truth, from_negatives = values.T
    names = ("known_positives", "known_negatives", "guess", "basis", "band")
    return dict(zip(names, key, strict=True)) | {
        "lower": low.mean(),
        "upper": high.mean(),
        "true_auc": truth.mean(),
        "contains": ((low <= truth) & (truth <= high)).mean(),
        "from_negatives": from_negatives.mean(),
        "trials": truth.size,
    }


def run(out: Path, folder: Path, *, quick: bool) -> None:
    """Write the tables that need covtype."""
    score, y = test_scores(folder, members=5 if quick else 30)
    for name, rows in figure5(score, y, resamples=200 if quick else 2000).items():
        write_csv(out / f"{name}.csv", rows)
    write_csv(out / "tables.csv", table_rows(score, y, trials=1 if quick else 60))
