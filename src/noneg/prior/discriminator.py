"""A classifier of positives against unlabeled rows, cross-fitted: from features to scores.

Every row is scored by a classifier that did not see it. Both samples weigh equally, so that
``g / (1 - g)`` estimates the ratio of the two densities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit

from noneg.prior.candidates import clearly_better, default_classifiers
from noneg.prior.features import FeatureSamples
from noneg.prior.laws import ScoreLaws
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting

    Floats = NDArray[np.float64]

FOLDS = 5
# Probabilities of exactly 0 and 1 become logits of this size.
SATURATED = 1e-12


def discriminate(
    X: ArrayLike,
    labeled: ArrayLike,
    *,
    setting: Setting,
    classifier: Any = None,  # noqa: ANN401
    folds: int = FOLDS,
    seed: int = 0,
) -> ScoreLaws:
    """Score positives and unlabeled rows by a classifier that tells them apart, cross-fitted.

    Parameters
    ----------
    X : array-like, shape (n, d)
    labeled : array-like, shape (n,)
        1 for labelled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    classifier : scikit-learn classifier, optional
        By default a random forest, or smooth curves where they foretell rows that they did not see
        clearly better; see `default_classifiers`. One that takes no `sample_weight`, such as a
        pipeline, is fitted as it is, and its logits are shifted to equal samples.
    folds : int
        Parts of the data, each scored by a classifier fitted on the others.
    seed : int
        Of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (3, 3, 0)])
    >>> laws = discriminate(
    ...     x[:, None], [1] * 200 + [0] * 400, setting="two-sample", classifier=LogisticRegression()
    ... )
    >>> 0.7 < laws.separation < 0.8
    True
    """
    samples = FeatureSamples.of(X, labeled, setting=setting)
    positive, unlabeled = cross_fit(samples, classifier, folds=folds, seed=seed)
    return ScoreLaws.from_arrays(
        positive, unlabeled, setting=setting, scale="logit", discriminates=True
    )


def cross_fit(
    samples: FeatureSamples,
    classifier: Any = None,  # noqa: ANN401
    *,
    folds: int = FOLDS,
    seed: int = 0,
    kept: NDArray[np.bool_] | None = None,
) -> tuple[Floats, Floats]:
    """Return out-of-fold logits of the positives and of the unlabeled rows.

    `kept` marks the unlabeled rows to train on; all of them are scored.
    """
    random = stream(seed, "prior folds")
    n, m = len(samples.positive), len(samples.unlabeled)
    folds = _check_folds(folds, n, m)
    parts = Parts(folds, *(random.permutation(k) % folds for k in (n, m)))
    train = np.ones(m, dtype=np.bool_) if kept is None else kept
    if (parts.unlabeled[train] == parts.unlabeled[train][0]).all():
        # One part holds all rows to train on: deal them anew, or that part has nothing to learn.
        parts.unlabeled[train] = np.arange(train.sum()) % folds
    if classifier is not None:
        return _out_of_fold(samples, classifier, parts, train)
    pair = default_classifiers(parts.least(train), samples.positive.shape[1], seed=seed)
    forest, curves = (_out_of_fold(samples, model, parts, train) for model in pair)
    told = [(p, u[train]) for p, u in (curves, forest)]
    return curves if clearly_better(*told) else forest


class Parts(NamedTuple):
    """The number of parts, and that of each positive and of each unlabeled row."""

    folds: int
    positive: NDArray[np.intp]
    unlabeled: NDArray[np.intp]

    def least(self, train: NDArray[np.bool_]) -> int:
        """Return the size of the smallest training set, given the unlabeled rows to train on."""
        held_out = np.bincount(self.positive, minlength=self.folds)
        held_out += np.bincount(self.unlabeled[train], minlength=self.folds)
        return int(held_out.sum() - held_out.max())


def _out_of_fold(
    samples: FeatureSamples,
    model: Any,  # noqa: ANN401
    parts: Parts,
    train: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    from sklearn.base import clone

    out_p, out_u = np.empty(len(samples.positive)), np.empty(len(samples.unlabeled))
    for fold in range(parts.folds):
        in_p, in_u = parts.positive != fold, (parts.unlabeled != fold) & train
        fitted = clone(model)
        shift = _fit(fitted, samples.positive[in_p], samples.unlabeled[in_u])
        for out, part, rows in (
            (out_p, parts.positive, samples.positive),
            (out_u, parts.unlabeled, samples.unlabeled),
        ):
            if (part == fold).any():
                out[part == fold] = _logits(fitted, rows[part == fold]) + shift
    return out_p, out_u


def _fit(model: Any, positive: Floats, unlabeled: Floats) -> float:  # noqa: ANN401
    """Fit with both samples equal in weight; return what their sizes still add to the logit."""
    from sklearn.utils.validation import has_fit_parameter

    rows = np.concatenate([positive, unlabeled])
    flags = np.repeat([1, 0], [len(positive), len(unlabeled)])
    if has_fit_parameter(model, "sample_weight"):
        half = 0.5 * flags.size
        weight = np.where(flags == 1, half / len(positive), half / len(unlabeled))
        model.fit(rows, flags, sample_weight=weight)
        return 0.0
    model.fit(rows, flags)
    return float(np.log(len(unlabeled) / len(positive)))


def _logits(model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    probability = np.asarray(model.predict_proba(rows)[:, 1], dtype=np.float64)
    return logit(np.clip(probability, SATURATED, 1.0 - SATURATED))


def _check_folds(folds: int, n: int, m: int) -> int:
    if min(n, m) < 2:
        msg = (
            f"'labeled' must mark at least two positives and leave two rows unlabeled, got {n} and "
            f"{m}: a row must be scored by a classifier that did not see it."
        )
        raise ValueError(msg)
    if folds < 2:
        raise ValueError(f"'folds' must be at least 2, got {folds!r}.")
    return min(folds, n, m)
