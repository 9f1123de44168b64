"""The range of calibrated probabilities when hidden positives may differ from labeled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_scores
from noneg.selection import density_ends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.recalibration.base import Calibrator
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]


def probability_range(
    calibrator: Calibrator, s: ArrayLike, scores: PUScores
) -> tuple[Floats, Floats]:
    r"""Return the smallest and largest probability that a score may mean.

    A fitted map gives :math:`\pi\,d\mu_+/d\mu` as if labels were random. With a selection factor
    the probability may be a multiple of it (`noneg.selection`), up to 1.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    s : array-like
        Scores in [0, 1].
    scores : PUScores
        Setting, prior and selection; with a ``prior_interval`` the range holds for every prior.

    Examples
    --------
    >>> from noneg.recalibration import Platt, probability_range
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 5000, setting="two-sample", seed=0)
    >>> calibrator = Platt().fit(scores)
    >>> low, high = probability_range(calibrator, [0.2, 0.8], scores.with_selection(2))
    >>> [bool(x) for x in low < calibrator.transform([0.2, 0.8])], float(high[1])
    ([True, True], 1.0)
    """
    x = check_scores(s, "s")
    value = np.asarray(calibrator.transform(x), dtype=np.float64)
    ends = [(prior, *density_ends(scores, prior)) for prior in scores.prior_set]
    low = min(prior * least for prior, least, _ in ends) / scores.known_prior
    high = max(prior * most for prior, _, most in ends) / scores.known_prior
    return np.minimum(low * value, 1.0), np.minimum(high * value, 1.0)
