r"""Multicalibration: find miscalibrated regions without predefined groups, and correct them.

For any function h of features and score, under SCAR,

.. math:: E[h(x, s)(y - s)] = \pi E_+[h] - E[h s],

so positive and unlabeled rows suffice to measure the error of the scores for any h. `find_groups`
uses one half of the rows to choose regions with a shallow tree and the other half to measure them.
`Multi` boosts trees, starting from the logit of the score, and stops based on the held-out loss.
The loss is the negative log likelihood of the labels (`noneg.likelihood.labels`). The PU log loss
:math:`-\pi E_+[F] + E[\log(1 + e^F)]` is convex, and its slope is the residual, but it is
unbounded: where scores are close to 1, a few excess positives make it decrease without limit.

References: Hébert-Johnson et al. (2018), Multicalibration; Tax et al. (2025), MCGrad, for fully
labeled data; Futami & Ishida (2026, arXiv 2605.09857), who publish the moment form above for
weak labels (WLMC); Athey & Imbens (2016) for honest trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

from noneg import checks
from noneg.errors import InputError
from noneg.intervals import t_score
from noneg.likelihood import LabeledRows, LabelLaw
from noneg.randomness import stream
from noneg.recalibration.base import Stored, check_unit, log_odds
from noneg.recalibration.folds import deal_rows
from noneg.results import Table, aligned
from noneg.tables.frames import Columns, as_frame

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags, Floats
    from noneg.checks import Setting

# Largest step of a leaf.
LARGEST_STEP = 2.0
# Fewest labeled positives expected in a leaf if the scores are right.
LEAST_POSITIVES = 20.0
# Number of standard errors by which a repair must lower the held-out loss, as in `Auto`.
REACH = 2.0
SCORE = "score"
# Most rows used to grow one tree; its leaf values are computed from all rows.
MOST_ROWS = 50_000
# Most categories per column that get their own feature.
MOST_CATEGORIES = 20


class Encoder(NamedTuple):
    """Conversion of table columns to numbers; frequent categories become indicators."""

    names: list[str]
    columns: Columns | None
    indicators: list[tuple[int, int]]

    @classmethod
    def of(cls, X: Any) -> Encoder:  # noqa: ANN401
        """Return the encoder for the columns of a table."""
        columns, frame = Columns.of(X), as_frame(X)
        if columns is None or frame is None:
            return cls([f"x{k}" for k in range(np.shape(X)[1])], None, [])
        codes, indicators = columns.numbers(X), list[tuple[int, int]]()
        for k in columns.categories:
            found, count = np.unique(codes[~np.isnan(codes[:, k]), k], return_counts=True)
            most = found[np.argsort(-count, kind="stable")[:MOST_CATEGORIES]]
            indicators += [(k, int(code)) for code in np.sort(most)]
        return cls([str(name) for name in frame.columns], columns, indicators)

    def numbers(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the features of the rows."""
        codes = np.asarray(X, np.float64) if self.columns is None else self.columns.numbers(X)
        if codes.ndim != 2 or codes.shape[1] != len(self.names):
            rule = f"must be a table of {len(self.names)} columns, like the table it was fitted on"
            raise InputError("X", rule, value=str(np.shape(X)))
        plain = [k for k in range(len(self.names)) if k not in self._known]
        return np.column_stack([codes[:, plain], *(codes[:, k] == x for k, x in self.indicators)])

    @property
    def _known(self) -> dict[int, list[str]]:
        return {} if self.columns is None else self.columns.categories

    @property
    def labels(self) -> list[str]:
        """The name of each feature."""
        own = [f"{self.names[k]} = {self._known[k][code]}" for k, code in self.indicators]
        return [*(name for k, name in enumerate(self.names) if k not in self._known), *own]


