"""Recalibration: the papers' tables, with hidden labels, and compared with the truth.

Tables 1 and 5 of the binomial-process paper: a network's top-label problem is binary; the score is
the largest class probability, and the label is whether that class is right. Calibrators are fitted
on the calibration split and evaluated on the test split. With hidden labels, each *hit* among the
calibration rows is marked at random with probability `rate`; misses and unmarked hits are
indistinguishable.

Curves in these parts are fitted by risk, as they were when the tables were created; ``likelihood``,
``choice`` and ``band`` compare both fits, evaluate method selection, and count how often bands
cover.

``synthetic`` tracks the true error in populations whose posterior is known. ``mnist`` is Table 1 of
the ECE bias paper: recalibrate with 100 separate rows, or with the training rows; it trains the
networks of experiments/information and should be run on a GPU.
"""

from functools import partial

import numpy as np
from matplotlib import pyplot as plt
from scipy.special import softmax

from experiments.bpm.study import load as confidences
from experiments.drawing import panels, shared_legend
from experiments.recalibration.fits import CURVES, again, band, choice, likelihood
from experiments.study import Run, Study, arrays, cells, data_file
from experiments.tables import Row, Tables, column, distinct, pick
from noneg import PUScores, compare
from noneg.calibration import debiased_ece, ece, ks_error, smooth_ece, sweep_ece, tce_bpm
from noneg.recalibration import Histogram, make
from noneg.recalibration.base import fit_quietly
from noneg.recalibration.multiclass import TemperatureScaling, VectorScaling
from noneg.simulation import BinomialProcess, LogisticGaussian

WORLDS = {"logistic": LogisticGaussian(beta0=-1.0, beta1=3.0), "D4": BinomialProcess("D4")}
POPULATION = 50_000
IMAGENET = "densenet161 imagenet"
HIDINGS = 10
METRICS = {
    "ece": partial(ece, bins=15),
    "debiased": partial(debiased_ece, bins=15, norm="l1"),
    "sweep": sweep_ece,
    "ks": ks_error,
    "smooth": smooth_ece,
    "bpm": tce_bpm,
}
N_TRAIN, N_RECALIBRATION, TRIALS, EPOCHS = 4000, 100, 20, 200
BINS = 15  # floor(4000^(1/3)) for both methods, as implied by the paper's bound of .8475


def fitted(name: str, scores: PUScores):
    """Fit a method, with curves fitted by risk; its warnings do not matter in a study of many
    fits."""
    options = {"fit": "risk"} if name in CURVES else {}
    return fit_quietly(make(name, **options), scores)


def true_error(value: np.ndarray, posterior: np.ndarray) -> Row:
    """Return the calibration error of mapped scores, and their distance from the posterior.

    The posterior is averaged over the scores that share a value, which matters for maps with steps.
    """
    _, place, size = np.unique(value, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=posterior) / size
    error, distance = (float(np.mean(np.abs(p - value))) for p in (mean[place], posterior))
    return {"error": error, "distance": distance}


def synthetic_rows(world: str, n_positive: int, seeds: int) -> list[Row]:
    """Return errors over 50,000 scores, from PU data and from as many labeled rows."""
    law, n = WORLDS[world], n_positive
    s, _ = law.draw_rows(POPULATION, seed=10_000)
    posterior, rows = law.posterior(s), []
    if n == 0:
        return [{"data": "none", "seed": 0, "method": "none"} | true_error(s, posterior)]
    for seed in range(seeds):
        samples = {
            "PU": law.draw(n, 10 * n, setting="two-sample", seed=seed),
            "labeled": law.draw(n=11 * n, setting="labeled", seed=seed),
        }
        for data, scores in samples.items():
            for method in NAMES:
                found = true_error(fitted(method, scores).transform(s), posterior)
                rows.append({"data": data, "seed": seed, "method": method} | found)
    return rows


def synthetic(run: Run) -> None:
    every = cells(world=WORLDS, n_positive=(0, *run.pick(SIZES, SIZES[:2])))
    run.resume("synthetic", synthetic_rows, every, seeds=run.trials(15, 2))


