"""Are estimates from 200 reviewed rows reliable? Errors, coverage, tests of labeling, real species.

``rmse`` compares the planned review with a simple random sample; ``coverage`` counts how often the
intervals contain the value for the table; ``labeling`` measures the test of random labeling and the
upper limit of the selection factor; ``looks`` follows confidence sequences over 1,000 looks;
``species`` reviews survey sites from the NCEAS benchmark.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, repeat

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from experiments import nceas
from experiments.study import Run, Study, cells, seeded
from experiments.tables import Row, averaged, records
from noneg import PUScores, estimate
from noneg.audit.estimates import Contrast, Draws, Review, interval
from noneg.audit.planning import Planner
from noneg.audit.reading import Answers
from noneg.audit.sequences import capital, equation
from noneg.audit.strata import Strata
from noneg.audit.targets import Target
from noneg.prior import estimate_prior
from noneg.tables.batches import Columns

# Distance between the classes in standard deviations, and the distortion of the log odds.
MODELS = {"good": (2.5, 1.0, 0.0), "poor": (1.0, 1.5, 0.5)}
LABELED = 0.3
ROWS = 50_000


@dataclass(frozen=True, eq=False)
class World:
    """Scores, labels, and which positives are labeled."""

    score: np.ndarray
    y: np.ndarray
    flags: np.ndarray
    setting: str = "one-sample"


def world(
    rng: np.random.Generator,
    *,
    prior: float,
    model: str,
    selection: float = 1.0,
    blind: float = 0.0,
    setting: str = "one-sample",
) -> World:
    """Draw a table; with selection, positives with high scores are labeled more often.

    Up to normalization, the density of labeled positives is between 1 / selection and selection
    times that of hidden ones. The model is blind to a share of the positives: they look like
    negatives, and none of them is labeled.
    """
    distance, slope, shift = MODELS[model]
    y = rng.random(ROWS) < prior
    seen = y & (rng.random(ROWS) >= blind)
    x = rng.normal(size=ROWS) + distance * seen
    odds = logit(prior) + distance * x - distance**2 / 2.0
    score = expit(slope * odds + shift)
    tilt = selection ** np.clip(x - distance, -1.0, 1.0)
    flags = seen & (rng.random(ROWS) < LABELED * tilt / max(1.0, LABELED * selection))
    if setting == "one-sample":
        return World(score, y, flags)
    # A sample of everyone, and the labeled positives as a separate sample.
    return two_samples(score, y, score[flags])


def two_samples(score: np.ndarray, y: np.ndarray, labeled: np.ndarray) -> World:
    """Return a table of everyone, followed by the scores of the labeled positives."""
    own = np.repeat([False, True], [score.size, labeled.size])
    every = np.concatenate([score, labeled]), np.concatenate([y, np.ones(labeled.size, bool)])
    return World(*every, own, "two-sample")


class Planned:
    """A table with a plan, from which reviews can be drawn repeatedly."""

    def __init__(self, table, targets, budget, prior, *, bend=1.0, simple=False):
        columns = Columns(table.score, table.flags, None)
        self.plan = Planner(columns, table.setting, prior, None, tuple(targets), budget, 0)
        self.census, pool = self.plan.census, self.plan.pool
        if bend != 1.0:
            self.plan.pool = replace(pool, hidden=expit(bend * logit(pool.hidden)))
        self.features = pool.features
        if simple:
            self.plan.strata = one_stratum(self.features, budget)
        self.y = table.y[pool.row].astype(float)
        self.table, self.targets = table, targets
        self.truth = self.value(self.y @ self.features)

    def value(self, totals: np.ndarray) -> np.ndarray:
        """Return every target, given the totals of the unlabeled positives."""
        every = self.census.known + totals
        return np.array([t.value(self.census, every) for t in self.targets], dtype=float)

    def review(self, rng):
        strata = self.plan.strata
        rows = strata.draw(rng)
        at = strata.of_row[rows]
        weight = (strata.size / strata.count)[at]
        return Review(at, weight, self.features[rows], self.y[rows], strata.size, strata.corners)

    def answers(self, rng, *, sequential=False):
        """Return a review with everything that `noneg.audit.read` would have."""
        self.plan.seed = int(rng.integers(2**31))
        design = self.plan.design(sequential=sequential, sizes=[], source={})
        code = self.table.y[np.array(design.id, dtype=np.intp)].astype(np.intp)
        return Answers(design, code, 0, 0)


def plans(trials: int, make: Callable[[], Planned]) -> Iterator[Planned]:
    """Yield a plan for every review; several reviews share a table."""
    for _ in range(max(1, trials // REVIEWS)):
        yield from repeat(make(), min(REVIEWS, trials))


def one_stratum(features: np.ndarray, budget: int) -> Strata:
    """Return one stratum of all rows: a simple random sample."""
    rows, corners = len(features), features[[0, -1]][None]
    return Strata(np.zeros(rows, np.intp), np.array([float(rows)]), np.ones(1), [budget], corners)


def targets(*names):
    return [Target.parse(name) for name in names]


PRIORS = (0.005, 0.02, 0.1, 0.2)
BUDGETS = (50, 200, 1000)
NAMES = ("prior", "precision", "recall", "auroc", "ece")
LABELING = {"random": {}, "selected": {"selection": 2.0}, "blind": {"blind": 0.3}}
# Reviews of one table.
REVIEWS = 40
DRAWS, SLACK = 400, 1e-9
RMSE = ("prior", "precision@0.3", "recall@0.3")
GUESSES = {
    "random labeling": {},
    "wrong guess": {"bend": 1.5},
    "selected labeling": {"selection": 2.0},
}


def error(design: str, case: str, trials: int) -> list[dict]:
    """Return the error of each metric for one case and design, over many reviews."""
    options = dict(GUESSES[case])
    rng, selection = seeded("rmse", case), options.pop("selection", 1.0)
    aims = targets(*(RMSE if design in ("together", "simple") else [design]))

    def plan() -> Planned:
        table = world(rng, prior=0.02, model="good", selection=selection)
        return Planned(table, aims, 200, 0.02, simple=design == "simple", **options)

    gaps = []
    for one in plans(trials, plan):
        with np.errstate(invalid="ignore"):
            found = np.clip(one.value(one.review(rng).totals), 0, 1)
        gaps.append(np.nan_to_num(found) - one.truth)
    size = np.sqrt(np.mean(np.square(gaps), axis=0))
    return records(target=map(str, aims), rmse=size, trials=len(gaps))


def rmse(run: Run) -> dict[str, list]:
    every = cells(design=["simple", *RMSE, "together"], case=GUESSES)
    return {"rmse": run.rows(error, every, trials=run.trials(400, 20))}


@averaged("target", count="trials")
def cover(
    prior: float, model: str, labeling: str, setting: str, budget: int, trials: int
) -> Iterator[Row]:
    """Yield whether the intervals in one cell contain the value for the table."""
    rng = seeded("coverage", prior, model, labeling, setting, budget)

    def plan() -> Planned:
        table = world(rng, prior=prior, model=model, setting=setting, **LABELING[labeling])
        return Planned(table, at_quantile(table, prior, *NAMES), budget, prior)

    for one in plans(trials, plan):
        review = one.review(rng)
        draws = Draws(review, rng, DRAWS)
        for name, aim, truth in zip(NAMES, one.targets, one.truth, strict=True):
            ends = interval(aim, one.census, draws, 0.95)
            from_low, to_high = ends.low - SLACK <= truth, truth <= ends.high + SLACK
            yield {
                "target": name,
                "coverage": from_low and to_high,
                "below": not from_low,
                "above": not to_high,
                "width": ends.high - ends.low,
                "positives_found": review.y.sum(),
            }


def at_quantile(table: World, prior: float, *names: str) -> list[Target]:
    """Return targets, with precision and recall where the share above the threshold is the
    prior."""
    at = float(np.quantile(table.score[~table.flags], 1.0 - prior))
    return targets(*(f"{n}@{at}" if n in ("precision", "recall") else n for n in names))


def coverage(run: Run) -> None:
    every = cells(
        prior=run.pick(PRIORS, (0.02,)),
        model=MODELS,
        labeling=LABELING,
        setting=("one-sample", "two-sample"),
        budget=run.pick(BUDGETS, (50, 200)),
        trials=run.trials(400, 20),
    )
    # The setting matters if positives are so rare that a review may find none.
    every = [
        cell
        for cell in every
        if cell["setting"] == "one-sample" or (cell["prior"] < 0.1 and cell["labeling"] == "random")
    ]
    run.resume("coverage", cover, sorted(every, key=lambda cell: cell["budget"]))


def judge(
    prior: float, model: str, setting: str, selection: float, budget: int, trials: int
) -> dict:
    """Return how often labeling is flagged as selective, and how often the limit holds."""
    rng = seeded("labeling", prior, model, setting, selection, budget)
    p, factors, fused = [], [], []

    def plan() -> Planned:
        table = world(rng, prior=prior, model=model, selection=selection, setting=setting)
        return Planned(table, at_quantile(table, prior, "prior", "recall", "auroc"), budget, prior)

    for one in plans(trials, plan):
        answers = one.answers(rng)
        draws = Draws(answers.review(answers.code == 1), rng, DRAWS)
        contrast = Contrast(answers, draws, rng)
        for aim, value in zip(one.targets[1:], one.truth[1:], strict=True):
            alone = interval(aim, one.census, draws, 0.95)
            both = contrast.agreement(aim, alone)
            p.append(both.p_value)
            if both.fused is not None:
                ends = both.fused.low <= value <= both.fused.high
                fused.append((ends, both.fused.high - both.fused.low, alone.high - alone.low))
        truth, limit = _factor(one), contrast.selection(0.95).high
        factors.append((limit >= truth, limit))
    rejected = (np.reshape(p, (-1, 2)) < 0.05).mean(axis=0)
    held, limits = np.array(factors).T
    kept = np.array(fused).mean(axis=0) if fused else [np.nan] * 3
    return {
        "rejected_recall": rejected[0],
        "rejected_auroc": rejected[1],
        "true_factor": truth,
        "factor_held": held.mean(),
        "factor_limit": np.median(limits),
        "fused_coverage": kept[0],
        "width_ratio": kept[1] / kept[2],
        "trials": len(limits),
    }


def _factor(plan: Planned) -> float:
    """Return the selection factor of a table for the score ranges that are compared."""
    table = plan.table
    labeled, hidden = table.score[table.flags], plan.plan.pool.score[plan.y > 0]
    cuts = np.quantile(labeled, [1 / 3, 2 / 3])
    share = [np.bincount(np.searchsorted(cuts, s), minlength=3) / s.size for s in (labeled, hidden)]
    ratio = np.maximum(share[1], 1e-9) / share[0]
    return float(np.maximum(ratio, 1.0 / ratio).max())


def labeling(run: Run) -> dict[str, list]:
    settings, factors = ("one-sample", "two-sample"), (1.0, 2.0)
    every = cells(prior=(0.02, 0.1), model="good", setting=settings, selection=factors, budget=200)
    every += cells(prior=0.02, model="good", setting=settings[0], selection=factors, budget=1000)
    return {"labeling": run.rows(judge, every, trials=run.trials(400, 20))}


@averaged()
def follow(prior: float, model: str, target: str, trials: int, looks: int) -> Iterator[Row]:
    """Yield whether a confidence sequence ever excludes the value for the table."""
    rng = seeded("looks", prior, model, target)

    def plan() -> Planned:
        table = world(rng, prior=prior, model=model)
        at = float(np.quantile(table.score, 1.0 - prior))
        aims = targets(target if target == "prior" else f"{target}@{at}")
        return Planned(table, aims, looks, prior)

    for one in plans(trials, plan):
        answers = one.answers(rng, sequential=True)
        theta = np.concatenate([one.truth, np.linspace(0.0, 1.0, 51)])
        most = capital(answers, *equation(one.targets[0], one.census, theta), 0.05).max(axis=0)
        ever = most >= np.log(2.0 / 0.05)
        yield {"excluded": ever[0], "width": (~ever[1:]).mean()}


def looks(run: Run) -> None:
    numbers = {"trials": run.trials(200, 20), "looks": run.pick(1000, 100)}
    names = ("recall", "prior", "precision")
    run.resume("looks", follow, cells(prior=0.02, model="good", target=names, **numbers))


# Survey sites of real species as the oracle.
REGIONS = ("NZ", "SWI", "SA", "AWT")
SITES = (100, 200, 400)
RECORDS, PRESENCES, REPEATS = 60, 10, 10


@averaged("species", "reviews")
def review(region: str, *, quick: bool) -> Iterator[Row]:
    """Yield the errors in AUROC and prior before and after reviews, for each species in a
    region."""
    for species in islice(nceas.species(region, RECORDS, PRESENCES), 2 if quick else None):
        model = LogisticRegression(max_iter=300, class_weight="balanced")
        score = species.scorer(model, species.records)
        known, sites = score(species.records), score(species.sites)
        rng = seeded("species", region, species.name)
        pu = PUScores(known, sites, setting="two-sample")
        pu = estimate_prior(pu).apply(pu)
        table, aims = two_samples(sites, species.present, known), targets("prior", "auroc")
        for budget in (n for n in SITES if n < 0.7 * sites.size):
            plan = Planned(table, aims, budget, pu.known_prior)
            for _ in range(REPEATS):
                yield {"species": species.name, "reviews": budget} | one_review(plan, pu, rng)


def one_review(plan: Planned, pu: PUScores, rng: np.random.Generator) -> Row:
    """Return the errors of prior and AUROC, before a review and after it."""
    draws, (prior, area) = Draws(plan.review(rng), rng, 1000), plan.truth
    found = [interval(aim, plan.census, draws, 0.95) for aim in plan.targets]
    return {
        "prior": prior,
        "auroc": area,
        "prior_before": abs(pu.known_prior - prior),
        "prior_after": abs(found[0].value - prior),
        "prior_held": found[0].low <= prior <= found[0].high,
        "auroc_before": abs(float(estimate("auroc", pu).value) - area),
        # Without a positive, the area is as uncertain as for a random score.
        "auroc_after": abs(np.nan_to_num(found[1].value, nan=0.5) - area),
        "auroc_held": found[1].low <= area <= found[1].high,
    }


def species(run: Run) -> dict[str, list]:
    return {"species": run.rows(review, cells(region=nceas.regions(*REGIONS)), quick=run.quick)}


# Coverage that 95% intervals should have.
LEAST, MOST = 0.93, 0.98


STUDY = Study("audit", (rmse, coverage, labeling, looks, species), optional=("species",))
