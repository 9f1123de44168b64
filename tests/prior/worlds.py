"""Two Gaussian classes with a known share of positives, as scores and as features."""

import numpy as np

from noneg.prior import FeatureSamples, ScoreLaws


def gaussian(share, far, n_positive, n_unlabeled, seed, setting="two-sample"):
    """Positives N(far, 1) against negatives N(0, 1); U contains exactly the given share,
    rounded."""
    rng = np.random.default_rng([seed, n_positive])
    hidden = round(share * n_unlabeled)
    p = rng.normal(far, 1, n_positive)
    u = np.append(rng.normal(far, 1, hidden), rng.normal(0, 1, n_unlabeled - hidden))
    return ScoreLaws.from_arrays(far * p, far * u, setting=setting, scale="logit")


def blobs(share, n, m, far=4.0, d=2, seed=0):
    """Features: positives are N(far, 1) in the first column; everything else is N(0, 1)."""
    rng = np.random.default_rng(seed)
    hidden = round(share * m)
    p, u = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    p[:, 0] += far
    u[:hidden, 0] += far
    return FeatureSamples(p, u, "two-sample")


def table(samples):
    """Return rows and labels in the form that users have them."""
    n, m = len(samples.positive), len(samples.unlabeled)
    return np.concatenate([samples.positive, samples.unlabeled]), np.repeat([1, 0], [n, m])
