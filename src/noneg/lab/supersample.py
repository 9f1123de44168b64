"""Supersamples: pairs of rows, with a fair coin that picks the training row in each pair.

This is the setting of conditional mutual information (Steinke & Zakynthinou 2020; Futami & Fujisawa
2024, Section 2.3; PU-ECE paper, Appendix B). Both rows of a pair have the same distribution, so the
other row is a test row, and a trained classifier's information about the coins measures how much it
has memorized. `run` trains on many draws of the coins and stores the results on disk.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from noneg.atomic import replacing
from noneg.checks import check_prior
from noneg.errors import InputError
from noneg.randomness import stream
from noneg.scores import PUScores

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from noneg.arrays import Flags as Bits, Floats

    Scorer = Callable[[NDArray[Any]], NDArray[Any]]
    # Arguments: rows and labels, or positive and unlabeled rows; and a seed.
    Train = Callable[[NDArray[Any], NDArray[Any], int], Scorer]
    Load = Callable[[Path], Scorer]
    Keep = tuple[Callable[[Scorer, Path], object], Load]

T = TypeVar("T", bound=np.generic)


class _Pairs:
    """Base class of both kinds of supersamples, whose arrays contain pairs."""

    def digest(self) -> str:
        """Return a name for these rows."""
        found = hashlib.sha256()
        for x in vars(self).values():
            if isinstance(x, np.ndarray):
                found.update(repr((x.shape, x.dtype.str)).encode())
                found.update(np.ascontiguousarray(x).tobytes())
        return found.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Supersample(_Pairs):
    """Pairs of labeled rows.

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
            msg = f"must have the shape {x.shape[:2]} of the pairs in 'X', got {y.shape}."
            raise InputError("y", msg)
        if not np.isin(y, (0, 1)).all():
            msg = f"must contain only 0 and 1, got {np.unique(y)!r}. Encode the positives as 1."
            raise InputError("y", msg)
        object.__setattr__(self, "X", x)
        object.__setattr__(self, "y", y.astype(np.int64))

    @classmethod
    def pair(cls, X: ArrayLike, y: ArrayLike, *, seed: int) -> Supersample:
        """Return rows paired at random; if their number is odd, the last one is left out."""
        rows, labels = np.asarray(X), np.asarray(y)
        order = _pairing(len(rows), seed, "X")
        return cls(rows[order], labels[order])

    @property
    def n(self) -> int:
        """Number of pairs, which is the number of training rows."""
        return len(self.X)

    def training(self, membership: Bits) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows and labels to train on: the second of each pair where True."""
        return pick(self.X, membership), pick(self.y, membership)

    def rows(self) -> NDArray[Any]:
        """Return both rows of every pair, shape (2 n, ...)."""
        return self.X.reshape(-1, *self.X.shape[2:])

    def scores(self, membership: Bits, found: Floats) -> PUScores:
        """Return the scores of the chosen rows, from scores of shape (n, 2)."""
        return PUScores.from_labels(pick(self.y, membership), pick(found, membership))


@dataclass(frozen=True, eq=False)
class PUSupersample(_Pairs):
    """Pairs of positive rows and pairs of unlabeled rows (PU-ECE paper, Appendix B).

    In memberships and scores, the unlabeled pairs come first, as in the paper.

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
                "and 'unlabeled' must have rows of the same shape, got "
                f"{self.positive.shape[2:]} and {self.unlabeled.shape[2:]}."
            )
            raise InputError("positive", msg)

    @classmethod
    def pair(
        cls, positive: ArrayLike, unlabeled: ArrayLike, *, prior: float, seed: int
    ) -> PUSupersample:
        """Return rows paired at random; if their number is odd, the last one is left out."""
        named = {"positive": np.asarray(positive), "unlabeled": np.asarray(unlabeled)}
        return cls(**{k: x[_pairing(len(x), seed, k)] for k, x in named.items()}, prior=prior)

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
        """Return both rows of every pair, with the unlabeled pairs first."""
        return np.concatenate([self.unlabeled, self.positive]).reshape(-1, *self.positive.shape[2:])

    def scores(self, membership: Bits, found: Floats) -> PUScores:
        """Return the scores of the chosen rows, from scores of shape (n, 2)."""
        chosen, n = pick(found, membership), self.n_unlabeled
        return PUScores(chosen[n:], chosen[:n], prior=self.prior, setting="two-sample")


