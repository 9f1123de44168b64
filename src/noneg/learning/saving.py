"""Save learners without pickle, so that loading cannot run code, and export them as ONNX graphs.

``model.skops`` contains the learner (JSON and arrays in a zip file; LightGBM trees in LightGBM's
text format), ``weights.safetensors`` contains network weights, and ``model.json`` contains
metadata.

ONNX graphs are for servers without Python. LightGBM trees become one ``TreeEnsemble`` operator
(ai.onnx.ml 5), whose splits support missing values and sets of categories. The slope of the
recalibration line is folded into the leaves.
"""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from noneg.atomic import replacing, write_text
from noneg.errors import InputError
from noneg.extras import optional
from noneg.learning.boosting import BoostedPU
from noneg.learning.tabular import LinearPU

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from torch import nn

    from noneg.learning.contract import Algorithm

FORMAT, VERSION = "noneg.model", 1
MODEL, WEIGHTS, ABOUT = "model.skops", "weights.safetensors", "model.json"
# Prefixes of the type names that may be loaded; skops already trusts NumPy types.
_TRUSTED = ("noneg.", "sklearn.")
_ABOUT_ROWS = ("out_of_fold_", "out_of_bag_", "weights_")
_FLOAT = "float"
# Prefix of the names of tensors in the state of an algorithm; the others are weights.
_STATE = "state."
# The attributes that determine a task.
_TASK = ("n_pos", "n_unl", "setting", "population_prior", "correction")
# scikit-learn's trees store their input validation as one of these.
_PARTIAL = "functools.partial"


def save_model(
    model: Any,  # noqa: ANN401
    folder: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted learner, or a pipeline that ends in one, to a folder.

    Parameters
    ----------
    model : estimator
        A learner from `noneg.learning`, a `Recalibrated` classifier, or a scikit-learn pipeline.
    folder : path
        Where to write; created if it does not exist. Files of an older model are replaced.
        Attributes about individual training rows, such as `out_of_fold_`, are not saved.
    notes : mapping, optional
        JSON-serializable notes to store with the model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from noneg.learning import LinearPU, load_model, save_model
    >>> X, labeled = np.arange(40.0)[:, None], np.arange(40) > 30
    >>> model = LinearPU(setting="one-sample", prior=0.5).fit(X, labeled)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, folder)
    ...     again = load_model(folder)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    with optional("saving a model"):
        import skops.io

    check_is_fitted(model)
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    algorithm, rest = getattr(model, "algorithm_", None), _served(model)
    if algorithm is not None:
        rest.set_params(algorithm=algorithm.name, network=None)
        del rest.algorithm_
    with replacing(home / MODEL) as partial:
        skops.io.dump(rest, partial, compression=ZIP_DEFLATED)
    network = None if algorithm is None else _save_network(model, algorithm, home)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "noneg": version("noneg"),
        "learner": type(model).__name__,
        "network": network,
        "notes": dict(notes or {}),
    }
    write_text(home / ABOUT, json.dumps(about, indent=2, allow_nan=False))


def load_model(
    folder: str | os.PathLike[str],
    *,
    network: nn.Module | Callable[[], nn.Module] | None = None,
) -> Any:  # noqa: ANN401
    """Load a model saved by `save_model`.

    Parameters
    ----------
    folder : path
    network : Module or callable, optional
        The network, if the saved `PUClassifier` was given one: the folder contains its weights but
        not its layers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from noneg.learning import LinearPU, load_model, save_model
    >>> X, labeled = np.arange(40.0)[:, None], np.arange(40) > 30
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(LinearPU(setting="one-sample", prior=0.5).fit(X, labeled), folder)
    ...     print(load_model(folder))
    LinearPU(prior=0.5, setting='one-sample')
    """
    with optional("loading a model"):
        import skops.io

    home, about = Path(folder), model_notes(folder, whole=True)
    path = home / MODEL
    unknown = skops.io.get_untrusted_types(file=path)
    odd = [name for name in unknown if not name.startswith(_TRUSTED) and name != _PARTIAL]
    if odd:
        rule = f"contains objects of unexpected types: {', '.join(odd)}"
        remedy = "If you trust the file, load it with skops.io.load."
        raise InputError("folder", rule, value=str(folder), remedy=remedy)
    model = skops.io.load(path, trusted=unknown)
    if about["network"] is not None:
        model.algorithm_ = _load_network(model, about["network"], home, network)
    return model


