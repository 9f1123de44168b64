"""Do intervals cover if labeled positives are not a random sample of all positives?

In simulated populations, the truth lies exactly at the end of the identified range: how often does
the interval reach it? For the species in the NCEAS survey, the selection is real: for how many
species does the survey's value lie inside the interval, at which selection factor, and how wide is
the interval?
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from experiments import nceas
from experiments.selection import outer, worlds
from experiments.selection.worlds import AGAIN, LEVEL
from experiments.study import SETTINGS, Run, Study, cells, seeded
from experiments.tables import Row, Tables, column, read
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.metrics import METRICS, estimate
from noneg.sensitivity import tipping_selection

# Would a map with the smallest worst-case Brier score be better than the map for random labels? At
# every score, the share of positives lies between multiples of the calibrated one. The largest
# Bayes risk has the shares closest to a constant, ``clip(t, low, high)``, with t such that they
# average to the prior; the map that predicts them is the minimax map.
SPREADS = {"weak": 1.0, "medium": 2.0, "strong": 4.0}


def worst(p: np.ndarray, eta: np.ndarray, mu: np.ndarray, factor: float) -> float:
    """Return the largest Brier score of a map over all distributions of the positives (a knapsack
    problem)."""
    low, high = eta / factor * mu, np.minimum(eta * factor, 1.0) * mu
    gain = 1.0 - 2.0 * p
    order = np.argsort(-gain)
    room = (eta * mu).sum() - low.sum()
    extra = np.diff(np.minimum(np.cumsum((high - low)[order]), room), prepend=0.0)
    return float(p**2 @ mu + gain @ low + gain[order] @ extra)


def compare(model: str, prior: float, selection: float) -> dict[str, float]:
    """Return the Brier scores of both maps, with random labels and in the worst case."""
    z = np.linspace(-8.0, 8.0, 4001)
    mu = np.exp(-(z**2) / 2.0)
    mu /= mu.sum()
    shift = brentq(lambda a: expit(a + SPREADS[model] * z) @ mu - prior, -60.0, 60.0)
    eta = expit(shift + SPREADS[model] * z)
    low, high = eta / selection, np.minimum(eta * selection, 1.0)
    level = brentq(lambda t: np.clip(t, low, high) @ mu - prior, 0.0, 1.0)
    row = {}
    for name, p in (("plain", eta), ("minimax", np.clip(level, low, high))):
        random = float((eta * (1 - p) ** 2 + (1 - eta) * p**2) @ mu)
        row |= {f"{name}_random": random, f"{name}_worst": worst(p, eta, mu, selection)}
    return row


# Presence records of species compared with an independent survey (Elith et al. 2020). Records are
# the labeled positives, the survey sites are the unlabeled rows, and the survey shows where the
# species occurs: the prior is known exactly, but records come from places where people go. A model
# is trained on one half of the records and evaluated on the other.
SELECTIONS = (1.0, 1.5, 2.0, 3.0)
MEASURED = ("auroc", "brier", "precision_at", "ece")
RANKED = ("auroc", "precision_at")  # the factor required by the survey is computed for these
RECORDS = 60


def new(name: str) -> ClassifierMixin:
    if name == "logistic":
        return LogisticRegression(max_iter=500)
    options = {"max_iter": 80, "max_leaf_nodes": 8, "learning_rate": 0.05}
    return HistGradientBoostingClassifier(**options, random_state=0)


def measure(region: str, model: str) -> Iterator[Row]:
    """Yield every metric for every species with enough records, at each selection factor."""
    for species in nceas.species(region, RECORDS):
        scores, truth = both_samples(species, new(model))
        edges = bin_scores(scores).edges
        for metric in MEASURED:
            options = {"edges": edges} if metric == "ece" else {}
            yield {"species": species.name} | compared(metric, scores, truth, **options)


def both_samples(species: nceas.Species, model: ClassifierMixin) -> tuple[PUScores, PUScores]:
    """Return records and sites, and the sites with their labels."""
    order = seeded("nceas", species.name).permutation(len(species.records))
    train, held = np.array_split(species.records[order], 2)
    probability, prior = species.scorer(model, train), float(species.present.mean())

    def score(x: np.ndarray) -> np.ndarray:
        """Return the share of presences, given that the odds of a record are a multiple of it."""
        record = np.clip(probability(x), 1e-9, 1 - 1e-9)
        return np.minimum(record / (1 - record) * prior * len(species.background) / len(train), 1.0)

    sites = score(species.sites)
    truth = PUScores.from_labels(species.present, sites)
    return PUScores(score(held), sites, prior=prior, setting="two-sample"), truth


def compared(metric: str, scores: PUScores, truth: PUScores, **options: object) -> Row:
    """Return whether the survey's value lies inside, the width, and the required factor."""
    target = METRICS[metric].function(truth, **options)
    found = [estimate(metric, scores.with_selection(g), **options) for g in SELECTIONS]
    row = {
        "metric": metric,
        "records": int(scores.n_positive),
        "prior": scores.known_prior,
        "survey": target,
        "value": found[0].value,
    }
    for factor, one in zip(SELECTIONS, found, strict=True):
        row[f"inside_{factor:g}"] = one.low <= target <= one.high
        row[f"width_{factor:g}"] = one.high - one.low
    needed = tipping_selection(metric, scores, target, **options) if metric in RANKED else np.nan
    return row | {"needed": needed}


