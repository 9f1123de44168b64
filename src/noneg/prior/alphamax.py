r"""AlphaMax: the share beyond which the likelihood of a two-component fit decreases.

Jain, White, Trosset and Radivojac (2016), Nonparametric semi-supervised learning of class
proportions; Jain, White and Radivojac (2016), Estimating the class prior and posterior from noisy
positives and unlabeled data. With masses :math:`w_b, v_b` of the unlabeled and the positive
distribution in bins, define for every share c

.. math:: L(c) = \max_{0 \le u_b \le w_b,\, \sum u_b = c} \sum_b w_b \log(w_b - u_b + c v_b)
   + \sum_b v_b \log(u_b / c).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter
from scipy.special import xlogy

from noneg.arrays import bisected
from noneg.prior.base import SAMPLED, Found, ScoreEstimator

if TYPE_CHECKING:
    from noneg.arrays import Flags, Floats
    from noneg.prior.samples import ScoreLaws

_NEAR_ONE = 1.0 - np.geomspace(0.1, 0.001, 40)
SHARES = np.unique(np.concatenate([np.arange(1, 91) / 100.0, _NEAR_ONE]))
# The curve is extended to the left by a flat part, so that the elbow rule finds small shares.
_BEFORE = np.arange(-10, 1) / 100.0
_LINE = np.concatenate([_BEFORE, SHARES])
NEIGHBORS = 10
FLOOR = 1e-5
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class AlphaMax(ScoreEstimator):
    """AlphaMax with its elbow rule.

    Bins have equal mass in both distributions combined, so the method depends only on ranks (bin
    widths cancel in the likelihood). The number of bins follows Rice's rule for the positives. The
    elbow rule is inaccurate if classes overlap, and for shares above 0.9.

    Examples
    --------
    >>> from noneg.prior import AlphaMax, ScoreLaws
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(4.0, 1.0, 500)
    >>> unlabeled = np.append(rng.normal(4.0, 1.0, 600), rng.normal(0.0, 1.0, 1400))
    >>> laws = ScoreLaws.from_arrays(positive, unlabeled, setting="two-sample", scale="logit")
    >>> abs(AlphaMax().fit(laws).value - 0.3) < 0.05
    True
    """

    name = "alphamax"
    title = "AlphaMax"
    citation = "Jain et al. (2016), Nonparametric semi-supervised learning"
    assumption = (
        f"{SAMPLED}, negatives do not contain them as a component (irreducibility), and the share "
        "is not close to one"
    )
    bootstrap_points = 512

    def find(self, laws: ScoreLaws) -> Found:
        """Return the elbow of the likelihood."""
        bins = laws.coarse(max(8, int(np.ceil(2.0 * np.cbrt(laws.n_positive)))))
        w, v = bins.unlabeled, bins.positive
        # A bin without unlabeled mass should contain no positives, but noise puts a few there.
        w = np.maximum(w, FLOOR) / np.maximum(w, FLOOR).sum()
        share = elbow(likelihoods(w, v), _entropy(w) + _entropy(v))
        return Found(share, {"bins": float(bins.points.size)})


@dataclass(frozen=True, kw_only=True)
class AlphaMaxNoise(AlphaMax):
    r"""AlphaMax-N, which allows some labeled positives to be negatives.

    If :math:`a_+` is the AlphaMax share of the positive distribution in the unlabeled distribution,
    and :math:`1 - b_+` is the share of the unlabeled distribution in the positive distribution,
    then :math:`a = a_+ b_+ / (1 - a_+ (1 - b_+))`.

    Examples
    --------
    >>> from noneg.prior import AlphaMaxNoise, ScoreLaws
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(4.0, 1.0, 500)
    >>> unlabeled = np.append(rng.normal(4.0, 1.0, 600), rng.normal(0.0, 1.0, 1400))
    >>> laws = ScoreLaws.from_arrays(positive, unlabeled, setting="two-sample", scale="logit")
    >>> AlphaMaxNoise().fit(laws).diagnostics["purity"] > 0.8
    True
    """

    name = "alphamax-n"
    title = "AlphaMax-N"
    citation = "Jain, White and Radivojac (2016), Estimating the class prior"
    assumption = (
        "neither class contains the other as a component (mutual irreducibility); some labeled "
        "positives may be negatives"
    )

    def find(self, laws: ScoreLaws) -> Found:
        """Return the share corrected for wrong labels, and the purity of the labels."""
        apparent = super().find(laws).share
        swapped = replace(
            laws,
            points=-laws.points[::-1],
            positive=laws.unlabeled[::-1],
            unlabeled=laws.positive[::-1],
            n_positive=laws.n_unlabeled,
            n_unlabeled=laws.n_positive,
            scale="logit",
        )
        rest = 1.0 - super().find(swapped).share
        scale = 1.0 - apparent * (1.0 - rest)
        return Found(apparent * rest / scale, {"apparent_share": apparent, "purity": rest / scale})


def likelihoods(w: Floats, v: Floats) -> Floats:
    """Return L(c) at `SHARES`, made nonincreasing from the right."""
    c = SHARES[:, None]
    u = np.maximum(_best_split(w, v, c), 1e-300)
    rest = np.maximum(w - u + c * v, 1e-300)
    found = (w * np.log(rest)).sum(axis=1) + np.where(v > 0.0, v * np.log(u / c), 0.0).sum(axis=1)
    out: Floats = np.maximum.accumulate(found[::-1])[::-1]
    return out


def _entropy(mass: Floats) -> float:
    return float(xlogy(mass, mass).sum())


def _best_split(w: Floats, v: Floats, c: Floats) -> Floats:
    """Return the maximizing u, one row per share, by bisection on the Lagrange multiplier.

    For each bin, the condition ``v/u - w/(w - u + c v) = m`` is quadratic in u.
    """

    def too_much(m: Floats) -> Flags:
        return _split(w, v, c, m).sum(axis=1, keepdims=True) > c

    ends = np.full_like(c, -1e6), np.full_like(c, 1e6)
    return _split(w, v, c, bisected(too_much, *ends, steps=80))


def _split(w: Floats, v: Floats, c: Floats, m: Floats) -> Floats:
    total = w + c * v
    b = m * total + v + w
    root = np.sqrt(np.maximum(0.0, b * b - 4.0 * m * v * total))
    # The smaller root, in a form that avoids cancellation.
    u = np.divide(2.0 * v * total, b + root, out=np.full_like(b, np.inf), where=b + root > 0.0)
    return np.clip(u, 0.0, w)


def elbow(curve: Floats, start: float) -> float:
    """Return the share where the negated curve bends upward most, relative to its earlier height.

    Parameters
    ----------
    curve : ndarray
        L(c) at `SHARES`.
    start : float
        L(0), the likelihood of two independent fits.
    """
    drop = median_filter(-curve, size=5, mode="nearest")
    drop = np.concatenate([np.full(_BEFORE.size, min(-start, drop[0])), drop])
    span = drop[-1] - drop[0]
    if not span > ROUNDING:
        return float(SHARES[-1])
    drop = (drop - drop[0]) / span
    least = 1.0 / (_LINE[-1] - _LINE[0]) / 100.0
    x, y = (sliding_window_view(line, NEIGHBORS + 1) for line in (_LINE, drop))
    slope = _slopes_below(x, y, least)
    # For each point, one window ends there and another one starts there.
    left, right = slice(None, -NEIGHBORS), slice(NEIGHBORS, None)
    turn = (slope[right] - slope[left]) / (np.median(y[left], axis=1) + 0.01)
    return max(0.0, float(_LINE[NEIGHBORS + int(np.argmax(turn))]))


def _slopes_below(x: Floats, y: Floats, least: float) -> Floats:
    """Return, for each window (row), the slope of the least-squares line below all points.

    The line touches the lowest points, so it either passes through two points or is the
    least-squares line through a single point.
    """
    dx, dy = (a[:, :, None] - a[:, None, :] for a in (x, y))
    through_two = np.divide(dy, dx, out=np.zeros_like(dx), where=dx != 0.0)
    through_one = (dx * dy).sum(axis=1) / (dx * dx).sum(axis=1)
    tried = np.concatenate([through_two.reshape(len(x), -1), through_one], axis=1)
    tried = np.maximum(tried, least)
    rest = y[:, None, :] - tried[:, :, None] * x[:, None, :]
    rest -= rest.min(axis=2, keepdims=True)
    best = np.argmin((rest * rest).sum(axis=2), axis=1)
    return tried[np.arange(len(x)), best]
