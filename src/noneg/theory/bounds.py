r"""Bounds on the error of a calibration error, and the numbers of bins that they recommend.

Throughout, B is the number of bins and L a Lipschitz constant of
:math:`v \mapsto E[Y \mid f(X) = v]`. Theorems have the numbers of their papers.

PU data
    The PU-ECE paper, Estimating Expected Calibration Error for Positive-Unlabeled Learning:
    :math:`A = \pi^2/n_P + 1/n_U`, and scores have a density.
Labelled data
    Futami & Fujisawa (2024), Information-theoretic Generalization Analysis for Expected Calibration
    Error, for rows that the classifier has not seen and for those it was trained on.

On training rows every term compares a seen row with an unseen one. Exchanging the two moves it by
up to 4/n, hence :math:`\sqrt{8}`; for bin indicators the text takes 2/n and :math:`\sqrt{2}`, which
is true of one row but not of a difference (PU-ECE paper, Eq. 17).

An information must be that of the *scores of all rows* of the supersample, or of the losses of all
rows in all bins (Eq. 99). The text puts the information of one summed difference in its place, and
that is too small. Let every label be 0, and let a classifier score 0 on the rows it has seen and
0.9, blurred by noise of its own, on all others: the difference is 0.9 whichever rows were seen, so
it carries no information, and the bound would fall to zero with n.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from noneg.bins import labelled_order_rule, order_rule
from noneg.checks import check_prior
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


Binning = Literal["width", "mass"]

Form = Literal["corrected", "printed"]

LOG2 = math.log(2.0)

PU_ECE = "PU-ECE"

FUTAMI = "Futami & Fujisawa 2024"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """An upper bound on a calibration error's error, and what it is made of.

    Attributes
    ----------
    value : float
        The bound: the sum of the four parts.
    binning : float
        Part that remains because a bin holds many scores.
    statistical : float
        Part that remains because rows are finite, without reuse of training rows.
    information : float
        What is added because the classifier has seen these rows; zero at zero information.
    prior : float
        What is added because the class prior is wrong.
    form : {"corrected", "printed"}
        Whether a slip in the source has been repaired, or the text is taken as it stands.
    reference : str
        Paper and theorem.

    Examples
    --------
    >>> bound = Bound(binning=0.25, statistical=0.5, reference="an example")
    >>> bound.value, float(bound), bound.vacuous
    (0.75, 0.75, False)
    """

    value: float = field(init=False)
    binning: float = 0.0
    statistical: float = 0.0
    information: float = 0.0
    prior: float = 0.0
    form: Form = "corrected"
    reference: str

    def __post_init__(self) -> None:
        total = self.binning + self.statistical + self.information + self.prior
        object.__setattr__(self, "value", total)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: calibration errors never differ by more than one."""
        return self.value > 1.0

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the value, its parts and its origin as plain numbers and text."""
        return {**asdict(self), "vacuous": self.vacuous}


def deviation(variance: float, bins: int, extra: float = 0.0) -> float:
    r"""Return :math:`\sqrt{2 v (B \log 2 + \text{extra})}`, which bounds B deviations together.

    A sum of B absolute values is the largest of :math:`2^B` signed sums. When each of those is
    sub-Gaussian with variance factor v, the mean of the largest is at most this with ``extra`` 0,
    and its upper quantile of level :math:`1-\delta` with ``extra`` :math:`\log(1/\delta)`.
    """
    return math.sqrt(2.0 * variance * (bins * LOG2 + extra))


def training_deviation(variance: float, bins: int, information: float) -> tuple[float, float]:
    r"""Split :math:`\sqrt{8 v (I + B \log 2)}` into its value at I = 0 and what I adds.

    The factor is 8, not 2, because a term is the difference of two rows, one seen and one unseen.
    """
    blind = 2.0 * deviation(variance, bins)
    return blind, 2.0 * deviation(variance, bins, information) - blind


def binning_part(
    n: float, bins: int, binning: Binning, lipschitz: float, tail: float = 0.0
) -> float:
    r"""Return the binning bias: (1+L)/B, and for mass bins what the edges' own noise adds to it."""
    share = 1.0 / bins
    if binning == "mass":
        share += deviation(1.0 / (n - bins), bins, tail) + 2.0 * bins / (n - bins)
    return (1.0 + lipschitz) * share


