"""One sentence and one citation a term."""

from __future__ import annotations

PU_ECE = "Estimating Expected Calibration Error for Positive-Unlabeled Learning"

GLOSSARY: tuple[tuple[str, str, str], ...] = (
    (
        "Average precision",
        "The mean precision at the scores of the positives.",
        "Davis & Goadrich (2006), The relationship between precision-recall and ROC curves",
    ),
    (
        "Bins of equal mass, of equal width",
        "Ranges of scores that hold equally many rows, or that are equally long.",
        "Roelofs et al. (2022), Mitigating bias in calibration error estimation",
    ),
    (
        "Bounds",
        (
            "Limits that hold whichever unlabeled rows are the hidden positives, as long as "
            "positives "
            "were labelled at random."
        ),
        "Claesen et al. (2015), Assessing binary classifiers using only PU data",
    ),
    (
        "Brier score, log loss",
        (
            "Mean penalties of probabilities that are smallest for the true ones; they fall with "
            "better calibration and with better ranking."
        ),
        "Gneiting & Raftery (2007), Strictly proper scoring rules",
    ),
    (
        "Calibration error (ECE)",
        "How far the share of positives is from the score, on average over all rows.",
        PU_ECE,
    ),
    (
        "Class prior",
        "The share of positives in the population; it comes from outside the scores.",
        PU_ECE,
    ),
    (
        "Confidence interval of the calibration error",
        (
            "A range that contains the error of the population over the same bins in at least the "
            "stated share of samples; it reaches down to zero when calibration may be perfect."
        ),
        "Median of split-sample lower ends; see the theory page of noneg",
    ),
    (
        "Debiased calibration error",
        "The calibration error less what the noise in the bins adds to it on average.",
        "Bröcker (2012); Kumar et al. (2019), Verified uncertainty calibration",
    ),
    (
        "F1",
        "The harmonic mean of precision and recall.",
        "van Rijsbergen (1979), Information retrieval",
    ),
    (
        "Implied negatives",
        (
            "The scores of all rows less those of the positives, the prior times; a negative share "
            "shows noise or too large a prior."
        ),
        "du Plessis et al. (2014), Analysis of learning from positive and unlabeled data",
    ),
    (
        "One-sample setting",
        (
            "One sample was drawn and some of its positives were labelled; all rows together "
            "picture "
            "the population."
        ),
        "Elkan & Noto (2008), Learning classifiers from only positive and unlabeled data",
    ),
    (
        "Over-confident, under-confident",
        "Fewer, or more, positives than the score announces.",
        "Guo et al. (2017), On calibration of modern neural networks",
    ),
    (
        "Precision, recall",
        "The share of positives among flagged rows, and the share of positives that are flagged.",
        "Claesen et al. (2015), Assessing binary classifiers using only PU data",
    ),
    (
        "Reliability diagram",
        "The share of positives at each score; on the diagonal a score is the probability.",
        "DeGroot & Fienberg (1983), The comparison and evaluation of forecasters",
    ),
    (
        "ROC curve and its area",
        (
            "True against false positive rate over all thresholds; the area is the "
            "probability that a "
            "positive has a higher score than a negative."
        ),
        "Bamber (1975); DeLong et al. (1988)",
    ),
    (
        "Two-sample setting",
        (
            "Positives and unlabeled rows were drawn apart; the unlabeled rows alone picture the "
            "population."
        ),
        "Ward et al. (2009), Presence-only data and the EM algorithm",
    ),
)
