"""The two score distributions as rows: the sums that estimators need, and their ordered view.

A row has a score ``s``, a mass ``a`` in the positive distribution and a mass ``w`` in the marginal
distribution. Nine sums over such rows are enough for every binned estimate *and* its variance:

    a, w, w s          first order: the two distributions and the mean score
    a a, a w, a w s,   second order: products of the first three, for variances
    w w, w w s, w s w s

Unweighted rows have ``a = w = 1``, so their nine sums repeat the triple ``(n, sum s, sum s^2)``.
Frequency weights multiply all nine sums; importance weights enter through ``a`` and ``w``.

`Ordered` is the ordered view of both distributions, and it gives the variance of anything computed
from it: TPR and PPR are step functions of the threshold. A summary of a curve is a function of
their heights; its derivative with respect to the heights is the influence of each row, in any
setting and with any weights, and the sum of squared influences over the rows is its variance (delta
method; for the area under the ROC curve, this is DeLong's variance).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol, runtime_checkable

import numpy as np

from noneg import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from noneg.arrays import Flags, Floats, Integers, Places
    from noneg.scores import PUScores

    Points = tuple[Floats, Floats]
    Mass = Floats | float
    # Score, number of identical rows, mass in the positive distribution, mass in the marginal
    # distribution.
    Chunk = tuple[Floats, Mass, Mass, Mass]

N_COLUMNS = 9

# Effective share of the positives below which weights count as unequal, and the effective number
# of positives below which the rarest of them may be missing.
UNEQUAL, FEW_WEIGHTED = 0.9999, 100

# Position of each of the nine sums in the triple of unweighted rows.
FROM_TRIPLE = [0, 0, 1, 0, 0, 1, 0, 1, 2]


@runtime_checkable
class Population(Protocol):
    """A score distribution known exactly: the limit of an infinite sample."""

    def moments(self, edges: Floats) -> Floats:
        """Return mass, integral of s and of s^2 in each right-closed bin, shape (bins, 3)."""

    def quantiles(self, q: Floats) -> Floats:
        """Return the quantiles of the score."""


class Rows(Protocol):
    """Two groups of rows: 0 for unlabeled rows (or all rows), 1 for labeled positives.

    Each result has shape ``(2, k, 9)``; a source with a single group leaves the other one empty.
    """

    @property
    def counts(self) -> tuple[float, float]:
        """Rows in each group."""

    @property
    def size(self) -> int:
        """Number of entries in memory, regardless of their weights."""

    def below(self, cuts: Floats) -> Floats:
        """Return the nine sums over rows with ``s <= cut``."""

    def by_width(self, n_bins: int) -> Floats:
        """Return the nine sums in right-closed equal-width bins."""

    def at_nodes(self, axis: kernels.Axis) -> Floats:
        """Return the first-order sums assigned to the nodes of an axis, shape ``(2, n, 3)``."""

    def by_bucket(self) -> Floats:
        """Return the first-order sums in the buckets of `noneg.kernels`, shape (2, buckets, 3)."""

    def in_run(self, group: int, run: int) -> Points:
        """Return a group's sorted scores in one run of buckets, and their marginal masses."""

    def chunks(self, group: int) -> Iterator[Chunk]:
        """Yield a group's rows in cache-sized pieces, in no particular order."""

    def in_order(self, group: int) -> Chunk:
        """Return all rows of a group in ascending order of score."""


class SortedScores:
    """One group of unweighted scores, sorted, with prefix sums."""

    def __init__(self, scores: Floats) -> None:
        self.values = np.sort(scores)
        self.prefix = np.zeros((scores.size + 1, 3))
        self.prefix[:, 0] = np.arange(scores.size + 1)
        np.cumsum(self.values, out=self.prefix[1:, 1])
        np.cumsum(self.values**2, out=self.prefix[1:, 2])

    def below(self, cuts: Floats) -> Floats:
        """Return the triple of sums over scores up to each cut."""
        sums: Floats = self.prefix[np.searchsorted(self.values, cuts, side="right")]
        return sums

    def in_order_all(self) -> Floats:
        """Return all scores in ascending order."""
        return self.values

    def in_run(self, run: int) -> Floats:
        """Return the scores in one run of buckets."""
        return self.values[run_of_sorted(self.values, run)]


