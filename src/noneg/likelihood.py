r"""Likelihood of the labels of positives and unlabeled rows, and logistic curves that maximize it.

A curve says that a row with score s is positive with probability
:math:`\eta(s) = \sigma(z)`, :math:`z = \theta\cdot x(s)`. Positives are labeled at random, so which
rows are labeled depends on :math:`\eta`, and so does where the labeled positives of a sample of
their own lie. With the marginal law left free and the prior :math:`\pi` imposed on it,
:math:`\sum_i p_i\,\eta_i = \pi`, the profile log likelihood (empirical likelihood) is

.. math:: \ell(\theta) = \sum_{labeled} \log\eta
          \;[\; + n_P \log c + \sum_{unlabeled} \log(1 - c\,\eta)\;]
          - \sum_{all} \log(1 + \mu\,(\eta - \pi)) .

:math:`\mu` is the multiplier that makes :math:`p_i \propto 1/(1 + \mu(\eta_i - \pi))` obey the
prior. The part in brackets belongs to one sample, where a positive is labeled at the unknown rate
c. Without the constraint, :math:`\mu = n_P/(\pi n)` in two samples, and :math:`\mu = 0`,
:math:`c = n_P/(\pi n)` in one: the plain likelihood. When all rows are labeled, :math:`c = 1` and
:math:`\mu = 0`.

The function is not concave, so a search starts near the identity. A ridge that weighs like one row
keeps coefficients finite where the rows say nothing about them.

Frequency weights are exact. Importance weights, and propensities through the weights of the
positive law, make a pseudo-likelihood with Kish's effective numbers of rows. Propensities in one
sample take the form of two samples, whose rows overlap: the labels then depend on more than s.

References: Lancaster & Imbens (1996), Case-control studies with contaminated controls; Qin (1998),
Inferences for case-control and semiparametric two-sample density ratio models; Ward et al. (2009),
Presence-only data and the EM algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit, log_expit, logit

from noneg import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from noneg.laws import Chunk
    from noneg.scores import PUScores

    Columns = tuple[NDArray[np.float64], ...]

Floats: TypeAlias = "NDArray[np.float64]"
# "separate" samples of positives and of everyone, one "pooled" sample, or all rows "labelled".
Form = Literal["separate", "pooled", "labelled"]
# The likelihood with or without the prior imposed, or the PU log loss.
Criterion = Literal["imposed", "plain", "risk"]

# Up to so many rows each distinct score is a point; beyond, cells of equal width on the logit.
EXACT_ROWS = 1 << 12
CELLS_PER_LOGIT = 128
# Scores closer to 0 or 1 than this (2^-64) count as exactly 0 or 1, as in the buckets of kernels.
END = 2.0**-64
LARGEST_LOGIT = 45.0
# Beyond, a mean of scores near 1 knows the distance from 1 no better than its cell does.
TRUSTED_LOGIT = 20.0
# The ridge weighs like one row in so many squared logits.
LOOSE = 2.0
SMALLEST_SIZE = 0.1
# A search ends when a step promises, or falls short and gains, no more log likelihood than this.
MOST_STEPS, MOST_HALVINGS, SMALLEST_GAIN, LAST_GAIN = 100, 30, 1e-18, 1e-9
# Longest step, in root mean squares of z.
LONGEST_STEP = 4.0
# Moves of log odds that suggest, and that show, coefficients without a maximum: the first without
# the ridge, the second with a ridge looser by this factor.
UNSURE, RUNAWAY, LOOSER = 0.5, 3.0, 1e-3
ROUNDING, LEAST = 1e-13, 1e-100
# A score of exactly 0 or 1 counts as one at most half as far from there.
LARGEST_GAP = 0.01
LEAST_PRIOR = 1e-6
# Twice the log likelihood that one more parameter gains by chance in 1 % of samples at most.
REJECTED = 6.6349
# Range of the probabilities at which the search starts for scores of exactly 0 and 1.
ROUGH = (0.02, 0.98)


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores and how much labeled and other mass lies at each.

    Attributes
    ----------
    s : ndarray, shape (m,)
        Distinct scores, rising, or the means of narrow cells where there are many rows.
    labeled, other : ndarray, shape (m,)
        Numbers of labeled positives and of other rows (effective numbers with weights).
    squares : ndarray, shape (3, m)
        Sums over rows of labeled squared, labeled times other, and other squared.
    prior : float
    form : {"separate", "pooled", "labelled"}

    Examples
    --------
    >>> from noneg import PUScores
    >>> found = gather(PUScores([0.9, 0.6], [0.9, 0.3], prior=0.4, setting="two-sample"))
    >>> found.s, found.labeled
    (array([0.3, 0.6, 0.9]), array([0., 1., 1.]))
    """

    s: Floats
    labeled: Floats
    other: Floats
    squares: Floats
    prior: float
    form: Form

    @property
    def mass(self) -> Floats:
        """All rows at each score."""
        return self.labeled + self.other

    @property
    def rate(self) -> float:
        """Share of the positives of one sample that are labeled, at most 1."""
        share = float(self.labeled.sum()) / float(self.mass.sum())
        return 1.0 if self.form == "labelled" else min(1.0, share / self.prior)

    @property
    def at_ends(self) -> tuple[bool, bool]:
        """Whether some score is exactly 0, and whether one is exactly 1."""
        return bool(self.s[0] < END), bool(self.s[-1] == 1.0)

    @property
    def complete(self) -> bool:
        """Whether every positive of the sample is labeled, as far as the prior tells."""
        return self.form != "separate" and self.rate >= 1.0 - ROUNDING

    def overlapping(self) -> Sample:
        """Return the rows of one sample as two laws: labeled positives, and all rows."""
        if self.form == "separate":
            return self
        one, _, two = self.squares
        squares = np.array([one, one, one + two])
        return replace(self, form="separate", other=self.mass, squares=squares)

    def resampled(self, random: np.random.Generator) -> Sample:
        """Return a bootstrap sample: rows of each group drawn again, points kept."""
        if self.form == "separate":
            labeled, other = (_redrawn(x, random) for x in (self.labeled, self.other))
        else:
            labeled, other = _redrawn(np.stack([self.labeled, self.other]), random)
        return replace(self, labeled=labeled, other=other)


