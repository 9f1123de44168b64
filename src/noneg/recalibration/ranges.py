"""The range of a recalibration map over possible priors and over selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_scores
from noneg.recalibration.base import fit_quietly
from noneg.recalibration.choose import find_calibrator
from noneg.selection import density_ends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Floats
    from noneg.recalibration.base import Calibrator
    from noneg.scores import PUScores


def mapped_range(calibrator: Calibrator, scores: PUScores, at: ArrayLike) -> tuple[Floats, Floats]:
    """Return the smallest and largest probabilities that a score may correspond to.

    A calibrator is valid for one prior. The same method is refitted at both ends of the set of
    priors; these maps and the given fit cannot be distinguished without knowing the prior.

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
    others = [
        fit_quietly(find_calibrator(method), scores.with_prior(prior)).transform(s)
        for prior in dict.fromkeys(scores.prior_set)
    ]
    maps = np.stack([calibrator.transform(s), *others])
    return maps.min(axis=0), maps.max(axis=0)


def probability_range(
    calibrator: Calibrator, s: ArrayLike, scores: PUScores
) -> tuple[Floats, Floats]:
    r"""Return the smallest and largest probabilities compatible with a score.

    A fitted map gives :math:`\pi\,d\mu_+/d\mu` as if positives were labeled at random. With a
    selection factor, the probability may be a multiple of this value (`noneg.selection`), up to 1.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted calibrator.
    s : array-like
        Scores in [0, 1].
    scores : PUScores
        Setting, prior and selection; with a ``prior_interval``, the range holds for every prior.

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
