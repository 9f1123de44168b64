"""Images of a binary task on the device, and which of them are held out and labelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from noneg.randomness import stream

HELD_OUT = 0.1


@dataclass(frozen=True)
class Images:
    """Images on a device, the training ones first, and which of them are positive."""

    pixels: torch.Tensor
    positive: np.ndarray
    n_train: int

    @property
    def device(self) -> torch.device:
        return self.pixels.device

    @property
    def prior(self) -> float:
        return float(self.positive[: self.n_train].mean())

    def tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device)

    def tagged(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of rows as labelled positives, to be told from unlabeled ones."""
        return rows + len(self.positive)

    def labelled(self, rows: torch.Tensor) -> torch.Tensor:
        """Return which of the rows are tagged."""
        return rows >= len(self.positive)

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """Return pixels in [0, 1], flat, of rows with any leading axes; tags do not matter."""
        flat = self.pixels.index_select(0, rows.flatten() % len(self.positive))
        return flat.float().div_(255.0).reshape(*rows.shape, -1)


@dataclass(frozen=True)
class Rows:
    """Rows of one trial. Positives of a smaller size are among those of a larger one."""

    train: np.ndarray
    held: np.ndarray
    train_pos: np.ndarray
    held_pos: np.ndarray

    def labelled(self, n: int) -> np.ndarray:
        """Return which held-out rows are labelled positives when n images are labelled."""
        return np.isin(self.held, self.held_pos[: split_size(n)[1]])


def draw_rows(positive: np.ndarray, trial: int, name: str) -> Rows:
    """Split the training images; labelled positives of each part are images of that part.

    Every image is unlabeled, as in the paper, whose unlabeled sample is the whole data set.
    """
    order = stream(trial, f"{name} rows").permutation(positive.size)
    held, train = np.split(order, [round(HELD_OUT * positive.size)])
    return Rows(train, held, train[positive[train]], held[positive[held]])


def split_size(n: int) -> tuple[int, int]:
    """Return how many of n labelled rows are for training, and how many are held out."""
    held = max(1, round(HELD_OUT * n))
    return n - held, held


def grouped(
    data: Images, on_test: np.ndarray, on_held: np.ndarray, rows: Rows, n: int
) -> dict[str, np.ndarray]:
    """Return logits by group; the labelled held-out positives are those of the size."""
    on_labelled, positive = rows.labelled(n), data.positive[rows.held]
    tested = data.positive[data.n_train :]
    return {
        "test_neg": on_test[~tested],
        "test_pos": on_test[tested],
        "held_neg": on_held[~positive],
        "held_pos": on_held[positive & ~on_labelled],
        "held_labelled": on_held[on_labelled],
    }
