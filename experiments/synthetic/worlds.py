"""The populations of the synthetic studies, and how samples are drawn from them."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian, LogitMixture, World
from noneg.simulation.worlds import TwoClasses

SETTINGS = ("two-sample", "one-sample", "labeled")
# Logits in a population, and probabilities that are left out of it.
POINTS, TINY = 400_000, 1e-30
# Unlabeled rows per labeled positive.
RATIO = 10
PAPER = {
    "less calibrated": LogisticGaussian.less_calibrated(),
    "better calibrated": LogisticGaussian.better_calibrated(),
    "calibrated": LogisticGaussian.calibrated(),
}
# Shift and slope of a true curve that is linear in the logit; (0, 2) is calibrated.
LINES = {
    "calibrated": (0.0, 2.0),
    "nearly": (-0.2, 1.9),
    "under-confident": (-0.5, 1.5),
    "over-confident": (0.0, 3.5),
    "badly off": (1.0, 4.0),
}
# True curves without a simple form: weights, means and deviations of the logits of both classes.
MIXTURES = {
    "two kinds of positives": (((0.6, 0.4), (2.5, -0.5), (0.8, 0.6)), ((1,), (-2,), (1.5,))),
    "falling in places": (
        ((0.5, 0.5), (3.0, 0.0), (0.6, 0.4)),
        ((0.6, 0.4), (-2.5, 1.5), (0.8, 0.4)),
    ),
}


def shaped(name: str, prior: float) -> World:
    """Return a kind of miscalibration at any prior."""
    if name in LINES:
        shift, slope = LINES[name]
        return LogisticGaussian(math.log(prior / (1 - prior)) + shift, slope, prior)
    positive, negative = MIXTURES[name]
    return LogitMixture(positive=positive, negative=negative, prior=prior)


def draw(world: World, n: int, setting: str, seed: int, unlabeled: int | None = None) -> PUScores:
    """Draw n labeled positives and the unlabeled rows; labeled data have the same total number of
    rows."""
    if setting == "labeled":
        return world.draw(n=(1 + RATIO) * n, setting=setting, seed=seed)
    return world.draw(n, unlabeled or RATIO * n, setting=setting, seed=seed)


def population(world: TwoClasses) -> PUScores:
    """Return scores on a fine grid of logits, weighted by the probability of each class there.

    One half is between two points, so that no score lies on the usual threshold.
    """
    step = 40.0 / POINTS
    logits = step * (np.arange(POINTS) - (POINTS - 1) / 2.0)
    laws = (world.negative_law(), 1.0 - world.prior), (world.positive_law(), world.prior)
    mass = np.concatenate([share * step * law.density(logits) for law, share in laws])
    y, scores = np.repeat([0, 1], POINTS), np.tile(expit(logits), 2)
    kept = mass > TINY
    options = {"sample_weight": mass[kept], "weight_kind": "importance"}
    return PUScores.from_labels(y[kept], scores[kept], **options)


@dataclass(frozen=True)
class Known:
    """A population with its true calibration error and the steepest slope of its posterior."""

    world: World
    tce: float
    lipschitz: float


def known(world: World) -> Known:
    """Find the steepest slope of P(Y = 1 | s) between neighbors on a fine grid of logits."""
    logits = np.linspace(-12.0, 12.0, 200_001)
    slope = np.diff(world.posterior_of_logit(logits)) / np.diff(expit(logits))
    return Known(world, world.tce(), float(np.abs(slope).max()))
