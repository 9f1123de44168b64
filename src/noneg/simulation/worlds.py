"""Simulated worlds with Gaussian classes, for which the truth is known exactly.

A world has population distributions of the score, given by the density of its logit. A distribution
provides the same quantities as a sample, without the noise: bin sums (`moments`) and order
statistics (`quantiles`), so it can replace an infinite sample in `noneg.scores.PUScores`. Integrals
are computed over panels by Gauss-Legendre quadrature, and panels are halved until two resolutions
agree. The distributions are smooth on the logit scale, so a panel of about one standard deviation
is accurate to rounding error immediately.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
from scipy.special import expit, logit

from noneg.arrays import Flags, Floats, Integers, bisected
from noneg.checks import Setting, check_prior, check_setting, is_labeled, is_pooled
from noneg.errors import Argument, InputError
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Integrand: TypeAlias = Callable[[Floats], Floats]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

_BLOCK: Final = 20_000  # Number of panels evaluated at once, to limit memory use.

_MAX_HALVINGS: Final = 60


def panel_integrals(integrand: Integrand, left: Floats, right: Floats) -> Floats:
    """Integrate over every panel ``[left[i], right[i]]`` with 16 Gauss-Legendre nodes.

    Parameters
    ----------
    integrand : callable
        Maps an array of logits to an array of the same shape, or of that shape with additional
        leading axes (several integrands at once).
    left, right : ndarray of shape (n_panels,)
        Endpoints of the panels.

    Returns
    -------
    ndarray of shape (..., n_panels)

    Examples
    --------
    >>> import numpy as np
    >>> panel_integrals(np.exp, np.array([0.0]), np.array([1.0])).round(6)
    array([1.718282])
    """
    blocks = [
        _block_integrals(integrand, left[i : i + _BLOCK], right[i : i + _BLOCK])
        for i in range(0, max(left.size, 1), _BLOCK)
    ]
    return np.concatenate(blocks, axis=-1)


def _block_integrals(integrand: Integrand, left: Floats, right: Floats) -> Floats:
    half = (right - left) / 2
    nodes = (right + left)[:, None] / 2 + half[:, None] * _NODES
    integrals: Floats = np.asarray(integrand(nodes) @ _WEIGHTS * half, dtype=np.float64)
    return integrals


def converged_breaks(
    integrand: Integrand, breaks: Floats, *, absolute: float = 1e-15, relative: float = 1e-13
) -> Floats:
    """Halve panels until each integral agrees with the sum over its two halves.

    Parameters
    ----------
    integrand : callable
        As in `panel_integrals`.
    breaks : ndarray of shape (n,)
        Sorted endpoints of the initial panels.
    absolute, relative : float
        A panel is finished when the two resolutions differ by at most
        ``absolute + relative * |integral|``.

    Returns
    -------
    ndarray
        Sorted breaks, including the given ones.

    Examples
    --------
    >>> import numpy as np
    >>> kink = converged_breaks(lambda v: np.abs(v - 0.3), np.array([0.0, 1.0]))
    >>> float(panel_integrals(lambda v: np.abs(v - 0.3), kink[:-1], kink[1:]).sum().round(12))
    0.29
    """
    found = [breaks]
    left, right = breaks[:-1], breaks[1:]
    coarse = panel_integrals(integrand, left, right)
    for _ in range(_MAX_HALVINGS):
        middle = (left + right) / 2
        lower = panel_integrals(integrand, left, middle)
        upper = panel_integrals(integrand, middle, right)
        error = np.abs(lower + upper - coarse)
        unfinished = error > absolute + relative * np.abs(coarse)
        halve = unfinished.reshape(-1, left.size).any(axis=0)
        if not halve.any():
            break
        found.append(middle[halve])
        left = np.concatenate([left[halve], middle[halve]])
        right = np.concatenate([middle[halve], right[halve]])
        coarse = np.concatenate([lower[..., halve], upper[..., halve]], axis=-1)
    return np.unique(np.concatenate(found))


def integrate(integrand: Integrand, breaks: Floats, **tolerance: float) -> tuple[Floats, Floats]:
    """Return the panels on which an integrand has converged, and its integral over each."""
    panels = converged_breaks(integrand, breaks, **tolerance)
    return panels, panel_integrals(integrand, panels[:-1], panels[1:])


def sign_changes(function: Integrand, grid: Floats) -> Floats:
    """Find the points where `function` changes sign between grid neighbors, by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> sign_changes(np.cos, np.array([0.0, 3.0, 6.0])).round(6)
    array([1.570796, 4.712389])
    """
    signs = np.sign(function(grid))
    flips = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    left, right, sign = grid[flips], grid[flips + 1], signs[flips]
    return bisected(lambda v: np.sign(function(v)) == sign, left, right)


Seed: TypeAlias = int | np.random.Generator

SIGMOID_BREAKS: Final = np.array([-40.0, -8.0, -2.0, 0.0, 2.0, 8.0, 40.0])  # Where it bends.

_GRID_PER_PANEL: Final = 16  # Points for finding sign changes.


def generator(seed: object) -> np.random.Generator:
    """Return `seed` if it is a generator, else a new generator seeded with it.

    Examples
    --------
    >>> generator(3).random() == generator(3).random()
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.default_rng(int(seed))
    rule = "must be an integer >= 0 or a numpy.random.Generator"
    remedy = "Pass for example seed=0, or numpy.random.default_rng() for a fresh draw."
    raise InputError("seed", rule, value=seed, remedy=remedy)


