"""Wrappers pass tables on unchanged; "auto" compares; weights reach the last step."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noneg.learning import BaggingPU, LinearPU, PUClassifier, WeightedPU
from noneg.learning.estimator import TABLE_LEARNERS
from noneg.recalibration import Recalibrated

PU = {"setting": "one-sample", "prior": 0.4}
RNG = np.random.default_rng(0)
Y = RNG.random(800) < 0.4
LABELED = Y & (RNG.random(800) < 0.5)
FRAME = pd.DataFrame(
    {
        "text": np.where(Y ^ (RNG.random(800) < 0.1), "wire money now", "see you at lunch"),
        "kind": pd.Categorical(np.where(Y ^ (RNG.random(800) < 0.3), "a", "b")),
        "size": np.where(RNG.random(800) < 0.2, np.nan, RNG.normal(size=800) + Y),
    }
)
WRAPPERS = {
    "weighted": lambda inner, **rest: WeightedPU(inner, **PU, **rest),
    "bagging": lambda inner, **rest: BaggingPU(inner, **PU, n_estimators=5, **rest),
    "recalibrated": lambda inner, **rest: Recalibrated(inner, method="platt", **PU, **rest),
}


def texts():
    vectors = make_column_transformer((CountVectorizer(), "text"))
    return make_pipeline(vectors, LogisticRegression())


@pytest.mark.parametrize("name", WRAPPERS)
def test_texts_go_through_a_pipeline(name):
    model = WRAPPERS[name](texts()).fit(FRAME, LABELED)
    assert roc_auc_score(Y, model.predict_proba(FRAME)[:, 1]) > 0.85


@pytest.mark.parametrize("name", WRAPPERS)
def test_gaps_and_categories_go_through(name):
    inner = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20)
    columns = FRAME[["kind", "size"]]
    model = WRAPPERS[name](inner).fit(columns, LABELED)
    assert roc_auc_score(Y, model.predict_proba(columns)[:, 1]) > 0.75
    assert model.n_features_in_ == 2
    polars = pl.from_pandas(columns).with_columns(pl.col("kind").cast(pl.Categorical))
    again = WRAPPERS[name](inner).fit(polars, LABELED)
    np.testing.assert_allclose(again.predict_proba(polars), model.predict_proba(columns))


@pytest.mark.parametrize("name", WRAPPERS)
def test_words_as_labels_and_work_side_by_side(name):
    words = np.where(LABELED, "spam", "unknown")
    x = FRAME[["size"]].fillna(0.0)
    inner = LogisticRegression()
    model = WRAPPERS[name](inner, positive_label="spam").fit(x, words)
    assert list(model.classes_) == ["unknown", "spam"]
    assert set(model.predict(x)) <= {"unknown", "spam"}
    with sklearn.config_context(enable_metadata_routing=False):
        both = WRAPPERS[name](inner, positive_label="spam", n_jobs=2).fit(x, words)
    np.testing.assert_array_equal(both.predict_proba(x), model.predict_proba(x))


class Noting(ClassifierMixin, BaseEstimator):
    """Records the weights that it was fitted with."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        Noting.seen.append(sample_weight)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_weights_reach_the_last_step_of_a_pipeline():
    x, weight = FRAME[["size"]].fillna(0.0).to_numpy(), 1.0 + np.arange(800) % 2
    Noting.seen.clear()
    model = WeightedPU(make_pipeline(StandardScaler(), Noting()), **PU, folds=2)
    model.fit(x, LABELED, sample_weight=weight)
    assert [w is not None for w in Noting.seen] == [True] * 3
    assert Noting.seen[-1].mean() == pytest.approx(1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        steps = StandardScaler().set_fit_request(sample_weight=False), Noting()
        inner = make_pipeline(steps[0], steps[1].set_fit_request(sample_weight=True))
        routed = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            WeightedPU(inner, **PU, folds=2).set_fit_request(sample_weight=True, propensity=True),
        )
        routed.fit(x, LABELED, sample_weight=weight, propensity=np.full(800, 0.5))
    Noting.seen.clear()
    model = Recalibrated(make_pipeline(StandardScaler(), Noting()), **PU, cv=2, method="identity")
    model.fit(x, LABELED, sample_weight=weight)
    assert [w is not None for w in Noting.seen] == [True] * 3
    with pytest.raises(ValueError, match="'estimator' must accept sample_weight, got 'KNeighbors"):
        WeightedPU(KNeighborsClassifier(), **PU).fit(x, LABELED)


