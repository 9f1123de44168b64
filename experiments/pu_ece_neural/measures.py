"""Errors of a trained classifier on test rows, before and after recalibration, from its logits."""

import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from experiments.study import Run
from experiments.synthetic import pu_ece as bias
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row, column, distinct, pick, records, standard_error
from noneg import PUScores
from noneg.calibration import brier, ece, log_loss
from noneg.performance import accuracy, auroc
from noneg.randomness import stream
from noneg.recalibration import make
from noneg.recalibration.base import fit_quietly
from noneg.simulation import LogitMixture, MixtureLaw
from noneg.simulation.worlds import LogitLaw, World, sigmoid

# Test rows by class; held-out rows: negatives, positives that are only unlabeled, and positives
# that are also labeled. All held-out rows together are the unlabeled ones.
GROUPS = ("test_neg", "test_pos", "held_neg", "held_pos", "held_labeled")
FIELDS = ("data", "name", "n", "trial", "epoch", "prior")


@dataclass(frozen=True)
class Model:
    """A trained classifier: its name, the risk of every epoch, and its logits by group.

    The prior is the share of positives that was passed to a PU classifier.
    """

    data: str
    name: str
    n: int
    trial: int
    epoch: int
    prior: float
    risks: np.ndarray
    losses: np.ndarray
    logits: dict[str, np.ndarray]


def save(path: Path, models: Iterable[Model], made: dict[str, str | int]) -> None:
    """Store classifiers; the logits of a group are sorted, and rounded to half precision."""
    arrays: dict[str, object] = {"made": json.dumps(made)}
    for k, m in enumerate(models):
        logits = {g: np.sort(m.logits[g]).astype(np.float16) for g in GROUPS}
        numbers = {"risks": m.risks.astype(np.float32), "losses": m.losses.astype(np.float16)}
        named = {field: getattr(m, field) for field in FIELDS}
        arrays |= {f"{k}/{name}": value for name, value in (named | numbers | logits).items()}
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)


def load(path: Path) -> tuple[list[Model], dict[str, str | int]]:
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    models = []
    while f"{len(models)}/name" in arrays:
        own = {name: arrays[f"{len(models)}/{name}"] for name in (*FIELDS, "risks", "losses")}
        logits = {g: arrays[f"{len(models)}/{g}"].astype(np.float64) for g in GROUPS}
        own |= {field: own[field].item() for field in FIELDS}
        models.append(Model(**own, logits=logits))
    return models, json.loads(str(arrays["made"]))


ERRORS = (ece, brier, log_loss)
AUTO_TRIALS, AUTO_FROM = 10, 1000  # trials and sizes; it compares nine methods, which is slow
CALIBRATORS = ("platt", "isotonic", "auto")
NAMES = ("PN-logistic", "PN-sigmoid", "PU-sigmoid", "PU-logistic")
NAMES += ("PU-GA-sigmoid", "PU-GA-logistic", "PU-mixed-sigmoid", "PU-mixed-logistic")
NEAR = 0.01  # a score this close to 0 or 1 is called extreme
# The paper's ordering, the smaller error first, for each reading of its "nnPU".
CLAIMS = (
    ("PN-logistic", "PU-logistic"),
    ("PN-logistic", "PU-GA-logistic"),
    ("PN-logistic", "PN-sigmoid"),
    ("PN-sigmoid", "PU-sigmoid"),
    ("PU-sigmoid", "PU-logistic"),
    ("PN-sigmoid", "PU-GA-sigmoid"),
    ("PU-GA-sigmoid", "PU-GA-logistic"),
    ("PN-sigmoid", "PU-mixed-sigmoid"),
    ("PU-mixed-sigmoid", "PU-mixed-logistic"),
)


def test_scores(model: Model) -> np.ndarray:
    return sigmoid(np.concatenate([model.logits[g] for g in ("test_neg", "test_pos")]))


def labeled_scores(model: Model, change: Callable = lambda s: s) -> PUScores:
    """Return all test rows with their labels; `change` is applied to the scores first."""
    y = np.repeat([0, 1], [model.logits[g].size for g in ("test_neg", "test_pos")])
    return PUScores.from_labels(y, change(test_scores(model)))


