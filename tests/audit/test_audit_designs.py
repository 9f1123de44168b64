"""Which rows are chosen, with what probability, and what the design stores."""

import numpy as np
import pytest
from audit.worlds import answered, planned, table
from hypothesis import given, strategies as st

import noneg
from noneg import audit
from noneg.audit.reading import join
from noneg.audit.strata import allocate, cut
from noneg.errors import InputError


@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0.01, 1.0)), min_size=1, max_size=12),
    st.integers(2, 200),
)
def test_an_allocation_spends_the_budget_and_no_more_than_there_is(strata, budget):
    size, share = np.array(strata).T
    budget = min(budget, int(size.sum()))
    found = allocate(share, size, budget)
    assert (found <= size).all()
    if budget >= np.minimum(size, 1).sum():
        assert found.sum() == budget
        assert (found >= 1).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 9))
def test_equal_scores_stay_together_and_strata_are_intervals(scores, parts):
    s = np.sort(np.array(scores) / 10.0)
    at = cut(s, np.full(s.size, 1.0 / s.size), [0.5], parts)
    assert (np.diff(at) >= 0).all()
    assert set(np.diff(at)) <= {0, 1}
    for value in np.unique(s):
        assert np.ptp(at[s == value]) == 0
    if s[0] < 0.5 <= s[-1]:
        assert at[s < 0.5].max() < at[s >= 0.5].min()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 6))
def test_joined_strata_have_enough_answers(counts, least):
    joined = join(np.array(counts), least)
    held = np.bincount(joined, counts)
    assert (np.diff(joined) >= 0).all()
    assert (held >= least).all() or held.size == 1


def test_probabilities_are_those_of_the_draw():
    score, _, flags = table(400)
    times, given = np.zeros(400), np.full(400, np.nan)
    for seed in range(400):
        design = planned(score, flags, 60, ["prior", "precision@0.4"], prior=0.25, seed=seed)
        rows = np.array(design.id, dtype=int)
        times[rows] += 1
        given[rows] = design.probability
    seen = ~np.isnan(given)
    error = np.sqrt(given * (1 - given) / 400)
    assert np.abs((times / 400 - given)[seen] / np.maximum(error[seen], 1e-9)).max() < 5
    assert given[seen].sum() == pytest.approx(60, abs=1)
    assert not times[flags].any()


def test_a_design_comes_back_from_its_file(tmp_path):
    score, y, flags = table()
    design = planned(score, flags, 80, ["prior", "recall@0.4", "ece"], sizes=[50])
    path = tmp_path / "one.design.json"
    path.write_text(design.to_json())
    again = audit.Design.load(path)
    assert again.to_json() == design.to_json()
    assert repr(again) == "Design(80 rows to review for prior, recall@0.4, ece; 11 strata)"
    one, two = answered(design, y), answered(again, y)
    assert one.to_json() == two.to_json()
    back = audit.Audit.from_json(one.to_json())
    assert back.to_dict() == one.to_dict()
    assert "80 of 80 rows reviewed" in str(back)


def test_the_same_seed_chooses_the_same_rows():
    score, _, flags = table()
    one, same, other = (planned(score, flags, 50, ["prior"], seed=seed).id for seed in (1, 1, 2))
    assert one == same != other


def test_half_widths_shrink_and_a_simple_random_sample_needs_more():
    score, _, flags = table(5000, 2)
    design = planned(score, flags, 100, ["precision@0.3"], sizes=[50, 200, 800])
    found = design.expected
    assert (np.diff(found.half_width) < 0).all()
    assert (found.simple_random > found.reviews).all()
    assert "precision@0.3" in str(found)


def test_known_negatives_are_not_reviewed_again_and_count_as_negatives():
    score, y, flags = table(800, 5)
    known = ~y & (np.random.default_rng(0).random(800) < 0.3)
    label = np.where(flags, "yes", np.where(known, "no", "")).astype(object)
    label[label == ""] = None
    design = planned(score, label, 300, ["prior"], positive_label="yes", unlabeled_is_empty=True)
    assert not known[np.array(design.id, dtype=int)].any()
    assert design.census.rows == 800
    assert design.size.sum() == (~flags & ~known).sum()
    found = answered(design, y).prior
    assert found.low <= y.mean() <= found.high
    plain = answered(planned(score, flags, 300, ["prior"]), y).prior
    assert found.high - found.low < plain.high - plain.low


def test_each_group_has_its_own_strata():
    score, y, flags = table(1000, 6)
    group = np.where(np.arange(1000) % 10 == 0, "small", "large")
    source = {"p": score, "l": flags, "g": group}
    options = {"score": "p", "label": "l", "setting": "one-sample", "sizes": []}
    design = audit.plan(source, budget=100, by="g", **options)
    assert set(design.group) == {"small", "large"}
    for h, name in enumerate(design.group):
        rows = np.array(design.id, dtype=int)[design.stratum == h]
        assert set(group[rows]) == {name}
    assert answered(design, y).prior.low <= y.mean() <= answered(design, y).prior.high


def test_rows_are_named_by_their_column():
    score, _, flags = table(100)
    names = np.array([f"case {k}" for k in range(100)])
    source = {"p": score, "l": flags, "key": names}
    options = {"score": "p", "label": "l", "setting": "one-sample", "sizes": [], "budget": 20}
    design = audit.plan(source, id="key", **options)
    assert set(design.id) <= set(names)
    with pytest.raises(InputError, match="must name a column that identifies a row"):
        audit.plan(source | {"key": np.full(100, "same")}, id="key", **options)


def test_a_sketch_stands_for_a_table_too_large_to_choose_from():
    score, y, flags = table(40_000, 7)
    whole = noneg.read_sketch({"p": score, "l": flags}, score="p", label="l")
    some = np.random.default_rng(1).random(score.size) < 0.2
    part = {"p": score[some], "l": flags[some]}
    options = {"score": "p", "label": "l", "setting": "one-sample", "sizes": [], "budget": 400}
    design = audit.plan(part, targets=["prior", "recall@0.4"], marginal=whole, **options)
    assert design.census.rows == pytest.approx(40_000)
    assert design.size.sum() == pytest.approx((~flags).sum())
    found = answered(design, y[some]).estimates
    truth = {"prior": y.mean(), "recall@0.4": (y & (score >= 0.4)).sum() / y.sum()}
    for name, value in truth.items():
        assert found[name].low - 1e-3 <= value <= found[name].high + 1e-3


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_lists_are_frames_and_answers_may_be(backend):
    pytest.importorskip(backend)
    score, y, flags = table(300)
    design = planned(score, flags, 30, ["prior"])
    frame = design.frame(backend)
    if backend == "pandas":
        frame["answer"] = ["yes" if y[int(row)] else "No" for row in frame["id"]]
        assert audit.read(frame, design).n_reviewed == 30
    assert (
        audit.plan(
            {"p": score, "l": flags},
            score="p",
            label="l",
            setting="one-sample",
            budget=30,
            sizes=[],
        ).id
        == design.id
    )
