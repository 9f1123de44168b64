r"""KM1, KM2 and PenL1: feature-based estimators that compare the samples with Gaussian kernels.

**KM**: how far one can go from the positives through the unlabeled rows before leaving the data
(Ramaswamy, Scott and Tewari 2016, Mixture proportion estimation via kernel embeddings). With kernel
means :math:`\hat F` of the unlabeled rows and :math:`\hat H` of the positives, :math:`d(\lambda)`
is the distance of :math:`\lambda \hat F + (1-\lambda) \hat H` from the convex hull of all rows. It
is zero up to :math:`\lambda^* = 1/(1-a)`; the two rules differ in the slope that counts as steep.

**PenL1**: the share at which a penalized L1 distance between ``t p_P`` and ``p_U`` is smallest (du
Plessis, Niu and Sugiyama 2017, Class-prior estimation for learning from positive and unlabeled
data). With Gaussian bumps :math:`\phi_l` on unlabeled rows and
:math:`\beta_l(t) = t\,E_+[\phi_l] - E_U[\phi_l]`,

.. math:: J(t) = \frac{1}{\lambda} \sum_l \max(0, \beta_l(t))^2 - t + 1;

the penalty makes it infinitely costly to have more positives than rows anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from noneg.arrays import bisected
from noneg.errors import InputError
from noneg.prior.base import SAMPLED, FeatureEstimator, Found
from noneg.randomness import stream

if TYPE_CHECKING:
    from noneg.arrays import Floats, Places
    from noneg.prior.samples import FeatureSamples

# Constants of KM. The walk ends at LARGEST, so shares up to 0.95 can be found; the slope is that
# over a STEP.
WIDTHS = (0.1, 0.316, 1.0, 3.16, 10.0)
LARGEST = 20.0
HALVINGS = 9
STEP = 0.02
STEEP = 0.9
ROUNDING = 1e-7

# Constants of PenL1.
SHARES = np.arange(1, 100) / 100.0
BUMP_WIDTHS = np.geomspace(0.01, 10.0, 10)
PENALTIES = np.geomspace(1e-3, 10.0, 10)
FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class KernelMeanRoot(FeatureEstimator):
    """KM1, the rule ``1 / sqrt(min(n_P, n_U))`` for the slope at which the walk leaves the data.

    Columns are standardized. At most `max_rows` rows of each sample are used, because time and
    memory grow at least quadratically.

    Parameters
    ----------
    max_rows : int
    steps : int
        Number of steps of the projection onto the convex hull.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import KernelMeanRoot
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 100) for m in (4, 4, 0)])
    >>> found = KernelMeanRoot(resamples=2).fit(
    ...     x[:, None], [1] * 100 + [0] * 200, setting="two-sample"
    ... )
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "km1"
    title = "Kernel mean, root rule (KM1)"
    citation = "Ramaswamy et al. (2016), Mixture proportion estimation"
    assumption = (
        f"{SAMPLED}, and some smooth function is large for some positives but never "
        "for negatives (separability), which implies irreducibility"
    )

    max_rows: int = 300
    steps: int = 300

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share at which the distance starts to increase."""
        part = samples.standardized().at_most(self.max_rows, stream(self.seed, "kernel mean"))
        walk = Walk.along(part.positive, part.unlabeled, self.steps)
        limit = self.limit(walk)
        found = float(bisected(lambda at: walk.slope(at, STEP) <= limit, 1.0, LARGEST, HALVINGS))
        return Found((found - 1.0) / found, {"slope_limit": limit, "distance": walk.apart})

    def limit(self, walk: Walk) -> float:
        """Return the slope at which the walk counts as having left the data."""
        slope = 1.0 / np.sqrt(walk.smaller)
        return walk.gradient_limit() if slope / walk.apart > STEEP else float(slope)


@dataclass(frozen=True, kw_only=True)
class KernelMeanGradient(KernelMeanRoot):
    """KM2, the rule ``0.8 d'(1) + 0.2 ||F - H||`` for the slope at which the walk leaves the data.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import KernelMeanGradient
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 100) for m in (4, 4, 0)])
    >>> found = KernelMeanGradient(resamples=2).fit(
    ...     x[:, None], [1] * 100 + [0] * 200, setting="two-sample"
    ... )
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "km2"
    title = "Kernel mean, gradient rule (KM2)"

    def limit(self, walk: Walk) -> float:
        """Return the slope at which the walk counts as having left the data."""
        return walk.gradient_limit()


