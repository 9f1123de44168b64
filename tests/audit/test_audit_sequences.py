"""Confidence sequences: fair bets, a level that holds under repeated looks, and stopping."""

import numpy as np
import pytest
from audit.worlds import planned, table

from noneg import audit
from noneg.audit.reading import Answers
from noneg.audit.sequences import capital, equation, sequence
from noneg.audit.targets import Target
from noneg.errors import InputError

NAMES = ["prior", "precision@0.4", "recall@0.4", "accuracy@0.4", "brier"]


@pytest.fixture(scope="module")
def world():
    score, y, flags = table(600, 10)
    design = planned(score, flags, 300, NAMES, sequential=True)
    code = y[np.array(design.id, dtype=int)].astype(int)
    return score, y, flags, Answers(design, code, 0, 0)


def truths(score, y, flags):
    full = planned(score, flags, int((~flags).sum()), NAMES)
    answers = [int(y[int(row)]) for row in full.id]
    found = audit.read({"id": list(full.id), "answer": answers}, full).estimates
    return {name: found[name].value for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_number_solves_its_equation(world, name):
    score, y, flags, answers = world
    census, target = answers.design.census, Target.parse(name)
    rank = np.zeros(score.size)
    a, b = equation(target, census, np.array([truths(score, y, flags)[name]]))
    hidden = (y & ~flags) @ census.features(score, rank)
    assert float(a[0] @ hidden + b[0]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["prior", "recall@0.4"])
def test_the_truth_survives_every_look(name):
    score, y, flags = table(600, 11)
    truth, target = truths(score, y, flags)[name], Target.parse(name)
    lost = 0
    for seed in range(60):
        design = planned(score, flags, 250, NAMES, prior=0.25, sequential=True, seed=seed)
        code = y[np.array(design.id, dtype=int)].astype(int)
        pair = equation(target, design.census, np.array([truth]))
        lost += capital(Answers(design, code, 0, 0), *pair, 0.2).max() >= np.log(2.0 / 0.2)
    # With 60 trials, a share of 20% has a standard deviation of 5.2%.
    assert lost / 60 <= 0.2 + 3 * 0.052


def test_intervals_shrink_and_hold_the_truth(world):
    score, y, flags, answers = world
    for name, value in truths(score, y, flags).items():
        found = sequence(Target.parse(name), answers, 0.95)
        assert (np.diff(found.low) >= -1e-9).all()
        assert (np.diff(found.high) <= 1e-9).all()
        assert found.low[-1] <= value <= found.high[-1]
        assert found.half_width < 0.35
        assert found.last.low == found.low[-1]


def test_a_review_reports_when_to_stop(world):
    *_, answers = world
    source = {"id": list(answers.design.id), "answer": answers.code}
    done = audit.read(source, answers.design, until={"prior": 0.2})
    assert done.is_done
    assert not audit.read(source, answers.design, until={"prior": 0.001}).is_done
    assert done.to_dict()["sequences"]["prior"]["until"] == 0.2


@pytest.mark.parametrize(
    ("sequential", "until", "words"),
    [
        (False, {"prior": 0.1}, "needs a sequential design"),
        (True, {"auroc": 0.1}, "must be one of prior, precision"),
        (True, {"precision@0.7": 0.1}, "must be a target of the design"),
        (True, {"precision": 0.1}, "must include the threshold of 'precision'"),
    ],
)
def test_what_cannot_be_followed_is_rejected(sequential, until, words):
    score, y, flags = table(300, 12)
    design = planned(score, flags, 30, ["prior", "precision@0.4"], sequential=sequential)
    source = {"id": list(design.id), "answer": [int(y[int(row)]) for row in design.id]}
    with pytest.raises(InputError, match=words):
        audit.read(source, design, until=until)
