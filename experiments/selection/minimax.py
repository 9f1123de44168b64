"""Would a map with the smallest worst-case Brier score be better than the map for random labels?

At every score, the share of positives lies between multiples of the calibrated one. The largest
Bayes risk has the shares closest to a constant, ``clip(t, low, high)``, with t such that they
average to the prior; the map that predicts them is the minimax map.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

SPREADS = {"weak": 1.0, "medium": 2.0, "strong": 4.0}


def worst(p: np.ndarray, eta: np.ndarray, mu: np.ndarray, factor: float) -> float:
    """Return the largest Brier score of a map over all distributions of the positives (a knapsack
    problem)."""
    low, high = eta / factor * mu, np.minimum(eta * factor, 1.0) * mu
    gain = 1.0 - 2.0 * p
    order = np.argsort(-gain)
    room = (eta * mu).sum() - low.sum()
    extra = np.diff(np.minimum(np.cumsum((high - low)[order]), room), prepend=0.0)
    return float(p**2 @ mu + gain @ low + gain[order] @ extra)


def compare(model: str, prior: float, selection: float) -> dict[str, float]:
    """Return the Brier scores of both maps, with random labels and in the worst case."""
    z = np.linspace(-8.0, 8.0, 4001)
    mu = np.exp(-(z**2) / 2.0)
    mu /= mu.sum()
    shift = brentq(lambda a: expit(a + SPREADS[model] * z) @ mu - prior, -60.0, 60.0)
    eta = expit(shift + SPREADS[model] * z)
    low, high = eta / selection, np.minimum(eta * selection, 1.0)
    level = brentq(lambda t: np.clip(t, low, high) @ mu - prior, 0.0, 1.0)
    minimax = np.clip(level, low, high)
    risk = {
        name: float((eta * (1 - p) ** 2 + (1 - eta) * p**2) @ mu)
        for name, p in (("plain", eta), ("minimax", minimax))
    }
    return {
        "plain_random": risk["plain"],
        "plain_worst": worst(eta, eta, mu, selection),
        "minimax_random": risk["minimax"],
        "minimax_worst": worst(minimax, eta, mu, selection),
    }
