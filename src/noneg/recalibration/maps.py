"""Other maps: prior shifts, isotonic maps with Venn-Abers, splines, step functions, mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import expit, logit

from noneg.bins import Binned, bin_scores
from noneg.calibration.bpm_fit import LEAST_GAP_HIGH, LEAST_GAP_LOW
from noneg.checks import check_count, check_prior, is_labeled, is_pooled
from noneg.errors import InputError
from noneg.laws import Ordered
from noneg.likelihood import fit_features, gather, inner_points, level_of, log_likelihood
from noneg.recalibration.base import (
    Calibrator,
    State,
    check_fields,
    check_increasing,
    check_nodes,
    check_probabilities,
    check_unit,
    law_rows,
    stored_array,
    stored_number,
)
from noneg.recalibration.log_loss import sums
from noneg.recalibration.logistic import (
    Criterion,
    CurveCalibrator,
    Platt,
    Temperature,
    check_curve,
    clip_limits,
    logits,
)
from noneg.theory import recalibration_bound, reuse_bound
from noneg.theory.bounds import Bound, deviation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.interpolate import CubicSpline

    from noneg.arrays import Floats, Places
    from noneg.likelihood import Fit, Sample
    from noneg.scores import PUScores

# Most nodes at which the correction of a spline is stored.
MOST_NODES = 1000
FINEST = {"low": LEAST_GAP_LOW, "high": LEAST_GAP_HIGH}
# Ridge factors for the nonlinear part of a spline, relative to the linear part; AIC chooses one.
STIFF = (10.0, 100.0, 1000.0, 10_000.0)
# Difference in log likelihood that counts as a tie between the two forms of a spline.
TIE = 1.0
# Share of the rows beyond each outer knot.
OUTER = 0.005
# Knots closer than this share of their range are merged.
LEAST_SPACE = 1e-3
# Weights of the mixture members, and the number of grid steps in the initial search.
WEIGHTS = ("weight_temperature", "weight_identity", "weight_half")
GRID = 10
TINY = 1e-300


def laws_at(scores: PUScores) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores of the marginal sample, and ``pi mu_plus`` and ``mu`` at each.

    A positive at a score without marginal mass is moved up to the next score that has some, or to
    the last such score if there is none above. The best increasing function treats it the same way:
    where there is no marginal mass, its value is limited only by the next value above.
    """
    at, positive, marginal = Ordered(scores).masses()
    share = scores.known_prior / (float(positive.sum()) or 1.0)
    held, full = positive * share, marginal > 0.0
    if not full.all():
        place = np.minimum(np.cumsum(full) - full, np.count_nonzero(full) - 1)
        moved = np.bincount(place, weights=held, minlength=np.count_nonzero(full))
        held = moved.astype(np.float64, copy=False)
        at, marginal = at[full], marginal[full]
    return at, held, marginal / marginal.sum()


class Identity(Calibrator):
    """Leave the scores unchanged, as a candidate that cannot do harm.

    Examples
    --------
    >>> from noneg import PUScores
    >>> Identity().fit(PUScores.from_labels([0, 1], [0.3, 0.6])).transform([0.25, 0.75])
    array([0.25, 0.75])
    """

    name = "identity"
    learns = "nothing"
    monotone = True

    def _fit(self, scores: PUScores) -> State:  # noqa: ARG002
        return {}

    def _map(self, s: Floats) -> Floats:
        return s

    def _check(self, state: State) -> None:
        check_fields(state)


