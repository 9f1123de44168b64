"""scikit-learn's own model selection with mostly hidden labels."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.svm import LinearSVC

from noneg import PUScores, metrics
from noneg.metrics import METRICS
from noneg.performance import recall_threshold
from noneg.performance.ordering import proxy_accuracy, proxy_auc
from noneg.performance.ranking import auroc
from noneg.performance.thresholds import f_beta
from noneg.registry import ALIASES
from noneg.sklearn import (
    SCORERS,
    PUStratifiedKFold,
    PUStratifiedShuffleSplit,
    PUThresholdClassifier,
    scorer,
)

PRIOR = 0.3
FOLDS = PUStratifiedKFold(4, setting="one-sample")


def draw(seed, n=600, features=40, c=0.4):
    """Two features are informative, and the others are noise; a share c of the positives is
    labeled."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < PRIOR
    X = rng.normal(size=(n, features))
    X[:, :2] += 1.2 * y[:, None]
    return X, y, y & (rng.random(n) < c)


class Corrected(LogisticRegression):
    """Labeled against unlabeled; divided by the labeling rate (Elkan & Noto 2008)."""

    def predict_proba(self, X):
        p = np.minimum(super().predict_proba(X)[:, 1] / 0.4, 1.0)
        return np.column_stack([1.0 - p, p])


# A model without skill may predict only a few rows to be positive.
CAUTIOUS = ("precision", "specificity", "false_positive_rate")


def test_every_name_makes_a_scorer_that_is_higher_for_the_better_model():
    X, _, labeled = draw(0)
    rng = np.random.default_rng(1)
    good = Corrected(C=0.01).fit(X, labeled)
    bad = Corrected(C=10.0).fit(X, rng.permutation(labeled))
    others, _, test = draw(2, n=2000)
    for name in SCORERS:
        score = scorer(name, setting="one-sample", prior=PRIOR)
        value = score(good, others, test)
        assert np.isfinite(value), name
        # It may also be calibrated.
        about = METRICS[ALIASES.get(name, name)].family
        if not about.startswith("calibration") and name not in CAUTIOUS:
            assert value > score(bad, others, test), name


@pytest.mark.parametrize("setting", ["two-sample", "one-sample"])
def test_scorers_are_the_metrics(setting):
    X, _, labeled = draw(3)
    model = Corrected(C=0.1).fit(X, labeled)
    p = model.predict_proba(X)[:, 1]
    scores = PUScores.from_pu_labels(labeled, p, prior=PRIOR, setting=setting)
    for name, (function, _) in SCORERS.items():
        metric = METRICS[ALIASES.get(name, name)]
        if metric.ranks:
            continue  # they use margins, which have other ties
        found = scorer(name, setting=setting, prior=PRIOR)(model, X, labeled)
        assert found == pytest.approx(metric.merit(function(scores))), name
    found = scorer("proxy_accuracy", setting=setting, prior=PRIOR, threshold=0.2)
    assert found(model, X, labeled) == proxy_accuracy(scores, threshold=0.2)
    found = scorer("f_beta", setting=setting, prior=PRIOR, beta=2.0, threshold=0.2)
    assert found(model, X, labeled) == f_beta(scores, beta=2.0, threshold=0.2)


def test_areas_take_margins_and_the_rest_does_not():
    X, _, labeled = draw(4)
    model = LinearSVC(C=0.01).fit(X, labeled)
    margin = model.decision_function(X)
    scores = PUScores.from_pu_labels(
        labeled, 1.0 / (1.0 + np.exp(-margin)), prior=PRIOR, setting="one-sample"
    )
    found = scorer("auroc", setting="one-sample", prior=PRIOR)(model, X, labeled)
    assert found == pytest.approx(auroc(scores))
    found = scorer("proxy_auc", setting="one-sample")(model, X, labeled)
    assert found == pytest.approx(proxy_auc(scores))
    assert found == pytest.approx(roc_auc_score(labeled, margin))
    with pytest.raises(AttributeError, match="predict_proba"):
        scorer("brier", setting="one-sample", prior=PRIOR)(model, X, labeled)


