"""`read` turns files or data frames with scores and labels into `PUScores`, exact or sketched.

`read_features` reads a table of numbers and a label column instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg import checks
from noneg.errors import InputError
from noneg.knowledge import Knowledge
from noneg.sketch import Sketch
from noneg.tables.batches import (
    Columns,
    Wanted,
    WantedColumns,
    by_argument,
    checked,
    fill,
    numbers,
    stream,
)
from noneg.tables.engines import (
    count_rows,
    is_remote,
    known_frame,
    sketch_of_frame,
    source_of_frame,
    source_of_mapping,
)
from noneg.tables.files import open_files
from noneg.tables.groups import Grouping
from noneg.tables.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.scores import PUScores
    from noneg.tables.batches import Progress, Source
    from noneg.tables.groups import GroupSums
    from noneg.tables.labels import Column


# Larger tables are sketched unless all rows are requested. Above this size, a sketch is within
# its stated error, which is far below the sampling error of a metric.
EXACT_ROWS = 2_000_000
_FILES = (str, bytes, os.PathLike, list, tuple)


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
    """Read scores and labels from files or a data frame; no other columns are read.

    No row is dropped: a missing score or label raises an error that names its row.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        CSV with a header (fields separated by comma, tab, semicolon or vertical bar) or JSON Lines,
        either of them optionally compressed with gzip or zstd, or Parquet; the file type is
        detected from the first bytes. Checksums are verified if a file has them. A path may be a
        pattern such as ``"scores-*.parquet"``, or ``"-"`` for standard input. Data frames may come
        from pandas, Polars, PyArrow, DuckDB, Spark or any other library that narwhals supports,
        eager or lazy.
    score, label : str
        Names of the columns.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled; never guessed.
    prior : float or "estimate", optional
        Share of positives in the population, or "estimate" to use `noneg.prior.estimate_prior`.
        Without it, metrics that need it raise an error; for labeled data, the labels determine it.
    positive_label : object, optional
        The label that means positive; not needed for 0/1, -1/1 and true/false. Labels are also
        compared as text, so "1" matches the number one.
    unlabeled_label : object, optional
        The label of rows that were never reviewed, if a third label means reviewed and found
        negative. Known negatives count as rows that are not labeled positive, because it is unknown
        how they were chosen.
    unlabeled_is_empty : bool
        Whether rows that were never reviewed have an empty label.
    weight : str, optional
        Name of a column of weights.
    weight_kind : {"frequency", "importance"}
        Whether a weight counts identical rows or corrects for unequal sampling.
    prior_interval : (float, float), optional
        Range of possible priors; without `prior`, values are quoted at its midpoint.
    selection : float
        How much hidden positives may differ from labeled ones; see `PUScores`.
    exact : bool, optional
        True keeps every row in memory. False sketches the rows: one pass in constant memory, with
        every metric within a stated distance of its exact value (see `Sketch`). By default, tables
        with more than two million rows are sketched, and tables on a Spark cluster always are.
    progress : callable, optional
        Called periodically with the number of rows read so far, and the total number of rows or
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
    wanted = Wanted(
        score=score,
        label=label,
        weight=weight,
        positive_label=positive_label,
        unlabeled_label=unlabeled_label,
        unlabeled_is_empty=unlabeled_is_empty,
        weight_kind=weight_kind,
    )
    facts = {"prior": prior, "prior_interval": prior_interval, "selection": selection}
    return _read(source, wanted, setting, facts, exact=exact, progress=progress)[0]


def _read(
    source: object,
    wanted: Wanted,
    setting: Setting,
    facts: dict[str, Any],
    *,
    exact: bool | None,
    progress: Progress | None,
) -> tuple[PUScores, Columns | Sketch]:
    """Return scores with their prior, and the rows behind them."""
    setting, asked = checks.check_setting(setting), facts["prior"] == "estimate"
    if asked:
        checks.check_undetermined(setting, prior="estimate")
        checks.check_estimated_alone("estimate", facts["prior_interval"])
        facts = facts | {"prior": None}
    known = Knowledge.given(**facts)
    known.check_setting(setting)
    rows = read_rows(source, wanted, exact=exact, progress=progress)
    scores = to_scores(rows, wanted, setting, known)
    if asked:
        # Estimators are a higher layer than reading, so they are imported only when needed.
        scores = import_module("noneg.prior").estimate_prior(scores).apply(scores)
    return scores, rows