def sigmoid(logits: Floats) -> Floats:
    """Return the score of a logit, correctly rounded: 1.0 only if it is the nearest double.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.array([-800.0, 0.0, 37.0, 38.0])) == [0, 0.5, 1, 1]
    array([ True,  True, False,  True])
    """
    return np.where(logits > 0, 1 - expit(-logits), expit(logits))


def last_logit(edges: Floats) -> Floats:
    """Return the largest logit whose score, as a double, is at most the edge.

    Near 1, doubles are so coarse that this logit is well above the logit of the edge. A score must
    fall into the same bin under the distribution as it does when it is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> last_logit(np.array([0.0, 0.5, 1 - 2**-53, 1.0])).round(6)
    array([    -inf,  0.      , 37.429948,       inf])
    """
    clipped = np.clip(edges, 0, 1)
    # Just below 1, doubles are 2**-53 apart, and half of that more still rounds to the edge. Where
    # they are finer, the correction is negligible relative to 1 - edge.
    left = np.maximum((1 - clipped) - 2.0**-54, 0.0)
    with np.errstate(divide="ignore"):
        found: Floats = np.log(clipped) - np.log(left)
    return found


class LogitLaw(ABC):
    """Distribution of a score ``s = sigmoid(v)`` whose logit v has the smooth density `density`.

    All integrals are over v, where score distributions that pile up at 0 or 1 are smooth (PU-ECE
    paper, Appendix E), and are accurate to about 1e-13.
    """

    @abstractmethod
    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""

    @abstractmethod
    def breaks(self) -> Floats:
        """Sorted logits between which the density is smooth; the mass outside is below 1e-17."""

    @abstractmethod
    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits."""

    def draw(self, n: int, *, seed: Seed) -> Floats:
        """Draw `n` independent scores.

        Scores too close to 1 to be distinguished in double precision are exactly 1.0.
        """
        return sigmoid(self.draw_logits(n, generator(seed)))

    def moments(self, edges: ArrayLike) -> Floats:
        r"""Compute the exact bin sums :math:`\int_{I_b} s^k \, d\mu(s)` for k = 0, 1, 2.

        Parameters
        ----------
        edges : array_like of shape (n_bins + 1,)
            Nondecreasing edges of right-closed bins; the first bin also contains its left end.

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
        """Integrate ``factor(v) * density(v)`` over the logits in each bin of scores."""

        def integrand(logits: Floats) -> Floats:
            return factor(logits) * self.density(logits)

        panels = self.breaks()
        cuts = np.clip(last_logit(checked_edges(edges)), panels[0], panels[-1])
        panels, integrals = integrate(integrand, np.union1d(panels, cuts))
        bins = np.searchsorted(cuts, panels[:-1], side="right")
        rows = integrals.reshape(-1, bins.size)
        sums: Floats = np.array([np.bincount(bins, r, cuts.size + 1) for r in rows], np.float64)
        return sums[:, 1 : cuts.size].reshape(*integrals.shape[:-1], cuts.size - 1)

    def quantiles(self, q: ArrayLike) -> Floats:
        r"""Compute the population quantiles of the score, :math:`\inf\{t : \mu(s \le t) \ge q\}`.

        The support is assumed to be all of [0, 1]: q = 0 gives 0 and q = 1 gives 1.

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
            rule = "must contain probabilities in [0, 1]"
            raise InputError("q", rule, value=bad[0], remedy="Divide percentages by 100.")
        scores = sigmoid(self._logit_quantiles(levels.ravel())).reshape(levels.shape)
        return np.where(levels == 0, 0.0, np.where(levels == 1, 1.0, scores))

    def _logit_quantiles(self, levels: Floats) -> Floats:
        """Find the panel of each level by its cumulative mass, then the point by bisection."""
        panels, mass = integrate(self.density, self.breaks())
        below = np.concatenate([[0.0], np.cumsum(mass)])
        panel = np.clip(np.searchsorted(below, levels, side="right") - 1, 0, mass.size - 1)
        start, target = panels[panel], levels - below[panel]

        def is_below(points: Floats) -> Flags:
            return panel_integrals(self.density, start, points) < target

        return bisected(is_below, start, panels[panel + 1])


def mean_absolute(
    law: LogitLaw, gap: Integrand, ends: Sequence[float] = (), **tolerance: float
) -> float:
    """Return the mean of ``|gap|`` over a distribution; `ends` are further places where gap bends.

    The panels also end where gap changes its sign; the tolerances are those of `converged_breaks`.
    """

    def integrand(logits: Floats) -> Floats:
        return law.density(logits) * np.abs(gap(logits))

    breaks = law.breaks()
    breaks = np.union1d(breaks, np.clip(ends, breaks[0], breaks[-1]))
    position = np.arange(_GRID_PER_PANEL * (breaks.size - 1) + 1) / _GRID_PER_PANEL
    grid = np.interp(position, np.arange(breaks.size), breaks)
    panels = np.union1d(breaks, sign_changes(gap, grid))
    _, integrals = integrate(integrand, panels, **tolerance)
    return float(integrals.sum())


def checked_edges(edges: ArrayLike) -> Floats:
    """Return `edges` as an array, or raise an error if they are not valid bin edges.

    Examples
    --------
    >>> checked_edges([0, 0.5, 1])
    array([0. , 0.5, 1. ])
    """
    array = np.asarray(edges, dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        rule = f"must be one-dimensional with at least two values, got shape {array.shape}"
        raise InputError("edges", rule, remedy="Pass [0, 1] for a single bin.")
    falls = np.flatnonzero(~(np.diff(array) >= 0))
    if falls.size:
        i = int(falls[0])
        raise InputError(
            "edges",
            f"must not decrease and must not be nan, got {array[i]} before "
            f"{array[i + 1]} at position {i}. Sort the edges first.",
        )
    return array


_LIMIT_LOGIT: Final = 1e8  # Used as the logit of scores 0 and 1, at which limits are taken.


class World(ABC):
    """An exactly known joint distribution of a score and a label.

    Attributes
    ----------
    prior : float
        P(Y = 1).
    """

    prior: float

    @abstractmethod
    def positive_law(self) -> LogitLaw:
        """Distribution of the score given Y = 1."""

    @abstractmethod
    def marginal_law(self) -> LogitLaw:
        """Distribution of the score."""

    @abstractmethod
    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit), more precise than `posterior` where scores round to 1."""

    @abstractmethod
    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, Flags]:
        """Draw `n` independent pairs of a logit and a label."""

    def posterior(self, score: ArrayLike) -> Floats:
        """P(Y = 1 | score), the true calibration curve.

        Parameters
        ----------
        score : array_like
            Scores in [0, 1]; at 0 and 1, the result is the limit.

        Returns
        -------
        ndarray of the shape of `score`

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> LogisticGaussian.less_calibrated().posterior([0.0, 0.5, 1.0]).round(4)
        array([0.    , 0.6608, 1.    ])
        """
        scores = np.asarray(score, dtype=np.float64)
        bad = scores[~((scores >= 0) & (scores <= 1))]
        if bad.size:
            remedy = "Pass probabilities; for logits use posterior_of_logit."
            raise InputError("score", "must lie in [0, 1]", value=bad[0], remedy=remedy)
        return self.posterior_of_logit(np.clip(logit(scores), -_LIMIT_LOGIT, _LIMIT_LOGIT))

    def _gap(self, logits: Floats) -> Floats:
        """Return posterior minus score at these logits."""
        gap: Floats = self.posterior_of_logit(logits) - expit(logits)
        return gap

    def tce(self) -> float:
        r"""Compute the true calibration error :math:`E\,|P(Y = 1 \mid s) - s|`.

        By Lemma 7 of the PU-ECE paper, this is an integral over the logits, :math:`\int
        p_h(v)\,|P(Y = 1 \mid v) - \sigma(v)|\,dv`, split where the gap changes sign.

        Returns
        -------
        float
            Accurate to about 1e-13.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> round(LogisticGaussian.less_calibrated().tce(), 9)
        0.074443262
        """
        return mean_absolute(self.marginal_law(), self._gap)

    def binned_tce(self, edges: ArrayLike) -> float:
        r"""Compute the calibration error of the binned scores (PU-ECE paper, 2.2.2).

        The binned ECE converges to :math:`\sum_b |E[(Y - s)\,1\{s \in I_b\}]|`, which never exceeds
        `tce`.

        Parameters
        ----------
        edges : array_like of shape (n_bins + 1,)
            Nondecreasing edges of right-closed bins that cover [0, 1].

        Returns
        -------
        float

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> world = LogisticGaussian.less_calibrated()
        >>> round(world.binned_tce([0, 1]), 6), round(world.binned_tce([0, 0.1, 0.5, 1]), 6)
        (0.069604, 0.074265)
        """
        cuts = checked_edges(edges)
        if cuts[0] > 0 or cuts[-1] < 1:
            rule = f"must cover [0, 1], got edges from {cuts[0]} to {cuts[-1]}"
            raise InputError("edges", rule, remedy="Start them at 0 and end them at 1.")
        return float(np.abs(self.marginal_law().bin_integrals(self._gap, cuts)).sum())

    def draw_rows(self, n: int, seed: Seed) -> tuple[Floats, Integers]:
        """Draw `n` independent rows with their labels.

        Parameters
        ----------
        n : int
            Number of rows.
        seed : int or numpy.random.Generator
            Source of randomness.

        Returns
        -------
        scores : ndarray of float, shape (n,)
        y : ndarray of int, shape (n,)
            1 for a positive row, 0 for a negative one.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> scores, y = LogisticGaussian.calibrated().draw_rows(1000, seed=0)
        >>> scores.shape, sorted(set(y.tolist()))
        ((1000,), [0, 1])
        """
        logits, y = self.draw_logits(_finite("n", n), generator(seed))
        return sigmoid(logits), y.astype(np.int64)

    def draw(
        self,
        n_positive: float | None = None,
        n_unlabeled: float | None = None,
        *,
        n: int | None = None,
        setting: Setting,
        seed: Seed,
    ) -> PUScores:
        """Draw a data set in one of the three settings.

        Parameters
        ----------
        n_positive, n_unlabeled : int or math.inf, optional
            Sizes of the labeled and the unlabeled part, for the two PU settings. In the two-sample
            setting, either may be `math.inf`: the population distribution then replaces the sample
            (PU-ECE paper, Section 5.3).
        n : int, optional
            Number of rows, for the labeled setting.
        setting : {"two-sample", "one-sample", "labeled"}
            "two-sample": positives and marginal rows are drawn independently. "one-sample":
            ``n_positive + n_unlabeled`` rows are drawn together, and `n_positive` of the positive
            ones are labeled at random. "labeled": `n` rows keep their labels.
        seed : int or numpy.random.Generator
            Source of randomness.

        Returns
        -------
        PUScores

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> world = LogisticGaussian.less_calibrated()
        >>> world.draw(100, 1000, setting="two-sample", seed=0).prior
        0.5
        """
        setting, rng = check_setting(setting), generator(seed)
        sizes = _used(setting, n_positive=n_positive, n_unlabeled=n_unlabeled, n=n)
        if is_labeled(setting):
            scores, y = self.draw_rows(sizes[0], rng)
            return PUScores.from_labels(y, scores)
        if is_pooled(setting):
            return self._draw_one_sample(sizes[0], sum(sizes), rng)
        both = zip((self.positive_law(), self.marginal_law()), sizes, strict=True)
        samples = [law if size == math.inf else law.draw(size, seed=rng) for law, size in both]
        return PUScores(*samples, prior=self.prior, setting=setting)

    def _draw_one_sample(self, n_positive: int, n: int, rng: np.random.Generator) -> PUScores:
        expected = self.prior * n  # Compared with a tolerance for rounding, as in PUScores.
        if n_positive > expected * (1 + 1e-12):
            sizes = Argument("n_positive"), " + ", Argument("n_unlabeled")
            rule = f"must be at most prior * n = {expected:.6g} in the one-sample setting (n = "
            remedy = "Label fewer rows or draw more unlabeled ones."
            told = (rule, *sizes, f" = {n})")
            raise InputError("n_positive", told, value=n_positive, remedy=remedy)
        scores, y = self.draw_rows(n, rng)
        latent = np.flatnonzero(y)
        if n_positive > latent.size:
            raise InputError(
                "n_positive",
                f"must be at most the number of positive rows drawn, {latent.size} "
                f"of {n} with this seed, got {n_positive}. Label fewer rows, draw more unlabeled "
                "ones or change the seed.",
            )
        labeled = np.zeros(n, dtype=np.int64)
        labeled[rng.choice(latent, n_positive, replace=False)] = 1
        return PUScores.from_pu_labels(labeled, scores, prior=self.prior, setting="one-sample")


