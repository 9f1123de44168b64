"""Logits of many models in little space: each group sorted, rounded, as differences.

What is computed from them does not ask which row had which logit, only which group it was in.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Rows for tests by their class; held-out rows: negatives, positives that are unlabeled only, and
# positives that are labelled too. All held-out rows together are the unlabeled ones.
GROUPS = ("test_neg", "test_pos", "held_neg", "held_pos", "held_labelled")
FIELDS = ("data", "name", "n", "trial", "epoch", "prior")
SIGN, DROPPED = 0x8000, 3  # of the 11 significant bits of half precision


def encode(logits: np.ndarray) -> np.ndarray:
    """Return differences of the sorted logits, rounded to 8 significant bits.

    Half-precision numbers are numbered in their order, 8 of them to a code, so that many equal or
    neighbouring logits compress well. The largest relative error is 4.5/1024.
    """
    # Sorted before it is rounded: numpy 2.4.6 was seen to sort half precision wrongly.
    bits = np.sort(logits).astype(np.float16).view(np.uint16).astype(np.int32)
    ordered = np.where(bits & SIGN, SIGN - (bits ^ SIGN), bits + SIGN)
    codes = (ordered + (1 << DROPPED >> 1)) >> DROPPED
    return np.diff(codes, prepend=0).astype(np.uint16)


def decode(differences: np.ndarray) -> np.ndarray:
    """Return the sorted, rounded logits that `encode` was given."""
    ordered = np.cumsum(differences, dtype=np.int64) << DROPPED
    bits = np.where(ordered < SIGN, (SIGN - ordered) | SIGN, ordered - SIGN)
    return bits.astype(np.uint16).view(np.float16)


@dataclass(frozen=True)
class Model:
    """A trained classifier: what it was, the risk of every epoch, and its logits by group.

    The prior is the share of positives that a PU classifier was told.
    """

    data: str
    name: str
    n: int
    trial: int
    epoch: int
    prior: float
    risks: np.ndarray
    losses: np.ndarray
    logits: dict[str, np.ndarray]


def header(seed: int, command: str) -> dict[str, str | int]:
    """Return where and how something was made."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "command": command,
        "seed": seed,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": gpu or f"CPU ({platform.machine()})",
    }


def save(path: Path, models: Iterable[Model], made: dict[str, str | int]) -> None:
    models = list(models)
    codes = [[encode(m.logits[g]) for g in GROUPS] for m in models]
    flat = np.concatenate([c for own in codes for c in own])
    columns = {field: np.array([getattr(m, field) for m in models]) for field in FIELDS}
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(
            file,
            sizes=np.array([[c.size for c in own] for own in codes], dtype=np.int32),
            low=(flat & 0xFF).astype(np.uint8),
            high=(flat >> 8).astype(np.uint8),
            risks=np.array([m.risks for m in models], dtype=np.float32),
            losses=np.array([m.losses for m in models], dtype=np.float16),
            made=np.array(json.dumps(made)),
            **columns,
        )
    part.replace(path)


def load(path: Path) -> tuple[list[Model], dict[str, str | int]]:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    flat = arrays["low"] | (arrays["high"].astype(np.uint16) << 8)
    sizes = arrays["sizes"]
    pieces = iter(np.split(flat, np.cumsum(sizes)[:-1]))
    models = []
    for k in range(len(sizes)):
        logits = {g: decode(next(pieces)).astype(np.float64) for g in GROUPS}
        named = {f: arrays[f][k].item() for f in FIELDS}
        models.append(
            Model(**named, risks=arrays["risks"][k], losses=arrays["losses"][k], logits=logits)
        )
    return models, json.loads(str(arrays["made"]))


def merge(paths: Iterable[Path], path: Path) -> None:
    """Put several files of one machine into one."""
    parts = [load(p) for p in paths]
    save(path, [m for models, _ in parts for m in models], parts[0][1])
