"""The class prior, estimated with an interval from positives and unlabeled data."""

from noneg.prior.alphamax import AlphaMax, AlphaMaxNoise
from noneg.prior.base import PriorEstimate
from noneg.prior.dedpul import Dedpul
from noneg.prior.discriminator import default_classifiers, discriminate
from noneg.prior.from_features import ReCPEFeatures, Tedn, Tice
from noneg.prior.from_scores import (
    BestBin,
    ElkanNotoMax,
    ElkanNotoMean,
    ElkanNotoRatio,
    Quick,
    ReCPE,
    Tightest,
)
from noneg.prior.kernel_methods import KernelMeanGradient, KernelMeanRoot, PenalisedL1
from noneg.prior.registry import (
    DEFAULT,
    ESTIMATORS,
    FROM_FEATURES,
    FROM_SCORES,
    estimate_prior,
    find_estimator,
)
from noneg.prior.samples import (
    FeatureSamples,
    ScoreLaws,
    frequency_of_prior,
    prior_of_share,
    remove_overlap,
    share_of_frequency,
    share_of_prior,
)
from noneg.prior.sources import (
    agreement,
    from_earlier,
    from_review,
    from_two_sources,
    from_two_views,
)

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
    "Tightest",
    "agreement",
    "default_classifiers",
    "discriminate",
    "estimate_prior",
    "find_estimator",
    "frequency_of_prior",
    "from_earlier",
    "from_review",
    "from_two_sources",
    "from_two_views",
    "prior_of_share",
    "remove_overlap",
    "share_of_frequency",
    "share_of_prior",
]