def draw_membership(n: int, *, seed: int, draw: int) -> Bits:
    """Return n fair coins, which depend only on the seed and the draw number.

    Examples
    --------
    >>> draw_membership(4, seed=0, draw=0).shape
    (4,)
    """
    bits: Bits = stream(seed, f"membership {draw}").integers(0, 2, n).astype(np.bool_)
    return bits


def pick(pairs: NDArray[T], membership: Bits) -> NDArray[T]:
    """Return the second row of each pair where True, and the first otherwise."""
    return pairs[np.arange(len(pairs)), membership.astype(np.int64)]


def _check_pairs(values: ArrayLike, name: str) -> NDArray[Any]:
    x = np.asarray(values)
    if x.ndim < 2 or x.shape[1] != 2 or len(x) < 1:
        rule = f"must contain pairs, shape (n, 2, ...), got shape {x.shape}"
        raise InputError(name, rule, remedy="Pair rows at random with the class method `pair`.")
    return x


def _pairing(n: int, seed: int, name: str) -> NDArray[np.int64]:
    if n < 2:
        raise InputError(name, f"must contain at least two rows to form a pair, got {n}.")
    order = stream(seed, f"pairs of {name}").permutation(n)
    return order[: n // 2 * 2].reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Runs:
    """Scores of all rows of a supersample, from classifiers trained on draws of its coins.

    Attributes
    ----------
    supersample : Supersample or PUSupersample
    membership : ndarray of bool, shape (draws, n)
        True where the second row of a pair was seen.
    found : ndarray, shape (draws, n, 2)
        Score of every row.
    files : tuple of Path
        Files of the trained scorers, if they were kept with ``run(..., keep=...)``.
    load : callable, optional
        Function that loads a scorer from its file.
    """

    supersample: Supersample | PUSupersample
    membership: Bits
    found: Floats
    files: tuple[Path, ...] = ()
    load: Load | None = None

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.membership)

    def seen(self, draw: int) -> PUScores:
        """Return the scores of the rows that a classifier was trained on."""
        return self.supersample.scores(self.membership[draw], self.found[draw])

    def unseen(self, draw: int) -> PUScores:
        """Return the scores of the other rows."""
        return self.supersample.scores(~self.membership[draw], self.found[draw])

    def scorer(self, draw: int) -> Scorer:
        """Load the trained scorer of a draw from its file."""
        if self.load is None:
            msg = "has no stored scorers. Call run(..., folder=..., keep=(save, load))."
            raise InputError("runs", msg)
        return self.load(self.files[draw])