def held_out_scores(model: Model) -> PUScores:
    """Return held-out rows as PU data: the labeled positives, and all rows as unlabeled rows."""
    groups = ("held_neg", "held_pos", "held_labeled")
    unlabeled = np.concatenate([model.logits[g] for g in groups])
    positive = model.logits["held_labeled"]
    return PUScores(sigmoid(positive), sigmoid(unlabeled), prior=model.prior, setting="two-sample")


def pu_scores(model: Model) -> PUScores:
    """Return half of the test rows as unlabeled rows, and the positives of the other half."""
    rng = stream(model.trial, "halves of the test rows")
    negative, positive = (model.logits[g] for g in ("test_neg", "test_pos"))
    first, second = (rng.random(part.size) < 0.5 for part in (negative, positive))
    unlabeled = np.concatenate([negative[first], positive[second]])
    return PUScores(
        sigmoid(positive[~second]), sigmoid(unlabeled), prior=model.prior, setting="two-sample"
    )


def redrawn_scores(model: Model) -> PUScores:
    """Return the test scores with labels drawn from them, as for a calibrated classifier."""
    rng = stream(model.trial, "labels drawn from scores")
    s = test_scores(model)
    return PUScores.from_labels((rng.random(s.size) < s).astype(int), s)


def errors(scores: PUScores, suffix: str) -> dict[str, float]:
    return {f"{f.__name__}{suffix}": f(scores) for f in ERRORS}


def measure(model: Model) -> Row:
    """Return a row of ``models.csv``."""
    scores, positive, s = labeled_scores(model), model.logits["test_pos"], test_scores(model)
    row = {name: getattr(model, name) for name in ("data", "name", "n", "trial", "epoch")} | {
        "held_out_risk": float(model.risks.min()),
        "accuracy": accuracy(scores, threshold=0.5),
        "auc": auroc(scores),
        "pu_ece": ece(pu_scores(model)),
        "ece_if_calibrated": ece(redrawn_scores(model)),
        "positive_median": float(np.median(positive)),
        "positive_iqr": float(np.subtract(*np.quantile(positive, [0.75, 0.25]))),
        "negative_median": float(np.median(model.logits["test_neg"])),
        "extreme": float(np.mean((s < NEAR) | (s > 1.0 - NEAR))),
    }
    row |= errors(scores, "")
    held = held_out_scores(model)
    fits = {name: make(name) for name in CALIBRATORS}
    fits |= {"platt": make("platt", fit="risk"), "likelihood": make("platt")}
    if model.trial >= AUTO_TRIALS or model.n < AUTO_FROM:
        del fits["auto"]
    for name, calibrator in fits.items():
        fit_quietly(calibrator, held)
        row |= errors(labeled_scores(model, calibrator.transform), f"_{name}")
    return row | ({"auto": fits["auto"].chosen_.name} if "auto" in fits else {})


SUMMARY = ["accuracy", "auc", "pu_ece", "ece_if_calibrated", "epoch", "positive_median"]
SUMMARY += ["positive_iqr", "negative_median", "extreme"]
SUMMARY += [f"{f.__name__}{s}" for s in ("", *(f"_{c}" for c in CALIBRATORS)) for f in ERRORS]


def by_size(rows: list[Row]):
    """Yield the data set, the size and the trials of all classifiers, as one frame by name and
    trial."""
    frame = pd.DataFrame(rows)
    numbers = [name for name in SUMMARY if name in frame]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    for data, part in sorted(frame.groupby("data"), reverse=True):
        for n, own in part.groupby("n"):
            yield data, n, own.set_index(["name", "trial"])


def summary_rows(rows: list[Row]) -> list[Row]:
    """Return means over trials with their standard errors, one row per classifier and size."""
    out = []
    for data, n, found in by_size(rows):
        for name in (name for name in NAMES if name in found.index):
            own = found.loc[name][SUMMARY]
            row = {"data": data, "n": n, "name": name, "trials": len(own)}
            for number, mean in own.mean().items():
                row |= {number: mean, f"{number}_se": own[number].sem()}
            out.append(row)
    return out


def difference(gaps: np.ndarray) -> Row:
    """Compare two classifiers over their common trials: mean, 95% interval, and winner."""
    mean, n = gaps.mean(), gaps.size
    reach = student.ppf(0.975, n - 1) * standard_error(gaps)
    verdict = "undecided"
    if mean - reach > 0:
        verdict = "as in the paper"
    elif mean + reach < 0:
        verdict = "the other way"
    ends = {"difference": mean, "low": mean - reach, "high": mean + reach}
    return ends | {"share_of_trials": np.mean(gaps > 0), "trials": n, "verdict": verdict}