def read_grouped(
    source: object,
    *,
    by: str | Sequence[str],
    setting: Setting,
    prior: float | Literal["estimate"] | None = None,
    prior_interval: tuple[float, float] | None = None,
    selection: float = 1.0,
    exact: bool | None = None,
    progress: Progress | None = None,
    **columns: Any,  # noqa: ANN401
) -> tuple[PUScores, GroupSums]:
    """Read scores and labels, and sum them by group in the same pass.

    Parameters
    ----------
    source, setting, prior, prior_interval, selection, exact, progress
        As in `read`.
    by : str or sequence of str
        Columns whose values, or combinations of values, define the groups.
    **columns
        As in `read`: ``score=``, ``label=``, ``weight=``, ...

    Examples
    --------
    >>> table = {"p": [0.9, 0.2, 0.4], "bought": [1, 0, 0], "region": ["n", "n", "s"]}
    >>> facts = {"score": "p", "label": "bought", "setting": "one-sample", "prior": 0.5}
    >>> scores, groups = read_grouped(table, by="region", **facts)
    >>> groups.names
    ['n', 's']
    """
    grouping = Grouping([by] if isinstance(by, str) else by)
    wanted = Wanted(**columns, groups=grouping)
    facts = {"prior": prior, "prior_interval": prior_interval, "selection": selection}
    scores, rows = _read(source, wanted, setting, facts, exact=exact, progress=progress)
    return scores, grouping.sums(rows, wanted.weight_kind)