def run_of_sorted(values: Floats, run: int) -> slice:
    """Return the slice of sorted scores that lies in one run of buckets."""
    ends = kernels.run_ends()
    first = np.searchsorted(values, ends[run - 1], side="right") if run else 0
    return slice(int(first), int(np.searchsorted(values, ends[run], side="right")))


class RunScores:
    """One group of unweighted scores, grouped by run; runs are sorted on first use."""

    def __init__(self, values: Floats, offsets: Integers, triples: Floats) -> None:
        self.values = values
        self.offsets = offsets
        self.prefix = np.concatenate([np.zeros((1, 3)), np.cumsum(triples, axis=0)])
        self.in_order = np.zeros(offsets.size - 1, dtype=np.bool_)

    def below(self, cuts: Floats) -> Floats:
        """Return the triple of sums over scores up to each cut."""
        runs = kernels.bucket_of(cuts) >> kernels.RUN_SHIFT
        whole = cuts >= kernels.run_ends()[runs]
        out = self.prefix[runs + whole]
        for k in np.flatnonzero(~whole):
            part = self.in_run(runs[k])
            part = part[: np.searchsorted(part, cuts[k], side="right")]
            out[k] += part.size, part.sum(), part @ part
        return out

    def in_order_all(self) -> Floats:
        """Return all scores in ascending order."""
        if not self.in_order.all():
            from noneg.kernels_numba import sort_runs

            sort_runs(self.values, self.offsets)
            self.in_order[:] = True
        return self.values[self.offsets[0] : self.offsets[-1]]

    def in_run(self, run: int) -> Floats:
        """Return the scores in one run of buckets."""
        part = self.values[self.offsets[run] : self.offsets[run + 1]]
        if not self.in_order[run]:
            part.sort()
            self.in_order[run] = True
        return part


class FlaggedRows:
    """Unweighted rows in one array; flags mark labeled positives (None: all rows are unlabeled)."""

    def __init__(self, scores: Floats, flags: Flags | None) -> None:
        self.scores = scores
        self.flags = flags
        self.size = scores.size

    @cached_property
    def counts(self) -> tuple[float, float]:
        """Rows in each group."""
        flagged = 0 if self.flags is None else int(np.count_nonzero(self.flags))
        return self.scores.size - flagged, flagged

    @cached_property
    def _groups(self) -> list[SortedScores | RunScores]:
        if (fast := kernels.fast_kernels(self.scores.size)) is not None:
            values, offsets, triples = fast.group_by_run(self.scores, self.flags)
            n_groups = 1 if self.flags is None else 2
            return [RunScores(values, offsets[g], triples[g]) for g in range(n_groups)]
        if self.flags is None:
            return [SortedScores(self.scores)]
        return [SortedScores(self.scores[~self.flags]), SortedScores(self.scores[self.flags])]

    def below(self, cuts: Floats) -> Floats:
        """Return the nine sums over rows with ``s <= cut``."""
        out = np.zeros((2, cuts.size, 3))
        for group, ordered in enumerate(self._groups):
            out[group] = ordered.below(cuts)
        return out[:, :, FROM_TRIPLE]

    def by_width(self, n_bins: int) -> Floats:
        """Return the nine sums in right-closed equal-width bins; never sorts."""
        if "_groups" in self.__dict__:  # The rows have already been sorted.
            return bins_from_below(self, kernels.width_edges(n_bins))
        return kernels.width_triples(self.scores, self.flags, n_bins)[:, :, FROM_TRIPLE]

    def at_nodes(self, axis: kernels.Axis) -> Floats:
        """Return the first-order sums assigned to the nodes of an axis; never sorts."""
        return kernels.node_sums(self.scores, self.flags, axis)[:, :, FROM_TRIPLE[:3]]

    def by_bucket(self) -> Floats:
        """Return the first-order sums in all buckets; never sorts."""
        return kernels.bucket_triples(self.scores, self.flags)[:, :, FROM_TRIPLE[:3]]

    def in_run(self, group: int, run: int) -> Points:
        """Return a group's sorted scores in one run of buckets, and unit masses."""
        part = self._groups[group].in_run(run)
        return part, np.ones(part.size)

    def chunks(self, group: int) -> Iterator[Chunk]:
        """Yield a group's rows in pieces; each row counts once."""
        for start in range(0, self.scores.size, kernels.CHUNK):
            s = self.scores[start : start + kernels.CHUNK]
            if self.flags is not None:
                # Several times faster than s[mask], which suffers a branch misprediction at every
                # flag.
                s = np.compress(self.flags[start : start + kernels.CHUNK] == bool(group), s)
            if self.flags is not None or group == 0:
                yield s, 1.0, 1.0, 1.0

    def in_order(self, group: int) -> Chunk:
        """Return all scores of a group in ascending order; each row counts once."""
        if group >= len(self._groups):
            return np.zeros(0), 1.0, 1.0, 1.0
        return self._groups[group].in_order_all(), 1.0, 1.0, 1.0


