"""Spline calibration: the slope of a smoothed Kolmogorov-Smirnov curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_number
from noneg.recalibration._law import Table, table
from noneg.recalibration.contract import Calibrator, Floats, State, check_fields

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

    from noneg.scores import PUScores

# Nodes at which the correction is kept.
MOST_NODES = 1000


class Spline(Calibrator):
    r"""Add the slope of a spline that smooths the cumulative residual.

    With the share :math:`t = \mu(s \le u)` of rows up to a score u, the curve behind `ks_error` is
    :math:`r(t) = \pi\,\mu_+(s \le u) - \int_{s \le u} s\,d\mu`. Its slope is the gap between the
    probability of a positive and the score, so

    .. math:: g(s) = s + \hat r'(t(s)),

    with a natural cubic spline :math:`\hat r` fitted to the curve by least squares. The spline
    keeps the curve's ends, so the mean of g is the prior (before g is moved into [0, 1]). The map
    may fall somewhere.

    Parameters
    ----------
    knots : int
        Knots of the spline, evenly spread over the rows; the paper's number is 6.

    References
    ----------
    Gupta et al. (2021), Calibration of Neural Networks using Splines. There the curve belongs to
    labelled rows; here it needs the two laws and the prior.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> spline = Spline().fit(world.draw(n=20_000, setting="labelled", seed=0))
    >>> bool(abs(spline.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.05)
    True
    """

    name = "spline"
    monotone = False

    def __init__(self, knots: int = 6) -> None:
        self.knots = knots

    def _fit(self, scores: PUScores) -> State:
        number = check_number(self.knots, "knots", "a whole number of knots, at least 2")
        if number < 2 or number != int(number):
            raise ValueError(f"'knots' must be a whole number from 2, got {self.knots!r}.")
        laws = table(scores)
        curve = _smoothed(laws, int(number))
        last = np.flatnonzero(np.diff(_cells(laws.marginal), append=-1))
        first = np.concatenate([[0], last[:-1] + 1])
        upto = np.concatenate([[0.0], np.cumsum(laws.marginal)])
        upto /= upto[-1]
        mass = upto[last + 1] - upto[first]
        nodes = np.add.reduceat(laws.marginal * laws.score, first)
        nodes /= np.add.reduceat(laws.marginal, first)
        # A sum of rounded numbers may leave the range of its terms.
        nodes = np.clip(nodes, laws.score[first], laws.score[last])
        shifts = (curve(upto[last + 1]) - curve(upto[first])) / mass
        return {"scores": nodes.tolist(), "shifts": shifts.tolist()}

    def _map(self, s: Floats) -> Floats:
        nodes, shifts = np.array(self.state_["scores"]), np.array(self.state_["shifts"])
        return s + np.interp(s, nodes, shifts)

    def _check(self, state: State) -> None:
        check_fields(state, scores=list, shifts=list)
        nodes = np.array(state["scores"])
        if nodes.size == 0 or nodes.size != len(state["shifts"]):
            raise ValueError("'scores' and 'shifts' must be equally long and not empty")
        if nodes[0] < 0.0 or nodes[-1] > 1.0 or (np.diff(nodes) <= 0.0).any():
            raise ValueError("'scores' must rise in [0, 1]")


def _cells(mass: Floats) -> Floats:
    """Return the cell of each distinct score: scores of their own, or equal shares of the rows."""
    if mass.size <= MOST_NODES:
        return np.arange(mass.size, dtype=np.float64)
    middle = np.cumsum(mass) - mass / 2.0
    return np.floor(middle / mass.sum() * MOST_NODES)


def _smoothed(laws: Table, n_knots: int) -> CubicSpline:
    """Return the natural spline that is closest to the cumulative residual, its ends given."""
    from scipy.interpolate import CubicSpline

    t = np.cumsum(laws.marginal)
    t /= t[-1]
    curve = np.cumsum(laws.positive - laws.marginal * laws.score)
    knots = np.linspace(0.0, 1.0, n_knots)
    basis = CubicSpline(knots, np.eye(n_knots), bc_type="natural")(t)
    inner, rest = basis[:, 1:-1], curve - basis[:, -1] * curve[-1]
    weighted = inner * laws.marginal[:, None]
    middle = np.linalg.lstsq(weighted.T @ inner, weighted.T @ rest, rcond=None)[0]
    return CubicSpline(knots, np.concatenate([[0.0], middle, curve[-1:]]), bc_type="natural")
