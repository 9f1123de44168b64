"""BoostedPU and its likelihood: closed forms, ordinary boosting, populations with hidden labels."""

import pickle
import sys

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from noneg.learning import BoostedPU, boosting
from noneg.likelihood import LabeledRows, LabelLaw
from noneg.tables.frames import Columns

ENGINES = ["lightgbm", "scikit-learn"]
QUICK = {"max_iter": 100, "folds": 2, "learning_rate": 0.1}


def draw(n, seed=0, prior=0.4):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    return rng.normal(size=(n, 3)) + np.where(y, 1.0, -1.0)[:, None] * [1.0, 0.5, 0.0], y


def posterior(x, prior=0.4):
    return expit(x @ [2.0, 1.0, 0.0] + logit(prior))


def labels(setting, n=3000, share=0.5, seed=0):
    """Return rows and flags for a setting, with SCAR labels."""
    x, y = draw(n, seed)
    rng = np.random.default_rng(seed + 1)
    if setting == "labeled":
        return x, y
    if setting == "one-sample":
        return x, y & (rng.random(n) < share)
    more, truth = draw(n, seed + 2)
    pos = more[truth][: int(share * truth.sum())]
    return np.concatenate([pos, x]), np.arange(len(pos) + n) < len(pos)


class TestLikelihood:
    @given(
        f=st.floats(-20, 20),
        prior=st.floats(0.01, 0.99),
        n_pos=st.integers(1, 50),
        setting=st.sampled_from(["one-sample", "two-sample", "labeled"]),
    )
    def test_probability_of_a_label(self, f, prior, n_pos, setting):
        """c eta in one sample, a eta / (a eta + 1) in two; log odds of eta are f."""
        rows = LabeledRows(np.arange(100) < n_pos, np.ones(100))
        prior = max(prior, n_pos / 100)
        law = LabelLaw.of(rows, setting, prior)
        eta = expit(f)
        if setting == "one-sample":
            chance = n_pos / (prior * 100) * eta
        elif setting == "two-sample":
            a = n_pos / (prior * (100 - n_pos))
            chance = a * eta / (a * eta + 1)
        else:
            chance = eta
        loss = law.loss(rows.flags, np.full(100, f))
        assert np.exp(-loss[0]) == pytest.approx(chance, rel=1e-9)
        assert np.exp(-loss[-1]) == pytest.approx(1 - chance, rel=1e-6, abs=1e-12)

    @given(f=st.floats(-8, 8), prior=st.floats(0.3, 0.9), two=st.booleans())
    def test_slope_and_curvature(self, f, prior, two):
        """The gradient is the derivative of the loss; the curvature bounds the second
        derivative."""
        rows = LabeledRows(np.arange(10) < 3, np.ones(10))
        law = LabelLaw.of(rows, "two-sample" if two else "one-sample", prior)

        def loss(f):
            return law.loss(rows.flags, np.full(10, f))

        slope, curvature = law.slope(rows.flags, np.full(10, f))
        h = 1e-4
        np.testing.assert_allclose(slope, (loss(f + h) - loss(f - h)) / (2 * h), atol=1e-6)
        second = (loss(f + h) - 2 * loss(f) + loss(f - h)) / h**2
        assert (second <= curvature + 1e-6).all()

    def test_propensities_keep_the_number_of_positives(self):
        flags = np.arange(10) < 4
        e = np.where(np.arange(10) % 2, 0.8, 0.4)
        law = LabelLaw.of(LabeledRows(flags, np.ones(10), e), "one-sample", 0.75)
        # The labeled rows represent 2/.8 + 2/.4 = 7.5 positives, which agrees with the prior.
        np.testing.assert_allclose(law.rate, e)
        other = LabelLaw.of(LabeledRows(flags, np.ones(10), e / 3), "one-sample", 0.75)
        np.testing.assert_allclose(other.rate, e)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("setting", ["one-sample", "two-sample", "labeled"])
def test_probabilities_are_near_the_truth(setting, engine):
    x, flags = labels(setting)
    prior = None if setting == "labeled" else 0.4
    model = BoostedPU(setting=setting, prior=prior, engine=engine, **QUICK)
    model.fit(x, flags)
    rows, y = draw(10_000, 9)
    p = model.predict_proba(rows)[:, 1]
    assert np.abs(p - posterior(rows)).mean() < 0.07
    assert p.mean() == pytest.approx(0.4, abs=0.03)
    assert roc_auc_score(y, p) > roc_auc_score(y, posterior(rows)) - 0.01
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_labeled_data_is_ordinary_logistic_boosting():
    x, y = labels("labeled", 800)
    options = {"recalibrate": None, "patience": None, "max_iter": 30, "max_features": 1.0}
    ours = BoostedPU(setting="labeled", engine="lightgbm", n_jobs=1, **options).fit(x, y)
    theirs = lightgbm.LGBMClassifier(
        n_estimators=30,
        learning_rate=0.05,
        num_leaves=4,
        reg_lambda=10.0,
        verbosity=-1,
        n_jobs=1,
    ).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x)[:, 1], theirs.booster_.predict(x), atol=1e-5)
    ours = BoostedPU(setting="labeled", engine="scikit-learn", **options).fit(x, y)
    theirs = HistGradientBoostingClassifier(
        max_iter=30,
        learning_rate=0.05,
        max_leaf_nodes=4,
        l2_regularization=10.0,
        early_stopping=False,
        max_bins=254,
    )
    cuts = [boosting.find_cuts(column) for column in x.T]
    bins = boosting.binned(x, cuts)
    np.testing.assert_allclose(
        ours.predict_proba(x), theirs.fit(bins, y).predict_proba(bins), atol=1e-9
    )


