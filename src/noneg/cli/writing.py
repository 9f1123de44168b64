"""The writing side of the commands: which files they may write, and which they must leave alone."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

force = click.option("--force", is_flag=True, help="Replace files that exist, but never an input.")


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Sequence[str] = (), *, force: bool
) -> None:
    """Refuse, before any work, a file that cannot be written or must not be replaced.

    Parameters
    ----------
    outputs : mapping of str to str or None
        The file that each argument of the library writes; None for no file.
    inputs : sequence of str
        Files, patterns and folders that the command reads; a dash is standard input.
    force : bool
        Whether other files that exist may be replaced.
    """
    seen: set[str] = set()
    for name, path in outputs.items():
        if path is None:
            continue
        _check_place(name, path)
        if Path(path).is_file():
            _check_replaced(name, path, inputs, force=force)
        if os.path.realpath(path) in seen:
            raise ValueError(f"'{name}' must be a file of its own, but {path!r} is written twice.")
        seen.add(os.path.realpath(path))


def check_page(path: str) -> None:
    """Refuse a name that is not that of a web page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"'path' must end in .html, got {path!r}. Choose such a name.")


def _check_place(name: str, path: str) -> None:
    if Path(path).is_dir() or not Path(path).parent.is_dir():
        msg = f"'{name}' must be a file in a folder that exists, got {path!r}."
        raise ValueError(f"{msg} Make the folder first.")


def _check_replaced(name: str, path: str, inputs: Iterable[str], *, force: bool) -> None:
    there = Path(path).stat()
    for source, found in _identities(inputs):
        if os.path.samestat(there, found):
            msg = f"'{name}' must not be an input, but {path!r} is what is read as {source!r}."
            raise ValueError(f"{msg} Choose another name.")
    if not force:
        msg = f"'{name}' must be a new file, but {path!r} exists. Pass --force to replace it."
        raise ValueError(msg)


def _identities(inputs: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the identity of each file that is read, whatever name or link leads to it."""
    for item in inputs:
        for path in _files(item):
            try:
                yield item, os.stat(path)  # noqa: PTH116 - standard input is a number
            except OSError:
                # It cannot be read either, which its reader explains.
                continue


def _files(item: str) -> Iterable[str | int | Path]:
    if item == "-":
        return [0]
    # Spark reads folders and addresses of files.
    path = Path(item) if Path(item).exists() else Path(item.removeprefix("file:"))
    if path.is_dir():
        return path.rglob("*")
    return [path] if path.exists() else glob.glob(item, recursive=True)  # noqa: PTH207