class PriorShift(Calibrator):
    r"""Multiply the odds by a constant, as when the share of positives changes.

    .. math:: \frac{g(s)}{1 - g(s)} = \frac{s}{1 - s}\;e^{b}, \qquad
        e^{b} = \frac{\pi'/(1 - \pi')}{\pi/(1 - \pi)}

    If the scores were calibrated when the share of positives was :math:`\pi`, and only this share
    has changed, to :math:`\pi'`, the result is calibrated again. If :math:`\pi` is unknown, b is
    chosen so that the mean of the result equals the prior of the data, :math:`E[g(s)] = \pi'`; this
    needs no positives, only the prior.

    Parameters
    ----------
    source : float, optional
        Share of positives for which the scores were calibrated. By default, b is learned.
    target : float, optional
        New share of positives. Defaults to the prior of the scores used for fitting.

    Attributes
    ----------
    shift_ : float
        The constant b, in logits.

    References
    ----------
    Elkan (2001), The Foundations of Cost-Sensitive Learning, Theorem 2; Saerens, Latinne &
    Decaestecker (2002), Adjusting the Outputs of a Classifier to New a Priori Probabilities.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9], [0.5, 0.2], prior=0.2, setting="two-sample")
    >>> PriorShift(source=0.5).fit(scores).transform([0.0, 0.2, 0.5, 1.0]).round(4)
    array([0.    , 0.0588, 0.2   , 1.    ])
    """

    name = "prior-shift"
    learns = "a factor on the odds"
    monotone = True

    def __init__(self, source: float | None = None, target: float | None = None) -> None:
        self.source = source
        self.target = target

    def _fit(self, scores: PUScores) -> State:
        prior = scores.known_prior if self.target is None else check_prior(self.target, "target")
        if self.source is not None:
            target = check_prior(prior, "target")
            return {"shift": float(logit(target) - logit(check_prior(self.source, "source")))}
        _, (s, weight) = law_rows(scores)
        return {"shift": level_of(logits(s, FINEST), weight, prior)}

    def _map(self, s: Floats) -> Floats:
        return np.asarray(expit(logits(s, FINEST) + self.shift_), dtype=np.float64)

    def _check(self, state: State) -> None:
        check_fields(state, shift=float)

    shift_ = stored_number("shift", "The constant added to the logit.")


class Isotonic(Calibrator):
    r"""The best-fitting increasing map, without further assumptions.

    Its value at a score is the slope of the greatest convex minorant of the points
    :math:`(\mu(s \le t),\ \pi\,\mu_+(s \le t))` at that score, clipped to [0, 1]. It minimizes the
    Brier score :math:`\pi\,E_+[1 - 2 g(s)] + E[g(s)^2]` over all nondecreasing g with values in
    [0, 1]. For labeled data, it is scikit-learn's ``IsotonicRegression``.

    The map is linear between the scores of the data and constant outside their range.

    Attributes
    ----------
    scores_, values_ : ndarray
        Corners of the map.

    References
    ----------
    Zadrozny & Elkan (2002), Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates; Ayer et al. (1955) for the minorant.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.7, 0.9], [0.2, 0.4, 0.7, 0.9], prior=0.5, setting="two-sample")
    >>> Isotonic().fit(scores).transform([0.1, 0.4, 0.55, 0.9])
    array([0. , 0. , 0.5, 1. ])
    """

    name = "isotonic"
    learns = "any increasing map"
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        from scipy.optimize import isotonic_regression

        at, positive, marginal = laws_at(scores)
        fitted = isotonic_regression(positive / marginal, weights=marginal)
        values = np.clip(fitted.x, 0.0, 1.0)
        # Inside a block, interpolating between its ends reproduces the block.
        inner = np.zeros(values.size, dtype=np.bool_)
        inner[1:-1] = (values[1:-1] == values[:-2]) & (values[1:-1] == values[2:])
        return {"scores": at[~inner].tolist(), "values": values[~inner].tolist()}

    def _map(self, s: Floats) -> Floats:
        return np.interp(s, self.scores_, self.values_)

    def _check(self, state: State) -> None:
        check_fields(state, scores=list, values=list)
        check_increasing(state, "scores", "values")

    scores_ = stored_array("scores", "Scores of the corners.")
    values_ = stored_array("values", "Probabilities at the corners.")


