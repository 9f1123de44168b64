r"""A cross-fitted classifier of positives against unlabeled rows, which turns features into scores.

Every row is scored by a classifier that did not see it. Both samples have equal weight, so
``g / (1 - g)`` estimates the ratio of the two densities.

If no classifier is given, one of two is chosen. Logistic regression on splines is smooth in each
column, so its density ratio can be trusted at the ends, where the prior is estimated; a random
forest captures interactions between columns. Both are cross-fitted. The forest is used unless the
splines predict held-out rows clearly better: their log loss, with equal weight for both samples,

.. math:: -E_P \log g - E_U \log(1 - g),

must be smaller by two standard errors of the difference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from noneg.checks import Setting, check_flags, check_propensity, is_pooled
from noneg.errors import InputError
from noneg.prior.samples import FeatureSamples, ScoreLaws
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats
    from noneg.prior.base import Classifier

FOLDS = 5
# Probabilities of exactly 0 and 1 become logits of this size.
SATURATED = 1e-12
KNOTS, DEGREE = 10, 3
QUANTILES = 100
# With more columns, splines would cost more than they gain; straight lines are used instead.
MANY_COLUMNS = 100
STANDARD_ERRORS = 2.0


def discriminate(
    X: ArrayLike,
    labeled: ArrayLike,
    *,
    setting: Setting,
    propensity: ArrayLike | None = None,
    classifier: Classifier = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> ScoreLaws:
    """Score positives and unlabeled rows with a cross-fitted classifier that separates them.

    Parameters
    ----------
    X : array-like, shape (n, d)
    labeled : array-like, shape (n,)
        1 for labeled positives and 0 for unlabeled rows.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; it is never guessed.
    propensity : array-like, optional
        For each row, the rate at which positives like it are labeled. Labeled rows are then
        weighted by its inverse and, in one sample, compared with all rows.
    classifier : scikit-learn classifier, optional
        Defaults to a random forest, or to smooth curves if they predict held-out rows clearly
        better; see `default_classifiers`. A classifier without `sample_weight`, such as a pipeline,
        is fitted without weights, and its logits are shifted to correspond to equal samples.
    folds : int
        Number of parts of the data, each scored by a classifier fitted on the others.
    seed : int
        Seed of the folds.

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
    if propensity is None:
        logits = cross_fit(samples, classifier, folds=folds, seed=seed)
        return ScoreLaws.from_arrays(*logits, setting=setting, scale="logit", discriminates=True)
    flags = check_flags(labeled, "labeled", choosable=False)
    inverse = 1.0 / check_propensity(propensity, flags.size, flags)[flags]
    p, u = cross_fit(samples, classifier, folds=folds, seed=seed, inverse=inverse)
    everyone = np.append(p, u) if is_pooled(setting) else u
    laws = ScoreLaws.rated((p, 1.0, inverse), (everyone, 1.0, 1.0), setting, float(flags.mean()))
    return replace(laws, scale="logit", discriminates=True)


