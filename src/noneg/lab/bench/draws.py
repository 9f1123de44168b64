r"""Positive and unlabeled rows of a data set, the same for every algorithm.

A draw depends only on the data set, the setting, the case, the rate and the split index. Every
class contributes the same number of rows, so the prior is the share of positive classes (PU
benchmark paper, Appendix B):

one-sample
    ``rows / classes`` rows are drawn from each class. A share of the rows of each positive class is
    labeled, and all others are unlabeled.
two-sample
    The unlabeled rows are drawn first, the same number from each class, and then the labeled rows
    from the remaining rows of the positive classes.

A tenth of P and a tenth of U are held out for validation. Training, validation and test rows have
separate types, and only the last two contain labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import is_pooled
from noneg.errors import InputError
from noneg.lab.bench.protocol import Kind, Plan, RunConfig, find_plan
from noneg.lab.datasets import Dataset, load
from noneg.randomness import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Floats64 = NDArray[np.float64]
    Rows = NDArray[np.int64]

HELD_OUT = 0.1
# Axes that share one scale: each feature, all pixels, or each channel gets its own scale.
_AXES: dict[str, tuple[int, ...] | None] = {"table": (0,), "pixels": None, "image": (0, 1, 2)}


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows, without true labels."""

    positive: Floats
    unlabeled: Floats


