r"""The likelihood of the labels with its derivatives, for trees, networks and curves.

All rows together form one sample in which a positive is labeled at a rate c(x). If :math:`\eta(x) =
\sigma(f(x))` is the class probability in the population,

.. math:: P(\text{labeled} \mid x) = c(x)\,\sigma(f(x) + b)

- one sample: :math:`c = n_P/(\pi n)` and b = 0; with propensities e(x), c(x) = k e(x), where k
  makes the number of positives represented by the labeled ones match the prior;
- two samples: :math:`c = r/(1+r)` and :math:`b = \log(1+r)` with :math:`r = n_P/(\pi n_U)`, because
  the labeled rows are added to the population, so that :math:`P(\text{labeled} \mid x) = r\eta/(1 +
  r\eta)`;
- labeled data: c = 1 and b = 0, the ordinary logistic likelihood.

An unlabeled row is positive with probability

.. math:: g = \frac{(1-c)\,\sigma}{1 - c\,\sigma}, \qquad \sigma = \sigma(f + b),

and the negative log-likelihood has the slope :math:`\sigma - g` (g = 1 on labeled rows). Its
curvature is bounded from above by :math:`\sigma(1-\sigma)`, as in the EM algorithm. `LabelLaw` is
this plain likelihood, row by row; `log_likelihood` works on points and can also impose the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit, logit

from noneg import kernels
from noneg.checks import Setting, check_one_sample, is_labeled, is_pooled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from noneg.arrays import Flags, Floats, Places
    from noneg.laws import Chunk
    from noneg.scores import PUScores

    Columns = tuple[Floats, ...]
    # For one parameter: `aside`, `cross` and `inner` of a `Value`.
    Nuisance = tuple[Floats, Floats, float]

# "separate" samples of positives and of the population, one "pooled" sample, or all "labeled".
Form = Literal["separate", "pooled", "labeled"]

# Up to this many rows, each distinct score is a point; beyond that, points are cells of equal width
# on the logit scale.
EXACT_ROWS = 1 << 12
CELLS_PER_LOGIT = 128
# Scores closer to 0 or 1 than this (2^-64) count as exactly 0 or 1, as in the buckets of kernels.
END = 2.0**-64
LARGEST_LOGIT = 45.0
# Beyond this logit, a mean of scores near 1 is no more precise about the distance from 1 than its
# cell.
TRUSTED_LOGIT = 20.0
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores, with the mass of labeled and other rows at each.

    Attributes
    ----------
    s : ndarray, shape (m,)
        Distinct scores in ascending order, or the means of narrow cells if there are many rows.
    labeled, other : ndarray, shape (m,)
        Number of labeled positives and of other rows (effective numbers with weights).
    squares : ndarray, shape (3, m)
        Sums over rows of labeled squared, labeled times other, and other squared.
    prior : float
    form : {"separate", "pooled", "labeled"}

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

    @cached_property
    def masses(self) -> Floats:
        """Mass of labeled and of other rows at each score, shape (2, m)."""
        return np.stack([self.labeled, self.other])

    @property
    def mass(self) -> Floats:
        """Mass of all rows at each score."""
        return self.labeled + self.other

    @property
    def marginal(self) -> Floats:
        """Masses in a sample of the population."""
        return self.other if self.form == "separate" else self.mass

    @property
    def rate(self) -> float:
        """Share of the positives that are labeled in one sample, at most 1."""
        share = float(self.labeled.sum()) / float(self.mass.sum())
        return 1.0 if self.form == "labeled" else min(1.0, share / self.prior)

    @property
    def ends(self) -> dict[str, int]:
        """The places of the scores of exactly 0 and 1, if there are any, by the end's name."""
        found = {"at_zero": 0} if self.s[0] < END else {}
        return found | {"at_one": self.s.size - 1} if self.s[-1] == 1.0 else found

    @property
    def complete(self) -> bool:
        """Whether every positive in the sample is labeled, judging by the prior."""
        return self.form != "separate" and self.rate >= 1.0 - ROUNDING

    def overlapping(self) -> Sample:
        """Return the rows of one sample as two distributions: labeled positives, and all rows."""
        if self.form == "separate":
            return self
        one, _, two = self.squares
        squares = np.array([one, one, one + two])
        return replace(self, form="separate", other=self.mass, squares=squares)

    def resampled(self, random: np.random.Generator) -> Sample:
        """Return a bootstrap sample: rows of each group are redrawn, points stay the same."""
        if self.form == "separate":
            labeled, other = (_redrawn(x, random) for x in (self.labeled, self.other))
        else:
            labeled, other = _redrawn(self.masses, random)
        return replace(self, labeled=labeled, other=other)