def _redrawn(mass: Floats, random: np.random.Generator) -> Floats:
    total = float(mass.sum())
    drawn = random.multinomial(max(1, round(total)), mass.ravel() / total)
    return drawn.reshape(mass.shape).astype(np.float64)


def gather(scores: PUScores) -> Sample:
    """Return the points of a data set in the form that its likelihood takes."""
    varied, form = _form(scores)
    if scores.n_unlabeled + scores.n_positive <= EXACT_ROWS:
        s, sums = _at_scores(list(_rows(scores, overlap=varied)))
    elif _is_plain(scores):
        s, sums = _from_buckets(scores)
    else:
        s, sums = _in_cells(_rows(scores, overlap=varied))
    labeled, other, *squares = _effective(sums, form)
    return Sample(s, labeled, other, np.array(squares), scores.known_prior, form)


def row_by_row(groups: list[tuple[bool, Chunk]], like: PUScores) -> Sample:
    """Return rows as points, one each and in their order, in the form of another data set.

    Parameters
    ----------
    groups : list of (whether they are labeled positives, rows)
    like : PUScores
        The data set that they come from.
    """
    varied, form = _form(like)
    parts = [_columns(*group, pooled=like.pooled, overlap=varied) for group in groups]
    s, f, labeled, other = (np.concatenate(x) for x in zip(*parts, strict=True))
    terms = (labeled, other, labeled**2, labeled * other, other**2, s)
    labeled, other, *squares = _effective(f * np.array(terms), form)
    return Sample(s, labeled, other, np.array(squares), like.known_prior, form)


def _form(scores: PUScores) -> tuple[bool, Form]:
    """Return whether propensities differ in one sample, and the form of the likelihood."""
    varied = scores.hidden and scores.pooled and _has_propensity(scores)
    if varied or not scores.pooled:
        return varied, "separate"
    return False, "pooled" if scores.hidden else "labelled"


def _is_plain(scores: PUScores) -> bool:
    """Whether no row has a weight."""
    return all(isinstance(x, float) for _, _, (_, *masses) in scores.chunks() for x in masses)


def _has_propensity(scores: PUScores) -> bool:
    """Whether labeled rows differ in what they count for in the two laws."""
    ratio = [np.ptp(a / w) for positive, _, (_, _, a, w) in scores.chunks() if positive]
    return bool(max(ratio, default=0.0) > 0.0)


def _rows(scores: PUScores, *, overlap: bool) -> Iterator[Columns]:
    for positive, _, chunk in scores.chunks():
        yield _columns(positive, chunk, pooled=scores.pooled, overlap=overlap)


def _columns(positive: bool, chunk: Chunk, *, pooled: bool, overlap: bool) -> Columns:  # noqa: FBT001
    """Return scores, counts, and masses as labeled and as other rows."""
    s, f, a, w = chunk
    own = a if overlap or not pooled else w
    labeled, other = (own, w if overlap else 0.0) if positive else (0.0, w)
    return s, *(np.broadcast_to(x, s.shape) for x in (f, labeled, other))


def _sums(key: NDArray[np.intp], n: int, columns: Columns) -> Floats:
    """Return the sums at each key: labeled, other, their three products, and mass times s."""
    s, f, labeled, other = columns
    terms = (labeled, other, labeled**2, labeled * other, other**2, (labeled + other) * s)
    return np.array([np.bincount(key, weights=f * x, minlength=n) for x in terms])


