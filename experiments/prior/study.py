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
import warnings
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from experiments.prior.mixtures import GAUSSIAN, REAL, Cell, cells, draw, standardized
from experiments.study import BUILD, Run, Study
from experiments.tables import Row, table

DRAWS, FRESH = 2, 2


def every(run: Run) -> list[dict]:
    return [asdict(cell) for cell in cells(run.trials(DRAWS, 1), run.pick(None, (50,)))]


def study(run: Run) -> None:
    from experiments.prior.measure import measure

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
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
        gap, error = chosen - forest, np.std(chosen - forest, ddof=1) / np.sqrt(chosen.size)
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
    run.map(
        train, [{"task": task} for task in todo], **fixed, until=run.started + 60 * asked.minutes
    )


def originals(run: Run) -> dict[str, list[Row]]:
    """Estimate from all available scores, theirs and the study's."""
    from experiments.prior.originals import estimate_all, loaded, same_scores

    folder = run.options.originals
    mine = {"mine": lambda row: row["method"] == "BBE code, same scores"}
    run.resume("peers", partial(same_scores, folder=folder), every(run), **mine)
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
