"""What an estimator of the class prior answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noneg.prior.conversion import prior_of_share, remove_overlap
from noneg.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noneg.checks import Setting
    from noneg.scores import PUScores


@dataclass(frozen=True, kw_only=True)
class PriorEstimate:
    """A class prior with its interval, and what both rest on.

    Attributes
    ----------
    value : float
        Share of positives in the population.
    low, high : float
        Interval at `level`, for the identifiable prior; see `interval`.
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
        Share of labelled rows in the one sample, 0 in two samples.
    warnings : tuple of str
        What needs attention, in sentences.
    diagnostics : mapping of str to float
        Numbers that the method found on its way.

    Examples
    --------
    Classes far apart, .3 of the unlabeled rows positive, five draws; intervals at 95 %:

    >>> import numpy as np
    >>> from noneg.prior import ScoreLaws, estimate_prior
    >>> rng, found = np.random.default_rng(0), []
    >>> for _ in range(5):
    ...     u = np.append(rng.normal(4, 1, 300), rng.normal(0, 1, 700))
    ...     laws = ScoreLaws.from_arrays(
    ...         rng.normal(4, 1, 500), u, setting="two-sample", scale="logit"
    ...     )
    ...     found.append(estimate_prior(laws))
    >>> sum(each.low < 0.3 < each.high for each in found) >= 4
    True
    >>> any(each.warnings for each in found)
    False
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
    warnings: tuple[str, ...] = ()
    diagnostics: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, lists and text, ready for JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
            "interval": self.interval,
            "assumption": self.assumption,
            "setting": self.setting,
            "share": self.share,
            "labelled": self.labelled,
            "warnings": list(self.warnings),
            "diagnostics": dict(self.diagnostics),
        }

    def to_estimate(self) -> Estimate:
        """Return value and interval as an `Estimate`."""
        method = f"estimated by {self.method}: {self.interval}"
        return Estimate(
            value=self.value, low=self.low, high=self.high, level=self.level, method=method
        )

    def with_overlap(self, overlap: float) -> float:
        """Return the prior if this part of the negatives looks exactly like positives.

        See `noneg.prior.conversion.remove_overlap`; no data can tell the overlap.
        """
        return prior_of_share(remove_overlap(self.share, overlap), self.labelled)

    def apply(self, scores: PUScores) -> PUScores:
        """Return the same rows under this prior; its interval widens every number made of them.

        Ends at 0 or 1, where no metric is defined, are moved inwards by half an unlabeled row.

        Examples
        --------
        >>> from noneg.prior import estimate_prior
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 2000, setting="two-sample", seed=0)
        >>> scores = estimate_prior(scores).apply(scores)
        >>> scores.prior_interval[0] < scores.prior < scores.prior_interval[1]
        True
        """
        half_a_row = 0.5 / scores.n_unlabeled
        least = prior_of_share(half_a_row, self.labelled)
        most = prior_of_share(1.0 - half_a_row, self.labelled)
        if not least <= self.value <= most:
            msg = (
                f"'prior' must lie between {least:.4g} and {most:.4g} for these rows, but the "
                f"estimate by {self.method!r} is {self.value:.4g}: {self._extreme()} Pass a prior "
                "that is known from elsewhere."
            )
            raise ValueError(msg)
        return scores.with_prior(self.value, (max(self.low, least), min(self.high, most)))

    def _extreme(self) -> str:
        if self.value <= self.labelled + 0.5 * (1.0 - self.labelled):
            return "no unlabeled row looks positive."
        return "the unlabeled rows look like the positives, so no negatives are left."

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}] by {self.method}"
