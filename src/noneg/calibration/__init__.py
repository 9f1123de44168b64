"""Calibration: errors, reliability diagram, intervals and test, proper scores, theory."""

from __future__ import annotations

# Metrics are shown in the order in which they are registered.
from noneg.calibration.errors import (
    PriorCurve,
    debiased_ece,
    debiased_ece_interval,
    debiased_total,
    ece,
    ece_by_prior,
    ece_interval,
    sweep_ece,
    sweep_ece_interval,
    sweep_edges,
)

# isort: split
from noneg.calibration.smooth import (
    kernel_ece,
    kernel_ece_interval,
    ks_error,
    ks_error_interval,
    logit_smoothed_ece,
    logit_smoothed_ece_interval,
    smooth_ece,
    smooth_ece_interval,
)

# isort: split
from noneg import theory
from noneg.calibration.bpm import BPMCurve, bpm_curve, tce_bpm, tce_bpm_interval
from noneg.calibration.interval import CalibrationTest, calibration_test, consistent_priors
from noneg.calibration.multiclass import classwise_ece, one_vs_rest, top_label
from noneg.calibration.proper import (
    Decomposition,
    brier,
    brier_interval,
    decomposition,
    decomposition_interval,
    log_loss,
    log_loss_interval,
)
from noneg.calibration.reliability import Reliability, reliability

__all__ = [
    "BPMCurve",
    "CalibrationTest",
    "Decomposition",
    "PriorCurve",
    "Reliability",
    "bpm_curve",
    "brier",
    "brier_interval",
    "calibration_test",
    "classwise_ece",
    "consistent_priors",
    "debiased_ece",
    "debiased_ece_interval",
    "debiased_total",
    "decomposition",
    "decomposition_interval",
    "ece",
    "ece_by_prior",
    "ece_interval",
    "kernel_ece",
    "kernel_ece_interval",
    "ks_error",
    "ks_error_interval",
    "log_loss",
    "log_loss_interval",
    "logit_smoothed_ece",
    "logit_smoothed_ece_interval",
    "one_vs_rest",
    "reliability",
    "smooth_ece",
    "smooth_ece_interval",
    "sweep_ece",
    "sweep_ece_interval",
    "sweep_edges",
    "tce_bpm",
    "tce_bpm_interval",
    "theory",
    "top_label",
]
