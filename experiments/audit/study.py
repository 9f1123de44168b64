"""Are estimates from 200 reviewed rows reliable? Errors, coverage, tests of labeling, real species.

``rmse`` compares the planned review with a simple random sample; ``coverage`` counts how often the
intervals contain the value for the table; ``labeling`` measures the test of random labeling and the
upper limit of the selection factor; ``looks`` follows confidence sequences over 1,000 looks;
``species`` reviews survey sites from the NCEAS benchmark.
"""

import numpy as np

from experiments.audit.species import species
from experiments.audit.worlds import Planned, targets, world
from experiments.study import Run, Study, cells, seeded
from noneg.audit.estimates import Contrast, Draws, interval
from noneg.audit.sequences import Bets, equation

PRIORS = (0.005, 0.02, 0.1, 0.2)
BUDGETS = (50, 200, 1000)
NAMES = ("prior", "precision", "recall", "auroc", "ece")
LABELING = {"random": {}, "selected": {"selection": 2.0}, "blind": {"blind": 0.3}}
# Reviews of one table.
REVIEWS = 40
DRAWS = 400
RMSE = ("prior", "precision@0.3", "recall@0.3")
GUESSES = {
    "random labeling": {},
    "wrong guess": {"bend": 1.5},
    "selected labeling": {"selection": 2.0},
}


