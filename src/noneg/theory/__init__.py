"""What theory promises: bounds on the error of a calibration error, bin counts and sample sizes.

Every bound is a function that takes sizes and returns a `Bound`, the number with its named parts.
Where a proof in the literature slips, ``form="corrected"`` is the default and ``form="printed"``
gives the text as it stands; each function says what differs and why.

===============================  ==================================================
`bias_bound`                     PU-ECE paper, Theorem 1
`prior_error_bound`              PU-ECE paper, Theorem 2
`generalization_bound`           PU-ECE paper, Theorem 3
`vc_information`                 PU-ECE paper, Section 4.2
`statistical_bias_bound`         Futami & Fujisawa (2024), Theorem 2, Corollary 2
`binning_bias_bound`             Futami & Fujisawa (2024), Theorem 3
`labelled_bias_bound`            Futami & Fujisawa (2024), Corollaries 1 and 2
`training_statistical_bound`     Futami & Fujisawa (2024), Theorem 4
`training_binning_bound`         Futami & Fujisawa (2024), Theorem 8
`labelled_generalization_bound`  Futami & Fujisawa (2024), Theorem 5
`reuse_bound`                    Futami & Fujisawa (2024), Theorem 7, Corollary 4
`recalibration_bound`            Futami & Fujisawa (2024), Corollary 5
`optimal_bins`                   PU-ECE paper, Corollary 1
`labelled_optimal_bins`          Futami & Fujisawa (2024), Section 6
`plan`                           the inverse of `bias_bound` and of the normal interval
`plan_precision` and others      how many labels buy an answer
===============================  ==================================================
"""

from noneg.theory.bounds import (
    Binning,
    Bound,
    Form,
    bias_bound,
    binning_bias_bound,
    generalization_bound,
    labelled_bias_bound,
    labelled_generalization_bound,
    labelled_optimal_bins,
    optimal_bins,
    prior_error_bound,
    recalibration_bound,
    reuse_bound,
    statistical_bias_bound,
    training_binning_bound,
    training_statistical_bound,
    vc_information,
)
from noneg.theory.labels import (
    LabelPlan,
    plan_comparison,
    plan_precision,
    plan_prior,
    plan_recall,
)
from noneg.theory.planning import Plan, plan

__all__ = [
    "Binning",
    "Bound",
    "Form",
    "LabelPlan",
    "Plan",
    "bias_bound",
    "binning_bias_bound",
    "generalization_bound",
    "labelled_bias_bound",
    "labelled_generalization_bound",
    "labelled_optimal_bins",
    "optimal_bins",
    "plan",
    "plan_comparison",
    "plan_precision",
    "plan_prior",
    "plan_recall",
    "prior_error_bound",
    "recalibration_bound",
    "reuse_bound",
    "statistical_bias_bound",
    "training_binning_bound",
    "training_statistical_bound",
    "vc_information",
]
