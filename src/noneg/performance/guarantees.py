r"""Thresholds that keep a promise, without negatives: of recall, precision, cost or workload.

Recall
    Labeled and hidden positives are exchangeable, so the share of positives below the k-th smallest
    of n labeled scores is at most Beta(k, n + 1 - k): neither a prior nor a negative is needed.
Precision
    :math:`\pi\,\mathrm{TPR}(t)/\mathrm{PPR}(t)`, with the lower end of what is known of the prior.
    The ratio of two counts has a lower confidence limit at each threshold, made of Clopper-Pearson
    limits by recovered variances on the log scale. Limits that hold at all thresholds at once need
    a smaller tail at each one (`local_tail`). A threshold chosen by looking at all of them then
    keeps its promise.
Selection
    If hidden positives are up to :math:`\Gamma` times more or less likely than labeled ones to look
    like this (``scores.selection``), a share p of labeled positives above a threshold guarantees
    a share :math:`\max(p/\Gamma, 1 - \Gamma(1 - p))` of the hidden ones.

Weighted rows are counted in units of the largest weight, which is exact for equal weights and
careful for others: no row can be worth more than one count.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, expit, logit, ndtr, ndtri

from noneg.checks import check_count, check_number, percentage
from noneg.errors import InputError
from noneg.losses import check_cost
from noneg.results import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

# Thresholds above which fewer positives lie are not looked at: no promise could be made there.
LEAST_SHARE = 0.05
MOST_NODES = 500
# Part of the failure probability that pays for the unknown share of positives that are labeled.
LABELED_PART = 0.1
LEAST_CONFIDENCE = 0.5
MOST_EXTRA = 10.0  # standard errors that many thresholds can cost beyond those of one
MOST_REVIEWED = 1e6
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A threshold and what it guarantees.

    Attributes
    ----------
    threshold : float
        Act on rows with at least this score: 0 for all rows, infinite for none.
    promised : {"recall", "precision", "cost", "flagged"}
        The quantity that is guaranteed.
    value : float
        At least this recall or precision, at most this cost a row or this many flagged rows.
    confidence : float or None
        Probability, over the draw of the rows, that the promise holds; None for a promise that
        holds on average over such draws.

    Examples
    --------
    >>> print(Promise(threshold=0.31, promised="recall", value=0.9, confidence=0.95))
    0.31: recall at least 0.9 with 95 % confidence
    """

    threshold: float
    promised: str
    value: float
    confidence: float | None

    @property
    def words(self) -> str:
        """The promise as a phrase."""
        side = "at least" if self.promised in ("recall", "precision") else "at most"
        sure = (
            "on average"
            if self.confidence is None
            else f"with {100 * self.confidence:.6g} % confidence"
        )
        return f"{self.promised} {side} {self.value:.6g} {sure}"

    def __str__(self) -> str:
        return f"{self.threshold:.6g}: {self.words}"

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Counts:
    """One law above falling thresholds, counted in units of its largest weight."""

    above: Floats
    total: Floats | float

    @property
    def share(self) -> Floats:
        """Share of the law above each threshold."""
        return self.above / self.total

    def low(self, tail: float) -> Floats:
        """Return Clopper-Pearson lower limits of the share; 0 where nothing lies above."""
        k = np.maximum(self.above, ROUNDING)
        return np.where(self.above > 0.0, betaincinv(k, self.total + 1.0 - k, tail), 0.0)

    def high(self, tail: float) -> Floats:
        """Return Clopper-Pearson upper limits of the share; 1 where everything lies above."""
        rest = np.maximum(self.total - self.above, ROUNDING)
        high = betaincinv(self.above + 1.0, rest, 1.0 - tail)
        return np.where(self.total > self.above, high, 1.0)

    def times(self, factor: float) -> Counts:
        """Return as many times more rows of the same shares."""
        return Counts(self.above * factor, self.total * factor)


