"""The published code of DEDPUL and TEDn beside ours: same scores, same rows, their own settings.

    NONEG_DATA=... python experiments/prior/originals.py --originals DIR [--minutes 30] [--few]

DIR holds clones of https://github.com/dimonenka/DEDPUL (commit 04c0281) and of
https://github.com/acmi-lab/PU_learning (commit 5e5e350); see ``original_code.py``. Needs torch, and
pandas to estimate. Two steps: networks are trained and their scores kept (``--scores FOLDER``, not
committed; ``--train`` stops there, ``--processes`` trains side by side), then everything that has
scores is estimated. Estimates on the mixtures of the study go to ``peers.csv``, those in the
settings of the papers to ``papers.csv``. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

import numpy as np
import settings
from mixtures import Cell, cells, draw
from original_code import Originals
from scipy.special import expit

HERE = Path(__file__).parent
SCORES = HERE.parents[1] / "build" / "originals"
PEERS = ("world", "prior", "n_positive", "seed", "method", "value", "seconds")
PAPERS = ("setting", "share", "best", "seed", "method", "value")
NETWORK_WORLDS = ("usps", "letter", "spambase", "covtype", "gauss-3", "gauss-2")
NETWORK_SHARES = (0.2, 0.5, 0.75)
NETWORK_SIZES = (200, 1000)
# DEDPUL's notebooks: networks on data and on a line; 1e-4 is what most of its data sets have.
RATES = {"spambase": 1e-5}
ON_DATA = {"hid_dim": 512, "n_hid_layers": 1, "bn": True}
ON_DATA |= {"training": {"n_epochs": 250, "loss_function": "log", "n_early_stop": 7}}
ON_A_LINE = {"hid_dim": 16, "n_hid_layers": 0, "bn": False, "lr": 1e-3}
ON_A_LINE |= {"training": {"n_epochs": 100, "loss_function": "log", "n_early_stop": 5}}
# PU_learning's networks for tables (UCI_FCN) and for digits (FCN).
TABLE_NET, WIDE_NET = (512, 512), (5000, 5000, 50)
EPOCHS, LAST = 200, 9


def tasks(repeats: int, *, wide: bool, few: bool) -> list[tuple]:
    """All trainings, in an order that shows something of everything early."""
    every = product(range(1 if few else repeats), settings.SHARES, settings.LINES)
    lines = [("line", *world, share, seed) for seed, share, world in every]
    spam = [("spam", share, seed) for seed in range(repeats) for share in settings.SHARES]
    nets = [
        ("study", world, share, n, 0)
        for n, share, world in product(NETWORK_SIZES, NETWORK_SHARES, NETWORK_WORLDS)
        if Cell(world, share, n, 0).possible() and not (few and n > NETWORK_SIZES[0])
    ]
    names = ("mnist 1 / 7", "mnist 0-4 / 5-9" if wide else "mnist 0-4 / 5-9, a third")
    shown = () if few else product(range(repeats), names)
    digits = [("digits", name, WIDE_NET if wide else TABLE_NET, seed) for seed, name in shown]
    queues = [digits, nets, spam, lines]
    longest = max(map(len, queues))
    place = {task: (i + 0.5) * longest / len(q) for q in queues for i, task in enumerate(q)}
    return sorted(place, key=place.get)


def train(task: tuple, folder: Path) -> dict[str, np.ndarray]:
    """Scores of positives and unlabeled rows by each project's network."""
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    code, kind, seed = Originals(folder), task[0], task[-1]
    if kind == "digits":
        return tedn(code, *settings.digits(task[1], seed), task[2], seed)
    if kind == "line":
        p, u, _ = settings.on_a_line(*task[1:])
        return named("dedpul", *code.dedpul_scores(p, u, seed=seed, **ON_A_LINE))
    p, u = settings.spam(*task[1:])[:2] if kind == "spam" else draw(Cell(*task[1:]))[:2]
    rate = RATES["spambase"] if kind == "spam" else RATES.get(task[1], 1e-4)
    p, u = standardised(p, u)
    scores = code.dedpul_scores(p, u, seed=seed, lr=rate, **ON_DATA)
    # Two thirds to train, one third held out, as PU_learning splits tables.
    rng = np.random.default_rng(seed)
    p, u = rng.permutation(p), rng.permutation(u)
    cuts = [2 * len(rows) // 3 for rows in (p, u)]
    parts = (p[: cuts[0]], u[: cuts[1]]), (p[cuts[0] :], u[cuts[1] :])
    return named("dedpul", *scores) | tedn(code, *parts, TABLE_NET, seed)


def standardised(p, u):
    both = np.concatenate([p, u]).astype(np.float64)
    mean, deviation = both.mean(axis=0), both.std(axis=0)
    deviation[deviation == 0] = 1
    return (p - mean) / deviation, (u - mean) / deviation


def tedn(code: Originals, part, held_out, widths, seed: int) -> dict[str, np.ndarray]:
    import torch

    device = "cuda" if widths == WIDE_NET and torch.cuda.is_available() else "cpu"
    shares, p, u = code.tedn(part, held_out, seed=seed, widths=widths, epochs=EPOCHS, device=device)
    return named("tedn", p, u) | {"tedn-shares": shares}


def own(task: tuple, folder: Path) -> dict[str, np.ndarray]:
    """What a user gets who has features and names no classifier; kept beside the networks'."""
    from noneg.prior import FeatureSamples
    from noneg.prior.discriminator import cross_fit

    path = folder / f"own_{file_name(task)}"
    if not path.exists():
        samples = FeatureSamples(*features(task), "two-sample")
        np.savez_compressed(path, **named("own", *map(expit, cross_fit(samples, seed=task[-1]))))
    with np.load(path) as scores:
        return dict(scores)


def features(task: tuple) -> tuple[np.ndarray, ...]:
    """Positives and unlabeled rows in a paper's setting, held-out ones too."""
    if task[0] == "digits":
        pairs = zip(*settings.digits(task[1], task[-1]), strict=True)
        return tuple(np.concatenate(pair) for pair in pairs)
    world = settings.on_a_line if task[0] == "line" else settings.spam
    return world(*task[1:])[:2]


def named(name: str, p, u) -> dict[str, np.ndarray]:
    return {f"{name}-p": p.astype(np.float32), f"{name}-u": u.astype(np.float32)}


def file_name(task: tuple) -> str:
    return "_".join(str(part).replace(" ", "").replace("/", "-") for part in task) + ".npz"


def train_all(todo: list[tuple], options) -> None:
    """Keep each task's scores in a file; stop when the time is over."""
    start = time.monotonic()
    options.scores.mkdir(parents=True, exist_ok=True)
    todo = [task for task in todo if not (options.scores / file_name(task)).exists()]
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = {pool.submit(train, task, options.originals): task for task in todo}
        for number, job in enumerate(as_completed(jobs)):
            seconds = time.monotonic() - start
            np.savez_compressed(options.scores / file_name(jobs[job]), **job.result())
            print(f"{number + 1}/{len(todo)} {jobs[job]} {seconds:.0f} s", flush=True)
            if seconds > 60 * options.minutes:
                pool.shutdown(wait=False, cancel_futures=True)
                break


def default(p, u, method=None) -> float:
    from noneg.prior import DEFAULT, ScoreLaws, find_estimator

    laws = ScoreLaws.from_arrays(p, u, setting="two-sample")
    return find_estimator(method or DEFAULT).find(laws).share


def answers(code: Originals, scores, *, trends: bool):
    """(method, share) of everything that a file of scores allows."""
    pairs = {
        name: (scores[f"{name}-p"].astype(float), scores[f"{name}-u"].astype(float))
        for name in ("dedpul", "tedn", "own")
        if f"{name}-p" in scores
    }
    if "dedpul" in pairs:
        yield "DEDPUL code", code.dedpul_share(*pairs["dedpul"], trends=trends)
        yield "ours on DEDPUL's scores", default(*pairs["dedpul"])
    if "tedn" in pairs:
        yield "TEDn code", float(scores["tedn-shares"][-LAST:].mean())
        yield "ours on TEDn's scores", default(*pairs["tedn"])
    if "own" in pairs:
        from noneg.prior import Dedpul

        published = Dedpul(bandwidth_positive=0.1, bandwidth_unlabeled=0.05)
        yield "ours", default(*pairs["own"])
        yield "ours with the published widths", default(*pairs["own"], published)


def same_scores(code: Originals, cell: Cell):
    """Their estimators on the out-of-fold scores of the study."""
    from run import FOLDS, classifier

    from noneg.prior import FeatureSamples
    from noneg.prior.discriminator import cross_fit

    samples = FeatureSamples(*draw(cell)[:2], "two-sample")
    p, u = (expit(z) for z in cross_fit(samples, classifier(cell.world), folds=FOLDS))
    yield "DEDPUL code, same scores", code.dedpul_share(p, u, trends=False)
    yield "DEDPUL code with trends, same scores", code.dedpul_share(p, u, trends=True)
    yield "BBE code, same scores", code.bbe_share(p, u)


def estimate_paper(code: Originals, task: tuple, scores):
    kind, seed = task[0], task[-1]
    if kind == "line":
        name, share = settings.line_name(*task[1:4]), task[4]
        best = settings.on_a_line(*task[1:])[2]
    elif kind == "spam":
        name, share = "spambase", task[1]
        best = settings.spam(*task[1:])[2]
    else:
        name, share, best = f"{task[1]}, width {task[2][0]}", 0.5, 0.5
    for method, value in answers(code, scores, trends=kind == "line"):
        numbers = (name, share, f"{best:.5g}", seed, method, f"{value:.5g}")
        yield dict(zip(PAPERS, map(str, numbers), strict=True))


def estimate_all(todo: list[tuple], code: Originals, options) -> None:
    """Write the answers of all scores there are."""
    peers, papers = [], []
    for task in todo:
        path = options.scores / file_name(task)
        if not path.exists():
            continue
        with np.load(path) as scores:
            if task[0] == "study":
                key = dict(zip(PEERS, map(str, task[1:]), strict=False))
                found = answers(code, scores, trends=False)
                peers += [key | {"method": name, "value": f"{v:.5g}"} for name, v in found]
            else:
                papers += estimate_paper(code, task, dict(scores) | own(task, options.scores))
    update(HERE / "peers.csv", PEERS, PEERS[:5], peers)
    update(HERE / "papers.csv", PAPERS, ("setting", "share", "seed", "method"), papers)


def estimate_study(code: Originals, options) -> None:
    done = {tuple(row[k] for k in PEERS[:5]) for row in read(HERE / "peers.csv")}
    for cell in cells(options.seeds):
        if (*cell.key(), "BBE code, same scores") not in done:
            key = dict(zip(PEERS, cell.key(), strict=False))
            rows = [key | {"method": m, "value": f"{v:.5g}"} for m, v in same_scores(code, cell)]
            update(HERE / "peers.csv", PEERS, PEERS[:5], rows)
            print(cell, f"{time.process_time():.0f} s", flush=True)
            if time.process_time() > 60 * options.minutes:
                break


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as stream:
        return list(csv.DictReader(stream))


def update(path: Path, fields, key, rows: list[dict[str, str]]) -> None:
    """Put rows into a table, each in the place of one with the same key."""
    table = {tuple(row[k] for k in key): row for row in [*read(path), *rows]}
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fields)
        writer.writeheader()
        writer.writerows(table.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--originals", type=Path, required=True, help="folder of the two clones")
    parser.add_argument("--scores", type=Path, default=SCORES, help="folder of trained scores")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop each step after that")
    parser.add_argument("--seeds", type=int, default=2, help="draws of the study's mixtures")
    parser.add_argument("--repeats", type=int, default=2, help="draws in the papers' settings")
    parser.add_argument("--processes", type=int, default=1, help="trainings side by side")
    parser.add_argument("--tasks", type=int, help="only so many trainings")
    parser.add_argument("--train", action="store_true", help="train only")
    parser.add_argument("--estimate", action="store_true", help="train nothing")
    parser.add_argument("--wide", action="store_true", help="TEDn's own network for digits")
    parser.add_argument("--few", action="store_true", help="what one core does in half an hour")
    options = parser.parse_args()
    todo = tasks(options.repeats, wide=options.wide, few=options.few)
    if not options.estimate:
        train_all(todo[: options.tasks], options)
    if not options.train:
        code = Originals(options.originals)
        estimate_study(code, options)
        both = [*tasks(options.repeats, wide=True, few=False)]
        both += [task for task in tasks(options.repeats, wide=False, few=False) if task not in both]
        estimate_all(both, code, options)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
