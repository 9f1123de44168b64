"""Calibration: errors, reliability diagram, intervals and test, proper scores, theory."""

from __future__ import annotations

# Metrics are shown in the order in which they are registered.
from noneg.calibration.interval import ece_interval

# isort: split
from noneg.calibration.debiased import debiased_ece, debiased_ece_interval, debiased_total

# isort: split
from noneg.calibration.sweep import sweep_ece, sweep_ece_interval, sweep_edges

# isort: split
from noneg.calibration.ks import ks_error, ks_error_interval

# isort: split
from noneg.calibration.smooth import smooth_ece, smooth_ece_interval

# isort: split
from noneg.calibration.kernel import (
    kernel_ece,
    kernel_ece_interval,
    logit_smoothed_ece,
    logit_smoothed_ece_interval,
)

# isort: split
from noneg import theory
from noneg.calibration.bpm import BPMCurve, bpm_curve, tce_bpm
from noneg.calibration.bpm_interval import tce_bpm_interval
from noneg.calibration.decomposition import (
    Decomposition,
    decomposition,
    decomposition_interval,
)
from noneg.calibration.errors import PriorCurve, ece, ece_by_prior
from noneg.calibration.multiclass import classwise_ece, one_vs_rest, top_label
from noneg.calibration.proper import brier, brier_interval, log_loss, log_loss_interval
from noneg.calibration.reliability import Reliability, reliability
from noneg.calibration.significance import CalibrationTest, calibration_test

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
