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


def implied_separation(laws: ScoreLaws, share: float) -> float:
    r"""Return the AUC of positives against the negatives that a share implies.

    :math:`\mathrm{AUC}_{PU} = a/2 + (1 - a)\,\mathrm{AUC}_{PN}`; nan for a share of one.

    Examples
    --------
    >>> from noneg.prior import ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9, 0.8], [0.9, 0.8, 0.1, 0.2], setting="two-sample")
    >>> implied_separation(laws, 0.5)
    1.0
    """
    return (laws.separation - share / 2.0) / (1.0 - share) if share < 1.0 else float("nan")


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
    if laws.separation - 0.5 < 2.0 * _null_deviation(laws):
        out.append(
            "The scores do not tell positives from unlabeled rows (AUC "
            f"{laws.separation:.3f}): either nearly all unlabeled rows are positive, or the scores "
            "know nothing. Only better scores can decide."
        )
        return tuple(out)
    separation = implied_separation(laws, share)
    # The fewer negatives are left, the less is known of them.
    noise = _null_deviation(laws) / max(1.0 - share, 1e-12)
    if not separation - noise >= SEPARABLE:
        out.append(
            f"The classes overlap (an AUC of {separation:.3f} between positives and the negatives "
            "that this prior implies): negatives may contain a part that looks like positives, "
            "which no PU data can show. Read the estimate as an upper bound."
        )
    return tuple(out)


def _null_deviation(laws: ScoreLaws) -> float:
    """Return the sd of the AUC when both laws are the same, at most its value without ties."""
    n, m = laws.n_positive, laws.n_unlabeled
    return float(np.sqrt((n + m + 1.0) / (12.0 * n * m)))
