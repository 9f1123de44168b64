r"""Differences between models on the same rows.

The estimates for two models come from the same rows, so their errors are correlated and the
difference is known more precisely than either estimate. Every criterion except the calibration
error is a smooth function of a few means :math:`m_j` and the prior. The contribution of row i to
the error of a mean of f under the positive distribution is :math:`a_i (f_i - \bar f)`, where
:math:`a_i` is its mass under that distribution; the same holds for the marginal distribution. Thus

.. math:: \hat\theta_A - \hat\theta_B \approx \theta_A - \theta_B
    + \sum_i \sum_j \frac{\partial(\theta_A - \theta_B)}{\partial m_j}\,\varphi_{ij},

and the joint covariance of the means, :math:`\sum_i \varphi_{ij}\varphi_{ik}`, gives the variance
at every prior. For labeled data, the prior is one of the means.

Rules (precision, F1, accuracy, ...)
    TPR and PPR of both models.
Losses (log loss, Brier score, ...)
    The mean differences between the losses of the two models.
Areas
    Placements of each group within the other (DeLong et al. 1988). AUC - 1/2 is a multiple of
    proxy AUC - 1/2.
Calibration errors
    See `noneg.calibration.interval`.

If hidden positives may differ from labeled ones, a single distribution of the positives determines
both metrics, because both models score the same positives. At a given prior, the difference between
two metrics that are linear in that distribution is a constant plus the mean of :math:`f_A - f_B`
under it, with f as in `noneg.selection`. Its extremes follow from sorting the values of
:math:`f_A - f_B`. The limits implied by the unlabeled rows are not used, since no single score
orders the rows; apart from them, the range is sharp. For differences between calibration errors,
each error is bounded separately.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.calibration.interval import PAIRED_METHOD, Masses, PairedErrors
from noneg.checks import (
    check_flags,
    check_scores,
    check_setting,
    check_weights,
    is_labeled,
    is_pooled,
)
from noneg.errors import InputError
from noneg.intervals import over_priors, prior_words, t_score, z_score
from noneg.laws import placements
from noneg.performance.ordering import proxy_auc
from noneg.registry import METRICS
from noneg.results import Estimate
from noneg.scores import PUScores
from noneg.selection import (
    LIMIT_GRID,
    Box,
    assembled,
    bounded,
    is_selected,
    smallest_factor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting, WeightKind
    from noneg.intervals import Limits
    from noneg.losses import Loss
    from noneg.registry import Metric
    from noneg.rules import Rule
    from noneg.selection import Law

    # Differences at many priors and their derivatives, and what determines their intervals: each
    # row's contributions to the errors of some means, shape (k, n), and a function of priors.
    Slopes = tuple[Floats, Floats]
    Smooth = tuple[Floats, Callable[[Floats], Slopes]]

PAIRED = "paired rows, delta method"


@dataclass(frozen=True, eq=False)
class PairedRows:
    """The same rows scored by several models.

    Attributes
    ----------
    flags : ndarray of bool
        True for labeled positives.
    columns : dict of str to ndarray
        The scores from each model.
    setting : str
    weight : ndarray or None
    kind : {"frequency", "importance"}
    """

    flags: Flags
    columns: dict[str, Floats]
    setting: Setting
    weight: Floats | None = None
    kind: WeightKind = "frequency"

    @classmethod
    def checked(
        cls,
        models: Mapping[str, ArrayLike],
        label: ArrayLike,
        *,
        setting: Setting,
        positive_label: object = None,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "frequency",
    ) -> PairedRows:
        """Check the score columns of several models and the labels; see `noneg.compare`."""
        if len(models) < 2:
            msg = f"must contain at least two models to compare, got {len(models)}."
            raise InputError("models", msg)
        setting, flags = check_setting(setting), check_flags(label, "label", positive_label)
        columns = {str(name): check_scores(x, str(name)) for name, x in models.items()}
        for name, x in columns.items():
            if x.size != flags.size:
                sizes = f"got {x.size:,} scores for {flags.size:,} labels"
                msg = f"{name!r} must score the same rows as the other models, {sizes}."
                raise ValueError(msg)
        w = None
        if sample_weight is not None:
            w = check_weights(sample_weight, weight_kind, flags.size, "sample_weight")
            there = w > 0.0
            flags, w = flags[there], w[there]
            columns = {name: x[there] for name, x in columns.items()}
        for group, what in ((flags, "labeled positive"), (~flags, "unlabeled row")):
            if not is_labeled(setting) and not group.any():
                raise InputError("label", f"must contain at least one {what}, got none.")
        return cls(flags, columns, setting, w, weight_kind)

    def part(self, here: Flags) -> PairedRows:
        """Return a subset of the rows."""
        columns = {name: x[here] for name, x in self.columns.items()}
        weight = None if self.weight is None else self.weight[here]
        return PairedRows(self.flags[here], columns, self.setting, weight, self.kind)

    def scores(
        self, prior: float | None = None, interval: tuple[float, float] | None = None
    ) -> dict[str, PUScores]:
        """Return each model's scores separately; labeled data have no other prior."""
        labeled = is_labeled(self.setting)
        build = PUScores.from_labels if labeled else PUScores.from_pu_labels
        facts = {"setting": self.setting, "prior": prior, "prior_interval": interval}
        options: dict[str, Any] = {"sample_weight": self.weight, "weight_kind": self.kind}
        options |= {} if labeled else facts
        return {name: build(self.flags, s, **options) for name, s in self.columns.items()}

    @cached_property
    def masses(self) -> Masses:
        """Row counts, and row masses under both distributions."""
        w = self.weight
        count = w if w is not None and self.kind == "frequency" else np.ones(self.flags.size)
        positive, marginal = self.flags * self.mass, self.mass
        if not is_pooled(self.setting):
            marginal = ~self.flags * self.mass
        positive, marginal = (x / (float(count @ x) or 1.0) for x in (positive, marginal))
        return Masses(count, positive, marginal)

    @cached_property
    def mass(self) -> Floats:
        """Importance weight of each row."""
        w = self.weight
        return w if w is not None and self.kind == "importance" else np.ones(self.flags.size)

    def effective(self, group: Flags) -> float:
        """Return Kish's effective number of rows in a group."""
        f, m = self.masses.count[group], self.mass[group]
        square = float(f @ m**2)
        return float(f @ m) ** 2 / square if square > 0.0 else 0.0

    def centered(self, law: Floats, values: Floats | Flags) -> tuple[Floats, Floats]:
        """Return means under a distribution, and each row's contributions to their errors."""
        means: Floats = values @ (self.masses.count * law)
        parts: Floats = values - means[:, None]
        parts *= law
        return means, parts

    @cached_property
    def everyone(self) -> Floats:
        """Share of each row in the marginal distribution, with all rows that it stands for."""
        return self.masses.count * self.masses.marginal

    @cached_property
    def labeled(self) -> Floats:
        """Share of each labeled positive in their distribution, likewise."""
        return (self.masses.count * self.masses.positive)[self.flags]

    @property
    def prior_part(self) -> Floats:
        """Each row's contribution to the error of the share of labeled rows, shape (1, n)."""
        return self.centered(self.masses.marginal, self.flags[None])[1]


