r"""Estimates of propensities from the rows themselves, by SAR-EM.

Positives are labeled at a rate e(x) that depends only on a few attributes ("selected at random").
With :math:`f = p(y=1 \mid x)`, an unlabeled row is positive with probability

.. math:: \hat y = \frac{f (1 - e)}{1 - f e},

and a labeled row with probability 1. The E-step computes :math:`\hat y`. The M-step fits f, with
every row as a positive of weight :math:`\hat y` and a negative of weight :math:`1-\hat y`, and fits
e to the labels, with weights :math:`\hat y` (Bekker, Robberechts and Davis 2019, *Beyond the
Selected Completely At Random Assumption for Learning from Positive and Unlabeled Data*, ECML PKDD).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_array, column_or_1d

from noneg.checks import check_count, check_flags, check_same_length
from noneg.errors import InputError
from noneg.learning.base import standard_scale
from noneg.tables.frames import Columns, as_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats

# Rates closer to 0 would give a row an excessive weight.
LEAST = 0.01
# The search ends when the mean log-likelihood of a label increases by less than this.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class PropensityEstimate:
    """Estimated labeling rates of rows, and the assumption behind them.

    Attributes
    ----------
    propensity : ndarray
        For each row, the rate at which a positive like it is labeled; at least 0.01.
    probability : ndarray
        For each row, the probability of being positive under the logistic model of SAR-EM.
    prior : float
        Share of positives, with each labeled row counted as 1/e positives.
    attributes : tuple of str
        The columns that the rate may depend on.
    n_iter : int
        Number of rounds until the likelihood converged.
    assumption : str
        The assumption behind the estimate, which the data cannot confirm.

    Examples
    --------
    >>> rates = PropensityEstimate(np.array([0.5]), np.array([0.2]), 0.3, ("region",), 9)
    >>> rates.assumption.split(",")[0]
    'positives with the same region are labeled at the same rate'
    """

    propensity: Floats = field(repr=False)
    probability: Floats = field(repr=False)
    prior: float
    attributes: tuple[str, ...]
    n_iter: int

    @property
    def assumption(self) -> str:
        """The assumption behind the estimate, which the data cannot confirm."""
        named = ", ".join(self.attributes)
        return (
            f"positives with the same {named} are labeled at the same rate, "
            "regardless of their other features, and class probabilities are "
            "logistic in the columns. A constant factor can move between rate and "
            "probability without changing the fit"
        )


def estimate_propensity(
    X: Any,  # noqa: ANN401
    labeled: ArrayLike,
    *,
    attributes: Sequence[str | int],
    max_iter: int = 500,
    positive_label: object = None,
) -> PropensityEstimate:
    """Estimate the rate at which positives are labeled, as a function of some columns.

    The rows must come from the one-sample setting.

    Parameters
    ----------
    X : array-like or frame
        One sample of the population; a frame may contain text and missing values.
    labeled : array-like
        1 for labeled positives, 0 for unlabeled rows.
    attributes : sequence of str or int
        Names or indices of the columns that the rate may depend on. Use as few as is plausible: the
        more columns there are, the harder it is to separate rates from class probabilities.
    max_iter : int
        Maximum number of rounds.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.4
    >>> X = rng.normal(size=(4000, 2)) + np.where(y, 2.0, -2.0)[:, None] * [1, 0]
    >>> rate = np.where(X[:, 1] > 0, 0.8, 0.2)
    >>> labeled = y & (rng.random(4000) < rate)
    >>> found = estimate_propensity(np.c_[X, X[:, 1] > 0], labeled, attributes=[2])
    >>> bool(np.abs(found.propensity - rate).max() < 0.1)
    True
    """
    table, names, texts = _numbers(X)
    flags = check_flags(column_or_1d(labeled), "labeled", positive_label)
    check_same_length(X=len(table), labeled=flags.size)
    if flags.all() or not flags.any():
        raise InputError("labeled", "must contain labeled positives and other rows")
    chosen = [_place(attribute, names) for attribute in attributes]
    if not chosen:
        raise InputError("attributes", "must name a column that the rate may depend on")
    whole = design(table, texts)
    some = design(table[:, chosen], {k for k, place in enumerate(chosen) if place in texts})
    f, e, rounds = _search(whole, some, flags, check_count(max_iter, "max_iter", 1))
    e = np.maximum(e, LEAST)
    prior = float(np.minimum(1.0, (1.0 / e[flags]).sum() / flags.size))
    return PropensityEstimate(e, f, prior, tuple(names[k] for k in chosen), rounds)


def _search(x: Floats, attributes: Floats, flags: Flags, most: int) -> tuple[Floats, Floats, int]:
    """Return class probabilities, labeling rates, and the number of rounds."""
    classes, rates = (LogisticRegression(warm_start=True, max_iter=200) for _ in range(2))
    y, before = np.where(flags, 1.0, 0.5 * flags.mean()), -np.inf
    twice, both = np.concatenate([x, x]), np.repeat([1, 0], flags.size)
    rounds = 0
    while rounds < most:
        rounds += 1
        classes.fit(twice, both, sample_weight=np.append(y, 1.0 - y))
        rates.fit(attributes, flags, sample_weight=y)
        f, e = classes.predict_proba(x)[:, 1], rates.predict_proba(attributes)[:, 1]
        now = float(np.log(np.where(flags, f * e, 1.0 - f * e)).mean())
        if now - before < _TOLERANCE:
            break
        y, before = np.where(flags, 1.0, f * (1.0 - e) / (1.0 - f * e)), now
    return f, e, rounds


def _numbers(X: Any) -> tuple[Floats, list[str], set[int]]:  # noqa: ANN401
    """Return a numeric table, its column names, and the indices of categorical columns."""
    columns, frame = Columns.of(X), as_frame(X)
    if columns is None or frame is None:
        table = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        return table, [f"column {k}" for k in range(table.shape[1])], set()
    return columns.numbers(X), [str(name) for name in frame.columns], set(columns.categories)


def _place(attribute: str | int, names: list[str]) -> int:
    if isinstance(attribute, (int, np.integer)) and 0 <= attribute < len(names):
        return int(attribute)
    if attribute in names:
        return names.index(str(attribute))
    raise InputError("attributes", f"must be columns of {', '.join(names)}", value=attribute)


def encoded(X: Any) -> Floats:  # noqa: ANN401
    """Return a table or data frame as the columns of `design`."""
    table, _, texts = _numbers(X)
    return design(table, texts)


def design(table: Floats, texts: set[int]) -> Floats:
    """Return standardized numeric columns, missing values set to the mean, and one-hot categories.

    Examples
    --------
    >>> design(np.array([[1.0, 0.0], [3.0, 1.0]]), {1}).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    parts = []
    for k, column in enumerate(table.T):
        known = column[~np.isnan(column)]
        if k in texts:
            parts.append((column[:, None] == np.unique(known)).astype(float))
        elif known.size:
            filled = np.where(np.isnan(column), known.mean(), column)[:, None]
            center, scale = standard_scale(filled)
            parts.append((filled - center) / scale)
    return np.hstack([np.zeros((len(table), 0)), *parts])
