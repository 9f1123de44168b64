"""Do intervals cover if labeled positives are not a random sample of all positives?

In simulated populations, the truth lies exactly at the end of the identified range: how often does
the interval reach it? For the species in the NCEAS survey, the selection is real: for how many
species does the survey's value lie inside the interval, at which selection factor, and how wide is
the interval?
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from experiments import nceas
from experiments.selection import outer
from experiments.study import SETTINGS, Run, Study, cells, seeded
from experiments.tables import Row, Tables, averaged, column, read
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.calibration.bounds import ranges
from noneg.metrics import METRICS, estimate
from noneg.selection import Box, _cell_edges
from noneg.sensitivity import tipping_selection

LOGITS = np.linspace(-7.0, 7.0, 1500)
SCORES = expit(LOGITS)
LABELED = 0.5  # share of the positives that are labeled in one sample
# Location of the negatives: among the positives, or so far below that the row limit applies.
NEGATIVES = {"overlapping": -1.0, "separated": -4.0}
SELECTION = 2.0
LEVEL = 0.9  # so that each end has a nominal 95%
AGAIN = 0.9  # metrics with an end that is reached less often than this are measured again
SHARP = ("recall", "precision", "accuracy", "specificity", "npv", "f_beta", "mcc", "cohen_kappa")
SHARP += ("brier", "log_loss", "risk")
SHARP += ("auroc", "partial_auc", "proxy_auc", "precision_at", "lift_at", "ece")


def bell(mean: float) -> np.ndarray:
    """Return the masses of a normal distribution of the logit."""
    mass = np.exp(-((LOGITS - mean) ** 2) / 2.0)
    return mass / mass.sum()


@dataclass(frozen=True)
class World:
    """Distributions of the labeled positives and the unlabeled rows, and the labeled share.

    Everyone else has another distribution; the positives have the one in the selection set that
    makes a metric largest, or smallest. Given the cells in which a sample checks whether positives
    outnumber rows, that distribution is known, so the end that an interval has to reach is known
    for every sample.
    """

    positive: np.ndarray
    unlabeled: np.ndarray
    prior: float
    setting: str

    @classmethod
    def build(cls, name: str, prior: float, setting: str) -> "World":
        """Return a population whose positives are halfway between the labeled ones and the extreme
        at the top."""
        labeled, negative = bell(1.0), bell(NEGATIVES[name])
        above = np.cumsum(labeled[::-1])[::-1]
        top = labeled * np.where(above < 1.0 / (1.0 + SELECTION), SELECTION, 1.0 / SELECTION)
        hidden = (labeled + top / top.sum()) / 2.0
        share = prior
        if setting == "one-sample":
            share = (prior - prior * LABELED) / (1.0 - prior * LABELED)
        return cls(labeled, share * hidden + (1.0 - share) * negative, prior, setting)

    @property
    def share(self) -> float:
        """Labeled share of the marginal sample."""
        return self.prior * LABELED if self.setting == "one-sample" else 0.0

    @property
    def marginal(self) -> np.ndarray:
        """The distribution of everyone."""
        return self.share * self.positive + (1.0 - self.share) * self.unlabeled

    def scores(self, positive: np.ndarray, unlabeled: np.ndarray, kind: str) -> PUScores:
        """Return rows with these weights at the points of the grid."""
        return PUScores(
            SCORES,
            SCORES,
            positive_weight=positive,
            unlabeled_weight=unlabeled,
            weight_kind=kind,
            prior=self.prior,
            setting=self.setting,
            selection=SELECTION,
        )

    def draw(self, n_positive: int, random: np.random.Generator) -> PUScores:
        """Return a sample with about this many labeled positives."""
        size = int(max(20 * n_positive, 2.0 * n_positive / self.prior))
        if self.setting == "one-sample":
            size = int(n_positive / self.share)
            n_positive = random.binomial(size, self.share)
            size -= n_positive
        counts = (
            random.multinomial(n_positive, self.positive),
            random.multinomial(size, self.unlabeled),
        )
        return self.scores(*counts, "frequency")

    def known(self) -> PUScores:
        """Return both distributions as if every row were known."""
        share = self.share or 0.5
        return self.scores(share * self.positive, (1.0 - share) * self.unlabeled, "importance")


def under(positive: np.ndarray, world: World, name: str) -> float:
    """Return a metric of a population with this distribution of the positives."""
    # The proxy compares positives with the unlabeled rows, not with everyone.
    group = world.unlabeled if name == "proxy_auc" else world.marginal
    weights = {"positive_weight": positive, "unlabeled_weight": group, "weight_kind": "importance"}
    every = PUScores(SCORES, SCORES, **weights, prior=world.prior, setting="two-sample")
    return METRICS[name].function(every)


def extremes(world: World, known: PUScores, sample: PUScores) -> list[np.ndarray]:
    """Return the distributions with the most and the fewest positives at the top, given a sample's
    cells."""
    box = Box.over(known, _cell_edges(sample))
    # Grid points in increasing order; a distribution is a function of the share above.
    above = np.append(np.cumsum(world.positive[::-1])[::-1], 0.0)
    above = np.minimum(above / above[0], 1.0)
    return [-np.diff(box.law(world.prior, top=top)(above)) for top in (True, False)]


def ends(
    world: World, known: PUScores, sample: PUScores, names: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest values consistent with a sample's cells or bins, by
    metric."""
    found, laws = {}, extremes(world, known, sample)
    for name in set(names) - {"ece"}:
        pair, (low, high) = [under(law, world, name) for law in laws], METRICS[name].range
        high = 1.0 / world.prior if name == "lift_at" else high
        found[name] = max(min(pair), low), min(max(pair), high)
    if "ece" not in names:
        return found
    edges = bin_scores(sample).edges
    error = ranges(bin_scores(known, edges=edges), Box.over(known, edges), world.prior)
    return found | {"ece": (error.smallest, error.largest())}


