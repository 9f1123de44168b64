r"""Positives found by a review beside labeled positives: how selective labeling is.

If labeled positives are a random draw of all positives (SCAR), those among unlabeled rows fall
into strata like the labeled ones do. A review of :math:`n_h` of :math:`N_h` rows then finds
positives in proportion to :math:`n_h \nu_h / N_h`, with :math:`\nu_h` the share of labeled
positives in stratum h, and within a stratum they look like labeled ones. The test of a metric
compares the mean influence on it of the positives found with the mean to expect, by simulated
reviews; it is right for few positives too, where the normal law is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noneg.audit.estimates import enclose
from noneg.results import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.audit.answers import Answers
    from noneg.audit.estimates import Draws
    from noneg.audit.targets import Target

    Floats = NDArray[np.float64]

SIMULATIONS = 999
# A test at this level decides whether labeled and reviewed positives are combined.
REJECT = 0.05
ROUNDING = 1e-12
# Added to counts of labeled positives, so that a stratum without any is not impossible.
BLUR = 1e-3
# Ranges of scores among which labeling rates are compared.
GROUPS = 3
FUSED = "review and labeled positives together, if labeling is at random"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Whether labeled positives tell the same of a metric as the review does.

    Attributes
    ----------
    target : str
    audit : Estimate
        From the review alone.
    labeled : float
        The metric if positives among unlabeled rows were like labeled ones, as many as the review
        says there are.
    p_value : float
        Of the test that labeling is at random, for this metric.
    fused : Estimate or None
        Both together; None if the test rejects.
    """

    target: str
    audit: Estimate
    labeled: float
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
            "labeled": self.labeled,
            "p_value": self.p_value,
            "agrees": self.agrees,
            "fused": fused,
        }


class Contrast:
    """Labeled positives of a design beside the positives that a review found."""

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
            target=str(target), audit=audit, labeled=value, p_value=p_value, fused=fused
        )

    def _p_value(self, f: Floats, own: Floats) -> float:
        review = self.draws.review
        found = review.y > 0.0
        if not found.any() or np.ptp(own) <= ROUNDING * max(1.0, float(np.abs(own).max())):
            return 1.0
        at, n = self._strata(), review.size.size
        share = np.bincount(at, minlength=n) / at.size
        mean, square = _moments(own, at, n)
        rate = review.count / review.size
        middle = float((rate * share) @ mean / (rate @ share))
        # Binomial counts whose sum is the number of positives found; the labeled shares vary too.
        shares = self.rng.dirichlet(self.design.n_positive * share + BLUR, SIMULATIONS)
        chance = np.minimum(found.sum() / (rate @ share) * shares / review.size, 1.0)
        k = self.rng.binomial(review.count.astype(np.int64), chance).astype(np.float64)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0) * k)
        total = (k * mean + spread * self.rng.standard_normal(k.shape)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            null = np.nan_to_num(np.abs(total / k.sum(axis=1) - middle))
        here = abs(float(f[found].mean()) - middle)
        return float((1 + (null >= here - ROUNDING).sum()) / (null.size + 1))

    def _strata(self) -> NDArray[np.intp]:
        """Return the joined stratum of labeled positives."""
        return self.answers.joined[np.maximum(self.design.positive_stratum, 0)]

    def _fused(
        self, target: Target, audit: Estimate, gradient: Floats, own: Floats
    ) -> Estimate | None:
        """Return the estimate that the contrast, zero if labeling is at random, makes sharper."""
        census, known = self.design.census, self.design.census.known
        totals = self.draws.review.totals
        if not totals[0] > 0.0:
            return None
        pair = self.draws.extremes(lambda x: target.value(census, known + x))
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

        Of each range: its share among hidden positives over that among labeled ones. The factor
        is the largest of these ratios or of their inverses.
        """
        review, at, group_of = self.draws.review, self._strata(), self._ranges()
        in_range = np.eye(group_of.max() + 1)[group_of]
        labeled = np.bincount(at, minlength=review.size.size) @ in_range
        found = review.by_stratum[:, 0] @ in_range
        value = _ratios(found, labeled / labeled.sum())
        counts = self._gammas(found, in_range)
        shares = self.rng.dirichlet(self.design.n_positive * labeled / labeled.sum(), len(counts))
        ratio = _ratios(counts, shares)
        tail = (1.0 - level) / (2.0 * len(in_range.T))
        lows, highs = np.quantile(ratio, (tail, 1.0 - tail), axis=0)
        high = float(np.maximum(highs, 1.0 / lows).max())
        low = float(max(1.0, np.maximum(lows, 1.0 / highs).max()))
        with np.errstate(divide="ignore"):
            middle = float(np.nan_to_num(np.maximum(value, 1.0 / value), nan=np.inf).max())
        return Estimate(
            value=float(np.clip(middle, low, high)),
            low=low,
            high=high,
            level=level,
            method=f"counts in {len(in_range.T)} ranges of scores",
        )

    def _gammas(self, found: Floats, in_range: Floats) -> Floats:
        """Return draws of the positives in each range, which cannot be negative or zero."""
        review = self.draws.review
        rows = np.eye(in_range.shape[0])[review.stratum] @ in_range
        heavy = review.weight @ rows / rows.sum(axis=0)
        noise = (review.weight * review.y) ** 2 @ rows
        # Half a row more for a range in which no positive was found.
        blank = found <= 0.0
        mean = np.where(blank, 0.5 * heavy, found)
        shape = mean**2 / np.where(blank, 0.5 * heavy**2, np.maximum(noise, 1e-12 * mean**2))
        draws = self.rng.standard_gamma(shape, (len(self.draws.totals), mean.size))
        return np.asarray(draws * mean / shape)

    def _ranges(self) -> NDArray[np.intp]:
        """Return the range of each stratum: about equal numbers of labeled positives in each."""
        design, n = self.design, self.answers.code.size
        at = self.answers.joined[design.stratum[:n]]
        score = np.bincount(at, design.score[:n]) / np.bincount(at)
        cuts = np.quantile(design.positive_score, np.arange(1, GROUPS) / GROUPS)
        found = np.searchsorted(cuts, score)
        # Each range needs labeled positives to compare with.
        filled = np.unique(found[self._strata()])
        return np.clip(np.searchsorted(filled, found), 0, filled.size - 1)


def _moments(x: Floats, at: NDArray[np.intp], n: int) -> tuple[Floats, Floats]:
    """Return mean and mean square by stratum, zero where there is no row."""
    count = np.maximum(np.bincount(at, minlength=n), 1)
    return np.bincount(at, x, n) / count, np.bincount(at, x**2, n) / count


def _ratios(counts: Floats, shares: Floats) -> Floats:
    """Return the share of each range among positives found over that among labeled ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(counts / counts.sum(axis=-1, keepdims=True) / shares)
