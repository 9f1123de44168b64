"""Tables for the README, computed from the stored results."""

TITLES = {
    "prior": "prior",
    "bias": "prior minus mean score",
    "debiased_ece": "calibration error",
    "auroc": "AUROC",
    "precision": "precision at 0.5",
    "recall": "recall at 0.5",
}
GROUPS = (5, 20, 200)
