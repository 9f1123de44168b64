r"""Both laws in the order of the scores, and the variance of anything computed from them.

TPR and PPR are step functions of the threshold. A curve's summary is a function of their heights;
its derivative with respect to the heights says how much each row matters, in any setting and with
any weights, and the sum of squares over rows is its variance (delta method; for the area under the
ROC curve it is DeLong's).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noneg import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.rows import Mass
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


class Ordered:
    """The mass of both laws at or above infinity and each distinct score, falling.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores of both laws, falling.
    pooled : bool
        Whether labelled positives belong to the marginal sample: yes in one sample and when
        everything is labelled, no in two samples.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.9, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> Ordered(scores).tpr
    array([0. , 0.5, 1. , 1. , 1. , 1. ])
    """

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        self.pooled = scores.setting != "two-sample"
        self._rows = scores.in_order()
        unlabeled, positive = self._rows
        self.thresholds, *self._above = kernels.count_above(unlabeled[0], positive[0])

    @cached_property
    def tpr(self) -> Floats:
        """``mu_plus(s >= t)``; nan if no row is positive."""
        _, f, a, _ = self._rows[1]
        return _share(self._mass(1, f * a))

    @cached_property
    def ppr(self) -> Floats:
        """``mu(s >= t)``."""
        return _share(self._marginal())

    @cached_property
    def false_positive(self) -> Floats:
        """FPR of labelled data, counted; nan if no row is negative."""
        _, f, _, w = self._rows[0]
        return _share(self._mass(0, f * w))

    def fpr(self, prior: float) -> Floats:
        """``(PPR - pi TPR) / (1 - pi)``; noise may take it out of [0, 1] unless all is labelled."""
        if self.scores.setting == "labelled":
            return self.false_positive
        out = self.tpr * -prior
        out += self.ppr
        out /= 1.0 - prior
        return out

    def precision(self, prior: float) -> Floats:
        """``pi TPR / PPR``; nan where no row of the marginal sample is predicted positive."""
        out = self.tpr * prior
        with np.errstate(divide="ignore", invalid="ignore"):
            out /= self.ppr
        out[self.ppr == 0.0] = np.nan
        return out

    def positive_steps(self) -> NDArray[np.intp]:
        """Return the steps at whose score a positive lies."""
        _, f, a, _ = self._rows[1]
        mass = self._mass(1, f * a)
        return np.flatnonzero(mass[1:] > mass[:-1]) + 1

    def heights(self, at: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return TPR and PPR at some steps only."""
        (_, f, _, w), (_, g, a, v) = self._rows
        ppr = self._mass(0, f * w)[at]
        if self.pooled:
            ppr = ppr + self._mass(1, g * v)[at]
        return self._mass(1, g * a)[at] / self._positive_total(), ppr / self._marginal_total()

    def own_mass(self, at: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the mean share of one positive, at these steps, in the positive and marginal law.

        A positive of a separate sample has no marginal mass; the mean row's stands for it.
        """
        _, f, a, w = self._rows[1]
        _, g, _, v = self._rows[0]
        mass, total = self._at(1, f * a, at), self._marginal_total()
        own = self._at(1, f * a * a, at) / (mass * self._positive_total())
        if not self.pooled:
            return own, np.asarray(self._mass(0, g * v * v)[-1] / total**2)
        return own, self._at(1, f * a * w, at) / (mass * total)

    def shares_row(self, at: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether a marginal row has the score of these steps."""
        if not self.pooled:
            return self.ppr[at] > self.ppr[at - 1]
        return np.asarray(True)  # noqa: FBT003

    def corners(self) -> NDArray[np.bool_]:
        """Return which steps do not lie halfway between their neighbours on the ROC curve.

        The largest score is kept in any case, as scikit-learn does.
        """
        (_, f, _, w), (_, g, a, v) = self._rows
        masses = [self._mass(0, f * w), self._mass(1, g * a)]
        if self.scores.setting == "one-sample":
            masses.append(self._mass(1, g * v))  # of the marginal law, where labelling rates differ
        corner = np.ones(self.thresholds.size, dtype=np.bool_)
        corner[2:-1] = np.any([np.diff(mass[1:], 2) != 0.0 for mass in masses], axis=0)
        return corner

    def _marginal(self) -> Floats:
        (_, f, _, w), (_, g, _, v) = self._rows
        unlabeled = self._mass(0, f * w)
        return unlabeled + self._mass(1, g * v) if self.pooled else unlabeled

    def masses(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct scores, rising, and the mass of both laws at each."""
        _, f, a, _ = self._rows[1]
        positive, marginal = np.diff(self._mass(1, f * a)), np.diff(self._marginal())
        return self.thresholds[:0:-1], positive[::-1], marginal[::-1]

    def _mass(self, group: int, mass: Mass) -> Floats:
        """Return a group's mass at or above each threshold."""
        above = self._above[group]
        if np.ndim(mass) == 0:
            return above if mass == 1.0 else above * mass
        from_top = np.concatenate([[0.0], np.cumsum(np.asarray(mass)[::-1])])
        return from_top[above.astype(np.intp)]

    def variance(self, d_tpr: Floats, d_ppr: Floats, d_prior: float) -> float:
        """Return the variance of a function of the heights, given its derivatives.

        Each group's sum of squares is raised by ``n / (n - 1)`` for its fitted mean, as DeLong's;
        a group of one row has no spread to learn from and makes the variance infinite.
        """
        marginal, prior = self._marginal_total(), self.scores.prior
        share = d_prior / marginal if self.scores.prior_is_estimated else 0.0
        positive = self._influence(d_tpr, self.tpr, self._positive_total()) + share
        rows = self._influence(d_ppr, self.ppr, marginal) - prior * share
        if not self.pooled:
            return self._squares(1, positive, None) + self._squares(0, None, rows)
        return self._squares(1, positive, rows) + self._squares(0, None, rows)

    def _positive_total(self) -> float:
        _, f, a, _ = self._rows[1]
        return float(self._mass(1, f * a)[-1])

    def _marginal_total(self) -> float:
        (_, f, _, w), (_, g, _, v) = self._rows
        pooled = self._mass(1, g * v)[-1] if self.pooled else 0.0
        return float(self._mass(0, f * w)[-1] + pooled)

    @staticmethod
    def _influence(derivative: Floats, height: Floats, total: float) -> Floats:
        """Return what a row at each distinct score does to the function, a unit of mass."""
        # A row counts in the heights of all thresholds at or below its score.
        gradient = np.cumsum(derivative[::-1])[::-1][1:]
        gradient -= gradient @ np.diff(height)
        gradient /= total
        return gradient

    def _squares(self, group: int, positive: Floats | None, marginal: Floats | None) -> float:
        """Return the sum over a group's rows of ``(a positive + w marginal)^2``."""
        _, f, a, w = self._rows[group]
        mass = a if group else w
        first, second = (self._mass(group, f * mass**power)[-1] for power in (1, 2))
        size = first**2 / second if second > 0.0 else 0.0
        if 0.0 < size <= 1.0:
            return np.inf
        parts = []
        if positive is not None:
            parts.append(self._at(group, f * a * a) @ positive**2)
        if marginal is not None:
            parts.append(self._at(group, f * w * w) @ marginal**2)
        if positive is not None and marginal is not None:
            parts.append(2.0 * (self._at(group, f * a * w) @ (positive * marginal)))
        return float(sum(parts) * size / (size - 1.0)) if size > 0.0 else 0.0

    def _at(self, group: int, mass: Mass, at: NDArray[np.intp] | None = None) -> Floats:
        """Return a group's mass at each distinct score, or at those of some steps."""
        above = self._mass(group, mass)
        return np.diff(above) if at is None else above[at] - above[at - 1]


def _share(mass: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return mass / mass[-1]
