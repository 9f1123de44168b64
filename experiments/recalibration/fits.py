"""Fits by likelihood and by risk in populations with a known curve, method selection, and bands."""

import warnings
from functools import partial

import numpy as np

from experiments.recalibration.worlds import WORLDS, population, sample
from experiments.study import Run, cells
from experiments.tables import Row, pick, read
from noneg.recalibration import BPM, Auto, Beta, Platt, Spline, Temperature

CURVES = {"platt": Platt, "temperature": Temperature, "beta": Beta, "spline": Spline, "bpm": BPM}
SIZES = {
    "100 / 3,000": ("two-sample", (100, 3000)),
    "1,000 / 10,000": ("two-sample", (1000, 10_000)),
    "30% of 10,000": ("one-sample", (0.3, 10_000)),
}
# Populations compared with a published table: the same number of draws as in the table.
QUOTED = ("too sure",)
CALIBRATED = [name for name in WORLDS if name.startswith("calibrated")]
BAND_SIZES = {
    "30 / 1,000": ("two-sample", (30, 1000)),
    "100 / 3,000": ("two-sample", (100, 3000)),
}
# Populations whose curve each family contains.
HELD = {"beta": ("AUC .99", "too sure"), "platt": ("too sure", "AUC .99", "calibrated .1", "rare")}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# A ratio of distances above which a fit counts as worse, and the first seed of new draws.
WORSE, NEW = 1.1, 1000


def distances(world: str, size: str, seeds: int) -> list[Row]:
    """Return mean distances to the truth: unchanged scores, and each curve by both criteria."""
    seeds *= 5 if world in QUOTED else 1
    s, eta, _ = population(world)
    found = {("none", ""): [float(np.abs(s - eta).mean())] * seeds}
    for seed in range(seeds):
        scores = sample(world, *SIZES[size], seed)
        for name, curve in CURVES.items():
            for fit in ("likelihood", "risk"):
                value = quiet(curve(fit=fit), scores).transform(s)
                found.setdefault((name, fit), []).append(float(np.abs(value - eta).mean()))
    return [
        {"method": name, "fit": fit, "distance": float(np.mean(x)), "error": spread(x)}
        for (name, fit), x in found.items()
    ]


def quiet(calibrator, scores):
    """Fit a calibrator; its warnings do not matter in a study of many fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrator.fit(scores)


def spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def choices(world: str, size: str, seeds: int) -> list[Row]:
    """Return the distance after selection, its increase, and how often scores were left
    unchanged."""
    s, eta, _ = population(world)
    before, after, left = float(np.abs(s - eta).mean()), [], 0
    for seed in range(seeds):
        auto = quiet(Auto(), sample(world, *SIZES[size], seed))
        after.append(float(np.abs(auto.transform(s) - eta).mean()))
        left += auto.chosen_.name == "identity"
    numbers = {"before": before, "after": float(np.mean(after)), "error": spread(after)}
    return [numbers | {"left_alone": left / seeds}]


def bands(method: str, world: str, size: str, seeds: int) -> list[Row]:
    """Return how often the 95% band covers the truth at quantiles of the scores."""
    s, eta, _ = population(world)
    order = np.argsort(s)[(np.array(QUANTILES) * s.size).astype(int)]
    at, true, covered, width = s[order], eta[order], [], []
    for seed in range(seeds):
        scores = sample(world, *BAND_SIZES[size], seed)
        low, high = quiet(CURVES[method](), scores).band(scores, at)
        covered.append((low <= true) & (true <= high))
        width.append(high - low)
    return [
        {"quantile": q, "coverage": float(c), "width": float(w)}
        for q, c, w in zip(QUANTILES, np.mean(covered, 0), np.mean(width, 0), strict=True)
    ]


def likelihood(run: Run) -> None:
    every = cells(world=WORLDS, size=SIZES)
    run.resume("likelihood", partial(distances, seeds=run.trials(10, 2)), every)


def again(run: Run) -> dict[str, list[Row]]:
    """Measure the fits that look more than 10% worse by likelihood once more, with new draws.

    Of 225 ratios of ten draws each, some exceed 1.1 by chance.
    """
    rows, found, draws = read(run.out / "likelihood.csv"), [], run.trials(60, 2)
    for row in rows:
        cell = {name: row[name] for name in ("world", "size", "method")}
        if row["fit"] == "likelihood":
            (risk,) = pick(rows, **cell, fit="risk")
            if row["distance"] > WORSE * risk["distance"]:
                before = row["distance"] / risk["distance"]
                found.append(cell | {"before": before, "draws": draws} | both_fits(**cell, n=draws))
    return {"again": found}


def both_fits(world: str, size: str, method: str, n: int) -> Row:
    """Return the mean distances to the truth by both criteria, and their paired difference."""
    s, eta, _ = population(world)
    found: dict[str, list[float]] = {"likelihood": [], "risk": []}
    for seed in range(NEW, NEW + n):
        scores = sample(world, *SIZES[size], seed)
        for fit, kept in found.items():
            value = quiet(CURVES[method](fit=fit), scores).transform(s)
            kept.append(float(np.abs(value - eta).mean()))
    gap = np.subtract(found["likelihood"], found["risk"])
    return {fit: float(np.mean(x)) for fit, x in found.items()} | {"error": spread(list(gap))}


def choice(run: Run) -> None:
    every = cells(world=run.pick(CALIBRATED, CALIBRATED[:1]), size=SIZES)
    run.resume("choice", partial(choices, seeds=run.trials(10, 2)), every)


def band(run: Run) -> None:
    every = [
        {"method": method, "world": world, "size": size}
        for method, worlds in HELD.items()
        for world in worlds
        for size in BAND_SIZES
    ]
    run.resume("band", partial(bands, seeds=run.trials(20, 2)), every)
