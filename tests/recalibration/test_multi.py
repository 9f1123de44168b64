"""Multicalibration: a wrong group is found and repaired, and a calibrated model is left
unchanged."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from noneg.recalibration import Multi, Platt, find_groups

SETTINGS = ["two-sample", "one-sample", "labeled"]
PRIOR = 0.3


def world(n, seed, setting, shift=1.5, rate=0.4):
    """Features, scores, labels and probabilities; scores are too low by `shift` if x1 > .5 > x0."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < PRIOR
    x = rng.normal(size=(n, 4))
    x[:, 2] += np.where(y, 1.0, -1.0)
    z = 2.0 * x[:, 2] + logit(PRIOR)
    wrong = (x[:, 1] > 0.5) & (x[:, 0] < 0.5)
    s = expit(z - shift * wrong)
    if setting == "labeled":
        return x, s, y, expit(z), wrong
    if setting == "one-sample":
        return x, s, y & (rng.random(n) < rate), expit(z), wrong
    labeled = np.flatnonzero(y)[: int(rate * PRIOR * n)]
    more = world(n, seed + 10_000, "labeled", shift)
    rows = [
        np.concatenate([a[labeled], b])
        for a, b in zip((x, s, y, expit(z), wrong), more, strict=True)
    ]
    rows[2] = np.arange(len(rows[0])) < labeled.size
    return tuple(rows)


def known(setting):
    return {"setting": setting, "prior": None if setting == "labeled" else PRIOR}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_group_is_found_and_measured(setting):
    x, s, labeled, eta, wrong = world(12_000, 1, setting)
    found = find_groups(x, s, labeled, **known(setting))
    first = found.rule[0]
    assert "x1 >" in first
    assert "x0 <=" in first
    assert found.wrong[0]
    assert found.residual[0] > 0.0
    # Two thirds of the rows that a rule reports as wrong are truly wrong.
    truth = (eta - s)[wrong].mean()
    assert found.low[0] < truth + 0.05
    assert found.high[0] > truth / 2.0
    assert found.rows.sum() == len(x) // 2
    assert found.share.sum() == pytest.approx(1.0)
    mean = PRIOR if setting != "labeled" else labeled.mean()
    assert found.share @ found.prior == pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_level_holds_for_a_calibrated_model(setting):
    """In at most 5% of 60 calibrated data sets, a group is reported, up to three standard
    errors."""
    named = [
        find_groups(*world(1500, seed, setting, shift=0.0)[:3], **known(setting)).wrong.any()
        for seed in range(60)
    ]
    assert np.mean(named) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_group_is_repaired(setting):
    x, s, labeled, _, _ = world(12_000, 2, setting)
    multi = Multi().fit(x, s, labeled, **known(setting))
    x, s, _, eta, wrong = world(20_000, 77, "labeled")
    after = multi.transform(x, s)
    assert multi.n_iter_ > 0
    assert abs((eta - after)[wrong].mean()) < 0.6 * abs((eta - s)[wrong].mean())
    assert abs((eta - after)[~wrong].mean()) < 0.02
    assert np.abs(eta - after).mean() < 0.9 * np.abs(eta - s).mean()
    np.testing.assert_array_equal(multi.predict_proba(x, s)[:, 1], after)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_calibrated_model_is_left_alone(setting):
    left = []
    for seed in range(4):
        x, s, labeled, _, _ = world(2000, seed, setting, shift=0.0)
        multi = Multi().fit(x, s, labeled, **known(setting))
        left.append(multi.n_iter_ == 0 and (multi.transform(x, s) == s).all())
    assert sum(left) >= 3


