"""A test of random labels from features (Teisseyre, Furmanczyk & Mielniczuk 2024, ECAI).

If labeled positives are a random draw of all positives, their features have the law of all
positives. The positives themselves are hidden, so they are guessed: the labeled rows, and the
unlabeled rows with the highest scores until both make up the prior. Among these rows random labels
would be a random subset, which is drawn again and again.

The guess must be right for that: where classes overlap, unlabeled rows with high scores look
different from labeled ones although labels are random, and the test rejects too often. It needs
classes that are nearly separable by the score.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.checks import check_flags, check_prior, check_same_length, check_scores
from noneg.errors import InputError
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

REPLICATES = 199
# Draws whose statistics are computed at a time.
AT_ONCE = 50


@dataclass(frozen=True, kw_only=True)
class ScarTest:
    """A test of random labels.

    Attributes
    ----------
    statistic : float
        Mean over features of the Kolmogorov-Smirnov distance between labeled rows and all rows
        taken for positives.
    p_value : float
        Small where random labels would seldom be that far. It speaks against random labels only
        if the score separates the classes well.
    distances : dict of str to float
        The distance by feature: where labels were not random, the largest ones say how.
    n_labeled, n_positive : int
        Labeled rows, and rows taken for positives.
    replicates : int
    """

    statistic: float
    p_value: float
    distances: dict[str, float]
    n_labeled: int
    n_positive: int
    replicates: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain numbers."""
        return asdict(self)


def scar_test(
    features: ArrayLike,
    labeled: ArrayLike,
    y_score: ArrayLike,
    *,
    prior: float,
    names: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> ScarTest:
    """Test from features whether labeled positives are a random draw of all positives.

    For one sample of rows, some of whose positives are labeled. The condition is that the score
    nearly separates the classes; see the module.

    Parameters
    ----------
    features : array-like, shape (n, d)
        Numbers; what a labeling process may have looked at.
    labeled : array-like, shape (n,)
        1 for labeled positives, 0 for the other rows.
    y_score : array-like, shape (n,)
        Scores in [0, 1] that tell positives from negatives, out of fold if they were trained on
        these rows.
    prior : float
        Share of positives; above the labeled share.
    names : sequence of str, optional
        Of the features.
    replicates : int
        Random labelings.
    seed : int

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> positive = random.random(2000) < 0.3
    >>> x = np.stack([random.normal(size=2000), random.normal(size=2000)], axis=1)
    >>> score = np.where(positive, 0.9, 0.1)
    >>> at_random = positive & (random.random(2000) < 0.5)
    >>> by_first = positive & (random.random(2000) < np.where(x[:, 0] > 0, 0.8, 0.2))
    >>> scar_test(x, at_random, score, prior=0.3).p_value > 0.05
    True
    >>> found = scar_test(x, by_first, score, prior=0.3, names=["size", "age"])
    >>> found.p_value, max(found.distances, key=found.distances.get)
    (0.005, 'size')
    """
    flags, s, x = (
        check_flags(labeled, "labeled"),
        check_scores(y_score, "y_score"),
        _matrix(features),
    )
    check_same_length(labeled=flags.size, y_score=s.size, features=len(x))
    chosen = _positives(flags, s, check_prior(prior))
    columns = [str(k) for k in range(x.shape[1])] if names is None else list(names)
    if len(columns) != x.shape[1]:
        raise InputError("names", f"must name {x.shape[1]} features", value=len(columns))
    x, given = x[chosen], flags[chosen]
    found = _distances(x, given[None])[0]
    random = stream(seed, "scar")
    beyond = 0
    for start in range(0, replicates, AT_ONCE):
        size = (min(AT_ONCE, replicates - start), given.size)
        drawn = random.permuted(np.broadcast_to(given, size), axis=1)
        beyond += int((_distances(x, drawn).mean(axis=1) >= found.mean()).sum())
    return ScarTest(
        statistic=float(found.mean()),
        p_value=(1 + beyond) / (1 + replicates),
        distances=dict(zip(columns, found.tolist(), strict=True)),
        n_labeled=int(flags.sum()),
        n_positive=int(given.size),
        replicates=replicates,
    )


def _matrix(features: ArrayLike) -> Floats:
    x = np.asarray(features, dtype=np.float64)
    if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
        raise InputError("features", "must be a table of finite numbers, one row a score")
    return x


def _positives(flags: Flags, s: Floats, prior: float) -> NDArray[np.intp]:
    """Return the labeled rows, and the unlabeled ones with the highest scores up to the prior."""
    n_labeled, wanted = int(flags.sum()), round(prior * s.size)
    if not 0 < n_labeled < wanted:
        rule = f"must exceed the labeled share, {n_labeled / s.size:.6g}, which must not be zero"
        raise InputError("prior", rule, value=prior)
    others = np.flatnonzero(~flags)
    top = others[np.argsort(-s[others], kind="stable")[: wanted - n_labeled]]
    return np.concatenate([np.flatnonzero(flags), top])


def _distances(x: Floats, labeled: Flags) -> Floats:
    """Return the distance of labeled rows from all rows, for each labeling and feature."""
    share = np.arange(1, len(x) + 1) / len(x)
    out = np.empty((len(labeled), x.shape[1]))
    for k, column in enumerate(x.T):
        order = np.argsort(column, kind="stable")
        last = np.append(np.diff(column[order]) > 0.0, True)
        below = np.cumsum(labeled[:, order], axis=1)[:, last] / labeled.sum(axis=1, keepdims=True)
        out[:, k] = np.abs(below - share[last]).max(axis=1)
    return out
