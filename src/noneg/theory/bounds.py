r"""Bounds on the error of calibration error estimates, and the bin counts they recommend.

Throughout, B is the number of bins and L is a Lipschitz constant of :math:`v \mapsto E[Y \mid f(X)
= v]`. Theorems are numbered as in their papers.

PU data
    The PU-ECE paper, Estimating Expected Calibration Error for Positive-Unlabeled Learning, with
    :math:`A = \pi^2/n_P + 1/n_U`. Scores are assumed to have a density.
Labeled data
    Futami & Fujisawa (2024), Information-theoretic Generalization Analysis for Expected Calibration
    Error, both for rows that the classifier has not seen and for its training rows.

On training rows, every term compares a seen row with an unseen one. Exchanging the two changes it
by up to 4/n, hence :math:`\sqrt{8}`; for bin indicators, the text uses 2/n and :math:`\sqrt{2}`,
which is correct for one row but not for a difference (PU-ECE paper, Eq. 17).

The information must be that of the *scores of all rows* of the supersample, or of the losses of all
rows in all bins (Eq. 99). The text uses the information of one summed difference instead, which is
too small. As a counterexample, let every label be 0, and let a classifier score 0 on the rows it
has seen and 0.9, blurred by independent noise, on all others: the difference is 0.9 no matter which
rows were seen, so it carries no information, and the bound would decrease to zero with n.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from noneg.bins import labeled_order_rule, order_rule
from noneg.checks import check_choice, check_prior
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


Binning = Literal["width", "mass"]

Form = Literal["corrected", "printed"]

Rule = Literal["rule", "closed-form", "bound"]

LOG2 = math.log(2.0)

PU_ECE = "PU-ECE"

FUTAMI = "Futami & Fujisawa 2024"

# Variance and information of a term that a bound does not have.
NO_ROWS = 0.0, 0.0

# In a call of `check`, the number of rows that mass bins divide comes last.
SIZES = ("n", "n_positive", "n_unlabeled")

CHOICES = {
    "binning": (get_args(Binning), ""),
    "form": (get_args(Form), "Omit it for 'corrected'."),
    "rule": (get_args(Rule), "'rule' is the papers' own choice."),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """An upper bound on the error of a calibration error estimate, with its parts.

    Attributes
    ----------
    value : float
        The bound: the sum of the four parts.
    binning : float
        Part due to bins that contain many different scores.
    statistical : float
        Part due to the finite number of rows, without reuse of training rows.
    information : float
        Part added because the classifier has seen these rows; zero at zero information.
    prior : float
        Part added because the class prior is wrong.
    form : {"corrected", "printed"}
        Whether an error in the source has been corrected, or the published text is used as it
        stands.
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
        """Whether the bound is vacuous: calibration errors never differ by more than one."""
        return self.value > 1.0

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the value, its parts and its origin as plain numbers and text."""
        return {**asdict(self), "vacuous": self.vacuous}


def deviation(variance: float, bins: int, extra: float = 0.0) -> float:
    r"""Return :math:`\sqrt{2 v (B \log 2 + \text{extra})}`, a joint bound on B deviations.

    A sum of B absolute values is the largest of :math:`2^B` signed sums. If each of these is
    sub-Gaussian with variance factor v, the result with ``extra`` 0 bounds the mean of the largest
    sum, and with ``extra`` :math:`\log(1/\delta)` it bounds the quantile of level :math:`1-\delta`.
    """
    return math.sqrt(2.0 * variance * (bins * LOG2 + extra))


def training_deviation(variance: float, bins: int, information: float) -> tuple[float, float]:
    r"""Split :math:`\sqrt{8 v (I + B \log 2)}` into its value at I = 0 and the increase due to I.

    The factor is 8, not 2, because each term is the difference between a seen and an unseen row.
    """
    blind = 2.0 * deviation(variance, bins)
    return blind, 2.0 * deviation(variance, bins, information) - blind


def training_parts(
    bins: int, lipschitz: float, rows: tuple[float, float], edges: tuple[float, float]
) -> dict[str, float]:
    """Return the parts of a bound on training rows from the variance and information of each term.

    One term is due to the rows in given bins, the other one to the edges of mass bins.
    """
    statistical, information = training_deviation(rows[0], bins, rows[1])
    blind, known = training_deviation(edges[0], bins, edges[1])
    return {
        "binning": (1.0 + lipschitz) * (1.0 / bins + blind),
        "statistical": statistical,
        "information": information + (1.0 + lipschitz) * known,
    }


def binning_part(
    n: float, bins: int, binning: Binning, lipschitz: float, tail: float = 0.0
) -> float:
    r"""Return the binning bias: (1+L)/B, plus the noise of the edges for mass bins."""
    share = 1.0 / bins
    if binning == "mass":
        share += statistical_part(n, bins, binning, tail)
    return (1.0 + lipschitz) * share


def statistical_part(n: float, bins: int, binning: Binning, tail: float = 0.0) -> float:
    """Return the statistical bias; the edges of mass bins are rows and are removed first."""
    if binning == "width":
        return deviation(1.0 / n, bins, tail)
    return deviation(1.0 / (n - bins), bins, tail) + 2.0 * bins / (n - bins)


def log_tail(delta: float | None) -> float:
    """Return the term that a failure probability adds to B log 2."""
    return 0.0 if delta is None else math.log(1.0 / delta)


def split(delta: float | None, binning: Binning) -> float | None:
    """Return the failure probability of each part: for mass bins, both parts are random."""
    return delta if delta is None or binning == "width" else delta / 2.0


def check(**given: Any) -> None:  # noqa: ANN401
    """Raise an error for arguments that the theorems do not cover; their names are their rules."""
    for name, value in given.items():
        if name in SIZES:
            _check_size(value, name)
        elif name in CHOICES:
            known, remedy = CHOICES[name]
            check_choice(value, name, known, remedy)
        elif name == "prior":
            check_prior(value)
        elif name == "delta":
            _check_delta(value)
        elif name == "bins":
            _check_bins(given)
        elif not 0.0 <= value < math.inf:
            rule = "must be a finite number of at least 0"
            raise InputError(name, rule, value=value, remedy="Pass an upper bound.")


def _check_size(value: float, name: str) -> None:
    """Raise an error for a sample size below one."""
    if not value >= 1:
        remedy = "Pass the number of rows (math.inf if the population itself is known)."
        raise InputError(name, "must be at least 1", value=value, remedy=remedy)


def _check_bins(given: dict[str, Any]) -> None:
    """Raise an error for a bin count that is not whole, or too large for equal-mass bins."""
    bins = given["bins"]
    if bins < 1 or bins != int(bins):
        rule = "must be an integer of at least 1"
        raise InputError("bins", rule, value=bins, remedy="Pass a positive integer.")
    name, n = [(name, n) for name, n in given.items() if name in SIZES][-1]
    if given["binning"] == "mass" and n < 2 * bins:
        rule = f"must be at most {name}/2 for equal-mass bins, got {bins!r} bins and {name}={n!r}."
        raise InputError("bins", rule, remedy="Pass fewer bins, or binning='width'.")


def _check_delta(delta: float | None) -> None:
    if delta is not None and not 0.0 < delta < 1.0:
        raise InputError(
            "delta",
            f"must lie in (0, 1), got {delta!r}. Pass the probability with which the bound "
            "may fail, such as 0.05, or None for the bound on the expected error.",
        )


def statistical_bias_bound(
    n: float, *, bins: int, binning: Binning, delta: float | None = None, form: Form = "corrected"
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
        Number of labeled rows.
    bins : int
        Number of bins; mass bins need ``n >= 2 * bins``.
    binning : {"width", "mass"}
        Equal-width or equal-mass bins.
    delta : float, optional
        Probability with which the bound may fail. If omitted, the expected error is bounded.
    form : {"corrected", "printed"}
        The forms differ for mass bins with ``delta``: Corollary 2 is stated for both kinds of bins
        but contains only the width bound. The corrected form keeps the edge terms of Theorem 2.

    Returns
    -------
    Bound
        With part ``statistical``.

    Examples
    --------
    >>> round(statistical_bias_bound(1000, bins=10, binning="width").value, 4)
    0.1177
    """
    check(form=form, n=n, binning=binning, bins=bins, delta=delta)
    source = "Theorem 2" if delta is None else "Corollary 2"
    kind: Binning = "width" if delta is not None and form == "printed" else binning
    return Bound(
        statistical=statistical_part(n, bins, kind, log_tail(delta)),
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

    For width bins, this always holds; for mass bins, it holds in expectation over the rows that
    determine the edges. With ``delta``, :math:`B \log 2 + \log(1/\delta)` replaces :math:`B \log 2`
    in the mass bound, by the same exponential moment, and the bound holds with probability
    :math:`1-\delta`.

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
    check(n=n, binning=binning, bins=bins, lipschitz=lipschitz, delta=delta)
    part = binning_part(n, bins, binning, lipschitz, log_tail(delta))
    return Bound(binning=part, reference=f"{FUTAMI}, Theorem 3")


def labeled_bias_bound(
    n: float,
    *,
    bins: int,
    binning: Binning,
    lipschitz: float,
    delta: float | None = None,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE\| on unseen rows (Corollary 1; with ``delta``, Corollary 2).

    This is the sum of `binning_bias_bound` and `statistical_bias_bound`. With ``delta`` and mass
    bins, each of the two gets :math:`\delta/2`, since both are random.

    Parameters
    ----------
    n, bins, binning, lipschitz, delta
        As for the two summands.
    form : {"corrected", "printed"}
        The forms differ for mass bins with ``delta``: the printed form adds Corollary 2 and Theorem
        3 as published, although the latter bounds an expectation.

    Returns
    -------
    Bound
        With parts ``binning`` and ``statistical``.

    Examples
    --------
    >>> bound = labeled_bias_bound(1000, bins=10, binning="width", lipschitz=1.0)
    >>> bound.binning, round(bound.value, 4), bound.reference
    (0.2, 0.3177, 'Futami & Fujisawa 2024, Corollary 1')
    """
    check(form=form, delta=delta)
    each, edges = delta, None
    if form == "corrected":
        each = edges = split(delta, binning)
    return Bound(
        binning=binning_bias_bound(
            n, bins=bins, binning=binning, lipschitz=lipschitz, delta=edges
        ).binning,
        statistical=statistical_bias_bound(
            n, bins=bins, binning=binning, delta=each, form=form
        ).statistical,
        form=form,
        reference=f"{FUTAMI}, {'Corollary 1' if delta is None else 'Theorem 3 and Corollary 2'}",
    )


def recalibration_bound(n: float, *, bins: int) -> Bound:
    r"""Bound the TCE after histogram binning on a separate set, in expectation (Corollary 5).

    :math:`\sqrt{2 B \log 2/(n-B)} + 2B/(n-B)` for mass bins. The proof treats the recalibrated
    classifier as if it were independent of the set; the statement is true nevertheless, because the
    error of a bin's frequency is at most about :math:`\tfrac12 \sqrt{B/n}` on average.

    Parameters
    ----------
    n : float
        Number of rows in the recalibration set, at least ``2 * bins``.
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
    bound = statistical_bias_bound(n, bins=bins, binning="mass")
    return replace(bound, reference=f"{FUTAMI}, Corollary 5")


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
    :math:`B \log 2 + \log(1/\delta)`. The ``binning`` part is Lemma 1, and ``statistical`` is Lemma
    2.

    Parameters
    ----------
    n_positive, n_unlabeled : float
        Sample sizes; ``math.inf`` means the population. For one-sample data, pass the size of the
        whole sample as ``n_unlabeled``; the theorem is then only a guide.
    prior : float
        Share of positives, in (0, 1).
    bins : int
        Number of bins; mass bins need ``n_unlabeled >= 2 * bins``.
    binning : {"width", "mass"}
        Bins of equal width, or of equal unlabeled mass.
    lipschitz : float
        The constant L.
    delta : float, optional
        Probability with which the bound may fail. If omitted, the expected error is bounded.
    form : {"corrected", "printed"}
        The forms differ for mass bins with ``delta``. Both parts are then random, because Lemma 1
        is not deterministic. The printed theorem lets each fail with probability :math:`\delta`;
        the corrected form gives :math:`\delta/2` to each.

    Returns
    -------
    Bound
        With parts ``binning`` and ``statistical``.

    Notes
    -----
    For mass bins, the proof treats the rows between edges as independent draws, although the counts
    in the bins are fixed. The expected form survives to first order, because the standard
    deviations of the bins add up to at most :math:`\sqrt{AB}`; the tail form is the paper's.

    Examples
    --------
    >>> bound = bias_bound(1000, 10_000, 0.5, bins=20, binning="mass", lipschitz=1.0)
    >>> round(bound.value, 3), round(bound.binning, 3), round(bound.statistical, 3)
    (0.314, 0.213, 0.101)
    """
    sizes = {"n_positive": n_positive, "n_unlabeled": n_unlabeled}
    check(**sizes, prior=prior, binning=binning, bins=bins, lipschitz=lipschitz)
    check(form=form, delta=delta)
    tail = log_tail(split(delta, binning) if form == "corrected" else delta)
    # The edges of mass bins are rows themselves and are removed from the sample.
    rows, edges = (n_unlabeled, 0.0) if binning == "width" else (n_unlabeled - bins, float(bins))
    return Bound(
        binning=binning_part(n_unlabeled, bins, binning, lipschitz, tail),
        statistical=deviation(prior**2 / n_positive + 1.0 / rows, bins, tail) + edges / rows,
        form=form,
        reference=f"{PU_ECE}, Theorem 1",
    )


def prior_error_bound(prior: float, assumed_prior: float) -> Bound:
    r"""Bound the effect of a wrong class prior on PU-ECE (PU-ECE paper, Theorem 2).

    The bound is :math:`|\pi - \hat\pi|`, for all scores and all bins; it is deterministic.

    Parameters
    ----------
    prior, assumed_prior : float
        The true share of positives and the assumed one, both in (0, 1).

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
    the theorem holds. The printed and corrected forms are therefore the same.

    Parameters
    ----------
    n_positive, n_unlabeled, prior, bins, binning, lipschitz
        As for `bias_bound`, for the training rows.
    fcmi : float
        Information, in nats, that the scores of all rows of the supersample carry about which of
        them were used for training (Appendix B), or an upper bound such as `vc_information`.
    fcmi_unlabeled : float, optional
        The same for the scores of the unlabeled rows, used by mass bins; at most `fcmi`, which is
        the default.

    Returns
    -------
    Bound
        ``binning`` and ``statistical`` are the bound at zero information; ``information`` is the
        rest.

    Notes
    -----
    Mass edges are computed from training rows, so they also carry information about these rows. The
    proof ignores this; adding :math:`\log\binom{2 n_U}{B-1}` nats to both informations covers it.

    Examples
    --------
    >>> sizes = {"n_positive": 5000, "n_unlabeled": 60_000, "prior": 0.49}
    >>> options = {"bins": 30, "binning": "width", "lipschitz": 1.0}
    >>> bound = generalization_bound(**sizes, **options, fcmi=10.0)
    >>> round(bound.value, 4), round(bound.information, 4)
    (0.1929, 0.0225)
    """
    edge_information = fcmi if fcmi_unlabeled is None else fcmi_unlabeled
    sizes = {"n_positive": n_positive, "n_unlabeled": n_unlabeled}
    check(**sizes, prior=prior, binning=binning, bins=bins, lipschitz=lipschitz)
    check(fcmi=fcmi, fcmi_unlabeled=edge_information)
    rows = prior**2 / n_positive + 1.0 / n_unlabeled, fcmi
    edges = (1.0 / n_unlabeled, edge_information) if binning == "mass" else NO_ROWS
    parts = training_parts(bins, lipschitz, rows, edges)
    return Bound(**parts, form="corrected", reference=f"{PU_ECE}, Theorem 3")


def vc_information(dimension: int, n_positive: int, n_unlabeled: int) -> float:
    r"""Bound the fCMI of a classifier by its VC dimension (PU-ECE paper, Section 4.2).

    The bound is :math:`\max\{(d+1) \log 2,\; d \log(2e(n_U + n_P)/d)\}` for any training algorithm.

    Parameters
    ----------
    dimension : int
        VC dimension d, at least 1.
    n_positive, n_unlabeled : int
        Sizes of the training samples, finite. For labeled data, pass the number of rows and 0.

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
        rule = "must be at least 1"
        raise InputError("dimension", rule, value=dimension, remedy="Pass a VC dimension.")
    growth = dimension * math.log(2.0 * math.e * total / dimension)
    return max((dimension + 1) * LOG2, growth)


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
        Information in nats; the form determines which information is meant.
    form : {"corrected", "printed"}
        The value is the same, but its meaning differs. *Printed*: `ecmi` is the information of
        \|ECE on unseen rows - ECE on training rows\|. This is not valid, because the step to it is
        an inequality (Eq. 98 states an equality), and because the information of a single number is
        not enough (see the module docstring). *Corrected*: `ecmi` is the information of the losses
        of all rows in all bins, which then bounds the sum of absolute differences over the bins.
        The fCMI is at least as large.

    Returns
    -------
    Bound
        With parts ``statistical`` (at zero information) and ``information``.

    Examples
    --------
    >>> round(training_statistical_bound(4000, bins=15, ecmi=0.0).value, 4)
    0.1442
    """
    check(form=form, n=n, binning="width", bins=bins, ecmi=ecmi)
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

    The bound is :math:`(1+L)(1/B + \sqrt{8(\mathrm{fCMI} + B \log 2)/n})` in expectation.

    Parameters
    ----------
    n, bins
        Numbers of training rows and of bins, ``n >= 2 * bins``.
    lipschitz : float
        The constant L.
    fcmi : float
        Information, in nats, that the scores of the supersample carry about the training rows.
    form : {"corrected", "printed"}
        The printed theorem has 2 in place of 8. It is based on Eq. 108, which is false: for a
        classifier that puts seen and unseen rows into different bins, its left side is 2 and its
        right side 1.18.

    Returns
    -------
    Bound
        With parts ``binning`` (at zero information) and ``information``.

    Notes
    -----
    Eqs. 101 and 112 add up the largest possible width of each bin, and that sum may exceed 1. The
    remedy is to bound the masses of all bins at once: widths weighted by masses add up to at most
    the largest mass, and no bin's mass exceeds its share of the rows by more than *half* the sum in
    Eq. 108, because the differences cancel. This even reduces the 8 under the root back to 2 if B
    divides n; the library uses the published correction, which is larger.

    Examples
    --------
    >>> round(training_binning_bound(4000, bins=20, lipschitz=0.0, fcmi=0.0).value, 4)
    0.2165
    """
    check(form=form, n=n, binning="mass", bins=bins, lipschitz=lipschitz, fcmi=fcmi)
    parts = training_parts(bins, lipschitz, NO_ROWS, (_edge_variance(n, form), fcmi))
    return Bound(**parts, form=form, reference=f"{FUTAMI}, Theorem 8")


def labeled_generalization_bound(
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

    This is the sum of `training_statistical_bound` (Theorem 4) and, for mass bins,
    `training_binning_bound` (Theorem 8), which explain the forms.

    Parameters
    ----------
    n, bins, binning, lipschitz
        As for `labeled_bias_bound`, for the training rows.
    ecmi : float
        As for `training_statistical_bound`.
    fcmi : float, optional
        As for `training_binning_bound`; mass bins require it.
    form : {"corrected", "printed"}
        The printed form has 2 in place of 8 in the mass term.

    Returns
    -------
    Bound
        ``binning`` and ``statistical`` are the bound at zero information; ``information`` is the
        rest.

    Examples
    --------
    >>> options = {"bins": 20, "binning": "mass", "lipschitz": 1.0, "ecmi": 0.0, "fcmi": 0.0}
    >>> round(labeled_generalization_bound(4000, **options).value, 4)
    0.5995
    >>> round(labeled_generalization_bound(4000, **options, form="printed").value, 4)
    0.433
    """
    check(form=form, n=n, binning=binning, bins=bins, lipschitz=lipschitz, ecmi=ecmi)
    edges = NO_ROWS
    if binning == "mass":
        if fcmi is None:
            rule = "must be given for equal-mass bins, whose edges depend on the training rows"
            remedy = "Pass it (vc_information bounds it), or binning='width'."
            raise InputError("fcmi", rule, remedy=remedy)
        check(fcmi=fcmi)
        edges = _edge_variance(n, form), fcmi
    parts = training_parts(bins, lipschitz, (1.0 / n, ecmi), edges)
    return Bound(**parts, form=form, reference=f"{FUTAMI}, Theorem 5")


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

    with :math:`I_1 = I_2 = \mathrm{fCMI}` in Theorem 7; in Corollary 4, they may be smaller.

    Parameters
    ----------
    n, bins
        Numbers of training rows and of mass bins, ``n >= 2 * bins``.
    fcmi : float
        Information, in nats, that the scores of the supersample carry about the training rows. The
        default of zero gives the bound for a classifier that has not seen the rows.
    delta1_information, delta2_information : float, optional
        Corollary 4: the information in the positive labels' bins (Eq. 142) and in the bins
        (Eq. 143), of all rows; by default `fcmi`.
    form : {"corrected", "printed"}
        The printed theorem has 2 in place of 8, by the argument of its Theorem 8. Here, too, both
        terms are differences between a seen and an unseen row, and exchanging the rows changes them
        by up to 4/n.

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
    first = fcmi if delta1_information is None else delta1_information
    second = fcmi if delta2_information is None else delta2_information
    check(form=form, n=n, binning="mass", bins=bins, fcmi=fcmi)
    check(delta1_information=first, delta2_information=second)
    variance = _edge_variance(n, form)
    blind, known = training_deviation(variance, bins, first)
    blind_bins, known_bins = training_deviation(variance, bins, second)
    is_corollary = delta1_information is not None or delta2_information is not None
    return Bound(
        statistical=blind + blind_bins,
        information=known + known_bins,
        form=form,
        reference=f"{FUTAMI}, {'Corollary 4' if is_corollary else 'Theorem 7'}",
    )


def _edge_variance(n: float, form: Form) -> float:
    """Return the variance factor of the bin indicators of training rows."""
    return 1.0 / n if form == "corrected" else 0.25 / n


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
        Sample sizes, not both infinite. For one-sample data, pass all rows as ``n_unlabeled``.
    prior : float
        Share of positives, in (0, 1).
    binning : {"mass", "width"}
        Equal-mass or equal-width bins.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        With :math:`A = \pi^2/n_P + 1/n_U`:

        - ``"rule"``: :math:`\lceil A^{-1/3} \rceil` in exact arithmetic, the order of Corollary 1.
        - ``"closed-form"``: the stationary points in the proof of Corollary 1, rounded down:
          :math:`(2(1+L)^2/\log 2)^{1/3} A^{-1/3}` for width bins, where it minimizes Theorem 1, and
          :math:`(2+\sqrt{\log 2})^{-2/3} A^{-1/3}` for mass bins, where it minimizes a much looser
          bound.
        - ``"bound"``: the whole number that minimizes Theorem 1 itself.

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
    check(binning=binning, lipschitz=lipschitz, rule=rule)
    if rule == "bound":
        kinds: dict[str, Any] = {"binning": binning, "lipschitz": lipschitz}
        bound = partial(bias_bound, n_positive, n_unlabeled, prior, **kinds)
        return least_bound(bound, n_unlabeled)[1]
    if rule == "rule":
        return capped(by_order, n_unlabeled)
    rate = prior**2 / n_positive + 1.0 / n_unlabeled
    return capped(math.floor(_factor(binning, lipschitz) / math.cbrt(rate)), n_unlabeled)


def labeled_optimal_bins(
    n: float, *, binning: Binning = "mass", lipschitz: float = 1.0, rule: Rule = "rule"
) -> int:
    r"""Return the number of bins that the theory recommends for labeled data.

    Parameters
    ----------
    n : float
        Number of labeled rows, finite.
    binning : {"mass", "width"}
        Equal-mass or equal-width bins.
    lipschitz : float
        The constant L of the bound; ``"rule"`` does not depend on it.
    rule : {"rule", "closed-form", "bound"}
        - ``"rule"``: :math:`\lfloor n^{1/3} \rfloor` in exact arithmetic.
        - ``"closed-form"``: :math:`\lfloor (2n(1+L)^2/\log 2)^{1/3} \rfloor`, for width bins only.
          Section 6.1 of Futami & Fujisawa (2024) prints the outer power on :math:`\log 2` alone.
        - ``"bound"``: the whole number that minimizes Corollary 1 itself.

    Returns
    -------
    int
        At least 1, and at most half the rows.

    Examples
    --------
    >>> labeled_optimal_bins(1000)
    10
    >>> labeled_optimal_bins(1000, binning="width", rule="closed-form")
    22
    """
    by_order = labeled_order_rule(n)
    check(binning=binning, lipschitz=lipschitz, rule=rule)
    if rule == "rule":
        return capped(by_order, n)
    if rule == "bound":
        return least_bound(partial(labeled_bias_bound, n, binning=binning, lipschitz=lipschitz), n)[
            1
        ]
    if binning == "mass":
        raise InputError(
            "rule",
            "must be 'rule' or 'bound' for labeled equal-mass bins, got 'closed-form': "
            "none has been published. Choose one of the two, or binning='width'.",
        )
    return capped(math.floor(_factor("width", lipschitz) * math.cbrt(n)), n)


def least_bound(bound: Callable[..., Bound], n: float) -> tuple[float, int]:
    """Return the smallest value of a bound over the number of bins, and that number.

    As the number grows, the bound first decreases and then increases.
    """

    def value(bins: int) -> float:
        return bound(bins=bins).value

    best = first_true(lambda bins: capped(bins + 1, n) <= bins or value(bins + 1) >= value(bins))
    return value(best), best


def capped(bins: int, n: float) -> int:
    """Return the number of bins, limited to one per two rows but at least one."""
    return bins if n == math.inf else max(1, min(bins, int(n // 2)))


def first_true(test: Callable[[int], bool]) -> int:
    """Return the smallest positive integer that passes a monotone test."""
    high = 1
    while not test(high):
        high *= 2
    return bisect_left(range(high), True, lo=high // 2 + 1, hi=high, key=test)  # noqa: FBT003


def _factor(binning: Binning, lipschitz: float) -> float:
    """Return the stationary point of Appendix A.2 in units of the inverse cube root of A."""
    if binning == "width":
        return math.cbrt(2.0 * (1.0 + lipschitz) ** 2 / LOG2)
    return 1.0 / math.cbrt((2.0 + math.sqrt(LOG2)) ** 2)
