"""Does calibration hold on new rows? Figures 1 to 5 and Table 1 of Futami & Fujisawa (2024).

Draws Figure 1 from simulated rows; trains the networks that are missing from the folder of margins
(``--margins``), on a GPU if there is one, with the data in NONEG_DATA; and computes gaps and
bounds. ``--parts figure1 tables`` uses existing margins.
"""

import argparse
import math
from operator import itemgetter
from pathlib import Path

import numpy as np

from experiments.drawing import style
from experiments.information.analysis import all_tables
from experiments.information.cells import full, keep, pool, quick, stored
from experiments.study import BUILD, Run, Study, cells
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row, merged, standard_error
from noneg.bins import bin_scores
from noneg.randomness import stream
from noneg.theory import labeled_bias_bound, labeled_optimal_bins

# Figure 1: unseen rows, width bins, and two classifiers with exactly known calibration.
SIZES = [round(10 ** (2 + k / 2)) for k in range(9)]  # 100 to a million
# Multiples and powers of n. The paper prints negative powers, which would give less than one bin.
CANDIDATES = [(factor, power) for factor in (1, 2, 3) for power in (2, 3, 4)]


def candidates(n: int) -> list[int]:
    # 1000 ** (1/3) is below 10 in double precision.
    return sorted({math.floor(factor * n ** (1 / power) + 1e-9) for factor, power in CANDIDATES})


def gaps(world: str, n: int, trials: int, bins: list[int]) -> np.ndarray:
    """Return |ECE - TCE|, shape (trials, numbers of bins)."""
    truth, out = PAPER[world].tce(), np.empty((trials, len(bins)))
    for trial in range(trials):
        rng = stream(trial, f"figure 1 {world} {n}")
        scores = PAPER[world].draw(n=n, setting="labeled", seed=rng)
        found = [bin_scores(scores, bins=b, binning="width").residual for b in bins]
        out[trial] = [abs(np.abs(rho).sum() - truth) for rho in found]
    return out


def figure1_row(world: str, n: int, trials: int) -> Row:
    options = {"binning": "width", "lipschitz": known(PAPER[world]).lipschitz}
    best, tried = labeled_optimal_bins(n, rule="closed-form", **options), candidates(n)
    bounds = {b: labeled_bias_bound(n, bins=b, **options).value for b in (best, *tried)}
    found = gaps(world, n, trials, [best, *tried])
    mean = found.mean(axis=0)
    return {
        "tce": PAPER[world].tce(),
        "lipschitz": options["lipschitz"],
        "bins": best,
        "bound": bounds[best],
        "gap": mean[0],
        "gap_se": standard_error(found[:, 0]),
        "largest_gap": found[:, 0].max(),
        "bins_of_least_bound": min(tried, key=bounds.get),
        "bins_of_least_gap": tried[int(mean[1:].argmin())],
        "trials": trials,
    }


def figure1(run: Run) -> dict[str, list[Row]]:
    every = cells(world=list(PAPER)[:2], n=run.pick(SIZES, SIZES[:5:2]))
    return {"figure1": run.rows(figure1_row, every, trials=run.trials(100, 10))}


def margins(run: Run) -> Path:
    return run.options.margins or BUILD / "information" / run.pick("margins", "quick-margins")


def training(run: Run) -> None:
    """Train the missing networks until the time limit."""
    import torch

    from experiments.information.ensemble import Images, trained

    folder, device = margins(run), "cuda" if torch.cuda.is_available() else "cpu"
    folder.mkdir(parents=True, exist_ok=True)
    # Matrix products with a 10-bit mantissa, as in PyTorch's convolutions by default.
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    done = {(cell.group, cell.key) for cell, *_ in stored(folder)}
    images: dict[str, Images] = {}
    for cell in run.pick(full, quick)():
        if run.minutes_over or (cell.group, cell.key) in done:
            continue
        if cell.data not in images:
            images = {cell.data: Images(cell.data, *pool(cell.data), device)}
        keep(folder, cell, *trained(cell, images[cell.data], device))
        run.say(cell.group, cell.key)


def tables(run: Run) -> dict[str, list[Row]]:
    """Return the stored tables with the rows of all margins in the folder."""
    found = all_tables(stored(margins(run)), run.say).items()
    rows = {
        name: merged(run.out / f"{name}.csv", new, *KEYS[name], digits=run.digits)
        for name, new in found
    }
    return {name: sorted(own, key=itemgetter("group", "n")) for name, own in rows.items()}


KEYS = {
    "bounds": ("group", "n", "binning", "bins"),
    "recalibration": ("group", "n"),
    "information": ("group", "n"),
    "runs": ("group", "key"),
    "training": ("group", "n"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--margins", type=Path, help="folder of the networks' margins")


STUDY = Study(
    "information",
    parts=(figure1, training, tables),
    page="experiments.information.page",
    style=style(dpi=110),
    arguments=arguments,
    optional=("information",),
)
