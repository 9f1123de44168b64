r"""Is the classifier calibrated? A test of :math:`\rho = 0`.

Under the null hypothesis the positive law has density :math:`s/\pi` against the marginal law, so
positives are redrawn from the marginal sample in proportion to their scores; labels of labelled
data are redrawn from the scores. A binned statistic depends on such a redraw only through counts in
bins, which are drawn directly: multinomial (two-sample), or a binomial that has the mean and
variance of the sum of unequal Bernoulli draws (one-sample, labelled). The noise of the marginal
sample itself is added, without which the test would reject too often.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.bins import Binned, bin_scores, square_roots
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.bins import Binning
    from noneg.scores import PUScores

KS_BINS = 256


@dataclass(frozen=True, kw_only=True)
class CalibrationTest:
    """Outcome of `calibration_test`.

    Attributes
    ----------
    p_value : float
        ``(1 + k) / (1 + R)``, k of R redraws at least as large as the value observed.
    value : float
        The observed statistic.
    statistic : str
    replicates : int
    """

    p_value: float
    value: float
    statistic: str
    replicates: int

    def to_dict(self) -> dict[str, float | str | int]:
        """Return the fields as plain numbers and text."""
        return asdict(self)


def _sum(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(residual).sum(axis=-1)


def _largest_sum(residual: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(np.cumsum(residual, axis=-1)).max(axis=-1)


_STATISTICS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "ece": _sum,
    "ks": _largest_sum,
}


def calibration_test(
    scores: PUScores,
    *,
    statistic: Literal["ece", "ks"] = "ece",
    bins: int | Literal["optimal"] | None = None,
    binning: Binning = "mass",
    edges: ArrayLike | None = None,
    replicates: int = 999,
    seed: int = 0,
) -> CalibrationTest:
    """Test whether the scores are calibrated probabilities.

    Parameters
    ----------
    scores : PUScores
    statistic : {"ece", "ks"}
        Sum of absolute residuals over bins, or their largest cumulative sum.
    bins, binning, edges
        As in `noneg.ece`; by default the optimal number for "ece" and up to 256 for "ks".
    replicates : int
        Number of redraws under the null hypothesis.
    seed : int

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> wrong = LogisticGaussian(beta0=-0.5, beta1=1.5)
    >>> calibration_test(wrong.draw(n=2000, setting="labelled", seed=0)).p_value
    0.001
    """
    if statistic not in _STATISTICS:
        msg = f"'statistic' must be 'ece' or 'ks', got {statistic!r}."
        raise ValueError(msg)
    if replicates < 1:
        msg = f"'replicates' must be at least 1, got {replicates!r}."
        raise ValueError(msg)
    binned = bin_scores(scores, bins=_bins(scores, statistic, bins), binning=binning, edges=edges)
    measure = _STATISTICS[statistic]
    observed = float(measure(binned.residual))
    null = measure(null_residuals(scores, binned, replicates, seed))
    # Redraws are compared with a little slack: ties in exact arithmetic must count as ties.
    beaten = int((null >= observed * (1.0 - 1e-9)).sum())
    p_value = (1 + beaten) / (1 + replicates)
    return CalibrationTest(
        p_value=p_value, value=observed, statistic=statistic, replicates=replicates
    )


def _bins(
    scores: PUScores, statistic: str, bins: int | Literal["optimal"] | None
) -> int | Literal["optimal"]:
    if bins is not None:
        return bins
    if statistic == "ece":
        return "optimal"
    return int(max(1, min(KS_BINS, scores.n_marginal // 2)))


def null_residuals(
    scores: PUScores, binned: Binned, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Draw the residuals that noise alone produces when calibration is perfect."""
    rng = stream(seed, "null")
    mean = binned.score.sum()
    if mean == 0.0:
        return np.zeros((replicates, binned.n_bins))
    share = binned.score / mean
    if scores.setting == "two-sample":
        return _two_sample(scores, binned, share, replicates, rng)
    n = scores.effective_marginal
    # A row of score s is labelled with probability c s.
    c = (
        1.0
        if scores.setting == "labelled"
        else min(1.0, scores.effective_positive / (binned.prior * n))
    )
    counts = _bernoulli_sums(binned, n, c, replicates, rng)
    if scores.setting == "labelled":
        return counts / n - binned.score
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    variance = np.trace(binned.second.sum(axis=0)[2:, 2:]) - mean**2 / n
    shift = rng.normal(scale=np.sqrt(max(0.0, variance)), size=(replicates, 1))
    return binned.prior * (counts / total - share) - share * shift


def _two_sample(
    scores: PUScores,
    binned: Binned,
    share: NDArray[np.float64],
    replicates: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    residual = np.zeros((replicates, binned.n_bins))
    if np.isfinite(scores.effective_positive):
        n = max(1, round(scores.effective_positive))
        residual += binned.prior * (rng.multinomial(n, share, size=replicates) / n - share)
    if np.isfinite(scores.effective_marginal):
        residual -= _score_noise(binned, replicates, rng)
    return residual


def _score_noise(binned: Binned, replicates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the sampling noise of the score's integral over each bin."""
    root = square_roots(binned.second[:, 1:, 1:])
    normal = rng.standard_normal((replicates, binned.n_bins, 2))
    mass, score = np.moveaxis(np.einsum("bij,rbj->rbi", root, normal), -1, 0)
    return score - binned.score * mass.sum(axis=1, keepdims=True)


def _bernoulli_sums(
    binned: Binned, n: float, c: float, replicates: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw sums of Bernoulli(c s_i) in bins, as binomials of the same mean and variance."""
    square = binned.second[:, 2, 2] * n
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = np.where(square > 0.0, np.ceil(n * binned.score**2 / square - 1e-9), 0.0)
        rate = np.where(trials > 0.0, c * n * binned.score / trials, 0.0)
    draws: NDArray[np.float64] = rng.binomial(
        trials.astype(np.int64), np.minimum(rate, 1.0), size=(replicates, binned.n_bins)
    ).astype(np.float64)
    return draws