@averaged("metric")
def cover(
    world: str, setting: str, prior: float, n_positive: int, trials: int, metrics: str = ""
) -> Iterator[Row]:
    """Yield whether each end of the interval reaches the end of the attainable range.

    With metrics (separated by spaces), only for these, and with other draws.
    """
    made, names = World.build(world, prior, setting), tuple(metrics.split()) or SHARP
    known, cell = made.known(), (world, setting, prior, n_positive)
    for trial in range(trials):
        sample = made.draw(n_positive, seeded("selection", *cell, trial, *metrics.split()))
        truth = ends(made, known, sample, names)
        for name in names:
            low, high = truth[name]
            one = estimate(name, sample, level=LEVEL)
            least, most = one.identified
            row = {"metric": name, "low_reached": one.low <= low, "high_reached": one.high >= high}
            yield row | {"width": one.high - one.low, "identified_width": most - least}


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
        world=NEGATIVES,
        setting=SETTINGS,
        prior=(0.02, 0.1, 0.5),
        n_positive=run.pick((100, 300, 1000), 100),
        trials=run.trials(60, 5),
    )
    run.resume("adversarial", cover, every)


def again(run: Run) -> None:
    """Repeat the measurement with more and different draws for each metric of a cell that looks
    weak."""
    names, known = ("world", "setting", "prior", "n_positive"), {"trials": run.trials(400, 5)}
    weak = [
        {name: row[name] for name in names} | known | {"metrics": row["metric"]}
        for row in read(run.out / "adversarial.csv")
        if min(row["low_reached"], row["high_reached"]) < AGAIN
    ]
    run.resume("again", cover, weak)


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


def reached(rows: list[Row]) -> np.ndarray:
    """How often each end was reached, shape (2, cells)."""
    return np.array([column(rows, f"{end}_reached") for end in ("low", "high")])


def low_ends(tables: Tables) -> Row:
    """Return how many ends were reached less often than `AGAIN`, and how many chance would give."""
    rows = tables("adversarial")
    shares, draws = reached(rows), rows[0]["trials"]
    chance = float(binom.cdf(np.ceil(AGAIN * draws) - 1, draws, 0.5 + LEVEL / 2))
    low = int((shares < AGAIN).sum())
    return {"ends": shares.size, "low": low, "expected": shares.size * chance}


STUDY = Study("selection", (species, maps, adversarial, again, outer_bounds))