def top(probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    best = probabilities.argmax(axis=1)
    return probabilities[np.arange(len(best)), best], best == labels


def top_label(part: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the top label of logits; input with one axis is already top-label."""
    if part.ndim == 1:
        return part, labels
    return top(softmax(part, axis=1), labels)


def networks_of(data: str) -> list[str]:
    names = [key.removesuffix("_test_logits") for key in arrays(f"logits_{data}.npz")]
    return sorted(f"{name} {data}" for name in names if not name.endswith(("logits", "labels")))


def splits(network: str) -> list[np.ndarray]:
    """Return logits or confidences, and labels or hits, of the calibration and the test split."""
    name, data = network.split(" ")
    if network == IMAGENET:
        score, hit = confidences("top1_confidences", "imagenet_tv_densenet161")
        first, second = np.split(np.random.default_rng(0).permutation(hit.size), 2)
        return [part[rows] for rows in (first, second) for part in (score, hit)]
    stored = arrays(f"logits_{data}.npz")
    parts = [stored[f"{name}_{s}_{x}"] for s in ("val", "test") for x in ("logits", "labels")]
    return [part.astype(float) if part.ndim == 2 else part for part in parts]


def changes(after: np.ndarray, before: np.ndarray, hit: np.ndarray) -> Row:
    """Return the changes of the calibration error (over optimal bins) and of the Brier score."""
    scores, criteria, row = {"after": after, "before": before}, ["ece", "brier"], {}
    found = compare(scores, hit, setting="labeled", criteria=criteria, reference="before")
    for name in criteria:
        gap = found.criteria[name].differences["after"]
        row |= {f"{name}_change": gap.value, f"{name}_low": gap.low, f"{name}_high": gap.high}
    return row


def judged(method: str, score: np.ndarray, hit: np.ndarray) -> Row:
    """Return all metrics after a method."""
    scores = PUScores.from_labels(hit, score)
    return {"method": method} | {m: float(function(scores)) for m, function in METRICS.items()}


def labeled(network: str):
    """Yield the rows of the paper's table, with all labels."""
    val, val_labels, test, test_labels = splits(network)
    s, hit = top_label(val, val_labels)
    t, test_hit = top_label(test, test_labels)
    yield judged("none", t, test_hit)
    for method in NAMES:
        after = fitted(method, PUScores.from_labels(hit, s)).transform(t)
        yield judged(method, after, test_hit) | changes(after, t, test_hit)
    if val.ndim == 2:
        for method in (TemperatureScaling(), VectorScaling()):
            scaled = method.fit(val, val_labels).predict_proba(test)
            after, its_hit = top(scaled, test_labels)
            # Another class may be predicted; the rows then no longer refer to the same problem.
            same = np.array_equal(its_hit, test_hit)
            found = judged(f"{method.name} (logits)", after, its_hit)
            yield found | (changes(after, t, test_hit) if same else {})


def hidden(network: str, hidings: int):
    """Yield the error on the test split for each rate, marking and method."""
    val, val_labels, test, test_labels = splits(network)
    s, hit = top_label(val, val_labels)
    t, test_hit = top_label(test, test_labels)
    for cell in cells(rate=RATES, seed=range(hidings), method=NAMES):
        coins = np.random.default_rng([cell["seed"], round(100 * cell["rate"])]).random(hit.size)
        marked = hit & (coins < cell["rate"])
        scores = PUScores.from_pu_labels(marked, s, prior=hit.mean(), setting="one-sample")
        after = fitted(cell["method"], scores).transform(t)
        error = float(ece(PUScores.from_labels(test_hit, after), bins=15))
        yield cell | {"ece": error} | changes(after, t, test_hit)


def networks(run: Run) -> None:
    if data_file("logits_cifar100.npz") is None:
        return
    others = [*networks_of("cifar10"), *networks_of("cifar100")]
    every = list(dict.fromkeys([*NETWORKS, *run.pick(others, [])]))
    run.resume("networks", labeled, cells(network=every))
    every = cells(network=NETWORKS)
    run.resume("networks_hidden", hidden, every, hidings=run.trials(HIDINGS, 1))


def trained(optimizer: str, order: np.ndarray, epochs: int) -> np.ndarray:
    """Return the scores of all rows from each trial's network, trained on its first rows."""
    import torch
    from scipy.special import expit

    from experiments.information.analysis import pool
    from experiments.information.ensemble import Images, Rows, Training, way_on

    device = "cuda" if torch.cuda.is_available() else "cpu"
    images, rows = Images("mnist", *pool("mnist"), device), torch.tensor(order, device=device)
    first = Rows(rows[:, :N_TRAIN])
    way = way_on(device, "mnist")
    training = Training("mnist", optimizer, first, way=way, device=device, seed=0)
    for _ in range(epochs):
        training.epoch(images)
    return expit(training.margins(images, rows.sort(dim=1).values).astype(float))


def recalibrated(score: np.ndarray, label: np.ndarray, order: np.ndarray) -> Row:
    """Return the errors on test rows: unchanged, with separate rows, and with the training rows."""
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


def mnist(run: Run) -> dict[str, list[Row]]:
    from experiments.information.analysis import pool

    labels, random, rows = pool("mnist")[1], np.random.default_rng(0), []
    order = np.stack([random.permutation(labels.size) for _ in range(run.trials(TRIALS, 2))])
    for optimizer in ("adam", "sgld"):
        scores = trained(optimizer, order, run.pick(EPOCHS, 1))
        for k, score in enumerate(scores):
            accuracy = float(np.mean((score > 0.5) == labels))
            named = {"optimizer": optimizer, "trial": k, "accuracy": accuracy}
            rows.append(named | recalibrated(score, labels, order[k]))
    return {"mnist": rows}


# Methods in the stored tables that fit a map; "auto" chooses among them.
NAMES = ["temperature", "platt", "beta", "bpm", "mix-n-match", "spline", "histogram"]
NAMES += ["scaling-binning", "isotonic", "auto"]
# From the paper's Tables 1 and 5.
PAPER = ("temperature", "isotonic", "mix-n-match", "spline", "bpm")
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
# The networks closest to those in the paper's tables; the first is identical.
NETWORKS = ("resnet110_kull cifar10", "wide_resnet_brier cifar100", "densenet161 imagenet")
RATES = (0.2, 0.5, 0.8)
COLORS = dict(zip(NAMES, plt.get_cmap("tab10").colors, strict=False))


def draw_synthetic(tables: Tables) -> plt.Figure:
    worlds = distinct(tables("synthetic"), "world")
    size, options = (10, 4 * len(worlds)), {"sharey": "row", "squeeze": False}
    figure, axes = panels(len(worlds), 2, size=size, shade=None, layout=None, **options)
    for panel_row, world in zip(axes, worlds, strict=True):
        rows = pick(tables("synthetic"), world=world)
        for ax, data in zip(panel_row, ("PU", "labeled"), strict=True):
            for method in NAMES:
                mine = pick(rows, method=method, data=data)
                sizes = distinct(mine, "n_positive")
                means = [column(pick(mine, n_positive=n), "error").mean() for n in sizes]
                ax.plot(sizes, means, marker="o", ms=3, label=method, color=COLORS[method])
            start = pick(rows, method="none")[0]["error"]
            ax.axhline(start, color="black", ls="--", label="before")
            ax.set(xscale="log", yscale="log", xlabel="positives (all rows: 11 times as many)")
            ax.set_xticks(SIZES, [f"{n}" for n in SIZES], minor=False)
            ax.minorticks_off()
            ax.set_title(f"{world}: {data}")
        panel_row[0].set_ylabel("true calibration error after")
    shared_legend(figure, axes[0][0], 6, fontsize=8, loc="lower center")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def draw_networks_hidden(tables: Tables) -> plt.Figure:
    label = "change of the test ECE, labels hidden in fitting"
    figure, axes = panels(1, 3, size=(13, 4.2), shade=None, layout=None, y=label)
    for ax, network in zip(axes, NETWORKS, strict=True):
        for k, rate in enumerate(RATES):
            rows, means = pick(tables("networks_hidden"), network=network, rate=rate), []
            places = np.arange(len(NAMES)) + 0.25 * (k - 1)
            for place, method in zip(places, NAMES, strict=True):
                values = column(pick(rows, method=method), "ece_change")
                ax.plot([place] * values.size, values, ".", ms=4, color=f"C{k}")
                means.append(values.mean())
            ax.plot(places, means, "_", ms=9, mew=2, color=f"C{k}", label=f"{rate} of hits marked")
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set_xticks(range(len(NAMES)), NAMES, rotation=60, ha="right", fontsize=8)
        ax.set_title(network, fontsize=10)
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    return figure


STUDY = Study(
    "recalibration",
    parts=(synthetic, networks, likelihood, again, choice, band, mnist),
    style={"savefig.dpi": 120},
    named=("mnist",),
    optional=("synthetic", "networks_hidden"),
)
