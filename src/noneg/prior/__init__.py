"""The class prior, estimated with an interval from positives and unlabeled data."""

from noneg.prior.alphamax import AlphaMax, AlphaMaxNoise
from noneg.prior.best_bin import BestBin
from noneg.prior.candidates import default_classifiers
from noneg.prior.conversion import (
    frequency_of_prior,
    prior_of_share,
    remove_overlap,
    share_of_frequency,
    share_of_prior,
)
from noneg.prior.dedpul import Dedpul
from noneg.prior.discriminator import discriminate
from noneg.prior.elkan_noto import ElkanNotoMax, ElkanNotoMean, ElkanNotoRatio
from noneg.prior.features import FeatureSamples
from noneg.prior.kernel_mean import KernelMeanGradient, KernelMeanRoot
from noneg.prior.laws import ScoreLaws
from noneg.prior.penalised import PenalisedL1
from noneg.prior.quick import Quick
from noneg.prior.recpe import ReCPE, ReCPEFeatures
from noneg.prior.registry import (
    DEFAULT,
    ESTIMATORS,
    FROM_FEATURES,
    FROM_SCORES,
    estimate_prior,
    find_estimator,
)
from noneg.prior.result import PriorEstimate
from noneg.prior.tedn import Tedn
from noneg.prior.tice import Tice

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "FROM_FEATURES",
    "FROM_SCORES",
    "AlphaMax",
    "AlphaMaxNoise",
    "BestBin",
    "Dedpul",
    "ElkanNotoMax",
    "ElkanNotoMean",
    "ElkanNotoRatio",
    "FeatureSamples",
    "KernelMeanGradient",
    "KernelMeanRoot",
    "PenalisedL1",
    "PriorEstimate",
    "Quick",
    "ReCPE",
    "ReCPEFeatures",
    "ScoreLaws",
    "Tedn",
    "Tice",
    "default_classifiers",
    "discriminate",
    "estimate_prior",
    "find_estimator",
    "frequency_of_prior",
    "prior_of_share",
    "remove_overlap",
    "share_of_frequency",
    "share_of_prior",
]
