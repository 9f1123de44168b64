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
from noneg.selection import ROUNDING, Box, assembled, is_selected, over_box, smallest_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting, WeightKind
    from noneg.intervals import Limits
    from noneg.losses import Loss
    from noneg.registry import Metric
    from noneg.rules import Rule
    from noneg.selection import Law

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
        self, prior: float | None, interval: tuple[float, float] | None
    ) -> dict[str, PUScores]:
        """Return each model's scores separately; without a prior, the data are labeled."""
        if prior is not None or interval is not None:
            return self._built(prior=prior, prior_interval=interval, setting=self.setting)
        return self._built()

    def unsettled(self) -> dict[str, PUScores]:
        """Return each model's scores without a prior."""
        return self._built(setting=self.setting)

    def _built(self, **known: Any) -> dict[str, PUScores]:  # noqa: ANN401
        build = PUScores.from_pu_labels if known else PUScores.from_labels
        options = {"sample_weight": self.weight, "weight_kind": self.kind, **known}
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

    def centered(self, law: Floats, values: Floats) -> tuple[float, Floats]:
        """Return a mean under a distribution, and each row's contribution to its error."""
        mean = float((self.masses.count * law) @ values)
        return mean, law * (values - mean)

    def gains(self, loss: Loss, one: str, other: str) -> tuple[Floats, Floats]:
        """Return both differences: of ``loss(s, 1) - loss(s, 0)``, and of ``loss(s, 0)``."""
        s, t = self.columns[one], self.columns[other]
        base = loss(s, 0) - loss(t, 0)
        return loss(s, 1) - loss(t, 1) - base, base

    @property
    def prior_part(self) -> Floats:
        """Each row's contribution to the error of the share of labeled rows."""
        w = self.masses.marginal
        return w * (self.flags - float((self.masses.count * w) @ self.flags))

    def area(self, name: str) -> Floats:
        """Return each row's contribution to the error of a model's proxy AUC."""
        s, f = self.columns[name], self.masses.count
        out = np.zeros(s.size)
        for group, sign in ((self.flags, 1.0), (~self.flags, -1.0)):
            share = _placed(s[group], s[~group], (f * self.mass)[~group])
            m, total = self.mass[group], float(f[group] @ self.mass[group])
            mean = float((f[group] * m) @ share) / total
            size = self.effective(group)
            out[group] = sign * np.sqrt(size / (size - 1.0)) * m * (share - mean) / total
        return out


