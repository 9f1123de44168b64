"""The papers' data sets, by name: `load` returns training and test rows with their true labels.

Two come with scikit-learn and need no files. The others are read from the folder in the environment
variable ``NONEG_DATA``; missing files are downloaded once from their public source and cached. To
add a data set, write a function that reads its public files, and add one line to `FILES`.

A public file is accepted if its SHA-256 matches the published one; a comment gives the source of
the hash. Two data sets have no published hash for their UCI file, so they come from OpenML through
scikit-learn, which checks OpenML's MD5.
"""

from __future__ import annotations

import os
import pickle
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noneg.errors import InputError
from noneg.extras import optional

__all__ = ["Dataset", "load"]

# Training rows, training labels, test rows and test labels.
Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
Arrays = Mapping[str, NDArray[Any]]

FOLDER, CACHE = "NONEG_DATA", "NONEG_CACHE"
COVTYPE_TRAINING, LETTER_TRAINING = 15_120, 16_000

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets"
# File name, URL of its folder, and SHA-256.
SOURCES: dict[str, tuple[str, str]] = {
    # As in torchvision's prototype.datasets.USPS.
    "usps.bz2": (_LIBSVM, "3771e9dd6ba685185f89867b6e249233dd74652389f263963b3b741e994b034f"),
    "usps.t.bz2": (_LIBSVM, "a9c0164e797d60142a50604917f0baa604f326e9a689698763793fa5d12ffc4e"),
    # As in the Julia package SparseSVM; a file rewritten from its rows has the same hash.
    "letter-recognition.data": (
        f"{_UCI}/letter-recognition",
        "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    ),
    # As in keras.datasets.mnist.
    "mnist.npz": (_KERAS, "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"),
    # As in keras.datasets.cifar10.
    "cifar-10-python.tar.gz": (
        "https://www.cs.toronto.edu/~kriz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
    # As in sklearn.datasets.fetch_covtype.
    "covtype.data.gz": (
        f"{_UCI}/covtype",
        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    ),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with true labels, split into training and test rows.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray
        One row per sample: features, or images of shape (rows, columns, channels). Not scaled.
    y_train, y_test : ndarray
        Class indices, starting from 0.
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
        Folder with the files. By default, the folder in the environment variable ``NONEG_DATA``; a
        missing file is downloaded once from its public source, checked, and kept in the user's
        cache folder (or the folder in the environment variable ``NONEG_CACHE``). This needs the
        extra ``data``.

    Returns
    -------
    Dataset
        Uses the standard split if there is one; otherwise, every fourth row is a test row.

    Examples
    --------
    >>> from noneg.lab.datasets import load
    >>> load("digits").X_train.shape
    (1348, 64)
    """
    if name in BUNDLED:
        parts = BUNDLED[name]()
    elif name in FILES:
        parts = _read(name, folder)
    else:
        raise InputError("name", f"must be one of {', '.join([*BUNDLED, *FILES])}", value=name)
    train, labels, test, test_labels = parts
    return Dataset(name, train, labels.astype(np.int64), test, test_labels.astype(np.int64))


def _read(name: str, folder: str | os.PathLike[str] | None) -> Parts:
    """Read the file of a data set from the folder, or the public files if there is no folder."""
    file, split, fetch = FILES[name]
    place = os.environ.get(FOLDER) if folder is None else folder
    if place and (path := Path(place, file)).is_file():
        with np.load(path, allow_pickle=False) as arrays:
            return split(arrays)
    if folder is None:
        return fetch()
    msg = (
        f"the data set {name!r} needs the file {file}, which is not in {folder}. Put it there, or "
        "omit 'folder' to download the public file."
    )
    raise FileNotFoundError(msg)


def _split(rows: NDArray[Any], labels: NDArray[Any], n: int | None = None) -> Parts:
    """Use the first n rows for training and the rest for testing; by default, every fourth row."""
    if n is not None:
        return rows[:n], labels[:n], rows[n:], labels[n:]
    test = np.arange(labels.size) % 4 == 3
    return rows[~test], labels[~test], rows[test], labels[test]


def _breast_cancer() -> Parts:
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    return _split(rows, 1 - labels)


def _digits() -> Parts:
    from sklearn.datasets import load_digits

    return _split(*load_digits(return_X_y=True))


def _file(arrays: Arrays, n: int | None = None) -> Parts:
    """Return the rows of a file with one table, or with one for training and one for testing."""
    if "X" in arrays:
        return _split(arrays["X"], arrays["y"], n)
    return arrays["X_train"], arrays["y_train"], arrays["X_test"], arrays["y_test"]


def _covtype_file(arrays: Arrays) -> Parts:
    """Return the UCI split; the last 3,780 rows before its test part are validation rows."""
    one_hot = [np.eye(k, dtype=np.int16)[arrays[c]] for c, k in (("wilderness", 4), ("soil", 40))]
    rows = np.hstack([arrays["quantitative"], *one_hot])
    return _split(rows, arrays["cover_type"] - 1, COVTYPE_TRAINING)


def _cifar10_file(arrays: Arrays) -> Parts:
    train, test = (_decoded(arrays[f"{part}_residual"]) for part in ("train", "test"))
    return train, arrays["train_labels"], test, arrays["test_labels"]


def _decoded(residual: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return RGB images from differences, modulo 256, of the planes G, R - G and B - G."""
    rows = np.cumsum(residual, axis=-1, dtype=np.uint8)
    green, red, blue = np.cumsum(rows, axis=-2, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], axis=-1)


def cache_folder() -> Path:
    """Return the folder for downloaded files."""
    return Path(os.environ.get(CACHE) or _pooch().os_cache("noneg"))


def fetched_file(file: str) -> Path:
    """Return the path of a public file; a missing file is downloaded atomically."""
    folder, digest = SOURCES[file]
    address = f"{folder}/{file}"
    try:
        path = _pooch().retrieve(address, f"sha256:{digest}", fname=file, path=cache_folder())
    except ValueError as error:
        msg = (
            f"the file {file} from {address} is not the published one: its SHA-256 "
            f"must be {digest}. It was deleted. Try again, or get the file from "
            "another source."
        )
        raise ValueError(msg) from error
    except OSError as error:
        raise _out_of_reach(file, address, error) from error
    return Path(path)


def _pooch() -> Any:  # noqa: ANN401
    instead = "or set the environment variable NONEG_DATA to a folder that contains the data"
    with optional("downloading a public data set", instead):
        import pooch
    return pooch


def _out_of_reach(file: str, address: str, error: OSError) -> ConnectionError:
    return ConnectionError(
        f"the file {file} cannot be downloaded from {address}: {error}. Check the "
        "connection, or set the environment variable NONEG_DATA to a folder that "
        "contains the data."
    )


def _usps() -> Parts:
    train, test = (_libsvm(fetched_file(file)) for file in ("usps.bz2", "usps.t.bz2"))
    return *train, *test


def _libsvm(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return dense rows and labels; labels start at 1 in the file."""
    from sklearn.datasets import load_svmlight_file

    rows, labels = load_svmlight_file(path, dtype=np.float32)
    return rows.toarray(), labels.astype(np.int64) - 1


def _letter() -> Parts:
    table = np.loadtxt(fetched_file("letter-recognition.data"), delimiter=",", dtype=str)
    labels = np.array([ord(letter) - ord("A") for letter in table[:, 0]])
    return _split(table[:, 1:].astype(np.uint8), labels, LETTER_TRAINING)


def _mnist() -> Parts:
    with np.load(fetched_file("mnist.npz"), allow_pickle=False) as arrays:
        train, test = (arrays[f"x_{part}"].reshape(-1, 784) for part in ("train", "test"))
        return train, arrays["y_train"], test, arrays["y_test"]


def _cifar10() -> Parts:
    with tarfile.open(fetched_file("cifar-10-python.tar.gz")) as archive:
        batches = [_batch(archive, name) for name in ("data_batch_1", "data_batch_2")]
        test, test_labels = _batch(archive, "test_batch")
    train, labels = (np.concatenate(part) for part in zip(*batches, strict=True))
    return train, labels, test, test_labels


class _Arrays(pickle.Unpickler):
    """Unpickler that loads only arrays and cannot run code; the archive's hash is checked too."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """Return a class needed for arrays; reject all others."""
        if (module.split(".", maxsplit=1)[0], name) not in _ARRAY_PARTS:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an array.")
        return super().find_class(module, name)


_ARRAY_PARTS = {
    ("numpy", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}


def _batch(archive: tarfile.TarFile, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    place = f"cifar-10-batches-py/{name}"
    file = archive.extractfile(place) if place in archive.getnames() else None
    if file is None:
        msg = f"the CIFAR-10 archive must contain {name}, but does not."
        raise ValueError(msg)
    found = _Arrays(file, encoding="bytes").load()
    images = np.asarray(found[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
    return np.moveaxis(images, 1, -1).copy(), np.asarray(found[b"labels"], dtype=np.int64)


def _covtype() -> Parts:
    table = np.loadtxt(fetched_file("covtype.data.gz"), delimiter=",", dtype=np.int16)
    return _split(table[:, :-1], table[:, -1] - 1, COVTYPE_TRAINING)


def _openml(number: int) -> Parts:
    """Return a two-class data set from OpenML."""
    from sklearn.datasets import fetch_openml

    place = str(cache_folder())
    address = f"https://www.openml.org/d/{number}"
    try:
        found = fetch_openml(data_id=number, data_home=place, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise _out_of_reach(f"of data set {number}", address, error) from error
    return _split(found.data, found.target.astype(np.int64))


BUNDLED: dict[str, Callable[[], Parts]] = {"breast_cancer": _breast_cancer, "digits": _digits}
# For each data set, the file in the folder, the function that splits its arrays, and the function
# that reads the public files.
FILES: dict[str, tuple[str, Callable[[Arrays], Parts], Callable[[], Parts]]] = {
    "usps": ("usps.npz", _file, _usps),
    "letter": ("letter.npz", partial(_file, n=LETTER_TRAINING), _letter),
    "mnist": ("mnist.npz", _file, _mnist),
    "cifar10": ("cifar10_20k.npz", _cifar10_file, _cifar10),
    "covtype": ("covtype.npz", _covtype_file, _covtype),
    "spambase": ("spambase.npz", _file, partial(_openml, 44)),
    "credit_default": ("uci_credit_default.npz", _file, partial(_openml, 42477)),
}
