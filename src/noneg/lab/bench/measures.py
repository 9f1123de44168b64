"""Measures of a checkpoint, and their use to select a checkpoint and a configuration.

Criteria are measured on validation rows, and the truth on test rows. Selection needs only the
records: within a run, it takes the checkpoint with the best value of the criterion; within a split,
the run with the best such value. The method's result for that split is the selected checkpoint's
test metrics (PU benchmark paper, Section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noneg.checks import Setting, is_pooled
from noneg.errors import InputError
from noneg.lab.bench.protocol import RunConfig
from noneg.metrics import METRICS
from noneg.performance.ordering import oracle_accuracy
from noneg.recalibration import Calibrator, Platt
from noneg.recalibration.base import fit_quietly
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from noneg.arrays import Floats


THRESHOLD = 0.5
# Columns of a record, each with its metric. Two criteria are not metrics on PU rows: one uses
# hidden labels, and the other reproduces a mistake.
_APART = {"oracle_accuracy": "accuracy", "proxy_accuracy_slip": "proxy_accuracy"}
_DECISIONS = {
    "accuracy": "accuracy",
    "auc": "auroc",
    "f1": "f_beta",
    "precision": "precision",
    "recall": "recall",
}
_PROBABILITIES = {name: name for name in ("ece", "brier", "log_loss")}
_RECALIBRATED = {f"{name}_recalibrated": name for name in _PROBABILITIES}
_AFTER = {"pu_ece_recalibrated": "ece"}

TEST, RECALIBRATED = (*_DECISIONS, *_PROBABILITIES), tuple(_RECALIBRATED)
MEASURED = (*TEST, *RECALIBRATED, "pu_ece", "pu_ece_recalibrated")


def criteria() -> dict[str, str]:
    """Return the selection columns and their metrics: all registered ones with a prior curve.

    Estimates on PU rows have the prefix ``pu_``, unlike those on test rows; proxies have no prefix.

    Examples
    --------
    >>> criteria()["pu_brier"], criteria()["proxy_auc"], criteria()["oracle_accuracy"]
    ('brier', 'proxy_auc', 'accuracy')
    """
    names = [name for name, metric in METRICS.items() if metric.has_curve]
    return {x if x.startswith("proxy_") else f"pu_{x}": x for x in names} | _APART


def columns() -> dict[str, str]:
    """Return all columns of a record that contain metric values, with the metric of each."""
    return criteria() | _DECISIONS | _PROBABILITIES | _RECALIBRATED | _AFTER


def on_validation(
    positive: Floats,
    unlabeled: Floats,
    labels: NDArray[np.int64],
    *,
    prior: float,
    setting: Setting,
) -> tuple[dict[str, float], Calibrator]:
    """Return the criteria, and a calibrator fitted to the validation rows.

    ``proxy_accuracy_slip`` is the criterion in the benchmark's published code: in the one-sample
    setting, it adds the labeled positives above the threshold instead of those below.
    """
    scores = PUScores(positive, unlabeled, prior=prior, setting=setting)
    found = _values(criteria(), scores)
    y = np.concatenate([np.ones(positive.size, dtype=np.int64), labels])
    both, flags = np.concatenate([positive, unlabeled]), np.arange(y.size) < positive.size
    found["oracle_accuracy"] = oracle_accuracy(y, both, labeled=flags, setting=setting)
    if is_pooled(setting):
        above = float((positive >= THRESHOLD).mean())
        found["proxy_accuracy_slip"] += positive.size / y.size * (2.0 * above - 1.0)
    # Separable or constant scores are common early in training; the fit is still finite.
    calibrator = fit_quietly(Platt(fit="risk"), scores)
    after = calibrator.transform(positive), calibrator.transform(unlabeled)
    mapped = PUScores(*after, prior=prior, setting=setting)
    return found | _values(_AFTER, mapped), calibrator


def _values(columns: Mapping[str, str], scores: PUScores) -> dict[str, float]:
    return {name: METRICS[metric].function(scores) for name, metric in columns.items()}


def on_test(
    scores: Floats, labels: NDArray[np.int64], weight: Floats, calibrator: Calibrator
) -> dict[str, float]:
    """Return test metrics: decisions on the raw test set, and probabilities at the true prior."""
    found = _values(_DECISIONS, PUScores.from_labels(labels, scores))
    for columns, given in ((_PROBABILITIES, scores), (_RECALIBRATED, calibrator.transform(scores))):
        weighted = PUScores.from_labels(
            labels, given, sample_weight=weight, weight_kind="importance"
        )
        found |= _values(columns, weighted)
    return found


class Facts(NamedTuple):
    """What must be known about held-out rows in addition to their scores.

    Attributes
    ----------
    n_pos : int
        Number of validation positives.
    labels, test_labels : ndarray
        Hidden labels of the unlabeled validation rows, and labels of the test rows.
    weight : ndarray
        Weights of the test rows.
    prior : float
        Prior given to the criteria.
    setting : {"one-sample", "two-sample"}
    """

    n_pos: int
    labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]
    weight: Floats
    prior: float
    setting: Setting


def measure(scores: Floats, step: int, facts: Facts) -> dict[str, float]:
    """Return all measures of one checkpoint.

    The scores are for validation positives, unlabeled validation rows and test rows, in that order.
    """
    n_pos, labels, test_labels, weight, prior, setting = facts
    positive, unlabeled, test = np.split(scores, [n_pos, n_pos + labels.size])
    found, calibrator = on_validation(positive, unlabeled, labels, prior=prior, setting=setting)
    return {"step": float(step), **found, **on_test(test, test_labels, weight, calibrator)}


def measure_all(scores: Mapping[int, Floats], facts: Facts) -> list[dict[str, float]]:
    """Return the measures of several checkpoints, given their scores by step."""
    return [measure(one, step, facts) for step, one in scores.items()]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The selected run and checkpoint for one method and one split.

    Attributes
    ----------
    run : RunConfig
        The chosen run.
    step : int
        The chosen checkpoint.
    value : float
        The criterion at that checkpoint.
    metrics : dict
        Test metrics at that checkpoint; None for undefined ones.
    """

    run: RunConfig
    step: int
    value: float
    metrics: dict[str, float | None]

    @property
    def method(self) -> str:
        """Algorithm, variant and correction."""
        return self.run.method

    @property
    def world(self) -> tuple[str, str, int, float, float | None]:
        """Data set, setting, case, rate and given prior, shared by all methods in a table."""
        run = self.run
        return run.dataset, run.setting, run.case, run.rate, run.given_prior


