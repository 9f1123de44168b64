r"""Learners for tables that do not need torch: weighting, bagging, and an exact convex solver.

`WeightedPU` and `BaggingPU` wrap any scikit-learn classifier and pass it the table unchanged.
`LinearPU` solves

.. math:: \min_\theta \tfrac\alpha2 |w|^2 - q^\top\theta + \sum_i c_i\, h(z_i^\top\theta)

with :math:`\theta = (w, b)`; the intercept b, the last coordinate, is not penalized.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from noneg.checks import Setting, check_count, check_number, is_pooled
from noneg.errors import InputError
from noneg.learning.base import PUEstimator, Rows, standard_scale
from noneg.likelihood import LabelLaw
from noneg.randomness import stream
from noneg.recalibration.recalibrated import weight_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places

# Trees can return probabilities of exactly 0 and 1, whose log odds are infinite.
_EDGE = 1e-6


@dataclass(eq=False, repr=False)
class Wrapper(PUEstimator):
    """A learner that passes tables to a classifier unchanged, with any missing values and text."""

    estimator: Any = None
    _: KW_ONLY
    n_jobs: int | None = None

    def _check_inputs(self, X: Any, *, fresh: bool = False) -> Any:  # noqa: ANN401
        # Lists have no columns, so convert them to arrays.
        table: Any = X if hasattr(X, "shape") or hasattr(X, "columns") else np.asarray(X)
        sparse = issparse(table)
        if (sparse and not get_tags(self).input_tags.sparse) or len(table.shape) != 2:
            check_array(table)
        validate_data(self, table, reset=fresh, skip_check_array=True)
        return table.tocsr() if sparse else table

    def _default(self, seed: int) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def _new(self, seed: int) -> Any:  # noqa: ANN401
        """Return a new classifier, with its seed set if it has one."""
        if self.estimator is None:
            return self._default(seed)
        made = clone(self.estimator)
        return made.set_params(random_state=seed) if "random_state" in made.get_params() else made

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._new(0)).input_tags
        return tags


def fit_weighted(model: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> Any:  # noqa: ANN401
    """Fit a classifier with weights, which it must accept."""
    options = {} if weight is None else weight_options(model, weight)
    if options is None:
        raise InputError("estimator", "must accept sample_weight", value=type(model).__name__)
    return model.fit(X, y, **options)


@dataclass(eq=False, repr=False)
class WeightedPU(Wrapper):
    r"""Any classifier, trained on unlabeled rows weighted as members of both classes.

    A first classifier is trained to separate labeled from unlabeled rows. From its out-of-fold
    probabilities G, the probability that an unlabeled row is positive is
    :math:`w(x) = \min\bigl(1,\; k\,\frac{1-c(x)}{c(x)}\,\frac{G(x)}{1-G(x)}\bigr)`. Here c is the
    rate at which positives are labeled (see `noneg.likelihood.labels`), and k is chosen so that the
    mean of w equals the share of positives among the unlabeled rows implied by the prior. A second
    classifier is then trained with each unlabeled row as a positive of weight w and a negative of
    weight 1 - w; in the one-sample setting, the labeled positives are included too (Elkan and Noto
    2008, *Learning Classifiers from Only Positive and Unlabeled Data*, KDD, Section 3).

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba`` and ``sample_weight``, or a pipeline that ends in one;
        by default, gradient-boosted trees. It receives the table unchanged.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float or "estimate"
        Share of positives in the population.
    folds : int
        Number of folds for the first classifier's probabilities.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Number of folds to fit in parallel.
    random_state : int
        Seed for the folds and the classifier.

    Attributes
    ----------
    estimator_ : classifier
        The second classifier; its probabilities are class probabilities.
    weights_ : ndarray
        The weights w of the unlabeled rows, in their original order.

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

    _: KW_ONLY
    folds: int = 5

    def _learn(self, rows: Rows) -> None:
        prior = self._known_prior("to WeightedPU")
        rows = rows.for_law(self.setting)
        law = LabelLaw.of(rows, self.setting, prior)
        flags, one_sample = rows.flags, is_pooled(self.setting)
        g = np.clip(self._out_of_fold(rows), _EDGE, 1.0 - _EDGE)
        ratio = (1.0 - law.rate) / law.rate * g / (1.0 - g)
        mass = rows.mass
        share = prior
        if one_sample:
            n_pos = float(mass[flags].sum())
            share = max(0.0, (prior * mass.sum() - n_pos) / (mass.sum() - n_pos))
        w = np.ones(len(rows))
        w[~flags] = self.weights_ = scaled_to(ratio[~flags], mass[~flags], share)
        unlabeled = np.flatnonzero(~flags)
        positive = np.arange(len(rows)) if one_sample else unlabeled
        index = np.append(positive, unlabeled)
        y = np.repeat([1, 0], [positive.size, unlabeled.size])
        weight = mass[index] * np.append(w[positive], 1.0 - w[unlabeled])
        used = weight > 0.0
        weight = weight[used] / weight[used].mean()
        X = _safe_indexing(rows.X, index[used])
        self.estimator_ = fit_weighted(self._new(self.random_state), X, y[used], weight)

    def _default(self, seed: int) -> Any:  # noqa: ANN401
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)

    def _out_of_fold(self, rows: Rows) -> Floats:
        out = np.full(len(rows), rows.flags.mean())
        folds = self._folds(rows, check_count(self.folds, "folds", 2))
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(self._scored)(rows.take(train), rows.take(test).X) for train, test in folds
        )
        for (_, test), score in zip(folds, found, strict=True):
            out[test] = score
        return out

    def _scored(self, train: Rows, held: Any) -> Floats:  # noqa: ANN401
        model = self._new(self.random_state)
        fit_weighted(model, train.X, train.flags.astype(int), train.weight)
        return np.asarray(model.predict_proba(held)[:, 1], dtype=np.float64)

    def _positive(self, X: Any) -> Floats:  # noqa: ANN401
        return np.asarray(self.estimator_.predict_proba(X)[:, 1], dtype=np.float64)


