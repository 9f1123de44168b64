"""Populations with a known curve: calibrated, overconfident, bent, tied, saturated, rare,
decreasing.

The log odds z of a row come from two normal distributions, so its probability of being positive is
``eta = sigmoid(z)``; a population defines which score such a row gets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, logit

from noneg import PUScores

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