def _at_scores(rows: list[Columns]) -> tuple[Floats, Floats]:
    columns = tuple(np.concatenate(column) for column in zip(*rows, strict=True))
    s, key = np.unique(columns[0], return_inverse=True)
    sums = _sums(key, s.size, columns)
    full = sums[0] + sums[1] > 0.0
    return s[full], sums[:, full]


# Cells: one for scores of exactly 0, equal widths on the logit, one for scores of exactly 1.
_INNER = round(2 * LARGEST_LOGIT * CELLS_PER_LOGIT)


def _cell(z: Floats) -> NDArray[np.intp]:
    inside = np.floor((z + LARGEST_LOGIT) * CELLS_PER_LOGIT)
    place = np.clip(inside, 0, _INNER - 1).astype(np.intp) + 1
    return np.where(z == -np.inf, 0, np.where(z == np.inf, _INNER + 1, place))


def _in_cells(rows: Iterator[Columns]) -> tuple[Floats, Floats]:
    total = np.zeros((6, _INNER + 2))
    for columns in rows:
        s = columns[0]
        key = _cell(logit(np.where(s < END, 0.0, s)))
        total += _sums(key, _INNER + 2, columns)
    return _cell_scores(total)


def _cell_scores(sums: Floats) -> tuple[Floats, Floats]:
    """Return the mean score of each cell that is not empty, and its sums."""
    full = np.flatnonzero(sums[0] + sums[1] > 0.0)
    center = (full - 0.5) / CELLS_PER_LOGIT - LARGEST_LOGIT
    center[full == 0], center[full == _INNER + 1] = -np.inf, np.inf
    mean = sums[5, full] / (sums[0] + sums[1])[full]
    s = np.where(np.abs(center) > TRUSTED_LOGIT, expit(center), mean)
    return s, sums[:, full]


@cache
def _bucket_cells() -> tuple[NDArray[np.intp], Floats]:
    """Return the cell of each bucket of `noneg.kernels`, and a score inside the bucket."""
    tail = np.arange(kernels.TAIL_BUCKETS - 1, dtype=np.int64) + kernels.FIRST_TAIL_KEY
    # The middle of a bucket of the tail is half a unit in the last bit that the grid keeps.
    low = ((2 * tail + 1) << (51 - kernels.MANTISSA_BITS)).view(np.float64)
    n = kernels.N_BUCKETS - 2 * kernels.TAIL_BUCKETS
    first = kernels.TAIL_BUCKETS - kernels.GRID.offset
    middle = (np.arange(n) + first + 0.5) / kernels.GRID.scale
    z = np.concatenate([[-np.inf], logit(low), logit(middle), -logit(low)[::-1], [np.inf]])
    return _cell(z), expit(z)


def _from_buckets(scores: PUScores) -> tuple[Floats, Floats]:
    """Return the cells of unweighted rows from the sums that a fast pass makes."""
    cell, inside = _bucket_cells()
    labeled, marginal, score = scores.sums_by_bucket().T
    other = marginal - labeled if scores.pooled else marginal
    score = score if scores.pooled else score + labeled * inside
    zero = np.zeros_like(labeled)
    columns = (labeled, other, labeled, zero, other, score)
    full = np.flatnonzero(labeled + other)
    total = [np.bincount(cell[full], weights=x[full], minlength=_INNER + 2) for x in columns]
    return _cell_scores(np.array(total))


def _effective(sums: Floats, form: Form) -> Floats:
    """Scale masses such that each sample counts as many rows as Kish says."""
    labeled, other, *squares, _ = sums
    total, square = np.array([labeled.sum(), other.sum()]), np.array([x.sum() for x in squares])
    if form == "separate":
        one, two = total / np.maximum(square[[0, 2]], np.finfo(np.float64).tiny)
    else:
        one = two = total.sum() / square[[0, 2]].sum()
    scale = np.array([one, two, one**2, one * two, two**2])
    return sums[:5] * scale[:, None]


@dataclass(frozen=True, eq=False)
class Value:
    """The log likelihood at log odds z, with its derivatives.

    The first axis of an array tells labeled from other rows, the last one is that of the points.

    Attributes
    ----------
    value : float
        The sum over all rows; minus infinity where no weights of the rows agree with the prior.
    rows : ndarray, shape (2, m)
        Contribution of one row.
    slope, bend : ndarray, shape (2, m)
        Its first and second derivative by z.
    aside : ndarray, shape (h, 2, m)
        Its derivatives by the nuisance parameters: the multiplier, and the rate in one sample.
    cross : ndarray, shape (h, 2, m)
        Mixed derivatives by these and z.
    inner : ndarray, shape (h,)
        Second derivatives of the sum by these parameters, of which each stands alone.
    multiplier, rate : float
        Their values.
    """

    value: float
    rows: Floats
    slope: Floats
    bend: Floats
    aside: Floats
    cross: Floats
    inner: Floats
    multiplier: float
    rate: float