def scaled_to(ratio: Floats, mass: Floats, share: float) -> Floats:
    """Return min(1, k * ratio), with k chosen so that the weighted mean equals `share`.

    Examples
    --------
    >>> scaled_to(np.array([4.0, 1.0, 1.0]), np.ones(3), 0.5).round(6).tolist()
    [1.0, 0.25, 0.25]
    """
    if share <= 0.0:
        return np.zeros_like(ratio)

    def excess(log_k: float) -> float:
        return float(np.average(np.minimum(1.0, np.exp(log_k) * ratio), weights=mass)) - share

    log_k = brentq(excess, -60.0, 60.0) if excess(60.0) > 0.0 else 60.0
    return np.minimum(1.0, np.exp(log_k) * ratio)


@dataclass(eq=False, repr=False)
class BaggingPU(Wrapper):
    r"""Average of classifiers, each trained on all positives and a random unlabeled sample.

    Each unlabeled sample is drawn with replacement and treated as negative. Because the samples are
    small, their numbers of hidden positives vary widely; this makes the classifiers diverse, which
    benefits averaging (Mordelet and Vert 2014, *A bagging SVM to learn from positive and unlabeled
    examples*, Pattern Recognition Letters, Algorithms 1 and 2).

    The average g of classifiers trained on equal numbers of P and U rows estimates
    :math:`p_+/(p_+ + p_U)`. With a prior, ``predict_proba`` converts it to the class probability
    :math:`\pi p_+/p`; without one, it returns g itself. ``decision_function`` returns a multiple of
    :math:`\pi p_+ - p/2`, which ranks rows in the same order as g even where the probability is
    clipped at 1. Weights and propensities determine the probabilities with which rows are drawn;
    positives are then drawn at random as well.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``; by default, a decision tree with at least five rows per
        leaf. It receives the table unchanged.
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float or "estimate", optional
        Share of positives in the population.
    n_estimators : int
        Number of classifiers.
    max_samples : int, optional
        Number of unlabeled rows in each sample; by default, the number of positives. With any other
        number, use a classifier with ``class_weight="balanced"``, which the default one has.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    n_jobs : int, optional
        Number of classifiers to fit in parallel.
    random_state : int
        Seed for the samples.

    Attributes
    ----------
    estimators_ : list
    out_of_bag_ : ndarray
        For each unlabeled row, the average score from classifiers that were not trained on it (the
        paper's transductive scores); nan if there are none.

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

    _: KW_ONLY
    n_estimators: int = 50
    max_samples: int | None = None

    def _learn(self, rows: Rows) -> None:
        flags, mass = rows.flags, rows.mass
        if self.prior_ is not None:
            LabelLaw.of(rows, self.setting, self.prior_)
        n_pos = float(mass[flags].sum())
        self._labeled_share = n_pos / float(mass.sum()) if is_pooled(self.setting) else 0.0
        unl = np.flatnonzero(~flags)
        random, size = stream(self.random_state, "bagging"), self.max_samples or int(flags.sum())
        chance = None if rows.weight is None else mass[unl] / mass[unl].sum()
        work = []
        for _ in range(self.n_estimators):
            drawn = random.choice(unl.size, size=size, p=chance)
            pos = self._positives(rows, random)
            work.append((rows, pos, unl, drawn, int(random.integers(2**31))))
        found = Parallel(n_jobs=self.n_jobs)(delayed(self._one)(*each) for each in work)
        self.estimators_ = [model for model, _ in found]
        scores = np.array([score for _, score in found])
        count = np.isfinite(scores).sum(0)
        total = np.nansum(scores, axis=0)
        self.out_of_bag_ = np.divide(total, count, out=np.full(unl.size, np.nan), where=count > 0)

    def _positives(self, rows: Rows, random: np.random.Generator) -> Places:
        """Return all positives, or a weighted sample of the same size."""
        pos = np.flatnonzero(rows.flags)
        if rows.weight is None and rows.propensity is None:
            return pos
        mass = rows.positive_mass[pos]
        return pos[random.choice(pos.size, size=pos.size, p=mass / mass.sum())]

    def _one(
        self, rows: Rows, pos: Places, unl: Places, drawn: Places, seed: int
    ) -> tuple[Any, Floats]:
        """Return a classifier, and its scores for unlabeled rows outside its training sample."""
        model, y = self._new(seed), np.repeat([1, 0], [pos.size, drawn.size])
        model.fit(_safe_indexing(rows.X, np.append(pos, unl[drawn])), y)
        out, score = np.ones(unl.size, dtype=bool), np.full(unl.size, np.nan)
        out[drawn] = False
        if out.any():
            score[out] = model.predict_proba(_safe_indexing(rows.X, unl[out]))[:, 1]
        return model, score

    def _default(self, seed: int) -> Any:  # noqa: ANN401
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(
            min_samples_leaf=5, class_weight="balanced", random_state=seed
        )

    def _margin(self, X: Any) -> Floats:  # noqa: ANN401
        top, marginal = self._laws(X)
        return top - marginal / 2.0

    def _positive(self, X: Any) -> Floats:  # noqa: ANN401
        top, marginal = self._laws(X)
        return np.divide(top, marginal, out=np.ones_like(top), where=marginal > top)

    def _laws(self, X: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
        """Return pi p_+ and p, where p_+ : p_U = g : 1 - g; without a prior, return g and 1."""
        g = np.mean([model.predict_proba(X)[:, 1] for model in self.estimators_], axis=0)
        if self.prior_ is None:
            return g, np.ones_like(g)
        share = self._labeled_share
        return self.prior_ * g, share * g + (1.0 - share) * (1.0 - g)


# Penalties that LinearPU tries, the number of folds, and the penalty used with few positives.
_ALPHAS, _ALPHA_FOLDS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0), 5
_FEW, _ALPHA_OF_FEW = 20, 0.1


@dataclass(eq=False, repr=False)
class LinearPU(PUEstimator):
    r"""Linear model that minimizes the convex PU risk with a ridge penalty.

    .. math:: -\pi\,\hat E_+[f] + \hat E_p[\ell(f, -1)] + \tfrac{\alpha}{2}\lVert w \rVert^2,
        \qquad f(x) = w^\top x + b

    (du Plessis, Niu and Sugiyama 2015, *Convex Formulation for Learning from Positive and Unlabeled
    Data*, ICML, Eq. 5: for the logistic and the double hinge loss
    :math:`\ell(f,+1) - \ell(f,-1) = -f`). In the one-sample setting, the population mean is taken
    over all rows (PU benchmark paper, Eq. 8). Columns are standardized first; the penalty applies
    to their weights but not to the intercept. ``decision_function`` returns the margins f. Newton's
    method solves the logistic problem, and an interior-point method solves the double-hinge
    problem, both to machine precision. Torch is not needed.

    Parameters
    ----------
    setting : {"two-sample", "one-sample"}
        How the rows were sampled; never guessed.
    prior : float or "estimate"
        Share of positives in the population.
    loss : {"logistic", "double-hinge"}
        With "logistic", probabilities are the model's class probabilities; with "double-hinge",
        only whether they are above 1/2 is meaningful.
    alpha : float or "auto"
        Weight of the penalty, above 0. By default, the value from 1e-4 to 1 with the smallest
        logistic PU risk on held-out rows in five folds: the first term of the risk is noisy, so the
        best penalty varies widely. With fewer than 20 positives, it is 0.1.
    positive_label : object, optional
        The label that means positive; 0/1, -1/1 and true/false need none.
    random_state : int
        Seed for the folds.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
    intercept_ : float
    alpha_ : float
        The penalty that was used.
    n_iter_ : int
        Number of solver steps.

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
    loss: Literal["logistic", "double-hinge"] = "logistic"
    alpha: float | Literal["auto"] = "auto"

    def _learn(self, rows: Rows) -> None:
        if self.loss not in _SOLVERS:
            rule = f"must be one of {', '.join(_SOLVERS)}"
            raise InputError("loss", rule, value=self.loss)
        if self.alpha != "auto" and check_number(self.alpha, "alpha", "a number above 0") <= 0.0:
            raise InputError("alpha", "must be 'auto' or above 0", value=self.alpha)
        prior = self._known_prior("to LinearPU")
        LabelLaw.of(rows, self.setting, prior)
        center, scale = standard_scale(rows.X, rows.weight)
        rows = replace(rows, X=np.column_stack([(rows.X - center) / scale, np.ones(len(rows))]))
        self.alpha_ = float(self._best_alpha(rows, prior) if self.alpha == "auto" else self.alpha)
        problem = _problem(rows, self.setting, prior)
        theta, self.n_iter_ = _SOLVERS[self.loss](*problem, self.alpha_)
        self.coef_ = theta[:-1] / scale
        self.intercept_ = float(theta[-1] - center @ self.coef_)

    def _best_alpha(self, rows: Rows, prior: float) -> float:
        """Return the penalty with the smallest logistic risk on held-out rows."""
        if rows.mass[rows.flags].sum() < _FEW:
            return _ALPHA_OF_FEW
        risk = np.zeros(len(_ALPHAS))
        for train, test in self._folds(rows, _ALPHA_FOLDS):
            problem = _problem(rows.take(train), self.setting, prior)
            z, c, q = _problem(rows.take(test), self.setting, prior)
            for k, alpha in enumerate(_ALPHAS):
                try:
                    theta, _ = logistic_minimum(*problem, alpha)
                except ArithmeticError:
                    risk[k] = np.inf
                else:
                    risk[k] += c @ np.logaddexp(0.0, z @ theta) - q @ theta
        return _ALPHAS[int(risk.argmin())]

    def _margin(self, X: Any) -> Floats:  # noqa: ANN401
        return np.asarray(X @ self.coef_ + self.intercept_)