def rule_slopes(rule: Rule, tpr: float, ppr: float, prior: Floats) -> tuple[Floats, Floats]:
    """Return a rule at given priors, and its derivatives in TPR, PPR and the prior, shape (3, m).

    Examples
    --------
    >>> from noneg.rules import PRECISION
    >>> value, slopes = rule_slopes(PRECISION, 0.5, 0.25, np.array([0.4]))
    >>> print(value, slopes[:, 0])
    [0.8] [ 1.6 -3.2  2. ]
    """
    a, b, c, d = np.array(rule.matrix)
    means = np.array([1.0, tpr, ppr])
    top, bottom = a[:, None] + np.outer(b, prior), c[:, None] + np.outer(d, prior)
    ratio, room = (means @ top) / (means @ bottom), means @ bottom
    slopes = np.stack(
        [
            (top[1] - ratio * bottom[1]) / room,
            (top[2] - ratio * bottom[2]) / room,
            (b @ means - ratio * (d @ means)) / room,
        ]
    )
    if rule.by_odds:
        spread = ppr * (1.0 - ppr)
        factor = np.sqrt(prior / (1.0 - prior) / spread)
        ratio, slopes = ratio * factor, slopes * factor
        slopes[1] -= ratio * (1.0 - 2.0 * ppr) / (2.0 * spread)
        slopes[2] += ratio / (2.0 * prior * (1.0 - prior))
    return ratio, slopes


# Metrics without a rule or a loss whose differences still have an interval.
ERRORS = ("ece", "debiased_ece")
AREAS = ("auroc", "proxy_auc")


