"""Optimism of calibration measured on training rows: supersamples and information bounds."""

from __future__ import annotations

from noneg.lab.information.bound import (
    GapAndBound,
    entropy_bound,
    generalization_bound,
    reuse_bound,
)
from noneg.lab.information.quantities import (
    Information,
    bin_gaps,
    binned_information,
    covering_information,
    draw_limit,
    ece_gaps,
    knn_information,
    label_gaps,
    mass_gaps,
    measure_information,
    membership_noise,
    plug_in_information,
    printed_information,
    samplewise_information,
)
from noneg.lab.information.supersample import (
    PUSupersample,
    Runs,
    Supersample,
    draw_membership,
    run,
)

__all__ = [
    "GapAndBound",
    "Information",
    "PUSupersample",
    "Runs",
    "Supersample",
    "bin_gaps",
    "binned_information",
    "covering_information",
    "draw_limit",
    "draw_membership",
    "ece_gaps",
    "entropy_bound",
    "generalization_bound",
    "knn_information",
    "label_gaps",
    "mass_gaps",
    "measure_information",
    "membership_noise",
    "plug_in_information",
    "printed_information",
    "reuse_bound",
    "run",
    "samplewise_information",
]
