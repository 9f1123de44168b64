"""The data embedded in the page: sums as strict JSON, and the rows that charts draw.

The rows here are for the prior of the evaluation, under the names that `noneg.report.charts` uses;
the page computes the same rows for any prior (`assets/recompute.js`).
"""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noneg.evaluation import FACTORS, NAMED, NEARLY_ALL, SAME_SHARE
from noneg.page_selection import smooth_band
from noneg.page_state import EXPLORED
from noneg.performance.assumptions import FEW_POSITIVES
from noneg.performance.risk import decision_rule
from noneg.registry import METRICS, registered_rules
from noneg.report import words
from noneg.sentences import templates
from noneg.verdict import CODES, COMMON, LARGE, SMALL, headline, points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from noneg.calibration.reliability import Reliability
    from noneg.evaluation import Evaluation
    from noneg.page_state import BinSums, Sums


# The six distinct entries of a symmetric 3 by 3 matrix.
_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


# Codes of warnings that `assets/words.js` rewrites when the prior changes.
MOVING = {"prior", "negatives", "positives", "mean_score", "all_labeled", "outside"}


# Known facts about the rows.
SIZES = ("n_positive", "n_unlabeled", "n_marginal", "bins")
FACTS = ("setting", "level", "consistent", *SIZES, "selection")

# Cost of decisions in the zero-one risk.
ZERO_ONE = np.array([[0.0, 1.0], [1.0, 0.0]])

# Fewest rows of each law at or above a threshold for drawing its precision; fewer are only noise.
FEWEST_FLAGGED = 10

# Length from which columns are packed.
LONG = 32

# Limits that determine which sentence is shown; `assets/words.js` uses the same numbers.
LIMITS = {
    "small": SMALL,
    "large": LARGE,
    "common": COMMON,
    "second": words.SECOND,
    "nearly_all": NEARLY_ALL,
    "same_share": SAME_SHARE,
    "few_positives": FEW_POSITIVES,
    "fewest_flagged": FEWEST_FLAGGED,
    "named": NAMED,
}


def payload(evaluation: Evaluation, reading: str = "") -> dict[str, Any]:
    """Return the data that the page computes with; `reading` as in `About`."""
    selection = evaluation.selection_sums
    return {
        **_some(evaluation, FACTS),
        "prior": evaluation.prior.value,
        "prior_ends": [evaluation.prior.low, evaluation.prior.high],
        **_said(evaluation, reading),
        "rules": {
            name: {"matrix": rule.matrix, "by_odds": rule.by_odds, "range": [rule.low, rule.high]}
            for name, rule in (registered_rules() | {"risk": decision_rule(ZERO_ONE)}).items()
        },
        "factors": FACTORS,
        "ranges": {
            name: METRICS[name if name in METRICS else "ece"].range
            for name in evaluation.sums.moving
        },
        "titles": {
            name: METRICS[name].title for name in evaluation.metrics if METRICS[name].needs_prior
        },
        "sums": packed(
            sums_to_dict(evaluation.sums) | {"selection": selection and vars(selection)}
        ),
        "given": _over_priors(evaluation),
    }


def _said(evaluation: Evaluation, reading: str) -> dict[str, Any]:
    """Return the sentences of the page, and the values that select them."""
    return {
        "eps": words.EPS,
        "tenths": words.TENTHS,
        "explored": list(EXPLORED),
        "sentences": templates(),
        "code": evaluation.verdict.code,
        "actions": words.actions(evaluation),
        "rows_options": words.rows_options(evaluation, reading),
        "budget": words.review_budget(evaluation),
        "counts": words.counts(evaluation),
        "plain_prior": words.plain_prior(evaluation),
        "limits": LIMITS,
        "verdict_codes": CODES,
        "headline": headline(evaluation).to_dict(),
        "warned": bool(evaluation.warnings),
        # The warnings that do not depend on the prior.
        "other_warnings": [x for x in evaluation.warnings if getattr(x, "code", "") not in MOVING],
    }


def _over_priors(evaluation: Evaluation) -> dict[str, Rows]:
    """Return the chart data at the given prior if it is only known to lie in an interval.

    They are only drawn, so they have as many digits as a picture shows.
    """
    if evaluation.prior.low == evaluation.prior.high:
        return {}
    return {
        name: [{key: round(x, 4) for key, x in row.items()} for row in bounds(evaluation, *axes)]
        for name, axes in OUTLINED.items()
    }


def data_names(spec: Any) -> set[str]:  # noqa: ANN401
    """Return the names of the data sets that a chart draws."""
    if isinstance(spec, list):
        return set().union(*map(data_names, spec)) if spec else set()
    if not isinstance(spec, dict):
        return set()
    own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
    return own.union(*map(data_names, spec.values())) if spec else own


def sums_to_dict(sums: Sums) -> dict[str, Any]:
    """Return the sums as lists and numbers, with the noise draws packed."""
    counts = ("unlabeled", "known", "low", "high", "n_unlabeled", "n_known", "counts_known")
    return vars(sums) | {
        "bins": {name: _bins(one) for name, one in sums.bins.items()},
        "diagrams": {name: one.columns() for name, one in sums.diagrams.items()},
        "histogram": _some(sums.histogram, ("edges", "positive", "marginal")),
        "smooth": sums.smooth.columns(),
        "tails": vars(sums.tails),
        "bounds": sums.bounds and _some(sums.bounds, counts),
        "curves": {name: vars(one) for name, one in sums.curves.items()},
        "envelope": sums.envelope and vars(sums.envelope),
        "prior_limit": vars(sums.prior_limit),
    }


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


