"""All informations of some runs at once, and what of them can be believed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from noneg.lab.information.mutual import draw_limit
from noneg.lab.information.quantities import (
    bin_gaps,
    binned_information,
    ece_gaps,
    label_gaps,
    mass_gaps,
    membership_noise,
    printed_information,
    samplewise_information,
)
from noneg.lab.information.supersample import PUSupersample

if TYPE_CHECKING:
    from noneg.bins import Binning
    from noneg.lab.information.runs import Runs


@dataclass(frozen=True, kw_only=True, slots=True)
class Information:
    r"""Conditional mutual information of what classifiers say and of the coins, in nats.

    Attributes
    ----------
    fcmi, fcmi_unlabeled, ecmi : float
        Sums over pairs of the information of the pair's scores (of unlabeled pairs alone; nan of
        labelled pairs) and of its bins. The quantities of these names in the papers are at least as
        large as the expectations of these sums.
    fcmi_noise, fcmi_unlabeled_noise, ecmi_noise : float
        The same with shuffled coins: the size of the estimates where there is no information.
    ece_gap, label_gap, mass_gap, bin_gap : float
        Information of one number a draw about the coins of all rows, by nearest neighbours: Futami
        & Fujisawa (2024), Eqs. 15, 142 and 143, and Lemma 4 of the PU-ECE paper. Zero, unless a
        membership was drawn twice (`knn_information`).
    most_shown : float
        The most that an estimate of those four could be: the logarithm of the number of draws.
    most : float
        The most that any of the informations can be, n log 2.
    draws : int
    """

    fcmi: float
    fcmi_noise: float
    fcmi_unlabeled: float
    fcmi_unlabeled_noise: float
    ecmi: float
    ecmi_noise: float
    ece_gap: float
    label_gap: float
    mass_gap: float
    bin_gap: float
    most_shown: float
    most: float
    draws: int

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)


def measure_information(runs: Runs, *, bins: int, binning: Binning, seed: int = 0) -> Information:
    """Return every information that the bounds speak of, as far as the draws show it.

    Parameters
    ----------
    runs : Runs
        A few dozen draws at least; see `Information` for what fewer can show.
    bins : int
    binning : {"mass", "width"}
    seed : int

    Returns
    -------
    Information

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.lab.information import Supersample, run
    >>> rng = np.random.default_rng(0)
    >>> pairs = Supersample(rng.random((5, 2)), rng.integers(0, 2, (5, 2)))
    >>> memory = lambda X, y, seed: lambda rows: np.where(np.isin(rows, X), 0.9, 0.1)
    >>> runs = run(pairs, memory, draws=31, seed=0)
    >>> found = measure_information(runs, bins=2, binning="width")
    >>> found.fcmi > 0.9 * found.most, found.most_shown < found.most
    (True, True)
    """
    gaps = {
        "ece_gap": ece_gaps(runs, bins=bins, binning=binning),
        "label_gap": label_gaps(runs, bins=bins, binning=binning),
        "mass_gap": mass_gaps(runs, bins=bins, binning=binning),
        "bin_gap": bin_gaps(runs, bins=bins, binning=binning),
    }
    made = {name: printed_information(runs, gap, seed=seed) for name, gap in gaps.items()}
    scores, noise = samplewise_information(runs, seed=seed), membership_noise(runs, seed=seed)
    # The unlabeled pairs come first.
    pu = runs.supersample.n_unlabeled if isinstance(runs.supersample, PUSupersample) else None
    shown, most = draw_limit(runs.draws, runs.supersample.n)
    return Information(
        fcmi=float(scores.sum()),
        fcmi_noise=float(noise.sum()),
        fcmi_unlabeled=float("nan") if pu is None else float(scores[:pu].sum()),
        fcmi_unlabeled_noise=float("nan") if pu is None else float(noise[:pu].sum()),
        ecmi=float(binned_information(runs, bins=bins, binning=binning).sum()),
        ecmi_noise=float(binned_information(runs, bins=bins, binning=binning, seed=seed).sum()),
        most_shown=shown,
        most=most,
        draws=runs.draws,
        **made,
    )
