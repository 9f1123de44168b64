"""Histogram binning: the frequency of positives in each bin, with what theory promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration._steps import StepCalibrator, full_bins
from noneg.theory import recalibration_bound, reuse_bound
from noneg.theory.bounds import Bound, deviation

if TYPE_CHECKING:
    from noneg.recalibration.contract import State
    from noneg.scores import PUScores


class Histogram(StepCalibrator):
    r"""Replace a score by the frequency of positives in its bin (Futami & Fujisawa, Eq. 21).

    .. math:: g(s) = y_b = \pi\,\mu_+(I_b) / \mu(I_b) \quad\text{for } s \in I_b

    with bins of equal mass, and frequencies moved into [0, 1].

    Parameters
    ----------
    bins : int or "optimal"
        Number of bins; "optimal" is that of `noneg.ece`. Coinciding edges make it smaller.

    Attributes
    ----------
    inner_edges_, values_ : ndarray
        Ends of all bins but the last, and the probability in each bin.

    References
    ----------
    Zadrozny & Elkan (2001), Obtaining Calibrated Probability Estimates from Decision Trees and
    Naive Bayesian Classifiers; Futami & Fujisawa (2024), Section 4.3.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.7, 0.9], [0.2, 0.4, 0.7, 0.9], prior=0.25, setting="two-sample")
    >>> Histogram(bins=2).fit(scores).transform([0.1, 0.4, 0.5, 1.0])
    array([0. , 0. , 0.5, 0.5])
    """

    name = "histogram"

    def _fit(self, scores: PUScores) -> State:
        binned = full_bins(scores, self.bins)
        values = np.clip(binned.frequency, 0.0, 1.0)
        return {"inner_edges": binned.edges[1:-1].tolist(), "values": values.tolist()}

    def bound(self, *, fcmi: float | None = None) -> Bound:
        r"""Bound the expected calibration error that is left after this map.

        Parameters
        ----------
        fcmi : float, optional
            Leave it out if the map was fitted on rows that the classifier has not seen
            (Corollary 5). If it was fitted on the classifier's training rows, pass the information
            in nats that its scores carry about them (Theorem 7; 0 for the cost of reuse alone).

        Returns
        -------
        noneg.theory.Bound
            For labelled rows that of the paper. For two samples and unseen rows the same argument
            bounds the two laws one by one:
            :math:`\sqrt{2\pi^2 B\log 2/n_P} + \sqrt{2B\log 2/(n-B)} + 2B/(n-B)`.

        Raises
        ------
        ValueError
            Where no bound is known: one-sample data, or training rows of PU data.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian(-0.5, 1.5).draw(n=4000, setting="labelled", seed=0)
        >>> histogram = Histogram(bins=15).fit(scores)
        >>> print(f"{histogram.bound().value:.3f} {histogram.bound(fcmi=0.0).value:.3f}")
        0.080 0.288
        """
        self._require_fit()
        setting, n = self.fitted_on_["setting"], self.fitted_on_["n_marginal"]
        if setting == "labelled":
            if fcmi is None:
                return recalibration_bound(n, bins=self.n_bins_)
            return reuse_bound(n, bins=self.n_bins_, fcmi=fcmi)
        if setting != "two-sample" or fcmi is not None:
            raise ValueError(
                f"no bound is known for setting={setting!r} and fcmi={fcmi!r}: Theorem 7 and "
                "Corollary 5 are about labelled rows, and their argument extends to two samples of "
                "unseen rows. Measure the error on rows kept apart instead."
            )
        marginal = recalibration_bound(n, bins=self.n_bins_)
        variance = self.fitted_on_["prior"] ** 2 / self.fitted_on_["n_positive"]
        return Bound(
            statistical=marginal.value + deviation(variance, self.n_bins_),
            reference=f"{marginal.reference}, for each of two laws",
        )
