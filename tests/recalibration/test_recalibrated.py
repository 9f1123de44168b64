"""A classifier calibrated during training: no row scores itself, and probabilities are right."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from noneg.recalibration import METHODS, Histogram
from noneg.recalibration.choose import held_out
from noneg.recalibration.recalibrated import Recalibrated
from noneg.sklearn import PUStratifiedKFold, scorer

UNNAMED = "trains on labels 1 and 2 and does not say which is positive; that is never guessed"
EXPECTED = {
    "check_estimators_dtypes": UNNAMED,
    "check_sample_weights_pandas_series": UNNAMED,
    "check_sample_weights_not_an_array": UNNAMED,
    "check_sample_weights_shape": UNNAMED,
    "check_sample_weights_not_overwritten": UNNAMED,
    "check_classifier_data_not_an_array": UNNAMED,
    "check_fit2d_1feature": UNNAMED,
    "check_classifiers_classes": "trains on texts without saying which is positive",
}


def posterior(x):
    """P(Y = 1 | x) for classes N(+-1, 1) of equal frequency."""
    return 1.0 / (1.0 + np.exp(-2.0 * x[:, 0]))


def world(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    return rng.normal(size=(n, 1)) + np.where(y, 1.0, -1.0)[:, None], y


def pu_world(setting, seed=0):
    """Rows with PU labels: a quarter of the positives, or 1000 positives and 4000 other rows."""
    x, y = world(5000, seed)
    if setting == "one-sample":
        return x, (y & (np.random.default_rng(seed + 1).random(5000) < 0.25)).astype(int)
    more, theirs = world(4000, seed + 2)
    positive = x[y][:1000]
    assert theirs.size == 4000
    return np.concatenate([positive, more]), np.repeat([1, 0], [1000, 4000])


class TestScikitLearn:
    def test_checks_of_an_estimator(self):
        model = Recalibrated(
            LogisticRegression(), method="isotonic", cv=2, setting="two-sample", prior=0.5
        )
        results = check_estimator(
            model, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
        )
        failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
        assert failed == {}
        xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
        assert xfailed == set(EXPECTED)
        assert sum(r["status"] == "passed" for r in results) >= 50

    def test_the_unnamed_checks_pass_when_the_positive_label_is_given(self):
        model = Recalibrated(
            LogisticRegression(), method="isotonic", cv=2, setting="labeled", positive_label=2
        )
        results = check_estimator(model, on_fail=None, on_skip=None)
        status = {r["check_name"]: r["status"] for r in results}
        passed = {
            name for name, why in EXPECTED.items() if why == UNNAMED and status[name] == "passed"
        }
        # The images of the last two checks are labeled by other pairs in places.
        assert passed >= set(EXPECTED) - {"check_fit2d_1feature", "check_classifiers_classes"}

    def test_clone_and_search(self):
        x, labeled = pu_world("one-sample")
        model = Recalibrated(
            GaussianNB(), method=Histogram(bins=5), setting="one-sample", prior=0.5
        )
        copy = clone(model)
        assert copy.method is not model.method
        assert copy.method.bins == 5
        search = GridSearchCV(
            clone(model).set_params(method="platt"),
            {"method": ["platt", "identity"], "classifier__var_smoothing": [1e-9]},
            scoring=scorer("brier", setting="one-sample", prior=0.5),
            cv=PUStratifiedKFold(3, setting="one-sample"),
        ).fit(x, labeled)
        assert search.best_params_["method"] == "platt"


class TestCrossFit:
    def test_no_row_is_scored_by_a_classifier_that_has_seen_it(self):
        seen = []

        class Memory(ClassifierMixin, BaseEstimator):
            """Certain about the labels of rows it has seen, and one half for others."""

            def fit(self, X, y):
                self.classes_, self.known = np.unique(y), dict(zip(X[:, 0], y, strict=True))
                seen.append(len(X))
                return self

            def predict_proba(self, X):
                p = np.array([self.known.get(x, 0.5) for x in X[:, 0]], dtype=float)
                return np.stack([1 - p, p], axis=1)

        x, y = world(100)
        model = Recalibrated(Memory(), method="identity", setting="labeled", cv=4)
        model.fit(x, y.astype(int))
        assert seen == [75, 75, 75, 75, 100]
        for group in model.out_of_fold_.in_order():
            assert (group[0] == 0.5).all()

    def test_the_same_as_scikit_learns_cross_val_predict(self):
        x, labeled = pu_world("one-sample")
        cv = PUStratifiedKFold(5, setting="one-sample")
        model = Recalibrated(GaussianNB(), method="platt", setting="one-sample", prior=0.5, cv=cv)
        model.fit(x, labeled)
        score = cross_val_predict(GaussianNB(), x, labeled, cv=cv, method="predict_proba")[:, 1]
        unlabeled, positive = model.out_of_fold_.in_order()
        assert np.array_equal(positive[0], np.sort(score[labeled == 1]))
        assert np.array_equal(unlabeled[0], np.sort(score[labeled == 0]))

    def test_a_splitter_that_leaves_rows_out_is_rejected(self):
        x, y = world(50)
        model = Recalibrated(GaussianNB(), setting="labeled", cv=ShuffleSplit(2, test_size=0.3))
        with pytest.raises(ValueError, match="'cv' must assign every row to one test fold"):
            model.fit(x, y)


class TestTruth:
    @pytest.mark.parametrize("method", ["platt", "beta", "isotonic", "auto"])
    @pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
    def test_probabilities_are_those_of_being_positive(self, setting, method):
        """The classifier learns which rows are labeled; after calibration, it predicts which are
        positive."""
        x, labeled = pu_world(setting)
        fresh, _ = world(5000, seed=9)
        truth = posterior(fresh)
        raw = GaussianNB().fit(x, labeled).predict_proba(fresh)[:, 1]
        model = Recalibrated(GaussianNB(), method=method, setting=setting, prior=0.5)
        got = model.fit(x, labeled).predict_proba(fresh)
        assert np.allclose(got.sum(axis=1), 1.0)
        assert np.abs(raw - truth).mean() > 0.2
        assert np.abs(got[:, 1] - truth).mean() < 0.06

    def test_margins_do_where_there_are_no_probabilities(self):
        x, labeled = pu_world("one-sample")
        model = Recalibrated(LinearSVC(), method="platt", setting="one-sample", prior=0.5)
        got = model.fit(x, labeled).predict_proba(x)[:, 1]
        assert np.abs(got - posterior(x)).mean() < 0.06

    def test_out_of_fold_scores_show_what_calibration_does(self):
        x, labeled = pu_world("one-sample")
        model = Recalibrated(GaussianNB(), method="platt", setting="one-sample", prior=0.5)
        found = held_out(model.method, model.fit(x, labeled).out_of_fold_)
        assert found.improved == {"ece": True, "log_loss": True, "brier": True}

    def test_weights_reach_the_classifier_and_the_calibrator(self):
        x, y = world(400)
        weight = np.where(y, 3.0, 1.0)
        model = Recalibrated(LogisticRegression(), method="platt", setting="labeled")
        plain = clone(model).fit(x, y).predict_proba(x)[:, 1].mean()
        weighted = model.fit(x, y, sample_weight=weight).predict_proba(x)[:, 1]
        assert weighted.mean() > plain + 0.1
        # The maximum of a weighted likelihood with an intercept reproduces the weighted share.
        assert model.out_of_fold_.prior == pytest.approx((3 * y).sum() / weight.sum())

    def test_predict_and_labels_of_any_kind(self):
        x, y = world(300)
        for labels, positive in ((np.where(y, 1, -1), None), (np.where(y, "yes", "no"), "yes")):
            model = Recalibrated(
                GaussianNB(), method="platt", setting="labeled", positive_label=positive
            ).fit(x, labels)
            assert np.mean(model.predict(x) == labels) > 0.75
            assert model.predict_proba(x)[x[:, 0] > 1.5, 1].min() > 0.5
        # "unlabeled" comes after "positive" alphabetically.
        words = np.where(y, "positive", "unlabeled")
        model = Recalibrated(GaussianNB(), setting="labeled", positive_label="positive").fit(
            x, words
        )
        assert list(model.classes_) == ["unlabeled", "positive"]
        assert model.score(x, words) > 0.75


class TestRefusals:
    def test_what_is_never_guessed(self):
        x, y = world(50)
        with pytest.raises(ValueError, match="'setting' must specify how the rows were sampled"):
            Recalibrated(GaussianNB()).fit(x, y)
        missing = (
            "'prior' must be given with setting='one-sample'.*Use an external source, such as a "
            "reviewed sample, or prior='estimate' to estimate it from these rows.$"
        )
        with pytest.raises(ValueError, match=missing):
            Recalibrated(GaussianNB(), setting="one-sample").fit(x, y)
        with pytest.raises(ValueError, match="'prior' must not be given with setting='labeled'"):
            Recalibrated(GaussianNB(), setting="labeled", prior=0.4).fit(x, y)
        with pytest.raises(ValueError, match="so the positive value is unclear"):
            Recalibrated(GaussianNB(), setting="labeled").fit(x, np.where(y, "a", "b"))

    @pytest.mark.parametrize("cv", [1, 26, True, 2.5, None])
    def test_folds(self, cv):
        x = np.arange(50.0)[:, None]
        y = np.arange(50) % 2
        with pytest.raises(ValueError, match="'cv' must be a splitter, or a number of folds"):
            Recalibrated(GaussianNB(), setting="labeled", cv=cv).fit(x, y)

    def test_unknown_method(self):
        x, y = world(50)
        with pytest.raises(ValueError, match=", ".join(list(METHODS)[:2])):
            Recalibrated(GaussianNB(), method="no", setting="labeled").fit(x, y)
