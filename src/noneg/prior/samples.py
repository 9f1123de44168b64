r"""Labeled positives and unlabeled rows, as scores or features, and conversions of shares.

An estimator finds the share :math:`a` of positives among the unlabeled rows. With two separate
samples, this *is* the class prior. With one sample of n rows, of which :math:`n_P` were labeled,
let :math:`\ell = n_P / n`; then

.. math:: \pi = \ell + a (1 - \ell), \qquad c = \ell / \pi, \qquad
   a = \frac{\pi - \ell}{1 - \ell} = \frac{(1 - c)\,\ell}{c\,(1 - \ell)}.

If positives are labeled at known rates e(x), labeled rows with weight 1/e again follow the
distribution of all positives. In one sample, the unlabeled rows are then no longer a mixture of
that distribution and the negatives, but the set of all rows is: it replaces the unlabeled rows, and
its share of positives is the prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import expit

from noneg import checks
from noneg.arrays import Floats
from noneg.errors import InputError
from noneg.performance.assumptions import CUTS, PriorLimit
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.arrays import Places
    from noneg.checks import Setting
    from noneg.performance.assumptions import Shares

Scale = Literal["probability", "logit"]
# Scores, with the count and the mass of each.
Law = tuple[Floats, "ArrayLike", "ArrayLike"]
SMALLEST = 5e-324


def prior_of_share(share: float, labeled: float) -> float:
    """Return the class prior, given the share of positives among the unlabeled rows.

    Parameters
    ----------
    share : float
        Share of positives among the unlabeled rows.
    labeled : float
        Share of labeled rows in one sample; 0 for two samples.

    Examples
    --------
    >>> round(prior_of_share(0.25, labeled=0.2), 12)
    0.4
    """
    return labeled + share * (1.0 - labeled)


def share_of_prior(prior: float, labeled: float) -> float:
    """Return the share of positives among the unlabeled rows, given the class prior.

    Examples
    --------
    >>> round(share_of_prior(0.4, labeled=0.2), 12)
    0.25
    """
    return (prior - labeled) / (1.0 - labeled)


def share_of_frequency(frequency: float, labeled: float) -> float:
    """Return the share of positives among the unlabeled rows, given the label frequency.

    The label frequency is the probability that a positive is labeled. The share is not clipped: it
    exceeds one if the frequency is below the labeled share.

    Examples
    --------
    >>> round(share_of_frequency(0.5, labeled=0.2), 12)
    0.25
    """
    return (1.0 - frequency) / frequency * labeled / (1.0 - labeled)


def frequency_of_prior(prior: float, labeled: float) -> float:
    """Return the label frequency in one sample, given the class prior.

    Examples
    --------
    >>> frequency_of_prior(0.4, labeled=0.2)
    0.5
    """
    return labeled / prior


def remove_overlap(share: float, overlap: float) -> float:
    r"""Return the share of positives if a part of the negatives looks exactly like positives.

    The data identify only :math:`a^* = \inf p_U/p_P`. If the negatives are
    :math:`p_N = \kappa p_P + (1-\kappa) q` with an irreducible q, then
    :math:`a^* = a + (1 - a)\kappa`, so :math:`a = (a^* - \kappa)/(1 - \kappa)`.

    Parameters
    ----------
    share : float
        The identifiable share, as returned by estimators.
    overlap : float
        The part of the negatives that looks like positives, in [0, 1). It cannot be estimated from
        the data.

    Examples
    --------
    >>> round(remove_overlap(0.44, overlap=0.2), 12)
    0.3
    """
    if not 0.0 <= overlap < 1.0:
        rule = "must be the part of the negatives that looks like positives, a number in [0, 1)"
        raise InputError("overlap", rule, value=overlap)
    return max(0.0, (share - overlap) / (1.0 - overlap))


def labeled_share(setting: Setting, positive: float, unlabeled: float) -> float:
    """Return the share of labeled rows in one sample, or 0 in two samples."""
    return positive / (positive + unlabeled) if checks.is_pooled(setting) else 0.0


@dataclass(frozen=True, eq=False)
class ScoreLaws:
    """The positive and the unlabeled distribution, as masses on the distinct scores.

    Build it with `ScoreLaws.of` from a `PUScores`, whose prior is ignored, or with
    `ScoreLaws.from_arrays` if no prior is known.

    Attributes
    ----------
    points : ndarray, shape (k,)
        Distinct scores, increasing.
    positive, unlabeled : ndarray, shape (k,)
        Mass of each distribution on the points; each sums to one. In one sample, the unlabeled
        distribution is the distribution of the rows that were not labeled.
    n_positive, n_unlabeled : float
        Sizes of the samples; Kish's effective sizes if rows are weighted.
    setting : {"two-sample", "one-sample"}
    labeled : float
        Share of labeled rows in one sample, 0 in two samples and with labeling rates.
    among : float
        With labeling rates in one sample, the share of labeled rows among all rows, which then form
        the unlabeled distribution.
    scale : {"probability", "logit"}
        Scale of the points.
    discriminates : bool
        Whether a point is the probability (or its logit) of being a labeled positive rather than
        an unlabeled row, with equal weight for both samples, from a classifier that did not see the
        row.

    Examples
    --------
    >>> laws = ScoreLaws.from_arrays([0.9, 0.6], [0.9, 0.3, 0.2, 0.1], setting="two-sample")
    >>> laws.above("unlabeled")
    array([1.  , 0.75, 0.5 , 0.25, 0.25])
    """

    points: Floats
    positive: Floats
    unlabeled: Floats
    n_positive: float
    n_unlabeled: float
    setting: Setting
    labeled: float = 0.0
    among: float = 0.0
    scale: Scale = "probability"
    discriminates: bool = False

    @classmethod
    def of(cls, scores: PUScores | ScoreLaws) -> ScoreLaws:
        """Return the distributions of a `PUScores`; its prior is not used.

        Examples
        --------
        >>> scores = PUScores([0.9], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> ScoreLaws.of(scores).n_unlabeled
        2.0
        """
        if isinstance(scores, ScoreLaws):
            return scores
        if not isinstance(scores, PUScores):
            msg = (
                f"must be PUScores or ScoreLaws, got {type(scores).__name__}. Build them "
                "with ScoreLaws.from_arrays, or pass labeled= along with a table of features."
            )
            raise InputError("scores", msg)
        if not scores.hidden:
            msg = (
                "must be positives and unlabeled rows, got fully labeled rows: their "
                f"prior is the share of positives, {scores.known_prior:.6g}."
            )
            raise InputError("scores", msg)
        checks.check_filled(scores.n_unlabeled, "unlabeled", "unlabeled row")
        (s_u, f_u, _, w_u), (s_p, f_p, a_p, w_p) = scores.in_order()
        positive: Law = (s_p, f_p, a_p)
        if not scores.pooled or np.all(np.equal(a_p, w_p)):
            return cls._merged(positive, (s_u, f_u, w_u), scores.setting)
        f, w = (
            np.append(np.broadcast_to(u, s_u.shape), np.broadcast_to(p, s_p.shape))
            for u, p in ((f_u, f_p), (w_u, w_p))
        )
        everyone: Law = (np.append(s_u, s_p), f, w)
        return cls.rated(positive, everyone, scores.setting, scores.labeled_share)

    @classmethod
    def rated(cls, positive: Law, others: Law, setting: Setting, labeled: float) -> ScoreLaws:
        """Build from positives weighted by inverse labeling rates and, in one sample, all rows."""
        laws = cls._merged(positive, others, setting)
        return replace(laws, labeled=0.0, among=labeled if checks.is_pooled(setting) else 0.0)

    @classmethod
    def from_arrays(
        cls,
        positive: ArrayLike,
        unlabeled: ArrayLike,
        *,
        setting: Setting,
        scale: Scale = "probability",
        discriminates: bool = False,
    ) -> ScoreLaws:
        """Build from two arrays of scores, one entry per row.

        Parameters
        ----------
        positive, unlabeled : array-like
            Scores of the labeled positives and of the rows that are not labeled.
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; it is never guessed.
        scale : {"probability", "logit"}
            Scores in [0, 1], or any finite numbers. Logits distinguish scores that round to 1.
        discriminates : bool
            See the class docstring.

        Examples
        --------
        >>> laws = ScoreLaws.from_arrays([3.2], [40.1, -2.0], setting="one-sample", scale="logit")
        >>> round(laws.labeled, 4)
        0.3333
        """
        setting = checks.check_pu_setting(setting)
        checks.check_choice(scale, "scale", get_args(Scale))
        check = checks.check_scores if scale == "probability" else check_finite
        p, u = check(positive, "positive"), check(unlabeled, "unlabeled")
        checks.check_filled(p.size, "positive", "labeled positive")
        checks.check_filled(u.size, "unlabeled", "unlabeled row")
        laws = cls._merged((p, 1.0, 1.0), (u, 1.0, 1.0), setting)
        return replace(laws, scale=scale, discriminates=discriminates)

    @classmethod
    def _merged(cls, positive: Law, unlabeled: Law, setting: Setting) -> ScoreLaws:
        """Build from the scores, counts and masses of both samples."""
        points, place = np.unique(np.concatenate([positive[0], unlabeled[0]]), return_inverse=True)
        at_p, at_u = np.split(place, [positive[0].size])
        p, n_positive = _mass_at(at_p, points.size, *positive[1:])
        u, n_unlabeled = _mass_at(at_u, points.size, *unlabeled[1:])
        labeled = labeled_share(setting, float(p.sum()), float(u.sum()))
        # Rows of weight zero are dropped.
        there = (p > 0.0) | (u > 0.0)
        masses = (p[there] / p.sum(), u[there] / u.sum())
        return cls(points[there], *masses, n_positive, n_unlabeled, setting, labeled)

    @property
    def logits(self) -> Floats:
        """The points as logits; 0 and 1 move inward by half the distance to the next point."""
        if self.scale == "logit":
            return self.points
        inner = self.points[(self.points > 0.0) & (self.points < 1.0)]
        low, high = (inner[0], 1.0 - inner[-1]) if inner.size else (0.5, 0.5)
        # Half of the smallest double would underflow.
        share = np.where(self.points == 0.0, max(low / 2.0, SMALLEST), self.points)
        rest = np.where(self.points == 1.0, high / 2.0, 1.0 - self.points)
        return np.log(share) - np.log(rest)

    @property
    def probabilities(self) -> Floats:
        """The points on the probability scale."""
        return expit(self.points) if self.scale == "logit" else self.points

    def above(self, law: Literal["positive", "unlabeled"]) -> Floats:
        """Return the mass of a distribution at or above each point."""
        mass: Floats = getattr(self, law)
        return np.cumsum(mass[::-1])[::-1]

    @property
    def separation(self) -> float:
        """AUC of positives against unlabeled rows; a tie counts as half."""
        below = np.cumsum(self.unlabeled) - 0.5 * self.unlabeled
        return float(self.positive @ below)

    def cuts(self) -> tuple[Shares, Shares]:
        """Return the shares of both samples above cuts that split the positives evenly.

        The shares of each sample come with its size.
        """
        top_u, top_p = self.above("unlabeled"), self.above("positive")
        # The last point whose tail still contains each share of the positives.
        wanted = np.arange(1, CUTS + 1) / CUTS
        place = np.searchsorted(-top_p, -wanted * (1.0 - 1e-12), side="right") - 1
        place = np.unique(np.append(place, 0))
        above_p, above_u = np.minimum(top_p[place], 1.0), np.minimum(top_u[place], 1.0)
        return (above_p, self.n_positive), (above_u, self.n_unlabeled)

    def largest_prior(self, level: float) -> float:
        """Return the largest prior that the scores allow; see `noneg.performance.largest_prior`."""
        n = self.n_positive + self.n_unlabeled
        found = PriorLimit.fit(*self.cuts(), labeled=self.labeled, n_marginal=n, level=level)
        return found.under(1.0)

    def coarse(self, n_points: int) -> ScoreLaws:
        """Merge neighboring points into at most `n_points` points of nearly equal mass.

        Groups are formed by rank in the balanced mixture of both distributions, so a monotone
        transform of the scores does not change them. Equal scores stay together.
        """
        if self.points.size <= n_points:
            return self
        mass = self.positive + self.unlabeled
        rank = np.cumsum(mass) - 0.5 * mass
        group = np.minimum((rank * (n_points / 2.0)).astype(np.intp), n_points - 1)
        _, group = np.unique(group, return_inverse=True)
        middle = _sum_at(group, self.points) / np.bincount(group)
        p, u = _sum_at(group, self.positive), _sum_at(group, self.unlabeled)
        return replace(self, points=middle, positive=p, unlabeled=u)

    def resampled(self, random: np.random.Generator) -> ScoreLaws:
        """Resample each sample at its own size (stratified bootstrap)."""
        p, u = (
            random.multinomial(round(n), mass / mass.sum()) / float(round(n))
            for n, mass in ((self.n_positive, self.positive), (self.n_unlabeled, self.unlabeled))
        )
        there = (p > 0.0) | (u > 0.0)
        return replace(self, points=self.points[there], positive=p[there], unlabeled=u[there])


@dataclass(frozen=True, eq=False)
class FeatureSamples:
    """Features of the labeled positives and of the unlabeled rows.

    Attributes
    ----------
    positive, unlabeled : ndarray, shape (n, d)
    setting : {"two-sample", "one-sample"}
    among : float
        As in `ScoreLaws`.

    Examples
    --------
    >>> samples = FeatureSamples.of([[1.0], [2.0], [0.0]], [1, 0, 0], setting="one-sample")
    >>> samples.unlabeled.shape, round(samples.labeled, 3)
    ((2, 1), 0.333)
    """

    positive: Floats
    unlabeled: Floats
    setting: Setting
    among: float = 0.0

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        labeled: ArrayLike,
        *,
        setting: Setting,
        propensity: ArrayLike | None = None,
    ) -> FeatureSamples:
        """Split a table into its labeled and unlabeled rows.

        With labeling rates, the positives are resampled in proportion to the inverse rates, to
        their effective sample size, and in one sample all rows replace the unlabeled rows.
        """
        setting = checks.check_pu_setting(setting)
        table = _table(X)
        flags = checks.check_flags(labeled, "labeled", choosable=False)
        checks.check_same_length(X=table.shape[0], labeled=flags.size)
        checks.check_filled(int(flags.sum()), "labeled", "labeled positive")
        checks.check_filled(int((~flags).sum()), "labeled", "unlabeled row")
        if propensity is None:
            return cls(table[flags], table[~flags], setting)
        rates = checks.check_propensity(propensity, flags.size, flags)
        drawn = table[flags][_in_proportion(1.0 / rates[flags])]
        if not checks.is_pooled(setting):
            return cls(drawn, table[~flags], setting)
        return cls(drawn, table, setting, float(flags.mean()))

    @property
    def n_positive(self) -> float:
        """Number of labeled positives."""
        return float(len(self.positive))

    @property
    def n_unlabeled(self) -> float:
        """Number of unlabeled rows."""
        return float(len(self.unlabeled))

    @property
    def labeled(self) -> float:
        """Share of labeled rows in one sample, 0 in two samples and with labeling rates."""
        if self.among:
            return 0.0
        return labeled_share(self.setting, self.n_positive, self.n_unlabeled)

    def standardized(self) -> FeatureSamples:
        """Scale columns to mean 0 and standard deviation 1 over all rows; constants become 0."""
        rows = np.concatenate([self.positive, self.unlabeled])
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        deviation[deviation == 0.0] = 1.0
        return self._both(lambda x: (x - mean) / deviation)

    def at_most(self, n_rows: int, random: np.random.Generator) -> FeatureSamples:
        """Return a random subset of at most this many rows from each sample."""
        return self._both(
            lambda x: x if len(x) <= n_rows else x[random.choice(len(x), n_rows, replace=False)]
        )

    def resampled(self, random: np.random.Generator) -> FeatureSamples:
        """Resample each sample at its own size (stratified bootstrap)."""
        return self._both(lambda x: x[random.integers(len(x), size=len(x))])

    def _both(self, change: Callable[[Floats], Floats]) -> FeatureSamples:
        return replace(self, positive=change(self.positive), unlabeled=change(self.unlabeled))


def _in_proportion(weight: Floats) -> Places:
    """Return evenly spread row indices in proportion to the weights, as many as Kish's sample size.

    Examples
    --------
    >>> _in_proportion(np.array([1.0, 1.0, 2.0, 2.0])).tolist()
    [0, 2, 3]
    """
    size = max(1, int(weight.sum() ** 2 / (weight**2).sum()))
    places = (np.arange(size) + 0.5) / size * weight.sum()
    return np.searchsorted(np.cumsum(weight), places)


def _mass_at(
    place: Places, n_points: int, count: ArrayLike, mass: ArrayLike
) -> tuple[Floats, float]:
    """Return the mass on each point, and Kish's sample size ``(sum f m)^2 / sum f m^2``."""
    total = np.broadcast_to(np.multiply(count, mass), place.shape)
    size = float(total.sum()) ** 2 / float((total * mass).sum())
    return _sum_at(place, total, n_points), max(1.0, size)


def _sum_at(place: Places, values: Floats, n_points: int = 0) -> Floats:
    return np.bincount(place, weights=values, minlength=n_points).astype(np.float64)


def check_finite(values: ArrayLike, name: str) -> Floats:
    """Return a column of finite numbers on any scale."""
    array, rule = np.asarray(values, dtype=np.float64), "must contain one finite score per row"
    if array.ndim != 1:
        raise InputError(name, f"{rule}, got shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(name, rule, value=float(array[bad[0]]), row=int(bad[0]))
    return array


def _table(X: ArrayLike) -> Floats:
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        msg = "must contain numbers in every column. Encode categories first, with one column each."
        raise InputError("X", msg) from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError("X", f"must be a table of rows and columns, got shape {table.shape}.")
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = f"must be finite, got {float(table[row, column])!r} in row {row}, column {column}."
        raise InputError("X", msg, remedy="Remove or impute such rows; no row is dropped silently.")
    return table