def check_confidence(confidence: object) -> float:
    """Return a confidence from one half to one."""
    rule = "a confidence in [0.5, 1) such as 0.95"
    number = check_number(confidence, "confidence", rule)
    if not LEAST_CONFIDENCE <= number < 1.0:
        raise InputError("confidence", f"must be {rule}, got {confidence!r}.{percentage(number)}")
    return number


def check_rate(rate: object, name: str) -> float:
    """Return a rate in (0, 1]."""
    rule = "a rate in (0, 1]"
    number = check_number(rate, name, rule)
    if not 0.0 < number <= 1.0:
        raise InputError(name, f"must be {rule}, got {rate!r}.{percentage(number)}")
    return number


def counts_above(scores: PUScores, thresholds: Floats) -> tuple[Counts, Counts]:
    """Return the positive and the marginal law above thresholds.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> [law.above for law in counts_above(scores, np.array([0.8, 0.5]))]
    [array([1., 2.]), array([1., 1.])]
    """
    (_, _, _, w), (_, _, a, v) = scores.in_order()
    unit = max(largest_weight(w), largest_weight(v) if scores.pooled else 0.0)
    cuts = np.clip(np.nextafter(thresholds, -np.inf), 0.0, 1.0)
    below = scores.sums_below(np.append(cuts, 1.0))[:, :2].copy()
    total = below[-1].copy()
    below[:-1][thresholds <= 0.0] = 0.0
    above = np.maximum(total - below[:-1], 0.0)
    return tuple(  # type: ignore[return-value]
        Counts(above[:, column] / one, float(total[column] / one))
        for column, one in ((0, largest_weight(a)), (1, unit))
    )


def _first(fails: Callable[[int], bool], size: int) -> int:
    """Return the first place at which something fails that then fails at all later ones."""
    return bisect_left(range(size), 1, key=fails)


def largest_weight(mass: Floats | float) -> float:
    """Return the largest weight of a group of rows; 1 for none."""
    return float(np.max(mass, initial=0.0)) or 1.0


# --- selection ------------------------------------------------------------------------------------


def least_share(share: Floats, selection: float) -> Floats:
    """Return the smallest share of hidden positives that a share of labeled ones allows.

    Examples
    --------
    >>> least_share(np.array([0.5, 0.9]), 2.0)
    array([0.25, 0.8 ])
    """
    return np.maximum(share / selection, 1.0 - selection * (1.0 - share))


def tolerated(miss: float, labeled: float, selection: float) -> float:
    """Return the share of labeled positives that may be missed, so that of all `miss` is not.

    Solves ``c a + (1 - c) min(G a, 1 - (1 - a)/G) = miss`` for a, where c is the share of positives
    that are labeled; the left side is the smaller of two rising lines.

    Examples
    --------
    >>> round(tolerated(0.1, 0.0, 2.0), 4), tolerated(0.1, 1.0, 2.0)
    (0.05, 0.1)
    """
    hidden = 1.0 - labeled
    steep = miss / (labeled + hidden * selection)
    flat = (miss - hidden * (1.0 - 1.0 / selection)) / (labeled + hidden / selection)
    return max(steep, flat)


def labeled_share(scores: PUScores, tail: float | None) -> float:
    """Return the least share of positives that are labeled, 0 where nothing tells it.

    With a tail it is a lower confidence limit: the labeled rows of one sample vary by chance.
    """
    if scores.prior_is_estimated:
        return 1.0
    if scores.prior is None and scores.prior_interval is None:
        return 0.0
    return min(1.0, _labeled_rows(scores, tail) / scores.prior_set[1])


def _labeled_rows(scores: PUScores, tail: float | None) -> float:
    """Return the share of all rows that are labeled, or its lower confidence limit."""
    share, n = scores.labelled_share, scores.effective_marginal
    if tail is None or share == 0.0:
        return share
    return float(betaincinv(share * n, (1.0 - share) * n + 1.0, tail))


# --- recall ---------------------------------------------------------------------------------------


