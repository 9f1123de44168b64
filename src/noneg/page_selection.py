"""Data that a page needs to follow another selection factor: labeled positives as atoms.

Up to `ATOMS` labeled positives are stored individually, so the page computes the same results as
`noneg`; more are stored in groups of equal size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.reliability import SmoothReliability, band_parts, selected_limits
from noneg.intervals import law_means, t_score, unseen_share
from noneg.page_state import Sums, losses
from noneg.selection import Box, Cells, density, running_wins

if TYPE_CHECKING:
    from noneg.arrays import Floats
    from noneg.losses import Loss
    from noneg.scores import PUScores

ATOMS = 1000
BOX = ("positive", "marginal", "variance", "share", "error")


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectionSums:
    """The numbers that `assets/selection.js` computes with.

    Attributes
    ----------
    box : dict
        Masses of both distributions in the cells of `noneg.selection.Box` with their variances, and
        the labeled share with its standard error.
    atoms : dict
        Running sums over the labeled positives in descending order of score: their mass, and the
        share of rows they beat; also the second-order sums of each atom.
    losses : dict
        For each expected loss, the gain of a positive and its loss as a negative, at the atoms.
    area : dict
        The cells in which the noise of the area is computed.
    diagrams : dict
        Limits of both masses in the bins of the diagrams.
    student, student_area : float
        Student's quantiles for losses and for areas.
    rows : float
        Size of the smaller sample.
    unseen : float
        Largest share of a kind of positives that the sample may lack.
    """

    box: dict[str, Any]
    atoms: dict[str, Floats]
    losses: dict[str, dict[str, Any]]
    area: dict[str, Floats]
    diagrams: dict[str, Any]
    student: float
    student_area: float
    rows: float
    unseen: float


def selection_sums(scores: PUScores, sums: Sums, *, level: float) -> SelectionSums | None:
    """Return the sums; None for labeled data and for distributions that are known exactly."""
    if scores.prior_is_estimated or not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    box, cells = Box.of(scores), Cells(scores)
    aa, aw, ww = cells.second
    positive, marginal = cells.totals
    tpr, wins = running_wins(scores)
    atoms, bins = _Atoms(scores), partial(bin_scores, scores, bins=sums.diagram_bins)
    rows = min(scores.effective_positive, scores.effective_marginal)
    return SelectionSums(
        box={name: getattr(box, name) for name in BOX},
        atoms={"tpr": atoms.at_ends(tpr), "wins": atoms.at_ends(wins), **atoms.second},
        losses={name: atoms.loss(loss) for name, loss in losses().items() if name in sums.risks},
        area={
            "tpr": cells.tpr,
            "ppr": cells.ppr,
            "aa": aa / positive**2,
            "aw": aw / (positive * marginal),
            "ww": ww / marginal**2,
        },
        diagrams={kind: band_parts(scores, bins(binning=kind), level) for kind in sums.diagrams},
        student=t_score(level, scores.effective_positive),
        student_area=t_score(level, rows),
        rows=rows,
        unseen=unseen_share(scores.effective_positive, level),
    )


def bands(
    found: SelectionSums, kind: str, priors: tuple[float, ...], selection: float
) -> dict[str, Floats]:
    """Return the bands of a diagram at a selection factor, over all given priors."""
    parts = found.diagrams[kind]
    share, error = found.box["share"], found.box["error"]
    frequency = priors[0] * parts["positive"] / parts["marginal"]
    out: dict[str, Floats] = {}
    for band, suffix in (("pointwise", ""), ("simultaneous", "_all")):
        fewer = max(share - parts[band]["errors"] * error, 0.0)
        boxes = [(prior, density(fewer, prior, selection)) for prior in priors]
        low, high = selected_limits(parts, parts[band], boxes, frequency)
        out |= {f"low{suffix}": low, f"high{suffix}": high}
    return out


def smooth_band(
    smooth: SmoothReliability, share: float, priors: tuple[float, ...], selection: float
) -> tuple[Floats, Floats]:
    """Return the band of the smooth curve over all priors and all allowed distributions.

    `share` is the labeled share of the rows, as in `SelectionSums.box`.
    """
    ends = [(prior, *density(share, prior, selection)) for prior in priors]
    low = min(prior * least for prior, least, _ in ends) * smooth.low
    high = max(prior * most for prior, _, most in ends) * smooth.high
    return low, high


class _Atoms:
    """The labeled positives in descending order of score, individually or in groups."""

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        s, *masses = scores.positive_in_order()
        f, a, w = (np.broadcast_to(x, s.shape)[::-1] for x in masses)
        self.s, self.mass = s[::-1], f * a
        self.starts = np.unique(np.linspace(0, s.size, min(s.size, ATOMS) + 1).astype(int))[:-1]
        positive, marginal = self.mass.sum(), scores.sums_below(np.ones(1))[0, 1]
        both = f * a * w / (positive * marginal) if scores.pooled else np.zeros(s.size)
        self.second = {"aa": self._sum(f * a * a / positive**2), "aw": self._sum(both)}

    def _sum(self, x: Floats) -> Floats:
        return np.add.reduceat(x, self.starts)

    def at_ends(self, running: Floats) -> Floats:
        """Return running sums at the ends of the atoms."""
        return running[np.append(self.starts, running.size - 1)]

    def mean(self, x: Floats) -> Floats:
        """Return the mean of each atom."""
        return self._sum(x * self.mass) / self._sum(self.mass)

    def loss(self, loss: Loss) -> dict[str, Any]:
        """Return an expected loss at the atoms, and its mean over all rows treated as negatives."""
        means = law_means(self.scores, (), [lambda s: loss(s, 0)])
        return {
            "gain": self.mean(loss(self.s, 1) - loss(self.s, 0)),
            "negative": self.mean(loss(self.s, 0)),
            "base": float(means.marginal[0]),
            "variance": float(means.covariance[0, 0]),
        }
