"""Which learner for tables? Fourteen public tables with their labels hidden.

Seventy percent of the rows of a table train, the others test against the hidden labels. In one
sample a share of the positives is labeled; in two samples a copy of those positives stands beside
all training rows. Selected labels: positives above the median of the first column of numbers are
labeled seven times as often as those below. Known priors are the share in the whole table;
estimated ones come from the training rows.
"""

import time
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from experiments.study import Run, Study, cells, data_file, seeded
from experiments.tables import Row
from experiments.tabular.data import TABLES, load
from noneg.calibration import ece
from noneg.learning import BaggingPU, BoostedPU, LinearPU, PUClassifier, WeightedPU
from noneg.learning.frames import Columns
from noneg.learning.likelihood import Rows
from noneg.scores import PUScores

SPLITS = 3
TRAIN = 0.7
RATES = (0.1, 0.4)
# How often positives above and below the median are labeled, relative to the rate.
SELECTED = (1.75, 0.25)


class ElkanNoto(ClassifierMixin, BaseEstimator):
    """Boosted trees of labeled against unlabeled rows, divided by the rate of the prior."""

    def __init__(self, setting: str, prior: float) -> None:
        self.setting, self.prior = setting, prior

    def fit(self, X, y):
        self.model_ = HistGradientBoostingClassifier(random_state=0).fit(X, y)
        unlabeled = (~y).sum() if self.setting == "two-sample" else y.size
        self.rate_ = y.sum() / (self.prior * unlabeled)
        return self

    def predict_proba(self, X):
        g = self.model_.predict_proba(X)[:, 1]
        odds = g if self.setting == "one-sample" else g / np.maximum(1.0 - g, 1e-9)
        p = np.minimum(1.0, odds / self.rate_)
        return np.column_stack([1.0 - p, p])


