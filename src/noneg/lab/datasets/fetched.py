"""Public data sets, fetched once, checked and kept.

A file is taken if its SHA-256 is the one that was published; where that was found is said beside
it. Two data sets have no published hash of their UCI file and come from OpenML through
scikit-learn, which checks OpenML's MD5.
"""

from __future__ import annotations

import bz2
import os
import pickle
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.lab.datasets.parts import COVTYPE_TRAINING, LETTER_TRAINING, every_fourth, first_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.lab.datasets.parts import Parts

CACHE = "NONEG_CACHE"

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets"
# File, address, SHA-256.
SOURCES: dict[str, tuple[str, str]] = {
    # As in torchvision's prototype.datasets.USPS.
    "usps.bz2": (
        f"{_LIBSVM}/usps.bz2",
        "3771e9dd6ba685185f89867b6e249233dd74652389f263963b3b741e994b034f",
    ),
    "usps.t.bz2": (
        f"{_LIBSVM}/usps.t.bz2",
        "a9c0164e797d60142a50604917f0baa604f326e9a689698763793fa5d12ffc4e",
    ),
    # As in the Julia package SparseSVM; the same as of the file written anew from its rows.
    "letter-recognition.data": (
        f"{_UCI}/letter-recognition/letter-recognition.data",
        "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    ),
    # As in keras.datasets.mnist.
    "mnist.npz": (
        f"{_KERAS}/mnist.npz",
        "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
    ),
    # As in keras.datasets.cifar10.
    "cifar-10-python.tar.gz": (
        "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
    # As in sklearn.datasets.fetch_covtype.
    "covtype.data.gz": (
        f"{_UCI}/covtype/covtype.data.gz",
        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    ),
}


def fetch(name: str) -> Parts:
    """Return a data set from its public source, or from the cache folder."""
    return FETCHED[name]()


def cache_folder() -> Path:
    """Return where fetched files are kept."""
    return Path(os.environ.get(CACHE) or _pooch().os_cache("noneg"))


def fetched_file(file: str) -> Path:
    """Return the path of a public file; it is fetched if it is not there, whole or not at all."""
    address, digest = SOURCES[file]
    try:
        path = _pooch().retrieve(address, f"sha256:{digest}", fname=file, path=cache_folder())
    except ValueError as error:
        msg = (
            f"the file {file} from {address} is not the published one: its SHA-256 must be "
            f"{digest}. It was not kept. Try again, or get the file elsewhere."
        )
        raise ValueError(msg) from error
    except OSError as error:
        raise _out_of_reach(file, address, error) from error
    return Path(path)


def _pooch() -> Any:  # noqa: ANN401
    try:
        import pooch
    except ModuleNotFoundError as error:
        msg = (
            "a public data set is fetched with pooch, which is missing; install it with: "
            "pip install 'noneg[data]', or set the environment variable NONEG_DATA to a folder "
            "that holds the data."
        )
        raise ImportError(msg) from error
    return pooch


def _out_of_reach(file: str, address: str, error: OSError) -> ConnectionError:
    return ConnectionError(
        f"the file {file} cannot be fetched from {address}: {error}. Check the connection; or "
        "set the environment variable NONEG_DATA to a folder that holds the data."
    )


def _usps() -> Parts:
    train, test = (_libsvm(fetched_file(file)) for file in ("usps.bz2", "usps.t.bz2"))
    return *train, *test


def _libsvm(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return dense rows and labels; labels start at 1 in the file."""
    with bz2.open(path, "rt", encoding="ascii") as lines:
        table = [line.split() for line in lines]
    rows = [[word.partition(":")[2] for word in words[1:]] for words in table]
    return np.array(rows, dtype=np.float32), np.array([w[0] for w in table]).astype(np.int64) - 1


def _letter() -> Parts:
    table = np.loadtxt(fetched_file("letter-recognition.data"), delimiter=",", dtype=str)
    labels = np.array([ord(letter) - ord("A") for letter in table[:, 0]])
    return first_rows(table[:, 1:].astype(np.uint8), labels, LETTER_TRAINING)


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
    """Reads arrays, and nothing that could be executed; the archive is known by its hash, too."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """Return what an array is made of, refuse all else."""
        if (module.split(".", maxsplit=1)[0], name) not in _ARRAY_PARTS:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an array.")
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
        msg = f"the archive of CIFAR-10 must hold {name}, and does not."
        raise ValueError(msg)
    found = _Arrays(file, encoding="bytes").load()
    images = np.asarray(found[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32)
    return np.moveaxis(images, 1, -1).copy(), np.asarray(found[b"labels"], dtype=np.int64)


def _covtype() -> Parts:
    table = np.loadtxt(fetched_file("covtype.data.gz"), delimiter=",", dtype=np.int16)
    return first_rows(table[:, :-1], table[:, -1] - 1, COVTYPE_TRAINING)


def _spambase() -> Parts:
    return _openml(44)


def _credit_default() -> Parts:
    return _openml(42477)


def _openml(number: int) -> Parts:
    """Return a data set of OpenML with two classes."""
    from sklearn.datasets import fetch_openml

    place = str(cache_folder())
    address = f"https://www.openml.org/d/{number}"
    try:
        found = fetch_openml(data_id=number, data_home=place, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise _out_of_reach(f"of data set {number}", address, error) from error
    return every_fourth(found.data, found.target.astype(np.int64))


FETCHED: dict[str, Callable[[], Parts]] = {
    "usps": _usps,
    "letter": _letter,
    "mnist": _mnist,
    "cifar10": _cifar10,
    "covtype": _covtype,
    "spambase": _spambase,
    "credit_default": _credit_default,
}
