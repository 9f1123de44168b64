r"""Estimators based on the tails of the two score distributions, and on the label frequency.

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
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from noneg.errors import InputError
from noneg.performance.assumptions import share_limits
from noneg.prior.base import SAMPLED, Found, Interval, ScoreEstimator
from noneg.prior.dedpul import Dedpul
from noneg.prior.samples import share_of_frequency

if TYPE_CHECKING:
    from noneg.arrays import Floats
    from noneg.prior.samples import ScoreLaws

# Quantile used in place of the maximum, which is too noisy.
TOP = 0.95
# Level of the limits that `Quick` uses to choose its cut; a higher level reduces selection effects.
CHOOSING = 0.999
# Smallest share of positives above a cut for which the lower limit is used.
REACHED = 0.125


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