def _problem(rows: Rows, setting: Setting, prior: float) -> tuple[Floats, Floats, Floats]:
    """Return population rows z, their weights c, and the linear term q from the positives."""
    counts = rows.population(setting)
    mass, pos = rows.mass[counts], rows.flags
    pull = np.average(rows.X[pos], axis=0, weights=rows.positive_mass[pos])
    return rows.X[counts], mass / mass.sum(), prior * pull


_MOST_STEPS = 200

# Converged when the gap and every component of the gradient are below this.
_TOLERANCE = 1e-10

# Fraction of the distance to the boundary taken in an interior-point step.
_BOUNDARY = 0.995


def _penalty(d: int, alpha: float) -> Floats:
    penalty = np.full(d, alpha)
    penalty[-1] = 0.0
    return penalty


def logistic_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimizer for :math:`h(f) = \log(1+e^f)`, and the number of Newton steps.

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
        # The last steps change the value by less than its rounding error.
        rounding = 1e-14 * max(1.0, abs(before))
        while value(theta - rate * move) > before - 1e-4 * rate * slope + rounding:
            rate /= 2.0
        theta = theta - rate * move
    raise ArithmeticError(_failure(alpha))


def double_hinge_minimum(z: Floats, c: Floats, q: Floats, alpha: float) -> tuple[Floats, int]:
    r"""Return the minimizer for :math:`h(f) = \max(0, (1+f)/2, f)`, and the number of steps.

    :math:`h(f) = \tfrac12 (f+1)_+ + \tfrac12 (f-1)_+` is a sum of hinges :math:`(b_j + f_j)_+`,
    each equal to :math:`\min t_j` subject to :math:`t_j \ge 0` and :math:`t_j \ge b_j + f_j`. A
    primal-dual interior-point method solves the optimality conditions by Newton steps; each step
    solves a linear system of the dimension of theta.

    Examples
    --------
    >>> z, c = np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5])
    >>> theta, _ = double_hinge_minimum(z, c, np.array([0.2, 0.5]), 0.1)
    >>> theta.round(6) + 0.0
    array([1., 0.])
    """
    z, b = np.concatenate([z, z]), np.repeat([1.0, -1.0], len(z))
    # Scale the weights to order one, so that the gap is comparable for any number of rows.
    size = float(len(z))
    top, q, penalty = np.tile(c, 2) / 2 * size, q * size, _penalty(z.shape[1], alpha * size)
    # Dual values lie in (0, top), t is positive, and so is the slack t - b - f.
    theta, dual, t = np.zeros(z.shape[1]), top / 2, np.maximum(b, 0.0) + 1.0
    slack = t - b
    for step in range(_MOST_STEPS):
        rest = top - dual
        # The mean of the complementary products, and the gradient of the Lagrangian.
        gap = float(dual @ slack + rest @ t) / (2 * size)
        residual = penalty * theta - q + z.T @ dual
        most = np.abs(residual).max()
        if gap < _TOLERANCE and most < _TOLERANCE * size:
            return theta, step
        # In a nearly unbounded problem, numbers underflow; the solver then fails with an error.
        with np.errstate(all="ignore"):
            goal = gap * (0.1 if gap > most / size else 0.5)
            r1, r2 = goal - dual * slack, goal - rest * t
            scale = slack + dual * t / rest
            shift = (r1 - dual * r2 / rest) / scale
            curvature = np.diag(penalty + 1e-13 * size) + (z.T * (dual / scale)) @ z
            d_theta = _solve(curvature, -residual - z.T @ shift, alpha)
            d_dual = shift + dual / scale * (z @ d_theta)
            d_t = (r2 + t * d_dual) / rest
            d_slack = d_t - z @ d_theta
            rate = _step_length((dual, d_dual), (rest, -d_dual), (t, d_t), (slack, d_slack))
            theta, dual = theta + rate * d_theta, dual + rate * d_dual
            t, slack = t + rate * d_t, slack + rate * d_slack
    raise ArithmeticError(_failure(alpha))


def _step_length(*pairs: tuple[Floats, Floats]) -> float:
    """Return the largest step, at most 1, that keeps all values positive."""
    most = 1.0 / _BOUNDARY
    for value, move in pairs:
        down = move < 0.0
        if down.any():
            most = min(most, float((-value[down] / move[down]).min()))
    return _BOUNDARY * most


def _solve(curvature: Floats, right: Floats, alpha: float) -> Floats:
    """Return a Newton step by Cholesky factorization, which issues no conditioning warnings."""
    try:
        return np.asarray(cho_solve(cho_factor(curvature), right))
    except (LinAlgError, ValueError):
        raise ArithmeticError(_failure(alpha)) from None


def _failure(alpha: float) -> str:
    return (
        "The solver did not converge because the convex risk is nearly unbounded. "
        f"Increase 'alpha' (now {alpha:g}), or decrease 'prior' if it may be too "
        "large."
    )


_SOLVERS = {"logistic": logistic_minimum, "double-hinge": double_hinge_minimum}
