r"""Bounds of Futami & Fujisawa (2024) for the rows a classifier was trained on.

Theorems have the paper's numbers; B is the number of bins and L a Lipschitz constant of
:math:`v \mapsto E[Y \mid f(X) = v]`.

Every term compares a seen row with an unseen one. Exchanging the two moves it by up to 4/n, hence
:math:`\sqrt{8}`; for bin indicators the text takes 2/n and :math:`\sqrt{2}`, which is true of one
row but not of a difference (PU-ECE paper, Eq. 17).

An information must be that of the *scores of all rows* of the supersample, or of the losses of all
rows in all bins (Eq. 99). The text puts the information of one summed difference in its place, and
that is too small. Let every label be 0, and let a classifier score 0 on the rows it has seen and
0.9, blurred by noise of its own, on all others: the difference is 0.9 whichever rows were seen, so
it carries no information, and the bound would fall to zero with n.
"""

from __future__ import annotations

from noneg.calibration._bound import (
    FUTAMI,
    Binning,
    Bound,
    Form,
    check_form,
    check_labelled,
    training_deviation,
)


def training_statistical_bound(
    n: float, *, bins: int, ecmi: float, form: Form = "corrected"
) -> Bound:
    r"""Bound \|ECE on training rows - TCE of the binned classifier\|, expected (Theorem 4).

    :math:`\sqrt{8 (\mathrm{eCMI} + B \log 2) / n}`, for both kinds of bins.

    Parameters
    ----------
    n : float
        Number of training rows.
    bins : int
        Number of bins.
    ecmi : float
        Information in nats. What it must be the information of depends on the form.
    form : {"corrected", "printed"}
        The number is the same, its meaning is not. *Printed*: `ecmi` is the information of
        \|ECE on unseen rows - ECE on training rows\|, and neither the step to it (an equality in
        Eq. 98 is an inequality) nor the information of one number (see the module's text) will do.
        *Corrected*: `ecmi` is the information of the losses of all rows in all bins, which then
        bounds the sum over bins of absolute differences. The fCMI is at least as large.

    Returns
    -------
    Bound
        With parts ``statistical`` (at zero information) and ``information``.

    Examples
    --------
    >>> round(training_statistical_bound(4000, bins=15, ecmi=0.0).value, 4)
    0.1442
    """
    check_form(form)
    check_labelled(n, bins, "width", ecmi=ecmi)
    statistical, information = training_deviation(1.0 / n, bins, ecmi)
    return Bound(
        statistical=statistical,
        information=information,
        form=form,
        reference=f"{FUTAMI}, Theorem 4",
    )


def training_binning_bound(
    n: float, *, bins: int, lipschitz: float, fcmi: float, form: Form = "corrected"
) -> Bound:
    r"""Bound \|TCE - TCE of the binned classifier\|, mass bins on training rows (Theorem 8).

    :math:`(1+L)(1/B + \sqrt{8(\mathrm{fCMI} + B \log 2)/n})` in expectation.

    Parameters
    ----------
    n, bins
        Numbers of training rows and of bins, ``n >= 2 * bins``.
    lipschitz : float
        The constant L.
    fcmi : float
        Information, in nats, that the scores of the supersample carry about the training rows.
    form : {"corrected", "printed"}
        The printed theorem has 2 for 8. It rests on Eq. 108, which is false: a classifier that puts
        seen and unseen rows into different bins makes its left side 2 and its right side 1.18.

    Returns
    -------
    Bound
        With parts ``binning`` (at zero information) and ``information``.

    Notes
    -----
    Eqs. 101 and 112 add up the largest width each bin can ever have, and that sum may exceed 1. The
    remedy is to bound the masses of all bins at once: widths weighted by masses add up to at most
    the largest mass, and no bin's mass exceeds its share of the rows by more than *half* the sum in
    Eq. 108, as the differences cancel. This even takes the root back from 8 to 2 where B divides n;
    the library stays with the published correction, which is the larger one.

    Examples
    --------
    >>> round(training_binning_bound(4000, bins=20, lipschitz=0.0, fcmi=0.0).value, 4)
    0.2165
    """
    check_form(form)
    check_labelled(n, bins, "mass", lipschitz=lipschitz, fcmi=fcmi)
    blind, known = _reuse_parts(n, bins, fcmi, form)
    return Bound(
        binning=(1.0 + lipschitz) * (1.0 / bins + blind),
        information=(1.0 + lipschitz) * known,
        form=form,
        reference=f"{FUTAMI}, Theorem 8",
    )