def ordering_rows(rows: list[Row]) -> list[Row]:
    """Return the paper's ordering, claim by claim, at every size, before and after calibrators."""
    out = []
    for error in ("ece", *(f"ece_{c}" for c in CALIBRATORS)):
        for data, n, found in by_size(rows):
            wide = found.reset_index().pivot_table(error, "trial", "name").reindex(columns=NAMES)
            for low, high in CLAIMS:
                gaps = (wide[high] - wide[low]).dropna().to_numpy()
                if gaps.size:
                    named = {"data": data, "error": error, "n": n, "smaller": low, "larger": high}
                    out.append(named | difference(gaps))
    return sorted(out, key=lambda row: row["data"], reverse=True)


def histogram_rows(shown: dict[str, Model]) -> list[Row]:
    """Return counts of logits and scores in each class, for one trial of each classifier."""
    out = []
    for world, model in shown.items():
        logits = {"negative": model.logits["test_neg"], "positive": model.logits["test_pos"]}
        both = np.concatenate(list(logits.values()))
        reach = np.linspace(*np.quantile(both, [0.001, 0.999]), 61)
        for kind, edges in (("logit", reach), ("score", np.linspace(0.0, 1.0, 51))):
            for label, values in logits.items():
                v = np.clip(values, edges[0], edges[-1]) if kind == "logit" else sigmoid(values)
                named = {"world": world, "kind": kind, "class": label}
                columns = {"left": edges[:-1], "right": edges[1:]}
                out += records(**named, **columns, count=np.histogram(v, edges)[0])
    return out


MAX_COMPONENTS = 10
DRAWS = 4000
LEAST = 100  # smallest N used for slopes


def fit_mixture(logits: np.ndarray, components: int = MAX_COMPONENTS, seed: int = 0) -> MixtureLaw:
    """Fit mixtures with 1, 2, ... Gaussians; return the one with the smallest BIC."""
    column = logits.reshape(-1, 1)
    best = None
    for k in range(1, components + 1):
        with warnings.catch_warnings():
            # A fit that has not converged after 100 rounds is used with its current BIC.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = GaussianMixture(k, random_state=seed, n_init=2).fit(column)
        if best is None or found.bic(column) < best.bic(column):
            best = found
    return MixtureLaw(
        weights=best.weights_ / best.weights_.sum(),
        means=best.means_.ravel(),
        sds=np.sqrt(best.covariances_.ravel()),
    )


def mixture_world(model: Model, components: int = MAX_COMPONENTS) -> LogitMixture:
    """Return a population with the prior and the distributions of a classifier's test logits."""
    groups = ("test_pos", "test_neg")
    positive, negative = (fit_mixture(model.logits[g], components) for g in groups)
    return LogitMixture(positive=positive, negative=negative, prior=model.prior)


def component_rows(name: str, world: LogitMixture) -> list[Row]:
    """Return the components of both classes, one row each."""
    rows = []
    for label, law in (("positive", world.positive), ("negative", world.negative)):
        named = {"world": name, "prior": world.prior, "class": label}
        rows += records(**named, weight=law.weights, mean=law.means, sd=law.sds)
    return rows


def measure_mixture(run: Run, name: str, world: LogitMixture, sizes: list[int], trials: int):
    """Return the tables of Figures 4 and 5 on one mixture, and its components."""
    worlds = {name: known(world)}
    every = bias.all_cells(worlds, {4: [name], 5: [name]}, sizes, trials)
    measured = [m for part in run.map(bias.measure, every, binnings=("mass",)) for m in part]
    return bias.figure_tables(measured, worlds) | {"mixtures": component_rows(name, world)}


