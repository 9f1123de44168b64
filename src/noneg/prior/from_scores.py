r"""Estimators from the tails of the two score laws, and from the label frequency.

**BBE**, best bin estimation: the ratio of the two laws above the best threshold (Garg, Wu, Smola,
Balakrishnan and Lipton 2021, Mixture proportion estimation and PU learning: a modern approach,
Algorithm 1). With :math:`q_U(c), q_P(c)` the shares of unlabeled rows and of positives that score
at least c,

.. math:: \hat c = \arg\min_c \frac{q_U(c)}{q_P(c)} + \frac{1+\gamma}{q_P(c)}
   \Big(\sqrt{\tfrac{\log(4/\delta)}{2 n_P}} + \sqrt{\tfrac{\log(4/\delta)}{2 n_U}}\Big),
   \qquad \hat a = \frac{q_U(\hat c)}{q_P(\hat c)}.

The smallest value of a noisy curve is low by luck, too: with :math:`K / q_P` for the penalty, the
estimate is low by

.. math:: \frac{1}{K}\Big(\frac{a}{n_U} + \frac{a^2}{n_P}\Big)

on average if classes are far apart (``experiments/prior/single_draws.py`` derives it).

With ``allowance`` k > 0 the rule is the one-standard-error rule of cross-validation, which takes
the simplest model within a standard error of the best (Breiman, Friedman, Olshen and Stone 1984):
of all cuts whose penalized ratio is within k standard errors of the smallest, the one that most
positives reach. The squared error is that of the ratio at :math:`\hat c` against the ratio of all
positives,

.. math:: \Big(\frac{\hat a}{n_U} + \frac{\hat a^2}{n_P}\Big) \frac{1 - q_P(\hat c)}{q_P(\hat c)}.

**Quick**: the largest prior that the scores do not contradict. Above no threshold can there be more
positives than rows, so :math:`a \le \inf_t \mathrm{PPR}_U(t)/\mathrm{TPR}(t)`.
`noneg.performance.assumptions.largest_prior` checks a given prior by the same cuts.

**Elkan and Noto** (2008), Learning classifiers from only positive and unlabeled data, Section 2.
With :math:`G(x) = p(\text{labeled} \mid x)` in the pooled sample,

.. math:: e_1 = E_+[G], \qquad e_2 = \frac{\sum_P G}{\sum_{P \cup U} G}, \qquad e_3 = \max G

each estimate the label frequency c, from which the share follows (`share_of_frequency`).

**ReCPE**: regroup before estimating, if negatives may look like positives (Yao et al. 2022,
Rethinking class-prior estimation for positive-unlabeled learning). The most positive-looking part A
of the unlabeled rows is copied into the positives, which moves the negatives in A to the positive
side; any estimator then answers. If negatives do not contain positives, the estimate grows by at
most :math:`(1 - a) p_N(A)`; if they do, a larger bias goes away.
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
    from noneg.prior.samples import Floats, ScoreLaws

# The quantile that stands for the maximum, which is too noisy itself.
TOP = 0.95
# Level of the limits by which `Quick` chooses its cut: the higher, the less luck decides.
CHOOSING = 0.999
# Share of the positives above the highest cut that a lower limit trusts.
REACHED = 0.125


@dataclass(frozen=True, kw_only=True)
class BestBin(ScoreEstimator):
    """Best bin estimation (BBE).

    Every distinct score is a threshold, and rows at it count in both laws; only the penalty keeps
    thresholds away that few positives reach. Without ties the estimate equals that of the authors'
    code to the last digit, if more than one row of each sample lies above the threshold, which
    that code requires; with ties it leaves out one unlabeled row of those at the threshold.

    Parameters
    ----------
    delta : float
        Confidence in the penalty that chooses the threshold.
    gamma : float
        Slack of that penalty.
    allowance : float
        0 is the published rule. 1 takes the lowest threshold within one standard error of the best,
        which luck moves far less: single estimates are as exact as counting allows if classes are
        far apart, and too large by up to a standard error more if they overlap.

    Examples
    --------
    >>> from noneg.prior import BestBin, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> BestBin().fit(laws).value
    0.3

    Single draws of a large share, with the published rule and with an allowance:

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
        f"{SAMPLED}, and above some score that many positives reach there are no negatives; "
        "without such a score the answer is an upper bound"
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
        """Return K, so that the penalty is ``K / q_P``.

        Examples
        --------
        >>> round(BestBin().slack(2000, 4000), 4)
        0.0524
        """
        reach = _reach(self.delta, n_positive) + _reach(self.delta, n_unlabeled)
        return (1.0 + self.gamma) * reach

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return Dvoretzky-Kiefer-Wolfowitz bounds, valid at all thresholds at once.

        The upper end is the smallest ``(q_U + e_U) / (q_P - e_P)``: the paper's bound before it
        replaces the difference by ``(1 + gamma)``, so that it holds for few positives, too. The
        lower end is ``(q_U - e_U) / (q_P + e_P)`` at the chosen threshold.
        """
        top_u, top_p, k = self._tails(laws)
        e_u, e_p = (_reach(1.0 - level, n) for n in (laws.n_unlabeled, laws.n_positive))
        enough = top_p > e_p
        bound = (top_u[enough] + e_u) / (top_p[enough] - e_p)
        low = float((top_u[k] - e_u) / (top_p[k] + e_p))
        return Interval(
            min(max(0.0, low), share),
            max(share, min(1.0, float(bound.min(initial=1.0)))),
            "Dvoretzky-Kiefer-Wolfowitz; the upper end needs no assumption on the negatives, the "
            "lower end needs that there are none above the threshold; not the training of the "
            "scores",
        )

    def _tails(self, laws: ScoreLaws) -> tuple[Floats, Floats, int]:
        """Return both laws at or above each point, and the place of the chosen threshold."""
        top_u, top_p = laws.above("unlabeled"), laws.above("positive")
        total = top_u + self.slack(laws.n_positive, laws.n_unlabeled)
        # Above the last positive there is no ratio.
        tried = np.divide(total, top_p, out=np.full_like(total, np.inf), where=top_p > 0.0)
        best = int(np.argmin(tried))
        share, reached = float(top_u[best] / top_p[best]), float(top_p[best])
        square = share / laws.n_unlabeled + share**2 / laws.n_positive
        # Rounding may lift the reached mass above one.
        error = np.sqrt(square * max(0.0, 1.0 - reached) / reached)
        return top_u, top_p, int(np.argmax(tried <= tried[best] + self.allowance * error))


def _reach(delta: float, n: float) -> float:
    return float(np.sqrt(np.log(4.0 / delta) / (2.0 * n)))


@dataclass(frozen=True, kw_only=True)
class Quick(ScoreEstimator):
    """The largest share that the scores allow, at cuts that divide the positives evenly.

    Of all cuts the one counts whose confidence limit is the smallest; the estimate is the ratio of
    the two laws above it. It needs neither tuning nor densities, and takes milliseconds.

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
        f"{SAMPLED}; nothing on the negatives, so it is an upper bound and the prior may be smaller"
    )
    citation = "Scott (2015), A rate of convergence for mixture proportion estimation"

    def find(self, laws: ScoreLaws) -> Found:
        """Return the ratio of the two laws above the cut that bounds it best."""
        (tpr, _), (ppr, _) = laws.cuts()
        best = _tightest(laws)
        return Found(min(1.0, float(ppr[best] / tpr[best])), {"pure_mass": float(tpr[best])})

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return the smallest upper limit, and the smallest lower one over cuts that many reach."""
        low, high = share_limits(*laws.cuts(), level=level)
        (tpr, _), _ = laws.cuts()
        method = (
            "exact binomial limits, simultaneous over the cuts; the upper end needs no assumption "
            "on the negatives, the lower end needs that there are none among the top eighth of "
            "the positives; not the training of the scores"
        )
        least = min(share, float(low[tpr >= REACHED].min()))
        return Interval(least, max(share, min(1.0, float(high.min()))), method)


def _tightest(laws: ScoreLaws) -> int:
    """Return the place of the cut whose upper limit is the smallest."""
    return int(np.argmin(share_limits(*laws.cuts(), level=CHOOSING)[1]))


@dataclass(frozen=True, kw_only=True)
class Tightest(Quick):
    """The smaller of two upper bounds: the largest compatible share, and that of DEDPUL.

    Both are too large where classes overlap, for different reasons; limits are those of `Quick`.

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
        """Return the smaller answer, and both among the diagnostics."""
        found = super().find(laws)
        shares = {"compatible": found.share, "dedpul": Dedpul().find(laws).share}
        return Found(min(shares.values()), {**found.diagnostics, **shares})


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMean(ScoreEstimator):
    """Elkan and Noto's e1: the mean of G over the positives.

    G is an isotonic regression of "labeled" on the score, so any scores with the right order do;
    e1 and e2 are then the same number. With ``calibrate=False`` G is the scores themselves, which
    must discriminate positives from unlabeled rows (`ScoreLaws.discriminates`).

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
    assumption = f"{SAMPLED}, and the classes do not overlap; overlap makes the answer too large"

    calibrate: bool = True

    def find(self, laws: ScoreLaws) -> Found:
        """Return the share that follows from the label frequency."""
        g = balanced_posterior(laws, calibrate=self.calibrate)
        # Everything is written for samples in their own proportion, n_P : n_U.
        labelled = laws.n_positive / (laws.n_positive + laws.n_unlabeled)
        pooled = labelled * g / (labelled * g + (1.0 - labelled) * (1.0 - g))
        return share_at(self.frequency(pooled, laws, labelled), labelled)

    def frequency(self, g: Floats, laws: ScoreLaws, labelled: float) -> float:  # noqa: ARG002
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

    def frequency(self, g: Floats, laws: ScoreLaws, labelled: float) -> float:
        """Return the label frequency in the pooled sample."""
        of_positives = labelled * float(laws.positive @ g)
        return of_positives / (of_positives + (1.0 - labelled) * float(laws.unlabeled @ g))


@dataclass(frozen=True, kw_only=True)
class ElkanNotoMax(ElkanNotoMean):
    """Elkan and Noto's e3: the largest G, here its 95 % quantile among the positives.

    Examples
    --------
    >>> from noneg.prior import ElkanNotoMax, ScoreLaws
    >>> laws = ScoreLaws.from_arrays([0.9] * 50, [0.9] * 30 + [0.1] * 70, setting="two-sample")
    >>> round(ElkanNotoMax().fit(laws).value, 6)
    0.3
    """

    name = "elkan-noto-e3"
    title = "Elkan-Noto e3, maximum"
    assumption = f"{SAMPLED}, some score has only positives, and G is not over-confident there"

    def frequency(self, g: Floats, laws: ScoreLaws, labelled: float) -> float:  # noqa: ARG002
        """Return the label frequency in the pooled sample."""
        order = np.argsort(g, kind="stable")
        reached = np.cumsum(laws.positive[order])
        return float(g[order][min(int(np.searchsorted(reached, TOP)), g.size - 1)])


def balanced_posterior(laws: ScoreLaws, *, calibrate: bool) -> Floats:
    """Return the probability of being a positive rather than unlabeled, both weighted equally."""
    if calibrate:
        total = laws.positive + laws.unlabeled
        found = isotonic_regression(laws.positive / total, weights=total).x
    elif laws.discriminates:
        found = laws.probabilities
    else:
        msg = (
            "must be True for scores that were not made to tell positives from "
            "unlabeled rows. Leave it out, or score the rows by noneg.prior.discriminate."
        )
        raise InputError("calibrate", msg)
    return np.clip(found, 1e-9, 1.0 - 1e-9)


def share_at(frequency: float, labelled: float) -> Found:
    """Return the share that follows from a label frequency, at most one."""
    share = share_of_frequency(frequency, labelled)
    return Found(min(1.0, share), {"label_frequency": frequency, "clipped": float(share > 1.0)})


@dataclass(frozen=True, kw_only=True)
class ReCPE(ScoreEstimator):
    """Regrouping in front of an estimator from scores.

    Copies count as rows: with few positives beside many unlabeled rows they would outnumber the
    positives, so `fraction` should stay well below the share of positives.

    Parameters
    ----------
    base : ScoreEstimator
    fraction : float
        Part of the unlabeled rows to copy, those with the highest scores.

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
        f"{SAMPLED}; negatives may overlap with them a little, and the part of the unlabeled rows "
        "that is copied is mostly positive"
    )
    rank_based = False
    bootstrap_points = 512

    base: ScoreEstimator = field(default_factory=Dedpul)
    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_fraction(self.fraction)

    def find(self, laws: ScoreLaws) -> Found:
        """Return the base's answer after regrouping, and without it."""
        found = self.base.find(regroup(laws, self.fraction))
        plain = self.base.find(laws).share
        return Found(found.share, {**found.diagnostics, "without_regrouping": plain})


def check_fraction(fraction: float) -> None:
    """Refuse to copy no row, or all rows."""
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
