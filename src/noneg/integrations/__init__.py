"""Integrations with third-party tools, each in its own module that imports the tool on use.

Every tracker is given the same: named numbers, and the report as a file.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.evaluation import Evaluation


def named(evaluation: Evaluation, prefix: str) -> dict[str, float]:
    """Return the numbers of an evaluation with a prefix before each name."""
    return {f"{prefix}{name}": value for name, value in evaluation.flat().items()}


@contextmanager
def saved_report(evaluation: Evaluation, prefix: str) -> Iterator[Path]:
    """Yield the report as a temporary file that is deleted at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{prefix}report.html"
        evaluation.save(path)
        yield path
