"""Any file or frame -> `PUScores` or `Sketch`, and back into a file."""

from noneg.tables.reading import read, read_sketch
from noneg.tables.writing import write

__all__ = ["read", "read_sketch", "write"]
