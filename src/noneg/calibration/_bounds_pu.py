r"""Bounds of the PU-ECE paper: how far PU-ECE may lie from the true calibration error.

The paper is Estimating Expected Calibration Error for Positive-Unlabeled Learning. Throughout,
:math:`A = \pi^2/n_P + 1/n_U`, B is the number of bins and L a Lipschitz constant of
:math:`v \mapsto E[Y \mid f(X) = v]`; scores have a density.
"""

from __future__ import annotations

import math

from noneg.calibration._bound import (
    LOG2,
    PU_ECE,
    Binning,
    Bound,
    Form,
    binning_part,
    check_bins,
    check_form,
    check_nonnegative,
    check_size,
    deviation,
    log_tail,
    training_deviation,
)
from noneg.checks import check_prior


def bias_bound(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    bins: int,
    binning: Binning,
    lipschitz: float,
    delta: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|PU-ECE - TCE\| on rows the classifier has not seen (PU-ECE paper, Theorem 1).

    .. math::

        \text{width: } & \tfrac{1+L}{B} + \sqrt{2 A B \log 2} \\
        \text{mass: } & \tfrac{1+L}{B} + \tfrac{(3+2L)B}{n_U-B} + \sqrt{2 B \log 2}
            \Bigl(\tfrac{1+L}{\sqrt{n_U-B}} + \sqrt{\tfrac{\pi^2}{n_P} + \tfrac{1}{n_U-B}}\Bigr)

    in expectation; with probability :math:`1-\delta`, :math:`B\log 2` becomes
    :math:`B \log 2 + \log(1/\delta)`. The ``binning`` part is Lemma 1, ``statistical`` Lemma 2.

    Parameters
    ----------
    n_positive, n_unlabeled : float
        Sample sizes; ``math.inf`` stands for the population. For one-sample data pass the size of
        the whole sample as ``n_unlabeled``; the theorem is then only a guide.
    prior : float
        Share of positives, in (0, 1).
    bins : int
        Number of bins; mass bins need ``n_unlabeled >= 2 * bins``.
    binning : {"width", "mass"}
        Bins of equal width, or of equal unlabeled mass.
    lipschitz : float
        The constant L.
    delta : float, optional
        Probability with which the bound may fail. Without it the expected error is bounded.
    form : {"corrected", "printed"}
        They differ for mass bins with ``delta``. Then both parts are random, Lemma 1 being no
        deterministic statement, and the printed theorem lets each fail with probability
        :math:`\delta`; the corrected one gives :math:`\delta/2` to each.

    Returns
    -------
    Bound
        With parts ``binning`` and ``statistical``.

    Notes
    -----
    For mass bins the proof takes the rows between edges for independent draws, though the counts in
    the bins are fixed. The expected form survives to first order, because the bins' standard
    deviations add up to at most :math:`\sqrt{AB}`; the tail form is the paper's.

    Examples
    --------
    >>> bound = bias_bound(1000, 10_000, 0.5, bins=20, binning="mass", lipschitz=1.0)
    >>> round(bound.value, 3), round(bound.binning, 3), round(bound.statistical, 3)
    (0.314, 0.213, 0.101)
    """
    _check(n_positive, n_unlabeled, prior, bins, binning)
    check_nonnegative(lipschitz=lipschitz)
    check_form(form)
    tail = log_tail(delta, events=2 if binning == "mass" and form == "corrected" else 1)
    # The edges of mass bins are rows themselves and are taken out of the sample.
    rows, edges = (n_unlabeled, 0.0) if binning == "width" else (n_unlabeled - bins, float(bins))
    return Bound(
        binning=binning_part(n_unlabeled, bins, binning, lipschitz, tail),
        statistical=deviation(prior**2 / n_positive + 1.0 / rows, bins, tail) + edges / rows,
        form=form,
        reference=f"{PU_ECE}, Theorem 1",
    )


def prior_error_bound(prior: float, assumed_prior: float) -> Bound:
    r"""Bound what a wrong class prior does to PU-ECE (PU-ECE paper, Theorem 2).

    :math:`|\pi - \hat\pi|`, for all scores and all bins; no expectation is taken.

    Parameters
    ----------
    prior, assumed_prior : float
        The true share of positives and the one that was used, in (0, 1).

    Returns
    -------
    Bound
        With part ``prior``.

    Examples
    --------
    >>> round(prior_error_bound(0.5, 0.45).value, 12)
    0.05
    """
    check_prior(prior)
    check_prior(assumed_prior, "assumed_prior")
    return Bound(prior=abs(prior - assumed_prior), reference=f"{PU_ECE}, Theorem 2")


def generalization_bound(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    bins: int,
    binning: Binning,
    lipschitz: float,
    fcmi: float,
    fcmi_unlabeled: float | None = None,
) -> Bound:
    r"""Bound \|PU-ECE - TCE\| on the training rows, in expectation (PU-ECE paper, Theorem 3).

    .. math::

        \tfrac{1+L}{B} + \sqrt{8 A (\mathrm{fCMI} + B \log 2)}
        \quad\text{and, for mass bins,}\quad
        {} + (1+L) \sqrt{8 (\mathrm{fCMI_U} + B \log 2) / n_U}

    Appendix C quotes 2/n as the range of an unlabeled term where it uses 4/n; the range is 4/n, and
    the theorem stands. Printed and corrected form are therefore the same.

    Parameters
    ----------
    n_positive, n_unlabeled, prior, bins, binning, lipschitz
        As for `bias_bound`, for the training rows.
    fcmi : float
        Information, in nats, that the scores of all rows of the supersample carry about which of
        them were used for training (Appendix B), or an upper bound such as `vc_information`.
    fcmi_unlabeled : float, optional
        The same for the unlabeled rows' scores, used by mass bins; at most, and by default, `fcmi`.

    Returns
    -------
    Bound
        ``binning`` and ``statistical`` are the bound at zero information, ``information`` the rest.

    Notes
    -----
    Mass edges are made from training rows, so that they tell something about them, too. The proof
    leaves this out; :math:`\log\binom{2 n_U}{B-1}` nats added to both informations cover it.

    Examples
    --------
    >>> sizes = {"n_positive": 5000, "n_unlabeled": 60_000, "prior": 0.49}
    >>> options = {"bins": 30, "binning": "width", "lipschitz": 1.0}
    >>> bound = generalization_bound(**sizes, **options, fcmi=10.0)
    >>> round(bound.value, 4), round(bound.information, 4)
    (0.1929, 0.0225)
    """
    _check(n_positive, n_unlabeled, prior, bins, binning)
    edge_information = fcmi if fcmi_unlabeled is None else fcmi_unlabeled
    check_nonnegative(lipschitz=lipschitz, fcmi=fcmi, fcmi_unlabeled=edge_information)
    rate = prior**2 / n_positive + 1.0 / n_unlabeled
    statistical, information = training_deviation(rate, bins, fcmi)
    edges, known_edges = 0.0, 0.0
    if binning == "mass":
        edges, known_edges = training_deviation(1.0 / n_unlabeled, bins, edge_information)
    return Bound(
        binning=(1.0 + lipschitz) * (1.0 / bins + edges),
        statistical=statistical,
        information=information + (1.0 + lipschitz) * known_edges,
        reference=f"{PU_ECE}, Theorem 3",
    )


def vc_information(dimension: int, n_positive: int, n_unlabeled: int) -> float:
    r"""Bound the fCMI of a classifier by its VC dimension (PU-ECE paper, Section 4.2).

    :math:`\max\{(d+1) \log 2,\; d \log(2e(n_U + n_P)/d)\}`, whatever the training algorithm.

    Parameters
    ----------
    dimension : int
        VC dimension d, from 1.
    n_positive, n_unlabeled : int
        Sizes of the training samples, finite. For labelled data pass their number and 0.

    Returns
    -------
    float
        Information in nats.

    Examples
    --------
    >>> round(vc_information(10, 1000, 9000), 1)
    86.0
    """
    total = n_positive + n_unlabeled
    if min(n_positive, n_unlabeled) < 0 or not 1 <= total < math.inf:
        raise ValueError(
            "'n_positive' and 'n_unlabeled' must be finite, not negative and not both 0, got "
            f"{n_positive!r} and {n_unlabeled!r}. Pass the numbers of training rows."
        )
    if dimension < 1:
        raise ValueError(f"'dimension' must be at least 1, got {dimension!r}. Pass a VC dimension.")
    growth = dimension * math.log(2.0 * math.e * total / dimension)
    return max((dimension + 1) * LOG2, growth)


def _check(
    n_positive: float, n_unlabeled: float, prior: float, bins: int, binning: Binning
) -> None:
    """Refuse what Assumption 1 of the paper rules out."""
    check_size(n_positive, "n_positive")
    check_size(n_unlabeled, "n_unlabeled")
    check_prior(prior)
    check_bins(bins, binning, n_unlabeled, "n_unlabeled")
