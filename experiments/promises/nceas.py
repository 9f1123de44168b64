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
KEYS = {"siteid", "spid", "x", "y", "occ", "group"}


def predictors(background, *others) -> list[str]:
    """Return the numeric predictors that vary and that occur in all tables."""
    return [
        name
        for name in background.columns
        if name not in KEYS
        and background[name].nunique() > 12
        and all(name in other.columns for other in others)
    ]


def scores_of(records, background, sites, names: list[str], rng: np.random.Generator):
    """Return the scores of held-out records and of sites."""
    mean, sd = background[names].mean(), background[names].std()
    quadratic = PolynomialFeatures(2, include_bias=False)

    def features(frame):
        x = ((frame[names] - mean) / sd).clip(-4, 4).fillna(0.0).to_numpy()
        return quadratic.fit_transform(x)

    held = rng.permutation(len(records)) < len(records) // 2
    x = np.concatenate([features(records[~held]), features(background)])
    y = np.repeat([1, 0], [(~held).sum(), len(background)])
    model = LogisticRegression(C=0.1, max_iter=300).fit(x, y)
    return [model.predict_proba(features(part))[:, 1] for part in (records[held], sites)]


def measure(region: str) -> Iterator[Row]:
    """Return the guarantee and the survey's result, one row for each species and factor."""
    records, background = nceas.training(region)
    for sites, present in nceas.surveys(region):
        names = predictors(background, records, sites)
        for name in (c for c in present.columns if c not in KEYS):
            mine, y = records[records["spid"] == name], present[name].to_numpy() == 1
            if len(mine) < LEAST_RECORDS or y.sum() < LEAST_PRESENT:
                continue
            rng = np.random.default_rng(len(mine))
            p, u = scores_of(mine, background, sites, names, rng)
            for factor in FACTORS:
                yield {"species": name, "factor": factor, "prior": y.mean()} | judge(
                    p, u, y, factor
                )


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
