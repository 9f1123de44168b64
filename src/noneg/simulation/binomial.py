"""A beta law of the score and a known calibration curve (Dong et al., Algorithm 3, Table 2).

The paper is Combining Priors with Experience: Confidence Calibration Based on Binomial Process
Modeling.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, expit, log_expit

from noneg.errors import InputError
from noneg.simulation.worlds import SIGMOID_BREAKS, Floats, LogitLaw, World

Link = Literal["logit", "log", "logflip"]

_LOG_NEGLIGIBLE: Final = -42.0  # log of a tail mass that no double notices


@dataclass(frozen=True)
class CalibrationCurve:
    r"""A calibration curve linear in log s and log(1 - s) on the scale of a link.

    :math:`\mathrm{link}(P(Y = 1 \mid s)) = a + b \log s + c \log(1 - s)`, where link is logit,
    log or logflip, :math:`\mathrm{logflip}(x) = \log(1 - x)`. This holds every curve of
    Table 2 of Dong et al. (a term in logit s is b = -c) and, with the logit link, the family of
    their Eq. (12).

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
    The links log and logflip need ``intercept <= 0`` and slopes >= 0, or the curve would leave
    [0, 1].

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
        if self.link not in get_args(Link):
            raise InputError(
                "link",
                f"must be 'logit', 'log' or 'logflip', got {self.link!r}. "
                "Use 'logit' when in doubt: it keeps every curve in (0, 1).",
            )
        values = (self.intercept, self.log_slope, self.logflip_slope)
        if not np.all(np.isfinite(values)):
            raise ValueError(
                "'intercept', 'log_slope' and 'logflip_slope' must be finite, got "
                f"{values}. Leave a slope out for 0."
            )
        if self.link != "logit" and (values[0] > 0 or min(values[1:]) < 0):
            raise InputError(
                "intercept",
                f"must be <= 0 and the slopes >= 0 with the {self.link!r} link, got "
                f"{values}: the curve would leave [0, 1]. Use link='logit' for such a curve.",
            )

    def at_logit(self, logits: ArrayLike) -> Floats:
        """P(Y = 1 | s) at s = sigmoid(logits), without rounding where s is close to 1."""
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
    r"""Law of a score that is Beta(alpha, beta).

    The logit has the density :math:`s^\alpha (1 - s)^\beta / B(\alpha, \beta)`, which is smooth
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
                raise InputError(
                    name, f"must be positive and finite, got {value!r}. Pass for example {name}=1."
                )

    def density(self, logits: Floats) -> Floats:
        """Density of the logit."""
        exponent = self.alpha * log_expit(logits) + self.beta * log_expit(-logits)
        return np.exp(exponent - betaln(self.alpha, self.beta))

    def breaks(self) -> Floats:
        """Panels of one standard deviation about the mode, then on to both exponential tails."""
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
    """Law of the score given Y = 1: the beta law times the calibration curve over the prior.

    Parameters
    ----------
    base : BetaLaw
        Marginal law of the score.
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
        """Panels of the marginal law."""
        return self.base.breaks()

    def draw_logits(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` independent logits: marginal rows, of which the positive ones stay."""
        kept = np.empty(0)
        while kept.size < n:
            logits, y = _rows(self.base, self.curve, int((n - kept.size) / self.prior) + 1, rng)
            kept = np.concatenate([kept, logits[y]])
        return kept[:n]


@dataclass(frozen=True, init=False)
class BinomialProcess(World):
    """Score from a beta law, label from a known calibration curve (Dong et al., Algorithm 3).

    Parameters
    ----------
    curve : {"D1", "D2", "D3", "D4", "D5"} or CalibrationCurve
        A row of Table 2 of Dong et al., or a curve of your own, which needs `alpha` and `beta`.
    alpha, beta : float, optional
        Shape parameters of the law of the score.

    Attributes
    ----------
    prior : float
        P(Y = 1), the integral of the curve under the law of the score.

    Notes
    -----
    D1 and D2 have so much mass next to 1 that 24 % and 34 % of the scores drawn are the double
    1.0. Their labels are still drawn from the curve at the exact score, kept as a logit.

    Table 2 implies the errors 4.97, 1.29, 4.10, 7.38 and 27.54 %; Appendix B.4 of the paper
    speaks of about 7 and 10 % for D3 and D4, which its table does not give.

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
                f"and 'beta' must be given with a curve of your own, got alpha={alpha!r} "
                f"and beta={beta!r}. Pass the two shape parameters of the law of the score.",
            )
        else:
            law = BetaLaw(alpha, beta)
        prior = float(law.bin_integrals(curve.at_logit, [0.0, 1.0])[0])
        if not 0 < prior < 1:
            raise InputError(
                "curve",
                f"must give both labels a chance, got {curve!r} with P(Y = 1) = {prior}. "
                "Move its intercept.",
            )
        fields = {"curve": curve, "alpha": law.alpha, "beta": law.beta, "prior": prior}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def positive_law(self) -> TiltedBetaLaw:
        """Law of the score given Y = 1."""
        return TiltedBetaLaw(self.marginal_law(), self.curve, self.prior)

    def marginal_law(self) -> BetaLaw:
        """Law of the score, Beta(alpha, beta)."""
        return BetaLaw(self.alpha, self.beta)

    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit), the calibration curve."""
        return self.curve.at_logit(logits)

    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw `n` independent pairs: the logit first, then the label from the curve."""
        return _rows(self.marginal_law(), self.curve, n, rng)


# Table 2 of Dong et al.: calibration curve and law of the score.
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
        raise InputError(
            "curve",
            f"must be one of {sorted(TABLE_2)} or a CalibrationCurve, got {name!r}. "
            "Pass a CalibrationCurve with alpha and beta for a world of your own.",
        )
    if alpha is not None or beta is not None:
        raise InputError(
            "alpha",
            f"and 'beta' are fixed by {name!r}, got alpha={alpha!r} and beta={beta!r}. "
            "Leave them out, or pass a CalibrationCurve.",
        )
    return TABLE_2[name]


def _rows(
    law: BetaLaw, curve: CalibrationCurve, n: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]]:
    logits = law.draw_logits(n, rng)
    return logits, rng.random(n) < curve.at_logit(logits)


def _log_gamma_variates(shape: float, n: int, rng: np.random.Generator) -> Floats:
    """Logarithms of gamma variates, Gamma(a) = Gamma(a + 1) U^(1/a), exact for tiny shapes."""
    return np.log(rng.standard_gamma(shape + 1, n)) - rng.standard_exponential(n) / shape
