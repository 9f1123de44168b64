"""Does the stated set contain the true prior, and are the verdicts right?

``sets`` draws scores from known classes and runs the default estimator. ``points`` compares the
candidates for the default point estimate. ``verdicts`` hides labels of calibrated and miscalibrated
models. ``claims`` measures the rule for claiming an interval, and ``sources`` the other sources for
a prior. ``nceas`` runs every estimator on species whose prevalence is known from a survey.
"""

import warnings
from functools import partial

import numpy as np

from experiments.prior_sets import worlds
from experiments.study import Run, Study, cells, seeded
from experiments.tables import Row

DRAWS = 200
SETTINGS = ("two-sample", "one-sample")
# Takes seconds per species, mostly for the interval, so it is run on the first few of each region.
SLOW, FIRST = ("km1", "km2", "recpe-features"), 5


def draw_sets(world: str, prior: float, size: int, setting: str, trials: int) -> Row:
    """Return how often the stated set contains the prior, and how often its upper end bounds it."""
    from noneg.prior import estimate_prior

    rng = seeded("sets", world, prior, size, setting)
    stated, bounded, high = [], [], []
    for _ in range(trials):
        # The set of the default method, without the point estimate inside it.
        found = estimate_prior(worlds.laws(world, prior, size, setting, rng), method="quick")
        stated.append(found.low <= prior <= found.high)
        bounded.append(prior <= found.high)
        high.append(found.high)
    return {
        "covered": np.mean(stated),
        "bounded": np.mean(bounded),
        "median_high": float(np.median(high)),
    }


def sets(run: Run) -> dict[str, list[Row]]:
    every = cells(
        world=worlds.WORLDS,
        prior=run.pick((0.02, 0.1, 0.3, 0.7), (0.3,)),
        size=run.pick((100, 400), (100,)),
        setting=SETTINGS,
    )
    return {"sets": run.rows(draw_sets, every, trials=run.trials(DRAWS, 5))}


def draw_claims(world: str, prior: float, size: int, trials: int) -> Row:
    """Return how often an interval is claimed if the user states that no negatives look like
    positives."""
    from noneg.prior import estimate_prior

    rng, claimed, inside = seeded("claims", world, prior, size), 0, 0
    for _ in range(trials):
        laws = worlds.laws(world, prior, size, "two-sample", rng)
        found = estimate_prior(laws, method="quick", overlap=0.0)
        claimed += not found.is_bound
        inside += not found.is_bound and found.low <= prior <= found.high
    return {"claimed": claimed / trials, "inside": inside / claimed if claimed else np.nan}


def claims(run: Run) -> dict[str, list[Row]]:
    every = cells(
        world=worlds.IRREDUCIBLE,
        prior=run.pick((0.05, 0.3, 0.7), (0.3,)),
        size=run.pick((400, 1600), (400,)),
    )
    return {"claims": run.rows(draw_claims, every, trials=run.trials(100, 3))}


def draw_points(world: str, prior: float, size: int, trials: int) -> list[Row]:
    """Return the mean distance of point estimates from the prior, by method."""
    from noneg.prior import BestBin, Dedpul, Quick

    rng, found = seeded("points", world, prior, size), []
    for _ in range(trials):
        laws = worlds.laws(world, prior, size, "two-sample", rng)
        dedpul, limit = Dedpul().find(laws).share, laws.largest_prior(0.95)
        best, bin_ = Quick().find(laws).share, BestBin().find(laws).share
        (tpr, _), (ppr, _) = laws.cuts()
        lowest = min(1.0, float((ppr / tpr).min()))
        found.append([best, lowest, dedpul, min(dedpul, limit), min(dedpul, best), bin_])
    error = np.abs(np.array(found) - prior).mean(axis=0)
    names = (
        "largest compatible, tightest cut (quick)",
        "largest compatible, smallest ratio",
        "DEDPUL",
        "DEDPUL, at most the largest compatible",
        "the smaller of quick and DEDPUL (the default)",
        "best bin",
    )
    return [{"method": name, "error": x} for name, x in zip(names, error, strict=True)]


def points(run: Run) -> dict[str, list[Row]]:
    every = cells(
        world=worlds.WORLDS,
        prior=run.pick((0.005, 0.05, 0.3, 0.7), (0.3,)),
        size=run.pick((50, 200, 800), (50,)),
    )
    return {"points": run.rows(draw_points, every, trials=run.trials(20, 2))}