def recall_threshold(
    scores: PUScores, *, recall: float = 0.9, confidence: float | None = 0.95
) -> Promise:
    r"""Return the largest threshold above which at least this share of all positives lies.

    It is the k-th smallest score of the n labeled positives, for the largest k with
    :math:`P(\mathrm{Beta}(k, n + 1 - k) \le 1 - \mathrm{recall}) \ge` `confidence`. That is exact:
    one score further up, the promise would be broken too often. Equal scores only make the recall
    larger. Neither a prior nor unlabeled rows are needed, unless ``scores.selection`` exceeds 1:
    then fewer labeled positives may be missed, and a known prior helps in one sample.

    Parameters
    ----------
    scores : PUScores
    recall : float
        Wanted share of all positives, in (0, 1].
    confidence : float or None
        Probability with which the promise holds. With None it holds on average over data sets:
        :math:`k = \lfloor (1 - \mathrm{recall})(n + 1) \rfloor`, as in conformal prediction.

    Returns
    -------
    Promise
        Its threshold is 0, so that all rows are flagged, where there are too few positives.

    References
    ----------
    Wilks (1941), Determination of Sample Sizes for Setting Tolerance Limits; Vovk, Gammerman &
    Shafer (2005), Algorithmic Learning in a Random World.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores(np.arange(1, 201) / 201, [0.5], setting="two-sample")
    >>> print(recall_threshold(scores, recall=0.9))
    0.0646766: recall at least 0.9 with 95 % confidence
    """
    wanted = check_rate(recall, "recall")
    tail = None if confidence is None else 1.0 - check_confidence(confidence)
    miss, tail = _allowed_miss(scores, 1.0 - wanted, tail)
    at = scores.in_order()[1][0]
    if not at.size:
        raise InputError("scores", "must hold a positive for this criterion, got none.")

    def breaks(i: int) -> bool:
        law, _ = counts_above(scores, at[[i]])
        total = float(law.total)
        return not _keeps_recall(total - float(law.above[0]), total, miss, tail)

    kept = _first(breaks, at.size)
    threshold = float(at[kept - 1]) if kept else 0.0
    return Promise(threshold=threshold, promised="recall", value=wanted, confidence=confidence)


def _allowed_miss(scores: PUScores, miss: float, tail: float | None) -> tuple[float, float | None]:
    """Return the share of labeled positives that may be missed, and the tail that is left."""
    if scores.selection == 1.0:
        return miss, tail
    part = None if tail is None else LABELED_PART * tail
    labeled = labeled_share(scores, part)
    if part is not None and tail is not None and 0.0 < labeled < 1.0:
        tail -= part
    return tolerated(miss, labeled, scores.selection), tail


def _keeps_recall(missed: float, total: float, miss: float, tail: float | None) -> bool:
    """Whether a threshold with these many positives below it misses no more than a share."""
    if tail is None:
        return missed + 1.0 <= miss * (total + 1.0) * (1.0 + ROUNDING)
    return bool(betainc(missed + 1.0, total - missed, miss) >= 1.0 - tail)


# --- precision ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class FdpEnvelope(Table):
    """Promises of precision at many thresholds that all hold at once.

    Attributes
    ----------
    threshold : ndarray
        Scores of labeled positives, falling.
    recall, flagged : ndarray
        Estimated share of positives, and share of all rows, at or above each.
    precision : ndarray
        The estimate, at the lower end of what is known of the prior, not clipped; nan where no row
        of the marginal sample reaches the threshold.
    promised : ndarray
        With the given confidence the precision is at least this at every threshold.
    fdp : ndarray
        The same as an upper limit of the share of false alarms, ``1 - promised``.
    confidence : float
    """

    _names: ClassVar[tuple[str, ...]] = (
        "threshold",
        "recall",
        "flagged",
        "precision",
        "promised",
        "fdp",
    )
    threshold: Floats
    recall: Floats
    flagged: Floats
    precision: Floats
    promised: Floats
    confidence: float

    @property
    def fdp(self) -> Floats:
        """Upper limits of the share of false alarms."""
        return 1.0 - self.promised


