"""Simulated rankings: Figures 2, 3 and 4 of Claesen et al., and how wide a band must be."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from common import GRID, POINT, at, auc, on_grid, point_auc, seeded, write_csv
from scipy.special import expit, ndtr, ndtri

from noneg import PUScores
from noneg.performance.bounds import contingency_bounds, pr_bounds, roc_bounds
from noneg.performance.ordering import ordering

if TYPE_CHECKING:
    from pathlib import Path

    from common import Row

QUALITY = 0.8  # true AUC of the simulated rankings
GAP = np.sqrt(2.0) * ndtri(QUALITY)  # distance of the classes' unit normal scores
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
BANDS = ("pointwise", "exact")
ESTIMATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
RATIOS = (0.25, 1, 4, 16, 64)


def draw(n_known: int, n_latent: int, n_negative: int, rng: np.random.Generator):
    """Scores of known positives, of unlabeled rows, and the hidden labels of these."""
    known = rng.normal(GAP, 1.0, n_known)
    latent, negative = rng.normal(GAP, 1.0, n_latent), rng.normal(0.0, 1.0, n_negative)
    hidden = np.repeat([1, 0], [n_latent, n_negative])
    return expit(known), expit(np.concatenate([latent, negative])), hidden


# --- Figure 2 ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One ranking with so many known positives among 100,000 unlabeled rows."""

    n_known: int
    number: int

    def run(self) -> list[tuple[float, ...]]:
        """Range of the area with each band, and the true area of all rows."""
        rng = seeded("figure 2", self.n_known, self.number)
        known, rest, hidden = draw(self.n_known, 20_000, 80_000, rng)
        scores = PUScores(known, rest, prior=0.2, setting="two-sample")
        truth = auc(np.append(hidden, np.ones(known.size)), np.append(rest, known))
        return [(*roc_bounds(scores, band=band).auc, truth) for band in BANDS]


def figure2(trials: int, sizes: tuple[int, ...], workers: int) -> list[Row]:
    rows: list[Row] = []
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for n in sizes:
            jobs = [Trial(n, k) for k in range(trials)]
            values = np.array(list(pool.map(Trial.run, jobs, chunksize=5)))
            rows += [
                _figure2_row(n, b, v) for b, v in zip(BANDS, values.swapaxes(0, 1), strict=True)
            ]
    return rows


def _figure2_row(n: int, band: str, values: np.ndarray) -> Row:
    low, high, truth = values.T
    row: Row = {"n_known": n, "band": band, "true_auc": truth.mean()}
    for name, end in (("lower", low), ("upper", high)):
        row[name] = end.mean()
        row[f"{name}_2.5%"], row[f"{name}_97.5%"] = np.quantile(end, [0.025, 0.975])
    row["width"] = (high - low).mean()
    row["contains"] = ((low <= truth) & (truth <= high)).mean()
    return row | {"trials": truth.size}


# --- Figure 3 ------------------------------------------------------------------------------------


def figure3() -> tuple[list[Row], list[Row]]:
    """Curves and areas when beta is guessed; 2,000 known, 100,000 unlabeled, beta 0.3."""
    known, rest, hidden = draw(2000, 30_000, 70_000, seeded("figure 3"))
    scores = PUScores(known, rest, prior=0.3, setting="two-sample")
    y, score = np.append(hidden, np.ones(known.size)), np.append(rest, known)
    truth = PUScores.from_labels(y, score)
    curve = roc_bounds(truth).lower
    curves: list[Row] = [
        {"beta": "true", "fpr": x, "lower": t, "upper": t}
        for x, t in zip(GRID, at(curve.fpr, curve.tpr, GRID), strict=True)
    ]
    areas: list[Row] = [_area_row("true", truth, None)]
    for beta in ESTIMATES:
        bounds = on_grid(roc_bounds(scores, beta=beta, band="pointwise"))
        points = zip(GRID, *bounds, strict=True)
        curves += [{"beta": beta, "fpr": x, "lower": a, "upper": b} for x, a, b in points]
        areas.append(_area_row(beta, scores, beta))
    return curves, areas


def _area_row(name: object, scores: PUScores, beta: float | None) -> Row:
    roc, pr = (f(scores, beta=beta, band="pointwise", table="all") for f in (roc_bounds, pr_bounds))
    return {
        "beta": name,
        "roc_lower": roc.auc[0],
        "roc_upper": roc.auc[1],
        "pr_lower": pr.auc[0],
        "pr_upper": pr.auc[1],
    }


# --- Figure 4 ------------------------------------------------------------------------------------

SMOOTH, SURE = "1: smooth", "2: sure of 45 %"
NARROW, WIDE = "3: equal spread", "4: wide positives"
PAIRS = ((SMOOTH, SURE), (NARROW, WIDE))


def quantiles(n: int, shift: float = 0.0, spread: float = 1.0) -> np.ndarray:
    """Evenly placed quantiles of a normal law: a sample without chance."""
    return shift + spread * ndtri((np.arange(n) + 0.5) / n)


def gap_for(area: float, spread: float = 1.0) -> float:
    """Shift of the positives at which their area against unit normal negatives is this."""
    return float(np.sqrt(1.0 + spread**2) * ndtri(area))


