"""Columns in, columns of the same kind out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = ("default", "pandas", "polars")


def check_kind(kind: str | None) -> str | None:
    """Return what `set_output` was asked for; None leaves it as it is."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"'transform' must be one of {', '.join(KINDS)} or None, got {kind!r}.")
    return kind


def as_kind(values: NDArray[np.float64], given: Any, kind: str) -> Any:  # noqa: ANN401
    """Return values as the kind of column that was given or asked for; arrays stay arrays."""
    if values.ndim != 1 or (kind == "default" and isinstance(given, (np.ndarray, list, tuple))):
        return values
    import narwhals.stable.v2 as nw

    column = nw.from_native(given, allow_series=True, pass_through=True)
    known = isinstance(column, nw.Series)
    if kind == "default" and not known:
        return values
    backend: Any = column.implementation if kind == "default" else kind
    made = nw.new_series(column.name if known else "", values, nw.Float64, backend=backend)
    # Rows keep their index where a library has one.
    index = nw.maybe_get_index(column) if known else None
    if index is not None and made.implementation == column.implementation:
        made = nw.maybe_set_index(made, index=index)
    return made.to_native()
