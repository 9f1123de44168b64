"""The range of a recalibration map over the priors that are not excluded."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from noneg.recalibration.base import CalibrationWarning
from noneg.recalibration.choose import find_calibrator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.recalibration.base import Calibrator
    from noneg.scores import PUScores


def mapped_range(
    calibrator: Calibrator, scores: PUScores, at: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and the largest probability that a score may stand for.

    A calibrator holds for one prior. The same method is fitted at both ends of the set of priors;
    with the given fit, these are the maps that cannot be told apart without knowing the prior.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted on `scores`.
    scores : PUScores
    at : array-like
        Scores to map.

    Examples
    --------
    >>> from noneg.recalibration import make
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(500, 4000, setting="two-sample", seed=0)
    >>> scores = scores.with_prior(0.3, (0.2, 0.4))
    >>> low, high = mapped_range(make("platt").fit(scores), scores, [0.5])
    >>> bool(low[0] < 0.4 and 0.6 < high[0])
    True
    """
    s = np.asarray(at, dtype=np.float64)
    method = getattr(calibrator, "chosen_", calibrator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        others = [
            find_calibrator(method).fit(scores.with_prior(prior)).transform(s)
            for prior in dict.fromkeys(scores.prior_set)
        ]
    maps = np.stack([calibrator.transform(s), *others])
    return maps.min(axis=0), maps.max(axis=0)
