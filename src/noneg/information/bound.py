"""The bounds on training rows, set beside the gap that the same runs show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.calibration.theory import (
    Bound,
    labelled_generalization_bound,
    training_statistical_bound,
)
from noneg.calibration.theory import generalization_bound as pu_bound
from noneg.information.quantities import bin_gap, ece_gap, seen_and_unseen
from noneg.information.supersample import PUSupersample

if TYPE_CHECKING:
    from noneg.bins import Binning
    from noneg.calibration.theory import Form
    from noneg.information.runs import Runs


@dataclass(frozen=True, kw_only=True)
class GapAndBound:
    r"""A gap between training and test rows, and what theory promises of it.

    Attributes
    ----------
    gap : float
        Mean over draws of \|ECE on unseen rows - ECE on seen rows\|.
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
    >>> from noneg.information import Supersample, run
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
    pairs = list(seen_and_unseen(runs, bins=bins, binning=binning))
    gaps = np.array([ece_gap(*pair) for pair in pairs])
    error = float(gaps.std(ddof=1) / np.sqrt(gaps.size)) if gaps.size > 1 else float("nan")
    return GapAndBound(
        gap=float(gaps.mean()),
        gap_error=error,
        bin_gap=float(np.mean([bin_gap(*pair) for pair in pairs])),
        bound=_bound(runs, bins, binning, information, edge_information, lipschitz, form),
        draws=runs.draws,
    )


def _bound(
    runs: Runs,
    bins: int,
    binning: Binning,
    information: float,
    edge_information: float | None,
    lipschitz: float | None,
    form: Form,
) -> Bound:
    pairs = runs.supersample
    edges = information if edge_information is None else edge_information
    if isinstance(pairs, PUSupersample):
        return _pu(pairs, bins, binning, information, edges, lipschitz)
    if lipschitz is None:
        return training_statistical_bound(pairs.n, bins=bins, ecmi=information, form=form)
    return labelled_generalization_bound(
        pairs.n,
        bins=bins,
        binning=binning,
        lipschitz=lipschitz,
        ecmi=information,
        fcmi=edges,
        form=form,
    )


def _pu(
    pairs: PUSupersample,
    bins: int,
    binning: Binning,
    information: float,
    edges: float,
    lipschitz: float | None,
) -> Bound:
    sizes = (pairs.n_positive, pairs.n_unlabeled, pairs.prior)
    if lipschitz is not None:
        return pu_bound(
            *sizes,
            bins=bins,
            binning=binning,
            lipschitz=lipschitz,
            fcmi=information,
            fcmi_unlabeled=edges,
        )
    # Lemma 5 is what Theorem 3 has for the statistical part; it is the same for both kinds of bins.
    whole = pu_bound(*sizes, bins=bins, binning="width", lipschitz=0.0, fcmi=information)
    return Bound(
        statistical=whole.statistical, information=whole.information, reference="PU-ECE, Lemma 5"
    )
