r"""Estimators that need the features: kernels, classifiers and trees.

**KM**: how far one can go from the positives through the unlabeled rows before leaving the data
(Ramaswamy, Scott and Tewari 2016, Mixture proportion estimation via kernel embeddings). With kernel
means :math:`\hat F` of the unlabeled rows and :math:`\hat H` of the positives, :math:`d(\lambda)`
is the distance of :math:`\lambda \hat F + (1-\lambda) \hat H` from the convex hull of all rows. It
is zero up to :math:`\lambda^* = 1/(1-a)`; the two rules differ in the slope that counts as steep.

**PenL1**: the share at which a penalized L1 distance between ``t p_P`` and ``p_U`` is smallest (du
Plessis, Niu and Sugiyama 2017, Class-prior estimation for learning from positive and unlabeled
data). With Gaussian bumps :math:`\phi_l` on unlabeled rows and
:math:`\beta_l(t) = t\,E_+[\phi_l] - E_U[\phi_l]`,

.. math:: J(t) = \frac{1}{\lambda} \sum_l \max(0, \beta_l(t))^2 - t + 1;

the penalty makes it infinitely costly to have more positives than rows anywhere.

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
from scipy.spatial.distance import cdist

from noneg.arrays import Flags, Floats, Places, bisected
from noneg.errors import InputError
from noneg.prior.base import SAMPLED, FeatureEstimator, Found, PriorEstimate, TrainedEstimator
from noneg.prior.discriminator import FOLDS, cross_fit, default_forest
from noneg.prior.from_scores import BestBin, ReCPE, check_fraction, share_at
from noneg.prior.samples import FeatureSamples, ScoreLaws
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Cells = NDArray[np.uint8]

# Constants of KM. The walk ends at LARGEST, so shares up to 0.95 can be found; the slope is that
# over a STEP.
WIDTHS = (0.1, 0.316, 1.0, 3.16, 10.0)
LARGEST = 20.0
HALVINGS = 9
STEP = 0.02
STEEP = 0.9
ROUNDING = 1e-7

# Constants of PenL1.
SHARES = np.arange(1, 100) / 100.0
BUMP_WIDTHS = np.geomspace(0.01, 10.0, 10)
PENALTIES = np.geomspace(1e-3, 10.0, 10)

# Constants of TIcE.
INTERVALS = 4
FEWEST = 10
SMOOTHING = 5
MOST_NODES = 500


@dataclass(frozen=True, kw_only=True)
class KernelMeanRoot(FeatureEstimator):
    """KM1, the rule ``1 / sqrt(min(n_P, n_U))`` for the slope at which the walk leaves the data.

    Columns are standardized. At most `max_rows` rows of each sample are used, because time and
    memory grow at least quadratically.

    Parameters
    ----------
    max_rows : int
    steps : int
        Number of steps of the projection onto the convex hull.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import KernelMeanRoot
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 100) for m in (4, 4, 0)])
    >>> found = KernelMeanRoot(resamples=2).fit(
    ...     x[:, None], [1] * 100 + [0] * 200, setting="two-sample"
    ... )
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "km1"
    title = "Kernel mean, root rule (KM1)"
    citation = "Ramaswamy et al. (2016), Mixture proportion estimation"
    assumption = (
        f"{SAMPLED}, and some smooth function is large for some positives but never "
        "for negatives (separability), which implies irreducibility"
    )

    max_rows: int = 300
    steps: int = 300

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share at which the distance starts to increase."""
        part = samples.standardized().at_most(self.max_rows, stream(self.seed, "kernel mean"))
        walk = Walk.along(part.positive, part.unlabeled, self.steps)
        limit = self.limit(walk)
        found = float(bisected(lambda at: walk.slope(at, STEP) <= limit, 1.0, LARGEST, HALVINGS))
        return Found((found - 1.0) / found, {"slope_limit": limit, "distance": walk.apart})

    def limit(self, walk: Walk) -> float:
        """Return the slope at which the walk counts as having left the data."""
        slope = 1.0 / np.sqrt(walk.smaller)
        return walk.gradient_limit() if slope / walk.apart > STEEP else float(slope)


@dataclass(frozen=True, kw_only=True)
class KernelMeanGradient(KernelMeanRoot):
    """KM2, the rule ``0.8 d'(1) + 0.2 ||F - H||`` for the slope at which the walk leaves the data.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import KernelMeanGradient
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 100) for m in (4, 4, 0)])
    >>> found = KernelMeanGradient(resamples=2).fit(
    ...     x[:, None], [1] * 100 + [0] * 200, setting="two-sample"
    ... )
    >>> abs(found.value - 0.5) < 0.15
    True
    """

    name = "km2"
    title = "Kernel mean, gradient rule (KM2)"

    def limit(self, walk: Walk) -> float:
        """Return the slope at which the walk counts as having left the data."""
        return walk.gradient_limit()


@dataclass(eq=False)
class Walk:
    """The line through both kernel means, and its distance from the convex hull of the rows."""

    kernel: Floats
    unlabeled: Floats
    positive: Floats
    apart: float
    smaller: int
    steps: int

    @classmethod
    def along(cls, positive: Floats, unlabeled: Floats, steps: int) -> Walk:
        """Choose the kernel width that maximizes the distance between the two means."""
        rows = np.concatenate([positive, unlabeled])
        n, m = len(positive), len(unlabeled)
        p = np.repeat([1.0 / n, 0.0], [n, m])
        u = np.repeat([0.0, 1.0 / m], [n, m])
        square = cdist(rows, rows, "sqeuclidean")
        middle = float(np.median(np.sqrt(square[np.triu_indices(n + m, 1)]))) or 1.0
        kernels = [np.exp(-square / (2.0 * (factor * middle) ** 2)) for factor in WIDTHS]
        kernel = max(kernels, key=lambda k: _norm(k, u - p))
        apart = _norm(kernel, u - p)
        if apart < ROUNDING:
            rule = "must differ between positives and unlabeled rows, but all are the same."
            raise InputError("X", rule)
        return cls(kernel, u, p, apart, min(n, m), steps)

    def gradient_limit(self) -> float:
        """Return ``0.8 d'(1) + 0.2 ||F - H||``."""
        return 0.8 * self.slope(1.0, 0.05) + 0.2 * self.apart

    def slope(self, at: float, step: float) -> float:
        """Return the slope of the distance to the right of a point."""
        return (self.distance(at + step) - self.distance(at)) / step

    def distance(self, at: float) -> float:
        """Return the distance of ``at F + (1 - at) H`` from the convex hull."""
        target = at * self.unlabeled + (1.0 - at) * self.positive
        return _norm(self.kernel, nearest_in_hull(self.kernel, target, self.steps) - target)