def adversarial(run: Run) -> None:
    every = cells(
        world=worlds.NEGATIVES,
        setting=SETTINGS,
        prior=(0.02, 0.1, 0.5),
        n_positive=run.pick((100, 300, 1000), 100),
        trials=run.trials(60, 5),
    )
    run.resume("adversarial", worlds.cover, every)


def again(run: Run) -> None:
    """Repeat the measurement with more and different draws for each metric of a cell that looks
    weak."""
    names, known = ("world", "setting", "prior", "n_positive"), {"trials": run.trials(400, 5)}
    weak = [
        {name: row[name] for name in names} | known | {"metrics": row["metric"]}
        for row in read(run.out / "adversarial.csv")
        if min(row["low_reached"], row["high_reached"]) < AGAIN
    ]
    run.resume("again", worlds.cover, weak)


def species(run: Run) -> None:
    every = cells(region=nceas.regions(*run.pick((), ("SA",))), model=("logistic", "boosted"))
    run.resume("species", measure, every)


def maps(run: Run) -> dict[str, list]:
    every = cells(model=SPREADS, prior=(0.02, 0.1, 0.5), selection=(1.5, 2.0, 3.0))
    return {"minimax": run.rows(compare, every)}


def outer_bounds(run: Run) -> dict[str, list]:
    return {"outer": run.rows(outer.excess, cells(kind=outer.KINDS, cases=run.trials(200, 5)))}


TITLES = {
    "auroc": "AUROC",
    "brier": "Brier score",
    "precision_at": "precision at the 10% most suitable sites",
    "ece": "ECE",
}
REGIONS = {
    "SA": "South America",
    "NZ": "New Zealand",
    "AWT": "Australian wet tropics",
    "SWI": "Switzerland",
}


def ends(rows: list[Row]) -> np.ndarray:
    """How often each end was reached, shape (2, cells)."""
    return np.array([column(rows, f"{end}_reached") for end in ("low", "high")])


def low_ends(tables: Tables) -> Row:
    """Return how many ends were reached less often than `AGAIN`, and how many chance would give."""
    rows = tables("adversarial")
    shares, draws = ends(rows), rows[0]["trials"]
    chance = float(binom.cdf(np.ceil(AGAIN * draws) - 1, draws, 0.5 + LEVEL / 2))
    low = int((shares < AGAIN).sum())
    return {"ends": shares.size, "low": low, "expected": shares.size * chance}


STUDY = Study("selection", (species, maps, adversarial, again, outer_bounds))
