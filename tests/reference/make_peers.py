"""Write peers.json: calibration errors for one small labeled sample, from other libraries.

Run once in an environment with netcal, relplot, probcal, uncertainty-calibration and torchmetrics::

    python tests/reference/make_peers.py

The sample avoids bin edges and ties, which the libraries treat differently.
"""

import json
from importlib.metadata import version
from pathlib import Path

import calibration as uncertainty
import numpy as np
import relplot
import torch
from netcal.metrics import ECE
from torchmetrics.functional.classification import binary_calibration_error

N, BINS = 1200, 15


def sample():
    """Overconfident scores, written out so that no random generator can change them."""
    i = np.arange(1, N + 1)
    score = (i * 0.6180339887498949) % 1.0
    truth = score**1.5
    label = ((i * 0.7548776662466927) % 1.0 < truth).astype(int)
    return label, score


def main():
    y, s = sample()
    tensor = torch.tensor(s), torch.tensor(y)
    pairs = list(zip(s.tolist(), y.tolist(), strict=True))
    # uncertainty-calibration takes (score, label) pairs and creates its own calibration bins.
    edges = uncertainty.get_equal_bins(s, num_bins=BINS)
    binned = uncertainty.bin([(a, b) for a, b in pairs], edges)
    values = {
        "netcal ECE, 15 equal widths": float(ECE(BINS).measure(s, y)),
        "relplot binnedECE, 15 equal widths": float(
            relplot.metrics.binnedECE(f=s, y=y, nbins=BINS)
        ),
        "torchmetrics binary_calibration_error, l1": float(
            binary_calibration_error(*tensor, n_bins=BINS, norm="l1")
        ),
        "torchmetrics binary_calibration_error, l2": float(
            binary_calibration_error(*tensor, n_bins=BINS, norm="l2")
        ),
        "torchmetrics binary_calibration_error, max": float(
            binary_calibration_error(*tensor, n_bins=BINS, norm="max")
        ),
        "uncertainty-calibration plugin_ce power 1, 15 equal masses": float(
            uncertainty.plugin_ce(binned, power=1)
        ),
        "uncertainty-calibration plugin_ce power 2, 15 equal masses": float(
            uncertainty.plugin_ce(binned, power=2)
        ),
    }
    names = ("netcal", "relplot", "torchmetrics", "uncertainty-calibration", "numpy")
    out = {"bins": BINS, "rows": N, "versions": {n: version(n) for n in names}, "values": values}
    Path(__file__).with_name("peers.json").write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
