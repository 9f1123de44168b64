r"""Metrics of a whole table that a partial review can estimate, and what is known without it.

Each metric is a function of totals over the positives of the table,

.. math:: A_j = \sum_i y_i f_j(s_i),

for a few features of the score: a constant, "at or above t", the rank, the loss, "in bin b". Table
sizes, sums over all rows, and labeled positives are known; only the totals over unlabeled rows are
estimated. The influence of a row is the derivative with respect to the totals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.errors import InputError
from noneg.metrics import METRICS, find_metric
from noneg.results import plain_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from noneg.arrays import Floats, Places

ONE, RANK, BIN = "one", "rank", "bin"
LOSSES = ("brier", "log_loss")
# Targets other than the metrics of the confusion matrix.
OTHERS = ("prior", "auroc", "ece", *LOSSES)
# Step of the numerical derivative, as a share of the rows.
STEP = 1e-6


@dataclass(frozen=True, order=True)
class Target:
    """A metric to be estimated from a review, such as ``precision@0.9``.

    Examples
    --------
    >>> Target.parse("recall@0.3"), str(Target.parse("f1@0.5"))
    (Target(name='recall', threshold=0.3), 'f_beta@0.5')
    """

    name: str
    threshold: float | None = None

    @classmethod
    def parse(cls, text: object, argument: str = "targets") -> Target:
        """Parse the name of a target; precision, recall and the like need a threshold."""
        name, _, at = str(text).partition("@")
        if name in OTHERS:
            if at:
                rule = f"must not include a threshold for {name!r}, which does not use one"
                raise InputError(argument, rule, value=text, remedy=f"Write {name}.")
            return cls(name)
        known = [n for n, metric in METRICS.items() if metric.rule and n != "proxy_accuracy"]
        if name != "f1" and name not in known:
            rule = f"must be one of {', '.join((*OTHERS, *known))}"
            raise InputError(argument, rule, value=text)
        try:
            threshold = float(at)
        except ValueError:
            threshold = np.nan
        if not 0.0 <= threshold <= 1.0:
            rule = f"must include the threshold of {name!r}, a score in [0, 1]"
            raise InputError(argument, rule, value=text, remedy=f"Write {name}@0.5, for example.")
        return cls(find_metric(name).name, threshold)

    def __str__(self) -> str:
        return self.name if self.threshold is None else f"{self.name}@{float(self.threshold)!r}"

    @property
    def features(self) -> tuple[str, ...]:
        """The features whose totals the target needs, except bins of the calibration error."""
        own = {"prior": (), "auroc": (RANK,), "ece": ()} | {name: (name,) for name in LOSSES}
        flag = () if self.threshold is None else (flag_name(self.threshold),)
        return (ONE, *own.get(self.name, flag))

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest possible values."""
        return (0.0, 1.0) if self.name == "prior" else METRICS[self.name].range

    def value(self, census: Census, totals: Floats) -> Floats:
        """Return the metric for totals over positives, shape (..., features); nan if undefined."""
        at = census.place
        positives = totals[..., at[ONE]]
        if self.threshold is not None:
            tp, flagged = totals[..., at[flag_name(self.threshold)]], census.flagged[self.threshold]
            rule = METRICS[self.name].rule
            assert rule is not None  # noqa: S101 - targets with a threshold have a rule
            rest = census.rows - flagged - positives + tp
            return rule().of_table(tp, flagged - tp, positives - tp, rest)
        if self.name == "prior":
            return positives / census.rows
        if self.name == "ece":
            return np.abs(census.gaps(totals)).sum(axis=-1)
        if self.name in LOSSES:
            return census.base[self.name] + totals[..., at[self.name]] / census.rows
        return _area(positives, totals[..., at[RANK]], census.rows)

    def gradient(self, census: Census, totals: Floats) -> Floats:
        """Return the derivative of the metric with respect to the totals."""
        step = STEP * census.rows
        moved = totals + step * np.eye(totals.size)
        with np.errstate(invalid="ignore"):
            slope = (self.value(census, moved) - self.value(census, totals)) / step
        return np.nan_to_num(slope)


def _area(positives: Floats, ranks: Floats, rows: float) -> Floats:
    """Return the AUROC from the sum of the positives' mid-ranks, which lie in [0, 1]."""
    prior = positives / rows
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((ranks / positives - prior / 2.0) / (1.0 - prior))


