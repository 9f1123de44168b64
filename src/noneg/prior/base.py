"""Base classes of the class-prior estimators, with their results, intervals and warnings.

An estimator based on scores subclasses `ScoreEstimator`; one based on features subclasses
`FeatureEstimator`. Each declares its name and its assumption, and implements `find`;
`noneg.prior.registry` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from noneg.checks import Setting, check_level, least_prior
from noneg.errors import InputError
from noneg.performance.assumptions import FEW_POSITIVES, largest_prior
from noneg.prior.samples import (
    FeatureSamples,
    ScoreLaws,
    prior_of_share,
    remove_overlap,
    share_of_prior,
)
from noneg.randomness import stream
from noneg.results import Estimate, Record, fitting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.knowledge import Kind
    from noneg.scores import PUScores

# scikit-learn has no types.
Classifier = Any
Samples = TypeVar("Samples", ScoreLaws, FeatureSamples)

SAMPLED = "labeled positives are a random sample of all positives"
UNCOVERED = "but not the training of the scores or a violated assumption"
# Below this AUC, the implied classes overlap so much that a purely positive region is a guess.
SEPARABLE = 0.95


@dataclass(frozen=True, kw_only=True)
class PriorEstimate(Record):
    """An estimated class prior, the set of priors that cannot be excluded, and the assumptions.

    Attributes
    ----------
    value : float
        Share of positives in the population; if `kind` is "upper bound", the estimated bound.
    low, high : float
        The set of priors that cannot be excluded at `level`.
    kind : {"interval", "upper bound"}
        An interval covers sampling error. An upper bound means that the prior is at most `high`,
        because negatives may look like positives; `low` is then the smallest prior compatible with
        the rows: the labeled share in one sample, 0 in two samples.
    level : float
    method : str
        Name of the estimator.
    interval : str
        How the interval was computed, and what it does not cover.
    assumption : str
        Condition under which the estimate is the prior itself rather than an upper bound.
    setting : {"two-sample", "one-sample"}
    share : float
        Share of positives among the unlabeled rows; the prior itself in two samples.
    labeled : float
        Share of labeled rows in one sample, 0 in two samples.
    sampling : (float, float)
        Interval for the quantity that the method estimates, which is the prior if no negatives look
        like positives.
    overlap : float or None
        Largest part of the negatives assumed to look like positives; None if unknown.
    warnings : tuple of str
        Issues that need attention, as sentences.
    diagnostics : mapping of str to float
        Intermediate results of the method.

    Examples
    --------
    The classes are far apart, and 30% of the unlabeled rows are positive. Data cannot show
    whether negatives look like positives; if it is known that none do, the result is an interval:

    >>> import numpy as np
    >>> from noneg.prior import ScoreLaws, estimate_prior
    >>> rng = np.random.default_rng(0)
    >>> p, u = rng.normal(5, 1, 2000), np.append(rng.normal(5, 1, 900), rng.normal(0, 1, 2100))
    >>> laws = ScoreLaws.from_arrays(p, u, setting="two-sample", scale="logit")
    >>> print(estimate_prior(laws))
    0.28, at most 0.32, by tightest
    >>> print(estimate_prior(laws, overlap=0))
    0.282 [0.221, 0.318] by tightest
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    interval: str
    assumption: str
    setting: Setting
    share: float
    labeled: float = 0.0
    kind: Kind = "interval"
    sampling: tuple[float, float] = (0.0, 1.0)
    overlap: float | None = None
    warnings: tuple[str, ...] = ()
    diagnostics: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_bound(self) -> bool:
        """Whether the prior is known only to be at most `high`."""
        return self.kind == "upper bound"

    def to_estimate(self) -> Estimate:
        """Return the value and the set of priors as an `Estimate`."""
        kind = "upper bound" if self.is_bound else "estimated"
        method = f"{kind} by {self.method}: {self.interval}"
        return Estimate(
            value=self.value, low=self.low, high=self.high, level=self.level, method=method
        )

    def with_overlap(self, overlap: float) -> float:
        """Return the prior if this part of the negatives looks exactly like positives.

        See `noneg.prior.remove_overlap`; the overlap cannot be estimated from data.
        """
        return prior_of_share(remove_overlap(self.share, overlap), self.labeled)

    def apply(self, scores: PUScores) -> PUScores:
        """Return the same rows with this prior and its set, which widens the intervals of metrics.

        Priors that these scores contradict are left out. Ends at 0 or 1, where metrics are
        undefined, move inward by half an unlabeled row.

        Examples
        --------
        >>> from noneg.prior import estimate_prior
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
        >>> scores = estimate_prior(scores).apply(scores)
        >>> scores.prior_interval[0] < scores.prior < scores.prior_interval[1]
        True
        >>> scores.knowledge.kind
        'upper bound'
        """
        half_a_row = 0.5 / scores.n_unlabeled
        least = prior_of_share(half_a_row, self.labeled)
        most = prior_of_share(1.0 - half_a_row, self.labeled)
        if not least <= self.value <= most:
            reason = (
                "no unlabeled row looks positive."
                if self.value < least
                else "the unlabeled rows look like the positives, so no negatives are left."
            )
            msg = (
                f"must lie between {least:.4g} and {most:.4g} for these rows, but the "
                f"estimate by {self.method!r} is {self.value:.4g}: {reason} Pass a "
                "prior from another source."
            )
            raise InputError("prior", msg)
        # A prior from another source may contradict the scores; an estimate from them must not.
        limit = largest_prior(scores, level=self.level) if self.is_bound else most
        low = max(self.low, half_a_row)
        high = min(self.high, most, max(limit, low))
        value = min(max(self.value, low), high)
        given = scores.with_prior(value, (low, high)).knowledge
        return scores.with_knowledge(given.replaced(kind=self.kind))

    def __str__(self) -> str:
        value, low, high = fitting(self.value, self.low, self.high)
        if not self.is_bound:
            return f"{value} [{low}, {high}] by {self.method}"
        least = f"at least {low} and " if self.low > 0.0 else ""
        return f"{value}, {least}at most {high}, by {self.method}"


