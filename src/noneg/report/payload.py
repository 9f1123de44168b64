"""The sums that travel inside the page, as strict JSON."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.registry import registered_rules
from noneg.report.background import EPS
from noneg.report.charts import specification
from noneg.report.content import SHOWN_THRESHOLDS, headline
from noneg.report.datasets import bounds, recalibration
from noneg.report.truth import truth_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from noneg.bins import Binned
    from noneg.evaluation import Evaluation, Sums
    from noneg.evaluation.sums import BinSums
    from noneg.report.datasets import Rows

# The six different entries of a symmetric 3 by 3 matrix.
_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


# Words of the other warnings that follow the prior; `assets/words.js` says them anew.
_MOVING = ("The mean score is", "if none is hidden, the setting is 'labelled'")


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
        "n_positive": evaluation.n_positive,
        "n_unlabeled": evaluation.n_unlabeled,
        "n_marginal": evaluation.n_marginal,
        "bins": evaluation.bins,
        "eps": EPS,
        "tenths": list(SHOWN_THRESHOLDS),
        "headline": headline(evaluation).to_dict(),
        "warned": bool(evaluation.warnings),
        "other_warnings": _steady_warnings(evaluation),
        "rules": {
            name: {"matrix": rule.matrix, "by_odds": rule.by_odds}
            for name, rule in registered_rules().items()
        },
        "sums": sums_to_dict(evaluation.sums),
        "still": {
            "recalibration": recalibration(evaluation),
            "truth": [] if truth is None else truth_rows(evaluation, truth),
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
    moving = {check.sentence for check in evaluation.assumptions}
    return [
        text
        for text in evaluation.warnings
        if text not in moving and not any(words in text for words in _MOVING)
    ]


def data_names(spec: Any) -> set[str]:  # noqa: ANN401
    """Return the names of the data that a chart draws."""
    if isinstance(spec, list):
        return set().union(*map(data_names, spec)) if spec else set()
    if not isinstance(spec, dict):
        return set()
    own = {spec["data"]["name"]} if "name" in spec.get("data", {}) else set()
    return own.union(*map(data_names, spec.values())) if spec else own


def sums_to_dict(sums: Sums) -> dict[str, Any]:
    """Return the sums as plain lists and numbers, draws of noise packed."""
    envelope = sums.envelope
    return {
        "bins": {name: _bins(one) for name, one in sums.bins.items()},
        "diagrams": {name: one.to_dict() for name, one in sums.diagrams.items()},
        "first_diagram": sums.first_diagram,
        "histogram": _histogram(sums.histogram),
        "tails": sums.tails.to_dict(),
        "bounds": None if sums.bounds is None else sums.bounds.to_dict(),
        "risks": sums.risks,
        "areas": sums.areas,
        "envelope": None
        if envelope is None
        else {"positive": envelope.positive.tolist(), "score": envelope.score.tolist()},
        "noise_floor": sums.noise_floor,
        "mean_score": sums.mean_score,
        "mean_deviation": sums.mean_deviation,
        "effective_positive": sums.effective_positive,
        "effective_marginal": sums.effective_marginal,
        "least_prior": sums.least_prior,
        "largest_prior": sums.largest_prior,
        "z": sums.z,
        "z_split": sums.z_split,
    }


def _histogram(binned: Binned) -> dict[str, list[float]]:
    return {
        "edges": binned.edges.tolist(),
        "positive": binned.positive.tolist(),
        "marginal": binned.marginal.tolist(),
    }


def _bins(sums: BinSums) -> dict[str, Any]:
    binned = sums.binned
    second = binned.second[:, _UPPER[0], _UPPER[1]]
    noise = None
    if sums.noise is not None:
        slope, level = sums.noise
        noise = {"slope": pack(slope), "level": pack(level)}
    return {
        "positive": binned.positive.tolist(),
        "marginal": binned.marginal.tolist(),
        "score": binned.score.tolist(),
        "second": second.tolist(),
        "noise": noise,
    }


def pack(x: NDArray[np.float64]) -> str:
    """Return doubles, first byte first, as base64."""
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f8").tobytes()).decode("ascii")