def _served(model: Any) -> Any:  # noqa: ANN401
    """Return a copy without attributes about training rows, which prediction does not need."""
    made = copy.copy(model)
    for name in _ABOUT_ROWS:
        vars(made).pop(name, None)
    if isinstance(made, Pipeline):
        *first, (name, last) = made.steps
        made.steps = [*first, (name, _served(last))]
    elif getattr(made, "model_", None) is not None:
        made.model_ = _served(made.model_)
    return made


def model_notes(folder: str | os.PathLike[str], *, whole: bool = False) -> dict[str, Any]:
    """Return the notes saved with a model, or all of its metadata."""
    try:
        about = json.loads((Path(folder) / ABOUT).read_text(encoding="utf-8"))
        known = about["format"] == FORMAT and about["version"] == VERSION
    except (OSError, ValueError, TypeError, KeyError):
        known = False
    if not known:
        remedy = "Pass a folder written by noneg train or noneg.learning.save_model."
        raise InputError(
            "folder", f"must contain a model of version {VERSION}", value=str(folder), remedy=remedy
        )
    return dict(about if whole else about["notes"])


def _save_network(model: Any, algorithm: Algorithm, home: Path) -> dict[str, Any]:  # noqa: ANN401
    """Write the weights, and return the metadata needed to rebuild the algorithm."""
    import torch

    with optional("saving a network"):
        from safetensors.torch import save_file

    tensors, plain = dict(algorithm.networks.state_dict()), {}
    for key, value in algorithm.state.items():
        if isinstance(value, torch.Tensor):
            tensors[_STATE + key] = value
        else:
            # JSON has no infinite numbers.
            infinite = isinstance(value, float) and not np.isfinite(value)
            plain[key] = {_FLOAT: str(value)} if infinite else value
    save_file({key: x.contiguous().clone() for key, x in tensors.items()}, home / WEIGHTS)
    own = {item.name: getattr(algorithm, item.name) for item in fields(algorithm)}
    return {
        "name": algorithm.name,
        "parameters": {key: value for key, value in own.items() if not hasattr(value, "dtype")},
        "task": {name: getattr(algorithm.task, name) for name in _TASK},
        "state": plain,
        "own_network": model.network is not None,
    }


def _load_network(
    model: Any,  # noqa: ANN401
    about: Mapping[str, Any],
    home: Path,
    network: nn.Module | Callable[[], nn.Module] | None,
) -> Algorithm:
    from noneg.learning.algorithms import ALGORITHMS
    from noneg.learning.networks import MLP, new_network
    from noneg.learning.task import make_task

    with optional("loading a network"):
        from safetensors.torch import load_file

    if about["own_network"] and network is None:
        remedy = "Pass the network, or the function that builds it."
        raise InputError(
            "network", "must be given: the model was saved with a custom network", remedy=remedy
        )
    made = MLP(model.n_features_in_) if network is None else new_network(network)
    algorithm = ALGORITHMS[about["name"]](**about["parameters"])
    n_pos, n_unl, setting, prior, correction = (about["task"][name] for name in _TASK)
    algorithm.task = make_task(n_pos, n_unl, setting=setting, prior=prior, correction=correction)
    algorithm.state, algorithm.frozen = {}, {}
    algorithm.players = algorithm.build(made)
    tensors = load_file(home / WEIGHTS)
    state = {key: tensors.pop(key) for key in list(tensors) if key.startswith(_STATE)}
    algorithm.networks.load_state_dict(tensors)
    plain = {
        key: float(value[_FLOAT]) if isinstance(value, dict) else value
        for key, value in about["state"].items()
    }
    algorithm.state = plain | {key.removeprefix(_STATE): value for key, value in state.items()}
    return algorithm


# Codes for the split modes and for the sum over trees in the operator's specification.
_AT_MOST, _MEMBER, _SUM = 0, 6, 1
_OPSETS = {"": 18, "ai.onnx.ml": 5}
_INPUT, _OUTPUT = "X", "probability"


