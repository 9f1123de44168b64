"""Check the statements about other libraries in docs/libraries.md: python -m benchmarks.claims

Prints two tables: how often intervals for the labeled calibration error cover (probcal), and the
AUC from PU data in both settings (pulearn). They need the environment of ``make bench``.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from scipy.special import expit, logit

import noneg
from noneg.calibration import ece_interval

BINS, REPLICATES, SIMULATIONS = 15, 100, 100
SLOPES = {"none": 1.0, "mild": 0.85, "strong": 0.5}


def draw(n, slope, rng):
    """Return scores and labels whose log odds are `slope` times those of the scores."""
    score = rng.beta(2, 5, n)
    return score, rng.random(n) < expit(slope * logit(score))


def population_error(slope):
    """Return the error of the distribution in equal-mass bins, from quantiles of ten million
    rows."""
    score = np.sort(np.random.default_rng(0).beta(2, 5, BINS * 700_000))
    gap = score - expit(slope * logit(score))
    return float(np.abs(gap.reshape(BINS, -1).mean(axis=1)).mean())


def covered(n, slope, truth):
    """Return how often the nominal 95% intervals of probcal and noneg contain the truth."""
    from probcal.metrics import evaluate

    hits = np.zeros(3)
    for seed in range(SIMULATIONS):
        score, label = draw(n, slope, np.random.default_rng(seed))
        names = ["ece", "ece_debiased"]
        report = evaluate(label.astype(int), score, metrics=names, n_boot=REPLICATES)
        ends = list(zip(report.ci_low, report.ci_high, strict=True))
        ours = ece_interval(noneg.PUScores.from_labels(label, score), bins=BINS, binning="mass")
        ends.append((ours.low, ours.high))
        hits += [low <= truth <= high for low, high in ends]
    return hits / SIMULATIONS


def intervals():
    print(
        f"| miscalibration | n | true error | probcal {version('probcal')} | its debiased | noneg |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for name, slope in SLOPES.items():
        truth = population_error(slope)
        for n in (1_000, 10_000):
            rates = " | ".join(f"{rate:.2f}" for rate in covered(n, slope, truth))
            print(f"| {name} | {n:,} | {truth:.4f} | {rates} |", flush=True)


def aucs(n=400_000, labeled=0.6):
    from pulearn.metrics import pu_roc_auc_score

    print(f"\n| prior | setting | true AUC | pulearn {version('pulearn')} | noneg |")
    print("|---:|---|---:|---:|---:|")
    rng = np.random.default_rng(0)
    for prior in (0.3, 0.6):
        positive = rng.random(n) < prior
        score = expit(rng.normal(np.where(positive, 1.2, 0.0), 1.0))
        truth = noneg.performance.auroc(noneg.PUScores.from_labels(positive, score))
        known = positive & (rng.random(n) < labeled)
        samples = {
            "one-sample": (known, score),
            "two-sample": (np.arange(n + known.sum()) >= n, np.append(score, score[known])),
        }
        for setting, (flags, s) in samples.items():
            theirs = pu_roc_auc_score(flags.astype(int), s, pi=prior)
            made = noneg.PUScores.from_pu_labels(flags, s, prior=prior, setting=setting)
            ours = noneg.performance.auroc(made)
            print(f"| {prior} | {setting} | {truth:.3f} | {theirs:.3f} | {ours:.3f} |")


if __name__ == "__main__":
    print("From `python -m benchmarks.claims`: how often nominal 95% intervals hold, and AUCs.\n")
    intervals()
    aucs()