class Pulearn(ClassifierMixin, BaseEstimator):
    """A classifier of pulearn on numbers without gaps; labels are 1 and -1."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, X, y):
        import pulearn

        if self.name == "elkanoto":
            forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
            model = pulearn.ElkanotoPuClassifier(forest, hold_out_ratio=0.2, random_state=0)
        else:
            n = int(y.sum())
            model = pulearn.BaggingPuClassifier(n_estimators=50, max_samples=n, random_state=0)
        self.model_ = model.fit(X, np.where(y, 1, -1))
        return self

    def predict_proba(self, X):
        return np.clip(self.model_.predict_proba(X), 0.0, 1.0)


def numbers(X: pd.DataFrame) -> np.ndarray:
    """Return categories as codes and medians for what is missing."""
    return SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(
        Columns.of(X).numbers(X)
    )


def one_hot():
    """Return what makes numbers for a linear model."""
    text = make_column_selector(dtype_include="category")
    number = make_column_selector(dtype_exclude="category")
    encode = OneHotEncoder(handle_unknown="ignore", min_frequency=20, sparse_output=False)
    return make_column_transformer((encode, text), (SimpleImputer(strategy="median"), number))


def methods(setting: str, prior: object) -> dict:
    pu = {"setting": setting, "prior": prior}
    found = {
        "PUClassifier()": PUClassifier(**pu, n_jobs=1),
        "WeightedPU": WeightedPU(**pu),
        "BaggingPU": BaggingPU(**pu),
        "LinearPU": make_pipeline(one_hot(), LinearPU(**pu)),
    }
    if prior != "estimate":
        found["HistGradientBoosting, Elkan-Noto"] = ElkanNoto(**pu)
    return found | {"pulearn Elkanoto": Pulearn("elkanoto"), "pulearn bagging": Pulearn("bagging")}


def draw(table: str, setting: str, rate: float, labels: str, split: int) -> tuple:
    """Return training rows, flags, truth and propensities, and rows to test with their labels."""
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


def learn(table: str, setting: str, rate: float, labels: str, prior: str, split: int) -> Iterator:
    """Train every method on one draw, and an oracle that sees all labels."""
    warnings.simplefilter("ignore")
    X, labeled, truth, e, X_test, y_test = draw(table, setting, rate, labels, split)
    known = float(load(table)[1].mean())
    asked = methods(setting, known if prior == "known" else "estimate")
    coded = numbers(pd.concat([X, X_test]))
    jobs = {name: (model, X, X_test, labeled, {}) for name, model in asked.items()}
    for name in ("BaggingPU", "pulearn Elkanoto", "pulearn bagging"):
        jobs[name] = (asked[name], coded[: len(X)], coded[len(X) :], labeled, {})
    if labels == "selected":
        jobs["PUClassifier(), propensity"] = (
            PUClassifier(setting=setting, prior=known, n_jobs=1),
            X,
            X_test,
            labeled,
            {"propensity": np.minimum(e, 1.0)},
        )
    rows = slice(int(labeled.sum()) if setting == "two-sample" else 0, None)
    oracle = PUClassifier(setting="labelled", n_jobs=1)
    jobs["oracle"] = (oracle, X.iloc[rows], X_test, truth[rows], {})
    for name, (model, train, test, y, options) in jobs.items():
        start = time.process_time()
        try:
            p = model.fit(train, y, **options).predict_proba(test)[:, 1]
        except ValueError as error:
            # A few positives are too few for some.
            yield {"method": name, **dict.fromkeys(MEASURES, np.nan), "error": str(error)[:80]}
            continue
        yield {"method": name, **measured(y_test, p, time.process_time() - start), "error": ""}


MEASURES = ("auc", "brier", "accuracy", "ece", "seconds")


def there(run: Run) -> list[str]:
    return [name for name in run.pick(TABLES, ("cancer",)) if load(name) is not None]


def scar(run: Run) -> None:
    """SCAR and a known prior; splits are the outermost loop."""
    asked = cells(
        split=range(run.trials(SPLITS, 1)),
        table=there(run),
        setting=["one-sample", "two-sample"],
        rate=RATES,
        labels=["scar"],
        prior=["known"],
    )
    run.resume("runs", learn, asked, mine=lambda r: (r["labels"], r["prior"]) == ("scar", "known"))


def others(run: Run) -> None:
    """Estimated priors, and labels that are not random."""
    for labels, prior in (("scar", "estimated"), ("selected", "known")):
        asked = cells(
            split=range(run.trials(1, 1)),
            table=there(run),
            setting=["one-sample", "two-sample"],
            rate=RATES[1:],
            labels=[labels],
            prior=[prior],
        )
        mine = partial(_of, labels, prior)
        run.resume("runs", learn, asked, mine=mine)


def _of(labels: str, prior: str, row: Row) -> bool:
    return (row["labels"], row["prior"]) == (labels, prior)


def real(run: Run) -> dict[str, list[Row]]:
    """Real PU tables: ranks of held-out positives among all rows; nothing else is known."""
    del run
    tables = {
        "insulin, Akt": ("pu_insulin_phospho.npz", "s_akt"),
        "insulin, mTOR": ("pu_insulin_phospho.npz", "s_mtor"),
        "dietary restriction": ("pu_dr_genes_pathdip.npz", "s"),
    }
    rows = []
    for name, (file, label) in tables.items():
        path = data_file(file)
        if path is None:
            continue
        with np.load(path, allow_pickle=False) as stored:
            X, flags = stored["X"].astype(np.float32), stored[label] == 1
        rows.append(
            {"table": name, "positives": int(flags.sum()), "rows": flags.size} | ranks(X, flags)
        )
    return {"real": rows}


def ranks(X: np.ndarray, flags: np.ndarray) -> Row:
    """Return where held-out positives stand among all rows, and the verdict of the report."""
    from noneg.evaluation import evaluate
    from noneg.learning.boosting import discriminate
    from noneg.prior import estimate_prior
    from noneg.report import About
    from noneg.report.content import document
    from noneg.sklearn import PUStratifiedKFold

    warnings.simplefilter("ignore")
    prior = estimate_prior(discriminate(Rows(X, flags), "one-sample", 0))
    model = PUClassifier(setting="one-sample", prior=prior.value, n_jobs=1)
    folds = PUStratifiedKFold(5, setting="one-sample")
    p = cross_val_predict(model, X, flags, cv=folds, method="predict_proba")[:, 1]
    above = np.array([(p > s).mean() for s in p[flags]])
    scores = PUScores.from_pu_labels(flags, p, setting="one-sample")
    about = About(title="", source={}, command="")
    verdict = document(evaluate(prior.apply(scores)), about).verdict[0]
    return {
        "prior": prior.value,
        "median_rank": float(np.median(above)),
        "in_top_10": float((above < 0.1).mean()),
        "verdict": str(verdict),
    }


def scale(run: Run) -> dict[str, list[Row]]:
    """A million rows of fifty columns: BoostedPU beside plain LightGBM, as many rounds each."""
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


STUDY = Study(
    "tabular",
    parts=(scar, others, real, scale),
    named=("scale",),
    page="experiments.tabular.page",
    style={"savefig.dpi": 130},
    digits=5,
)
