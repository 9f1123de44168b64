"""A beta-distributed score with a known calibration curve (Dong et al., Algorithm 3, Table 2).

The paper is Combining Priors with Experience: Confidence Calibration Based on Binomial Process
Modeling.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, log_expit

from noneg.arrays import Flags, Floats
from noneg.checks import check_choice
from noneg.errors import InputError
from noneg.simulation.worlds import SIGMOID_BREAKS, LogitLaw, World

Link = Literal["logit", "log", "logflip"]

_LOG_NEGLIGIBLE: Final = -42.0  # Log of a tail mass that is negligible in double precision.


@dataclass(frozen=True)
class CalibrationCurve:
    r"""A calibration curve that is linear in log s and log(1 - s) on the scale of a link.

    :math:`\mathrm{link}(P(Y = 1 \mid s)) = a + b \log s + c \log(1 - s)`, where the link is logit,
    log or logflip, :math:`\mathrm{logflip}(x) = \log(1 - x)`. This includes every curve in Table 2
    of Dong et al. (a term in logit s means b = -c) and, with the logit link, the family in their
    Eq. (12).

    Parameters
    ----------
    link : {"logit", "log", "logflip"}
        Scale on which the curve is linear.
    intercept : float
        The constant a.
    log_slope, logflip_slope : float, default=0
        The coefficients b of log s and c of log(1 - s).

    Notes
    -----
    The links log and logflip need ``intercept <= 0`` and slopes >= 0; otherwise, the curve would
    leave [0, 1].

    Examples
    --------
    >>> import math
    >>> curve = CalibrationCurve("log", -0.03, log_slope=1.27)
    >>> float(curve.at_logit(0.0).round(6)), round(math.exp(-0.03) * 0.5**1.27, 6)
    (0.402405, 0.402405)
    """

    link: Link
    intercept: float
    log_slope: float = 0.0
    logflip_slope: float = 0.0

    def __post_init__(self) -> None:
        in_doubt = "Use 'logit' when in doubt: it keeps every curve in (0, 1)."
        check_choice(self.link, "link", get_args(Link), in_doubt)
        values = (self.intercept, self.log_slope, self.logflip_slope)
        if not np.all(np.isfinite(values)):
            raise ValueError(
                "'intercept', 'log_slope' and 'logflip_slope' must be finite, got "
                f"{values}. Omit a slope to set it to 0."
            )
        if self.link != "logit" and (values[0] > 0 or min(values[1:]) < 0):
            raise InputError(
                "intercept",
                f"must be <= 0 and the slopes >= 0 with the {self.link!r} link, got "
                f"{values}: the curve would leave [0, 1]. Use link='logit' for such a curve.",
            )

    def at_logit(self, logits: ArrayLike) -> Floats:
        """P(Y = 1 | s) at s = sigmoid(logits), without rounding error for s close to 1."""
        v = np.asarray(logits, dtype=np.float64)
        linear = self.intercept + self.log_slope * log_expit(v) + self.logflip_slope * log_expit(-v)
        if self.link == "log":
            curve = np.exp(linear)
        elif self.link == "logflip":
            curve = -np.expm1(linear)
        else:
            curve = expit(linear)
        return np.asarray(curve, dtype=np.float64)


@dataclass(frozen=True)
class BetaLaw(LogitLaw):
    r"""Distribution of a score that is Beta(alpha, beta).

    The density of the logit is :math:`s^\alpha (1 - s)^\beta / B(\alpha, \beta)`, which is smooth
    where the density of s has poles.

    Parameters
    ----------
    alpha, beta : float
        Positive shape parameters.

    Examples
    --------
    >>> BetaLaw(1.0, 1.0).moments([0.0, 1.0]).round(9)
    array([[1.        , 0.5       , 0.33333333...]])
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < np.inf:
                rule = "must be positive and finite"
                raise InputError(name, rule, value=value, remedy=f"Pass for example {name}=1.")

    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""
        exponent = self.alpha * log_expit(logits) + self.beta * log_expit(-logits)
        return np.exp(exponent - betaln(self.alpha, self.beta))

    def breaks(self) -> Floats:
        """Panels one standard deviation wide around the mode, then both exponential tails."""
        a, b = self.alpha, self.beta
        low = (_LOG_NEGLIGIBLE + np.log(a) + betaln(a, b)) / a
        high = -(_LOG_NEGLIGIBLE + np.log(b) + betaln(a, b)) / b
        mode, sd = np.log(a / b), np.sqrt(1 / a + 1 / b)
        about_mode = mode + sd * np.arange(-9.0, 9.5)
        inner = np.clip(np.concatenate([about_mode, SIGMOID_BREAKS]), low, high)
        return np.union1d(np.linspace(low, high, 17), inner)

    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits as log ratios of gamma variates, which cannot overflow."""
        return _log_gamma_variates(self.alpha, n, rng) - _log_gamma_variates(self.beta, n, rng)


@dataclass(frozen=True)
class TiltedBetaLaw(LogitLaw):
    """Distribution of the score given Y = 1: beta density times calibration curve over prior.

    Parameters
    ----------
    base : BetaLaw
        Marginal distribution of the score.
    curve : CalibrationCurve
        P(Y = 1 | s).
    prior : float
        P(Y = 1), the mean of the curve under `base`.

    Examples
    --------
    >>> law = BinomialProcess("D5").positive_law()
    >>> law.moments([0.0, 1.0])[:, 0].round(12)
    array([1.])
    """

    base: BetaLaw
    curve: CalibrationCurve
    prior: float

    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""
        return self.base.density(logits) * self.curve.at_logit(logits) / self.prior

    def breaks(self) -> Floats:
        """Panels of the marginal distribution."""
        return self.base.breaks()

    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits by drawing marginal rows and keeping the positive ones."""
        kept = np.empty(0)
        while kept.size < n:
            logits, y = _rows(self.base, self.curve, int((n - kept.size) / self.prior) + 1, rng)
            kept = np.concatenate([kept, logits[y]])
        return kept[:n]


