"""`read`: files or frames with scores and labels -> `PUScores`, whole or sketched.

`read_features` reads a table of numbers and a label column instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg import checks
from noneg.errors import InputError
from noneg.knowledge import Knowledge
from noneg.scores import PUScores
from noneg.sketch import Sketch
from noneg.tables.batches import Columns, Labels, Wanted, fill, numbers, placed
from noneg.tables.engines import (
    count_rows,
    is_remote,
    known_frame,
    source_of_frame,
    source_of_mapping,
)
from noneg.tables.files import open_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.tables.batches import Batch, Place, Progress, Source


# More rows than this are sketched unless all are asked for. From here on a sketch is within its
# stated error, far below what chance alone does to a metric of so many rows.
EXACT_ROWS = 2_000_000


def read(  # noqa: PLR0913 - each one names a fact that is never guessed
    source: object,
    *,
    score: str,
    label: str,
    setting: Setting,
    prior: float | Literal["estimate"] | None = None,
    positive_label: object = None,
    unlabeled_label: object = None,
    unlabeled_is_empty: bool = False,
    weight: str | None = None,
    weight_kind: WeightKind = "frequency",
    prior_interval: tuple[float, float] | None = None,
    selection: float = 1.0,
    exact: bool | None = None,
    progress: Progress | None = None,
) -> PUScores:
    """Read scores and labels from files or from a data frame; no other column is read.

    No row is dropped: a missing score or label is an error that names its row.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        CSV (any of comma, tab, semicolon or bar between fields, with a header), JSON Lines, either
        of them compressed by gzip or zstd, or Parquet; what a file is shows in its first bytes.
        Checksums are verified where a file has them. A path may be a pattern such as
        ``"scores-*.parquet"``, or ``"-"`` for standard input. Frames are those of pandas, Polars,
        PyArrow, DuckDB, Spark and whatever else narwhals knows, eager or lazy.
    score, label : str
        Names of the columns.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; never guessed.
    prior : float or "estimate", optional
        Share of positives in the population, or what `noneg.prior.estimate_prior` finds. Without
        it, metrics that need it refuse; of labelled data the labels determine it.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none. Compared as text too, so
        that "1" is the number one.
    unlabeled_label : object, optional
        The label of rows that nobody looked at, where a third one means reviewed and found
        negative. Known negatives count as rows that are not labelled positive: nobody knows how
        they were chosen.
    unlabeled_is_empty : bool
        Whether rows that nobody looked at have no label.
    weight : str, optional
        Name of a column of weights.
    weight_kind : {"frequency", "importance"}
        Whether a weight counts identical rows, or corrects unequal sampling.
    prior_interval : (float, float), optional
        What is known of the prior; without `prior`, numbers are quoted at its middle.
    selection : float
        How far hidden positives may differ from labelled ones; see `PUScores`.
    exact : bool, optional
        True keeps every row in memory. False sketches the rows: one pass in constant memory, and
        every metric within a stated distance of its exact value (see `Sketch`). By default tables
        of more than two million rows are sketched, and those of a Spark cluster always.
    progress : callable, optional
        Called now and then with the number of rows read so far, and with the number of all rows or
        None.

    Returns
    -------
    PUScores

    Examples
    --------
    >>> import noneg
    >>> table = {"score": [0.9, 0.2, 0.4, 0.6], "confirmed": ["yes", "no", "no", "no"]}
    >>> noneg.read(
    ...     table,
    ...     score="score",
    ...     label="confirmed",
    ...     positive_label="yes",
    ...     setting="one-sample",
    ...     prior=0.5,
    ... )
    PUScores(1 positive, 3 unlabeled rows, one-sample, prior 0.5)
    """
    setting = checks.check_setting(setting)
    if prior == "estimate":
        if checks.is_labelled(setting):
            raise checks.determined("prior", prior)
        unsettled = read(
            source,
            score=score,
            label=label,
            setting=setting,
            positive_label=positive_label,
            weight=weight,
            weight_kind=weight_kind,
            selection=selection,
            exact=exact,
            progress=progress,
        )
        return _with_estimate(unsettled, prior_interval)
    known = Knowledge.given(prior, prior_interval, selection=selection)
    known.check_setting(setting)
    wanted = Wanted(
        score=score,
        label=label,
        weight=weight,
        positive_label=positive_label,
        unlabeled_label=unlabeled_label,
        unlabeled_is_empty=unlabeled_is_empty,
        weight_kind=weight_kind,
    )
    rows = read_rows(source, wanted, exact=exact, progress=progress)
    return to_scores(rows, wanted, setting, known)


def to_scores(
    rows: Columns | Sketch, wanted: Wanted, setting: Setting, known: Knowledge
) -> PUScores:
    """Return rows as scores, with what is known of the population."""
    if checks.is_labelled(setting) and wanted.has_negatives:
        rule = "must not be 'labelled' where some rows are unlabeled"
        raise InputError("setting", rule, remedy="Choose one-sample or two-sample.")
    _check_rows(rows, wanted, setting)
    prior, interval = known.prior, known.prior_interval
    if isinstance(rows, Sketch):
        made = rows.scores(setting=setting, prior=prior, prior_interval=interval)
        return made.with_selection(known.selection)
    if checks.is_labelled(setting):
        return PUScores.from_labels(
            rows.flags, rows.score, sample_weight=rows.weight, weight_kind=wanted.weight_kind
        )
    return PUScores.from_pu_labels(
        rows.flags,
        rows.score,
        prior=prior,
        setting=setting,
        prior_interval=interval,
        selection=known.selection,
        sample_weight=rows.weight,
        weight_kind=wanted.weight_kind,
    )


def _with_estimate(scores: PUScores, interval: tuple[float, float] | None) -> PUScores:
    """Return scores under the prior that they tell."""
    if interval is not None:
        rule = "must not be given with prior='estimate', which brings its own"
        raise InputError("prior_interval", rule)
    # Estimators live above reading, and are only asked for by name when somebody wants one.
    estimated: PUScores = import_module("noneg.prior").estimate_prior(scores).apply(scores)
    return estimated


def read_sketch(  # noqa: PLR0913 - as `read`
    source: object,
    *,
    score: str,
    label: str,
    setting: Setting | None = None,
    prior: float | None = None,
    positive_label: object = None,
    unlabeled_label: object = None,
    unlabeled_is_empty: bool = False,
    weight: str | None = None,
    weight_kind: WeightKind = "frequency",
    prior_interval: tuple[float, float] | None = None,
    progress: Progress | None = None,
) -> Sketch:
    """Sketch scores and labels of any number of rows, in one pass and a few megabytes.

    Parameters
    ----------
    source, score, label, positive_label, unlabeled_label, unlabeled_is_empty, weight
        As in `read`.
    weight_kind, progress
        As in `read`.
    setting, prior, prior_interval
        Kept with the sketch if they are given; `Sketch.scores` takes them too.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import noneg
    >>> table = {"score": [0.9, 0.2, 0.4], "confirmed": [1, 0, 0]}
    >>> noneg.read_sketch(table, score="score", label="confirmed")
    Sketch(1 positive, 2 unlabeled rows, 3 buckets)
    """
    wanted = Wanted(
        score=score,
        label=label,
        weight=weight,
        positive_label=positive_label,
        unlabeled_label=unlabeled_label,
        unlabeled_is_empty=unlabeled_is_empty,
        weight_kind=weight_kind,
    )
    facts = Sketch(
        weight_kind=weight_kind, setting=setting, prior=prior, prior_interval=prior_interval
    )
    rows = read_rows(source, wanted, exact=False, progress=progress)
    assert isinstance(rows, Sketch)  # noqa: S101 - no row is too few
    # Nobody else has the rows: the table need not be copied.
    return facts.add_table(rows._table)  # noqa: SLF001


def read_columns(source: object, wanted: Wanted) -> Columns:
    """Return every row, in order."""
    rows = read_rows(source, wanted, exact=True, progress=None)
    assert isinstance(rows, Columns)  # noqa: S101 - all rows are wanted
    return rows


def read_rows(
    source: object, wanted: Wanted, *, exact: bool | None, progress: Progress | None = None
) -> Columns | Sketch:
    """Return all rows, or a sketch of them when they are many."""
    limit = {True: np.inf, False: 0, None: EXACT_ROWS}[exact]
    if isinstance(source, (str, bytes, os.PathLike, list, tuple)):
        with open_files(source, wanted) as opened:
            return fill(opened.sources(wanted.names()), wanted, limit, progress)
    if isinstance(source, Mapping):
        return fill([source_of_mapping(source, wanted)], wanted, limit, progress)
    frame = known_frame(source)
    if is_remote(frame) and wanted.has_negatives:
        rule = "must not be given when a cluster reads the rows"
        raise InputError("unlabeled_label", rule, remedy="Make a column of two values there.")
    if is_remote(frame) and not exact and (exact is False or count_rows(frame) > EXACT_ROWS):
        from noneg.tables.engines import sketch_of_frame

        return sketch_of_frame(frame, wanted)
    return fill([source_of_frame(frame, wanted)], wanted, limit, progress)


def _check_rows(rows: Columns | Sketch, wanted: Wanted, setting: Setting) -> None:
    """Refuse a table without rows of a kind that the setting needs."""
    if isinstance(rows, Sketch):
        others, there = (mass > 0.0 for mass in rows.masses)
    else:
        # A row of weight zero counts for nothing.
        counts = True if rows.weight is None else rows.weight > 0.0
        there, others = bool((rows.flags & counts).any()), bool((~rows.flags & counts).any())
    if not checks.is_labelled(setting) and not there:
        msg = f"column {wanted.label!r} must hold at least one labelled positive, got none."
        raise ValueError(f"{msg} Check which of its values means positive.")
    if not checks.is_pooled(setting) and not others:
        msg = f"column {wanted.label!r} must hold at least one unlabeled row, got none."
        raise ValueError(f"{msg} Add the unlabeled rows to the same table.")
    if not (there or others):
        raise ValueError(f"column {wanted.weight!r} must not be zero in every row.")


@dataclass(frozen=True, kw_only=True)
class _Texts(Wanted):
    """Columns of text alone."""

    score: str = ""
    label: str = ""

    def names(self) -> dict[str, str]:
        return dict(self.texts)


def read_texts(source: object, names: Mapping[str, str]) -> dict[str, list[object]]:
    """Return columns as they are, by argument; None where a row has no value."""
    wanted = _Texts(texts=names)
    found: dict[str, list[object]] = {argument: [] for argument in names}

    def collect(sources: Sequence[Source]) -> None:
        for one in sources:
            with closing(placed(one)) as stream:
                for batch, _ in stream:
                    for argument, column in batch.items():
                        found[argument] += column.to_pylist()

    if isinstance(source, (str, bytes, os.PathLike, list, tuple)):
        with open_files(source, wanted) as opened:
            collect(opened.sources(wanted.names()))
    elif isinstance(source, Mapping):
        collect([source_of_mapping(source, wanted)])
    else:
        collect([source_of_frame(known_frame(source), wanted)])
    return found


@dataclass(frozen=True, kw_only=True)
class _Labels(Wanted):
    """Only the label must be there; features are what else there is, or what is named."""

    score: str = ""
    features: tuple[str, ...] = ()
    blanks: bool = False

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
    blanks: bool = False,
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
    blanks : bool
        Whether a missing number is nan, rather than an error that names its row.
    """
    wanted = _Labels(
        label=label, features=tuple(columns), positive_label=positive_label, blanks=blanks
    )
    with open_files(source, wanted) as opened:
        names = wanted.features or tuple(n for n in opened.layouts[0].names if n != label)
        if not names:
            raise InputError("source", "must hold a feature beside the label, got no other column.")
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
    there = {a: _blank_as_nan(batch[a]) if wanted.blanks else batch[a] for a in names}
    columns = [numbers(there[a], a, n, place, is_text=is_text) for a, n in names.items()]
    return np.column_stack(columns)


def _blank_as_nan(column: Any) -> Any:  # noqa: ANN401
    """Return an Arrow column in which nothing, or an empty text, is nan."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        full = pc.utf8_trim_whitespace(column)
        return pc.fill_null(pc.if_else(pc.equal(full, ""), "nan", full), "nan")
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return pc.fill_null(column.cast(pa.float64()), float("nan"))