def risk(sample: Sample, z: Floats) -> Value:
    """Return minus the PU log loss, on the scale of a log likelihood; see `log_likelihood`.

    Labeled rows tell of the positive law, and the others of the marginal law.
    """
    positive, marginal = float(sample.labeled.sum()), float(sample.other.sum())
    n = min(marginal, positive / max(sample.prior, LEAST_PRIOR))
    one, two = n * sample.prior / max(positive, 1.0), n / marginal
    eta, zero = expit(z), np.zeros_like(z)
    rows = _pair(one * z, two * log_expit(-z))
    none = np.zeros((0, 2, z.size))
    return Value(
        value=float(sample.labeled @ rows[0] + sample.other @ rows[1]),
        rows=rows,
        slope=_pair(zero + one, -two * eta),
        bend=_pair(zero, -two * eta * expit(-z)),
        aside=none,
        cross=none,
        inner=np.zeros(0),
        multiplier=0.0,
        rate=1.0,
    )


def log_likelihood(
    sample: Sample, z: Floats, *, impose: bool = True, multiplier: float = 0.0
) -> Value:
    """Return the log likelihood of the labels where log odds z are claimed at the points.

    Its gradient by z of the points is ``sample.labeled * slope[0] + sample.other * slope[1]``.

    Parameters
    ----------
    sample : Sample
    z : ndarray
        Log odds of being positive at each point.
    impose : bool
        Whether the prior is imposed (empirical likelihood) or not (plain likelihood).
    multiplier : float
        Where the search for the multiplier starts.

    Examples
    --------
    >>> from noneg import PUScores
    >>> sample = gather(PUScores([0.9, 0.6], [0.9, 0.3], prior=0.4, setting="two-sample"))
    >>> round(log_likelihood(sample, np.array([-1.0, 0.0, 1.0])).value, 4)
    -2.3122
    """
    impose = impose and (sample.form == "separate" or sample.rate < 1.0)
    terms = [_labels(sample, z, impose=impose), _law(sample, z, multiplier, impose=impose)]
    rows, slope, bend = (sum(term[i] for term in terms) for i in range(3))
    asides, crosses, inners = ([x for term in terms for x in term[i]] for i in (3, 4, 5))
    mass, n = np.stack([sample.labeled, sample.other]), z.size
    value = float((mass * rows).sum()) if np.isfinite(terms[1][6]) else -np.inf
    return Value(
        value=value,
        rows=rows,
        slope=slope,
        bend=bend,
        aside=np.array(asides).reshape(-1, 2, n),
        cross=np.array(crosses).reshape(-1, 2, n),
        inner=np.array(inners),
        multiplier=terms[1][6],
        rate=terms[0][6],
    )


def _labels(sample: Sample, z: Floats, *, impose: bool) -> tuple[Any, ...]:
    """Return the part of the labels: log(c eta) and, in one sample, log(1 - c eta)."""
    eta, rest, zero = expit(z), expit(-z), np.zeros_like(z)
    bent = -eta * rest
    if sample.form == "separate":
        return _pair(log_expit(z), zero), _pair(rest, zero), _pair(bent, zero), [], [], [], 1.0
    rate = sample.rate
    free = impose and (rate := _best_rate(sample, eta, rate)) < 1.0
    # 1 - c eta = (1 + (1 - c) e^z) / (1 + e^z), which does not cancel.
    odds = z + np.log1p(-rate) if rate < 1.0 else np.full_like(z, -np.inf)
    kept = expit(odds)
    rows = _pair(log_expit(z) + np.log(rate), log_expit(-z) - log_expit(-odds))
    slope, bend = _pair(rest, kept - eta), _pair(bent, kept * expit(-odds) + bent)
    if not free:
        return rows, slope, bend, [], [], [], rate
    unlabeled = np.maximum(1.0 - rate * eta, LEAST)
    gone = eta / unlabeled
    aside = _pair(np.full_like(z, 1.0 / rate), -gone)
    cross = _pair(zero, -gone * rest / unlabeled)
    inner = -float(sample.labeled.sum()) / rate**2 - float(sample.other @ gone**2)
    return rows, slope, bend, [aside], [cross], [inner], rate


