r"""Estimators that need only the scores: tails, densities, likelihoods and label frequencies.

**BBE**, best bin estimation: the ratio of the two distributions above the best threshold (Garg, Wu,
Smola, Balakrishnan and Lipton 2021, Mixture proportion estimation and PU learning: a modern
approach, Algorithm 1). With the shares :math:`q_U(c), q_P(c)` of unlabeled rows and of positives
that score at least c,

.. math:: \hat c = \arg\min_c \frac{q_U(c)}{q_P(c)} + \frac{1+\gamma}{q_P(c)}
   \Big(\sqrt{\tfrac{\log(4/\delta)}{2 n_P}} + \sqrt{\tfrac{\log(4/\delta)}{2 n_U}}\Big),
   \qquad \hat a = \frac{q_U(\hat c)}{q_P(\hat c)}.

The minimum of a noisy curve is biased downward: writing the penalty as :math:`K / q_P`, the
estimate is too low by

.. math:: \frac{1}{K}\Big(\frac{a}{n_U} + \frac{a^2}{n_P}\Big)

on average if classes are far apart (derived in ``experiments/prior/single_draws.py``).

With ``allowance`` k > 0, the rule is the one-standard-error rule of cross-validation, which chooses
the simplest model within one standard error of the best (Breiman, Friedman, Olshen and Stone 1984):
among all cuts whose penalized ratio is within k standard errors of the minimum, it chooses the one
that the most positives reach. The squared standard error compares the ratio at :math:`\hat c` with
the ratio for all positives,

.. math:: \Big(\frac{\hat a}{n_U} + \frac{\hat a^2}{n_P}\Big) \frac{1 - q_P(\hat c)}{q_P(\hat c)}.

**Quick**: the largest prior that the scores do not contradict. Above any threshold, there cannot be
more positives than rows, so :math:`a \le \inf_t \mathrm{PPR}_U(t)/\mathrm{TPR}(t)`.
`noneg.performance.assumptions.largest_prior` checks a given prior with the same cuts.

**DEDPUL**: the share at which posteriors agree with a ratio of smoothed densities (Ivanov 2020,
DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning). With
:math:`r = f_P / f_U` on the unlabeled rows, the share a is a fixed point of the mean posterior,
:math:`a = E_U[\min(1, a r)]`.

**AlphaMax**: the share beyond which the likelihood of a two-component fit decreases (Jain, White,
Trosset and Radivojac 2016, Nonparametric semi-supervised learning of class proportions; Jain, White
and Radivojac 2016, Estimating the class prior and posterior from noisy positives and unlabeled
data). With masses :math:`w_b, v_b` of the unlabeled and the positive distribution in bins, define
for every share c

.. math:: L(c) = \max_{0 \le u_b \le w_b,\, \sum u_b = c} \sum_b w_b \log(w_b - u_b + c v_b)
   + \sum_b v_b \log(u_b / c).

**Elkan and Noto** (2008), Learning classifiers from only positive and unlabeled data, Section 2.
With :math:`G(x) = p(\text{labeled} \mid x)` in the pooled sample,

.. math:: e_1 = E_+[G], \qquad e_2 = \frac{\sum_P G}{\sum_{P \cup U} G}, \qquad e_3 = \max G

each estimate the label frequency c, which determines the share (`share_of_frequency`).

**ReCPE**: regroup before estimating, in case negatives look like positives (Yao et al. 2022,
Rethinking class-prior estimation for positive-unlabeled learning). The most positive-looking part A
of the unlabeled rows is copied into the positives, which moves the negatives in A to the positive
side; any estimator can then be applied. If the negatives do not contain positives, the estimate
grows by at most :math:`(1 - a) p_N(A)`; if they do, a larger bias is removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter
from scipy.optimize import isotonic_regression
from scipy.special import xlogy

from noneg.arrays import Flags, Floats, bisected
from noneg.errors import InputError
from noneg.performance.assumptions import share_limits
from noneg.prior.base import SAMPLED, Found, Interval, ScoreEstimator
from noneg.prior.samples import ScoreLaws, share_of_frequency

# Quantile used in place of the maximum, which is too noisy.
TOP = 0.95
# Level of the limits that `Quick` uses to choose its cut; a higher level reduces selection effects.
CHOOSING = 0.999
# Smallest share of positives above a cut for which the lower limit is used.
REACHED = 0.125

# Constants of DEDPUL.
MOST_POINTS = 1024
GRID = np.arange(1, 1001) / 1000.0
LARGEST_RATIO = 50.0
TOLERANCE = 1e-5
# Scores below this count as equal; otherwise, zeros from a forest would stretch the scale.
LOWEST = 1e-5
ROUNDING = 1e-12
# Shares below the first value count as degenerate, and excesses below the second as small.
NO_POSITIVES = 0.001
SMALL_EXCESS = 0.05

# Constants of AlphaMax.
_NEAR_ONE = 1.0 - np.geomspace(0.1, 0.001, 40)
SHARES = np.unique(np.concatenate([np.arange(1, 91) / 100.0, _NEAR_ONE]))
# The curve is extended to the left by a flat part, so that the elbow rule finds small shares.
_BEFORE = np.arange(-10, 1) / 100.0
_LINE = np.concatenate([_BEFORE, SHARES])
NEIGHBORS = 10
FLOOR = 1e-5
# A curve that falls by less is flat.
FLAT = 1e-9


@dataclass(frozen=True, kw_only=True)
class BestBin(ScoreEstimator):
    """Best bin estimation (BBE).

    Every distinct score is a threshold, and rows at the threshold count in both distributions; only
    the penalty excludes thresholds that few positives reach. Without ties, the estimate equals that
    of the authors' code to the last digit, provided that more than one row of each sample lies
    above the threshold, which that code requires. With ties, that code leaves out one of the
    unlabeled rows at the threshold.

    Parameters
    ----------
    delta : float
        Confidence parameter of the penalty that selects the threshold.
    gamma : float
        Slack in that penalty.
    allowance : float
        0 is the published rule. 1 chooses the lowest threshold within one standard error of the
        best, which is far less affected by chance: estimates are as precise as counting allows if
        classes are far apart, and too large by up to another standard error if they overlap.

    Examples
    --------
    >>> from noneg.prior import BestBin, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> BestBin().fit(laws).value
    0.3

    Single draws with a large share, under the published rule and with an allowance:

    >>> import numpy as np
    >>> rng, error = np.random.default_rng(0), []
    >>> for _ in range(20):
    ...     u = np.append(rng.normal(6, 1, 3200), rng.normal(0, 1, 800))
    ...     laws = ScoreLaws.from_arrays(
    ...         rng.normal(6, 1, 2000), u, setting="two-sample", scale="logit"
    ...     )
    ...     error.append([BestBin(allowance=k).find(laws).share - 0.8 for k in (0, 1)])
    >>> np.abs(error).mean(axis=0).round(3).tolist()
    [0.01, 0.003]
    """

    name = "bbe"
    title = "Best bin (BBE)"
    assumption = (
        f"{SAMPLED}, and there are no negatives above some score that many positives "
        "reach; without such a score, the estimate is an upper bound"
    )
    citation = "Garg et al. (2021), Mixture proportion estimation and PU learning"

    delta: float = 0.1
    gamma: float = 0.01
    allowance: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.allowance < np.inf:
            msg = "must be a number of standard errors, 0 for the published rule"
            raise InputError("allowance", f"{msg}, got {self.allowance!r}.")

    def find(self, laws: ScoreLaws) -> Found:
        """Return the ratio above the best threshold."""
        top_u, top_p, k = self._tails(laws)
        share = min(1.0, float(top_u[k] / top_p[k]))
        n, m = laws.n_positive, laws.n_unlabeled
        shown = {"threshold": float(laws.points[k]), "pure_mass": float(top_p[k])}
        if self.allowance == 0.0:
            shown["expected_luck"] = -(share / m + share**2 / n) / self.slack(n, m)
        return Found(share, shown)

    def slack(self, n_positive: float, n_unlabeled: float) -> float:
        """Return the constant K of the penalty ``K / q_P``.

        Examples
        --------
        >>> round(BestBin().slack(2000, 4000), 4)
        0.0524
        """
        reach = _reach(self.delta, n_positive) + _reach(self.delta, n_unlabeled)
        return (1.0 + self.gamma) * reach

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return Dvoretzky-Kiefer-Wolfowitz bounds, valid at all thresholds simultaneously.

        The upper end is the minimum of ``(q_U + e_U) / (q_P - e_P)``, the paper's bound before the
        difference is replaced with ``(1 + gamma)``, so it also holds for few positives. The lower
        end is ``(q_U - e_U) / (q_P + e_P)`` at the chosen threshold.
        """
        top_u, top_p, k = self._tails(laws)
        e_u, e_p = (_reach(1.0 - level, n) for n in (laws.n_unlabeled, laws.n_positive))
        enough = top_p > e_p
        bound = (top_u[enough] + e_u) / (top_p[enough] - e_p)
        low = float((top_u[k] - e_u) / (top_p[k] + e_p))
        return Interval(
            min(max(0.0, low), share),
            max(share, min(1.0, float(bound.min(initial=1.0)))),
            "Dvoretzky-Kiefer-Wolfowitz; the upper end needs no assumption about the "
            "negatives, the lower end assumes that there are none above the "
            "threshold; excludes the training of the "
            "scores",
        )

    def _tails(self, laws: ScoreLaws) -> tuple[Floats, Floats, int]:
        """Return both tails at or above each point, and the index of the chosen threshold."""
        top_u, top_p = laws.above("unlabeled"), laws.above("positive")
        total = top_u + self.slack(laws.n_positive, laws.n_unlabeled)
        # Above the last positive, the ratio is undefined.
        tried = np.divide(total, top_p, out=np.full_like(total, np.inf), where=top_p > 0.0)
        best = int(np.argmin(tried))
        share, reached = float(top_u[best] / top_p[best]), float(top_p[best])
        square = share / laws.n_unlabeled + share**2 / laws.n_positive
        # Rounding error may push this mass above one.
        error = np.sqrt(square * max(0.0, 1.0 - reached) / reached)
        return top_u, top_p, int(np.argmax(tried <= tried[best] + self.allowance * error))


