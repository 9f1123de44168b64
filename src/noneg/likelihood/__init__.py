r"""Likelihood of the labels in positive and unlabeled data, and logistic curves that maximize it.

A curve models the probability that a row with score s is positive as :math:`\eta(s) = \sigma(z)`,
:math:`z = \theta\cdot x(s)`. Positives are labeled at random, so :math:`\eta` determines which rows
are labeled, and also the distribution of a separate sample of labeled positives. If the marginal
distribution is left free and the prior :math:`\pi` is imposed on it, :math:`\sum_i p_i\,\eta_i =
\pi`, the profile log likelihood (empirical likelihood) is

.. math:: \ell(\theta) = \sum_{labeled} \log\eta
          \;[\; + n_P \log c + \sum_{unlabeled} \log(1 - c\,\eta)\;]
          - \sum_{all} \log(1 + \mu\,(\eta - \pi)) .

:math:`\mu` is the multiplier for which :math:`p_i \propto 1/(1 + \mu(\eta_i - \pi))` satisfies the
prior. The part in brackets belongs to the one-sample setting, where a positive is labeled at the
unknown rate c. Without the constraint, :math:`\mu = n_P/(\pi n)` in two samples, and :math:`\mu =
0`, :math:`c = n_P/(\pi n)` in one, which gives the plain likelihood. If all rows are labeled,
:math:`c = 1` and :math:`\mu = 0`.

The function is not concave, so the search starts near the identity. A ridge penalty worth one row
keeps coefficients finite when the rows carry no information about them.

Frequency weights are exact. Importance weights, and propensities via the weights of the positive
distribution, give a pseudo-likelihood with Kish's effective sample sizes. With propensities, one
sample is treated as two samples with overlapping rows, because the labels then depend on more than
s.

References: Lancaster & Imbens (1996), Case-control studies with contaminated controls; Qin (1998),
Inferences for case-control and semiparametric two-sample density ratio models; Ward et al. (2009),
Presence-only data and the EM algorithm.
"""

from __future__ import annotations

from noneg.likelihood.curves import (
    Fit as Fit,
    closest as closest,
    end_level as end_level,
    fit_features as fit_features,
    profile_ends as profile_ends,
)
from noneg.likelihood.labels import (
    END as END,
    LabeledRows as LabeledRows,
    LabelLaw as LabelLaw,
    Sample as Sample,
    gather as gather,
    inner_points as inner_points,
    level_of as level_of,
    log_likelihood as log_likelihood,
    row_by_row as row_by_row,
)
