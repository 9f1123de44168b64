"""What is known of the population beside the rows: its prior, and how positives got labeled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from noneg import checks
from noneg.errors import InputError

if TYPE_CHECKING:
    from noneg.checks import Setting

Kind = Literal["exact", "interval", "upper bound"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Knowledge:
    """The prior, the set of priors that cannot be excluded, and the selection factor.

    Attributes
    ----------
    prior : float or None
        Share of positives in the population at which numbers are quoted; None if nothing is known.
    prior_interval : (float, float) or None
        Ends of the set of priors that intervals have to hold for; None if the prior is exact.
    kind : {"exact", "interval", "upper bound"}
        Whether the set is a single prior, a confidence interval, or everything below the
        confidence limit of an upper bound.
    selection : float
        How many times more or less likely than a labeled positive a hidden positive may be to
        look as it does; 1 if labeled positives are a random draw of all positives.

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
        """Check what a user says; an interval without a prior is quoted at its middle."""
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
        """The prior, for numbers that need one; an error says so if it is not known."""
        if self.prior is None:
            msg = "must be known for this number, got None. Pass the share of positives, or"
            raise InputError("prior", msg, remedy="estimate it with noneg.prior.estimate_prior.")
        return self.prior

    @property
    def prior_set(self) -> tuple[float, float]:
        """Ends of the priors that cannot be excluded; equal if the prior is exact."""
        return self.prior_interval or (self.known_prior, self.known_prior)

    def check_setting(self, setting: Setting) -> None:
        """Refuse a prior that the labels determine."""
        if checks.check_setting(setting) != "labelled":
            return
        for name in ("prior_interval", "prior"):  # an interval brings a prior
            if getattr(self, name) is not None:
                raise checks.determined(name, getattr(self, name))


NOTHING = Knowledge()
