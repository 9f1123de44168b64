"""Compare the published code of DEDPUL and TEDn with ours: same scores, same rows, their settings.

Clones of https://github.com/dimonenka/DEDPUL (commit 04c0281) and of
https://github.com/acmi-lab/PU_learning (commit 5e5e350) are run unmodified; see
``original_code.py``. They need torch, pandas and matplotlib. Networks are trained and their scores
saved, and then all estimators run on the saved scores. Mixtures in the settings of the two papers
have the sizes in the papers' own scripts, as far as the data allow.
"""

import time
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import expit

from experiments.prior.original_code import Originals
from experiments.prior.study import draw, load, possible, standardized
from experiments.study import arrays
from experiments.tables import Row, merged

NETWORK_WORLDS = ("usps", "letter", "spambase", "covtype", "gauss-3", "gauss-2")
NETWORK_SHARES, NETWORK_SIZES = (0.2, 0.5, 0.75), (200, 1000)
# DEDPUL's notebooks: networks for data sets and for one dimension; most data sets use 1e-4.
RATES = {"spambase": 1e-5}
ON_DATA = {"hid_dim": 512, "n_hid_layers": 1, "bn": True}
ON_DATA |= {"training": {"n_epochs": 250, "loss_function": "log", "n_early_stop": 7}}
ON_A_LINE = {"hid_dim": 16, "n_hid_layers": 0, "bn": False, "lr": 1e-3}
ON_A_LINE |= {"training": {"n_epochs": 100, "loss_function": "log", "n_early_stop": 5}}
# PU_learning's networks for tables (UCI_FCN) and for digits (FCN).
TABLE_NET, WIDE_NET = (512, 512), (5000, 5000, 50)
EPOCHS, LAST = 200, 9
SHARES = (0.5, 0.25, 0.75, 0.05, 0.95)
# (distribution, center, width) of the negatives; the positives have 0 and 1.
LINES = [(law, mu, 1) for law in ("normal", "laplace") for mu in (1, 2, 4)]
LINES += [(law, 0, s) for law in ("normal", "laplace") for s in (2, 4)]
# Share: labeled positives, hidden positives, negatives, from DEDPUL's notebook.
SPAM = {
    0.05: (400, 147, 2788),
    0.25: (400, 929, 2788),
    0.5: (400, 1413, 1413),
    0.75: (400, 1413, 471),
    0.95: (407, 1406, 74),
}
# Positives for training and held out; as many unlabeled rows, half of them positive (TEDn's
# script).
DIGITS = {
    "mnist 1 / 7": (3000, 500),
    "mnist 0-4 / 5-9": (15000, 2500),
    "mnist 0-4 / 5-9, a third": (5000, 833),
}


def tasks(repeats: int, *, wide: bool, few: bool) -> list[tuple]:
    """Return all training runs."""
    every = product(range(1 if few else repeats), SHARES, LINES)
    lines = [("line", *world, share, seed) for seed, share, world in every]
    spams = [("spam", share, seed) for seed in range(repeats) for share in SHARES]
    nets = [
        ("study", world, share, n, 0)
        for n, share, world in product(NETWORK_SIZES, NETWORK_SHARES, NETWORK_WORLDS)
        if possible(world, share, n) and not (few and n > NETWORK_SIZES[0])
    ]
    names = ("mnist 1 / 7", "mnist 0-4 / 5-9" if wide else "mnist 0-4 / 5-9, a third")
    shown = () if few else product(range(repeats), names)
    numbers = [("digits", name, WIDE_NET if wide else TABLE_NET, seed) for seed, name in shown]
    return [*numbers, *nets, *spams, *lines]


def on_a_line(law: str, mu: int, s: int, share: float, seed: int):
    """DEDPUL's synthetic populations: 1000 positives, 10,000 unlabeled, one feature."""
    rng = np.random.default_rng([seed, round(100 * share), mu, s, *law.encode()])
    k = round(share * 10_000)
    p, hidden, negative = (getattr(rng, law)(size=n) for n in (1000, k, 10_000 - k))
    # The smallest ratio of negatives to positives: far left, or at the common center.
    inf = (0.0 if law == "normal" else np.exp(-mu)) if s == 1 else 1.0 / s
    return p[:, None], np.append(hidden, mu + s * negative)[:, None], share + (1.0 - share) * inf


