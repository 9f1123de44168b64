"""Integrations with third-party tools, each in its own module that imports the tool on use.

Every tracker is given the same: named numbers, and the report as a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation


def named(evaluation: Evaluation, prefix: str) -> dict[str, float]:
    """Return the numbers of an evaluation with a prefix before each name."""
    return {f"{prefix}{name}": value for name, value in evaluation.flat().items()}
