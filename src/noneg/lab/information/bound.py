"""Bounds for training rows, compared with the observed gap in the same runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.errors import InputError
from noneg.lab.information.quantities import bin_gap, ece_gap, reused_error, seen_and_unseen
from noneg.lab.information.supersample import PUSupersample
from noneg.theory import (
    Bound,
    generalization_bound as pu_bound,
    labeled_generalization_bound,
    reuse_bound as theory_reuse_bound,
    training_statistical_bound,
)
from noneg.theory.bounds import FUTAMI, check_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.bins import Binned, Binning
    from noneg.lab.information.supersample import Runs
    from noneg.theory import Form


@dataclass(frozen=True, kw_only=True)
class GapAndBound:
    r"""A gap between training and test rows, with its theoretical bound.

    Attributes
    ----------
    gap : float
        Mean over draws of \|ECE on unseen rows - ECE on seen rows\|; from `reuse_bound`, the mean
        ECE of recalibrated scores on unseen rows.
    gap_error : float
        Standard error of that mean; nan for one draw.
    bin_gap : float
        Mean over draws of the sum over bins, which the corrected bound covers.
    bound : Bound
        Bound on the gap, or with `lipschitz`, on the distance between the ECE and the TCE.
    draws : int
    """

    gap: float
    gap_error: float
    bin_gap: float
    bound: Bound
    draws: int

    @property
    def vacuous(self) -> bool:
        """Whether the bound is vacuous because it exceeds one."""
        return self.bound.vacuous

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and strings."""
        return asdict(self) | {"vacuous": self.vacuous, "bound": self.bound.to_dict()}


def generalization_bound(
    runs: Runs,
    *,
    bins: int,
    binning: Binning,
    information: float,
    edge_information: float | None = None,
    lipschitz: float | None = None,
    form: Form = "corrected",
) -> GapAndBound:
    r"""Return the ECE gap of the runs with its bound.

    Without `lipschitz`, this is the bound on the gap: Futami & Fujisawa (2024), Theorem 4, or, for
    PU pairs, Lemma 5 of the PU-ECE paper. With `lipschitz`, it is the bound on \|ECE - TCE\|:
    Theorems 5 and 3, respectively.

    Parameters
    ----------
    runs : Runs
    bins : int
    binning : {"mass", "width"}
    information : float
        Upper bound on the fCMI in nats, such as `noneg.theory.vc_information` or ``n * log(2)``.
        The sum of `samplewise_information` is a lower bound on the fCMI instead; with it, the
        result is the smallest value that the theorem could give, not a guarantee.
    edge_information : float, optional
        The information about the training rows in the scores that determine the edges of mass bins
        (fCMI, or fCMI_U for PU pairs); by default, `information`.
    lipschitz : float, optional
        Largest slope of the calibration curve.
    form : {"corrected", "printed"}
        Form of the bound for labeled pairs; see `noneg.theory.training_statistical_bound`.

    Returns
    -------
    GapAndBound

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.lab.information import Supersample, run
    >>> from noneg.theory import vc_information
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> pairs = Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=0)
    >>> runs = run(pairs, LogisticRegression(), draws=4, seed=0)
    >>> nats = vc_information(2, 2000, 0)
    >>> found = generalization_bound(runs, bins=12, binning="width", information=nats)
    >>> found.gap < found.bin_gap < found.bound.value, found.vacuous
    (True, False)
    """
    edges = information if edge_information is None else edge_information
    pairs = runs.supersample
    if isinstance(pairs, PUSupersample):
        bound = _pu_bound(pairs, bins, binning, information, edges, lipschitz)
    elif lipschitz is None:
        bound = training_statistical_bound(pairs.n, bins=bins, ecmi=information, form=form)
    else:
        bound = labeled_generalization_bound(
            pairs.n,
            bins=bins,
            binning=binning,
            lipschitz=lipschitz,
            ecmi=information,
            fcmi=edges,
            form=form,
        )
    return _beside(bound, runs, ece_gap, bins, binning)


def reuse_bound(
    runs: Runs,
    *,
    bins: int,
    information: float,
    label_information: float | None = None,
    mass_information: float | None = None,
    form: Form = "corrected",
) -> GapAndBound:
    r"""Return the error that remains after recalibration on the training rows, with its bound.

    The map is histogram binning (Futami & Fujisawa 2024, Eq. 21) with mass bins and frequencies
    from the seen rows. On the unseen rows, its error is
    :math:`\sum_b |\pi\mu_+(I_b) - y_b\,\mu(I_b)|`. Their Theorem 7 bounds this error, and Corollary
    4 bounds it with smaller information terms.

    Parameters
    ----------
    runs : Runs
        Runs of labeled pairs; no such theorem has been published for PU pairs.
    bins : int
    information : float
        As for `generalization_bound`.
    label_information, mass_information : float, optional
        For Corollary 4, the information in the bins of the positive labels (their Eq. 142) and in
        the bins of all rows (Eq. 143); by default, `information`.
    form : {"corrected", "printed"}
        See `noneg.theory.reuse_bound`.

    Returns
    -------
    GapAndBound

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> pairs = Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=0)
    >>> runs = run(pairs, LogisticRegression(), draws=4, seed=0)
    >>> found = reuse_bound(runs, bins=12, information=0.0)
    >>> round(found.bound.value, 3), found.gap < found.bound.value
    (0.365, True)
    """
    if isinstance(runs.supersample, PUSupersample):
        msg = (
            "'runs' must be those of a Supersample, got PU pairs, for which no bound after "
            "recalibration has been published. Use generalization_bound."
        )
        raise TypeError(msg)
    bound = theory_reuse_bound(
        runs.supersample.n,
        bins=bins,
        fcmi=information,
        delta1_information=label_information,
        delta2_information=mass_information,
        form=form,
    )
    return _beside(bound, runs, reused_error, bins, "mass")


