r"""KM1 and KM2: how far one can walk from positives through unlabeled before leaving all data.

Ramaswamy, Scott and Tewari (2016), Mixture proportion estimation via kernel embeddings. With
kernel means :math:`\hat F` of the unlabeled rows and :math:`\hat H` of the positives,
:math:`d(\lambda)` is the distance of :math:`\lambda \hat F + (1-\lambda) \hat H` from the convex
hull of all rows. It is zero up to :math:`\lambda^* = 1/(1-a)`; the two rules say how steep is
steep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from noneg.prior.contract import Found
from noneg.prior.features import FeatureEstimator, FeatureSamples
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTHS = (0.1, 0.316, 1.0, 3.16, 10.0)
# Where the walk ends: shares up to .95 can be found.
LARGEST = 20.0
STEP = 0.04
STEEP = 0.9
ROUNDING = 1e-7


@dataclass(frozen=True, kw_only=True)
class KernelMeanRoot(FeatureEstimator):
    """KM1, the rule ``1 / sqrt(min(n_P, n_U))`` for the slope at which the walk leaves the data.

    Columns are standardised. At most `max_rows` rows of each kind are used: time and memory grow
    with their square and more.

    Parameters
    ----------
    max_rows : int
    steps : int
        Of the projection onto the convex hull.

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

    name: ClassVar[str] = "km1"
    title: ClassVar[str] = "Kernel mean, root rule (KM1)"
    citation: ClassVar[str] = "Ramaswamy et al. (2016), Mixture proportion estimation"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, and a smooth function is large "
        "on some positives and never on negatives (separability), which implies irreducibility"
    )

    max_rows: int = 300
    steps: int = 300

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share at which the distance starts to grow."""
        part = samples.standardised().at_most(self.max_rows, stream(self.seed, "kernel mean"))
        walk = Walk.along(part.positive, part.unlabeled, self.steps)
        limit = self.limit(walk)
        low, high = 1.0, LARGEST
        while high - low > STEP:
            middle = 0.5 * (low + high)
            if walk.slope(middle, STEP / 2.0) > limit:
                high = middle
            else:
                low = middle
        found = 0.5 * (low + high)
        return Found((found - 1.0) / found, {"slope_limit": limit, "distance": walk.apart})

    def limit(self, walk: Walk) -> float:
        """Return the slope that counts as leaving."""
        slope = 1.0 / np.sqrt(walk.smaller)
        return gradient_limit(walk) if slope / walk.apart > STEEP else float(slope)


@dataclass(frozen=True, kw_only=True)
class KernelMeanGradient(KernelMeanRoot):
    """KM2, the rule ``.8 d'(1) + .2 ||F - H||`` for the slope at which the walk leaves the data.

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

    name: ClassVar[str] = "km2"
    title: ClassVar[str] = "Kernel mean, gradient rule (KM2)"

    def limit(self, walk: Walk) -> float:
        """Return the slope that counts as leaving."""
        return gradient_limit(walk)


def gradient_limit(walk: Walk) -> float:
    """Return ``.8 d'(1) + .2 ||F - H||``."""
    return 0.8 * walk.slope(1.0, 0.05) + 0.2 * walk.apart


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
        """Choose the width that sets the two means furthest apart."""
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
            raise ValueError("'X' must differ between positives and unlabeled rows; it does not.")
        return cls(kernel, u, p, apart, min(n, m), steps)

    def slope(self, at: float, step: float) -> float:
        """Return the slope of the distance to the right of a place."""
        return (self.distance(at + step) - self.distance(at)) / step

    def distance(self, at: float) -> float:
        """Return the distance of ``at F + (1 - at) H`` from the convex hull."""
        target = at * self.unlabeled + (1.0 - at) * self.positive
        return _norm(self.kernel, nearest_in_hull(self.kernel, target, self.steps) - target)


def _norm(kernel: Floats, weights: Floats) -> float:
    return float(np.sqrt(max(0.0, float(weights @ kernel @ weights))))


def nearest_in_hull(kernel: Floats, target: Floats, steps: int) -> Floats:
    """Return weights >= 0 of sum 1 that lie nearest to the target in the kernel's norm.

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
    """Return the nearest point of the simplex (Held, Wolfe and Crowder 1974).

    Examples
    --------
    >>> project(np.array([0.6, 0.8, -1.0]))
    array([0.4, 0.6, 0. ])
    """
    falling = np.sort(weights)[::-1]
    level = (np.cumsum(falling) - 1.0) / np.arange(1, weights.size + 1)
    last = int(np.flatnonzero(falling > level)[-1])
    return np.maximum(0.0, weights - level[last])
