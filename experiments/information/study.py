"""Does calibration hold on new rows? Figures 1 to 5 and Table 1 of Futami & Fujisawa (2024).

Draws Figure 1 from simulated rows; trains the networks that are missing from the folder of margins
(``--margins``), on a GPU if there is one, with the data in NONEG_DATA; and computes gaps and
bounds. ``--parts figure1 tables`` uses existing margins.
"""

import argparse
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from experiments.drawing import style
from experiments.information.analysis import all_tables
from experiments.information.cells import SEED, Cell, full, pool, quick
from experiments.information.synthetic import figure1
from experiments.study import BUILD, Run, Study, command
from experiments.tables import Row
from noneg.atomic import replacing
from noneg.lab.information.supersample import PUSupersample, pick


def margins(run: Run) -> Path:
    return run.options.margins or BUILD / "information" / run.pick("margins", "quick-margins")


def stored(folder: Path) -> Iterator[tuple[Cell, np.ndarray, Row]]:
    """Yield the trained cells, with their margins and training metadata."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.endswith("/margins"):
                    about = json.loads(str(arrays[key.replace("margins", "about")]))
                    names = Cell.__dataclass_fields__
                    yield Cell(**{name: about[name] for name in names}), arrays[key], about


def keep(folder: Path, cell: Cell, found: np.ndarray, about: Row) -> None:
    """Add a cell to the file of its optimizer."""
    path = folder / f"{cell.group}.npz"
    arrays = {}
    if path.exists():
        with np.load(path, allow_pickle=False) as before:
            arrays = dict(before)
    arrays[f"{cell.key}/margins"] = found.astype(np.float32)
    arrays[f"{cell.key}/about"] = json.dumps(asdict(cell) | about)
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def rows_of(cell: Cell, device: str):
    """Return the training rows of all networks, and all rows in their supersamples."""
    import torch

    from experiments.information.ensemble import Rows

    first, positive, whole, prior = [], [], [], 0.5
    for number in range(cell.supersamples):
        pairs = cell.pairs(number)
        for coins in cell.membership(number):
            whole.append(pairs.rows())
            if isinstance(pairs, PUSupersample):
                p, u = pairs.training(coins)
                positive.append(p)
                first.append(u)
                prior = pairs.prior
            else:
                first.append(pick(pairs.X, coins))

    def tensor(parts: list[np.ndarray]) -> torch.Tensor:
        return torch.as_tensor(np.stack(parts), device=device)

    return Rows(tensor(first), tensor(positive) if positive else None, prior), tensor(whole)


def trained(cell: Cell, images, device: str) -> tuple[np.ndarray, Row]:
    """Return the margins for one cell, and how they were computed."""
    from experiments.information.ensemble import Training, fastest, wait

    rows, whole = rows_of(cell, device)
    way, _ = fastest(cell.data, cell.optimizer, rows, images, device)
    training = Training(cell.data, cell.optimizer, rows, way=way, device=device, seed=SEED)
    start, loss = time.perf_counter(), float("nan")
    for _ in range(cell.epochs):
        loss = training.epoch(images)
    wait(device)
    seconds = round(time.perf_counter() - start, 1)
    found = training.margins(images, whole).reshape(cell.supersamples, cell.draws, -1, 2)
    return found, {"way": way, "seconds": seconds, "loss": loss, **described(device)}


def described(device: str) -> Row:
    """Return the command, versions and device."""
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "CPU"
    return {
        "command": command(),
        "seed": SEED,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "device": name,
    }


def training(run: Run) -> None:
    """Train the missing networks until the time limit."""
    import torch

    from experiments.information.ensemble import Images

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
    return all_tables(stored(margins(run)), run.say)


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
