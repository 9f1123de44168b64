"""Rows with features, some marked as labelled positives, and the estimators that need them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noneg import checks
from noneg.prior.bootstrap import interval_of_draws
from noneg.prior.contract import UNCOVERED, Found
from noneg.prior.conversion import prior_of_share
from noneg.prior.doubts import few_positives
from noneg.prior.result import PriorEstimate
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]

FEW_RESAMPLES = 20


@dataclass(frozen=True, eq=False)
class FeatureSamples:
    """Features of the labelled positives and of the unlabeled rows.

    Attributes
    ----------
    positive, unlabeled : ndarray, shape (n, d)
    setting : {"two-sample", "one-sample"}

    Examples
    --------
    >>> samples = FeatureSamples.of([[1.0], [2.0], [0.0]], [1, 0, 0], setting="one-sample")
    >>> samples.unlabeled.shape, round(samples.labelled, 3)
    ((2, 1), 0.333)
    """

    positive: Floats
    unlabeled: Floats
    setting: Setting

    @classmethod
    def of(cls, X: ArrayLike, labeled: ArrayLike, *, setting: Setting) -> FeatureSamples:
        """Split a table into its labelled and its unlabeled rows."""
        if checks.check_setting(setting) == "labelled":
            raise ValueError("'setting' must be 'two-sample' or 'one-sample', got 'labelled'.")
        table = _table(X)
        flags = checks.check_flags(labeled, "labeled", choosable=False)
        checks.check_same_length(X=table.shape[0], labeled=flags.size)
        checks.check_filled(int(flags.sum()), "labeled", "labelled positive")
        checks.check_filled(int((~flags).sum()), "labeled", "unlabeled row")
        return cls(table[flags], table[~flags], setting)

    @property
    def labelled(self) -> float:
        """Share of labelled rows in the one sample, 0 in two samples."""
        n, m = len(self.positive), len(self.unlabeled)
        return n / (n + m) if self.setting == "one-sample" else 0.0

    def standardised(self) -> FeatureSamples:
        """Return columns with mean 0 and deviation 1 over all rows; constant ones become 0."""
        rows = np.concatenate([self.positive, self.unlabeled])
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        deviation[deviation == 0.0] = 1.0
        p, u = ((x - mean) / deviation for x in (self.positive, self.unlabeled))
        return FeatureSamples(p, u, self.setting)

    def at_most(self, n_rows: int, random: np.random.Generator) -> FeatureSamples:
        """Return a random part of at most this many rows of each kind."""
        p, u = (
            x if len(x) <= n_rows else x[random.choice(len(x), n_rows, replace=False)]
            for x in (self.positive, self.unlabeled)
        )
        return FeatureSamples(p, u, self.setting)

    def resampled(self, random: np.random.Generator) -> FeatureSamples:
        """Draw the rows of each kind anew from themselves."""
        p, u = (x[random.integers(len(x), size=len(x))] for x in (self.positive, self.unlabeled))
        return FeatureSamples(p, u, self.setting)


@dataclass(frozen=True, kw_only=True)
class FeatureEstimator(ABC):
    """An estimator that looks at the features themselves.

    Attributes
    ----------
    resamples : int
        Draws of the stratified bootstrap over rows, each of which repeats the whole estimate.
    seed : int
        Same seed, same answer.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    assumption: ClassVar[str]
    citation: ClassVar[str]

    resamples: int = field(default=FEW_RESAMPLES)
    seed: int = field(default=0)

    @abstractmethod
    def find(self, samples: FeatureSamples) -> Found:
        """Return the share of positives among the unlabeled rows, in [0, 1]."""

    def fit(
        self, X: ArrayLike, labeled: ArrayLike, *, setting: Setting, level: float = 0.95
    ) -> PriorEstimate:
        """Estimate the class prior.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labelled positives and 0 for unlabeled rows.
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; never guessed.
        level : float
            Nominal coverage of the interval.
        """
        level = checks.check_level(level)
        samples = FeatureSamples.of(X, labeled, setting=setting)
        found = self.find(samples)
        low, high = self._interval(samples, found.share, level)
        prior = [prior_of_share(a, samples.labelled) for a in (found.share, low, high)]
        return PriorEstimate(
            value=prior[0],
            low=prior[1],
            high=prior[2],
            level=level,
            method=self.name,
            interval=f"stratified bootstrap of the rows; covers sampling, {UNCOVERED}",
            assumption=self.assumption,
            setting=setting,
            share=found.share,
            labelled=samples.labelled,
            warnings=few_positives(float(len(samples.positive))),
            diagnostics=found.diagnostics,
        )

    def _interval(self, samples: FeatureSamples, share: float, level: float) -> tuple[float, float]:
        random = stream(self.seed, "prior bootstrap of rows")
        draws = [self.find(samples.resampled(random)).share for _ in range(self.resamples)]
        return interval_of_draws(np.array(draws), share, level, float(len(samples.unlabeled)))


def _table(X: ArrayLike) -> Floats:
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        msg = "'X' must hold numbers in every column. Encode categories first, one column each."
        raise ValueError(msg) from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"'X' must be a table of rows and columns, got shape {table.shape}.")
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = (
            f"'X' must be finite, got {float(table[row, column])!r} in row {row}, column {column}."
        )
        raise ValueError(f"{msg} Remove or impute such rows; none is dropped silently.")
    return table
