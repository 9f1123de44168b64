"""Blocks and targets for the metrics other than the binned error, with peers on the same rows."""

from __future__ import annotations

from functools import partial

import noneg
from benchmarks.measure import Case
from noneg import calibration, performance
from noneg.metrics import METRICS

FIRST = "from the arrays, checks included"


def ours(data, *, function, **options):
    return lambda: function(noneg.PUScores.from_labels(data.labels, data.scores), **options)


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


def registry(data):
    """Every metric with its interval, computed from one object."""

    def all_metrics():
        scores = noneg.PUScores.from_labels(data.labels, data.scores)
        return sum(metric.interval(scores).value for metric in METRICS.values())

    return all_metrics


def blocks():
    return {
        "smooth ECE": [
            Case("noneg", partial(ours, function=calibration.smooth_ece), FIRST),
            Case("probcal", partial(probcal, name="smooth_ece"), "on the logit axis"),
            Case("relplot", relplot_smooth, "mass at 0 and 1 counts half"),
        ],
        "debiased ECE": [
            Case("noneg", partial(ours, function=calibration.debiased_ece, bins=15), FIRST),
            Case("probcal", partial(probcal, name="ece_debiased"), ""),
        ],
        "sweep ECE": [
            Case("noneg", partial(ours, function=calibration.sweep_ece), FIRST),
            Case("probcal", partial(probcal, name="ece_sweep"), "at most 100 bins"),
        ],
        "KS error": [
            Case("noneg", partial(ours, function=calibration.ks_error), FIRST),
            Case("MAPIE", mapie_ks, "scaled by the standard error"),
        ],
        "AUROC": [
            Case("noneg", partial(ours, function=performance.auroc), FIRST),
            Case("scikit-learn", scikit_learn, ""),
            Case("torchmetrics", torchmetrics, "exact, on the CPU"),
        ],
        "TCE_bpm": [Case("noneg", partial(ours, function=calibration.tce_bpm), "no peer has it")],
        "all metrics": [
            Case("noneg", registry, f"{len(METRICS)} metrics with their intervals", slow=True)
        ],
    }
