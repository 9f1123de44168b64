r"""Guarantees without negatives: recall, precision, cost or workload, and certified negatives.

Recall
    Labeled and hidden positives are exchangeable, so the share of positives below the k-th smallest
    of n labeled scores is stochastically at most Beta(k, n + 1 - k). Neither a prior nor negatives
    are needed.
Precision
    :math:`\pi\,\mathrm{TPR}(t)/\mathrm{PPR}(t)`, at the smallest prior considered possible. The
    lower confidence limit for this ratio of two counts at each threshold combines their
    Clopper-Pearson limits by variance recovery on the log scale. Limits that hold at all thresholds
    simultaneously need a smaller tail probability at each threshold (`local_tail`). The guarantee
    then remains valid for a threshold chosen by looking at all of them.
Selection
    If the density of hidden positives differs from that of labeled positives by a factor of at most
    :math:`\Gamma` (``scores.selection``), a share p of labeled positives above a threshold
    guarantees a share :math:`\max(p/\Gamma, 1 - \Gamma(1 - p))` of the hidden ones.

Certified negatives
    The null hypothesis for a row is that it is positive. Under this hypothesis, the row is
    exchangeable with the n labeled positives, so

    .. math:: p_i = \frac{1 + \#\{j : s_j^+ \le s_i\}}{n + 1}

    is a valid p-value without any model of the scores (Bates et al. 2023, Testing for Outliers with
    Conformal p-values). The Benjamini-Hochberg procedure at level q keeps the expected share of
    positives among certified rows at or below q times the share of positives among all unlabeled
    rows. If the prior is known, so is an upper limit a for the latter share, and running the
    procedure at level q / a still controls the false discovery rate at q.

Weighted rows are counted in units of the largest weight, which is exact for equal weights and
conservative otherwise, since no row counts as more than one.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, expit, logit, ndtr, ndtri

from noneg.checks import check_count, check_number, check_rate, check_share
from noneg.errors import InputError
from noneg.losses import check_cost
from noneg.performance.contingency import latent_fraction
from noneg.results import Record, Table
from noneg.shares import lower_limit, upper_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.scores import PUScores


# Thresholds with a smaller share of positives above them are skipped: nothing can be guaranteed.
LEAST_SHARE = 0.05
MOST_NODES = 500
# Fraction of the error probability spent on the unknown share of positives that are labeled.
LABELED_PART = 0.1
LEAST_CONFIDENCE = 0.5
MOST_EXTRA = 10.0  # Upper bound on the standard errors added by simultaneity.
MOST_REVIEWED = 1e6
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Promise(Record):
    """A threshold and its guarantee.

    Attributes
    ----------
    threshold : float
        Act on rows with at least this score; 0 means all rows and infinity means none.
    promised : {"recall", "precision", "cost", "flagged"}
        The quantity that is guaranteed.
    value : float
        Lower bound on recall or precision, or upper bound on the cost per row or the number of
        flagged rows.
    confidence : float or None
        Probability, over random draws of the rows, that the guarantee holds; None for a guarantee
        that holds on average over such draws.

    Examples
    --------
    >>> print(Promise(threshold=0.31, promised="recall", value=0.9, confidence=0.95))
    0.31: recall at least 0.9 with 95% confidence
    """

    threshold: float
    promised: str
    value: float
    confidence: float | None

    @property
    def words(self) -> str:
        """The guarantee as a phrase."""
        side = "at least" if self.promised in ("recall", "precision") else "at most"
        sure = (
            "on average"
            if self.confidence is None
            else f"with {100 * self.confidence:.6g}% confidence"
        )
        return f"{self.promised} {side} {self.value:.6g} {sure}"

    def __str__(self) -> str:
        return f"{self.threshold:.6g}: {self.words}"


@dataclass(frozen=True, eq=False)
class Counts:
    """One distribution above decreasing thresholds, counted in units of its largest weight."""

    above: Floats
    total: Floats | float

    @property
    def share(self) -> Floats:
        """Share of the distribution above each threshold."""
        return self.above / self.total

    def low(self, tail: float) -> Floats:
        """Return Clopper-Pearson lower limits for the share; 0 where nothing lies above."""
        return lower_limit(self.above, self.total - self.above, tail)

    def high(self, tail: float) -> Floats:
        """Return Clopper-Pearson upper limits for the share; 1 where everything lies above."""
        return upper_limit(self.above, self.total - self.above, tail)

    def times(self, factor: float) -> Counts:
        """Return the counts scaled by a factor, with the same shares."""
        return Counts(self.above * factor, self.total * factor)


def check_confidence(confidence: object) -> float:
    """Return the confidence after checking that it lies in [0.5, 1)."""
    rule = "a confidence in [0.5, 1) such as 0.95"
    return check_number(confidence, "confidence", rule, lambda x: LEAST_CONFIDENCE <= x < 1.0)


def counts_above(scores: PUScores, thresholds: Floats) -> tuple[Counts, Counts]:
    """Return the counts of the positive and the marginal distribution above thresholds.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> [law.above for law in counts_above(scores, np.array([0.8, 0.5]))]
    [array([1., 2.]), array([1., 1.])]
    """
    (_, _, _, w), (_, _, a, v) = scores.in_order()
    unit = max(largest_weight(w), largest_weight(v) if scores.pooled else 0.0)
    above = np.maximum(scores.sums_above(thresholds), 0.0)
    positive, marginal = above[:, 0] / largest_weight(a), above[:, 1] / unit
    return Counts(positive[:-1], float(positive[-1])), Counts(marginal[:-1], float(marginal[-1]))


def _last_fit(
    scores: PUScores, at: Floats, law: int, fits: Callable[[Counts], bool], otherwise: float
) -> float:
    """Return the last of these thresholds whose counts in one law fit; the check is monotone."""
    kept = bisect_left(at, 1, key=lambda t: not fits(counts_above(scores, np.array([t]))[law]))
    return float(at[kept - 1]) if kept else otherwise


def largest_weight(mass: Floats | float) -> float:
    """Return the largest weight in a group of rows, or 1 if the group is empty."""
    return float(np.max(mass, initial=0.0)) or 1.0


# --- selection ------------------------------------------------------------------------------------


def least_share(share: Floats, selection: float) -> Floats:
    """Return the smallest share of hidden positives compatible with a share of labeled ones.

    Examples
    --------
    >>> least_share(np.array([0.5, 0.9]), 2.0)
    array([0.25, 0.8 ])
    """
    return np.maximum(share / selection, 1.0 - selection * (1.0 - share))


def tolerated(miss: float, labeled: float, selection: float) -> float:
    """Return the share of labeled positives that may be missed if `miss` is allowed overall.

    Solves ``c a + (1 - c) min(G a, 1 - (1 - a)/G) = miss`` for a, where c is the share of positives
    that are labeled; the left side is the minimum of two increasing lines.

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
    """Return a lower bound on the share of positives that are labeled; 0 if nothing is known.

    If a tail is given, it is a lower confidence limit, since the number of labeled rows in one
    sample varies by chance.
    """
    if scores.prior_is_estimated:
        return 1.0
    if scores.prior is None and scores.prior_interval is None:
        return 0.0
    return min(1.0, _labeled_rows(scores, tail) / scores.prior_set[1])


