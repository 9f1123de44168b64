"""Performance: risk, threshold metrics, curves, bounds, selection, assumptions."""

from __future__ import annotations

# Calibration errors come first wherever metrics are listed.
import noneg.calibration  # noqa: F401

# isort: split
from noneg.performance.assumptions import (
    Check as Check,
    ScarTest as ScarTest,
    check_assumptions as check_assumptions,
    largest_prior as largest_prior,
    noise_floor as noise_floor,
    scar_test as scar_test,
)
from noneg.performance.bounds import (
    ContingencyBounds as ContingencyBounds,
    MetricBounds as MetricBounds,
    PrBounds as PrBounds,
    PrSide as PrSide,
    RankCdf as RankCdf,
    RocBounds as RocBounds,
    RocSide as RocSide,
    contingency_bounds as contingency_bounds,
    metric_bounds as metric_bounds,
    pr_bounds as pr_bounds,
    rank_cdf as rank_cdf,
    roc_bounds as roc_bounds,
)
from noneg.performance.contingency import (
    Assumptions as Assumptions,
    Tables as Tables,
    latent_fraction as latent_fraction,
)
from noneg.performance.early import (
    bedroc as bedroc,
    bedroc_interval as bedroc_interval,
    boyce_index as boyce_index,
    boyce_index_interval as boyce_index_interval,
    enrichment_factor as enrichment_factor,
    enrichment_factor_interval as enrichment_factor_interval,
    lift_at as lift_at,
    lift_at_interval as lift_at_interval,
    precision_at as precision_at,
    precision_at_interval as precision_at_interval,
    recall_at as recall_at,
    recall_at_interval as recall_at_interval,
)
from noneg.performance.guarantees import (
    CertifiedNegatives as CertifiedNegatives,
    FdpEnvelope as FdpEnvelope,
    Promise as Promise,
    budget_threshold as budget_threshold,
    certified_negatives as certified_negatives,
    cost_threshold as cost_threshold,
    fdp_envelope as fdp_envelope,
    positive_p_values as positive_p_values,
    precision_threshold as precision_threshold,
    recall_threshold as recall_threshold,
)
from noneg.performance.ordering import (
    CRITERIA as CRITERIA,
    Criterion as Criterion,
    Ordering as Ordering,
    oracle_accuracy as oracle_accuracy,
    oracle_accuracy_interval as oracle_accuracy_interval,
    ordering as ordering,
    proxy_accuracy as proxy_accuracy,
    proxy_accuracy_interval as proxy_accuracy_interval,
    proxy_auc as proxy_auc,
    proxy_auc_interval as proxy_auc_interval,
    select as select,
)
from noneg.performance.ranking import (
    PrCurve as PrCurve,
    RocCurve as RocCurve,
    SelectedCurve as SelectedCurve,
    SelectedCurves as SelectedCurves,
    auroc as auroc,
    auroc_interval as auroc_interval,
    average_precision as average_precision,
    average_precision_interval as average_precision_interval,
    partial_auc as partial_auc,
    partial_auc_interval as partial_auc_interval,
    pr as pr,
    roc as roc,
    selected_curves as selected_curves,
)
from noneg.performance.risk import risk as risk, risk_interval as risk_interval
from noneg.performance.thresholds import (
    BestThreshold as BestThreshold,
    Confusion as Confusion,
    accuracy as accuracy,
    accuracy_interval as accuracy_interval,
    balanced_accuracy as balanced_accuracy,
    balanced_accuracy_interval as balanced_accuracy_interval,
    best_threshold as best_threshold,
    cohen_kappa as cohen_kappa,
    cohen_kappa_interval as cohen_kappa_interval,
    confusion as confusion,
    confusion_at_all as confusion_at_all,
    f_beta as f_beta,
    f_beta_interval as f_beta_interval,
    false_positive_rate as false_positive_rate,
    false_positive_rate_interval as false_positive_rate_interval,
    mcc as mcc,
    mcc_interval as mcc_interval,
    npv as npv,
    npv_interval as npv_interval,
    precision as precision,
    precision_interval as precision_interval,
    recall as recall,
    recall_interval as recall_interval,
    specificity as specificity,
    specificity_interval as specificity_interval,
)