class Tree(NamedTuple):
    """A tree as plain lists: feature (-1 in leaves), cut, children, and side for missing values."""

    feature: list[int]
    cut: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[float]

    def leaf(self, table: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the leaf of each row."""
        feature, cut, left, right, missing, _ = map(np.array, self)
        node, row = np.zeros(len(table), dtype=np.intp), np.arange(len(table))
        while (feature[node] >= 0).any():
            x = table[row, feature[node]]
            goes = np.where(np.isnan(x), missing[node], x <= cut[node])
            node = np.where(feature[node] < 0, node, np.where(goes, left[node], right[node]))
        return node

    def values(self, table: NDArray[np.float32]) -> Floats:
        """Return the leaf value of each row."""
        return np.array(self.value)[self.leaf(table)]

    def rules(self, labels: list[str]) -> dict[int, str]:
        """Return a description of the path to each leaf."""
        out, stack = {}, [(0, dict[int, list[float]]())]
        while stack:
            node, ranges = stack.pop()
            k = self.feature[node]
            if k < 0:
                shown = [_range_words(labels[j], *ends) for j, ends in ranges.items()]
                out[node] = " and ".join(shown) or "all rows"
                continue
            low, high = ranges.get(k, [-np.inf, np.inf])
            for child, ends in (
                (self.left[node], [low, min(high, self.cut[node])]),
                (self.right[node], [max(low, self.cut[node]), high]),
            ):
                stack.append((child, ranges | {k: ends}))
        return out


def _range_words(label: str, low: float, high: float) -> str:
    if " = " in label:
        return label if low >= 0.0 else label.replace(" = ", " is not ", 1)
    if np.isinf(low):
        return f"{label} <= {high:.4g}"
    return f"{label} > {low:.4g}" if np.isinf(high) else f"{low:.4g} < {label} <= {high:.4g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class _Rows(LabeledRows):
    """Features with the score as the last column, labels, and masses in both distributions."""

    table: NDArray[np.float32]
    s: Floats
    setting: Setting
    prior: float

    @cached_property
    def marginal(self) -> Floats:
        """Masses in the marginal distribution, which sum to 1."""
        there = self.mass if checks.is_pooled(self.setting) else self.mass * ~self.flags
        return there / there.sum()

    @cached_property
    def positive(self) -> Floats:
        """Masses in the positive distribution, which sum to the prior."""
        if checks.is_labeled(self.setting):
            return self.marginal * self.flags
        there = self.positive_mass * self.flags
        return self.prior * there / there.sum()

    @cached_property
    def spread(self) -> float:
        """The reciprocal of the effective number of labeled positives."""
        return float((self.positive**2).sum() / self.positive.sum() ** 2)

    def take(self, index: NDArray[np.intp]) -> _Rows:
        """Return some of the rows."""
        e = None if self.propensity is None else self.propensity[index]
        names = ("table", "s", "flags", "mass")
        some: dict[str, Any] = {name: getattr(self, name)[index] for name in names}
        return replace(self, propensity=e, **some)

    def influence(self, on_positive: Floats, on_all: Floats) -> Floats:
        """Return each row's contribution to the error of pi E_plus[one] + E[other]."""
        one, other = self.positive * on_positive, self.marginal * on_all
        if checks.is_labeled(self.setting):
            return one + other - self.marginal * (one.sum() + other.sum())
        shares = self.positive / self.positive.sum(), self.marginal
        return one + other - shares[0] * one.sum() - shares[1] * other.sum()

    def grow(self, residual: Floats, noise: Floats, leaves: int, seed: int) -> Tree:
        """Return a tree whose splits maximize the sum of squared residuals over their noise."""
        noise = np.maximum(noise / noise.mean(), 1e-6)
        chosen = np.arange(noise.size)
        if noise.size > MOST_ROWS:
            chosen = stream(seed, "tree rows").choice(noise.size, MOST_ROWS, replace=False)
        model = DecisionTreeRegressor(
            max_depth=3,
            max_leaf_nodes=leaves,
            min_weight_fraction_leaf=min(0.5, LEAST_POSITIVES * self.spread),
            random_state=seed,
        )
        ratio = (residual / np.abs(residual).max())[chosen] / noise[chosen]
        tree = model.fit(self.table[chosen], ratio, noise[chosen]).tree_
        return Tree(
            feature=np.maximum(tree.feature, -1).tolist(),
            cut=tree.threshold.tolist(),
            left=tree.children_left.tolist(),
            right=tree.children_right.tolist(),
            missing_left=tree.missing_go_to_left.astype(bool).tolist(),
            value=[],
        )


def _check_rows(
    X: Any,  # noqa: ANN401
    s: ArrayLike,
    labeled: ArrayLike,
    setting: Setting,
    prior: float | None,
    sample_weight: ArrayLike | None,
    propensity: ArrayLike | None,
) -> tuple[Encoder, _Rows]:
    """Return validated rows, and the encoder for their features."""
    checks.check_setting(setting)
    if len(np.shape(X)) != 2 and as_frame(X) is None:
        raise InputError("X", "must be a table with rows and columns", value=str(np.shape(X)))
    encoder, score = Encoder.of(X), np.asarray(check_unit(s)).reshape(-1)
    flags, table = checks.check_flags(np.asarray(labeled), "labeled"), encoder.numbers(X)
    checks.check_same_length(X=len(table), s=score.size, labeled=flags.size)
    mass = np.ones(score.size)
    if sample_weight is not None:
        mass = checks.check_weights(sample_weight, "importance", score.size, "sample_weight")
    e = None if propensity is None else checks.check_propensity(propensity, flags.size)
    if not ((mass > 0.0) & flags).any() or not ((mass > 0.0) & ~flags).any():
        rule = "must contain labeled positives and other rows, got only one kind"
        raise InputError("labeled", rule)
    share = float(mass @ flags / mass.sum())
    checks.check_prior_given(setting, prior, ranged=False, estimated=False)
    known = share if prior is None else checks.check_prior(prior)
    if setting == "one-sample" and propensity is None:
        checks.check_one_sample(known, share, float(mass.sum()))
    full = np.column_stack([table, score]).astype(np.float32)
    return encoder, _Rows(flags, mass, e, table=full, s=score, setting=setting, prior=known)


def _found(rows: _Rows, leaves: int, seed: int) -> Tree:
    """Return a tree fitted to the residual measure.

    The variance for positives is the average of estimates from the labels and from the scores, so
    that a leaf without labeled positives does not appear to be free of noise.
    """
    expected = rows.marginal * rows.s
    noise = 0.5 * rows.prior * rows.spread * (expected + rows.positive) + expected**2
    return rows.grow(rows.positive - expected, noise, leaves, seed)


@dataclass(frozen=True, eq=False, repr=False)
class FoundGroups(Table):
    """Groups that a tree found on one half of the rows, measured on the other half.

    Attributes
    ----------
    rule : ndarray of str
        Condition that defines the group; "score" refers to the score.
    rows, positives : ndarray
        Numbers of rows and labeled positives in the half used for measurement.
    share : ndarray
        Share of the population.
    prior, score : ndarray
        Estimated share of positives in the group, and its mean score.
    residual, low, high : ndarray
        Share of positives minus mean score, with its interval; all intervals hold simultaneously.
    level : float

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> y = np.arange(1000) % 10 < np.repeat([2, 6], 500)
    >>> found = find_groups(X, np.full(1000, 0.4), y, setting="labeled")
    >>> sorted(found.rule), bool(found.wrong.all())
    ([np.str_('x0 <= 0.5'), np.str_('x0 > 0.5')], True)
    """

    rule: NDArray[Any]
    rows: NDArray[Any]
    positives: NDArray[Any]
    share: Floats
    prior: Floats
    score: Floats
    residual: Floats
    low: Floats
    high: Floats
    level: float

    @property
    def wrong(self) -> Flags:
        """Whether the interval of a group's residual excludes zero."""
        return np.asarray((self.low > 0.0) | (self.high < 0.0))

    @property
    def error(self) -> float:
        """Mean absolute residual over the population, a lower bound for the calibration error."""
        return float(self.share @ np.abs(self.residual))

    def __repr__(self) -> str:
        lines = [("group", "rows", "positives", "prior", "score", "residual")]
        for k in range(self.rule.size):
            ends = f"{self.residual[k]:+.4f} [{self.low[k]:+.4f}, {self.high[k]:+.4f}]"
            star = "  wrong" if self.wrong[k] else ""
            numbers = f"{self.prior[k]:.4f}", f"{self.score[k]:.4f}", ends + star
            lines.append((self.rule[k], f"{self.rows[k]}", f"{self.positives[k]}", *numbers))
        return aligned(lines)


def find_groups(  # noqa: PLR0913
    X: Any,  # noqa: ANN401
    s: ArrayLike,
    labeled: ArrayLike,
    *,
    setting: Setting,
    prior: float | None = None,
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    leaves: int = 8,
    level: float = 0.95,
    seed: int = 0,
) -> FoundGroups:
    """Find groups of rows whose scores are wrong, without predefined groups.

    On one half of the rows, a tree of depth at most 3 is grown on the features and the score; its
    leaves are regions where the residual is large relative to its noise. The residual of each leaf
    is then measured on the other half, so the search does not inflate it. For a calibrated model,
    all intervals contain zero with the given confidence.

    Parameters
    ----------
    X : array-like or frame, shape (n, features)
        Features; frames may contain text, categories and missing values.
    s : array-like, shape (n,)
        Scores in [0, 1], from a model that has not seen the rows.
    labeled : array-like, shape (n,)
        1 for labeled positives, 0 for unlabeled rows; in the setting "labeled", the true labels.
    setting : {"two-sample", "one-sample", "labeled"}
    prior : float
        Share of positives in the population; None for labeled data.
    sample_weight : array-like, optional
        Importance weight of each row.
    propensity : array-like, optional
        For each row, the probability in (0, 1] that a positive like it is labeled.
    leaves : int
        Largest number of groups. Each should contain at least 20 labeled positives.
    level : float
        Confidence level at which all intervals hold simultaneously.
    seed : int
        Seed for the split into halves.

    Returns
    -------
    FoundGroups
        Groups in decreasing order of the residual relative to its error.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> eta = np.where(X[:, 1] > 1.0, 0.6, 0.2)
    >>> labeled = rng.random(20_000) < 0.5 * eta
    >>> s = np.full(20_000, eta.mean())  # one probability for everyone
    >>> groups = find_groups(X, s, labeled, setting="one-sample", prior=eta.mean(), leaves=2)
    >>> print(groups.rule[groups.residual > 0][0])
    x1 > 0.9992
    >>> groups.wrong.tolist()
    [True, True]
    """
    encoder, rows = _check_rows(X, s, labeled, setting, prior, sample_weight, propensity)
    number, level = checks.check_count(leaves, "leaves", 2), checks.check_level(level)
    first, second = (rows.take(part) for part in _deal(rows.flags, 2, seed))
    tree = _found(first, number, seed)
    leaf, rules = tree.leaf(second.table), tree.rules([*encoder.labels, SCORE])
    known = [k for k in rules if second.marginal[leaf == k].sum() > 0.0]
    reach = t_score(level ** (1.0 / len(known)), 1.0 / second.spread)
    found = [_measured(second, leaf == k, reach) | {"rule": rules[k]} for k in known]
    found.sort(key=lambda one: -abs(one["residual"]) / max(one["high"] - one["low"], 1e-12))
    columns = {name: np.array([one[name] for one in found]) for name in found[0]}
    return FoundGroups(**columns, level=level)


def _measured(rows: _Rows, there: Flags, reach: float) -> dict[str, Any]:
    """Return the residual of a group with its interval."""
    share, caught = float(rows.marginal[there].sum()), float(rows.positive[there].sum())
    prior, score = caught / share, float(rows.marginal[there] @ rows.s[there]) / share
    gap = prior - score
    error = rows.influence(there / share, there * (rows.s + gap) / -share)
    # With only a few positives, the variance of their share is unreliable; use Agresti and Coull.
    whole, extra = float(rows.positive.sum()), reach**2 * rows.spread
    a = caught / whole
    fair = (a + 0.5 * extra) / (1.0 + extra)
    more = rows.spread * max(0.0, fair * (1.0 - fair) - a * (1.0 - a)) * (whole / share) ** 2
    half = reach * float(np.sqrt((error**2).sum() + more))
    return {
        "rows": int(there.sum()),
        "positives": int((there & rows.flags).sum()),
        "share": share,
        "prior": prior,
        "score": score,
        "residual": gap,
        "low": gap - half,
        "high": gap + half,
    }


def _deal(flags: Flags, parts: int, seed: int) -> list[NDArray[np.intp]]:
    """Split rows into parts, each with its share of labeled rows."""
    place = deal_rows(flags, parts, stream(seed, "multicalibration"))
    return [np.flatnonzero(place == k) for k in range(parts)]


@dataclass(kw_only=True, eq=False, repr=False)
class Multi(Stored, BaseEstimator):  # type: ignore[misc]
    """Correct scores wherever the features and the score show that they are wrong.

    Small trees on the features and the score are added to the logit of the score one after another,
    each a Newton step on the likelihood of the labels. All folds are grown in parallel until the
    held-out loss reaches its minimum; the repair is the average of the folds' trees. If it does not
    lower the held-out loss by two standard errors, the scores are left unchanged.

    Parameters
    ----------
    max_iter : int
        Largest number of trees.
    learning_rate : float
        Factor applied to each tree.
    max_leaf_nodes : int
        Largest number of leaves per tree; the depth is at most 3.
    l2_regularization : float
        Ridge on the step of a leaf, as a number of rows.
    patience : int
        Number of trees without improvement in held-out loss before growth stops.
    folds : int
        Number of parts of the rows, each held out in turn.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    n_iter_ : int
        Number of trees per fold; 0 if the scores are left unchanged.
    trees_ : list of lists
        Trees of each fold.
    losses_ : ndarray
        Change in the held-out loss after each tree.
    gain_ : (float, float)
        Decrease in the held-out loss at the best number of trees, and its standard error.
    fitted_on_ : dict
        Setting, prior and numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2))
    >>> eta = np.where(X[:, 1] > 0.0, 0.6, 0.2)
    >>> labeled = rng.random(6000) < 0.5 * eta
    >>> s = np.full(6000, 0.4)  # one probability for everyone
    >>> multi = Multi().fit(X, s, labeled, setting="one-sample", prior=0.4)
    >>> multi.transform([[0.0, -1.0], [0.0, 1.0]], [0.4, 0.4]).round(1)  # most of the way
    array([0.3, 0.5])
    """

    name = "multi"
    fitted_by = ("trees_", "fit(X, s, labeled, ...)")
    indent = None

    max_iter: int = 200
    learning_rate: float = 0.3
    max_leaf_nodes: int = 6
    l2_regularization: float = 10.0
    patience: int = 10
    folds: int = 4
    random_state: int = 0

    def fit(
        self,
        X: Any,  # noqa: ANN401
        s: ArrayLike,
        labeled: ArrayLike,
        *,
        setting: Setting,
        prior: float | None = None,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
    ) -> Self:
        """Learn from features, scores and labels.

        Parameters
        ----------
        X, s, labeled, setting, prior, sample_weight, propensity
            As in `find_groups`.
        """
        for name, least in (("max_iter", 1), ("patience", 1), ("folds", 2), ("max_leaf_nodes", 2)):
            checks.check_count(getattr(self, name), name, least)
        self.encoder_, rows = _check_rows(X, s, labeled, setting, prior, sample_weight, propensity)
        fewest = int(min(rows.flags.sum(), (~rows.flags).sum()))
        parts = _deal(rows.flags, min(self.folds, fewest), self.random_state) if fewest > 1 else []
        used = rows if checks.is_pooled(setting) else rows.as_random()
        self._race([_Racer(used, part) for part in parts])
        self.fitted_on_ = {
            "setting": setting,
            "prior": rows.prior,
            "n_positive": float(rows.flags.sum()),
            "n_marginal": float((rows.marginal > 0.0).sum()),
        }
        return self

    def _race(self, racing: list[_Racer]) -> None:
        """Grow all folds in parallel, and keep the trees if the held-out loss clearly improves."""
        losses, best, gain = list[float](), 0, (0.0, 0.0)
        options = self.max_leaf_nodes, self.learning_rate, self.l2_regularization
        while racing and len(losses) < min(self.max_iter, best + self.patience):
            for each in racing:
                each.grow(*options, self.random_state + len(losses))
            losses.append(float(np.mean([each.held_change()[0] for each in racing])))
            if losses[-1] < (losses[best - 1] if best else 0.0):
                variance = sum(each.held_change()[1] for each in racing)
                best, gain = len(losses), (-losses[-1], float(variance) ** 0.5 / len(racing))
        self.gain_, self.losses_ = gain, np.array(losses)
        self.n_iter_ = best if gain[0] > REACH * gain[1] else 0
        self.trees_ = [each.trees[: self.n_iter_] for each in racing]

    def transform(self, X: Any, s: ArrayLike) -> Floats:  # noqa: ANN401
        """Return repaired probabilities for rows with features X and scores s."""
        self._require_fit()
        score, table = np.asarray(check_unit(s)).reshape(-1), self.encoder_.numbers(X)
        checks.check_same_length(X=len(table), s=score.size)
        if not self.n_iter_:
            return score.copy()
        full = np.column_stack([table, score]).astype(np.float32)
        every = [tree.values(full) for trees in self.trees_ for tree in trees]
        return np.asarray(expit(log_odds(score) + np.sum(every, axis=0) / len(self.trees_)))

    def predict_proba(self, X: Any, s: ArrayLike) -> Floats:  # noqa: ANN401
        """Return the probabilities of both classes, negative first, shape (n, 2)."""
        positive = self.transform(X, s)
        return np.stack([1.0 - positive, positive], axis=-1)

    def _content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        names, columns, indicators = self.encoder_
        return self.get_params(), {
            "names": names,
            "categories": None if columns is None else list(columns.categories.items()),
            "indicators": indicators,
            "trees": [[tree._asdict() for tree in trees] for trees in self.trees_],
            "losses": self.losses_.tolist(),
            "gain": self.gain_,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        known = state["categories"]
        columns = None if known is None else Columns({int(k): list(x) for k, x in known})
        places = [(int(k), int(code)) for k, code in state["indicators"]]
        self.encoder_ = Encoder(list(state["names"]), columns, places)
        self.trees_ = [[Tree(**tree) for tree in trees] for trees in state["trees"]]
        self.losses_, self.gain_ = np.array(state["losses"]), tuple(state["gain"])
        self.n_iter_ = len(self.trees_[0]) if self.trees_ else 0


class _Racer:
    """Trees grown without a held-out part of the rows, and the log odds of all rows."""

    def __init__(self, rows: _Rows, held: NDArray[np.intp]) -> None:
        law = LabelLaw.of(rows, rows.setting, rows.prior)
        rest = np.setdiff1d(np.arange(rows.s.size), held)
        self.train, self.held = rows.take(rest), rows.take(held)
        self.law, self.held_law = law.take(rest), law.take(held)
        self.f, self.held_start = log_odds(self.train.s), log_odds(self.held.s)
        self.held_f = self.held_start.copy()
        self.trees: list[Tree] = []

    def grow(self, leaves: int, rate: float, ridge: float, seed: int) -> None:
        """Add a tree, with a Newton step in each of its leaves."""
        slope, bend = self.law.slope(self.train.flags, self.f)
        mass = self.train.mass / self.train.mass.mean()
        slope, bend = mass * slope, mass * bend
        tree = self.train.grow(-slope, bend, leaves, seed)
        leaf, n = tree.leaf(self.train.table), len(tree.feature)
        down, bent = (np.bincount(leaf, weights=x, minlength=n) for x in (-slope, bend))
        value = rate * np.clip(down / (bent + ridge), -LARGEST_STEP, LARGEST_STEP)
        tree = tree._replace(value=value.tolist())
        self.f = self.f + value[leaf]
        self.held_f = self.held_f + tree.values(self.held.table)
        self.trees.append(tree)

    def held_change(self) -> tuple[float, float]:
        """Return the change in the mean held-out loss since the start, and its variance."""
        flags, share = self.held.flags, self.held.mass / self.held.mass.sum()
        now, start = (self.held_law.loss(flags, f) for f in (self.held_f, self.held_start))
        change = share * (now - start)
        # In one sample, the labels are random; in two samples, they are fixed.
        kinds = (flags, ~flags) if not checks.is_pooled(self.held.setting) else (flags | True,)
        error = change.copy()
        for kind in kinds:
            error[kind] -= share[kind] * (change[kind].sum() / share[kind].sum())
        return float(change.sum()), float((error**2).sum())
