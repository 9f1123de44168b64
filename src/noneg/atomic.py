"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file beside `path` that takes its name when all went well, else is removed.

    A process that is killed leaves at most a hidden file that ends in ``.partial``.

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
        # A pipe or a device has nothing to replace.
        yield final
        return
    # The ending stays the last one: it may say what is written.
    partial = final.with_name(f".{secrets.token_hex(4)}.partial.{final.name}")
    try:
        yield partial
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        partial.replace(final)
    except OSError as error:
        reason = error.strerror or str(error)
        msg = f"'path' cannot be written: {os.fspath(path)!r}: {reason}. No file was left there."
        raise OSError(msg) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8 that appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "a.txt", "all of it")
    ...     print((Path(folder) / "a.txt").read_text(encoding="utf-8"))
    all of it
    """
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
