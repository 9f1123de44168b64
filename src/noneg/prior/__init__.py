"""Estimates of the class prior, with intervals, from positive and unlabeled data."""

from noneg._moved import find_moved
from noneg.prior.base import PriorEstimate as PriorEstimate
from noneg.prior.discriminator import (
    default_classifiers as default_classifiers,
    discriminate as discriminate,
)
from noneg.prior.from_features import (
    KernelMeanGradient as KernelMeanGradient,
    KernelMeanRoot as KernelMeanRoot,
    PenalizedL1 as PenalizedL1,
    ReCPEFeatures as ReCPEFeatures,
    Tedn as Tedn,
    Tice as Tice,
)
from noneg.prior.from_scores import (
    AlphaMax as AlphaMax,
    AlphaMaxNoise as AlphaMaxNoise,
    BestBin as BestBin,
    Dedpul as Dedpul,
    ElkanNotoMax as ElkanNotoMax,
    ElkanNotoMean as ElkanNotoMean,
    ElkanNotoRatio as ElkanNotoRatio,
    Quick as Quick,
    ReCPE as ReCPE,
    Tightest as Tightest,
)
from noneg.prior.registry import (
    DEFAULT as DEFAULT,
    ESTIMATORS as ESTIMATORS,
    FROM_FEATURES as FROM_FEATURES,
    FROM_SCORES as FROM_SCORES,
    estimate_prior as estimate_prior,
    find_estimator as find_estimator,
)
from noneg.prior.samples import (
    FeatureSamples as FeatureSamples,
    ScoreLaws as ScoreLaws,
    frequency_of_prior as frequency_of_prior,
    prior_of_share as prior_of_share,
    remove_overlap as remove_overlap,
    share_of_frequency as share_of_frequency,
    share_of_prior as share_of_prior,
)
from noneg.prior.sources import (
    ReportingRate as ReportingRate,
    agreement as agreement,
    from_earlier as from_earlier,
    from_review as from_review,
    from_two_sources as from_two_sources,
    from_two_views as from_two_views,
    reporting_rate as reporting_rate,
)


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