def _law(sample: Sample, z: Floats, start: float, *, impose: bool) -> tuple[Any, ...]:
    """Return the part of the marginal law, -log(1 + mu (eta - pi)), the same for all rows."""
    eta, rest, mass = expit(z), expit(-z), sample.mass
    if impose:
        mu = _multiplier(mass, eta - sample.prior, start)
    elif sample.form == "separate":
        mu = float(sample.labeled.sum()) / (sample.prior * float(mass.sum()))
    else:
        mu = 0.0
    gap, known = eta - sample.prior, mu if np.isfinite(mu) else 0.0
    # Points without rows, as resampled data have, do not bound the multiplier.
    level = np.maximum(1.0 + known * gap, LEAST)
    first = eta * rest
    slope = -known * first / level
    bend = -known * first * (rest - eta) / level + slope**2
    out = [_pair(x, x) for x in (-np.log(level), slope, bend)]
    if not impose or not np.isfinite(mu) or not first.any() or not gap.any():
        return *out, [], [], [], mu
    aside, cross = -gap / level, -first / level**2
    inner = float(mass @ aside**2)
    return *out, [_pair(aside, aside)], [_pair(cross, cross)], [inner], mu


def _pair(labeled: Floats, other: Floats) -> Floats:
    return np.stack([labeled, other])


def _best_rate(sample: Sample, eta: Floats, start: float) -> float:
    """Return the labeling rate that maximizes n_P log c + sum log(1 - c eta), at most 1."""
    n, other = float(sample.labeled.sum()), sample.other

    def slope(c: float) -> tuple[float, float]:
        gone = eta / np.maximum(1.0 - c * eta, LEAST)
        return n / c - float(other @ gone), -n / c**2 - float(other @ gone**2)

    if slope(1.0)[0] >= 0.0:
        return 1.0
    return _root(slope, start, n / (n + float(other.sum())), 1.0)


def _multiplier(mass: Floats, gap: Floats, start: float) -> float:
    """Return mu with sum m gap / (1 + mu gap) = 0; not finite where gaps have one sign."""
    there = mass > 0.0
    low, high = (
        int(np.argmin(np.where(there, gap, np.inf))),
        int(np.argmax(np.where(there, gap, -np.inf))),
    )
    if not gap[low] < 0.0 < gap[high]:
        # A constant at the prior obeys it with any weights.
        return 0.0 if max(-gap[low], gap[high]) < ROUNDING else np.nan
    # No weight m / (n (1 + mu gap)) exceeds 1.
    share = mass / float(mass.sum())
    ends = (share[high] - 1.0) / gap[high], (share[low] - 1.0) / gap[low]

    def excess(mu: float) -> tuple[float, float]:
        part = gap / (1.0 + mu * gap)
        return float(share @ part), -float(share @ part**2)

    return _root(excess, start, *ends)


def _root(function: Callable[[float], tuple[float, float]], x: float, a: float, b: float) -> float:
    """Return the root of a falling function in [a, b]: Newton steps, halves where they leave it."""
    x = min(max(x, a), b)
    for _ in range(MOST_STEPS):
        value, slope = function(x)
        a, b = (x, b) if value > 0.0 else (a, x)
        step = x - value / slope if slope < 0.0 else a
        new = step if a < step < b else (a + b) / 2.0
        if abs(new - x) <= ROUNDING * abs(x) + np.finfo(np.float64).tiny:
            return new
        x = new
    return x


