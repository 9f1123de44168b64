"""`LinearPU`: the convex PU risk of a linear model, solved exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from noneg.checks import check_number
from noneg.learning.base import PUEstimator, sigmoid
from noneg.learning.convex import double_hinge_minimum, logistic_minimum
from noneg.learning.task import make_task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noneg.checks import Setting
    from noneg.learning.base import Floats

_SOLVERS = {"logistic": logistic_minimum, "double-hinge": double_hinge_minimum}


class LinearPU(PUEstimator):
    r"""Linear model that minimizes the convex PU risk with a ridge penalty.

    .. math:: -\pi\,\hat E_+[f] + \hat E_p[\ell(f, -1)] + \tfrac{\alpha}{2}\lVert w \rVert^2,
        \qquad f(x) = w^\top x + b

    (du Plessis, Niu and Sugiyama 2015, *Convex Formulation for Learning from Positive and Unlabeled
    Data*, ICML, Eq. 5: for the logistic and the double hinge loss
    :math:`\ell(f,+1) - \ell(f,-1) = -f`). In one sample the mean over the population is that over
    all rows (PU benchmark paper, Eq. 8). Columns are standardized first; the penalty is on their
    weights, not on the constant. Newton's method solves the logistic problem, an interior-point
    method the double hinge, both to the precision of the machine. No torch is needed.

    Parameters
    ----------
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float
        Share of positives in the population.
    loss : {"logistic", "double-hinge"}
        With "logistic", probabilities are the model's class probabilities; with "double-hinge"
        only their side of 1/2 has a meaning.
    alpha : float
        Weight of the penalty, above 0.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    n_iter_ : int
        Steps of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(y, 1.0, -1.0)[:, None]
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> model = LinearPU(setting="one-sample", prior=0.4).fit(X, labeled)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        setting: Setting,
        prior: float | None = None,
        loss: Literal["logistic", "double-hinge"] = "logistic",
        alpha: float = 1e-3,
    ) -> None:
        self.setting = setting
        self.prior = prior
        self.loss = loss
        self.alpha = alpha

    def fit(self, X: ArrayLike, labeled: ArrayLike) -> LinearPU:
        """Fit the model.

        Parameters
        ----------
        X : array-like, shape (n, d)
        labeled : array-like, shape (n,)
            1 for labelled positives, 0 for unlabeled rows.
        """
        rows, flags = self._check_rows(X, labeled)
        alpha = check_number(self.alpha, "alpha", "a number above 0")
        if alpha <= 0.0 or self.loss not in _SOLVERS:
            rule = f"'alpha' must be above 0 and 'loss' one of {', '.join(_SOLVERS)}"
            raise ValueError(f"{rule}, got {self.alpha!r} and {self.loss!r}.")
        task = make_task(
            int(flags.sum()),
            int((~flags).sum()),
            setting=self.setting,
            prior=self._need_prior("to LinearPU"),
            correction="weighted",
        )
        center, scale = rows.mean(0), rows.std(0)
        scale = np.where(scale > 0.0, scale, 1.0)
        z = np.column_stack([(rows - center) / scale, np.ones(len(rows))])
        on_pos, on_unl = task.marginal
        weight = np.where(flags, on_pos / task.n_pos, on_unl / task.n_unl)
        pull = task.prior * z[flags].mean(0)
        used = weight > 0.0
        theta, self.n_iter_ = _SOLVERS[self.loss](z[used], weight[used], pull, alpha)
        self.coef_ = theta[:-1] / scale
        self.intercept_ = float(theta[-1] - center @ self.coef_)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the margins f; above 0 where the positive label is predicted."""
        return np.asarray(self._check_inputs(X) @ self.coef_ + self.intercept_)

    def _positive(self, X: ArrayLike) -> Floats:
        return sigmoid(self.decision_function(X))
