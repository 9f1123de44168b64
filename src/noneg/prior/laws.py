"""Two score laws on one line and no prior: what every estimator from scores starts with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import expit

from noneg import checks
from noneg.prior.conversion import prior_of_share
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.rows import Chunk

Scale = Literal["probability", "logit"]
SMALLEST = 5e-324


@dataclass(frozen=True, eq=False)
class ScoreLaws:
    """The positive and the unlabeled law, as masses on the distinct scores.

    Build it with `ScoreLaws.of` from a `PUScores`, whose prior is ignored, or with
    `ScoreLaws.from_arrays` where no prior is known.

    Attributes
    ----------
    points : ndarray, shape (k,)
        Distinct scores, rising.
    positive, unlabeled : ndarray, shape (k,)
        Mass of each law on the points; each sums to one. In one sample the unlabeled law is that
        of the rows that were not labelled.
    n_positive, n_unlabeled : float
        Sizes of the samples, Kish's where rows are weighted.
    setting : {"two-sample", "one-sample"}
    labelled : float
        Share of labelled rows in the one sample, 0 in two samples.
    scale : {"probability", "logit"}
        What a point is.
    discriminates : bool
        Whether a point is the probability (or its logit) of being a labelled positive rather than
        an unlabeled row, both samples weighted equally, from a classifier that did not see the row.

    Examples
    --------
    >>> laws = ScoreLaws.from_arrays([0.9, 0.6], [0.9, 0.3, 0.2, 0.1], setting="two-sample")
    >>> laws.above("unlabeled")
    array([1.  , 0.75, 0.5 , 0.25, 0.25])
    """

    points: NDArray[np.float64]
    positive: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    n_positive: float
    n_unlabeled: float
    setting: Setting
    labelled: float = 0.0
    scale: Scale = "probability"
    discriminates: bool = False

    @classmethod
    def of(cls, scores: PUScores | ScoreLaws) -> ScoreLaws:
        """Return the laws of a `PUScores`; its prior is not looked at.

        Examples
        --------
        >>> scores = PUScores([0.9], [0.8, 0.3], prior=0.4, setting="two-sample")
        >>> ScoreLaws.of(scores).n_unlabeled
        2.0
        """
        if isinstance(scores, ScoreLaws):
            return scores
        if not isinstance(scores, PUScores):
            msg = (
                f"'scores' must be PUScores or ScoreLaws, got {type(scores).__name__}. Build them "
                "with ScoreLaws.from_arrays, or pass labeled= along with a table of features."
            )
            raise ValueError(msg)  # noqa: TRY004 - one kind of error for wrong arguments
        if scores.setting == "labelled":
            msg = (
                "'scores' must be positives and unlabeled rows, got labelled ones: their prior is "
                f"the share of positives, {scores.prior:.6g}."
            )
            raise ValueError(msg)
        checks.check_filled(scores.n_unlabeled, "unlabeled", "unlabeled row")
        unlabeled, positive = scores.in_order()
        _refuse_propensity(positive, scores.setting)
        s_u, f_u, _, w_u = unlabeled
        s_p, f_p, a_p, w_p = positive
        u, p = _mass(s_u, f_u, w_u), _mass(s_p, f_p, a_p)
        labelled = 0.0
        if scores.setting == "one-sample":
            in_sample = float(_mass(s_p, f_p, w_p).sum())
            labelled = in_sample / (in_sample + float(u.sum()))
        sizes = (_kish(p, s_p, f_p), _kish(u, s_u, f_u))
        return cls._merged((s_p, p), (s_u, u), sizes, scores.setting, labelled)

    @classmethod
    def from_arrays(
        cls,
        positive: ArrayLike,
        unlabeled: ArrayLike,
        *,
        setting: Setting,
        scale: Scale = "probability",
        discriminates: bool = False,
    ) -> ScoreLaws:
        """Build from two arrays of scores, each row once.

        Parameters
        ----------
        positive, unlabeled : array-like
            Scores of the labelled positives and of the rows that are not labelled.
        setting : {"two-sample", "one-sample"}
            How the rows were sampled; never guessed.
        scale : {"probability", "logit"}
            Scores in [0, 1], or any finite numbers. Logits keep apart what saturates at 1.
        discriminates : bool
            See the class.

        Examples
        --------
        >>> laws = ScoreLaws.from_arrays([3.2], [40.1, -2.0], setting="one-sample", scale="logit")
        >>> round(laws.labelled, 4)
        0.3333
        """
        if checks.check_setting(setting) == "labelled":
            raise ValueError("'setting' must be 'two-sample' or 'one-sample', got 'labelled'.")
        if scale not in ("probability", "logit"):
            raise ValueError(f"'scale' must be 'probability' or 'logit', got {scale!r}.")
        check = checks.check_scores if scale == "probability" else _finite
        p, u = check(positive, "positive"), check(unlabeled, "unlabeled")
        checks.check_filled(p.size, "positive", "labelled positive")
        checks.check_filled(u.size, "unlabeled", "unlabeled row")
        labelled = p.size / (p.size + u.size) if setting == "one-sample" else 0.0
        sizes = (float(p.size), float(u.size))
        pair = ((p, np.ones(p.size)), (u, np.ones(u.size)))
        laws = cls._merged(*pair, sizes, setting, labelled)
        return replace(laws, scale=scale, discriminates=discriminates)

    @classmethod
    def _merged(
        cls,
        positive: tuple[NDArray[np.float64], NDArray[np.float64]],
        unlabeled: tuple[NDArray[np.float64], NDArray[np.float64]],
        sizes: tuple[float, float],
        setting: Setting,
        labelled: float,
    ) -> ScoreLaws:
        values = np.concatenate([positive[0], unlabeled[0]])
        points, place = np.unique(values, return_inverse=True)
        n = positive[0].size
        p = np.bincount(place[:n], weights=positive[1], minlength=points.size)
        u = np.bincount(place[n:], weights=unlabeled[1], minlength=points.size)
        # Rows of weight zero are no rows.
        there = (p > 0.0) | (u > 0.0)
        masses = (p[there] / p.sum(), u[there] / u.sum())
        return cls(points[there], *masses, *sizes, setting, labelled)

    @property
    def logits(self) -> NDArray[np.float64]:
        """The points on the logit scale, ends moved inwards by half the last distance to them."""
        if self.scale == "logit":
            return self.points
        inner = self.points[(self.points > 0.0) & (self.points < 1.0)]
        low, high = (inner[0], 1.0 - inner[-1]) if inner.size else (0.5, 0.5)
        # Below the smallest double there is no half.
        share = np.where(self.points == 0.0, max(low / 2.0, SMALLEST), self.points)
        rest = np.where(self.points == 1.0, high / 2.0, 1.0 - self.points)
        return np.log(share) - np.log(rest)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The points on the scale of probabilities."""
        return expit(self.points) if self.scale == "logit" else self.points

    def above(self, law: Literal["positive", "unlabeled"]) -> NDArray[np.float64]:
        """Return the mass of a law at or above each point."""
        mass: NDArray[np.float64] = getattr(self, law)
        return np.cumsum(mass[::-1])[::-1]

    @property
    def separation(self) -> float:
        """AUC of positives against unlabeled rows, ties half."""
        below = np.cumsum(self.unlabeled) - 0.5 * self.unlabeled
        return float(self.positive @ below)

    def prior_of(self, share: float) -> float:
        """Return the class prior, given the share of positives among the unlabeled rows."""
        return prior_of_share(share, self.labelled)

    def coarse(self, n_points: int) -> ScoreLaws:
        """Gather neighbouring points into at most this many, equal in mass where they can be.

        Groups are made by rank in the balanced mixture of both laws, so that a monotone transform
        of the scores changes nothing; equal scores stay together.
        """
        if self.points.size <= n_points:
            return self
        rank = np.cumsum(self.positive + self.unlabeled) - 0.5 * (self.positive + self.unlabeled)
        group = np.minimum((rank * (n_points / 2.0)).astype(np.intp), n_points - 1)
        _, group = np.unique(group, return_inverse=True)
        count = np.bincount(group)
        middle = np.bincount(group, weights=self.points) / count
        p = np.bincount(group, weights=self.positive).astype(np.float64)
        u = np.bincount(group, weights=self.unlabeled).astype(np.float64)
        return replace(self, points=middle, positive=p, unlabeled=u)

    def resampled(self, random: np.random.Generator) -> ScoreLaws:
        """Draw both samples anew from themselves, each at its own size (stratified bootstrap)."""
        draws = [
            random.multinomial(round(n), mass / mass.sum()) / float(round(n))
            for n, mass in (
                (max(1.0, self.n_positive), self.positive),
                (max(1.0, self.n_unlabeled), self.unlabeled),
            )
        ]
        there = (draws[0] > 0.0) | (draws[1] > 0.0)
        p, u = (draw[there] for draw in draws)
        return replace(self, points=self.points[there], positive=p, unlabeled=u)


