"""Optimism of calibration measured on training rows: supersamples and information bounds."""

from __future__ import annotations

from noneg.lab.information.quantities import (
    GapAndBound as GapAndBound,
    Information as Information,
    bin_gaps as bin_gaps,
    binned_information as binned_information,
    covering_information as covering_information,
    draw_limit as draw_limit,
    ece_gaps as ece_gaps,
    entropy_bound as entropy_bound,
    generalization_bound as generalization_bound,
    knn_information as knn_information,
    label_gaps as label_gaps,
    mass_gaps as mass_gaps,
    measure_information as measure_information,
    membership_noise as membership_noise,
    plug_in_information as plug_in_information,
    printed_information as printed_information,
    reuse_bound as reuse_bound,
    samplewise_information as samplewise_information,
)
from noneg.lab.information.supersample import (
    PUSupersample as PUSupersample,
    Runs as Runs,
    Supersample as Supersample,
    draw_membership as draw_membership,
    run as run,
)