class Found(NamedTuple):
    """The share of positives among the unlabeled rows, with intermediate results."""

    share: float
    diagnostics: Mapping[str, float] = {}


class Interval(NamedTuple):
    """The ends of an interval for the share, and how it was computed."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, kw_only=True)
class Estimator(ABC, Generic[Samples]):
    """An estimator of the class prior, with its options as fields.

    Attributes
    ----------
    resamples : int
        Number of stratified bootstrap draws.
    seed : int
        Random seed, for reproducible results.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    assumption: ClassVar[str]
    citation: ClassVar[str]
    # What the bootstrap resamples, and the name of its random stream.
    drawn: ClassVar[str]
    purpose: ClassVar[str]

    resamples: int
    seed: int = 0

    @abstractmethod
    def find(self, samples: Samples) -> Found:
        """Return the share of positives among the unlabeled rows, in [0, 1]."""

    def interval(self, samples: Samples, share: float, level: float) -> Interval:
        """Return an interval for the share, from a stratified bootstrap by default."""
        random = stream(self.seed, self.purpose)
        draws = [self.find(samples.resampled(random)).share for _ in range(self.resamples)]
        ends = interval_of_draws(np.array(draws), share, level, samples.n_unlabeled)
        method = f"stratified bootstrap of the {self.drawn}; covers sampling error, {UNCOVERED}"
        return Interval(*ends, method)

    def estimate(
        self, samples: Samples, level: float, overlap: float | None = None
    ) -> PriorEstimate:
        """Estimate the share and its interval, and convert them to a prior estimate."""
        found = self.find(samples)
        interval = self.interval(samples, found.share, level)
        low, high = (prior_of_share(end, samples.labeled) for end in (interval.low, interval.high))
        plain = PriorEstimate(
            value=prior_of_share(found.share, samples.labeled),
            low=_least(samples),
            high=high,
            level=level,
            method=self.name,
            interval=interval.method,
            assumption=self.assumption,
            setting=samples.setting,
            share=found.share,
            labeled=samples.labeled,
            kind="upper bound",
            sampling=(low, high),
            overlap=overlap,
            warnings=few_positives(samples.n_positive),
            diagnostics=found.diagnostics,
        )
        return plain if overlap is None else with_limited_overlap(plain, overlap)