class Spline(CurveCalibrator):
    r"""A natural cubic spline on the logit of the score.

    .. math:: g(s) = \sigma(h(\operatorname{logit} s))

    where the values of the spline h at a few knots maximize the likelihood, and h is linear beyond
    the outer knots. The knots are quantiles of the average of the positive and the marginal
    distribution. The map need not be monotone.

    The alternative form is the spline of Gupta et al. It is used with ``fit="risk"``, or when
    Akaike's criterion prefers its likelihood. With the share :math:`t = \mu(s \le u)` of rows up to
    a score u, the curve behind `ks_error` is
    :math:`r(t) = \pi\,\mu_+(s \le u) - \int_{s \le u} s\,d\mu`. Its slope is the gap between the
    probability of a positive and the score, so :math:`g(s) = s + \hat r'(t(s))`, where the natural
    cubic spline :math:`\hat r` is fitted to the curve by least squares.

    Parameters
    ----------
    knots : int
        Number of knots of the spline; the paper uses 6.
    fit : {"likelihood", "risk"}
        Maximize the likelihood of the labels, or smooth the cumulative residual.

    References
    ----------
    Harrell (2015), Regression Modeling Strategies, for the natural spline; Gupta et al. (2021),
    Calibration of Neural Networks using Splines, for the second form, with labeled rows.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> spline = Spline().fit(world.draw(n=20_000, setting="labeled", seed=0))
    >>> bool(abs(spline.transform([0.1, 0.5, 0.9]) - world.posterior([0.1, 0.5, 0.9])).max() < 0.05)
    True
    """

    name = "spline"
    learns = "a smooth curve"
    monotone = False
    is_stiff = True

    def __init__(self, knots: int = 6, fit: Criterion = "likelihood") -> None:
        super().__init__(fit)
        self.knots = knots

    def _fit(self, scores: PUScores) -> State:
        check_count(self.knots, "knots", 2)
        smooth = self._by_risk(scores)
        if self.by_risk:
            return smooth
        sample, limits = gather(scores), clip_limits(scores)
        fit, n = self._best(sample, limits), float(sample.mass.sum())
        # The additive correction is a model like any other, with one parameter per inner knot and
        # one for its level. It changes the scores less, so it wins ties.
        other = np.clip(_shifted(sample.s, smooth), 0.5 / n, 1.0 - 0.5 / n)
        value = log_likelihood(sample, logit(other)).value
        if value - _cost(self.knots - 1, sample) + TIE > _likely(fit):
            return smooth
        return self._state(fit, limits)

    def _best(self, sample: Sample, state: State) -> Fit:
        knots, x = self._places(sample, state), logits(sample.s, state)
        bent = _bends(knots)
        curves = _natural(knots, bent, x).T if bent.size else np.zeros((0, x.size))
        line = np.stack([np.ones_like(x), x])[: knots.size]
        features = np.concatenate([line, curves])
        level, center = np.eye(max(2, len(features)))[:2, : len(features)]
        fits = []
        for stiff in STIFF if bent.size else (1.0,):
            factor = np.repeat([1.0, stiff], [len(line), len(curves)])
            fits.append(fit_features(sample, features, center, level=level, stiff=factor))
        return max(fits, key=_likely)

    def _coefficients(self, fit: Fit, state: State) -> State:
        knots = self._places(fit.curve.sample, state)
        basis = np.concatenate([np.ones((knots.size, 1)), knots[:, None], _bends(knots)], axis=1)
        basis = basis[:, : knots.size]
        values = basis @ fit.theta[: basis.shape[1]]
        return {"knots": knots.tolist(), "values": values.tolist()}

    def _log_odds(self, s: Floats, state: State) -> Floats:
        return _natural(np.array(state["knots"]), np.array(state["values"]), logits(s, state))

    def _places(self, sample: Sample, state: State) -> Floats:
        """Return the knots: quantiles of the average distribution, without near-duplicates."""
        inside = inner_points(sample)
        both = (sample.labeled[inside], sample.marginal[inside])
        laws = (part / (part.sum() or 1.0) for part in both)
        upto = np.cumsum(sum(laws))
        places = np.searchsorted(upto, np.linspace(OUTER, 1.0 - OUTER, self.knots) * upto[-1])
        x = logits(sample.s[inside], state)
        knots = x[np.minimum(places, x.size - 1)]
        return knots[np.diff(knots, prepend=-np.inf) > LEAST_SPACE * (1.0 + np.ptp(knots))]

    def _by_risk(self, scores: PUScores) -> State:
        knots = np.linspace(0.0, 1.0, self.knots)
        at, positive, marginal = laws_at(scores)
        curve = _smoothed(at, positive, marginal, knots)
        first = cell_starts(marginal)
        last = np.append(first[1:], marginal.size) - 1
        upto = np.concatenate([[0.0], np.cumsum(marginal)])
        upto /= upto[-1]
        mass = upto[last + 1] - upto[first]
        nodes = np.add.reduceat(marginal * at, first) / np.add.reduceat(marginal, first)
        # Rounding error can push a weighted mean outside the range of its terms.
        nodes = np.clip(nodes, at[first], at[last])
        shifts = (curve(upto[last + 1]) - curve(upto[first])) / mass
        return {"scores": nodes.tolist(), "shifts": shifts.tolist()}

    def _map(self, s: Floats) -> Floats:
        return super()._map(s) if "knots" in self.state_ else _shifted(s, self.state_)

    @property
    def has_band(self) -> bool:
        """Whether the fit is a curve on the logit scale."""
        return super().has_band and "knots" in self.state_

    def _check(self, state: State) -> None:
        if "knots" not in state:
            check_fields(state, scores=list, shifts=list)
            check_nodes(state, "scores", "shifts")
            return
        check_curve(state, knots=list, values=list)
        knots = np.array(state["knots"])
        if not knots.size or knots.size != len(state["values"]) or (np.diff(knots) <= 0.0).any():
            raise InputError("knots", "must increase and match 'values' in number")


