"""Do the intervals of all metrics hold with 30 to 300 labeled positives, at rare and common priors?

Worlds are finite laws with known labels, so that the truth is exact: scores with ties, with exact
zeros and ones, nearly useless, nearly perfect, and worst where they are surest. Rows are drawn from
them with replacement, in both settings, with importance weights and with unequal labeling rates.
"""

from functools import cache

import numpy as np
from scipy.special import expit, ndtri

from experiments.study import Run, Study, cells, seeded
from experiments.tables import Tables, column, pick, table
from noneg.calibration import calibration_test
from noneg.metrics import METRICS, RECOMMENDED
from noneg.report.words import WIDE, scale
from noneg.scores import PUScores

ROWS = 20_000  # of each class in a world
PRIORS = (0.005, 0.05, 0.3, 0.6)
NAMES = [name for name, one in METRICS.items() if one.family != "calibration error"]
ROUNDING = 1e-9
SETTINGS = ("two-sample", "one-sample", "importance", "propensity")


def gaussian(auc: float, prior: float, sharpness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of negatives and positives; with sharpness 1 they are calibrated."""
    d = np.sqrt(2.0) * ndtri(auc)
    x = ndtri((np.arange(ROWS) + 0.5) / ROWS)
    offset = np.log(prior / (1.0 - prior))
    return tuple(expit(sharpness * (offset + d * (x + shift))) for shift in (-d / 2, d / 2))


def five(auc: float, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Five distinct scores."""
    groups = gaussian(auc, prior)
    cuts = np.quantile(np.concatenate(groups), [0.3, 0.55, 0.75, 0.9])
    values = np.array([0.05, 0.2, 0.4, 0.6, 0.9])
    return tuple(values[np.searchsorted(cuts, s)] for s in groups)


def saturated(auc: float, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """More than a third of the scores are exactly 0 or 1, some of them wrong."""
    groups = gaussian(auc, prior)
    low, high = np.quantile(np.concatenate(groups), [0.25, 0.85])
    return tuple(np.where(s < low, 0.0, np.where(s > high, 1.0, s)) for s in groups)


def wavy(auc: float, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """The share of positives falls where scores rise, at the top and in the middle."""
    groups = gaussian(auc, prior)
    place = [np.searchsorted(np.sort(np.concatenate(groups)), s) / (2 * ROWS) for s in groups]
    return tuple(np.clip(p + 0.12 * np.sin(9.0 * p), 0.0, 1.0) for p in place)


WORLDS = {
    "calibrated": lambda prior: gaussian(0.8, prior),
    "useless": lambda prior: gaussian(0.55, prior),
    "perfect": lambda prior: gaussian(0.99, prior),
    "overconfident": lambda prior: gaussian(0.85, prior, 3.0),
    "five": lambda prior: five(0.8, prior),
    "saturated": lambda prior: saturated(0.85, prior),
    "wavy": lambda prior: wavy(0.85, prior),
}


@cache
def population(world: str, prior: float) -> tuple[np.ndarray, np.ndarray]:
    return WORLDS[world](prior)


@cache
def truth(world: str, prior: float) -> dict[str, float]:
    """Return every metric of a world, from all its labels."""
    negative, positive = population(world, prior)
    labels = np.repeat([0, 1], ROWS)
    weight = np.repeat([1.0 - prior, prior], ROWS)
    scores = np.concatenate([negative, positive])
    every = PUScores.from_labels(labels, scores, sample_weight=weight, weight_kind="importance")
    return {name: METRICS[name].function(every) for name in NAMES} | proxies(every, prior)


def proxies(scores: PUScores, prior: float) -> dict[str, float]:
    """Return the targets that the labeling changes."""
    auc = METRICS["auroc"].function(scores)
    return {"proxy_auc": (1.0 - prior) * auc + prior / 2.0}


def draw(
    world: str, prior: float, n_positive: int, n_unlabeled: int, setting: str, seed: int
) -> PUScores:
    """Return rows of a world; in one sample with this many labeled positives on average."""
    rng = seeded(world, prior, n_positive, n_unlabeled, setting, seed)
    negative, positive = population(world, prior)
    hidden = rng.random(n_unlabeled) < prior
    rows = np.where(hidden, rng.choice(positive, n_unlabeled), rng.choice(negative, n_unlabeled))
    if setting == "one-sample":
        labeled = hidden & (rng.random(n_unlabeled) < n_positive / (prior * n_unlabeled))
        labeled[rng.choice(np.flatnonzero(hidden), 2, replace=False)] = True
        return PUScores.from_pu_labels(labeled, rows, prior=prior, setting="one-sample")
    options = {}
    known = rng.choice(positive, n_positive)
    if setting == "importance":
        rates = [rng.lognormal(0.0, 0.6, n) for n in (n_positive, n_unlabeled)]
        options = {"positive_weight": rates[0], "unlabeled_weight": rates[1]}
        options["weight_kind"] = "importance"
    if setting == "propensity":
        rate = 0.15 + 0.8 * positive
        known = rng.choice(positive, n_positive, p=rate / rate.sum())
        options = {"propensity": 0.15 + 0.8 * known}
    return PUScores(known, rows, prior=prior, setting="two-sample", **options)


def measure(world: str, prior: float, trials: int, **sizes: object) -> list[dict[str, object]]:
    """Return coverage, misses on each side and widths of every metric in one cell."""
    target = truth(world, prior)
    if sizes["setting"] == "one-sample":
        labeled = sizes["n_positive"] / sizes["n_unlabeled"]
        rest = max(prior - labeled, 0.0) / (1.0 - labeled)
        target = target | {"proxy_auc": (1.0 - rest) * target["auroc"] + rest / 2.0}
    names = [name for name in NAMES if np.isfinite(target[name])]
    found = {name: np.full((trials, 3), np.nan) for name in names}
    for trial in range(trials):
        scores = draw(world, prior, seed=trial, **sizes)
        for name in names:
            one = METRICS[name].interval(scores, level=0.95)
            found[name][trial] = one.low, one.high, one.value if one.raw is None else one.raw
    return [summary(name, target[name], *found[name].T) for name in names]


def summary(
    name: str, target: float, low: np.ndarray, high: np.ndarray, raw: np.ndarray
) -> dict[str, object]:
    below, above = target < low - ROUNDING, target > high + ROUNDING
    defined = raw[np.isfinite(raw)]
    return {
        "metric": name,
        "target": target,
        "coverage": 1.0 - np.mean(below | above),
        "below_low": below.mean(),
        "above_high": above.mean(),
        "width": np.mean(high - low),
        "oracle": 3.92 * defined.std() if defined.size else np.nan,
    }


def every_cell() -> list[dict[str, object]]:
    """Return the cells: all worlds in two samples, some of them in the other settings."""
    plain = cells(world=WORLDS, prior=PRIORS, n_positive=(30, 100, 300), n_unlabeled=(3000,))
    plain += cells(world=WORLDS, prior=PRIORS, n_positive=(30,), n_unlabeled=(30_000,))
    other = cells(
        world=("calibrated", "saturated", "overconfident"),
        prior=(0.05, 0.3, 0.6),
        n_positive=(30, 100),
        n_unlabeled=(3000,),
        setting=SETTINGS[1:],
    )
    # In one sample not more positives can be labeled than there are.
    return [cell | {"setting": "two-sample"} for cell in plain] + [
        cell
        for cell in other
        if cell["setting"] != "one-sample" or cell["n_positive"] < 0.8 * cell["prior"] * 3000
    ]


def coverage(run: Run) -> None:
    trials = run.trials(100, 10)
    chosen = [cell | {"trials": trials} for cell in every_cell()]
    seeded("order").shuffle(chosen)
    run.resume("coverage", measure, run.pick(chosen, chosen[::40]))


SAID = ("fine", "cannot tell", "off")


def verdict(world: str, prior: float, n_positive: int, trials: int) -> dict[str, object]:
    """Return how often the report calls the scores of one cell fine, off, or cannot tell."""
    said = dict.fromkeys(SAID, 0)
    for trial in range(trials):
        scores = draw(world, prior, n_positive, 10_000, "two-sample", trial)
        error = METRICS[RECOMMENDED].interval(scores, level=0.95)
        test = calibration_test(scores, statistic="both", replicates=199)
        wide = error.high > WIDE * scale(prior)
        said["off" if test.p_value <= 0.05 else SAID[wide]] += 1
    shares = {name: count / trials for name, count in said.items()}
    # A miscalibrated world may be "off" or "cannot tell", a calibrated one "fine" or the latter.
    return shares | {"wrong": shares["off" if world == "calibrated" else "fine"], "trials": trials}


def verdicts(run: Run) -> dict[str, list]:
    every = cells(
        world=("calibrated", "overconfident"), prior=PRIORS, n_positive=(30, 100, 300, 1000)
    )
    return {"verdicts": run.rows(verdict, run.pick(every, every[:2]), trials=run.trials(60, 5))}


def show_coverage(tables: Tables) -> str:
    """Return a line for every metric: how its coverage is spread over the cells."""
    rows = tables("coverage")
    lines = []
    for name in dict.fromkeys(row["metric"] for row in rows):
        mine = pick(rows, metric=name)
        found = column(mine, "coverage")
        moving = [row for row in mine if row["oracle"] > 0.0]
        ratio = np.median([row["width"] / row["oracle"] for row in moving])
        words = [f"{100 * x:.0f}" for x in (found.mean(), found.min(), np.mean(found >= 0.9))]
        lines.append([METRICS[name].title, str(found.size), *words, f"{ratio:.2f}"])
    return table("metric | cells | mean % | least % | cells at 90 % or more, % | width", lines)


STUDY = Study("few_rows", (coverage, verdicts), __name__, optional=("verdicts",))
