"""Tables and a figure for the README, computed from the stored results."""

import numpy as np  # noqa: F401 - of the template

from experiments.monitoring.worlds import HELD_OUT, WORLDS  # noqa: F401 - of the template

NAMES = {
    "prior": "prior, + 0.05",
    "shape": "shape: negatives' logits spread 1.3 times as far",
    "shape, towards positives": "shape: half of the negatives move 0.5 toward positives",
    "labeling": "labeling: labeled positives 0.5 higher",
    "scores": "scores: calibration slope 0.7",
}