def _redrawn(mass: Floats, random: np.random.Generator) -> Floats:
    total = float(mass.sum())
    drawn = random.multinomial(max(1, round(total)), mass.ravel() / total)
    return drawn.reshape(mass.shape).astype(np.float64)


def gather(scores: PUScores) -> Sample:
    """Return the points of a data set in the form required by its likelihood."""
    rows = _rows(((positive, chunk) for positive, _, chunk in scores.chunks()), scores)
    if scores.n_unlabeled + scores.n_positive <= EXACT_ROWS:
        return _sample(*_at_scores(rows), scores)
    return _sample(*(_in_cells(rows) if scores.is_weighted else _from_buckets(scores)), scores)


def row_by_row(unlabeled: Chunk, positive: Chunk, like: PUScores) -> Sample:
    """Return rows as points, one per row and in their order, in the form of another data set.

    Parameters
    ----------
    unlabeled, positive : tuple
        The unlabeled rows, and the labeled positives, which follow them.
    like : PUScores
        The data set that the rows come from.
    """
    columns = _joined(_rows(((False, unlabeled), (True, positive)), like))
    n = columns[0].size
    return _sample(columns[0], _sums(np.arange(n), n, columns), like)


def _sample(s: Floats, sums: Floats, like: PUScores) -> Sample:
    """Return points with their sums, in the form of a data set."""
    form: Form = "separate" if _is_separate(like) else "pooled" if like.hidden else "labeled"
    labeled, other, *squares = _effective(sums, form)
    return Sample(s, labeled, other, np.array(squares), like.known_prior, form)


def _is_separate(scores: PUScores) -> bool:
    """Return whether there are two samples, or propensities vary in one sample."""
    if not (scores.hidden and scores.pooled):
        return not scores.pooled
    ratio = [np.ptp(a / w) for positive, _, (_, _, a, w) in scores.chunks() if positive]
    return bool(max(ratio, default=0.0) > 0.0)


def _rows(groups: Iterable[tuple[bool, Chunk]], like: PUScores) -> Iterator[Columns]:
    """Yield scores, counts, and masses as labeled and as other rows."""
    overlap = like.pooled and _is_separate(like)
    for positive, (s, f, a, w) in groups:
        own = w if like.pooled and not overlap else a
        labeled, other = (own, w if overlap else 0.0) if positive else (0.0, w)
        yield s, *(np.broadcast_to(x, s.shape) for x in (f, labeled, other))


def _joined(rows: Iterable[Columns]) -> Columns:
    return tuple(np.concatenate(column) for column in zip(*rows, strict=True))


def _sums(key: Places, n: int, columns: Columns) -> Floats:
    """Return the sums at each key: labeled, other, their three products, and mass times s."""
    s, f, labeled, other = columns
    terms = (labeled, other, labeled**2, labeled * other, other**2, (labeled + other) * s)
    return np.array([np.bincount(key, weights=f * x, minlength=n) for x in terms])


def _at_scores(rows: Iterator[Columns]) -> tuple[Floats, Floats]:
    columns = _joined(rows)
    s, key = np.unique(columns[0], return_inverse=True)
    sums = _sums(key, s.size, columns)
    full = sums[0] + sums[1] > 0.0
    return s[full], sums[:, full]