@dataclass(eq=False)
class Walk:
    """The line through both kernel means, and its distance from the convex hull of the rows."""

    kernel: Floats
    unlabeled: Floats
    positive: Floats
    apart: float
    smaller: int
    steps: int

    @classmethod
    def along(cls, positive: Floats, unlabeled: Floats, steps: int) -> Walk:
        """Choose the kernel width that maximizes the distance between the two means."""
        rows = np.concatenate([positive, unlabeled])
        n, m = len(positive), len(unlabeled)
        p = np.repeat([1.0 / n, 0.0], [n, m])
        u = np.repeat([0.0, 1.0 / m], [n, m])
        square = cdist(rows, rows, "sqeuclidean")
        middle = float(np.median(np.sqrt(square[np.triu_indices(n + m, 1)]))) or 1.0
        kernels = [np.exp(-square / (2.0 * (factor * middle) ** 2)) for factor in WIDTHS]
        kernel = max(kernels, key=lambda k: _norm(k, u - p))
        apart = _norm(kernel, u - p)
        if apart < ROUNDING:
            raise InputError(
                "X",
                "must differ between positives and unlabeled rows, but all are the same.",
            )
        return cls(kernel, u, p, apart, min(n, m), steps)

    def gradient_limit(self) -> float:
        """Return ``0.8 d'(1) + 0.2 ||F - H||``."""
        return 0.8 * self.slope(1.0, 0.05) + 0.2 * self.apart

    def slope(self, at: float, step: float) -> float:
        """Return the slope of the distance to the right of a point."""
        return (self.distance(at + step) - self.distance(at)) / step

    def distance(self, at: float) -> float:
        """Return the distance of ``at F + (1 - at) H`` from the convex hull."""
        target = at * self.unlabeled + (1.0 - at) * self.positive
        return _norm(self.kernel, nearest_in_hull(self.kernel, target, self.steps) - target)


def _norm(kernel: Floats, weights: Floats) -> float:
    return float(np.sqrt(max(0.0, float(weights @ kernel @ weights))))


def nearest_in_hull(kernel: Floats, target: Floats, steps: int) -> Floats:
    """Return nonnegative weights with sum 1 that are closest to the target in the kernel norm.

    Accelerated projected gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes).
    """
    rate = 1.0 / float(kernel.sum(axis=1).max())
    v = project(target)
    y, momentum = v, 1.0
    for _ in range(steps):
        following = project(y - rate * (kernel @ (y - target)))
        if (y - following) @ (following - v) > 0.0:
            y, momentum = v, 1.0
            continue
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y = following + (momentum - 1.0) / grown * (following - v)
        v, momentum = following, grown
    return v


def project(weights: Floats) -> Floats:
    """Return the nearest point on the simplex (Held, Wolfe and Crowder 1974).

    Examples
    --------
    >>> project(np.array([0.6, 0.8, -1.0]))
    array([0.4, 0.6, 0. ])
    """
    falling = np.sort(weights)[::-1]
    level = (np.cumsum(falling) - 1.0) / np.arange(1, weights.size + 1)
    last = int(np.flatnonzero(falling > level)[-1])
    return np.maximum(0.0, weights - level[last])


@dataclass(frozen=True, kw_only=True)
class PenalizedL1(FeatureEstimator):
    """PenL1, with width and penalty chosen by cross-validation for each share.

    Columns are standardized. Shares are tried in steps of 0.01; the authors use steps of 0.05.

    Parameters
    ----------
    centers : int
        Number of bumps, centered on unlabeled rows.
    max_rows : int
        Largest number of rows used from each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import PenalizedL1
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (4, 4, 0)])
    >>> found = PenalizedL1().fit(x[:, None], [1] * 200 + [0] * 400, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.1
    True
    """

    name = "penl1"
    title = "Penalized L1 (PenL1)"
    citation = "du Plessis et al. (2017), Class-prior estimation"
    assumption = (
        f"{SAMPLED}, and somewhere negatives are negligible compared with positives; "
        "little overlap and few dimensions"
    )

    centers: int = 200
    max_rows: int = 1000

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share with the smallest penalized distance."""
        random = stream(self.seed, "penalized L1")
        part = samples.standardized().at_most(self.max_rows, random)
        p, u = part.positive, part.unlabeled
        chosen = u[random.choice(len(u), min(self.centers, len(u)), replace=False)]
        near = [cdist(x, chosen, "sqeuclidean") for x in (p, u)]
        middle = float(np.sqrt(np.median(cdist(chosen, chosen, "sqeuclidean")))) or 1.0
        parts = [random.permutation(len(x)) % FOLDS for x in (p, u)]
        tried = [_at_width(near, parts, factor * middle) for factor in BUMP_WIDTHS]
        # For each share, use the width and the penalty that predict best.
        scores, values = np.concatenate(tried, axis=2)
        best = values[np.arange(SHARES.size), np.argmin(scores, axis=1)]
        return Found(float(SHARES[int(np.argmin(best))]), {"distance": float(best.min())})


def _at_width(near: list[Floats], parts: list[Places], width: float) -> Floats:
    """Return the cross-validation score and J, with shares as rows and penalties as columns."""
    p, u = (np.exp(-square / (2.0 * width**2)) for square in near)
    score = np.zeros((SHARES.size, 1))
    for in_p, in_u in ((parts[0] == fold, parts[1] == fold) for fold in range(FOLDS)):
        if in_p.all() or in_u.all() or not (in_p.any() and in_u.any()):
            continue
        held, rest = _excess(p[in_p], u[in_u]), _excess(p[~in_p], u[~in_u])
        score -= (np.maximum(0.0, rest) * held).sum(axis=1, keepdims=True)
    square = (np.maximum(0.0, _excess(p, u)) ** 2).sum(axis=1, keepdims=True)
    return np.stack([score / PENALTIES, square / PENALTIES - SHARES[:, None] + 1.0])


def _excess(positive: Floats, unlabeled: Floats) -> Floats:
    """Return beta, with shares as rows."""
    return SHARES[:, None] * positive.mean(axis=0) - unlabeled.mean(axis=0)
