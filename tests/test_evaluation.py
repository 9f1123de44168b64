"""Everything at once."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from noneg import ece, evaluate
from noneg.simulation import LogisticGaussian


@given(samples(min_size=2, max_size=40))
def test_any_data_gives_plain_numbers(sample):
    result = evaluate(sample.build())
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = json.loads(text)
    assert back["ece"]["low"] <= back["ece"]["value"] <= back["ece"]["high"]
    assert back["n_marginal"] == result.n_marginal


def test_parts_are_the_functions():
    scores = LogisticGaussian.less_calibrated().draw(500, 2000, setting="one-sample", seed=0)
    result = evaluate(scores, level=0.9)
    assert result.ece.value == ece(scores)
    assert result.ece_width_15.value == ece(scores, bins=15, binning="width")
    assert result.ece_mass_15.value == ece(scores, bins=15)
    assert float(result.prior_curve(scores.prior)) == pytest.approx(result.ece.value)
    assert result.level == result.ece.level == 0.9
    assert result.bounds["expected"].value < result.bounds["probable"].value


def test_warnings_say_what_is_wrong():
    world = LogisticGaussian.calibrated(0.3)
    scores = world.draw(2000, 8000, setting="two-sample", seed=0)
    assert evaluate(scores).warnings == ()
    text = " ".join(evaluate(scores.with_prior(0.6)).warnings)
    assert "contradicts the scores" in text
    assert "more positives are expected than there are rows" in text
    assert "the prior is 0.6" in text
    few = world.draw(5, 20, setting="two-sample", seed=0)
    text = " ".join(evaluate(few).warnings)
    assert "5 labelled positives alone" in text
    assert "20 marginal rows are too few" in text
    assert evaluate(few).ece_mass_15 is None


def test_infinite_samples():
    scores = LogisticGaussian.less_calibrated().draw(math.inf, 500, setting="two-sample", seed=0)
    result = evaluate(scores)
    assert np.isfinite(result.ece.high)
