r"""Confidence sequences: intervals that are valid at every look, so a review may stop at any time.

Row t of a sequential design is drawn from stratum h with probability :math:`\pi_h` and, within it,
from the rows not yet drawn. Conditional on all earlier rows,

.. math:: X_t = \sum_{i<t} y_i a_i + \frac{N_h - n_h}{\pi_h}\, y_t a_t

has the total of :math:`y a` over all unlabeled rows as its mean. A metric theta of the table solves
``total(y a(theta)) + b(theta) = 0``, so for the true theta, the sums ``X_t + b`` are fair bets:
capital staked on them rarely grows. There are two bettors, one on each side. A value of theta is
excluded once either bettor has turned a capital of 1 into ``2 / alpha`` (Ville 1939; Waudby-Smith &
Ramdas 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.audit.targets import LOSSES, ONE, Census, Target, flag_name
from noneg.errors import InputError
from noneg.results import Estimate, Table

if TYPE_CHECKING:
    from noneg.arrays import Floats, Places
    from noneg.audit.reading import Answers

GRID = 401
# A single bet can lose at most this share of the capital.
STAKE = 0.5
LINEAR = ("prior", "precision", "recall", "accuracy", *LOSSES)
METHOD = "confidence sequence by betting"


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(Table):
    """An interval after each review; all of them hold simultaneously.

    Attributes
    ----------
    target : str
    reviews : ndarray of int
    low, high : ndarray
    level : float
    """

    target: str
    reviews: Places
    low: Floats
    high: Floats
    level: float

    @property
    def half_width(self) -> float:
        """Half the width of the last interval."""
        return float(self.high[-1] - self.low[-1]) / 2.0

    @property
    def last(self) -> Estimate:
        """The last interval, with its midpoint as the value."""
        low, high = float(self.low[-1]), float(self.high[-1])
        return Estimate(
            value=(low + high) / 2.0, low=low, high=high, level=self.level, method=METHOD
        )


def equation(target: Target, census: Census, theta: Floats) -> tuple[Floats, Floats]:
    """Return a and b of ``total(y a) + b = 0``: a by theta and feature, b by theta."""
    at, known, rows = census.place, census.known, census.rows
    a = np.zeros((theta.size, known.size))
    if target.name == "prior":
        a[:, at[ONE]], right = 1.0, theta * rows
    elif target.name in LOSSES:
        a[:, at[target.name]], right = 1.0, (theta - census.base[target.name]) * rows
    else:
        assert target.threshold is not None  # noqa: S101 - the others have none
        flag, flagged = at[flag_name(target.threshold)], census.flagged[target.threshold]
        a[:, flag] = 2.0 if target.name == "accuracy" else 1.0
        a[:, at[ONE]] = -1.0 * (target.name == "accuracy") - theta * (target.name == "recall")
        right = {
            "precision": theta * flagged,
            "recall": np.zeros_like(theta),
            "accuracy": theta * rows - (rows - flagged),
        }[target.name]
    return a, a @ known - right


def capital(answers: Answers, a: Floats, b: Floats, alpha: float) -> Floats:
    """Return the larger capital of the two bettors after each review, shape (rows, thetas).

    Every answer must be positive or negative.
    """
    design = answers.design
    left, seen = design.size.copy(), np.zeros(a.shape[1])
    stratum = design.stratum[: answers.code.size]
    ends = design.corners @ a.T
    low, high = np.minimum(ends.min(axis=1), 0.0), np.maximum(ends.max(axis=1), 0.0)
    wealth, out = np.zeros((2, b.size)), []
    mean, square = np.zeros(b.size), np.zeros(b.size)
    for t, (h, y, f) in enumerate(zip(stratum, answers.code, answers.features, strict=True)):
        share = np.where(left > 0.0, design.share, 0.0)
        share /= share.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(share > 0.0, left / share, 0.0)
        base = a @ seen + b
        least = base + (reach[:, None] * low).min(axis=0)
        most = base + (reach[:, None] * high).max(axis=0)
        x = base + reach[h] * y * (a @ f)
        scale = np.maximum(most - least, 1e-300)
        spread = (scale**2 / 4.0 + square) / (t + 1.0)
        size = np.sqrt(2.0 * np.log(2.0 / alpha) / (spread * (t + 1.0) * np.log(t + 2.0)))
        for side, (sign, worst) in enumerate(((1.0, -least), (-1.0, most))):
            bet = np.minimum(size, STAKE / np.maximum(worst, 1e-300))
            wealth[side] += np.log1p(np.maximum(sign * bet * x, -1.0 + 1e-12))
        mean += (x - mean) / (t + 1.0)
        square += (x - mean) ** 2
        seen = seen + y * f
        left[h] -= 1.0
        out.append(wealth.max(axis=0))
    return np.array(out)


def sequence(target: Target, answers: Answers, level: float) -> Sequence:
    """Return the confidence sequence for a metric of the table.

    The values that are not excluded are found on a grid, and each end is extended by one step.
    """
    check_sequential(target, answers)
    census, alpha = answers.design.census, 1.0 - level
    theta = np.linspace(*target.range, GRID)
    found = capital(answers, *equation(target, census, theta), alpha)
    alive = np.maximum.accumulate(found, axis=0) < np.log(2.0 / alpha)
    step = theta[1] - theta[0]
    low = np.where(alive.any(axis=1), theta[alive.argmax(axis=1)] - step, theta[0])
    high = np.where(alive.any(axis=1), theta[::-1][alive[:, ::-1].argmax(axis=1)] + step, theta[-1])
    reviews = np.arange(1, len(low) + 1)
    return Sequence(
        str(target), reviews, np.clip(low, *target.range), np.clip(high, *target.range), level
    )


def check_sequential(target: Target, answers: Answers) -> None:
    """Reject designs and targets for which no confidence sequence is available."""
    if not answers.design.sequential:
        rule = "needs a sequential design: this list must be reviewed completely"
        raise InputError("until", rule, remedy="Plan it with --sequential (sequential=True).")
    if target.name not in LINEAR:
        rule = f"must be one of {', '.join(LINEAR)}"
        raise InputError("until", rule, value=str(target))
    if str(target) not in map(str, answers.design.targets):
        named = ", ".join(map(str, answers.design.targets))
        raise InputError("until", f"must be a target of the design ({named})", value=str(target))
