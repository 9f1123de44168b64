"""Write errors.json: debiased, sweep and KS errors and score parts, computed by other libraries.

Run once in an environment with uncertainty-calibration, probcal and MAPIE, and with the folder
`caltrain` of github.com/google-research/google-research on the path::

    PYTHONPATH=google-research python tests/reference/make_errors.py

The samples contain no ties, which the libraries treat differently. The sweep is the authors'
version.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import probcal.metrics as probcal
from calibration import utils as uncertainty
from caltrain.calibration_metrics import CalibrationMetric
from mapie.metrics.calibration import kolmogorov_smirnov_statistic, length_scale

N, BINS, RESAMPLES = 1200, 15, 200_000


def sample(kind):
    """Overconfident scores, written out so that no random generator can change them.

    Labels of the "even" sample are spread more evenly than random ones; those of "rough" are not.
    """
    i = np.arange(1, N + 1)
    score = (i * 0.6180339887498949) % 1.0
    step = i if kind == "even" else i * i
    return ((step * 0.7548776662466927) % 1.0 < score**1.5).astype(int), score


def debiased(y, s):
    pairs = list(zip(s.tolist(), y.tolist(), strict=True))
    binned = uncertainty.bin(pairs, uncertainty.get_equal_bins(s, num_bins=BINS))
    np.random.seed(0)  # noqa: NPY002
    return {
        "uncertainty-calibration unbiased_square_ce": uncertainty.unbiased_square_ce(binned),
        "uncertainty-calibration unbiased_l2_ce": uncertainty.unbiased_l2_ce(binned),
        "uncertainty-calibration lower_bound_scaling_ce": uncertainty.lower_bound_scaling_ce(
            s, y, p=2, debias=True, num_bins=BINS, binning_scheme=uncertainty.get_equal_bins
        ),
        "uncertainty-calibration normal_debiased_ce": uncertainty.normal_debiased_ce(
            binned, power=1, resamples=RESAMPLES
        ),
    }


def sweep(y, s):
    out = {}
    for norm in (1, 2):
        metric = CalibrationMetric("em_ece_sweep", BINS, "equal_examples", norm)
        out[f"caltrain em_ece_sweep, norm {norm}"] = metric.compute_error(s[:, None], y[:, None])
    bins = CalibrationMetric("em_ece_sweep", BINS, "equal_examples", 1).em_monotonic_sweep(s, y)
    return out | {"caltrain number of bins": int(bins.max()) + 1}


def others(y, s):
    parts = probcal.murphy_decomposition(y, s, n_bins=BINS)
    return {
        "MAPIE kolmogorov_smirnov_statistic times length_scale": kolmogorov_smirnov_statistic(y, s)
        * length_scale(s),
        "probcal ecce stat_max": probcal.ecce(y, s).stat_max,
        "probcal murphy reliability": parts.reliability,
        "probcal murphy resolution": parts.resolution,
        "probcal murphy uncertainty": parts.uncertainty,
    }


def main():
    values = {
        kind: {
            name: float(value)
            for make in (debiased, sweep, others)
            for name, value in make(*sample(kind)).items()
        }
        for kind in ("even", "rough")
    }
    names = ("uncertainty-calibration", "probcal", "mapie", "numpy")
    versions = {n: version(n) for n in names} | {
        "caltrain": "5b09c22d73a9d35eb6c5d2a99b95677a45053466"
    }
    out = {"bins": BINS, "rows": N, "resamples": RESAMPLES, "versions": versions, "values": values}
    Path(__file__).with_name("errors.json").write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
