"""What is measured at a checkpoint: criteria on validation rows, the truth on test rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.errors import ece
from noneg.calibration.proper import brier, log_loss
from noneg.performance.areas import auroc
from noneg.performance.proxies import oracle_accuracy, proxy_accuracy, proxy_auc
from noneg.performance.thresholds import accuracy, f_beta, precision, recall
from noneg.recalibration import Platt
from noneg.recalibration.contract import CalibrationWarning
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]

THRESHOLD = 0.5
# Criterion and the direction in which it is better; all are names of columns of a record.
CRITERIA = {
    "proxy_accuracy": 1.0,
    "proxy_auc": 1.0,
    "oracle_accuracy": 1.0,
    "pu_log_loss": -1.0,
    "pu_brier": -1.0,
    "pu_ece": -1.0,
    "proxy_accuracy_slip": 1.0,
}
TEST = ("accuracy", "auc", "f1", "precision", "recall", "ece", "brier", "log_loss")
RECALIBRATED = ("ece_recalibrated", "brier_recalibrated", "log_loss_recalibrated")


def on_validation(
    positive: Floats,
    unlabeled: Floats,
    labels: NDArray[np.int64],
    *,
    prior: float,
    setting: Setting,
) -> tuple[dict[str, float], Platt]:
    """Return the criteria, and the calibrator that validation rows give.

    ``proxy_accuracy_slip`` is the criterion as the benchmark's published code has it: in one
    sample it adds the labelled positives above the threshold instead of those below.
    """
    share = positive.size / (positive.size + unlabeled.size)
    # Rounding may hold out one positive more than the prior allows.
    used = max(prior, share) if setting == "one-sample" else prior
    scores = PUScores(positive, unlabeled, prior=used, setting=setting)
    value = proxy_accuracy(scores)
    found = {
        "proxy_accuracy": value,
        "proxy_auc": proxy_auc(scores),
        "oracle_accuracy": _oracle(positive, unlabeled, labels, setting),
        "pu_log_loss": log_loss(scores),
        "pu_brier": brier(scores),
        "pu_ece": ece(scores),
        "proxy_accuracy_slip": value + _slip(positive, share, setting),
    }
    calibrator = _fitted(scores)
    mapped = PUScores(
        calibrator.transform(positive), calibrator.transform(unlabeled), prior=used, setting=setting
    )
    return found | {"pu_ece_recalibrated": ece(mapped)}, calibrator


def _slip(positive: Floats, share: float, setting: Setting) -> float:
    """Return what the published criterion has too much of: the labelled rows above, not below."""
    above = float((positive >= THRESHOLD).mean())
    return share * (2.0 * above - 1.0) if setting == "one-sample" else 0.0


def _oracle(
    positive: Floats, unlabeled: Floats, labels: NDArray[np.int64], setting: Setting
) -> float:
    y = np.concatenate([np.ones(positive.size, dtype=np.int64), labels])
    s = np.concatenate([positive, unlabeled])
    return oracle_accuracy(y, s, labeled=np.arange(y.size) < positive.size, setting=setting)


def _fitted(scores: PUScores) -> Platt:
    with warnings.catch_warnings():
        # Separable or constant scores are common early in training; the fit is finite then, too.
        warnings.simplefilter("ignore", CalibrationWarning)
        return Platt().fit(scores)


def on_test(
    scores: Floats, labels: NDArray[np.int64], weight: Floats, calibrator: Platt
) -> dict[str, float]:
    """Return the truth: decisions on the test set as it is, probabilities at the true prior."""
    plain = PUScores.from_labels(labels, scores)
    found = {
        "accuracy": accuracy(plain),
        "auc": auroc(plain),
        "f1": f_beta(plain),
        "precision": precision(plain),
        "recall": recall(plain),
    }
    after = calibrator.transform(scores)
    return found | _probabilities(scores, labels, weight) | _after(after, labels, weight)


def _probabilities(scores: Floats, labels: NDArray[np.int64], weight: Floats) -> dict[str, float]:
    weighted = PUScores.from_labels(labels, scores, sample_weight=weight, weight_kind="importance")
    return {"ece": ece(weighted), "brier": brier(weighted), "log_loss": log_loss(weighted)}


def _after(scores: Floats, labels: NDArray[np.int64], weight: Floats) -> dict[str, float]:
    found = _probabilities(scores, labels, weight)
    return {f"{name}_recalibrated": x for name, x in found.items()}