def labelled_generalization_bound(
    n: float,
    *,
    bins: int,
    binning: Binning,
    lipschitz: float,
    ecmi: float,
    fcmi: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE\| on the training rows, in expectation (Theorem 5).

    .. math::

        \tfrac{1+L}{B} + \sqrt{8(\mathrm{eCMI} + B \log 2)/n}
        \quad\text{and, for mass bins,}\quad
        {} + (1+L) \sqrt{8 (\mathrm{fCMI} + B \log 2)/n}

    the sum of `training_statistical_bound` (Theorem 4) and, for mass bins, `training_binning_bound`
    (Theorem 8), where what the forms mean is said.

    Parameters
    ----------
    n, bins, binning, lipschitz
        As for `labelled_bias_bound`, for the training rows.
    ecmi : float
        As for `training_statistical_bound`.
    fcmi : float, optional
        As for `training_binning_bound`; mass bins require it.
    form : {"corrected", "printed"}
        The printed form has 2 for the 8 of the mass term.

    Returns
    -------
    Bound
        ``binning`` and ``statistical`` are the bound at zero information, ``information`` the rest.

    Examples
    --------
    >>> options = {"bins": 20, "binning": "mass", "lipschitz": 1.0, "ecmi": 0.0, "fcmi": 0.0}
    >>> round(labelled_generalization_bound(4000, **options).value, 4)
    0.5995
    >>> round(labelled_generalization_bound(4000, **options, form="printed").value, 4)
    0.433
    """
    check_form(form)
    check_labelled(n, bins, binning, lipschitz=lipschitz)
    statistical = training_statistical_bound(n, bins=bins, ecmi=ecmi, form=form)
    if binning == "width":
        edges = Bound(binning=(1.0 + lipschitz) / bins, reference="")
    elif fcmi is None:
        raise ValueError(
            "'fcmi' must be given for bins of equal mass, whose edges depend on the training rows. "
            "Pass it (vc_information bounds it), or binning='width'."
        )
    else:
        edges = training_binning_bound(n, bins=bins, lipschitz=lipschitz, fcmi=fcmi, form=form)
    return Bound(
        binning=edges.binning,
        statistical=statistical.statistical,
        information=statistical.information + edges.information,
        form=form,
        reference=f"{FUTAMI}, Theorem 5",
    )


def reuse_bound(
    n: float,
    *,
    bins: int,
    fcmi: float = 0.0,
    delta1_information: float | None = None,
    delta2_information: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound the TCE after histogram binning on the training rows, expected (Theorem 7).

    .. math:: \sqrt{8(I_1 + B \log 2)/n} + \sqrt{8(I_2 + B \log 2)/n}

    with :math:`I_1 = I_2 = \mathrm{fCMI}` in Theorem 7; Corollary 4 lets them be smaller.

    Parameters
    ----------
    n, bins
        Numbers of training rows and of mass bins, ``n >= 2 * bins``.
    fcmi : float
        Information, in nats, that the scores of the supersample carry about the training rows. At
        its default, zero, the bound is the one of a classifier that has not seen the rows.
    delta1_information, delta2_information : float, optional
        Corollary 4: the information in the positive labels' bins (Eq. 142) and in the bins
        (Eq. 143), of all rows; by default `fcmi`.
    form : {"corrected", "printed"}
        The printed theorem has 2 for 8, by the argument of its Theorem 8. Here, too, both terms are
        differences between a seen and an unseen row, and exchanging the rows moves them by 4/n.

    Returns
    -------
    Bound
        With parts ``statistical`` (at zero information) and ``information``.

    Examples
    --------
    >>> round(reuse_bound(4000, bins=15).value, 4)
    0.2884
    >>> round(reuse_bound(4000, bins=15, form="printed").value, 4)
    0.1442
    """
    check_form(form)
    first = fcmi if delta1_information is None else delta1_information
    second = fcmi if delta2_information is None else delta2_information
    check_labelled(n, bins, "mass", fcmi=fcmi, delta1_information=first, delta2_information=second)
    blind, known = _reuse_parts(n, bins, first, form)
    blind_bins, known_bins = _reuse_parts(n, bins, second, form)
    is_corollary = delta1_information is not None or delta2_information is not None
    return Bound(
        statistical=blind + blind_bins,
        information=known + known_bins,
        form=form,
        reference=f"{FUTAMI}, {'Corollary 4' if is_corollary else 'Theorem 7'}",
    )


def _reuse_parts(n: float, bins: int, information: float, form: Form) -> tuple[float, float]:
    """Return what bin indicators of training rows cost, blind and informed."""
    variance = 1.0 / n if form == "corrected" else 0.25 / n
    return training_deviation(variance, bins, information)
