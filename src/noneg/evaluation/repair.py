"""What recalibration would change: errors and diagrams before and after, on rows not fitted on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.reliability import reliability
from noneg.metrics import METRICS
from noneg.performance.paired import Differences
from noneg.performance.selection import find_criterion
from noneg.recalibration import Auto, CalibrationWarning
from noneg.recalibration.folds import build, deal, weighty_rows
from noneg.recalibration.held_out import AFTER, BEFORE, cross_fit

if TYPE_CHECKING:
    from noneg.calibration.reliability import Reliability
    from noneg.recalibration import Calibrator
    from noneg.results import Estimate
    from noneg.scores import PUScores

FOLDS = 5
# Rows among which methods are compared; more would not change the choice, only take longer.
ENOUGH = 100_000
SHOWN = ("debiased_ece", "ece", "brier", "log_loss")
DIAGRAM_BINS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Repair:
    """Recalibration, measured by cross-fitting.

    Attributes
    ----------
    method : str
        Name of the method that was chosen.
    reason : str
        Why it was chosen.
    folds : int
        Each fold was mapped by a calibrator fitted on the others.
    errors : dict of str to (float, float)
        Metrics by name, before and after.
    change : Estimate
        Of the Brier score, after minus before on the same rows; below zero is better.
    before, after : Reliability
    calibrator : str
        The calibrator fitted on all rows, as JSON.
    warnings : tuple of str
        What the fit left open.
    """

    method: str
    reason: str
    folds: int
    errors: dict[str, tuple[float, float]]
    change: Estimate
    before: Reliability
    after: Reliability
    calibrator: str
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return {
            "method": self.method,
            "reason": self.reason,
            "folds": self.folds,
            "errors": {name: list(pair) for name, pair in self.errors.items()},
            "brier_change": self.change.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "calibrator": self.calibrator,
            "warnings": list(self.warnings),
        }


def repair(scores: PUScores, *, level: float = 0.95, seed: int = 0) -> Repair | None:
    """Choose a method of recalibration, and measure what it changes on rows it has not seen.

    The method is chosen by held-out loss among at most 100,000 rows, drawn at random. None where
    no row can be held out: fewer than two positives or other rows, or a population.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> found = repair(world.draw(1000, 10_000, setting="two-sample", seed=1))
    >>> found.method, found.change.high < 0.0
    ('platt', True)
    """
    if not np.isfinite(scores.n_positive + scores.n_unlabeled):
        return None
    fewest = min(weighty_rows(scores))
    if fewest < 2:
        return None
    folds = int(min(FOLDS, fewest))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CalibrationWarning)
        auto = Auto(folds=folds, seed=seed).fit(_some(scores, seed))
        chosen: Calibrator = type(auto.chosen_)(**auto.chosen_.get_params()).fit(scores)
    rows, models = cross_fit(chosen, scores, folds=folds, seed=seed)
    differences = Differences(rows, models, 0.5, level)
    before, after = models[BEFORE], models[AFTER]
    return Repair(
        method=chosen.name,
        reason=auto.reason_,
        folds=folds,
        errors={
            name: (METRICS[name].function(before), METRICS[name].function(after)) for name in SHOWN
        },
        change=differences.estimate(find_criterion("brier"), AFTER, BEFORE),
        before=_diagram(before, level),
        after=_diagram(after, level),
        calibrator=chosen.to_json(),
        warnings=tuple(dict.fromkeys(str(one.message) for one in told)),
    )


def _some(scores: PUScores, seed: int) -> PUScores:
    """Return all rows, or a random part of them that is enough to choose a method."""
    parts = int((scores.n_positive + scores.n_unlabeled) // ENOUGH)
    parts = int(min(parts, scores.n_positive // 1000, scores.n_unlabeled))
    return scores if parts < 2 else build(deal(scores, parts, seed)[0], scores)


def _diagram(scores: PUScores, level: float) -> Reliability:
    bins = int(max(1, min(DIAGRAM_BINS, scores.n_marginal // 2)))
    return reliability(scores, bins=bins, binning="mass", level=level)
