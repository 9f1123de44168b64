"""Theory: bounds on the error of calibration error estimates, bin counts and sample sizes.

Every bound is a function that takes sizes and returns a `Bound`, the value with its named parts.
Where a published proof contains an error, ``form="corrected"`` is the default and
``form="printed"`` gives the published statement; each function explains the difference.

===============================  ==================================================
`bias_bound`                     PU-ECE paper, Theorem 1
`prior_error_bound`              PU-ECE paper, Theorem 2
`generalization_bound`           PU-ECE paper, Theorem 3
`vc_information`                 PU-ECE paper, Section 4.2
`statistical_bias_bound`         Futami & Fujisawa (2024), Theorem 2, Corollary 2
`binning_bias_bound`             Futami & Fujisawa (2024), Theorem 3
`labeled_bias_bound`            Futami & Fujisawa (2024), Corollaries 1 and 2
`training_statistical_bound`     Futami & Fujisawa (2024), Theorem 4
`training_binning_bound`         Futami & Fujisawa (2024), Theorem 8
`labeled_generalization_bound`  Futami & Fujisawa (2024), Theorem 5
`reuse_bound`                    Futami & Fujisawa (2024), Theorem 7, Corollary 4
`recalibration_bound`            Futami & Fujisawa (2024), Corollary 5
`optimal_bins`                   PU-ECE paper, Corollary 1
`labeled_optimal_bins`          Futami & Fujisawa (2024), Section 6
`plan`                           the inverse of `bias_bound` and of the normal interval
`plan_precision` and others      number of labels needed to answer a question
===============================  ==================================================
"""

from noneg._moved import find_moved
from noneg.theory.bounds import (
    Binning as Binning,
    Bound as Bound,
    Form as Form,
    bias_bound as bias_bound,
    binning_bias_bound as binning_bias_bound,
    generalization_bound as generalization_bound,
    labeled_bias_bound as labeled_bias_bound,
    labeled_generalization_bound as labeled_generalization_bound,
    labeled_optimal_bins as labeled_optimal_bins,
    optimal_bins as optimal_bins,
    prior_error_bound as prior_error_bound,
    recalibration_bound as recalibration_bound,
    reuse_bound as reuse_bound,
    statistical_bias_bound as statistical_bias_bound,
    training_binning_bound as training_binning_bound,
    training_statistical_bound as training_statistical_bound,
    vc_information as vc_information,
)
from noneg.theory.planning import (
    LabelPlan as LabelPlan,
    Plan as Plan,
    plan as plan,
    plan_comparison as plan_comparison,
    plan_precision as plan_precision,
    plan_prior as plan_prior,
    plan_recall as plan_recall,
)


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
