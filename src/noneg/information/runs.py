"""Training on many draws of the coins of one supersample, with what was learned kept on disk."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.atomic import replacing
from noneg.information.supersample import PUSupersample, Supersample, draw_membership

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noneg.scores import PUScores

    Scorer = Callable[[NDArray[Any]], NDArray[Any]]
    # Rows and labels, or positive and unlabeled rows, and a seed.
    Train = Callable[[NDArray[Any], NDArray[Any], int], Scorer]

Keep = Literal["scores", "scorers"]


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
        The trained scorers, where ``run(..., keep="scorers")`` kept them.
    """

    supersample: Supersample | PUSupersample
    membership: NDArray[np.bool_]
    found: NDArray[np.float64]
    files: tuple[Path, ...] = ()

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
        if not self.files:
            msg = "'runs' keeps no scorers. Call run(..., folder=..., keep='scorers')."
            raise ValueError(msg)
        return _load(self.files[draw])


def run(
    supersample: Supersample | PUSupersample,
    train: Train | object,
    *,
    draws: int,
    seed: int,
    folder: str | os.PathLike[str] | None = None,
    name: str = "",
    keep: Keep = "scores",
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
    keep : {"scores", "scorers"}
        Keep the scores of the supersample alone, or the trained scorers as well, which must then be
        picklable. `Runs.scorer` reads them again, to score other rows. Unpickling runs code, so
        read no folder that others can write to.
    progress : callable, optional
        Called with the number of draws done.

    Returns
    -------
    Runs

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noneg.simulation import LogisticGaussian
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
    files = []
    for k in range(draws):
        path = None if folder is None else _path(folder, supersample, name, seed, k)
        file = None if path is None or keep == "scores" else path.with_suffix(".pkl")
        found[k] = _scores(supersample, fit, bits[k], seed + k, path, file)
        files += [] if file is None else [file]
        if progress is not None:
            progress(k + 1)
    return Runs(supersample, bits, found, tuple(files))


def _check(draws: int, folder: object, name: str, keep: Keep) -> None:
    if draws < 1:
        msg = f"'draws' must be at least 1, got {draws!r}."
        raise ValueError(msg)
    if folder is not None and not name:
        msg = "'name' must say what is trained when 'folder' keeps the scores, got ''."
        raise ValueError(msg)
    if keep not in ("scores", "scorers") or (keep == "scorers" and folder is None):
        msg = (
            "'keep' must be 'scores', or 'scorers' together with a 'folder', got "
            f"{keep!r} and folder={folder!r}."
        )
        raise ValueError(msg)


def _path(
    folder: str | os.PathLike[str],
    supersample: Supersample | PUSupersample,
    name: str,
    seed: int,
    draw: int,
) -> Path:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{name}-{supersample.digest()}-{seed}-{draw}.npy"


def _scores(
    supersample: Supersample | PUSupersample,
    train: Train,
    membership: NDArray[np.bool_],
    seed: int,
    path: Path | None,
    file: Path | None,
) -> NDArray[np.float64]:
    """Return the scores of one draw, shape (n, 2), from disk where they are."""
    shape = (supersample.n, 2)
    if path is not None and path.exists() and (file is None or file.exists()):
        kept: NDArray[np.float64] = np.load(path, allow_pickle=False)
        if kept.shape != shape or kept.dtype != np.float64:
            msg = f"'folder' holds {path.name}, which is not {shape} numbers; remove that file."
            raise ValueError(msg)
        return kept
    scorer = _trained(supersample, train, membership, seed, file)
    found = np.asarray(scorer(supersample.rows()), dtype=np.float64).reshape(shape)
    if path is not None:
        with replacing(path) as partial, partial.open("wb") as stream:
            np.save(stream, found, allow_pickle=False)
    return found


def _trained(
    supersample: Supersample | PUSupersample,
    train: Train,
    membership: NDArray[np.bool_],
    seed: int,
    file: Path | None,
) -> Scorer:
    """Return a trained scorer, from its file where it is kept."""
    if file is not None and file.exists():
        return _load(file)
    scorer = train(*supersample.training(membership), seed)
    if file is not None:
        with replacing(file) as partial, partial.open("wb") as stream:
            pickle.dump(scorer, stream)
    return scorer


def _load(file: Path) -> Scorer:
    with file.open("rb") as stream:
        scorer: Scorer = pickle.load(stream)  # noqa: S301  # written by this module
    return scorer


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
