"""Table 1 of the ECE bias paper: recalibrate with 100 separate rows, or with the training rows.

NONEG_DATA=... python mnist.py rows rows.npz      # images of fours and nines
python train_mnist.py rows.npz scores.npz         # minutes on a GPU, an hour on one core
python mnist.py table scores.npz
"""

import sys

import numpy as np
from common import save
from train_mnist import N_RECALIBRATION, N_TRAIN

from noneg import PUScores
from noneg.calibration import ece
from noneg.datasets import load
from noneg.recalibration import Histogram

BINS = 15  # floor(4000^(1/3)), for both methods, as the paper's bound of .8475 shows


def rows(path):
    data = load("mnist")
    images = np.concatenate([data.X_train, data.X_test]).reshape(-1, 784).astype(np.uint8)
    labels = np.concatenate([data.y_train, data.y_test])
    chosen = np.isin(labels, (4, 9))
    np.savez_compressed(path, images=images[chosen], labels=(labels[chosen] == 9).astype(np.uint8))


def trial(score, label, order):
    """Return the errors on test rows: as they are, by separate rows, by the training rows."""
    parts = np.split(order, [N_TRAIN, N_TRAIN + N_RECALIBRATION])
    train, separate, test = ((label[part] == 1, score[part]) for part in parts)
    out = {"before": ece(PUScores.from_labels(*test), bins=BINS)}
    for name, (y, s) in (("separate", separate), ("reuse", train)):
        histogram = Histogram(bins=BINS).fit(PUScores.from_labels(y, s))
        after = histogram.transform(test[1])
        # The map has few values, so the bins at its values are exact.
        edges = np.concatenate([[0.0], np.unique(after)[:-1], [1.0]])
        out[name] = ece(PUScores.from_labels(test[0], after), edges=np.unique(edges))
        out[f"{name}_bins"] = histogram.n_bins_
        fcmi = None if name == "separate" else 0.0
        out[f"{name}_bound"] = histogram.bound(fcmi=fcmi).value
    return out


def table(path):
    found = []
    with np.load(path) as stored:
        for optimiser in ("adam", "sgld"):
            for k, (score, order) in enumerate(
                zip(stored[optimiser], stored["order"], strict=True)
            ):
                accuracy = float(np.mean((score > 0.5) == stored["labels"]))
                found.append({"optimiser": optimiser, "trial": k, "accuracy": accuracy}
                             | trial(score, stored["labels"], order))  # fmt: skip
    save("mnist.csv", found)


if __name__ == "__main__":
    {"rows": rows, "table": table}[sys.argv[1]](sys.argv[2])
