"""Do the data agree with the prior and the setting? Checks with a verdict and a sentence.

Positives must be a random sample of all positives, and the prior must be right. Neither can be
proved from PU data, but both can be contradicted: wherever more positives are expected than there
are rows, something is wrong.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.reliability import clopper_pearson, ratio_limits, reliability
from noneg.checks import check_level
from noneg.intervals import effective_size
from noneg.kernels import run_ends
from noneg.sentences import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]
    Shares = tuple[Floats, Floats]

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
    if not scores.hidden:
        return ()
    return (
        _prior_fits(scores, level),
        _negatives_exist(scores, level),
        _enough_positives(scores),
    )


def largest_prior(scores: PUScores, *, level: float = 0.95) -> float:
    r"""Return the largest prior that the data do not contradict.

    Above no threshold can there be more positives than rows: their share a among the unlabeled
    rows satisfies :math:`a \le \inf_t \mathrm{PPR}_U(t)/\mathrm{TPR}(t)`. The prior is a in two
    samples and :math:`\lambda + (1 - \lambda) a` in one, with the labelled share
    :math:`\lambda`. Every share is taken at its exact (Clopper-Pearson) limit, simultaneous over
    the thresholds; weighted rows count by their effective number.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> 0.3 <= largest_prior(scores) < 0.4
    True
    """
    level, (unlabeled, positive) = check_level(level), scores.groups_below(run_ends())
    reached = positive[:, 0]
    # The last cut above which each share of the positives lies.
    wanted = reached[-1] * (np.arange(CUTS) / CUTS + 1e-12)
    cuts = np.unique(np.searchsorted(reached, wanted, side="right") - 1)
    cuts = cuts[cuts >= 0]
    tails = _tail(positive, cuts, 0, 3), _tail(unlabeled, cuts, 1, 6)
    labelled, n = scores.labelled_share, scores.effective_marginal
    return prior_limit(*tails, labelled=labelled, n_marginal=n, level=level)


def prior_limit(
    positive: Shares, unlabeled: Shares, *, labelled: float, n_marginal: float, level: float
) -> float:
    """Return the largest prior that both laws allow above cuts; see `largest_prior`.

    Parameters
    ----------
    positive, unlabeled : (ndarray, ndarray)
        Shares of the law above each cut, and the effective number of rows behind each.
    labelled : float
        Share of labeled rows in one sample, which varies, too, and takes half of the error; 0 in
        two samples.
    n_marginal : float
        Effective number of rows of the marginal sample.
    level : float
        One-sided, simultaneous over the cuts.
    """
    alpha = (1.0 - level) / (2.0 if labelled else 1.0)
    share = largest_share(positive, unlabeled, level=1.0 - alpha)
    most = 0.0
    if labelled:
        most = float(clopper_pearson(np.array(labelled), n_marginal, 2.0 * alpha)[1])
    return most + (1.0 - most) * share


def largest_share(positive: Shares, unlabeled: Shares, *, level: float) -> float:
    """Return the largest share of positives among unlabeled rows that both laws allow above cuts.

    Parameters
    ----------
    positive, unlabeled : (ndarray, ndarray)
        Shares of the law above each cut, and the effective number of rows behind each.
    level : float
        One-sided, simultaneous over the cuts.
    """
    return float(min(1.0, share_limits(positive, unlabeled, level=level)[1].min()))


def share_limits(positive: Shares, unlabeled: Shares, *, level: float) -> tuple[Floats, Floats]:
    """Return lower and upper limits of the ratio of both laws above each cut.

    Each side holds for all cuts at once with the level; parameters as in `largest_share`.
    """
    alpha = 2.0 * (1.0 - level) / positive[0].size
    limits = clopper_pearson(*positive, alpha), clopper_pearson(*unlabeled, alpha)
    return ratio_limits(unlabeled[0], limits[1], positive[0], limits[0])


def _tail(below: Floats, cuts: NDArray[np.intp], mass: int, square: int) -> Shares:
    """Return the shares of a law above cuts, and the rows that each varies like."""
    total = below[-1]
    above = np.concatenate([total[None], total - below[cuts]])
    share = above[:, mass] / total[mass]
    with np.errstate(divide="ignore"):
        rows = np.full_like(share, total[mass] ** 2 / total[square])
    # Rows contribute 1 - share above the cut and -share below it.
    noise = above[:, square] * (1.0 - 2.0 * share) + share**2 * total[square]
    return share, np.minimum(effective_size(share, noise / total[mass] ** 2, rows), rows)


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
    return float(scores.known_prior * spread.sum())


def _prior_fits(scores: PUScores, level: float) -> Check:
    limit, prior = largest_prior(scores, level=level), scores.known_prior
    words = f"The prior {prior:.4g} is compatible with the scores, as are all up to {limit:.4g}."
    verdict: Verdict = "holds"
    if prior > limit:
        # A set of priors that reaches below the limit is narrowed by it, not refuted.
        verdict = "contradicted" if scores.prior_set[0] > limit else "doubtful"
        words = say("prior", prior=prior, limit=limit)
    return Check(name="prior", verdict=verdict, sentence=words, value=prior, limit=limit)


def _negatives_exist(scores: PUScores, level: float) -> Check:
    diagram = reliability(scores, level=level, band="simultaneous")
    count = diagram.n_above_one
    worst = float(diagram.frequency.max(initial=0.0))
    if count:
        words = say("negatives", count=count, points=diagram.score.size)
    else:
        words = "In every score range there is room for negatives, within sampling error."
    verdict: Verdict = "contradicted" if count else "holds"
    return Check(name="negatives", verdict=verdict, sentence=words, value=worst, limit=1.0)


def _enough_positives(scores: PUScores) -> Check:
    n, floor = scores.effective_positive, noise_floor(scores)
    few = n < FEW_POSITIVES
    words = say("positives", n_positive=n, floor=floor)
    verdict: Verdict = "doubtful" if few else "holds"
    return Check(
        name="positives", verdict=verdict, sentence=words, value=n, limit=float(FEW_POSITIVES)
    )