def test_a_map_of_the_score_cannot_repair_it_and_named_columns_can():
    """Strings are categories; rules quote names; one city is wrong in a way that the score cannot
    show."""
    rng = np.random.default_rng(5)
    city = rng.choice(["Oslo", "Rome", "Lima"], size=9000)
    z = rng.normal(size=9000) - 1.0 + 1.5 * (city == "Rome")
    s = expit(z - 1.5 * (city == "Rome"))
    labeled = rng.random(9000) < 0.5 * expit(z)
    frame = pd.DataFrame({"age": rng.normal(size=9000), "city": city})
    options = {"setting": "one-sample", "prior": float(expit(z).mean())}
    found = find_groups(frame, s, labeled, **options, leaves=2)
    assert set(found.rule) == {"city = Rome", "city is not Rome"}
    assert "city = Rome" in repr(found)
    assert found.frame("pandas").shape == (2, 9)
    multi = Multi().fit(frame, s, labeled, **options)
    gap = (expit(z) - multi.transform(frame, s))[city == "Rome"].mean()
    assert abs(gap) < 0.05
    other = Multi.from_json(multi.to_json())
    np.testing.assert_array_equal(other.transform(frame, s), multi.transform(frame, s))
    assert other.get_params() == multi.get_params()
    with pytest.raises(ValueError, match="modified"):
        Multi.from_json(multi.to_json().replace("Rome", "Roma"))


def test_weights_are_copies_and_propensities_undo_selection():
    x, s, labeled, *_ = world(4000, 3, "one-sample")
    count = np.random.default_rng(0).integers(0, 3, size=4000).astype(float)
    options = known("one-sample")
    tree = {"leaves": 3, "seed": 0}
    one = find_groups(x, s, labeled, sample_weight=7.0 * np.ones(4000), **options, **tree)
    two = find_groups(x, s, labeled, **options, **tree)
    np.testing.assert_allclose(one.residual, two.residual, atol=1e-9)
    np.testing.assert_allclose(one.low, two.low, atol=1e-9)
    assert find_groups(x, s, labeled, sample_weight=count, **options, **tree).rows.sum() == 2000
    # Labels are half as frequent if x3 > 0; the score is right there, and e accounts for it.
    x, s, labeled, _, _ = world(12_000, 4, "one-sample", shift=0.0, rate=0.9)
    e = np.where(x[:, 3] > 0.0, 0.3, 1.0)
    labeled &= np.random.default_rng(1).random(12_000) < e
    assert find_groups(x, s, labeled, **options).wrong.any()
    assert not find_groups(x, s, labeled, propensity=e, **options).wrong.any()


def test_missing_values_have_a_side():
    x, s, labeled, eta, _ = world(6000, 6, "one-sample", shift=0.0)
    x[np.random.default_rng(0).random(6000) < 0.3, 3] = np.nan
    s = np.where(np.isnan(x[:, 3]), expit(logit(s) - 1.5), s)
    multi = Multi().fit(x, s, labeled, **known("one-sample"))
    gap = np.abs(eta - multi.transform(x, s))[np.isnan(x[:, 3])].mean()
    assert gap < 0.6 * np.abs(eta - s)[np.isnan(x[:, 3])].mean()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": None}, "such as a reviewed sample, or noneg.prior.estimate_prior to estimate"),
        ({"setting": "labeled"}, "prior"),
        ({"s": [0.5, 2.0, 0.5, 0.5]}, "must contain scores in"),
        ({"labeled": [0, 0, 0, 0]}, "labeled positives and other rows"),
        ({"labeled": [0, 1, 0]}, "labeled"),
        ({"X": [1.0, 2.0, 3.0, 4.0]}, "must be a table"),
    ],
)
def test_bad_input_gets_a_sentence(change, message):
    given = {"X": np.eye(4), "s": [0.5] * 4, "labeled": [1, 0, 1, 0]}
    given |= {"setting": "two-sample", "prior": 0.4} | change
    with pytest.raises(ValueError, match=message):
        find_groups(**given)


def test_files_of_other_methods_are_rejected():
    from noneg import PUScores

    text = Platt().fit(PUScores.from_labels([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9])).to_json()
    with pytest.raises(ValueError, match="not 'multi'"):
        Multi.from_json(text)
