"""Compact storage for the logits of many models: each group sorted, rounded, as differences.

Results computed from them depend only on the group of each logit, not on its row.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Test rows by class; held-out rows: negatives, positives that are only unlabeled, and positives
# that are also labeled. All held-out rows together are the unlabeled ones.
GROUPS = ("test_neg", "test_pos", "held_neg", "held_pos", "held_labeled")
FIELDS = ("data", "name", "n", "trial", "epoch", "prior")
SIGN, DROPPED = 0x8000, 3  # of the 11 significant bits of half precision


def encode(logits: np.ndarray) -> np.ndarray:
    """Return differences of the sorted logits, rounded to 8 significant bits.

    Half-precision numbers are enumerated in order, 8 of them per code, so that many equal or
    neighboring logits compress well. The largest relative error is 4.5/1024.
    """
    # Sorted before rounding, because numpy 2.4.6 was seen to sort half precision incorrectly.
    bits = np.sort(logits).astype(np.float16).view(np.uint16).astype(np.int32)
    ordered = np.where(bits & SIGN, SIGN - (bits ^ SIGN), bits + SIGN)
    codes = (ordered + (1 << DROPPED >> 1)) >> DROPPED
    return np.diff(codes, prepend=0).astype(np.uint16)


def decode(differences: np.ndarray) -> np.ndarray:
    """Return the sorted, rounded logits that were passed to `encode`."""
    ordered = np.cumsum(differences, dtype=np.int64) << DROPPED
    bits = np.where(ordered < SIGN, (SIGN - ordered) | SIGN, ordered - SIGN)
    return bits.astype(np.uint16).view(np.float16)


@dataclass(frozen=True)
class Model:
    """A trained classifier: its name, the risk of every epoch, and its logits by group.

    The prior is the share of positives that was passed to a PU classifier.
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


def save(path: Path, models: Iterable[Model], made: dict[str, str | int]) -> None:
    models = list(models)
    codes = [[encode(m.logits[g]) for g in GROUPS] for m in models]
    flat = np.concatenate([c for own in codes for c in own])
    arrays = {field: np.array([getattr(m, field) for m in models]) for field in FIELDS}
    arrays["sizes"] = np.array([[c.size for c in own] for own in codes], dtype=np.int32)
    arrays["low"], arrays["high"] = (part.astype(np.uint8) for part in (flat & 0xFF, flat >> 8))
    arrays["risks"] = np.array([m.risks for m in models], dtype=np.float32)
    arrays["losses"] = np.array([m.losses for m in models], dtype=np.float16)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, made=np.array(json.dumps(made)), **arrays)
    part.replace(path)


def load(path: Path) -> tuple[list[Model], dict[str, str | int]]:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    flat = arrays["low"] | (arrays["high"].astype(np.uint16) << 8)
    pieces = iter(np.split(flat, np.cumsum(arrays["sizes"])[:-1]))
    models = []
    for k in range(len(arrays["sizes"])):
        logits = {g: decode(next(pieces)).astype(np.float64) for g in GROUPS}
        named = (arrays[field][k].item() for field in FIELDS)
        models.append(Model(*named, arrays["risks"][k], arrays["losses"][k], logits))
    return models, json.loads(str(arrays["made"]))