class WeightedRows:
    """One group of rows with positive weights, sorted; masses that are all 1 become a scalar."""

    def __init__(
        self,
        scores: Floats,
        count: Floats | None,
        positive_mass: Floats | None,
        marginal_mass: Floats | None,
    ) -> None:
        f = np.ones_like(scores) if count is None else count
        a, w = (1.0 if x is None else x for x in (positive_mass, marginal_mass))
        order = np.argsort(scores, kind="stable")
        # Rows without mass are ignored, even as thresholds.
        order = order[(f * (a + w) > 0.0)[order]]
        self.scores = scores[order]
        self.size = self.scores.size
        self.masses = (f[order], _piece(a, order), _piece(w, order))
        self.counts = (float(self.masses[0].sum()), 0.0)

    @property
    def _unit(self) -> bool:
        """Whether counts are the only weights, in which case three sums determine all nine."""
        return all(isinstance(x, float) for x in self.masses[1:])

    @cached_property
    def prefix(self) -> Floats:
        """The sums over the first k rows (nine of them, or three), computed on first use."""
        (f, a, w), s = self.masses, self.scores
        columns: list[Mass] = [1.0, s, s * s] if self._unit else [a, w, w * s]
        if not self._unit:
            columns += [columns[i] * columns[j] for i in range(3) for j in range(i, 3)]
        sums = np.zeros((self.size + 1, len(columns)))
        for column, x in enumerate(columns):
            np.cumsum(x * f, out=sums[1:, column])
        return sums

    def below(self, cuts: Floats) -> Floats:
        """Return the nine sums over rows with ``s <= cut``."""
        sums = self.prefix[np.searchsorted(self.scores, cuts, side="right")]
        if self._unit:
            sums = sums[:, FROM_TRIPLE]
        return _alone(sums)

    def by_width(self, n_bins: int) -> Floats:
        """Return the nine sums in right-closed equal-width bins."""
        return bins_from_below(self, kernels.width_edges(n_bins))

    def at_nodes(self, axis: kernels.Axis) -> Floats:
        """Return the first-order sums assigned to the nodes of an axis."""
        return _alone(kernels.spread(axis, self.scores, self._columns))

    def by_bucket(self) -> Floats:
        """Return the first-order sums in all buckets."""
        bucket, n = kernels.bucket_of(self.scores), kernels.N_BUCKETS
        sums = [np.bincount(bucket, weights=x, minlength=n) for x in self._columns]
        return _alone(np.stack(sums, axis=-1))

    @property
    def _columns(self) -> tuple[Floats, Floats, Floats]:
        """The first-order contributions of the rows."""
        f, a, w = self.masses
        return f * a, f * w, f * w * self.scores

    def in_run(self, _group: int, run: int) -> Points:
        """Return the sorted scores in one run of buckets, and their marginal masses."""
        here = run_of_sorted(self.scores, run)
        marginal = 0 if self._unit else 1
        return self.scores[here], np.diff(self.prefix[here.start : here.stop + 1, marginal])

    def chunks(self, group: int) -> Iterator[Chunk]:
        """Yield the rows with their weights, in pieces."""
        for start in range(0, 0 if group else self.scores.size, kernels.CHUNK):
            yield self._part(slice(start, start + kernels.CHUNK))

    def in_order(self, group: int) -> Chunk:
        """Return all rows with their weights, in ascending order of score."""
        return self._part(slice(0, 0 if group else None))

    def _part(self, place: slice) -> Chunk:
        f, a, w = self.masses
        return self.scores[place], f[place], _piece(a, place), _piece(w, place)


