"""Reviewers' answers: incomplete, unsure, skipped, in other words; and what they reveal about
labels."""

import numpy as np
import pytest
from audit.worlds import answered, planned, table

from noneg import PUScores, audit
from noneg.audit.reading import read_answers


@pytest.fixture(scope="module")
def review():
    score, y, flags = table(3000, 8)
    design = planned(score, flags, 150, ["prior", "precision@0.4", "recall@0.4", "auroc"])
    return score, y, flags, design, [int(y[int(row)]) for row in design.id]


def read(design, answers):
    return audit.read({"id": list(design.id), "answer": answers}, design)


def test_an_unfinished_review_is_a_smaller_sample(review):
    _, y, _, design, answers = review
    some = read(design, [*map(str, answers[:60]), *[""] * 90])
    assert (some.n_reviewed, some.n_missing, some.n_skipped) == (60, 90, 0)
    assert any("The last 90 rows" in note for note in some.notes)
    whole = answered(design, y)
    assert some.prior.high - some.prior.low > whole.prior.high - whole.prior.low
    assert some.prior.low <= y.mean() <= some.prior.high


def test_a_prefix_of_the_list_is_right_on_average():
    score, y, flags = table(1500, 9)
    found = []
    for seed in range(120):
        design = planned(score, flags, 120, ["prior"], prior=0.25, seed=seed)
        answers = [int(y[int(row)]) for row in design.id[:50]]
        read = read_answers({"id": list(design.id[:50]), "answer": answers}, design)
        found.append((design.census.known + read.review(read.code == 1).totals)[0] / 1500)
    assert abs(np.mean(found) - y.mean()) < 4 * np.std(found) / np.sqrt(120)


def test_unsure_and_skipped_answers_are_bounded_both_ways(review):
    _, _, _, design, answers = review
    words = ["yes" if x else "no" for x in answers]
    words[4], words[9], words[20] = "unsure", "?", None
    some = read(design, words)
    assert (some.n_unsure, some.n_skipped, some.n_missing) == (2, 1, 0)
    for turned in ("yes", "no"):
        other = read(design, [turned if x in ("unsure", "?", None) else x for x in words])
        for name, one in some.estimates.items():
            assert one.low <= other.estimates[name].low + 1e-2
            assert one.high >= other.estimates[name].high - 1e-2
            least, most = one.identified
            assert least - 1e-9 <= other.estimates[name].value <= most + 1e-9


def test_words_of_ones_own_and_numbers_of_any_kind(review):
    _, _, _, design, answers = review
    plain = read(design, answers)
    own = ["Fraud" if x else "ok" for x in answers]
    options = {"positive_label": "fraud", "negative_label": "OK"}
    named = audit.read({"id": list(design.id), "answer": own}, design, **options)
    whole = [int(row) for row in design.id]
    floats = audit.read({"id": whole, "answer": np.array(answers, float)}, design)
    flags = read(design, np.array(answers, bool))
    assert named.to_json() == floats.to_json() == flags.to_json() == plain.to_json()


def test_the_order_of_the_file_does_not_matter(review):
    _, _, _, design, answers = review
    mixed = np.random.default_rng(0).permutation(150)
    ids, said = np.array(design.id)[mixed], np.array(answers)[mixed]
    assert (
        audit.read({"id": ids, "answer": said}, design).to_json() == read(design, answers).to_json()
    )


def test_the_prior_and_the_selection_travel_to_scores(review):
    score, y, flags, design, _ = review
    found = answered(design, y)
    scores = PUScores.from_pu_labels(flags, score, setting="one-sample")
    known = found.apply(scores)
    assert known.prior_interval == found.prior_set
    assert found.prior_set[0] <= y.mean() <= found.prior_set[1]
    assert known.selection == found.factor == found.selection.high
    assert found.told(2.0).startswith(f"The prior, {known.prior:.4g} in [")


def test_random_labeling_is_not_called_selective_and_both_together_are_sharper(review):
    _, y, _, design, _ = review
    found = answered(design, y)
    for one in found.agreements.values():
        assert one.agrees
        assert one.fused.high - one.fused.low < 1.1 * (one.audit.high - one.audit.low)
    assert found.selection.low == 1.0


def test_the_test_keeps_its_level_and_finds_strong_selection():
    from experiments.audit.study import judge

    alike = judge(0.1, "good", "one-sample", 1.0, 200, 80)
    apart = judge(0.1, "good", "one-sample", 2.0, 400, 40)
    # With 80 trials, a share of 5% has a standard deviation of 2.5%.
    assert max(alike["rejected_recall"], alike["rejected_auroc"]) <= 0.05 + 3.2 * 0.025
    assert min(apart["rejected_recall"], apart["rejected_auroc"]) > 0.3
    assert min(alike["factor_held"], apart["factor_held"]) > 0.85


def test_a_review_without_positives_limits_nothing(review):
    _, _, _, design, _ = review
    none = read(design, [0] * 150)
    assert all(one.p_value == 1.0 and one.fused is None for one in none.agreements.values())
    assert none.selection.low == 1.0
