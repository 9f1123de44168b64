"""`Sketch`: a mergeable summary of the scores of any number of rows, in a few megabytes."""

from noneg.sketch.mergeable import Sketch

__all__ = ["Sketch"]
