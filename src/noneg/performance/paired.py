r"""Differences between models on the same rows.

Two models' estimates come from the same rows, so their errors are correlated and the difference is
known better than either. Every criterion but the calibration error is to first order a sum over
rows, :math:`\hat\theta - \theta \approx \sum_i \varphi_i`, and the variance of a difference is
:math:`\sum_i (\varphi_i^A - \varphi_i^B)^2`.

Risks
    :math:`\theta = \pi E_+[g] + E[b]` (proxy accuracy, log loss, Brier score):
    :math:`\varphi_i = \pi a_i (g_i - \bar g) + w_i (b_i - \bar b)` with the row's masses a and w in
    the two laws. The prior of labelled data varies with the rows too, which adds
    :math:`\bar g\,w_i (y_i - \pi)`.
Proxy AUC
    Placements of each group in the other (DeLong et al. 1988).
Calibration error
    See `noneg.calibration.interval`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.calibration.interval import PAIRED_METHOD, Masses, PairedErrors
from noneg.checks import check_flags, check_scores, check_setting, check_weights
from noneg.intervals import prior_words, z_score
from noneg.losses import find_loss
from noneg.performance.proxies import placements, proxy_auc
from noneg.results import Estimate
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.performance.selection import Criterion

    Floats = NDArray[np.float64]
    Limits = tuple[float, float, str]

PAIRED = "paired rows, delta method"


@dataclass(frozen=True, eq=False)
class PairedRows:
    """The same rows, scored by several models.

    Attributes
    ----------
    flags : ndarray of bool
        Labelled positives.
    columns : dict of str to ndarray
        The scores of each model.
    setting : str
    weight : ndarray or None
    kind : {"frequency", "importance"}
    """

    flags: NDArray[np.bool_]
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
        """Check the columns of several models and their labels; see `noneg.compare`."""
        if len(models) < 2:
            msg = f"'models' must hold at least two models to compare, got {len(models)}."
            raise ValueError(msg)
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
        for group, what in ((flags, "labelled positive"), (~flags, "unlabeled row")):
            if setting != "labelled" and not group.any():
                raise ValueError(f"'label' must hold at least one {what}, got none.")
        return cls(flags, columns, setting, w, weight_kind)

    def scores(
        self, prior: float | None, interval: tuple[float, float] | None
    ) -> dict[str, PUScores]:
        """Return the scores of each model by themselves; no prior for labelled data."""
        options: dict[str, Any] = {"sample_weight": self.weight, "weight_kind": self.kind}
        build = PUScores.from_labels
        if prior is not None:
            build = PUScores.from_pu_labels  # type: ignore[assignment]
            options |= {"prior": prior, "prior_interval": interval, "setting": self.setting}
        return {name: build(self.flags, s, **options) for name, s in self.columns.items()}

    @cached_property
    def masses(self) -> Masses:
        """Counts, and masses in both laws."""
        w = self.weight
        count = w if w is not None and self.kind == "frequency" else np.ones(self.flags.size)
        positive, marginal = self.flags * self.mass, self.mass
        if self.setting == "two-sample":
            marginal = ~self.flags * self.mass
        positive, marginal = (x / (float(count @ x) or 1.0) for x in (positive, marginal))
        return Masses(count, positive, marginal)

    @cached_property
    def mass(self) -> Floats:
        """Importance of each row."""
        w = self.weight
        return w if w is not None and self.kind == "importance" else np.ones(self.flags.size)

    def effective(self, group: NDArray[np.bool_]) -> float:
        """Return Kish's number of rows in a group."""
        f, m = self.masses.count[group], self.mass[group]
        square = float(f @ m**2)
        return float(f @ m) ** 2 / square if square > 0.0 else 0.0

    def risk(self, gain: Floats, base: Floats, prior: float) -> tuple[float, Floats]:
        """Return ``prior E_plus[gain] + E[base]``, and each row's part in its error."""
        f, a, w = self.masses.count, self.masses.positive, self.masses.marginal
        mean_gain, mean_base = float((f * a) @ gain), float((f * w) @ base)
        influence: Floats = prior * a * (gain - mean_gain) + w * (base - mean_base)
        if self.setting == "labelled":
            influence += mean_gain * w * (self.flags - prior)
        return prior * mean_gain + mean_base, influence

    def area(self, name: str) -> Floats:
        """Return each row's part in the error of a model's proxy AUC."""
        s, f = self.columns[name], self.masses.count
        out = np.zeros(s.size)
        for group, sign in ((self.flags, 1.0), (~self.flags, -1.0)):
            others = np.flatnonzero(~group)
            others = others[np.argsort(s[others], kind="stable")]
            share = placements(s[group], s[others], (f * self.mass)[others])
            m, total = self.mass[group], float(f[group] @ self.mass[group])
            mean = float((f[group] * m) @ share) / total
            size = self.effective(group)
            out[group] = sign * np.sqrt(size / (size - 1.0)) * m * (share - mean) / total
        return out

    def variance(self, influence: Floats) -> float:
        """Return the variance of a sum over independent rows."""
        return float(self.masses.count @ influence**2)


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences between models by any criterion, with intervals.

    Attributes
    ----------
    rows : PairedRows
    scores : dict of str to PUScores
        The models' scores by themselves.
    threshold : float
        Of the proxy accuracy.
    level : float
        Nominal coverage of the intervals.

    Examples
    --------
    >>> from noneg.performance.selection import CRITERIA
    >>> models = {"a": [0.9, 0.6, 0.4, 0.2] * 50, "b": [0.8, 0.7, 0.6, 0.1] * 50}
    >>> rows = PairedRows.checked(models, [1, 1, 0, 0] * 50, setting="labelled")
    >>> found = Differences(rows, rows.scores(None, None), threshold=0.5, level=0.95)
    >>> print(found.estimate(CRITERIA["brier"], "b", "a"))
    0.0325 [0.0182, 0.0468]
    """

    rows: PairedRows
    scores: dict[str, PUScores]
    threshold: float
    level: float

    def estimate(self, criterion: Criterion, one: str, other: str) -> Estimate:
        """Return one model's criterion minus the other's."""
        options = {"threshold": self.threshold} if criterion.has_threshold else {}
        value = criterion.function(self.scores[one], **options)
        value -= criterion.function(self.scores[other], **options)
        low, high, method = -np.inf, np.inf, "unknown, too few rows"
        if np.array_equal(self.rows.columns[one], self.rows.columns[other]):
            value, low, high, method = 0.0, 0.0, 0.0, "equal scores"
        elif self._enough and not np.isnan(value):
            low, high, method = self._limits(criterion.name, one, other)
            low, high = min(low, value), max(high, value)
            method += prior_words(self.scores[one]) * criterion.needs_prior
        return Estimate(value=value, low=low, high=high, level=self.level, method=method)

    @cached_property
    def _enough(self) -> bool:
        """Whether both groups have a spread to learn from."""
        return min(map(self.rows.effective, (self.rows.flags, ~self.rows.flags))) >= 2

    def _limits(self, name: str, one: str, other: str) -> Limits:
        scores, columns = self.scores, self.rows.columns
        if name in ("ece", "debiased_ece"):
            return *self._error_limits(one, other), PAIRED_METHOD
        if name == "proxy_auc":
            value = proxy_auc(scores[one]) - proxy_auc(scores[other])
            parts = [(value, self.rows.area(one) - self.rows.area(other))]
        else:
            gain, base = self._risk(name, columns[one])
            gain_, base_ = self._risk(name, columns[other])
            # A risk is linear in the prior and its deviation convex, so the ends decide.
            priors = scores[one].prior_interval or (scores[one].prior,)
            parts = [self.rows.risk(gain - gain_, base - base_, prior) for prior in priors]
        return *self._normal(parts), PAIRED

    def _error_limits(self, one: str, other: str) -> tuple[float, float]:
        # The same splits both ways, so that the difference the other way round is the negative.
        names = list(self.rows.columns)
        if names.index(one) > names.index(other):
            low, high = self._error_limits(other, one)
            return -high, -low
        pair = self.rows.columns[one], self.rows.columns[other]
        errors = PairedErrors((self.scores[one], self.scores[other]), pair, self.rows.masses)
        return errors.limits(self.level)

    def _risk(self, name: str, s: Floats) -> tuple[Floats, Floats]:
        """Return g and b of the criterion ``prior E_plus[g] + E[b]`` in each row."""
        if name == "proxy_accuracy":
            above = (s >= self.threshold).astype(np.float64)
            return 2.0 * above, 1.0 - above
        short: Literal["log", "brier"] = "log" if name == "log_loss" else "brier"
        loss = find_loss(short)
        return loss(s, 1) - loss(s, 0), loss(s, 0)

    def _normal(self, parts: list[tuple[float, Floats]]) -> tuple[float, float]:
        """Return the widest normal limits of differences given with their influences."""
        z = z_score(self.level)
        ends = [(value, z * float(np.sqrt(self.rows.variance(part)))) for value, part in parts]
        return min(value - reach for value, reach in ends), max(sum(end) for end in ends)