def save_onnx(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401
    """Write a fitted learner as an ONNX graph from rows to the probability of being positive.

    Parameters
    ----------
    model : BoostedPU, LinearPU, or a PUClassifier that chose one of them
        Boosted trees must come from LightGBM, with recalibration by a line (the default) or none.
    path : path
        Where to write. Without text columns, the graph has one input ``X`` of doubles, with one
        column per feature and NaN for missing values. With text columns, every column is a separate
        input under its own name, and text is passed as strings. The output ``probability`` has one
        column.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from noneg.learning import LinearPU, save_onnx
    >>> X, labeled = np.arange(40.0)[:, None], np.arange(40) > 30
    >>> model = LinearPU(setting="one-sample", prior=0.5).fit(X, labeled)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_onnx(model, f"{folder}/model.onnx")
    ...     (found,) = InferenceSession(f"{folder}/model.onnx").run(None, {"X": X})
    >>> bool(np.allclose(found[:, 0], model.predict_proba(X)[:, 1]))
    True
    """
    with optional("save_onnx"):
        import onnx

    graph = _graph(model)
    opsets = [onnx.helper.make_opsetid(name, number) for name, number in _OPSETS.items()]
    made = onnx.helper.make_model(graph, opset_imports=opsets, producer_name="noneg")
    made.ir_version = 10
    onnx.checker.check_model(made)
    with replacing(Path(path)) as partial:
        partial.write_bytes(made.SerializeToString())


def _graph(model: Any) -> Any:  # noqa: ANN401
    from onnx import helper

    check_is_fitted(model)
    learner = getattr(model, "model_", None) or model
    constants, inputs = dict[str, Any](), list[Any]()
    if isinstance(learner, LinearPU):
        nodes = [helper.make_node("MatMul", [_INPUT, "weights"], ["sum"])]
        constants["weights"], level = learner.coef_[:, None], learner.intercept_
    elif isinstance(learner, BoostedPU):
        _check_boosted(learner)
        nodes, inputs, level = _boosted_nodes(learner)
    else:
        rule = "must be BoostedPU or LinearPU, or a PUClassifier that uses one of them"
        raise InputError("model", rule, value=type(learner).__name__)
    nodes.append(helper.make_node("Add", ["sum", "level"], ["margin"]))
    nodes.append(helper.make_node("Sigmoid", ["margin"], [_OUTPUT]))
    constants["level"] = [level]
    tensors = [_tensor(values, name=name) for name, values in constants.items()]
    inputs = inputs or [_value(_INPUT, learner.n_features_in_)]
    return helper.make_graph(nodes, "noneg", inputs, [_value(_OUTPUT)], tensors)


def _check_boosted(model: BoostedPU) -> None:
    if model.calibrator_ is not None:
        rule = f"must be recalibrated by a line for ONNX, not by {model.recalibrate!r}"
        raise InputError("model", rule, remedy="Fit it with recalibrate='likelihood' or None.")
    if not all(hasattr(trees, "booster") for trees in model.trees_):
        rule = "must use LightGBM trees for ONNX, got scikit-learn trees"
        raise InputError("model", rule, remedy="Fit it with engine='lightgbm'.")


def _value(name: str, columns: int = 1, kind: str = "DOUBLE") -> Any:  # noqa: ANN401
    """Return the description of an input or of the output."""
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), [None, columns])


def _boosted_nodes(model: BoostedPU) -> tuple[list[Any], list[Any], float]:
    """Return the trees as nodes, the inputs if there are texts, and the level to add.

    Leaves are scaled by the slope of the line, and so that folds are averaged.
    """
    from onnx import helper

    ensemble, (slope, level) = _Ensemble(), model.line_
    folds: list[Any] = model.trees_
    scale = slope / len(folds)
    for trees in folds:
        level += scale * trees.start
        for tree in trees.booster.dump_model()["tree_info"]:
            ensemble.add_tree(tree["tree_structure"], scale)
    nodes, inputs = _encoded(model)
    own = {"domain": "ai.onnx.ml", **ensemble.attributes()}
    return [*nodes, helper.make_node("TreeEnsemble", [_INPUT], ["sum"], **own)], inputs, level


