"""The bounds on training rows, set beside the gap that the same runs show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.errors import InputError
from noneg.lab.information.quantities import bin_gap, ece_gap, reused_error, seen_and_unseen
from noneg.lab.information.supersample import PUSupersample
from noneg.theory import (
    Bound,
    labelled_generalization_bound,
    training_statistical_bound,
)
from noneg.theory import generalization_bound as pu_bound
from noneg.theory import reuse_bound as theory_reuse_bound
from noneg.theory.bounds import FUTAMI, check_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.bins import Binned, Binning
    from noneg.lab.information.supersample import Runs
    from noneg.theory import Form


@dataclass(frozen=True, kw_only=True)
class GapAndBound:
    r"""A gap between training and test rows, and what theory promises of it.

    Attributes
    ----------
    gap : float
        Mean over draws of \|ECE on unseen rows - ECE on seen rows\|, and of `reuse_bound` the
        ECE of recalibrated scores on unseen rows.
    gap_error : float
        Standard error of that mean; nan for one draw.
    bin_gap : float
        Mean over draws of the sum over bins, which the corrected bound is for.
    bound : Bound
        On the gap where `lipschitz` was left out, else on the distance of the ECE from the TCE.
    draws : int
    """

    gap: float
    gap_error: float
    bin_gap: float
    bound: Bound
    draws: int

    @property
    def vacuous(self) -> bool:
        """Whether the bound exceeds one, and says nothing."""
        return self.bound.vacuous

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text."""
        return {
            "gap": self.gap,
            "gap_error": self.gap_error,
            "bin_gap": self.bin_gap,
            "draws": self.draws,
            "vacuous": self.vacuous,
            "bound": self.bound.to_dict(),
        }


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

    Without `lipschitz`, the bound on the gap: Futami & Fujisawa (2024), Theorem 4, and for PU pairs
    Lemma 5 of the PU-ECE paper. With it, the bound on \|ECE - TCE\|: Theorems 5 and 3.

    Parameters
    ----------
    runs : Runs
    bins : int
    binning : {"mass", "width"}
    information : float
        In nats: an upper bound of the fCMI, such as `noneg.theory.vc_information` or
        ``n * log(2)``. The sum of `samplewise_information` is a lower limit of it instead; with
        that the bound is the least that the theorem can say, and no promise.
    edge_information : float, optional
        The information about the training rows in the scores that place the edges of mass bins
        (fCMI, and fCMI_U of PU pairs); by default `information`.
    lipschitz : float, optional
        Largest slope of the calibration curve.
    form : {"corrected", "printed"}
        Of labelled pairs; see `noneg.theory.training_statistical_bound`.

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
        bound = labelled_generalization_bound(
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

    The map is histogram binning (Futami & Fujisawa 2024, Eq. 21) with mass bins and frequencies of
    the seen rows. On the unseen rows its error is
    :math:`\sum_b |\pi\mu_+(I_b) - y_b\,\mu(I_b)|`, which their Theorem 7 bounds, and Corollary 4
    with smaller informations.

    Parameters
    ----------
    runs : Runs
        Of labelled pairs; for PU pairs no such theorem has been published.
    bins : int
    information : float
        As for `generalization_bound`.
    label_information, mass_information : float, optional
        Corollary 4: information in the bins of the positive labels (their Eq. 142) and in the bins
        (Eq. 143), of all rows; by default `information`.
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

    *Corrected*: the classifier is rounded to the nearest of finitely many, and scores, bins, ECE
    and TCE are those of the rounded one. It carries at most the logarithm of their number, so
    Theorem 5 gives :math:`\tfrac{1+L}{B} + \sqrt{8(\log N + B \log 2)/n}`, for width bins.

    *Printed*, with the entropy at radius :math:`\delta/B`:
    :math:`\tfrac{1+L}{B} + (2+L)\delta + \sqrt{8B(\log N + \log 2)/n}` for the classifier as it is.
    This is not true: its proof counts rounded scores but not the bins of the scores before the
    rounding, and those may say anything. Let labels be fair coins and all scores lie within
    :math:`\delta` of 1/2, above it where a seen label was 1. One classifier covers them all and the
    TCE is next to 0, but with four bins the ECE is 1/2, where the bound tends to 1/4.

    Parameters
    ----------
    n : float
        Number of training rows.
    bins : int
        Number of bins of equal width.
    lipschitz : float
        Largest slope of the calibration curve.
    entropy : float
        Logarithm of the number N of classifiers in the cover, such as `covering_information`.
    radius : float
        The number :math:`\delta` of the printed form, at most 1/B.
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
    plain = labelled_generalization_bound(
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
    # Lemma 5 is the statistical part of Theorem 3, which is the same for both kinds of bins.
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