@dataclass(frozen=True, eq=False)
class Smooth:
    """The difference between two models as a smooth function of means and the prior.

    Attributes
    ----------
    parts : ndarray, shape (k, n)
        Each row's contribution to the errors of k means.
    at : callable
        Maps priors, shape (m,), to differences, shape (m,), and their derivatives with respect to
        the means, shape (k, m).
    """

    parts: Floats
    at: Callable[[Floats], tuple[Floats, Floats]]

    def limits(self, count: Floats, priors: tuple[float, float], level: float) -> Limits:
        """Return the widest normal confidence limits over the priors."""
        covariance, z = (count * self.parts) @ self.parts.T, z_score(level)

        def limits(grid: Floats) -> tuple[Floats, Floats]:
            value, slopes = self.at(grid)
            variance = np.einsum("jm,jk,km->m", slopes, covariance, slopes)
            reach = z * np.sqrt(np.maximum(variance, 0.0))
            return value - reach, value + reach

        return over_priors(limits, priors)


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
        if criterion.name in ERRORS:
            # Bounding each error separately is valid, but wider than bounding them jointly.
            a, b = (criterion.estimate(self.scores[m], level=self.level) for m in (one, other))
            (low, high), (least, most) = a.identified or (0.0, 1.0), b.identified or (0.0, 1.0)
            identified, limits = (low - most, high - least), (a.low - b.high, a.high - b.low)
        else:
            found = SelectedDifferences(self.rows, self.scores[one], self.threshold)
            identified, limits = found.bounds(criterion, one, other, self.level)
        method, reach = PAIRED, (-np.inf, np.inf)
        return assembled(
            self.scores[one], value, identified, limits, self.level, reach=reach, method=method
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
        if check_comparable(criterion).name in ERRORS:
            return *self._error_limits(one, other), PAIRED_METHOD
        smooth = self._smooth(criterion, one, other)
        priors = self.scores[one].prior_set
        return *smooth.limits(self.rows.masses.count, priors, self.level), PAIRED

    def _smooth(self, criterion: Metric, one: str, other: str) -> Smooth:
        if criterion.rule is not None:
            return self._rule(criterion.rule(), one, other)
        if criterion.loss is not None:
            return self._loss(criterion.loss(**criterion.options_at(self.threshold)), one, other)
        return self._area(criterion, one, other)

    def _rule(self, rule: Rule, one: str, other: str) -> Smooth:
        above = [(self.rows.columns[name] >= self.threshold).astype(float) for name in (one, other)]
        laws = self.rows.masses.positive, self.rows.masses.marginal
        means, parts = zip(
            *(self.rows.centered(law, x) for x in above for law in laws), strict=True
        )

        def at(prior: Floats) -> tuple[Floats, Floats]:
            value, slopes = rule_slopes(rule, means[0], means[1], prior)
            value_, slopes_ = rule_slopes(rule, means[2], means[3], prior)
            return value - value_, np.stack([*slopes[:2], *-slopes_[:2], slopes[2] - slopes_[2]])

        return self._with_prior(parts, at)

    def _loss(self, loss: Loss, one: str, other: str) -> Smooth:
        rows, (gains, base) = self.rows, self.rows.gains(loss, one, other)
        gain, by_gain = rows.centered(rows.masses.positive, gains)
        level, by_base = rows.centered(rows.masses.marginal, base)

        def at(prior: Floats) -> tuple[Floats, Floats]:
            slopes = np.stack([prior, np.ones_like(prior), np.full_like(prior, gain)])
            return prior * gain + level, slopes

        return self._with_prior((by_gain, by_base), at)

    def _with_prior(self, parts: Sequence[Floats], at: Callable[..., Any]) -> Smooth:
        """Add the prior to the means; it varies only if every row is labeled."""
        if is_labeled(self.rows.setting):
            return Smooth(np.stack([*parts, self.rows.prior_part]), at)
        return Smooth(np.stack(parts), lambda prior: (at(prior)[0], at(prior)[1][:-1]))

    def _area(self, criterion: Metric, one: str, other: str) -> Smooth:
        rows, scores = self.rows, self.scores
        value = proxy_auc(scores[one]) - proxy_auc(scores[other])
        pairs = rows.area(one) - rows.area(other)
        # AUC - 1/2 is (1 - labeled share) / (1 - prior) times (proxy AUC - 1/2).
        share = scores[one].labeled_share
        stretched = criterion.name == "auroc" and not scores[one].prior_is_estimated

        def at(prior: Floats) -> tuple[Floats, Floats]:
            unit = 1.0 / (1.0 - prior) if stretched else np.ones_like(prior)
            left = 1.0 - share if stretched else 1.0
            return unit * left * value, np.stack([unit * left, -unit * value])

        varies = stretched and scores[one].pooled
        return Smooth(np.stack([pairs, rows.prior_part if varies else 0.0 * pairs]), at)

    def _error_limits(self, one: str, other: str) -> tuple[float, float]:
        # Use the same splits in both directions, so that swapping the models flips the sign.
        names = list(self.rows.columns)
        if names.index(one) > names.index(other):
            low, high = self._error_limits(other, one)
            return -high, -low
        pair = self.rows.columns[one], self.rows.columns[other]
        errors = PairedErrors((self.scores[one], self.scores[other]), pair, self.rows.masses)
        return errors.limits(self.level)


@dataclass(frozen=True, eq=False)
class Linear:
    """A difference at a given prior: ``constant + E_plus[value]``.

    Attributes
    ----------
    constant : float
    value : ndarray
        Value for each labeled positive.
    marginal : callable
        Maps the masses of the labeled positives under a distribution to the contribution of each
        row, as a member of the marginal sample, to the difference.
    """

    constant: float
    value: Floats
    marginal: Callable[[Floats], Floats]


class SelectedDifferences:
    """The range of the difference between two models, and an interval that covers it."""

    def __init__(self, rows: PairedRows, scores: PUScores, threshold: float) -> None:
        self.rows, self.scores, self.threshold = rows, scores, threshold
        masses = rows.masses
        self.mass = (masses.count * masses.positive)[rows.flags]
        self.marginal = masses.count * masses.marginal

    def bounds(
        self, criterion: Metric, one: str, other: str, level: float
    ) -> tuple[Limits, Limits]:
        """Return the identified range and the interval for one model minus the other."""
        box, t = Box.of(self.scores).without_caps(), t_score(level, self.scores.effective_positive)

        def point(law: Law, prior: float) -> Limits:
            value = self._moved(law, self._linear(criterion, one, other, prior))[0]
            return value, value

        def ends(law: Law, prior: float) -> Limits:
            linear = self._linear(criterion, one, other, prior)
            value, mass, h = self._moved(law, linear)
            k = linear.marginal(mass)
            drift = law.drift(lambda near: self._moved(near, linear)[0])
            reach = t * np.sqrt(law.drifted(self._variance(h, k), drift, self._gap(k)))
            return value - float(reach), value + float(reach)

        return tuple(over_box(self.scores, f, box=box, grid=(5, 1)) for f in (point, ends))  # type: ignore[return-value]

    def _moved(self, law: Law, linear: Linear) -> tuple[float, Floats, Floats]:
        """Return the difference, the masses of the labeled positives, and the noise function."""
        order = np.argsort(linear.value, kind="stable")
        f, tpr = linear.value[order], np.append(0.0, np.cumsum(self.mass[order]))
        mass = np.empty_like(f)
        mass[order] = np.diff(law(np.minimum(tpr / tpr[-1], 1.0)))
        at = np.minimum(np.searchsorted(tpr[1:], law.knots - ROUNDING), f.size - 1)
        y = np.append(0.0, np.cumsum(law.slopes * np.diff(f[at])))
        h = np.interp(linear.value, f[at], y)
        return linear.constant + float(mass @ linear.value), mass, h

    def _gap(self, k: Floats) -> float:
        """Return the mean of k over the labeled positives minus its mean over all rows."""
        labeled = float(self.mass @ k[self.rows.flags]) / float(self.mass.sum())
        return labeled - float(self.marginal @ k)

    def _variance(self, h: Floats, k: Floats) -> float:
        masses, flags = self.rows.masses, self.rows.flags
        part = masses.marginal * (k - float(self.marginal @ k))
        part[flags] += masses.positive[flags] * (h - float(self.mass @ h))
        return float(masses.count @ part**2)

    def _linear(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        if criterion.rule is not None:
            return self._rule(criterion.rule(), one, other, prior)
        if criterion.loss is not None:
            loss = criterion.loss(**criterion.options_at(self.threshold))
            gain, base = self.rows.gains(loss, one, other)
            return Linear(
                float(self.marginal @ base), prior * gain[self.rows.flags], lambda _: base
            )
        return self._area(criterion, one, other, prior)

    def _rule(self, rule: Rule, one: str, other: str, prior: float) -> Linear:
        flags = self.rows.flags
        above = [self.rows.columns[name] >= self.threshold for name in (one, other)]
        ppr = [float(self.marginal @ x) for x in above]

        def at(tpr: float, share: float) -> tuple[float, Floats]:
            value, slopes = rule_slopes(rule, tpr, share, np.array([prior]))
            return float(value[0]), slopes[:, 0]

        start = [at(0.0, share) for share in ppr]
        slope = [found[1][0] for found in start]

        def marginal(mass: Floats) -> Floats:
            by = [
                at(float(mass @ x[flags]), share)[1][1] for x, share in zip(above, ppr, strict=True)
            ]
            return by[0] * above[0] - by[1] * above[1]

        value = slope[0] * above[0][flags] - slope[1] * above[1][flags]
        return Linear(start[0][0] - start[1][0], value, marginal)

    def _area(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        masses, flags = self.rows.masses, self.rows.flags
        proxy = criterion.name == "proxy_auc"
        unit = 1.0 if proxy else 1.0 / (1.0 - prior)
        group = masses.count * (masses.marginal * ~flags if proxy else masses.marginal)
        columns = [self.rows.columns[name] for name in (one, other)]
        places = [_placed(s[flags], s, group) for s in columns]

        def marginal(mass: Floats) -> Floats:
            share = [1.0 - _placed(s, s[flags], mass) for s in columns]
            difference: Floats = unit * (share[0] - share[1])
            return difference * ~flags if proxy and self.scores.pooled else difference

        return Linear(0.0, unit * (places[0] - places[1]), marginal)


def _placed(at: Floats, group: Floats, mass: Floats) -> Floats:
    """Return `placements` within a group whose scores are in any order."""
    order = np.argsort(group, kind="stable")
    return placements(at, group[order], mass[order])
