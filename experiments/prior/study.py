"""How far is every estimator of the class prior from the truth?

Mixtures of USPS, Letter, Spambase, Covertype and two Gaussian classes: shares from .05 to .9, 50 to
5000 labeled positives, with ``--trials`` draws of each. An interrupted run resumes where it
stopped.

``peers`` runs pulearn 0.2.0 on the same mixtures, in an environment that needs NumPy and pulearn
but not noneg (with ``--no-page``). ``train_originals`` and ``originals`` run the published code of
DEDPUL and TEDn for comparison; ``--originals`` names the folder of their clones.
"""

import argparse
import time
from functools import cache
from pathlib import Path

import numpy as np

from experiments import study as studies
from experiments.study import BUILD, Cell, Run, Study, arrays
from experiments.tables import Row, standard_error, table

PRIORS = (0.05, 0.2, 0.5, 0.75, 0.9)
SIZES = (50, 200, 1000, 5000)
REAL = ("usps", "letter", "spambase", "covtype")
# Positives N(m, 1) against negatives in five dimensions; only the first separates the classes.
GAUSSIAN = {"gauss-3": 3.0, "gauss-2": 2.0, "gauss-wide": 1.0, "gauss-mixed": 4.0}
REDUCIBLE = ("gauss-wide", "gauss-mixed")


def counts(world: str, prior: float, n_positive: int) -> tuple[int, int]:
    """Return the numbers of positives and negatives among the unlabeled rows."""
    rows = max(1200 if world == "spambase" else 2000, n_positive)
    return round(prior * rows), rows - round(prior * rows)


def possible(world: str, prior: float, n_positive: int, seed: int = 0) -> bool:  # noqa: ARG001
    """Whether a data set has enough rows for a mixture."""
    if world in GAUSSIAN:
        return True
    y, (hidden, rest) = load(world)[1], counts(world, prior, n_positive)
    return n_positive + hidden <= y.sum() and rest <= (~y).sum()


def cells(seeds: int, sizes: tuple[int, ...] = SIZES) -> list[Cell]:
    """Return all mixtures: a population, the share of positives in U, and labeled positives."""
    every = studies.cells(
        seed=range(seeds), n_positive=sizes, world=(*REAL, *GAUSSIAN), prior=PRIORS
    )
    names = ("world", "prior", "n_positive", "seed")
    return [{name: cell[name] for name in names} for cell in every if possible(**cell)]


def draw(world: str, prior: float, n_positive: int, seed: int) -> tuple[np.ndarray, ...]:
    """Features of positives and unlabeled rows, and the hidden labels of the latter."""
    rng = np.random.default_rng([seed, n_positive, *world.encode()])
    n, (k, rest) = n_positive, counts(world, prior, n_positive)
    if world in GAUSSIAN:
        p, hidden, negative = _gaussian(world, rng, n, k, rest)
    else:
        X, y = load(world)
        positives, negatives = (rng.permutation(np.flatnonzero(flag)) for flag in (y, ~y))
        p, hidden, negative = X[positives[:n]], X[positives[n : n + k]], X[negatives[:rest]]
    return p, np.concatenate([hidden, negative]), np.repeat([1, 0], [k, rest])


def _gaussian(world: str, rng, n: int, k: int, rest: int):
    p, hidden, negative = (rng.normal(size=(size, 5)) for size in (n, k, rest))
    if world == "gauss-wide":
        # Wider than the positives: nowhere negligible relative to them.
        negative[:, 0] *= 2.0
    negative[:, 0] -= GAUSSIAN[world]
    if world == "gauss-mixed":
        # A fifth of the negatives are drawn like positives.
        same = rng.random(rest) < 0.2
        negative[same, 0] += GAUSSIAN[world]
    return p, hidden, negative


def identifiable(world: str, prior: float) -> float:
    """Return the smallest identifiable upper bound of the share: a + (1 - a) inf p_N / p_P."""
    # The log ratio of N(-1, 2^2) to N(0, 1) is smallest at 1/3.
    x = 1.0 / 3.0
    wide = float(np.exp(-np.log(2.0) - (x + 1.0) ** 2 / 8.0 + x**2 / 2.0))
    return prior + (1.0 - prior) * {"gauss-mixed": 0.2, "gauss-wide": wide}.get(world, 0.0)


