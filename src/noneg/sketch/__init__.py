"""`Sketch`: the scores of any number of rows in a few megabytes, mergeable."""

from noneg.sketch.mergeable import Sketch

__all__ = ["Sketch"]
