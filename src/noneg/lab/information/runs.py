"""Training on many draws of the coins of one supersample, with what was learned kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.atomic import replacing
from noneg.lab.information.supersample import PUSupersample, Supersample, draw_membership

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Scorer = Callable[[NDArray[Any]], NDArray[Any]]
    # Rows and labels, or positive and unlabeled rows, and a seed.
    Train = Callable[[NDArray[Any], NDArray[Any], int], Scorer]
    Load = Callable[[Path], Scorer]
    Keep = tuple[Callable[[Scorer, Path], object], Load]


@dataclass(frozen=True, eq=False)
class Runs:
    """Scores of all rows of a supersample by classifiers trained on draws of its coins.

    Attributes
    ----------
    supersample : Supersample or PUSupersample
    membership : ndarray of bool, shape (draws, n)
        True where the right row of a pair was seen.
    found : ndarray, shape (draws, n, 2)
        Score of every row.
    files : tuple of Path
        The trained scorers, where ``run(..., keep=...)`` kept them.
    load : callable, optional
        What reads them.
    """

    supersample: Supersample | PUSupersample
    membership: NDArray[np.bool_]
    found: NDArray[np.float64]
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
        """Return the trained scorer of a draw from its file."""
        if self.load is None:
            msg = "'runs' keeps no scorers. Call run(..., folder=..., keep=(save, load))."
            raise ValueError(msg)
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
        ``train(X, y, seed) -> scorer`` of labelled pairs and ``train(P, U, seed) -> scorer`` of PU
        pairs, where ``scorer(X)`` returns probabilities. A classifier is cloned, fitted on
        ``(X, y)``, or on all rows and whether they are labelled, and asked for ``predict_proba``;
        its ``random_state``, where it has one, is the seed.
    draws : int
        Number of memberships to draw.
    seed : int
        Of the memberships and of the training.
    folder : path, optional
        Where to keep what each draw gave; draws found there are not trained again.
    name : str
        What else the scores depend on, such as the algorithm and its options; with `folder` it
        must be given, since a function has no name of its own.
    keep : (save, load), optional
        Keep the trained scorers in `folder` as well as their scores: ``save(scorer, path)`` writes
        one, ``load(path)`` reads it. `Runs.scorer` then scores other rows, and a scorer whose
        scores are lost is not trained again. ``(joblib.dump, joblib.load)`` does for scikit-learn;
        these are pickles, which can run code when they are read, so let nobody else write to that
        folder. A network is better kept as the arrays of its weights.
    progress : callable, optional
        Called with the number of draws done.

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
    _check(draws, folder, name, keep)
    fit = train if callable(train) else _classifier(train, supersample)
    bits = np.stack([draw_membership(supersample.n, seed=seed, draw=k) for k in range(draws)])
    found = np.empty((draws, supersample.n, 2))
    store = None
    if folder is not None:
        stem = f"{name}-{supersample.digest()}-{seed}"
        store = _Store(Path(folder), stem, supersample, keep)
    for k in range(draws):

        def trained(draw: int = k) -> Scorer:
            return fit(*supersample.training(bits[draw]), seed + draw)

        if store is None:
            found[k] = _score(supersample, trained())
        else:
            found[k] = store.scores(k, trained)
        if progress is not None:
            progress(k + 1)
    if store is None or keep is None:
        return Runs(supersample, bits, found)
    return Runs(supersample, bits, found, tuple(map(store.file, range(draws))), keep[1])


def _check(draws: int, folder: object, name: str, keep: object) -> None:
    if draws < 1:
        msg = f"'draws' must be at least 1, got {draws!r}."
        raise ValueError(msg)
    if folder is not None and not name:
        msg = "'name' must say what is trained when 'folder' keeps the scores, got ''."
        raise ValueError(msg)
    if keep is not None and folder is None:
        msg = f"'folder' must say where to keep scorers when 'keep' is given, got keep={keep!r}."
        raise ValueError(msg)


def _score(supersample: Supersample | PUSupersample, scorer: Scorer) -> NDArray[np.float64]:
    """Return the scores of all rows, shape (n, 2)."""
    return np.asarray(scorer(supersample.rows()), dtype=np.float64).reshape(supersample.n, 2)


@dataclass(frozen=True)
class _Store:
    """A folder with the scores of each draw, and with the scorers where they are wanted."""

    folder: Path
    stem: str
    supersample: Supersample | PUSupersample
    keep: Keep | None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def file(self, draw: int, ending: str = ".scorer") -> Path:
        return self.folder / f"{self.stem}-{draw}{ending}"

    def scores(self, draw: int, trained: Callable[[], Scorer]) -> NDArray[np.float64]:
        """Return the scores of one draw, from disk where they are."""
        path, shape = self.file(draw, ".npy"), (self.supersample.n, 2)
        if path.exists() and (self.keep is None or self.file(draw).exists()):
            kept: NDArray[np.float64] = np.load(path, allow_pickle=False)
            if kept.shape != shape or kept.dtype != np.float64:
                msg = f"'folder' holds {path.name}, which is not {shape} numbers; remove that file."
                raise ValueError(msg)
            return kept
        found = _score(self.supersample, self.scorer(draw, trained))
        with replacing(path) as partial, partial.open("wb") as stream:
            np.save(stream, found, allow_pickle=False)
        return found

    def scorer(self, draw: int, trained: Callable[[], Scorer]) -> Scorer:
        """Return the scorer of one draw, from disk where it is."""
        if self.keep is None:
            return trained()
        (save, load), file = self.keep, self.file(draw)
        if file.exists():
            return load(file)
        made = trained()
        with replacing(file) as partial:
            save(made, partial)
        return made


def _classifier(model: object, supersample: Supersample | PUSupersample) -> Train:
    """Return what trains a clone of a scikit-learn classifier."""
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
            rows = np.concatenate([first, second])
            copy.fit(rows, np.arange(len(rows)) < len(first))
        else:
            copy.fit(first, second)
        return _Probability(copy)

    return train


@dataclass(frozen=True)
class _Probability:
    """The second column of a classifier's probabilities."""

    model: Any

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = self.model.predict_proba(rows)[:, 1]
        return found
