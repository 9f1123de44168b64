"""Blocks for recalibration: fits to labeled rows, the only setting that peers support.

The value in a row is the fitted probability at a score of 0.3.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.measure import Case
from benchmarks.rows import FIRST, ours, pu_scores
from noneg import recalibration

AT = np.array([0.3, 0.6])


def first(found):
    """Return the first probability, which some peers give for both classes."""
    found = np.asarray(found)
    return float(found[0] if found.ndim == 1 else found[0, -1])


def probcal(data, *, name):
    import probcal

    method = getattr(probcal, name)
    return lambda: first(method().fit(data.scores, data.labels).predict_proba(AT))


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


def scikit_logits(data, *, name):
    from sklearn import calibration

    method = getattr(calibration, name)
    logits = np.log(data.scores) - np.log1p(-data.scores)
    at = np.log(AT) - np.log1p(-AT)
    return lambda: first(method().fit(logits, data.labels).predict(at))


def scikit_isotonic(data):
    from sklearn.isotonic import IsotonicRegression

    options = {"out_of_bounds": "clip", "y_min": 0.0, "y_max": 1.0}
    return lambda: float(IsotonicRegression(**options).fit(data.scores, data.labels).predict(AT)[0])


def betacal(data):
    from betacal import BetaCalibration

    return lambda: float(BetaCalibration("abm").fit(data.scores, data.labels).predict(AT)[0])


def block(method, *peers):
    """Return noneg's fits from labeled and from PU rows, and those of the peers."""

    def fit(scores):
        return float(method().fit(scores).transform(AT)[0])

    return [
        Case("noneg", partial(ours, function=fit), FIRST),
        Case("noneg, PU", partial(ours, function=fit, scores=pu_scores), FIRST),
        *(Case(name, call, note) for name, call, note in peers),
    ]


def blocks():
    platt = partial(scikit_logits, name="_SigmoidCalibration")
    logits, frame = "logits made beforehand", "a frame made beforehand"
    return {
        "Platt": block(
            recalibration.Platt,
            ("MCGrad", partial(mcgrad, name="PlattScaling"), frame),
            ("probcal", partial(probcal, name="PlattCalibrator"), ""),
            ("netcal", partial(netcal, module="scaling", name="LogisticCalibration"), ""),
            ("scikit-learn", platt, f"{logits}; smoothed targets"),
        ),
        "temperature": block(
            recalibration.Temperature,
            ("probcal", partial(probcal, name="TemperatureCalibrator"), ""),
            ("netcal", partial(netcal, module="scaling", name="TemperatureScaling"), ""),
            ("scikit-learn", partial(scikit_logits, name="_TemperatureScaling"), logits),
        ),
        "beta": block(
            recalibration.Beta,
            ("probcal", partial(probcal, name="BetaCalibrator"), ""),
            ("netcal", partial(netcal, module="scaling", name="BetaCalibration"), ""),
            ("betacal", betacal, ""),
        ),
        "isotonic": block(
            recalibration.Isotonic,
            ("netcal", partial(netcal, module="binning", name="IsotonicRegression"), ""),
            ("scikit-learn", scikit_isotonic, ""),
            ("probcal", partial(probcal, name="IsotonicCalibrator"), ""),
            ("MCGrad", partial(mcgrad, name="IsotonicRegression"), frame),
        ),
    }