def spam(share: float, seed: int):
    """DEDPUL's Spambase with unmodified columns."""
    X, y = load("spambase")
    X = np.expm1(X)
    rng = np.random.default_rng(seed)
    n, k, rest = SPAM[share]
    positives, negatives = (rng.permutation(X[flag]) for flag in (y, ~y))
    u = np.concatenate([positives[n : n + k], negatives[:rest]])
    return positives[:n], u, k / (k + rest)


def digits(setting: str, seed: int):
    """TEDn's MNIST settings: (positives, unlabeled) to train on, and held out."""
    rng = np.random.default_rng(seed)
    parts = []
    z = arrays("mnist.npz")
    for part, n in zip(("train", "test"), DIGITS[setting], strict=True):
        X, y = (z[f"X_{part}"] / 255.0 - 0.1307) / 0.3081, z[f"y_{part}"]
        flags = (y == 1, y == 7) if setting == "mnist 1 / 7" else (y <= 4, y > 4)
        a, b = (rng.permutation(np.flatnonzero(flag)) for flag in flags)
        k = n // 2
        parts.append((X[a[:n]], X[np.append(a[n : n + k], b[: n - k])]))
    return parts


def drawn(task: tuple):
    """Return positives, unlabeled rows, and the identifiable share."""
    world = {"line": on_a_line, "spam": spam}[task[0]]
    return world(*task[1:])


def train(task: tuple, folder: Path, scores: Path, until: float) -> None:
    """Save the scores of both projects' networks, unless the file exists or time is up."""
    path = scores / file_name(task)
    if not path.exists() and time.time() < until:
        import torch

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        np.savez_compressed(path, **trained(loaded(folder), task))


