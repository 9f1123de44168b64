"""Data sets of the papers by name: `load` returns training and test rows with their true labels.

Two come with scikit-learn and need nothing. The others are read from the folder that the
environment variable ``NONEG_DATA`` names; what is not there is fetched once from its public source
and kept. A new data set is one function, in `noneg.lab.datasets.folder` for a file of yours or in
`noneg.lab.datasets.fetched` for a public one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.lab.datasets.fetched import FETCHED, fetch
from noneg.lab.datasets.folder import BUNDLED, FILES, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.lab.datasets.parts import Parts

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
        "credit_default" are files.
    folder : path, optional
        Where the files are. By default the folder in the environment variable ``NONEG_DATA``; a
        file that is not there is fetched once from its public source, checked, and kept in the
        cache folder of the user (or the one in the environment variable ``NONEG_CACHE``), which
        needs the extra ``data``.

    Returns
    -------
    Dataset
        The split is the customary one where there is one; otherwise every fourth row is for tests.

    Examples
    --------
    >>> from noneg.lab.datasets import load
    >>> load("digits").X_train.shape
    (1348, 64)
    """
    if name in BUNDLED:
        return _named(name, BUNDLED[name]())
    if name not in FILES:
        msg = f"'name' must be one of {', '.join([*BUNDLED, *FILES])}, got {name!r}."
        raise ValueError(msg)
    path = _find(name, folder)
    return _named(name, read(name, path) if path is not None else fetch(name))


def _find(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the file of a data set; None if it is to be fetched."""
    place = os.environ.get(VARIABLE) if folder is None else folder
    path = Path(place) / FILES[name][0] if place else None
    if path is not None and path.is_file():
        return path
    if folder is not None or name not in FETCHED:
        msg = (
            f"the data set {name!r} needs the file {FILES[name][0]}, which is not in "
            f"{place or 'any folder that was named'}. Put it there, or leave 'folder' out to have "
            "the public file fetched."
        )
        raise FileNotFoundError(msg)
    return None


def _named(name: str, parts: Parts) -> Dataset:
    train, labels, test, test_labels = parts
    return Dataset(
        name=name,
        X_train=train,
        y_train=labels.astype(np.int64),
        X_test=test,
        y_test=test_labels.astype(np.int64),
    )
