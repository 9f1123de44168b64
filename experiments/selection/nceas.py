"""Presence records of species compared with an independent survey (Elith et al. 2020).

Records are the labeled positives, the survey sites are the unlabeled rows, and the survey shows
where the species occurs: the prior is known exactly, but records come from places where people go.
A model is trained on one half of the records and evaluated on the other.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from experiments import nceas
from experiments.study import seeded
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.metrics import METRICS, estimate
from noneg.sensitivity import tipping_selection

SELECTIONS = (1.0, 1.5, 2.0, 3.0)
MEASURED = ("auroc", "brier", "precision_at", "ece")
RANKED = ("auroc", "precision_at")  # the factor required by the survey is computed for these
RECORDS = 60


def logistic(x: np.ndarray, y: np.ndarray) -> LogisticRegression:
    return LogisticRegression(max_iter=500).fit(x, y)


def boosted(x: np.ndarray, y: np.ndarray) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=8, learning_rate=0.05, random_state=0
    )
    return model.fit(x, y)


MODELS = {"logistic": logistic, "boosted": boosted}


def measure(region: str, model: str) -> list[dict]:
    """Return every metric for every species with enough records, at each selection factor."""
    return [row for one in nceas.species(region, RECORDS) for row in one_species(one, model)]


def one_species(species: nceas.Species, model: str) -> list[dict]:
    """Return the rows for one species."""
    records, base, sites = map(
        nceas.with_squares, (species.records, species.background, species.sites)
    )
    order = seeded("nceas", species.name).permutation(len(records))
    train, held = np.array_split(records[order], 2)
    fitted = MODELS[model](np.vstack([train, base]), np.repeat([1, 0], [len(train), len(base)]))
    prior = float(species.present.mean())

    def score(x: np.ndarray) -> np.ndarray:
        """Return the share of presences, given that the odds of a record are a multiple of it."""
        record = np.clip(fitted.predict_proba(x)[:, 1], 1e-9, 1 - 1e-9)
        return np.minimum(record / (1 - record) * prior * len(base) / len(train), 1.0)

    scores = PUScores(score(held), score(sites), prior=prior, setting="two-sample")
    truth = PUScores.from_labels(species.present, score(sites))
    edges = bin_scores(scores).edges
    return [one_metric(species.name, metric, scores, truth, edges) for metric in MEASURED]


def one_metric(
    name: str, metric: str, scores: PUScores, truth: PUScores, edges: np.ndarray
) -> dict[str, object]:
    """Return whether the survey's value lies inside, the width, and the required factor."""
    options = {"edges": edges} if metric == "ece" else {}
    target = METRICS[metric].function(truth, **options)
    found = [estimate(metric, scores.with_selection(g), **options) for g in SELECTIONS]
    row = {
        "species": name,
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