def _least(samples: ScoreLaws | FeatureSamples) -> float:
    """Return the smallest prior compatible with the labeled rows."""
    n = samples.n_unlabeled if samples.among else samples.n_positive + samples.n_unlabeled
    return least_prior(samples.labeled or samples.among, n)


def with_limited_overlap(found: PriorEstimate, overlap: float) -> PriorEstimate:
    """Return the estimate as an interval, if at most this part of the negatives looks positive."""
    low = share_of_prior(found.sampling[0], found.labeled)
    least = prior_of_share(remove_overlap(low, overlap), found.labeled)
    return replace(found, kind="interval", low=max(found.low, least))


@dataclass(frozen=True, kw_only=True)
class ScoreEstimator(Estimator[ScoreLaws]):
    """An estimator that needs only the scores of positives and of unlabeled rows."""

    drawn: ClassVar[str] = "scores"
    purpose: ClassVar[str] = "prior bootstrap"
    # Whether the estimate is invariant under monotone transforms of the scores.
    rank_based: ClassVar[bool] = True
    # Scores are merged into this many points before the bootstrap, so that it takes only seconds.
    bootstrap_points: ClassVar[int] = 2048

    resamples: int = 200

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return an interval for the share, from a stratified bootstrap by default."""
        return super().interval(laws.coarse(self.bootstrap_points), share, level)

    def fit(
        self, scores: PUScores | ScoreLaws, *, level: float = 0.95, overlap: float | None = None
    ) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        scores : PUScores or ScoreLaws
            Scores of rows that the classifier was not trained on. If they have a prior, it is
            ignored.
        level : float
            Nominal coverage of the interval.
        overlap : float, optional
            Largest part of the negatives that may look exactly like positives, 0 for none; it
            cannot be estimated from data. If given, the result is an interval, provided that the
            scores separate the implied classes; otherwise, the result is an upper bound.
        """
        level, laws = check_level(level), ScoreLaws.of(scores)
        found = self.estimate(laws, level)
        doubt = doubts(laws, found.share)
        # No method may exceed the largest prior compatible with the scores.
        high = max(laws.largest_prior(level), found.low)
        bound = replace(
            found,
            value=min(max(found.value, found.low), high),
            high=high,
            overlap=overlap,
            warnings=(*found.warnings, *doubt),
            diagnostics={"separation": laws.separation, **found.diagnostics},
        )
        noise = null_deviation(laws.n_positive, laws.n_unlabeled)
        if overlap is None or doubt or not separable(laws.separation, found.share, noise):
            return bound
        return replace(
            with_limited_overlap(bound, overlap), high=max(bound.value, min(high, found.high))
        )


