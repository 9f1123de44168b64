r"""Numbers of other fields: drug discovery, e-discovery, ecology, clinical prediction.

Recall at k
    The share of all positives that lie among the top k rows.
Enrichment factor
    How many times as many positives the top 1 % holds as rows at random: the lift.
BEDROC
    Positives weighted by :math:`e^{-\alpha u}` of their place u in the list, from 0 at the top to
    1, and scaled so that the worst order has 0 and the best 1 (Truchon & Bayly 2007). Given the
    places it is linear in the positive law, so no negatives are needed.
Observed to expected
    The prior over the mean score, O:E, which is 1 for scores that are right on average.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_level, check_number
from noneg.errors import InputError
from noneg.intervals import area_limits, law_means, prior_words, t_score
from noneg.laws import Ordered
from noneg.performance.ranking import check_k, lift_at, lift_at_interval
from noneg.registry import Metric, in_range, register
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

TRUCHON = "Truchon & Bayly (2007), Evaluating virtual screening methods"


def recall_at(scores: PUScores, *, k: float = 0.1) -> float:
    """Return the share of all positives that lie in the top k rows; the prior does not enter.

    Parameters
    ----------
    scores : PUScores
    k : float or int
        As in `precision_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> recall_at(scores, k=0.5)
    0.75
    """
    return lift_at(scores, k=k) * check_k(scores, k)


@in_range
def recall_at_interval(scores: PUScores, *, level: float = 0.95, k: float = 0.1) -> Estimate:
    """Return the recall among the top k with its interval; see `recall_at`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(recall_at_interval(scores, k=100))
    0.7500 [0.6980, 0.7956]
    """
    found, share = lift_at_interval(scores, level=level, k=k), check_k(scores, k)
    low, high, value = (x * share for x in (found.low, found.high, found.value))
    least, most = found.identified or (np.nan, np.nan)
    ends = None if found.identified is None else (least * share, most * share)
    return replace(found, value=value, low=low, high=high, identified=ends, raw=None)


def enrichment_factor(scores: PUScores, *, k: float = 0.01) -> float:
    """Return the enrichment factor of the top k, by default 1 %: `lift_at` by its other name.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.6, 0.6, 0.9])
    >>> enrichment_factor(scores, k=0.25)
    2.0
    """
    return lift_at(scores, k=k)


@in_range
def enrichment_factor_interval(
    scores: PUScores, *, level: float = 0.95, k: float = 0.01
) -> Estimate:
    """Return the enrichment factor with its interval; see `enrichment_factor`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.6, 0.6, 0.9] * 50)
    >>> print(enrichment_factor_interval(scores, k=50))
    2.0000 [1.7254, 2.2746]
    """
    return lift_at_interval(scores, level=level, k=k)


def bedroc(scores: PUScores, *, alpha: float = 20.0) -> float:
    r"""Return BEDROC, how early in the list the positives come.

    .. math:: \frac{\mathrm{RIE} - \mathrm{RIE}_{min}}{\mathrm{RIE}_{max} - \mathrm{RIE}_{min}},
        \qquad \mathrm{RIE} = \frac{\alpha}{1 - e^{-\alpha}}\,E_+[e^{-\alpha u}]

    for the place u of a row among all, averaged over the width of a row and over ties. RIE of the
    best and the worst order depend on the prior. Of labelled data it is that of RDKit; nan when a
    class is empty.

    Parameters
    ----------
    scores : PUScores
    alpha : float
        Above zero; 20 gives the top 8 % of the list 80 % of the weight.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(bedroc(scores), 4)
    0.9934
    """
    place, ends = _early(Ordered(scores), check_alpha(alpha))[0], _ends(scores.known_prior, alpha)
    width = ends[1] - ends[0]
    return float((place - ends[0]) / width) if width > 0.0 else float("nan")


@in_range
def bedroc_interval(scores: PUScores, *, level: float = 0.95, alpha: float = 20.0) -> Estimate:
    """Return BEDROC with its interval: delta method, Student's interval of the logit.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20)
    >>> print(bedroc_interval(scores))
    0.9934 [0.9526, 0.9991]
    """
    level, steps = check_level(level), Ordered(scores)
    early, by_t, by_q = _early(steps, check_alpha(alpha))
    value, rows = bedroc(scores, alpha=alpha), scores.effective_positive
    if np.isnan(value):
        words = "undefined, an empty class"
        return Estimate(value=value, low=0.0, high=1.0, level=level, method=words)
    found = []
    for prior in scores.prior_set:
        least, most = _ends(prior, alpha)
        width = most - least
        # The worst and the best order move with an estimated prior.
        step = 1e-6 * min(prior, 1.0 - prior)
        sides = [_scaled(early, prior + d, alpha) for d in (-step, step)]
        slope = (sides[1] - sides[0]) / (2.0 * step) if step > 0.0 else 0.0
        variance = steps.variance(by_t / width, by_q / width, slope)
        found.append(_limits(_scaled(early, prior, alpha), variance, rows, level))
    lows, highs = zip(*found, strict=True)
    words = "delta method" + prior_words(scores)
    return Estimate(value=value, low=min(lows), high=max(highs), level=level, method=words)


def _limits(value: float, variance: float, rows: float, level: float) -> tuple[float, float]:
    if 0.0 <= value <= 1.0:
        return area_limits(value, variance, rows, level)
    reach = t_score(level, rows) * float(np.sqrt(variance))
    return value - reach, value + reach


def check_alpha(alpha: object) -> float:
    """Return the weight of the top of the list."""
    rule = "a number above 0, such as 20"
    number = check_number(alpha, "alpha", rule)
    if not number > 0.0:
        raise InputError("alpha", f"must be {rule}", value=alpha)
    return number


def _ends(prior: float, alpha: float) -> tuple[float, float]:
    """Return RIE of the worst and of the best order."""
    best = float(np.expm1(-alpha * prior) / (prior * np.expm1(-alpha))) if prior > 0.0 else np.nan
    return best * float(np.exp(-alpha * (1.0 - prior))), best


def _scaled(early: float, prior: float, alpha: float) -> float:
    least, most = _ends(prior, alpha)
    return (early - least) / (most - least)


def _early(steps: Ordered, alpha: float) -> tuple[float, Floats, Floats]:
    """Return RIE and its derivatives with respect to TPR and PPR at each step."""
    scale = alpha / -np.expm1(-alpha)
    first, last = steps.ppr[:-1], steps.ppr[1:]
    width, top, bottom = last - first, np.exp(-alpha * first), np.exp(-alpha * last)
    wide = width > 0.0
    safe = np.where(wide, width, 1.0)
    mean = np.where(wide, -top * np.expm1(-alpha * width) / (alpha * safe), top)
    mass = np.diff(steps.tpr)
    by_t, by_q = np.zeros((2, steps.tpr.size))
    by_t[1:] += mean
    by_t[:-1] -= mean
    by_q[:-1] += mass * np.where(wide, (mean - top) / safe, -alpha * top / 2.0)
    by_q[1:] += mass * np.where(wide, (bottom - mean) / safe, -alpha * top / 2.0)
    value = float(mass @ mean) * scale if steps.tpr[-1] > 0.0 else float("nan")
    return value, by_t * scale, by_q * scale


def observed_expected(scores: PUScores) -> float:
    """Return O:E, the share of positives over the mean score; nan if all scores are zero.

    Examples
    --------
    >>> from noneg import PUScores
    >>> observed_expected(PUScores.from_labels([0, 0, 1, 1], [0.25, 0.25, 0.25, 0.25]))
    2.0
    """
    mean = float(law_means(scores, (), [lambda s: s]).marginal[0])
    return scores.known_prior / mean if mean > 0.0 else float("nan")


def observed_expected_interval(scores: PUScores, *, level: float = 0.95) -> Estimate:
    """Return O:E with its interval: Student's interval of the logarithm.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50)
    >>> print(observed_expected_interval(scores))
    1.0000 [0.9219, 1.0847]
    """
    level, value = check_level(level), observed_expected(scores)
    means = law_means(scores, (), [lambda s: s])
    if not value > 0.0:
        words = "undefined, all scores or labels are zero"
        return Estimate(value=value, low=0.0, high=np.inf, level=level, method=words)
    mean = float(means.marginal[0])
    reach = t_score(level, scores.effective_marginal) * float(
        np.sqrt(means.variance([-1.0 / mean, 1.0 / scores.known_prior]))
    )
    least, most = (prior / mean for prior in scores.prior_set)
    low, high = least * float(np.exp(-reach)), most * float(np.exp(reach))
    words = "Student interval of the logarithm" + prior_words(scores)
    return Estimate(value=value, low=low, high=high, level=level, method=words)


register(
    Metric(
        name="recall_at",
        title="Recall in the top 10 %",
        function=recall_at,
        interval=recall_at_interval,
        needs_prior=False,
    )
)

register(
    Metric(
        name="enrichment_factor",
        title="Enrichment factor of the top 1 %",
        function=enrichment_factor,
        interval=enrichment_factor_interval,
        citation=TRUCHON,
        range=(0.0, np.inf),
        needs_prior=False,
    )
)

register(
    Metric(
        name="bedroc",
        title="BEDROC, alpha 20",
        function=bedroc,
        interval=bedroc_interval,
        citation=TRUCHON,
        ranks=True,
    )
)