def _norm(kernel: Floats, weights: Floats) -> float:
    return float(np.sqrt(max(0.0, float(weights @ kernel @ weights))))


def nearest_in_hull(kernel: Floats, target: Floats, steps: int) -> Floats:
    """Return nonnegative weights with sum 1 that are closest to the target in the kernel norm.

    Accelerated projected gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes).
    """
    rate = 1.0 / float(kernel.sum(axis=1).max())
    v = project(target)
    y, momentum = v, 1.0
    for _ in range(steps):
        following = project(y - rate * (kernel @ (y - target)))
        if (y - following) @ (following - v) > 0.0:
            y, momentum = v, 1.0
            continue
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y = following + (momentum - 1.0) / grown * (following - v)
        v, momentum = following, grown
    return v


def project(weights: Floats) -> Floats:
    """Return the nearest point on the simplex (Held, Wolfe and Crowder 1974).

    Examples
    --------
    >>> project(np.array([0.6, 0.8, -1.0]))
    array([0.4, 0.6, 0. ])
    """
    falling = np.sort(weights)[::-1]
    level = (np.cumsum(falling) - 1.0) / np.arange(1, weights.size + 1)
    last = int(np.flatnonzero(falling > level)[-1])
    return np.maximum(0.0, weights - level[last])


@dataclass(frozen=True, kw_only=True)
class PenalizedL1(FeatureEstimator):
    """PenL1, with width and penalty chosen by cross-validation for each share.

    Columns are standardized. Shares are tried in steps of 0.01; the authors use steps of 0.05.

    Parameters
    ----------
    centers : int
        Number of bumps, centered on unlabeled rows.
    max_rows : int
        Largest number of rows used from each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import PenalizedL1
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (4, 4, 0)])
    >>> found = PenalizedL1().fit(x[:, None], [1] * 200 + [0] * 400, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.1
    True
    """

    name = "penl1"
    title = "Penalized L1 (PenL1)"
    citation = "du Plessis et al. (2017), Class-prior estimation"
    assumption = (
        f"{SAMPLED}, and somewhere negatives are negligible compared with positives; "
        "little overlap and few dimensions"
    )

    centers: int = 200
    max_rows: int = 1000

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share with the smallest penalized distance."""
        random = stream(self.seed, "penalized L1")
        part = samples.standardized().at_most(self.max_rows, random)
        p, u = part.positive, part.unlabeled
        chosen = u[random.choice(len(u), min(self.centers, len(u)), replace=False)]
        near = [cdist(x, chosen, "sqeuclidean") for x in (p, u)]
        middle = float(np.sqrt(np.median(cdist(chosen, chosen, "sqeuclidean")))) or 1.0
        parts = [random.permutation(len(x)) % FOLDS for x in (p, u)]
        tried = [_at_width(near, parts, factor * middle) for factor in BUMP_WIDTHS]
        # For each share, use the width and the penalty that predict best.
        scores, values = np.concatenate(tried, axis=2)
        best = values[np.arange(SHARES.size), np.argmin(scores, axis=1)]
        return Found(float(SHARES[int(np.argmin(best))]), {"distance": float(best.min())})


def _at_width(near: list[Floats], parts: list[Places], width: float) -> Floats:
    """Return the cross-validation score and J, with shares as rows and penalties as columns."""
    p, u = (np.exp(-square / (2.0 * width**2)) for square in near)
    score = np.zeros((SHARES.size, 1))
    for in_p, in_u in ((parts[0] == fold, parts[1] == fold) for fold in range(FOLDS)):
        if in_p.all() or in_u.all() or not (in_p.any() and in_u.any()):
            continue
        held, rest = _excess(p[in_p], u[in_u]), _excess(p[~in_p], u[~in_u])
        score -= (np.maximum(0.0, rest) * held).sum(axis=1, keepdims=True)
    square = (np.maximum(0.0, _excess(p, u)) ** 2).sum(axis=1, keepdims=True)
    return np.stack([score / PENALTIES, square / PENALTIES - SHARES[:, None] + 1.0])


def _excess(positive: Floats, unlabeled: Floats) -> Floats:
    """Return beta, with shares as rows."""
    return SHARES[:, None] * positive.mean(axis=0) - unlabeled.mean(axis=0)


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