@dataclass(frozen=True, kw_only=True)
class FeatureEstimator(Estimator[FeatureSamples]):
    """An estimator that needs the features themselves.

    Attributes
    ----------
    resamples : int
        Number of stratified bootstrap draws over rows, each of which repeats the whole estimate.
    seed : int
        Random seed, for reproducible results.
    """

    drawn: ClassVar[str] = "rows"
    purpose: ClassVar[str] = "prior bootstrap of rows"

    resamples: int = 20

    def fit(
        self,
        X: ArrayLike,
        labeled: ArrayLike,
        *,
        setting: Setting,
        level: float = 0.95,
        overlap: float | None = None,
        propensity: ArrayLike | None = None,
    ) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labeled positives and 0 for unlabeled rows.
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; it is never guessed.
        level : float
            Nominal coverage of the interval.
        overlap : float, optional
            Largest part of the negatives that may look exactly like positives, 0 for none. Without
            it, the result is an upper bound.
        propensity : array-like, optional
            For each row, the rate at which positives like it are labeled; a common factor does not
            matter.
        """
        level = check_level(level)
        if propensity is not None and isinstance(self, TrainedEstimator):
            rule = f"must not be given to {self.name!r}, which trains its own classifier"
            raise InputError("propensity", rule, remedy="Choose a method that works on scores.")
        samples = FeatureSamples.of(X, labeled, setting=setting, propensity=propensity)
        return self.estimate(samples, level, overlap)


@dataclass(frozen=True, kw_only=True)
class TrainedEstimator(FeatureEstimator):
    """A feature-based estimator that trains a classifier of positives against unlabeled rows."""

    classifier: Classifier = None


def interval_of_draws(
    draws: Floats, value: float, level: float, n_unlabeled: float
) -> tuple[float, float]:
    """Return ``value -+ t r``, where r is the RMS distance of the resampled estimates from it.

    t is Student's quantile, with one degree of freedom per draw. Distances are measured from the
    estimate, not from the mean of the draws, so a bias revealed by resampling widens the interval.
    The interval is at least as wide as one for a share counted in the unlabeled rows, which no
    estimate can beat; a share of 0 or 1 is uncertain by half a row. Ends are clipped to [0, 1].

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(0.5, 0.05, 200)
    >>> ends = interval_of_draws(draws, 0.5, level=0.95, n_unlabeled=1000)
    >>> [round(end, 1) for end in ends]
    [0.4, 0.6]
    """
    if draws.size < 2:
        raise InputError("resamples", f"must be at least 2 for an interval, got {draws.size}.")
    half = 0.5 / n_unlabeled
    share = min(max(value, half), 1.0 - half)
    counted = share * (1.0 - share) / n_unlabeled
    square = max(float(np.mean((draws - value) ** 2)), counted)
    reach = stdtrit(draws.size, 0.5 + level / 2.0) * np.sqrt(square)
    return max(0.0, float(value - reach)), min(1.0, float(value + reach))


def few_positives(n: float) -> tuple[str, ...]:
    """Return a warning if there are too few positives for any method."""
    if n >= FEW_POSITIVES:
        return ()
    few = "1 labeled positive is" if n == 1 else f"{n:,.0f} labeled positives are"
    rest = "the estimate may be far off, and no interval from so few rows can be trusted"
    return (f"{few} too few: {rest}.",)


def doubts(laws: ScoreLaws, share: float) -> tuple[str, ...]:
    """Return warnings if the scores cast doubt on a share estimated from them.

    No data can prove that negatives do not look like positives: only the smallest ratio of the two
    distributions can be estimated, and it is an upper bound for the prior. The data do show whether
    the estimate depends on that assumption: it does if the implied classes overlap.
    """
    noise = null_deviation(laws.n_positive, laws.n_unlabeled)
    chance = 0.5 + 2.0 * noise
    if laws.separation < chance:
        doubt = (
            "The scores do not separate positives from unlabeled rows (AUC "
            f"{laws.separation:.3f}; chance alone can reach {min(chance, 1.0):.3f} "
            "with this many rows). Either nearly all unlabeled rows are positive, or "
            "the scores are uninformative. Better scores or more rows are needed to "
            "decide."
        )
    elif not separable(laws.separation, share, noise, deviations=1.0):
        doubt = (
            "The classes overlap, or there are too few rows to rule that out (AUC of "
            f"{laws.separation:.3f} between positives and unlabeled rows). Some "
            "negatives may look exactly like positives, which PU data cannot reveal. "
            "Treat the estimate as an upper bound."
        )
    else:
        return ()
    return (doubt,)


def separable(separation: float, share: float, noise: float, *, deviations: float = 2.0) -> bool:
    """Whether the classes implied by a share hardly overlap, allowing for sampling error.

    The AUC is reduced by this many standard deviations; the fewer negatives are left, the larger
    the uncertainty about them.
    """
    error = deviations * noise / max(1.0 - share, 1e-12)
    return implied_separation(separation, share) - error >= SEPARABLE


def implied_separation(separation: float, share: float) -> float:
    r"""Return the AUC of positives against the negatives implied by a share.

    :math:`\mathrm{AUC}_{PU} = a/2 + (1 - a)\,\mathrm{AUC}_{PN}`; nan for a share of one.

    Parameters
    ----------
    separation : float
        AUC of positives against unlabeled rows.
    share : float
        Share of positives among the unlabeled rows.

    Examples
    --------
    >>> implied_separation(0.75, 0.5)
    1.0
    """
    return (separation - share / 2.0) / (1.0 - share) if share < 1.0 else float("nan")


def null_deviation(n: float, m: float) -> float:
    """Return the SD of the AUC of n against m rows with the same distribution and no ties."""
    return float(np.sqrt((n + m + 1.0) / (12.0 * n * m)))
