"""How much wider than necessary are the bounds? Compared with optimization on small data sets.

A distribution of the positives assigns a mass to each labeled row: within the limits of the
selection factor, with sum 1, and in no score cell more than there are rows. The extremes of linear
metrics come from a linear program. Others are searched by Frank-Wolfe steps from several starting
points: the result is attainable, so the excess over it is an upper bound for the true excess.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from experiments.study import seeded
from noneg import PUScores
from noneg.bins import bin_scores
from noneg.laws import Ordered, placements
from noneg.metrics import METRICS
from noneg.performance.paired import Differences, PairedRows
from noneg.performance.ranking import _area, _mean_precision
from noneg.selection import Law, Selected, _cell_edges

# Maps masses to the value of a metric and its gradient.
Look = Callable[[np.ndarray], tuple[float, np.ndarray]]
STARTS, STEPS = 3, 6
RULES = ("f_beta", "mcc", "cohen_kappa")
CURVES = {
    "partial_auc": lambda x, prior: _area(x, prior, 0.1),
    "average_precision": _mean_precision,
}
NONE = (np.nan, np.nan)
DIFFERENCES = ("auroc", "brier", "precision", "recall", "ece")
# The bound whose excess is measured, keyed by row name.
KINDS = (
    *RULES,
    *CURVES,
    *(f"{name}, ties" for name in CURVES),
    "loss not monotone",
    *(f"difference of {name}" for name in DIFFERENCES),
)


@dataclass(frozen=True)
class Laws:
    """All distributions of the positives over labeled rows."""

    low: np.ndarray
    high: np.ndarray
    cells: np.ndarray
    caps: np.ndarray

    @classmethod
    def of(
        cls,
        mass: np.ndarray,
        columns: list[np.ndarray],
        scores: list[PUScores],
        edges_of: Callable[[PUScores], np.ndarray] = _cell_edges,
    ) -> "Laws":
        """Return them for rows with these masses, limited by the cells of one or more scores."""
        one, held, caps = scores[0], [], []
        labeled = one.labeled_share / one.known_prior
        for column, own in zip(columns, scores, strict=True):
            edges = edges_of(own)
            rising, _, marginal = Ordered(own).masses()
            place, rows = (np.searchsorted(edges[1:-1], x) for x in (column, rising))
            shares = np.bincount(rows, marginal / marginal.sum(), edges.size - 1)
            held.append((place == np.arange(edges.size - 1)[:, None]).astype(float))
            caps.append(np.maximum(shares / one.known_prior, held[-1] @ mass))
        ends = [mass * (labeled + (1 - labeled) * g) for g in (1 / one.selection, one.selection)]
        return cls(*ends, np.vstack(held), np.concatenate(caps))

    def best(self, f: np.ndarray) -> np.ndarray:
        """Return the distribution with the largest mean of f."""
        limits = list(zip(self.low, self.high, strict=True))
        one = np.ones((1, f.size))
        found = linprog(-f, self.cells, self.caps, one, [1.0], bounds=limits)
        if found.status:
            raise RuntimeError(found.message)
        return found.x

    def largest(self, look: Look, random: np.random.Generator, sign: float = 1.0) -> float:
        """Return the largest or smallest value found by steps toward optimal distributions."""
        size, found = self.low.size, -np.inf
        starts = [np.arange(size), -np.arange(size), *random.normal(size=(STARTS - 2, size))]
        for start in starts:
            x = self.best(np.asarray(start, dtype=float))
            value, slopes = look(x)
            for _ in range(STEPS):
                goal = self.best(sign * slopes)
                tried = [x + part * (goal - x) for part in (1.0, 0.5, 0.2, 0.05)]
                looks = [look(one) for one in tried]
                k = int(np.argmax([sign * one[0] for one in looks]))
                if sign * looks[k][0] <= sign * value + 1e-12:
                    break
                x, (value, slopes) = tried[k], looks[k]
            found = max(found, sign * value)
        return sign * found

    def linear(self, f: np.ndarray) -> tuple[float, float]:
        """Return the smallest and largest mean of f; nan if f is undefined."""
        if not np.isfinite(f).all():
            return NONE
        return float(f @ self.best(-f)), float(f @ self.best(f))


def rows(random: np.random.Generator, *, ties: bool) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return scores of two models, labels, and the available knowledge; at most 60 rows."""
    flags = np.repeat([1, 0], [random.integers(4, 20), random.integers(10, 40)])
    first = np.where(flags, random.beta(2, 1.5, flags.size), random.beta(1, 2, flags.size))
    other = np.clip(first + random.normal(0, 0.2, flags.size), 0.001, 0.999)
    if ties:
        first = np.round(first, 1)
    setting = str(random.choice(["two-sample", "one-sample"]))
    least = flags.mean() if setting == "one-sample" else 0.1
    known = {"setting": setting, "prior": float(random.uniform(least, 0.85))}
    return np.stack([first, other]), flags, known


