"""Survey sites from the NCEAS benchmark as the oracle for a review."""

from itertools import islice

import numpy as np

from experiments import nceas
from experiments.audit.worlds import Planned, World, targets
from experiments.study import Run, cells, data_file, seeded
from experiments.tables import Row
from noneg import PUScores, estimate
from noneg.audit.estimates import Draws, interval
from noneg.prior import estimate_prior

REGIONS = ("NZ", "SWI", "SA", "AWT")
BUDGETS = (100, 200, 400)
RECORDS, PRESENCES, REVIEWS = 60, 10, 10


def scored(species: nceas.Species) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities from a quadratic logistic model for records and sites."""
    from sklearn.linear_model import LogisticRegression

    parts = (species.records, species.background, species.sites)
    known, other, sites = map(nceas.with_squares, parts)
    model = LogisticRegression(max_iter=300, class_weight="balanced")
    model.fit(np.vstack([known, other]), np.arange(len(known) + len(other)) < len(known))
    return model.predict_proba(known)[:, 1], model.predict_proba(sites)[:, 1]


def review(region: str, *, quick: bool) -> list[dict]:
    """Return the errors in AUROC and prior before and after reviews, for each species in a
    region."""
    every = islice(nceas.species(region, RECORDS, PRESENCES), 2 if quick else None)
    return [row for one in every for row in reviewed(region, one)]


def reviewed(region: str, species: nceas.Species) -> list[dict]:
    """Return the errors for one species."""
    (known, score), y = scored(species), species.present
    rng = seeded("species", region, species.name)
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
        found = [one_review(plan, aims, pu, rng) for _ in range(REVIEWS)]
        means = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
        rows.append({"species": species.name, "reviews": budget} | means)
    return rows


def one_review(plan: Planned, aims: list, pu: PUScores, rng: np.random.Generator) -> Row:
    """Return the errors of prior and AUROC, before a review and after it."""
    draws, truth = Draws(plan.review(rng), rng, 1000), plan.truth
    prior, area = (interval(aim, plan.census, draws, 0.95) for aim in aims)
    return {
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


def species(run: Run) -> dict[str, list]:
    if data_file("nceas") is None:
        return {}
    return {"species": run.rows(review, cells(region=REGIONS), quick=run.quick)}