def _mass(scores: NDArray[np.float64], count: ArrayLike, mass: ArrayLike) -> NDArray[np.float64]:
    return np.broadcast_to(np.multiply(count, mass), scores.shape).astype(np.float64)


def _kish(total: NDArray[np.float64], scores: NDArray[np.float64], count: ArrayLike) -> float:
    """Return ``(sum f m)^2 / sum f m^2`` from ``f m`` and f."""
    f = np.broadcast_to(np.asarray(count, dtype=np.float64), scores.shape)
    square = float(np.divide(total**2, f, out=np.zeros_like(total), where=f > 0.0).sum())
    return max(1.0, float(total.sum()) ** 2 / square)


def _refuse_propensity(positive: Chunk, setting: Setting) -> None:
    _, _, a, w = positive
    if setting == "one-sample" and not np.all(np.equal(a, w)):
        msg = (
            "'propensity' must not be given in one sample when the prior is estimated: unlabeled "
            "positives are then no random sample of all positives. Collect the positives "
            "separately (two-sample), or pass a prior that is known from elsewhere."
        )
        raise ValueError(msg)


def _finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        msg = f"'{name}' must hold one finite score a row, got shape {array.shape}"
        bad = np.flatnonzero(~np.isfinite(array.ravel()))
        where = f" with {float(array.ravel()[bad[0]])!r} in row {bad[0]}" if bad.size else ""
        raise ValueError(f"{msg}{where}.")
    return array
