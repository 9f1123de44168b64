"""Knowledge about the population besides the rows: its prior, and how positives were labeled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from noneg import checks

if TYPE_CHECKING:
    from noneg.checks import Setting

Kind = Literal["exact", "interval", "upper bound"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Knowledge:
    """The prior, the set of priors that cannot be ruled out, and the selection factor.

    Attributes
    ----------
    prior : float or None
        Share of positives in the population at which values are quoted; None if it is unknown.
    prior_interval : (float, float) or None
        Ends of the set of priors that intervals must cover; None if the prior is exact.
    kind : {"exact", "interval", "upper bound"}
        Whether the set is a single prior, a confidence interval, or everything below the
        confidence limit of an upper bound.
    selection : float
        Largest factor by which the score density of hidden positives may differ from that of
        labeled ones; 1 if labeled positives are a random sample of all positives.

    Examples
    --------
    >>> Knowledge.given(0.2, (0.15, 0.3)).prior_set
    (0.15, 0.3)
    >>> round(Knowledge.given(None, (0.1, 0.2)).prior, 3)  # quoted at the middle
    0.15
    """

    prior: float | None = None
    prior_interval: tuple[float, float] | None = None
    kind: Kind = "exact"
    selection: float = 1.0

    @classmethod
    def given(
        cls,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
        *,
        kind: Kind | None = None,
        selection: float = 1.0,
    ) -> Self:
        """Check user input; an interval without a prior is quoted at its midpoint."""
        if prior is not None:
            prior = checks.check_prior(prior)
        if prior_interval is not None:
            prior_interval = checks.check_prior_interval(prior_interval, prior)
        if prior is None and prior_interval is not None:
            prior = sum(prior_interval) / 2.0
        return cls(
            prior=prior,
            prior_interval=prior_interval,
            kind=kind or ("exact" if prior_interval is None else "interval"),
            selection=checks.check_selection(selection),
        )

    def replaced(self, **changes: object) -> Self:
        """Return the same knowledge with some of it replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def known_prior(self) -> float:
        """The prior, for computations that need one; raises an error if it is unknown."""
        if self.prior is None:
            raise checks.unknown_prior("this metric")
        return self.prior

    @property
    def prior_set(self) -> tuple[float, float]:
        """Smallest and largest prior that cannot be ruled out; equal if the prior is exact."""
        return self.prior_interval or (self.known_prior, self.known_prior)

    def check_setting(self, setting: Setting) -> None:
        """Raise an error for a prior that the labels determine."""
        setting = checks.check_setting(setting)
        # An interval implies a prior.
        checks.check_undetermined(setting, prior_interval=self.prior_interval, prior=self.prior)


NOTHING = Knowledge()