def test_both_engines_take_the_same_steps(monkeypatch):
    """With one tree per round of the fallback, duplicated rows have the gradients of the
    objective."""
    monkeypatch.setattr(boosting._ScikitLearn, "batch", 1)
    x, flags = labels("two-sample", 1500)
    options = {"recalibrate": None, "patience": None, "max_iter": 20, "max_features": 1.0}
    made = [
        BoostedPU(setting="two-sample", prior=0.4, engine=engine, **options).fit(x, flags)
        for engine in ENGINES
    ]
    one, other = (model.decision_function(x) for model in made)
    assert np.corrcoef(one, other)[0, 1] > 0.99
    assert np.abs(one - other).mean() < 0.1


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_values_categories_and_texts(engine):
    """The class depends on a string and on missing values; new values count as missing."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.4
    frame = pd.DataFrame(
        {
            "city": np.where(y ^ (rng.random(2000) < 0.1), "Rome", "Oslo"),
            "kind": pd.Categorical(rng.choice(["a", "b"], 2000)),
            "income": np.where(y & (rng.random(2000) < 0.5), np.nan, rng.normal(size=2000)),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(9, size=2000), "D"),
        }
    )
    labeled = y & (rng.random(2000) < 0.5)
    model = BoostedPU(setting="one-sample", prior=0.4, engine=engine, **QUICK)
    expected = model.fit(frame, labeled).predict_proba(frame)
    assert (model.predict(frame) == y).mean() > 0.9
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 2}
    for other in (pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        np.testing.assert_allclose(model.predict_proba(other), expected)
    unknown = model.predict_proba(frame.assign(city="Paris"))
    absent = model.predict_proba(frame.assign(city=None))
    np.testing.assert_array_equal(unknown, absent)


def test_many_categories_keep_the_frequent_ones():
    values = [f"v{k}" for k in range(300)] + ["often"] * 5
    columns = Columns.of(pd.DataFrame({"a": values}))
    assert len(columns.categories[0]) == 254
    assert "often" in columns.categories[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_monotone_constraints(engine):
    x, flags = labels("one-sample", 1500)
    x[:, 1] *= -1.0
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    options = {"setting": "one-sample", "prior": 0.4, "engine": engine, "recalibrate": None}
    free = BoostedPU(**options, **QUICK).fit(frame, flags)
    tied = BoostedPU(**options, **QUICK, monotonic_cst={"b": 1}).fit(frame, flags)
    ladder = pd.DataFrame({"a": 0.0, "b": np.linspace(-3, 3, 50), "c": 0.0})
    assert (np.diff(free.decision_function(ladder)) < 0).any()
    assert (np.diff(tied.decision_function(ladder)) >= 0).all()
    with pytest.raises(ValueError, match="'monotonic_cst' must name columns, got z"):
        BoostedPU(**options, monotonic_cst={"z": 1}).fit(frame, flags)
    # LightGBM would abort the process.
    for wrong, got in (([1, 0], r"\[1, 0\]"), ([2, 0, 0], "2")):
        with pytest.raises(ValueError, match=f"-1, 0 or 1 for each of the 3 columns, got {got}"):
            BoostedPU(**options, monotonic_cst=wrong).fit(frame, flags)
    frame["c"] = np.where(x[:, 2] > 0.0, "high", "low")
    with pytest.raises(ValueError, match="'monotonic_cst' must be 0 for categories"):
        BoostedPU(**options, monotonic_cst=[0, 0, 1]).fit(frame, flags)


@pytest.mark.parametrize("engine", ENGINES)
def test_importances_belong_to_their_columns(engine):
    """Only column b says anything, and a text column stands after it."""
    x, flags = labels("one-sample", 1500)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=1500)
    text = rng.choice(["red", "blue"], 1500)
    frame = pd.DataFrame({"a": noise, "b": x.sum(1), "c": text, "d": noise[::-1]})
    model = BoostedPU(setting="one-sample", prior=0.4, engine=engine, **QUICK).fit(frame, flags)
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_[1] > 0.5


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_are_repeated_rows(engine):
    """Without folds and with leaves of any size, a row of weight 2 is two rows."""
    x, flags = labels("one-sample", 400)
    twice = 1 + (np.arange(400) % 2)
    options = {"recalibrate": None, "patience": None, "max_iter": 10, "min_samples_leaf": 1}
    model = BoostedPU(setting="one-sample", prior=0.4, engine=engine, **options)
    weighted = model.fit(x, flags, sample_weight=twice).decision_function(x)
    repeated = model.fit(np.repeat(x, twice, 0), np.repeat(flags, twice)).decision_function(x)
    assert np.corrcoef(weighted, repeated)[0, 1] > 0.98
    assert np.abs(weighted - repeated).mean() < 0.05


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_propensities_undo_selection(setting):
    """Positives with a large third column are labeled four times as often."""
    x, y = draw(6000)
    e = np.where(x[:, 2] > 0.0, 0.8, 0.2)
    chosen = y & (np.random.default_rng(1).random(6000) < e)
    flags = chosen
    if setting == "two-sample":
        more, _ = draw(4000, 5)
        x = np.concatenate([x[chosen], more])
        flags = np.arange(len(x)) < chosen.sum()
        e = np.where(x[:, 2] > 0.0, 0.8, 0.2)
    rows, _ = draw(5000, 9)
    errors = [
        np.abs(
            BoostedPU(setting=setting, prior=0.4, **QUICK)
            .fit(x, flags, propensity=given)
            .predict_proba(rows)[:, 1]
            - posterior(rows)
        ).mean()
        for given in (e, None)
    ]
    assert errors[0] < 0.08
    assert errors[0] < 0.8 * errors[1]


def test_early_stopping_keeps_the_best_round():
    x, flags = labels("one-sample", 600, 0.3)
    model = BoostedPU(
        setting="one-sample", prior=0.4, patience=10, learning_rate=0.3, recalibrate=None
    ).fit(x, flags)
    assert model.n_iter_ == model.losses_.argmin() + 1
    assert len(model.losses_) == model.n_iter_ + 10
    # The stored losses are those of the labels under the out-of-fold probabilities.
    law = LabelLaw.of(LabeledRows(flags, np.ones(flags.size)), "one-sample", 0.4)
    loss = law.loss(flags, logit(model.out_of_fold_)).mean()
    assert loss == pytest.approx(model.losses_.min(), rel=1e-6)


def test_many_rows_hold_out_one_fifth(monkeypatch):
    monkeypatch.setattr(boosting, "LARGE", 1000)
    x, flags = labels("one-sample", 1000)
    model = BoostedPU(setting="one-sample", prior=0.4).fit(x, flags)
    assert len(model.trees_) == 1
    assert np.isfinite(model.out_of_fold_).sum() == 200


def test_large_integers_keep_their_digits():
    """The two classes differ by one in a column of about a hundred million."""
    _, flags = labels("one-sample", 400)
    x = 100_000_000 + flags[:, None].astype(np.int64)
    model = BoostedPU(setting="one-sample", prior=0.5, recalibrate=None, **QUICK).fit(x, flags)
    p = model.predict_proba(x)[:, 1]
    assert p[flags].min() > p[~flags].max()


def test_texts_as_labels_pickles_and_names():
    x, flags = labels("one-sample", 500)
    words = np.where(flags, "fraud", "unknown")
    model = BoostedPU(setting="one-sample", prior=0.4, positive_label="fraud", **QUICK)
    model.fit(x, words)
    assert set(model.predict(x)) == {"fraud", "unknown"}
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert model.score(x, words) > 1.0


def test_estimated_prior():
    x, flags = labels("one-sample", 3000)
    model = BoostedPU(setting="one-sample", prior="estimate", **QUICK).fit(x, flags)
    assert model.prior_ == pytest.approx(0.4, abs=0.1)
    assert model.prior_estimate_.value == model.prior_


def test_invalid_input_is_rejected(monkeypatch):
    x, flags = labels("one-sample", 200)
    with pytest.raises(
        ValueError, match="'engine' must be 'auto' or one of lightgbm, scikit-learn"
    ):
        BoostedPU(setting="one-sample", prior=0.4, engine="xgboost").fit(x, flags)
    with pytest.raises(ValueError, match="'prior' must not be given with setting='labeled'"):
        BoostedPU(setting="labeled", prior=0.4).fit(x, flags)
    with pytest.raises(ValueError, match="'sample_weight' must not be negative"):
        BoostedPU(setting="one-sample", prior=0.4).fit(x, flags, -np.ones(200))
    for name, value, rule in (
        ("max_iter", 0, "an integer of at least 1"),
        ("patience", 0, "an integer of at least 1"),
        ("max_leaf_nodes", 1, "an integer of at least 2"),
        ("min_samples_leaf", 0.5, "an integer of at least 1"),
        ("learning_rate", -1, "a number above 0"),
        ("l2_regularization", -1, "a number of at least 0"),
        ("max_features", 2, r"a share in \(0, 1\]"),
    ):
        with pytest.raises(ValueError, match=f"'{name}' must be {rule}, got {value}"):
            BoostedPU(setting="one-sample", prior=0.4, **{name: value}).fit(x, flags)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"needs lightgbm.*noneg\[boost\].*engine='scikit-learn'"):
        BoostedPU(setting="one-sample", prior=0.4, engine="lightgbm").fit(x, flags)
