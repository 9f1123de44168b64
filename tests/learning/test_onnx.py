"""ONNX graphs reproduce the learner's probabilities, with missing values and unknown categories."""

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession

from noneg.errors import InputError
from noneg.learning import BaggingPU, BoostedPU, LinearPU, PUClassifier, save_onnx

RNG = np.random.default_rng(3)
N = 900
Y = RNG.random(N) < 0.4
LABELED = Y & (RNG.random(N) < 0.5)
NUMBERS = RNG.normal(size=(N, 4)) + Y[:, None] * [1.0, 0.5, 0.0, 0.0]
PU = {"setting": "one-sample", "prior": 0.4}


def answers(model, path, inputs):
    save_onnx(model, path)
    (found,) = InferenceSession(path).run(None, inputs)
    return found[:, 0]


def column(values, kind=float):
    return np.asarray(values, dtype=kind)[:, None]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("recalibrate", ["likelihood", None])
def test_trees_give_the_same_probabilities(tmp_path, gaps, recalibrate):
    X = NUMBERS.copy()
    if gaps:
        X[::7, 0] = np.nan
    model = PUClassifier(**PU, recalibrate=recalibrate).fit(X, LABELED)
    # New missing values, in columns that had some and in columns that had none.
    new = RNG.normal(size=(400, 4))
    new[::3, 0] = new[::5, 1] = np.nan
    found = answers(model, tmp_path / "model.onnx", {"X": new})
    np.testing.assert_allclose(found, model.predict_proba(new)[:, 1], rtol=1e-12)


def test_texts_known_and_unknown(tmp_path):
    kinds = np.where(Y, RNG.choice(list("xyz"), N), RNG.choice(list("zwv"), N)).astype(object)
    kinds[::11] = None
    frame = pd.DataFrame({"size": NUMBERS[:, 0], "kind": kinds, "group": RNG.choice(list("ab"), N)})
    model = BoostedPU(**PU, min_samples_leaf=5).fit(frame, LABELED)
    assert model.feature_importances_[1] > 0.1
    new = pd.DataFrame({"size": [0.1, np.nan] * 5, "kind": list("xyzwvxyzw?"), "group": ["b"] * 10})
    texts = {name: column(new[name], object) for name in ("kind", "group")}
    found = answers(model, tmp_path / "model.onnx", {"size": column(new["size"])} | texts)
    np.testing.assert_allclose(found, model.predict_proba(new)[:, 1], rtol=1e-12)
    assert np.ptp(found) > 0.1


def test_a_single_leaf_is_a_tree(tmp_path):
    model = BoostedPU(**PU, min_samples_leaf=N, max_iter=2, patience=None).fit(NUMBERS, LABELED)
    found = answers(model, tmp_path / "model.onnx", {"X": NUMBERS})
    np.testing.assert_allclose(found, model.predict_proba(NUMBERS)[:, 1], rtol=1e-12)


def test_linear(tmp_path):
    model = LinearPU(**PU, alpha=0.1).fit(NUMBERS, LABELED)
    found = answers(model, tmp_path / "model.onnx", {"X": NUMBERS})
    np.testing.assert_allclose(found, model.predict_proba(NUMBERS)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BaggingPU(**PU, n_estimators=2), "BoostedPU or LinearPU"),
        (BoostedPU(**PU, recalibrate="platt", max_iter=5), "recalibrate='likelihood'"),
        (BoostedPU(**PU, engine="scikit-learn", max_iter=10), "engine='lightgbm'"),
    ],
)
def test_what_has_no_graph_is_rejected(tmp_path, model, message):
    with pytest.raises(InputError, match=message):
        save_onnx(model.fit(NUMBERS, LABELED), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
