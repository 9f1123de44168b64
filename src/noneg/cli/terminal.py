"""What a terminal shows: tables, sentences, and a sign of life when something takes long."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from noneg.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

PATIENCE = 2.0
_WIDTH_OF_A_PIPE = 120


def console(*, error: bool = False) -> Console:
    """Return a console that shows text literally; without a terminal it is plain."""
    from rich.console import Console

    out = Console(
        file=sys.stderr if error else sys.stdout, highlight=False, markup=False, emoji=False
    )
    if not out.is_terminal:
        out.width = _WIDTH_OF_A_PIPE
    return out


def say(out: Console, text: str, style: str = "") -> None:
    """Print a paragraph; only a terminal wraps it."""
    from rich.text import Text

    out.print(Text(printable(text), style=style), soft_wrap=not out.is_terminal)


def show_table(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an aligned table: names to the left, numbers to the right, remarks to the left.

    A row with one cell is a heading.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=any(header), header_style="bold")
    for position, name in enumerate(header):
        number = position == 1
        table.add_column(Text(name), justify="right" if number else "left", no_wrap=number)
    for row in rows:
        style = "bold" if len(row) == 1 else None
        table.add_row(*(Text(printable(cell)) for cell in row), style=style)
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.file.write(f"{line.rstrip()}\n")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner on a terminal if the work takes more than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.status import Status
    from rich.text import Text

    status = Status(Text(printable(what)), console=console(error=True))
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a bar on a terminal if the work takes more than two seconds.

    Yields a function to call with what is done, and with all that is to do or None; or None where
    nobody watches.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    columns = words, BarColumn(), TextColumn("{task.fields[rows]}"), TimeRemainingColumn()
    bar = Progress(*columns, console=console(error=True), transient=True)
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
