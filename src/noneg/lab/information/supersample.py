"""Supersamples: rows in pairs, of each of which a fair coin picks the one to train on.

The setting of conditional mutual information (Steinke & Zakynthinou 2020; Futami & Fujisawa 2024,
Section 2.3; PU-ECE paper, Appendix B). Both rows of a pair have the same law, so that the other row
is a test row, and what a trained classifier says of the coins is what it has memorised.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noneg.checks import check_prior
from noneg.randomness import stream
from noneg.scores import PUScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Bits = NDArray[np.bool_]
    Floats = NDArray[np.float64]

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Supersample:
    """Labelled rows in pairs.

    Attributes
    ----------
    X : ndarray, shape (n, 2, ...)
    y : ndarray, shape (n, 2)
        Labels 0 and 1.

    Examples
    --------
    >>> pairs = Supersample(np.arange(6.0).reshape(3, 2, 1), [[0, 1], [1, 1], [0, 0]])
    >>> X, y = pairs.training(np.array([False, True, True]))
    >>> X.ravel(), y
    (array([0., 3., 5.]), array([0, 1, 0]))
    """

    X: NDArray[Any]
    y: NDArray[Any]

    def __post_init__(self) -> None:
        x, y = _check_pairs(self.X, "X"), _check_pairs(self.y, "y")
        if y.shape != x.shape[:2]:
            msg = f"'y' must have the shape {x.shape[:2]} of the pairs in 'X', got {y.shape}."
            raise ValueError(msg)
        if not np.isin(y, (0, 1)).all():
            msg = f"'y' must hold 0 and 1 alone, got {np.unique(y)!r}. Name the positives 1."
            raise ValueError(msg)
        object.__setattr__(self, "X", x)
        object.__setattr__(self, "y", y.astype(np.int64))

    @classmethod
    def pair(cls, X: ArrayLike, y: ArrayLike, *, seed: int) -> Supersample:
        """Return rows paired at random; of an odd number the last is left out."""
        rows, labels = np.asarray(X), np.asarray(y)
        order = _pairing(len(rows), seed, "X")
        return cls(rows[order], labels[order])

    @property
    def n(self) -> int:
        """Number of pairs, which is the number of training rows."""
        return len(self.X)

    def training(self, membership: Bits) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows and labels to train on: the right one of each pair where True."""
        return pick(self.X, membership), pick(self.y, membership)

    def rows(self) -> NDArray[Any]:
        """Return all rows, both of each pair, shape (2 n, ...)."""
        return self.X.reshape(2 * self.n, *self.X.shape[2:])

    def scores(self, membership: Bits, found: Floats) -> PUScores:
        """Return the scores of the chosen rows, from scores of shape (n, 2)."""
        return PUScores.from_labels(pick(self.y, membership), pick(found, membership))

    def digest(self) -> str:
        """Return a name of these rows."""
        return _digest(self.X, self.y)


@dataclass(frozen=True, eq=False)
class PUSupersample:
    """Positive and unlabeled rows in pairs (PU-ECE paper, Appendix B).

    Memberships and scores have the unlabeled pairs first, as in the paper.

    Attributes
    ----------
    positive, unlabeled : ndarray, shape (n_P, 2, ...) and (n_U, 2, ...)
    prior : float
        Share of positives among the unlabeled rows.

    Examples
    --------
    >>> pairs = PUSupersample(np.ones((2, 2, 1)), np.zeros((3, 2, 1)), prior=0.3)
    >>> P, U = pairs.training(np.zeros(pairs.n, dtype=bool))
    >>> P.shape, U.shape
    ((2, 1), (3, 1))
    """

    positive: NDArray[Any]
    unlabeled: NDArray[Any]
    prior: float

    def __post_init__(self) -> None:
        for name in ("positive", "unlabeled"):
            object.__setattr__(self, name, _check_pairs(getattr(self, name), name))
        object.__setattr__(self, "prior", check_prior(self.prior))
        if self.positive.shape[2:] != self.unlabeled.shape[2:]:
            msg = (
                "'positive' and 'unlabeled' must have rows of one shape, got "
                f"{self.positive.shape[2:]} and {self.unlabeled.shape[2:]}."
            )
            raise ValueError(msg)

    @classmethod
    def pair(
        cls, positive: ArrayLike, unlabeled: ArrayLike, *, prior: float, seed: int
    ) -> PUSupersample:
        """Return rows paired at random; of an odd number the last is left out."""
        p, u = np.asarray(positive), np.asarray(unlabeled)
        return cls(
            p[_pairing(len(p), seed, "positive")], u[_pairing(len(u), seed, "unlabeled")], prior
        )

    @property
    def n_positive(self) -> int:
        """Number of positive pairs."""
        return len(self.positive)

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabeled pairs."""
        return len(self.unlabeled)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.n_positive + self.n_unlabeled

    def training(self, membership: Bits) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the positive and the unlabeled rows to train on."""
        n = self.n_unlabeled
        return pick(self.positive, membership[n:]), pick(self.unlabeled, membership[:n])

    def rows(self) -> NDArray[Any]:
        """Return all rows, the unlabeled ones first, both of each pair."""
        x = np.concatenate([self.unlabeled, self.positive])
        return x.reshape(2 * self.n, *x.shape[2:])

    def scores(self, membership: Bits, found: Floats) -> PUScores:
        """Return the scores of the chosen rows, from scores of shape (n, 2)."""
        chosen, n = pick(found, membership), self.n_unlabeled
        return PUScores(chosen[n:], chosen[:n], prior=self.prior, setting="two-sample")

    def digest(self) -> str:
        """Return a name of these rows."""
        return _digest(self.positive, self.unlabeled)


def draw_membership(n: int, *, seed: int, draw: int) -> Bits:
    """Return n fair coins; they depend on the seed and on the number of the draw alone.

    Examples
    --------
    >>> draw_membership(4, seed=0, draw=0).shape
    (4,)
    """
    bits: Bits = stream(seed, f"membership {draw}").integers(0, 2, n).astype(np.bool_)
    return bits


def pick(pairs: NDArray[T], membership: Bits) -> NDArray[T]:
    """Return the right one of each pair where True, else the left one."""
    return pairs[np.arange(len(pairs)), membership.astype(np.int64)]


def _check_pairs(values: ArrayLike, name: str) -> NDArray[Any]:
    x = np.asarray(values)
    if x.ndim < 2 or x.shape[1] != 2 or len(x) < 1:
        msg = (
            f"'{name}' must hold pairs, shape (n, 2, ...), got shape {x.shape}. Pair rows at "
            "random with the method 'pair'."
        )
        raise ValueError(msg)
    return x


def _pairing(n: int, seed: int, name: str) -> NDArray[np.int64]:
    if n < 2:
        msg = f"'{name}' must hold at least two rows to make a pair, got {n}."
        raise ValueError(msg)
    order = stream(seed, f"pairs of {name}").permutation(n)
    return order[: n // 2 * 2].reshape(-1, 2)


def _digest(*arrays: NDArray[Any]) -> str:
    found = hashlib.sha256()
    for x in arrays:
        found.update(repr((x.shape, x.dtype.str)).encode())
        found.update(np.ascontiguousarray(x).tobytes())
    return found.hexdigest()[:16]