def test_ties_stay_ties_and_nan_is_rejected():
    y = np.array([1, 1, 0, 0])
    score = scorer("proxy_auc", setting="two-sample")
    assert score._score_func(y, np.array([7.0, -2.0, -2.0, -9.0]), **score._kwargs) == 0.875
    with pytest.raises(ValueError, match=r"'y_score' must contain a number.*row 1"):
        score._score_func(y, np.array([1.0, np.nan, 0.0, 0.0]), **score._kwargs)


def test_labeled_rows_give_what_scikit_learn_gives():
    X, y, _ = draw(5)
    model = LogisticRegression().fit(X, y)
    found = scorer("accuracy", setting="labeled")(model, X, y)
    assert found == pytest.approx(accuracy_score(y, model.predict_proba(X)[:, 1] >= 0.5))
    found = scorer("auroc", setting="labeled")(model, X, y)
    assert found == pytest.approx(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    found = scorer("log_loss", setting="labeled")(model, X, y)
    assert found < 0


ORACLES = {
    "proxy_auc": roc_auc_score,
    "proxy_accuracy": lambda y, p: accuracy_score(y, p >= 0.5),
}


@pytest.mark.parametrize(("name", "best"), [("proxy_auc", 0.003), ("proxy_accuracy", 100.0)])
def test_a_search_without_negatives_finds_the_truly_better_model(name, best):
    X, _, labeled = draw(6)
    options = {} if name == "proxy_auc" else {"prior": PRIOR}
    score = scorer(name, setting="one-sample", **options)
    grid = {"C": [0.003, 100.0]}
    search = GridSearchCV(Corrected(), grid, scoring=score, cv=FOLDS).fit(X, labeled)
    hidden, truth, _ = draw(7, n=5000)
    quality = {
        C: ORACLES[name](truth, Corrected(C=C).fit(X, labeled).predict_proba(hidden)[:, 1])
        for C in grid["C"]
    }
    # Strong shrinkage ranks best here, but hardly any row then reaches the threshold.
    assert max(quality, key=quality.get) == best
    assert search.best_params_ == {"C": best}


def test_several_scorers_at_once():
    X, _, labeled = draw(8)
    scoring = {
        name: scorer(name, setting="one-sample", prior=PRIOR)
        for name in ("proxy_accuracy", "auroc", "brier", "ece", "f1")
    }
    found = cross_validate(Corrected(C=0.01), X, labeled, scoring=scoring, cv=FOLDS)
    for name in scoring:
        assert np.isfinite(found[f"test_{name}"]).all()
    assert (found["test_brier"] < 0).all()
    assert found["test_auroc"].mean() > 0.7


def test_registered_metrics_are_found(monkeypatch):
    known = metrics.METRICS["ece"]
    extra = replace(known, name="extra", function=proxy_auc, better="higher")
    monkeypatch.setitem(metrics.METRICS, "extra", extra)
    X, _, labeled = draw(9)
    model = Corrected(C=0.1).fit(X, labeled)
    found = scorer("extra", setting="one-sample", prior=PRIOR)(model, X, labeled)
    assert 0.5 < found <= 1.0


def test_scorers_can_be_pickled():
    X, _, labeled = draw(10)
    model = Corrected(C=0.1).fit(X, labeled)
    score = scorer("f1", setting="one-sample", prior=PRIOR, threshold=0.3)
    again = pickle.loads(pickle.dumps(score))  # noqa: S301
    assert again(model, X, labeled) == score(model, X, labeled)


def test_weights_reach_the_scorer():
    X, _, labeled = draw(11)
    weight = 1.0 + np.arange(labeled.size) % 3
    model = Corrected(C=0.1).fit(X, labeled)
    p = model.predict_proba(X)[:, 1]
    expected = proxy_accuracy(
        PUScores.from_pu_labels(labeled, p, prior=PRIOR, setting="one-sample", sample_weight=weight)
    )
    score = scorer("proxy_accuracy", setting="one-sample", prior=PRIOR)
    assert score(model, X, labeled, sample_weight=weight) == pytest.approx(expected)
    with sklearn.config_context(enable_metadata_routing=True):
        score = score.set_score_request(sample_weight=True)
        model = Corrected(C=0.1).set_fit_request(sample_weight=True)
        weighted, plain = (
            cross_val_score(model, X, labeled, scoring=score, cv=FOLDS, params={"sample_weight": w})
            for w in (weight, np.ones(labeled.size))
        )
    assert np.abs(weighted - plain).max() > 1e-4


def test_a_fold_may_hold_more_labeled_rows_than_expected():
    y = np.array([1] * 4 + [0] * 9)
    s = np.linspace(0.9, 0.1, 13)
    score = scorer("brier", setting="one-sample", prior=0.3)
    from noneg.calibration.proper import brier

    scores = PUScores.from_pu_labels(y, s, prior=0.3, setting="one-sample")
    assert -score._score_func(y, s, **score._kwargs) == brier(scores) > 0.0
    with pytest.raises(ValueError, match="at least the labeled share"):
        score._score_func(np.array([1] * 10 + [0] * 3), s, **score._kwargs)


@pytest.mark.parametrize("setting", ["two-sample", "one-sample", "labeled"])
def test_folds_share_out_both_groups(setting):
    y = np.random.default_rng(0).permutation(np.r_[np.ones(23), np.zeros(100)]).astype(int)
    splitter = PUStratifiedKFold(5, setting=setting, random_state=3)
    folds = list(splitter.split(np.zeros((123, 1)), y))
    assert splitter.get_n_splits() == len(folds) == 5
    tests = [test for _, test in folds]
    assert sorted(np.concatenate(tests)) == list(range(123))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(123))
    assert {y[test].sum() for test in tests} == {4, 5}
    assert {test.size for test in tests} == {24, 25}
    again = list(PUStratifiedKFold(5, setting=setting, random_state=3).split(y, y))
    other = list(PUStratifiedKFold(5, setting=setting, random_state=4).split(y, y))
    assert all((a[1] == b[1]).all() for a, b in zip(folds, again, strict=True))
    assert any(a[1].tolist() != b[1].tolist() for a, b in zip(folds, other, strict=True))


