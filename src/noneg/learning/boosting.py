r"""Boosted trees for the likelihood of the labels: `BoostedPU`, and the engines that grow them.

The raw score f is the logit of the class probability. Each round adds a tree fitted to the slopes
and curvatures in `noneg.likelihood.labels`. LightGBM does this through a custom objective. The
fallback is scikit-learn's HistGradientBoostingClassifier, warm-started on a table that contains
every unlabeled row twice, as a positive of weight g and as a negative of weight 1 - g. As long as g
is up to date, this gives the same slopes and curvatures.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from noneg.checks import Setting, check_count, check_number, check_rate, is_labeled
from noneg.errors import InputError
from noneg.extras import optional
from noneg.learning.base import PUEstimator, Rows
from noneg.likelihood import LabelLaw
from noneg.recalibration import Calibrator, make
from noneg.tables.frames import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places
    from noneg.scores import PUScores

    Fold = tuple[Places, Places]

Engine = Literal["auto", "lightgbm", "scikit-learn"]

# With at least this many rows, only one fold is held out, and the model trained on the other rows
# is used, so that fitting costs no more than training a single model.
LARGE = 100_000
FOLDS = 5
_LEAVES = 4, 31


class Growth(NamedTuple):
    """The data, as numbers, and the options for growing trees."""

    rows: Rows
    law: LabelLaw
    options: BoostedPU
    categories: list[int]

    def take(self, index: Places) -> Growth:
        """Return the same with only the selected rows."""
        return self._replace(rows=self.rows.take(index), law=self.law.take(index))

    @property
    def leaves(self) -> int:
        """Maximum number of leaves per tree."""
        few_labels = int(np.clip(self.rows.flags.sum() ** 0.5 / 4, *_LEAVES))
        return self.options.max_leaf_nodes or few_labels

    def loss(self, f: Floats) -> float:
        """Return the negative log-likelihood of all labels."""
        each, weight = self.law.loss(self.rows.flags, f), self.rows.weight
        return float(each.sum() if weight is None else weight @ each)


@dataclass(eq=False, repr=False)
class BoostedPU(PUEstimator):
    """Boosted trees whose raw score is the logit of the class probability, recalibrated.

    Trees are fitted to the likelihood of the labels (see `noneg.likelihood.labels`), which is
    more efficient than PU risks based on differences. A flexible model still memorizes which rows
    are labeled, so the model is cross-fitted: boosting stops where the likelihood of held-out
    labels is largest, and a map fitted to held-out scores corrects the probabilities.

    Frames from pandas, Polars or PyArrow may contain missing values, text and categories; see
    `noneg.tables.frames.Columns`. With setting="labeled", this is ordinary logistic boosting.

    Parameters
    ----------
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled; never guessed.
    prior : float or "estimate"
        Share of positives in the population. None with labeled data.
    engine : {"auto", "lightgbm", "scikit-learn"}
        Library that grows the trees; by default, LightGBM if it is installed (extra ``boost``).
    max_iter : int
        Maximum number of rounds.
    learning_rate : float
        Factor applied to every tree.
    max_leaf_nodes : int, optional
        Maximum number of leaves per tree; by default, a quarter of the square root of the number of
        labeled positives, from 4 to 31, since large trees overfit when there are few labels.
    min_samples_leaf : int
        Minimum number of rows per leaf.
    l2_regularization : float
        Ridge penalty on the leaf values.
    max_features : float
        Share of the columns, drawn at random, considered at each split.
    monotonic_cst : mapping or sequence, optional
        1 for columns in which the probability must not decrease, -1 for columns in which it must
        not increase; by name, or one entry per column.
    patience : int or None
        Stop after this many rounds without an increase in the likelihood of held-out labels. None
        runs all rounds.
    recalibrate : str or None
        "likelihood" applies a line to the raw scores: among all lines for which the mean
        probability equals the prior, it maximizes the likelihood of held-out labels. Otherwise, a
        method in `noneg.recalibration`, such as "isotonic" or "auto"; None leaves scores unchanged.
    folds : int, optional
        Number of folds for early stopping and recalibration; the model averages their raw scores.
        By default five; with 100,000 rows or more, one fifth of the rows is held out once, and the
        model consists of the trees fitted to the other rows.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Number of threads; by default, the engine decides.
    random_state : int
        Seed; the only source of randomness.

    Attributes
    ----------
    trees_ : list
        Fitted trees, one entry per fold; predictions average their raw scores.
    n_iter_ : int
        Number of rounds kept.
    losses_ : ndarray
        Mean loss on held-out labels after every round.
    line_ : (float, float)
        Slope and intercept of the line applied to the raw scores.
    calibrator_ : Calibrator or None
        The map from scores to probabilities, if `recalibrate` is a method other than "likelihood".
    out_of_fold_ : ndarray
        Recalibrated probabilities of the training rows, from trees not trained on the row; nan for
        rows that were never held out.
    prior_ : float or None
        The prior that was used.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> X[::7, 1] = np.nan
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> model = BoostedPU(setting="one-sample", prior=0.4).fit(X, labeled)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    _: KW_ONLY
    engine: Engine = "auto"
    max_iter: int = 500
    learning_rate: float = 0.05
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 20
    l2_regularization: float = 10.0
    max_features: float = 0.6
    monotonic_cst: Mapping[str, int] | Sequence[int] | None = None
    patience: int | None = 30
    recalibrate: str | None = "likelihood"
    folds: int | None = None
    n_jobs: int | None = None

    takes_labels: ClassVar[bool] = True

    def _learn(self, rows: Rows) -> None:
        if not is_labeled(self.setting):
            self._known_prior("to BoostedPU")
        self._check_options()
        growth = self._growth(rows)
        folds = self._chosen_folds(rows)
        self.calibrator_: Calibrator | None = None
        self.line_ = (1.0, 0.0)
        if not folds:
            self.n_iter_, self.losses_ = self.max_iter, np.empty(0)
            self.trees_ = [self._grown(growth, self.max_iter)]
            return
        racing = [self._start(growth.take(a), growth.rows.X[b]) for a, b in folds]
        tests = [growth.take(b) for _, b in folds]
        self.n_iter_, self.losses_, held = race(racing, tests, self.max_iter, self.patience)
        self.trees_ = [each.trees(self.n_iter_) for each in racing]
        self._finish(rows, [b for _, b in folds], held)

    def _check_options(self) -> None:
        if self.engine not in ("auto", *_ENGINES):
            rule = f"must be 'auto' or one of {', '.join(_ENGINES)}"
            raise InputError("engine", rule, value=self.engine)
        for name, least in (("max_iter", 1), ("min_samples_leaf", 1)):
            check_count(getattr(self, name), name, least)
        for name, least in (("max_leaf_nodes", 2), ("patience", 1)):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, least)
        check_number(self.learning_rate, "learning_rate", "a number above 0", lambda x: x > 0.0)
        rule = "a number of at least 0"
        check_number(self.l2_regularization, "l2_regularization", rule, lambda x: x >= 0.0)
        check_rate(self.max_features, "max_features", "a share in (0, 1]")

    def _finish(self, rows: Rows, places: list[Places], held: list[Floats]) -> None:
        """Recalibrate on the held-out rows, and store their probabilities."""
        there, f = np.concatenate(places), np.concatenate(held)
        part, p = rows.take(there), expit(f)
        if self.recalibrate == "likelihood":
            self.line_ = self._line(part, f)
            p = expit(self.line_[0] * f + self.line_[1])
        elif self.recalibrate is not None:
            self.calibrator_ = make(self.recalibrate).fit(part.scores(p, self.setting, self.prior_))
            p = np.asarray(self.calibrator_.transform(p))
        self.out_of_fold_ = np.full(len(rows), np.nan)
        self.out_of_fold_[there] = p

    def _line(self, rows: Rows, f: Floats) -> tuple[float, float]:
        rows = rows.for_law(self.setting)
        law = LabelLaw.of(rows, self.setting, self.prior_)
        share = float(rows.flags @ rows.mass / rows.mass.sum())
        mean = share if self.prior_ is None else self.prior_
        return law.line(rows, f, rows.population(self.setting), mean)

    def _growth(self, rows: Rows) -> Growth:
        self.columns_ = Columns.of(rows.X)
        rows = rows.for_law(self.setting)
        law = LabelLaw.of(rows, self.setting, self.prior_)
        categories = [] if self.columns_ is None else list(self.columns_.categories)
        return Growth(replace(rows, X=self._numbers(rows.X)), law, self, categories)

    def _chosen_folds(self, rows: Rows) -> list[Fold]:
        """Return pairs of training and held-out rows, or nothing if no held-out rows are needed."""
        if self.patience is None and self.recalibrate is None:
            return []
        if self.folds is not None:
            return self._folds(rows, check_count(self.folds, "folds", 2))
        dealt = self._folds(rows, FOLDS)
        return dealt[:1] if len(rows) >= LARGE else dealt

    def _start(self, growth: Growth, held: NDArray[Any]) -> Growing:
        name: str = self.engine
        if name == "auto":
            name = "lightgbm" if find_spec("lightgbm") else "scikit-learn"
        # LightGBM rejects a table in which every column is constant.
        return _ENGINES[name if _varies(growth.rows.X) else "scikit-learn"](growth, held)

    def _grown(self, growth: Growth, rounds: int) -> Trees:
        growing = self._start(growth, growth.rows.X[:0])
        for _ in range(-(-rounds // growing.batch)):
            growing.grow()
        return growing.trees(rounds)

    def _check_inputs(self, X: Any, *, fresh: bool = False) -> Any:  # noqa: ANN401
        return self._check_table(X, fresh=fresh)

    def _numbers(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        return X if self.columns_ is None else self.columns_.numbers(X)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of the splits on each column, as a share of the overall gain."""
        check_is_fitted(self)
        gains = np.sum([trees.importances(self.n_features_in_) for trees in self.trees_], axis=0)
        return np.asarray(gains / (gains.sum() or 1.0))

    def _margin(self, X: Any) -> Floats:  # noqa: ANN401
        table = self._numbers(X)
        slope, level = self.line_
        return slope * np.mean([trees.raw(table) for trees in self.trees_], axis=0) + level


def _varies(table: NDArray[Any]) -> bool:
    with warnings.catch_warnings():
        # All values of a column may be missing.
        warnings.simplefilter("ignore", RuntimeWarning)
        return bool((np.nanmax(table, axis=0) > np.nanmin(table, axis=0)).any())


def race(
    racing: list[Growing], tests: list[Growth], most: int, patience: int | None
) -> tuple[int, Floats, list[Floats]]:
    """Grow all folds in lockstep until the likelihood of held-out labels stops improving.

    Returns
    -------
    rounds : int
        The best number of rounds.
    losses : ndarray
        Mean loss on held-out labels after every round.
    held : list of ndarray
        Raw scores of the held-out rows after the best round.
    """
    n, best, held = sum(len(test.rows) for test in tests), 0, list[Any]()
    losses: list[float] = []
    batch = racing[0].batch
    most, patience = -(-most // batch), None if patience is None else -(-patience // batch)
    while len(losses) < most and (patience is None or len(losses) - best < patience):
        for each in racing:
            each.grow()
        now = [each.held() for each in racing]
        losses.append(sum(test.loss(f) for test, f in zip(tests, now, strict=True)) / n)
        if patience is None or not best or losses[-1] < losses[best - 1]:
            best, held = len(losses), now
    return best * batch, np.array(losses), held


class _Booster:
    """LightGBM trees, stored in LightGBM's text format."""

    def __init__(self, text: str, start: float) -> None:
        self.text, self.start = text, start

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "start": self.start}

    @cached_property
    def booster(self) -> Any:  # noqa: ANN401
        with optional("BoostedPU(engine='lightgbm')"):
            from lightgbm import Booster
        return Booster(model_str=self.text)

    def raw(self, table: NDArray[Any]) -> Floats:
        return np.asarray(self.booster.predict(table, raw_score=True)) + self.start

    def importances(self, n: int) -> Floats:  # noqa: ARG002
        return np.asarray(self.booster.feature_importance("gain"))


class _LightGBM:
    """Trees grown by LightGBM with a custom objective."""

    batch = 1

    def __init__(self, growth: Growth, held: NDArray[Any]) -> None:
        with optional("BoostedPU(engine='lightgbm')", "or use engine='scikit-learn'"):
            import lightgbm

        self.growth, params = growth, _lightgbm_options(growth)
        data = lightgbm.Dataset(
            growth.rows.X, growth.rows.flags, categorical_feature=growth.categories, params=params
        )
        self.booster = lightgbm.Booster(params, data)
        self.scores, self.n = growth.law.start * np.ones(len(held)), len(held)
        if self.n:
            rest = data.create_valid(held, np.zeros(self.n), params=data.get_params())
            self.booster.add_valid(rest, "held")

    def grow(self) -> None:
        self.booster.update(fobj=self._slope)

    def _slope(self, f: Floats, _: object) -> tuple[Floats, Floats]:
        growth = self.growth
        slope, curvature = growth.law.slope(growth.rows.flags, f + growth.law.start)
        weight = growth.rows.weight
        return (slope, curvature) if weight is None else (slope * weight, curvature * weight)

    def held(self) -> Floats:
        self.booster.eval_valid(self._note)
        return self.scores

    def _note(self, f: Floats, _: object) -> tuple[str, float, bool]:
        self.scores = f + self.growth.law.start
        return "loss", 0.0, False

    def trees(self, rounds: int) -> _Booster:
        text = self.booster.model_to_string(num_iteration=rounds)
        return _Booster(text, self.growth.law.start)


def _lightgbm_options(growth: Growth) -> dict[str, Any]:
    own = growth.options
    return {
        "objective": "none",
        "feature_pre_filter": False,
        "learning_rate": own.learning_rate,
        "num_leaves": growth.leaves,
        "min_data_in_leaf": own.min_samples_leaf,
        "lambda_l2": own.l2_regularization,
        "feature_fraction_bynode": own.max_features,
        "monotone_constraints": _constraints(growth),
        "num_threads": own.n_jobs or 0,
        "seed": own.random_state,
        "deterministic": True,
        "verbosity": -1,
    }


def _constraints(growth: Growth) -> list[int] | None:
    """Return one constraint per column; LightGBM would abort the process if they are invalid."""
    given, (_, width) = growth.options.monotonic_cst, growth.rows.X.shape
    if given is None:
        return None
    if isinstance(given, Mapping):
        names = list(getattr(growth.options, "feature_names_in_", ()))
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise InputError("monotonic_cst", f"must name columns, got {', '.join(unknown)}")
        given = [given.get(name, 0) for name in names]
    wrong = [value for value in given if value not in (-1, 0, 1)]
    if wrong or len(given) != width:
        rule = f"must be -1, 0 or 1 for each of the {width} columns"
        raise InputError("monotonic_cst", rule, value=wrong[0] if wrong else list(given))
    if any(given[k] for k in growth.categories):
        raise InputError("monotonic_cst", "must be 0 for categories, which have no order")
    return [int(value) for value in given]


class _Histogram:
    """Scikit-learn trees on binned columns."""

    def __init__(self, model: Any, cuts: list[Floats], shift: float) -> None:  # noqa: ANN401
        self.model, self.cuts, self.shift = model, cuts, shift

    def raw(self, table: NDArray[Any]) -> Floats:
        return self.raw_of_bins(binned(table, self.cuts))

    def raw_of_bins(self, bins: NDArray[Any]) -> Floats:
        return np.asarray(self.model.decision_function(bins)) - self.shift

    def importances(self, n: int) -> Floats:
        out = np.zeros(n)
        for (tree,) in self.model._predictors:  # noqa: SLF001 - gains are not public
            splits = tree.nodes[tree.nodes["is_leaf"] == 0]
            np.add.at(out, splits["feature_idx"], splits["gain"])
        texts = self.model.is_categorical_
        # scikit-learn moves categorical columns to the front.
        return out if texts is None else out[np.argsort(np.argsort(~texts, kind="stable"))]


_BINS = 254


def find_cuts(column: NDArray[Any]) -> Floats:
    """Return bin edges: between distinct values, or at quantiles if there are too many values.

    Examples
    --------
    >>> find_cuts(np.array([1.0, 3.0, 3.0, np.nan])).tolist()
    [2.0]
    """
    values = np.unique(column[~np.isnan(column)])
    if values.size <= _BINS:
        return np.asarray((values[1:] + values[:-1]) / 2.0, dtype=np.float64)
    return np.unique(np.nanquantile(column, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))


def binned(table: NDArray[Any], cuts: list[Floats]) -> Floats:
    """Return the bin index of each value; missing values stay missing."""
    columns = [np.searchsorted(cut, x).astype(float) for cut, x in zip(cuts, table.T, strict=True)]
    return np.where(np.isnan(table), np.nan, np.column_stack(columns))


class _ScikitLearn:
    """Trees grown by scikit-learn, with each unlabeled row weighted as both classes."""

    # Updating g costs about as much as growing a few trees.
    batch = 10

    def __init__(self, growth: Growth, held: NDArray[Any]) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        own, doubled = growth.options, bool((growth.law.rate < 1.0).any())
        # Bin the columns once: with weights, finding the bins in every fit is slow.
        self.cuts = [find_cuts(column) for column in growth.rows.X.T]
        self.growth, self.rest = growth, binned(held, self.cuts)
        self.twice = np.flatnonzero(~growth.rows.flags) if doubled else np.empty(0, dtype=np.intp)
        self.bins = binned(growth.rows.X, self.cuts)
        self.table = np.concatenate([self.bins, self.bins[self.twice]])
        first = np.ones(len(growth.rows), dtype=int) if doubled else growth.rows.flags.astype(int)
        self.y = np.append(first, np.zeros(self.twice.size, dtype=int))
        self.f = np.full(len(growth.rows), growth.law.start)
        self.model = HistGradientBoostingClassifier(
            learning_rate=own.learning_rate,
            max_iter=0,
            max_leaf_nodes=growth.leaves,
            # Most rows occur twice in a leaf.
            min_samples_leaf=own.min_samples_leaf * (2 if doubled else 1),
            l2_regularization=own.l2_regularization,
            max_features=float(own.max_features),
            max_bins=_BINS,
            monotonic_cst=_constraints(growth),
            categorical_features=growth.categories or None,
            early_stopping=False,
            warm_start=True,
            random_state=own.random_state,
        )

    def grow(self) -> None:
        self.model.max_iter += self.batch
        self.model.fit(self.table, self.y, sample_weight=self._weights())
        self.f = self.trees().raw_of_bins(self.bins)

    def _weights(self) -> Floats:
        growth, mass = self.growth, self.growth.rows.mass
        if not self.twice.size:
            return mass
        g = growth.law.expected(growth.rows.flags, self.f)
        return np.append(mass * g, (mass * (1.0 - g))[self.twice])

    def held(self) -> Floats:
        return self.trees().raw_of_bins(self.rest)

    def trees(self, rounds: int | None = None) -> _Histogram:
        model = copy.copy(self.model)
        model._predictors = model._predictors[:rounds]  # noqa: SLF001 - only the best trees
        return _Histogram(model, self.cuts, self.growth.law.shift)


# Trees that can predict, and trees that are still growing, with held-out rows.
Trees: TypeAlias = _Booster | _Histogram
Growing: TypeAlias = _LightGBM | _ScikitLearn
_ENGINES: dict[str, type[Growing]] = {"lightgbm": _LightGBM, "scikit-learn": _ScikitLearn}


def discriminate(rows: Rows, setting: Setting, seed: int) -> PUScores:
    """Return out-of-fold scores from trees trained to separate labeled from unlabeled rows."""
    model = BoostedPU(setting="labeled", recalibrate=None, folds=FOLDS, random_state=seed)
    model.fit(rows.X, rows.flags, rows.weight)
    if not hasattr(model, "out_of_fold_"):
        rule = (
            "must contain at least two labeled positives and two unlabeled rows to estimate a prior"
        )
        raise InputError("y", rule)
    return rows.scores(model.out_of_fold_, setting)
