"""Do the data agree with the prior and the setting? Checks with a verdict and a sentence.

Positives must be a random sample of all positives, and the prior must be right. Neither can be
proved from PU data, but both can be contradicted: wherever more positives are expected than there
are rows, something is wrong.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri

from noneg.bins import bin_scores
from noneg.calibration.reliability import reliability
from noneg.checks import check_level
from noneg.kernels import run_ends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

Verdict = Literal["holds", "doubtful", "contradicted"]

CUTS = 32
FEW_POSITIVES = 30


@dataclass(frozen=True, kw_only=True)
class Check:
    """One assumption, looked at.

    Attributes
    ----------
    name : str
    verdict : {"holds", "doubtful", "contradicted"}
        "holds" means that the data do not contradict it, never that it is proved.
    sentence : str
        What was found, for a person.
    value, limit : float
        What was compared with what.
    """

    name: str
    verdict: Verdict
    sentence: str
    value: float
    limit: float

    def to_dict(self) -> dict[str, float | str]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


def check_assumptions(scores: PUScores, *, level: float = 0.95) -> tuple[Check, ...]:
    """Look for contradictions between the data, the prior and the setting.

    Parameters
    ----------
    scores : PUScores
    level : float
        Confidence at which a contradiction is declared, over all places looked at together.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> [check.verdict for check in check_assumptions(scores)]
    ['holds', 'holds', 'holds']
    >>> print(check_assumptions(scores.with_prior(0.6))[0].verdict)
    contradicted
    """
    level = check_level(level)
    if scores.setting == "labelled":
        return ()
    return (
        _prior_fits(scores, level),
        _negatives_exist(scores, level),
        _enough_positives(scores),
    )


def largest_prior(scores: PUScores, *, level: float = 0.95) -> float:
    r"""Return the largest prior that the data do not contradict.

    A prior must satisfy :math:`\pi \le \inf_t \mathrm{PPR}(t)/\mathrm{TPR}(t)`: above no threshold
    can there be more positives than rows. The bound is loosened by the sampling error at `level`,
    simultaneous over the thresholds.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> 0.3 <= largest_prior(scores) < 0.4
    True
    """
    return prior_cuts(scores, level=level).largest(scores.prior)


def noise_floor(scores: PUScores, *, edges: ArrayLike | None = None) -> float:
    r"""Return the calibration error that the noise of the positives alone produces.

    The expected plug-in error of a perfectly calibrated classifier when the marginal law is known,
    :math:`\pi\sum_b \sqrt{2 q_b (1-q_b)/(\pi_{3.14} n_P)}` over the optimal bins, with
    :math:`q_b` the share of the bin in the positive law that the scores announce. However many
    unlabeled rows are added, smaller errors cannot be told from noise (PU-ECE paper, Figure 5).

    Parameters
    ----------
    scores : PUScores
    edges : array-like, optional
        Frozen bin edges from 0 to 1, in place of the optimal bins.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(100, 10_000, setting="two-sample", seed=0)
    >>> 0.05 < noise_floor(scores) < 0.1
    True
    """
    score = bin_scores(scores, edges=edges).score
    share = score / (score.sum() or 1.0)
    spread = np.sqrt(2.0 * share * (1.0 - share) / (np.pi * scores.effective_positive))
    return float(scores.prior * spread.sum())


@dataclass(frozen=True, eq=False)
class PriorCuts:
    """What `largest_prior` compares above each of some cuts.

    Attributes
    ----------
    tpr, ppr : ndarray, shape (k,)
        Shares of both laws above the cuts.
    variance : ndarray, shape (k, 3)
        Of ``PPR - pi TPR``, as coefficients of 1, pi and pi squared.
    z : float
        Standard deviations of room, simultaneous over the cuts.
    """

    tpr: NDArray[np.float64]
    ppr: NDArray[np.float64]
    variance: NDArray[np.float64]
    z: float

    def largest(self, prior: float) -> float:
        """Return the largest compatible prior, with the sampling error at a prior."""
        variance = self.variance @ np.array([1.0, prior, prior**2])
        room = self.ppr + self.z * np.sqrt(np.maximum(variance, 0.0))
        return float(min(1.0, np.min(room / self.tpr)))


def prior_cuts(scores: PUScores, *, level: float = 0.95) -> PriorCuts:
    """Return TPR and PPR above cuts spread over the positives, with the noise of PPR - pi TPR."""
    grid = run_ends()
    reached = scores.sums_below(grid)
    cuts = np.unique(np.searchsorted(reached[:, 0], reached[-1, 0] * np.arange(CUTS) / CUTS))
    # Above no cut at all lie all rows, which keeps the prior below one.
    total = reached[-1]
    above = np.concatenate([total[None], total - reached[cuts]])
    a, w = total[:2]
    full = above[:, 0] > 0.0
    above = above[full]
    tpr, ppr = above[:, 0] / a, above[:, 1] / w
    # Rows contribute w (1 - PPR) - pi a (1 - TPR) above the cut and - w PPR + pi a TPR below it.
    marginal = (above[:, 6] * (1.0 - 2.0 * ppr) + ppr**2 * total[6]) / w**2
    positive = (above[:, 3] * (1.0 - 2.0 * tpr) + tpr**2 * total[3]) / a**2
    shared = (above[:, 4] * (1.0 - ppr - tpr) + ppr * tpr * total[4]) / (a * w)
    z = float(ndtri(1.0 - (1.0 - check_level(level)) / tpr.size))
    return PriorCuts(tpr, ppr, np.stack([marginal, -2.0 * shared, positive], axis=-1), z)


def _prior_fits(scores: PUScores, level: float) -> Check:
    limit, prior = largest_prior(scores, level=level), scores.prior
    words = f"The prior {prior:.4g} is compatible with the scores, as are all up to {limit:.4g}."
    verdict: Verdict = "holds"
    if prior > limit:
        verdict = "contradicted"
        words = (
            f"The prior {prior:.4g} contradicts the scores: above some threshold there would be "
            f"more positives than rows. The largest compatible prior is {limit:.4g}, unless the "
            "labelled positives are not a random sample of all positives."
        )
    return Check(name="prior", verdict=verdict, sentence=words, value=prior, limit=limit)


def _negatives_exist(scores: PUScores, level: float) -> Check:
    diagram = reliability(scores, level=level, band="simultaneous")
    count = diagram.n_above_one
    worst = float(diagram.frequency.max(initial=0.0))
    if count:
        words = (
            f"In {count} of {diagram.score.size} score ranges more positives are expected than "
            "there are rows: no negatives would be left there."
        )
    else:
        words = "In every score range there is room for negatives, within sampling error."
    verdict: Verdict = "contradicted" if count else "holds"
    return Check(name="negatives", verdict=verdict, sentence=words, value=worst, limit=1.0)


def _enough_positives(scores: PUScores) -> Check:
    n, floor = scores.effective_positive, noise_floor(scores)
    few = n < FEW_POSITIVES
    words = (
        f"{n:,.0f} labelled positives alone produce a calibration error of about {floor:.2g} by "
        "noise: however many unlabeled rows there are, less cannot be told from zero."
    )
    verdict: Verdict = "doubtful" if few else "holds"
    return Check(
        name="positives", verdict=verdict, sentence=words, value=n, limit=float(FEW_POSITIVES)
    )
