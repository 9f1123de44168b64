"""Tables of a Spark cluster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noneg.extras import optional

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def spark_table(master: str, files: Sequence[str] = (), table: str | None = None) -> Iterator[Any]:
    """Yield a Spark DataFrame of files (by path or URL) or of a table of the catalogue.

    Parameters
    ----------
    master : str
        Where the cluster is, such as ``spark://host:7077``; ``local[2]`` is this machine. Spark's
        other settings come from its own files and from ``PYSPARK_SUBMIT_ARGS``.
    files : sequence of str
        Parquet or CSV with a header, at paths that every worker can read.
    table : str, optional
        Name of a table, instead of files.
    """
    if (table is None) == (not files):
        raise ValueError("'table' must be given if no files are, and only then, with Spark.")
    session, created = _session(master)
    try:
        with _spark_errors(table or files[0]):
            yield session.table(table) if table is not None else _scan(session, files)
    finally:
        if created:
            session.stop()


def _session(master: str) -> tuple[Any, bool]:
    """Return a session of this cluster, and whether it was opened just now."""
    with optional("--engine spark"):
        from pyspark.sql import SparkSession
    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    builder = SparkSession.builder.master(master).appName("noneg")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    with _spark_errors(master):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session, True


def _scan(session: Any, files: Sequence[str]) -> Any:  # noqa: ANN401
    plain = [file.split("?")[0].lower() for file in files]
    if all(".csv" in file or ".tsv" in file for file in plain):
        separator = "\t" if all(".tsv" in file for file in plain) else ","
        reader = session.read.option("header", "true").option("inferSchema", "true")
        return reader.option("mode", "FAILFAST").option("sep", separator).csv(list(files))
    return session.read.parquet(*files)


@contextmanager
def _spark_errors(where: str) -> Iterator[None]:
    """Turn what Spark says into a sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if "Error:" in line or "]" in line), lines[0])
        msg = f"'source' cannot be read by Spark: {where!r}: {reason[:300]}"
        raise ValueError(msg.rstrip(".") + ".") from error
