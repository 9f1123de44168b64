"""Models in folders: identical predictions, no pickle, and no unknown types."""

import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noneg.learning import (
    BaggingPU,
    BoostedPU,
    LinearPU,
    PUClassifier,
    WeightedPU,
    load_model,
    save_model,
)
from noneg.learning.networks import MLP
from noneg.learning.saving import model_notes
from noneg.recalibration import Recalibrated

PU = {"setting": "one-sample", "prior": 0.4}
RNG = np.random.default_rng(0)
Y = RNG.random(300) < 0.4
X = RNG.normal(size=(300, 3)) + Y[:, None]
LABELED = Y & (RNG.random(300) < 0.5)
QUICK = {"max_iter": 20, "folds": 2}
NETWORK = {"epochs": 2, "folds": 2, "batch_size": 64}
MODELS = {
    "boosted": BoostedPU(**PU, **QUICK),
    "fallback": BoostedPU(**PU, **QUICK, engine="scikit-learn", recalibrate="isotonic"),
    "estimated": PUClassifier(setting="one-sample", prior="estimate"),
    "weighted": WeightedPU(LogisticRegression(), **PU),
    "bagging": BaggingPU(**PU, n_estimators=3),
    "pipeline": make_pipeline(StandardScaler(), LinearPU(**PU)),
    "recalibrated": Recalibrated(LogisticRegression(), **PU),
    "nnpu": PUClassifier("nnpu", **PU, **NETWORK),
    # These store networks and numbers in addition to the one that predicts.
    "lbe": PUClassifier("lbe", **PU, **NETWORK),
    "pusb": PUClassifier("pusb", **PU, **NETWORK),
    "vpu": PUClassifier("vpu", **PU, **NETWORK),
    # Numbers that JSON cannot represent: an unknown prior and infinite thresholds.
    "without a prior": PUClassifier("vpu", setting="one-sample", **NETWORK),
    "pubn": PUClassifier("pubn", **PU, **NETWORK, recalibrate=None),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_probabilities_come_back(name, tmp_path, monkeypatch):
    model = MODELS[name].fit(X, LABELED)
    expected = model.predict_proba(X)
    monkeypatch.setattr(pickle, "dump", None)
    monkeypatch.setattr(torch, "save", None)
    save_model(model, tmp_path / "model", notes={"by": "me"})
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert model_notes(tmp_path / "model") == {"by": "me"}
    # Saving does not change the model.
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_categories_come_back(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(Y, "yes", "no")})
    model = BoostedPU(**PU, **QUICK).fit(frame, LABELED)
    save_model(model, tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(frame), model.predict(frame))


def test_a_network_of_ones_own_is_asked_for(tmp_path):
    model = PUClassifier("upu", **PU, **NETWORK, network=lambda: MLP(3, (4,))).fit(X, LABELED)
    save_model(model, tmp_path)
    with pytest.raises(ValueError, match="'network' must be given"):
        load_model(tmp_path)
    again = load_model(tmp_path, network=lambda: MLP(3, (4,)))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


class Foreign:
    """A type from another package."""

    def __init__(self):
        self.x = 1


def test_what_is_not_a_model_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="'folder' must contain a model of version 1"):
        load_model(tmp_path)
    save_model(LinearPU(**PU).fit(X, LABELED), tmp_path)
    skops.io.dump(Foreign(), tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"objects of unexpected types: .*Foreign"):
        load_model(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(about | {"version": 9}))
    with pytest.raises(ValueError, match="must contain a model of version 1"):
        load_model(tmp_path)


def test_no_pickle_is_in_the_file(tmp_path):
    save_model(MODELS["bagging"].fit(X, LABELED), tmp_path)
    with zipfile.ZipFile(tmp_path / "model.skops") as file:
        assert {name.rsplit(".", 1)[-1] for name in file.namelist()} <= {
            "json",
            "npy",
            "npz",
            "bin",
        }
