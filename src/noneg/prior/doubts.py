"""What the scores say against an estimate of the prior, in sentences.

No data can prove that negatives do not look like positives: only the smallest ratio of the two laws
can be estimated, and it is an upper bound of the prior. What can be seen is whether the answer
leans on that assumption: where the classes it implies overlap, it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noneg.prior.laws import ScoreLaws

FEW_POSITIVES = 30
# Below this the implied classes overlap so much that a purely positive region is a guess.
SEPARABLE = 0.95


def implied_separation(separation: float, share: float) -> float:
    r"""Return the AUC of positives against the negatives that a share implies.

    :math:`\mathrm{AUC}_{PU} = a/2 + (1 - a)\,\mathrm{AUC}_{PN}`; nan for a share of one.

    Parameters
    ----------
    separation : float
        AUC of positives against unlabeled rows.
    share : float
        Share of positives among the unlabeled rows.

    Examples
    --------
    >>> implied_separation(0.75, 0.5)
    1.0
    """
    return (separation - share / 2.0) / (1.0 - share) if share < 1.0 else float("nan")


def overlapping(separation: float, share: float, n: float, m: float) -> bool:
    """Tell whether the implied classes overlap, or the rows are too few to say that they do not.

    One standard deviation of the AUC of n positives against m unlabeled rows is given away; the
    fewer negatives are left, the less is known of them.

    Examples
    --------
    >>> overlapping(0.74, 0.5, 1000, 3000), overlapping(0.65, 0.5, 1000, 3000)
    (False, True)
    """
    noise = null_deviation(n, m) / max(1.0 - share, 1e-12)
    return not implied_separation(separation, share) - noise >= SEPARABLE


def few_positives(n: float) -> tuple[str, ...]:
    """Return a warning where the positives are too few for any method."""
    if n >= FEW_POSITIVES:
        return ()
    few = "1 labelled positive is" if n == 1 else f"{n:,.0f} labelled positives are"
    rest = "the estimate may be far off, and no interval from so few rows is to be trusted"
    return (f"{few} too few: {rest}.",)


def doubts(laws: ScoreLaws, share: float) -> tuple[str, ...]:
    """Return what needs attention when a share is read off these scores."""
    out = list(few_positives(laws.n_positive))
    n, m = laws.n_positive, laws.n_unlabeled
    chance = 0.5 + 2.0 * null_deviation(n, m)
    if laws.separation < chance:
        out.append(
            "The scores do not tell positives from unlabeled rows (AUC "
            f"{laws.separation:.3f}; chance gives so many rows up to {min(chance, 1.0):.3f}): "
            "either nearly all unlabeled rows are positive, or the scores know nothing. "
            "Only better scores or more rows can decide."
        )
    elif overlapping(laws.separation, share, n, m):
        out.append(
            "The classes overlap, or the rows are too few to say that they do not (an AUC of "
            f"{implied_separation(laws.separation, share):.3f} between positives and the negatives "
            "that this prior implies): negatives may contain a part that looks like positives, "
            "which no PU data can show. Read the estimate as an upper bound."
        )
    return tuple(out)


def null_deviation(n: float, m: float) -> float:
    """Return the sd of the AUC of n against m rows when both laws are the same, without ties."""
    return float(np.sqrt((n + m + 1.0) / (12.0 * n * m)))
