"""Tables with known hidden labels, and reviews of them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from noneg.audit.answers import Answers
from noneg.audit.estimates import Review
from noneg.audit.planning import Planner
from noneg.audit.strata import Strata
from noneg.audit.targets import Target
from noneg.tables.batches import Columns

# Distance between the classes in standard deviations, and the distortion of the log odds.
MODELS = {"good": (2.5, 1.0, 0.0), "poor": (1.0, 1.5, 0.5)}
LABELED = 0.3
ROWS = 50_000


@dataclass(frozen=True, eq=False)
class World:
    """Scores, labels, and which positives are labeled."""

    score: np.ndarray
    y: np.ndarray
    flags: np.ndarray
    setting: str = "one-sample"


def world(
    rng: np.random.Generator,
    *,
    prior: float,
    model: str,
    selection: float = 1.0,
    blind: float = 0.0,
    setting: str = "one-sample",
    rows: int = ROWS,
) -> World:
    """Draw a table; with selection, positives with high scores are labeled more often.

    Up to normalization, the density of labeled positives is between 1 / selection and selection
    times that of hidden ones. The model is blind to a share of the positives: they look like
    negatives, and none of them is labeled.
    """
    distance, slope, shift = MODELS[model]
    y = rng.random(rows) < prior
    seen = y & (rng.random(rows) >= blind)
    x = rng.normal(size=rows) + distance * seen
    odds = logit(prior) + distance * x - distance**2 / 2.0
    score = expit(slope * odds + shift)
    tilt = selection ** np.clip(x - distance, -1.0, 1.0)
    flags = seen & (rng.random(rows) < LABELED * tilt / max(1.0, LABELED * selection))
    if setting == "one-sample":
        return World(score, y, flags)
    # A sample of everyone, and the labeled positives as a separate sample.
    score, y = (
        np.concatenate([score, score[flags]]),
        np.concatenate([y, np.ones(flags.sum(), bool)]),
    )
    own = np.arange(y.size) >= rows
    return World(score, y, own, setting)


class Planned:
    """A table with a plan, from which reviews can be drawn repeatedly."""

    def __init__(self, table, targets, budget, prior, *, bend=1.0, simple=False):
        columns = Columns(table.score, table.flags, None)
        made = Planner(columns, table.setting, prior, None, tuple(targets), budget, 0)
        pool = made.pool
        if bend != 1.0:
            pool = replace(pool, hidden=expit(bend * logit(pool.hidden)))
        self.census, self.pool, self.plan = made.census, pool, made
        self.features = made.census.features(pool.score, pool.rank)
        self.y = table.y[pool.row].astype(float)
        self.strata = (
            _one(pool, self.features, budget)
            if simple
            else Strata.of(pool, made.census, targets, budget)
        )
        made.strata = self.strata
        self.table = table
        totals = made.census.known + self.y @ self.features
        self.truth = {str(t): float(t.value(made.census, totals)) for t in targets}

    def review(self, rng):
        rows = self.strata.draw(rng)
        at, strata = self.strata.of_row[rows], self.strata
        weight = (strata.size / strata.count)[at]
        return Review(at, weight, self.features[rows], self.y[rows], strata.size, strata.corners)

    def answers(self, rng, *, sequential=False):
        """Return a review with everything that `noneg.audit.read` would have."""
        self.plan.seed = int(rng.integers(2**31))
        design = self.plan.design(sequential=sequential, sizes=[], source={})
        code = self.table.y[np.array(design.id, dtype=np.intp)].astype(np.intp)
        return Answers(design, code, 0, 0)


def _one(pool, features, budget):
    """Return one stratum: a simple random sample."""
    n = pool.row.size
    corners = features[[0, -1]][None]
    return Strata(
        np.zeros(n, np.intp), np.array([float(n)]), np.ones(1), np.array([budget]), corners
    )


def targets(*names):
    return [Target.parse(name) for name in names]