def entropy_bound(
    n: float,
    *,
    bins: int,
    lipschitz: float,
    entropy: float,
    radius: float = 0.0,
    form: Form = "corrected",
) -> Bound:
    r"""Bound \|ECE - TCE\| on training rows by a metric entropy (Futami & Fujisawa, Theorem 6).

    *Corrected*: the classifier is rounded to the nearest member of a finite cover, and the scores,
    bins, ECE and TCE are computed from the rounded classifier. Its information is at most the
    logarithm of the size of the cover, so Theorem 5 gives
    :math:`\tfrac{1+L}{B} + \sqrt{8(\log N + B \log 2)/n}` for width bins.

    *Printed*, with the entropy at radius :math:`\delta/B`:
    :math:`\tfrac{1+L}{B} + (2+L)\delta + \sqrt{8B(\log N + \log 2)/n}` for the unrounded
    classifier. This bound does not hold: the proof counts the rounded scores but not the bins of
    the unrounded scores, which may contain arbitrary information. As a counterexample, let the
    labels be fair coins, and let all scores lie within :math:`\delta` of 1/2, above 1/2 where a
    seen label was 1. One classifier covers them all and the TCE is nearly 0, but with four bins the
    ECE is 1/2, while the bound tends to 1/4.

    Parameters
    ----------
    n : float
        Number of training rows.
    bins : int
        Number of equal-width bins.
    lipschitz : float
        Largest slope of the calibration curve.
    entropy : float
        Logarithm of the number N of classifiers in the cover, such as `covering_information`.
    radius : float
        The radius :math:`\delta` in the printed form, at most 1/B.
    form : {"corrected", "printed"}

    Returns
    -------
    Bound

    Examples
    --------
    >>> from noneg.lab.information import covering_information
    >>> nats = covering_information(2, lipschitz=1.0, radius=0.01)
    >>> round(entropy_bound(4000, bins=15, lipschitz=1.0, entropy=nats).value, 3)
    0.324
    """
    check_form(form)
    if not 0.0 <= radius <= 1.0 / bins:
        raise InputError("radius", f"must lie in [0, 1/bins], got {radius!r} for {bins!r} bins.")
    printed = form == "printed"
    plain = labeled_generalization_bound(
        n,
        bins=bins,
        binning="width",
        lipschitz=lipschitz,
        ecmi=bins * entropy if printed else entropy,
    )
    return Bound(
        binning=plain.binning + ((2.0 + lipschitz) * radius if printed else 0.0),
        statistical=plain.statistical,
        information=plain.information,
        form=form,
        reference=f"{FUTAMI}, Theorem 6",
    )


def _pu_bound(
    pairs: PUSupersample,
    bins: int,
    binning: Binning,
    information: float,
    edges: float,
    lipschitz: float | None,
) -> Bound:
    # Lemma 5 is the statistical part of Theorem 3, which is the same for both binnings.
    whole = pu_bound(
        pairs.n_positive,
        pairs.n_unlabeled,
        pairs.prior,
        bins=bins,
        binning="width" if lipschitz is None else binning,
        lipschitz=lipschitz or 0.0,
        fcmi=information,
        fcmi_unlabeled=edges,
    )
    if lipschitz is not None:
        return whole
    return Bound(
        statistical=whole.statistical, information=whole.information, reference="PU-ECE, Lemma 5"
    )


def _beside(
    bound: Bound,
    runs: Runs,
    gap: Callable[[Binned, Binned], float],
    bins: int,
    binning: Binning,
) -> GapAndBound:
    pairs = list(seen_and_unseen(runs, bins=bins, binning=binning))
    gaps = np.array([gap(*pair) for pair in pairs])
    return GapAndBound(
        gap=float(gaps.mean()),
        gap_error=float(gaps.std(ddof=1) / np.sqrt(gaps.size)) if gaps.size > 1 else float("nan"),
        bin_gap=float(np.mean([bin_gap(*pair) for pair in pairs])),
        bound=bound,
        draws=gaps.size,
    )
