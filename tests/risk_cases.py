"""Data sets whose original fits by the PU log loss are stored in risk.json."""

import numpy as np

from noneg import PUScores

METHODS = ("platt", "temperature", "beta", "spline", "bpm")


def cases():
    """Yield names and scores: three settings, weights, propensities, ties and exact ends."""
    rng = np.random.default_rng(20)
    s = rng.beta(0.8, 1.6, 2000)
    y = rng.random(s.size) < s**1.4
    labeled = y & (rng.random(s.size) < 0.4)
    ends = np.clip(1.3 * s - 0.1, 0.0, 1.0)
    prior = float(y.mean())
    weight = {"sample_weight": rng.gamma(2.0, size=s.size), "weight_kind": "importance"}
    counts = {"sample_weight": rng.integers(0, 4, s.size)}
    rate = {"propensity": rng.uniform(0.2, 0.6, s.size)}
    for name, score in (("plain", s), ("ends", ends), ("ties", np.round(s, 1))):
        yield f"labeled {name}", PUScores.from_labels(y, score)
        for setting in ("two-sample", "one-sample"):
            given = {"prior": prior, "setting": setting}
            yield f"{setting} {name}", PUScores.from_pu_labels(labeled, score, **given)
    for setting in ("two-sample", "one-sample"):
        given = {"prior": prior, "setting": setting}
        for name, more in (("importance", weight), ("counts", counts), ("propensity", rate)):
            yield f"{setting} {name}", PUScores.from_pu_labels(labeled, s, **given, **more)
