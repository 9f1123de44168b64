r"""Learners for tables, without torch: weights, bags, and the exact solution of a convex risk.

`WeightedPU` and `BaggingPU` wrap any scikit-learn classifier. `LinearPU` solves

.. math:: \min_\theta \tfrac\alpha2 |w|^2 - q^\top\theta + \sum_i c_i\, h(z_i^\top\theta)

with :math:`\theta = (w, b)`; the constant b, the last coordinate, is not penalized.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit
from sklearn.base import clone

from noneg.checks import check_number
from noneg.learning.estimator import PUEstimator, sigmoid, standard_scale
from noneg.randomness import stream
from noneg.sklearn import PUStratifiedKFold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.learning.estimator import Flags, Floats

# Probabilities of 0 and 1, as trees give them, have no odds.
_EDGE = 1e-6


@dataclass(eq=False, repr=False)
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

    estimator: Any = None
    _: KW_ONLY
    setting: Setting
    prior: float | None = None
    folds: int = 5
    random_state: int = 0

    def _learn(self, rows: NDArray[Any], flags: Flags) -> None:
        task = self._task(flags, self._need_prior("to WeightedPU"))
        g = np.clip(self._out_of_fold(rows, flags)[~flags], _EDGE, 1.0 - _EDGE)
        ratio = g / (1.0 - g) * task.n_unl / task.n_pos
        self.weights_ = w = np.minimum(1.0, task.unlabeled_prior * ratio)
        known = task.n_pos if task.marginal[0] > 0.0 else 0
        x = np.concatenate([rows[~flags], rows[~flags], rows[flags][:known]])
        y = np.repeat([1, 0, 1], [task.n_unl, task.n_unl, known])
        weight = np.concatenate([w, 1.0 - w, np.ones(known)])
        used = weight > 0.0
        self.estimator_ = self._new().fit(x[used], y[used], sample_weight=weight[used])

    def _new(self) -> Any:  # noqa: ANN401
        from sklearn.ensemble import HistGradientBoostingClassifier

        if self.estimator is None:
            return HistGradientBoostingClassifier(random_state=self.random_state)
        return clone(self.estimator)

    def _out_of_fold(self, rows: NDArray[Any], flags: Flags) -> Floats:
        out = np.empty(len(rows))
        folds = PUStratifiedKFold(self.folds, setting=self.setting, random_state=self.random_state)
        for train, test in folds.split(rows, flags):
            first = self._new().fit(rows[train], flags[train].astype(int))
            out[test] = first.predict_proba(rows[test])[:, 1]
        return out

    def _positive(self, X: ArrayLike) -> Floats:
        rows = self._check_inputs(X)
        return np.asarray(self.estimator_.predict_proba(rows)[:, 1], dtype=np.float64)


@dataclass(eq=False, repr=False)
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

    estimator: Any = None
    _: KW_ONLY
    setting: Setting
    prior: float | None = None
    n_estimators: int = 50
    max_samples: int | None = None
    random_state: int = 0

    def _learn(self, rows: NDArray[Any], flags: Flags) -> None:
        self._sampling = self._task(flags, self.prior)
        pos, unl = rows[flags], rows[~flags]
        random, size = stream(self.random_state, "bagging"), self.max_samples or len(pos)
        self.estimators_, total, count = [], np.zeros(len(unl)), np.zeros(len(unl))
        for _ in range(self.n_estimators):
            drawn = random.integers(len(unl), size=size)
            model = self._new(int(random.integers(2**31)))
            model.fit(np.concatenate([pos, unl[drawn]]), np.repeat([1, 0], [len(pos), size]))
            out = np.ones(len(unl), dtype=bool)
            out[drawn] = False
            total[out] += model.predict_proba(unl[out])[:, 1] if out.any() else 0.0
            count += out
            self.estimators_.append(model)
        self.out_of_bag_ = np.divide(total, count, out=np.full(len(unl), np.nan), where=count > 0)

    def _new(self, seed: int) -> Any:  # noqa: ANN401
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
        on_pos, on_unl = self._sampling.marginal
        return self._sampling.prior * g, on_pos * g + on_unl * (1.0 - g)


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    setting: Setting
    prior: float | None = None
    loss: Literal["logistic", "double-hinge"] = "logistic"
    alpha: float = 1e-3

    def _learn(self, rows: NDArray[Any], flags: Flags) -> None:
        alpha = check_number(self.alpha, "alpha", "a number above 0")
        if alpha <= 0.0 or self.loss not in _SOLVERS:
            rule = f"'alpha' must be above 0 and 'loss' one of {', '.join(_SOLVERS)}"
            raise ValueError(f"{rule}, got {self.alpha!r} and {self.loss!r}.")
        task = self._task(flags, self._need_prior("to LinearPU"))
        center, scale = standard_scale(rows)
        z = np.column_stack([(rows - center) / scale, np.ones(len(rows))])
        on_pos, on_unl = task.marginal
        weight = np.where(flags, on_pos / task.n_pos, on_unl / task.n_unl)
        pull = task.prior * z[flags].mean(0)
        used = weight > 0.0
        theta, self.n_iter_ = _SOLVERS[self.loss](z[used], weight[used], pull, alpha)
        self.coef_ = theta[:-1] / scale
        self.intercept_ = float(theta[-1] - center @ self.coef_)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the margins f; above 0 where the positive label is predicted."""
        return np.asarray(self._check_inputs(X) @ self.coef_ + self.intercept_)

    def _positive(self, X: ArrayLike) -> Floats:
        return sigmoid(self.decision_function(X))


