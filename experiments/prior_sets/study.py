"""Does the stated set contain the true prior, and are the verdicts right?

``sets`` draws scores from known classes and runs the default estimator. ``points`` compares the
candidates for the default point estimate. ``verdicts`` hides labels of calibrated and miscalibrated
models. ``claims`` measures the rule for claiming an interval, and ``sources`` the other sources for
a prior. ``nceas`` runs every estimator on species whose prevalence is known from a survey.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from experiments.prior_sets import worlds
from experiments.prior_sets.worlds import IRREDUCIBLE  # noqa: F401 - of the template
from experiments.study import SETTINGS, Run, Study, cells, seeded
from experiments.tables import Row, Tables, averaged, column, distinct, percent, pick
from noneg import PUScores
from noneg.calibration import calibration_test, debiased_ece
from noneg.metrics import estimate
from noneg.prior import ESTIMATORS, FROM_SCORES, discriminate, estimate_prior, find_estimator
from noneg.prior.base import TrainedEstimator
from noneg.verdict import verdict_key

DRAWS = 200
# Takes seconds per species, mostly for the interval, so it is run on the first few of each region.
SLOW, FIRST = ("km1", "km2", "recpe-features"), 5


def estimates(world: str, prior: float, size: int, setting: str, rng, trials: int, **options):
    """Return results of the default method, without the point estimate inside its set."""
    drawn = (worlds.laws(world, prior, size, setting, rng) for _ in range(trials))
    return [estimate_prior(laws, method="quick", **options) for laws in drawn]


def covered(found: list, prior: float) -> float:
    """Return how often the prior is in the set."""
    return np.mean([one.low <= prior <= one.high for one in found])


def measure_sets(world: str, prior: float, size: int, setting: str, trials: int) -> Row:
    """Return how often the stated set contains the prior, and how often its upper end bounds it."""
    rng = seeded("sets", world, prior, size, setting)
    found = estimates(world, prior, size, setting, rng, trials)
    high = np.array([one.high for one in found])
    bounded = np.mean(prior <= high)
    return {"covered": covered(found, prior), "bounded": bounded, "median_high": np.median(high)}


def sets(run: Run) -> dict[str, list[Row]]:
    every = cells(
        world=worlds.WORLDS,
        prior=run.pick((0.02, 0.1, 0.3, 0.7), 0.3),
        size=run.pick((100, 400), 100),
        setting=SETTINGS,
    )
    return {"sets": run.rows(measure_sets, every, trials=run.trials(DRAWS, 5))}


def measure_claims(world: str, prior: float, size: int, trials: int) -> Row:
    """Return how often an interval is claimed if the user states that no negatives look like
    positives."""
    rng = seeded("claims", world, prior, size)
    found = estimates(world, prior, size, "two-sample", rng, trials, overlap=0.0)
    claimed = [one for one in found if not one.is_bound]
    inside = covered(claimed, prior) if claimed else np.nan
    return {"claimed": len(claimed) / trials, "inside": inside}


def claims(run: Run) -> dict[str, list[Row]]:
    priors, sizes = run.pick((0.05, 0.3, 0.7), 0.3), run.pick((400, 1600), 400)
    every = cells(world=worlds.IRREDUCIBLE, prior=priors, size=sizes)
    return {"claims": run.rows(measure_claims, every, trials=run.trials(100, 3))}


@averaged("method")
def measure_points(world: str, prior: float, size: int, trials: int) -> Iterator[Row]:
    """Yield the distance of point estimates from the prior, by method."""
    rng = seeded("points", world, prior, size)
    for _ in range(trials):
        laws = worlds.laws(world, prior, size, "two-sample", rng)
        methods, limit = map(find_estimator, ("dedpul", "quick", "bbe")), laws.largest_prior(0.95)
        dedpul, best, bin_ = (method.find(laws).share for method in methods)
        (tpr, _), (ppr, _) = laws.cuts()
        lowest = min(1.0, float((ppr / tpr).min()))
        found = {
            "largest compatible, tightest cut (quick)": best,
            "largest compatible, smallest ratio": lowest,
            "DEDPUL": dedpul,
            "DEDPUL, at most the largest compatible": min(dedpul, limit),
            "the smaller of quick and DEDPUL (the default)": min(dedpul, best),
            "best bin": bin_,
        }
        yield from ({"method": name, "error": abs(x - prior)} for name, x in found.items())


def points(run: Run) -> dict[str, list[Row]]:
    priors, sizes = run.pick((0.005, 0.05, 0.3, 0.7), 0.3), run.pick((50, 200, 800), 50)
    every = cells(world=worlds.WORLDS, prior=priors, size=sizes)
    return {"points": run.rows(measure_points, every, trials=run.trials(20, 2))}


def judge(world: str, model: str, wrong: str, setting: str, trials: int) -> list[Row]:
    """Return the p-value and verdict with the estimated, the unknown and the exact prior."""
    warnings.simplefilter("ignore")
    s, y = worlds.scored(world, model)
    if wrong != "as it is":
        s = expit(worlds.WRONG[wrong](logit(np.clip(s, 1e-6, 1 - 1e-6))))
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
    kinds = cells(wrong=worlds.WRONG, setting=SETTINGS)
    few = cells(wrong=("as it is", "too high"), setting=SETTINGS)
    models = [
        *((cell, kinds) for cell in cells(world=worlds.SYNTHETIC, model="truth")),
        *((cell, kinds) for cell in cells(world=worlds.REAL, model=worlds.MODELS)),
        *((cell, few) for cell in cells(world=worlds.REAL, model=worlds.MORE)),
    ]
    every = [cell | other for cell, others in run.pick(models, models[:1]) for other in others]
    run.resume("verdicts", judge, every, trials=run.trials(4, 1))


def many(way: str, prior: float, setting: str, *, fits: bool, trials: int) -> Row:
    """Return error, spread, coverage and alarms for a source of the prior other than scores."""
    rng = seeded("sources", way, prior, setting, fits)
    found = [worlds.WAYS[way](rng, prior, setting, fits=fits) for _ in range(trials)]
    value = np.array([one.value for one in found])
    return {
        "error": value.mean() - prior,
        "deviation": value.std(),
        "covered": covered(found, prior),
        "alarms": np.mean([bool(one.warnings) for one in found]),
    }


def sources(run: Run) -> dict[str, list[Row]]:
    priors, ways = run.pick((0.1, 0.3, 0.6), 0.3), ("two views", "earlier period")
    alone = ("two sources", "review", "stratified review")
    every = cells(way=ways, prior=priors, setting=SETTINGS, fits=(True, False))
    every += cells(way=alone, prior=priors, setting="one-sample", fits=True)
    return {"sources": run.rows(many, every, trials=run.trials(500, 5))}


def ask_species(region: str, name: str) -> Iterator[Row]:
    """Return every estimator's result for a species, and its prevalence in the survey."""
    warnings.simplefilter("ignore")
    X, labeled, prevalence = worlds.survey(region, name)
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=0.1, max_iter=100))
    laws = discriminate(X, labeled, setting="two-sample", classifier=model)
    left_out = () if name in worlds.species(region)[:FIRST] else SLOW
    for method, kind in ESTIMATORS.items():
        if method in left_out:
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
    every = [
        {"region": region, "name": name}
        for region in worlds.nceas.regions(*run.pick((), ("SA",)))
        for name in worlds.species(region)
    ]
    run.resume("nceas", ask_species, run.pick(every, every[:1]))


