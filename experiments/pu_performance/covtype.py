"""A PU model on covtype: Figure 5 and Tables 1 and 2 of Claesen et al."""

from itertools import product

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from experiments.prior.mixtures import load
from experiments.pu_performance.ranks import GRID, areas, on_grid
from experiments.study import Run, data_file, seeded
from experiments.tables import Row
from noneg import PUScores
from noneg.performance.bounds import pr_bounds, rank_cdf, roc_bounds

N_TEST = 20_000  # per class
TRAIN_KNOWN, TRAIN_REST = 2000, 20_000
KNOWN, NEGATIVE = (0.1, 0.2, 0.4, 0.6, 0.8), (0.0, 0.2, 0.4, 0.6, 0.8)
GUESSES, BASES, BANDS = (0.8, 1.0, 1.2), ("positives", "tighter"), ("pointwise", "prediction")
N_TABLE = (2000, 10_000)  # positives and negatives in the tables


def bagged_scores(known, rest, x, members: int, rng: np.random.Generator) -> np.ndarray:
    """Score rows by class-weighted SVMs on resampled known positives and unlabeled rows, averaged.

    After Claesen et al. (2015), "A robust ensemble approach to learn from positive and unlabeled
    data using SVM base models", with fixed instead of tuned parameters.
    """
    total = np.zeros(len(x))
    for _ in range(members):
        rows = [part[rng.integers(len(part), size=n)] for part, n in ((known, 200), (rest, 400))]
        model = SVC(C=3.0, gamma=0.05, class_weight={1: 2.0, 0: 1.0})
        model.fit(np.concatenate(rows), np.repeat([1, 0], [200, 400]))
        total += model.decision_function(x)
    return expit(2.0 * total / members)


def test_scores(members: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and labels of 20,000 positive and 20,000 negative held-out rows."""
    x, y = load("covtype")
    x = x.astype(np.float32)
    rng = seeded("covtype")
    positive, negative = (rng.permutation(np.flatnonzero(y == c)) for c in (True, False))
    test = np.concatenate([positive[:N_TEST], negative[:N_TEST]])
    pool = rng.permutation(np.concatenate([positive[N_TEST:], negative[N_TEST:]]))
    rest, other = pool[:TRAIN_REST], pool[TRAIN_REST:]
    known = other[y[other]][:TRAIN_KNOWN]
    mean, sd = x[rest].mean(axis=0), x[rest].std(axis=0) + 1e-9
    known, rest, test_x = ((x[rows] - mean) / sd for rows in (known, rest, test))
    return bagged_scores(known, rest, test_x, members, rng), y[test]


def figure5(score: np.ndarray, y: np.ndarray, resamples: int) -> dict[str, list[Row]]:
    """Return the rank CDF, curves and areas with 5% of the positives known."""
    rng = seeded("figure 5")
    known = np.zeros(y.size, dtype=bool)
    known[rng.choice(np.flatnonzero(y), N_TEST // 20, replace=False)] = True
    scores = PUScores.from_pu_labels(known, score, prior=0.5, setting="one-sample")
    beta = y[~known].mean()
    options = {"band": "bootstrap", "resamples": resamples}
    cases = {
        "true": (PUScores.from_labels(y, score), {}),
        "beta = 0": (scores, {"beta": 0.0, **options}),
        "beta": (scores, {"beta": beta, **options}),
        "0.8 to 1.2 beta": (scores, {"beta": (0.8 * beta, 1.2 * beta), **options}),
        "beta, prediction": (scores, {"beta": beta, "band": "prediction"}),
    }
    curves, found = [], []
    for name, (data, extra) in cases.items():
        roc, pr = roc_bounds(data, **extra), pr_bounds(data, **extra)
        ends = [_precision_at(side, GRID[1:]) for side in (pr.lower, pr.upper)]
        for curve, points in (("roc", (GRID, *on_grid(roc))), ("pr", (GRID[1:], *ends))):
            named = {"beta": name, "curve": curve}
            columns = zip(*points, strict=True)
            curves += [named | {"x": x, "lower": a, "upper": b} for x, a, b in columns]
        found.append(areas(name, roc, pr, envelope=True))
    cdf = _cdf_rows(scores, score[~known], y[~known], options)
    return {"figure5": found, "figure5_curves": curves, "figure5_cdf": cdf}


def _precision_at(side, recall: np.ndarray) -> np.ndarray:
    """Return the precision at the first cutoff that reaches a recall."""
    row = np.searchsorted(side.recall, recall - 1e-12)
    return side.precision[np.minimum(row, side.recall.size - 1)]


def _cdf_rows(scores: PUScores, rest: np.ndarray, hidden: np.ndarray, options) -> list[Row]:
    cdf = rank_cdf(scores, **options)
    latent = np.sort(rest[hidden])
    truth = 1.0 - np.searchsorted(latent, cdf.threshold) / latent.size
    inside = ((cdf.low <= truth) & (truth <= cdf.high)).mean()
    names = ("rank", "share", "low", "high")
    return [
        {name: getattr(cdf, name)[k] for name in names} | {"latent": truth[k], "inside": inside}
        for k in np.linspace(0, cdf.rank.size - 1, 201).round().astype(int)
    ]


def table_rows(score: np.ndarray, y: np.ndarray, trials: int) -> list[Row]:
    """Return the range of the area by the known shares of both classes, from positives or the
    tighter one."""
    found: dict[tuple, list[tuple]] = {}
    for trial in range(trials):
        rng = seeded("tables", trial)
        ranks = [rng.permutation(score[y == c])[:n] for c, n in zip((1, 0), N_TABLE, strict=True)]
        truth = roc_auc_score(np.repeat([1, 0], N_TABLE), np.concatenate(ranks))
        for shares in product(KNOWN, NEGATIVE):
            for key, values in _ranges(ranks, shares):
                found.setdefault((*shares, *key), []).append((*values, truth))
    return [_table_row(key, *np.array(values).T) for key, values in found.items()]


def _ranges(ranks: list[np.ndarray], shares: tuple[float, float]):
    """Yield the range of the area for each guess, basis and band."""
    cuts = [round(share * n) for share, n in zip(shares, N_TABLE, strict=True)]
    (known, latent), (negative, hidden) = (
        np.split(r, [k]) for r, k in zip(ranks, cuts, strict=True)
    )
    scores = PUScores(known, np.concatenate([latent, hidden]), prior=0.5, setting="two-sample")
    beta = latent.size / (latent.size + hidden.size)
    for guess, basis, band in product(GUESSES, BASES, BANDS):
        if band == "prediction" and guess != 1.0:
            continue
        options = {"beta": guess * beta, "band": band, "basis": basis}
        bounds = roc_bounds(scores, known_negatives=negative if shares[1] else None, **options)
        yield (guess, basis, band), (*bounds.auc, bounds.assumes.basis == "negatives")


def _table_row(key: tuple, low, high, from_negatives, truth) -> Row:
    names = ("known_positives", "known_negatives", "guess", "basis", "band")
    return dict(zip(names, key, strict=True)) | {
        "lower": low.mean(),
        "upper": high.mean(),
        "true_auc": truth.mean(),
        "contains": ((low <= truth) & (truth <= high)).mean(),
        "from_negatives": from_negatives.mean(),
        "trials": truth.size,
    }


def covtype(run: Run) -> dict[str, list[Row]] | None:
    if data_file("covtype.npz") is None:
        return None
    score, y = test_scores(members=run.pick(30, 5))
    found = figure5(score, y, resamples=run.pick(2000, 200))
    return found | {"tables": table_rows(score, y, trials=run.trials(60, 1))}
