"""Where the numbers of a report come from: files, columns, command, versions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class About:
    """What a report says of its origin; all of it is optional.

    Attributes
    ----------
    title : str
        Of the page.
    source : mapping of str to str
        Files and columns, by what they are.
    command : str
        What to type to make the same report.
    digests : mapping of str to str
        SHA-256 of each file.
    """

    title: str = "Can these scores be trusted?"
    source: Mapping[str, str] | None = None
    command: str = ""
    digests: Mapping[str, str] | None = None

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return names and values, one a row."""
        digests = {f"SHA-256 of {name}": text for name, text in (self.digests or {}).items()}
        return (*(self.source or {}).items(), *digests.items(), *versions().items())


def versions() -> dict[str, str]:
    """Return the versions of the packages that numbers and page depend on."""
    return {name: version(name) for name in ("noneg", "numpy", "scipy")}


def digest_files(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of every path that is a file, read a block at a time.

    Examples
    --------
    >>> digest_files(["-", "no such file"])
    {}
    """
    return {path: _digest(Path(path)) for path in paths if Path(path).is_file()}


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
