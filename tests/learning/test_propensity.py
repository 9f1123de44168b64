"""SAR-EM in populations with known rates, and learners that use them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from noneg.learning import BaggingPU, BoostedPU, LinearPU, WeightedPU, estimate_propensity
from noneg.recalibration import Recalibrated


def draw(n=5000, seed=0, prior=0.4):
    """Two Gaussians; positives in the north are labeled four times as often."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    x = rng.normal(size=(n, 2)) + np.where(y, 1.2, -1.2)[:, None] * [1.0, 0.5]
    north = expit(1.5 * x[:, 1]) > rng.random(n)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "region": np.where(north, "north", "south")})
    rate = np.where(north, 0.8, 0.2)
    return frame, y & (rng.random(n) < rate), rate, y


def posterior(frame, prior=0.4):
    return expit(2.4 * frame["a"] + 1.2 * frame["b"] + logit(prior)).to_numpy()


def test_rates_and_prior_are_found():
    frame, labeled, rate, y = draw()
    found = estimate_propensity(frame, labeled, attributes=["region"])
    assert np.abs(found.propensity - rate).mean() < 0.08
    assert found.prior == pytest.approx(y.mean(), abs=0.04)
    assert np.abs(found.probability - posterior(frame)).mean() < 0.05
    assert found.attributes == ("region",)
    assert "positives with the same region are labeled at the same rate" in found.assumption
    # Under SCAR, the rate is constant.
    even = y & (np.random.default_rng(3).random(y.size) < 0.5)
    flat = estimate_propensity(frame, even, attributes=["region"])
    assert np.ptp(flat.propensity) < 0.1


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
@pytest.mark.parametrize(
    "model",
    [
        BoostedPU(setting="one-sample", max_iter=150),
        WeightedPU(LogisticRegression(), setting="one-sample"),
        BaggingPU(LogisticRegression(), setting="one-sample"),
        LinearPU(setting="one-sample", alpha=0.01),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_learner_undoes_the_selection(model, setting):
    frame, labeled, rate, _ = draw()
    x = frame[["a", "b"]].assign(north=(frame["region"] == "north").astype(float)).to_numpy()
    if setting == "two-sample":
        more, *_ = draw(4000, 5)
        extra = more[["a", "b"]].assign(north=(more["region"] == "north").astype(float)).to_numpy()
        x, labeled = np.concatenate([x[labeled], extra]), np.arange(labeled.sum() + 4000)
        labeled, rate = labeled < len(x) - 4000, np.where(x[:, 2] > 0, 0.8, 0.2)
    test, *_ = draw(4000, 9)
    rows = test[["a", "b"]].assign(north=(test["region"] == "north").astype(float)).to_numpy()
    model = model.set_params(setting=setting, prior=0.4)
    error = [
        np.abs(
            model.fit(x, labeled, propensity=given).predict_proba(rows)[:, 1] - posterior(test)
        ).mean()
        for given in (rate, None)
    ]
    assert error[0] < error[1]
    assert error[0] < 0.13


def test_the_prior_follows_from_the_rates():
    frame, labeled, rate, _ = draw()
    model = LinearPU(setting="one-sample", prior="estimate", alpha=0.01)
    model.fit(frame[["a", "b"]], labeled, propensity=rate)
    assert model.prior_ == pytest.approx((1 / rate[labeled]).sum() / rate.size)


def test_refusals():
    frame, labeled, *_ = draw(100)
    with pytest.raises(ValueError, match="'attributes' must be columns of a, b, region, got 'z'"):
        estimate_propensity(frame, labeled, attributes=["z"])
    with pytest.raises(ValueError, match="'attributes' must name a column"):
        estimate_propensity(frame, labeled, attributes=[])
    with pytest.raises(ValueError, match="'labeled' must contain labeled positives"):
        estimate_propensity(frame, np.ones(100), attributes=["a"])
    with pytest.raises(ValueError, match=r"'propensity' must contain the rate in \(0, 1\]"):
        LinearPU(setting="one-sample", prior=0.4).fit(
            frame[["a", "b"]], labeled, propensity=np.zeros(100)
        )
    with pytest.raises(ValueError, match="'propensity' must not be given with setting='labeled'"):
        BoostedPU(setting="labeled").fit(frame, labeled, propensity=np.ones(100))
    with pytest.raises(ValueError, match="'propensity' must not be given with setting='labeled'"):
        Recalibrated(LogisticRegression(), setting="labeled").fit(
            frame[["a", "b"]], labeled, propensity=np.ones(100)
        )


def test_attributes_by_number():
    frame, labeled, *_ = draw(500)
    by_name = estimate_propensity(frame, labeled, attributes=["region"])
    by_number = estimate_propensity(frame, labeled, attributes=np.array([2]))
    np.testing.assert_array_equal(by_number.propensity, by_name.propensity)
