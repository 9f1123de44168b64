"""What every simulated world can do: tell its truth exactly and draw data from it."""

import math
from abc import ABC, abstractmethod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from noneg.checks import Setting, check_setting
from noneg.scores import PUScores
from noneg.simulation.laws import LogitLaw, Seed, checked_edges, generator, sigmoid
from noneg.simulation.quadrature import Floats, converged_breaks, panel_integrals, sign_changes

Labels: TypeAlias = NDArray[np.int64]

_LIMIT_LOGIT: Final = 1e8  # stands for the logits of the scores 0 and 1, where limits are taken
_GRID_PER_PANEL: Final = 16


class World(ABC):
    """A joint law of a score and a label that is known exactly.

    Attributes
    ----------
    prior : float
        P(Y = 1).
    """

    prior: float

    @abstractmethod
    def positive_law(self) -> LogitLaw:
        """Law of the score given Y = 1."""

    @abstractmethod
    def marginal_law(self) -> LogitLaw:
        """Law of the score."""

    @abstractmethod
    def posterior_of_logit(self, logits: Floats) -> Floats:
        """P(Y = 1 | logit), finer than `posterior` where scores round to 1."""

    @abstractmethod
    def draw_logits(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw `n` independent pairs of a logit and a label."""

    def posterior(self, score: ArrayLike) -> Floats:
        """P(Y = 1 | score), the true calibration curve.

        Parameters
        ----------
        score : array_like
            Scores in [0, 1]; at 0 and 1 the value is the limit.

        Returns
        -------
        ndarray of the shape of `score`

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> LogisticGaussian.less_calibrated().posterior([0.0, 0.5, 1.0]).round(4)
        array([0.    , 0.6608, 1.    ])
        """
        scores = np.asarray(score, dtype=np.float64)
        bad = scores[~((scores >= 0) & (scores <= 1))]
        if bad.size:
            raise ValueError(
                f"'score' must lie in [0, 1], got {bad[0]!r}. Pass probabilities; for logits "
                "use posterior_of_logit."
            )
        return self.posterior_of_logit(np.clip(logit(scores), -_LIMIT_LOGIT, _LIMIT_LOGIT))

    def _gap(self, logits: Floats) -> Floats:
        """Posterior minus score at these logits."""
        gap: Floats = self.posterior_of_logit(logits) - expit(logits)
        return gap

    def tce(self) -> float:
        r"""Compute the true calibration error :math:`E\,|P(Y = 1 \mid s) - s|`.

        By Lemma 7 of the PU-ECE paper this is an integral over the logits,
        :math:`\int p_h(v)\,|P(Y = 1 \mid v) - \sigma(v)|\,dv`, cut where the gap changes sign.

        Returns
        -------
        float
            Correct to about 1e-13.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> round(LogisticGaussian.less_calibrated().tce(), 9)
        0.074443262
        """
        law = self.marginal_law()

        def integrand(logits: Floats) -> Floats:
            return law.density(logits) * np.abs(self._gap(logits))

        breaks = law.breaks()
        position = np.arange(_GRID_PER_PANEL * (breaks.size - 1) + 1) / _GRID_PER_PANEL
        grid = np.interp(position, np.arange(breaks.size), breaks)
        panels = np.union1d(breaks, sign_changes(self._gap, grid))
        panels = converged_breaks(integrand, panels)
        return float(panel_integrals(integrand, panels[:-1], panels[1:]).sum())

    def binned_tce(self, edges: ArrayLike) -> float:
        r"""Compute the calibration error left after binning the scores (PU-ECE paper, 2.2.2).

        :math:`\sum_b |E[(Y - s)\,1\{s \in I_b\}]|` is what the binned ECE converges to; it
        never exceeds `tce`.

        Parameters
        ----------
        edges : array_like of shape (n_bins + 1,)
            Non-decreasing edges of right-closed bins that cover [0, 1].

        Returns
        -------
        float

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> world = LogisticGaussian.less_calibrated()
        >>> round(world.binned_tce([0, 1]), 6), round(world.binned_tce([0, 0.1, 0.5, 1]), 6)
        (0.069604, 0.074265)
        """
        cuts = checked_edges(edges)
        if cuts[0] > 0 or cuts[-1] < 1:
            raise ValueError(
                f"'edges' must cover [0, 1], got edges from {cuts[0]} to {cuts[-1]}. "
                "Start them at 0 and end them at 1."
            )
        return float(np.abs(self.marginal_law().bin_integrals(self._gap, cuts)).sum())

    def draw_rows(self, n: int, seed: Seed) -> tuple[Floats, Labels]:
        """Draw `n` independent rows with their labels.

        Parameters
        ----------
        n : int
            Number of rows.
        seed : int or numpy.random.Generator
            Source of randomness.

        Returns
        -------
        scores : ndarray of float, shape (n,)
        y : ndarray of int, shape (n,)
            1 for a positive row, 0 for a negative one.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> scores, y = LogisticGaussian.calibrated().draw_rows(1000, seed=0)
        >>> scores.shape, sorted(set(y.tolist()))
        ((1000,), [0, 1])
        """
        logits, y = self.draw_logits(_finite("n", n), generator(seed))
        return sigmoid(logits), y.astype(np.int64)

    def draw(
        self,
        n_positive: float | None = None,
        n_unlabeled: float | None = None,
        *,
        n: int | None = None,
        setting: Setting,
        seed: Seed,
    ) -> PUScores:
        """Draw a data set as one of the three settings collects it.

        Parameters
        ----------
        n_positive, n_unlabeled : int or math.inf, optional
            Sizes of the labelled and of the unlabeled part, for the two PU settings. In the
            two-sample setting either may be `math.inf`: the population law then takes the
            place of the sample (PU-ECE paper, Section 5.3).
        n : int, optional
            Number of rows, for the labelled setting.
        setting : {"two-sample", "one-sample", "labelled"}
            "two-sample": positives and marginal rows are drawn independently. "one-sample":
            ``n_positive + n_unlabeled`` rows are drawn together and `n_positive` of the
            positive ones are labelled at random. "labelled": `n` rows keep their labels.
        seed : int or numpy.random.Generator
            Source of randomness.

        Returns
        -------
        PUScores

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> world = LogisticGaussian.less_calibrated()
        >>> world.draw(100, 1000, setting="two-sample", seed=0).prior
        0.5
        """
        check_setting(setting)
        if setting == "labelled":
            _refuse(setting, n_positive=n_positive, n_unlabeled=n_unlabeled)
            scores, y = self.draw_rows(_finite("n", n), seed)
            return PUScores.from_labels(y, scores)
        _refuse(setting, n=n)
        if setting == "two-sample":
            return self._draw_two_samples(n_positive, n_unlabeled, generator(seed))
        labelled = _finite("n_positive", n_positive)
        n_rows = labelled + _finite("n_unlabeled", n_unlabeled)
        return self._draw_one_sample(labelled, n_rows, generator(seed))

    def _draw_two_samples(
        self, n_positive: float | None, n_unlabeled: float | None, rng: np.random.Generator
    ) -> PUScores:
        positive = _sample("n_positive", n_positive, self.positive_law(), rng)
        unlabeled = _sample("n_unlabeled", n_unlabeled, self.marginal_law(), rng)
        return PUScores(positive, unlabeled, prior=self.prior, setting="two-sample")

    def _draw_one_sample(self, n_positive: int, n: int, rng: np.random.Generator) -> PUScores:
        expected = self.prior * n  # compared with room for rounding, as PUScores does
        if n_positive > expected * (1 + 1e-12):
            raise ValueError(
                f"'n_positive' must be at most prior * n = {expected:.6g} in the one-sample "
                f"setting (n = n_positive + n_unlabeled = {n}), got {n_positive}. "
                "Label fewer rows or draw more unlabeled ones."
            )
        scores, y = self.draw_rows(n, rng)
        latent = np.flatnonzero(y)
        if n_positive > latent.size:
            raise ValueError(
                f"'n_positive' must be at most the number of positive rows drawn, {latent.size} "
                f"of {n} with this seed, got {n_positive}. Label fewer rows, draw more unlabeled "
                "ones or change the seed."
            )
        labelled = np.zeros(n, dtype=np.int64)
        labelled[rng.choice(latent, n_positive, replace=False)] = 1
        return PUScores.from_pu_labels(labelled, scores, prior=self.prior, setting="one-sample")


def _sample(
    name: str, size: float | None, law: LogitLaw, rng: np.random.Generator
) -> Floats | LogitLaw:
    if size == math.inf:
        return law
    return law.draw(_finite(name, size), seed=rng)


def _finite(name: str, size: float | None) -> int:
    """Return `size` as an int, or raise unless it is a whole number of at least one row."""
    if size is None or not 1 <= size < math.inf or size != int(size):
        infinite = " (math.inf is for the two-sample setting)" if size == math.inf else ""
        raise ValueError(
            f"'{name}' must be a whole number >= 1, got {size!r}{infinite}. "
            f"Pass for example {name}=1000."
        )
    return int(size)


def _refuse(setting: str, **sizes: float | None) -> None:
    """Raise when a size is given that the setting does not use."""
    wanted = "n" if setting == "labelled" else "n_positive and n_unlabeled"
    for name, size in sizes.items():
        if size is not None:
            raise ValueError(
                f"'{name}' is not used in the {setting!r} setting, got {size!r}. Pass {wanted}."
            )