def test_weights_have_the_mean_implied_by_the_prior():
    x = FRAME[["size"]].fillna(0.0)
    model = WeightedPU(LogisticRegression(), **PU).fit(x, LABELED)
    share = (0.4 * 800 - LABELED.sum()) / (~LABELED).sum()
    assert model.weights_.mean() == pytest.approx(share)
    two = WeightedPU(LogisticRegression(), setting="two-sample", prior=0.3).fit(x, LABELED)
    assert two.weights_.mean() == pytest.approx(0.3)


def test_auto_takes_the_likeliest():
    """The truth is linear, so a linear model explains held-out labels best, as the losses show."""
    rng = np.random.default_rng(1)
    y = rng.random(600) < 0.4
    x = rng.normal(size=(600, 6)) + np.where(y, 0.7, -0.7)[:, None]
    labeled = y & (rng.random(600) < 0.5)
    model = PUClassifier("auto", **PU).fit(x, labeled)
    assert min(model.compared_, key=model.compared_.get) == "linear"
    assert isinstance(model.model_, LinearPU)
    assert set(model.compared_) == {"boosted", "bagging", "linear"}
    # A frame of numbers is compared like the array; categories and gaps are for boosted trees.
    names = [f"x{k}" for k in range(6)]
    for frame in (pd.DataFrame(x, columns=names), pa.table(dict(zip(names, x.T, strict=True)))):
        framed = PUClassifier("auto", **PU).fit(frame, labeled)
        assert framed.compared_ == pytest.approx(model.compared_)
        np.testing.assert_allclose(framed.predict_proba(frame), model.predict_proba(x))
    gaps = PUClassifier("auto", **PU).fit(FRAME[["kind", "size"]], LABELED)
    assert set(gaps.compared_) == {"boosted"}
    known = PUClassifier("auto", setting="labeled").fit(x, y)
    assert set(known.compared_) == {"boosted"}


def test_the_penalty_of_few_and_of_many_rows():
    """With noise columns, few positives need a large penalty, and many need a small one."""
    rng = np.random.default_rng(2)
    alphas = []
    for n in (300, 20_000):
        y = rng.random(n) < 0.4
        x = rng.normal(size=(n, 30))
        x[:, 0] += np.where(y, 1.0, -1.0)
        labeled = y & (rng.random(n) < 0.3)
        alphas.append(LinearPU(**PU).fit(x, labeled).alpha_)
    assert alphas[0] > alphas[1]
    assert LinearPU(**PU).fit(x[:40], np.arange(40) < 6).alpha_ == pytest.approx(0.1)


@pytest.mark.parametrize("kind", [*TABLE_LEARNERS.values(), PUClassifier])
def test_every_learner_estimates_the_prior(kind):
    x = FRAME[["size"]].fillna(0.0).to_numpy() + 3.0 * Y[:, None]
    model = kind(setting="one-sample", prior="estimate").fit(x, LABELED)
    assert model.prior_ == pytest.approx(0.4, abs=0.1)
    assert model.prior_ == pytest.approx(model.prior_estimate_.value)


def test_recalibrated_takes_propensities():
    """The upper half of the positives is labeled four times as often as the lower half."""
    rng = np.random.default_rng(4)
    y = rng.random(20_000) < 0.4
    x = rng.normal(size=20_000) + 2.0 * y
    e = np.where(x > 2.0, 0.8, 0.2)
    labeled = y & (rng.random(20_000) < e)
    truth = 1.0 / (1.0 + 1.5 * np.exp(2.0 - 2.0 * x))
    model = Recalibrated(LogisticRegression(), **PU, method="platt", cv=2)
    errors = [
        np.abs(
            model.fit(x[:, None], labeled, propensity=given).predict_proba(x[:, None])[:, 1] - truth
        )
        for given in (e, None)
    ]
    assert errors[0].mean() < 0.02
    assert errors[0].mean() < errors[1].mean() / 2.0


def test_recalibrated_estimates_the_prior():
    x = FRAME[["size"]].fillna(0.0).to_numpy() + 3.0 * Y[:, None]
    model = Recalibrated(LogisticRegression(), setting="one-sample", prior="estimate")
    assert model.fit(x, LABELED).out_of_fold_.prior == pytest.approx(0.4, abs=0.1)
