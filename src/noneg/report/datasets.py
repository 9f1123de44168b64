"""What the charts draw, at the prior of the evaluation: rows by the names that `charts` reads.

The page computes the same rows in the browser, for any prior (`assets/recompute.js`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noneg.report.words import points

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation

Row: TypeAlias = dict[str, float | str | None]
Rows: TypeAlias = list[Row]


def datasets(evaluation: Evaluation) -> dict[str, Rows]:
    """Return the rows of every chart."""
    return {
        "reliability": [dict(vars(point)) for point in points(evaluation)],
        "distribution": distribution(evaluation),
        "curves": curves(evaluation),
        "roc_bounds": bounds(evaluation, "fpr", "tpr"),
        "pr_bounds": bounds(evaluation, "recall", "precision"),
        "prior_curve": prior_curve(evaluation),
        "now": [now(evaluation)],
        "selected": [],
        "recalibration": recalibration(evaluation),
    }


def distribution(evaluation: Evaluation) -> Rows:
    """Return shares of positives, of all rows and of the implied negatives in narrow bins."""
    found, prior = evaluation.sums.histogram, evaluation.prior.value
    negative = (
        (found.marginal - prior * found.positive) / (1.0 - prior)
        if prior < 1.0
        else np.full(found.n_bins, np.nan)
    )
    columns = {
        "left": found.edges[:-1],
        "right": found.edges[1:],
        "positive": found.positive,
        "marginal": found.marginal,
        "negative": negative,
    }
    return as_rows(columns)


def curves(evaluation: Evaluation) -> Rows:
    """Return rates, precision and F1 at every threshold of the page."""
    tails, prior = evaluation.sums.tails, evaluation.prior.value
    tpr, ppr = tails.tpr, tails.ppr
    with np.errstate(divide="ignore", invalid="ignore"):
        return as_rows(
            {
                "threshold": tails.threshold,
                "tpr": tpr,
                "ppr": ppr,
                "fpr": (ppr - prior * tpr) / np.subtract(1.0, prior),
                "precision": prior * tpr / ppr,
                "f_beta": 2.0 * prior * tpr / (ppr + prior),
            }
        )


def bounds(evaluation: Evaluation, x: str, y: str) -> Rows:
    """Return the outline of the region between two bounding curves, in the order of drawing."""
    found = evaluation.sums.bounds
    if found is None:
        return []
    sides = [(found.upper[x], found.upper[y]), (found.lower[x][::-1], found.lower[y][::-1])]
    outline = np.concatenate([np.stack(side) for side in sides], axis=1)
    kept = outline[:, np.isfinite(outline).all(axis=0)]
    return as_rows({"order": np.arange(float(kept.shape[1])), "x": kept[0], "y": kept[1]})


def prior_curve(evaluation: Evaluation) -> Rows:
    """Return the calibration error over the prior, bins held; nothing for labelled data."""
    if evaluation.setting == "labelled":
        return []
    found, least = evaluation.prior_curve, evaluation.sums.least_prior
    prior = np.unique(np.concatenate([[least], found.prior[found.prior > least]]))
    return as_rows({"prior": prior, "ece": found(prior)})


def now(evaluation: Evaluation) -> Row:
    """Return the prior with its error, and the largest prior that the data allow."""
    return {
        "prior": evaluation.prior.value,
        "ece": evaluation.ece.value,
        "largest_prior": evaluation.sums.largest_prior,
    }


def recalibration(evaluation: Evaluation) -> Rows:
    """Return the diagrams before and after recalibration, one below the other."""
    found = evaluation.recalibration
    if found is None:
        return []
    return [
        {"side": name, **row}
        for name, diagram in found.reliability.items()
        for row in as_rows(
            {key: getattr(diagram, key) for key in ("score", "frequency", "low", "high")}
        )
    ]


def as_rows(columns: dict[str, np.typing.NDArray[np.float64]]) -> Rows:
    """Return columns as rows; what is no number becomes None."""
    plain = {name: column.tolist() for name, column in columns.items()}
    size = len(next(iter(plain.values())))
    return [
        {name: column[i] if math.isfinite(column[i]) else None for name, column in plain.items()}
        for i in range(size)
    ]