def _alone(sums: Floats) -> Floats:
    """Return the sums of one group, followed by those of an empty group."""
    return np.stack([sums, np.zeros_like(sums)])


def _piece(mass: Mass, place: slice | Places) -> Mass:
    return mass if isinstance(mass, float) else mass[place]


class PopulationRows:
    """An infinite sample: first-order sums of a known distribution, with no variance."""

    counts = (np.inf, 0.0)
    size = 0

    def __init__(self, law: Population) -> None:
        self.law = law

    def below(self, cuts: Floats) -> Floats:
        """Return mass and integrated score up to each cut; the second-order sums are zero."""
        edges = np.concatenate([[0.0], np.sort(cuts)])
        ranks = np.argsort(np.argsort(cuts, kind="stable"), kind="stable")
        mass, score, _ = np.cumsum(self.law.moments(edges), axis=0)[ranks].T
        out = np.zeros((2, cuts.size, N_COLUMNS))
        out[0, :, :3] = np.stack([mass, mass, score], axis=-1)
        return out

    def by_width(self, n_bins: int) -> Floats:
        """Return mass and integrated score in equal-width bins."""
        return bins_from_below(self, kernels.width_edges(n_bins))

    def at_nodes(self, axis: kernels.Axis) -> Floats:
        """Return mass and integrated score in the cells around the nodes."""
        return bins_from_below(self, axis.edges)[:, :, :3]

    def _refuse(self, *_: int) -> NoReturn:
        """Raise an error: a population has no rows."""
        raise ValueError(
            "'scores' must contain rows for this metric, got a population (an infinite sample). "
            "Draw a finite sample from it."
        )

    by_bucket = in_run = chunks = in_order = _refuse


class SplitRows:
    """Two sources: the unlabeled rows and the labeled positives."""

    def __init__(self, unlabeled: Rows, positive: Rows) -> None:
        self.sources = (unlabeled, positive)
        self.size = unlabeled.size + positive.size

    @property
    def counts(self) -> tuple[float, float]:
        """Rows in each group."""
        unlabeled, positive = self.sources
        return unlabeled.counts[0], positive.counts[0]

    def below(self, cuts: Floats) -> Floats:
        """Return the nine sums over rows with ``s <= cut``."""
        return np.stack([source.below(cuts)[0] for source in self.sources])

    def by_width(self, n_bins: int) -> Floats:
        """Return the nine sums in right-closed equal-width bins."""
        return np.stack([source.by_width(n_bins)[0] for source in self.sources])

    def at_nodes(self, axis: kernels.Axis) -> Floats:
        """Return the first-order sums assigned to the nodes of an axis."""
        return np.stack([source.at_nodes(axis)[0] for source in self.sources])

    def by_bucket(self) -> Floats:
        """Return the first-order sums in all buckets."""
        return np.stack([source.by_bucket()[0] for source in self.sources])

    def in_run(self, group: int, run: int) -> Points:
        """Return a group's sorted scores in one run of buckets, and their marginal masses."""
        return self.sources[group].in_run(0, run)

    def chunks(self, group: int) -> Iterator[Chunk]:
        """Yield a group's rows in pieces."""
        return self.sources[group].chunks(0)

    def in_order(self, group: int) -> Chunk:
        """Return all rows of a group in ascending order of score."""
        return self.sources[group].in_order(0)


def bins_from_below(rows: Rows, edges: Floats) -> Floats:
    """Return the nine sums in right-closed bins; the last bin extends to 1."""
    cuts = edges[1:].copy()
    cuts[-1] = 1.0
    sums = np.diff(rows.below(cuts), axis=1, prepend=0.0)
    # All summands are nonnegative, but rounding error may leave a negative sum in an empty bin.
    return np.maximum(sums, 0.0)


