"""Any file or frame -> `PUScores`, and back into a file."""

from noneg.tables.reading import read
from noneg.tables.writing import write

__all__ = ["read", "write"]