@dataclass(frozen=True, eq=False)
class Curve:
    """A family of curves on a sample: z = offset + theta x.

    Attributes
    ----------
    sample : Sample
    x : ndarray, shape (k, m)
        Features of the points.
    center : ndarray, shape (k,)
        Coefficients that the ridge pulls to, those of the identity.
    bounded : ndarray of bool, shape (k,)
        Coefficients that must not be negative.
    hold : ndarray, shape (k,)
        Weight of the ridge for each coefficient.
    criterion : {"imposed", "plain", "risk"}
        The likelihood with or without the prior imposed, or the PU log loss.
    offset : ndarray or float
    """

    sample: Sample
    x: Floats
    center: Floats
    bounded: NDArray[np.bool_]
    hold: Floats
    criterion: Criterion = "imposed"
    offset: Floats | float = 0.0

    def z(self, theta: Floats) -> Floats:
        """Return log odds at the points."""
        return theta @ self.x + self.offset

    @cached_property
    def mass(self) -> Floats:
        """Labeled and other rows at each point."""
        return _pair(self.sample.labeled, self.sample.other)

    def penalty(self, theta: Floats) -> float:
        """Return what the ridge takes off the log likelihood."""
        return 0.5 * float(self.hold @ (theta - self.center) ** 2)

    def derivatives(self, value: Value) -> tuple[Floats, Floats, Floats]:
        """Return gradient, Hessian with nuisance parameters held, and mixed derivatives."""
        gradient = self.x @ (self.mass * value.slope).sum(axis=0)
        hessian = (self.x * (self.mass * value.bend).sum(axis=0)) @ self.x.T
        cross = self.x @ (self.mass * value.cross).sum(axis=1).T
        return gradient, hessian, cross


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum of the likelihood.

    Attributes
    ----------
    theta : ndarray, shape (k,)
    value : Value
        The likelihood there.
    curve : Curve
    unsure : bool
        Whether the rows leave a coefficient open, so that the ridge decides.
    """

    theta: Floats
    value: Value
    curve: Curve
    unsure: bool

    @cached_property
    def freedom(self) -> float:
        """Effective number of parameters: each counts as much as the rows decide it."""
        _, held = _profile(self.curve, self.theta, self.value)
        return float(np.trace(np.linalg.pinv(held) @ (held + np.diag(self.curve.hold))))

    @cached_property
    def covariance(self) -> Floats:
        """Sandwich covariance of theta, nuisance parameters included.

        Rows of two samples vary within their sample; rows of one sample vary with their labels.
        """
        curve, sample = self.curve, self.curve.sample
        k, h = self.theta.size, self.value.inner.size
        _, hessian, cross = curve.derivatives(self.value)
        bread = np.zeros((k + h, k + h))
        bread[:k, :k] = hessian - np.diag(curve.hold)
        bread[:k, k:], bread[k:, :k] = cross, cross.T
        bread[k:, k:] = np.diag(self.value.inner)
        labeled, other = (
            np.concatenate([curve.x * self.value.slope[g], self.value.aside[:, g]]) for g in (0, 1)
        )
        if sample.form == "separate":
            labeled, other = (
                part - ((part @ mass) / mass.sum())[:, None]
                for part, mass in ((labeled, sample.labeled), (other, sample.other))
            )
        one, both, two = sample.squares
        mixed = (labeled * both) @ other.T
        meat = (labeled * one) @ labeled.T + mixed + mixed.T + (other * two) @ other.T
        # The pull of the ridge is an error, too: as large as if coefficients varied as it expects.
        meat[:k, :k] += np.diag(curve.hold)
        inverse = np.linalg.pinv(bread)
        full: Floats = inverse @ meat @ inverse.T
        return full[:k, :k]


def maximize(curve: Curve, start: Floats) -> Fit:
    """Return the maximum that Newton steps reach from a start; saddle-free and within the bounds.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian(-1.0, 3.0).draw(1000, 10_000, setting="two-sample", seed=0)
    >>> fit = fit_platt(scores)
    >>> again = maximize(fit.curve, fit.theta)  # a start at the maximum stays there
    >>> bool(abs(again.theta - fit.theta).max() < 1e-6)
    True
    """
    theta, value = _search(curve, start, _at(curve, start, 0.0))
    return Fit(theta, value, curve, _is_unsure(curve, theta, value))


def _search(curve: Curve, theta: Floats, value: Value) -> tuple[Floats, Value]:
    for _ in range(MOST_STEPS):
        gradient, hessian = _profile(curve, theta, value)
        step = _step(curve, theta, gradient, hessian)
        gain = float(gradient @ step)
        if gain <= 0.0:
            break
        before = value.value - curve.penalty(theta)
        theta, value = _climb(curve, theta, value, step, gain)
        gained = value.value - curve.penalty(theta) - before
        # Next to a maximum a last step makes the rest of the distance, beyond what values can tell.
        if gain <= SMALLEST_GAIN or (gained <= LAST_GAIN < gain):
            break
    return theta, value


def _at(curve: Curve, theta: Floats, multiplier: float) -> Value:
    if curve.criterion == "risk":
        return risk(curve.sample, curve.z(theta))
    impose = curve.criterion == "imposed"
    return log_likelihood(curve.sample, curve.z(theta), impose=impose, multiplier=multiplier)


def closest(fit: Fit, richer: Fit) -> Fit:
    """Return the fit, or that of least PU log loss where the family cannot hold the curve.

    The likelihood is the best criterion for the right family. For a wrong one it weighs errors by
    what labels tell of them, not by what they cost. So if a family with one more parameter is
    significantly better, the fit of smaller PU Brier score is taken.
    """
    if 2.0 * (richer.value.value - fit.value.value) <= REJECTED:
        return fit
    curve = replace(fit.curve, sample=fit.curve.sample.overlapping(), criterion="risk")
    other = maximize(curve, fit.theta)
    return other if _brier(other) < _brier(fit) else fit


def _brier(fit: Fit) -> float:
    sample, eta = fit.curve.sample.overlapping(), expit(fit.curve.z(fit.theta))
    positive, marginal = sample.labeled, sample.other
    gain = sample.prior * float(positive @ (1.0 - 2.0 * eta)) / float(positive.sum())
    return gain + float(marginal @ eta**2) / float(marginal.sum())


def end_level(labeled: float, other: float, center: float) -> float:
    """Return the log odds of rows whose labels are all known, with the ridge towards a center."""

    def slope(z: float) -> tuple[float, float]:
        eta = float(expit(z))
        pull = (z - center) / LOOSE**2
        bend = (labeled + other) * eta * (1.0 - eta) + 1.0 / LOOSE**2
        return labeled * (1.0 - eta) - other * eta - pull, -bend

    reach = LOOSE**2 * (labeled + other)
    return _root(slope, center, center - reach, center + reach)


def _profile(curve: Curve, theta: Floats, value: Value) -> tuple[Floats, Floats]:
    """Return gradient and Hessian of the likelihood with its ridge, nuisance profiled out."""
    gradient, hessian, cross = curve.derivatives(value)
    hessian = hessian - (cross / value.inner) @ cross.T - np.diag(curve.hold)
    return gradient - curve.hold * (theta - curve.center), hessian


def _step(curve: Curve, theta: Floats, gradient: Floats, hessian: Floats) -> Floats:
    """Return a step uphill over the coefficients that are free to move."""
    free = ~(curve.bounded & (theta <= 0.0) & (gradient <= 0.0))
    scale = np.sqrt(curve.hold[free])
    bent, directions = np.linalg.eigh(hessian[np.ix_(free, free)] / np.outer(scale, scale))
    move = directions @ ((gradient[free] / scale) @ directions / np.maximum(np.abs(bent), 1e-3))
    step = np.zeros_like(theta)
    step[free] = move / scale
    far = _spread(curve, step @ curve.x)
    return step * min(1.0, LONGEST_STEP / max(far, LEAST))


def _climb(
    curve: Curve, theta: Floats, value: Value, step: Floats, gain: float
) -> tuple[Floats, Value]:
    """Shorten a step until the likelihood grows."""
    before, length = value.value - curve.penalty(theta), 1.0
    small = ROUNDING * (1.0 + abs(before))
    for _ in range(MOST_HALVINGS):
        trial = theta + length * step
        trial = np.where(curve.bounded, np.maximum(trial, 0.0), trial)
        new = _at(curve, trial, value.multiplier)
        if new.value - curve.penalty(trial) >= before + 1e-4 * length * gain - small:
            return trial, new
        length /= 2.0
    return theta, value


def _is_unsure(curve: Curve, theta: Floats, value: Value) -> bool:
    """Whether coefficients run away as the ridge is loosened, so that they have no maximum."""
    bare = replace(curve, hold=np.zeros_like(curve.hold))
    gradient, hessian = _profile(bare, theta, value)
    # Ends of the scale, which the ridge may well hold, do not count.
    free = ~(curve.bounded & (theta <= 0.0)) & ~_is_end(curve)
    scale = np.sqrt(curve.hold[free])
    bent, directions = np.linalg.eigh(hessian[np.ix_(free, free)] / np.outer(scale, scale))
    bent = np.minimum(bent, -LOOSER)
    move = directions @ ((gradient[free] / scale) @ directions / -bent) / scale
    if _spread(curve, move @ curve.x[free]) < UNSURE:
        return False
    loose = replace(curve, hold=np.where(_is_end(curve), 1.0, LOOSER) * curve.hold)
    away = _search(loose, theta, value)[0] - theta
    return _spread(curve, away @ curve.x) > RUNAWAY


def _is_end(curve: Curve) -> NDArray[np.bool_]:
    """Whether a feature is the indicator of one end of the scale."""
    return np.asarray(np.count_nonzero(curve.x, axis=1) == 1)


def _spread(curve: Curve, z: Floats) -> float:
    """Return the root mean square of log odds over all rows."""
    mass = curve.sample.mass
    return float(np.sqrt(mass @ z**2 / mass.sum()))


def hold_of(x: Floats, mass: Floats) -> Floats:
    """Return the weight of the ridge for each feature: one row in `LOOSE` squared logits."""
    size = np.sqrt(x**2 @ mass / mass.sum())
    return np.asarray(np.maximum(size, SMALLEST_SIZE) ** 2 / LOOSE**2, dtype=np.float64)


def with_ends(sample: Sample, x: Floats) -> tuple[Floats, int]:
    """Return the features with an indicator of scores of exactly 0 and of exactly 1, if any."""
    zero, one = sample.at_ends
    places = [0] * zero + [sample.s.size - 1] * one
    own = np.zeros((len(places), sample.s.size))
    own[np.arange(len(places)), places] = 1.0
    return np.concatenate([x, own]), len(places)


def inner_logits(sample: Sample) -> Floats:
    """Return the logits of the scores; ends count as half the distance of the next score."""
    zero, one = sample.at_ends
    z = logit(sample.s)
    inside = sample.s[zero : sample.s.size - one]
    if zero:
        z[0] = logit(min(inside[0] if inside.size else 1.0, LARGEST_GAP) / 2.0)
    if one:
        z[-1] = -logit(min(1.0 - inside[-1] if inside.size else 1.0, LARGEST_GAP) / 2.0)
    return z


def fit_platt(scores: PUScores, *, slope: float | None = None) -> Fit:
    """Fit ``logit eta = slope * logit s + intercept`` by likelihood, in any setting.

    Scores of exactly 0 and 1 have no logit; each of the two gets a parameter of its own, which
    follows slope and intercept in `Fit.theta`.

    Parameters
    ----------
    scores : PUScores
    slope : float, optional
        Hold the slope there and fit the intercept alone, which then comes first in `Fit.theta`.

    Returns
    -------
    Fit
        ``theta`` and its ``covariance``: for a calibrated model slope 1 and intercept 0.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(1000, 10_000, setting="two-sample", seed=0)
    >>> fit = fit_platt(scores)
    >>> bool((abs(fit.theta - [1, 0]) < 3.0 * fit.covariance.diagonal() ** 0.5).all())
    True
    """
    sample = gather(scores)
    z = inner_logits(sample)
    one = np.ones_like(z)
    if slope is not None:
        return fit_features(sample, one[None], np.zeros(1), level=np.ones(1), offset=slope * z)
    return fit_features(
        sample, np.stack([z, one]), np.array([1.0, 0.0]), level=np.array([0.0, 1.0])
    )


def fit_features(
    sample: Sample,
    x: Floats,
    center: Floats,
    *,
    bounded: NDArray[np.bool_] | None = None,
    level: Floats | None = None,
    offset: Floats | float = 0.0,
    criterion: Criterion = "imposed",
    stiff: Floats | float = 1.0,
) -> Fit:
    """Fit the coefficients of features, and a parameter for each end of the scale that has rows.

    Parameters
    ----------
    sample : Sample
    x : ndarray, shape (k, m)
    center : ndarray, shape (k,)
        Coefficients of the identity, from which the search starts.
    bounded : ndarray of bool, optional
        Coefficients that must not be negative.
    level : ndarray, shape (k,), optional
        The direction in which all log odds move by one. The search starts where it makes the mean
        probability the prior. None if there is no such direction.
    offset : ndarray or float
    criterion : {"imposed", "plain"}
    stiff : ndarray or float
        Factor of the ridge for each feature.
    """
    k = len(x)
    full, ends = with_ends(sample, x)
    centered = np.concatenate([center, np.zeros(ends)])
    hold = np.concatenate([stiff * hold_of(x, sample.mass), np.full(ends, 1.0 / LOOSE**2)])
    held = np.zeros(k + ends, dtype=np.bool_)
    held[:k] = False if bounded is None else bounded
    curve = Curve(sample, full, centered, held, hold, criterion, offset)
    start = centered.copy()
    if level is not None:
        start[:k] += _level(sample, curve.z(start)) * level
    start[k:] = _end_levels(sample) - (full[k:] @ curve.z(start))
    value = _at(curve, start, 0.0)
    # Where all rows have one score, the level is all that there is to know.
    feasible = np.isfinite(value.value)
    return maximize(curve, start) if feasible else Fit(start, value, curve, unsure=True)


def inner_points(sample: Sample) -> slice:
    """Return the points that are no end of the scale, or all if there are no others."""
    zero, one = sample.at_ends
    last = sample.s.size - one
    return slice(int(zero), last) if zero < last else slice(0, sample.s.size)


def _level(sample: Sample, z: Floats) -> float:
    """Return the shift of log odds z that makes their mean probability the prior."""
    share, z = (sample.other if sample.form == "separate" else sample.mass), z[inner_points(sample)]
    share = share[inner_points(sample)]
    share = share / share.sum() if share.any() else np.full(share.size, 1.0 / share.size)
    target = min(max(sample.prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    center = float(logit(target))

    def lack(shift: float) -> tuple[float, float]:
        eta = expit(z + shift)
        return target - float(share @ eta), -float(share @ (eta * (1.0 - eta)))

    middle = float(np.clip(center - share @ z, center - z.max(), center - z.min()))
    return _root(lack, middle, center - float(z.max()), center - float(z.min()))


def _end_levels(sample: Sample) -> Floats:
    """Return rough log odds of being positive at scores of exactly 0 and 1, where there are any."""
    base = sample.other if sample.form == "separate" else sample.mass
    share = (sample.labeled / sample.labeled.sum()) * base.sum() / np.maximum(base, 1.0)
    places = [0] * sample.at_ends[0] + [-1] * sample.at_ends[1]
    rough: Floats = logit(np.clip(sample.prior * share[places], *ROUGH))
    return rough
