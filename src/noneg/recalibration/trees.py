"""Small trees on the columns of a table, kept as plain lists so that they can be stored as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from noneg.errors import InputError
from noneg.randomness import stream
from noneg.tables.frames import Columns, as_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.arrays import Floats

# Most rows used to grow one tree; its leaf values are computed from all rows.
MOST_ROWS = 50_000
# Most categories per column that get their own feature.
MOST_CATEGORIES = 20


class Encoder(NamedTuple):
    """Conversion of table columns to numbers; frequent categories become indicators."""

    names: list[str]
    columns: Columns | None
    indicators: list[tuple[int, int]]

    @classmethod
    def of(cls, X: Any) -> Encoder:  # noqa: ANN401
        """Return the encoder for the columns of a table."""
        columns, frame = Columns.of(X), as_frame(X)
        if columns is None or frame is None:
            return cls([f"x{k}" for k in range(np.shape(X)[1])], None, [])
        codes, indicators = columns.numbers(X), list[tuple[int, int]]()
        for k in columns.categories:
            found, count = np.unique(codes[~np.isnan(codes[:, k]), k], return_counts=True)
            most = found[np.argsort(-count, kind="stable")[:MOST_CATEGORIES]]
            indicators += [(k, int(code)) for code in np.sort(most)]
        return cls([str(name) for name in frame.columns], columns, indicators)

    def numbers(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the features of the rows."""
        if self.columns is None:
            table = np.asarray(X, dtype=np.float64)
        else:
            codes = self.columns.numbers(X)
            plain = codes[:, self._plain]
            table = np.column_stack([plain, *(codes[:, k] == code for k, code in self.indicators)])
        if table.ndim != 2 or table.shape[1] != len(self.labels):
            rule = f"must be a table of {len(self.names)} columns, like the table it was fitted on"
            raise InputError("X", rule, value=str(np.shape(X)))
        return table

    @property
    def _plain(self) -> list[int]:
        known = {} if self.columns is None else self.columns.categories
        return [k for k in range(len(self.names)) if k not in known]

    @property
    def labels(self) -> list[str]:
        """The name of each feature."""
        known = {} if self.columns is None else self.columns.categories
        own = [f"{self.names[k]} = {known[k][code]}" for k, code in self.indicators]
        return [*(self.names[k] for k in self._plain), *own]


class Tree(NamedTuple):
    """A tree as plain lists: feature (-1 in leaves), cut, children, and side for missing values."""

    feature: list[int]
    cut: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[float]

    def leaf(self, table: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the leaf of each row."""
        feature, cut, left, right, missing, _ = map(np.array, self)
        node, row = np.zeros(len(table), dtype=np.intp), np.arange(len(table))
        while (feature[node] >= 0).any():
            x = table[row, feature[node]]
            goes = np.where(np.isnan(x), missing[node], x <= cut[node])
            node = np.where(feature[node] < 0, node, np.where(goes, left[node], right[node]))
        return node

    def values(self, table: NDArray[np.float32]) -> Floats:
        """Return the leaf value of each row."""
        return np.array(self.value)[self.leaf(table)]

    def rules(self, labels: list[str]) -> dict[int, str]:
        """Return a description of the path to each leaf."""
        out, stack = {}, [(0, dict[int, list[float]]())]
        while stack:
            node, ranges = stack.pop()
            k = self.feature[node]
            if k < 0:
                shown = [_range_words(labels[j], *ends) for j, ends in ranges.items()]
                out[node] = " and ".join(shown) or "all rows"
                continue
            low, high = ranges.get(k, [-np.inf, np.inf])
            for child, ends in (
                (self.left[node], [low, min(high, self.cut[node])]),
                (self.right[node], [max(low, self.cut[node]), high]),
            ):
                stack.append((child, ranges | {k: ends}))
        return out


def _range_words(label: str, low: float, high: float) -> str:
    if " = " in label:
        return label if low >= 0.0 else label.replace(" = ", " is not ", 1)
    if np.isinf(low):
        return f"{label} <= {high:.4g}"
    return f"{label} > {low:.4g}" if np.isinf(high) else f"{low:.4g} < {label} <= {high:.4g}"


def grow(
    table: NDArray[np.float32],
    residual: Floats,
    noise: Floats,
    leaves: int,
    share: float,
    seed: int,
) -> Tree:
    """Return a tree whose splits maximize the sum of squared residuals relative to their noise.

    `share` is the smallest share of the noise allowed in a leaf.
    """
    noise = np.maximum(noise / noise.mean(), 1e-6)
    chosen = np.arange(noise.size)
    if noise.size > MOST_ROWS:
        chosen = stream(seed, "tree rows").choice(noise.size, MOST_ROWS, replace=False)
    model = DecisionTreeRegressor(
        max_depth=3,
        max_leaf_nodes=leaves,
        min_weight_fraction_leaf=min(0.5, share),
        random_state=seed,
    )
    ratio = (residual / np.abs(residual).max())[chosen] / noise[chosen]
    tree = model.fit(table[chosen], ratio, noise[chosen]).tree_
    return Tree(
        feature=np.maximum(tree.feature, -1).tolist(),
        cut=tree.threshold.tolist(),
        left=tree.children_left.tolist(),
        right=tree.children_right.tolist(),
        missing_left=tree.missing_go_to_left.astype(bool).tolist(),
        value=[],
    )