def _labeled_rows(scores: PUScores, tail: float | None) -> float:
    """Return the share of all rows that are labeled, or its lower confidence limit."""
    share, n = scores.labeled_share, scores.effective_marginal
    if tail is None or share == 0.0:
        return share
    return float(lower_limit(share * n, (1.0 - share) * n, tail))


# --- recall ---------------------------------------------------------------------------------------


def recall_threshold(
    scores: PUScores, *, recall: float = 0.9, confidence: float | None = 0.95
) -> Promise:
    r"""Return the largest threshold guaranteed to have at least this recall.

    It is the k-th smallest score of the n labeled positives, for the largest k with
    :math:`P(\mathrm{Beta}(k, n + 1 - k) \le 1 - \mathrm{recall}) \ge` `confidence`. This is exact:
    with the next higher score, the guarantee would fail too often. Tied scores can only increase
    the recall. Neither a prior nor unlabeled rows are needed, unless ``scores.selection`` exceeds
    1. In that case, fewer labeled positives may be missed, and a known prior helps in one sample.

    Parameters
    ----------
    scores : PUScores
    recall : float
        Desired share of all positives, in (0, 1].
    confidence : float or None
        Probability that the guarantee holds. If None, it holds on average over data sets:
        :math:`k = \lfloor (1 - \mathrm{recall})(n + 1) \rfloor`, as in conformal prediction.

    Returns
    -------
    Promise
        If there are too few positives, the threshold is 0 and all rows are flagged.

    References
    ----------
    Wilks (1941), Determination of Sample Sizes for Setting Tolerance Limits; Vovk, Gammerman &
    Shafer (2005), Algorithmic Learning in a Random World.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores(np.arange(1, 201) / 201, [0.5], setting="two-sample")
    >>> print(recall_threshold(scores, recall=0.9))
    0.0646766: recall at least 0.9 with 95% confidence
    """
    wanted = check_rate(recall, "recall")
    tail = None if confidence is None else 1.0 - check_confidence(confidence)
    miss, tail = _allowed_miss(scores, 1.0 - wanted, tail)
    at = scores.in_order()[1][0]
    if not at.size:
        raise InputError("scores", "must contain a positive for this criterion, got none.")

    def keeps(law: Counts) -> bool:
        return _keeps_recall(law, miss, tail)

    threshold = _last_fit(scores, at, 0, keeps, 0.0)
    return Promise(threshold=threshold, promised="recall", value=wanted, confidence=confidence)