def standardized(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


@cache
def load(world: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and binary labels of a data set: even digits, A-M, spam, cover type 2."""
    z = arrays(f"{world}.npz")
    if world == "usps":
        X, y = (np.concatenate([z[f"{x}_train"], z[f"{x}_test"]]) for x in "Xy")
        return X, y % 2 == 0
    if world == "letter":
        return z["X"].astype(np.float64), z["y"] < 13
    if world == "spambase":
        return np.log1p(z["X"]), z["y"] == 1
    columns = [z["quantitative"], np.eye(4)[z["wilderness"]], np.eye(40)[z["soil"]]]
    return np.hstack(columns), z["cover_type"] == 2


DRAWS, FRESH = 2, 2


def every(run: Run) -> list[Cell]:
    return cells(run.trials(DRAWS, 1), run.pick(SIZES, SIZES[:1]))


def study(run: Run) -> None:
    from experiments.prior.measure import measure

    run.resume("study", measure, every(run))


def single_draws(run: Run) -> None:
    from experiments.prior import single_draws as rule

    for name, made in (("single_draws", rule.table), ("allowance", rule.allowance_table)):
        text = made(run.trials(400, 10)) + "\n"
        (run.out / f"{name}.md").write_text(text, encoding="utf-8")


def fresh_draw(run: Run) -> None:
    """Is the choice between forest and curves as good as the forest, on rows not used to design it?

    The rule was designed on draws 0 and 1 of the study. Here it is tested on another draw of the
    real mixtures and compared with the forest alone: same rows, same folds, the default estimator.
    """
    from experiments.prior.measure import choice

    asked = run.pick(REAL, REAL[2:3])
    todo = [c for c in cells(FRESH + 1) if c["seed"] == FRESH and c["world"] in asked]
    found = np.array(run.map(choice, todo), dtype=float)
    worlds, lines = np.array([cell["world"] for cell in todo]), []
    for world in (*dict.fromkeys(worlds), "all"):
        chosen, forest, curves = found[(worlds == world) | (world == "all")].T
        gap, error = chosen - forest, standard_error(chosen - forest)
        means = [f"{chosen.mean():.4f}", f"{forest.mean():.4f}", f"{gap.mean():+.4f} ± {error:.4f}"]
        lines.append([world, chosen.size, int(curves.sum()), *means])
    head = "world | cells | curves taken | error | error of the forest | difference"
    text = table(head, lines, "lr") + "\n"
    (run.out / "fresh_draw.md").write_text(text, encoding="utf-8")


def pulearn(world: str, prior: float, n_positive: int, seed: int):
    """Yield pulearn's estimates, converted to the share among the unlabeled rows.

    It estimates the share in the pooled sample, which assumes one sample; ``(pi n - n_P) / n_U`` is
    exact.
    """
    from pulearn.priors import HistogramMatchPriorEstimator, ScarEMPriorEstimator
    from sklearn.ensemble import RandomForestClassifier

    p, u, _ = draw(world, prior, n_positive, seed)
    X, y = standardized(np.concatenate([p, u])), np.repeat([1, 0], [len(p), len(u)])
    methods = {"histogram": HistogramMatchPriorEstimator(), "EM": ScarEMPriorEstimator()}
    if world not in GAUSSIAN:
        forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=10, random_state=0)
        methods["histogram, forest"] = HistogramMatchPriorEstimator(estimator=forest)
    for name, estimator in methods.items():
        start = time.process_time()
        share = float(np.clip((estimator.estimate(X, y).pi * y.size - len(p)) / len(u), 0, 1))
        seconds = time.process_time() - start
        yield {"method": f"pulearn {name}", "value": share, "seconds": seconds}


def peers(run: Run) -> None:
    # Other peers share the table.
    run.resume("peers", pulearn, every(run), mine=lambda row: row["method"].startswith("pulearn"))


def train_originals(run: Run) -> None:
    """Train the networks of both projects, and save their scores."""
    from experiments.prior.originals import tasks, train

    asked = run.options
    asked.scores.mkdir(parents=True, exist_ok=True)
    todo = tasks(run.trials(DRAWS, 1), wide=asked.wide, few=run.quick)
    fixed = {"folder": asked.originals, "scores": asked.scores}
    fixed["until"] = run.started + 60 * asked.minutes
    run.map(train, [{"task": task} for task in todo], **fixed)


def originals(run: Run) -> dict[str, list[Row]]:
    """Estimate from all available scores, theirs and the study's."""
    from experiments.prior.originals import estimate_all, loaded, same_scores

    folder = run.options.originals
    options = {"mine": lambda row: row["method"] == "BBE code, same scores", "folder": folder}
    run.resume("peers", same_scores, every(run), **options)
    return estimate_all(loaded(folder), run.options.scores, run.trials(DRAWS, 1), run.out)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--originals", type=Path, help="folder of the clones of DEDPUL and PU_learning")
    add("--scores", type=Path, default=BUILD / "originals", help="folder of trained scores")
    add("--wide", action="store_true", help="TEDn's own network for digits")


STUDY = Study(
    "prior",
    parts=(study, single_draws, fresh_draw, peers, train_originals, originals),
    page="experiments.prior.page",
    style={"savefig.dpi": 130},
    named=("fresh_draw", "peers", "train_originals", "originals"),
    arguments=arguments,
    digits=5,
)