def trained(code: Originals, task: tuple) -> dict[str, np.ndarray]:
    kind, seed = task[0], task[-1]
    if kind == "digits":
        return tedn(code, *digits(task[1], seed), task[2], seed)
    if kind == "line":
        p, u, _ = drawn(task)
        return named("dedpul", *code.dedpul_scores(p, u, seed=seed, **ON_A_LINE))
    p, u = (drawn(task) if kind == "spam" else draw(*task[1:]))[:2]
    rate = RATES.get("spambase" if kind == "spam" else task[1], 1e-4)
    p, u = np.split(standardized(np.concatenate([p, u])), [len(p)])
    scores = code.dedpul_scores(p, u, seed=seed, lr=rate, **ON_DATA)
    # Two thirds to train, one third held out, as PU_learning splits tables.
    rng = np.random.default_rng(seed)
    (p, p_held), (u, u_held) = (
        np.split(rng.permutation(rows), [2 * len(rows) // 3]) for rows in (p, u)
    )
    return named("dedpul", *scores) | tedn(code, (p, u), (p_held, u_held), TABLE_NET, seed)


def tedn(code: Originals, part, held_out, widths, seed: int) -> dict[str, np.ndarray]:
    import torch

    device = "cuda" if widths == WIDE_NET and torch.cuda.is_available() else "cpu"
    shares, p, u = code.tedn(part, held_out, seed=seed, widths=widths, epochs=EPOCHS, device=device)
    return named("tedn", p, u) | {"tedn-shares": shares}


def own(task: tuple, folder: Path) -> dict[str, np.ndarray]:
    """Return scores for a user who has features and no classifier; saved with the networks'
    scores."""
    from noneg.prior import FeatureSamples
    from noneg.prior.discriminator import cross_fit

    path = folder / f"own_{file_name(task)}"
    if not path.exists():
        if task[0] == "digits":  # including held-out rows
            pairs = zip(*digits(task[1], task[-1]), strict=True)
            features = [np.concatenate(pair) for pair in pairs]
        else:
            features = drawn(task)[:2]
        scores = cross_fit(FeatureSamples(*features, "two-sample"), seed=task[-1])
        np.savez_compressed(path, **named("own", *map(expit, scores)))
    with np.load(path) as scores:
        return dict(scores)


def named(name: str, p, u) -> dict[str, np.ndarray]:
    return {f"{name}-p": p.astype(np.float32), f"{name}-u": u.astype(np.float32)}


def file_name(task: tuple) -> str:
    return "_".join(str(part).replace(" ", "").replace("/", "-") for part in task) + ".npz"


def default(p, u, method=None) -> float:
    from noneg.prior import ScoreLaws, find_estimator

    laws = ScoreLaws.from_arrays(p, u, setting="two-sample")
    return find_estimator(method or "dedpul").find(laws).share


def answers(code: Originals, scores, *, trends: bool) -> Iterator[Row]:
    """Yield the estimates that a file of scores allows."""
    from noneg.prior import Dedpul

    found = {}
    for name in ("dedpul", "tedn", "own"):
        if f"{name}-p" not in scores:
            continue
        pair = [scores[f"{name}-{part}"].astype(float) for part in "pu"]
        if name == "dedpul":
            found["DEDPUL code"] = code.dedpul_share(*pair, trends=trends)
            found["ours on DEDPUL's scores"] = default(*pair)
        elif name == "tedn":
            found["TEDn code"] = float(scores["tedn-shares"][-LAST:].mean())
            found["ours on TEDn's scores"] = default(*pair)
        else:
            published = Dedpul(bandwidth_positive=0.1, bandwidth_unlabeled=0.05)
            found["ours"] = default(*pair)
            found["ours with the published widths"] = default(*pair, published)
    return ({"method": method, "value": value} for method, value in found.items())


@cache
def loaded(folder: Path) -> Originals:
    return Originals(folder)


def same_scores(world: str, prior: float, n_positive: int, seed: int, folder: Path):
    """Yield their estimates for the out-of-fold scores of the study."""
    from experiments.prior.measure import FOLDS, classifier
    from noneg.prior import FeatureSamples
    from noneg.prior.discriminator import cross_fit

    code, rows = loaded(folder), draw(world, prior, n_positive, seed)[:2]
    samples = FeatureSamples(*rows, "two-sample")
    p, u = (expit(z) for z in cross_fit(samples, classifier(world), folds=FOLDS))
    for name, trends in (("DEDPUL code", False), ("DEDPUL code with trends", True)):
        value = code.dedpul_share(p, u, trends=trends)
        yield {"method": f"{name}, same scores", "value": value}
    yield {"method": "BBE code, same scores", "value": code.bbe_share(p, u)}


def place(task: tuple) -> Row:
    """Return the setting of a paper, the share, and the identifiable share."""
    if task[0] == "digits":
        return {"setting": f"{task[1]}, width {task[2][0]}", "share": 0.5, "best": 0.5}
    law = f"{task[1]}({task[2]}, {task[3]})" if task[0] == "line" else "spambase"
    return {"setting": law, "share": task[-2], "best": drawn(task)[2]}


def estimate_all(code: Originals, scores: Path, repeats: int, out: Path) -> dict[str, list[Row]]:
    """Return both tables, updated with estimates for all available scores."""
    found: dict[str, list[Row]] = {"peers": [], "papers": []}
    todo = [task for wide in (True, False) for task in tasks(repeats, wide=wide, few=False)]
    for task in dict.fromkeys(todo):
        path = scores / file_name(task)
        if not path.exists():
            continue
        with np.load(path) as stored:
            if task[0] == "study":
                names = ("world", "prior", "n_positive", "seed")
                key, table, both = dict(zip(names, task[1:], strict=True)), "peers", dict(stored)
            else:
                key, table = place(task) | {"seed": task[-1]}, "papers"
                both = dict(stored) | own(task, scores)
        rows = answers(code, both, trends=task[0] == "line")
        found[table] += [key | row for row in rows]
    keys = {"peers": ("world", "prior", "n_positive", "seed", "method")}
    keys["papers"] = ("setting", "share", "seed", "method")
    return {
        name: merged(out / f"{name}.csv", rows, *keys[name], digits=5)
        for name, rows in found.items()
    }