def _allowed_miss(scores: PUScores, miss: float, tail: float | None) -> tuple[float, float | None]:
    """Return the share of labeled positives that may be missed, and the remaining tail."""
    if scores.selection == 1.0:
        return miss, tail
    part = None if tail is None else LABELED_PART * tail
    labeled = labeled_share(scores, part)
    if part is not None and tail is not None and 0.0 < labeled < 1.0:
        tail -= part
    return tolerated(miss, labeled, scores.selection), tail


def _keeps_recall(law: Counts, miss: float, tail: float | None) -> bool:
    """Return whether a threshold misses at most a share of the positives."""
    total = float(law.total)
    missed = total - float(law.above[0])
    if tail is None:
        return missed + 1.0 <= miss * (total + 1.0) * (1.0 + ROUNDING)
    return bool(betainc(missed + 1.0, total - missed, miss) >= 1.0 - tail)


# --- precision ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FdpEnvelope(Table):
    """Guarantees on precision that hold at many thresholds simultaneously.

    Attributes
    ----------
    threshold : ndarray
        Scores of labeled positives in decreasing order.
    recall, flagged : ndarray
        Estimated share of positives, and share of all rows, at or above each threshold.
    precision : ndarray
        The estimate at the smallest prior considered possible, not clipped; nan where no row of the
        marginal sample reaches the threshold.
    promised : ndarray
        Lower limits for the precision that hold at all thresholds with the given confidence.
    fdp : ndarray
        Upper limits for the share of false alarms, ``1 - promised``.
    confidence : float
    """

    _names = ("threshold", "recall", "flagged", "precision", "promised", "fdp")
    threshold: Floats
    recall: Floats
    flagged: Floats
    precision: Floats
    promised: Floats
    confidence: float

    @property
    def fdp(self) -> Floats:
        """Upper limits for the share of false alarms."""
        return 1.0 - self.promised


