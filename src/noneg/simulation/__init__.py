"""Worlds whose truth is known exactly: score laws, calibration curves, errors and draws.

`LogisticGaussian` is the synthetic model of the PU-ECE paper and of Futami & Fujisawa (2024),
`LogitMixture` a world with Gaussian mixtures on the logits, `BinomialProcess` the simulated worlds
D1 to D5 of Dong et al. Each knows its `prior`, `posterior`, `tce` and `binned_tce`, and draws data
for any of the three settings.
"""

from noneg.simulation.binomial import BetaLaw, BinomialProcess, CalibrationCurve, TiltedBetaLaw
from noneg.simulation.worlds import LogisticGaussian, LogitLaw, LogitMixture, MixtureLaw, World

__all__ = [
    "BetaLaw",
    "BinomialProcess",
    "CalibrationCurve",
    "LogisticGaussian",
    "LogitLaw",
    "LogitMixture",
    "MixtureLaw",
    "TiltedBetaLaw",
    "World",
]
