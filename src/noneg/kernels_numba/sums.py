"""Checks and sums of rows: one pass each, and tables that fit the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from noneg.kernels import width_edges
from noneg.kernels_numba.blocks import BLOCKS, LARGE_TABLE_BLOCKS, add_up, in_turn, split
from noneg.kernels_numba.buckets import GROUPS, NO_FLAGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.kernels import Axis


def in_unit_interval(scores: NDArray[np.float64]) -> bool:
    """Twin of `noneg.kernels.in_unit_interval_numpy`."""
    return not sum(in_turn(_count_outside, split(BLOCKS, scores)))


@njit(nogil=True, cache=True)
def _count_outside(scores):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    outside = 0
    for i in range(scores.size):
        outside += not ((scores[i] >= 0.0) & (scores[i] <= 1.0))
    return outside


def binary_flags(labels: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Twin of `noneg.kernels.binary_flags_numpy`."""
    flags = np.empty(labels.size, np.bool_)
    bits = set(in_turn(_flag, split(BLOCKS, labels, flags)))
    return flags if bits <= {0, 1} else None


@njit(nogil=True, cache=True)
def _flag(labels, flags):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    bits = 0
    for i in range(labels.size):
        bits |= labels[i]
        flags[i] = labels[i] != 0
    return bits


def width_triples(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, n_bins: int
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.width_triples_numpy`."""
    edges, marks = width_edges(n_bins), NO_FLAGS if flags is None else flags
    sums = add_up(lambda s, f: _width_block(s, f, edges), split(BLOCKS, scores, marks))
    total: NDArray[np.float64] = sums.reshape(GROUPS, n_bins, 4)[:, :, :3]
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _width_block(scores, flags, edges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    n_bins, flagged = edges.size - 1, flags.size > 0
    # The product and an edge are each off by half a unit in the last place of at most n_bins, so
    # only a product as near as this to a whole number can be on the wrong side of an edge.
    near = n_bins * 2.0**-51
    # Neighbouring rows go to different lanes: one bin's sums do not wait for each other.
    width = 8 * n_bins
    lanes = np.zeros(2 * width)
    for i in range(scores.size):
        s = scores[i]
        place = s * n_bins
        b = int(place)
        if abs(place - np.rint(place)) <= near:
            b = min(b, n_bins - 1)
            if s <= edges[b]:
                b -= b > 0
            elif s > edges[b + 1]:
                b += 1
        if flagged:
            b += n_bins * np.int64(flags[i])
        k = np.uint64((i & 1) * width + 4 * b)
        lanes[k] += 1.0
        lanes[k + np.uint64(1)] += s
        lanes[k + np.uint64(2)] += s * s
    return lanes[:width] + lanes[width:]


def node_sums(
    scores: NDArray[np.float64], flags: NDArray[np.bool_] | None, axis: Axis
) -> NDArray[np.float64]:
    """Twin of `noneg.kernels.node_sums_numpy`."""
    # Each block has nodes of its own: fewer blocks on a fine axis, whatever the number of threads.
    blocks = LARGE_TABLE_BLOCKS if axis.n <= 2**17 else 2
    marks = NO_FLAGS if flags is None else flags
    total: NDArray[np.float64] = add_up(
        lambda s, f: _node_block(s, f, *axis), split(blocks, scores, marks)
    )
    return total.reshape(GROUPS, axis.n, 2)


@njit(nogil=True, cache=True, error_model="numpy")
def _node_block(scores, flags, n_nodes, clip, reach):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    flagged = flags.size > 0
    scale = n_nodes / (2.0 * reach) if clip > 0.0 else float(n_nodes)
    sums = np.zeros(4 * n_nodes)
    for i in range(scores.size):
        s = scores[i]
        if clip == 0.0:
            place = s * scale + 0.5
        else:
            inside = min(max(s, clip), 1.0 - clip)
            place = (np.log(inside / (1.0 - inside)) + reach) * scale + 0.5
        node = int(place)
        share = place - node
        first = 2 * n_nodes * np.int64(flags[i]) if flagged else 0
        left = np.uint64(first + 2 * max(node - 1, 0))
        right = np.uint64(first + 2 * min(node, n_nodes - 1))
        sums[left] += 1.0 - share
        sums[left + np.uint64(1)] += (1.0 - share) * s
        sums[right] += share
        sums[right + np.uint64(1)] += share * s
    return sums