@dataclass(frozen=True, eq=False)
class _Ratio:
    """The ingredients of a precision guarantee: both distributions and the tail probabilities."""

    scores: PUScores
    threshold: Floats
    positive: Counts
    marginal: Counts
    tail: float
    local: float  # Tail probability of each limit.

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

    def at(self, kept: Flags) -> _Ratio:
        """Return a copy restricted to some of the thresholds."""
        laws = [Counts(law.above[kept], law.total) for law in (self.positive, self.marginal)]
        return replace(self, threshold=self.threshold[kept], positive=laws[0], marginal=laws[1])

    def hits(self, share: Floats, prior: float) -> Floats:
        """Return the worst-case share of all rows that are positive and flagged."""
        if self.scores.prior_is_estimated:
            return prior * share
        tail = None if self.scores.selection == 1.0 else LABELED_PART * self.tail
        known = min(_labeled_rows(self.scores, tail), prior)
        return known * share + (prior - known) * least_share(share, self.scores.selection)

    @property
    def correlation(self) -> Floats:
        """Correlation of TPR and PPR, because labeled rows of one sample count in both."""
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
        """Return lower limits for the precision that hold at all thresholds."""
        if self.scores.prior_is_estimated:
            hits = self.hits(self.positive.share, prior) * self.marginal.total
            return Counts(hits, np.maximum(self.marginal.above, hits)).low(self.local)
        tpr, low = self.positive.share, self.positive.low(self.local)
        # A threshold that no marginal row reaches is treated as if one row did.
        ppr = np.maximum(self.marginal.share, 1.0 / self.marginal.total)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.log(self.hits(tpr, prior) / self.hits(low, prior))
            second = np.log(self.marginal.high(self.local) / ppr)
            found = self.hits(tpr, prior) / ppr * np.exp(-self._length(first, second))
        # Too few positives lie above the highest thresholds for a simultaneous limit.
        return np.where(tpr >= LEAST_SHARE, np.nan_to_num(found), 0.0)

    def _length(self, first: Floats, second: Floats) -> Floats:
        square = first**2 + second**2 - 2.0 * self.correlation * first * second
        return np.sqrt(np.maximum(square, 0.0))

    def cost(self, prior: float, cost: Floats) -> Floats:
        """Return upper limits for the expected cost per row that hold at all thresholds."""
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
    """Return the decreasing distinct scores of labeled positives, or 500 evenly spaced in log-odds.

    Lowering the threshold between two of these scores flags more rows without finding more labeled
    positives.
    """
    p = scores.in_order()[1][0]
    if p.size > MOST_NODES:
        steps = np.linspace(logit(LEAST_SHARE), logit(1.0 - 0.5 / p.size), MOST_NODES)
        p = p[p.size - np.ceil(expit(steps) * p.size).astype(np.intp)]
    return np.unique(p)[::-1]


def local_tail(tail: float, *laws: Counts) -> float:
    r"""Return the tail probability at each threshold that gives `tail` over all thresholds jointly.

    As the threshold decreases, the standardized error of a share is an Ornstein-Uhlenbeck process
    in the log-odds of the share. Over a log-odds interval of length T, it exceeds z with
    probability about :math:`1 - \Phi(z) + \tfrac{T}{2} z\,\varphi(z)` (Leadbetter, Lindgren &
    Rootzen 1983, Chapter 12). For a ratio of shares, the lengths are added in proportion to their
    relative variances.

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

    # For small z, the probability rises before it falls; use the last z at which it is too large.
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
    """Return the log-odds of the share, or the log of the count if the total is infinite."""
    top = np.log(law.above + 0.5)
    return top if np.isinf(law.total) else top - np.log(law.total - law.above + 0.5)


def fdp_envelope(
    scores: PUScores, *, confidence: float = 0.95, thresholds: ArrayLike | None = None
) -> FdpEnvelope:
    """Return lower limits for the precision that hold at all thresholds simultaneously.

    Because the limits hold jointly, a threshold may be chosen by looking at them without
    invalidating its guarantee. They use the smallest prior considered possible and allow for
    ``scores.selection``.

    Parameters
    ----------
    scores : PUScores
    confidence : float
        Probability that all limits hold.
    thresholds : array-like, optional
        Thresholds at which to compute the limits; by default the scores of labeled positives, or
        500 of them. Nothing is guaranteed at thresholds with less than a twentieth of the positives
        above them.

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
    """Return the unclipped precision limits, which can be rescaled to another prior."""
    return _Ratio.build(scores, confidence, thresholds).promised(scores.prior_set[0])


