r"""Differences between models when hidden positives may differ from labeled ones.

Both models score the same positives, so a single distribution of the positives determines both
metrics. At a given prior, the difference between two metrics that are linear in that distribution
is a constant plus the mean of :math:`f_A - f_B` under it, with f as in `noneg.selection`. Its
extremes follow from sorting the values of :math:`f_A - f_B`. The limits implied by the unlabeled
rows are not used, since no single score orders the rows; apart from them, the range is sharp. For
differences between calibration errors, each error is bounded separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.intervals import t_score
from noneg.laws import Ordered, placements
from noneg.registry import registered_rules
from noneg.selection import ROUNDING, Box, Selected, over_box

if TYPE_CHECKING:
    from collections.abc import Callable

    from noneg.arrays import Floats
    from noneg.intervals import Limits
    from noneg.performance.paired import PairedRows
    from noneg.registry import Metric
    from noneg.scores import PUScores
    from noneg.selection import Law


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
        masses, flags = self.rows.masses, self.rows.flags
        labeled = float(self.mass @ k[flags]) / float(self.mass.sum())
        return labeled - float((masses.count * masses.marginal) @ k)

    def _variance(self, h: Floats, k: Floats) -> float:
        masses, flags = self.rows.masses, self.rows.flags
        part = masses.marginal * (k - float((masses.count * masses.marginal) @ k))
        part[flags] += masses.positive[flags] * (h - float(self.mass @ h))
        return float(masses.count @ part**2)

    def _linear(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        if criterion.rule is not None:
            return self._rule(criterion, one, other, prior)
        if criterion.loss is not None:
            return self._loss(criterion, one, other, prior)
        return self._area(criterion, one, other, prior)

    def _rule(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        from noneg.performance.paired import rule_slopes

        rule = registered_rules([criterion.name])[criterion.name]
        masses, flags = self.rows.masses, self.rows.flags
        above = [self.rows.columns[name] >= self.threshold for name in (one, other)]
        ppr = [float((masses.count * masses.marginal) @ x) for x in above]

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

    def _loss(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        masses, flags = self.rows.masses, self.rows.flags
        options = {"threshold": self.threshold} if criterion.has_threshold else {}
        loss = criterion.loss(**options)  # type: ignore[misc]
        s, t = (self.rows.columns[name] for name in (one, other))
        base = loss(s, 0) - loss(t, 0)
        gain = prior * (loss(s, 1) - loss(t, 1) - base)[flags]
        return Linear(float((masses.count * masses.marginal) @ base), gain, lambda _: base)

    def _area(self, criterion: Metric, one: str, other: str, prior: float) -> Linear:
        masses, flags = self.rows.masses, self.rows.flags
        proxy = criterion.name == "proxy_auc"
        unit = 1.0 if proxy else 1.0 / (1.0 - prior)
        group = masses.count * (masses.marginal * ~flags if proxy else masses.marginal)
        columns = [self.rows.columns[name] for name in (one, other)]
        orders = [np.argsort(s, kind="stable") for s in columns]
        places = [
            placements(s[flags], s[order], group[order])
            for s, order in zip(columns, orders, strict=True)
        ]

        def marginal(mass: Floats) -> Floats:
            share = []
            for s in columns:
                order = np.argsort(s[flags], kind="stable")
                share.append(1.0 - placements(s, s[flags][order], mass[order]))
            difference: Floats = unit * (share[0] - share[1])
            return difference * ~flags if proxy and self.scores.pooled else difference

        return Linear(0.0, unit * (places[0] - places[1]), marginal)


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectedCurve:
    """ROC and PR curves for one distribution of the positives, by decreasing threshold."""

    thresholds: Floats
    fpr: Floats
    tpr: Floats
    precision: Floats

    @property
    def recall(self) -> Floats:
        """The recall, which equals the TPR."""
        return self.tpr

    def envelope(self) -> tuple[Floats, Floats]:
        """Return the ROC curve."""
        return self.fpr, self.tpr


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectedCurves:
    """The highest and lowest curves that selection allows, at the prior of the scores.

    Attributes
    ----------
    upper, lower : SelectedCurve
        At each threshold, no allowed distribution of the positives has a larger (upper) or smaller
        (lower) TPR and precision.
    """

    upper: SelectedCurve
    lower: SelectedCurve


def selected_curves(scores: PUScores) -> SelectedCurves:
    """Return bounds on the ROC and precision-recall curves under selection.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.2, setting="two-sample")
    >>> curves = selected_curves(scores.with_selection(2))
    >>> print(curves.lower.tpr, curves.upper.tpr)
    [0.   0.25 0.25 1.   1.   1.   1.  ] [0.   0.75 0.75 1.   1.   1.   1.  ]
    """
    steps, box, prior = Ordered(scores), Box.of(scores), scores.known_prior
    made = []
    for top in (True, False):
        view = Selected(steps, box.law(prior, top=top))
        share = np.divide(
            prior * view.tpr, view.ppr, out=np.ones_like(view.tpr), where=view.ppr > 0.0
        )
        made.append(
            SelectedCurve(
                thresholds=steps.thresholds,
                fpr=np.clip(view.fpr(prior), 0.0, 1.0),
                tpr=view.tpr,
                precision=np.minimum(share, 1.0),
            )
        )
    return SelectedCurves(upper=made[0], lower=made[1])
