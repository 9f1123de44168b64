"""Five hundred random problems on which fits tend to fail: tiny samples, extreme priors, ties,
gaps."""

import numpy as np
from scipy.special import expit

from noneg import PUScores

LAWS = [
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.beta(0.02, 0.02, n),  # nearly all at 0 or 1
    lambda rng, n: rng.integers(0, 3, n) / 2.0,  # only 0, 1/2 and 1
    lambda rng, n: np.full(n, rng.random()),
    lambda rng, n: np.round(rng.beta(2, 5, n), 1),
    lambda rng, n: np.exp(-700.0 * rng.random(n)),  # down to 1e-304
    lambda rng, n: 1.0 - 2.0 ** -rng.integers(1, 54, n),
    lambda rng, n: expit(rng.normal(rng.normal(0, 5), 10.0 ** rng.uniform(-3, 1), n)),
]


def _law(rng, n):
    return LAWS[rng.integers(len(LAWS))](rng, n)


def _separated(rng, s, n):
    """Positives above (or below) all others, or within them."""
    kind = rng.integers(4)
    if kind == 0:
        return s.max() + (1.0 - s.max()) * rng.random(n)
    if kind == 1:
        return s.min() * rng.random(n)
    if kind == 2:
        return rng.choice(s, n)
    return _law(rng, n)


def problems(n=500, seed=0):
    """Yield random hard `PUScores` in all settings."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        n_positive, n_other = int(10 ** rng.uniform(0, 2)), int(10 ** rng.uniform(0.3, 3))
        other = _law(rng, n_other)
        positive = _separated(rng, other, n_positive)
        prior = float(rng.choice([1e-6, 1e-3, 0.05, 0.5, 0.9, 0.999, 1 - 1e-6]))
        setting = rng.choice(["two-sample", "one-sample", "labeled"])
        flags = np.arange(n_positive + n_other) < n_positive
        score = np.concatenate([positive, other])
        if setting == "labeled":
            weight = rng.integers(1, 5, score.size) if rng.random() < 0.3 else None
            yield PUScores.from_labels(flags, score, sample_weight=weight)
        else:
            if setting == "one-sample":
                prior = max(prior, n_positive / score.size)
            weight = rng.exponential(size=score.size) if rng.random() < 0.3 else None
            kind = "importance"
            yield PUScores.from_pu_labels(
                flags, score, prior=prior, setting=setting, sample_weight=weight, weight_kind=kind
            )