def to_scores(
    rows: Columns | Sketch, wanted: Wanted, setting: Setting, known: Knowledge
) -> PUScores:
    """Return rows as scores, with the knowledge about the population."""
    if checks.is_labeled(setting) and wanted.has_negatives:
        rule = "must not be 'labeled' if some rows are unlabeled"
        raise InputError("setting", rule, remedy="Choose one-sample or two-sample.")
    _check_rows(rows, wanted, setting)
    names = ("prior", "prior_interval", "selection")
    facts = {name: getattr(known, name) for name in names}
    if isinstance(rows, Sketch):
        return rows.scores(setting=setting, **facts)
    return rows.scores(setting, wanted.weight_kind, **facts)


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
    """Sketch the scores and labels of any number of rows, in one pass and a few megabytes.

    Parameters
    ----------
    source, score, label, positive_label, unlabeled_label, unlabeled_is_empty, weight
        As in `read`.
    weight_kind, progress
        As in `read`.
    setting, prior, prior_interval
        Stored with the sketch if given; they can also be passed to `Sketch.scores`.

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
    # The rows have no other owner, so the table need not be copied.
    return facts.add_table(rows._table)  # noqa: SLF001


def read_columns(source: object, wanted: Wanted, progress: Progress | None = None) -> Columns:
    """Return all rows, in order."""
    rows = read_rows(source, wanted, exact=True, progress=progress)
    assert isinstance(rows, Columns)  # noqa: S101 - all rows are wanted
    return rows


def read_rows(
    source: object, wanted: Wanted, *, exact: bool | None, progress: Progress | None = None
) -> Columns | Sketch:
    """Return all rows, or a sketch of them if there are many."""
    limit = {True: np.inf, False: 0, None: EXACT_ROWS}[exact]
    if not isinstance(source, (*_FILES, Mapping)) and is_remote(frame := known_frame(source)):
        rule = "must not be given if a cluster reads the rows"
        if wanted.has_negatives:
            remedy = "Create a column with two values there."
            raise InputError("unlabeled_label", rule, remedy=remedy)
        if wanted.groups is not None:
            raise InputError("by", rule, remedy="Sketch each group there.")
        if not exact and (exact is False or count_rows(frame) > EXACT_ROWS):
            return sketch_of_frame(frame, wanted)
    with _sources(source, wanted) as sources:
        return fill(sources, wanted, limit, progress)


@contextmanager
def _sources(source: object, wanted: Wanted) -> Iterator[list[Source]]:
    """Yield files, a mapping of columns, or a data frame as streams of batches."""
    if isinstance(source, _FILES):
        with open_files(source, wanted) as opened:
            yield opened.sources(wanted.names())
    elif isinstance(source, Mapping):
        yield [source_of_mapping(source, wanted)]
    else:
        yield [source_of_frame(known_frame(source), wanted)]


def read_extremes(source: object, wanted: Wanted, n: int) -> dict[str, list[tuple[float, str]]]:
    """Return the highest scores of unlabeled rows and the lowest of positives, with their names.

    Names come from the "id" entry of `wanted.texts`. Only one batch is held at a time.
    """
    labels, signs = Labels(wanted), {"unlabeled": -1, "positive": 1}
    found: dict[str, list[tuple[float, str]]] = {kind: [] for kind in signs}
    with _sources(source, wanted) as sources, closing(stream(sources)) as batches:
        for batch, place, is_text in batches:
            rows = checked(batch, wanted, labels, place, is_text=is_text)
            seen = rows.flags if rows.negative is None else rows.flags | rows.negative
            for kind, mask in (("unlabeled", ~seen), ("positive", rows.flags)):
                at = np.flatnonzero(mask)
                at = at[np.argsort(signs[kind] * rows.score[at], kind="stable")[:n]]
                found[kind] += [(float(rows.score[i]), rows.texts["id"][i]) for i in at]
    labels.settle()

    def first(kind: str) -> list[tuple[float, str]]:
        return sorted(found[kind], key=lambda pair: signs[kind] * pair[0])[:n]

    return {kind: first(kind) for kind in found}


def _check_rows(rows: Columns | Sketch, wanted: Wanted, setting: Setting) -> None:
    """Raise an error if the table lacks a kind of row that the setting needs."""
    if isinstance(rows, Sketch):
        others, there = (mass > 0.0 for mass in rows.masses)
    else:
        # Rows with zero weight are ignored.
        counts = True if rows.weight is None else rows.weight > 0.0
        there, others = bool((rows.flags & counts).any()), bool((~rows.flags & counts).any())
    if not (there or others):
        raise ValueError(f"column {wanted.weight!r} must not be zero in every row.")
    if not checks.is_labeled(setting) and not there:
        msg = f"column {wanted.label!r} must contain at least one labeled positive, got none."
        raise ValueError(f"{msg} Check which of its values means positive.")
    if not checks.is_labeled(setting) and not others:
        msg = f"column {wanted.label!r} must contain at least one unlabeled row, got none."
        raise ValueError(f"{msg} Add the unlabeled rows to the same table.")


def read_texts(source: object, names: Mapping[str, str]) -> dict[str, list[object]]:
    """Return columns unchanged, keyed by argument; None where a row has no value."""
    found: dict[str, list[object]] = {argument: [] for argument in names}
    with _sources(source, WantedColumns(texts=names)) as sources, closing(stream(sources)) as rows:
        for batch, _, _ in rows:
            for argument, column in batch.items():
                found[argument] += column.to_pylist()
    return found


@dataclass(frozen=True, eq=False)
class Features:
    """Feature values, one row per row of the files, and flags for labeled positives."""

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
    """Read numeric features from files: all columns except the label, or the given ones.

    Parameters
    ----------
    source : path or list of paths
    label : str
        Column with two values: labeled positive or not.
    columns : sequence of str
        Feature columns; by default, every column except the label.
    positive_label : object, optional
        The label that means positive.
    blanks : bool
        Whether a missing number becomes nan instead of raising an error that names its row.
    """
    own = {"label": label}
    wanted = WantedColumns(
        label=label, positive_label=positive_label, texts=own | by_argument(columns)
    )
    with open_files(source, wanted) as opened:
        names = tuple(columns) or tuple(n for n in opened.files[0].names if n != label)
        if not names:
            raise InputError(
                "source", "must contain a feature in addition to the label, got no other column."
            )
        wanted = replace(wanted, texts=own | by_argument(names))
        for file in opened.files:
            wanted.check_names(file.names, file.name)
        return _filled(opened.sources(wanted.names()), wanted, names, blanks=blanks)


def _filled(
    sources: Sequence[Source], wanted: Wanted, names: tuple[str, ...], *, blanks: bool
) -> Features:
    labels, flags, rows = Labels(wanted), [], []
    ready = _blank_as_nan if blanks else lambda column: column
    with closing(stream(sources)) as batches:
        for batch, place, is_text in batches:
            flags.append(labels.kinds(batch["label"], place)[0])
            columns = (
                numbers(ready(batch[argument]), argument, name, place, is_text=is_text)
                for argument, name in by_argument(names).items()
            )
            rows.append(np.column_stack([*columns]))
    labels.settle()
    return Features(names, np.concatenate(rows), np.concatenate(flags))


def _blank_as_nan(column: Column) -> Column:
    """Return an Arrow column with nulls and blank text replaced by nan."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        full = pc.utf8_trim_whitespace(column)
        return pc.fill_null(pc.if_else(pc.equal(full, ""), "nan", full), "nan")
    return pc.fill_null(column.cast(pa.float64()), float("nan"))
