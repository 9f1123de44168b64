"""Population laws of the score, given by the density of its logit.

A law answers what an empirical sample answers, without the noise: bin sums (`moments`) and
order statistics (`quantiles`). It can therefore take the place of an infinite sample in
`noneg.scores.PUScores`.
"""

from abc import ABC, abstractmethod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from noneg.simulation.quadrature import Floats, Integrand, converged_breaks, panel_integrals

Seed: TypeAlias = int | np.random.Generator

SIGMOID_BREAKS: Final = np.array([-40.0, -8.0, -2.0, 0.0, 2.0, 8.0, 40.0])  # its bend
_MAX_NEWTON_STEPS: Final = 80
_QUANTILE_TOLERANCE: Final = 1e-13  # of a panel; Newton's next step is far below it


def generator(seed: object) -> np.random.Generator:
    """Return `seed` if it is a generator, else a fresh generator started from it.

    Examples
    --------
    >>> generator(3).random() == generator(3).random()
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.default_rng(int(seed))
    raise ValueError(
        f"'seed' must be an integer >= 0 or a numpy.random.Generator, got {seed!r}. "
        "Pass for example seed=0, or numpy.random.default_rng() for a fresh draw."
    )


def sigmoid(logits: Floats) -> Floats:
    """Score of a logit, rounded once: 1.0 only where no double below 1 is nearer.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.array([-800.0, 0.0, 37.0, 38.0])) == [0, 0.5, 1, 1]
    array([ True,  True, False,  True])
    """
    return np.where(logits > 0, 1 - expit(-logits), expit(logits))


def last_logit(edges: Floats) -> Floats:
    """Return the largest logit whose score, as a double, is at most the edge.

    Near 1 doubles are so coarse that it lies well above the logit of the edge: a score of the law
    must fall into the bin that the same score falls into when it is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> last_logit(np.array([0.0, 0.5, 1 - 2**-53, 1.0])).round(6)
    array([    -inf,  0.      , 37.429948,       inf])
    """
    clipped = np.clip(edges, 0, 1)
    # Below 1 doubles are 2**-53 apart: half of that more still rounds to the edge. Where they are
    # finer, 1 - edge is too large to notice.
    left = np.maximum((1 - clipped) - 2.0**-54, 0.0)
    with np.errstate(divide="ignore"):
        found: Floats = np.log(clipped) - np.log(left)
    return found


class LogitLaw(ABC):
    """Law of a score ``s = sigmoid(v)`` whose logit v has the smooth density `density`.

    All integrals are taken over v, where score laws that pile up at 0 or 1 are smooth
    (PU-ECE paper, Appendix E), and reach about 1e-13.
    """

    @abstractmethod
    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""

    @abstractmethod
    def breaks(self) -> Floats:
        """Sorted logits between which the density is smooth; less than 1e-17 lies outside."""

    @abstractmethod
    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits."""

    def draw(self, n: int, *, seed: Seed) -> Floats:
        """Draw `n` independent scores.

        Scores closer to 1 than doubles can tell are the double 1.0.
        """
        return sigmoid(self.draw_logits(n, generator(seed)))

    def moments(self, edges: ArrayLike) -> Floats:
        r"""Compute the exact bin sums :math:`\int_{I_b} s^k \, d\mu(s)` for k = 0, 1, 2.

        Parameters
        ----------
        edges : array_like of shape (n_bins + 1,)
            Non-decreasing edges of right-closed bins; the first bin holds its left end too.

        Returns
        -------
        ndarray of shape (n_bins, 3)
            Mass, integral of s and integral of s squared in each bin.

        Examples
        --------
        >>> from noneg.simulation import MixtureLaw
        >>> law = MixtureLaw(weights=[1.0], means=[0.0], sds=[1.0])
        >>> law.moments([0.0, 0.5, 1.0])[:, 0].round(12)
        array([0.5, 0.5])
        """

        def powers(logits: Floats) -> Floats:
            scores = expit(logits)
            return np.stack([np.ones_like(scores), scores, scores**2])

        return self.bin_integrals(powers, edges).T

    def bin_integrals(self, factor: Integrand, edges: ArrayLike) -> Floats:
        """Integrate ``factor(v) * density(v)`` over the logits of each bin of scores."""

        def integrand(logits: Floats) -> Floats:
            return factor(logits) * self.density(logits)

        panels = self.breaks()
        cuts = np.clip(last_logit(checked_edges(edges)), panels[0], panels[-1])
        panels = converged_breaks(integrand, np.union1d(panels, cuts))
        integrals = panel_integrals(integrand, panels[:-1], panels[1:])
        bins = np.searchsorted(cuts, panels[:-1], side="right")
        rows = integrals.reshape(-1, bins.size)
        sums: Floats = np.array([np.bincount(bins, r, cuts.size + 1) for r in rows], np.float64)
        return sums[:, 1 : cuts.size].reshape(*integrals.shape[:-1], cuts.size - 1)

    def quantiles(self, q: ArrayLike) -> Floats:
        r"""Compute the population quantiles of the score, :math:`\inf\{t : \mu(s \le t) \ge q\}`.

        The support is taken as the whole of [0, 1]: q = 0 gives 0 and q = 1 gives 1.

        Parameters
        ----------
        q : array_like
            Probabilities in [0, 1].

        Returns
        -------
        ndarray of the shape of `q`

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> LogisticGaussian.calibrated().marginal_law().quantiles([0, 0.5, 1]).round(9)
        array([0. , 0.5, 1. ])
        """
        levels = np.asarray(q, dtype=np.float64)
        bad = levels[~((levels >= 0) & (levels <= 1))]
        if bad.size:
            raise ValueError(
                f"'q' must hold probabilities in [0, 1], got {bad[0]!r}. Divide percentages by 100."
            )
        scores = sigmoid(self._logit_quantiles(levels.ravel())).reshape(levels.shape)
        return np.where(levels == 0, 0.0, np.where(levels == 1, 1.0, scores))

    def _logit_quantiles(self, levels: Floats) -> Floats:
        """Find the panel of each level by its cumulative mass, then the point by Newton steps."""
        panels = converged_breaks(self.density, self.breaks())
        mass = panel_integrals(self.density, panels[:-1], panels[1:])
        below = np.concatenate([[0.0], np.cumsum(mass)])
        panel = np.clip(np.searchsorted(below, levels, side="right") - 1, 0, mass.size - 1)
        return self._solve(levels - below[panel], panels[panel], panels[panel + 1])

    def _solve(self, target: Floats, left: Floats, right: Floats) -> Floats:
        """Solve ``mass of [left, v] = target`` for v by Newton steps kept inside a bracket."""
        low, high = left, right
        point = (left + right) / 2
        for _ in range(_MAX_NEWTON_STEPS):
            excess = panel_integrals(self.density, left, point) - target
            low, high = np.where(excess < 0, point, low), np.where(excess < 0, high, point)
            slope = np.maximum(self.density(point), np.finfo(np.float64).tiny)
            newton = point - excess / slope
            inside = (newton > low) & (newton < high)
            moved = np.where(inside, newton, (low + high) / 2)
            if np.all(np.abs(moved - point) <= _QUANTILE_TOLERANCE * (right - left)):
                return moved
            point = moved
        return point


def checked_edges(edges: ArrayLike) -> Floats:
    """Return `edges` as an array, or raise when they are not the edges of bins.

    Examples
    --------
    >>> checked_edges([0, 0.5, 1])
    array([0. , 0.5, 1. ])
    """
    array = np.asarray(edges, dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise ValueError(
            f"'edges' must be one-dimensional with at least two values, got shape {array.shape}. "
            "Pass [0, 1] for a single bin."
        )
    falls = np.flatnonzero(~(np.diff(array) >= 0))
    if falls.size:
        i = int(falls[0])
        raise ValueError(
            f"'edges' must not decrease and must not be nan, got {array[i]} before "
            f"{array[i + 1]} at position {i}. Sort the edges first."
        )
    return array
