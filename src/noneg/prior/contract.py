"""The contract of the estimators: `fit` takes scores, or features and labels, and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from noneg.checks import check_level
from noneg.prior.bootstrap import bootstrap_interval
from noneg.prior.doubts import doubts
from noneg.prior.laws import ScoreLaws
from noneg.prior.result import PriorEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noneg.scores import PUScores

UNCOVERED = "not the training of the scores, nor a failure of the assumption"


class Found(NamedTuple):
    """The share of positives among the unlabeled rows, and what was found on the way."""

    share: float
    diagnostics: Mapping[str, float] = {}


class Interval(NamedTuple):
    """Ends of an interval for the share, and how it was made."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, kw_only=True)
class ScoreEstimator(ABC):
    """An estimator that needs nothing but the scores of positives and of unlabeled rows.

    Options are fields; a subclass says what it assumes and finds the share.

    Attributes
    ----------
    resamples : int
        Draws of the stratified bootstrap.
    seed : int
        Same seed, same interval.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    assumption: ClassVar[str]
    citation: ClassVar[str]
    # Whether a monotone transform of the scores changes nothing.
    rank_based: ClassVar[bool] = True
    # Points to which scores are gathered before they are drawn anew.
    bootstrap_points: ClassVar[int] = 2048

    resamples: int = field(default=200)
    seed: int = field(default=0)

    @abstractmethod
    def find(self, laws: ScoreLaws) -> Found:
        """Return the share of positives among the unlabeled rows, in [0, 1]."""

    def interval(self, laws: ScoreLaws, share: float, level: float) -> Interval:
        """Return an interval for the share: by default a stratified bootstrap."""
        low, high = bootstrap_interval(
            lambda drawn: self.find(drawn).share,
            laws.coarse(self.bootstrap_points),
            share,
            level=level,
            resamples=self.resamples,
            seed=self.seed,
        )
        return Interval(
            low, high, f"stratified bootstrap of the scores; covers sampling, {UNCOVERED}"
        )

    def fit(self, scores: PUScores | ScoreLaws, *, level: float = 0.95) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        scores : PUScores or ScoreLaws
            Scores of rows that the classifier was not trained on. A prior in them is ignored.
        level : float
            Nominal coverage of the interval.
        """
        level, laws = check_level(level), ScoreLaws.of(scores)
        found = self.find(laws)
        return answer(self, laws, found, self.interval(laws, found.share, level), level)


def answer(
    estimator: ScoreEstimator, laws: ScoreLaws, found: Found, interval: Interval, level: float
) -> PriorEstimate:
    """Put together what was found about scores: shares become priors."""
    return PriorEstimate(
        value=laws.prior_of(found.share),
        low=laws.prior_of(interval.low),
        high=laws.prior_of(interval.high),
        level=level,
        method=estimator.name,
        interval=interval.method,
        assumption=estimator.assumption,
        setting=laws.setting,
        share=found.share,
        labelled=laws.labelled,
        warnings=doubts(laws, found.share),
        diagnostics={"separation": laws.separation, **found.diagnostics},
    )
