"""Groups for which a model is wrong, before and after a repair that is not given the groups.

A logistic model is trained on a third of the rows, without the columns that define the groups. A
second third is used to repair it, with all of its labels, or with half of the positives labeled and
all other labels hidden. The last third, with its labels, is used to measure every group.
"""

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import nceas
from experiments.study import Run, Study, arrays, cells, data_file, seeded
from experiments.tables import Row
from noneg import PUScores
from noneg.recalibration import Auto, Multi, find_groups

ROWS, RATE, LEAST = 30_000, 0.5, 150
Table = tuple[pd.DataFrame, np.ndarray, pd.Series, list[str]]


def credit() -> Table:
    """Default of credit card clients, by sex, education and age."""
    data = arrays("uci_credit_default.npz")
    X = pd.DataFrame(data["X"], columns=data["feature_names"].tolist()).rename(columns=str.upper)
    sex, age = X["SEX"].map({1: "men", 2: "women"}), pd.cut(X["AGE"], [0, 29, 44, 99])
    names = {1: "graduate", 2: "university", 3: "high school"}
    school = X["EDUCATION"].map(names).fillna("other")
    bands = age.cat.rename_categories(["under 30", "30-44", "45 or older"])
    groups = sex + ", " + school + ", " + bands.astype(str)
    return X, data["y"] == 1, groups, ["SEX", "EDUCATION", "AGE"]


def covertype() -> Table:
    """Lodgepole pine against the rest, by type of soil."""
    data = arrays("covtype.npz")
    X = pd.DataFrame(data["quantitative"]).add_prefix("q").astype(float)
    X["wilderness"], X["soil"] = data["wilderness"].astype(str), data["soil"].astype(str)
    return X, data["cover_type"] == 2, "soil " + X["soil"], ["wilderness", "soil"]


def species() -> Table:
    """A New Zealand species at survey sites, by elevation."""
    X, found = next(nceas.surveys("NZ"))
    X = X.drop(columns=["group", "siteid", "x", "y"]).astype(float)
    band = pd.cut(X["dem"], [-99, 150, 300, 500, 700, 900, 1200, 9999])
    return X, found["nz36"].to_numpy() == 1, "elevation " + band.astype(str), ["dem", "mat"]


# The files that each table needs, and how it is read.
TABLES = {
    "credit": ("uci_credit_default.npz", credit),
    "covertype": ("covtype.npz", covertype),
    "species": ("nceas", species),
}


def mcgrad(X: pd.DataFrame, s: np.ndarray, y: np.ndarray):
    """Return MCGrad, fitted to labeled rows with its defaults, as a function of rows."""
    from mcgrad.methods import MCGrad

    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    columns = {
        "prediction_column_name": "s",
        "categorical_feature_column_names": texts,
        "numerical_feature_column_names": [name for name in X if name not in texts],
    }
    model = MCGrad().fit(X.assign(s=s, y=y.astype(int)), label_column_name="y", **columns)
    return lambda rows, score: model.predict(rows.assign(s=score), **columns)


def repairs(X: pd.DataFrame, s: np.ndarray, y: np.ndarray, random: np.random.Generator):
    """Yield the kind of labels, the method, and the repair as a function of rows and their
    scores."""
    yield "", "none", lambda _, score: score
    marked, prior = y & (random.random(y.size) < RATE), float(y.mean())
    hidden = PUScores.from_pu_labels(marked, s, prior=prior, setting="one-sample")
    for labels, scores in (("hidden", hidden), ("known", PUScores.from_labels(y, s))):
        auto = Auto().fit(scores)
        yield labels, "auto", lambda _, score, auto=auto: auto.transform(score)
        given = (marked, "one-sample", prior) if labels == "hidden" else (y, "labeled", None)
        multi = Multi().fit(X, s, given[0], setting=given[1], prior=given[2])
        yield labels, "multi", multi.transform
    yield "known", "mcgrad", mcgrad(X, s, y)