# Cells: one for scores of exactly 0, equal widths on the logit scale, one for scores of exactly 1.
_INNER = round(2 * LARGEST_LOGIT * CELLS_PER_LOGIT)


def _cell(z: Floats) -> Places:
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
    """Return the mean score of each nonempty cell, and its sums."""
    full = np.flatnonzero(sums[0] + sums[1] > 0.0)
    center = (full - 0.5) / CELLS_PER_LOGIT - LARGEST_LOGIT
    center[full == 0], center[full == _INNER + 1] = -np.inf, np.inf
    mean = sums[5, full] / (sums[0] + sums[1])[full]
    s = np.where(np.abs(center) > TRUSTED_LOGIT, expit(center), mean)
    return s, sums[:, full]


@cache
def _bucket_cells() -> tuple[Places, Floats]:
    """Return the cell of each bucket in `noneg.kernels`, and a score inside the bucket."""
    tail = np.arange(kernels.TAIL_BUCKETS - 1, dtype=np.int64) + kernels.FIRST_TAIL_KEY
    # The middle of a tail bucket is half a unit of the last mantissa bit that the grid keeps.
    low = ((2 * tail + 1) << (51 - kernels.MANTISSA_BITS)).view(np.float64)
    n = kernels.N_BUCKETS - 2 * kernels.TAIL_BUCKETS
    first = kernels.TAIL_BUCKETS - kernels.GRID.offset
    middle = (np.arange(n) + first + 0.5) / kernels.GRID.scale
    z = np.concatenate([[-np.inf], logit(low), logit(middle), -logit(low)[::-1], [np.inf]])
    return _cell(z), expit(z)


def _from_buckets(scores: PUScores) -> tuple[Floats, Floats]:
    """Return the cells of unweighted rows from the sums of a fast pass."""
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
    """Scale masses so that each sample counts as Kish's effective number of rows."""
    labeled, other, *squares, _ = sums
    total, square = np.array([labeled.sum(), other.sum()]), np.array([x.sum() for x in squares])
    if form == "separate":
        one, two = total / np.maximum(square[[0, 2]], np.finfo(np.float64).tiny)
    else:
        one = two = total.sum() / square[[0, 2]].sum()
    scale = np.array([one, two, one**2, one * two, two**2])
    return sums[:5] * scale[:, None]


def inner_points(sample: Sample) -> slice:
    """Return the points that are not an end of the scale, or all points if there are no others."""
    zero, last = "at_zero" in sample.ends, sample.ends.get("at_one", sample.s.size)
    return slice(int(zero), last) if zero < last else slice(0, sample.s.size)


