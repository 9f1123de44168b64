"""Survey sites from the NCEAS benchmark as the oracle for a review."""

import numpy as np

from experiments import nceas
from experiments.audit.worlds import Planned, World, targets
from experiments.study import Run, data_file, seeded
from noneg import PUScores, estimate
from noneg.audit.estimates import Draws, interval
from noneg.prior import estimate_prior

REGIONS = ("NZ", "SWI", "SA", "AWT")
BUDGETS = (100, 200, 400)
RECORDS, PRESENCES, REVIEWS = 60, 10, 10


def scored(records, background, sites, columns):
    """Return the probabilities from a quadratic logistic model for records and sites."""
    from sklearn.linear_model import LogisticRegression

    x = background[columns].to_numpy(float)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    keep = scale > 0

    def design(frame):
        z = np.clip((frame[columns].to_numpy(float)[:, keep] - mean[keep]) / scale[keep], -4, 4)
        return np.hstack([z, z**2])

    known, other = design(records), design(background)
    model = LogisticRegression(max_iter=300, class_weight="balanced")
    model.fit(np.vstack([known, other]), np.arange(len(known) + len(other)) < len(known))
    return model.predict_proba(known)[:, 1], model.predict_proba(design(sites))[:, 1]


def _is_measured(column):
    """Return whether a predictor is numeric rather than categorical."""
    return column.dtype.kind in "fiu" and column.nunique() > 12


def review(region: str, *, quick: bool) -> list[dict]:
    """Return the errors in AUROC and prior before and after reviews, for each species in a
    region."""
    rows, (records, background) = [], nceas.training(region)
    for sites, answers in nceas.surveys(region):
        here = [name for name in answers.columns[4:] if name in set(records["spid"])]
        columns = [n for n in sites.columns[4:] if n in background and _is_measured(background[n])]
        for name in here[: 2 if quick else None]:
            own = records[records["spid"] == name]
            y = answers[name].to_numpy() > 0
            if len(own) < RECORDS or y.sum() < PRESENCES:
                continue
            known, score = scored(own, background, sites, columns)
            rows += one(region, name, known, score, y)
    return rows


def one(region, name, known, score, y):
    """Return the errors for one species."""
    rng = seeded("species", region, name)
    pu = PUScores(known, score, setting="two-sample")
    guess = estimate_prior(pu)
    pu = guess.apply(pu)
    table = World(
        np.concatenate([score, known]),
        np.concatenate([y, np.ones(known.size, bool)]),
        np.arange(score.size + known.size) >= score.size,
        "two-sample",
    )
    aims, rows = targets("prior", "auroc"), []
    for budget in (n for n in BUDGETS if n < 0.7 * score.size):
        plan = Planned(table, aims, budget, pu.known_prior)
        for _ in range(REVIEWS):
            draws = Draws(plan.review(rng), rng, 1000)
            prior, area = (interval(aim, plan.census, draws, 0.95) for aim in aims)
            truth = plan.truth
            rows.append(
                {
                    "region": region,
                    "species": name,
                    "reviews": budget,
                    "prior": truth["prior"],
                    "auroc": truth["auroc"],
                    "prior_before": abs(pu.known_prior - truth["prior"]),
                    "prior_after": abs(prior.value - truth["prior"]),
                    "prior_held": float(prior.low <= truth["prior"] <= prior.high),
                    "auroc_before": abs(float(estimate("auroc", pu).value) - truth["auroc"]),
                    # Without a positive, the area is as uncertain as for a random score.
                    "auroc_after": abs(np.nan_to_num(area.value, nan=0.5) - truth["auroc"]),
                    "auroc_held": float(area.low <= truth["auroc"] <= area.high),
                }
            )
    mean = {}
    for row in rows:
        mean.setdefault(row["reviews"], []).append(row)
    head = ("region", "species", "reviews")
    return [
        {key: part[0][key] for key in head}
        | {key: float(np.mean([row[key] for row in part])) for key in part[0] if key not in head}
        for part in mean.values()
    ]


def species(run: Run) -> dict[str, list]:
    if data_file("nceas") is None:
        return {}
    found = run.map(review, [{"region": region} for region in REGIONS], quick=run.quick)
    return {"species": [row for rows in found for row in rows]}
