"""Everything at once: `evaluate` turns scores into an `Evaluation`, computed once."""

from noneg.evaluation.result import Evaluation
from noneg.evaluation.sums import Sums
from noneg.evaluation.whole import FIXED_BINS, evaluate

__all__ = ["FIXED_BINS", "Evaluation", "Sums", "evaluate"]