MOST_STEPS, LEAST = 100, 1e-100
LEAST_PRIOR = 1e-6
# Priors are kept this far from 0 and 1, so that their log odds are finite.
EDGE = 1e-9
# Limits of the logarithm of a slope, and the weight of the penalty on its distance from 0.
SLOPES, HOLD = (-3.0, 3.0), 0.1


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Rows with labels, weights and, if known, propensities.

    Attributes
    ----------
    flags : ndarray
        Whether each row is a labeled positive.
    mass : ndarray
        Weight of each row.
    propensity : ndarray or None
        Rate at which a positive like this row is labeled, up to a factor.
    """

    flags: Flags
    mass: Floats
    propensity: Floats | None = None

    @property
    def positive_mass(self) -> Floats:
        """Weights under which the labeled rows follow the distribution of all positives."""
        return self.mass if self.propensity is None else self.mass / self.propensity

    def as_random(self) -> Self:
        """Return the rows with propensities converted to weights on the labeled rows."""
        if self.propensity is None:
            return self
        mass, flags = np.where(self.flags, self.positive_mass, self.mass), self.flags
        mass[flags] *= self.mass[flags].sum() / mass[flags].sum()
        return replace(self, mass=mass, propensity=None)


class LabelLaw(NamedTuple):
    """The labeling mechanism: the rate for each row, the shift, and the initial log odds.

    Examples
    --------
    >>> rows = LabeledRows(np.arange(10) < 2, np.ones(10))
    >>> law = LabelLaw.of(rows, "one-sample", 0.4)
    >>> law.rate[0], law.shift
    (np.float64(0.5), 0.0)
    >>> law.expected(rows.flags, np.zeros(10)).round(3)[:3]
    array([1.   , 1.   , 0.333])
    """

    rate: Floats
    shift: float
    start: float

    @classmethod
    def of(cls, rows: LabeledRows, setting: Setting, prior: float | None) -> Self:
        """Return the labeling mechanism of the rows; two samples must not have propensities."""
        mass, flags, e = rows.mass, rows.flags, rows.propensity
        n_pos, n, one = float(mass[flags].sum()), float(mass.sum()), np.ones(flags.size)
        if is_labeled(setting) or prior is None:
            return cls(one, 0.0, _log_odds(n_pos / n))
        if not is_pooled(setting):
            ratio = n_pos / (prior * (n - n_pos))
            return cls(ratio / (1.0 + ratio) * one, math.log1p(ratio), _log_odds(prior))
        if e is None:
            check_one_sample(prior, n_pos / n, n)
        share = float(rows.positive_mass[flags].sum()) / (prior * n)
        return cls(np.minimum(1.0, (one if e is None else e) * share), 0.0, _log_odds(prior))

    def take(self, index: Places) -> Self:
        """Return the mechanism for a subset of the rows."""
        return self._replace(rate=self.rate[index])

    def expected(self, flags: Flags, f: Floats) -> Floats:
        """Return g, the probability that a row is positive given its label."""
        return self._given(flags, expit(f + self.shift))

    def slope(self, flags: Flags, f: Floats) -> tuple[Floats, Floats]:
        """Return the slope of the loss for each row, and an upper bound on its curvature."""
        s = expit(f + self.shift)
        return s - self._given(flags, s), s * (1.0 - s)

    def _given(self, flags: Flags, s: Floats) -> Floats:
        g = np.divide((1.0 - self.rate) * s, 1.0 - self.rate * s, out=s * 0.0, where=self.rate < 1)
        return np.where(flags, 1.0, g)

    def loss(self, flags: Flags, f: Floats) -> Floats:
        """Return the negative log-likelihood of each row's label."""
        labeled, other, _ = log_chances(f + self.shift, self.rate)
        return -np.where(flags, labeled, other)

    def line(
        self, rows: LabeledRows, f: Floats, population: Flags, prior: float
    ) -> tuple[float, float]:
        """Return a and b for which a f + b has the prior as its mean and maximizes the likelihood.

        Parameters
        ----------
        rows : rows with flags and mass
        f : ndarray
            Log odds of held-out rows.
        population : ndarray of bool
            Which rows are a sample of the population.
        prior : float
            Mean of the class probability over the population.
        """
        from scipy.optimize import minimize_scalar

        weight, inside = rows.mass[population] / rows.mass[population].sum(), f[population]

        def loss(log_a: float) -> float:
            a = math.exp(log_a)
            z = a * f + level_of(a * inside, weight, prior)
            # A penalty worth a fraction of a row keeps the slope near 1 if nothing else does.
            return float(rows.mass @ self.loss(rows.flags, z)) + HOLD * log_a**2

        a = math.exp(float(minimize_scalar(loss, bounds=SLOPES, method="bounded").x))
        return a, level_of(a * inside, weight, prior)


