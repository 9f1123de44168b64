"""Claesen et al.: Figures 2 to 4 on simulated rankings, Figure 5 and Tables 1 and 2 on covtype."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.special import expit, ndtr, ndtri
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from experiments.prior.study import load
from experiments.study import Run, cells, data_file, seeded
from experiments.tables import Row, column, means, pick, records
from noneg import PUScores
from noneg.performance.bounds import RocBounds, contingency_bounds, pr_bounds, rank_cdf, roc_bounds
from noneg.performance.ordering import ordering

GRID = np.concatenate([np.linspace(0.0, 0.05, 26), np.linspace(0.06, 1.0, 95)])
QUALITY = 0.8  # true AUC of the simulated rankings
GAP = np.sqrt(2.0) * ndtri(QUALITY)  # distance between the classes' unit normal scores
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
ESTIMATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
RATIOS = (0.25, 1, 4, 16, 64)
# At this level, the binomial quantiles equal the count: both bounds are the estimated curve.
POINT = {"band": "pointwise", "level": 1e-9}
SMOOTH, SURE = "1: smooth", "2: sure of 45%"
NARROW, WIDE = "3: equal spread", "4: wide positives"
PAIRS = ((SMOOTH, SURE), (NARROW, WIDE))


def on_grid(bounds: RocBounds) -> list[np.ndarray]:
    """Return both envelopes at the false positive rates of the grid, at the upper end of vertical
    steps."""
    heights = []
    for x, y in (bounds.lower.envelope(), bounds.upper.envelope()):
        last = np.append(x[1:] > x[:-1], True)
        heights.append(np.interp(GRID, x[last], y[last]))
    return heights


def areas(name: object, roc, pr, *, envelope: bool = False) -> dict[str, object]:
    """Return the bounds on the areas under both curves."""
    row = {"beta": name, "roc_lower": roc.auc[0], "roc_upper": roc.auc[1]}
    if envelope:
        row["roc_envelope_lower"], row["roc_envelope_upper"] = roc.envelope_auc
    return row | {"pr_lower": pr.auc[0], "pr_upper": pr.auc[1]}


def draw(n_known: int, n_latent: int, n_negative: int, rng: np.random.Generator):
    """Return the scores of known positives and of unlabeled rows, and the hidden labels of the
    latter."""
    known = rng.normal(GAP, 1.0, n_known)
    latent, negative = rng.normal(GAP, 1.0, n_latent), rng.normal(0.0, 1.0, n_negative)
    hidden = np.repeat([1, 0], [n_latent, n_negative])
    return expit(known), expit(np.concatenate([latent, negative])), hidden


def figure2_rows(n_known: int, trials: int) -> Iterator[Row]:
    """Yield the range of the area with each band, for this many known positives among 100,000
    rows."""
    bands = ("pointwise", "exact")
    found, truth = np.empty((len(bands), 2, trials)), np.empty(trials)
    for trial in range(trials):
        rng = seeded("figure 2", n_known, trial)
        known, rest, hidden = draw(n_known, 20_000, 80_000, rng)
        scores = PUScores(known, rest, prior=0.2, setting="two-sample")
        truth[trial] = roc_auc_score(np.append(hidden, np.ones(known.size)), np.append(rest, known))
        found[:, :, trial] = [roc_bounds(scores, band=band).auc for band in bands]
    for band, (low, high) in zip(bands, found, strict=True):
        row = {"band": band, "true_auc": truth.mean()}
        for name, end in (("lower", low), ("upper", high)):
            least, most = np.quantile(end, [0.025, 0.975])
            row |= {name: end.mean(), f"{name}_2.5%": least, f"{name}_97.5%": most}
        inside = (low <= truth) & (truth <= high)
        yield row | {"width": (high - low).mean(), "contains": inside.mean(), "trials": trials}


def figure2(run: Run) -> dict[str, list[Row]]:
    every = cells(n_known=run.pick(SIZES, SIZES[1::3]))
    return {"figure2": run.rows(figure2_rows, every, trials=run.trials(200, 10))}


def figure3(_: Run) -> dict[str, list[Row]]:
    """Return curves and areas for guessed values of beta; 2,000 known, 100,000 unlabeled, beta
    0.3."""
    known, rest, hidden = draw(2000, 30_000, 70_000, seeded("figure 3"))
    y, score = np.append(hidden, np.ones(known.size)), np.append(rest, known)
    cases = {"true": (PUScores.from_labels(y, score), {})}
    scores = PUScores(known, rest, prior=0.3, setting="two-sample")
    cases |= {beta: (scores, {"beta": beta, "band": "pointwise"}) for beta in ESTIMATES}
    curves, found = [], []
    for name, (data, extra) in cases.items():
        roc, pr = roc_bounds(data, **extra), pr_bounds(data, table="all", **extra)
        low, high = on_grid(roc)
        curves += records(beta=name, fpr=GRID, lower=low, upper=high)
        found.append(areas(name, roc, pr))
    return {"figure3": found, "figure3_curves": curves}


def quantiles(n: int, shift: float = 0.0, spread: float = 1.0) -> np.ndarray:
    """Return evenly spaced quantiles of a normal distribution: a sample without randomness."""
    return shift + spread * ndtri((np.arange(n) + 0.5) / n)


def gap_for(area: float, spread: float = 1.0) -> float:
    """Return the shift of the positives that gives this area against unit normal negatives."""
    return float(np.sqrt(1.0 + spread**2) * ndtri(area))


def figure4_models() -> dict[str, PUScores]:
    """Return two pairs of rankings of 5,000 known positives among 45,000 unlabeled rows.

    With unlabeled rows as negatives, the areas are 0.725 and 0.732 in each pair, and the curves in
    a pair cross. Models 1 and 2 rank only negatives: model 2 puts 45% of the positives above
    everything and the others nearly anywhere. Models 3 and 4 rank data that contain one tenth
    latent positives.
    """
    none = quantiles(45_000)
    top = np.concatenate([quantiles(2250, 9.0, 0.5), quantiles(2750, gap_for(0.282 / 0.55))])
    pairs = {SMOOTH: (quantiles(5000, gap_for(0.725)), none), SURE: (top, none)}
    for name, area, spread in ((NARROW, 0.725, 1.0), (WIDE, 0.732, 2.0)):
        shift = gap_for((area - 0.05) / 0.9, spread)
        latent = np.concatenate([quantiles(4500, shift, spread), quantiles(40_500)])
        pairs[name] = quantiles(5000, shift, spread), latent
    return {
        name: PUScores(ndtr(known / 3), ndtr(rest / 3), prior=0.05, setting="two-sample")
        for name, (known, rest) in pairs.items()
    }


def largest_beta(scores: PUScores) -> float:
    """Return the largest beta with no negative implied false positive rate: inf head(U) / |U| /
    F."""
    (rest, *_), (known, *_) = scores.in_order()
    cuts = known[: known.size - 50]  # the top 1% is noise
    share = 1.0 - np.arange(cuts.size) / known.size
    return float(((rest.size - np.searchsorted(rest, cuts)) / rest.size / share).min())


def beta_rows(name: str, scores: PUScores, betas: np.ndarray) -> list[Row]:
    """Return the areas under the estimated curve as a function of beta, with and without
    clipping."""
    areas = [roc_bounds(scores, beta=b, **POINT).auc[0] for b in betas]
    unclipped, limit = (areas[0] - betas / 2) / (1 - betas), largest_beta(scores)
    return records(model=name, beta=betas, auc=areas, auc_unclipped=unclipped, largest_beta=limit)


def figure4(run: Run) -> dict[str, list[Row]]:
    models, betas = figure4_models(), np.linspace(0.0, 0.2, run.pick(41, 5))
    values, curves = [], []
    for name, scores in models.items():
        values += beta_rows(name, scores, betas)
        for beta in (0.0, 0.1):
            heights = on_grid(roc_bounds(scores, beta=beta, **POINT))[0]
            curves += records(model=name, beta=beta, fpr=GRID, tpr=heights)
    crossings = [*_area_crossings(values), *_exact_crossings(models)]
    return {"figure4": values, "figure4_curves": curves, "crossings": crossings}


def _area_crossings(values: list[Row]) -> Iterator[Row]:
    for pair in PAIRS:
        one, other = (pick(values, model=model) for model in pair)
        for name, metric in (("auc", "AUROC, clipped"), ("auc_unclipped", "AUROC, not clipped")):
            beta, gap = column(one, "beta"), column(one, name) - column(other, name)
            k = np.flatnonzero(gap[:-1] * gap[1:] < 0)
            found = beta[k] + (beta[1] - beta[0]) * gap[k] / (gap[k] - gap[k + 1])
            yield _crossing_row(metric, *pair, found)


def _exact_crossings(models: dict[str, PUScores]) -> Iterator[Row]:
    """Yield rankings from closed forms: accuracy depends on the prior, AUROC does not."""
    for metric, options in (("accuracy", {"threshold": 0.65}), ("auroc", {})):
        for pair in PAIRS:
            both = {name: models[name] for name in pair}
            found = ordering(both, metric=metric, priors=(0.001, 0.2), **options).crossings
            yield _crossing_row(f"{metric}, exact", *pair, found)


def _crossing_row(metric: str, one: str, other: str, found) -> Row:
    places = " ".join(f"{x:.4f}" for x in found) or "none"
    return {"metric": metric, "one": one, "other": other, "crossings": places}


def latent_rows(ratio: float, trials: int, n_known: int = 200) -> list[Row]:
    """Return the share of trials in which a table contains the truth, by the number of latent
    positives."""
    cuts = expit(ndtri(np.linspace(0.1, 0.9, 9)) + GAP)
    n_latent = round(n_known * ratio)
    kept = {band: np.zeros(cuts.size) for band in ("pointwise", "exact", "prediction")}
    for trial in range(trials):
        known, rest, hidden = draw(n_known, n_latent, 2 * n_latent, seeded("latent", ratio, trial))
        scores = PUScores(known, rest, prior=1 / 3, setting="two-sample")
        truth = (rest[hidden == 1][:, None] >= cuts).sum(axis=0)[np.argsort(-cuts)]
        for band in kept:
            options = {"band": band, "beta": n_latent / rest.size, "table": "unlabeled"}
            tables = contingency_bounds(scores, threshold=cuts, **options)
            kept[band] += (tables.lower.tp <= truth) & (truth <= tables.upper.tp)
    shares = np.array(list(kept.values())) / trials
    mean, worst = shares.mean(axis=1), shares.min(axis=1)
    sizes = {"known": n_known, "latent": n_latent}
    return records(band=kept, **sizes, coverage=mean, worst_cut_off=worst, trials=trials)


def latent(run: Run) -> dict[str, list[Row]]:
    found = run.map(latent_rows, cells(ratio=RATIOS), trials=run.trials(400, 20))
    return {"latent": [row for part in found for row in part]}


# A PU model on covtype.
N_TEST = 20_000  # per class
TRAIN_KNOWN, TRAIN_REST = 2000, 20_000
KNOWN, NEGATIVE = (0.1, 0.2, 0.4, 0.6, 0.8), (0.0, 0.2, 0.4, 0.6, 0.8)
GUESSES, BASES, BANDS = (0.8, 1.0, 1.2), ("positives", "tighter"), ("pointwise", "prediction")
# The band for latent positives is needed only at the true share.
CASES = [c for c in product(GUESSES, BASES, BANDS) if c[0] == 1.0 or c[2] == BANDS[0]]
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
        (low, high), (least, most) = on_grid(roc), ends
        curves += records(beta=name, curve="roc", x=GRID, lower=low, upper=high)
        curves += records(beta=name, curve="pr", x=GRID[1:], lower=least, upper=most)
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
    k = np.linspace(0, cdf.rank.size - 1, 201).round().astype(int)
    columns = {name: getattr(cdf, name)[k] for name in ("rank", "share", "low", "high")}
    return records(**columns, latent=truth[k], inside=inside)


def table_rows(score: np.ndarray, y: np.ndarray, trials: int) -> list[Row]:
    """Return the range of the area by the known shares of both classes, from positives or the
    tighter one."""
    found = []
    for trial in range(trials):
        rng = seeded("tables", trial)
        ranks = [rng.permutation(score[y == c])[:n] for c, n in zip((1, 0), N_TABLE, strict=True)]
        truth = roc_auc_score(np.repeat([1, 0], N_TABLE), np.concatenate(ranks))
        for shares in product(KNOWN, NEGATIVE):
            found += _ranges(ranks, shares, truth)
    keys = ("known_positives", "known_negatives", "guess", "basis", "band")
    return means(found, *keys, count="trials")


def _ranges(ranks: list[np.ndarray], shares: tuple[float, float], truth: float) -> Iterator[Row]:
    """Yield the range of the area for each guess, basis and band."""
    cuts = [round(share * n) for share, n in zip(shares, N_TABLE, strict=True)]
    parts = [np.split(rank, [cut]) for rank, cut in zip(ranks, cuts, strict=True)]
    (known, latent), (negative, hidden) = parts
    scores = PUScores(known, np.concatenate([latent, hidden]), prior=0.5, setting="two-sample")
    beta = latent.size / (latent.size + hidden.size)
    for guess, basis, band in CASES:
        cell = dict(zip(("known_positives", "known_negatives"), shares, strict=True))
        cell |= {"guess": guess, "basis": basis, "band": band}
        options = {"beta": guess * beta, "band": band, "basis": basis}
        bounds = roc_bounds(scores, known_negatives=negative if shares[1] else None, **options)
        low, high = bounds.auc
        found = {"lower": low, "upper": high, "true_auc": truth, "contains": low <= truth <= high}
        yield cell | found | {"from_negatives": bounds.assumes.basis == "negatives"}


def covtype(run: Run) -> dict[str, list[Row]] | None:
    if data_file("covtype.npz") is None:
        return {}
    score, y = test_scores(members=run.pick(30, 5))
    found = figure5(score, y, resamples=run.pick(2000, 200))
    return found | {"tables": table_rows(score, y, trials=run.trials(60, 1))}
