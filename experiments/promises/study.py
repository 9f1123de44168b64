"""Thresholds with a guarantee: how often it holds, and what it costs relative to an oracle.

The parts `recall`, `precision`, `negatives` and `venn` draw rows from exactly known populations,
`nceas` compares presence records of species with an independent survey (NONEG_DATA), and `cost`
measures the time for ten million rows.
"""

import time
from collections.abc import Iterable
from functools import partial

import numpy as np

from experiments.nceas import GROUPS
from experiments.promises import nceas as species, two_step
from experiments.promises.worlds import Gaussians, miss, selected, uniform_positives
from experiments.study import Run, Study, cells, data_file, seeded
from experiments.tables import Row
from noneg import PUScores
from noneg.performance import (
    auroc,
    certified_negatives,
    fdp_envelope,
    recall_threshold,
)
from noneg.recalibration import Isotonic, VennAbers
from noneg.simulation import LogisticGaussian

CONFIDENCE = 0.95
MODELS = {"good": 2.5, "poor": 1.0}
INTERVAL = (0.8, 1.2)  # ends of the prior interval, as multiples of the prior
ORACLE = 0.8  # recall of the oracle at the requested precision
ROWS = 10_000


def keep_recall(world: str, gamma: float, n: int, alpha: float, trials: int) -> Row:
    """Return how often a guaranteed recall holds, also for the next order statistic."""
    rng, found, later = seeded("recall", world, gamma, n, alpha), [], []
    for _ in range(trials):
        scores = uniform_positives(world, n, gamma, rng)
        found.append(recall_threshold(scores, recall=1 - alpha, confidence=CONFIDENCE).threshold)
        above = scores.in_order()[1][0]
        later.append(above[min(np.searchsorted(above, found[-1], "right"), above.size - 1)])
    # Flagging everything misses nothing; with ten distinct scores, the one at t is still flagged.
    missed, beyond = (miss(world, gamma, np.array(t)) for t in (found, later))
    return {
        "kept": np.mean(missed <= alpha + 1e-12),
        "kept_by_next": np.mean(beyond <= alpha + 1e-12),
        "all_flagged": np.mean(np.array(found) == 0.0),
        "recall": 1 - np.mean(missed),
        "trials": trials,
    }


def recall(run: Run) -> dict[str, list[Row]]:
    sizes = {"n": run.pick((30, 100, 200, 1000), (30, 200)), "alpha": (0.05, 0.1, 0.2)}
    plain = ("continuous", "ten scores", "importance", "propensity")
    every = cells(world=plain, gamma=(1.0,), **sizes)
    every += cells(world=("continuous", "one sample"), gamma=(1.5, 2.0), **sizes)
    return {"recall": run.rows(keep_recall, every, trials=run.trials(4000, 50))}


def keep_precision(
    setting: str, model: str, prior: float, n_positive: int, known: str, trials: int
) -> list[Row]:
    """Return how often a guaranteed precision holds, and the resulting recall."""
    world = Gaussians(MODELS[model], prior)
    rng = seeded("precision", setting, model, prior, n_positive, known)
    wanted = float(world.precision(world.at_recall(ORACLE)))
    options = {"prior": prior}
    if known == "interval":
        options["prior_interval"] = tuple(prior * end for end in INTERVAL)
    found = np.full(trials, np.inf)
    for trial in range(trials):
        scores, *_ = world.draw(rng, n_positive, ROWS, setting, **options)
        # Return the same as `precision_threshold`, without searching for advice if there is no
        # threshold.
        envelope = fdp_envelope(scores, confidence=CONFIDENCE)
        kept = envelope.threshold[envelope.promised >= wanted]
        found[trial] = kept[-1] if kept.size else np.inf
    made = np.isfinite(found)
    at = np.where(made, found, 0.5)
    row = {
        "wanted": wanted,
        "broken": np.mean(made & (world.precision(at) < wanted)),
        "promised": np.mean(made),
        "recall": np.mean(np.where(made, world.recall(at), 0.0)),
        "oracle": ORACLE,
        "trials": trials,
    }
    return [row]


def precision(run: Run) -> None:
    sizes = {"prior": (0.02, 0.1, 0.3, 0.5), "n_positive": run.pick((100, 500, 3000), (500,))}
    every = cells(setting=("two-sample",), model=MODELS, **sizes, known=("exact", "interval"))
    # In one sample, at most 200 of 10,000 rows are positive at the smallest prior.
    few = {"prior": (0.1, 0.5), "n_positive": (100, 500)}
    every += cells(setting=("one-sample",), model=MODELS, **few, known=("exact",))
    run.resume("precision", partial(keep_precision, trials=run.trials(1000, 20)), every)


def keep_fdr(
    setting: str, model: str, prior: float, n_positive: int, known: str, trials: int
) -> Row:
    """Return the share of positives among certified rows, and the share of negatives that are
    certified."""
    world, q = Gaussians(MODELS[model], prior), 0.05
    rng = seeded("negatives", setting, model, prior, n_positive, known)
    options = {"prior": prior} if known == "prior" else {}
    draws = (world.draw(rng, n_positive, 2000, setting, **options) for _ in range(trials))
    return certify(draws, q, trials)