class Ordered:
    """The mass of both distributions at or above each threshold: infinity, then descending scores.

    Attributes
    ----------
    thresholds : ndarray
        Infinity, then the distinct scores of both distributions in descending order.
    pooled : bool
        Whether labeled positives belong to the marginal sample: true in the one-sample and labeled
        settings, false in the two-sample setting.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.6], [0.9, 0.3, 0.2, 0.1], prior=0.4, setting="two-sample")
    >>> Ordered(scores).tpr
    array([0. , 0.5, 1. , 1. , 1. , 1. ])
    """

    def __init__(self, scores: PUScores) -> None:
        self.scores = scores
        self.pooled = scores.pooled
        self._rows = scores.in_order()
        unlabeled, positive = self._rows
        self.thresholds, *self._above = kernels.count_above(unlabeled[0], positive[0])

    @cached_property
    def tpr(self) -> Floats:
        """``mu_plus(s >= t)``; nan if no row is positive."""
        return _share(self._positive())

    @cached_property
    def ppr(self) -> Floats:
        """``mu(s >= t)``."""
        return _share(self._marginal())

    @cached_property
    def false_positive(self) -> Floats:
        """The FPR of labeled data, by counting; nan if no row is negative."""
        _, f, _, w = self._rows[0]
        return _share(self._mass(0, f * w))

    def fpr(self, prior: float) -> Floats:
        """``(PPR - pi TPR) / (1 - pi)``; with hidden labels, noise may move it out of [0, 1]."""
        return (
            rate_of_negatives(self.tpr, self.ppr, prior)
            if self.scores.hidden
            else self.false_positive
        )

    def positive_steps(self) -> Places:
        """Return the steps whose score is shared by at least one positive."""
        mass = self._positive()
        return np.flatnonzero(mass[1:] > mass[:-1]) + 1

    def heights(self, at: Places) -> tuple[Floats, Floats]:
        """Return TPR and PPR at the given steps only."""
        positive, marginal = self._positive()[at], self._marginal()[at]
        return positive / self._positive_total(), marginal / self._marginal_total()

    def own_mass(self, at: Places) -> tuple[Floats, Floats]:
        """Return the mean share of one positive at these steps, in both distributions.

        A positive from a separate sample has no marginal mass, so the mass of an average row is
        used.
        """
        _, f, a, w = self._rows[1]
        _, g, _, v = self._rows[0]
        mass, total = self._at(1, f * a, at), self._marginal_total()
        own = self._at(1, f * a * a, at) / (mass * self._positive_total())
        if not self.pooled:
            return own, np.asarray(self._mass(0, g * v * v)[-1] / total**2)
        return own, self._at(1, f * a * w, at) / (mass * total)

    def mass_of_others(self, at: Places) -> Floats:
        """Return the mass of all labeled positives except one at these steps."""
        return 1.0 - np.broadcast_to(self.own_mass(at)[0], at.shape)

    def shares_row(self, at: Places) -> Flags:
        """Return whether a positive at these steps is assumed to be a marginal row as well.

        A positive from a separate sample is, if it shares its score with exactly one marginal row;
        scores of several rows are assumed to coincide by chance.
        """
        if not self.pooled:
            (_, f, _, _), (_, g, _, _) = self._rows
            return (self._at(0, f, at) == 1.0) & (self._at(1, g, at) == 1.0)
        return np.asarray(True)  # noqa: FBT003

    def tied_squares(self) -> Floats:
        """Return the squared mass of positives at each score, minus the squares of its rows."""
        _, f, a, _ = self._rows[1]
        square = self._at(1, f * a) ** 2 - self._at(1, f * a * a)
        return np.maximum(square, 0.0) / self._positive_total() ** 2

    def corners(self) -> Flags:
        """Return which steps are not halfway between their neighbors on the ROC curve.

        The largest score is always kept, as in scikit-learn.
        """
        (_, f, _, w), (_, g, a, v) = self._rows
        masses = [self._mass(0, f * w), self._mass(1, g * a)]
        if self.scores.setting == "one-sample":
            masses.append(self._mass(1, g * v))  # Marginal mass, if labeling rates differ.
        corner = np.ones(self.thresholds.size, dtype=np.bool_)
        corner[2:-1] = np.any([np.diff(mass[1:], 2) != 0.0 for mass in masses], axis=0)
        return corner

    def _positive(self) -> Floats:
        """Mass of the positive distribution at or above each threshold."""
        _, f, a, _ = self._rows[1]
        return self._mass(1, f * a)

    def _marginal(self) -> Floats:
        (_, f, _, w), (_, g, _, v) = self._rows
        unlabeled = self._mass(0, f * w)
        return unlabeled + self._mass(1, g * v) if self.pooled else unlabeled

    def masses(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct scores in ascending order, and both masses at each."""
        positive, marginal = np.diff(self._positive()), np.diff(self._marginal())
        return self.thresholds[:0:-1], positive[::-1], marginal[::-1]

    def below(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct scores in ascending order, and their cumulative masses.

        The masses start with 0, so they have one more entry than the scores.
        """
        above = self._positive(), self._marginal()
        positive, marginal = (mass[-1] - mass[::-1] for mass in above)
        return self.thresholds[:0:-1], positive, marginal

    def _mass(self, group: int, mass: Mass) -> Floats:
        """Return a group's mass at or above each threshold."""
        above = self._above[group]
        if np.ndim(mass) == 0:
            return above if mass == 1.0 else above * mass
        from_top = np.concatenate([[0.0], np.cumsum(np.asarray(mass)[::-1])])
        return from_top[self._places[group]]

    @cached_property
    def _places(self) -> list[Places]:
        """Entries of each group at or above each threshold, as indices into running sums."""
        return [above.astype(np.intp) for above in self._above]

    def _total(self, group: int, mass: Mass) -> float:
        """Return a group's mass."""
        return float(np.sum(mass) if np.ndim(mass) else mass * self._above[group][-1])

    def variance(
        self, d_tpr: Floats, d_ppr: Floats, d_prior: float, *, unseen: bool = True
    ) -> float:
        """Return the variance of a function of the heights, given its derivatives.

        Each group's sum of squares is multiplied by ``n / (n - 1)`` to account for its fitted mean,
        as in DeLong's estimate; a group with a single row has no spread to estimate, so the
        variance is infinite. For PU rows, the most influential positive counts twice, unless the
        caller allows for unseen positives in another way.
        """
        marginal, prior, share = self._marginal_total(), 0.0, 0.0
        if self.scores.prior_is_estimated:
            prior, share = self.scores.known_prior, d_prior / marginal
        positive = influence(d_tpr, self.tpr, self._positive_total()) + share
        rows = influence(d_ppr, self.ppr, marginal) - prior * share
        own = self._squares(1, positive, rows if self.pooled else None)
        if few_weighted(self.scores):
            own = max(own, self._if_calibrated(positive))
        if unseen and self.scores.hidden:
            # A handful of positives may dominate, and the sample may miss others as influential.
            own += self._largest_square(positive)
        return own + self._squares(0, None, rows)

    def _if_calibrated(self, positive: Floats) -> float:
        """Return the variance due to positives if the scores were calibrated (`row_shares`)."""
        s, marginal = self.thresholds[1:], np.diff(self.ppr)
        law = marginal * s / (float(marginal @ s) or 1.0)
        per_row = positive * self._positive_total()
        return float((law * row_shares(self.scores)(s)) @ (per_row - law @ per_row) ** 2)

    def _largest_square(self, positive: Floats) -> float:
        """Return the largest squared influence of a single positive."""
        _, f, a, _ = self._rows[1]
        rows = self._at(1, f)
        held = rows > 0.0
        if not held.any():
            return 0.0
        return float(np.max((self._at(1, f * a * a) * positive**2)[held] / rows[held]))

    def _positive_total(self) -> float:
        _, f, a, _ = self._rows[1]
        return self._total(1, f * a)

    def _marginal_total(self) -> float:
        (_, f, _, w), (_, g, _, v) = self._rows
        return self._total(0, f * w) + (self._total(1, g * v) if self.pooled else 0.0)

    def _squares(self, group: int, positive: Floats | None, marginal: Floats | None) -> float:
        """Return the sum over a group's rows of ``(a positive + w marginal)^2``."""
        _, f, a, w = self._rows[group]
        mass = a if group else w
        first, second = (self._total(group, f * mass**power) for power in (1, 2))
        size = first**2 / second if second > 0.0 else 0.0
        if 0.0 < size <= 1.0:
            return np.inf
        parts = []
        if positive is not None:
            parts.append(self._at(group, f * a * a) @ positive**2)
        if marginal is not None:
            parts.append(self._at(group, f * w * w) @ marginal**2)
        if positive is not None and marginal is not None:
            parts.append(2.0 * (self._at(group, f * a * w) @ (positive * marginal)))
        return float(sum(parts) * size / (size - 1.0)) if size > 0.0 else 0.0

    def _at(self, group: int, mass: Mass, at: Places | None = None) -> Floats:
        """Return a group's mass at each distinct score, or only at the given steps."""
        above = self._mass(group, mass)
        return np.diff(above) if at is None else above[at] - above[at - 1]


def influence(derivative: Floats, height: Floats, total: float) -> Floats:
    """Return the influence of a row at each distinct score, per unit of mass."""
    # A row contributes to the heights at all thresholds at or below its score.
    gradient = np.cumsum(derivative[::-1])[::-1][1:]
    gradient -= gradient @ np.diff(height)
    gradient /= total
    return gradient


def few_weighted(scores: PUScores) -> bool:
    """Return whether positives are so few, and their weights so unequal, that kinds may be missing.

    Kinds that are rarely labeled weigh most; if the sample has none of them, no interval can know.
    """
    few = scores.effective_positive < min(UNEQUAL * scores.n_positive, FEW_WEIGHTED)
    return few and scores.hidden


def row_shares(scores: PUScores) -> Callable[[Floats], Floats]:
    """Return the share of one labeled row in the positive law as a function of its score.

    The reciprocal weights (propensities) are fitted by a straight line in the score, which is
    trusted down to half of the smallest one, and scaled to Kish's effective size.

    Examples
    --------
    >>> from noneg import PUScores
    >>> rates = {"propensity": [0.9, 0.7, 0.2]}
    >>> scores = PUScores([0.9, 0.7, 0.2], [0.8, 0.2], prior=0.4, setting="two-sample", **rates)
    >>> row_shares(scores)(np.array([0.2, 0.4, 0.8])).round(2)
    array([0.66, 0.33, 0.17])
    """
    size = scores.effective_positive
    s, f, a, _ = scores.in_order()[1]
    if not (scores.is_weighted and s.size):
        return lambda s: np.full_like(s, 1.0 / size)
    a, f = (np.broadcast_to(np.asarray(x, dtype=np.float64), s.shape) for x in (a, f))
    center, level = (float(f @ x) / float(f.sum()) for x in (s, 1.0 / a))
    # If all scores are equal up to rounding error, the slope is unknown.
    differ = s[-1] - s[0] > scores.rounding * s[-1]
    rise = float(f @ ((s - center) / a)) / float(f @ (s - center) ** 2) if differ else 0.0
    least = 0.5 / float(a.max())

    def weight(s: Floats) -> Floats:
        return 1.0 / np.maximum(level + rise * (s - center), least)

    scale = float(f @ a) / float((f * a) @ weight(s)) / size
    return lambda s: scale * weight(s)


def rate_of_negatives(tpr: Floats, ppr: Floats, prior: float) -> Floats:
    """Return the FPR, ``(PPR - pi TPR) / (1 - pi)``; nan if the prior is 1."""
    if prior >= 1.0:
        return np.full_like(tpr, np.nan)
    return (ppr - prior * tpr) / (1.0 - prior)


def _share(mass: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return mass / mass[-1]


def placements(at: Floats, group: Floats, mass: Floats | float = 1.0) -> Floats:
    """Return the share of a group below each score; a tie counts as half.

    Parameters
    ----------
    at : ndarray
    group : ndarray
        Scores in ascending order.
    mass : ndarray or float
        Weights of the group's scores.

    Examples
    --------
    >>> placements(np.array([0.2, 0.5]), np.array([0.1, 0.2, 0.3, 0.4]))
    array([0.375, 1.   ])
    """
    below = np.concatenate([[0.0], np.cumsum(np.broadcast_to(mass, group.shape))])
    left, right = (below[np.searchsorted(group, at, side=side)] for side in _SIDES)
    share: Floats = (left + right) / (2.0 * below[-1])
    return share


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
