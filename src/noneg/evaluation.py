"""Everything at once: `evaluate` turns scores into an `Evaluation`, computed once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.errors import prior_curve
from noneg.calibration.reliability import Reliability, reliability
from noneg.calibration.significance import CalibrationTest, calibration_test
from noneg.calibration.theory import Bound, bias_bound, labelled_bias_bound
from noneg.checks import check_level
from noneg.metrics import METRICS, RECOMMENDED, estimate
from noneg.performance.assumptions import Check, check_assumptions
from noneg.results import Estimate

if TYPE_CHECKING:
    from noneg.bins import Binned
    from noneg.calibration.errors import PriorCurve
    from noneg.checks import Setting
    from noneg.scores import PUScores

FIXED_BINS = 15


@dataclass(frozen=True, kw_only=True, eq=False)
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

    @property
    def headline(self) -> Estimate | None:
        """The calibration error to quote: the one that is closest to the truth on PU data."""
        return self.metrics.get(RECOMMENDED)

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


def _plain(found: Estimate) -> dict[str, object]:
    """Return an estimate with None for what is no number."""
    return {
        name: None if isinstance(x, float) and not math.isfinite(x) else x
        for name, x in found.to_dict().items()
    }


def evaluate(scores: PUScores, *, level: float = 0.95) -> Evaluation:
    """Measure calibration and performance from positives and unlabeled data, or from labelled data.

    Parameters
    ----------
    scores : PUScores
    level : float
        Confidence level of all intervals.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> evaluation = evaluate(world.draw(1000, 10_000, setting="two-sample", seed=0))
    >>> evaluation.bins, evaluation.test.p_value < 0.01
    (15, True)
    """
    level = check_level(level)
    binned = bin_scores(scores)
    assumptions = check_assumptions(scores, level=level)
    metrics, left_out = _metrics(scores, level)
    enough = scores.n_marginal >= 2 * FIXED_BINS
    return Evaluation(
        n_positive=scores.n_positive,
        n_unlabeled=scores.n_unlabeled,
        n_marginal=scores.n_marginal,
        prior=_prior(scores, level),
        setting=scores.setting,
        level=level,
        ece=metrics["ece"],
        ece_width_15=estimate("ece", scores, level=level, bins=FIXED_BINS, binning="width"),
        ece_mass_15=estimate("ece", scores, level=level, bins=FIXED_BINS) if enough else None,
        metrics=metrics,
        left_out=left_out,
        bins=binned.n_bins,
        occupied_bins=int(binned.occupied.sum()),
        test=calibration_test(scores),
        reliability=reliability(scores, bins=FIXED_BINS, binning="width", level=level),
        prior_curve=prior_curve(binned),
        bounds=_bounds(scores, binned, level),
        assumptions=assumptions,
        warnings=tuple(_warnings(scores, binned, assumptions)),
    )


def _metrics(scores: PUScores, level: float) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return every metric of the registry, and why some cannot be had from these data."""
    found: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    for name, metric in METRICS.items():
        try:
            found[name] = metric.interval(scores, level=level)
        except ValueError as error:
            left_out[name] = str(error)
    return found, left_out


def _prior(scores: PUScores, level: float) -> Estimate:
    low, high = scores.prior_interval or (scores.prior, scores.prior)
    method = "share of positives" if scores.prior_is_estimated else "given"
    return Estimate(value=scores.prior, low=low, high=high, level=level, method=method)


def _bounds(scores: PUScores, binned: Binned, level: float) -> dict[str, Bound]:
    out: dict[str, Bound] = {}
    # A single marginal row leaves no room for bins of equal mass, for which nothing is promised.
    if scores.n_marginal < 2 * binned.n_bins:
        return out
    for name, delta in (("expected", None), ("probable", 1.0 - level)):
        if scores.setting == "labelled":
            out[name] = labelled_bias_bound(
                scores.n_marginal, bins=binned.n_bins, binning="mass", lipschitz=1.0, delta=delta
            )
        else:
            out[name] = bias_bound(
                scores.effective_positive,
                scores.effective_marginal,
                scores.prior,
                bins=binned.n_bins,
                binning="mass",
                lipschitz=1.0,
                delta=delta,
            )
    return out


def _warnings(scores: PUScores, binned: Binned, checks: tuple[Check, ...]) -> list[str]:
    out = [check.sentence for check in checks if check.verdict != "holds"]
    mean = float(binned.score.sum())
    deviation = float(np.sqrt(binned.variance(np.ones(binned.n_bins))))
    if abs(mean - scores.prior) > 3.0 * deviation + 1e-12 and not scores.prior_is_estimated:
        out.append(
            f"The mean score is {mean:.4g} but the prior is {scores.prior:.4g}: scores or prior "
            f"are off by {abs(mean - scores.prior):.4g} on average, which no binning can hide."
        )
    if scores.n_marginal < 2 * FIXED_BINS:
        out.append(
            f"{scores.n_marginal:,.0f} marginal rows are too few for {FIXED_BINS} bins of equal "
            "mass: the error over those is left out."
        )
    return out
