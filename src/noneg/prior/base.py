"""The contract of the estimators of the class prior, their result, intervals and warnings.

An estimator from scores subclasses `ScoreEstimator`, one from features `FeatureEstimator`. Either
declares its name and what it assumes, and implements `find`; `noneg.prior.registry` lists it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from noneg.checks import check_level, least_prior
from noneg.errors import InputError
from noneg.knowledge import Knowledge
from noneg.performance.assumptions import FEW_POSITIVES, largest_prior
from noneg.prior.samples import (
    FeatureSamples,
    ScoreLaws,
    prior_of_share,
    remove_overlap,
    share_of_prior,
)
from noneg.randomness import stream
from noneg.results import Estimate, fitting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from noneg.checks import Setting
    from noneg.knowledge import Kind
    from noneg.prior.samples import Floats
    from noneg.scores import PUScores

# scikit-learn has no types.
Classifier = Any
Samples = TypeVar("Samples", ScoreLaws, FeatureSamples)

SAMPLED = "labelled positives are a random sample of all positives"
UNCOVERED = "not the training of the scores, nor a failure of the assumption"
# Below this AUC the implied classes overlap so much that a purely positive region is a guess.
SEPARABLE = 0.95


@dataclass(frozen=True, kw_only=True)
class PriorEstimate:
    """A class prior, the set of priors that cannot be excluded, and what both rest on.

    Attributes
    ----------
    value : float
        Share of positives in the population; with kind "upper bound" the estimate of that bound.
    low, high : float
        The set of priors that cannot be excluded at `level`.
    kind : {"interval", "upper bound"}
        An interval covers sampling error. An upper bound says that the prior is at most `high`,
        since negatives may look like positives; `low` is then what the rows allow at least: the
        labeled share of one sample, 0 in two samples.
    level : float
    method : str
        Name of the estimator.
    interval : str
        How the interval was made, and what it leaves out.
    assumption : str
        What must hold for the estimate to be the prior rather than an upper bound of it.
    setting : {"two-sample", "one-sample"}
    share : float
        Share of positives among the unlabeled rows; the prior itself in two samples.
    labelled : float
        Share of labeled rows in one sample, 0 in two samples.
    sampling : (float, float)
        Interval of what the method estimates: of the prior if no negatives look like positives.
    overlap : float or None
        Largest part of the negatives that was said to look like positives; None if nobody knows.
    warnings : tuple of str
        What needs attention, in sentences.
    diagnostics : mapping of str to float
        Numbers that the method found on its way.

    Examples
    --------
    Classes far apart, .3 of the unlabeled rows positive. Whether negatives look like positives is
    nothing that data can tell; somebody who knows that none do gets an interval:

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
    labelled: float = 0.0
    kind: Kind = "interval"
    sampling: tuple[float, float] = (0.0, 1.0)
    overlap: float | None = None
    warnings: tuple[str, ...] = ()
    diagnostics: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_bound(self) -> bool:
        """Whether the prior is only known to be at most `high`."""
        return self.kind == "upper bound"

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return asdict(self) | {"warnings": list(self.warnings), "sampling": list(self.sampling)}

    def to_estimate(self) -> Estimate:
        """Return value and set as an `Estimate`."""
        kind = "upper bound" if self.is_bound else "estimated"
        method = f"{kind} by {self.method}: {self.interval}"
        return Estimate(
            value=self.value, low=self.low, high=self.high, level=self.level, method=method
        )

    def with_overlap(self, overlap: float) -> float:
        """Return the prior if this part of the negatives looks exactly like positives.

        See `noneg.prior.remove_overlap`; no data can tell the overlap.
        """
        return prior_of_share(remove_overlap(self.share, overlap), self.labelled)

    def apply(self, scores: PUScores) -> PUScores:
        """Return the same rows under this prior; its set widens every metric of them.

        Priors that these scores contradict are left out. Ends at 0 or 1, where no metric is
        defined, move inward by half an unlabeled row.

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
        least = prior_of_share(half_a_row, self.labelled)
        most = prior_of_share(1.0 - half_a_row, self.labelled)
        if not least <= self.value <= most:
            reason = (
                "no unlabeled row looks positive."
                if self.value < least
                else "the unlabeled rows look like the positives, so no negatives are left."
            )
            msg = (
                f"must lie between {least:.4g} and {most:.4g} for these rows, but the "
                f"estimate by {self.method!r} is {self.value:.4g}: {reason} Pass a prior that is "
                "known from elsewhere."
            )
            raise InputError("prior", msg)
        # A prior known from elsewhere may contradict the scores; an estimate from them must not.
        limit = largest_prior(scores, level=self.level) if self.is_bound else most
        low = max(self.low, half_a_row)
        high = min(self.high, most, max(limit, low))
        return scores.with_knowledge(
            Knowledge.given(
                min(max(self.value, low), high),
                (low, high),
                kind=self.kind,
                selection=scores.selection,
            )
        )

    def __str__(self) -> str:
        value, low, high = fitting(self.value, self.low, self.high)
        if not self.is_bound:
            return f"{value} [{low}, {high}] by {self.method}"
        least = f"at least {low} and " if self.low > 0.0 else ""
        return f"{value}, {least}at most {high}, by {self.method}"


class Found(NamedTuple):
    """The share of positives among the unlabeled rows, and numbers found on the way."""

    share: float
    diagnostics: Mapping[str, float] = {}


class Interval(NamedTuple):
    """Ends of an interval for the share, and how it was made."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, kw_only=True)
