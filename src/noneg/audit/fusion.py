r"""Positives found by a review beside labelled positives: how selective labelling is.

If labelled positives are a random draw of all positives (SCAR), the mean of any f over labelled
positives, and over the positives among unlabeled rows, estimate the same number. The test of a
metric takes the influence of a positive on it for f. The statistic

.. math:: t = \sum_i w_i y_i (f_i - \bar f) \Big/ \sqrt{\sum_i w_i^2 y_i (f_i - \bar f)^2}

over reviewed rows is compared with reviews simulated under SCAR: the number of positives in a
stratum is binomial, and their f are those of labelled positives there. It is right for few
positives too, where the normal law is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.audit.estimates import Draws, Review, enclose
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.audit.answers import Answers
    from noneg.audit.targets import Target

    Floats = NDArray[np.float64]

SIMULATIONS = 1999
# A test at this level decides whether labelled and reviewed positives are combined.
REJECT = 0.05
# Ranges of scores among which labelling rates are compared.
GROUPS = 3
FUSED = "review and labelled positives together, if labelling is at random"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Whether labelled positives tell the same of a metric as the review does.

    Attributes
    ----------
    target : str
    audit : Estimate
        From the review alone.
    labelled : float
        The metric if positives among unlabeled rows were like labelled ones, as many as the review
        says there are.
    p_value : float
        Of the test that labelling is at random, for this metric.
    fused : Estimate or None
        Both together; None if the test rejects.
    """

    target: str
    audit: Estimate
    labelled: float
    p_value: float
    fused: Estimate | None

    @property
    def agrees(self) -> bool:
        """Whether the test does not reject at 5 %."""
        return self.p_value >= REJECT

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text."""
        fused = None if self.fused is None else self.fused.to_dict()
        return {
            "labelled": self.labelled,
            "p_value": self.p_value,
            "agrees": self.agrees,
            "fused": fused,
        }


class Contrast:
    """Labelled positives of a design beside the positives that a review found."""

    def __init__(self, answers: Answers, draws: Draws, rng: np.random.Generator) -> None:
        self.answers, self.draws, self.rng = answers, draws, rng
        self.design = design = answers.design
        self.features = design.census.features(design.positive_score, design.positive_rank)

    def agreement(self, target: Target, audit: Estimate) -> Agreement:
        """Test one metric, and combine what agrees."""
        census, review = self.design.census, self.draws.review
        totals = review.totals
        gradient = target.gradient(census, census.known + totals)
        own = self.features @ gradient
        like = census.known + totals[0] * self.features.mean(axis=0)
        p_value = self._p_value(review.features @ gradient, own)
        fused = None if p_value < REJECT else self._fused(target, audit, gradient, own)
        value = float(np.clip(target.value(census, like), *target.range))
        return Agreement(
            target=str(target), audit=audit, labelled=value, p_value=p_value, fused=fused
        )

    def _p_value(self, f: Floats, own: Floats) -> float:
        review, design = self.draws.review, self.design
        found, spread = review.y > 0.0, float(own.std())
        if not found.any() or spread <= 1e-12 * max(1.0, float(np.abs(own).max())):
            return 1.0
        weight = review.weight
        noise = spread / np.sqrt(design.n_positive)
        step = f - own.mean()
        here = _studentized((weight * step)[found].sum(), ((weight * step)[found] ** 2).sum())
        null = self._simulated(own, noise)
        return float((1 + (np.abs(null) >= abs(here) - 1e-12).sum()) / (null.size + 1))

    def _simulated(self, own: Floats, noise: float) -> Floats:
        """Return the statistic of reviews in which labelling is at random."""
        review, n = self.draws.review, SIMULATIONS
        at = self._strata()
        share, rows = np.bincount(at, minlength=review.size.size) / at.size, review.count
        rate = np.clip(review.totals[0] * share / review.size, 0.0, 1.0)
        weight = np.add.reduceat(review.weight, review.starts) / rows
        mean, square = _moments(own - own.mean(), at, review.size.size)
        k = self.rng.binomial(rows.astype(np.int64), rate, (n, rows.size)).astype(np.float64)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        total = k * mean + np.sqrt(k) * spread * self.rng.standard_normal(k.shape)
        shift = noise * self.rng.standard_normal((n, 1))
        total = (weight * (total - k * shift)).sum(axis=1)
        return _studentized(total, (weight**2 * k * (square + shift**2)).sum(axis=1))

    def _strata(self) -> NDArray[np.intp]:
        """Return the joined stratum of labelled positives."""
        return self.answers.joined[np.maximum(self.design.positive_stratum, 0)]

    def _fused(
        self, target: Target, audit: Estimate, gradient: Floats, own: Floats
    ) -> Estimate | None:
        """Return the estimate that the contrast, zero if labelling is at random, makes sharper."""
        census, known = self.design.census, self.design.census.known
        totals = self.draws.review.totals
        if not totals[0] > 0.0:
            return None
        pair = self.draws.extremes(gradient)
        noise = own.std() / np.sqrt(self.design.n_positive) * self.rng.standard_normal(len(pair[0]))
        hidden = own.std() / np.sqrt(totals[0]) * self.rng.standard_normal(len(pair[0]))

        def contrast(x: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.nan_to_num((x @ gradient) / x[..., 0] - own.mean())

        plain = self.draws.totals
        gap = contrast(plain) + noise + hidden
        value = np.nan_to_num(target.value(census, known + plain))
        slope = float(np.cov(value, gap)[0, 1] / np.var(gap)) if np.var(gap) > 0.0 else 0.0
        tail = (1.0 - audit.level) / 2.0
        ends = [
            np.quantile(target.value(census, known + x) - slope * (contrast(x) + noise + hidden), q)
            for x, q in zip(pair, (tail, 1.0 - tail), strict=True)
        ]
        middle = audit.value - slope * float(contrast(totals))
        found = enclose(target, middle, float(ends[0]), float(ends[1]), audit.level)
        return replace(found, method=FUSED)

    def selection(self, level: float) -> Estimate:
        """Return the selection factor among ranges of scores, with its limits.

        Of each range: the share of it among positives that the review found, over its share among
        labelled positives. The factor is the largest of these ratios or of their inverses.
        """
        at, group_of = self._strata(), self._ranges()
        review = self.draws.review
        count = np.bincount(group_of[at], minlength=group_of.max() + 1).astype(np.float64)
        share = count / count.sum()
        in_group = np.eye(share.size)[group_of]
        by_group = Review(
            review.stratum,
            review.weight,
            in_group[review.stratum],
            review.y,
            review.size,
            np.repeat(in_group[:, None], 2, axis=1),
        )
        found = self._gammas(by_group)
        labelled = self.rng.dirichlet(count + 0.5, len(found))
        tail = (1.0 - level) / (2.0 * share.size)
        ratio = found / found.sum(axis=1, keepdims=True) / labelled
        lows, highs = np.quantile(ratio, (tail, 1.0 - tail), axis=0)
        with np.errstate(divide="ignore"):
            high = float(np.maximum(highs, 1.0 / lows).max())
            low = float(max(1.0, np.maximum(lows, 1.0 / highs).max()))
        value = _factor(by_group.totals, share)
        return Estimate(
            value=float(np.clip(value, low, high)),
            low=low,
            high=high,
            level=level,
            method=f"design bootstrap over {share.size} ranges of scores",
        )

    def _gammas(self, review: Review) -> Floats:
        """Return draws of the positives in each range, which cannot be negative or zero."""
        draws = Draws(review, self.rng)
        in_range = review.features > 0.0
        weight = np.array([review.weight[own].mean() for own in in_range.T])
        # Half a row more for a range in which no positive was found.
        mean = np.maximum(review.totals, 0.5 * weight)
        variance = np.maximum(draws.totals.var(axis=0), 0.5 * weight**2 * (review.totals == 0.0))
        shape = np.minimum(mean**2 / np.maximum(variance, 1e-12 * mean**2), 1e9)
        return self.rng.standard_gamma(shape, (len(draws.totals), mean.size)) * mean / shape

    def _ranges(self) -> NDArray[np.intp]:
        """Return the range of each stratum: about equal numbers of labelled positives in each."""
        design, n = self.design, self.answers.code.size
        at = self.answers.joined[design.stratum[:n]]
        score = np.bincount(at, design.score[:n]) / np.bincount(at)
        cuts = np.quantile(design.positive_score, np.arange(1, GROUPS) / GROUPS)
        found = np.searchsorted(cuts, score)
        # Each range needs labelled positives to compare with.
        filled = np.unique(found[self._strata()])
        return np.clip(np.searchsorted(filled, found), 0, filled.size - 1)


def _studentized(total: Floats, square: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.asarray(total) / np.sqrt(square), posinf=0.0, neginf=0.0)


def _moments(x: Floats, at: NDArray[np.intp], n: int) -> tuple[Floats, Floats]:
    """Return mean and mean square by stratum, zero where there is no row."""
    count = np.maximum(np.bincount(at, minlength=n), 1)
    return np.bincount(at, x, n) / count, np.bincount(at, x**2, n) / count


def _factor(totals: Floats, labelled: Floats) -> float:
    """Return the largest ratio of shares, or inverse of one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = totals / totals.sum() / labelled
        return float(np.nan_to_num(np.maximum(ratio, 1.0 / ratio), nan=np.inf).max())
