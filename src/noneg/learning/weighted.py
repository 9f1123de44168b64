"""`WeightedPU`: Elkan and Noto's weights around any scikit-learn classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.learning.base import PUEstimator
from noneg.learning.task import make_task
from noneg.sklearn import PUStratifiedKFold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.learning.base import Floats

# Probabilities of 0 and 1, as trees give them, have no odds.
_EDGE = 1e-6


class WeightedPU(PUEstimator):
    r"""Any classifier, trained on unlabeled rows that are a bit of both classes.

    The classifier first tells labelled from unlabeled rows; out-of-fold probabilities G give
    :math:`w(x) = \min\bigl(1,\; a\,\frac{n_U}{n_P}\,\frac{G(x)}{1-G(x)}\bigr)`, the probability
    that an unlabeled row is positive, with a the share of positives among them. A second one is
    trained with each unlabeled row as a positive of weight w and a negative of weight 1 - w, and in
    one sample the labelled positives too (Elkan and Noto 2008, *Learning Classifiers from Only
    Positive and Unlabeled Data*, KDD, Section 3). Since the prior is given,
    :math:`\frac{1-c}{c} = a\,\frac{n_U}{n_P}` needs no estimate of c.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        With ``predict_proba`` and ``sample_weight``; by default gradient-boosted trees.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float
        Share of positives in the population.
    folds : int
        Folds for the probabilities of the first classifier.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    estimator_ : classifier
        The second classifier; its probabilities are class probabilities.
    weights_ : ndarray
        w of the unlabeled rows, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> model = WeightedPU(LogisticRegression(), setting="one-sample", prior=0.4)
    >>> bool((model.fit(X, labeled).predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        setting: Setting,
        prior: float | None = None,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.setting = setting
        self.prior = prior
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: ArrayLike, labeled: ArrayLike) -> WeightedPU:
        """Fit both classifiers.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labelled positives, 0 for unlabeled rows.
        """
        rows, flags = self._check_rows(X, labeled)
        n_pos, n_unl = int(flags.sum()), int((~flags).sum())
        prior = self._need_prior("to WeightedPU")
        task = make_task(n_pos, n_unl, setting=self.setting, prior=prior, correction="weighted")
        g = np.clip(self._out_of_fold(rows, flags)[~flags], _EDGE, 1.0 - _EDGE)
        ratio = g / (1.0 - g) * n_unl / n_pos
        self.weights_ = np.minimum(1.0, task.unlabeled_prior * ratio)
        w, unl = self.weights_, rows[~flags]
        parts = [(unl, 1, w), (unl, 0, 1.0 - w)]
        if task.marginal[0] > 0.0:
            parts.append((rows[flags], 1, np.ones(n_pos)))
        x = np.concatenate([part for part, _, _ in parts])
        y = np.concatenate([np.full(len(part), label) for part, label, _ in parts])
        weight = np.concatenate([part for _, _, part in parts])
        used = weight > 0.0
        self.estimator_ = self._new().fit(x[used], y[used], sample_weight=weight[used])
        return self

    def _new(self) -> Any:  # noqa: ANN401
        from sklearn.base import clone
        from sklearn.ensemble import HistGradientBoostingClassifier

        if self.estimator is None:
            return HistGradientBoostingClassifier(random_state=self.random_state)
        return clone(self.estimator)

    def _out_of_fold(self, rows: NDArray[Any], flags: NDArray[np.bool_]) -> Floats:
        out = np.empty(len(rows))
        folds = PUStratifiedKFold(self.folds, setting=self.setting, random_state=self.random_state)
        for train, test in folds.split(rows, flags):
            first = self._new().fit(rows[train], flags[train].astype(int))
            out[test] = first.predict_proba(rows[test])[:, 1]
        return out

    def _positive(self, X: ArrayLike) -> Floats:
        rows = self._check_inputs(X)
        return np.asarray(self.estimator_.predict_proba(rows)[:, 1], dtype=np.float64)
