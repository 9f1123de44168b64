"""Known negatives that nobody drew at random: bounds and checks, and no estimates.

A row that was reviewed and found negative is a row of the table that is not a labeled positive, so
it stays in the marginal law. How it came to be reviewed is not known - mostly because it looked
suspicious - so shares among reviewed rows say nothing about the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from noneg.checks import check_scores, check_setting, is_pooled
from noneg.errors import InputError
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]

# From this p-value on known negatives look like other rows that are not labeled.
ODD = 0.01
EVEN = 0.5


@dataclass(frozen=True, kw_only=True)
class KnownNegatives:
    """What known negatives without known inclusion probabilities tell.

    Attributes
    ----------
    n_positive, n_negative, n_unlabeled : int
        Labeled positives, known negatives, and rows that nobody looked at.
    prior_limits : (float, float)
        Share of positives in the table if no row that nobody looked at is positive, and if all are.
    auroc : (float, float) or None
        Between these lies the AUROC of the whole table if positives were labeled at random
        (Claesen et al. 2015, with known negatives); None without a prior that the counts allow.
    reviewed_auroc : float
        AUROC among reviewed rows alone; not that of the table.
    rank : float
        Mean rank of known negatives among all rows that are not labeled positive, 0.5 if they
        were drawn at random or without regard to the score.
    p_value : float
        Of the test that they were.
    prior : float or None
        The prior that was given.
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

    @property
    def contradicts(self) -> bool:
        """Whether the counts exclude the prior."""
        low, high = self.prior_limits
        return self.prior is not None and not low <= self.prior <= high

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for people."""
        low, high = self.prior_limits
        counted = (
            f"{self.n_negative:,} rows are known negatives. They count as rows that are not "
            "labeled positive; no share among reviewed rows is used, because nobody knows how "
            "they were chosen."
        )
        said = [
            counted,
            f"They leave a share of positives between {low:.4g} and {high:.4g} in these rows.",
        ]
        if self.contradicts:
            said.append(f"A prior of {self.prior:.4g} contradicts these counts.")
        if self.p_value < ODD:
            where = "higher" if self.rank > EVEN else "lower"
            said.append(
                f"Known negatives have {where} scores than other rows (mean rank {self.rank:.2f}, "
                f"p = {self.p_value:.2g}): rows were not reviewed at random."
            )
        if self.auroc is not None:
            least, most = self.auroc
            said.append(
                f"With them the AUROC lies between {least:.3f} and {most:.3f} if positives were "
                f"labeled at random; among reviewed rows alone it is {self.reviewed_auroc:.3f}, "
                "which is not that of the table."
            )
        said.append("To learn more, have rows reviewed that noneg audit plan chooses.")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        names = ("n_positive", "n_negative", "n_unlabeled", "reviewed_auroc", "rank", "p_value")
        return {
            **{name: getattr(self, name) for name in names},
            "prior_limits": list(self.prior_limits),
            "auroc": None if self.auroc is None else list(self.auroc),
            "contradicts": self.contradicts,
            "notes": list(self.notes),
        }


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
        Scores of labeled positives, of rows found negative, and of rows that nobody looked at.
    setting : {"one-sample", "two-sample"}
    prior : float, optional
        Share of positives in the table; needed for the bounds of the AUROC.
    level : float
        Of the band behind these bounds.

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
    names = ("positive", "negative", "unlabeled")
    groups = [
        check_scores(x, name)
        for x, name in zip((positive, negative, unlabeled), names, strict=True)
    ]
    p, n, u = groups
    if check_setting(setting) == "labelled":
        raise InputError("setting", "must not be 'labelled' where some rows are unlabeled")
    for name, group in zip(names, groups, strict=True):
        if not group.size:
            raise InputError(name, "must hold at least one row, got none")
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
    """Return the probability that a row of one sample has the higher score; ties count half."""
    there = np.sort(other)
    ends = [np.searchsorted(there, one, side).mean() for side in ("left", "right")]
    return float(sum(ends) / (2.0 * there.size))


def _bounds(
    p: Floats, n: Floats, u: Floats, setting: Setting, prior: float | None, level: float
) -> tuple[float, float] | None:
    """Return Claesen's bounds of the AUROC, None if the prior leaves no hidden positive."""
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
