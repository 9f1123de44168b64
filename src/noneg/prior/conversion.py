r"""What share of whom: positives among everyone, among the unlabeled, and labelled among positives.

An estimator sees positives and unlabeled rows and tells the share :math:`a` of positives among the
unlabeled ones. Two separate samples: that *is* the class prior. One sample of n rows of which
:math:`n_P` were labelled: with :math:`\ell = n_P / n`,

.. math:: \pi = \ell + a (1 - \ell), \qquad c = \ell / \pi, \qquad
   a = \frac{\pi - \ell}{1 - \ell} = \frac{(1 - c)\,\ell}{c\,(1 - \ell)}.
"""

from __future__ import annotations


def prior_of_share(share: float, labelled: float) -> float:
    """Return the class prior, given the share of positives among the unlabeled rows.

    Parameters
    ----------
    share : float
        Share of positives among the unlabeled rows.
    labelled : float
        Share of labelled rows in the one sample; 0 for two samples.

    Examples
    --------
    >>> round(prior_of_share(0.25, labelled=0.2), 12)
    0.4
    """
    return labelled + share * (1.0 - labelled)


def share_of_prior(prior: float, labelled: float) -> float:
    """Return the share of positives among the unlabeled rows, given the class prior.

    Examples
    --------
    >>> round(share_of_prior(0.4, labelled=0.2), 12)
    0.25
    """
    return (prior - labelled) / (1.0 - labelled)


def share_of_frequency(frequency: float, labelled: float) -> float:
    """Return the share of positives among the unlabeled, given how often a positive is labelled.

    Not clipped: a frequency below the labelled share gives more than one.

    Examples
    --------
    >>> round(share_of_frequency(0.5, labelled=0.2), 12)
    0.25
    """
    return (1.0 - frequency) / frequency * labelled / (1.0 - labelled)


def frequency_of_prior(prior: float, labelled: float) -> float:
    """Return how often a positive is labelled, given the class prior, in one sample.

    Examples
    --------
    >>> frequency_of_prior(0.4, labelled=0.2)
    0.5
    """
    return labelled / prior


def remove_overlap(share: float, overlap: float) -> float:
    r"""Return the share of positives if a part of the negatives looks exactly like positives.

    Data tell only :math:`a^* = \inf p_U/p_P`. If negatives are
    :math:`p_N = \kappa p_P + (1-\kappa) q` with an irreducible q, then
    :math:`a^* = a + (1 - a)\kappa`, so :math:`a = (a^* - \kappa)/(1 - \kappa)`.

    Parameters
    ----------
    share : float
        The identifiable share, what estimators return.
    overlap : float
        The part of the negatives that looks like positives, in [0, 1); only you can know it.

    Examples
    --------
    >>> round(remove_overlap(0.44, overlap=0.2), 12)
    0.3
    """
    if not 0.0 <= overlap < 1.0:
        msg = (
            "'overlap' must be the part of the negatives that looks like positives, a number in "
            f"[0, 1), got {overlap!r}."
        )
        raise ValueError(msg)
    return max(0.0, (share - overlap) / (1.0 - overlap))