def keep_fdr_selected(gamma: float, prior: float, n_positive: int, trials: int) -> Row:
    """The same if hidden positives have scores as low as the selection factor allows."""
    rng = seeded("selected", gamma, prior, n_positive)

    def draw() -> tuple[PUScores, np.ndarray, np.ndarray]:
        y = rng.random(2000) < prior
        s = np.where(y, selected(rng, 2000, gamma), rng.beta(1, 6, 2000))
        p, options = rng.random(n_positive), {"prior": prior, "selection": gamma}
        return PUScores(p, s, setting="two-sample", **options), s, y

    return certify((draw() for _ in range(trials)), 0.1, trials)


def certify(draws: Iterable, q: float, trials: int) -> Row:
    found = []
    for scores, s, y in draws:
        certified = s <= certified_negatives(scores, fdr=q).cutoff
        wrong = (certified & y).sum() / max(certified.sum(), 1)
        found.append((wrong, (certified & ~y).sum() / (~y).sum()))
    wrong, power = np.array(found).T
    return {
        "q": q,
        "fdr": wrong.mean(),
        "se": wrong.std() / np.sqrt(trials),
        "power": power.mean(),
        "trials": trials,
    }


def negatives(run: Run) -> dict[str, list[Row]]:
    sizes = {"prior": (0.1, 0.3, 0.5), "n_positive": run.pick((50, 500), (50,))}
    known = ("prior", "nothing")
    settings = ("two-sample", "one-sample")
    every = cells(setting=settings, model=MODELS, **sizes, known=known)
    rows = run.rows(keep_fdr, every, trials=run.trials(1000, 20))
    adverse = cells(gamma=(1.5, 2.0), prior=(0.1, 0.5), n_positive=sizes["n_positive"])
    selection = run.rows(keep_fdr_selected, adverse, trials=run.trials(1000, 20))
    return {"negatives": rows, "selected": selection}


def nceas(run: Run) -> dict[str, list[Row]]:
    if data_file("nceas") is None:
        return {}
    return {"nceas": run.rows(species.measure, cells(region=run.pick(GROUPS, ("SWI",))))}


def two_probabilities(setting: str, n_positive: int, trials: int) -> Row:
    """Return how wide Venn-Abers is, and how often the true probability lies inside."""
    world, found = LogisticGaussian.less_calibrated(0.3), []
    for trial in range(trials):
        sizes = {"n_positive": n_positive, "n_unlabeled": 10 * n_positive}
        if setting == "labeled":
            sizes = {"n": 11 * n_positive}
        scores = world.draw(**sizes, setting=setting, seed=trial)
        s = np.sort(world.draw(n=2000, setting="labeled", seed=10_000 + trial).in_order()[0][0])
        true, fitted = world.posterior(s), VennAbers().fit(scores)
        low, high = fitted.probabilities(s).T
        plain = Isotonic().fit(scores).transform(s)
        inside = ((low <= true) & (true <= high)).mean()
        errors = [np.abs(x - true).mean() for x in (fitted.transform(s), plain)]
        found.append([(high - low).mean(), inside, *errors])
    width, inside, error, isotonic = np.mean(found, axis=0)
    row = {"width": width, "inside": inside, "error": error, "isotonic": isotonic}
    return row | {"trials": trials}


def venn(run: Run) -> dict[str, list[Row]]:
    settings = ("labeled", "two-sample", "one-sample")
    every = cells(setting=settings, n_positive=run.pick((100, 1000), (100,)))
    return {"venn": run.rows(two_probabilities, every, trials=run.trials(40, 2))}


def learners(run: Run) -> None:
    folder = data_file("letter.npz")
    data = two_step.DATA if folder else two_step.DATA[:1]
    trials = range(run.trials(3, 1))
    every = cells(data=data, model=("logistic",), trial=trials)
    # Boosting takes minutes with the 256 features of USPS.
    every += cells(data=data[:2], model=("boosting",), trial=trials)
    run.resume("learners", partial(two_step.learn, folder=folder and folder.parent), every)


def cost(run: Run) -> dict[str, list[Row]]:
    """Return the seconds for an exact AUROC and for the envelope on new rows, the best of three."""
    n = run.pick(10_000_000, 100_000)
    rng = np.random.default_rng(0)
    y = rng.random(n) < PRIOR
    s = np.where(y, rng.beta(5, 2, n), rng.beta(2, 5, n))
    labeled = y & (rng.random(n) < 0.2)
    rows = []
    for function in (auroc, fdp_envelope, recall_threshold, certified_negatives):
        seconds = []
        for _ in range(4):  # the first call compiles
            scores = PUScores.from_pu_labels(labeled, s, prior=PRIOR, setting="one-sample")
            start = time.perf_counter()
            function(scores)
            seconds.append(time.perf_counter() - start)
        rows.append({"function": function.__name__, "rows": n, "seconds": min(seconds[1:])})
    return {"cost": rows}


PRIOR = 0.1
STUDY = Study(
    "promises",
    (negatives, nceas, venn, learners, recall, precision, cost),
    page="experiments.promises.page",
    optional=("nceas",),
)