class Estimator(ABC, Generic[Samples]):
    """An estimator of the class prior. Options are fields.

    Attributes
    ----------
    resamples : int
        Draws of the stratified bootstrap.
    seed : int
        Same seed, same answer.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    assumption: ClassVar[str]
    citation: ClassVar[str]
    # What the bootstrap draws, and its stream of random numbers.
    drawn: ClassVar[str]
    purpose: ClassVar[str]

    resamples: int
    seed: int = 0

    @abstractmethod
    def find(self, samples: Samples) -> Found:
        """Return the share of positives among the unlabeled rows, in [0, 1]."""

    def interval(self, samples: Samples, share: float, level: float) -> Interval:
        """Return an interval for the share, by default of a stratified bootstrap."""
        random = stream(self.seed, self.purpose)
        draws = [self.find(samples.resampled(random)).share for _ in range(self.resamples)]
        ends = interval_of_draws(np.array(draws), share, level, samples.n_unlabeled)
        method = f"stratified bootstrap of the {self.drawn}; covers sampling, {UNCOVERED}"
        return Interval(*ends, method)

    def estimate(
        self, samples: Samples, level: float, overlap: float | None = None
    ) -> PriorEstimate:
        """Find the share and its interval, and turn them into what is known of the prior."""
        found = self.find(samples)
        interval = self.interval(samples, found.share, level)
        least = least_prior(samples.labelled, samples.n_positive + samples.n_unlabeled)
        plain = PriorEstimate(
            value=prior_of_share(found.share, samples.labelled),
            low=least,
            high=prior_of_share(interval.high, samples.labelled),
            level=level,
            method=self.name,
            interval=interval.method,
            assumption=self.assumption,
            setting=samples.setting,
            share=found.share,
            labelled=samples.labelled,
            kind="upper bound",
            sampling=prior_of_shares(interval, samples.labelled),
            overlap=overlap,
            warnings=few_positives(samples.n_positive),
            diagnostics=found.diagnostics,
        )
        return plain if overlap is None else with_limited_overlap(plain, overlap)


def prior_of_shares(interval: Interval, labelled: float) -> tuple[float, float]:
    """Return the priors that belong to the ends of an interval of the share."""
    return prior_of_share(interval.low, labelled), prior_of_share(interval.high, labelled)


def with_limited_overlap(found: PriorEstimate, overlap: float) -> PriorEstimate:
    """Return an interval: the estimate if at most this part of the negatives look positive."""
    low = share_of_prior(found.sampling[0], found.labelled)
    least = prior_of_share(remove_overlap(low, overlap), found.labelled)
    return replace(found, kind="interval", low=max(found.low, least))


@dataclass(frozen=True, kw_only=True)
class ScoreEstimator(Estimator[ScoreLaws]):
    """An estimator that needs only the scores of positives and of unlabeled rows.

    Attributes
    ----------
    resamples : int
        Draws of the stratified bootstrap.
    seed : int
        Same seed, same interval.
    """

    drawn: ClassVar[str] = "scores"
    purpose: ClassVar[str] = "prior bootstrap"
    # Whether a monotone transform of the scores changes nothing.
    rank_based: ClassVar[bool] = True
    # Scores are merged into this many points before the bootstrap, so that it takes seconds.
    bootstrap_points: ClassVar[int] = 2048

    resamples: int = 200

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return an interval for the share, by default of a stratified bootstrap."""
        return super().interval(laws.coarse(self.bootstrap_points), share, level)

    def fit(
        self, scores: PUScores | ScoreLaws, *, level: float = 0.95, overlap: float | None = None
    ) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        scores : PUScores or ScoreLaws
            Scores of rows that the classifier was not trained on. A prior in them is ignored.
        level : float
            Nominal coverage of the interval.
        overlap : float, optional
            Largest part of the negatives that may look exactly like positives, 0 for none; no data
            can tell it. With it the answer is an interval if the scores separate the classes that
            it implies; otherwise, and without it, an upper bound.
        """
        level, laws = check_level(level), ScoreLaws.of(scores)
        found = self.estimate(laws, level)
        doubt = doubts(laws, found.share)
        # No method may exceed what the scores allow.
        high = max(laws.largest_prior(level), found.low)
        bound = replace(
            found,
            value=min(max(found.value, found.low), high),
            high=high,
            overlap=overlap,
            warnings=(*found.warnings, *doubt),
            diagnostics={"separation": laws.separation, **found.diagnostics},
        )
        if overlap is None or doubt or not separable(laws, found.share):
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
        Draws of the stratified bootstrap over rows, each of which repeats the whole estimate.
    seed : int
        Same seed, same answer.
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
    ) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labeled positives and 0 for unlabeled rows.
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; never guessed.
        level : float
            Nominal coverage of the interval.
        overlap : float, optional
            Largest part of the negatives that may look exactly like positives, 0 for none. Without
            it the answer is an upper bound.
        """
        level = check_level(level)
        return self.estimate(FeatureSamples.of(X, labeled, setting=setting), level, overlap)


