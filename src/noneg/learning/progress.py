"""A progress bar on the terminal, silent when nobody looks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def progress_bar(total: int, title: str, *, show: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that moves the bar to a step.

    Examples
    --------
    >>> with progress_bar(10, "nnPU", show=False) as at:
    ...     at(5)
    """
    if not show:
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda step: bar.update(task, completed=step)


def _ignore(_: int) -> None:
    return
