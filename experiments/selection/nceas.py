"""Presence records of species compared with an independent survey (Elith et al. 2020).

Records are the labeled positives, the survey sites are the unlabeled rows, and the survey shows
where the species occurs: the prior is known exactly, but records come from places where people go.
A model is trained on one half of the records and evaluated on the other.
"""

from collections import Counter

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from experiments import nceas
from experiments.study import seeded
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.metrics import METRICS, estimate
from noneg.sensitivity import tipping_selection

OTHERS = ("siteid", "spid", "x", "y", "occ", "group", "vegsys", "calc", "age", "toxicats")
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


def features(rows: pd.DataFrame, like: pd.DataFrame) -> np.ndarray:
    """Return predictors and their squares, standardized by the background and clipped at 4."""
    names = [name for name in like if name not in OTHERS]
    x, base = (frame[names].to_numpy(float) for frame in (rows, like))
    mean, sd = base.mean(axis=0), base.std(axis=0)
    z = np.clip((x - mean) / np.where(sd > 0.0, sd, 1.0), -4.0, 4.0)
    return np.hstack([z, z**2])


def measure(region: str, model: str) -> list[dict]:
    """Return every metric for every species with enough records, at each selection factor."""
    records, background = nceas.training(region)
    base, rows = features(background, background), []
    for sites, survey in nceas.surveys(region):
        found = features(sites, background)
        for name, count in sorted(Counter(records["spid"].tolist()).items()):
            if count >= RECORDS and name in survey and 0 < survey[name].mean() < 1:
                x = features(records[records["spid"] == name], background)
                present = survey[name].to_numpy(int)
                rows += one_species(name, x, base, found, present, model)
    return rows


def one_species(
    name: str,
    records: np.ndarray,
    base: np.ndarray,
    sites: np.ndarray,
    present: np.ndarray,
    model: str,
) -> list[dict]:
    """Return the rows for one species."""
    order = seeded("nceas", name).permutation(len(records))
    train, held = np.array_split(records[order], 2)
    fitted = MODELS[model](np.vstack([train, base]), np.repeat([1, 0], [len(train), len(base)]))
    prior = float(present.mean())

    def score(x: np.ndarray) -> np.ndarray:
        """Return the share of presences, given that the odds of a record are a multiple of it."""
        record = np.clip(fitted.predict_proba(x)[:, 1], 1e-9, 1 - 1e-9)
        return np.minimum(record / (1 - record) * prior * len(base) / len(train), 1.0)

    scores = PUScores(score(held), score(sites), prior=prior, setting="two-sample")
    truth = PUScores.from_labels(present, score(sites))
    edges = bin_scores(scores).edges
    return [one_metric(name, metric, scores, truth, edges) for metric in MEASURED]


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
