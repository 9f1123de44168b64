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
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from experiments.study import BUILD, Run, Study, arrays
from experiments.tables import Row, standard_error, table

PRIORS = (0.05, 0.2, 0.5, 0.75, 0.9)
SIZES = (50, 200, 1000, 5000)
REAL = ("usps", "letter", "spambase", "covtype")
# Positives N(m, 1) against negatives in five dimensions; only the first separates the classes.
GAUSSIAN = ("gauss-3", "gauss-2", "gauss-wide", "gauss-mixed")
REDUCIBLE = ("gauss-wide", "gauss-mixed")


@dataclass(frozen=True)
class Cell:
    """One mixture: a population, the share of positives in U, the number of labeled positives."""

    world: str
    prior: float
    n_positive: int
    seed: int

    @property
    def n_unlabeled(self) -> int:
        least = 1200 if self.world == "spambase" else 2000
        return max(least, self.n_positive)

    @property
    def hidden(self) -> int:
        return round(self.prior * self.n_unlabeled)

    def possible(self) -> bool:
        if self.world in GAUSSIAN:
            return True
        y = load(self.world)[1]
        positives, negatives = int(y.sum()), int((~y).sum())
        needed = self.n_positive + self.hidden
        return needed <= positives and self.n_unlabeled - self.hidden <= negatives


def cells(seeds: int, sizes: tuple[int, ...] | None = None) -> list[Cell]:
    places = product(range(seeds), sizes or SIZES, (*REAL, *GAUSSIAN), PRIORS)
    every = (Cell(world, prior, n, seed) for seed, n, world, prior in places)
    return [cell for cell in every if cell.possible()]


def draw(cell: Cell) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of positives and unlabeled rows, and the hidden labels of the latter."""
    rng = np.random.default_rng([cell.seed, cell.n_positive, *cell.world.encode()])
    n, k, m = cell.n_positive, cell.hidden, cell.n_unlabeled
    if cell.world in GAUSSIAN:
        p, hidden, negative = _gaussian(cell.world, rng, n, k, m - k)
    else:
        X, y = load(cell.world)
        positives, negatives = (rng.permutation(np.flatnonzero(flag)) for flag in (y, ~y))
        p, hidden, negative = X[positives[:n]], X[positives[n : n + k]], X[negatives[: m - k]]
    return p, np.concatenate([hidden, negative]), np.repeat([1, 0], [k, m - k])


def _gaussian(world: str, rng, n: int, k: int, rest: int):
    far = {"gauss-3": 3.0, "gauss-2": 2.0, "gauss-wide": 1.0, "gauss-mixed": 4.0}[world]
    p, hidden, negative = (rng.normal(size=(size, 5)) for size in (n, k, rest))
    if world == "gauss-wide":
        # Wider than the positives: nowhere negligible relative to them.
        negative[:, 0] *= 2.0
    negative[:, 0] -= far
    if world == "gauss-mixed":
        # A fifth of the negatives are drawn like positives.
        same = rng.random(rest) < 0.2
        negative[same, 0] += far
    return p, hidden, negative


def identifiable(cell: Cell) -> float:
    """Return the smallest identifiable upper bound of the share: a + (1 - a) inf p_N / p_P."""
    inf = 0.0
    if cell.world == "gauss-mixed":
        inf = 0.2
    if cell.world == "gauss-wide":
        # log ratio of N(-1, 2^2) to N(0, 1), smallest at x = 1/3.
        x = 1.0 / 3.0
        inf = float(np.exp(-np.log(2.0) - (x + 1.0) ** 2 / 8.0 + x**2 / 2.0))
    return cell.prior + (1.0 - cell.prior) * inf


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


def every(run: Run) -> list[dict]:
    return [asdict(cell) for cell in cells(run.trials(DRAWS, 1), run.pick(None, (50,)))]


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

    todo = [c for c in cells(FRESH + 1) if c.seed == FRESH and c.world in run.pick(REAL, REAL[2:3])]
    found = np.array(run.map(choice, [{"cell": cell} for cell in todo]), dtype=float)
    worlds, lines = np.array([cell.world for cell in todo]), []
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

    p, u, _ = draw(Cell(world, prior, n_positive, seed))
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