def run(
    supersample: Supersample | PUSupersample,
    train: Train | object,
    *,
    draws: int,
    seed: int,
    folder: str | os.PathLike[str] | None = None,
    name: str = "",
    keep: Keep | None = None,
    progress: Callable[[int], None] | None = None,
) -> Runs:
    """Train on draws of the coins and score all rows, seen and unseen.

    Parameters
    ----------
    supersample : Supersample or PUSupersample
    train : callable or scikit-learn classifier
        ``train(X, y, seed) -> scorer`` for labeled pairs or ``train(P, U, seed) -> scorer`` for PU
        pairs, where ``scorer(X)`` returns probabilities. A classifier is cloned and fitted to
        ``(X, y)``, or for PU pairs, to all rows with their labeled status; its scores come from
        ``predict_proba``. If it has a ``random_state``, it is set to the seed.
    draws : int
        Number of memberships to draw.
    seed : int
        Seed for the memberships and the training.
    folder : path, optional
        Where to store the results of each draw; draws found there are not trained again.
    name : str
        Identifies everything else the scores depend on, such as the algorithm and its options.
        Required with `folder`, since a function has no reliable name.
    keep : (save, load), optional
        Store the trained scorers in `folder` along with their scores: ``save(scorer, path)`` writes
        a scorer, and ``load(path)`` reads it. `Runs.scorer` can then score other rows, and a stored
        scorer whose scores are lost is not trained again. ``(joblib.dump, joblib.load)`` works for
        scikit-learn, but these files are pickles, which can run code when loaded, so do not let
        anyone else write to that folder. For a network, it is better to store its weight arrays.
    progress : callable, optional
        Called with the number of completed draws.

    Returns
    -------
    Runs

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> pairs = Supersample.pair(rng.normal(2 * y - 1)[:, None], y, seed=0)
    >>> run(pairs, LogisticRegression(), draws=3, seed=0).found.shape
    (3, 100, 2)
    """
    if draws < 1:
        raise InputError("draws", "must be at least 1", value=draws)
    if folder is not None and not name:
        rule = "must identify what is trained if 'folder' stores the scores, got ''."
        raise InputError("name", rule)
    if keep is not None and folder is None:
        msg = f"must be given to store scorers if 'keep' is given, got keep={keep!r}."
        raise InputError("folder", msg)
    fit = train if callable(train) else _classifier(train, supersample)
    bits = np.stack([draw_membership(supersample.n, seed=seed, draw=k) for k in range(draws)])
    found = np.empty((draws, supersample.n, 2))
    stem = "" if folder is None else f"{name}-{supersample.digest()}-{seed}"
    files = [Path(folder or "", f"{stem}-{k}.scorer") for k in range(draws)]
    for k, file in enumerate(files):
        trained = partial(fit, *supersample.training(bits[k]), seed + k)
        if folder is None:
            found[k] = _score(supersample, trained())
        else:
            found[k] = _stored_scores(supersample, file, trained, keep)
        if progress is not None:
            progress(k + 1)
    if keep is None:
        return Runs(supersample, bits, found)
    return Runs(supersample, bits, found, tuple(files), keep[1])


def _score(supersample: Supersample | PUSupersample, scorer: Scorer) -> Floats:
    """Return the scores of all rows, shape (n, 2)."""
    return np.asarray(scorer(supersample.rows()), dtype=np.float64).reshape(supersample.n, 2)


def _stored_scores(
    supersample: Supersample | PUSupersample,
    file: Path,
    trained: Callable[[], Scorer],
    keep: Keep | None,
) -> Floats:
    """Return the scores of one draw, from disk if they are there, with the scorer if it is kept."""
    path, shape = file.with_name(f"{file.stem}.npy"), (supersample.n, 2)
    if path.exists() and (keep is None or file.exists()):
        stored: Floats = np.load(path, allow_pickle=False)
        if stored.shape != shape or stored.dtype != np.float64:
            msg = f"contains {path.name}, which does not have shape {shape}. Remove that file."
            raise InputError("folder", msg)
        return stored
    file.parent.mkdir(parents=True, exist_ok=True)
    scorer = trained() if keep is None else _stored_scorer(file, trained, *keep)
    found = _score(supersample, scorer)
    with replacing(path) as partial, partial.open("wb") as stream:
        np.save(stream, found, allow_pickle=False)
    return found


def _stored_scorer(
    file: Path, trained: Callable[[], Scorer], save: Callable[[Scorer, Path], object], load: Load
) -> Scorer:
    if file.exists():
        return load(file)
    made = trained()
    with replacing(file) as partial:
        save(made, partial)
    return made


def _classifier(model: object, supersample: Supersample | PUSupersample) -> Train:
    """Return a function that trains a clone of a scikit-learn classifier."""
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        msg = (
            "'train' must be a function of rows and a seed, or a scikit-learn classifier with "
            f"'predict_proba', got {model!r}."
        )
        raise TypeError(msg)

    def train(first: NDArray[Any], second: NDArray[Any], seed: int) -> Scorer:
        from sklearn.base import clone

        copy = clone(model)
        if "random_state" in copy.get_params():
            copy.set_params(random_state=seed)
        if isinstance(supersample, PUSupersample):
            labeled = np.repeat([True, False], [len(first), len(second)])
            first, second = np.concatenate([first, second]), labeled
        copy.fit(first, second)
        # Unlike a closure, this can be pickled.
        return partial(_probability, copy)

    return train


def _probability(model: Any, rows: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401
    found: NDArray[Any] = model.predict_proba(rows)[:, 1]
    return found
