"""Files of feature columns with a label column -> a table of numbers and flags."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.tables.batches import numbers, placed
from noneg.tables.columns import Wanted
from noneg.tables.files import open_files
from noneg.tables.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.tables.batches import Batch, Place, Source


@dataclass(frozen=True, kw_only=True)
class _Labels(Wanted):
    """Only the label must be there; features are what else there is, or what is named."""

    score: str = ""
    features: tuple[str, ...] = ()

    def names(self) -> dict[str, str]:
        return {"label": self.label} | {f"column {name}": name for name in self.features}


@dataclass(frozen=True, eq=False)
class Features:
    """Numbers, one row a row of the files, and which rows are labelled positive."""

    names: tuple[str, ...]
    X: NDArray[np.float64]
    flags: NDArray[np.bool_]


def read_features(
    source: object,
    *,
    label: str,
    columns: Sequence[str] = (),
    positive_label: object = None,
) -> Features:
    """Read the numbers of all columns but the label, or of some, from files.

    Parameters
    ----------
    source : path or list of paths
    label : str
        Column with two values: labelled positive, or not.
    columns : sequence of str
        Features; by default every column but the label.
    positive_label : object, optional
        The label that means positive.
    """
    wanted = _Labels(label=label, positive_label=positive_label, features=tuple(columns))
    with open_files(source, wanted) as opened:
        names = wanted.features or tuple(n for n in opened.layouts[0].names if n != label)
        if not names:
            raise ValueError("'source' must hold a feature beside the label, got no other column.")
        wanted = replace(wanted, features=names)
        for file, layout in zip(opened.files, opened.layouts, strict=True):
            wanted.check_names(layout.names, file.name)
        return _filled(opened.sources(wanted.names()), wanted)


def _filled(sources: Sequence[Source], wanted: _Labels) -> Features:
    labels, flags, rows = Labels(wanted), [np.empty(0, dtype=np.bool_)], []
    rows.append(np.empty((0, len(wanted.features))))
    for source in sources:
        with closing(placed(source)) as stream:
            for batch, place in stream:
                flags.append(labels.flags(batch["label"], place))
                rows.append(_table(batch, wanted, place, is_text=source.is_text))
    labels.settle()
    return Features(wanted.features, np.concatenate(rows), np.concatenate(flags))


def _table(batch: Batch, wanted: _Labels, place: Place, *, is_text: bool) -> NDArray[np.float64]:
    names = {argument: name for argument, name in wanted.names().items() if argument != "label"}
    columns = [numbers(batch[a], a, n, place, is_text=is_text) for a, n in names.items()]
    return np.column_stack(columns)