@dataclass(frozen=True, eq=False)
class _Ratio:
    """What a promise of precision is made of: two laws above thresholds, and what is known."""

    scores: PUScores
    threshold: Floats
    positive: Counts
    marginal: Counts
    tail: float
    local: float  # the tail of each limit

    @classmethod
    def build(cls, scores: PUScores, confidence: float, thresholds: Floats | None = None) -> _Ratio:
        tail, at = 1.0 - check_confidence(confidence), nodes(scores)
        laws = counts_above(scores, at)
        kept = laws[0].share >= LEAST_SHARE
        positive, marginal = (Counts(law.above[kept], law.total) for law in laws)
        if scores.prior_is_estimated:
            local = local_tail(tail, Counts(marginal.above, np.inf))
        else:
            local = local_tail(tail, positive, marginal)
        if thresholds is None:
            return cls(scores, at[kept], positive, marginal, tail, local)
        return cls(scores, thresholds, *counts_above(scores, thresholds), tail, local)

    def at(self, kept: NDArray[np.bool_]) -> _Ratio:
        """Return some of the thresholds."""
        laws = [Counts(law.above[kept], law.total) for law in (self.positive, self.marginal)]
        return replace(self, threshold=self.threshold[kept], positive=laws[0], marginal=laws[1])

    def hits(self, share: Floats, prior: float) -> Floats:
        """Return the share of all rows that are positive and flagged, at worst."""
        if self.scores.prior_is_estimated:
            return prior * share
        known = min(_labeled_rows(self.scores, self._known_tail), prior)
        return known * share + (prior - known) * least_share(share, self.scores.selection)

    @property
    def _known_tail(self) -> float | None:
        return None if self.scores.selection == 1.0 else LABELED_PART * self.tail

    @property
    def correlation(self) -> Floats:
        """How TPR and PPR vary together: labeled rows of one sample count in both."""
        if not self.scores.pooled:
            return np.zeros(self.threshold.size)
        tpr, ppr = self.positive.share, self.marginal.share
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = tpr * (1.0 - tpr) / (ppr * (1.0 - ppr)) * self.positive.total
        return np.clip(np.nan_to_num(np.sqrt(ratio / self.marginal.total)), 0.0, 1.0)

    def precision(self, prior: float) -> Floats:
        """Return the estimate; nan where no row of the marginal sample reaches a threshold."""
        ppr = self.marginal.share
        return np.where(
            ppr > 0.0, self.hits(self.positive.share, prior) / np.where(ppr > 0.0, ppr, 1.0), np.nan
        )

    def promised(self, prior: float) -> Floats:
        """Return lower limits of the precision that hold at all thresholds."""
        if self.scores.prior_is_estimated:
            hits = self.hits(self.positive.share, prior) * self.marginal.total
            return Counts(hits, np.maximum(self.marginal.above, hits)).low(self.local)
        tpr, low = self.positive.share, self.positive.low(self.local)
        # A threshold that no marginal row reaches counts as reached by one.
        ppr = np.maximum(self.marginal.share, 1.0 / self.marginal.total)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.log(self.hits(tpr, prior) / self.hits(low, prior))
            second = np.log(self.marginal.high(self.local) / ppr)
            found = self.hits(tpr, prior) / ppr * np.exp(-self._length(first, second))
        # Too few positives lie above the highest thresholds for a limit that holds with the others.
        return np.where(tpr >= LEAST_SHARE, np.nan_to_num(found), 0.0)

    def _length(self, first: Floats, second: Floats) -> Floats:
        square = first**2 + second**2 - 2.0 * self.correlation * first * second
        return np.sqrt(np.maximum(square, 0.0))

    def cost(self, prior: float, cost: Floats) -> Floats:
        """Return upper limits of the expected cost a row that hold at all thresholds."""
        (tn, fp), (fn, tp) = cost
        alarm, gain = fp - tn, fp - tn + fn - tp
        tpr, low = self.positive.share, self.positive.low(self.local)
        ppr, high = self.marginal.share, self.marginal.high(self.local)
        base = tn * (1.0 - prior) + fn * prior
        value = base + alarm * ppr - gain * self.hits(tpr, prior)
        first = gain * (self.hits(tpr, prior) - self.hits(low, prior))
        limits: Floats = value + self._length(first, alarm * (high - ppr))
        return limits


