r"""What tells positives from unlabeled rows when nobody names a classifier: one of two.

Logistic regression on splines bends smoothly in every column by itself, so that its density ratio
can be trusted at the ends, where the prior is read off; a forest sees what columns do together.
Both are cross-fitted. The forest is taken unless the curves foretell held-out rows clearly better:
their log loss, both samples equal in weight,

.. math:: -E_P \log g - E_U \log(1 - g),

must be smaller by two standard errors of the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Logits = tuple[NDArray[np.float64], NDArray[np.float64]]

KNOTS, DEGREE = 10, 3
QUANTILES = 100
# Splines of more columns would cost more than they tell: straight lines take their place.
MANY_COLUMNS = 100
STANDARD_ERRORS = 2.0


def default_classifiers(n_rows: int, n_columns: int, *, seed: int = 0) -> tuple[Any, Any]:
    """Return the classifiers tried when none is given: a random forest, and smooth curves.

    The forest has 100 trees with at least ten rows in a leaf. The curves are cubic splines with ten
    knots in the normal scores of each column (straight lines if there are more than 100 columns);
    logistic regression finds their coefficients.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the smallest table that they will be fitted on.
    seed : int
        Same seed, same forest.

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


def default_forest(seed: int = 0) -> Any:  # noqa: ANN401 - scikit-learn has no types
    """Return a random forest with blunt leaves: what ranks rows if nothing but ranks is needed.

    Examples
    --------
    >>> default_forest().min_samples_leaf
    10
    """
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=10, random_state=seed)


def clearly_better(first: Logits, second: Logits) -> bool:
    """Tell whether the first logits foretell the rows better, by two standard errors of log loss.

    Parameters
    ----------
    first, second : pair of ndarray
        Logits of the same positives and of the same unlabeled rows, by two classifiers that did not
        see them. Both samples count equally.

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
