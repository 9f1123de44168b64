"""Which checkpoint of which configuration is chosen, from records alone.

Within a run the checkpoint with the best value of the criterion; within a split the run whose best
value is best; its test metrics are what the method gets for that split (PU benchmark paper,
Section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noneg.lab.bench.measures import CRITERIA, RECALIBRATED, TEST
from noneg.lab.bench.protocol import RunConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MEASURED = (*TEST, *RECALIBRATED, "pu_ece", "pu_ece_recalibrated")


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What was chosen for one method and one split.

    Attributes
    ----------
    run : RunConfig
        The chosen run.
    step : int
        The chosen checkpoint.
    value : float
        The criterion there.
    metrics : dict
        Test metrics there; None for what is undefined.
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
        """What every method of a table shares."""
        run = self.run
        return run.dataset, run.setting, run.case, run.rate, run.given_prior


def best_checkpoint(record: Mapping[str, Any], criterion: str) -> Selected | None:
    """Return the best checkpoint of a run, the first of equal ones; None if it has no value."""
    columns, sign = record["checkpoints"], find_sign(criterion)
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
    """Return what a criterion chooses, for each world, method and split.

    Parameters
    ----------
    records : iterable of dict
        Of `load_records`; failed runs are left out.
    by : str
        "proxy_accuracy", "proxy_auc", "oracle_accuracy", "pu_log_loss", "pu_brier", "pu_ece", or
        "proxy_accuracy_slip", which is the first as the benchmark's published code has it.

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
    sign = find_sign(by)
    chosen: dict[tuple[object, ...], Selected] = {}
    for record in records:
        found = best_checkpoint(record, by) if record["status"] == "done" else None
        if found is None:
            continue
        place = (*found.world, found.method, found.run.split)
        old = chosen.get(place)
        # Of equal values the earlier configuration wins, whatever the order of the files.
        rank = (sign * found.value, -found.run.configuration)
        if old is None or rank > (sign * old.value, -old.run.configuration):
            chosen[place] = found
    return [chosen[place] for place in sorted(chosen, key=repr)]


def find_sign(criterion: str) -> float:
    """Return 1 for a criterion of which more is better, else -1."""
    if criterion not in CRITERIA:
        msg = f"'by' must be one of {', '.join(CRITERIA)}, got {criterion!r}."
        raise ValueError(msg)
    return CRITERIA[criterion]
