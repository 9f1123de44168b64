"""Performance: risk, threshold metrics, curves, bounds, selection, assumptions."""

from __future__ import annotations

from noneg.performance.areas import (
    auroc,
    auroc_interval,
    average_precision,
    average_precision_interval,
    partial_auc,
    partial_auc_interval,
)
from noneg.performance.best import BestThreshold, best_threshold
from noneg.performance.confusion import Confusion, confusion, confusion_at_all
from noneg.performance.risk import risk, risk_interval
from noneg.performance.roc_pr import PrCurve, RocCurve, pr, roc
from noneg.performance.thresholds import (
    accuracy,
    accuracy_interval,
    balanced_accuracy,
    balanced_accuracy_interval,
    cohen_kappa,
    cohen_kappa_interval,
    f_beta,
    f_beta_interval,
    false_positive_rate,
    false_positive_rate_interval,
    mcc,
    mcc_interval,
    npv,
    npv_interval,
    precision,
    precision_interval,
    recall,
    recall_interval,
    specificity,
    specificity_interval,
)
from noneg.performance.top import lift_at, lift_at_interval, precision_at, precision_at_interval

__all__ = [
    "BestThreshold",
    "Confusion",
    "PrCurve",
    "RocCurve",
    "accuracy",
    "accuracy_interval",
    "auroc",
    "auroc_interval",
    "average_precision",
    "average_precision_interval",
    "balanced_accuracy",
    "balanced_accuracy_interval",
    "best_threshold",
    "cohen_kappa",
    "cohen_kappa_interval",
    "confusion",
    "confusion_at_all",
    "f_beta",
    "f_beta_interval",
    "false_positive_rate",
    "false_positive_rate_interval",
    "lift_at",
    "lift_at_interval",
    "mcc",
    "mcc_interval",
    "npv",
    "npv_interval",
    "partial_auc",
    "partial_auc_interval",
    "pr",
    "precision",
    "precision_at",
    "precision_at_interval",
    "precision_interval",
    "recall",
    "recall_interval",
    "risk",
    "risk_interval",
    "roc",
    "specificity",
    "specificity_interval",
]
