r"""TEDn, TIcE and ReCPE: feature-based estimators that train classifiers or trees.

**TEDn**: best bin estimation on the scores of a classifier that drops likely positives as it learns
(Garg et al. 2021, Algorithm 2, TED^n, with Algorithm 3, CVIR). Estimate the share, remove that
share of the unlabeled rows, those with the highest scores, from the training set, retrain, and
repeat. Any scikit-learn classifier replaces the paper's networks, and full fits replace its epochs.

**TIcE**: the largest lower bound on the label frequency over parts of the data that a tree finds
(Bekker and Davis 2018, Estimating the class prior in positive and unlabeled data through decision
tree induction). In a purely positive part S, the labeled share is c; in any other part, it is less.
With L labeled rows out of T in S,

.. math:: c \ge \frac{L}{T} - \sqrt{\frac{c_0 (1 - c_0)(1 - \delta)}{\delta\, T}}
   \quad\text{with probability at least } 1 - \delta.

**ReCPE**: see `noneg.prior.from_scores`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noneg.errors import InputError
from noneg.prior.base import SAMPLED, FeatureEstimator, Found, TrainedEstimator
from noneg.prior.discriminator import FOLDS, cross_fit, default_forest
from noneg.prior.from_scores import BestBin, ReCPE, check_fraction, share_at
from noneg.prior.kernel_methods import KernelMeanGradient
from noneg.prior.samples import FeatureSamples, ScoreLaws
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noneg.arrays import Flags, Floats, Places
    from noneg.prior.base import PriorEstimate

    Cells = NDArray[np.uint8]

# Constants of TIcE.
INTERVALS = 4
FEWEST = 10
SMOOTHING = 5
MOST_NODES = 500


@dataclass(frozen=True, kw_only=True)
class Tedn(TrainedEstimator):
    """TEDn, which alternates between classifier and share, with cross-fitted scores.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Defaults to a random forest, the first of `noneg.prior.default_classifiers`: best bin uses
        only ranks, and after the first round, no density ratio is learned.
    rounds : int
        Number of fits; the first one uses all unlabeled rows.
    folds : int
        Number of folds for cross-fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.prior import Tedn
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 300) for m in (4, 4, 0)])
    >>> tedn = Tedn(classifier=LogisticRegression())
    >>> found = tedn.fit(x[:, None], [1] * 300 + [0] * 600, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.05
    True
    """

    name = "tedn"
    title = "TEDn"
    citation = BestBin.citation
    assumption = BestBin.assumption

    rounds: int = 3
    folds: int = FOLDS

    def find(self, samples: FeatureSamples) -> Found:
        """Return the best bin estimate on the scores of the last round."""
        return BestBin().find(self.laws(samples))

    def estimate(
        self, samples: FeatureSamples, level: float, overlap: float | None = None
    ) -> PriorEstimate:
        """Return the best bin estimate on the scores of the last round, with its own bounds."""
        found = BestBin().fit(self.laws(samples), level=level, overlap=overlap)
        return replace(found, method=self.name)

    def laws(self, samples: FeatureSamples) -> ScoreLaws:
        """Return the scores of the last round."""
        if self.rounds < 1:
            raise InputError("rounds", "must be at least 1", value=self.rounds)
        model = default_forest(self.seed) if self.classifier is None else self.classifier
        kept: Flags | None = None
        for _ in range(self.rounds):
            p, u = cross_fit(samples, model, folds=self.folds, seed=self.seed, kept=kept)
            laws = ScoreLaws.from_arrays(p, u, setting=samples.setting, scale="logit")
            # Every fold needs at least two rows to learn from.
            n_left = max(2 * self.folds, round((1.0 - BestBin().find(laws).share) * u.size))
            kept = np.argsort(np.argsort(u, kind="stable")) < n_left
        return laws


@dataclass(frozen=True, kw_only=True)
class ReCPEFeatures(TrainedEstimator):
    """Regrouping followed by a feature-based estimator; see `ReCPE`.

    Parameters
    ----------
    base : FeatureEstimator
    fraction : float
    classifier : scikit-learn classifier, optional
        Decides which unlabeled rows look positive; it is cross-fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.prior import PenalizedL1, ReCPEFeatures
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (4, 4, 0)])
    >>> regrouping = ReCPEFeatures(base=PenalizedL1(), classifier=LogisticRegression(), resamples=2)
    >>> found = regrouping.fit(x[:, None], [1] * 200 + [0] * 400, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "recpe-features"
    title = "Regrouping of features (ReCPE)"
    citation = ReCPE.citation
    assumption = ReCPE.assumption

    base: FeatureEstimator = field(default_factory=KernelMeanGradient)
    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_fraction(self.fraction)

    def find(self, samples: FeatureSamples) -> Found:
        """Return the estimate of the base method after regrouping."""
        _, scores = cross_fit(samples, self.classifier, seed=self.seed)
        top = np.argsort(-scores, kind="stable")[: max(1, round(self.fraction * scores.size))]
        more = np.concatenate([samples.positive, samples.unlabeled[top]])
        return self.base.find(replace(samples, positive=more))


@dataclass(frozen=True, kw_only=True)
class Tice(FeatureEstimator):
    """TIcE, with the authors' defaults.

    Columns are scaled to [0, 1] by their range and cut at quarters. If there are more than
    `max_columns` columns, they are replaced with as many principal components: axis-parallel cuts
    find little in high dimensions.

    Parameters
    ----------
    rounds : int
        Number of rounds. The first starts from c = .5, each later one from the previous estimate.
    max_columns : int

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import Tice
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 500) for m in (5, 5, 0)])
    >>> found = Tice(resamples=2).fit(x[:, None], [1] * 500 + [0] * 1000, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "tice"
    title = "Tree induction (TIcE)"
    citation = "Bekker and Davis (2018), Estimating the class prior"
    assumption = (
        f"{SAMPLED}, and some box of feature values contains only positives, and enough of them"
    )

    rounds: int = 2
    max_columns: int = 50

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share implied by the bound on the label frequency."""
        cells, labels = _cells(samples, self.max_columns)
        fold = stream(self.seed, "tree induction").permutation(labels.size) % FOLDS
        frequency = 0.5
        for _ in range(self.rounds):
            bounds = [best_bound(cells, labels, fold == k, frequency) for k in range(FOLDS)]
            frequency = float(np.clip(np.mean(bounds), 1e-9, 1.0))
        return share_at(frequency, float(labels.mean()))


def _cells(samples: FeatureSamples, most: int) -> tuple[Cells, Flags]:
    """Return the interval index of each value, and a mask of the labeled rows."""
    rows = np.concatenate([samples.positive, samples.unlabeled])
    if rows.shape[1] > most:
        centered = rows - rows.mean(axis=0)
        _, _, axes = np.linalg.svd(centered, full_matrices=False)
        rows = centered @ axes[:most].T
    low, high = rows.min(axis=0), rows.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    cells = np.clip(((rows - low) / span * INTERVALS).astype(np.intp), 0, INTERVALS - 1)
    return cells.astype(np.uint8), np.arange(len(rows)) < len(samples.positive)


class Node(NamedTuple):
    """A part of the data: rows for growing the tree, rows for estimation, and remaining columns."""

    tree: Places
    rest: Places
    columns: Places


def best_bound(cells: Cells, labels: Flags, in_tree: Flags, guess: float) -> float:
    """Return the largest lower bound on c over the nodes of one tree, in a best-first search."""
    tree, rest = np.flatnonzero(in_tree), np.flatnonzero(~in_tree)
    delta = max(0.025, 1.0 / (1.0 + 0.004 * rest.size))
    noise = guess * (1.0 - guess) * (1.0 - delta) / delta
    best = float(labels[rest].mean())
    number = count()
    heap = [(0.0, next(number), Node(tree, rest, np.arange(cells.shape[1])))]
    for _ in range(MOST_NODES):
        if not heap:
            break
        node = heapq.heappop(heap)[-1]
        for child in _children(node, cells, labels, _needed(noise, best)):
            best = max(best, _bound(labels[child.rest], noise))
            if _worth(labels[child.tree], labels[child.rest], _needed(noise, best)):
                key = -_bound(labels[child.tree], noise)
                heapq.heappush(heap, (key, next(number), child))
    return best


def _bound(labels: Flags, noise: float) -> float:
    if labels.size < FEWEST:
        return 0.0
    return float(labels.mean() - np.sqrt(noise / labels.size))


def _needed(noise: float, best: float) -> float:
    """Return the number of labeled rows that a part needs to improve on the best bound."""
    return noise / max(1e-12, (1.0 - best) ** 2)


def _worth(tree: Flags, rest: Flags, needed: float) -> bool:
    """Whether a part may give a better bound: it is large, and not all of one kind."""
    return rest.sum() > needed and tree.size > FEWEST and 0 < tree.sum() < tree.size


def _children(node: Node, cells: Cells, labels: Flags, needed: float) -> Iterator[Node]:
    """Split a node along the column with the most promising part."""
    counts, labeled = _counts(cells, labels, node.tree, node.columns)
    _, estimating = _counts(cells, labels, node.rest, node.columns)
    promise = (labeled / (counts + SMOOTHING)).max(axis=0)
    useless = (estimating <= needed).all(axis=0) | ((counts > 0).sum(axis=0) < 2)
    if useless.all():
        return
    column = int(np.argmax(np.where(useless, -1.0, promise)))
    left = np.delete(node.columns, column)
    for cell in range(INTERVALS):
        tree, rest = (rows[cells[rows, node.columns[column]] == cell] for rows in node[:2])
        if tree.size or rest.size:
            yield Node(tree, rest, left)


def _counts(cells: Cells, labels: Flags, rows: Places, columns: Places) -> tuple[Floats, Floats]:
    """Return the numbers of rows and labeled rows in each interval (first axis) of each column."""
    inside = cells[np.ix_(rows, columns)] == np.arange(INTERVALS)[:, None, None]
    return inside.sum(axis=1).astype(float), inside[:, labels[rows]].sum(axis=1).astype(float)
