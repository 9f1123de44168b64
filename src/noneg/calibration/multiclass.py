"""Multiclass calibration through binary problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.calibration.errors import ece
from noneg.checks import check_same_length
from noneg.errors import InputError
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats, Places
    from noneg.bins import Binning


def class_table(values: ArrayLike, name: str = "y_prob") -> Floats:
    """Return one row per sample and one column per class."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        msg = f"must have one row per sample and one column per class, got {table.shape}."
        raise InputError(name, msg)
    return table


def class_numbers(y_true: ArrayLike, table: Floats, name: str = "y_prob") -> Places:
    """Return the class of each row as a column number."""
    labels = np.asarray(y_true)
    check_same_length(**{name: len(table), "y_true": labels.size})
    numbers = labels.dtype.kind in "iu"
    if not numbers or (labels.size and not (labels.min() >= 0 and labels.max() < table.shape[1])):
        raise InputError(
            "y_true",
            f"must contain class numbers from 0 to {table.shape[1] - 1}, the columns of '{name}'. "
            "Encode the classes first, for example with numpy.unique(return_inverse=True).",
        )
    return labels.astype(np.intp)


def one_vs_rest(y_true: ArrayLike, y_prob: ArrayLike) -> list[PUScores]:
    """Return one labeled `PUScores` per class: its probability against its indicator.

    Examples
    --------
    >>> one_vs_rest([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])[0]
    PUScores(1 positive, 3 labeled rows, prior 0.333333)
    """
    table = class_table(y_prob)
    labels = class_numbers(y_true, table)
    return [PUScores.from_labels(labels == k, column) for k, column in enumerate(table.T)]


def top_label(y_true: ArrayLike, y_prob: ArrayLike) -> PUScores:
    """Return the top probabilities, with labels for whether the most probable class is right.

    Examples
    --------
    >>> round(ece(top_label([0, 1], [[0.8, 0.2], [0.4, 0.6]]), bins=1), 12)
    0.3
    """
    table = class_table(y_prob)
    top = table.argmax(axis=1)
    return PUScores.from_labels(
        class_numbers(y_true, table) == top, table[np.arange(len(table)), top]
    )


def classwise_ece(
    classes: Sequence[PUScores],
    *,
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    p: float = 1,
) -> float:
    """Return the mean one-vs-rest error over classes (PU-ECE paper, Appendix H).

    Parameters
    ----------
    classes : sequence of PUScores
        One per class: from `one_vs_rest` for labeled data, or a PU sample of each class.
    bins, binning, p
        As in `ece`.

    Examples
    --------
    >>> round(classwise_ece(one_vs_rest([0, 1], [[0.8, 0.2], [0.4, 0.6]]), bins=1), 12)
    0.1
    """
    if isinstance(classes, PUScores) or not len(classes):
        raise InputError("classes", "must be a sequence of PUScores, one per class", value=classes)
    return float(np.mean([ece(scores, bins=bins, binning=binning, p=p) for scores in classes]))
