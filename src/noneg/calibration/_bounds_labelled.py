r"""Bounds of Futami & Fujisawa (2024) for labelled rows that the classifier has not seen.

The paper is Information-theoretic Generalization Analysis for Expected Calibration Error. Theorems
have its numbers; B is the number of bins and L a Lipschitz constant of
:math:`v \mapsto E[Y \mid f(X) = v]`.
"""

from __future__ import annotations

from noneg.calibration._bound import (
    FUTAMI,
    Binning,
    Bound,
    Form,
    binning_part,
    check_form,
    check_labelled,
    deviation,
    log_tail,
)


def statistical_bias_bound(
    n: float,
    *,
    bins: int,
    binning: Binning,
    delta: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE of the binned classifier\| on unseen rows (Theorem 2, Corollary 2).

    .. math::

        \text{width: } \sqrt{2 B \log 2 / n} \qquad
        \text{mass: } \sqrt{2 B \log 2 / (n-B)} + 2B/(n-B)

    in expectation; with probability :math:`1-\delta`, :math:`B\log 2` becomes
    :math:`B \log 2 + \log(1/\delta)`.

    Parameters
    ----------
    n : float
        Number of labelled rows.
    bins : int
        Number of bins; mass bins need ``n >= 2 * bins``.
    binning : {"width", "mass"}
        Bins of equal width or of equal mass.
    delta : float, optional
        Probability with which the bound may fail. Without it the expected error is bounded.
    form : {"corrected", "printed"}
        They differ for mass bins with ``delta``: Corollary 2 is stated for both kinds of bins and
        has the width bound. The corrected form keeps the terms that Theorem 2 has for the edges.

    Returns
    -------
    Bound
        With part ``statistical``.

    Examples
    --------
    >>> round(statistical_bias_bound(1000, bins=10, binning="width").value, 4)
    0.1177
    """
    check_form(form)
    check_labelled(n, bins, binning)
    source = "Theorem 2" if delta is None else "Corollary 2"
    as_width = binning == "width" or (delta is not None and form == "printed")
    return Bound(
        statistical=_statistical_part(n, bins, "width" if as_width else "mass", log_tail(delta)),
        form=form,
        reference=f"{FUTAMI}, {source}",
    )


def binning_bias_bound(
    n: float, *, bins: int, binning: Binning, lipschitz: float, delta: float | None = None
) -> Bound:
    r"""Bound \|TCE - TCE of the binned classifier\| on unseen rows (Theorem 3).

    .. math::

        \text{width: } \tfrac{1+L}{B} \qquad
        \text{mass: } (1+L)\Bigl(\tfrac1B + \sqrt{\tfrac{2 B \log 2}{n-B}} + \tfrac{2B}{n-B}\Bigr)

    For width bins this always holds, for mass bins in expectation over the rows that make edges.
    With ``delta`` the mass bound gets :math:`B \log 2 + \log(1/\delta)` for :math:`B \log 2`, from
    the same exponential moment, and holds with probability :math:`1-\delta`.

    Parameters
    ----------
    n, bins, binning, delta
        As for `statistical_bias_bound`.
    lipschitz : float
        The constant L.

    Returns
    -------
    Bound
        With part ``binning``.

    Examples
    --------
    >>> binning_bias_bound(1000, bins=10, binning="width", lipschitz=1.0).value
    0.2
    """
    check_labelled(n, bins, binning, lipschitz=lipschitz)
    part = binning_part(n, bins, binning, lipschitz, log_tail(delta))
    return Bound(binning=part, reference=f"{FUTAMI}, Theorem 3")


def labelled_bias_bound(
    n: float,
    *,
    bins: int,
    binning: Binning,
    lipschitz: float,
    delta: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE\| on unseen rows (Corollary 1; with ``delta`` by Corollary 2).

    The sum of `binning_bias_bound` and `statistical_bias_bound`. With ``delta`` and mass bins each
    of the two gets :math:`\delta/2`, since both are random.

    Parameters
    ----------
    n, bins, binning, lipschitz, delta
        As for the two summands.
    form : {"corrected", "printed"}
        They differ for mass bins with ``delta``: the printed form adds Corollary 2 to Theorem 3 as
        they stand, though the latter bounds an expectation.

    Returns
    -------
    Bound
        With parts ``binning`` and ``statistical``.

    Examples
    --------
    >>> bound = labelled_bias_bound(1000, bins=10, binning="width", lipschitz=1.0)
    >>> bound.binning, round(bound.value, 4), bound.reference
    (0.2, 0.3177, 'Futami & Fujisawa 2024, Corollary 1')
    """
    check_form(form)
    check_labelled(n, bins, binning, lipschitz=lipschitz)
    if delta is not None and form == "printed":
        tail, edge_tail, stated_for = log_tail(delta), 0.0, "width"
    else:
        tail = edge_tail = log_tail(delta, events=2 if binning == "mass" else 1)
        stated_for = binning
    return Bound(
        binning=binning_part(n, bins, binning, lipschitz, edge_tail),
        statistical=_statistical_part(n, bins, stated_for, tail),
        form=form,
        reference=f"{FUTAMI}, {'Corollary 1' if delta is None else 'Theorem 3 and Corollary 2'}",
    )


def recalibration_bound(n: float, *, bins: int) -> Bound:
    r"""Bound the TCE after histogram binning on a separate set, in expectation (Corollary 5).

    :math:`\sqrt{2 B \log 2/(n-B)} + 2B/(n-B)` for mass bins. The proof treats the recalibrated
    classifier as if it were independent of the set; the statement is true all the same, because a
    bin's frequency errs by at most about :math:`\tfrac12 \sqrt{B/n}` on average.

    Parameters
    ----------
    n : float
        Number of rows of the recalibration set, at least ``2 * bins``.
    bins : int
        Number of bins.

    Returns
    -------
    Bound
        With part ``statistical``.

    Examples
    --------
    >>> round(recalibration_bound(100, bins=15).value, 4)
    0.8476
    >>> recalibration_bound(100, bins=27).vacuous
    True
    """
    check_labelled(n, bins, "mass")
    part = _statistical_part(n, bins, "mass")
    return Bound(statistical=part, reference=f"{FUTAMI}, Corollary 5")


def _statistical_part(n: float, bins: int, binning: str, tail: float = 0.0) -> float:
    """Return the statistical bias; the edges of mass bins are rows and are taken out first."""
    if binning == "width":
        return deviation(1.0 / n, bins, tail)
    return deviation(1.0 / (n - bins), bins, tail) + 2.0 * bins / (n - bins)