@dataclass(frozen=True, eq=False)
class Validation:
    """Validation rows; true labels of unlabeled rows are used only for the oracle criterion."""

    positive: Floats
    unlabeled: Floats
    labels: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Test:
    """Test rows and labels, which are never used for selection.

    `weight` gives the classes their shares in the population. It is used to evaluate probabilities,
    since the standard test sets have other shares.
    """

    rows: Floats
    labels: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of PU data.

    Attributes
    ----------
    training : Training
    validation : Validation
    test : Test
    prior : float
        True share of positives in the population.
    """

    training: Training
    validation: Validation
    test: Test
    prior: float


def draw(run: RunConfig) -> Draw:
    """Return the rows of a run.

    Examples
    --------
    >>> from noneg.lab.bench import RunConfig
    >>> rows = draw(RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu"))
    >>> rows.training.positive.shape, rows.training.unlabeled.shape, rows.prior
    ((270, 64), (630, 64), 0.5)
    """
    plan = find_plan(run.dataset)
    source = plan.source or run.dataset
    data, positives = _load(source), plan.positives(run.case)
    random = stream(0, f"{source} {run.setting} {run.case} {run.rate} {run.split}")
    labeled, unlabeled = _choose(run, data, random)
    held, kept = zip(*(_held_out(rows, random) for rows in (labeled, unlabeled)), strict=True)
    if plan.repaired:
        likely = _propensity(data, positives, plan)
        held, kept = ((_again(p, 1.0 / likely[p], random), u) for p, u in (held, kept))
    scale = _scaler(data.X_train[np.concatenate(kept)], plan.kind)
    is_positive = np.isin(data.y_train, positives).astype(np.int64)
    prior = plan.prior(run.case)
    for_training, for_validation = ([scale(data.X_train[r]) for r in part] for part in (kept, held))
    return Draw(
        Training(for_training[0], for_training[1]),
        Validation(for_validation[0], for_validation[1], is_positive[held[1]]),
        _test(scale(data.X_test), np.isin(data.y_test, positives), prior),
        prior,
    )


@lru_cache(maxsize=2)
def _load(name: str) -> Dataset:
    return load(name)


def _choose(run: RunConfig, data: Dataset, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the labeled and the unlabeled training rows."""
    plan = find_plan(run.dataset)
    positives = plan.positives(run.case)
    total = round(run.rate * plan.rows)
    labeled = total // len(positives)
    one_sample = is_pooled(run.setting)
    unlabeled = (plan.rows if one_sample else plan.rows - total) // plan.classes
    found: tuple[list[Rows], list[Rows]] = ([], [])
    for label in range(plan.classes):
        rows = random.permutation(np.flatnonzero(data.y_train == label))
        share = labeled if label in positives else 0
        needed = unlabeled if one_sample else unlabeled + share
        _check_enough(run, label, needed, rows.size, share)
        found[0].append(rows[:share])
        found[1].append(rows[share:needed])
    p, u = (random.permutation(np.concatenate(part)) for part in found)
    if plan.selection > 1.0:
        p = _favored(run, data, np.setdiff1d(np.arange(data.y_train.size), u), random)
    return p, u


def _favored(run: RunConfig, data: Dataset, rows: Rows, random: np.random.Generator) -> Rows:
    """Return labeled rows for the two-sample setting, with some positives favored."""
    plan = find_plan(run.dataset)
    if is_pooled(run.setting):
        rule = f"must be 'two-sample' for {run.dataset}, whose labels are not random"
        raise InputError("setting", rule, value=run.setting)
    positives = plan.positives(run.case)
    rows = rows[np.isin(data.y_train[rows], positives)]
    likely = _propensity(data, positives, plan)[rows]
    total = round(run.rate * plan.rows)
    likely *= total / likely.sum()
    if likely.max() > 1.0:
        _check_enough(run, positives[0], int(likely.max() * rows.size) + 1, rows.size, total)
    return random.permutation(rows[_systematic(likely, random)])


def _propensity(data: Dataset, positives: tuple[int, ...], plan: Plan) -> Floats64:
    """Return labeling probabilities up to a factor."""
    if plan.favors == "class":
        return np.where(data.y_train == positives[0], plan.selection, 1.0)
    x = (data.X_train - data.X_train.mean(0)) / np.maximum(data.X_train.std(0), 1e-9)
    x, y = x.reshape(len(x), -1), np.isin(data.y_train, positives)
    slope = np.linalg.solve(x.T @ x + len(x) * 0.1 * np.eye(x.shape[1]), x.T @ (y - y.mean()))
    score = x @ slope
    if plan.favors == "feature":
        score = _feature(x, score, y)
    order = np.sort(score[y])
    return plan.selection ** (np.searchsorted(order, score) / order.size)


def _feature(x: Floats64, score: Floats64, y: NDArray[np.bool_]) -> Floats64:
    """Return the positives' first principal component, minus its regression on the score."""
    center = x[y].mean(axis=0)
    axis = np.linalg.svd(x[y] - center, full_matrices=False)[2][0]
    found = (x - center) @ (axis * np.sign(axis[np.abs(axis).argmax()]))
    centered = score - score[y].mean()
    return found - centered * (found[y] @ centered[y] / (centered[y] @ centered[y]))


def _systematic(expected: Floats64, random: np.random.Generator) -> Rows:
    """Return indices with the given expected counts, by systematic sampling in random order."""
    order = random.permutation(expected.size)
    ends = np.cumsum(expected[order])
    marks = random.random() + np.arange(round(float(ends[-1])))
    return order[np.minimum(np.searchsorted(ends, marks), expected.size - 1)]


def _again(rows: Rows, weight: Floats64, random: np.random.Generator) -> Rows:
    """Return the same number of rows, resampled with the given weights."""
    return rows[_systematic(rows.size * weight / weight.sum(), random)]


def _check_enough(run: RunConfig, label: int, needed: int, there: int, share: int) -> None:
    if needed > there or share > needed:
        msg = (
            f"must leave enough rows of every class of {run.dataset}, got {run.rate!r}: "
            f"class {label} would need {max(needed, share)} of its "
            f"{min(needed, there)} rows. Lower the rate, or use the other setting."
        )
        raise InputError("rate", msg)


def _held_out(rows: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    order = random.permutation(rows)
    n = max(1, int(HELD_OUT * rows.size))
    return order[:n], order[n:]


def _test(rows: Floats, positive: NDArray[np.bool_], prior: float) -> Test:
    share = positive.mean()
    weight = np.where(positive, prior / share, (1.0 - prior) / (1.0 - share))
    return Test(rows, positive.astype(np.int64), weight)


def _scaler(rows: NDArray[Any], kind: Kind) -> Callable[[NDArray[Any]], Floats]:
    """Return a function that scales rows so that the given ones have mean zero and variance one.

    Raw rows are not scaled.
    """
    mean, std = np.zeros(()), np.ones(())
    if kind != "raw":
        mean = np.asarray(rows.mean(axis=_AXES[kind], dtype=np.float64))
        spread = rows.std(axis=_AXES[kind], dtype=np.float64)
        std = np.where(spread > 0.0, spread, 1.0)

    def scale(x: NDArray[Any]) -> Floats:
        scaled = ((x - mean) / std).astype(np.float32)
        # torch expects channels before rows and columns.
        return np.moveaxis(scaled, -1, 1).copy() if kind == "image" else scaled

    return scale
