"""Fits by likelihood and by risk in populations with a known curve, method selection, and bands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, logit

from experiments.study import Run, cells
from experiments.tables import Row, averaged, pick, read, records, standard_error
from noneg import PUScores
from noneg.recalibration import BPM, Auto, Beta, Platt, Spline, Temperature
from noneg.recalibration.base import fit_quietly

Rows = tuple[np.ndarray, np.ndarray]
POPULATION = 400_000


@dataclass(frozen=True)
class World:
    """Two normal distributions `apart`, and the score of a row with log odds z."""

    prior: float
    apart: float
    score: Callable[[np.ndarray, np.random.Generator], np.ndarray]

    def draw(self, n: int, random: np.random.Generator) -> Rows:
        """Return scores and probabilities of being positive."""
        side = np.where(random.random(n) < self.prior, 0.5, -0.5)
        z = logit(self.prior) + self.apart * (random.normal(size=n) + side * self.apart)
        return self.score(z, random), expit(z)


def coin(z: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Forty percent of the scores are set to 0 or 1 at random."""
    ends = random.random(z.size) < 0.5
    return np.where(random.random(z.size) < 0.4, ends, expit(1.5 * z))


def folded(z: np.ndarray, _: object) -> np.ndarray:
    """The positives with the largest log odds get scores between one half and .73."""
    top = 1.0 / (1.0 + np.maximum(z - 1.5, 0.0))
    return expit(np.where(z < 0.0, z, np.where(z < 1.5, z + 1.0, top)))


WORLDS = {
    "too sure": World(0.5, 2.0, lambda z, _: expit(1.5 * z - 1.0)),
    "AUC .99": World(0.3, 3.3, lambda z, _: expit(1.5 * z + 0.5)),
    "calibrated .6": World(0.6, 2.0, lambda z, _: expit(z)),
    "calibrated .1": World(0.1, 2.0, lambda z, _: expit(z)),
    "calibrated .01": World(0.01, 2.0, lambda z, _: expit(z)),
    "rare": World(0.01, 2.5, lambda z, _: expit(1.5 * z + 1.0)),
    "AUC .55": World(0.3, 0.18, lambda z, _: expit(15.0 * (z - logit(0.3)))),
    "shifted": World(0.3, 2.0, lambda z, _: expit(z - 2.0)),
    "five scores": World(0.3, 2.0, lambda z, _: np.round(5.0 * expit(1.5 * z)) / 5.2 + 0.02),
    "saturated": World(0.4, 2.5, lambda z, _: np.clip(1.5 * expit(z) - 0.25, 0.0, 1.0)),
    "rounded": World(0.3, 3.0, lambda z, _: np.round(expit(2.0 * z), 2)),
    "coins": World(0.4, 2.0, coin),
    "bent": World(0.4, 2.0, lambda z, _: expit(z) ** 3),
    "narrow": World(0.3, 2.0, lambda z, _: 0.3 + 0.4 * expit(z)),
    "falls": World(0.3, 2.0, folded),
}


def distance(value: np.ndarray, eta: np.ndarray) -> float:
    """Return the mean distance of mapped scores from the probabilities of being positive."""
    return float(np.abs(value - eta).mean())


@cache
def population(name: str, n: int = 40_000) -> tuple[np.ndarray, np.ndarray, float]:
    """Return scores, the probability of being positive at each, and the prior."""
    s, eta = WORLDS[name].draw(POPULATION, np.random.default_rng(99))
    _, place, count = np.unique(s, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=eta) / count
    return s[:n], mean[place[:n]], float(eta.mean())


def sample(name: str, setting: str, sizes: tuple[float, int], seed: int) -> PUScores:
    """Return positives and unlabeled rows, or rows of which some are labeled."""
    random, world, prior = np.random.default_rng([seed, 7]), WORLDS[name], population(name)[2]
    if setting == "two-sample":
        s, eta = world.draw(int(1.6 * sizes[0] / prior) + 500, random)
        positive = s[random.random(s.size) < eta][: int(sizes[0])]
        return PUScores(positive, world.draw(sizes[1], random)[0], prior=prior, setting=setting)
    s, eta = world.draw(sizes[1], random)
    y = random.random(s.size) < eta
    if setting == "labeled":
        return PUScores.from_labels(y, s)
    labeled = y & (random.random(s.size) < sizes[0])
    return PUScores.from_pu_labels(labeled, s, prior=prior, setting=setting)


