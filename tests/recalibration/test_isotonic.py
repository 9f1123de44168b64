"""The rising map: scikit-learn's for labelled rows, the greatest convex minorant for PU rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from strategies import samples

from noneg import PUScores
from noneg.recalibration import Isotonic

GRID = np.linspace(0.0, 1.0, 1001)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("digits", [1, 2, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_labelled_map_is_that_of_scikit_learn(seed, digits, weighted):
    rng = np.random.default_rng(seed)
    n = 10 ** rng.integers(1, 5)
    s = np.round(rng.beta(*rng.uniform(0.3, 4, 2), n), digits)
    y = rng.random(n) < s ** rng.uniform(0.3, 3)
    w = rng.integers(0, 5, n) if weighted else None
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, sample_weight=w)
    fitted = Isotonic().fit(PUScores.from_labels(y, s, sample_weight=w))
    np.testing.assert_allclose(fitted.transform(GRID), reference.predict(GRID), atol=1e-9)
    np.testing.assert_allclose(fitted.transform(s), reference.predict(s), atol=1e-9)


def test_importance_weights_too():
    rng = np.random.default_rng(0)
    s, w = np.round(rng.random(500), 2), rng.exponential(size=500)
    y = rng.random(500) < s
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, sample_weight=w)
    scores = PUScores.from_labels(y, s, sample_weight=w, weight_kind="importance")
    np.testing.assert_allclose(Isotonic().fit(scores).transform(s), reference.predict(s), atol=1e-9)


def minorant_slopes(x, y):
    """Slopes of the greatest convex minorant by its definition: the largest of smallest slopes."""
    n = x.size - 1
    out = np.empty(n)
    for k in range(n):
        rise = (y[None, k + 1 :] - y[: k + 1, None]) / (x[None, k + 1 :] - x[: k + 1, None])
        out[k] = rise.min(axis=1).max()
    return out


@given(samples(settings=("two-sample", "one-sample"), max_size=25))
@settings(max_examples=60)
def test_pu_map_is_the_slope_of_the_convex_minorant(sample):
    scores, s = sample.build(), sample.score
    marginal = s if sample.setting == "one-sample" else s[~sample.flags]
    at = np.unique(marginal)
    x = np.array([0.0, *((marginal <= t).mean() for t in at)])
    positive = s[sample.flags]
    # Positives between two marginal scores count at the upper one, those above all at the last.
    y = np.array([0.0, *((positive <= t).mean() for t in at)]) * sample.prior
    y[-1] = sample.prior
    expected = np.clip(minorant_slopes(x, y), 0.0, 1.0)
    np.testing.assert_allclose(Isotonic().fit(scores).transform(at), expected, atol=1e-9)


@given(samples(max_size=40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_no_other_rising_map_has_a_smaller_brier_score(sample, seed):
    if sample.setting == "two-sample" and sample.score[sample.flags].max() > (
        sample.score[~sample.flags].max()
    ):
        return  # positives above all marginal rows are held down by the convention for bins alone
    fitted = Isotonic().fit(scores := sample.build())
    rng = np.random.default_rng(seed)
    s = np.unique(sample.score)
    mixed = 0.9 * fitted.transform(s) + 0.1 * np.sort(rng.random(s.size))

    def brier(g):
        rows = {True: sample.score[sample.flags], False: sample.score[~sample.flags]}
        marginal = rows[False] if sample.setting == "two-sample" else sample.score
        gain = (1.0 - 2.0 * np.interp(rows[True], s, g)).mean()
        return scores.prior * gain + (np.interp(marginal, s, g) ** 2).mean()

    # Between marginal scores the map is interpolated; the best one takes the next value there.
    steps = fitted.transform(s)
    marginal = sample.score if sample.setting != "two-sample" else sample.score[~sample.flags]
    known = np.unique(marginal)
    steps = fitted.transform(known[np.minimum(np.searchsorted(known, s), known.size - 1)])
    assert brier(steps) <= brier(mixed) + 1e-9