@dataclass(frozen=True, init=False)
class BinomialProcess(World):
    """Beta-distributed scores, labels from a known calibration curve (Dong et al., Algorithm 3).

    Parameters
    ----------
    curve : {"D1", "D2", "D3", "D4", "D5"} or CalibrationCurve
        A row of Table 2 of Dong et al., or a custom curve, which requires `alpha` and `beta`.
    alpha, beta : float, optional
        Shape parameters of the distribution of the score.

    Attributes
    ----------
    prior : float
        P(Y = 1), the mean of the curve under the distribution of the score.

    Notes
    -----
    D1 and D2 have so much mass near 1 that 24% and 34% of the scores drawn round to 1.0. Their
    labels are still drawn from the curve at the exact score, which is kept as a logit.

    Table 2 implies errors of 4.97, 1.29, 4.10, 7.38 and 27.54%; Appendix B.4 of the paper mentions
    about 7 and 10% for D3 and D4, which disagrees with its table.

    Examples
    --------
    >>> world = BinomialProcess("D1")
    >>> round(world.tce(), 9), round(world.prior, 6)
    (0.049726018, 0.936042)
    >>> overconfident = CalibrationCurve("logit", 0.0, log_slope=0.5, logflip_slope=-0.5)
    >>> round(BinomialProcess(overconfident, alpha=2.0, beta=1.0).tce(), 6)
    0.096574
    """

    curve: CalibrationCurve
    alpha: float
    beta: float
    prior: float

    def __init__(
        self,
        curve: str | CalibrationCurve,
        *,
        alpha: float | None = None,
        beta: float | None = None,
    ) -> None:
        if isinstance(curve, str):
            curve, law = _table_row(curve, alpha, beta)
        elif alpha is None or beta is None:
            raise InputError(
                "alpha",
                f"and 'beta' must be given with a custom curve, got alpha={alpha!r} "
                f"and beta={beta!r}. Pass the two shape parameters of the score distribution.",
            )
        else:
            law = BetaLaw(alpha, beta)
        prior = float(law.bin_integrals(curve.at_logit, [0.0, 1.0])[0])
        if not 0 < prior < 1:
            rule = (
                f"must give both labels a positive probability, got {curve!r} with P(Y = 1) = "
                f"{prior}"
            )
            raise InputError("curve", rule, remedy="Change its intercept.")
        fields = {"curve": curve, "alpha": law.alpha, "beta": law.beta, "prior": prior}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def positive_law(self) -> TiltedBetaLaw:
        """Distribution of the score given Y = 1."""
        return TiltedBetaLaw(self.marginal_law(), self.curve, self.prior)

    def marginal_law(self) -> BetaLaw:
        """Distribution of the score, Beta(alpha, beta)."""
        return BetaLaw(self.alpha, self.beta)

    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit), the calibration curve."""
        return self.curve.at_logit(logits)

    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, Flags]:
        """Draw `n` independent pairs: first the logit, then the label from the curve."""
        return _rows(self.marginal_law(), self.curve, n, rng)


# Table 2 of Dong et al.: calibration curve and distribution of the score.
TABLE_2 = {
    "D1": (CalibrationCurve("logit", -0.88, 0.49, -0.49), BetaLaw(2.77, 0.04)),
    "D2": (CalibrationCurve("logflip", -0.12, 0.0, 0.58), BetaLaw(2.17, 0.03)),
    "D3": (CalibrationCurve("log", -0.03, 1.27, 0.0), BetaLaw(1.12, 0.11)),
    "D4": (CalibrationCurve("logit", -0.77, 0.0, -0.80), BetaLaw(1.13, 0.20)),
    "D5": (CalibrationCurve("logit", -0.97, 0.34, -0.34), BetaLaw(1.19, 0.22)),
}


def _table_row(
    name: str, alpha: float | None, beta: float | None
) -> tuple[CalibrationCurve, BetaLaw]:
    if name not in TABLE_2:
        rule = f"must be one of {sorted(TABLE_2)} or a CalibrationCurve"
        remedy = "For a custom world, pass a CalibrationCurve with alpha and beta."
        raise InputError("curve", rule, value=name, remedy=remedy)
    if alpha is not None or beta is not None:
        rule = f"and 'beta' are fixed by {name!r}, got alpha={alpha!r} and beta={beta!r}"
        raise InputError("alpha", rule, remedy="Omit them, or pass a CalibrationCurve.")
    return TABLE_2[name]


def _rows(
    law: BetaLaw, curve: CalibrationCurve, n: int, rng: np.random.Generator
) -> tuple[Floats, Flags]:
    logits = law.draw_logits(n, rng)
    return logits, rng.random(n) < curve.at_logit(logits)


def _log_gamma_variates(shape: float, n: int, rng: np.random.Generator) -> Floats:
    """Logarithms of gamma variates via Gamma(a) = Gamma(a + 1) U^(1/a); exact for tiny shapes."""
    return np.log(rng.standard_gamma(shape + 1, n)) - rng.standard_exponential(n) / shape