def precision_threshold(
    scores: PUScores, *, precision: float = 0.9, confidence: float = 0.95
) -> Promise:
    """Return the smallest threshold guaranteed to have at least this precision.

    It is chosen from `fdp_envelope`, whose limits hold at all thresholds simultaneously, so the
    guarantee remains valid even though the threshold was chosen on the same rows.

    Parameters
    ----------
    scores : PUScores
        If they have a ``prior_interval``, its lower end is used.
    precision : float
        Desired share of positives among flagged rows, in (0, 1].
    confidence : float
        Probability that the guarantee holds.

    Raises
    ------
    InputError
        If no threshold has such a guarantee. The message states the largest precision that can be
        guaranteed and what would help.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.3)
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> print(precision_threshold(scores, precision=0.7))
    0.646301: precision at least 0.7 with 95% confidence
    """
    wanted, ratio = check_rate(precision, "precision"), _Ratio.build(scores, confidence)
    # A limit never exceeds its estimate, so thresholds with a lower estimate can be skipped.
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
    """Return the error for a precision that cannot be guaranteed, with remedies."""
    low, high = ratio.scores.prior_set
    limits = ratio.promised(low)
    gains = {
        name: min(1.0, float(other.promised(low).max())) for name, other in _larger(ratio).items()
    }
    if low < high:
        exact = float(ratio.promised(ratio.scores.known_prior).max())
        gains["an exact prior"] = min(1.0, exact)
    best, surest = min(1.0, float(limits.max())), int(np.argmax(limits))
    listed = [f"{name} would allow {gain:.3g}" for name, gain in gains.items() if gain > best]
    estimate = min(1.0, float(np.nan_to_num(ratio.precision(low))[surest]))
    rows = audited_rows(estimate, wanted, ratio.tail)
    if rows is not None:
        review = f"a review of {rows:,} rows with scores of at least {ratio.threshold[surest]:.4g}"
        share = f"{100 * estimate:.0f}%"
        listed.append(f"{review} would confirm the goal if {share} of them are positive")
    rule = f"can be guaranteed up to {best:.3g} with these rows, got {wanted:g}."
    remedy = (
        f"Lower the target, or improve the data: {'; '.join(listed)}."
        if listed
        else "Lower the target."
    )
    return InputError("precision", rule, remedy=remedy)


def _larger(ratio: _Ratio) -> dict[str, _Ratio]:
    """Return the ratio for larger samples; in one sample, both groups grow together."""
    positive, marginal = ratio.positive.times(4.0), ratio.marginal.times(4.0)
    if ratio.scores.pooled:
        return {"four times as many rows": replace(ratio, positive=positive, marginal=marginal)}
    return {
        "four times as many labeled positives": replace(ratio, positive=positive),
        "four times as many unlabeled rows": replace(ratio, marginal=marginal),
    }


def audited_rows(share: float, wanted: float, tail: float) -> int | None:
    """Return the number of reviewed rows that confirm a precision if this share is positive.

    Accurate to about three digits; None if even a million rows would not be enough.

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
    """Return the threshold with the smallest guaranteed expected cost.

    Upper limits for the cost hold at all thresholds simultaneously and for every possible prior;
    the smallest of them is guaranteed. Flagging no rows is also considered.

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
    0.586732: cost at most 0.25772 with 95% confidence
    """
    matrix = check_cost(cost)
    (tn, fp), (fn, tp) = matrix
    if not (fp >= tn and fn >= tp):
        rule = "must make mistakes at least as costly as correct predictions for a guarantee"
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

    If m of the n rows in the marginal sample reach a threshold, the share of the population that
    does is stochastically at most Beta(m + 1, n - m). The next rows are assumed to come from the
    same population; the prior is not used.

    Parameters
    ----------
    scores : PUScores
    budget : int
        Number of rows that can be handled.
    rows : int
        Number of next rows, of which at most `budget` are to be flagged.
    confidence : float, optional
        Probability that no more than `budget` rows are flagged (beta-binomial distribution). By
        default, only the expected number is at most `budget`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9], np.arange(1, 1000) / 1000, setting="two-sample")
    >>> print(budget_threshold(scores, budget=50, rows=1000))
    0.951: flagged at most 50 on average
    >>> print(budget_threshold(scores, budget=50, rows=1000, confidence=0.95))
    0.965: flagged at most 50 with 95% confidence
    """
    size, wanted = check_count(rows, "rows", 1), check_count(budget, "budget", 1)
    if wanted > size:
        raise InputError("budget", f"must be at most the {size:,} next rows", value=budget)
    tail = None if confidence is None else 1.0 - check_confidence(confidence)

    def fits(law: Counts) -> bool:
        return _within_budget(law, wanted, size, tail)

    groups = scores.in_order()[: 1 + scores.pooled]
    least = min(_last_fit(scores, group[0][::-1], 1, fits, np.inf) for group in groups)
    return Promise(threshold=least, promised="flagged", value=float(wanted), confidence=confidence)


