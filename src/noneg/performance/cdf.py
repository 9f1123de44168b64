r"""The rank CDF of the known positives, and what beta does to rates that rest on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.performance.posing import Options, pose
from noneg.results import to_frame

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.performance.bands import Band
    from noneg.performance.contingency import Assumptions
    from noneg.scores import PUScores


@dataclass(frozen=True, eq=False, kw_only=True)
class RankCdf:
    """Share of the known positives at or above each cut-off, with its band.

    Attributes
    ----------
    threshold : ndarray
        Cut-offs, falling.
    rank : ndarray
        Rows at or above each cut-off.
    share, low, high : ndarray
        The rank CDF, T_lb and T_ub.
    unlabeled : ndarray
        Share of the unlabeled rows at or above each cut-off.
    assumes : Assumptions
    """

    threshold: NDArray[np.float64]
    rank: NDArray[np.float64]
    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    assumes: Assumptions

    @property
    def better_than_random(self) -> NDArray[np.bool_]:
        """Cut-offs above which positives are more common than elsewhere (Lemma 4, case a)."""
        return self.share > self.unlabeled

    def fpr_by_beta(self, beta: float) -> NDArray[np.float64]:
        r"""Return the derivative of the false positive rate by beta.

        :math:`(|\mathrm{head}(U, r)|/|U| - T(r)) / (1 - \beta)^2` at the rank CDF itself: negative
        where the ranking is better than random. Eqs. 15 and 20 print it without the first
        :math:`|U|`.
        """
        slope: NDArray[np.float64] = (self.unlabeled - self.share) / (1.0 - beta) ** 2
        return slope

    def precision_by_beta(self) -> NDArray[np.float64]:
        r"""Return the derivative of the precision among unlabeled rows by beta (Eq. 21).

        :math:`T(r)|U| / |\mathrm{head}(U, r)|`, never negative; nan where no unlabeled row lies
        above.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            slope: NDArray[np.float64] = self.share / self.unlabeled
        return np.where(self.unlabeled > 0.0, slope, np.nan)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the table, a column a name."""
        names = ("threshold", "rank", "share", "low", "high", "unlabeled")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain lists, numbers and text."""
        table: dict[str, object] = {name: c.tolist() for name, c in self.columns().items()}
        return table | self.assumes.to_dict()

    def frame(self, backend: str | None = None) -> object:
        """Return the table as a pandas, Polars or PyArrow frame, whichever is installed."""
        return to_frame(self.columns(), backend)


def rank_cdf(
    scores: PUScores,
    *,
    band: Band = "exact",
    level: float = 0.95,
    known_negatives: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> RankCdf:
    r"""Return the rank CDF of the known positives with its band (Claesen et al., Eqs. 6 and 14).

    It is the true positive rate when all rows down to a rank are called positive.

    Parameters
    ----------
    scores : PUScores
        Two-sample or one-sample; labelled data has no latent positives.
    band, level, known_negatives, resamples, seed
        As in `noneg.performance.roc_bounds`.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.8, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> rank_cdf(scores).share
    array([0.5, 0.5, 1. , 1. , 1. , 1. ])
    """
    if scores.setting == "labelled":
        msg = (
            "'scores' must have unlabeled rows for a band on their positives, got labelled data. "
            "Its ROC curve is known: use roc_bounds."
        )
        raise ValueError(msg)
    options = Options(
        beta=None,
        band=band,
        level=level,
        known_negatives=known_negatives,
        basis="positives",
        table="all",
        resamples=resamples,
        seed=seed,
    )
    (problem,) = pose(scores, options)
    ranking = problem.ranking
    share = ranking.groups[0].share()[0][ranking.rows[0]]
    return RankCdf(
        threshold=ranking.threshold,
        rank=ranking.known(0) + ranking.known(1) + ranking.unlabeled,
        share=share,
        low=problem.band_at(0),
        high=problem.band_at(1),
        unlabeled=ranking.unlabeled / ranking.n_unlabeled,
        assumes=problem.assumes,
    )