def judge(world: str, model: str, wrong: str, setting: str, trials: int) -> list[Row]:
    """Return the p-value and verdict with the estimated, the unknown and the exact prior."""
    from noneg import PUScores
    from noneg.calibration import calibration_test, debiased_ece
    from noneg.metrics import estimate
    from noneg.prior import estimate_prior
    from noneg.verdict import verdict_key

    s, y = worlds.scored(world, model)
    z = np.log(np.clip(s, 1e-6, 1 - 1e-6)) - np.log1p(-np.clip(s, 1e-6, 1 - 1e-6))
    s = s if wrong == "as it is" else 1.0 / (1.0 + np.exp(-worlds.WRONG[wrong](z)))
    error = debiased_ece(PUScores.from_labels(y, s))
    for draw in range(trials):
        exact = worlds.hidden(s, y, setting, seeded("judge", world, model, setting, draw))
        prior, found = exact.known_prior, estimate_prior(exact)
        row = {"draw": draw, "error": error, "prior": prior, "high": found.high}
        row["held"] = found.low <= prior <= found.high
        for name, scores in (("exact", exact), ("estimate", found.apply(exact))):
            p = calibration_test(scores).p_value
            far = estimate("debiased_ece", scores)
            key = verdict_key(far, prior=scores.known_prior, contradicted=False, rejected=p <= 0.05)
            row |= {f"p_{name}": p, f"verdict_{name}": key.removeprefix("verdict_")}
        yield row


def verdicts(run: Run) -> None:
    kinds = cells(wrong=tuple(worlds.WRONG), setting=SETTINGS)
    few = cells(wrong=("as it is", "too high"), setting=SETTINGS)
    models = [
        *((cell, kinds) for cell in cells(world=worlds.SYNTHETIC, model=("truth",))),
        *((cell, kinds) for cell in cells(world=worlds.REAL, model=worlds.MODELS)),
        *((cell, few) for cell in cells(world=worlds.REAL, model=worlds.MORE)),
    ]
    every = [cell | other for cell, others in run.pick(models, models[:1]) for other in others]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.resume("verdicts", partial(judge, trials=run.trials(4, 1)), every)


def many(way: str, prior: float, setting: str, *, fits: bool, trials: int) -> Row:
    """Return error, spread, coverage and alarms for a source of the prior other than scores."""
    rng = seeded("sources", way, prior, setting, fits)
    found = [worlds.WAYS[way](rng, prior, setting, fits=fits) for _ in range(trials)]
    value = np.array([one.value for one in found])
    return {
        "error": value.mean() - prior,
        "deviation": value.std(),
        "covered": np.mean([one.low <= prior <= one.high for one in found]),
        "alarms": np.mean([bool(one.warnings) for one in found]),
    }


def sources(run: Run) -> dict[str, list[Row]]:
    priors = run.pick((0.1, 0.3, 0.6), (0.3,))
    every = cells(
        way=("two views", "earlier period"), prior=priors, setting=SETTINGS, fits=(True, False)
    )
    alone = cells(way=("two sources", "review", "stratified review"), prior=priors)
    every += [cell | {"setting": "one-sample", "fits": True} for cell in alone]
    return {"sources": run.rows(many, every, trials=run.trials(500, 5))}


def ask_species(region: str, name: str, *, slow: bool = False) -> list[Row]:
    """Return every estimator's result for a species, and its prevalence in the survey."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    from noneg.prior import ESTIMATORS, FROM_SCORES, discriminate
    from noneg.prior.base import TrainedEstimator

    X, labeled, prevalence = worlds.survey(region, name)
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=0.1, max_iter=100))
    laws = discriminate(X, labeled, setting="two-sample", classifier=model)
    for method, kind in ESTIMATORS.items():
        if (method in SLOW) != slow:
            continue
        if method in FROM_SCORES:
            found = kind(resamples=20).fit(laws)
        else:
            trained = {"classifier": model} if issubclass(kind, TrainedEstimator) else {}
            found = kind(resamples=2, **trained).fit(X, labeled, setting="two-sample")
        yield {
            "method": method,
            "records": int(labeled.sum()),
            "prevalence": prevalence,
            "value": found.value,
            "low": found.low,
            "high": found.high,
        }


def nceas(run: Run) -> None:
    _nceas(run, slow=False)


def nceas_slow(run: Run) -> None:
    _nceas(run, slow=True)


def _nceas(run: Run, *, slow: bool) -> None:
    regions = run.pick(tuple(worlds.nceas.GROUPS), ("SA",))
    some = slice(FIRST if slow else None)
    every = [{"region": r, "name": name} for r in regions for name in worlds.species(r)[some]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.resume(
            "nceas",
            partial(ask_species, slow=slow),
            run.pick(every, every[:1]),
            lambda row: (row["method"] in SLOW) == slow,
        )


STUDY = Study(
    "prior_sets",
    parts=(sets, claims, points, verdicts, sources, nceas, nceas_slow),
    page="experiments.prior_sets.page",
    digits=5,
)
