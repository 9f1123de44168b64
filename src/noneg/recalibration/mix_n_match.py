"""Mix-n-Match: temperature scaling, the score itself and indifference, mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from noneg.calibration.bpm_fit import LARGEST_GAP
from noneg.recalibration._logistic import clip_limits, log_odds_parts
from noneg.recalibration.contract import Calibrator, Floats, State, check_fields
from noneg.recalibration.temperature import Temperature

if TYPE_CHECKING:
    from noneg.scores import PUScores

WEIGHTS = ("weight_temperature", "weight_identity", "weight_half")
# Weights of a grid that are tried before the best is improved.
GRID = 10
TINY = 1e-300


class MixNMatch(Calibrator):
    r"""Ensemble temperature scaling.

    .. math:: g(s) = w_1\,\sigma(\operatorname{logit}(s)/T) + w_2\,s + w_3\,\tfrac12,
        \qquad w \ge 0,\ w_1 + w_2 + w_3 = 1

    The temperature comes first, then the weights, both by the PU log loss. The weights' loss is
    convex for labelled data; with PU data noise may bend it, so a grid is searched first.

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
    monotone = True

    def _fit(self, scores: PUScores) -> State:
        slope = float(Temperature().fit(scores).state_["slope"])
        low, high = clip_limits(scores.chunks())
        weights = _best_weights(_Loss(scores, slope, low, high))
        return {
            "slope": slope,
            **dict(zip(WEIGHTS, weights, strict=True)),
            "low": low,
            "high": high,
        }

    def _map(self, s: Floats) -> Floats:
        inside, _ = _members(s, self.state_["slope"], self.state_["low"], self.state_["high"])
        return self.weights_ @ inside

    def _check(self, state: State) -> None:
        check_fields(state, **dict.fromkeys(("slope", *WEIGHTS, "low", "high"), float))
        weights = np.array([state[name] for name in WEIGHTS])
        if state["slope"] < 0.0 or weights.min() < 0.0 or abs(weights.sum() - 1.0) > 1e-9:  # noqa: PLR2004
            raise ValueError("weights must not be negative and sum to 1, nor 'slope' be negative")
        if not all(0.0 < state[name] <= LARGEST_GAP for name in ("low", "high")):
            raise ValueError(f"'low' and 'high' must lie in (0, {LARGEST_GAP}]")

    @property
    def temperature_(self) -> float:
        """What the logit is divided by in the first member."""
        slope = float(self.state_["slope"])
        return 1.0 / slope if slope > 0.0 else np.inf

    @property
    def weights_(self) -> Floats:
        """Weights of the tempered score, the score and one half."""
        return np.array([self.state_[name] for name in WEIGHTS])


def _members(s: Floats, slope: float, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the three probabilities of each score and those of the other class, to precision."""
    first, second = log_odds_parts(s, low, high)
    z, half = slope * (first + second), np.full_like(s, 0.5)
    of_one = np.stack([expit(z), np.minimum(np.maximum(s, low), 1.0 - high), half])
    of_other = np.stack([expit(-z), np.minimum(np.maximum(1.0 - s, high), 1.0 - low), half])
    return np.maximum(of_one, TINY), np.maximum(of_other, TINY)


class _Loss:
    """The PU log loss of a mixture, and its gradient in the weights."""

    def __init__(self, scores: PUScores, slope: float, low: float, high: float) -> None:
        self.prior = scores.prior
        sides: tuple[list[tuple[Floats, Floats, Floats]], ...] = ([], [])
        for in_positive, in_marginal, (s, f, a, w) in scores.chunks():
            members = _members(s, slope, low, high)
            if in_positive:
                sides[0].append((*members, np.broadcast_to(f * a, s.shape)))
            if in_marginal:
                sides[1].append((*members, np.broadcast_to(f * w, s.shape)))
        self.positive, self.marginal = (_joined(side) for side in sides)

    def __call__(self, v: Floats) -> tuple[float, Floats]:
        (x, x_other, a), (_, y_other, w) = self.positive, self.marginal
        q, rest, free = v @ x, v @ x_other, v @ y_other
        value = self.prior * float(a @ (np.log(rest) - np.log(q))) - float(w @ np.log(free))
        gain = x_other @ (a / rest) - x @ (a / q)
        return value, self.prior * gain - y_other @ (w / free)


def _joined(pieces: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    if not pieces:
        return np.zeros((3, 0)), np.zeros((3, 0)), np.zeros(0)
    x, other, mass = (np.concatenate(part, axis=-1) for part in zip(*pieces, strict=True))
    total = float(mass.sum())
    return x, other, mass / (total if total > 0.0 else 1.0)


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
