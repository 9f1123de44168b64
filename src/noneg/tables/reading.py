"""`read`: a file, several, or a data frame with scores and labels -> `PUScores`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from noneg import checks
from noneg.scores import PUScores
from noneg.sketch.points import check_prior
from noneg.tables.columns import Columns, Wanted

if TYPE_CHECKING:
    from noneg.checks import Setting, WeightKind


def read(  # noqa: PLR0913 - each one names a fact that is never guessed
    source: object,
    *,
    score: str,
    label: str,
    setting: Setting,
    prior: float | None = None,
    positive_label: object = None,
    weight: str | None = None,
    weight_kind: WeightKind = "frequency",
    prior_interval: tuple[float, float] | None = None,
) -> PUScores:
    """Read scores and labels from files or from a data frame; no other column is read.

    No row is dropped: a missing score or label is an error that names its row.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        CSV (any of comma, tab, semicolon or bar between fields, with a header), Parquet, or CSV
        compressed by gzip or zstd; what a file is shows in its first bytes. A path may be a pattern
        such as ``"scores-*.parquet"``, or ``"-"`` for standard input. Frames are those of pandas,
        Polars, PyArrow, DuckDB and whatever else narwhals knows, eager or lazy.
    score, label : str
        Names of the columns.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; never guessed.
    prior : float, optional
        Share of positives in the population. Needed unless the setting is "labelled", whose labels
        determine it.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none. Compared as text too, so
        that "1" is the number one.
    weight : str, optional
        Name of a column of weights.
    weight_kind : {"frequency", "importance"}
        Whether a weight counts identical rows, or corrects unequal sampling.
    prior_interval : (float, float), optional
        What is known of the prior.

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
    check_prior(checks.check_setting(setting), prior, prior_interval)
    wanted = Wanted(
        score=score,
        label=label,
        weight=weight,
        positive_label=positive_label,
        weight_kind=weight_kind,
    )
    columns = _columns(source, wanted)
    _check_rows(columns, wanted, setting)
    if prior is None:
        return PUScores.from_labels(
            columns.flags, columns.score, sample_weight=columns.weight, weight_kind=weight_kind
        )
    return PUScores.from_pu_labels(
        columns.flags,
        columns.score,
        prior=prior,
        setting=setting,
        prior_interval=prior_interval,
        sample_weight=columns.weight,
        weight_kind=weight_kind,
    )


def _columns(source: object, wanted: Wanted) -> Columns:
    if isinstance(source, (str, bytes, os.PathLike, list, tuple)):
        from noneg.tables.files import columns_of_files

        return columns_of_files(source, wanted)
    from noneg.tables.frames import columns_of_frame, columns_of_mapping

    if isinstance(source, Mapping):
        return columns_of_mapping(source, wanted)
    return columns_of_frame(source, wanted)


def _check_rows(columns: Columns, wanted: Wanted, setting: Setting) -> None:
    """Refuse a table without rows of a kind that the setting needs."""
    if not columns.score.size:
        raise ValueError("'source' must hold at least one row, got a table without rows.")
    # A row of weight zero counts for nothing.
    there = columns.flags if columns.weight is None else columns.flags & (columns.weight > 0.0)
    others = ~columns.flags if columns.weight is None else ~columns.flags & (columns.weight > 0.0)
    if setting != "labelled" and not there.any():
        msg = f"column {wanted.label!r} must hold at least one labelled positive, got none."
        raise ValueError(f"{msg} Check which of its values means positive.")
    if setting == "two-sample" and not others.any():
        msg = f"column {wanted.label!r} must hold at least one unlabeled row, got none."
        raise ValueError(f"{msg} Add the unlabeled rows to the same table.")
    if not (there.any() or others.any()):
        raise ValueError(f"column {wanted.weight!r} must not be zero in every row.")