def error(design: str, case: str, trials: int) -> list[dict]:
    """Return the error of each metric for one case and design, over many reviews."""
    options = dict(GUESSES[case])
    selection = options.pop("selection", 1.0)
    rng, gaps = seeded("rmse", case), []
    for _ in range(max(1, trials // REVIEWS)):
        table = world(rng, prior=0.02, model="good", selection=selection)
        aims = targets(*(RMSE if design in ("together", "simple") else [design]))
        plan = Planned(table, aims, 200, 0.02, simple=design == "simple", **options)
        for _ in range(min(REVIEWS, trials)):
            review = plan.review(rng)
            totals = plan.census.known + review.totals
            with np.errstate(invalid="ignore"):
                found = [
                    float(np.nan_to_num(np.clip(t.value(plan.census, totals), 0, 1))) for t in aims
                ]
            gaps.append([x - plan.truth[str(t)] for t, x in zip(aims, found, strict=True)])
    size = np.sqrt(np.mean(np.square(gaps), axis=0))
    return [
        {"target": str(t), "rmse": x, "trials": len(gaps)} for t, x in zip(aims, size, strict=True)
    ]


def rmse(run: Run) -> dict[str, list]:
    every = cells(design=["simple", *RMSE, "together"], case=list(GUESSES))
    return {"rmse": run.rows(error, every, trials=run.trials(400, 20))}


def cover(
    prior: float, model: str, labeling: str, setting: str, budget: int, trials: int
) -> list[dict]:
    """Return how often the intervals in one cell contain the value for the table."""
    rng, found = seeded("coverage", prior, model, labeling, setting, budget), []
    for _ in range(max(1, trials // REVIEWS)):
        table = world(rng, prior=prior, model=model, setting=setting, **LABELING[labeling])
        at = float(np.quantile(table.score[~table.flags], 1.0 - prior))
        aims = targets("prior", f"precision@{at}", f"recall@{at}", "auroc", "ece")
        plan = Planned(table, aims, budget, prior)
        for _ in range(min(REVIEWS, trials)):
            review = plan.review(rng)
            draws = Draws(review, rng, DRAWS)
            row = []
            for aim in aims:
                one, truth = interval(aim, plan.census, draws, 0.95), plan.truth[str(aim)]
                slack = 1e-9
                row.append(
                    (one.low - slack <= truth, truth <= one.high + slack, one.high - one.low)
                )
            found.append((review.y.sum(), row))
    inside = np.array([row for _, row in found], dtype=float)
    positives = np.mean([k for k, _ in found])
    return [
        {
            "target": name,
            "coverage": (inside[:, k, 0] * inside[:, k, 1]).mean(),
            "below": 1.0 - inside[:, k, 0].mean(),
            "above": 1.0 - inside[:, k, 1].mean(),
            "width": inside[:, k, 2].mean(),
            "positives_found": positives,
            "trials": len(found),
        }
        for k, name in enumerate(NAMES)
    ]


def coverage(run: Run) -> None:
    every = cells(
        prior=run.pick(PRIORS, (0.02,)),
        model=["good", "poor"],
        labeling=list(LABELING),
        setting=["one-sample", "two-sample"],
        budget=run.pick(BUDGETS, (50, 200)),
        trials=[run.trials(400, 20)],
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
    p, held, limits, fused = [], [], [], []
    for _ in range(max(1, trials // REVIEWS)):
        table = world(rng, prior=prior, model=model, selection=selection, setting=setting)
        at = float(np.quantile(table.score[~table.flags], 1.0 - prior))
        aims = targets("prior", f"recall@{at}", "auroc")
        plan = Planned(table, aims, budget, prior)
        truth = _factor(table, plan)
        for _ in range(min(REVIEWS, trials)):
            answers = plan.answers(rng)
            draws = Draws(answers.review(answers.code == 1), rng, DRAWS)
            contrast = Contrast(answers, draws, rng)
            row = []
            for aim in aims[1:]:
                alone = interval(aim, plan.census, draws, 0.95)
                both = contrast.agreement(aim, alone)
                row.append(both.p_value)
                if both.fused is not None:
                    value = plan.truth[str(aim)]
                    ends = both.fused.low <= value <= both.fused.high
                    fused.append((ends, both.fused.high - both.fused.low, alone.high - alone.low))
            p.append(row)
            factor = contrast.selection(0.95)
            held.append(factor.high >= truth)
            limits.append(factor.high)
    rejected = (np.array(p) < 0.05).mean(axis=0)
    kept = np.array(fused).mean(axis=0) if fused else [np.nan] * 3
    return {
        "rejected_recall": rejected[0],
        "rejected_auroc": rejected[1],
        "true_factor": truth,
        "factor_held": np.mean(held),
        "factor_limit": np.median(limits),
        "fused_coverage": kept[0],
        "width_ratio": kept[1] / kept[2],
        "trials": len(p),
    }


def _factor(table, plan) -> float:
    """Return the selection factor of a table for the score ranges that are compared."""
    labeled, hidden = table.score[table.flags], plan.pool.score[plan.y > 0]
    cuts = np.quantile(labeled, [1 / 3, 2 / 3])
    share = [np.bincount(np.searchsorted(cuts, s), minlength=3) / s.size for s in (labeled, hidden)]
    ratio = np.maximum(share[1], 1e-9) / share[0]
    return float(np.maximum(ratio, 1.0 / ratio).max())


def labeling(run: Run) -> dict[str, list]:
    settings = ["one-sample", "two-sample"]
    every = cells(
        prior=[0.02, 0.1], model=["good"], setting=settings, selection=[1.0, 2.0], budget=[200]
    )
    every += cells(
        prior=[0.02], model=["good"], setting=settings[:1], selection=[1.0, 2.0], budget=[1000]
    )
    return {"labeling": run.rows(judge, every, trials=run.trials(400, 20))}


def follow(prior: float, model: str, target: str, trials: int, looks: int) -> list[dict]:
    """Return how often a confidence sequence ever excludes the value for the table."""
    rng, missed, width = seeded("looks", prior, model, target), [], []
    for _ in range(max(1, trials // REVIEWS)):
        table = world(rng, prior=prior, model=model)
        at = float(np.quantile(table.score, 1.0 - prior))
        aim = targets(target if target == "prior" else f"{target}@{at}")[0]
        plan = Planned(table, [aim], looks, prior)
        truth = plan.truth[str(aim)]
        theta = np.concatenate([[truth], np.linspace(0.0, 1.0, 51)])
        for _ in range(min(REVIEWS, trials)):
            answers = plan.answers(rng, sequential=True)
            bets = Bets(answers, answers.code.astype(float))
            capital = bets.capital(*equation(aim, plan.census, theta), 0.05)
            ever = capital.max(axis=0) >= np.log(2.0 / 0.05)
            missed.append(ever[0])
            width.append((~ever[1:]).mean())
    return [{"excluded": np.mean(missed), "width": np.mean(width)}]


def looks(run: Run) -> None:
    every = cells(
        prior=[0.02],
        model=["good"],
        target=["recall", "prior", "precision"],
        trials=[run.trials(200, 20)],
        looks=[run.pick(1000, 100)],
    )
    run.resume("looks", follow, every)


STUDY = Study(
    "audit",
    parts=(rmse, coverage, labeling, looks, species),
    page="experiments.audit.page",
    optional=("species",),
)
