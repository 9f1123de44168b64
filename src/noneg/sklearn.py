"""scikit-learn model selection without negatives: scorers, splitters, a guaranteed threshold.

In all of them, ``y`` is 1 for labeled positives and 0 for unlabeled rows, as in training.

    search = GridSearchCV(model, grid, scoring=scorer("proxy_auc", setting="one-sample"),
                          cv=PUStratifiedKFold(5, setting="one-sample"))

scikit-learn itself is imported when a scorer is created, not with this module.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noneg.checks import (
    check_count,
    check_flags,
    check_prior,
    check_setting,
    check_share,
    is_labeled,
)
from noneg.errors import InputError
from noneg.metrics import METRICS, find_metric
from noneg.randomness import stream
from noneg.registry import ALIASES, Better
from noneg.scores import PUScores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting, WeightKind
    from noneg.recalibration.recalibrated import PUThresholdClassifier

    Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

__all__ = [
    "SCORERS",
    "PUStratifiedKFold",
    "PUStratifiedShuffleSplit",
    "PUThresholdClassifier",
    "scorer",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import objects that need scikit-learn on first use."""
    if name == "PUThresholdClassifier":
        from noneg.recalibration.recalibrated import PUThresholdClassifier

        return PUThresholdClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# For each name, the metric and the direction in which it improves.
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

    Losses and errors are negated, and so is the distance of a slope or ratio from its ideal value.
    Probabilities come from ``predict_proba``; metrics that depend only on the order of scores (the
    areas) use ``decision_function`` if there is one. The scorer is created by
    `sklearn.metrics.make_scorer`: it can be pickled, and it accepts ``sample_weight`` via
    ``set_score_request(sample_weight=True)`` if metadata routing is enabled.

    Parameters
    ----------
    name : str
        Name of a registered metric, such as "proxy_auc".
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled; with "labeled", y contains true labels.
    prior : float, optional
        Share of positives in the population, the same in every fold. Not needed for labeled data,
        "proxy_auc" and "recall".
    threshold : float, optional
        Threshold for metrics that need one.
    weight_kind : {"importance", "frequency"}
        Meaning of the sample weights, if any are routed to the scorer.
    **options
        Further options of the metric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(400) < 0.5) & (rng.random(400) < 0.5)  # a labeled half of the positives
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
    labeled = is_labeled(setting)
    if prior is not None:
        check_prior(prior)
    if labeled == (prior is not None) and (prior is not None or metric.needs_prior):
        rule = "must not be given with" if labeled else "must be given with"
        raise InputError("prior", f"{rule} setting='{setting}' for {name!r}", value=prior)
    made: Callable[..., float] = make_scorer(
        _score,
        response_method=("decision_function", "predict_proba") if metric.ranks else "predict_proba",
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
    """Return the merit of one fold; defined at module level so that it can be pickled."""
    flags = check_flags(y, "y")
    metric = find_metric(name)
    s = _as_ranks(y_score) if metric.ranks else y_score
    weights: dict[str, Any] = {"sample_weight": sample_weight, "weight_kind": weight_kind}
    if is_labeled(setting):
        scores = PUScores.from_labels(flags, s, **weights)
    else:
        scores = PUScores.from_pu_labels(flags, s, prior=prior, setting=setting, **weights)
    return metric.merit(metric.function(scores, **options))


def _as_ranks(y_score: ArrayLike) -> NDArray[np.float64]:
    """Return numbers in [0, 1] with the same order and ties as the given margins."""
    margins = np.asarray(y_score, dtype=np.float64)
    if np.isnan(margins).any():
        row = int(np.isnan(margins).argmax())
        raise InputError("y_score", f"must contain a number in every row, got nan in row {row}.")
    distinct, place = np.unique(margins, return_inverse=True)
    return place / max(distinct.size - 1, 1)


@dataclass(frozen=True)
class _Splitter:
    """The fields of a splitter."""

    n_splits: int
    _: KW_ONLY
    setting: Setting
    random_state: int = 0

    _least: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_setting(self.setting)
        check_count(self.n_splits, "n_splits", self._least)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:  # noqa: ARG002
        """Return the number of splits."""
        return self.n_splits


@dataclass(frozen=True)
class PUStratifiedKFold(_Splitter):
    """Folds that preserve the proportions of labeled and unlabeled rows.

    Each fold is then a smaller data set in the same setting: in one sample, it has the same share
    of labeled rows, and in two samples, each sample is split separately, so every fold has the same
    prior as the whole data set. The number of labeled rows differs by at most one between folds,
    and so does the number of rows.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled.
    random_state : int
        Seed for the order in which rows are assigned to folds.

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

    _least = 2

    def split(self, X: object, y: ArrayLike, groups: object = None) -> Iterator[Fold]:  # noqa: ARG002
        """Yield the training rows and the test rows of each fold."""
        flags = check_flags(y, "y", choosable=False)
        random = stream(self.random_state, "folds")
        dealt = [random.permutation(part) for part in _groups(flags, self.n_splits)]
        fold = np.empty(flags.size, dtype=np.intp)
        fold[np.concatenate(dealt)] = np.arange(flags.size) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


@dataclass(frozen=True)
class PUStratifiedShuffleSplit(_Splitter):
    """Random splits that preserve the proportions of labeled and unlabeled rows.

    Parameters
    ----------
    n_splits : int
        Number of splits.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled.
    test_size : float
        Share of the rows used for testing, in (0, 1).
    random_state : int
        Seed for the random draws.

    Examples
    --------
    >>> y = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> splits = PUStratifiedShuffleSplit(2, setting="two-sample", test_size=0.5)
    >>> [sum(y[k] for k in test) for _, test in splits.split(y, y)]
    [1, 1]
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.test_size, "test_size", "the share of rows to test on, in (0, 1)")

    def split(self, X: object, y: ArrayLike, groups: object = None) -> Iterator[Fold]:  # noqa: ARG002
        """Yield the training rows and the test rows of each split."""
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


def _groups(flags: NDArray[np.bool_], least: int) -> list[NDArray[np.intp]]:
    """Return the rows of each group; each group must have at least `least` rows."""
    parts = [np.flatnonzero(flags), np.flatnonzero(~flags)]
    for part, what in zip(parts, ("labeled positives", "other rows"), strict=True):
        if part.size < least:
            msg = f"must contain at least {least} {what} to split them, got {part.size}."
            raise InputError("y", msg)
    return parts