_MOST_STEPS = 200

# Solved when no component of the gradient, or the gap, is larger than this.
_TOLERANCE = 1e-10

# How far to go towards the boundary in an interior-point step.
_BOUNDARY = 0.995


def _penalty(d: int, alpha: float) -> Floats:
    penalty = np.full(d, alpha)
    penalty[-1] = 0.0
    return penalty


def logistic_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimum for :math:`h(f) = \log(1+e^f)`, and the number of Newton steps.

    Examples
    --------
    >>> z, c = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5])
    >>> theta, _ = logistic_minimum(z, c, np.array([0.2, 0.5]), 0.1)
    >>> f = z @ theta
    >>> gradient = 0.1 * theta * [1, 0] - [0.2, 0.5] + z.T @ (c * expit(f))
    >>> bool(abs(gradient).max() < 1e-10)
    True
    """
    theta, penalty = np.zeros(z.shape[1]), _penalty(z.shape[1], alpha)

    def value(theta: Floats) -> float:
        return float(penalty @ theta**2 / 2 - q @ theta + c @ np.logaddexp(0.0, z @ theta))

    for step in range(_MOST_STEPS):
        s = expit(z @ theta)
        gradient = penalty * theta - q + z.T @ (c * s)
        if np.abs(gradient).max() < _TOLERANCE:
            return theta, step
        curvature = np.diag(penalty + 1e-14) + (z.T * (c * s * (1.0 - s))) @ z
        move = _solve(curvature, gradient, alpha)
        rate, before, slope = 1.0, value(theta), float(gradient @ move)
        # The last steps change the value by less than its rounding.
        rounding = 1e-14 * max(1.0, abs(before))
        while value(theta - rate * move) > before - 1e-4 * rate * slope + rounding:
            rate /= 2.0
        theta = theta - rate * move
    raise ArithmeticError(_failure(alpha))


def double_hinge_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimum for :math:`h(f) = \max(0, (1+f)/2, f)`, and the number of steps.

    :math:`h(f) = \tfrac12 (f+1)_+ + \tfrac12 (f-1)_+`, a sum of hinges :math:`(b_j + f_j)_+`. Each
    is :math:`\min t_j` with :math:`t_j \ge 0` and :math:`t_j \ge b_j + f_j`; a primal-dual
    interior-point method solves the conditions of the optimum by Newton steps, each of the size of
    theta.

    Examples
    --------
    >>> z, c = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5])
    >>> theta, _ = double_hinge_minimum(z, c, np.array([0.2, 0.5]), 0.1)
    >>> theta.round(6) + 0.0
    array([1., 0.])
    """
    z, b = np.concatenate([z, z]), np.repeat([1.0, -1.0], len(z))
    # Weights of size one, so that the gap means the same for any number of rows.
    size = float(len(z))
    problem = _Hinges(z, np.tile(c, 2) / 2 * size, q * size, _penalty(z.shape[1], alpha * size))
    t = np.maximum(b, 0.0) + 1.0
    point = _Point(np.zeros(z.shape[1]), problem.top / 2, t, t - b)
    for step in range(_MOST_STEPS):
        gap, residual = problem.gap(point), problem.residual(point)
        if gap < _TOLERANCE and np.abs(residual).max() < _TOLERANCE * size:
            return point.theta, step
        # A problem that is nearly unbounded drives numbers to zero, and the equations say so.
        with np.errstate(all="ignore"):
            point = _moved(problem, point, gap, residual, alpha)
    raise ArithmeticError(_failure(alpha))


