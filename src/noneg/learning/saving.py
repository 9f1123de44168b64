"""Learners in a folder, without pickle: what is read back can build objects, but run no code.

``model.skops`` holds the learner (JSON and arrays in a zip file; trees of LightGBM as its own
text), ``weights.safetensors`` the weights of networks, and ``model.json`` says what it is.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from noneg.atomic import replacing, write_text
from noneg.errors import InputError
from noneg.extras import optional

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from torch import nn

    from noneg.learning.contract import Algorithm

FORMAT, VERSION = "noneg.model", 1
MODEL, WEIGHTS, ABOUT = "model.skops", "weights.safetensors", "model.json"
# Types that may be built again, by the start of their names; skops knows those of NumPy.
_TRUSTED = ("noneg.", "sklearn.")
_ABOUT_ROWS = ("out_of_fold_", "out_of_bag_", "weights_")
# Trees of scikit-learn keep their check of inputs in one.
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
        A learner of `noneg.learning`, a `Recalibrated` classifier, or a scikit-learn pipeline.
    folder : path
        Where to write; it is made if it is not there. Files of an older model are replaced. What is
        known of each training row (`out_of_fold_` and the like) is not written.
    notes : mapping, optional
        Anything that JSON can hold, to keep with the model.

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
    """Return what `save_model` wrote.

    Parameters
    ----------
    folder : path
    network : Module or callable, optional
        The network of a `PUClassifier` that was given one: its weights are in the folder, its
        layers are not.

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
        rule = f"holds objects of types that noneg does not build: {', '.join(odd)}"
        remedy = "If you trust the file, load it with skops.io.load."
        raise InputError("folder", rule, value=str(folder), remedy=remedy)
    model = skops.io.load(path, trusted=unknown)
    if about["network"] is not None:
        model.algorithm_ = _load_network(model, about["network"], home, network)
    return model


def _served(model: Any) -> Any:  # noqa: ANN401
    """Return a copy without what is known of the training rows, which nobody needs to predict."""
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
    """Return the notes that a model was saved with, or all that is said of it."""
    try:
        about = json.loads((Path(folder) / ABOUT).read_text(encoding="utf-8"))
        known = about["format"] == FORMAT and about["version"] == VERSION
    except (OSError, ValueError, TypeError, KeyError):
        known = False
    if not known:
        remedy = "Pass a folder that noneg train or noneg.learning.save_model wrote."
        raise InputError(
            "folder", f"must hold a model of version {VERSION}", value=str(folder), remedy=remedy
        )
    return dict(about if whole else about["notes"])


def _save_network(model: Any, algorithm: Algorithm, home: Path) -> dict[str, Any]:  # noqa: ANN401
    """Write the weights; return what makes the method again."""
    import torch

    with optional("saving a network"):
        from safetensors.torch import save_file

    state = algorithm.state_dict()
    tensors = {
        f"{group}.{name}.{key}": value.contiguous()
        for group in ("players", "frozen")
        for name, weights in state[group].items()
        for key, value in weights.items()
    }
    plain = {}
    for key, value in state["state"].items():
        if isinstance(value, torch.Tensor):
            tensors[f"state.{key}"] = value.contiguous()
        else:
            plain[key] = value
    save_file({key: value.clone() for key, value in tensors.items()}, home / WEIGHTS)
    own = {item.name: getattr(algorithm, item.name) for item in fields(algorithm)}
    return {
        "name": algorithm.name,
        "parameters": {key: value for key, value in own.items() if not hasattr(value, "dtype")},
        "task": asdict(algorithm.task),
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
    from noneg.learning.task import Task

    with optional("loading a network"):
        from safetensors.torch import load_file

    if about["own_network"] and network is None:
        remedy = "Pass the network, or the function that makes it."
        raise InputError("network", "must be given: the model has one of its own", remedy=remedy)
    made = MLP(model.n_features_in_) if network is None else new_network(network)
    algorithm = ALGORITHMS[about["name"]](**about["parameters"])
    algorithm.task = Task(**(about["task"] | {"marginal": tuple(about["task"]["marginal"])}))
    algorithm.state, algorithm.frozen = {}, {}
    algorithm.players = algorithm.build(made)
    tensors = load_file(home / WEIGHTS)
    for group, modules in (("players", algorithm.players), ("frozen", algorithm.frozen)):
        for name, module in modules.items():
            module.load_state_dict(_under(tensors, f"{group}.{name}."))
    algorithm.state = dict(about["state"]) | _under(tensors, "state.")
    return algorithm


def _under(tensors: Mapping[str, Any], start: str) -> dict[str, Any]:
    return {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}