def nodes(scores: PUScores) -> Floats:
    """Return distinct scores of labeled positives, falling: all, or 500 evenly in log-odds.

    Between two of them a lower threshold flags more rows and finds no more labeled positives.
    """
    p = scores.in_order()[1][0]
    if p.size > MOST_NODES:
        steps = np.linspace(logit(LEAST_SHARE), logit(1.0 - 0.5 / p.size), MOST_NODES)
        p = p[p.size - np.ceil(expit(steps) * p.size).astype(np.intp)]
    return np.unique(p)[::-1]


def local_tail(tail: float, *laws: Counts) -> float:
    r"""Return the tail at each threshold that leaves `tail` to all of them together.

    The standardized error of a share, as the threshold falls, is an Ornstein-Uhlenbeck process in
    the log-odds of the share. Over a stretch T of them it exceeds z with probability about
    :math:`1 - \Phi(z) + \tfrac{T}{2} z\,\varphi(z)` (Leadbetter, Lindgren & Rootzen 1983, Chapter
    12). For a ratio of shares the stretches add up in proportion to their relative variances.

    Examples
    --------
    >>> law = Counts(np.arange(5.0, 101.0), 100.0)
    >>> round(local_tail(0.05, law), 4)
    0.0012
    """
    spread = np.array([_relative_variance(law) for law in laws])
    weight = spread / np.maximum(spread.sum(axis=0), ROUNDING)
    steps = np.array([np.diff(_log_odds(law)) for law in laws])
    stretch = float((steps * np.maximum(weight[:, 1:], weight[:, :-1])).sum())

    def excess(z: Floats | np.float64) -> Floats:
        density = np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi)
        return ndtr(-z) + stretch / 2.0 * z * density - tail

    # The chance rises before it falls where z is small; the last z at which it is too large counts.
    z = -float(ndtri(tail)) + np.linspace(0.0, MOST_EXTRA, 201)
    large = np.flatnonzero(excess(z) > ROUNDING * tail)
    if not large.size:
        return tail
    root = brentq(lambda x: float(excess(np.float64(x))), z[large[-1]], z[large[-1] + 1])
    return float(ndtr(-root))


def _relative_variance(law: Counts) -> Floats:
    return 1.0 / np.maximum(law.above, 1.0) - (
        0.0 if np.isinf(law.total) else 1.0 / (law.total + 1)
    )


def _log_odds(law: Counts) -> Floats:
    """Return the log-odds of the share; the log of the count if the rest is endless."""
    top = np.log(law.above + 0.5)
    return top if np.isinf(law.total) else top - np.log(law.total - law.above + 0.5)


def fdp_envelope(
    scores: PUScores, *, confidence: float = 0.95, thresholds: ArrayLike | None = None
) -> FdpEnvelope:
    """Return what can be promised of the precision at every threshold, all at once.

    Limits hold together, so a threshold may be chosen by looking at them, and the promise at the
    chosen one is kept. They use the lower end of what is known of the prior and allow for
    ``scores.selection``.

    Parameters
    ----------
    scores : PUScores
    confidence : float
        Probability that all limits hold.
    thresholds : array-like, optional
        Where to tell them; by default the scores of labeled positives, or 500 of them. Nothing is
        promised above the highest twentieth of the positives.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.3)
    >>> envelope = fdp_envelope(world.draw(1000, 10_000, setting="two-sample", seed=0))
    >>> bool((envelope.promised <= envelope.precision).all())
    True
    """
    at = None if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    ratio, prior = _Ratio.build(scores, confidence, at), scores.prior_set[0]
    return FdpEnvelope(
        threshold=ratio.threshold,
        recall=ratio.positive.share,
        flagged=ratio.marginal.share,
        precision=ratio.precision(prior),
        promised=np.minimum(ratio.promised(prior), 1.0),
        confidence=1.0 - ratio.tail,
    )


