"""Train the networks of all cells, and keep their margins on seen and unseen rows.

    NONEG_DATA=... python experiments/information/train.py FOLDER [--quick] [--seconds 1200]

Runs on a GPU where there is one. What is in the folder already is not trained again; a cell that
would not end within the seconds left is passed over. Each npz file holds an optimiser's cells, and
`training.csv` a row for each network.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import sys
import time
from pathlib import Path

import cells
import numpy as np
import torch
from ensemble import Images, Rows, Training, fastest, wait
from noneg.information.supersample import PUSupersample, pick

from noneg.atomic import replacing

START = time.perf_counter()


def say(*words: object) -> None:
    print(f"[{time.perf_counter() - START:7.1f} s]", *words, flush=True)


def rows_of(cell: cells.Cell, device: str) -> tuple[Rows, torch.Tensor]:
    """Return the training rows of all networks, and all rows of their supersamples."""
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


def train(cell: cells.Cell, images: Images, device: str, left: float) -> dict | None:
    """Return the margins of one cell, or None where the time would not do."""
    rows, whole = rows_of(cell, device)
    way, times = fastest(cell.data, cell.optimiser, rows, images, device)
    training = Training(cell.data, cell.optimiser, rows, way=way, device=device, seed=cells.SEED)
    expected = times[way] * training.steps * cell.epochs
    spoken = ", ".join(f"{w} {1e3 * t:.1f} ms" for w, t in times.items())
    say(cell.group, cell.key, f"{expected:.0f} s expected; a step: {spoken}")
    if 1.1 * expected > left:
        say("  passed over:", f"{left:.0f} s left")
        return None
    start, loss = time.perf_counter(), float("nan")
    for epoch in range(cell.epochs):
        loss = training.epoch(images)
        if time.perf_counter() - start > left:
            say("  given up after", epoch + 1, "of", cell.epochs, "epochs: no time left")
            return None
        if epoch % max(1, cell.epochs // 4) == 0:
            say("  epoch", epoch, f"loss {loss:.4f}")
    wait(device)
    seconds = time.perf_counter() - start
    found = training.margins(images, whole).reshape(cell.supersamples, cell.draws, -1, 2)
    say("  done in", f"{seconds:.0f} s, last loss {loss:.4f}")
    about = {"way": way, "seconds": round(seconds, 1), "loss": loss, **described(device)}
    return {"margins": found.astype(np.float32), "about": json.dumps({**vars(cell), **about})}


def described(device: str) -> dict[str, str]:
    """Return command, versions and device."""
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "CPU"
    # Folders differ from machine to machine; only their last names matter.
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv]
    return {
        "command": " ".join(["python", *words]),
        "seed": cells.SEED,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "device": name,
    }


def kept(path: Path) -> dict[str, np.ndarray]:
    """Return what a file holds."""
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def keep(folder: Path, cell: cells.Cell, made: dict) -> None:
    path = folder / f"{cell.group}.npz"
    arrays = kept(path) | {f"{cell.key}/{name}": value for name, value in made.items()}
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def log(folder: Path, cell: cells.Cell, margins: np.ndarray) -> None:
    """Add a row a network: accuracy and log loss on seen and on unseen rows."""
    labels = cells.pool(cell.data)[1]
    path = folder / "training.csv"
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        if fresh:
            names = ("group", "n", "supersample", "draw")
            parts = [
                f"{what}_{part}" for part in ("seen", "unseen") for what in ("accuracy", "loss")
            ]
            writer.writerow([*names, *parts])
        for number in range(cell.supersamples):
            pairs, membership = cell.pairs(number), cell.membership(number)
            truth = labels[pairs.rows()].reshape(-1, 2)
            for draw, coins in enumerate(membership):
                row = []
                for side in (coins, ~coins):
                    f, y = pick(margins[number, draw].astype(float), side), pick(truth, side)
                    if isinstance(pairs, PUSupersample):
                        # Labels of unlabeled rows are known here alone, and judge.
                        f, y = f[: pairs.n_unlabeled], y[: pairs.n_unlabeled]
                    loss = np.logaddexp(0.0, f) - y * f
                    row += [f"{((f > 0) == y).mean():.6g}", f"{loss.mean():.6g}"]
                writer.writerow([cell.group, cell.n, number, draw, *row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="few rows, networks and epochs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop")
    parser.add_argument("--only", default="", help="groups that begin with this")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # Products of matrices with 10 bits of mantissa: as PyTorch's own convolutions by default.
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    say(described(device))
    images: dict[str, Images] = {}
    for cell in cells.quick() if arguments.quick else cells.full():
        if not cell.group.startswith(arguments.only):
            continue
        if f"{cell.key}/margins" in kept(arguments.folder / f"{cell.group}.npz"):
            say(cell.group, cell.key, "is there already")
            continue
        if cell.data not in images:
            images = {cell.data: Images(cell.data, *cells.pool(cell.data), device)}
        left = arguments.seconds - (time.perf_counter() - START)
        made = train(cell, images[cell.data], device, left)
        if made is not None:
            keep(arguments.folder, cell, made)
            log(arguments.folder, cell, made["margins"])


if __name__ == "__main__":
    main()