def ends(kind: str, case: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return noneg's range for one case, and the range found by optimization."""
    random = seeded("outer", kind, case)
    columns, flags, known = rows(random, ties=kind.endswith("ties"))
    factor = float(random.uniform(1.05, 4.0))
    made = [PUScores.from_pu_labels(flags, s, selection=factor, **known) for s in columns]
    if kind.startswith("difference"):
        return difference(kind.rsplit(maxsplit=1)[-1], columns, flags, made, random)
    positive = np.sort(columns[0][flags == 1])
    mass = np.full(positive.size, 1.0 / positive.size)
    laws = Laws.of(mass, [positive], made[:1])
    return single(kind.split(",", maxsplit=1)[0], made[0], laws, positive, random)


def single(
    name: str, scores: PUScores, laws: Laws, positive: np.ndarray, random: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return both ranges for a metric of one score."""
    prior = scores.known_prior
    if name == "loss not monotone":
        found = METRICS["risk"].interval(scores, loss=lambda s, y: np.sin(9 * s) * y + 0 * s)
        low, high = laws.linear(np.sin(9 * positive))
        return found.identified, (prior * low, prior * high)
    found = METRICS[name].interval(scores)
    if name in RULES:
        rule, (u, *_) = METRICS[name].rule(), scores.in_order()[0]
        group = np.concatenate([u, positive]) if scores.pooled else u
        flagged, ppr = (positive >= 0.5).astype(float), np.array((group >= 0.5).mean())
        pair = [float(rule(np.array(t), ppr, prior)) for t in laws.linear(flagged)]
    else:
        steps = Ordered(scores)
        knots = np.arange(positive.size + 1) / positive.size

        at = np.searchsorted(-steps.thresholds, -positive)

        def look(x: np.ndarray) -> tuple[float, np.ndarray]:
            law = Law(knots, x[::-1] * positive.size)
            summary = CURVES[name](Selected(steps, law), prior)
            # A row counts toward the heights at all thresholds at or below its score.
            return summary.value, np.cumsum(summary.slopes()[0][::-1])[::-1][at]

        pair = [laws.largest(look, random, sign) for sign in (-1.0, 1.0)]
    # Both are within the range of the metric and contain the estimate.
    pair = np.clip(pair, *METRICS[name].range)
    return found.identified, (min(*pair, found.value), max(*pair, found.value))


def difference(
    name: str,
    columns: np.ndarray,
    flags: np.ndarray,
    made: list[PUScores],
    random: np.random.Generator,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return both ranges for the difference between two models."""
    scores, prior, labeled = made[0], made[0].known_prior, flags == 1
    pair = PairedRows.checked(dict(zip("ab", columns, strict=True)), flags, setting=scores.setting)
    named = dict(zip("ab", made, strict=True))
    found = Differences(pair, named, threshold=0.5, level=0.95).estimate(METRICS[name], "a", "b")
    mass = np.full(labeled.sum(), 1.0 / labeled.sum())
    # The calibration error is bounded over its bins.
    edges_of = (lambda one: bin_scores(one).edges) if name == "ece" else _cell_edges
    laws = Laws.of(mass, list(columns[:, labeled]), made, edges_of)
    everyone = columns if scores.pooled else columns[:, ~labeled]
    if name == "ece":
        binned = [bin_scores(one) for one in made]
        held = np.split(laws.cells, [binned[0].n_bins])

        def look(x: np.ndarray) -> tuple[float, np.ndarray]:
            gaps = [prior * h @ x - b.score for h, b in zip(held, binned, strict=True)]
            slopes = [prior * np.sign(gap) @ h for gap, h in zip(gaps, held, strict=True)]
            return float(np.abs(gaps[0]).sum() - np.abs(gaps[1]).sum()), slopes[0] - slopes[1]

        ends = [laws.largest(look, random, sign) for sign in (-1.0, 1.0)]
    else:
        given = zip(columns[:, labeled], everyone, strict=True)
        parts = [weights(name, s, group, prior) for s, group in given]
        low, high = laws.linear(parts[0][0] - parts[1][0])
        ends = low + parts[0][1] - parts[1][1], high + parts[0][1] - parts[1][1]
    return found.identified or NONE, (min(ends[0], found.value), max(ends[1], found.value))


def weights(name: str, s: np.ndarray, group: np.ndarray, prior: float) -> tuple[np.ndarray, float]:
    """Return the contribution of a labeled row at a score to a metric, and the constant."""
    if name == "auroc":
        return placements(s, np.sort(group)) / (1 - prior), -prior / 2 / (1 - prior)
    if name == "brier":
        return prior * (1 - 2 * s), float((group**2).mean())
    flagged = (s >= 0.5).astype(float)
    share = float((group >= 0.5).mean()) or np.nan
    return (flagged if name == "recall" else prior * flagged / share), 0.0


def excess(kind: str, cases: int) -> dict[str, float]:
    """Return the mean excess at both ends, and the mean width of the attainable range."""
    over, widths = [], []
    for case in range(cases):
        outer, inner = ends(kind, case)
        if np.isfinite([*outer, *inner]).all():
            over += [inner[0] - outer[0], outer[1] - inner[1]]
            widths.append(inner[1] - inner[0])
    return {
        "cases": len(widths),
        "width": float(np.mean(widths)),
        "excess": float(np.mean(over)),
        "largest": float(np.max(over)),
        "least": float(np.min(over)),
    }
