"""What travels inside the page: sums as strict JSON, and the rows that charts draw.

The rows here are those at the prior of the evaluation, by the names that `noneg.report.charts`
reads; the page computes the same rows for any prior (`assets/recompute.js`).
"""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noneg.evaluation import FACTORS, NEARLY_ALL, SAME_SHARE
from noneg.page_state import EXPLORED
from noneg.performance.assumptions import FEW_POSITIVES
from noneg.performance.risk import decision_rule
from noneg.registry import METRICS, registered_rules
from noneg.report import words
from noneg.report.auditing import audit_rows
from noneg.report.charts import specification
from noneg.sentences import templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from noneg.calibration.reliability import Reliability
    from noneg.evaluation import Evaluation
    from noneg.page_state import BinSums, Sums


# The six different entries of a symmetric 3 by 3 matrix.
_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


# Warnings that `assets/words.js` says again at another prior, by their codes.
MOVING = {"prior", "negatives", "positives", "mean_score", "all_labelled", "outside"}


# Cost of decisions in the zero-one risk.
ZERO_ONE = np.array([[0.0, 1.0], [1.0, 0.0]])

# What decides which sentence is said; `assets/words.js` decides by the same numbers.
LIMITS = {
    "small": words.SMALL,
    "large": words.LARGE,
    "wide": words.WIDE,
    "common": words.COMMON,
    "second": words.SECOND,
    "nearly_all": NEARLY_ALL,
    "same_share": SAME_SHARE,
    "few_positives": FEW_POSITIVES,
}


def payload(
    evaluation: Evaluation, charts: Iterable[str], truth: Evaluation | None = None
) -> dict[str, Any]:
    """Return what the page computes with and draws."""
    specs = {name: specification(name) for name in charts}
    return {
        "setting": evaluation.setting,
        "level": evaluation.level,
        "prior": evaluation.prior.value,
        "prior_ends": [evaluation.prior.low, evaluation.prior.high],
        "consistent": evaluation.consistent,
        "n_positive": evaluation.n_positive,
        "n_unlabeled": evaluation.n_unlabeled,
        "n_marginal": evaluation.n_marginal,
        "bins": evaluation.bins,
        "eps": words.EPS,
        "tenths": words.TENTHS,
        "explored": list(EXPLORED),
        "sentences": templates(),
        "limits": LIMITS,
        "headline": words.headline(evaluation).to_dict(),
        "warned": bool(evaluation.warnings),
        "other_warnings": _steady_warnings(evaluation),
        "rules": {
            name: {"matrix": rule.matrix, "by_odds": rule.by_odds, "range": [rule.low, rule.high]}
            for name, rule in (registered_rules() | {"risk": decision_rule(ZERO_ONE)}).items()
        },
        "selection": evaluation.selection,
        "factors": FACTORS,
        "ranges": {
            name: METRICS[name if name in METRICS else "ece"].range
            for name in evaluation.sums.moving
        },
        "titles": {name: METRICS[name].title for name in evaluation.metrics},
        "sums": sums_to_dict(evaluation.sums) | {"selection": selected(evaluation)},
        "still": {
            "recalibration": recalibration(evaluation),
            "truth": [] if truth is None else truth_rows(evaluation, truth),
            "audit": [] if evaluation.audit is None else audit_rows(evaluation.audit),
        },
        "given": _over_priors(evaluation),
        "charts": specs,
        "chart_data": {name: sorted(data_names(spec)) for name, spec in specs.items()},
    }


def _over_priors(evaluation: Evaluation) -> dict[str, Rows]:
    """Return what charts show at the given prior if that is only known to lie in an interval."""
    if evaluation.prior.low == evaluation.prior.high:
        return {}
    return {
        "roc_bounds": bounds(evaluation, "fpr", "tpr"),
        "pr_bounds": bounds(evaluation, "recall", "precision"),
    }


def _steady_warnings(evaluation: Evaluation) -> list[str]:
    """Return the warnings that no prior changes."""
    return [text for text in evaluation.warnings if getattr(text, "code", "") not in MOVING]


