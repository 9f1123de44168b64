"""Files of feature columns with a label column -> a table of numbers and flags."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from noneg.atomic import scratch
from noneg.tables.columns import Wanted
from noneg.tables.files import _find, _layout, _listed, _parts
from noneg.tables.relations import Part, _positive_texts, connect, literal, plain_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
    """Read the numbers of all columns but the label, or of some, from CSV or Parquet files.

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
    with ExitStack() as stack:
        connection = stack.enter_context(connect())
        folder = stack.enter_context(scratch())
        files = list(_find(_listed(source), folder))
        layouts = [_layout(connection, file, wanted) for file in files]
        for layout, file in zip(layouts, files, strict=True):
            wanted.check_names(layout.names, file.name)
        names = wanted.features or tuple(name for name in layouts[0].names if name != label)
        if not names:
            raise ValueError("'source' must hold a feature beside the label, got no other column.")
        paths = [file.exactly for file in files]
        with plain_errors(*(file.name for file in files), paths=paths):
            return _fetch(_parts(connection, files, layouts), wanted, names)


def _fetch(parts: Sequence[Part], wanted: _Labels, names: tuple[str, ...]) -> Features:
    positive = ", ".join(literal(text) for text in _positive_texts(parts, wanted)) or "NULL"
    relation = reduce(
        lambda one, other: one.union(other),
        (part.relation.project(_projection(part, wanted, names, positive)) for part in parts),
    )
    arrays = relation.fetchnumpy()
    table = np.column_stack([_filled(arrays[f"x{i}"], name) for i, name in enumerate(names)])
    return Features(names, table, np.asarray(arrays["label"], dtype=np.bool_))


def _projection(part: Part, wanted: _Labels, names: Sequence[str], positive: str) -> str:
    text = f"CAST({part.sql(wanted.label)} AS VARCHAR)"
    label = f"coalesce({text} IN ({positive}), false) AS label"
    return ", ".join([label, *(f"{part.number(name)} AS x{i}" for i, name in enumerate(names))])


def _filled(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values)))
        msg = f"column {name!r} must hold a number in every row, but row {row} has none."
        raise ValueError(
            f"{msg} Encode text and fill gaps first, or name the columns to use with --feature."
        )
    return np.asarray(values, dtype=np.float64)
