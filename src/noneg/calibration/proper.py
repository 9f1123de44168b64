r"""Proper scores without negatives, and what they are made of.

A loss :math:`\ell(s, y)` has the risk

.. math:: R = \pi\,E_+[\ell(s, 1) - \ell(s, 0)] + E[\ell(s, 0)],

which needs positives and marginal rows only. It is linear in the prior, and unbiased; on few rows
of PU data it may be negative although the loss is not.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import entr, ndtri, rel_entr

from noneg.bins import Binned, bin_scores
from noneg.calibration.interval import ece_interval, prior_words
from noneg.checks import check_level, check_number
from noneg.functionals import LawMeans, law_means
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

    Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
    Pair = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

Score = Literal["brier", "log"]
Part = Literal["reliability", "resolution", "uncertainty", "remainder"]

# The distance from 0 and 1 that scikit-learn keeps for double precision.
CLIP = float(np.finfo(np.float64).eps)
# Frequencies this far from 0 and 1 have a slope; they may exceed 1 by a rounding.
EDGE = 1e-9


def brier(scores: PUScores) -> float:
    r"""Return the Brier score, the mean squared distance of scores from labels.

    .. math:: E[(s - Y)^2] = \pi\,E_+[1 - 2 s] + E[s^2]

    Parameters
    ----------
    scores : PUScores

    Returns
    -------
    float
        In [0, 1] for labelled data. For PU data it is unbiased, and may leave that range by noise
        or a wrong prior.

    References
    ----------
    Brier (1950), Verification of Forecasts Expressed in Terms of Probability; du Plessis, Niu &
    Sugiyama (2014), Analysis of Learning from Positive and Unlabeled Data, for the PU form.

    Examples
    --------
    >>> from noneg import PUScores
    >>> round(brier(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])), 4)
    0.085
    """
    return _risk(_risk_means(scores, _BRIER), scores.prior)


def brier_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return the Brier score with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it: the score is linear in
        the prior, so its extremes are at the ends.
    level : float
        Nominal coverage.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(brier_interval(scores))
    0.0850 [0.0746, 0.0954]
    """
    return _risk_interval(scores, _BRIER, level)


def log_loss(scores: PUScores, *, clip: float = CLIP) -> float:
    r"""Return the log loss, the mean negative log-likelihood of the labels.

    .. math:: -E[Y \log s + (1 - Y)\log(1 - s)]
        = \pi\,E_+\Bigl[\log\frac{1 - s}{s}\Bigr] - E[\log(1 - s)]

    Parameters
    ----------
    scores : PUScores
    clip : float
        Scores are moved into [clip, 1 - clip] first; the default is that of scikit-learn, 2^-52.
        A row that is wrong with certainty then costs ``-log(clip)``, about 36.

    Returns
    -------
    float
        Not negative for labelled data; for PU data it may be, by noise or a wrong prior.

    References
    ----------
    Good (1952), Rational Decisions; du Plessis, Niu & Sugiyama (2014), Analysis of Learning from
    Positive and Unlabeled Data, for the PU form.

    Examples
    --------
    >>> from noneg import PUScores
    >>> round(log_loss(PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])), 4)
    0.3081
    """
    return _risk(_risk_means(scores, _log_rule(clip)), scores.prior)


def log_loss_interval(
    scores: PUScores, *, level: float = 0.95, clip: float = CLIP
) -> Estimate:
    """Return the log loss with its confidence interval.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    level : float
        Nominal coverage.
    clip : float
        As in `log_loss`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(log_loss_interval(scores))
    0.3081 [0.2800, 0.3362]
    """
    return _risk_interval(scores, _log_rule(clip), level)


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """What a proper score is made of; ``value = reliability - resolution + uncertainty + remainder``.

    Attributes
    ----------
    value : float
        The Brier score or the log loss.
    reliability : float
        Loss by bad calibration over the bins; 0 at best.
    resolution : float
        Gain by telling bins of high from bins of low frequency.
    uncertainty : float
        The score of always predicting the prior.
    remainder : float
        What the bins do not see: how much scores vary within a bin, and how well.
    score : {"brier", "log"}
    n_bins : int
    """

    value: float
    reliability: float
    resolution: float
    uncertainty: float
    remainder: float
    score: Score
    n_bins: int

    def to_dict(self) -> dict[str, float | str | int]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


def decomposition(
    scores: PUScores,
    *,
    score: Score = "brier",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    clip: float = CLIP,
) -> Decomposition:
    r"""Return the reliability, resolution and uncertainty of the Brier score or the log loss.

    .. math:: \text{reliability} = \sum_b \mu(I_b)\,d(y_b, \bar s_b), \qquad
        \text{resolution} = \sum_b \mu(I_b)\,d(y_b, \pi), \qquad
        \text{uncertainty} = e(\pi)

    with bin frequencies :math:`y_b = \pi\,\mu_+(I_b)/\mu(I_b)`; d is the squared distance and
    :math:`e(\pi) = \pi(1 - \pi)` for the Brier score, the Kullback-Leibler divergence and the
    entropy for the log loss. The remainder makes the sum exact; it is zero when all scores of a bin
    are equal.

    Parameters
    ----------
    scores : PUScores
    score : {"brier", "log"}
    bins, binning, edges
        As in `noneg.ece`.
    clip : float
        As in `log_loss`; used by "log" only.

    References
    ----------
    Murphy (1973), A New Vector Partition of the Probability Score; Bröcker (2009), Reliability,
    Sufficiency, and the Decomposition of Proper Scores; Stephenson, Coelho & Jolliffe (2008), Two
    Extra Components in the Brier Score Decomposition, for the remainder.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6])
    >>> parts = decomposition(scores, bins=2)
    >>> [round(x, 3) for x in (parts.value, parts.reliability, parts.resolution, parts.uncertainty)]
    [0.1, 0.1, 0.25, 0.25]
    """
    rule = _rule(score, clip)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    return _parts(binned, rule, _risk(_risk_means(scores, rule), scores.prior))


def decomposition_interval(  # noqa: PLR0913
    scores: PUScores,
    *,
    part: Part = "reliability",
    level: float = 0.95,
    score: Score = "brier",
    bins: int | Literal["optimal"] = "optimal",
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    clip: float = CLIP,
    seed: int = 0,
) -> Estimate:
    """Return one part of a `decomposition` with an interval for its population value.

    The reliability of the Brier score is the squared L2 calibration error, with the interval of
    `noneg.calibration.ece_interval`. That of the log loss is convex in the sums of the bins, so
    its normal upper end holds at good calibration too, and at least twice the other (Pinsker),
    which gives the lower end. The rest are normal intervals by the delta method.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` the result holds for every prior in it.
    part : {"reliability", "resolution", "uncertainty", "remainder"}
    level : float
        Nominal coverage.
    score, bins, binning, edges, clip
        As in `decomposition`.
    seed : int
        Seed of the random splits behind the lower end of the reliability.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=1)
    >>> print(decomposition_interval(scores, part="resolution"))
    """
    level, rule = check_level(level), _rule(score, clip)
    if part not in ("reliability", "resolution", "uncertainty", "remainder"):
        msg = (
            "'part' must be 'reliability', 'resolution', 'uncertainty' or 'remainder', "
            f"got {part!r}."
        )
        raise ValueError(msg)
    binned = bin_scores(scores, bins=bins, binning=binning, edges=edges)
    ...
