"""Mixtures in the settings of the DEDPUL and the TEDn paper, as far as the data reach.

Each is a pair of positives and unlabeled rows, the share that the data can tell at best, and (for
TEDn's) the held-out part. Sizes are those of the papers' own scripts.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from mixtures import load

SHARES = (0.5, 0.25, 0.75, 0.05, 0.95)
# (law, middle, width) of the negatives; positives have 0 and 1.
LINES = [(law, mu, 1) for law in ("normal", "laplace") for mu in (1, 2, 4)]
LINES += [(law, 0, s) for law in ("normal", "laplace") for s in (2, 4)]
# Share: labelled positives, hidden positives, negatives; DEDPUL's notebook.
SPAM = {
    0.05: (400, 147, 2788),
    0.25: (400, 929, 2788),
    0.5: (400, 1413, 1413),
    0.75: (400, 1413, 471),
    0.95: (407, 1406, 74),
}
# Positives to train on and held out; as many unlabeled rows, half of them positive. TEDn's script.
DIGITS = {
    "mnist 1 / 7": (3000, 500),
    "mnist 0-4 / 5-9": (15000, 2500),
    "mnist 0-4 / 5-9, a third": (5000, 833),
}


def line_name(law: str, mu: int, s: int) -> str:
    return f"{law}({mu}, {s})"


def on_a_line(law: str, mu: int, s: int, share: float, seed: int):
    """DEDPUL's synthetic worlds: 1000 positives, 10,000 unlabeled, one feature."""
    rng = np.random.default_rng([seed, round(100 * share), mu, s, *law.encode()])
    k = round(share * 10_000)
    p, hidden, negative = (getattr(rng, law)(size=n) for n in (1000, k, 10_000 - k))
    # The smallest ratio of negatives to positives: far left, or at the common middle.
    inf = (0.0 if law == "normal" else np.exp(-mu)) if s == 1 else 1.0 / s
    return p[:, None], np.append(hidden, mu + s * negative)[:, None], share + (1.0 - share) * inf


def spam(share: float, seed: int):
    """DEDPUL's Spambase, columns as they are."""
    X, y = load("spambase")
    X = np.expm1(X)
    rng = np.random.default_rng(seed)
    n, k, rest = SPAM[share]
    positives, negatives = (rng.permutation(X[flag]) for flag in (y, ~y))
    u = np.concatenate([positives[n : n + k], negatives[:rest]])
    return positives[:n], u, k / (k + rest)


def digits(setting: str, seed: int):
    """TEDn's MNIST settings: (positives, unlabeled) to train on, and held out."""
    rng = np.random.default_rng(seed)
    parts = []
    with np.load(Path(os.environ["NONEG_DATA"]) / "mnist.npz", allow_pickle=False) as z:
        for part, n in zip(("train", "test"), DIGITS[setting], strict=True):
            X, y = (z[f"X_{part}"] / 255.0 - 0.1307) / 0.3081, z[f"y_{part}"]
            flags = (y == 1, y == 7) if setting == "mnist 1 / 7" else (y <= 4, y > 4)
            a, b = (rng.permutation(np.flatnonzero(flag)) for flag in flags)
            k = n // 2
            parts.append((X[a[:n]], X[np.append(a[n : n + k], b[: n - k])]))
    return parts