def _likely(fit: Fit) -> float:
    """Return the log likelihood of a fit minus the expected chance gain of its parameters."""
    return fit.value.value - _cost(fit.freedom, fit.curve.sample)


def _cost(freedom: float, sample: Sample) -> float:
    """Return Akaike's penalty for parameters, corrected for small samples (Hurvich & Tsai 1989)."""
    n = float(sample.labeled.sum())
    return freedom * n / max(n - freedom - 1.0, 1.0)


def _shifted(s: Floats, state: State) -> Floats:
    """Return scores plus a correction that is linear between nodes."""
    return s + np.interp(s, np.array(state["scores"]), np.array(state["shifts"]))


def _bends(knots: Floats) -> Floats:
    """Return values at the knots that span all splines orthogonal to straight lines."""
    line = np.stack([np.ones_like(knots), knots], axis=1)
    return np.linalg.svd(line)[0][:, 2:]


def _natural(knots: Floats, values: Floats, x: Floats) -> Floats:
    """Return the natural spline through the values at the knots, linear beyond the outer knots."""
    from scipy.interpolate import CubicSpline

    if knots.size == 1:
        return np.asarray(values[0] + (x - knots[0]) if values.ndim == 1 else np.ones((x.size, 1)))
    spline = CubicSpline(knots, values, bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    beyond = (x - inside).reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(spline(inside) + spline(inside, 1) * beyond)


def cell_starts(mass: Floats) -> Places:
    """Return the first score of each cell: every score, or cells with equal shares of the rows."""
    if mass.size <= MOST_NODES:
        return np.arange(mass.size)
    middle = np.cumsum(mass) - mass / 2.0
    return np.flatnonzero(np.diff(np.floor(middle / mass.sum() * MOST_NODES), prepend=-1.0))


def _smoothed(at: Floats, positive: Floats, marginal: Floats, knots: Floats) -> CubicSpline:
    """Return the natural spline closest to the cumulative residual, with fixed end points."""
    from scipy.interpolate import CubicSpline

    t = np.cumsum(marginal)
    t /= t[-1]
    curve = np.cumsum(positive - marginal * at)
    basis = CubicSpline(knots, np.eye(knots.size), bc_type="natural")(t)
    inner, rest = basis[:, 1:-1], curve - basis[:, -1] * curve[-1]
    weighted = inner * marginal[:, None]
    middle = np.linalg.lstsq(weighted.T @ inner, weighted.T @ rest, rcond=None)[0]
    return CubicSpline(knots, np.concatenate([[0.0], middle, curve[-1:]]), bc_type="natural")


class VennAbers(Calibrator):
    r"""Isotonic regression fitted twice: as if the row were negative, and as if it were positive.

    A row with score s is added to the marginal sample of n rows, once with label 0 and once with
    label 1: the points :math:`(\mu(s \le t),\ \pi\,\mu_+(s \le t))` gain a step
    :math:`(1/(n+1),\ y/(n+1))` at s, and the slopes of their greatest convex minorants at s are
    :math:`p_0 \le p_1`. They are far apart where the map is based on only a few rows. `transform`
    returns one number, :math:`p_1 / (1 - p_0 + p_1)`, which minimizes the regret in log loss.

    If every row is labeled, one of the two probabilities is calibrated exactly (Vovk, Petej &
    Fedorova 2015). **With positive and unlabeled rows, validity is only asymptotic**: the positive
    distribution is estimated from other rows, and its noise is not reflected in the distance
    between the two probabilities.

    Attributes
    ----------
    scores_ : ndarray
        Distinct scores in the data, at most 1,000; beyond that, merged into cells of equal mass.
    low_, high_ : ndarray
        Both probabilities at each of these scores.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores.from_labels([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.8, 0.9])
    >>> VennAbers().fit(scores).probabilities([0.1, 0.9]).round(3)
    array([[0.   , 0.333],
           [0.667, 1.   ]])
    """

    name = "venn-abers"
    learns = "any increasing map, with its uncertainty"
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        at, positive, marginal = _cells(*laws_at(scores))
        one = 1.0 / (scores.effective_marginal + 1.0)
        shrunk = 1.0 - one
        low, high = (
            added_slopes(marginal * shrunk, positive * shrunk, one, y * one) for y in (0.0, 1.0)
        )
        return {"scores": at.tolist(), "low": low.tolist(), "high": high.tolist()}

    def probabilities(self, s: ArrayLike) -> Floats:
        """Return both probabilities for each score, smaller first, shape (n, 2)."""
        self._require_fit()
        flat = check_unit(s).reshape(-1)
        ends = [np.interp(flat, self.scores_, end) for end in (self.low_, self.high_)]
        return np.stack(ends, axis=-1)

    def _map(self, s: Floats) -> Floats:
        low, high = self.probabilities(s).T
        return high / (1.0 - low + high)

    def _check(self, state: State) -> None:
        check_fields(state, scores=list, low=list, high=list)
        check_increasing(state, "scores", "low", "high")

    scores_ = stored_array("scores", "Scores at which both probabilities are stored.")
    low_ = stored_array("low", "Probability if the row were negative.")
    high_ = stored_array("high", "Probability if the row were positive.")


def _cells(at: Floats, positive: Floats, marginal: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distributions at a limited number of scores; each cell is placed at its mean."""
    if at.size <= MOST_NODES:
        return at, positive, marginal
    first = cell_starts(marginal)
    sums = [np.add.reduceat(x, first) for x in (marginal * at, positive, marginal)]
    return sums[0] / sums[2], sums[1], sums[2]


def added_slopes(width: Floats, rise: Floats, one: float, gain: float) -> Floats:
    """Return the slope of the convex minorant at each score after a step is added there.

    Parameters
    ----------
    width, rise : ndarray
        Steps between the points, one per score.
    one, gain : float
        The added step.

    Examples
    --------
    >>> added_slopes(np.array([0.4, 0.4]), np.array([0.0, 0.4]), 0.2, 0.2).round(3)
    array([0.333, 1.   ])
    """
    from scipy.optimize import isotonic_regression

    out = np.empty(width.size)
    for k in range(width.size):
        mass, total = width.copy(), rise.copy()
        mass[k] += one
        total[k] += gain
        out[k] = isotonic_regression(total / mass, weights=mass).x[k]
    # Slopes never decrease from one score to the next, except by rounding error.
    return np.maximum.accumulate(np.clip(out, 0.0, 1.0))


class StepCalibrator(Calibrator):
    """A step function with one value per bin; bins are right-closed and have equal marginal mass.

    Parameters
    ----------
    bins : int or "optimal"
        Number of bins; "optimal" is as in `noneg.ece`. Coinciding edges reduce the number.
    """

    monotone = False

    def __init__(self, bins: int | Literal["optimal"] = "optimal") -> None:
        self.bins = bins

    def _map(self, s: Floats) -> Floats:
        return self.values_[np.searchsorted(self.inner_edges_, s)]

    def _check(self, state: State) -> None:
        check_fields(state, inner_edges=list, values=list)
        inner = np.array(state["inner_edges"])
        if (
            len(state["values"]) != inner.size + 1
            or (np.diff(inner, prepend=-1.0, append=1.0) <= 0.0).any()
        ):
            raise InputError(
                "inner_edges", "must increase within [0, 1) and be one fewer than 'values'"
            )
        check_probabilities(state, "values")

    inner_edges_ = stored_array("inner_edges", "Upper edges of all bins except the last.")
    values_ = stored_array("values", "Probability in each bin.")

    @property
    def n_bins_(self) -> int:
        """Number of bins."""
        return len(self.state_["values"])


def full_bins(scores: PUScores, bins: int | Literal["optimal"]) -> Binned:
    """Return equal-mass bins that each contain marginal rows.

    Coinciding edges are merged, and positives above the largest marginal score belong to the last
    bin.
    """
    inner = np.unique(bin_scores(scores, bins=bins).edges[1:-1])
    binned = _with_inner(scores, inner[inner < 1.0])
    while binned.n_bins > 1 and not (full := binned.marginal > 0.0).all():
        # An empty bin is merged with the one above it, the last bin with the one below.
        inner = binned.edges[1:-1]
        binned = _with_inner(scores, inner[full[:-1]] if full[-1] else inner[:-1])
    return binned


def _with_inner(scores: PUScores, inner: Floats) -> Binned:
    return bin_scores(scores, edges=np.concatenate([[0.0], inner, [1.0]]))


class Histogram(StepCalibrator):
    r"""Replace each score with the frequency of positives in its bin (Futami & Fujisawa, Eq. 21).

    .. math:: g(s) = y_b = \pi\,\mu_+(I_b) / \mu(I_b) \quad\text{for } s \in I_b

    with equal-mass bins, and frequencies clipped to [0, 1].

    Parameters
    ----------
    bins : int or "optimal"
        Number of bins; "optimal" is as in `noneg.ece`. Coinciding edges reduce the number.

    Attributes
    ----------
    inner_edges_, values_ : ndarray
        Upper edges of all bins except the last, and the probability in each bin.

    References
    ----------
    Zadrozny & Elkan (2001), Obtaining Calibrated Probability Estimates from Decision Trees and
    Naive Bayesian Classifiers; Futami & Fujisawa (2024), Section 4.3.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.7, 0.9], [0.2, 0.4, 0.7, 0.9], prior=0.25, setting="two-sample")
    >>> Histogram(bins=2).fit(scores).transform([0.1, 0.4, 0.5, 1.0])
    array([0. , 0. , 0.5, 0.5])
    """

    name = "histogram"
    learns = "one value per bin"

    def _fit(self, scores: PUScores) -> State:
        binned = full_bins(scores, self.bins)
        values = np.clip(binned.frequency, 0.0, 1.0)
        return {"inner_edges": binned.edges[1:-1].tolist(), "values": values.tolist()}

    def bound(self, *, fcmi: float | None = None) -> Bound:
        r"""Bound the expected calibration error that remains after this map.

        Parameters
        ----------
        fcmi : float, optional
            Omit it if the map was fitted on rows that the classifier has not seen (Corollary 5). If
            it was fitted on the classifier's training rows, pass the information, in nats, that the
            scores carry about them (Theorem 7; 0 for the cost of reuse alone).

        Returns
        -------
        noneg.theory.Bound
            For labeled rows, the bound from the paper. For two samples and unseen rows, the same
            argument bounds the two distributions separately:
            :math:`\sqrt{2\pi^2 B\log 2/n_P} + \sqrt{2B\log 2/(n-B)} + 2B/(n-B)`.

        Raises
        ------
        ValueError
            If no bound is known: for one-sample data, or for training rows of PU data.

        Examples
        --------
        >>> from noneg.simulation import LogisticGaussian
        >>> scores = LogisticGaussian(-0.5, 1.5).draw(n=4000, setting="labeled", seed=0)
        >>> histogram = Histogram(bins=15).fit(scores)
        >>> print(f"{histogram.bound().value:.3f} {histogram.bound(fcmi=0.0).value:.3f}")
        0.080 0.288
        """
        self._require_fit()
        setting, n = self.fitted_on_["setting"], self.fitted_on_["n_marginal"]
        if is_labeled(setting):
            if fcmi is None:
                return recalibration_bound(n, bins=self.n_bins_)
            return reuse_bound(n, bins=self.n_bins_, fcmi=fcmi)
        if is_pooled(setting) or fcmi is not None:
            raise ValueError(
                f"no bound is known for setting={setting!r} and fcmi={fcmi!r}: "
                "Theorem 7 and Corollary 5 apply to labeled rows, and their "
                "argument extends to two samples of unseen rows. Measure the error "
                "on held-out rows instead."
            )
        marginal = recalibration_bound(n, bins=self.n_bins_)
        variance = self.fitted_on_["prior"] ** 2 / self.fitted_on_["n_positive"]
        return Bound(
            statistical=marginal.value + deviation(variance, self.n_bins_),
            reference=f"{marginal.reference}, for both distributions",
        )


class ScalingBinning(StepCalibrator):
    r"""The mean of the Platt-scaled score in each bin.

    The calibration error of a map with only a few values can be *measured*, unlike that of a smooth
    map. Averaging a fitted function in each bin, instead of using the frequency of positives, keeps
    the small variance of the function.

    Parameters
    ----------
    bins : int or "optimal"
        Number of equal-mass bins; "optimal" is as in `noneg.ece`.

    Attributes
    ----------
    inner_edges_, values_ : ndarray
        Upper edges of all bins except the last, and the probability in each bin.

    Notes
    -----
    The function, the bins and the means come from the same rows, as in the code released by the
    authors; their theorem splits the rows into three parts.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified Uncertainty Calibration.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian(beta0=-1.0, beta1=3.0).draw(
    ...     1000, 10_000, setting="two-sample", seed=0
    ... )
    >>> np.unique(ScalingBinning(bins=5).fit(scores).transform(np.linspace(0, 1, 99))).size
    5
    """

    name = "scaling-binning"
    learns = "Platt, then one value per bin"

    def _fit(self, scores: PUScores) -> State:
        platt = Platt().fit(scores)
        inner = full_bins(scores, self.bins).edges[1:-1]
        _, (s, mass) = law_rows(scores)
        cell = np.searchsorted(inner, s)
        means = np.bincount(cell, weights=mass * platt.transform(s)) / np.bincount(cell, mass)
        return {"inner_edges": inner.tolist(), "values": np.clip(means, 0.0, 1.0).tolist()}


class MixNMatch(Calibrator):
    r"""Ensemble temperature scaling.

    .. math:: g(s) = w_1\,\sigma(\operatorname{logit}(s)/T) + w_2\,s + w_3\,\tfrac12,
        \qquad w \ge 0,\ w_1 + w_2 + w_3 = 1

    The temperature is fitted first and then the weights, both by the PU log loss. For labeled data,
    the loss is convex in the weights; with PU data, noise may break convexity, so a grid search
    comes first.

    Attributes
    ----------
    temperature_ : float
    weights_ : ndarray, shape (3,)

    References
    ----------
    Zhang, Kailkhura & Han (2020), Mix-n-Match: Ensemble and Compositional Methods for Uncertainty
    Calibration in Deep Learning.

    Examples
    --------
    >>> from noneg.simulation import BinomialProcess
    >>> scores = BinomialProcess("D4").draw(2000, 20_000, setting="two-sample", seed=0)
    >>> mixed = MixNMatch().fit(scores)
    >>> round(float(mixed.weights_.sum()), 9)
    1.0
    """

    name = "mix-n-match"
    learns = "a temperature and two weights"
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        slope = float(Temperature(fit="risk").fit(scores).state_["slope"])
        limits = clip_limits(scores)
        weights = _best_weights(_Loss(scores, slope, limits))
        return {"slope": slope, **dict(zip(WEIGHTS, weights, strict=True)), **limits}

    def _map(self, s: Floats) -> Floats:
        inside, _ = _members(s, self.state_["slope"], self.state_)
        return self.weights_ @ inside

    def _check(self, state: State) -> None:
        check_curve(state, **dict.fromkeys(("slope", *WEIGHTS), float))
        weights = np.array([state[name] for name in WEIGHTS])
        if state["slope"] < 0.0 or weights.min() < 0.0 or abs(weights.sum() - 1.0) > 1e-9:  # noqa: PLR2004
            raise ValueError(
                "weights must be nonnegative and sum to 1, and 'slope' must be nonnegative"
            )

    # The temperature of the first member.
    temperature_ = Temperature.temperature_

    @property
    def weights_(self) -> Floats:
        """Weights of the tempered score, the score itself, and one half."""
        return np.array([self.state_[name] for name in WEIGHTS])


def _members(s: Floats, slope: float, limits: State) -> tuple[Floats, Floats]:
    """Return three probabilities for each score, and their complements, to full precision."""
    low, high = limits["low"], limits["high"]
    z, half = slope * logits(s, limits), np.full_like(s, 0.5)
    of_one = np.stack([expit(z), np.minimum(np.maximum(s, low), 1.0 - high), half])
    of_other = np.stack([expit(-z), np.minimum(np.maximum(1.0 - s, high), 1.0 - low), half])
    return np.maximum(of_one, TINY), np.maximum(of_other, TINY)


class _Loss:
    """The PU log loss of a mixture, and its gradient with respect to the weights."""

    def __init__(self, scores: PUScores, slope: float, limits: State) -> None:
        self.prior = scores.known_prior
        (positive, self.a), (marginal, self.w) = law_rows(scores)
        self.x, self.x_other = _members(positive, slope, limits)
        _, self.y_other = _members(marginal, slope, limits)

    def __call__(self, v: Floats) -> tuple[float, Floats]:
        x, x_other, y_other, a, w = self.x, self.x_other, self.y_other, self.a, self.w
        # Not "@": with only three rows, BLAS threads cost ten times more than they save.
        q, rest, free = (np.einsum("k,kn->n", v, part) for part in (x, x_other, y_other))
        value = self.prior * sums(np.log(rest) - np.log(q), a) - sums(np.log(free), w)
        gain = sums(x_other, a / rest) - sums(x, a / q)
        return float(value), self.prior * gain - sums(y_other, w / free)


def _best_weights(loss: _Loss) -> list[float]:
    from scipy.optimize import minimize

    steps = np.arange(GRID + 1)
    grid = [np.array([i, j, GRID - i - j]) / GRID for i in steps for j in steps if i + j <= GRID]
    start = min(grid, key=lambda v: loss(v)[0])
    found = minimize(  # type: ignore[call-overload]
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-13, "maxiter": 200},
    )
    v = np.clip(found.x, 0.0, 1.0)
    v /= v.sum()
    best: Floats = v if loss(v)[0] <= loss(start)[0] else start
    return best.tolist()