@dataclass(frozen=True, kw_only=True)
class TrainedEstimator(FeatureEstimator):
    """An estimator from features that trains a classifier of positives against unlabeled rows."""

    classifier: Classifier = None


def interval_of_draws(
    draws: Floats, value: float, level: float, n_unlabeled: float
) -> tuple[float, float]:
    """Return ``value -+ t r`` with r the root mean square distance of resampled estimates from it.

    t is Student's quantile with as many degrees of freedom as there are draws. The distance is from
    the estimate, not from the mean of the resampled ones: a bias that resampling shows widens the
    interval. It is no narrower than the interval of a share counted in the unlabeled rows, which no
    estimate can beat; a share of 0 or 1 is as sure as half a row. Ends are clipped to [0, 1].

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
    """Return a warning if the positives are too few for any method."""
    if n >= FEW_POSITIVES:
        return ()
    few = "1 labelled positive is" if n == 1 else f"{n:,.0f} labelled positives are"
    rest = "the estimate may be far off, and no interval from so few rows is to be trusted"
    return (f"{few} too few: {rest}.",)


def doubts(laws: ScoreLaws, share: float) -> tuple[str, ...]:
    """Return what the scores say against a share that was read off them.

    No data can prove that negatives do not look like positives: only the smallest ratio of the two
    laws can be estimated, and it is an upper bound of the prior. The data do show whether the
    estimate depends on that assumption: it does if the classes that it implies overlap.
    """
    n, m = laws.n_positive, laws.n_unlabeled
    chance = 0.5 + 2.0 * null_deviation(n, m)
    if laws.separation < chance:
        doubt = (
            "The scores do not tell positives from unlabeled rows (AUC "
            f"{laws.separation:.3f}; chance gives so many rows up to {min(chance, 1.0):.3f}): "
            "either nearly all unlabeled rows are positive, or the scores know nothing. "
            "Only better scores or more rows can decide."
        )
    elif overlapping(laws.separation, share, n, m):
        doubt = (
            "The classes overlap, or the rows are too few to say that they do not (an AUC of "
            f"{laws.separation:.3f} between positives and unlabeled rows): negatives may contain a "
            "part that looks like positives, which no PU data can show. Read the estimate as an "
            "upper bound."
        )
    else:
        return ()
    return (doubt,)


def overlapping(separation: float, share: float, n: float, m: float) -> bool:
    """Tell whether the implied classes overlap, or the rows are too few to say that they do not.

    One standard deviation of the AUC of n positives against m unlabeled rows is given away; the
    fewer negatives are left, the less is known about them.

    Examples
    --------
    >>> overlapping(0.74, 0.5, 1000, 3000), overlapping(0.65, 0.5, 1000, 3000)
    (False, True)
    """
    noise = null_deviation(n, m) / max(1.0 - share, 1e-12)
    return not implied_separation(separation, share) - noise >= SEPARABLE


def separable(laws: ScoreLaws, share: float) -> bool:
    """Tell whether the classes that a share implies hardly overlap, beyond chance.

    Two standard deviations of the AUC are given away; the fewer negatives are left, the less is
    known about them.
    """
    noise = 2.0 * null_deviation(laws.n_positive, laws.n_unlabeled) / max(1.0 - share, 1e-12)
    return implied_separation(laws.separation, share) - noise >= SEPARABLE


def implied_separation(separation: float, share: float) -> float:
    r"""Return the AUC of positives against the negatives that a share implies.

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
    """Return the sd of the AUC of n against m rows when both laws are the same, without ties."""
    return float(np.sqrt((n + m + 1.0) / (12.0 * n * m)))
