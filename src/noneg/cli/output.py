"""Command output: sentences, tables and JSON on a terminal, and files.

Names of files and columns are made safe to print, long-running work shows its progress, and no file
is replaced unless requested.
"""

from __future__ import annotations

import glob
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import click

from noneg.errors import InputError
from noneg.sentences import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rich.console import Console

    from noneg.report.document import Document

PATIENCE = 2.0

_WIDTH_OF_A_PIPE = 120


def console(*, error: bool = False) -> Console:
    """Return a console that shows text literally, without styling if there is no terminal."""
    from rich.console import Console

    out = Console(
        file=sys.stderr if error else sys.stdout, highlight=False, markup=False, emoji=False
    )
    if not out.is_terminal:
        out.width = _WIDTH_OF_A_PIPE
    return out


def say(text: str, style: str = "", *, error: bool = False) -> None:
    """Print a paragraph, wrapped only on a terminal."""
    from rich.text import Text

    out = console(error=error)
    out.print(Text(printable(text), style=style), soft_wrap=not out.is_terminal)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner on a terminal if the work takes more than two seconds."""
    with progress(what, counted=False):
        yield


@contextmanager
def progress(
    what: str, *, counted: bool = True
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a bar on a terminal if the work takes more than two seconds; a spinner if not counted.

    Yields a function to call with the amount done and the total (None if unknown), or yields None
    if there is no terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich

    words = rich.TextColumn("{task.description}", markup=False)
    rows = rich.TextColumn("{task.fields[rows]}")
    bars = words, rich.BarColumn(), rows, rich.TimeRemainingColumn()
    columns = bars if counted else (rich.SpinnerColumn(), words)
    bar = rich.Progress(*columns, console=console(error=True), transient=True)
    task = bar.add_task(printable(what), total=None, rows="")

    def advance(done: int, total: int | None) -> None:
        bar.update(task, completed=done, total=total, rows=f"{done:,} rows")

    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def check_outputs(outputs: Iterable[tuple[str, str]], inputs: Iterable[str] = ()) -> None:
    """Raise, before any work is done, if a file cannot be written or must not be replaced.

    Parameters
    ----------
    outputs : iterable of (str, str)
        Arguments, and the file to be written for each; a dash is standard output.
    inputs : iterable of str
        Files, patterns and folders that the command reads; a dash is standard input.
    """
    seen: set[str] = set()
    for name, path in outputs:
        if path == "-":
            continue
        _check_place(name, path)
        if Path(path).is_file():
            _check_replaced(name, path, inputs)
        if os.path.realpath(path) in seen:
            raise InputError(name, f"must be a separate file, but {path!r} is written twice.")
        seen.add(os.path.realpath(path))


def _check_place(name: str, path: str) -> None:
    if Path(path).is_dir() or not Path(path).parent.is_dir():
        rule = "must be a file in an existing folder"
        raise InputError(name, rule, value=path, remedy="Create the folder first.")


def _check_replaced(name: str, path: str, inputs: Iterable[str]) -> None:
    there = Path(path).stat()
    for source, found in _identities(inputs):
        if os.path.samestat(there, found):
            rule = f"must not be an input, but {path!r} is read as {source!r}"
            raise InputError(name, rule, remedy="Choose another name.")
    if not click.get_current_context().meta["force"]:
        rule = f"must be a new file, but {path!r} exists"
        raise InputError(name, rule, remedy="Pass --force to replace it.")


def _identities(inputs: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the identity of each input file, regardless of its name or links to it."""
    for item in inputs:
        for path in _files(item):
            # A file without an identity cannot be read either; the reader explains why.
            with suppress(OSError):
                yield item, os.stat(path)  # noqa: PTH116 - standard input is a number


def _files(item: str) -> Iterable[str | int | Path]:
    if item == "-":
        return [0]
    # Spark also reads folders and URLs.
    path = Path(item) if Path(item).exists() else Path(item.removeprefix("file:"))
    if path.is_dir():
        return path.rglob("*")
    return [path] if path.exists() else glob.glob(item, recursive=True)  # noqa: PTH207


def show(content: Document) -> None:
    """Print a document, with wrapping and colors only on a terminal."""
    from noneg.report.document import text

    out = console()
    color = out.is_terminal and out.color_system is not None
    width = out.width if out.is_terminal else None
    out.file.write(text(content, width=width, color=color))


def tell(*sentences: str) -> None:
    """Print sentences on the result, the first one in bold."""
    for number, text in enumerate(sentences):
        say(text, style="" if number else "bold")


def answer(
    schema: str,
    content: Mapping[str, Any],
    shown: Callable[[], Document] | None,
    *told: str,
    title: str = "",
) -> None:
    """Print the answer of a command, as JSON if requested.

    Parameters
    ----------
    schema, content
        The JSON object; the program version is added.
    shown : callable, optional
        Returns the document to be shown otherwise.
    *told : str
        Sentences that follow it, such as the names of the files written.
    title : str
        Sentence that precedes it.
    """
    if click.get_current_context().meta["as_json"]:
        _print_json(schema, **content)
        return
    if title:
        say(title, style="bold")
    if shown is not None:
        show(shown())
        if told:
            click.echo()
    tell(*told)


def _print_json(schema: str, **content: object) -> None:
    """Print one JSON object that includes its schema and the program version."""
    import json
    from importlib.metadata import version

    from noneg.results import plain

    head = {"schema": schema, "version": version("noneg")}
    click.echo(json.dumps(plain(head | content), indent=2, allow_nan=False))