def _finite(name: str, size: float | None) -> int:
    """Return `size` as an int, or raise an error unless it is an integer of at least 1."""
    if size is None or not 1 <= size < math.inf or size != int(size):
        infinite = " (math.inf is for the two-sample setting)" if size == math.inf else ""
        rule, one = f"must be an integer >= 1{infinite}", Argument(name, 1000)
        raise InputError(name, rule, value=size, remedy=("Pass for example ", one, "."))
    return int(size)


def _used(setting: Setting, **sizes: float | None) -> list[Any]:
    """Return the sizes that the setting uses, or raise an error if others are given."""
    both = Argument("n_positive"), " and ", Argument("n_unlabeled")
    wanted = (Argument("n"),) if is_labeled(setting) else both
    unused = {name: x for name, x in sizes.items() if Argument(name) not in wanted}
    for name, size in unused.items():
        if size is not None:
            rule = f"is not used in the {setting!r} setting"
            raise InputError(name, rule, value=size, remedy=("Pass ", *wanted, "."))
    return [_size(name, x, setting) for name, x in sizes.items() if name not in unused]


def _size(name: str, size: float | None, setting: Setting) -> Any:  # noqa: ANN401
    """Return a checked size; separate samples may be infinite."""
    return size if size == math.inf and setting == "two-sample" else _finite(name, size)


