"""``noneg sketch``: rows counted in fine buckets, from files or inside a warehouse."""

from __future__ import annotations

from typing import Any

import click

from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import progress, say
from noneg.errors import InputError


@main.command(short_help="Count rows in fine buckets, or print the SQL that does.")
@opt.files()
@opt.column("--score", "Column of scores in [0, 1].", required=True)
@opt.two_labels
@opt.all_of(opt.LABELS[0], *opt.WEIGHTS)
@opt.option(
    "--sql",
    "Print the query that creates the sketch: bigquery, clickhouse, databricks, duckdb, mysql, "
    "postgres, redshift, snowflake, spark, sqlite or trino. Nothing is read.",
    metavar="DIALECT",
)
@opt.option("--table", "With --sql: table that contains the rows.", metavar="NAME")
@opt.column("--by", "With --sql: additional column to group by; may be repeated.", multiple=True)
@opt.option("--where", "With --sql: SQL condition that selects rows.", metavar="CONDITION")
@opt.option("--setting", "Sampling setting to store with the sketch.", type=opt.SettingChoice())
@opt.written("-o", "--out", "Output file: .parquet or .json.")
@opt.force
def sketch(
    files: tuple[str, ...],
    *,
    sql: str | None,
    table: str | None,
    by: tuple[str, ...],
    where: str | None,
    **asked: Any,
) -> None:
    """Count rows in fine buckets: every metric can be computed from less than ten megabytes.

    With --sql, no data are read: run the printed query in your warehouse, save the result as
    Parquet or CSV, and pass that file to noneg evaluate --from-sql.

    Examples
    --------
    noneg sketch monday.parquet --score p --label confirmed -o monday.sketch.parquet
    noneg sketch --sql snowflake --table RISK.SCORES --score P --label CONFIRMED > sketch.sql
    """
    if sql is None:
        _refuse(table=table, by=by, where=where)
        _write(files, **asked)
        return
    if files or table is None:
        raise InputError("sql", "requires --table, and no files", value=sql)
    from noneg.tables.batches import Wanted
    from noneg.tables.warehouse import sketch_query

    names = ("score", "label", "positive_label", "weight", "weight_kind")
    wanted = Wanted(**{name: asked[name] for name in names})
    click.echo(sketch_query(sql, table=table, wanted=wanted, by=by, where=where) + ";")


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise InputError(name, "requires --sql", value=value)


def _write(files: tuple[str, ...], *, out: str | None, **asked: Any) -> None:
    from noneg.tables import read_sketch

    if not files:
        raise click.UsageError("Missing argument 'FILE...', or --sql with --table.")
    if out is None:
        raise InputError("out", "must name the file to write, ending in .parquet or .json.")
    with progress(f"Reading {', '.join(files)}") as advance:
        made = read_sketch(list(files), **asked, progress=advance)
    made.save(out)
    say(f"Wrote {out}: {made.n_positive:,} positives, {made.n_unlabeled:,} other rows.")
