"""Figures 4 and 5 on benchmark data: Gaussian mixtures on logits, whose true error is known.

The slopes that theory predicts for them follow from normal noise in every bin. An ECE over B bins
is the sum of |r_b + e_b|, where r_b is the true residual of a bin and e_b its noise. If the noise
is larger, the absolute value turns it into bias of its size; if it is smaller, it cancels. The
shape of |ECE - TCE| as a function of N thus follows from the residuals of the bins, which differ
between classifiers, and nothing is fitted here.
"""

import warnings
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from experiments.pu_ece_neural.measures import Model
from experiments.study import Run
from experiments.synthetic import pu_ece as bias
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row, column, distinct, pick, records
from noneg.randomness import stream
from noneg.simulation import LogitMixture, MixtureLaw
from noneg.simulation.worlds import LogitLaw, World

MAX_COMPONENTS = 10
DRAWS = 4000
LEAST = 100  # smallest N used for slopes


def fit_mixture(logits: np.ndarray, components: int = MAX_COMPONENTS, seed: int = 0) -> MixtureLaw:
    """Fit mixtures with 1, 2, ... Gaussians; return the one with the smallest BIC."""
    column = logits.reshape(-1, 1)
    best = None
    for k in range(1, components + 1):
        with warnings.catch_warnings():
            # A fit that has not converged after 100 rounds is used with its current BIC.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = GaussianMixture(k, random_state=seed, n_init=2).fit(column)
        if best is None or found.bic(column) < best.bic(column):
            best = found
    return MixtureLaw(
        weights=best.weights_ / best.weights_.sum(),
        means=best.means_.ravel(),
        sds=np.sqrt(best.covariances_.ravel()),
    )


def mixture_world(model: Model, components: int = MAX_COMPONENTS) -> LogitMixture:
    """Return a population with the prior and the distributions of a classifier's test logits."""
    groups = ("test_pos", "test_neg")
    positive, negative = (fit_mixture(model.logits[g], components) for g in groups)
    return LogitMixture(positive=positive, negative=negative, prior=model.prior)


def component_rows(name: str, world: LogitMixture) -> list[Row]:
    """Return the components of both classes, one row each."""
    rows = []
    for label, law in (("positive", world.positive), ("negative", world.negative)):
        named = {"world": name, "prior": world.prior, "class": label}
        rows += records(**named, weight=law.weights, mean=law.means, sd=law.sds)
    return rows


def measure_mixture(run: Run, name: str, world: LogitMixture, sizes: list[int], trials: int):
    """Return the tables of Figures 4 and 5 on one mixture, and its components."""
    worlds = {name: known(world)}
    every = bias.all_cells(worlds, {4: [name], 5: [name]}, sizes, trials)
    measured = [m for part in run.map(bias.measure, every, binnings=("mass",)) for m in part]
    return bias.figure_tables(measured, worlds) | {"mixtures": component_rows(name, world)}


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
    """Return residuals and their noise for PU samples of two sizes, or for n labeled rows.

    An edge is a sample quantile and moves opposite to the number of rows below it; to first order,
    a row below an edge adds its own term minus the gap between frequency and score there.
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


def stored_worlds(rows: list[Row]) -> dict[str, World]:
    """Return the two synthetic classifiers, and the mixtures of ``mixtures.csv``."""
    out: dict[str, World] = dict(list(PAPER.items())[:2])
    for name in distinct(rows, "world"):
        laws = {}
        for label in ("positive", "negative"):
            own = pick(rows, world=name, **{"class": label})
            w, m, s = (column(own, c) for c in ("weight", "mean", "sd"))
            laws[label] = MixtureLaw(weights=w / w.sum(), means=m, sds=s)
        out[name] = LogitMixture(**laws, prior=own[0]["prior"])
    return out


def predicted_rows(components: list[Row], sizes: list[int]) -> list[Row]:
    """Return the expected slope of every curve, and its biases at both ends."""
    worlds = {name: known(world) for name, world in stored_worlds(components).items()}
    sizes = [n for n in sizes if n >= LEAST]
    every = bias.all_cells(worlds, {4: list(worlds), 5: list(worlds)}, sizes, trials=1)
    out = []
    for curve, own in groupby((cell["cell"] for cell in every), key=lambda cell: cell.curve):
        known_world = worlds[curve[1]]
        found = [residuals(known_world.world, c.sizes, c.n, c.bins) for c in own]
        biases = np.array([r.bias(known_world.tce) for r in found])
        slope = bias.log_slope(np.array(sizes, dtype=float), biases)
        named = dict(zip(("figure", "world", "setting"), curve, strict=True)) | {"slope": slope}
        ends = {"n_low": sizes[0], "n_high": sizes[-1], "low": biases[0], "high": biases[-1]}
        # The loss from binning alone, without any noise.
        lost = known_world.tce - np.abs(found[-1].truth).sum()
        out.append(named | ends | {"binning_bias": lost})
    return out
