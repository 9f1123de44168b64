"""The stored study of tables: the winner, and whether a cell can be reproduced."""

import numpy as np
import pytest

from experiments.study import HERE
from experiments.tables import Tables, distinct, pick
from experiments.tabular.forest import impurity
from experiments.tabular.study import HELD_OUT, QUICK, SOURCES, TABLES, learn, ranks, runs_of

STORED = Tables(HERE / "tabular")


@pytest.mark.parametrize(
    ("labels", "prior", "group", "first"),
    [
        ("scar", "known", TABLES, "PUClassifier()"),
        ("scar", "known", HELD_OUT, "PUClassifier()"),
        ("scar", "estimated", TABLES, "PUClassifier()"),
        ("scar", "estimated", HELD_OUT, "PUClassifier()"),
        ("selected", "known", TABLES, "PUClassifier(), propensity"),
        ("selected", "known", HELD_OUT, "PUClassifier(), propensity"),
    ],
)
def test_the_default_is_first_by_mean_rank(labels, prior, group, first):
    runs = runs_of(STORED, labels, prior, group)
    found = ranks(runs)
    assert found.methods[0] == first
    assert runs["table"].nunique() == len(group)
    assert found.worlds == len(group) * 2 * runs["rate"].nunique()
    if (labels, prior) == ("scar", "known"):
        assert runs["rate"].nunique() == 2
        assert (runs.groupby(["table", "setting", "rate"])["split"].nunique() == 5).all()


def test_a_quick_run_has_a_table_of_each_group():
    """The pictures rank methods in both groups."""
    assert [len(set(QUICK) & set(group)) for group in (TABLES, HELD_OUT)] == [1, 1]


def test_no_table_was_both_used_and_held_out():
    assert not set(TABLES) & set(HELD_OUT)
    held, others = (
        distinct(pick(SOURCES, held_out=out), "package", "table") for out in (True, False)
    )
    assert not set(held) & set(others)


def test_away_from_the_cut_extra_trees_order_splits_as_gini_does():
    """In one sample p n / (p + n) = p - p^2 / u, and p / u is the labeled share over c."""
    rng = np.random.default_rng(0)
    labeled, prior = rng.random(400) < 0.1, 0.5
    p, u, c = prior * labeled / labeled.sum(), np.full(400, 1 / 400), labeled.mean() / prior
    found, gini = [], []
    for cut in range(40, 400, 40):
        sides = slice(None, cut), slice(cut, None)
        assert all(p[side].sum() < u[side].sum() for side in sides)
        found.append(sum(impurity(p[side].sum(), u[side].sum()) for side in sides))
        shares = [labeled[side].mean() for side in sides]
        gini.append(sum(u[side].sum() * g * (1 - g) for side, g in zip(sides, shares, strict=True)))
    assert np.ptp(gini) > 1e-4
    np.testing.assert_allclose(np.diff(found) * c**2, np.diff(gini), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("method", ["PUClassifier()", "PUExtraTrees"])
def test_a_cell_comes_out_as_stored(method):
    cell = {"split": 0, "table": "cancer", "setting": "one-sample", "rate": 0.4}
    cell |= {"labels": "scar", "prior": "known", "method": method}
    (found,), (stored,) = list(learn(**cell)), pick(STORED("runs"), **cell)
    # Another machine rounds differently and may stop one round earlier.
    assert found["brier"] == pytest.approx(stored["brier"], abs=0.01)
    assert found["auc"] == pytest.approx(stored["auc"], abs=0.02)
