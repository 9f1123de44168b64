"""Read any file or data frame as `PUScores` or `Sketch`, and write scores to a file."""

from noneg.tables.reading import read, read_sketch
from noneg.tables.writing import write

__all__ = ["read", "read_sketch", "write"]
