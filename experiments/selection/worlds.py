"""Populations on a grid of scores, with the truth exactly at the end of the identified range.

Labeled positives have one distribution and everyone another; the positives have the distribution in
the selection set that makes a metric largest, or smallest. Given the cells in which a sample checks
whether positives outnumber rows, that distribution is known, so the end that an interval has to
reach is known for every sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from experiments.study import seeded
from experiments.tables import Row, averaged
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.calibration.bounds import ranges
from noneg.metrics import METRICS, estimate
from noneg.selection import Box, _cell_edges

LOGITS = np.linspace(-7.0, 7.0, 1500)
SCORES = expit(LOGITS)
LABELED = 0.5  # share of the positives that are labeled in one sample
# Location of the negatives: among the positives, or so far below that the row limit applies.
NEGATIVES = {"overlapping": -1.0, "separated": -4.0}
SELECTION = 2.0
LEVEL = 0.9  # so that each end has a nominal 95%
AGAIN = 0.9  # metrics with an end that is reached less often than this are measured again
SHARP = ("recall", "precision", "accuracy", "specificity", "npv", "f_beta", "mcc", "cohen_kappa")
SHARP += ("brier", "log_loss", "risk")
SHARP += ("auroc", "partial_auc", "proxy_auc", "precision_at", "lift_at", "ece")


def bell(mean: float) -> np.ndarray:
    """Return the masses of a normal distribution of the logit."""
    mass = np.exp(-((LOGITS - mean) ** 2) / 2.0)
    return mass / mass.sum()


@dataclass(frozen=True)
class World:
    """Distributions of the labeled positives and the unlabeled rows, and the labeled share."""

    positive: np.ndarray
    unlabeled: np.ndarray
    prior: float
    setting: str

    @classmethod
    def build(cls, name: str, prior: float, setting: str) -> "World":
        """Return a population whose positives are halfway between the labeled ones and the extreme
        at the top."""
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
        """The distribution of everyone."""
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
        """Return a sample with about this many labeled positives."""
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
        """Return both distributions as if every row were known."""
        share = self.share or 0.5
        return self.scores(share * self.positive, (1.0 - share) * self.unlabeled, "importance")


def under(positive: np.ndarray, world: World, name: str) -> float:
    """Return a metric of a population with this distribution of the positives."""
    # The proxy compares positives with the unlabeled rows, not with everyone.
    group = world.unlabeled if name == "proxy_auc" else world.marginal
    weights = {"positive_weight": positive, "unlabeled_weight": group, "weight_kind": "importance"}
    every = PUScores(SCORES, SCORES, **weights, prior=world.prior, setting="two-sample")
    return METRICS[name].function(every)


def extremes(world: World, known: PUScores, sample: PUScores) -> list[np.ndarray]:
    """Return the distributions with the most and the fewest positives at the top, given a sample's
    cells."""
    box = Box.over(known, _cell_edges(sample))
    # Grid points in increasing order; a distribution is a function of the share above.
    above = np.append(np.cumsum(world.positive[::-1])[::-1], 0.0)
    above = np.minimum(above / above[0], 1.0)
    return [-np.diff(box.law(world.prior, top=top)(above)) for top in (True, False)]


def ends(
    world: World, known: PUScores, sample: PUScores, names: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest values consistent with a sample's cells or bins, by
    metric."""
    found, laws = {}, extremes(world, known, sample)
    for name in set(names) - {"ece"}:
        pair, (low, high) = [under(law, world, name) for law in laws], METRICS[name].range
        high = 1.0 / world.prior if name == "lift_at" else high
        found[name] = max(min(pair), low), min(max(pair), high)
    if "ece" not in names:
        return found
    edges = bin_scores(sample).edges
    error = ranges(bin_scores(known, edges=edges), Box.over(known, edges), world.prior)
    return found | {"ece": (error.smallest, error.largest())}


@averaged("metric")
def cover(
    world: str, setting: str, prior: float, n_positive: int, trials: int, metrics: str = ""
) -> Iterator[Row]:
    """Yield whether each end of the interval reaches the end of the attainable range.

    With metrics (separated by spaces), only for these, and with other draws.
    """
    made, names = World.build(world, prior, setting), tuple(metrics.split()) or SHARP
    known, cell = made.known(), (world, setting, prior, n_positive)
    for trial in range(trials):
        sample = made.draw(n_positive, seeded("selection", *cell, trial, *metrics.split()))
        truth = ends(made, known, sample, names)
        for name in names:
            low, high = truth[name]
            one = estimate(name, sample, level=LEVEL)
            least, most = one.identified
            row = {"metric": name, "low_reached": one.low <= low, "high_reached": one.high >= high}
            yield row | {"width": one.high - one.low, "identified_width": most - least}
