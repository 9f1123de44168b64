"""Blocks for recalibration: fits to labeled rows, the only setting that peers support.

The value in a row is the fitted probability at a score of 0.3.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import noneg
from benchmarks.measure import Case
from noneg import recalibration

AT = np.array([0.3, 0.6])
FIRST = "from the arrays, checks included"


def ours(data, *, method):
    def fit():
        scores = noneg.PUScores.from_labels(data.labels, data.scores)
        return float(method().fit(scores).transform(AT)[0])

    return fit


def ours_pu(data, *, method):
    def fit():
        scores = noneg.PUScores.from_pu_labels(
            data.labeled, data.scores, prior=data.prior, setting="one-sample"
        )
        return float(method().fit(scores).transform(AT)[0])

    return fit


def probcal(data, *, name):
    import probcal

    method = getattr(probcal, name)

    def fit():
        found = np.asarray(method().fit(data.scores, data.labels).predict_proba(AT))
        return float(found[0] if found.ndim == 1 else found[0, -1])

    return fit


def netcal(data, *, module, name):
    from importlib import import_module

    method = getattr(import_module(f"netcal.{module}"), name)
    return lambda: float(method().fit(data.scores, data.labels).transform(AT)[0])


def mcgrad(data, *, name):
    import pandas as pd
    from mcgrad import methods

    frame = pd.DataFrame({"score": data.scores, "label": data.labels})
    few = pd.DataFrame({"score": AT})

    def fit():
        method = getattr(methods, name)().fit(frame, "score", "label")
        return float(method.predict(few, "score")[0])

    return fit


def scikit_platt(data):
    from sklearn.calibration import _SigmoidCalibration

    logits = np.log(data.scores) - np.log1p(-data.scores)
    at = np.log(AT) - np.log1p(-AT)
    return lambda: float(_SigmoidCalibration().fit(logits, data.labels).predict(at)[0])


def scikit_temperature(data):
    from sklearn.calibration import _TemperatureScaling

    logits = np.log(data.scores) - np.log1p(-data.scores)
    at = np.log(AT) - np.log1p(-AT)
    return lambda: float(_TemperatureScaling().fit(logits, data.labels).predict(at)[0, 1])


def scikit_isotonic(data):
    from sklearn.isotonic import IsotonicRegression

    options = {"out_of_bounds": "clip", "y_min": 0.0, "y_max": 1.0}
    return lambda: float(IsotonicRegression(**options).fit(data.scores, data.labels).predict(AT)[0])


def betacal(data):
    from betacal import BetaCalibration

    return lambda: float(BetaCalibration("abm").fit(data.scores, data.labels).predict(AT)[0])


def blocks():
    logit_note = "logits made beforehand"
    return {
        "Platt": [
            Case("noneg", partial(ours, method=recalibration.Platt), FIRST),
            Case("noneg, PU", partial(ours_pu, method=recalibration.Platt), FIRST),
            Case("MCGrad", partial(mcgrad, name="PlattScaling"), "a frame made beforehand"),
            Case("probcal", partial(probcal, name="PlattCalibrator"), ""),
            Case("netcal", partial(netcal, module="scaling", name="LogisticCalibration"), ""),
            Case("scikit-learn", scikit_platt, logit_note + "; smoothed targets"),
        ],
        "temperature": [
            Case("noneg", partial(ours, method=recalibration.Temperature), FIRST),
            Case("noneg, PU", partial(ours_pu, method=recalibration.Temperature), FIRST),
            Case("probcal", partial(probcal, name="TemperatureCalibrator"), ""),
            Case("netcal", partial(netcal, module="scaling", name="TemperatureScaling"), ""),
            Case("scikit-learn", scikit_temperature, logit_note),
        ],
        "beta": [
            Case("noneg", partial(ours, method=recalibration.Beta), FIRST),
            Case("noneg, PU", partial(ours_pu, method=recalibration.Beta), FIRST),
            Case("probcal", partial(probcal, name="BetaCalibrator"), ""),
            Case("netcal", partial(netcal, module="scaling", name="BetaCalibration"), ""),
            Case("betacal", betacal, ""),
        ],
        "isotonic": [
            Case("noneg", partial(ours, method=recalibration.Isotonic), FIRST),
            Case("noneg, PU", partial(ours_pu, method=recalibration.Isotonic), FIRST),
            Case("netcal", partial(netcal, module="binning", name="IsotonicRegression"), ""),
            Case("scikit-learn", scikit_isotonic, ""),
            Case("probcal", partial(probcal, name="IsotonicCalibrator"), ""),
            Case("MCGrad", partial(mcgrad, name="IsotonicRegression"), "a frame made beforehand"),
        ],
    }
