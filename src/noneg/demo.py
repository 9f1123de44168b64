"""A small example from bundled data: positives, unlabeled rows, and the hidden labels."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noneg.atomic import replacing
from noneg.scores import PUScores

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Table = dict[str, NDArray[np.generic]]

LABELED_SHARE = 0.4
WITH_LOOP = (0, 6, 8, 9)
GREY = 4  # Out of 16; darker pixels count as ink.
FOLDS = 5
TABLES = "scores.csv", "tomorrow.csv", "truth.csv"
TODAY = 1400  # Number of images in scores.csv; the others go to tomorrow.csv.


@dataclass(frozen=True, eq=False)
class Demo:
    """A PU sample and the truth behind it.

    Attributes
    ----------
    scores : PUScores
        The data available to a user of the library.
    truth : PUScores
        The same rows with all their labels.
    story : str
        Description of the rows.
    """

    scores: PUScores
    truth: PUScores
    story: str


def handwritten_loops(seed: int = 0) -> Demo:
    """Return naive Bayes scores for digits with a loop, most of which have lost their label.

    The images come from `sklearn.datasets.load_digits`. Two fifths of them are used to train the
    classifier and to determine the prior; the others are scored, and two fifths of those with a
    loop keep their label.

    Examples
    --------
    >>> handwritten_loops().scores
    PUScores(165 positives, 914 unlabeled rows, one-sample, prior 0.396936)
    """
    prior, y, y_score = _digits(seed)
    labeled = y & (np.random.default_rng(seed).random(y.size) < LABELED_SHARE)
    scores = PUScores.from_pu_labels(labeled, y_score, prior=prior, setting="one-sample")
    hidden = np.count_nonzero(y) - np.count_nonzero(labeled)
    story = (
        f"{y.size:,} handwritten digits, scored by naive Bayes: does the digit have a loop, as 0, "
        f"6, 8 and 9 do? {np.count_nonzero(labeled)} loops are labeled, and {hidden} "
        f"more are hidden among the unlabeled images. The prior {prior:.4f} is the "
        "share of loops in the training images."
    )
    return Demo(scores, PUScores.from_labels(y, y_score), story)


def _digits(seed: int) -> tuple[float, NDArray[np.bool_], NDArray[np.float64]]:
    """Return the share of loops in the training images, and labels and scores of the others."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import BernoulliNB

    x, digit = load_digits(return_X_y=True)
    loop = np.isin(digit, WITH_LOOP)
    x_train, x_test, y_train, y_test = train_test_split(
        x, loop, test_size=0.6, random_state=seed, stratify=loop
    )
    y_score = BernoulliNB(binarize=GREY).fit(x_train, y_train).predict_proba(x_test)[:, 1]
    return float(y_train.mean()), y_test, np.clip(y_score, 0.0, 1.0)


def tables(seed: int = 0) -> dict[str, Table]:
    """Return the same problem as tables: scores with labels, new scores, and the hidden truth.

    Two models score all images; each image is scored by a model fitted on the other folds.

    Examples
    --------
    >>> found = tables()
    >>> list(found), list(found["scores.csv"])
    (['scores.csv', 'tomorrow.csv', 'truth.csv'], ['image', 'score', 'other', 'confirmed'])
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import BernoulliNB

    x, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    image = rng.permutation(digit.size)
    x, loop = x[image] / 16.0, np.isin(digit, WITH_LOOP)[image]
    models = BernoulliNB(binarize=GREY / 16.0), LogisticRegression(C=0.01, max_iter=1000)
    score, other = (
        cross_val_predict(model, x, loop, cv=FOLDS, method="predict_proba")[:, 1].round(6)
        for model in models
    )
    confirmed = loop & (rng.random(loop.size) < LABELED_SHARE)
    rows = {"image": image, "score": score, "other": other, "confirmed": confirmed.astype(int)}
    today, tomorrow = slice(None, TODAY), slice(TODAY, None)
    found: list[Table] = [
        {name: column[today] for name, column in rows.items()},
        {name: rows[name][tomorrow] for name in ("image", "score", "other")},
        {"image": image, "loop": loop.astype(int)},
    ]
    return dict(zip(TABLES, found, strict=True))


def write_table(table: Table, path: Path) -> None:
    """Write a table as CSV; the write is atomic."""
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(rows)
