"""Worlds on a grid of scores in which the truth sits exactly at the end of what is identified.

Labeled positives have one law and everyone another; the positives have the law in the box that
makes a metric largest, or smallest. Given the cells in which a sample asks whether positives
outnumber rows, that law is known, so the end that an interval has to reach is known for every
sample.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from experiments.study import seeded
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.calibration.bounds import ranges
from noneg.metrics import METRICS, estimate
from noneg.selection import Box, Law, _cell_edges

LOGITS = np.linspace(-7.0, 7.0, 1500)
SCORES = expit(LOGITS)
LABELED = 0.5  # share of the positives that one sample shows
# Where the negatives lie: among the positives, or so far below that rows limit the positives.
NEGATIVES = {"overlapping": -1.0, "separated": -4.0}
SELECTION = 2.0
LEVEL = 0.9  # so that each end has a nominal 95 %
RULES = ("recall", "precision", "accuracy", "specificity", "npv", "f_beta", "mcc", "cohen_kappa")
LOSSES = ("brier", "log_loss", "risk")
SHARP = (*RULES, *LOSSES, "auroc", "proxy_auc", "precision_at", "lift_at", "ece")


def bell(mean: float) -> np.ndarray:
    """Return the masses of a normal law of the logit."""
    mass = np.exp(-((LOGITS - mean) ** 2) / 2.0)
    return mass / mass.sum()


@dataclass(frozen=True)
class World:
    """Laws of the labeled positives and of the unlabeled rows, and the share that is labeled."""

    positive: np.ndarray
    unlabeled: np.ndarray
    prior: float
    setting: str

    @classmethod
    def build(cls, name: str, prior: float, setting: str) -> "World":
        """Return a world whose positives are, half of the way, as far to the top as they may be."""
        labeled, negative = bell(1.0), bell(NEGATIVES[name])
        above = np.cumsum(labeled[::-1])[::-1]
        top = labeled * np.where(above < 1.0 / (1.0 + SELECTION), SELECTION, 1.0 / SELECTION)
        hidden = (labeled + top / top.sum()) / 2.0
        share = prior
        if setting == "one-sample":
            share = (prior - prior * LABELED) / (1.0 - prior * LABELED)
        return cls(labeled, share * hidden + (1.0 - share) * negative, prior, setting)

    @property
    def share(self) -> float:
        """Labeled share of the marginal sample."""
        return self.prior * LABELED if self.setting == "one-sample" else 0.0

    @property
    def marginal(self) -> np.ndarray:
        """The law of everyone."""
        return self.share * self.positive + (1.0 - self.share) * self.unlabeled

    def scores(self, positive: np.ndarray, unlabeled: np.ndarray, kind: str) -> PUScores:
        """Return rows with these weights at the points of the grid."""
        return PUScores(
            SCORES,
            SCORES,
            positive_weight=positive,
            unlabeled_weight=unlabeled,
            weight_kind=kind,
            prior=self.prior,
            setting=self.setting,
            selection=SELECTION,
        )

    def draw(self, n_positive: int, random: np.random.Generator) -> PUScores:
        """Return a sample with about so many labeled positives."""
        size = int(max(20 * n_positive, 2.0 * n_positive / self.prior))
        if self.setting == "one-sample":
            size = int(n_positive / self.share)
            n_positive = random.binomial(size, self.share)
            size -= n_positive
        counts = (
            random.multinomial(n_positive, self.positive),
            random.multinomial(size, self.unlabeled),
        )
        return self.scores(*counts, "frequency")

    def known(self) -> PUScores:
        """Return both laws as if every row were known."""
        share = self.share or 0.5
        return self.scores(share * self.positive, (1.0 - share) * self.unlabeled, "importance")


def under(law: Law, world: World, name: str) -> float:
    """Return a metric of a law of the positives, by its definition."""
    # Points of the grid, rising; the law is a function of the share above.
    above = np.append(np.cumsum(world.positive[::-1])[::-1], 0.0)
    positive = -np.diff(law(np.minimum(above / above[0], 1.0)))
    mu, prior = world.marginal, world.prior
    if name in RULES:
        flagged = SCORES >= 0.5
        shares = np.array(positive[flagged].sum()), np.array(mu[flagged].sum())
        return float(METRICS[name].rule()(*shares, prior))
    if name in LOSSES:
        loss = METRICS[name].loss()
        return float(prior * positive @ (loss(SCORES, 1) - loss(SCORES, 0)) + mu @ loss(SCORES, 0))
    if name in ("auroc", "proxy_auc"):
        group = mu if name == "auroc" else world.unlabeled
        place = float(positive @ (np.cumsum(group) - group / 2.0))
        return (place - prior / 2.0) / (1.0 - prior) if name == "auroc" else place
    rest = np.append(np.cumsum(mu[::-1])[::-1], 0.0)
    inside = np.clip((0.1 - rest[1:]) / mu, 0.0, 1.0)
    return float(positive @ inside) / 0.1 * (prior if name == "precision_at" else 1.0)


def ends(world: World, known: PUScores, sample: PUScores, name: str) -> tuple[float, float]:
    """Return the smallest and largest value that the cells or bins of a sample leave possible."""
    if name == "ece":
        edges = bin_scores(sample).edges
        binned = bin_scores(known, edges=edges)
        found = ranges(binned, Box.over(known, edges), world.prior)
        return found.smallest, found.largest()
    box = Box.over(known, _cell_edges(sample))
    pair = [under(box.law(world.prior, top=top), world, name) for top in (True, False)]
    low, high = METRICS[name].range
    return max(min(pair), low), min(max(pair), high)


def cover(world: str, setting: str, prior: float, n_positive: int, trials: int) -> list[dict]:
    """Return how often each end of the interval reaches the end of what is possible."""
    made = World.build(world, prior, setting)
    known = made.known()
    reached = {name: np.zeros((trials, 4)) for name in SHARP}
    for trial in range(trials):
        sample = made.draw(
            n_positive, seeded("selection", world, setting, prior, n_positive, trial)
        )
        for name in SHARP:
            low, high = ends(made, known, sample, name)
            found = estimate(name, sample, level=LEVEL)
            least, most = found.identified
            reached[name][trial] = (
                found.low <= low,
                found.high >= high,
                found.high - found.low,
                most - least,
            )
    return [
        {
            "metric": name,
            "low_reached": rows[:, 0].mean(),
            "high_reached": rows[:, 1].mean(),
            "width": rows[:, 2].mean(),
            "identified_width": rows[:, 3].mean(),
            "trials": trials,
        }
        for name, rows in reached.items()
    ]