def errors(p: np.ndarray, y: np.ndarray, group: pd.Series) -> Row:
    """Return the group with the largest error, with simultaneous intervals, and means."""
    rows = pd.DataFrame({"gap": y - p, "group": group.to_numpy()}).groupby("group")["gap"]
    found = rows.agg(["mean", "std", "size"]).query(f"size >= {LEAST}")
    z = norm.ppf(0.5 + 0.95 ** (1 / len(found)) / 2)
    found["half"] = z * found["std"] / np.sqrt(found["size"])
    worst = found.loc[found["mean"].abs().idxmax()]
    return {
        "groups": len(found),
        "worst": abs(worst["mean"]),
        "half": worst["half"],
        "group": found["mean"].abs().idxmax(),
        "excluded": int((found["mean"].abs() > found["half"]).sum()),
        "mean": float(np.average(found["mean"].abs(), weights=found["size"])),
        "brier": float(np.mean((y - p) ** 2)),
    }


def parts(table: str, seed: int):
    """Return the rows used for the repair, the test rows, and the scores of both."""
    X, y, group, apart = TABLES[table][1]()
    order = seeded(table, seed).permutation(len(y))[:ROWS]
    train, repair, test = np.array_split(order, 3)
    plain = X.drop(columns=apart)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    model.fit(plain.iloc[train], y[train])
    return [
        (X.iloc[i], model.predict_proba(plain.iloc[i])[:, 1], y[i], group.iloc[i])
        for i in (repair, test)
    ]


def measure(table: str, seed: int) -> list[Row]:
    """Return the errors after every repair."""
    (X, s, y, _), (X_test, s_test, y_test, group) = parts(table, seed)
    return [
        {"labels": labels, "method": method} | errors(repair(X_test, s_test), y_test, group)
        for labels, method, repair in repairs(X, s, y, seeded("labels", table, seed))
    ]


def search(table: str) -> list[Row]:
    """Return the result of `find_groups` on the repair rows, with half of the positives labeled."""
    (X, s, y, _), _ = parts(table, 0)
    marked = y & (seeded("labels", table, 0).random(y.size) < RATE)
    found = find_groups(X, s, marked, setting="one-sample", prior=float(y.mean()))
    return pd.DataFrame(found.columns()).to_dict("records")


def gain(table: str, truth: str, seed: int) -> Row:
    """Return by how much `Multi` lowers the held-out loss, half of the positives labeled.

    The labels are those of the table, or drawn from the scores, which are then right.
    """
    (X, s, y, _), _ = parts(table, 0)
    random = seeded("labels", table, seed)
    y = y if truth == "table" else random.random(y.size) < s
    marked = y & (random.random(y.size) < RATE)
    multi = Multi().fit(X, s, marked, setting="one-sample", prior=float(y.mean()))
    return {"trees": multi.n_iter_, "gain": multi.gain_[0], "error": multi.gain_[1]}


def there() -> list[str]:
    return [name for name, (file, _) in TABLES.items() if data_file(file) is not None]


def groups(run: Run) -> None:
    run.resume("groups", measure, cells(seed=range(run.trials(1, 1)), table=there()))


def found(run: Run) -> None:
    run.resume("found", search, cells(table=there()))


def gains(run: Run) -> None:
    drawn = cells(table=there(), truth="scores", seed=range(run.trials(20, 1)))
    run.resume("gains", gain, cells(table=there(), truth="table", seed=0) + drawn)


NAMES = {
    ("", "none"): "unchanged",
    ("hidden", "auto"): "`Auto`, labels hidden",
    ("hidden", "multi"): "`Multi`, labels hidden",
    ("known", "auto"): "`Auto`, all labels",
    ("known", "multi"): "`Multi`, all labels",
    ("known", "mcgrad"): "MCGrad, all labels",
}
STUDY = Study("multicalibration", (found, groups, gains))
