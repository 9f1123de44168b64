"""scikit-learn's own checks and conventions: weight routing, data frames, feature names."""

from traceback import format_exception

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from learning.sklearn_checks import MODELS, results
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noneg.recalibration import Recalibrated
from noneg.sklearn import PUStratifiedKFold, scorer

RNG = np.random.default_rng(0)
TRUTH = RNG.random(300) < 0.4
X = RNG.normal(size=(300, 3)) + TRUTH[:, None]
LABELED = TRUTH & (RNG.random(300) < 0.5)


@pytest.mark.parametrize("name", MODELS)
def test_only_what_is_by_design_fails(name):
    found = results(name)
    failed = [
        "".join((f"{r['check_name']}:\n", *format_exception(r["exception"])[-2:]))
        for r in found
        if r["status"] == "failed"
    ]
    assert not failed, "\n".join(failed)
    # A reason for a check that passes would be outdated.
    unneeded = {r["check_name"] for r in found if r["status"] == "passed"} & set(MODELS[name][1])
    assert unneeded <= SOMETIMES


def test_scikit_learn_declares_the_same_of_its_own_bagging():
    from sklearn.ensemble import BaggingClassifier
    from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS

    by_design = {name for name in MODELS["BaggingPU"][1] if "equivalence" in name}
    assert by_design
    assert by_design <= set(PER_ESTIMATOR_XFAIL_CHECKS[BaggingClassifier])


# It runs several times on other data, or depends on rounding, so it may pass.
SOMETIMES = {"check_classifiers_train", "check_methods_subset_invariance"}


@pytest.mark.parametrize("name", MODELS)
def test_frames_in(name):
    model, _ = MODELS[name]
    if isinstance(model, Recalibrated):
        # The layout of a frame changes the last bits of a score, and with them the folds of "auto".
        model = clone(model).set_params(method="platt")
    names = ["a", "b", "c"]
    expected = clone(model).fit(X, LABELED).predict_proba(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        fitted = clone(model).fit(frame, LABELED)
        np.testing.assert_allclose(fitted.predict_proba(frame), expected, atol=1e-5)
        assert list(fitted.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict_proba(pd.DataFrame(X, columns=["c", "b", "a"]))


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True)])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_labels_of_the_given_kind(name, labels):
    model, _ = MODELS[name]
    fitted = clone(model).fit(X, np.where(LABELED, labels[1], labels[0]))
    assert set(fitted.predict(X).tolist()) <= set(labels)
    assert fitted.classes_.tolist() == list(labels)


def test_weights_are_routed_to_the_fit_and_to_the_score():
    weight = 1.0 + np.arange(300) % 3
    folds = PUStratifiedKFold(3, setting="one-sample")
    with sklearn.config_context(enable_metadata_routing=True):
        model = Recalibrated(
            LogisticRegression(), setting="one-sample", prior=0.4, method="platt"
        ).set_fit_request(sample_weight=True)
        score = scorer("brier", setting="one-sample", prior=0.4)
        score = score.set_score_request(sample_weight=True)
        found = {
            kind: cross_validate(
                make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model),
                X,
                LABELED,
                scoring=score,
                cv=folds,
                params={"sample_weight": w},
                return_estimator=True,
            )
            for kind, w in (("unequal", weight), ("ones", np.ones(300)))
        }
        plain = cross_validate(
            make_pipeline(StandardScaler(), clone(model).set_fit_request(sample_weight=False)),
            X,
            LABELED,
            scoring=score.set_score_request(sample_weight=False),
            cv=folds,
        )
    np.testing.assert_allclose(found["ones"]["test_score"], plain["test_score"])
    assert np.abs(found["unequal"]["test_score"] - plain["test_score"]).max() > 1e-4
    pooled = found["unequal"]["estimator"][0][-1].out_of_fold_
    assert pooled.effective_marginal < pooled.n_marginal