def best_checkpoint(record: Mapping[str, Any], criterion: str) -> Selected | None:
    """Return the best checkpoint of a run (the first in a tie), or None if it has no value."""
    columns, sign = record["checkpoints"], find_sign(criterion, criteria(), "by")
    values = columns.get(criterion, [])
    known = [(sign * x, -k) for k, x in enumerate(values) if x is not None]
    if not known:
        return None
    best, place = max(known)
    return Selected(
        run=RunConfig.from_dict(record["run"]),
        step=int(columns["step"][-place]),
        value=sign * best,
        metrics={name: columns[name][-place] for name in MEASURED if name in columns},
    )


def select(records: Iterable[Mapping[str, Any]], *, by: str = "proxy_accuracy") -> list[Selected]:
    """Select a run and checkpoint by a criterion for each world, method and split.

    Parameters
    ----------
    records : iterable of dict
        Records from `load_records`; failed runs are skipped.
    by : str
        "proxy_accuracy", "proxy_auc", "oracle_accuracy", "proxy_accuracy_slip" (proxy accuracy as
        in the benchmark's published code), or any registered metric on PU rows with a curve over
        the prior, such as "pu_log_loss", "pu_brier" and "pu_ece". Records contain the criteria that
        existed when they were written; runs without the criterion are skipped.

    Returns
    -------
    list of Selected

    Examples
    --------
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> columns = {"step": [100, 200], "proxy_auc": [0.7, 0.8], "accuracy": [0.75, 0.9]}
    >>> records = [{"run": run.to_dict(), "status": "done", "checkpoints": columns}]
    >>> [(found.step, found.metrics["accuracy"]) for found in select(records, by="proxy_auc")]
    [(200, 0.9)]
    """
    sign = find_sign(by, criteria(), "by")
    chosen: dict[tuple[object, ...], Selected] = {}
    for record in records:
        found = best_checkpoint(record, by) if record["status"] == "done" else None
        if found is None:
            continue
        place = (*found.world, found.method, found.run.split)
        old = chosen.get(place)
        # In a tie, the earlier configuration wins, regardless of the order of the files.
        rank = (sign * found.value, -found.run.configuration)
        if old is None or rank > (sign * old.value, -old.run.configuration):
            chosen[place] = found
    return [chosen[place] for place in sorted(chosen, key=repr)]


def find_sign(column: str, known: Mapping[str, str], argument: str) -> float:
    """Return 1 if larger values of a column are better, otherwise -1; errors name the argument."""
    if column not in known:
        raise InputError(argument, f"must be one of {', '.join(known)}", value=column)
    return METRICS[known[column]].merit(1.0)