class _Hinges(NamedTuple):
    """Rows, largest dual values, the linear term, the penalty."""

    z: Floats
    top: Floats
    q: Floats
    penalty: Floats

    def gap(self, at: _Point) -> float:
        """Return the mean of the products that are zero at the optimum."""
        rest = self.top - at.dual
        return float(at.dual @ at.slack + rest @ at.t) / (2 * len(self.z))

    def residual(self, at: _Point) -> Floats:
        """Return the gradient of the Lagrangian."""
        return self.penalty * at.theta - self.q + self.z.T @ at.dual


class _Point(NamedTuple):
    """Parameters, dual values in (0, top), t above 0, and t - b - f above 0."""

    theta: Floats
    dual: Floats
    t: Floats
    slack: Floats


def _moved(problem: _Hinges, at: _Point, gap: float, residual: Floats, alpha: float) -> _Point:
    """Return the point after a Newton step towards a smaller gap."""
    z, size = problem.z, float(len(problem.z))
    rest = problem.top - at.dual
    scale = at.slack + at.dual * at.t / rest
    goal = gap * (0.1 if gap > np.abs(residual).max() / size else 0.5)
    r1, r2 = goal - at.dual * at.slack, goal - rest * at.t
    shift = (r1 - at.dual * r2 / rest) / scale
    curvature = np.diag(problem.penalty + 1e-13 * size) + (z.T * (at.dual / scale)) @ z
    d_theta = _solve(curvature, -residual - z.T @ shift, alpha)
    d_dual = shift + at.dual / scale * (z @ d_theta)
    d_t = (r2 + at.t * d_dual) / rest
    d_slack = d_t - z @ d_theta
    rate = _step_length((at.dual, d_dual), (rest, -d_dual), (at.t, d_t), (at.slack, d_slack))
    moves = (d_theta, d_dual, d_t, d_slack)
    return _Point(*(value + rate * move for value, move in zip(at, moves, strict=True)))


def _step_length(*pairs: tuple[Floats, Floats]) -> float:
    """Return how far all positive numbers can move without reaching zero, at most 1."""
    most = 1.0 / _BOUNDARY
    for value, move in pairs:
        down = move < 0.0
        if down.any():
            most = min(most, float((-value[down] / move[down]).min()))
    return _BOUNDARY * most


def _solve(curvature: Floats, right: Floats, alpha: float) -> Floats:
    """Return a Newton step; Cholesky's method does not warn of what convergence will show."""
    try:
        return np.asarray(cho_solve(cho_factor(curvature), right))
    except (LinAlgError, ValueError):
        raise ArithmeticError(_failure(alpha)) from None


def _failure(alpha: float) -> str:
    return (
        "The solver of the convex risk, which is nearly unbounded, did not converge: raise "
        f"'alpha', now {alpha:g}, or lower 'prior' if it may be too large."
    )


_SOLVERS = {"logistic": logistic_minimum, "double-hinge": double_hinge_minimum}