def promised_unclipped(scores: PUScores, thresholds: Floats, confidence: float) -> Floats:
    """Return promises at thresholds as they are, which may exceed 1, for another prior to scale."""
    return _Ratio.build(scores, confidence, thresholds).promised(scores.prior_set[0])


def precision_threshold(
    scores: PUScores, *, precision: float = 0.9, confidence: float = 0.95
) -> Promise:
    """Return the smallest threshold whose precision is certain enough to be at least this.

    It is chosen from `fdp_envelope`, whose limits hold at all thresholds at once: the promise is
    kept although the threshold was chosen on the same rows.

    Parameters
    ----------
    scores : PUScores
        With a ``prior_interval`` its lower end counts.
    precision : float
        Wanted share of positives among flagged rows, in (0, 1].
    confidence : float
        Probability with which the promise holds.

    Raises
    ------
    InputError
        If no threshold can be promised; it says which precision can be, and what would help.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.3)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> print(precision_threshold(scores, precision=0.7))
    0.646301: precision at least 0.7 with 95 % confidence
    """
    wanted, ratio = check_rate(precision, "precision"), _Ratio.build(scores, confidence)
    # A limit lies below its estimate, so the others need not be computed.
    likely = ratio.at(~(ratio.precision(scores.prior_set[0]) < wanted))
    kept = np.flatnonzero(np.minimum(likely.promised(scores.prior_set[0]), 1.0) >= wanted)
    if not kept.size:
        raise _unpromised(ratio, wanted)
    return Promise(
        threshold=float(likely.threshold[kept[-1]]),
        promised="precision",
        value=wanted,
        confidence=1.0 - ratio.tail,
    )


def _unpromised(ratio: _Ratio, wanted: float) -> InputError:
    """Return the error of a precision that nothing guarantees, with what would help."""
    low, high = ratio.scores.prior_set
    limits = ratio.promised(low)
    gains = {
        name: min(1.0, float(other.promised(low).max())) for name, other in _larger(ratio).items()
    }
    if low < high:
        exact = float(ratio.promised(ratio.scores.known_prior).max())
        gains["the prior known exactly"] = min(1.0, exact)
    best, surest = min(1.0, float(limits.max())), int(np.argmax(limits))
    listed = [f"{name} would allow {gain:.3g}" for name, gain in gains.items() if gain > best]
    estimate = min(1.0, float(np.nan_to_num(ratio.precision(low))[surest]))
    rows = audited_rows(estimate, wanted, ratio.tail)
    if rows is not None:
        review = f"a review of {rows:,} rows that score at least {ratio.threshold[surest]:.4g}"
        share = f"{100 * estimate:.0f} %"
        listed.append(f"{review} would confirm it if {share} of them are positive")
    rule = f"can be promised up to {best:.3g} from these rows, got {wanted:g}."
    remedy = f"Ask for less. What would help: {'; '.join(listed)}." if listed else "Ask for less."
    return InputError("precision", rule, remedy=remedy)


def _larger(ratio: _Ratio) -> dict[str, _Ratio]:
    """Return what more rows would make of it; those of one sample grow together."""
    positive, marginal = ratio.positive.times(4.0), ratio.marginal.times(4.0)
    if ratio.scores.pooled:
        return {"four times as many rows": replace(ratio, positive=positive, marginal=marginal)}
    return {
        "four times as many labeled positives": replace(ratio, positive=positive),
        "four times as many unlabeled rows": replace(ratio, marginal=marginal),
    }


def audited_rows(share: float, wanted: float, tail: float) -> int | None:
    """Return how many reviewed rows confirm a precision, if this share of them is positive.

    Up to three digits; None if no number of rows up to a million does.

    Examples
    --------
    >>> audited_rows(1.0, 0.9, 0.05), audited_rows(0.95, 0.9, 0.05), audited_rows(0.8, 0.9, 0.05)
    (29, 116, None)
    """
    n = np.unique(np.geomspace(1.0, MOST_REVIEWED, 2000).round())
    found = Counts(np.floor(share * n + ROUNDING), n)
    enough = np.flatnonzero(found.low(tail) >= wanted)
    return int(n[enough[0]]) if enough.size else None