CURVES = {"platt": Platt, "temperature": Temperature, "beta": Beta, "spline": Spline, "bpm": BPM}
SIZES = {
    "100 / 3,000": ("two-sample", (100, 3000)),
    "1,000 / 10,000": ("two-sample", (1000, 10_000)),
    "30% of 10,000": ("one-sample", (0.3, 10_000)),
}
# Populations compared with a published table: the same number of draws as in the table.
QUOTED = ("too sure",)
CALIBRATED = [name for name in WORLDS if name.startswith("calibrated")]
BAND_SIZES = {"30 / 1,000": ("two-sample", (30, 1000)), "100 / 3,000": SIZES["100 / 3,000"]}
# Populations whose curve each family contains.
HELD = {"beta": ("AUC .99", "too sure"), "platt": ("too sure", "AUC .99", "calibrated .1", "rare")}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# A ratio of distances above which a fit counts as worse, and the first seed of new draws.
WORSE, NEW = 1.1, 1000


def distances(world: str, size: str, seeds: int) -> list[Row]:
    """Return mean distances to the truth: unchanged scores, and each curve by both criteria."""
    seeds *= 5 if world in QUOTED else 1
    s, eta, _ = population(world)
    found = {("none", ""): [distance(s, eta)] * seeds}
    for method in CURVES:
        for fit, values in both_fits(world, size, method, range(seeds)).items():
            found[method, fit] = values
    return [
        {"method": name, "fit": fit, "distance": float(np.mean(x)), "error": standard_error(x)}
        for (name, fit), x in found.items()
    ]


def both_fits(world: str, size: str, method: str, seeds: range) -> dict[str, list[float]]:
    """Return the distances to the truth by both criteria, one per draw."""
    s, eta, _ = population(world)
    found: dict[str, list[float]] = {"likelihood": [], "risk": []}
    for seed in seeds:
        scores = sample(world, *SIZES[size], seed)
        for fit, kept in found.items():
            kept.append(distance(fit_quietly(CURVES[method](fit=fit), scores).transform(s), eta))
    return found


def choices(world: str, size: str, seeds: int) -> Row:
    """Return the distance after selection, its increase, and how often scores were left
    unchanged."""
    s, eta, _ = population(world)
    before, after, left = distance(s, eta), [], 0
    for seed in range(seeds):
        auto = fit_quietly(Auto(), sample(world, *SIZES[size], seed))
        after.append(distance(auto.transform(s), eta))
        left += auto.chosen_.name == "identity"
    numbers = {"before": before, "after": float(np.mean(after)), "error": standard_error(after)}
    return numbers | {"left_alone": left / seeds}


@averaged("quantile")
def bands(method: str, world: str, size: str, seeds: int) -> Iterator[Row]:
    """Yield whether the 95% band covers the truth at quantiles of the scores."""
    s, eta, _ = population(world)
    order = np.argsort(s)[(np.array(QUANTILES) * s.size).astype(int)]
    for seed in range(seeds):
        scores = sample(world, *BAND_SIZES[size], seed)
        low, high = fit_quietly(CURVES[method](), scores).band(scores, s[order])
        inside = (low <= eta[order]) & (eta[order] <= high)
        yield from records(quantile=QUANTILES, coverage=inside, width=high - low)


def likelihood(run: Run) -> None:
    every = cells(world=WORLDS, size=SIZES)
    run.resume("likelihood", distances, every, seeds=run.trials(10, 2))


def again(run: Run) -> dict[str, list[Row]]:
    """Measure the fits that look more than 10% worse by likelihood once more, with new draws.

    Of 225 ratios of ten draws each, some exceed 1.1 by chance.
    """
    rows, found, draws = read(run.out / "likelihood.csv"), [], run.trials(60, 2)
    for row in pick(rows, fit="likelihood"):
        cell = {name: row[name] for name in ("world", "size", "method")}
        (old,) = pick(rows, **cell, fit="risk")
        if row["distance"] > WORSE * old["distance"]:
            new = both_fits(**cell, seeds=range(NEW, NEW + draws))
            gap = standard_error(np.subtract(new["likelihood"], new["risk"]))
            numbers = {"before": row["distance"] / old["distance"], "draws": draws}
            numbers |= {fit: float(np.mean(x)) for fit, x in new.items()}
            found.append(cell | numbers | {"error": gap})
    return {"again": found}


def choice(run: Run) -> None:
    every = cells(world=run.pick(CALIBRATED, CALIBRATED[:1]), size=SIZES)
    run.resume("choice", choices, every, seeds=run.trials(10, 2))


def band(run: Run) -> None:
    pairs = HELD.items()
    every = [x for m, worlds in pairs for x in cells(method=m, world=worlds, size=BAND_SIZES)]
    run.resume("band", bands, every, seeds=run.trials(20, 2))