def packed(value: Any) -> Any:  # noqa: ANN401
    """Return nested data with long columns of finite numbers packed: digits take twice the room."""
    if isinstance(value, dict):
        return {key: packed(item) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.size >= LONG:
        return {"doubles": pack(value)} if np.isfinite(value).all() else value
    return value


def pack(x: NDArray[np.float64]) -> str:
    """Return little-endian doubles as base64."""
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f8").tobytes()).decode("ascii")


Row: TypeAlias = dict[str, Any]  # of numbers, text and None

Rows: TypeAlias = list[Row]


# Columns of the curves over thresholds, and the rules that compute them.
DRAWN = {"fpr": "false_positive_rate", "precision": "precision", "f_beta": "f_beta"}

# Axes of the regions between bounding curves.
OUTLINED = {"roc_bounds": ("fpr", "tpr"), "pr_bounds": ("recall", "precision")}


def datasets(evaluation: Evaluation) -> dict[str, Rows]:
    """Return the rows of every chart."""
    return {
        "reliability": [dict(vars(point)) for point in points(evaluation)],
        "smooth": smooth(evaluation),
        "distribution": distribution(evaluation),
        "curves": curves(evaluation),
        **{name: bounds(evaluation, *axes) for name, axes in OUTLINED.items()},
        "prior_curve": prior_curve(evaluation),
        "now": [now(evaluation)],
        "selected": [],
    }


def smooth(evaluation: Evaluation) -> Rows:
    """Return the smooth curve through the diagram, with its band."""
    found, prior = evaluation.sums.smooth, evaluation.prior
    selection, factor = evaluation.selection_sums, evaluation.selection
    share, factor = (0.0, 1.0) if selection is None else (selection.box["share"], factor)
    priors = (prior.value, prior.low, prior.high) if prior.value else (1.0,)
    low, high = smooth_band(found, share, priors, factor)
    columns = {"score": found.score, "frequency": priors[0] * found.frequency}
    return as_rows(columns | {"low": low, "high": high})


def distribution(evaluation: Evaluation) -> Rows:
    """Return the shares of positives, all rows and implied negatives in narrow bins."""
    return as_rows(evaluation.sums.histogram.columns())


def curves(evaluation: Evaluation) -> Rows:
    """Return rates, precision, guaranteed precision and F1 at every threshold of the page."""
    sums, rules = evaluation.sums, registered_rules(DRAWN.values())
    tails = sums.tails
    shares = {"threshold": tails.threshold, "tpr": tails.tpr, "ppr": tails.ppr}
    drawn = {
        name: np.clip(rule(tails.tpr, tails.ppr, evaluation.prior.value), rule.low, rule.high)
        for name, rule in ((name, rules[metric]) for name, metric in DRAWN.items())
    }
    sizes = (sums.effective_positive, sums.effective_marginal)
    least = (FEWEST_FLAGGED / n if n else np.inf for n in sizes)
    enough = np.all([tails.tpr, tails.ppr] >= np.array([*least])[:, None], axis=0)
    promised = np.minimum(tails.promised, 1.0)
    return as_rows(shares | drawn | {"promised": promised, "enough": enough.astype(float)})


def bounds(evaluation: Evaluation, x: str, y: str) -> Rows:
    """Return the outline of the region between two bounding curves, in drawing order."""
    found = evaluation.sums.bounds
    if found is None:
        return []
    sides = [(found.upper[x], found.upper[y]), (found.lower[x][::-1], found.lower[y][::-1])]
    outline = np.concatenate(sides, axis=1)
    kept = outline[:, np.isfinite(outline).all(axis=0)]
    return as_rows({"order": np.arange(float(kept.shape[1])), "x": kept[0], "y": kept[1]})


def prior_curve(evaluation: Evaluation) -> Rows:
    """Return the calibration error at each prior, with fixed bins; empty for labeled data."""
    if evaluation.is_labeled:
        return []
    found, least = evaluation.prior_curve, evaluation.sums.least_prior
    prior = np.unique(np.concatenate([[least], found.prior[found.prior > least]]))
    return as_rows({"prior": prior, "ece": found(prior)})


def now(evaluation: Evaluation) -> Row:
    """Return the prior with its error, and the largest prior that the data allow."""
    return {
        "prior": evaluation.prior.value,
        "ece": evaluation.ece.value,
        "largest_prior": evaluation.largest_prior,
    }


def overlaid(diagrams: Mapping[str, Reliability], by: str = "side") -> Rows:
    """Return several diagrams stacked as rows, with a column that identifies each."""
    names = ("score", "frequency", "low", "high")
    return [
        {by: name, **row}
        for name, diagram in diagrams.items()
        for row in as_rows(_some(diagram, names))
    ]


def as_rows(columns: dict[str, NDArray[np.float64]]) -> Rows:
    """Return columns as rows; nan and infinity become None."""
    found = (column.tolist() for column in columns.values())
    plain = ([x if math.isfinite(x) else None for x in column] for column in found)
    return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
