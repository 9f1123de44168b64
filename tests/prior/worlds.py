"""Two Gaussian classes on the logit scale, with a known share of positives."""

import numpy as np

from noneg.prior import ScoreLaws


def gaussian(share, far, n_positive, n_unlabeled, seed, setting="two-sample"):
    """Positives N(far, 1) against negatives N(0, 1); U holds exactly the share, rounded."""
    rng = np.random.default_rng([seed, n_positive])
    hidden = round(share * n_unlabeled)
    p = rng.normal(far, 1, n_positive)
    u = np.append(rng.normal(far, 1, hidden), rng.normal(0, 1, n_unlabeled - hidden))
    return ScoreLaws.from_arrays(far * p, far * u, setting=setting, scale="logit")
