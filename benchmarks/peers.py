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
from noneg import kernels
from noneg.calibration import ece_by_prior, ece_interval

BINS = 15
OTHER_BINS = 12
OTHER_PRIOR = 0.35
REPLICATES = 200
N_PRIORS = 21


@dataclass(frozen=True)
class Data:
    """Calibrated scores with their labels; half of the positives are labeled in the PU table."""

    scores: np.ndarray
    labels: np.ndarray
    labeled: np.ndarray
    prior: float = 2.0 / 7.0

    @classmethod
    def draw(cls, n, seed):
        rng = np.random.default_rng(seed)
        scores = rng.beta(2.0, 5.0, n)
        labels = (rng.random(n) < scores).astype(np.int64)
        return cls(scores, labels, labels * (rng.random(n) < 0.5))


def labeled_scores(data):
    return noneg.PUScores.from_labels(data.labels, data.scores)


def pu_scores(data):
    return noneg.PUScores.from_pu_labels(
        data.labeled, data.scores, prior=data.prior, setting="one-sample"
    )


def noneg_ece(data, *, binning, bins=BINS):
    return lambda: noneg.ece(labeled_scores(data), bins=bins, binning=binning)


def noneg_numpy(data, *, binning):
    call = noneg_ece(data, binning=binning)

    def without_numba():
        with mock.patch.object(kernels, "fast_kernels", return_value=None):
            return call()

    return without_numba


def noneg_other_bins(data):
    scores = labeled_scores(data)
    noneg.ece(scores, bins=BINS, binning="mass")
    return lambda: noneg.ece(scores, bins=OTHER_BINS, binning="mass")


def noneg_pu_ece(data):
    return lambda: noneg.ece(pu_scores(data), bins=BINS, binning="mass")


def noneg_other_prior(data):
    scores = pu_scores(data)
    noneg.ece(scores, bins=BINS, binning="mass")
    return lambda: noneg.ece(scores.with_prior(OTHER_PRIOR), bins=BINS, binning="mass")


def noneg_interval(data, *, binning):
    return lambda: ece_interval(labeled_scores(data), bins=BINS, binning=binning).value


def noneg_prior_curve(data):
    return lambda: float(ece_by_prior(pu_scores(data), bins=BINS, binning="mass")(data.prior))


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
        Case("noneg", of(noneg_ece), f"from the arrays, checks included; {kernel_name()}"),
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
    first = "from the arrays, checks included"
    pulearn_note = f"{N_PRIORS} priors, no calibration error: "
    return {
        "width ECE": labeled_cases("width"),
        "mass ECE": labeled_cases("mass"),
        "other bins": [
            Case("mass ECE", partial(noneg_ece, binning="mass"), first),
            Case("then other bins", noneg_other_bins, f"{OTHER_BINS} after {BINS}", renew=True),
        ],
        "other prior": [
            Case("mass PU-ECE", noneg_pu_ece, first),
            Case("then other prior", noneg_other_prior, "same bins", renew=True),
        ],
        "width interval": [
            Case("width ECE", partial(noneg_ece, binning="width"), first),
            Case("with interval", partial(noneg_interval, binning="width"), first),
        ],
        "mass interval": [
            Case("mass ECE", partial(noneg_ece, binning="mass"), first),
            Case("with interval", partial(noneg_interval, binning="mass"), first),
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
    """A target: a number computed from the rows of a block, which must be at most `limit`.

    Limits in seconds apply to one number of rows, ratios to all of them.
    """

    name: str
    limit: float
    number: object
    rows: int | None = None

    def measure(self, results):
        try:
            return self.number({title: _by_name(rows) for title, rows in results.items()})
        except (TypeError, KeyError):  # a required row was not measured
            return None


def _by_name(rows):
    return {row.case: row for row in rows}


def _share(results, title, case):
    return results[title]["noneg"].seconds / results[title][case].seconds


def _share_of_fastest(results, title):
    peers = [row for name, row in results[title].items() if not name.startswith("noneg")]
    return results[title]["noneg"].seconds / min(1.0 * row.seconds for row in peers)


def _ratio(results, title, case):
    return results[title][case].ratio


def _seconds(results, title):
    return 1.0 * results[title]["noneg"].seconds


def _arrays(results, title):
    return 1.0 * results[title]["noneg"].arrays


TARGETS = (
    Target("width ECE, share of relplot", 0.5, lambda r: _share(r, "width ECE", "relplot")),
    Target("mass ECE, share of fastest peer", 0.2, lambda r: _share_of_fastest(r, "mass ECE")),
    Target("other bins, share of first", 0.1, lambda r: _ratio(r, "other bins", "then other bins")),
    Target(
        "other prior, share of first", 0.1, lambda r: _ratio(r, "other prior", "then other prior")
    ),
    Target("width interval, multiple", 3, lambda r: _ratio(r, "width interval", "with interval")),
    Target("mass interval, multiple", 3, lambda r: _ratio(r, "mass interval", "with interval")),
    Target("prior curve, share of pulearn", 0.01, lambda r: _share(r, "prior curve", "pulearn")),
    Target("smooth ECE, share of fastest", 0.5, lambda r: _share_of_fastest(r, "smooth ECE")),
    Target("debiased ECE, share of probcal", 0.2, lambda r: _share(r, "debiased ECE", "probcal")),
    Target("sweep ECE, share of probcal", 0.03, lambda r: _share(r, "sweep ECE", "probcal")),
    Target("KS error, share of MAPIE", 1 / 3, lambda r: _share(r, "KS error", "MAPIE")),
    Target("AUROC, share of fastest", 0.2, lambda r: _share_of_fastest(r, "AUROC")),
    Target("TCE_bpm, seconds", 0.5, lambda r: _seconds(r, "TCE_bpm"), rows=10**6),
    Target("all metrics, seconds", 5, lambda r: _seconds(r, "all metrics"), rows=10**6),
    Target("Platt, share of fastest", 1 / 3, lambda r: _share_of_fastest(r, "Platt")),
    Target("temperature, share of fastest", 1 / 3, lambda r: _share_of_fastest(r, "temperature")),
    Target("beta, share of fastest", 1 / 3, lambda r: _share_of_fastest(r, "beta")),
    Target("isotonic, share of fastest", 0.5, lambda r: _share_of_fastest(r, "isotonic")),
    Target("width ECE, memory in arrays", 3, lambda r: _arrays(r, "width ECE")),
    Target("mass ECE, memory in arrays", 3, lambda r: _arrays(r, "mass ECE")),
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
    results = {}
    for title, cases in blocks().items():
        if options.only and title not in options.only:
            continue
        results[title] = compare(
            cases,
            data,
            n,
            repeats=options.repeats,
            patience=options.patience,
            limit=options.limit,
        )
        print(tables.block_text(title, n, results[title]), flush=True)
    return results


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    if find_spec("numba") is not None:
        import noneg.kernels_numba  # noqa: F401
    report = tables.Report(command=["python", "-m", "benchmarks", *sys.argv[1:]])
    print(report.head_text(), end="\n\n")
    for n in options.sizes:
        report.results[n] = run_size(n, options)
    report.finish(TARGETS)
    print(report.targets_text())
    if options.out is not None:
        report.write(options.out)