CALIBRATED, WRONG = 0.02, 0.05
OFF = ("off", "somewhat", "no")
TITLES = {"two-sample": "two samples", "one-sample": "one sample"}


def ranked(tables: Tables) -> list[Row]:
    """Return the mean errors of the point estimates, the best one first."""
    rows = tables("points")
    found = {m: column(pick(rows, method=m), "error") for m in distinct(rows, "method")}
    best = np.min(list(found.values()), axis=0)
    made = [
        {"method": m, "mean": x.mean(), "best": (x == best).sum()}
        | {"geometric": np.exp(np.log(x + 0.002).mean())}
        for m, x in found.items()
    ]
    return sorted(made, key=lambda row: row["mean"])


def rates(rows: list[Row]) -> list[str]:
    """Return how often tests reject and verdicts say off, and how often the set holds."""
    shares = []
    for name in ("exact", "estimate"):
        shares += [column(rows, f"p_{name}") < 0.05, [r[f"verdict_{name}"] in OFF for r in rows]]
    return [percent(np.mean(share)) for share in (*shares, column(rows, "held"))]


def judged(tables: Tables) -> dict[str, list[Row]]:
    rows = tables("verdicts")
    good = [r for r in rows if r["wrong"] == "as it is" and r["error"] <= CALIBRATED]
    return {"calibrated": good, "miscalibrated": [r for r in rows if r["error"] >= WRONG]}


def models(rows: list[Row]) -> int:
    return len({(r["world"], r["model"], r["wrong"]) for r in rows})


def error_and_share(rows: list[Row]) -> str:
    if not rows:
        return ""
    truth, value, low, high = (column(rows, x) for x in ("prevalence", "value", "low", "high"))
    inside = (low <= truth) & (truth <= high)
    return f"{np.abs(value - truth).mean():.3f} ({percent(inside.mean(), 0)})"


PARTS = (sets, claims, points, verdicts, sources, nceas)
STUDY = Study("prior_sets", PARTS, digits=5)
