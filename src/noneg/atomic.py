"""Atomic file writes, and temporary folders that are always cleaned up.

The owner of a temporary file or folder holds an ``flock`` on it, which the kernel releases when the
process dies for any reason. Files and folders with our name pattern and no lock are removed by the
next process that writes there.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import zlib
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from platform import node
from typing import TYPE_CHECKING

from noneg.errors import UnwritableFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

if sys.platform != "win32":
    import fcntl

# Locks may be invisible to other machines that share the folder, so names identify the machine.
_HOST = f"{zlib.crc32(node().encode()):08x}"
_OURS = re.compile(rf"\.?noneg-{_HOST}-[0-9a-f]{{16}}\.(partial\..+|scratch)")
# Number of characters kept from the final name, to stay within the limit on file names.
_LONGEST = 50

# Paths that this process has created and not yet removed.
_begun: set[Path] = set()


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file next to `path` that replaces it on success and is removed otherwise.

    The new file keeps the permissions of the file it replaces.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as partial:
    ...         _ = partial.write_text("all of it", encoding="utf-8")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['a.txt']
    """
    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():
        # A pipe or device is not replaced.
        yield final
        return
    try:
        # The extension stays last, because it may determine the format.
        mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
        make = partial(_make_file, mode=0o666 if mode is None else 0o600)
        with _temporary(final.parent, f".{{}}.partial.{final.name[-_LONGEST:]}", make) as new:
            yield new
            _sync(new)
            if mode is not None:
                new.chmod(mode)
            new.replace(final)
    except OSError as error:
        reason = error.strerror or str(error)
        rule = f"cannot be written: {os.fspath(path)!r}: {reason}. No file was created."
        raise UnwritableFileError("path", rule) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file atomically.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "a.txt", "all of it")
    ...     print((Path(folder) / "a.txt").read_text(encoding="utf-8"))
    all of it
    """
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder for this process, and remove it with its contents afterward.

    Examples
    --------
    >>> with scratch() as folder:
    ...     _ = (folder / "a.txt").write_text("for now")
    >>> folder.exists()
    False
    """
    from tempfile import gettempdir

    with _temporary(Path(gettempdir()), "{}.scratch", partial(Path.mkdir, mode=0o700)) as folder:
        yield folder


def sweep(folder: Path) -> None:
    """Remove leftovers of dead processes of this user and machine from a folder."""
    if sys.platform == "win32" or not os.access(folder, os.R_OK):
        return
    for path in [path for path in folder.iterdir() if _OURS.fullmatch(path.name)]:
        lock = _lock(path)
        if lock is None:
            continue
        try:
            if os.fstat(lock).st_uid == os.getuid():
                _remove(path)
        finally:
            os.close(lock)


def clean_up() -> None:
    """Remove this process's temporary files; an interrupt may come before a ``with`` block."""
    for path in list(_begun):
        _remove(path)
        _begun.discard(path)


@contextmanager
def _temporary(folder: Path, name: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """Create a file or folder with a new name, hold its lock, and remove it at the end."""
    _sweep_once(folder)
    path = folder / name.format(f"noneg-{_HOST}-{os.urandom(8).hex()}")
    # Recorded before it exists, since a signal may come at any moment.
    _begun.add(path)
    lock = None
    try:
        lock = _claim(path, make)
        yield path
    finally:
        _remove(path)
        _begun.discard(path)
        if lock is not None:
            os.close(lock)


_sweep_once = cache(sweep)


def _claim(path: Path, make: Callable[[Path], None]) -> int | None:
    """Create a path and lock it; repeat if another process removed it before it was locked."""
    while True:
        make(path)
        lock = _lock(path, wait=True)
        if path.exists():
            return lock
        if lock is not None:
            os.close(lock)


def _lock(path: Path, *, wait: bool = False) -> int | None:
    """Return a descriptor that holds the lock on a path; None if it cannot be acquired."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _make_file(path: Path, mode: int) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