def log_chances(z: Floats, rate: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return log(c eta), log(1 - c eta), and the log odds that an unlabeled row is positive."""
    with np.errstate(divide="ignore"):
        left = z + np.log1p(-np.asarray(rate))
    # 1 - c eta = (1 + (1 - c) e^z) / (1 + e^z), which avoids cancellation.
    return log_expit(z) + np.log(rate), log_expit(-z) - log_expit(-left), left


def level_of(z: Floats, weight: Floats, prior: float) -> float:
    """Return the shift of log odds z for which the weighted mean probability equals the prior."""
    target = min(max(prior, LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    center = float(logit(target))

    def lack(shift: float) -> tuple[float, float]:
        eta = expit(z + shift)
        return target - float(weight @ eta), -float(weight @ (eta * (1.0 - eta)))

    low, high = center - float(z.max()), center - float(z.min())
    return find_root(lack, min(max(center - float(weight @ z), low), high), low, high)


def _log_odds(p: float) -> float:
    return float(logit(min(max(p, EDGE), 1.0 - EDGE)))


@dataclass(frozen=True, eq=False)
class Value:
    """The log likelihood at log odds z, with its derivatives.

    Index 0 of the axis of length 2 is for labeled rows and index 1 for other rows; the last axis is
    over points.

    Attributes
    ----------
    value : float
        The sum over all rows; minus infinity if no weights of the rows satisfy the prior.
    rows : ndarray, shape (2, m)
        Contribution of a single row.
    slope, bend : ndarray, shape (2, m)
        First and second derivatives of the contribution with respect to z.
    aside : ndarray, shape (h, 2, m)
        Derivatives with respect to the nuisance parameters: the multiplier and, in one sample, the
        rate.
    cross : ndarray, shape (h, 2, m)
        Mixed derivatives with respect to the nuisance parameters and z.
    inner : ndarray, shape (h,)
        Second derivatives of the sum with respect to these parameters, which do not interact.
    multiplier : float
        Value of the multiplier, one of the nuisance parameters.
    """

    value: float
    rows: Floats
    slope: Floats
    bend: Floats
    aside: Floats
    cross: Floats
    inner: Floats
    multiplier: float


def _value(
    sample: Sample, own: Iterable[Floats], nuisance: Sequence[Nuisance], multiplier: float = 0.0
) -> Value:
    """Return the sum over all rows of their contributions, given with their two derivatives."""
    rows, slope, bend = own
    aside, cross, inner = zip(*nuisance, strict=True) if nuisance else ((), (), ())
    return Value(
        value=float((sample.masses * rows).sum()) if np.isfinite(multiplier) else -np.inf,
        rows=rows,
        slope=slope,
        bend=bend,
        aside=np.reshape(aside, (-1, *rows.shape)),
        cross=np.reshape(cross, (-1, *rows.shape)),
        inner=np.array(inner),
        multiplier=multiplier,
    )


def risk(sample: Sample, z: Floats) -> Value:
    """Return the negative PU log loss on the scale of a log likelihood; see `log_likelihood`.

    Labeled rows represent the positive distribution, and the other rows the marginal distribution.
    """
    positive, marginal = float(sample.labeled.sum()), float(sample.other.sum())
    n = min(marginal, positive / max(sample.prior, LEAST_PRIOR))
    one, two = n * sample.prior / max(positive, 1.0), n / marginal
    eta, zero = expit(z), np.zeros_like(z)
    rows, slope = _pair(one * z, two * log_expit(-z)), _pair(zero + one, -two * eta)
    return _value(sample, (rows, slope, _pair(zero, -two * eta * expit(-z))), [])


def log_likelihood(
    sample: Sample, z: Floats, *, impose: bool = True, multiplier: float = 0.0
) -> Value:
    """Return the log likelihood of the labels, given log odds z at the points.

    Its gradient with respect to z is ``sample.labeled * slope[0] + sample.other * slope[1]``.

    Parameters
    ----------
    sample : Sample
    z : ndarray
        Log odds of being positive at each point.
    impose : bool
        Whether the prior is imposed (empirical likelihood) or not (plain likelihood).
    multiplier : float
        Starting point of the search for the multiplier.

    Examples
    --------
    >>> from noneg import PUScores
    >>> from noneg.likelihood import gather
    >>> sample = gather(PUScores([0.9, 0.6], [0.9, 0.3], prior=0.4, setting="two-sample"))
    >>> round(log_likelihood(sample, np.array([-1.0, 0.0, 1.0])).value, 4)
    -2.3122
    """
    impose = impose and (sample.form == "separate" or sample.rate < 1.0)
    own, rate = _labels(sample, z, impose=impose)
    shared, weights, mu = _law(sample, z, multiplier, impose=impose)
    both = (one + other for one, other in zip(own, shared, strict=True))
    return _value(sample, both, [*rate, *weights], mu)


def _labels(sample: Sample, z: Floats, *, impose: bool) -> tuple[list[Floats], list[Nuisance]]:
    """Return the labels' part: log(c eta) and, in one sample, log(1 - c eta)."""
    eta, rest, zero = expit(z), expit(-z), np.zeros_like(z)
    bent = -eta * rest
    if sample.form == "separate":
        return [_pair(x, zero) for x in (log_expit(z), rest, bent)], []
    rate = sample.rate
    free = impose and (rate := _best_rate(sample, eta, rate)) < 1.0
    log_labeled, log_other, left = log_chances(z, rate)
    kept = expit(left)
    bend = _pair(bent, kept * expit(-left) + bent)
    own = [_pair(log_labeled, log_other), _pair(rest, kept - eta), bend]
    if not free:
        return own, []
    unlabeled = np.maximum(1.0 - rate * eta, LEAST)
    gone = eta / unlabeled
    aside = _pair(np.full_like(z, 1.0 / rate), -gone)
    cross = _pair(zero, -gone * rest / unlabeled)
    inner = -float(sample.labeled.sum()) / rate**2 - float(sample.other @ gone**2)
    return own, [(aside, cross, inner)]


def _law(
    sample: Sample, z: Floats, start: float, *, impose: bool
) -> tuple[list[Floats], list[Nuisance], float]:
    """Return the marginal distribution's part, -log(1 + mu (eta - pi)), the same for all rows."""
    eta, rest, mass = expit(z), expit(-z), sample.mass
    if impose:
        mu = _multiplier(mass, eta - sample.prior, start)
    elif sample.form == "separate":
        mu = float(sample.labeled.sum()) / (sample.prior * float(mass.sum()))
    else:
        mu = 0.0
    gap, known = eta - sample.prior, mu if np.isfinite(mu) else 0.0
    # Points without rows, which occur in resampled data, do not bound the multiplier.
    level = np.maximum(1.0 + known * gap, LEAST)
    first = eta * rest
    slope = -known * first / level
    bend = -known * first * (rest - eta) / level + slope**2
    own = [_pair(x, x) for x in (-np.log(level), slope, bend)]
    if not impose or not np.isfinite(mu) or not first.any() or not gap.any():
        return own, [], mu
    aside, cross = -gap / level, -first / level**2
    return own, [(_pair(aside, aside), _pair(cross, cross), float(mass @ aside**2))], mu


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
    return find_root(slope, start, n / (n + float(other.sum())), 1.0)


def _multiplier(mass: Floats, gap: Floats, start: float) -> float:
    """Return mu with sum m gap / (1 + mu gap) = 0; not finite if all gaps have the same sign."""
    there = mass > 0.0
    low = int(np.argmin(np.where(there, gap, np.inf)))
    high = int(np.argmax(np.where(there, gap, -np.inf)))
    if not gap[low] < 0.0 < gap[high]:
        # A constant equal to the prior satisfies it with any weights.
        return 0.0 if max(-gap[low], gap[high]) < ROUNDING else np.nan
    # No weight m / (n (1 + mu gap)) exceeds 1.
    share = mass / float(mass.sum())
    ends = (share[high] - 1.0) / gap[high], (share[low] - 1.0) / gap[low]

    def excess(mu: float) -> tuple[float, float]:
        part = gap / (1.0 + mu * gap)
        return float(share @ part), -float(share @ part**2)

    return find_root(excess, start, *ends)


def find_root(
    function: Callable[[float], tuple[float, float]], x: float, a: float, b: float
) -> float:
    """Return the root of a decreasing function in [a, b] by Newton steps with bisection."""
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