def cross_fit(
    samples: FeatureSamples,
    classifier: Classifier = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    kept: Flags | None = None,
    inverse: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return out-of-fold logits for the positives and for the unlabeled rows.

    `kept` marks the unlabeled rows to train on; all of them are scored. `inverse` contains inverse
    labeling rates, which weight the positives; in one sample, the positives are then also part of
    the other class.
    """
    n, m = len(samples.positive), len(samples.unlabeled)
    folds = _check_folds(folds, n, m)
    random = stream(seed, "prior folds")
    part_p, part_u = (random.permutation(k) % folds for k in (n, m))
    train = np.ones(m, dtype=np.bool_) if kept is None else kept
    if (part_u[train] == part_u[train][0]).all():
        # If one part contains all training rows, redistribute them; it could not be scored
        # otherwise.
        part_u[train] = np.arange(train.sum()) % folds
    rows, part = np.concatenate([samples.positive, samples.unlabeled]), np.append(part_p, part_u)
    used = np.append(np.ones(n, dtype=np.bool_), train)

    def out_of_fold(model: Classifier) -> tuple[Floats, Floats]:
        out = np.empty(len(rows))
        # Positives are spread over all parts, so none is empty.
        for held in (part == fold for fold in np.unique(part)):
            learn = ~held & used
            positive, others = rows[:n][learn[:n]], rows[n:][learn[n:]]
            weight = None if inverse is None else inverse[learn[:n]]
            if inverse is not None and is_pooled(samples.setting):
                others = np.concatenate([positive, others])
            out[held] = _logits(model, positive, others, weight, rows[held])
        return out[:n], out[n:]

    if classifier is not None:
        return out_of_fold(classifier)
    fewest = int(used.sum() - np.bincount(part[used]).max())
    pair = default_classifiers(fewest, rows.shape[1], seed=seed)
    forest, curves = (out_of_fold(model) for model in pair)
    better = clearly_better(*((p, u[train]) for p, u in (curves, forest)))
    return curves if better else forest


def _logits(
    model: Classifier, positive: Floats, others: Floats, weight: Floats | None, rows: Floats
) -> Floats:
    """Return logits of rows, learned from positives and other rows.

    Both samples get equal weight; a model without weights is shifted by the log ratio of sizes.
    """
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    n, m = len(positive), len(others)
    flags, model, shift, options = np.repeat([1, 0], [n, m]), clone(model), 0.0, {}
    if has_fit_parameter(model, "sample_weight"):
        equal = np.repeat([0.5 * (n + m) / n, 0.5 * (n + m) / m], [n, m])
        if weight is not None:
            equal[:n] *= weight / weight.mean()
        options["sample_weight"] = equal
    elif weight is None:
        shift = float(np.log(m / n))
    else:
        rule = "must accept sample_weight if positives have labeling rates (propensity)"
        raise InputError("classifier", rule, value=type(model).__name__)
    learn = np.concatenate([positive, others])
    probability = model.fit(learn, flags, **options).predict_proba(rows)[:, 1]
    clipped = np.clip(np.asarray(probability, dtype=np.float64), SATURATED, 1.0 - SATURATED)
    return logit(clipped) + shift


def _check_folds(folds: int, n: int, m: int) -> int:
    if min(n, m) < 2:
        msg = (
            f"must mark at least two positives and leave two rows unlabeled, got {n} and "
            f"{m}: a row must be scored by a classifier that did not see it."
        )
        raise InputError("labeled", msg)
    if folds < 2:
        raise InputError("folds", "must be at least 2", value=folds)
    return min(folds, n, m)


def default_classifiers(
    n_rows: int, n_columns: int, *, seed: int = 0
) -> tuple[Classifier, Classifier]:
    """Return the classifiers tried by default, a random forest and smooth curves.

    The forest has 100 trees with at least ten rows per leaf. The curves are cubic splines with ten
    knots in the normal scores of each column (straight lines if there are more than 100 columns),
    with coefficients from logistic regression.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the smallest table that they will be fitted on.
    seed : int
        Seed of the forest.

    Examples
    --------
    >>> forest, curves = default_classifiers(1000, 20)
    >>> type(forest).__name__, curves["splinetransformer"].n_knots
    ('RandomForestClassifier', 10)
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, SplineTransformer

    normal_scores = QuantileTransformer(
        n_quantiles=min(QUANTILES, n_rows), output_distribution="normal", random_state=seed
    )
    knots, degree = (KNOTS, DEGREE) if n_columns <= MANY_COLUMNS else (2, 1)
    splines = SplineTransformer(n_knots=knots, degree=degree, sparse_output=True)
    curves = make_pipeline(normal_scores, splines, LogisticRegression(max_iter=1000))
    return default_forest(seed), curves


def default_forest(seed: int = 0) -> Classifier:
    """Return a random forest with large leaves, which is sufficient where only ranks matter.

    Examples
    --------
    >>> default_forest().min_samples_leaf
    10
    """
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=10, random_state=seed)


def clearly_better(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> bool:
    """Whether the first logits predict the rows better, by two standard errors of the log loss.

    Parameters
    ----------
    first, second : pair of ndarray
        Logits of the same positives and of the same unlabeled rows, from two classifiers that did
        not see them. Both samples have equal weight.

    Examples
    --------
    >>> import numpy as np
    >>> knows = np.array([2.0, 1.0, 1.5]), np.array([-2.0, -1.0])
    >>> guesses = np.array([0.5, -0.5, 0.0]), np.array([0.5, -0.5])
    >>> clearly_better(knows, guesses), clearly_better(guesses, knows)
    (True, False)
    """
    gain, square = 0.0, 0.0
    for sign, one, other in zip((-1.0, 1.0), first, second, strict=True):
        less = np.logaddexp(0.0, sign * other) - np.logaddexp(0.0, sign * one)
        gain, square = gain + float(less.mean()), square + float(less.var()) / less.size
    return gain > STANDARD_ERRORS * float(np.sqrt(square))
