"""Estimators by name, and `estimate_prior` on scores or on features."""

from pathlib import Path

import numpy as np
import pytest
from prior.worlds import gaussian

from noneg.prior import DEFAULT, ESTIMATORS, FROM_SCORES, estimate_prior, find_estimator

X = np.random.default_rng(0).normal(size=(60, 2))
LABELED = np.arange(60) % 3 == 0


def test_names_and_mistakes():
    assert DEFAULT in FROM_SCORES
    assert find_estimator(find_estimator("bbe")).name == "bbe"
    laws = gaussian(0.3, 3, 50, 100, 0)
    with pytest.raises(ValueError, match=r"'method' must be an estimator.*got 'guess'"):
        estimate_prior(laws, method="guess")
    with pytest.raises(ValueError, match=r"must work on scores.*got 'km2'"):
        estimate_prior(laws, method="km2")
    with pytest.raises(ValueError, match=r"'level'.*got 2"):
        estimate_prior(laws, level=2)
    with pytest.raises(ValueError, match=r"'setting' must specify"):
        estimate_prior([[1.0], [2.0]], [1, 0])
    assert len(ESTIMATORS) == len({kind.title for kind in ESTIMATORS.values()})


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_estimator_states_its_assumption(name):
    kind = ESTIMATORS[name]
    assert kind.name == name
    assert kind.citation
    assert not kind.assumption.endswith(".")


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_estimator_has_its_row(name):
    page = (Path(__file__).parents[2] / "docs" / "prior.md").read_text("utf-8")
    assert f"`{name}`" in page, f"add {name} to the table of methods in docs/prior.md"


def test_a_learner_of_features_takes_the_classifier():
    """`tedn` by name trains the given classifier, here an uninformative one."""
    from sklearn.dummy import DummyClassifier

    found = estimate_prior(
        X, LABELED, setting="two-sample", method="tedn", classifier=DummyClassifier()
    )
    assert "tedn" in ESTIMATORS
    assert 0.0 <= found.value <= 1.0


def test_more_folds_than_positives_leaves_folds_without_any():
    labeled = [1] * 3 + [0] * 9
    found = estimate_prior(X[:12], labeled, setting="two-sample", method="elkan-noto-e1")
    assert 0.0 <= found.value <= 1.0
