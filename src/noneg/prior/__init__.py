"""The class prior, estimated with an interval from positives and unlabeled data."""

from noneg.prior.alphamax import AlphaMax, AlphaMaxNoise
from noneg.prior.best_bin import BestBin
from noneg.prior.dedpul import Dedpul
from noneg.prior.elkan_noto import ElkanNotoMax, ElkanNotoMean, ElkanNotoRatio
from noneg.prior.laws import ScoreLaws
from noneg.prior.quick import Quick
from noneg.prior.registry import DEFAULT, ESTIMATORS, estimate_prior, find_estimator
from noneg.prior.result import PriorEstimate

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "AlphaMax",
    "AlphaMaxNoise",
    "BestBin",
    "Dedpul",
    "ElkanNotoMax",
    "ElkanNotoMean",
    "ElkanNotoRatio",
    "PriorEstimate",
    "Quick",
    "ScoreLaws",
    "estimate_prior",
    "find_estimator",
]