def _reach(delta: float, n: float) -> float:
    return float(np.sqrt(np.log(4.0 / delta) / (2.0 * n)))


@dataclass(frozen=True, kw_only=True)
class Quick(ScoreEstimator):
    """The largest share compatible with the scores, at cuts that divide the positives evenly.

    The cut with the smallest confidence limit is chosen; the estimate is the ratio of the two
    distributions above it. It needs neither tuning nor densities, and takes milliseconds.

    Examples
    --------
    >>> from noneg.prior import Quick, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> found = Quick().fit(laws)
    >>> round(found.value, 6), found.low, 0.3 < found.high < 0.6
    (0.3, 0.0, True)
    """

    name = "quick"
    title = "Largest compatible"
    assumption = (
        f"{SAMPLED}, and nothing about the negatives, so the estimate is an upper bound and the "
        "prior may be smaller"
    )
    citation = "Scott (2015), A rate of convergence for mixture proportion estimation"

    def find(self, laws: ScoreLaws) -> Found:
        """Return the ratio of the two distributions above the cut with the tightest bound."""
        (tpr, _), (ppr, _) = laws.cuts()
        best = _tightest(laws)
        return Found(min(1.0, float(ppr[best] / tpr[best])), {"pure_mass": float(tpr[best])})

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return the smallest upper limit, and the smallest lower limit over well-filled cuts."""
        low, high = share_limits(*laws.cuts(), level=level)
        (tpr, _), _ = laws.cuts()
        method = (
            "exact binomial limits, simultaneous over the cuts; the upper end needs "
            "no assumption about the negatives, the lower end assumes that there are "
            "none among the top eighth of the positives; excludes the training of "
            "the scores"
        )
        least = min(share, float(low[tpr >= REACHED].min()))
        return Interval(least, max(share, min(1.0, float(high.min()))), method)


def _tightest(laws: ScoreLaws) -> int:
    """Return the index of the cut with the smallest upper limit."""
    return int(np.argmin(share_limits(*laws.cuts(), level=CHOOSING)[1]))


@dataclass(frozen=True, kw_only=True)
class Dedpul(ScoreEstimator):
    """Difference-of-estimated-densities estimator (DEDPUL).

    Both densities are estimated on the logit scale with the same kernel: smoothing then turns the
    mixture into a mixture of the smoothed classes, and the ratio remains correct where there are
    only positives. The authors' code uses ``bandwidth_positive=0.1, bandwidth_unlabeled=0.05``,
    each relative to the standard deviation of its own sample. If classes are far apart, the
    standard deviation of the unlabeled rows is large, their density is flattened, and the estimate
    is too small. With those bandwidths, the estimate agrees with the authors' code, except for
    small constants, for up to 1024 rows. Beyond that, at most 1024 groups of neighboring rows are
    smoothed, and the difference is within half the counting error. Their "monotonizing trends" are
    left out, as in their experiments on real data.

    Parameters
    ----------
    bandwidth_positive : float
        Kernel bandwidth in standard deviations of the positives' logits.
    bandwidth_unlabeled : float, optional
        A separate bandwidth for the unlabeled rows, in standard deviations of their logits.

    Examples
    --------
    >>> from noneg.prior import Dedpul
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.calibrated(0.3)
    >>> scores = world.draw(1000, 4000, setting="two-sample", seed=0)
    >>> abs(Dedpul().fit(scores).value - 0.3) < 0.06
    True
    """

    name = "dedpul"
    title = "DEDPUL"
    citation = "Ivanov (2020), DEDPUL"
    assumption = (
        f"{SAMPLED}, and at some scores negatives are negligible compared with "
        "positives (irreducibility); otherwise, the estimate is an upper bound"
    )
    rank_based = False
    bootstrap_points = 384

    bandwidth_positive: float = 0.07
    bandwidth_unlabeled: float | None = None

    def find(self, laws: ScoreLaws) -> Found:
        """Return the fixed point, or the grid estimate if the fixed point is degenerate."""
        laws = laws.coarse(MOST_POINTS)
        return _share(_Posterior(self.ratio(laws), laws.unlabeled[laws.unlabeled > 0.0]))

    def ratio(self, laws: ScoreLaws) -> Floats:
        """Return the smoothed ratio at the unlabeled points, increasing with the score."""
        z = np.logaddexp(laws.logits, np.log(LOWEST))
        there = laws.unlabeled > 0.0
        width = wide = self.bandwidth_positive * _deviation(z, laws.positive)
        if self.bandwidth_unlabeled is not None:
            wide = self.bandwidth_unlabeled * _deviation(z, laws.unlabeled)
        f_p = _density(z, laws.positive, width, z[there])
        f_u = _density(z, laws.unlabeled, wide, z[there])
        raw = np.minimum(f_p / (f_u + 1e-5 * f_u.max()), LARGEST_RATIO)
        middle = (laws.positive @ laws.probabilities + laws.unlabeled @ laws.probabilities) / 2.0
        upper = laws.probabilities[there] >= middle
        smooth = _rolling_median(raw, 5)
        smooth[upper] = np.maximum.accumulate(smooth[upper])
        return np.sort(_rolling_median(smooth, smooth.size // 20))


def _deviation(z: Floats, mass: Floats) -> float:
    """Return the standard deviation, or 0.01 if all points are equal."""
    return float(np.sqrt(mass @ (z - mass @ z) ** 2)) or 1e-2


def _density(z: Floats, mass: Floats, width: float, at: Floats) -> Floats:
    """Return a Gaussian kernel density."""
    full = mass > 0.0
    steps = (at[:, None] - z[full][None, :]) / width
    return np.exp(-0.5 * steps * steps) @ mass[full] / (width * np.sqrt(2.0 * np.pi))


def _rolling_median(values: Floats, half: int) -> Floats:
    out: Floats = median_filter(values, size=2 * half + 1, mode="nearest")
    return out


class _Posterior:
    """``E_U[min(1, a r)]`` as a function of the share a, from prefix sums of the sorted ratio."""

    def __init__(self, ratio: Floats, weight: Floats) -> None:
        self.ratio = ratio
        self.linear = np.concatenate([[0.0], np.cumsum(weight * ratio)])
        self.capped = 1.0 - np.concatenate([[0.0], np.cumsum(weight)])

    def __call__(self, share: Floats) -> Floats:
        cut = np.searchsorted(self.ratio, 1.0 / share)
        mean: Floats = share * self.linear[cut] + np.maximum(0.0, self.capped[cut])
        return mean


def _share(posterior: _Posterior) -> Found:
    fixed = _fixed_point(posterior)
    # Mean negative posterior minus the negative share.
    excess = GRID - posterior(GRID)
    best = _bend(excess)
    wrong = best <= fixed or ((excess < 0.0).sum() > 1 and fixed > NO_POSITIVES)
    share = fixed if wrong else best
    return Found(float(share), {"fixed_point": float(fixed), "bend": float(best)})


def _fixed_point(posterior: _Posterior) -> float:
    share = 1.0
    for _ in range(1000):
        following = float(posterior(np.array(share)))
        if abs(following - share) < TOLERANCE or share * posterior.ratio[-1] < 1.0:
            return following
        share = max(following, 1e-12)
    return share


def _bend(excess: Floats) -> float:
    """Return the share at which the curve of a small excess bends most, or 0 if there is none."""
    second = np.zeros_like(excess)
    second[1:-1] = excess[2:] - 2.0 * excess[1:-1] + excess[:-2]
    second[excess >= SMALL_EXCESS] = -np.inf
    best = int(np.argmax(second))
    return float(GRID[best]) if second[best] > ROUNDING else 0.0


@dataclass(frozen=True, kw_only=True)
class Tightest(Quick):
    """The smaller of two upper bounds: the largest compatible share, and the DEDPUL estimate.

    If classes overlap, both are too large, for different reasons; limits are as in `Quick`.

    Examples
    --------
    >>> from noneg.prior import ScoreLaws, Tightest
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> Tightest().fit(laws).value <= 0.3
    True
    """

    name = "tightest"
    title = "Tightest bound"
    rank_based = False

    def find(self, laws: ScoreLaws) -> Found:
        """Return the smaller estimate, with both in the diagnostics."""
        found = super().find(laws)
        shares = {"compatible": found.share, "dedpul": Dedpul().find(laws).share}
        return Found(min(shares.values()), {**found.diagnostics, **shares})


@dataclass(frozen=True, kw_only=True)
class AlphaMax(ScoreEstimator):
    """AlphaMax with its elbow rule.

    Bins have equal mass in both distributions combined, so the method depends only on ranks (bin
    widths cancel in the likelihood). The number of bins follows Rice's rule for the positives. The
    elbow rule is inaccurate if classes overlap, and for shares above 0.9.

    Examples
    --------
    >>> from noneg.prior import AlphaMax, ScoreLaws
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(4.0, 1.0, 500)
    >>> unlabeled = np.append(rng.normal(4.0, 1.0, 600), rng.normal(0.0, 1.0, 1400))
    >>> laws = ScoreLaws.from_arrays(positive, unlabeled, setting="two-sample", scale="logit")
    >>> abs(AlphaMax().fit(laws).value - 0.3) < 0.05
    True
    """

    name = "alphamax"
    title = "AlphaMax"
    citation = "Jain et al. (2016), Nonparametric semi-supervised learning"
    assumption = (
        f"{SAMPLED}, negatives do not contain them as a component (irreducibility), and the share "
        "is not close to one"
    )
    bootstrap_points = 512

    def find(self, laws: ScoreLaws) -> Found:
        """Return the elbow of the likelihood."""
        bins = laws.coarse(max(8, int(np.ceil(2.0 * np.cbrt(laws.n_positive)))))
        w, v = bins.unlabeled, bins.positive
        # A bin without unlabeled mass should contain no positives, but noise puts a few there.
        w = np.maximum(w, FLOOR) / np.maximum(w, FLOOR).sum()
        share = elbow(likelihoods(w, v), _entropy(w) + _entropy(v))
        return Found(share, {"bins": float(bins.points.size)})


@dataclass(frozen=True, kw_only=True)
class AlphaMaxNoise(AlphaMax):
    r"""AlphaMax-N, which allows some labeled positives to be negatives.

    If :math:`a_+` is the AlphaMax share of the positive distribution in the unlabeled distribution,
    and :math:`1 - b_+` is the share of the unlabeled distribution in the positive distribution,
    then :math:`a = a_+ b_+ / (1 - a_+ (1 - b_+))`.

    Examples
    --------
    >>> from noneg.prior import AlphaMaxNoise, ScoreLaws
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(4.0, 1.0, 500)
    >>> unlabeled = np.append(rng.normal(4.0, 1.0, 600), rng.normal(0.0, 1.0, 1400))
    >>> laws = ScoreLaws.from_arrays(positive, unlabeled, setting="two-sample", scale="logit")
    >>> AlphaMaxNoise().fit(laws).diagnostics["purity"] > 0.8
    True
    """

    name = "alphamax-n"
    title = "AlphaMax-N"
    citation = "Jain, White and Radivojac (2016), Estimating the class prior"
    assumption = (
        "neither class contains the other as a component (mutual irreducibility); some labeled "
        "positives may be negatives"
    )

    def find(self, laws: ScoreLaws) -> Found:
        """Return the share corrected for wrong labels, and the purity of the labels."""
        apparent = super().find(laws).share
        swapped = replace(
            laws,
            points=-laws.points[::-1],
            positive=laws.unlabeled[::-1],
            unlabeled=laws.positive[::-1],
            n_positive=laws.n_unlabeled,
            n_unlabeled=laws.n_positive,
            scale="logit",
        )
        rest = 1.0 - super().find(swapped).share
        scale = 1.0 - apparent * (1.0 - rest)
        return Found(apparent * rest / scale, {"apparent_share": apparent, "purity": rest / scale})


def likelihoods(w: Floats, v: Floats) -> Floats:
    """Return L(c) at `SHARES`, made nonincreasing from the right."""
    c = SHARES[:, None]
    u = np.maximum(_best_split(w, v, c), 1e-300)
    rest = np.maximum(w - u + c * v, 1e-300)
    found = (w * np.log(rest)).sum(axis=1) + np.where(v > 0.0, v * np.log(u / c), 0.0).sum(axis=1)
    out: Floats = np.maximum.accumulate(found[::-1])[::-1]
    return out


def _entropy(mass: Floats) -> float:
    return float(xlogy(mass, mass).sum())


def _best_split(w: Floats, v: Floats, c: Floats) -> Floats:
    """Return the maximizing u, one row per share, by bisection on the Lagrange multiplier.

    For each bin, the condition ``v/u - w/(w - u + c v) = m`` is quadratic in u.
    """

    def too_much(m: Floats) -> Flags:
        return _split(w, v, c, m).sum(axis=1, keepdims=True) > c

    ends = np.full_like(c, -1e6), np.full_like(c, 1e6)
    return _split(w, v, c, bisected(too_much, *ends, steps=80))


def _split(w: Floats, v: Floats, c: Floats, m: Floats) -> Floats:
    total = w + c * v
    b = m * total + v + w
    root = np.sqrt(np.maximum(0.0, b * b - 4.0 * m * v * total))
    # The smaller root, in a form that avoids cancellation.
    u = np.divide(2.0 * v * total, b + root, out=np.full_like(b, np.inf), where=b + root > 0.0)
    return np.clip(u, 0.0, w)


def elbow(curve: Floats, start: float) -> float:
    """Return the share where the negated curve bends upward most, relative to its earlier height.

    Parameters
    ----------
    curve : ndarray
        L(c) at `SHARES`.
    start : float
        L(0), the likelihood of two independent fits.
    """
    drop = _rolling_median(-curve, 2)
    drop = np.concatenate([np.full(_BEFORE.size, min(-start, drop[0])), drop])
    span = drop[-1] - drop[0]
    if not span > FLAT:
        return float(SHARES[-1])
    drop = (drop - drop[0]) / span
    least = 1.0 / (_LINE[-1] - _LINE[0]) / 100.0
    x, y = (sliding_window_view(line, NEIGHBORS + 1) for line in (_LINE, drop))
    slope = _slopes_below(x, y, least)
    # For each point, one window ends there and another one starts there.
    left, right = slice(None, -NEIGHBORS), slice(NEIGHBORS, None)
    turn = (slope[right] - slope[left]) / (np.median(y[left], axis=1) + 0.01)
    return max(0.0, float(_LINE[NEIGHBORS + int(np.argmax(turn))]))


def _slopes_below(x: Floats, y: Floats, least: float) -> Floats:
    """Return, for each window (row), the slope of the least-squares line below all points.

    The line touches the lowest points, so it either passes through two points or is the
    least-squares line through a single point.
    """
    dx, dy = (a[:, :, None] - a[:, None, :] for a in (x, y))
    through_two = np.divide(dy, dx, out=np.zeros_like(dx), where=dx != 0.0)
    through_one = (dx * dy).sum(axis=1) / (dx * dx).sum(axis=1)
    tried = np.concatenate([through_two.reshape(len(x), -1), through_one], axis=1)
    tried = np.maximum(tried, least)
    rest = y[:, None, :] - tried[:, :, None] * x[:, None, :]
    rest -= rest.min(axis=2, keepdims=True)
    best = np.argmin((rest * rest).sum(axis=2), axis=1)
    return tried[np.arange(len(x)), best]


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMean(ScoreEstimator):
    """Elkan and Noto's e1: the mean of G over the positives.

    G is an isotonic regression of "labeled" on the score, so only the order of the scores matters;
    e1 and e2 are then equal. With ``calibrate=False``, G is the score itself, which must
    discriminate positives from unlabeled rows (`ScoreLaws.discriminates`).

    Parameters
    ----------
    calibrate : bool

    Examples
    --------
    >>> from noneg.prior import ElkanNotoMean, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoMean().fit(laws).value, 6)
    0.3
    """

    name = "elkan-noto-e1"
    title = "Elkan-Noto e1, mean"
    citation = "Elkan and Noto (2008), Learning classifiers from only PU data"
    assumption = f"{SAMPLED}, and the classes do not overlap; overlap makes the estimate too large"

    calibrate: bool = True

    def find(self, laws: ScoreLaws) -> Found:
        """Return the share implied by the label frequency."""
        g = balanced_posterior(laws, calibrate=self.calibrate)
        # All formulas are for samples in their own proportions, n_P : n_U.
        labeled = laws.n_positive / (laws.n_positive + laws.n_unlabeled)
        pooled = labeled * g / (labeled * g + (1.0 - labeled) * (1.0 - g))
        return share_at(self.frequency(pooled, laws, labeled), labeled)

    def frequency(self, g: Floats, laws: ScoreLaws, labeled: float) -> float:  # noqa: ARG002
        """Return the label frequency in the pooled sample."""
        return float(laws.positive @ g)


@dataclass(frozen=True, kw_only=True)
class ElkanNotoRatio(ElkanNotoMean):
    """Elkan and Noto's e2: the sum of G over the positives divided by its sum over all rows.

    Examples
    --------
    >>> from noneg.prior import ElkanNotoRatio, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoRatio().fit(laws).value, 6)
    0.3
    """

    name = "elkan-noto-e2"
    title = "Elkan-Noto e2, ratio"

    def frequency(self, g: Floats, laws: ScoreLaws, labeled: float) -> float:
        """Return the label frequency in the pooled sample."""
        of_positives = labeled * float(laws.positive @ g)
        return of_positives / (of_positives + (1.0 - labeled) * float(laws.unlabeled @ g))


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMax(ElkanNotoMean):
    """Elkan and Noto's e3: the largest G, here its 95% quantile among the positives.

    Examples
    --------
    >>> from noneg.prior import ElkanNotoMax, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoMax().fit(laws).value, 6)
    0.3
    """

    name = "elkan-noto-e3"
    title = "Elkan-Noto e3, maximum"
    assumption = (
        f"{SAMPLED}, all rows with some score are positive, and G is not overconfident there"
    )

    def frequency(self, g: Floats, laws: ScoreLaws, labeled: float) -> float:  # noqa: ARG002
        """Return the label frequency in the pooled sample."""
        order = np.argsort(g, kind="stable")
        reached = np.cumsum(laws.positive[order])
        return float(g[order][min(int(np.searchsorted(reached, TOP)), g.size - 1)])


def balanced_posterior(laws: ScoreLaws, *, calibrate: bool) -> Floats:
    """Return the probability of being a positive rather than unlabeled, with equal weights."""
    if calibrate:
        total = laws.positive + laws.unlabeled
        found = isotonic_regression(laws.positive / total, weights=total).x
    elif laws.discriminates:
        found = laws.probabilities
    else:
        rule = (
            "must be True for scores that were not trained to separate positives from "
            "unlabeled rows"
        )
        remedy = "Omit it, or score the rows with noneg.prior.discriminate."
        raise InputError("calibrate", rule, remedy=remedy)
    return np.clip(found, 1e-9, 1.0 - 1e-9)


def share_at(frequency: float, labeled: float) -> Found:
    """Return the share implied by a label frequency, at most one."""
    share = share_of_frequency(frequency, labeled)
    return Found(min(1.0, share), {"label_frequency": frequency, "clipped": float(share > 1.0)})


@dataclass(frozen=True, kw_only=True)
class ReCPE(ScoreEstimator):
    """Regrouping followed by a score-based estimator.

    Copies count as rows: with only a few positives and many unlabeled rows, they would outnumber
    the positives, so `fraction` should stay well below the share of positives.

    Parameters
    ----------
    base : ScoreEstimator
    fraction : float
        Fraction of the unlabeled rows to copy, those with the highest scores.

    Examples
    --------
    >>> from noneg.prior import ReCPE, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> found = ReCPE(fraction=0.1).fit(laws)
    >>> round(found.diagnostics["without_regrouping"], 2)
    0.3
    """

    name = "recpe"
    title = "Regrouping (ReCPE)"
    citation = "Yao et al. (2022), Rethinking class-prior estimation"
    assumption = (
        f"{SAMPLED}; negatives may overlap with them slightly, and the copied part "
        "of the unlabeled rows is mostly positive"
    )
    rank_based = False
    bootstrap_points = 512

    base: ScoreEstimator = field(default_factory=Dedpul)
    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_fraction(self.fraction)

    def find(self, laws: ScoreLaws) -> Found:
        """Return the estimates of the base method with and without regrouping."""
        found = self.base.find(regroup(laws, self.fraction))
        plain = self.base.find(laws).share
        return Found(found.share, {**found.diagnostics, "without_regrouping": plain})


def check_fraction(fraction: float) -> None:
    """Reject fractions that copy no rows or all rows."""
    if not 0.0 < fraction < 1.0:
        msg = "must be the part of the unlabeled rows to copy, a number in (0, 1)"
        raise InputError("fraction", f"{msg}, got {fraction!r}.")


def regroup(laws: ScoreLaws, fraction: float) -> ScoreLaws:
    """Copy the unlabeled rows with the highest scores into the positives.

    Examples
    --------
    >>> from noneg.prior import ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.5], [0.1, 0.5, 0.7, 0.9], setting="two-sample")
    >>> regroup(laws, 0.25).n_positive
    2.0
    """
    over = laws.above("unlabeled") - laws.unlabeled
    copied = np.clip(fraction - over, 0.0, laws.unlabeled) * laws.n_unlabeled
    total = laws.n_positive * laws.positive + copied
    n = float(total.sum())
    return replace(laws, positive=total / n, n_positive=n, discriminates=False)
