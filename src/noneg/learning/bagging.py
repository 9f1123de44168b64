"""`BaggingPU`: many classifiers of the positives against a few unlabeled rows each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.learning.base import PUEstimator
from noneg.learning.task import make_task
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.learning.base import Floats


class BaggingPU(PUEstimator):
    r"""Average of classifiers, each of all positives against a random sample of unlabeled rows.

    Each unlabeled sample is drawn with replacement and taken as negative; being small, it varies
    much in how many hidden positives it holds, which is what averaging likes (Mordelet and Vert
    2014, *A bagging SVM to learn from positive and unlabeled examples*, Pattern Recognition
    Letters, Algorithms 1 and 2).

    The average g, of classifiers that see as many of P as of U, estimates
    :math:`p_+/(p_+ + p_U)`. With a prior, ``predict_proba`` turns it into the class probability
    :math:`\pi p_+/p`; without one it is g itself.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        With ``predict_proba``; by default a decision tree with leaves of at least five rows.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float, optional
        Share of positives in the population.
    n_estimators : int
        Number of classifiers.
    max_samples : int, optional
        Unlabeled rows in each sample; by default as many as there are positives. With another
        number, give a classifier with ``class_weight="balanced"``, as the default one has.
    random_state : int
        Seed of the samples.

    Attributes
    ----------
    estimators_ : list
    out_of_bag_ : ndarray
        Of each unlabeled row the average over the classifiers that did not see it (the paper's
        transductive scores); nan if all did.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.4
    >>> X = rng.normal(size=(1000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> labeled = y & (rng.random(1000) < 0.5)
    >>> model = BaggingPU(setting="one-sample", prior=0.4).fit(X, labeled)
    >>> bool((model.predict(X) == y).mean() > 0.85)
    True
    """

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        setting: Setting,
        prior: float | None = None,
        n_estimators: int = 50,
        max_samples: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.setting = setting
        self.prior = prior
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X: ArrayLike, labeled: ArrayLike) -> BaggingPU:
        """Fit the classifiers.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labelled positives, 0 for unlabeled rows.
        """
        rows, flags = self._check_rows(X, labeled)
        pos, unl = rows[flags], rows[~flags]
        self._task = make_task(
            len(pos), len(unl), setting=self.setting, prior=self.prior, correction="weighted"
        )
        random, size = stream(self.random_state, "bagging"), self.max_samples or len(pos)
        self.estimators_, total, count = [], np.zeros(len(unl)), np.zeros(len(unl))
        for _ in range(self.n_estimators):
            drawn = random.integers(len(unl), size=size)
            model = self._new(int(random.integers(2**31))).fit(*_joined(pos, unl[drawn]))
            out = np.ones(len(unl), dtype=bool)
            out[drawn] = False
            total[out] += model.predict_proba(unl[out])[:, 1] if out.any() else 0.0
            count += out
            self.estimators_.append(model)
        self.out_of_bag_ = np.divide(total, count, out=np.full(len(unl), np.nan), where=count > 0)
        return self

    def _new(self, seed: int) -> Any:  # noqa: ANN401
        from sklearn.base import clone
        from sklearn.tree import DecisionTreeClassifier

        if self.estimator is None:
            return DecisionTreeClassifier(
                min_samples_leaf=5, class_weight="balanced", random_state=seed
            )
        made = clone(self.estimator)
        return made.set_params(random_state=seed) if "random_state" in made.get_params() else made

    def decision_function(self, X: ArrayLike) -> Floats:
        r"""Return a multiple of :math:`\pi p_+ - p/2`; above 0 where the positive is predicted.

        It ranks rows as g does, also where the probability is cut at 1.
        """
        top, marginal = self._laws(X)
        return top - marginal / 2.0

    def _positive(self, X: ArrayLike) -> Floats:
        top, marginal = self._laws(X)
        return np.divide(top, marginal, out=np.ones_like(top), where=marginal > top)

    def _laws(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Return pi p_+ and p, with p_+ : p_U = g : 1 - g; without a prior, g and 1."""
        rows = self._check_inputs(X)
        g = np.mean([model.predict_proba(rows)[:, 1] for model in self.estimators_], axis=0)
        if self.prior is None:
            return g, np.ones_like(g)
        on_pos, on_unl = self._task.marginal
        return self._task.prior * g, on_pos * g + on_unl * (1.0 - g)


def _joined(pos: NDArray[Any], drawn: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return np.concatenate([pos, drawn]), np.repeat([1, 0], [len(pos), len(drawn)])