def _encoded(model: BoostedPU) -> tuple[list[Any], list[Any]]:
    """Return the nodes that encode text columns as numbers, and their inputs, if there are any."""
    from onnx import TensorProto, helper

    if model.columns_ is None or not model.columns_.categories:
        return [], []
    nodes, inputs, parts = [], [], []
    for k, name in enumerate(map(str, model.feature_names_in_)):
        known = model.columns_.categories.get(k)
        inputs.append(_value(name, kind="DOUBLE" if known is None else "STRING"))
        parts.append(name if known is None else f"code of {name}")
        if known is not None:
            codes: dict[str, Any] = {
                "domain": "ai.onnx.ml",
                "keys_strings": known,
                "values_floats": [float(code) for code in range(len(known))],
                "default_float": float("nan"),
            }
            nodes.append(helper.make_node("LabelEncoder", [name], [f"float code {k}"], **codes))
            to = TensorProto.DOUBLE
            nodes.append(helper.make_node("Cast", [f"float code {k}"], [parts[-1]], to=to))
    return [*nodes, helper.make_node("Concat", parts, [_INPUT], axis=1)], inputs


# Split mode, the categories that go left, and whether missing values go left.
_Test = tuple[int, list[float], bool]


def _test(node: dict[str, Any]) -> _Test:
    """Return LightGBM's decision rule at a node."""
    # If training had no missing values, LightGBM treats them as 0.
    as_zero = node["missing_type"] != "NaN"
    if node["decision_type"] == "==":
        members = sorted(map(float, node["threshold"].split("||")))
        return _MEMBER, members, as_zero and 0.0 in members
    missing_left = node["threshold"] >= 0.0 if as_zero else bool(node["default_left"])
    return _AT_MOST, [], missing_left


class _Ensemble:
    """All trees as attribute arrays of the operator, with one entry per node or leaf."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.nodes: list[dict[str, Any]] = []
        self.leaves: list[float] = []
        self.members: list[float] = []

    def add_tree(self, root: dict[str, Any], scale: float) -> None:
        """Add a tree from LightGBM's model dump, with scaled leaves."""
        self.roots.append(len(self.nodes))
        if "leaf_value" in root:
            # Represent a single-leaf tree as a split with two identical sides.
            root = {"split_feature": 0, "threshold": 0.0, "left_child": root, "right_child": root}
            root |= {"decision_type": "<=", "missing_type": "NaN", "default_left": True}
        self._add(root, scale)

    def _add(self, node: dict[str, Any], scale: float) -> int:
        if "leaf_value" in node:
            self.leaves.append(scale * node["leaf_value"])
            return len(self.leaves) - 1
        mode, members, missing_left = _test(node)
        self.members += [*members, np.nan] if mode == _MEMBER else []
        place, left, right = len(self.nodes), node["left_child"], node["right_child"]
        row = {
            "nodes_featureids": node["split_feature"],
            "nodes_splits": 0.0 if mode == _MEMBER else node["threshold"],
            "nodes_modes": mode,
            "nodes_missing_value_tracks_true": int(missing_left),
            "nodes_trueleafs": int("leaf_value" in left),
            "nodes_falseleafs": int("leaf_value" in right),
        }
        self.nodes.append(row)
        row["nodes_truenodeids"] = self._add(left, scale)
        row["nodes_falsenodeids"] = self._add(right, scale)
        return place

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the operator."""
        columns = {name: [row[name] for row in self.nodes] for name in self.nodes[0]}
        tensors = {"nodes_splits": columns.pop("nodes_splits"), "leaf_weights": self.leaves}
        if self.members:
            tensors["membership_values"] = self.members
        return {
            **columns,
            **{name: _tensor(values) for name, values in tensors.items()},
            "nodes_modes": _tensor(columns["nodes_modes"], np.uint8),
            "tree_roots": self.roots,
            "leaf_targetids": [0] * len(self.leaves),
            "n_targets": 1,
            "aggregate_function": _SUM,
        }


def _tensor(values: Any, kind: Any = np.float64, name: str = "") -> Any:  # noqa: ANN401
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, dtype=kind), name)
