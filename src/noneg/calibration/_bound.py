"""What every bound is made of: the answer, the checks and the one inequality behind all of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Literal

Binning = Literal["width", "mass"]
Form = Literal["corrected", "printed"]

LOG2 = math.log(2.0)
PU_ECE = "PU-ECE"
FUTAMI = "Futami & Fujisawa 2024"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """An upper bound on a calibration error's error, and what it is made of.

    Attributes
    ----------
    value : float
        The bound: the sum of the four parts.
    binning : float
        Part that remains because a bin holds many scores.
    statistical : float
        Part that remains because rows are finite, without reuse of training rows.
    information : float
        What is added because the classifier has seen these rows; zero at zero information.
    prior : float
        What is added because the class prior is wrong.
    form : {"corrected", "printed"}
        Whether a slip in the source has been repaired, or the text is taken as it stands.
    reference : str
        Paper and theorem.

    Examples
    --------
    >>> bound = Bound(binning=0.25, statistical=0.5, reference="an example")
    >>> bound.value, float(bound), bound.vacuous
    (0.75, 0.75, False)
    """

    value: float = field(init=False)
    binning: float = 0.0
    statistical: float = 0.0
    information: float = 0.0
    prior: float = 0.0
    form: Form = "corrected"
    reference: str

    def __post_init__(self) -> None:
        total = self.binning + self.statistical + self.information + self.prior
        object.__setattr__(self, "value", total)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: calibration errors never differ by more than one."""
        return self.value > 1.0

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float | str | bool]:
        """Return the value, its parts and its origin as plain numbers and text."""
        return {**asdict(self), "vacuous": self.vacuous}


def deviation(variance: float, bins: int, extra: float = 0.0) -> float:
    r"""Return :math:`\sqrt{2 v (B \log 2 + \text{extra})}`, which bounds B deviations together.

    A sum of B absolute values is the largest of :math:`2^B` signed sums. When each of those is
    sub-Gaussian with variance factor v, the mean of the largest is at most this with ``extra`` 0,
    and its upper quantile of level :math:`1-\delta` with ``extra`` :math:`\log(1/\delta)`.
    """
    return math.sqrt(2.0 * variance * (bins * LOG2 + extra))


def training_deviation(variance: float, bins: int, information: float) -> tuple[float, float]:
    r"""Split :math:`\sqrt{8 v (I + B \log 2)}` into its value at I = 0 and what I adds.

    The factor is 8, not 2, because a term is the difference of two rows, one seen and one unseen.
    """
    blind = 2.0 * deviation(variance, bins)
    return blind, 2.0 * deviation(variance, bins, information) - blind


def binning_part(
    n: float, bins: int, binning: Binning, lipschitz: float, tail: float = 0.0
) -> float:
    r"""Return the binning bias: (1+L)/B, and for mass bins what the edges' own noise adds to it."""
    share = 1.0 / bins
    if binning == "mass":
        share += deviation(1.0 / (n - bins), bins, tail) + 2.0 * bins / (n - bins)
    return (1.0 + lipschitz) * share


def log_tail(delta: float | None, *, events: int = 1) -> float:
    """Return what a failure probability, shared by so many events, adds to B log 2."""
    if delta is None:
        return 0.0
    if not 0.0 < delta < 1.0:
        raise ValueError(
            f"'delta' must lie in (0, 1), got {delta!r}. Pass the probability with which the bound "
            "may fail, such as 0.05, or None for the bound on the expected error."
        )
    return math.log(events / delta)


def check_size(value: float, name: str) -> None:
    """Refuse a sample size below one."""
    if not value >= 1:
        raise ValueError(
            f"'{name}' must be at least 1, got {value!r}. Pass the number of rows (math.inf where "
            "the population itself is known)."
        )


def check_bins(bins: int, binning: Binning, n: float, name: str) -> None:
    """Refuse a bin count or a kind of bins that the theorem does not cover."""
    if binning not in ("width", "mass"):
        raise ValueError(f"'binning' must be 'width' or 'mass', got {binning!r}. Choose one.")
    if bins < 1 or bins != int(bins):
        raise ValueError(f"'bins' must be a whole number from 1, got {bins!r}. Pass such a number.")
    if binning == "mass" and n < 2 * bins:
        raise ValueError(
            f"'bins' must be at most {name}/2 for bins of equal mass, got {bins!r} bins and "
            f"{name}={n!r}. Pass fewer bins, or binning='width'."
        )


def check_labelled(n: float, bins: int, binning: Binning, **nonnegative: float) -> None:
    """Refuse what the theorems on labelled rows do not cover."""
    check_size(n, "n")
    check_bins(bins, binning, n, "n")
    check_nonnegative(**nonnegative)


def check_nonnegative(**values: float) -> None:
    """Refuse a Lipschitz constant or an information that is negative or infinite."""
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(
                f"'{name}' must be a finite number from 0, got {value!r}. Pass an upper bound."
            )


def check_form(form: Form) -> None:
    """Refuse an unknown form."""
    if form not in ("corrected", "printed"):
        raise ValueError(
            f"'form' must be 'corrected' or 'printed', got {form!r}. Leave it out for 'corrected'."
        )
