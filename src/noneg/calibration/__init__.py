"""Calibration: errors, reliability diagram, intervals and test, theory."""

from __future__ import annotations

from noneg.calibration import theory
from noneg.calibration.errors import PriorCurve, ece, ece_by_prior
from noneg.calibration.interval import ece_interval
from noneg.calibration.multiclass import classwise_ece, one_vs_rest, top_label
from noneg.calibration.reliability import Reliability, reliability
from noneg.calibration.significance import CalibrationTest, calibration_test

__all__ = [
    "CalibrationTest",
    "PriorCurve",
    "Reliability",
    "calibration_test",
    "classwise_ece",
    "ece",
    "ece_by_prior",
    "ece_interval",
    "one_vs_rest",
    "reliability",
    "theory",
    "top_label",
]
