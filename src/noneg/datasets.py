"""Data sets of the papers by name: `load` returns training and test rows with their true labels.

Two come with scikit-learn and need nothing. The others are read from the folder that the
environment variable ``NONEG_DATA`` names; each is one small function below, and a new one is
another such function.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

__all__ = ["Dataset", "load"]

VARIABLE = "NONEG_DATA"


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Rows with true labels, in a training and a test part.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray
        One row a sample: features, or images of shape (rows, columns, channels). Not scaled.
    y_train, y_test : ndarray
        Class numbers from 0.
    """

    name: str
    X_train: NDArray[Any]
    y_train: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a data set by name.

    Parameters
    ----------
    name : str
        "breast_cancer" (class 1 is malignant) and "digits" come with scikit-learn. "usps",
        "letter", "mnist", "cifar10" (the first 20,000 training images), "covtype", "spambase" and
        "credit_default" are read from files.
    folder : path, optional
        Where the files are; by default the folder in the environment variable ``NONEG_DATA``.

    Returns
    -------
    Dataset
        The split is the customary one where there is one; otherwise every fourth row is for tests.

    Examples
    --------
    >>> from noneg.datasets import load
    >>> load("digits").X_train.shape
    (1348, 64)
    """
    if name in BUNDLED:
        return Dataset(name=name, **_named(*BUNDLED[name]()))
    if name not in FILES:
        msg = f"'name' must be one of {', '.join([*BUNDLED, *FILES])}, got {name!r}."
        raise ValueError(msg)
    file, arrange = FILES[name]
    with np.load(_path(name, file, folder), allow_pickle=False) as arrays:
        return Dataset(name=name, **_named(*arrange(arrays)))


def _path(name: str, file: str, folder: str | os.PathLike[str] | None) -> Path:
    place = os.environ.get(VARIABLE) if folder is None else folder
    if not place:
        msg = (
            f"the data set {name!r} is read from a file: set the environment variable {VARIABLE} "
            f"to the folder that holds {file}, or pass 'folder'."
        )
        raise FileNotFoundError(msg)
    path = Path(place) / file
    if not path.is_file():
        msg = f"the data set {name!r} needs the file {file}, which is not in {path.parent}."
        raise FileNotFoundError(msg)
    return path


Parts = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]


def _named(
    train: NDArray[Any], labels: NDArray[Any], test: NDArray[Any], test_labels: NDArray[Any]
) -> dict[str, Any]:
    return {
        "X_train": train,
        "y_train": labels.astype(np.int64),
        "X_test": test,
        "y_test": test_labels.astype(np.int64),
    }


def _split(rows: NDArray[Any], labels: NDArray[Any]) -> Parts:
    """Keep every fourth row for tests."""
    test = np.arange(labels.size) % 4 == 3
    return rows[~test], labels[~test], rows[test], labels[test]


def _breast_cancer() -> Parts:
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    return _split(rows, 1 - labels)


def _digits() -> Parts:
    from sklearn.datasets import load_digits

    return _split(*load_digits(return_X_y=True))


def _as_split(arrays: Arrays) -> Parts:
    return arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]


def _letter(arrays: Arrays) -> Parts:
    rows, labels, n = arrays["X"], arrays["y"], 16_000
    return rows[:n], labels[:n], rows[n:], labels[n:]


def _not_split(arrays: Arrays) -> Parts:
    return _split(arrays["X"], arrays["y"])


def _covtype(arrays: Arrays) -> Parts:
    """Return the UCI split; the last 3,780 rows before its test part are for validation."""
    one_hot = [np.eye(k, dtype=np.int16)[arrays[c]] for c, k in (("wilderness", 4), ("soil", 40))]
    rows = np.hstack([arrays["quantitative"], *one_hot])
    labels, n = arrays["cover_type"] - 1, 15_120
    return rows[:n], labels[:n], rows[n:], labels[n:]


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