def test_random_splits_share_out_both_groups():
    y = np.r_[np.ones(20), np.zeros(80)].astype(int)
    splitter = PUStratifiedShuffleSplit(3, setting="one-sample", test_size=0.25)
    splits = list(splitter.split(y, y))
    assert splitter.get_n_splits() == len(splits) == 3
    for train, test in splits:
        assert (y[test].sum(), test.size) == (5, 25)
        assert sorted([*train, *test]) == list(range(100))
    assert splits[0][1].tolist() != splits[1][1].tolist()
    tiny = PUStratifiedShuffleSplit(1, setting="two-sample", test_size=0.01)
    assert next(tiny.split(y, y))[1].size == 2
    X, _, labeled = draw(12)
    score = scorer("proxy_auc", setting="one-sample")
    assert len(cross_val_score(Corrected(), X, labeled, scoring=score, cv=splitter)) == 3


def test_wrong_arguments_are_explained():
    one = {"setting": "one-sample"}
    for make, words in (
        (lambda: scorer("x", **one), "'name' must be a registered metric .ece.*got 'x'"),
        (lambda: scorer("brier", **one), "'prior' must be given with setting='one-sample'"),
        (lambda: scorer("brier", prior=0.3, setting="labeled"), "'prior' must not be given"),
        (lambda: scorer("brier", prior=2.0, **one), "'prior' must be the share"),
        (lambda: scorer("brier", prior=0.3, setting="pu"), "'setting' must specify"),
        (lambda: scorer("brier", prior=0.3, threshold=0.5, **one), "'threshold' is not an option"),
        (lambda: scorer("f_beta", prior=0.3, bta=2, **one), "'bta' is not an option of 'f_beta'"),
        (lambda: PUStratifiedKFold(1, **one), "'n_splits' must be an integer of at least 2"),
        (lambda: PUStratifiedKFold(2, setting="x"), "'setting' must specify"),
        (lambda: PUStratifiedShuffleSplit(2, test_size=1.0, **one), "'test_size' must be"),
        (lambda: next(PUStratifiedKFold(2, **one).split([1, 0, 0], [1, 0, 0])), "at least 2 lab"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def test_scikit_learn_is_loaded_only_when_a_scorer_is_made():
    code = "import sys, noneg, noneg.sklearn; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestThresholdClassifier:
    def fitted(self, **wanted):
        X, y, labeled = draw(0, n=4000, features=3)
        model = LogisticRegression().fit(X[:2000], labeled[:2000])
        options = {"setting": "one-sample", "prior": PRIOR} | wanted
        careful = PUThresholdClassifier(model, **options).fit(X[2000:], labeled[2000:])
        return careful, X[2000:], y[2000:], labeled[2000:]

    def test_it_carries_the_threshold_of_the_library(self):
        careful, X, y, labeled = self.fitted(recall=0.8, prior=None)
        s = careful.classifier.predict_proba(X)[:, 1]
        scores = PUScores.from_pu_labels(labeled, s, setting="one-sample")
        assert careful.threshold_ == recall_threshold(scores, recall=0.8).threshold
        assert np.array_equal(careful.predict(X), s >= careful.threshold_)
        assert careful.predict(X)[y].mean() >= 0.8
        assert np.array_equal(careful.predict_proba(X)[:, 1], s)
        assert careful.n_features_in_ == 3

    def test_precision_and_cost(self):
        careful, X, y, _ = self.fitted(precision=0.5, prior_interval=(0.28, 0.32))
        found = careful.predict(X)
        assert y[found].mean() >= 0.5
        assert careful.promise_.words == "precision at least 0.5 with 95% confidence"
        assert self.fitted(cost=(1, 5))[0].threshold_ < careful.threshold_

    def test_folds_train_it(self):
        X, y, labeled = draw(1, n=3000, features=3)
        careful = PUThresholdClassifier(
            LogisticRegression(), recall=0.8, setting="one-sample", cv=3, positive_label="yes"
        ).fit(X, np.where(labeled, "yes", "no"))
        assert (careful.predict(X)[y] == "yes").mean() > 0.75
        assert sklearn.base.clone(careful).get_params()["recall"] == 0.8

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "one at a time"),
            ({"recall": 0.9, "precision": 0.9}, "one at a time"),
            ({"recall": 0.9, "setting": None}, "setting"),
            ({"precision": 0.9, "prior": None}, "prior"),
            ({"recall": 0.9, "setting": "labeled"}, "'prior' .* is determined by the labels"),
            (
                {"recall": 0.9, "setting": "labeled", "prior": None, "prior_interval": (0.1, 0.4)},
                "'prior_interval' .* is determined by the labels",
            ),
            (
                {"recall": 0.9, "prior": "estimate", "prior_interval": (0.2, 0.4)},
                "'prior_interval' must not be given with prior='estimate'",
            ),
        ],
    )
    def test_refusals(self, options, words):
        with pytest.raises(ValueError, match=words):
            self.fitted(**options)

    def test_a_classifier_must_be_fitted_first(self):
        X, _, labeled = draw(0)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            PUThresholdClassifier(LogisticRegression(), recall=0.9, setting="one-sample").fit(
                X, labeled
            )
