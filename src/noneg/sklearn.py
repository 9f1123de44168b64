"""scikit-learn's model selection without negatives: scorers and splitters.

In all of them ``y`` is 1 for labelled positives and 0 for unlabeled rows, as it is when a model is
trained on them.

    search = GridSearchCV(model, grid, scoring=scorer("proxy_auc", setting="one-sample"),
                          cv=PUStratifiedKFold(5, setting="one-sample"))

scikit-learn itself is imported when a scorer is made, not with this module.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import check_flags, check_number, check_prior, check_setting, is_labelled
from noneg.errors import InputError
from noneg.metrics import METRICS, find_metric
from noneg.randomness import stream
from noneg.registry import ALIASES
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.registry import Better

    Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

__all__ = ["SCORERS", "PUStratifiedKFold", "PUStratifiedShuffleSplit", "scorer"]

# Name: the metric, and the direction in which it is better.
SCORERS: dict[str, tuple[Callable[..., float], Better]] = {
    name: (find_metric(name).function, find_metric(name).better) for name in (*METRICS, *ALIASES)
}


def scorer(
    name: str,
    *,
    setting: Setting,
    prior: float | None = None,
    threshold: float | None = None,
    weight_kind: WeightKind = "importance",
    **options: object,
) -> Callable[..., float]:
    """Return a scorer for scikit-learn's model selection; higher is always better.

    Losses and errors are negated. Probabilities come from ``predict_proba``; what only looks at
    the order of scores (the areas) takes ``decision_function`` where there is one. A scorer is what
    `sklearn.metrics.make_scorer` makes: it can be pickled, and takes ``sample_weight`` by
    ``set_score_request(sample_weight=True)`` when metadata routing is enabled.

    Parameters
    ----------
    name : str
        Name of a registered metric, such as "proxy_auc".
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled; in "labelled" y holds true labels.
    prior : float, optional
        Share of positives in the population, the same in every fold. Not needed for labelled data,
        "proxy_auc" and "recall".
    threshold : float, optional
        Of metrics that have one.
    weight_kind : {"importance", "frequency"}
        What sample weights mean, if any are routed to the scorer.
    **options
        Further options of the metric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(400) < 0.5) & (rng.random(400) < 0.5)  # a labelled half of the positives
    >>> X = rng.normal(size=(400, 2)) + y[:, None]
    >>> score = scorer("proxy_auc", setting="one-sample")
    >>> folds = PUStratifiedKFold(3, setting="one-sample")
    >>> bool(cross_val_score(LogisticRegression(), X, y, scoring=score, cv=folds).min() > 0.7)
    True
    """
    from sklearn.metrics import make_scorer

    metric = find_metric(name, "name")
    if threshold is not None:
        options["threshold"] = threshold
    metric.check_options(options)
    setting = check_setting(setting)
    labelled = is_labelled(setting)
    if prior is not None:
        check_prior(prior)
    if labelled == (prior is not None) and (prior is not None or metric.needs_prior):
        rule = "must not be given with" if labelled else "must be given with"
        raise InputError("prior", f"{rule} setting='{setting}' for {name!r}", value=prior)
    made: Callable[..., float] = make_scorer(
        _score,
        response_method=("decision_function", "predict_proba") if metric.ranks else "predict_proba",
        greater_is_better=metric.better == "higher",
        name=name,
        setting=setting,
        prior=prior,
        weight_kind=weight_kind,
        options=options,
    )
    return made


def _score(
    y: ArrayLike,
    y_score: ArrayLike,
    *,
    name: str,
    setting: Setting,
    prior: float | None,
    weight_kind: WeightKind,
    options: dict[str, Any],
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return a metric of one fold; at the top of the module, so that it can be pickled."""
    flags = check_flags(y, "y")
    metric = find_metric(name)
    s = _as_ranks(y_score) if metric.ranks else y_score
    weights: dict[str, Any] = {"sample_weight": sample_weight, "weight_kind": weight_kind}
    if is_labelled(setting):
        scores = PUScores.from_labels(flags, s, **weights)
    else:
        scores = PUScores.from_pu_labels(flags, s, prior=prior, setting=setting, **weights)
    return metric.function(scores, **options)