def log_tail(delta: float | None, *, events: int = 1) -> float:
    """Return what a failure probability, shared by so many events, adds to B log 2."""
    if delta is None:
        return 0.0
    if not 0.0 < delta < 1.0:
        raise InputError(
            "delta",
            f"must lie in (0, 1), got {delta!r}. Pass the probability with which the bound "
            "may fail, such as 0.05, or None for the bound on the expected error.",
        )
    return math.log(events / delta)


def check_size(value: float, name: str) -> None:
    """Refuse a sample size below one."""
    if not value >= 1:
        raise InputError(
            name,
            f"must be at least 1, got {value!r}. Pass the number of rows (math.inf where "
            "the population itself is known).",
        )


def check_bins(bins: int, binning: Binning, n: float, name: str) -> None:
    """Refuse a bin count or a kind of bins that the theorem does not cover."""
    if binning not in ("width", "mass"):
        raise InputError("binning", f"must be 'width' or 'mass', got {binning!r}. Choose one.")
    if bins < 1 or bins != int(bins):
        raise InputError(
            "bins", f"must be a whole number from 1, got {bins!r}. Pass such a number."
        )
    if binning == "mass" and n < 2 * bins:
        raise InputError(
            "bins",
            f"must be at most {name}/2 for bins of equal mass, got {bins!r} bins and "
            f"{name}={n!r}. Pass fewer bins, or binning='width'.",
        )


def check_labelled(n: float, bins: int, binning: Binning, **nonnegative: float) -> None:
    """Refuse what the theorems on labelled rows do not cover."""
    check_size(n, "n")
    check_bins(bins, binning, n, "n")
    check_nonnegative(**nonnegative)


def check_nonnegative(**values: float) -> None:
    """Refuse a Lipschitz constant or an information that is negative or infinite."""
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise InputError(
                name, f"must be a finite number from 0, got {value!r}. Pass an upper bound."
            )