def check_comparable(metric: Metric) -> Metric:
    """Raise if the differences of a metric have no interval; otherwise, return the metric."""
    known = [
        name
        for name, one in METRICS.items()
        if one.rule is not None or one.loss is not None or name in (*ERRORS, *AREAS)
    ]
    if metric.name not in known:
        msg = f"must be metrics whose differences have an interval ({', '.join(known)})"
        raise InputError("criteria", f"{msg}, got {metric.name!r}.")
    return metric


@dataclass(frozen=True, eq=False)
class Contrast:
    """A difference as a function of means over the positives and over all rows, and of the prior.

    Attributes
    ----------
    positive, marginal : ndarray, shape (j, n) and (k, n)
        Functions of the rows. The difference depends on their means under the positive and the
        marginal distribution, and is linear in the former.
    at : callable
        Maps the means under both distributions and priors, shape (m,), to differences, shape (m,),
        and their derivatives with respect to all means and the prior, shape (j + k + 1, m).
    """

    positive: Floats
    marginal: Floats
    at: Callable[[Floats, Floats, Floats], Slopes]

    @classmethod
    def of_rule(cls, rule: Rule, threshold: float, one: Floats, other: Floats) -> Contrast:
        """Return the difference of a confusion-matrix metric between two columns of scores."""
        above = np.array([one >= threshold, other >= threshold], dtype=np.float64)

        def at(tpr: Floats, ppr: Floats, prior: Floats) -> Slopes:
            value, slopes = rule_slopes(rule, tpr[0], ppr[0], prior)
            value_, slopes_ = rule_slopes(rule, tpr[1], ppr[1], prior)
            by_means = slopes[0], -slopes_[0], slopes[1], -slopes_[1]
            return value - value_, np.stack([*by_means, slopes[2] - slopes_[2]])

        return cls(above, above, at)

    @classmethod
    def of_loss(cls, loss: Loss, one: Floats, other: Floats) -> Contrast:
        """Return the difference of an expected loss between two columns of scores."""
        base = loss(one, 0) - loss(other, 0)
        gain = loss(one, 1) - loss(other, 1) - base

        def at(gain: Floats, base: Floats, prior: Floats) -> Slopes:
            slopes = np.stack([prior, np.ones_like(prior), np.full_like(prior, gain[0])])
            return prior * gain + base, slopes

        return cls(gain[None], base[None], at)

    def smooth(self, rows: PairedRows) -> Smooth:
        """Return the contributions of the rows, and the difference as a function of the prior.

        The prior is a mean, too, if every row is labeled.
        """
        t, by_t = rows.centered(rows.masses.positive, self.positive)
        q, by_q = rows.centered(rows.masses.marginal, self.marginal)
        prior = rows.prior_part if is_labeled(rows.setting) else by_t[:0]
        return np.concatenate([by_t, by_q, prior]), lambda grid: self.at(t, q, grid)

    def linear(self, rows: PairedRows, prior: float) -> Linear:
        """Return the difference at a prior as a mean over the positives."""
        labeled, q = self.positive[:, rows.flags], self.marginal @ rows.everyone
        first, grid = len(labeled), np.array([prior])
        constant, slopes = self.at(np.zeros(first), q, grid)

        def marginal(mass: Floats) -> Floats:
            by_means: Floats = self.at(labeled @ mass, q, grid)[1]
            return by_means[first:-1, 0] @ self.marginal

        return Linear(rows, float(constant[0]), slopes[:first, 0] @ labeled, marginal)


@dataclass(frozen=True, eq=False)
class Areas:
    """A difference of areas, of which a row contributes its placements within the other group."""

    scores: tuple[PUScores, PUScores]
    columns: tuple[Floats, Floats]
    proxy: bool

    def smooth(self, rows: PairedRows) -> Smooth:
        """Return the contributions of the rows, and the difference as a function of the prior."""
        first, second = self.scores
        value = proxy_auc(first) - proxy_auc(second)
        pairs = _by_pairs(rows, self.columns[0]) - _by_pairs(rows, self.columns[1])
        # AUC - 1/2 is (1 - labeled share) / (1 - prior) times (proxy AUC - 1/2).
        stretched = not (self.proxy or first.prior_is_estimated)
        left = 1.0 - first.labeled_share if stretched else 1.0

        def at(prior: Floats) -> Slopes:
            unit = 1.0 / (1.0 - prior) if stretched else np.ones_like(prior)
            return unit * left * value, np.stack([unit * left, -unit * value])

        varies = stretched and first.pooled
        return np.concatenate([pairs[None], rows.prior_part] if varies else [pairs[None]]), at

    def linear(self, rows: PairedRows, prior: float) -> Linear:
        """Return the difference at a prior as a mean over the positives."""
        flags, unit = rows.flags, 1.0 if self.proxy else 1.0 / (1.0 - prior)
        group = rows.everyone * ~flags if self.proxy else rows.everyone
        places = [_placed(s[flags], s, group) for s in self.columns]

        def marginal(mass: Floats) -> Floats:
            share = [1.0 - _placed(s, s[flags], mass) for s in self.columns]
            difference: Floats = unit * (share[0] - share[1])
            return difference * ~flags if self.proxy and self.scores[0].pooled else difference

        return Linear(rows, 0.0, unit * (places[0] - places[1]), marginal)