def _as_ranks(y_score: ArrayLike) -> NDArray[np.float64]:
    """Return numbers in [0, 1] with the order and the ties of any margins."""
    margins = np.asarray(y_score, dtype=np.float64)
    if np.isnan(margins).any():
        row = int(np.isnan(margins).argmax())
        raise InputError("y_score", f"must hold a number in every row, got nan in row {row}.")
    distinct, place = np.unique(margins, return_inverse=True)
    return place / max(distinct.size - 1, 1)


@dataclass(frozen=True)
class PUStratifiedKFold:
    """Folds that each hold their share of the labelled and of the unlabeled rows.

    Each fold is then a smaller data set of the same setting: in one sample it has the same share
    of labelled rows, and in two samples both are split by themselves, so the prior of the whole is
    the prior of every fold. Numbers of labelled rows differ by at most one between folds, and so do
    numbers of rows.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled.
    random_state : int
        Seed of the order in which rows are dealt.

    Examples
    --------
    >>> y = [1, 0, 0, 1, 0, 0, 1, 0, 0]
    >>> for train, test in PUStratifiedKFold(3, setting="one-sample").split(y, y):
    ...     print(train.size, test.size, sum(y[k] for k in test))
    6 3 1
    6 3 1
    6 3 1
    """

    n_splits: int = 5
    _: KW_ONLY
    setting: Setting
    random_state: int = 0

    def __post_init__(self) -> None:
        check_setting(self.setting)
        _check_splits(self.n_splits, 2)

    def split(self, X: object, y: ArrayLike, groups: object = None) -> Iterator[Fold]:  # noqa: ARG002
        """Yield the rows to train on and those to test on, fold by fold."""
        flags = check_flags(y, "y", choosable=False)
        random = stream(self.random_state, "folds")
        dealt = [random.permutation(part) for part in _groups(flags, self.n_splits)]
        fold = np.empty(flags.size, dtype=np.intp)
        fold[np.concatenate(dealt)] = np.arange(flags.size) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits


@dataclass(frozen=True)
class PUStratifiedShuffleSplit:
    """Random splits in which both parts hold their share of labelled and unlabeled rows.

    Parameters
    ----------
    n_splits : int
        Number of splits.
    setting : {"two-sample", "one-sample", "labelled"}
        How the rows were sampled.
    test_size : float
        Share of the rows to test on, in (0, 1).
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> y = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> splits = PUStratifiedShuffleSplit(2, setting="two-sample", test_size=0.5)
    >>> [sum(y[k] for k in test) for _, test in splits.split(y, y)]
    [1, 1]
    """

    n_splits: int = 10
    _: KW_ONLY
    setting: Setting
    test_size: float = 0.2
    random_state: int = 0

    def __post_init__(self) -> None:
        check_setting(self.setting)
        _check_splits(self.n_splits, 1)
        rule = "the share of rows to test on, in (0, 1)"
        if not 0.0 < check_number(self.test_size, "test_size", rule) < 1.0:
            raise InputError("test_size", f"must be {rule}", value=self.test_size)

    def split(self, X: object, y: ArrayLike, groups: object = None) -> Iterator[Fold]:  # noqa: ARG002
        """Yield the rows to train on and those to test on, split by split."""
        parts = _groups(check_flags(y, "y", choosable=False), 2)
        random = stream(self.random_state, "splits")
        for _ in range(self.n_splits):
            train, test = [], []
            for part in parts:
                mixed = random.permutation(part)
                k = min(max(round(self.test_size * part.size), 1), part.size - 1)
                test.append(mixed[:k])
                train.append(mixed[k:])
            yield np.sort(np.concatenate(train)), np.sort(np.concatenate(test))

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:  # noqa: ARG002
        """Return the number of splits."""
        return self.n_splits


def _check_splits(n_splits: object, least: int) -> None:
    if isinstance(n_splits, bool) or not isinstance(n_splits, int) or n_splits < least:
        raise InputError("n_splits", f"must be a whole number from {least} on", value=n_splits)


def _groups(flags: NDArray[np.bool_], least: int) -> list[NDArray[np.intp]]:
    """Return the rows of each group, which must be as many as there are folds."""
    parts = [np.flatnonzero(flags), np.flatnonzero(~flags)]
    for part, what in zip(parts, ("labelled positives", "other rows"), strict=True):
        if part.size < least:
            msg = f"must hold at least {least} {what} to split them, got {part.size}."
            raise InputError("y", msg)
    return parts
