"""Searches that have a limit of steps: what they return when they reach it."""

from types import SimpleNamespace

import numpy as np
import pytest

from noneg.prior import dedpul, tice


class Creeping(SimpleNamespace):
    """A posterior mean that always lies a little below its share."""

    def __call__(self, share):
        return share - self.step


def test_a_fixed_point_that_is_never_reached_ends_after_a_thousand_steps():
    found = dedpul._fixed_point(Creeping(step=1e-4, ratio=np.array([1e9])))
    assert found == pytest.approx(1.0 - 1000 * 1e-4)


def test_a_tree_that_may_look_at_one_node_only_knows_its_halves(monkeypatch):
    """The labelled share is 0.2 overall; it is 0.8 in a corner that takes two cuts to find."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 4, (4000, 2)).astype(np.uint8)
    corner = (cells == 0).all(axis=1)
    labels = rng.random(4000) < np.where(corner, 0.8, 0.16)
    in_tree = np.arange(4000) % 2 == 0
    whole = tice._best_bound(cells, labels, in_tree, 0.5)
    monkeypatch.setattr(tice, "MOST_NODES", 1)
    first = tice._best_bound(cells, labels, in_tree, 0.5)
    edge = labels[~in_tree & (cells == 0).any(axis=1)].mean()
    assert labels[~in_tree].mean() <= first < edge + 0.1 < whole < 0.8
