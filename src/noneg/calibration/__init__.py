"""Calibration errors, reliability diagrams, confidence intervals, tests, and proper scores."""

from __future__ import annotations

# Metrics are shown in the order in which they are registered.
from noneg.calibration.errors import (
    PriorCurve as PriorCurve,
    classwise_ece as classwise_ece,
    debiased_ece as debiased_ece,
    debiased_ece_interval as debiased_ece_interval,
    debiased_total as debiased_total,
    ece as ece,
    ece_by_prior as ece_by_prior,
    ece_interval as ece_interval,
    one_vs_rest as one_vs_rest,
    sweep_ece as sweep_ece,
    sweep_ece_interval as sweep_ece_interval,
    sweep_edges as sweep_edges,
    top_label as top_label,
)

# isort: split
from noneg.calibration.smooth import (
    kernel_ece as kernel_ece,
    kernel_ece_interval as kernel_ece_interval,
    ks_error as ks_error,
    ks_error_interval as ks_error_interval,
    logit_smoothed_ece as logit_smoothed_ece,
    logit_smoothed_ece_interval as logit_smoothed_ece_interval,
    smooth_ece as smooth_ece,
    smooth_ece_interval as smooth_ece_interval,
)

# isort: split
from noneg import theory as theory
from noneg.calibration.bpm import (
    BPMCurve as BPMCurve,
    bpm_curve as bpm_curve,
    tce_bpm as tce_bpm,
    tce_bpm_interval as tce_bpm_interval,
)
from noneg.calibration.line import (
    calibration_intercept as calibration_intercept,
    calibration_intercept_interval as calibration_intercept_interval,
    calibration_slope as calibration_slope,
    calibration_slope_interval as calibration_slope_interval,
    observed_expected as observed_expected,
    observed_expected_interval as observed_expected_interval,
)
from noneg.calibration.proper import (
    Decomposition as Decomposition,
    brier as brier,
    brier_interval as brier_interval,
    decomposition as decomposition,
    decomposition_interval as decomposition_interval,
    log_loss as log_loss,
    log_loss_interval as log_loss_interval,
)
from noneg.calibration.reliability import (
    Reliability as Reliability,
    SmoothReliability as SmoothReliability,
    reliability as reliability,
    smooth_reliability as smooth_reliability,
)
from noneg.calibration.testing import (
    CalibrationTest as CalibrationTest,
    calibration_test as calibration_test,
    consistent_priors as consistent_priors,
)