Components: TypeAlias = tuple[Sequence[float], Sequence[float], Sequence[float]]

_STANDARD_BREAKS = np.arange(-9.0, 9.5)  # Only 2e-19 of the mass of a Gaussian is outside.

_WEIGHT_ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class MixtureLaw(LogitLaw):
    r"""Distribution of a score whose logit is a Gaussian mixture (PU-ECE paper, Section 5.3).

    :math:`p(v) = \sum_k w_k \, \mathcal N(v; m_k, \sigma_k^2)`

    Parameters
    ----------
    weights, means, sds : sequence of float
        Weights, means and standard deviations of the components. The weights sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> law = MixtureLaw(weights=[0.5, 0.5], means=[-2.0, 2.0], sds=[1.0, 1.0])
    >>> float(law.density(np.array(0.0)).round(6))
    0.053991
    """

    weights: Sequence[float]
    means: Sequence[float]
    sds: Sequence[float]

    def __post_init__(self) -> None:
        columns = [np.asarray(c, float).ravel() for c in (self.weights, self.means, self.sds)]
        weights, _, sds = columns
        sizes = [column.size for column in columns]
        if len(set(sizes)) > 1 or not sizes[0]:
            raise ValueError(
                f"'weights', 'means' and 'sds' must have the same length of at least 1, got "
                f"{sizes}. Pass one value of each for every component."
            )
        _require_all("means", columns[1], np.isfinite(columns[1]), "be finite")
        _require_all("sds", sds, np.isfinite(sds) & (sds > 0), "be finite and positive")
        _require_all("weights", weights, (weights > 0) & (weights <= 1), "lie in (0, 1]")
        if abs(weights.sum() - 1) > _WEIGHT_ROUNDING:
            rule = f"must sum to 1, got a sum of {weights.sum()}"
            raise InputError("weights", rule, remedy="Divide them by their sum.")
        columns[0] = weights / weights.sum()
        for name, column in zip(("weights", "means", "sds"), columns, strict=True):
            object.__setattr__(self, name, tuple(column.tolist()))

    def _log_parts(self, logits: Floats) -> list[Floats]:
        """Return the logarithm of each component's part of the density."""
        components = zip(self.weights, self.means, self.sds, strict=True)
        return [
            math.log(weight / (sd * math.sqrt(2 * math.pi))) - ((logits - mean) / sd) ** 2 / 2
            for weight, mean, sd in components
        ]

    def log_density(self, logits: Floats) -> Floats:
        """Logarithm of the density of the logit, computed without underflow."""
        return reduce(np.logaddexp, self._log_parts(logits))

    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""
        return reduce(np.add, map(np.exp, self._log_parts(logits)))

    def breaks(self) -> Floats:
        """Every component's mean plus -9 to 9 standard deviations, and the bends of the sigmoid."""
        means, sds = np.asarray(self.means), np.asarray(self.sds)
        own = np.unique(means[:, None] + sds[:, None] * _STANDARD_BREAKS)
        return np.union1d(own, np.clip(SIGMOID_BREAKS, own[0], own[-1]))

    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits, each from a randomly chosen component."""
        component = rng.choice(len(self.weights), size=n, p=self.weights)
        return rng.normal(np.asarray(self.means)[component], np.asarray(self.sds)[component])


class TwoClasses(World):
    """A world given by the prior and the distribution of the logit in each class."""

    @abstractmethod
    def positive_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 1."""

    @abstractmethod
    def negative_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 0."""

    def marginal_law(self) -> MixtureLaw:
        """Distribution of the score: the mixture of the two classes, weighted by the prior."""
        positive, negative = self.positive_law(), self.negative_law()
        return MixtureLaw(
            weights=[self.prior * w for w in positive.weights]
            + [(1 - self.prior) * w for w in negative.weights],
            means=[*positive.means, *negative.means],
            sds=[*positive.sds, *negative.sds],
        )

    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit) by Bayes' rule, for any prior."""
        evidence = self.positive_law().log_density(logits) - self.negative_law().log_density(logits)
        posterior: Floats = expit(logit(self.prior) + evidence)
        return posterior

    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, Flags]:
        """Draw `n` independent pairs: first the label, then the logit from its class."""
        y = rng.random(n) < self.prior
        n_positive = int(y.sum())
        logits = np.empty(n)
        logits[y] = self.positive_law().draw_logits(n_positive, rng)
        logits[~y] = self.negative_law().draw_logits(n - n_positive, rng)
        return logits, y