def _by_pairs(rows: PairedRows, s: Floats) -> Floats:
    """Return each row's contribution to the error of the proxy AUC of these scores."""
    f, out = rows.masses.count, np.zeros(s.size)
    for group, sign in ((rows.flags, 1.0), (~rows.flags, -1.0)):
        share = _placed(s[group], s[~group], (f * rows.mass)[~group])
        m, total = rows.mass[group], float(f[group] @ rows.mass[group])
        mean = float((f[group] * m) @ share) / total
        size = rows.effective(group)
        out[group] = sign * np.sqrt(size / (size - 1.0)) * m * (share - mean) / total
    return out


def _placed(at: Floats, group: Floats, mass: Floats) -> Floats:
    """Return `placements` within a group whose scores are in any order."""
    order = np.argsort(group, kind="stable")
    return placements(at, group[order], mass[order])


@dataclass(frozen=True, eq=False)
class Linear:
    """A difference at a given prior: ``constant + E_plus[value]``.

    Attributes
    ----------
    rows : PairedRows
    constant : float
    value : ndarray
        Value for each labeled positive.
    marginal : callable
        Maps the masses of the labeled positives under a distribution to the contribution of each
        row, as a member of the marginal sample, to the difference.
    """

    rows: PairedRows
    constant: float
    value: Floats
    marginal: Callable[[Floats], Floats]

    def moved(self, law: Law) -> tuple[float, Floats, Floats]:
        """Return the difference, the masses of the labeled positives, and the noise function."""
        order = np.argsort(self.value, kind="stable")
        f, tpr = self.value[order], np.append(0.0, np.cumsum(self.rows.labeled[order]))
        mass = np.empty_like(f)
        mass[order] = np.diff(law(np.minimum(tpr / tpr[-1], 1.0)))
        h = np.interp(self.value, *law.through(tpr, f))
        return self.constant + float(mass @ self.value), mass, h

    def limits(self, law: Law, t: float) -> Limits:
        """Return the interval under a distribution of the positives, of t standard errors."""
        rows, flags, masses = self.rows, self.rows.flags, self.rows.masses
        value, mass, h = self.moved(law)
        k = self.marginal(mass)
        part = masses.marginal * (k - float(rows.everyone @ k))
        part[flags] += masses.positive[flags] * (h - float(rows.labeled @ h))
        gap = float(rows.labeled @ k[flags]) / float(rows.labeled.sum())
        drift = law.drift(lambda near: self.moved(near)[0])
        variance = float(masses.count @ part**2)
        reach = t * np.sqrt(law.drifted(variance, drift, gap - float(rows.everyone @ k)))
        return value - float(reach), value + float(reach)


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences between models under any criterion, with intervals.

    Attributes
    ----------
    rows : PairedRows
    scores : dict of str to PUScores
        Each model's scores.
    threshold : float
        Threshold for the criteria that have one.
    level : float
        Nominal coverage of the intervals.

    Examples
    --------
    >>> from noneg.performance.ordering import CRITERIA
    >>> models = {"a": [0.9, 0.6, 0.4, 0.2] * 50, "b": [0.8, 0.7, 0.6, 0.1] * 50}
    >>> rows = PairedRows.checked(models, [1, 1, 0, 0] * 50, setting="labeled")
    >>> found = Differences(rows, rows.scores(None, None), threshold=0.5, level=0.95)
    >>> print(found.estimate(CRITERIA["brier"], "b", "a"))
    0.0325 [0.0182, 0.0468]
    """

    rows: PairedRows
    scores: dict[str, PUScores]
    threshold: float
    level: float

    def estimate(self, criterion: Metric, one: str, other: str) -> Estimate:
        """Return one model's criterion minus the other's."""
        options = criterion.options_at(self.threshold)
        value = criterion.function(self.scores[one], **options)
        value -= criterion.function(self.scores[other], **options)
        low, high, method = -np.inf, np.inf, "unknown, too few rows"
        if np.array_equal(self.rows.columns[one], self.rows.columns[other]):
            value, low, high, method = 0.0, 0.0, 0.0, "equal scores"
        elif is_selected(self.scores[one]) and self._enough and not np.isnan(value):
            return self._selected(criterion, one, other, value)
        elif self._enough and not np.isnan(value):
            low, high, method = self._limits(criterion, one, other)
            low, high = min(low, value), max(high, value)
            method += prior_words(self.scores[one]) * criterion.needs_prior
        return Estimate(value=value, low=low, high=high, level=self.level, method=method)

    def _selected(self, criterion: Metric, one: str, other: str, value: float) -> Estimate:
        """Return the difference with its range over priors and selection."""
        scores, level, reach = self.scores[one], self.level, (-np.inf, np.inf)
        if criterion.name in ERRORS:
            # Bounding each error separately is valid, but wider than bounding them jointly.
            a, b = (criterion.estimate(self.scores[m], level=level) for m in (one, other))
            (low, high), (least, most) = a.identified or (0.0, 1.0), b.identified or (0.0, 1.0)
            identified, limits = (low - most, high - least), (a.low - b.high, a.high - b.low)
            return assembled(scores, value, identified, limits, level, reach=reach, method=PAIRED)
        contrast = self._contrast(criterion, one, other)
        box, t = Box.of(scores).without_caps(), t_score(level, scores.effective_positive)

        def point(law: Law, prior: float) -> float:
            return contrast.linear(self.rows, prior).moved(law)[0]

        def ends(law: Law, prior: float) -> Limits:
            return contrast.linear(self.rows, prior).limits(law, t)

        return bounded(
            scores, value, point, ends, level, reach=reach, method=PAIRED, box=box, grid=LIMIT_GRID
        )

    def tipping(self, criterion: Metric, one: str, other: str) -> float | None:
        """Return the smallest selection factor at which a difference may vanish.

        None for calibration errors, whose difference has no joint bounds.
        """
        if criterion.name in ERRORS or self.rows.setting == "labeled":
            return None

        def holds(factor: float) -> bool:
            scores = {name: self.scores[name].with_selection(factor) for name in (one, other)}
            gap = replace(self, scores=scores).estimate(criterion, one, other)
            return gap.low <= 0.0 <= gap.high

        return smallest_factor(holds, tolerance=1e-3)

    @cached_property
    def _enough(self) -> bool:
        """Whether both groups have enough rows to estimate a variance."""
        return min(map(self.rows.effective, (self.rows.flags, ~self.rows.flags))) >= 2

    def _limits(self, criterion: Metric, one: str, other: str) -> tuple[float, float, str]:
        """Return the ends of the interval, normal at each prior, and a description."""
        if check_comparable(criterion).name in ERRORS:
            return *self._error_limits(one, other), PAIRED_METHOD
        parts, at = self._contrast(criterion, one, other).smooth(self.rows)
        z = z_score(self.level)
        covariance = (self.rows.masses.count * parts) @ parts.T

        def limits(grid: Floats) -> tuple[Floats, Floats]:
            value, slopes = at(grid)
            slopes = slopes[: len(parts)]
            variance = np.einsum("jm,jk,km->m", slopes, covariance, slopes)
            reach = z * np.sqrt(np.maximum(variance, 0.0))
            return value - reach, value + reach

        return *over_priors(limits, self.scores[one].prior_set), PAIRED

    def _contrast(self, criterion: Metric, one: str, other: str) -> Contrast | Areas:
        """Return the difference of a rule, a loss or an area."""
        columns = self.rows.columns[one], self.rows.columns[other]
        if criterion.rule is not None:
            return Contrast.of_rule(criterion.rule(), self.threshold, *columns)
        if criterion.loss is not None:
            loss = criterion.loss(**criterion.options_at(self.threshold))
            return Contrast.of_loss(loss, *columns)
        pair = self.scores[one], self.scores[other]
        return Areas(pair, columns, proxy=criterion.name == "proxy_auc")

    def _error_limits(self, one: str, other: str) -> tuple[float, float]:
        # Use the same splits in both directions, so that swapping the models flips the sign.
        names = list(self.rows.columns)
        if names.index(one) > names.index(other):
            low, high = self._error_limits(other, one)
            return -high, -low
        pair = self.rows.columns[one], self.rows.columns[other]
        errors = PairedErrors((self.scores[one], self.scores[other]), pair, self.rows.masses)
        return errors.limits(self.level)