def _within_budget(law: Counts, budget: int, rows: int, tail: float | None) -> bool:
    above, total = float(law.above[0]), float(law.total)
    if tail is None:
        return above / total * rows <= budget * (1.0 + ROUNDING)
    if above >= total:
        return budget >= rows
    from scipy.stats import betabinom

    return bool(betabinom.cdf(budget, rows, above + 1.0, total - above) >= 1.0 - tail)


# --- certified negatives --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CertifiedNegatives(Record):
    """The unlabeled rows that are certified negative.

    Attributes
    ----------
    cutoff : float
        Unlabeled rows with a score of at most this are certified; minus infinity if none are.
    certified, unlabeled : float
        Number of certified rows, and of all unlabeled rows.
    fdr : float
        Upper bound on the expected share of positives among the certified rows.
    hidden : float
        Upper limit for the share of positives among unlabeled rows; 1 if nothing is known.
    """

    cutoff: float
    certified: float
    unlabeled: float
    fdr: float
    hidden: float

    def __str__(self) -> str:
        rows = f"{self.certified:,.0f} of {self.unlabeled:,.0f} unlabeled rows"
        return f"{rows} certified negative at a false discovery rate of {self.fdr:g}"


def positive_p_values(scores: PUScores, at: Floats) -> Floats:
    """Return conformal p-values for the hypothesis that rows with these scores are positive.

    Positives count by their weights, and the tested row by the largest of these weights. If
    ``scores.selection`` is G, a share p of the labeled positives corresponds to a share of at most
    ``min(G p, 1 - (1 - p)/G)`` of the hidden ones.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.7, 0.4], [0.5], setting="two-sample")
    >>> positive_p_values(scores, np.array([0.1, 0.5, 0.9]))
    array([0.25, 0.5 , 1.  ])
    """
    p, f, a, _ = scores.in_order()[1]
    one = largest_weight(a)
    below = np.concatenate([[0.0], np.cumsum(np.broadcast_to(f * a, p.shape))])
    share = (below[np.searchsorted(p, at, side="right")] + one) / (below[-1] + one)
    return 1.0 - least_share(1.0 - share, scores.selection)


def certified_negatives(scores: PUScores, *, fdr: float = 0.05) -> CertifiedNegatives:
    """Return the unlabeled rows that are certified negative.

    A prior is not required, but with one, more rows can be certified, because its upper end limits
    the number of positives among the unlabeled rows.

    Parameters
    ----------
    scores : PUScores
        Positives and unlabeled rows, in one sample or two.
    fdr : float
        Largest expected share of positives among the certified rows, in (0, 1).

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=0.0, beta1=2.0, prior=0.1)
    >>> print(certified_negatives(world.draw(500, 5000, setting="two-sample", seed=0), fdr=0.02))
    3,763 of 5,000 unlabeled rows certified negative at a false discovery rate of 0.02
    """
    if scores.prior_is_estimated:
        raise InputError("scores", "must contain unlabeled rows, but every row has its label.")
    rate = check_share(fdr, "fdr", "a false discovery rate in (0, 1)")
    hidden = 1.0 if scores.prior is None else latent_fraction(scores)[1]
    (u, f, *_), (p, *_) = scores.in_order()
    upto = np.concatenate([[0.0], np.cumsum(np.broadcast_to(f, u.shape))])
    # The p-value increases only at positives, so the best cutoff is the last row before one.
    below = np.append(np.searchsorted(u, p), u.size)
    value = np.append(positive_p_values(scores, np.nextafter(p, -np.inf)), 1.0)
    passed = (value * hidden * upto[-1] <= rate * upto[below]) & (below > 0)
    last = int(below[passed].max(initial=0))
    return CertifiedNegatives(
        cutoff=float(u[last - 1]) if last else -np.inf,
        certified=float(upto[last]),
        unlabeled=float(upto[-1]),
        fdr=rate,
        hidden=hidden,
    )
