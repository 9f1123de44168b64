"""Performance: risk, threshold metrics, curves, bounds, selection, assumptions."""

from __future__ import annotations

# Calibration errors come first wherever metrics are listed.
import noneg.calibration  # noqa: F401

# isort: split
from noneg.performance.areas import (
    auroc,
    auroc_interval,
    average_precision,
    average_precision_interval,
    partial_auc,
    partial_auc_interval,
)
from noneg.performance.assumptions import Check, check_assumptions, largest_prior, noise_floor
from noneg.performance.best import BestThreshold, best_threshold
from noneg.performance.bounding_curves import PrBounds, PrSide, RocBounds, RocSide
from noneg.performance.bounds import pr_bounds, roc_bounds
from noneg.performance.cdf import RankCdf, rank_cdf
from noneg.performance.contingency import Assumptions, Tables
from noneg.performance.ordering import Ordering, ordering
from noneg.performance.posing import latent_fraction
from noneg.performance.proxies import (
    oracle_accuracy,
    oracle_accuracy_interval,
    proxy_accuracy,
    proxy_accuracy_interval,
    proxy_auc,
    proxy_auc_interval,
)
from noneg.performance.risk import risk, risk_interval
from noneg.performance.roc_pr import PrCurve, RocCurve, pr, roc
from noneg.performance.selection import CRITERIA, Criterion, select
from noneg.performance.table_bounds import (
    ContingencyBounds,
    MetricBounds,
    contingency_bounds,
    metric_bounds,
)
from noneg.performance.thresholds import (
    Confusion,
    accuracy,
    accuracy_interval,
    balanced_accuracy,
    balanced_accuracy_interval,
    cohen_kappa,
    cohen_kappa_interval,
    confusion,
    confusion_at_all,
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
    "CRITERIA",
    "Assumptions",
    "BestThreshold",
    "Check",
    "Confusion",
    "ContingencyBounds",
    "Criterion",
    "MetricBounds",
    "Ordering",
    "PrBounds",
    "PrCurve",
    "PrSide",
    "RankCdf",
    "RocBounds",
    "RocCurve",
    "RocSide",
    "Tables",
    "accuracy",
    "accuracy_interval",
    "auroc",
    "auroc_interval",
    "average_precision",
    "average_precision_interval",
    "balanced_accuracy",
    "balanced_accuracy_interval",
    "best_threshold",
    "check_assumptions",
    "cohen_kappa",
    "cohen_kappa_interval",
    "confusion",
    "confusion_at_all",
    "contingency_bounds",
    "f_beta",
    "f_beta_interval",
    "false_positive_rate",
    "false_positive_rate_interval",
    "largest_prior",
    "latent_fraction",
    "lift_at",
    "lift_at_interval",
    "mcc",
    "mcc_interval",
    "metric_bounds",
    "noise_floor",
    "npv",
    "npv_interval",
    "oracle_accuracy",
    "oracle_accuracy_interval",
    "ordering",
    "partial_auc",
    "partial_auc_interval",
    "pr",
    "pr_bounds",
    "precision",
    "precision_at",
    "precision_at_interval",
    "precision_interval",
    "proxy_accuracy",
    "proxy_accuracy_interval",
    "proxy_auc",
    "proxy_auc_interval",
    "rank_cdf",
    "recall",
    "recall_interval",
    "risk",
    "risk_interval",
    "roc",
    "roc_bounds",
    "select",
    "specificity",
    "specificity_interval",
]
