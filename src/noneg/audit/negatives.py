"""Known negatives that were not drawn at random: bounds and checks, but no estimates.

A row that was reviewed and found negative belongs to the table and is not a labeled positive, so it
stays in the marginal distribution. The reason for its review is unknown (usually, it looked
suspicious), so shares among reviewed rows cannot be generalized to the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from noneg.checks import Setting, check_filled, check_scores, check_setting, is_pooled
from noneg.errors import InputError
from noneg.laws import placements
from noneg.results import Record
from noneg.scores import PUScores
from noneg.sentences import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats

# At this p-value or above, known negatives look like other rows that are not labeled.
ODD = 0.01
EVEN = 0.5


@dataclass(frozen=True, kw_only=True)
class KnownNegatives(Record):
    """Bounds and checks from known negatives without known inclusion probabilities.

    Attributes
    ----------
    n_positive, n_negative, n_unlabeled : int
        Numbers of labeled positives, known negatives, and unreviewed rows.
    prior_limits : (float, float)
        Share of positives in the table if no unreviewed row is positive, and if all are.
    auroc : (float, float) or None
        Bounds on the AUROC of the whole table if positives were labeled at random (Claesen et al.
        2015, with known negatives); None without a prior that is compatible with the counts.
    reviewed_auroc : float
        AUROC among reviewed rows only, which is not the AUROC of the table.
    rank : float
        Mean rank of known negatives among all rows that are not labeled positive; 0.5 if they were
        drawn at random or independently of the score.
    p_value : float
        P-value for the hypothesis that they were.
    prior : float or None
        The given prior.
    """

    n_positive: int
    n_negative: int
    n_unlabeled: int
    prior_limits: tuple[float, float]
    auroc: tuple[float, float] | None
    reviewed_auroc: float
    rank: float
    p_value: float
    prior: float | None

    _facts = (
        *("n_positive", "n_negative", "n_unlabeled", "reviewed_auroc", "rank", "p_value"),
        *("prior_limits", "auroc", "contradicts", "notes"),
    )

    @property
    def contradicts(self) -> bool:
        """Whether the counts exclude the prior."""
        low, high = self.prior_limits
        return self.prior is not None and not low <= self.prior <= high

    @property
    def notes(self) -> tuple[str, ...]:
        """Summary sentences for readers."""
        low, high = self.prior_limits
        said = [say("negatives_counted", rows=self.n_negative)]
        said.append(say("negatives_limits", low=low, high=high))
        if self.contradicts:
            said.append(say("negatives_contradict", prior=self.prior))
        if self.p_value < ODD:
            where = "higher" if self.rank > EVEN else "lower"
            said.append(say("negatives_chosen", where=where, rank=self.rank, p=self.p_value))
        if self.auroc is not None:
            ends = dict(zip(("least", "most"), self.auroc, strict=True))
            said.append(say("negatives_auroc", **ends, reviewed=self.reviewed_auroc))
        return (*said, say("negatives_plan"))


def known_negatives(
    positive: ArrayLike,
    negative: ArrayLike,
    unlabeled: ArrayLike,
    *,
    setting: Setting,
    prior: float | None = None,
    level: float = 0.95,
) -> KnownNegatives:
    """Return bounds and checks from known negatives that were not drawn at random.

    Parameters
    ----------
    positive, negative, unlabeled : array-like
        Scores of labeled positives, of rows found negative, and of unreviewed rows.
    setting : {"one-sample", "two-sample"}
    prior : float, optional
        Share of positives in the table; needed for the AUROC bounds.
    level : float
        Confidence level of the band behind these bounds.

    Examples
    --------
    >>> found = known_negatives(
    ...     [0.9, 0.8, 0.7], [0.6, 0.5], [0.4, 0.3, 0.2, 0.2, 0.1], setting="one-sample"
    ... )
    >>> found.prior_limits
    (0.3, 0.8)
    >>> found.reviewed_auroc
    1.0
    """
    groups = {"positive": positive, "negative": negative, "unlabeled": unlabeled}
    p, n, u = (check_scores(x, name) for name, x in groups.items())
    if check_setting(setting) == "labeled":
        raise InputError("setting", "must not be 'labeled' if some rows are unlabeled")
    for name, x in zip(groups, (p, n, u), strict=True):
        check_filled(x.size, name, "row")
    one = is_pooled(setting)
    rows = n.size + u.size + (p.size if one else 0)
    rank = _auroc(n, np.concatenate([n, u]))
    spread = np.sqrt((n.size + u.size + 1.0) / (12.0 * n.size * u.size))
    z = (_auroc(n, u) - 0.5) / spread
    return KnownNegatives(
        n_positive=p.size,
        n_negative=n.size,
        n_unlabeled=u.size,
        prior_limits=((p.size if one else 0) / rows, 1.0 - n.size / rows),
        auroc=_bounds(p, n, u, setting, prior, level),
        reviewed_auroc=_auroc(p, n),
        rank=rank,
        p_value=float(2.0 * ndtr(-abs(z))),
        prior=prior,
    )


def _auroc(one: Floats, other: Floats) -> float:
    """Return the probability that a row of `one` scores higher; a tie counts as half."""
    return float(placements(one, np.sort(other)).mean())


def _bounds(
    p: Floats, n: Floats, u: Floats, setting: Setting, prior: float | None, level: float
) -> tuple[float, float] | None:
    """Return Claesen's bounds on the AUROC, or None if the prior leaves no hidden positives."""
    from noneg.performance import roc_bounds

    if prior is None:
        return None
    labeled = p.size if is_pooled(setting) else 0
    beta = (prior * (n.size + u.size + labeled) - labeled) / u.size
    if not 0.0 < beta < 1.0:
        return None
    scores = PUScores(p, u, setting="two-sample")
    low, high = roc_bounds(scores, beta=beta, known_negatives=n, level=level).auc
    return float(low), float(high)
