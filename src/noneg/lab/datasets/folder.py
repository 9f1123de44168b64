"""Data sets that come with scikit-learn, or lie in a folder of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.lab.datasets.parts import COVTYPE_TRAINING, LETTER_TRAINING, every_fourth, first_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from noneg.lab.datasets.parts import Parts

    Arrays = Mapping[str, NDArray[Any]]


def read(name: str, path: Path) -> Parts:
    """Return a data set from its file."""
    with np.load(path, allow_pickle=False) as arrays:
        return FILES[name][1](arrays)


def _breast_cancer() -> Parts:
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    return every_fourth(rows, 1 - labels)


def _digits() -> Parts:
    from sklearn.datasets import load_digits

    return every_fourth(*load_digits(return_X_y=True))


def _as_split(arrays: Arrays) -> Parts:
    return arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]


def _letter(arrays: Arrays) -> Parts:
    return first_rows(arrays["X"], arrays["y"], LETTER_TRAINING)


def _not_split(arrays: Arrays) -> Parts:
    return every_fourth(arrays["X"], arrays["y"])


def _covtype(arrays: Arrays) -> Parts:
    """Return the UCI split; the last 3,780 rows before its test part are for validation."""
    one_hot = [np.eye(k, dtype=np.int16)[arrays[c]] for c, k in (("wilderness", 4), ("soil", 40))]
    rows = np.hstack([arrays["quantitative"], *one_hot])
    return first_rows(rows, arrays["cover_type"] - 1, COVTYPE_TRAINING)


def _cifar10(arrays: Arrays) -> Parts:
    train, test = (_decoded(arrays[f"{part}_residual"]) for part in ("train", "test"))
    return train, arrays["train_labels"], test, arrays["test_labels"]


def _decoded(residual: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return RGB images from differences, modulo 256, of the planes G, R - G and B - G."""
    rows = np.cumsum(residual, axis=-1, dtype=np.uint8)
    green, red, blue = np.cumsum(rows, axis=-2, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], axis=-1)


BUNDLED: dict[str, Callable[[], Parts]] = {"breast_cancer": _breast_cancer, "digits": _digits}
FILES: dict[str, tuple[str, Callable[[Arrays], Parts]]] = {
    "usps": ("usps.npz", _as_split),
    "letter": ("letter.npz", _letter),
    "mnist": ("mnist.npz", _as_split),
    "cifar10": ("cifar10_20k.npz", _cifar10),
    "covtype": ("covtype.npz", _covtype),
    "spambase": ("spambase.npz", _not_split),
    "credit_default": ("uci_credit_default.npz", _not_split),
}
