"""Compare noneg with its peers on the same rows, in one process: seconds, ratios, values, memory.

python -m benchmarks [--sizes 1e6 1e7] [--out benchmarks/results]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np

import noneg
from benchmarks import metrics, recalibration, tables
from benchmarks.measure import Case, compare
from benchmarks.rows import FIRST, Data, labeled_scores, ours, pu_scores
from noneg import kernels
from noneg.calibration import ece_by_prior, ece_interval

BINS = 15
OTHER_BINS = 12
OTHER_PRIOR = 0.35
REPLICATES = 200
N_PRIORS = 21

mass_ece = partial(noneg.ece, bins=BINS, binning="mass")
noneg_ece = partial(ours, function=noneg.ece, bins=BINS)
noneg_interval = partial(ours, function=ece_interval, bins=BINS)


def noneg_numpy(data, *, binning):
    call = noneg_ece(data, binning=binning)

    def without_numba():
        with mock.patch.object(kernels, "fast_kernels", return_value=None):
            return call()

    return without_numba


def noneg_other_bins(data):
    scores = labeled_scores(data)
    mass_ece(scores)
    return lambda: mass_ece(scores, bins=OTHER_BINS)


def noneg_other_prior(data):
    scores = pu_scores(data)
    mass_ece(scores)
    return lambda: mass_ece(scores.with_prior(OTHER_PRIOR))


def noneg_prior_curve(data):
    curve = partial(ours, function=ece_by_prior, scores=pu_scores, bins=BINS, binning="mass")
    return lambda: float(curve(data)()(data.prior))


def relplot(data):
    from relplot.metrics import binnedECE

    return lambda: float(binnedECE(data.scores, data.labels, nbins=BINS))


def probcal(data, *, binning):
    from probcal.metrics import ece

    return lambda: ece(data.labels, data.scores, n_bins=BINS, strategy=binning)


def probcal_bootstrap(data):
    from probcal.metrics import evaluate

    options = {"n_boot": REPLICATES, "metrics": ("ece",)}
    return lambda: float(evaluate(data.labels, data.scores, **options).values[0])


def torchmetrics(data):
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    scores, labels = torch.from_numpy(data.scores), torch.from_numpy(data.labels)
    return lambda: float(binary_calibration_error(scores, labels, n_bins=BINS, norm="l1"))


def netcal(data, *, binning):
    from netcal.metrics import ECE

    measure = ECE(BINS, equal_intervals=binning == "width").measure
    return lambda: float(measure(data.scores, data.labels))


def mcgrad(data, *, binning):
    from mcgrad import metrics

    name = {"width": "expected_calibration_error", "mass": "adaptive_calibration_error"}[binning]
    return lambda: float(getattr(metrics, name)(data.labels, data.scores, num_bins=BINS))


def scikit_learn(data, *, binning):
    from sklearn.calibration import calibration_curve

    strategy = {"width": "uniform", "mass": "quantile"}[binning]

    def curve():
        true, mean = calibration_curve(data.labels, data.scores, n_bins=BINS, strategy=strategy)
        return float(np.abs(true - mean).mean()) if binning == "mass" else None

    return curve


def calzone(data, *, binning):
    from calzone.metrics import calculate_ece_mce
    from calzone.utils import reliability_diagram

    both = np.stack([1.0 - data.scores, data.scores], axis=-1)

    def error():
        rate, score, _, count = reliability_diagram(
            data.labels, both, num_bins=BINS, class_to_plot=1, is_equal_freq=binning == "mass"
        )
        return float(calculate_ece_mce(rate, score, count)[0])

    return error


def mapie(data, *, binning):
    from mapie.metrics.calibration import expected_calibration_error

    strategy = {"width": "uniform", "mass": "quantile"}[binning]
    return lambda: expected_calibration_error(
        data.labels, data.scores, num_bins=BINS, split_strategy=strategy
    )


def uncertainty_calibration(data, *, binning):
    import calibration

    name = {"width": "get_ece", "mass": "get_ece_em"}[binning]
    error = getattr(calibration.utils, name)
    return lambda: float(error(data.scores, data.labels, num_bins=BINS, mode="marginal"))


def pulearn(data, *, metrics=None):
    from pulearn.priors.sensitivity import analyze_prior_sensitivity

    def analyze():
        options = {"y_score": data.scores, "metrics": metrics, "num": N_PRIORS}
        sweep = analyze_prior_sensitivity(data.labeled, **options)
        values = next(iter(sweep.metric_values.values()))
        return float(np.interp(data.prior, sweep.pi_grid, values))

    return analyze


PEERS = {
    "probcal": probcal,
    "scikit-learn": scikit_learn,
    "netcal": netcal,
    "MCGrad": mcgrad,
    "calzone": calzone,
    "MAPIE": mapie,
    "uncertainty-calibration": uncertainty_calibration,
}
NOTES = {
    "width": {
        "scikit-learn": "calibration_curve: no counts, so no error can be formed",
        "calzone": "drops scores of 0",
        "MAPIE": f"makes {BINS - 1} bins of the {BINS} asked for",
    },
    "mass": {
        "probcal": "edges are interpolated quantiles",
        "scikit-learn": "calibration_curve: no counts, the value is the plain mean of the gaps",
        "netcal": "edges are interpolated quantiles; raises on tied scores",
        "MCGrad": "edges are rounded to three digits",
        "calzone": "edges are interpolated quantiles; drops the smallest score",
        "MAPIE": f"makes {BINS - 1} bins of the {BINS} asked for",
        "uncertainty-calibration": "edges lie between rows; the first bins take the surplus rows",
    },
}


def labeled_cases(binning):
    of = partial(partial, binning=binning)
    cases = [
        Case("noneg", of(noneg_ece), f"{FIRST}; {kernel_name()}"),
        Case("noneg, NumPy only", of(noneg_numpy), "the same without numba"),
        *(Case(name, of(make), NOTES[binning].get(name, "")) for name, make in PEERS.items()),
    ]
    if binning == "width":
        cases[2:2] = [Case("relplot", relplot, "no checks of the input")]
        cases[4:4] = [Case("torchmetrics", torchmetrics, "one call of the function, on the CPU")]
    return cases


def kernel_name():
    if find_spec("numba") is None:
        return "NumPy"
    import numba

    return f"numba on up to {numba.config.NUMBA_NUM_THREADS} threads"


def blocks():
    """Return the comparisons: a title, and cases, of which the first is the unit of the ratios."""
    pulearn_note = f"{N_PRIORS} priors, no calibration error: "
    return {
        "width ECE": labeled_cases("width"),
        "mass ECE": labeled_cases("mass"),
        "other bins": [
            Case("mass ECE", partial(noneg_ece, binning="mass"), FIRST),
            Case("then other bins", noneg_other_bins, f"{OTHER_BINS} after {BINS}", renew=True),
        ],
        "other prior": [
            Case("mass PU-ECE", partial(ours, function=mass_ece, scores=pu_scores), FIRST),
            Case("then other prior", noneg_other_prior, "same bins", renew=True),
        ],
        "width interval": [
            Case("width ECE", partial(noneg_ece, binning="width"), FIRST),
            Case("with interval", partial(noneg_interval, binning="width"), FIRST),
        ],
        "mass interval": [
            Case("mass ECE", partial(noneg_ece, binning="mass"), FIRST),
            Case("with interval", partial(noneg_interval, binning="mass"), FIRST),
            Case("probcal", probcal_bootstrap, f"bootstrap of {REPLICATES} replicates", slow=True),
        ],
        "prior curve": [
            Case("noneg", noneg_prior_curve, "mass ECE for every prior, exactly"),
            Case("pulearn", pulearn, pulearn_note + "ROC AUC and average precision", slow=True),
            Case(
                "pulearn, cheapest",
                partial(pulearn, metrics="pu_unbiased_risk"),
                pulearn_note + "the risk alone",
            ),
        ],
        **metrics.blocks(),
        **recalibration.blocks(),
    }


@dataclass(frozen=True)
class Target:
    """A target: a number from the rows of a block, which must be at most `limit`.

    The number is a field of a case, noneg's share of the seconds of a case ("share"), or of the
    fastest peer ("fastest"). Limits in seconds apply to one number of rows, ratios to all of them.
    """

    name: str
    limit: float
    kind: str
    block: str
    case: str = "noneg"
    n: int | None = None

    def measure(self, results):
        """Return the number, or None if a required row was not measured."""
        rows = {row.case: row for row in results.get(self.block, ())}
        try:
            if self.kind == "share":
                return rows["noneg"].seconds / rows[self.case].seconds
            if self.kind == "fastest":
                peers = [row for name, row in rows.items() if not name.startswith("noneg")]
                return rows["noneg"].seconds / min(1.0 * row.seconds for row in peers)
            return 1.0 * getattr(rows[self.case], self.kind)
        except (TypeError, KeyError):
            return None


TARGETS = (
    Target("width ECE, share of relplot", 0.5, "share", "width ECE", "relplot"),
    Target("mass ECE, share of fastest peer", 0.2, "fastest", "mass ECE"),
    Target("other bins, share of first", 0.1, "ratio", "other bins", "then other bins"),
    Target("other prior, share of first", 0.1, "ratio", "other prior", "then other prior"),
    Target("width interval, multiple", 3, "ratio", "width interval", "with interval"),
    Target("mass interval, multiple", 3, "ratio", "mass interval", "with interval"),
    Target("prior curve, share of pulearn", 0.01, "share", "prior curve", "pulearn"),
    Target("smooth ECE, share of fastest", 0.5, "fastest", "smooth ECE"),
    Target("debiased ECE, share of probcal", 0.2, "share", "debiased ECE", "probcal"),
    Target("sweep ECE, share of probcal", 0.03, "share", "sweep ECE", "probcal"),
    Target("KS error, share of MAPIE", 1 / 3, "share", "KS error", "MAPIE"),
    Target("AUROC, share of fastest", 0.2, "fastest", "AUROC"),
    Target("TCE_bpm, seconds", 0.5, "seconds", "TCE_bpm", n=10**6),
    Target("all metrics, seconds", 5, "seconds", "all metrics", n=10**6),
    Target("Platt, share of fastest", 1 / 3, "fastest", "Platt"),
    Target("temperature, share of fastest", 1 / 3, "fastest", "temperature"),
    Target("beta, share of fastest", 1 / 3, "fastest", "beta"),
    Target("isotonic, share of fastest", 0.5, "fastest", "isotonic"),
    Target("width ECE, memory in arrays", 3, "arrays", "width ECE"),
    Target("mass ECE, memory in arrays", 3, "arrays", "mass ECE"),
)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=_rows, default=[10**6, 10**7], metavar="N")
    parser.add_argument("--repeats", type=int, default=7, help="rounds, of which the best counts")
    parser.add_argument("--patience", type=float, default=3.0, help="longer calls are made once")
    parser.add_argument("--limit", type=_rows, default=10**6, help="most rows for slow peers")
    parser.add_argument("--only", nargs="+", choices=list(blocks()), metavar="BLOCK")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write peers.csv and peers.md")
    options = parser.parse_args(arguments)
    if options.out and options.only:
        parser.error("--out stores a whole run: leave out --only, or look at the terminal")
    return options


def _rows(text):
    return int(float(text))


def run_size(n, options):
    data = Data.draw(n, options.seed)
    limits = {name: getattr(options, name) for name in ("repeats", "patience", "limit")}
    results = {}
    for title, cases in blocks().items():
        if options.only and title not in options.only:
            continue
        results[title] = compare(cases, data, n, **limits)
        print(tables.aligned(tables.lines_of(f"{title}, n = {n:,}", results[title])), flush=True)
        print()
    return results


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    if find_spec("numba") is not None:
        import noneg.kernels_numba  # noqa: F401
    about = tables.about()
    print(*(f"{key}: {text}" for key, text in about.items()), sep="\n", end="\n\n")
    results = {n: run_size(n, options) for n in options.sizes}
    targets = tables.target_lines(TARGETS, results)
    print(tables.aligned(targets))
    if options.out is not None:
        about["load"] += f", {tables.load()} after"
        tables.write_run(options.out, about, targets, results)