@dataclass(frozen=True)
class Residuals:
    """True residuals of bins of equal mass, and the covariance of their noise.

    The slopes that theory predicts for Figures 4 and 5 follow from normal noise in every bin. An
    ECE over B bins is the sum of |r_b + e_b|, where r_b is the true residual of a bin and e_b its
    noise. If the noise is larger, the absolute value turns it into bias of its size; if it is
    smaller, it cancels. The shape of |ECE - TCE| as a function of N thus follows from the residuals
    of the bins, which differ between classifiers, and nothing is fitted here.
    """

    truth: np.ndarray
    covariance: np.ndarray

    def bias(self, tce: float) -> float:
        """Return the mean of |ECE - TCE|."""
        size, turn = np.linalg.eigh(self.covariance)
        rng = stream(0, "normal noise in bins")
        z = rng.normal(size=(DRAWS, self.truth.size)) * np.sqrt(np.maximum(size, 0.0))
        return float(np.abs(np.abs(self.truth + z @ turn.T).sum(axis=1) - tce).mean())


def below(law: LogitLaw, edges: np.ndarray) -> np.ndarray:
    """Return the integrals of 1, s and s squared below each edge, shape (3, edges)."""
    return np.vstack([np.zeros(3), np.cumsum(law.moments(edges), axis=0)]).T


def residuals(world: World, sizes: tuple[float, float] | None, n: int, bins: int) -> Residuals:
    """Return residuals and their noise for PU samples of two sizes, or for n labeled rows.

    An edge is a sample quantile and moves opposite to the number of rows below it; to first order,
    a row below an edge adds its own term minus the gap between frequency and score there.
    """
    marginal, prior = world.marginal_law(), world.prior
    edges = marginal.quantiles(np.arange(bins + 1) / bins)
    u0, u1, u2 = below(marginal, edges)
    p0, p1, _ = below(world.positive_law(), edges)
    gap = world.posterior(edges) - edges
    gap[[0, -1]] = 0.0  # the outer edges do not move
    k = np.minimum.outer(np.arange(bins + 1), np.arange(bins + 1))  # the lower of two edges

    def spread(second: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the covariance over edges of (x - gap) 1{s <= edge}, given sums of x², x."""
        mean = first - gap * u0
        moved = np.add.outer(gap, gap) * first[k] - np.outer(gap, gap) * u0[k]
        return second[k] - moved - np.outer(mean, mean)

    if sizes is None:
        at_edges = spread(prior * (p0 - 2.0 * p1) + u2, prior * p0 - u1) / n  # x = y - s
    else:
        on_positives = prior**2 * (p0[k] - np.outer(p0, p0))
        at_edges = on_positives / sizes[0] + spread(u2, -u1) / sizes[1]  # x = -s
    return Residuals(np.diff(prior * p0 - u1), np.diff(np.diff(at_edges, axis=0), axis=1))


def stored_worlds(rows: list[Row]) -> dict[str, World]:
    """Return the two synthetic classifiers, and the mixtures of ``mixtures.csv``."""
    out: dict[str, World] = dict(list(PAPER.items())[:2])
    for name in distinct(rows, "world"):
        laws = {}
        for label in ("positive", "negative"):
            own = pick(rows, world=name, **{"class": label})
            w, m, s = (column(own, c) for c in ("weight", "mean", "sd"))
            laws[label] = MixtureLaw(weights=w / w.sum(), means=m, sds=s)
        out[name] = LogitMixture(**laws, prior=own[0]["prior"])
    return out


def predicted_rows(components: list[Row], sizes: list[int]) -> list[Row]:
    """Return the expected slope of every curve, and its biases at both ends."""
    worlds = {name: known(world) for name, world in stored_worlds(components).items()}
    sizes = [n for n in sizes if n >= LEAST]
    every = bias.all_cells(worlds, {4: list(worlds), 5: list(worlds)}, sizes, trials=1)
    out = []
    for curve, own in groupby((cell["cell"] for cell in every), key=lambda cell: cell.curve):
        known_world = worlds[curve[1]]
        found = [residuals(known_world.world, c.sizes, c.n, c.bins) for c in own]
        biases = np.array([r.bias(known_world.tce) for r in found])
        slope = bias.log_slope(np.array(sizes, dtype=float), biases)
        named = dict(zip(("figure", "world", "setting"), curve, strict=True)) | {"slope": slope}
        ends = {"n_low": sizes[0], "n_high": sizes[-1], "low": biases[0], "high": biases[-1]}
        # The loss from binning alone, without any noise.
        lost = known_world.tce - np.abs(found[-1].truth).sum()
        out.append(named | ends | {"binning_bias": lost})
    return out
