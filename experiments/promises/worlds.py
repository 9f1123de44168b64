"""Populations whose truth is known exactly, with random labels and with the worst selection."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from noneg import PUScores

LABELED = 0.4  # share of positives that are labeled in one sample
MOST_LABELED = 0.5
PRIOR = 0.1


@dataclass(frozen=True)
class Gaussians:
    """Positives N(d, 1) and negatives N(0, 1); the score is the sigmoid."""

    d: float
    prior: float

    def recall(self, t: np.ndarray) -> np.ndarray:
        return ndtr(self.d - logit(t))

    def flagged(self, t: np.ndarray) -> np.ndarray:
        return self.prior * self.recall(t) + (1 - self.prior) * ndtr(-logit(t))

    def precision(self, t: np.ndarray) -> np.ndarray:
        return self.prior * self.recall(t) / self.flagged(t)

    def at_recall(self, recall: float) -> float:
        return float(expit(brentq(lambda x: ndtr(self.d - x) - recall, -20, 20)))

    def rows(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.random(n) < self.prior
        return y, expit(rng.normal(size=n) + self.d * y)

    def draw(
        self, rng: np.random.Generator, n_positive: int, n_unlabeled: int, setting: str, **known
    ) -> tuple[PUScores, np.ndarray, np.ndarray]:
        """Return the scores, and the scores and classes of the unlabeled rows."""
        y, s = self.rows(rng, n_unlabeled)
        p = expit(rng.normal(self.d, 1, n_positive))
        if setting == "one-sample":
            rate = min(MOST_LABELED, n_positive / (self.prior * n_unlabeled))
            labeled = y & (rng.random(n_unlabeled) < rate)
            p, y, s = s[labeled], y[~labeled], s[~labeled]
        return PUScores(p, s, setting=setting, **known), s, y


def missed_by_hidden(p: np.ndarray, gamma: float) -> np.ndarray:
    """Return the largest share of hidden positives below the p-quantile of the labeled ones."""
    return np.minimum(gamma * p, 1 - (1 - p) / gamma)


def uniform_positives(world: str, n: int, gamma: float, rng: np.random.Generator) -> PUScores:
    """Return positives whose weighted distribution is uniform, and uninformative unlabeled rows.

    Under selection, the labeled positives are uniform, and `miss` gives the location of the hidden
    ones.
    """
    p, options = rng.random(n), {}
    if world == "ten scores":
        p = np.floor(10 * p) / 10
    if world in ("importance", "propensity"):
        s = rng.random(12 * n)
        rate = 1 / (1 + 2 * (1 - s)) if world == "importance" else 0.3 + 0.6 * s
        p = s[rng.random(s.size) < rate][:n]
        kept = {"positive_weight": 1 + 2 * (1 - p), "weight_kind": "importance"}
        options = kept if world == "importance" else {"propensity": 0.3 + 0.6 * p}
    if world != "one sample":
        return PUScores(p, [0.5], setting="two-sample", selection=gamma, **options)
    rows = round(n / LABELED / PRIOR)
    labeled = max(1, rng.binomial(rows, LABELED * PRIOR))
    parts = rng.random(labeled), rng.random(rows - labeled)
    return PUScores(*parts, prior=PRIOR, setting="one-sample", selection=gamma)


def miss(world: str, gamma: float, t: np.ndarray) -> np.ndarray:
    """Return the worst-case share of all positives below thresholds."""
    labeled = LABELED if world == "one sample" else 0.0
    return labeled * t + (1 - labeled) * missed_by_hidden(t, gamma)


def selected(rng: np.random.Generator, n: int, gamma: float) -> np.ndarray:
    """Return hidden positives with scores as low as a selection factor allows; labeled ones are
    uniform."""
    corner = 1 / (1 + gamma)
    low = rng.random(n) < gamma * corner
    return np.where(low, corner * rng.random(n), corner + (1 - corner) * rng.random(n))
