"""The published code of DEDPUL and of BBE / TEDn, loaded from a folder and run unmodified.

The folder contains two clones, which are not part of this repository::

    git clone https://github.com/dimonenka/DEDPUL          # commit 04c0281
    git clone https://github.com/acmi-lab/PU_learning      # commit 5e5e350

Nothing in them is edited. Names missing from current libraries are restored at import: `np.NaN`,
the argument `center` of `pandas.Series.expanding` (False, its former default), and stand-ins for
imports that are never called here: catboost, TIcE, torchvision, and PU_learning's own files for
data and networks. Batches are tensors in memory instead of image files.
"""

import importlib
import random
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock, patch

import numpy as np

# Imported by the two projects but never called here.
FOR_DEDPUL = ("catboost", "TIcE")
FOR_TEDN = ("torchvision", "torchvision.transforms", "baselines", "data_helper", "models")
FOR_TEDN += ("helper", "model_helper", "utils")
# TEDn's script: optimizer, batch size, and epochs before dropping begins.
SGD = {"lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4}
BATCH, WARM = 200, 100


class Originals:
    """Both projects, ready to be called."""

    def __init__(self, folder: Path) -> None:
        _bring_back()
        self.dedpul = _load(folder / "DEDPUL", "algorithms", FOR_DEDPUL)
        self.estimator = _load(folder / "PU_learning", "estimator", FOR_TEDN)
        self.algorithm = _load(folder / "PU_learning", "algorithm", FOR_TEDN)

    def dedpul_share(self, positive, unlabeled, *, trends: bool) -> float:
        """Return the share of positives from probabilities of being labeled; `trends` is their
        option MT."""
        # Their prediction is the probability of being unlabeled, 0 denotes a positive, and the
        # result is the share of negatives.
        flags = np.repeat([0, 1], [len(positive), len(unlabeled)])
        guess = 1.0 - np.concatenate([positive, unlabeled])
        ratio = self.dedpul.estimate_diff(guess, flags, MT=trends, MT_coef=0.25)
        return 1.0 - float(self.dedpul.estimate_poster_em(diff=ratio, mode="dedpul")[0])

    def bbe_share(self, positive, unlabeled) -> float:
        """Return the share of positives from scores; their second column and targets are
        ignored."""
        both = np.stack([unlabeled, 1.0 - unlabeled], axis=1)
        return float(self.estimator.BBE_estimator(positive, both, np.ones(len(unlabeled)))[0])

    def dedpul_scores(self, positive, unlabeled, *, seed: int, training: dict, **network):
        """Return cross-fitted probabilities of being labeled, from their network."""
        _seed(seed)
        rows = np.concatenate([positive, unlabeled]).astype(np.float64)
        flags = np.repeat([0, 1], [len(positive), len(unlabeled)])
        guess = self.dedpul.estimate_preds_cv(
            rows, flags, cv=5, random_state=seed, train_nn_options=training, **network
        )
        return 1.0 - guess[flags == 0], 1.0 - guess[flags == 1]

    def tedn(self, train, held_out, *, seed: int, widths, epochs: int, device: str = "cpu"):
        """Run TED^n: warm start, then rank, drop, train and estimate, as their script does.

        `train` and `held_out` are pairs (positives, unlabeled rows); the hidden labels, which their
        code only counts, are omitted. Returns BBE's estimate after each epoch since the end of the
        warm start, and the last held-out scores.
        """
        import torch
        from torch import nn

        _seed(seed)
        sizes = (train[0].shape[1], *widths)
        layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        net = nn.Sequential(*layers, nn.Linear(sizes[-1], 2)).to(device)
        common = (torch.optim.SGD(net.parameters(), **SGD), nn.CrossEntropyLoss(), device)
        loaders = [_Batches(rows, k) for k, rows in enumerate(train)]
        p_held, u_held = (_Batches(rows, k) for k, rows in enumerate(held_out))
        size, shares = len(loaders[1].rows), []
        for epoch in range(WARM + epochs):
            if epoch < WARM:
                self.algorithm.train(epoch, net, *loaders, *common, show_bar=False)
            else:
                ranked = self.algorithm.rank_inputs(
                    epoch, net, loaders[1], device, shares[-1], size
                )
                options = {"keep_sample": ranked[0], "show_bar": False}
                self.algorithm.train_PU_discard(epoch, net, *loaders, *common, **options)
            if epoch >= WARM - 1:
                p = self.estimator.p_probs(net, device, p_held)
                u, hidden = self.estimator.u_probs(net, device, u_held)
                shares.append(self.estimator.BBE_estimator(p, u, hidden)[0])
        return np.array(shares), p, u[:, 0]


class _Batches:
    """Batches in the format of their loaders: (row, features, target) or (row, features, target,
    truth)."""

    def __init__(self, rows: np.ndarray, target: int) -> None:
        import torch

        self.rows = torch.as_tensor(np.asarray(rows), dtype=torch.float32)
        self.target = target

    def __iter__(self):
        import torch

        for index in torch.randperm(len(self.rows)).split(BATCH):
            targets = torch.full((len(index),), self.target, dtype=torch.long)
            batch = (index, self.rows[index], targets)
            # Avoid a batch of one row: their `squeeze` would drop its axis.
            if len(index) > 1:
                yield batch if self.target == 0 else (*batch, targets)


def _bring_back() -> None:
    """Restore names that NumPy and pandas had when the code was written."""
    import pandas as pd

    def expanding(self, *, center=False, **others):  # noqa: ARG001
        return super(pd.Series, self).expanding(**others)

    np.NaN = np.nan  # noqa: NPY201
    pd.Series.expanding = expanding


def _seed(seed: int) -> None:
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - their code uses the global state
    torch.manual_seed(seed)


def _load(folder: Path, name: str, unused: tuple[str, ...]) -> ModuleType:
    """Import a file of a project; its own modules have common names, so they are forgotten."""
    if not (folder / f"{name}.py").is_file():
        msg = f"'--originals' must hold {folder.name}/{name}.py; clone the two repositories there."
        raise SystemExit(msg)
    stand_ins = {other: MagicMock() for other in unused if other not in sys.modules}
    sys.modules.update(stand_ins)
    with patch.object(sys, "path", [str(folder), *sys.path]):
        found = importlib.import_module(name)
    for other, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if other in stand_ins or (file and folder.resolve() in Path(file).parents):
            del sys.modules[other]
    return found
