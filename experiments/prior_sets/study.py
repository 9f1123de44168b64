"""Does the true prior lie in the set that an estimate states, and are verdicts right on it?

``sets`` draws scores of known classes and asks the default estimator. ``points`` compares the point
estimates that could be the default. ``verdicts`` hides labels of calibrated and of miscalibrated
models. ``nceas`` asks every estimator about species whose prevalence a survey tells.
"""

import warnings

import numpy as np

from experiments.prior_sets import worlds
from experiments.study import Run, Study, cells, seeded
from experiments.tables import Row

DRAWS = 200


def draw_sets(world: str, prior: float, size: int, setting: str, trials: int) -> Row:
    """Return how often the stated set holds the prior, and how often its upper end bounds it."""
    from noneg.prior import estimate_prior

    rng = seeded("sets", world, prior, size, setting)
    stated, bounded, claimed, inside, high = [], [], [], [], []
    for _ in range(trials):
        laws = worlds.laws(world, prior, size, setting, rng)
        found = estimate_prior(laws)
        stated.append(found.low <= prior <= found.high)
        bounded.append(prior <= found.high)
        high.append(found.high)
        sure = estimate_prior(laws, overlap=0.0)
        claimed.append(not sure.is_bound)
        if not sure.is_bound:
            inside.append(sure.low <= prior <= sure.high)
    return {
        "covered": np.mean(stated),
        "bounded": np.mean(bounded),
        "median_high": float(np.median(high)),
        "claimed": np.mean(claimed),
        "inside": np.mean(inside) if inside else np.nan,
    }


def sets(run: Run) -> dict[str, list[Row]]:
    every = cells(
        world=worlds.WORLDS,
        prior=run.pick((0.02, 0.1, 0.3, 0.7), (0.3,)),
        size=run.pick((100, 400), (100,)),
        setting=("two-sample", "one-sample"),
    )
    return {"sets": run.rows(draw_sets, every, trials=run.trials(DRAWS, 5))}


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
        "largest compatible, tightest cut (default)",
        "largest compatible, smallest ratio",
        "DEDPUL",
        "DEDPUL, at most the largest compatible",
        "the smaller of DEDPUL and the default",
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
    """Return p-value and verdict with the estimated, the unknown and the exact prior."""
    from noneg import PUScores
    from noneg.calibration import calibration_test, debiased_ece
    from noneg.metrics import estimate
    from noneg.prior import estimate_prior
    from noneg.report.words import verdict_key

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


def verdicts(run: Run) -> dict[str, list[Row]]:
    real = cells(world=worlds.REAL, model=worlds.MODELS)
    every = real + cells(world=worlds.SYNTHETIC, model=("truth",))
    every = [
        cell | other
        for cell in run.pick(every, every[-1:])
        for other in cells(wrong=tuple(worlds.WRONG), setting=("two-sample", "one-sample"))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"verdicts": run.rows(judge, every, trials=run.trials(4, 1))}


STUDY = Study(
    "prior_sets",
    parts=(sets, points, verdicts),
    page="experiments.prior_sets.page",
    digits=5,
)
