"""Do intervals for all metrics cover with 30 to 300 labeled positives and any prior?

Populations are finite distributions with known labels, so the truth is exact: scores with ties,
with exact zeros and ones, nearly useless, nearly perfect, and worst where they are most extreme.
Rows are drawn from them with replacement, in both settings, with importance weights and with
unequal labeling rates.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter

import numpy as np
from scipy.special import betaincinv, expit, ndtri, stdtrit
from scipy.stats import binom

from experiments.study import Run, Study, cells, seeded
from experiments.tables import Row, Tables, averaged, read
from noneg.calibration import calibration_test
from noneg.intervals import UNTRUSTED
from noneg.metrics import METRICS, RECOMMENDED
from noneg.scores import PUScores
from noneg.verdict import CODES, verdict_key

ROWS = 20_000  # per class in a population
PRIORS = (0.005, 0.05, 0.3, 0.6)
# One minus another metric, or a multiple of it.
TWINS = ("risk", "false_positive_rate", "proxy_accuracy", "recall_at")
NAMES = [n for n, one in METRICS.items() if one.family != "calibration error" and n not in TWINS]
# A metric that takes as long as all others together is measured in only some of the draws.
COSTLY, EVERY = ("calibration_slope",), 2
SOME = 4  # one in this many draws is also tested with the grouped chi-square test
FRESH = 10_000  # the first draw of cells that are measured again, after all draws of the table
ROUNDING = 1e-9
# Coverage that nominal 95% intervals should have in almost every cell, and in every cell.
WANTED, LEAST = (0.93, 0.985), 0.9
# Shares of calibrated scores that a test at 5% should reject.
SIZES = (0.03, 0.07)
SETTINGS = ("two-sample", "one-sample", "importance", "propensity")
KEYS = ("world", "prior", "n_positive", "n_unlabeled", "setting")
# Shares of the rows below each row of a class, and the normal quantiles there.
PLACES = (np.arange(ROWS) + 0.5) / ROWS
NORMAL = ndtri(PLACES)
# Scores of negatives and positives.
Classes = tuple[np.ndarray, np.ndarray]


def two_normal(
    auc: float, prior: float, sharpness: float = 1.0, spread: float = 1.0, x: np.ndarray = NORMAL
) -> Classes:
    """Return scores of negatives and positives; by default they are calibrated.

    The log odds of a class are `spread` times as far from their center as would be calibrated, and
    have the quantiles x.
    """
    d = np.sqrt(2.0) * ndtri(auc)
    offset = np.log(prior / (1.0 - prior))
    parts = (offset + spread * d * (x + shift) for shift in (-d / 2, d / 2))
    return tuple(expit(sharpness * part) for part in parts)


def skewed(power: float, prior: float) -> Classes:
    """Calibrated scores with a beta distribution: the share of positives at a score is the
    score."""
    s = betaincinv(power * prior, power * (1.0 - prior), PLACES)
    return tuple(np.interp(PLACES, np.cumsum(mass) / mass.sum(), s) for mass in (1.0 - s, s))


def five(groups: Classes, shares: Sequence[float], values: Sequence[float]) -> Classes:
    """Five distinct scores, with these shares of the rows below the cuts between them."""
    cuts = np.quantile(np.concatenate(groups), shares)
    return tuple(np.array(values)[np.searchsorted(cuts, s)] for s in groups)


def saturated(groups: Classes, ones: float, digits: int | None = None) -> Classes:
    """Scores that are exactly 0 or 1 at both ends, some of them wrong; others may be rounded."""
    low, high = np.quantile(np.concatenate(groups), [0.25, ones])
    inner = groups if digits is None else [s.round(digits) for s in groups]
    parts = zip(groups, inner, strict=True)
    return tuple(np.where(s < low, 0.0, np.where(s > high, 1.0, x)) for s, x in parts)


def by_rank(groups: Classes, score: Callable[[np.ndarray], np.ndarray]) -> Classes:
    """Scores that are a function of the rank, between 0 and 1; the share of positives need not
    increase with them."""
    every = np.sort(np.concatenate(groups))
    return tuple(score(np.searchsorted(every, s) / (2 * ROWS)) for s in groups)


def wavy(p: np.ndarray) -> np.ndarray:
    """The share of positives decreases with the score at the top and in the middle."""
    return np.clip(p + 0.12 * np.sin(9.0 * p), 0.0, 1.0)


def bumpy(p: np.ndarray) -> np.ndarray:
    """The highest scores are worse than those below them."""
    return np.where(p > 0.9, 1.55 - p, p) ** 2


EVEN = (0.3, 0.55, 0.75, 0.9), (0.05, 0.2, 0.4, 0.6, 0.9)
# The highest score is overrated.
OVERRATED = (0.5, 0.7, 0.8, 0.95), (0.01, 0.1, 0.3, 0.55, 0.97)
# Populations on which the intervals were developed.
DEVELOPED = {
    "calibrated": lambda prior: two_normal(0.8, prior),
    "useless": lambda prior: two_normal(0.55, prior),
    "perfect": lambda prior: two_normal(0.99, prior),
    "overconfident": lambda prior: two_normal(0.85, prior, 3.0),
    "five": lambda prior: five(two_normal(0.8, prior), *EVEN),
    "saturated": lambda prior: saturated(two_normal(0.85, prior), 0.85),
    "wavy": lambda prior: by_rank(two_normal(0.85, prior), wavy),
}
# Populations that the tables show; no method was developed on them.
HELD_OUT = {
    "AUC 0.55": lambda prior: two_normal(0.55, prior, 1.3),
    "AUC 0.99": lambda prior: two_normal(0.99, prior, 0.7),
    # Log odds with Student's distribution for 3 degrees of freedom, too extreme.
    "heavy tails": lambda prior: two_normal(0.8, prior, spread=1.5, x=stdtrit(3.0, PLACES)),
    "skewed": lambda prior: skewed(3.0, prior),
    "five scores": lambda prior: five(two_normal(0.75, prior), *OVERRATED),
    "zeros and ones": lambda prior: saturated(two_normal(0.9, prior, 1.5), 0.9, digits=2),
    "not monotone": lambda prior: by_rank(two_normal(0.8, prior), bumpy),
}
WORLDS = DEVELOPED | HELD_OUT


@cache
def population(world: str, prior: float) -> Classes:
    return WORLDS[world](prior)


@cache
def truth(world: str, prior: float) -> dict[str, float]:
    """Return every metric for a population, computed from all its labels."""
    negative, positive = population(world, prior)
    labels = np.repeat([0, 1], ROWS)
    weight = np.repeat([1.0 - prior, prior], ROWS)
    scores = np.concatenate([negative, positive])
    every = PUScores.from_labels(labels, scores, sample_weight=weight, weight_kind="importance")
    found = {name: METRICS[name].function(every) for name in NAMES}
    # This value depends on the labeling.
    return found | {"proxy_auc": (1.0 - prior) * found["auroc"] + prior / 2.0}


def draw(
    world: str, prior: float, n_positive: int, n_unlabeled: int, setting: str, seed: int
) -> PUScores:
    """Return rows from a population; in one sample, with this many labeled positives on average."""
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


def measure(
    names: Iterable[str], world: str, prior: float, trials: int, first: int = 0, **sizes: object
) -> list[Row]:
    """Return coverage, misses on each side and widths of these metrics in one cell."""
    target = truth(world, prior)
    if sizes["setting"] == "one-sample":
        labeled = sizes["n_positive"] / sizes["n_unlabeled"]
        rest = max(prior - labeled, 0.0) / (1.0 - labeled)
        target = target | {"proxy_auc": (1.0 - rest) * target["auroc"] + rest / 2.0}
    found = {name: [] for name in names if np.isfinite(target[name])}
    for trial in range(first, first + trials):
        scores = draw(world, prior, seed=trial, **sizes)
        for name, kept in found.items():
            if name not in COSTLY or trial % EVERY == 0:
                one = METRICS[name].interval(scores, level=0.95)
                raw = one.value if one.raw is None else one.raw
                kept.append((one.low, one.high, raw, UNTRUSTED not in one.method))
    return [summary(name, target[name], np.array(draws)) for name, draws in found.items()]


def summary(name: str, target: float, draws: np.ndarray) -> Row:
    low, high, raw, trusted = draws.T
    below, above = target < low - ROUNDING, target > high + ROUNDING
    defined, bounded = raw[np.isfinite(raw)], np.isfinite(high) & np.isfinite(low)
    return {
        "metric": name,
        "draws": low.size,
        "target": target,
        "coverage": 1.0 - np.mean(below | above),
        "below_low": below.mean(),
        "above_high": above.mean(),
        "trusted": trusted.mean(),
        "bounded": bounded.mean(),
        "width": np.mean((high - low)[bounded]) if bounded.any() else np.nan,
        "mean": defined.mean() if defined.size else np.nan,
        "oracle": 3.92 * defined.std() if defined.size else np.nan,
    }


def every_cell(worlds: Iterable[str]) -> list[Row]:
    """Return the cells: all populations in two samples, some of them in the other settings."""
    two = {"world": worlds, "prior": PRIORS}
    plain = cells(**two, n_positive=(30, 100, 300), n_unlabeled=3000, setting="two-sample")
    plain += cells(**two, n_positive=30, n_unlabeled=30_000, setting="two-sample")
    few = {"n_positive": (30, 100), "n_unlabeled": 3000, "setting": SETTINGS[1:]}
    other = cells(world=worlds, prior=(0.05, 0.3, 0.6), **few)
    # In one sample, the number of labeled positives cannot exceed the number of positives.
    return plain + [
        cell
        for cell in other
        if cell["setting"] != "one-sample" or cell["n_positive"] < 0.8 * cell["prior"] * 3000
    ]


def coverage(run: Run) -> None:
    """Measure the cells in which the metrics have no rows yet."""
    names, chosen = run.options.metrics or NAMES, every_cell(HELD_OUT)
    seeded("order").shuffle(chosen)
    some, options = run.pick(chosen[:200], chosen[::60]), {"trials": run.trials(200, 10)}
    options["mine"] = lambda row: row["metric"] in names
    run.resume("coverage", measure, some, names=names, **options)


def again(run: Run) -> dict[str, list]:
    """Measure the cells that look too low once more, with draws of their own."""
    found = []
    for row in read(run.out / "coverage.csv"):
        if below(row, 0.93):
            cell = {key: row[key] for key in KEYS}
            trials = run.trials(1000, 10)
            (fresh,) = measure((row["metric"],), **cell, trials=trials, first=FRESH)
            found.append(cell | fresh | {"before": row["coverage"]})
    return {"again": found}


CODED = ("ok", "check", "stop")


@averaged(count="trials")
def verdict(world: str, prior: float, n_positive: int, trials: int) -> Iterator[Row]:
    """Yield the code of the verdict in each draw of one cell."""
    # A miscalibrated population must not be called ok, and a calibrated one must not be stopped.
    wrong = "stop" if world == "calibrated" else "ok"
    for trial in range(trials):
        scores = draw(world, prior, n_positive, 10_000, "two-sample", trial)
        error = METRICS[RECOMMENDED].interval(scores, level=0.95)
        test = calibration_test(scores, statistic="both", replicates=199)
        key = verdict_key(error, prior=prior, contradicted=False, rejected=test.p_value <= 0.05)
        yield {code: CODES[key] == code for code in CODED} | {"wrong": CODES[key] == wrong}


def verdicts(run: Run) -> dict[str, list]:
    every = cells(
        world=("calibrated", "overconfident"), prior=PRIORS, n_positive=(30, 100, 300, 1000)
    )
    return {"verdicts": run.rows(verdict, run.pick(every, every[:2]), trials=run.trials(60, 5))}


def size(run: Run) -> None:
    """How often does the test reject calibrated scores?"""
    settings = ("two-sample", "propensity", "importance")
    axes = {"prior": PRIORS, "n_positive": (30, 300), "setting": settings}
    chosen = cells(world=("calibrated", "skewed"), **axes, trials=run.trials(1000, 10))
    seeded("order").shuffle(chosen)
    run.resume("size", rejected, run.pick(chosen, chosen[:2]))


def rejected(trials: int, **cell: object) -> Row:
    """Return how often the combined test rejects, and, in some draws, the grouped chi-square."""
    p = {"both": [], "grouped": []}
    for k in range(trials):
        scores = draw(n_unlabeled=3000, seed=k, **cell)
        for statistic in p if k % SOME == 0 else ("both",):
            # A common seed for all draws would share the noise of its redraws.
            found = calibration_test(scores, statistic=statistic, replicates=99, seed=k)
            p[statistic].append(found.p_value)
    return {name: np.mean(np.array(values) <= 0.05) for name, values in p.items()}


def below(row: Row, share: float) -> bool:
    """Return whether a binomial test at 1% puts the coverage of a cell below this share."""
    hits = round(row["coverage"] * row["draws"])
    return binom.cdf(hits, row["draws"], share) < 0.01


def cells_by_trust(tables: Tables) -> dict[bool, list[Row]]:
    """Return the cells whose estimates can be trusted, and those that state that none can be."""
    rows, cell = tables("coverage"), itemgetter(*KEYS)
    doubted = {cell(row) for row in rows if row["trusted"] < 0.5}
    return {
        trusted: [row for row in rows if (cell(row) not in doubted) == trusted]
        for trusted in (True, False)
    }


def relative_width(rows: list[Row]) -> float:
    """Return the median width, relative to that of an interval from the true spread."""
    moving = [row for row in rows if row["oracle"] > 0.0 and np.isfinite(row["width"])]
    return np.median([row["width"] / row["oracle"] for row in moving])


def ends(rows: list[Row]) -> int:
    """Count the cells whose estimate hardly varies, or whose truth lies next to an end of the
    range."""
    found = 0
    for row in rows:
        low, high = METRICS[row["metric"]].range
        # Losses and ratios have long or infinite ranges, of which they use a small part.
        near = 0.01 * (high - low) if high - low <= 2.0 else 0.01
        room = min(row["target"] - low, high - row["target"])
        found += row["oracle"] <= near / 10.0 or room <= near
    return found


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--metrics", nargs="+", choices=NAMES, help="coverage of these alone")


PARTS = (coverage, again, verdicts, size)
STUDY = Study("few_rows", PARTS, optional=("again", "verdicts", "size"), arguments=arguments)