def flag_name(threshold: float) -> str:
    """Return the name of the feature "at or above the threshold"."""
    return f"flag@{threshold!r}"


@dataclass(frozen=True, eq=False)
class Census:
    """Everything about a table that is known without a review.

    Attributes
    ----------
    names : tuple of str
        Names of the features, with bins of the calibration error last.
    rows : float
        Number of rows in the marginal sample.
    known : ndarray
        Totals of the features over the labeled positives of that sample; zeros in two samples.
    flagged : mapping of float to float
        Number of rows at or above each threshold.
    base : mapping of str to float
        Mean loss if no row were positive.
    edges, score : ndarray
        Bin edges for the calibration error, and the sum of the scores in each bin.
    """

    names: tuple[str, ...]
    rows: float
    known: Floats
    flagged: Mapping[float, float]
    base: Mapping[str, float]
    edges: Floats
    score: Floats

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each feature."""
        return {name: k for k, name in enumerate(self.names)}

    @classmethod
    def of(
        cls,
        targets: Sequence[Target],
        everyone: tuple[Floats, Floats],
        positive: tuple[Floats, Floats],
        rank: Callable[[Floats], Floats],
        edges: Floats,
        *,
        pooled: bool,
    ) -> Census:
        """Compute what the targets need, from scores and the number of rows with each score.

        The scores are those of the marginal sample and of the labeled positives.
        """
        names = tuple(dict.fromkeys(name for target in targets for name in target.features))
        if any(target.name == "ece" for target in targets):
            names += tuple(f"{BIN} {b}" for b in range(edges.size - 1))
        s, count = everyone
        thresholds = sorted({t.threshold for t in targets if t.threshold is not None})
        rows, losses = float(count.sum()), [name for name in LOSSES if name in names]
        plain = cls(names, rows, np.zeros(len(names)), {}, {}, edges, edges)
        return cls(
            names,
            rows,
            positive[1] @ plain.features(positive[0], rank(positive[0])) * pooled,
            {t: float(count[s >= t].sum()) for t in thresholds},
            {name: float(count @ _loss(name, s, 0)) / rows for name in losses},
            edges,
            np.bincount(_bins(s, edges), count * s, edges.size - 1).astype(np.float64),
        )

    def features(self, s: Floats, rank: Floats) -> Floats:
        """Return the features of rows with these scores and mid-ranks, shape (rows, features)."""
        in_bin = _bins(s, self.edges)
        return np.column_stack([self._feature(name, s, rank, in_bin) for name in self.names])

    def _feature(self, name: str, s: Floats, rank: Floats, in_bin: Places) -> Floats:
        if name == ONE:
            return np.ones_like(s)
        if name == RANK:
            return rank
        if name in LOSSES:
            return _loss(name, s, 1) - _loss(name, s, 0)
        kind, _, what = name.replace("@", " ").partition(" ")
        return (in_bin == int(what) if kind == BIN else s >= float(what)).astype(np.float64)

    def gaps(self, totals: Floats) -> Floats:
        """Return the residual of each bin, positives minus the sum of scores, per row."""
        first = self.place[f"{BIN} 0"]
        return np.asarray((totals[..., first:] - self.score) / self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        lists = {"features": list(self.names), "flagged": list(map(list, self.flagged.items()))}
        return lists | plain_fields(self, "rows", "known", "base", "edges", "score")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Census:
        """Restore a census from the output of `to_dict`."""
        names, rows = tuple(content["features"]), float(content["rows"])
        flagged = {float(t): float(n) for t, n in content["flagged"]}
        columns = ("known", "edges", "score")
        arrays = {name: np.array(content[name], dtype=np.float64) for name in columns}
        return cls(names=names, rows=rows, flagged=flagged, base=content["base"], **arrays)


def _bins(s: Floats, edges: Floats) -> Places:
    """Return the right-closed bin of each score."""
    return np.searchsorted(edges[1:-1], s, side="left")


def _loss(name: str, s: Floats, label: int) -> Floats:
    build = METRICS[name].loss
    assert build is not None  # noqa: S101 - losses have one
    return build()(s, label)