def check_form(form: Form) -> None:
    """Refuse an unknown form."""
    if form not in ("corrected", "printed"):
        raise InputError(
            "form", f"must be 'corrected' or 'printed', got {form!r}. Leave it out for 'corrected'."
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
        raise InputError(
            "n_positive",
            "and 'n_unlabeled' must be finite, not negative and not both 0, got "
            f"{n_positive!r} and {n_unlabeled!r}. Pass the numbers of training rows.",
        )
    if dimension < 1:
        raise InputError(
            "dimension", f"must be at least 1, got {dimension!r}. Pass a VC dimension."
        )
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
        raise InputError(
            "fcmi",
            "must be given for bins of equal mass, whose edges depend on the training rows. "
            "Pass it (vc_information bounds it), or binning='width'.",
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


Rule = Literal["rule", "closed-form", "bound"]


def optimal_bins(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    binning: Binning = "mass",
    lipschitz: float = 1.0,
    rule: Rule = "rule",
) -> int:
    r"""Return the number of bins that the theory recommends for PU data.

    Parameters
    ----------
    n_positive, n_unlabeled : float
        Sample sizes, not both infinite. For one-sample data pass all rows as ``n_unlabeled``.
    prior : float
        Share of positives, in (0, 1).
    binning : {"mass", "width"}
        Bins of equal mass or of equal width.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        With :math:`A = \pi^2/n_P + 1/n_U`:

        - ``"rule"``: :math:`\lceil A^{-1/3} \rceil` in exact arithmetic, the order of Corollary 1.
        - ``"closed-form"``: the stationary points in the proof of Corollary 1, rounded down:
          :math:`(2(1+L)^2/\log 2)^{1/3} A^{-1/3}` for width bins, where it minimises Theorem 1, and
          :math:`(2+\sqrt{\log 2})^{-2/3} A^{-1/3}` for mass bins, where it minimises a much looser
          bound.
        - ``"bound"``: the whole number that minimises Theorem 1 itself.

    Returns
    -------
    int
        At least 1, and at most half the unlabeled rows.

    Examples
    --------
    >>> [optimal_bins(1000, 10_000, 0.5, rule=r) for r in ("rule", "closed-form", "bound")]
    [15, 7, 19]
    >>> optimal_bins(1000, 10_000, 0.5, rule="bound", binning="width")
    32
    """
    by_order = order_rule(n_positive, n_unlabeled, prior)
    _check_choice(binning, lipschitz, rule)
    if rule == "bound":
        return least_bound(n_positive, n_unlabeled, prior, binning=binning, lipschitz=lipschitz)[1]
    if rule == "rule":
        return capped(by_order, n_unlabeled)
    rate = prior**2 / n_positive + 1.0 / n_unlabeled
    return capped(math.floor(_factor(binning, lipschitz) / math.cbrt(rate)), n_unlabeled)


def labelled_optimal_bins(
    n: float, *, binning: Binning = "mass", lipschitz: float = 1.0, rule: Rule = "rule"
) -> int:
    r"""Return the number of bins that the theory recommends for labelled data.

    Parameters
    ----------
    n : float
        Number of labelled rows, finite.
    binning : {"mass", "width"}
        Bins of equal mass or of equal width.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        - ``"rule"``: :math:`\lfloor n^{1/3} \rfloor` in exact arithmetic.
        - ``"closed-form"``: :math:`\lfloor (2n(1+L)^2/\log 2)^{1/3} \rfloor`, for width bins only.
          Section 6.1 of Futami & Fujisawa (2024) prints the outer power on :math:`\log 2` alone.
        - ``"bound"``: the whole number that minimises Corollary 1 itself.

    Returns
    -------
    int
        At least 1, and at most half the rows.

    Examples
    --------
    >>> labelled_optimal_bins(1000)
    10
    >>> labelled_optimal_bins(1000, binning="width", rule="closed-form")
    22
    """
    by_order = labelled_order_rule(n)
    _check_choice(binning, lipschitz, rule)
    if rule == "rule":
        return capped(by_order, n)
    if rule == "bound":

        def value(bins: int) -> float:
            return labelled_bias_bound(n, bins=bins, binning=binning, lipschitz=lipschitz).value

        return argmin(value, n)
    if binning == "mass":
        raise InputError(
            "rule",
            "must be 'rule' or 'bound' for labelled bins of equal mass, got 'closed-form': "
            "none has been published. Choose one of the two, or binning='width'.",
        )
    return capped(math.floor(_factor("width", lipschitz) * math.cbrt(n)), n)


def least_bound(
    n_positive: float,
    n_unlabeled: float,
    prior: float,
    *,
    binning: Binning,
    lipschitz: float,
    delta: float | None = None,
) -> tuple[float, int]:
    """Return the smallest value of `bias_bound` over the number of bins, and that number."""

    def value(bins: int) -> float:
        return bias_bound(
            n_positive,
            n_unlabeled,
            prior,
            bins=bins,
            binning=binning,
            lipschitz=lipschitz,
            delta=delta,
        ).value

    best = argmin(value, n_unlabeled)
    return value(best), best


def capped(bins: int, n: float) -> int:
    """Return the number of bins, but at most one for two rows, and at least one."""
    return bins if n == math.inf else max(1, min(bins, int(n // 2)))


def argmin(value: Callable[[int], float], n: float) -> int:
    """Return the allowed number of bins where a function that falls and then rises is smallest."""
    return first_true(lambda bins: capped(bins + 1, n) <= bins or value(bins + 1) >= value(bins))


def first_true(test: Callable[[int], bool]) -> int:
    """Return the smallest whole number from 1 that passes a test which all larger ones pass."""
    high = 1
    while not test(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle, high)
    return high


def _factor(binning: Binning, lipschitz: float) -> float:
    """Return the stationary point of Appendix A.2 in units of the inverse cube root of A."""
    if binning == "width":
        return math.cbrt(2.0 * (1.0 + lipschitz) ** 2 / LOG2)
    return 1.0 / math.cbrt((2.0 + math.sqrt(LOG2)) ** 2)


def _check_choice(binning: Binning, lipschitz: float, rule: Rule) -> None:
    """Refuse an unknown rule or kind of bins."""
    check_bins(1, binning, math.inf, "n")
    check_nonnegative(lipschitz=lipschitz)
    if rule not in ("rule", "closed-form", "bound"):
        raise InputError(
            "rule",
            f"must be 'rule', 'closed-form' or 'bound', got {rule!r}. Choose one; 'rule' is "
            "the papers' own choice.",
        )
