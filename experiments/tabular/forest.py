"""Extremely randomized trees on the PU risk (Wilton et al. 2022), for comparison.

A node contains positives of weight p (the prior times its share of the labeled rows) and unlabeled
rows of weight u (its share of them), and therefore negatives of weight max(0, u - p). A split is
the best of several random ones by the quadratic risk, the sum of p n / (p + n) over both sides. In
one sample, without the maximum, this is the Gini impurity of the labels.
"""

import numpy as np
from numba import njit

LEAST, TREES = 5, 100  # rows in a leaf, and trees


@njit(cache=True)
def impurity(p: float, u: float) -> float:
    n = max(0.0, u - p)
    return p * n / (p + n) if p + n > 0.0 else 0.0


@njit(cache=True)
def best_split(X, p, u, rows, tries):
    """Return the column and threshold of the best of several random splits; column -1 if there is
    none."""
    best, column, cut = np.inf, -1, 0.0
    for k in np.random.permutation(X.shape[1]):  # noqa: NPY002 - what numba knows
        low, high = np.inf, -np.inf
        for i in rows:
            low, high = min(low, X[i, k]), max(high, X[i, k])
        if low == high:
            continue
        if tries == 0:
            break
        tries -= 1
        at = np.random.uniform(low, high)  # noqa: NPY002
        p0 = p1 = u0 = u1 = 0.0
        below = 0
        for i in rows:
            if X[i, k] <= at:
                p0, u0, below = p0 + p[i], u0 + u[i], below + 1
            else:
                p1, u1 = p1 + p[i], u1 + u[i]
        risk = impurity(p0, u0) + impurity(p1, u1)
        if risk < best and LEAST <= below <= rows.size - LEAST:
            best, column, cut = risk, k, at
    return column, cut


@njit(cache=True)
def grow(X, p, u, tries, seed):
    """Return a tree: column, threshold, index of the left child, and probability of every node."""
    np.random.seed(seed)  # noqa: NPY002
    size = 2 * X.shape[0]
    column, left = np.full(size, -1), np.zeros(size, dtype=np.int64)
    cut, value = np.zeros(size), np.zeros(size)
    waiting, count = [(0, np.arange(X.shape[0]))], 1
    while waiting:
        node, rows = waiting.pop()
        sum_p, sum_u = p[rows].sum(), u[rows].sum()
        value[node] = min(1.0, sum_p / sum_u) if sum_u > 0.0 else 1.0
        if rows.size < 2 * LEAST or impurity(sum_p, sum_u) <= 1e-15:
            continue
        column[node], cut[node] = best_split(X, p, u, rows, tries)
        if column[node] >= 0:
            below = X[rows, column[node]] <= cut[node]
            left[node] = count
            waiting.append((count, rows[below]))
            waiting.append((count + 1, rows[~below]))
            count += 2
    return column[:count], cut[:count], left[:count], value[:count]


@njit(cache=True)
def answers(X, column, cut, left, value):
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        node = 0
        while column[node] >= 0:
            node = left[node] + (X[i, column[node]] > cut[node])
        out[i] = value[node]
    return out


def extra_trees(X, y, X_test, *, setting: str, prior: float) -> np.ndarray:
    """Return probabilities from a hundred trees as in the paper, but with leaves of five rows
    instead of one.

    Every tree uses all rows, and every split tries as many random columns as the square root of
    their number.
    """
    population = np.ones(y.size, dtype=bool) if setting == "one-sample" else ~y
    p, u = prior * y / y.sum(), population / population.sum()
    tries = int(np.ceil(np.sqrt(X.shape[1])))
    trees = (grow(X, p, u, tries, seed) for seed in range(TREES))
    return np.mean([answers(X_test, *tree) for tree in trees], axis=0)
