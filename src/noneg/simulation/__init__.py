"""Simulated worlds whose score distributions, calibration curves and errors are known exactly.

`LogisticGaussian` is the synthetic model of the PU-ECE paper and of Futami & Fujisawa (2024),
`LogitMixture` has Gaussian mixtures on the logits, and `BinomialProcess` provides the simulated
worlds D1 to D5 of Dong et al. Each has a `prior`, `posterior`, `tce` and `binned_tce`, and draws
data for any of the three settings.
"""

from noneg.simulation.binomial import (
    BetaLaw as BetaLaw,
    BinomialProcess as BinomialProcess,
    CalibrationCurve as CalibrationCurve,
    TiltedBetaLaw as TiltedBetaLaw,
)
from noneg.simulation.worlds import (
    LogisticGaussian as LogisticGaussian,
    LogitLaw as LogitLaw,
    LogitMixture as LogitMixture,
    MixtureLaw as MixtureLaw,
    World as World,
)