# --- cost and workload ----------------------------------------------------------------------------


def cost_threshold(scores: PUScores, *, cost: ArrayLike, confidence: float = 0.95) -> Promise:
    """Return the threshold with the smallest expected cost that can be promised.

    Upper limits of the cost hold at all thresholds at once and for every prior that is not
    excluded; the smallest of them is promised. Never to act is considered, too.

    Parameters
    ----------
    scores : PUScores
    cost : array-like
        The pair (cost of a false positive, cost of a false negative), or ``[[tn, fp], [fn, tp]]``.
    confidence : float

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.3)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> print(cost_threshold(scores, cost=(1, 2)))
    0.586732: cost at most 0.25772 with 95 % confidence
    """
    matrix = check_cost(cost)
    (tn, fp), (fn, tp) = matrix
    if not (fp >= tn and fn >= tp):
        rule = "must make mistakes at least as dear as right predictions for a promise"
        raise InputError("cost", rule, value=matrix.tolist())
    ratio = _Ratio.build(scores, confidence)
    ends = scores.prior_set
    if scores.prior_is_estimated:
        known = Counts(np.array([scores.known_prior]) * ratio.marginal.total, ratio.marginal.total)
        ends = float(known.low(ratio.local)[0]), float(known.high(ratio.local)[0])
    limits = np.max([ratio.cost(prior, matrix) for prior in ends], axis=0)
    never = max(tn * (1.0 - prior) + fn * prior for prior in ends)
    best = int(np.argmin(limits))
    acts = float(limits[best]) < never
    return Promise(
        threshold=float(ratio.threshold[best]) if acts else np.inf,
        promised="cost",
        value=min(float(limits[best]), never),
        confidence=1.0 - ratio.tail,
    )


def budget_threshold(
    scores: PUScores, *, budget: int, rows: int, confidence: float | None = None
) -> Promise:
    """Return the smallest threshold that flags at most this many of the next rows.

    If m rows of n in the marginal sample reach a threshold, at most Beta(m + 1, n - m) of the
    population do. The next rows come from the same population; the prior plays no part.

    Parameters
    ----------
    scores : PUScores
    budget : int
        Rows that can be handled.
    rows : int
        The next rows, of which `budget` are to be flagged.
    confidence : float, optional
        Probability with which no more than `budget` rows are flagged (beta-binomial law). By
        default the expected number is at most `budget`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9], np.arange(1, 1000) / 1000, setting="two-sample")
    >>> print(budget_threshold(scores, budget=50, rows=1000))
    0.951: flagged at most 50 on average
    >>> print(budget_threshold(scores, budget=50, rows=1000, confidence=0.95))
    0.965: flagged at most 50 with 95 % confidence
    """
    size, wanted = check_count(rows, "rows", 1), check_count(budget, "budget", 1)
    if wanted > size:
        raise InputError("budget", f"must be at most the {size:,} next rows", value=budget)
    tail = None if confidence is None else 1.0 - check_confidence(confidence)
    thresholds = [
        _least_within(scores, group[0][::-1], lambda law: _within_budget(law, wanted, size, tail))
        for group in scores.in_order()[: 1 + scores.pooled]
    ]
    return Promise(
        threshold=min(thresholds), promised="flagged", value=float(wanted), confidence=confidence
    )


def _least_within(scores: PUScores, at: Floats, fits: Callable[[Counts], bool]) -> float:
    """Return the smallest of falling scores from which on the marginal law fits; else infinity."""
    kept = _first(lambda i: not fits(counts_above(scores, at[[i]])[1]), at.size)
    return float(at[kept - 1]) if kept else np.inf


def _within_budget(law: Counts, budget: int, rows: int, tail: float | None) -> bool:
    above, total = float(law.above[0]), float(law.total)
    if tail is None:
        return above / total * rows <= budget * (1.0 + ROUNDING)
    if above >= total:
        return budget >= rows
    from scipy.stats import betabinom

    return bool(betabinom.cdf(budget, rows, above + 1.0, total - above) >= 1.0 - tail)
