"""Blocks and targets for the metrics other than the binned error, with peers on the same rows."""

from __future__ import annotations

from functools import partial

from benchmarks.measure import Case
from benchmarks.rows import FIRST, ours
from noneg import calibration, performance
from noneg.metrics import METRICS


def probcal(data, *, name, **options):
    import probcal.metrics

    function = getattr(probcal.metrics, name)
    return lambda: float(function(data.labels, data.scores, **options))


def relplot_smooth(data):
    import relplot

    return lambda: float(relplot.smECE(data.scores, data.labels))


def mapie_ks(data):
    from mapie.metrics.calibration import kolmogorov_smirnov_statistic

    return lambda: float(kolmogorov_smirnov_statistic(data.labels, data.scores))


def scikit_learn(data):
    from sklearn.metrics import roc_auc_score

    return lambda: float(roc_auc_score(data.labels, data.scores))


def torchmetrics(data):
    import torch
    from torchmetrics.functional.classification import binary_auroc

    scores, labels = torch.from_numpy(data.scores), torch.from_numpy(data.labels)
    return lambda: float(binary_auroc(scores, labels, validate_args=False))


def every_metric(scores):
    """Compute every metric with its interval from one object."""
    return sum(metric.interval(scores).value for metric in METRICS.values())


def of(function, note=FIRST, *, slow=False, **options):
    return Case("noneg", partial(ours, function=function, **options), note, slow=slow)


def blocks():
    return {
        "smooth ECE": [
            of(calibration.smooth_ece),
            Case("probcal", partial(probcal, name="smooth_ece"), "on the logit axis"),
            Case("relplot", relplot_smooth, "mass at 0 and 1 counts half"),
        ],
        "debiased ECE": [
            of(calibration.debiased_ece, bins=15),
            Case("probcal", partial(probcal, name="ece_debiased"), ""),
        ],
        "sweep ECE": [
            of(calibration.sweep_ece),
            Case("probcal", partial(probcal, name="ece_sweep"), "at most 100 bins"),
        ],
        "KS error": [
            of(calibration.ks_error),
            Case("MAPIE", mapie_ks, "scaled by the standard error"),
        ],
        "AUROC": [
            of(performance.auroc),
            Case("scikit-learn", scikit_learn, ""),
            Case("torchmetrics", torchmetrics, "exact, on the CPU"),
        ],
        "TCE_bpm": [of(calibration.tce_bpm, "no peer has it")],
        "all metrics": [
            of(every_metric, f"{len(METRICS)} metrics with their intervals", slow=True)
        ],
    }
