"""What slopes theory expects: normal noise in every bin, whose size follows from the law of scores.

An ECE of B bins is the sum of |r_b + e_b|, where r_b is the true residual of a bin and e_b its
noise. Where the noise is the larger one, the absolute value turns it into bias of its size; where
it is the smaller one, it cancels. The shape of |ECE - TCE| over N thus follows from the residuals
of the bins, which differ from classifier to classifier, and from nothing that is fitted here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from measures import read_csv

from noneg.randomness import stream
from noneg.simulation import LogisticGaussian, LogitMixture, MixtureLaw

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from noneg.simulation.worlds import LogitLaw, World

DRAWS = 4000
LEAST = 100  # N from which slopes are taken


@dataclass(frozen=True)
class Residuals:
    """True residuals of bins of equal mass, and the covariance of their noise."""

    truth: np.ndarray
    covariance: np.ndarray

    def bias(self, tce: float) -> float:
        """Return the mean of |ECE - TCE|."""
        size, turn = np.linalg.eigh(self.covariance)
        rng = stream(0, "normal noise in bins")
        z = rng.normal(size=(DRAWS, self.truth.size)) * np.sqrt(np.maximum(size, 0.0))
        return float(np.abs(np.abs(self.truth + z @ turn.T).sum(axis=1) - tce).mean())


def below(law: LogitLaw, edges: np.ndarray) -> np.ndarray:
    """Return the integrals of 1, s and s squared below each edge, shape (3, edges)."""
    return np.vstack([np.zeros(3), np.cumsum(law.moments(edges), axis=0)]).T


def residuals(world: World, sizes: tuple[float, float] | None, n: int, bins: int) -> Residuals:
    """Return residuals and their noise for PU samples of two sizes, or for n labelled rows.

    An edge is a sample quantile, and moves against the number of rows below it; to first order a
    row below an edge adds its own term less the gap between frequency and score there.
    """
    marginal, prior = world.marginal_law(), world.prior
    edges = marginal.quantiles(np.arange(bins + 1) / bins)
    u0, u1, u2 = below(marginal, edges)
    p0, p1, _ = below(world.positive_law(), edges)
    gap = world.posterior(edges) - edges
    gap[[0, -1]] = 0.0  # the outer edges do not move
    k = np.minimum.outer(np.arange(bins + 1), np.arange(bins + 1))  # the lower of two edges

    def spread(second: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the covariance over edges of (x - gap) 1{s <= edge}, given sums of x², x."""
        mean = first - gap * u0
        moved = np.add.outer(gap, gap) * first[k] - np.outer(gap, gap) * u0[k]
        return second[k] - moved - np.outer(mean, mean)

    if sizes is None:
        at_edges = spread(prior * (p0 - 2.0 * p1) + u2, prior * p0 - u1) / n  # x = y - s
    else:
        on_positives = prior**2 * (p0[k] - np.outer(p0, p0))
        at_edges = on_positives / sizes[0] + spread(u2, -u1) / sizes[1]  # x = -s
    return Residuals(np.diff(prior * p0 - u1), np.diff(np.diff(at_edges, axis=0), axis=1))


def stored_worlds(path: Path) -> dict[str, World]:
    """Return the two synthetic classifiers, and the mixtures of ``mixtures.csv``."""
    rows = read_csv(path)
    out: dict[str, World] = {
        "less calibrated": LogisticGaussian.less_calibrated(),
        "better calibrated": LogisticGaussian.better_calibrated(),
    }
    for name in dict.fromkeys(r["world"] for r in rows):
        laws = {}
        for label in ("positive", "negative"):
            own = [r for r in rows if (r["world"], r["class"]) == (name, label)]
            w, m, s = (np.array([float(r[c]) for r in own]) for c in ("weight", "mean", "sd"))
            laws[label] = MixtureLaw(weights=w / w.sum(), means=m, sds=s)
        prior = next(float(r["prior"]) for r in rows if r["world"] == name)
        out[name] = LogitMixture(**laws, prior=prior)
    return out


def predicted_rows(program: ModuleType, sizes: list[int]) -> list[dict[str, object]]:
    """Return the expected slope of every curve, and its biases at both ends."""
    out, sizes = [], [n for n in sizes if n >= LEAST]
    for figure, settings in program.SETTINGS.items():
        for name, setting in product(program.FIGURE_WORLDS[figure], settings):
            world, tce = program.WORLDS[name], program.TCE[name]
            cells = [program.Cell(figure, name, setting, n, trials=1) for n in sizes]
            found = [residuals(world, c.sizes, c.n, c.bins) for c in cells]
            bias = np.array([r.bias(tce) for r in found])
            slope = program.log_slope(np.array(sizes, dtype=float), bias)
            named = {"figure": figure, "world": name, "setting": setting, "slope": slope}
            ends = {"n_low": sizes[0], "n_high": sizes[-1], "low": bias[0], "high": bias[-1]}
            # What is lost by binning alone, without any noise.
            out.append(named | ends | {"binning_bias": tce - np.abs(found[-1].truth).sum()})
    return out
