"""Populations with mixtures of normal logits, so that the score distribution in any bins is
exact."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, ndtr

from noneg.prior.shift import Counts, shared_edges
from noneg.scores import PUScores

# Share, mean and standard deviation of the components of a distribution, on the logit scale.
Parts = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class World:
    """Score distributions of positives, labeled positives and negatives, and the prior."""

    prior: float
    positive: Parts
    negative: Parts
    labeled: Parts | None = None
    steps: int = 0

    @property
    def marginal(self) -> Parts:
        both = ((self.prior, self.positive), (1.0 - self.prior, self.negative))
        return tuple((w * share, m, sd) for w, parts in both for share, m, sd in parts)

    def shares(self, parts: Parts, edges: np.ndarray) -> np.ndarray:
        """Return the exact distribution in bins; discrete scores lie in the middle of their
        step."""
        inner = edges[1:-1]
        if self.steps:
            inner = np.floor(inner * self.steps + 0.5 + 1e-9) / self.steps
        below = sum(w * ndtr((logit(inner) - m) / sd) for w, m, sd in parts)
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    def draw(self, parts: Parts, n: int, rng: np.random.Generator) -> np.ndarray:
        weights, means, sds = np.array(parts).T
        kind = rng.choice(len(weights), n, p=weights / weights.sum())
        scores = expit(rng.normal(means[kind], sds[kind]))
        return (np.floor(scores * self.steps) + 0.5) / self.steps if self.steps else scores


WORLDS = {
    "apart": World(0.2, ((1.0, 1.0, 1.0),), ((1.0, -1.0, 1.0),)),
    "overlapping": World(0.3, ((1.0, 0.3, 1.0),), ((1.0, -0.7, 1.0),)),
    "rare": World(0.05, ((1.0, -1.0, 1.3),), ((1.0, -4.0, 1.3),)),
    "two kinds": World(
        0.2, ((0.6, 2.0, 0.8), (0.4, 0.0, 1.0)), ((0.7, -2.5, 1.0), (0.3, -0.5, 1.0))
    ),
    "ten values": World(0.3, ((1.0, 1.0, 1.2),), ((1.0, -1.0, 1.2),), steps=10),
}

# Worlds that nobody looked at while the rule that names a drift was made.
HELD_OUT = {
    "skewed": World(
        0.15, ((0.8, 1.5, 0.7), (0.2, -0.5, 1.5)), ((0.5, -2.0, 1.5), (0.5, -0.8, 0.7))
    ),
    "close": World(0.4, ((1.0, 0.6, 0.9),), ((1.0, -0.5, 1.2),)),
    "rare kinds": World(0.03, ((1.0, 0.0, 1.5),), ((0.9, -4.5, 1.0), (0.1, -2.0, 1.0))),
}


def moved(world: World, drift: str) -> World:
    """Return the population after a drift of one component."""
    if drift == "prior":
        return replace(world, prior=world.prior + 0.05)
    if drift == "shape":
        return replace(world, negative=tuple((w, m, 1.3 * sd) for w, m, sd in world.negative))
    if drift == "shape, towards positives":
        half = [(w / 2, m + by, sd) for w, m, sd in world.negative for by in (0.0, 0.5)]
        return replace(world, negative=tuple(half))
    if drift == "labeling":
        return replace(world, labeled=tuple((w, m + 0.5, sd) for w, m, sd in world.positive))
    if drift == "scores":
        # Logits stretched by a factor of 1 / 0.7 have a calibration slope of 0.7.
        laws = {n: getattr(world, n) for n in ("positive", "negative")}
        return replace(
            world, **{n: tuple((w, m / 0.7, sd / 0.7) for w, m, sd in p) for n, p in laws.items()}
        )
    return world


def draw_reference(world, setting, n_positive, n, rng) -> PUScores:
    """Return a reference period; in one sample, this is the approximate number of labeled rows."""
    if setting == "two-sample":
        laws = ((world.positive, n_positive), (world.marginal, n))
        return PUScores(
            *(world.draw(p, k, rng) for p, k in laws), prior=world.prior, setting=setting
        )
    hidden = rng.random(n) < world.prior
    score = world.draw(world.negative, n, rng)
    score[hidden] = world.draw(world.positive, int(hidden.sum()), rng)
    known = hidden & (rng.random(n) < n_positive / (n * world.prior))
    return PUScores.from_pu_labels(known, score, prior=world.prior, setting=setting)


def draw_counts(world, edges, sizes, shape, rng, *, pooled) -> Counts:
    """Return counts for independent periods: labeled positives, and everyone."""
    n_positive, n = sizes
    labeled = world.shares(world.labeled or world.positive, edges)
    everyone = world.shares(world.marginal, edges)
    if not pooled:
        positive, marginal = (
            rng.multinomial(k, law, shape).astype(float)
            for k, law in ((n_positive, labeled), (n, everyone))
        )
    else:
        # The number of labeled rows in a bin cannot exceed the number of positives there.
        known = np.minimum(
            n_positive / n * labeled, world.prior * world.shares(world.positive, edges)
        )
        both = rng.multinomial(n, np.concatenate([known, everyone - known]), shape).astype(float)
        positive = both[..., : known.size]
        marginal = positive + both[..., known.size :]
    squares = np.stack([positive.sum(axis=-1), marginal.sum(axis=-1)], axis=-1)
    return Counts(positive, marginal, squares, pooled)


def draw(world, setting, reference, rng, again):
    """Return a reference period, bins derived from it, and counts of `again` similar periods."""
    scores = draw_reference(world, setting, *reference, rng)
    edges = shared_edges(scores)
    counts = draw_counts(world, edges, reference, (again, 1), rng, pooled=scores.pooled)
    return scores, edges, counts