def figure4_models() -> dict[str, PUScores]:
    """Two pairs of rankings of 5,000 known positives among 45,000 unlabeled rows.

    With unlabeled rows as negatives the areas are 0.725 and 0.732 in each pair, and the curves of a
    pair cross. Models 1 and 2 rank negatives only: 2 puts 45 % of the positives above everything
    and the others nearly anywhere. Models 3 and 4 rank data of which one tenth is latent positives.
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
    """Largest beta whose implied false positive rate is nowhere negative: inf head(U) / |U| / F."""
    (rest, *_), (known, *_) = scores.in_order()
    cuts = known[: known.size - 50]  # the top 1 % is noise
    share = 1.0 - np.arange(cuts.size) / known.size
    return float(((rest.size - np.searchsorted(rest, cuts)) / rest.size / share).min())


def figure4(betas: np.ndarray) -> tuple[list[Row], list[Row], list[Row]]:
    """Areas as a function of beta, with and without clipping; curves; crossing points."""
    models = figure4_models()
    values: list[Row] = []
    for name, scores in models.items():
        start = point_auc(scores, 0.0)
        values += [
            {
                "model": name,
                "beta": b,
                "auc": point_auc(scores, b),
                "auc_unclipped": (start - b / 2) / (1 - b),
                "largest_beta": largest_beta(scores),
            }
            for b in betas
        ]
    curves: list[Row] = []
    for name, scores in models.items():
        for beta in (0.0, 0.1):
            lower, _ = on_grid(roc_bounds(scores, beta=beta, **POINT))
            curves += [
                {"model": name, "beta": beta, "fpr": x, "tpr": t}
                for x, t in zip(GRID, lower, strict=True)
            ]
    return values, curves, [*_area_crossings(values), *_exact_crossings(models)]


def _area_crossings(values: list[Row]) -> list[Row]:
    rows: list[Row] = []
    for one, other in PAIRS:
        beta = np.array([v["beta"] for v in values if v["model"] == one])
        for column, metric in (("auc", "AUROC, clipped"), ("auc_unclipped", "AUROC, not clipped")):
            a, b = (np.array([v[column] for v in values if v["model"] == m]) for m in (one, other))
            gap = a - b
            turns = np.flatnonzero(gap[:-1] * gap[1:] < 0)
            found = [beta[k] + (beta[1] - beta[0]) * gap[k] / (gap[k] - gap[k + 1]) for k in turns]
            rows.append(_crossing_row(metric, one, other, found))
    return rows


def _exact_crossings(models: dict[str, PUScores]) -> list[Row]:
    """Orders from closed forms: accuracy depends on the prior, AUROC does not."""
    rows: list[Row] = []
    for metric, options in (("accuracy", {"threshold": 0.65}), ("auroc", {})):
        for one, other in PAIRS:
            pair = {one: models[one], other: models[other]}
            found = ordering(pair, metric=metric, priors=(0.001, 0.2), **options).crossings
            rows.append(_crossing_row(f"{metric}, exact", one, other, list(found)))
    return rows


def _crossing_row(metric: str, one: str, other: str, found: list[float]) -> Row:
    return {
        "metric": metric,
        "one": one,
        "other": other,
        "crossings": " ".join(f"{x:.4f}" for x in found) or "none",
    }


# --- how wide a band must be ---------------------------------------------------------------------


def latent_rows(trials: int) -> list[Row]:
    """Share of trials in which a table contains the truth, by the number of latent positives."""
    rows: list[Row] = []
    n_known = 200
    cuts = expit(ndtri(np.linspace(0.1, 0.9, 9)) + GAP)
    for ratio in RATIOS:
        n_latent = round(n_known * ratio)
        kept = {band: np.zeros(cuts.size) for band in ("pointwise", "exact", "prediction")}
        for trial in range(trials):
            rng = seeded("latent", ratio, trial)
            known, rest, hidden = draw(n_known, n_latent, 2 * n_latent, rng)
            scores = PUScores(known, rest, prior=1 / 3, setting="two-sample")
            truth = (rest[hidden == 1][:, None] >= cuts).sum(axis=0)
            for band in kept:
                options = {"band": band, "beta": n_latent / rest.size, "table": "unlabeled"}
                tables = contingency_bounds(scores, threshold=cuts, **options)
                here = truth[np.argsort(-cuts)]
                kept[band] += (tables.lower.tp <= here) & (here <= tables.upper.tp)
        rows += [
            {
                "band": band,
                "known": n_known,
                "latent": n_latent,
                "coverage": count.mean() / trials,
                "worst_cut_off": count.min() / trials,
                "trials": trials,
            }
            for band, count in kept.items()
        ]
    return rows


def run(out: Path, *, quick: bool, workers: int) -> None:
    """Write the tables of all simulated rankings."""
    sizes = SIZES[1::3] if quick else SIZES
    write_csv(out / "figure2.csv", figure2(10 if quick else 200, sizes, workers))
    curves, areas = figure3()
    write_csv(out / "figure3.csv", areas)
    write_csv(out / "figure3_curves.csv", curves)
    values, curves, crossings = figure4(np.linspace(0.0, 0.2, 5 if quick else 41))
    write_csv(out / "figure4.csv", values)
    write_csv(out / "figure4_curves.csv", curves)
    write_csv(out / "crossings.csv", crossings)
    write_csv(out / "latent.csv", latent_rows(20 if quick else 400))