@dataclass(frozen=True, init=False)
class LogitMixture(TwoClasses):
    """Gaussian mixtures on the logits of both classes (PU-ECE paper, Appendix E).

    Parameters
    ----------
    positive, negative : MixtureLaw or (weights, means, sds)
        Distribution of the logit h(X) given Y = 1 and given Y = 0.
    prior : float
        P(Y = 1).

    Examples
    --------
    >>> world = LogitMixture(
    ...     positive=([0.7, 0.3], [3.0, 0.0], [1.0, 2.0]),
    ...     negative=([1.0], [-2.0], [1.5]),
    ...     prior=0.3,
    ... )
    >>> round(world.tce(), 6)
    0.090821
    """

    positive: MixtureLaw
    negative: MixtureLaw
    prior: float

    def __init__(
        self, *, positive: MixtureLaw | Components, negative: MixtureLaw | Components, prior: float
    ) -> None:
        object.__setattr__(self, "positive", _mixture("positive", positive))
        object.__setattr__(self, "negative", _mixture("negative", negative))
        object.__setattr__(self, "prior", check_prior(prior))

    def positive_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 1."""
        return self.positive

    def negative_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 0."""
        return self.negative


@dataclass(frozen=True)
class LogisticGaussian(TwoClasses):
    r"""The synthetic model of the PU-ECE paper (Appendix D), or its mirror image.

    :math:`X \mid Y = 1 \sim \mathcal N(1, 1)`, :math:`X \mid Y = 0 \sim \mathcal N(-1, 1)`, and the
    score is :math:`f(x) = \sigma(\beta_0 + \beta_1 x)`, so :math:`P(Y = 1 \mid x) = \sigma(2x +
    \mathrm{logit}\,\pi)` at the prior :math:`\pi`.

    Parameters
    ----------
    beta0, beta1 : float
        Intercept and slope of the score; `beta1` must not be 0.
    prior : float, default=0.5
        P(Y = 1).
    mirror : bool, default=False
        Swap the class means, X | Y = 1 ~ N(-1, 1), as in Futami & Fujisawa (2024), Appendix G.1. A
        useful score then has a negative slope; (beta0, -beta1) with `mirror` is the same world as
        (beta0, beta1) without.

    Examples
    --------
    >>> world = LogisticGaussian(-0.5, 1.5)
    >>> mirrored = LogisticGaussian(-0.5, -1.5, mirror=True)
    >>> round(world.tce(), 9), round(mirrored.tce(), 9)
    (0.074443262, 0.074443262)
    """

    beta0: float
    beta1: float
    prior: float = 0.5
    mirror: bool = False

    def __post_init__(self) -> None:
        if not np.isfinite(self.beta0):
            raise InputError("beta0", f"must be finite, got {self.beta0!r}. Pass for example -0.5.")
        # A slope that is lost to rounding next to beta0 makes the score constant.
        least = 1e-12 * max(1.0, abs(self.beta0))
        if not least <= abs(self.beta1) < np.inf:
            raise InputError(
                "beta1",
                f"must be finite and at least {least:g} above or below 0 with this beta0, "
                f"got {self.beta1!r}: a constant score has no density. Pass for example 1.5.",
            )
        check_prior(self.prior)

    @classmethod
    def less_calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """Case 1 of the PU-ECE paper, (beta0, beta1) = (-0.5, 1.5); TCE 0.0744 at prior 0.5.

        Examples
        --------
        >>> LogisticGaussian.less_calibrated()
        LogisticGaussian(beta0=-0.5, beta1=1.5, prior=0.5, mirror=False)
        """
        return cls(-0.5, -1.5 if mirror else 1.5, prior, mirror)

    @classmethod
    def better_calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """Case 2 of the PU-ECE paper, (beta0, beta1) = (-0.2, 1.9); TCE 0.0235 at prior 0.5.

        Examples
        --------
        >>> round(LogisticGaussian.better_calibrated().tce(), 9)
        0.023458913
        """
        return cls(-0.2, -1.9 if mirror else 1.9, prior, mirror)

    @classmethod
    def calibrated(cls, prior: float = 0.5, *, mirror: bool = False) -> Self:
        """Score equal to the posterior, (beta0, beta1) = (logit prior, 2); TCE 0.

        Examples
        --------
        >>> LogisticGaussian.calibrated(prior=0.1).tce() < 1e-15
        True
        """
        return cls(float(logit(check_prior(prior))), -2.0 if mirror else 2.0, prior, mirror)

    def _class_law(self, x_mean: float) -> MixtureLaw:
        mean = self.beta0 + self.beta1 * x_mean
        return MixtureLaw(weights=[1.0], means=[mean], sds=[abs(self.beta1)])

    def positive_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 1: logit ~ N(beta0 + beta1, beta1^2)."""
        return self._class_law(-1.0 if self.mirror else 1.0)

    def negative_law(self) -> MixtureLaw:
        """Distribution of the score given Y = 0: logit ~ N(beta0 - beta1, beta1^2)."""
        return self._class_law(1.0 if self.mirror else -1.0)


def _mixture(name: str, components: MixtureLaw | Components) -> MixtureLaw:
    if isinstance(components, MixtureLaw):
        return components
    if len(components) != 3:
        rule = "must be a MixtureLaw or the triple (weights, means, sds)"
        remedy = "Pass for example ([1.0], [2.0], [1.0])."
        raise InputError(name, rule, value=components, remedy=remedy)
    weights, means, sds = components
    return MixtureLaw(weights=weights, means=means, sds=sds)


def _require_all(name: str, values: Floats, valid: Flags, rule: str) -> None:
    if not valid.all():
        i = int(np.argmin(valid))
        rule = f"must {rule}, got {values[i]} for component {i}"
        raise InputError(name, rule, remedy="Correct that component.")
