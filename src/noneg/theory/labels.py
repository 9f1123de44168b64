"""How many labels buy an answer: a precision, the prior, the better of two models, a recall.

The sizes solve the normal intervals of these estimates for the numbers of rows; that of a promised
recall solves the exact rule of `noneg.performance.recall_threshold`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from statistics import NormalDist

from scipy.special import betaincinv

from noneg.checks import check_level, check_number, check_prior
from noneg.errors import InputError
from noneg.theory.bounds import first_true
from noneg.theory.planning import check_ratio, solve


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelPlan:
    """Rows that answer a question.

    Attributes
    ----------
    question : str
    n_positive, n_unlabeled, n_reviewed : int
        Labeled positives, unlabeled rows, and rows drawn at random and reviewed; 0 for those that
        play no part.
    error : float
        What these rows achieve, at most the wanted error.
    assumes : str

    Examples
    --------
    >>> print(plan_prior(0.02, 0.1))
    knowing the prior within 0.02: 865 reviewed rows (share of positives among rows drawn at random)
    """

    question: str
    n_positive: int = 0
    n_unlabeled: int = 0
    n_reviewed: int = 0
    error: float
    assumes: str

    @property
    def rows(self) -> dict[str, int]:
        """The rows to collect, by what they are."""
        counts = {
            "labeled positives": self.n_positive,
            "unlabeled rows": self.n_unlabeled,
            "reviewed rows": self.n_reviewed,
        }
        return {name: n for name, n in counts.items() if n}

    def __str__(self) -> str:
        rows = " and ".join(f"{n:,} {name}" for name, n in self.rows.items())
        return f"{self.question}: {rows} ({self.assumes})"

    def to_dict(self) -> dict[str, float | str]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


def check_share(value: object, name: str) -> float:
    """Return a share in (0, 1)."""
    rule = "a number in (0, 1)"
    number = check_number(value, name, rule)
    if not 0.0 < number < 1.0:
        raise InputError(name, f"must be {rule}", value=value)
    return number


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def plan_precision(
    *,
    within: float = 0.03,
    prior: float,
    precision: float,
    flagged: float,
    ratio: float = 10.0,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    level: float = 0.95,
) -> LabelPlan:
    r"""Return how many rows make the half-width of a precision's interval at most `within`.

    The half-width is :math:`z\,P\,\sqrt{(1-R)/(n_P R) + (1-f)/(n_U f)}` with the precision P, the
    share f of flagged rows and the recall :math:`R = P f/\pi`, for a known prior.

    Parameters
    ----------
    within : float
        Wanted half-width.
    prior : float
    precision, flagged : float
        About what to expect at the threshold: precision, and share of all rows that reach it.
    ratio, n_positive, n_unlabeled
        As in `plan`.
    level : float

    Examples
    --------
    >>> plan_precision(prior=0.1, precision=0.8, flagged=0.08).n_positive
    4679
    """
    width, prior, hit = (
        check_share(within, "within"),
        check_prior(prior),
        check_share(precision, "precision"),
    )
    share, z = check_share(flagged, "flagged"), _z(check_level(level))
    recall = hit * share / prior
    if recall > 1.0:
        most = prior / hit
        rule = f"must be at most {most:.4g}, or more positives are found than there are"
        raise InputError("flagged", rule, value=flagged)

    def error(positives: float, rows: float) -> tuple[float, int]:
        spread = (1.0 - recall) / (recall * positives) + (1.0 - share) / (share * rows)
        return z * hit * math.sqrt(spread), 0

    sizes = solve(error, width, check_ratio(ratio), n_positive, n_unlabeled)
    return LabelPlan(
        question=f"knowing a precision of {hit:g} within {width:g}",
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        error=error(*sizes)[0],
        assumes=f"half-width at level {level:g}, prior {prior:g} known, {share:g} of rows flagged",
    )


def plan_prior(within: float, prior: float, *, level: float = 0.95) -> LabelPlan:
    r"""Return how many rows drawn at random and reviewed tell the prior within an error.

    :math:`n = z^2 \pi (1 - \pi)/\mathrm{within}^2`. An audit that picks rows by their scores needs
    fewer; estimates from positives and unlabeled rows alone need assumptions instead of rows.

    Examples
    --------
    >>> plan_prior(0.02, 0.1).n_reviewed
    865
    """
    width, prior, z = check_share(within, "within"), check_prior(prior), _z(check_level(level))
    n = math.ceil(z**2 * prior * (1.0 - prior) / width**2)
    return LabelPlan(
        question=f"knowing the prior within {width:g}",
        n_reviewed=n,
        error=z * math.sqrt(prior * (1.0 - prior) / n),
        assumes="share of positives among rows drawn at random",
    )


def plan_comparison(  # noqa: PLR0913 - a question has that many sides
    difference: float,
    prior: float,
    *,
    auroc: float,
    correlation: float = 0.5,
    power: float = 0.8,
    ratio: float = 10.0,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    level: float = 0.95,
) -> LabelPlan:
    r"""Return how many rows tell two models apart whose AUROC differ by `difference`.

    The interval of the difference then excludes zero with probability `power`. The variance of an
    area is that of exponential scores (Hanley & McNeil 1982), for positives against unlabeled rows;
    divided by :math:`(1-\pi)^2` as the area is, and doubled less the correlation of the models.

    Examples
    --------
    >>> plan_comparison(0.02, 0.1, auroc=0.85).n_positive
    1495
    """
    gap, prior, area = (
        check_share(difference, "difference"),
        check_prior(prior),
        check_share(auroc, "auroc"),
    )
    both = _z(check_level(level)) + NormalDist().inv_cdf(check_share(power, "power"))
    rule = "a correlation in [0, 1)"
    if not 0.0 <= check_number(correlation, "correlation", rule) < 1.0:
        raise InputError("correlation", f"must be {rule}", value=correlation)

    def error(positives: float, rows: float) -> tuple[float, int]:
        variance = 2.0 * (1.0 - correlation) * _proxy_variance(area, prior, positives, rows)
        return both * math.sqrt(variance) / (1.0 - prior), 0

    sizes = solve(error, gap, check_ratio(ratio), n_positive, n_unlabeled)
    return LabelPlan(
        question=f"telling two models apart whose AUROC differ by {gap:g}",
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        error=error(*sizes)[0],
        assumes=f"power {power:g} at level {level:g}, AUROC near {area:g}, "
        f"correlation {correlation:g} of the models",
    )


def _proxy_variance(auroc: float, prior: float, positives: float, rows: float) -> float:
    """Return the variance of the AUC of positives against unlabeled rows, both exponential.

    With F and G the distribution functions of negatives and positives, it is that of
    ``(1 - prior) F + prior G`` over positives and of G over the mixture.
    """
    a, rest = auroc, 1.0 - prior
    mean = rest * a + prior / 2.0
    both = a - 0.5 + (1.0 - a) / (2.0 - a)  # mean of F G over positives
    square = rest**2 * 2.0 * a**2 / (1.0 + a) + prior**2 / 3.0 + 2.0 * prior * rest * both
    other = rest * a / (2.0 - a) + prior / 3.0
    return (square - mean**2) / positives + (other - mean**2) / rows


def plan_recall(recall: float, *, confidence: float = 0.95, within: float = 0.03) -> LabelPlan:
    """Return how many labeled positives promise a recall without flagging many more.

    With few positives the threshold must be so low that the true recall exceeds the promise by far.
    With this many the recall to be expected exceeds it by at most `within`.

    Examples
    --------
    >>> plan_recall(0.9).n_positive
    286
    """
    miss, slack = 1.0 - check_share(recall, "recall"), check_share(within, "within")
    tail = 1.0 - check_level(confidence)
    excess = partial(_excess, miss=miss, tail=tail)
    # The excess falls with n but for the steps of k, which come every 1 / miss rows.
    period = range(math.ceil(1.0 / miss) + 1)
    n = first_true(lambda n: max(excess(n + extra) for extra in period) <= slack)
    return LabelPlan(
        question=f"promising a recall of {1.0 - miss:g}",
        n_positive=n,
        error=excess(n),
        assumes=f"confidence {confidence:g}; expected recall at most {slack:g} above the promise",
    )


def _excess(n: int, *, miss: float, tail: float) -> float:
    """Return by how much the expected recall exceeds a promised one with n positives."""
    k = first_true(lambda k: k > n or bool(betaincinv(k, n + 1 - k, 1.0 - tail) > miss)) - 1
    return miss - k / (n + 1)
