"""The class `Sketch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg import checks
from noneg.errors import InputError
from noneg.knowledge import Knowledge
from noneg.scores import labelled_columns
from noneg.sketch import forms
from noneg.sketch.table import (
    SUMS,
    add_rows,
    empty_table,
    fast_loops,
    merge_into,
    pu_scores,
)

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.laws import Chunk
    from noneg.scores import PUScores


class Sketch:
    r"""A mergeable summary of any number of scores, from which every metric can be computed.

    Rows are counted in buckets that follow the bits of the score: of width 2^-17 in the middle
    (2^-16 with importance weights) and of relative precision 2^-9 below 2^-7 and above 1 - 2^-7, so
    that scores crowded at 0 or 1 stay apart. Each bucket keeps, for unlabeled rows and labelled
    positives, the number of rows and the sum of their scores (with importance weights also the sums
    of w and w^2). That takes less than ten megabytes whatever the number of rows. Adding two
    sketches is adding their rows: shards, engines or days merge in any order.

    Parameters
    ----------
    weight_kind : {"frequency", "importance"}
        What weights mean, if rows have any: see `PUScores`.
    setting : {"two-sample", "one-sample", "labelled"}, optional
        How the rows were sampled. It may be given to `scores` instead; it is never guessed.
    prior : float, optional
        Share of positives in the population; may be given to `scores` instead.
    prior_interval : (float, float), optional
        What is known of the prior.

    Examples
    --------
    >>> from noneg import Sketch
    >>> monday = Sketch(setting="one-sample").update([1, 0, 0], [0.9, 0.2, 0.4])
    >>> tuesday = Sketch(setting="one-sample").update([0, 0], [0.6, 0.1])
    >>> week = monday + tuesday
    >>> week
    Sketch(1 positive, 4 unlabeled rows, 5 buckets)
    >>> week.scores(prior=0.4)
    PUScores(1 positive, 4 unlabeled rows, one-sample, prior 0.4)
    """

    __slots__ = ("_knowledge", "_setting", "_table", "_weight_kind")

    _table: NDArray[np.float64]
    _weight_kind: WeightKind
    _setting: Setting | None
    _knowledge: Knowledge

    def __init__(
        self,
        *,
        weight_kind: WeightKind = "frequency",
        setting: Setting | None = None,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
    ) -> None:
        if weight_kind not in list(SUMS):
            msg = f"must be 'frequency' or 'importance', got {weight_kind!r}."
            raise InputError("weight_kind", msg)
        self._weight_kind = weight_kind
        self._setting = None if setting is None else checks.check_setting(setting)
        self._knowledge = Knowledge.given(prior, prior_interval)
        self._table = empty_table(weight_kind)

    @classmethod
    def from_scores(cls, scores: PUScores) -> Self:
        """Sketch rows that are in memory; setting and prior come along.

        Examples
        --------
        >>> from noneg import PUScores, Sketch
        >>> scores = PUScores([0.9, 0.6], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> Sketch.from_scores(scores).scores()
        PUScores(2 positives, 2 unlabeled rows, two-sample, prior 0.4)
        """
        _, _, first = next(scores.chunks())  # scores hold at least one row
        sketch = cls(
            weight_kind=_plain_chunk(first)[2],
            setting=scores.setting,
            prior=None if scores.prior_is_estimated else scores.prior,
            prior_interval=scores.prior_interval,
        )
        for in_positive, _, chunk in scores.chunks():
            s, weights, _ = _plain_chunk(chunk)
            sketch.update(np.full(s.size, in_positive), s, weights)
        return sketch

    def update(
        self, labeled: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, in place and in constant memory; returns the sketch itself.

        Parameters
        ----------
        labeled : array-like
            1 for labelled positives, 0 for unlabeled rows (of labelled data: the labels).
        y_score : array-like
            Scores in [0, 1].
        sample_weight : array-like, optional
            One weight a row, of the sketch's `weight_kind`.

        Examples
        --------
        >>> from noneg import Sketch
        >>> sketch = Sketch()
        >>> for chunk in ([0.1, 0.2], [0.3]):
        ...     sketch = sketch.update([0] * len(chunk), chunk)
        >>> sketch.n_unlabeled
        3
        """
        flags, scores = labelled_columns(labeled, y_score, "labeled", None)
        weights = None
        if sample_weight is not None:
            weights = checks.check_weights(
                sample_weight, self._weight_kind, scores.size, "sample_weight"
            )
        add_rows(self._table, flags, scores, weights, fast_loops(scores.size))
        return self

    def add_sums(
        self,
        group: int,
        bucket: NDArray[np.integer[Any]],
        sums: NDArray[np.float64],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
    ) -> None:
        """Add sums that an engine made: of group 0 (unlabeled) or 1, one row a bucket, once each.

        Columns of `sums` are those of `noneg.sketch.table.SUMS`.
        """
        k = len(SUMS[self._weight_kind])
        other = empty_table(self._weight_kind)
        other[bucket.astype(np.int64), group * k : (group + 1) * k] = sums
        other[bucket.astype(np.int64), -2:] = np.stack([low, high], axis=-1)
        self.add_table(other)

    def add_table(self, table: NDArray[np.float64]) -> Self:
        """Add a table of `noneg.sketch.table` with the columns of this weight kind.

        An empty sketch keeps the very table, which must not be used any more.
        """
        if (self._table[:, -1] >= 0.0).any():
            merge_into(self._table, table)
        else:
            self._table = table
        return self

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Sketch):
            return NotImplemented
        total = self.copy()
        total += other
        return total

    def __radd__(self, other: object) -> Self:
        """Let the built-in sum, which starts from 0, add sketches."""
        return self.copy() if other == 0 else NotImplemented

    def __iadd__(self, other: object) -> Self:
        if not isinstance(other, Sketch):
            return NotImplemented
        if self._weight_kind != other._weight_kind:
            msg = (
                f"must be the same in sketches that are added, got "
                f"{self._weight_kind!r} and {other._weight_kind!r}."
            )
            raise InputError("weight_kind", msg)
        known = Knowledge.given(
            *(_agreed(name, self, other) for name in ("prior", "prior_interval"))
        )
        self._setting, self._knowledge = _agreed("setting", self, other), known
        merge_into(self._table, other._table)
        return self

    def copy(self) -> Self:
        """Return a sketch of the same rows that can be updated by itself."""
        twin = type(self)(
            weight_kind=self._weight_kind,
            setting=self._setting,
            prior=self.prior,
            prior_interval=self.prior_interval,
        )
        merge_into(twin._table, self._table)  # noqa: SLF001
        return twin

    __copy__ = copy

    def scores(
        self,
        *,
        setting: Setting | None = None,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
        selection: float = 1.0,
    ) -> PUScores:
        """Return the rows as weighted `PUScores`, which every metric takes as it takes rows.

        A bucket is one point at its mean score; if it holds more than 2 millionths of a group, it
        is a few points, among which rows are shared out by the mean of either group.

        Parameters
        ----------
        setting, prior, prior_interval, selection
            As in `PUScores`; what was given to the sketch need not be repeated.

        Examples
        --------
        >>> import noneg
        >>> sketch = noneg.Sketch().update([1, 0, 0, 1], [0.9, 0.2, 0.4, 0.6])
        >>> round(noneg.ece(sketch.scores(setting="labelled"), bins=1), 3)
        0.025
        """
        chosen = checks.check_setting(self._setting if setting is None else setting)
        if prior is None and prior_interval is None:
            prior, prior_interval = self.prior, self.prior_interval
        known = Knowledge.given(prior, prior_interval, selection=selection)
        return pu_scores(self._table, self._weight_kind, chosen, known)

    @property
    def weight_kind(self) -> WeightKind:
        """What weights mean."""
        return self._weight_kind

    @property
    def setting(self) -> Setting | None:
        """How the rows were sampled, if it was told."""
        return self._setting

    @property
    def prior(self) -> float | None:
        """Share of positives in the population, if it was told."""
        return self._knowledge.prior

    @property
    def prior_interval(self) -> tuple[float, float] | None:
        """What is known of the prior, if it was told."""
        return self._knowledge.prior_interval

    @property
    def n_unlabeled(self) -> int:
        """Rows that are not labelled positive."""
        return int(self._table[:, 0].sum())

    @property
    def n_positive(self) -> int:
        """Labelled positives."""
        return int(self._table[:, len(SUMS[self._weight_kind])].sum())

    @property
    def masses(self) -> tuple[float, float]:
        """Total weight of the unlabeled rows and of the positives; their number without weights."""
        k = len(SUMS[self._weight_kind])
        column = 0 if self._weight_kind == "frequency" else 1
        return float(self._table[:, column].sum()), float(self._table[:, k + column].sum())

    @property
    def nbytes(self) -> int:
        """Memory that the sketch takes."""
        return self._table.nbytes

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON; `from_dict` takes them back.

        Examples
        --------
        >>> from noneg import Sketch
        >>> Sketch().update([0], [0.5]).to_dict()["unlabeled"]
        {'n': [1], 'sum': [0.5]}
        """
        return forms.to_dict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the sketch that `to_dict` wrote; anything else is refused."""
        return forms.from_dict(cls, content)

    def to_arrow(self) -> pa.Table:
        """Return a PyArrow table, one row an occupied bucket; `from_arrow` takes it back."""
        return forms.to_arrow(self)

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self:
        """Return the sketch that `to_arrow` wrote; anything else is refused."""
        return forms.from_arrow(cls, table)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a .parquet or .json file, which appears whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from noneg import Sketch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Sketch().update([1, 0], [0.9, 0.2]).save(f"{folder}/day.json")
        ...     Sketch.load(f"{folder}/day.json")
        Sketch(1 positive, 1 unlabeled row, 2 buckets)
        """
        forms.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a sketch that `save` wrote; a file that is damaged or something else is refused."""
        return forms.load(cls, path)

    def __repr__(self) -> str:
        positive = f"{self.n_positive:,} positive{'s' * (self.n_positive != 1)}"
        rows = f"{self.n_unlabeled:,} unlabeled row{'s' * (self.n_unlabeled != 1)}"
        occupied = int(np.count_nonzero(self._table[:, -1] >= 0.0))
        return f"Sketch({positive}, {rows}, {occupied:,} bucket{'s' * (occupied != 1)})"


def _agreed(name: str, one: Sketch, other: Sketch) -> Any:  # noqa: ANN401
    """Return a fact that either sketch knows, or refuse two that differ."""
    mine, theirs = getattr(one, name), getattr(other, name)
    if mine is not None and theirs is not None and mine != theirs:
        msg = f"must be the same in sketches that are added, got {mine!r} and {theirs!r}."
        raise InputError(name, msg, remedy="Leave it out of the sketches and give it to scores().")
    return theirs if mine is None else mine


def _plain_chunk(
    chunk: Chunk,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, WeightKind]:
    """Return the scores of a chunk, their weights, and what the weights mean."""
    s, counts, positive_mass, mass = chunk
    if isinstance(counts, float):
        return s, None, "frequency"
    w = np.broadcast_to(mass, s.shape)
    if not np.array_equal(w, np.broadcast_to(positive_mass, s.shape)):
        msg = "must not carry labelling rates (propensity): a sketch has no place for them."
        raise InputError("scores", msg, remedy="Keep these rows in memory.")
    if np.all(w == 1.0):
        return s, np.asarray(counts), "frequency"
    return s, w, "importance"
