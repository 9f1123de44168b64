"""Species whose presence records are not a random sample, compared with an independent survey.

Half of the records and the background are used to train a quadratic logistic model, the other half
are the labeled positives, and the survey sites are the unlabeled rows. The assumption behind a
guarantee is false here; this part measures how badly it fails, and which selection factor fixes it.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from experiments import nceas
from experiments.tables import Row
from noneg import PUScores
from noneg.performance import certified_negatives, recall_threshold

LEAST_RECORDS, LEAST_PRESENT = 60, 20
FACTORS = (1.0, 2.0, 4.0)
RECALL = 0.9
PART = 0.25  # requested false discovery rate, as a fraction of the prevalence


def scores_of(species: nceas.Species, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the scores of held-out records and of sites."""
    features = PolynomialFeatures(2, include_bias=False).fit_transform
    held = rng.permutation(len(species.records)) < len(species.records) // 2
    x = np.concatenate([features(species.records[~held]), features(species.background)])
    y = np.repeat([1, 0], [(~held).sum(), len(species.background)])
    model = LogisticRegression(C=0.1, max_iter=300).fit(x, y)
    parts = (species.records[held], species.sites)
    return [model.predict_proba(features(part))[:, 1] for part in parts]


def measure(region: str) -> Iterator[Row]:
    """Return the guarantee and the survey's result, one row for each species and factor."""
    for one in nceas.species(region, LEAST_RECORDS, LEAST_PRESENT, ddof=1):
        p, u = scores_of(one, np.random.default_rng(len(one.records)))
        for factor in FACTORS:
            named = {"species": one.name, "factor": factor, "prior": one.present.mean()}
            yield named | judge(p, u, one.present, factor)


def judge(p: np.ndarray, u: np.ndarray, y: np.ndarray, factor: float) -> Row:
    scores = PUScores(p, u, prior=float(y.mean()), setting="two-sample", selection=factor)
    t = recall_threshold(scores, recall=RECALL).threshold
    certified = u <= certified_negatives(scores, fdr=PART * y.mean()).cutoff
    return {
        "records": p.size,
        "recall": (u[y] >= t).mean(),
        "flagged": (u >= t).mean(),
        "certified": certified.mean(),
        "fdp": (certified & y).sum() / max(certified.sum(), 1),
        "power": (certified & ~y).sum() / (~y).sum(),
    }