def data_names(spec: Any) -> set[str]:  # noqa: ANN401
    """Return the names of the data that a chart draws."""
    if isinstance(spec, list):
        return set().union(*map(data_names, spec)) if spec else set()
    if not isinstance(spec, dict):
        return set()
    own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
    return own.union(*map(data_names, spec.values())) if spec else own


def sums_to_dict(sums: Sums) -> dict[str, Any]:
    """Return the sums as lists and numbers, draws of noise packed."""
    counts = ("unlabeled", "known", "low", "high", "n_unlabeled", "n_known", "counts_known")
    return vars(sums) | {
        "bins": {name: _bins(one) for name, one in sums.bins.items()},
        "diagrams": {name: vars(one) for name, one in sums.diagrams.items()},
        "histogram": _some(sums.histogram, ("edges", "positive", "marginal")),
        "tails": vars(sums.tails),
        "bounds": sums.bounds and _some(sums.bounds, counts),
        "curves": {name: vars(one) for name, one in sums.curves.items()},
        "envelope": sums.envelope and vars(sums.envelope),
    }


def selected(evaluation: Evaluation) -> dict[str, Any] | None:
    """Return what follows another selection factor."""
    found = evaluation.selection_sums
    return None if found is None else dict(vars(found))


def _some(found: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}


def _bins(sums: BinSums) -> dict[str, Any]:
    binned = sums.binned
    second = binned.second[:, _UPPER[0], _UPPER[1]]
    noise = None
    if sums.noise is not None:
        slope, level = sums.noise
        noise = {"slope": pack(slope), "level": pack(level)}
    laws = _some(binned, ("positive", "marginal", "score"))
    return laws | {"second": second, "noise": noise}


def pack(x: NDArray[np.float64]) -> str:
    """Return doubles, first byte first, as base64."""
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f8").tobytes()).decode("ascii")


Row: TypeAlias = dict[str, float | str | None]

Rows: TypeAlias = list[Row]


# Columns of the curves over thresholds, and the rules that give them.
DRAWN = {"fpr": "false_positive_rate", "precision": "precision", "f_beta": "f_beta"}


def datasets(evaluation: Evaluation) -> dict[str, Rows]:
    """Return the rows of every chart."""
    return {
        "reliability": [dict(vars(point)) for point in words.points(evaluation)],
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
    """Return rates, precision, what is promised of it, and F1 at every threshold of the page."""
    tails, rules = evaluation.sums.tails, registered_rules(DRAWN.values())
    shares = {"threshold": tails.threshold, "tpr": tails.tpr, "ppr": tails.ppr}
    drawn = {
        name: rules[metric](tails.tpr, tails.ppr, evaluation.prior.value)
        for name, metric in DRAWN.items()
    }
    return as_rows(shares | drawn | {"promised": np.minimum(tails.promised, 1.0)})


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
    if evaluation.is_labelled:
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
    return overlaid(found.reliability)


def truth_rows(evaluation: Evaluation, truth: Evaluation) -> Rows:
    """Return the diagrams from positives and unlabeled rows, and from all labels."""
    sides = {"positives and unlabeled": evaluation.reliability, "all labels": truth.reliability}
    return overlaid(sides)


def overlaid(diagrams: Mapping[str, Reliability], by: str = "side") -> Rows:
    """Return several diagrams, one below the other; a column tells them apart."""
    names = ("score", "frequency", "low", "high")
    return [
        {by: name, **row}
        for name, diagram in diagrams.items()
        for row in as_rows(_some(diagram, names))
    ]


def as_rows(columns: dict[str, np.typing.NDArray[np.float64]]) -> Rows:
    """Return columns as rows; nan and infinity become None."""
    plain = {name: column.tolist() for name, column in columns.items()}
    size = len(next(iter(plain.values())))
    return [
        {name: column[i] if math.isfinite(column[i]) else None for name, column in plain.items()}
        for i in range(size)
    ]
