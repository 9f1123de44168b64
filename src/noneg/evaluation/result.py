"""What `evaluate` found, ready to be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from noneg.metrics import METRICS, RECOMMENDED
from noneg.results import aligned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noneg.calibration.errors import PriorCurve
    from noneg.calibration.interval import CalibrationTest
    from noneg.calibration.reliability import Reliability
    from noneg.checks import Setting
    from noneg.evaluation.repair import Repair
    from noneg.evaluation.sums import Sums
    from noneg.performance.assumptions import Check
    from noneg.results import Estimate
    from noneg.theory import Bound


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` found; `to_dict` is the JSON of ``noneg evaluate --json``.

    Attributes
    ----------
    n_positive, n_unlabeled, n_marginal : float
        Sizes of the samples.
    prior : Estimate
        The class prior with its interval, a point when it is given exactly.
    setting : str
    level : float
        Confidence level of all intervals.
    ece, ece_width_15 : Estimate
        Calibration error with the optimal number of bins of equal mass, and with 15 equal widths.
    metrics : dict of str to Estimate
        Every metric of `noneg.metrics.METRICS` by name, with its default options.
    left_out : dict of str to str
        Metrics that these data do not allow, and why.
    ece_mass_15 : Estimate or None
        With 15 bins of equal mass; None when there are fewer than 30 marginal rows.
    bins, occupied_bins : int
        Bins behind `ece`, and how many of them hold data.
    test : CalibrationTest
    reliability : Reliability
    prior_curve : PriorCurve
        `ece` as a function of the prior.
    bounds : dict of str to Bound
        What theory promises about the distance of `ece` from the true calibration error: on average
        ("expected") and with probability `level` ("probable"), for a calibration curve of slope at
        most one.
    assumptions : tuple of Check
        Whether the data contradict the prior or the setting.
    warnings : tuple of str
        What needs the reader's attention, in sentences.
    at_prior : Estimate
        The calibration error to quote with the interval that the rows alone give, at the prior
        itself.
    sums : Sums
        What the same numbers at another prior or threshold are made of; its size does not grow
        with the number of rows.
    recalibration : Repair or None
        What recalibration would change, if it was asked for.
    """

    n_positive: float
    n_unlabeled: float
    n_marginal: float
    prior: Estimate
    setting: Setting
    level: float
    ece: Estimate
    ece_width_15: Estimate
    ece_mass_15: Estimate | None
    metrics: dict[str, Estimate]
    left_out: dict[str, str]
    bins: int
    occupied_bins: int
    test: CalibrationTest
    reliability: Reliability
    prior_curve: PriorCurve
    bounds: dict[str, Bound]
    assumptions: tuple[Check, ...]
    warnings: tuple[str, ...]
    at_prior: Estimate
    sums: Sums
    recalibration: Repair | None = None

    @property
    def headline(self) -> Estimate | None:
        """The calibration error to quote: the one that is closest to the truth on PU data."""
        return self.metrics.get(RECOMMENDED)

    @property
    def rejected(self) -> bool:
        """Whether the test finds evidence against perfect calibration."""
        return self.test.p_value <= 1.0 - self.level

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins behind `ece`."""
        return self.sums.bins["ece"].binned.edges

    def __repr__(self) -> str:
        rows = f"{self.n_positive:,.0f} labelled positives, {self.n_unlabeled:,.0f} unlabeled rows"
        table = [(METRICS[name].title, str(found)) for name, found in self.metrics.items()]
        return "\n".join(
            [
                f"{rows}, {self.setting}, prior {self.prior.value:.4g}, {self.level:g} intervals",
                aligned([*table, ("p-value of calibration", f"{self.test.p_value:.4g}")]),
                *self.warnings,
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        headline = {} if self.headline is None else _plain(self.headline)
        return {
            "headline": {"metric": RECOMMENDED} | headline,
            "n_positive": self.n_positive,
            "n_unlabeled": self.n_unlabeled,
            "n_marginal": self.n_marginal,
            "prior": self.prior.to_dict(),
            "setting": self.setting,
            "level": self.level,
            "ece": _plain(self.ece),
            "ece_width_15": _plain(self.ece_width_15),
            "ece_mass_15": None if self.ece_mass_15 is None else _plain(self.ece_mass_15),
            "metrics": {name: _plain(found) for name, found in self.metrics.items()}
            | dict.fromkeys(self.left_out),
            "left_out": self.left_out,
            "bins": self.bins,
            "occupied_bins": self.occupied_bins,
            "calibration_p_value": self.test.p_value,
            "calibration_test": self.test.to_dict(),
            "reliability": self.reliability.to_dict(),
            "ece_by_prior": {
                "prior": self.prior_curve.prior.tolist(),
                "ece": self.prior_curve.error.tolist(),
            },
            "bounds": {name: bound.to_dict() for name, bound in self.bounds.items()},
            "assumptions": [check.to_dict() for check in self.assumptions],
            "warnings": list(self.warnings),
        }

    def _repr_html_(self) -> str:
        """Return the summary and charts that notebooks show."""
        # Drawing lives above computing, and is only asked for by name when somebody looks.
        shown: str = import_module("noneg.report").to_notebook(self)
        return shown


def _plain(found: Estimate) -> dict[str, object]:
    """Return an estimate with None for what is no number."""
    return {
        name: None if isinstance(x, float) and not math.isfinite(x) else x
        for name, x in found.to_dict().items()
    }
