"""Rows drawn by the protocol, compared with the sizes and shares in the paper's Appendix B."""

import os
from dataclasses import replace

import numpy as np
import pytest

from noneg.lab.bench import PLANS, RunConfig, draw
from noneg.lab.bench.draws import _choose, _propensity, _scaler, _systematic
from noneg.lab.datasets import load

DIGITS = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")


def need_data():
    if not os.environ.get("NONEG_DATA"):
        pytest.skip("NONEG_DATA names no folder with the data sets")


def test_every_algorithm_and_configuration_sees_the_same_rows():
    one = draw(DIGITS)
    for other in ({"algorithm": "vpu"}, {"configuration": 3}, {"variant": "bench"}, {"steps": 7}):
        two = draw(replace(DIGITS, **other))
        assert np.array_equal(one.training.unlabeled, two.training.unlabeled)
        assert np.array_equal(one.validation.positive, two.validation.positive)


@pytest.mark.parametrize("other", [{"split": 1}, {"setting": "two-sample"}, {"rate": 0.2}])
def test_other_splits_are_other_rows(other):
    one, two = draw(DIGITS), draw(replace(DIGITS, **other))
    same = one.training.unlabeled.shape == two.training.unlabeled.shape
    assert not (same and np.array_equal(one.training.unlabeled, two.training.unlabeled))


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
@pytest.mark.parametrize("case", [1, 2])
def test_classes_have_the_shares_of_the_setting(setting, case):
    run = replace(DIGITS, setting=setting, case=case, rate=0.2)
    data, plan = load("digits"), PLANS["digits"]
    p, u = _choose(run, data, np.random.default_rng(0))
    assert np.intersect1d(p, u).size == 0
    assert (p.size, u.size) == (200, 800)
    assert np.isin(data.y_train[p], plan.positives(case)).all()
    share = np.isin(data.y_train[u], plan.positives(case)).mean()
    # In one sample, (pi N - n_P) / n_U, the prior of the remaining rows; in two samples, the prior
    # itself.
    assert share == pytest.approx((500 - 200) / 800 if setting == "one-sample" else 0.5)


def test_sizes_are_those_of_the_paper():
    need_data()
    usps = draw(RunConfig(dataset="usps", setting="one-sample", algorithm="nnpu"))
    letter = draw(RunConfig(dataset="letter", setting="one-sample", algorithm="nnpu"))
    found = [
        [len(x) for x in (d.training.positive, d.validation.positive)]
        + [len(x) for x in (d.training.unlabeled, d.validation.unlabeled)]
        for d in (usps, letter)
    ]
    assert found == [[1080, 120, 2520, 280], [3510, 390, 8190, 910]]
    assert len(usps.test.labels) == 2007


def test_letters_of_the_cases_are_half_of_the_alphabet():
    assert [len(case) for case in PLANS["letter"].cases] == [13, 13]
    assert PLANS["letter"].positives(1)[:3] == (1, 2, 7)  # B, C, H


def test_scales_come_from_training_rows_alone():
    rows = draw(replace(DIGITS, dataset="breast_cancer"))
    together = np.concatenate([rows.training.positive, rows.training.unlabeled])
    assert together.mean(axis=0) == pytest.approx(np.zeros(30), abs=1e-5)
    assert together.std(axis=0) == pytest.approx(np.ones(30), abs=1e-5)
    assert abs(rows.test.rows.mean(axis=0)).max() > 1e-3


def test_letters_stay_as_they_are():
    need_data()
    rows = draw(replace(DIGITS, dataset="letter")).training.unlabeled
    assert (rows == np.rint(rows)).all()
    assert (rows.min(), rows.max()) == (0.0, 15.0)


def test_images_have_channels_first_and_one_scale_a_channel():
    need_data()
    rows = draw(replace(DIGITS, dataset="cifar10"))
    assert rows.training.positive.shape == (5130, 3, 32, 32)
    together = np.concatenate([rows.training.positive, rows.training.unlabeled])
    means = together.mean(axis=(0, 2, 3), dtype=np.float64)
    assert means == pytest.approx(np.zeros(3), abs=1e-4)


def test_weights_give_test_rows_the_shares_of_the_population():
    test = draw(replace(DIGITS, dataset="breast_cancer")).test
    assert np.average(test.labels, weights=test.weight) == pytest.approx(0.5)
    assert test.labels.mean() < 0.45


def test_too_few_rows_of_a_class_are_rejected():
    with pytest.raises(ValueError, match="'rate' must leave enough rows of every class of digits"):
        draw(replace(DIGITS, setting="two-sample", rate=0.6))
    with pytest.raises(ValueError, match="'rate' must leave enough rows"):
        draw(replace(DIGITS, rate=0.7))


def test_raw_rows_are_not_scaled():
    rows = np.arange(12).reshape(4, 3)
    found = _scaler(rows, "raw")(rows)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows)


def test_standardized_letters_are_the_same_rows():
    need_data()
    raw, scaled = (draw(replace(DIGITS, dataset=d)) for d in ("letter", "letter-standardized"))
    for one, two in zip(raw.training.positive.T, scaled.training.positive.T, strict=True):
        assert np.corrcoef(one, two)[0, 1] == pytest.approx(1.0)
    together = np.concatenate([scaled.training.positive, scaled.training.unlabeled])
    assert together.std(axis=0, dtype=float) == pytest.approx(np.ones(16), abs=1e-4)


@pytest.mark.parametrize("size", [10, 25])
def test_systematic_samples_have_the_expected_shares(size):
    random = np.random.default_rng(0)
    expected = np.linspace(0.2, 1.0, 50)
    expected *= size / expected.sum()
    counts = np.zeros(50)
    for _ in range(2000):
        chosen = _systematic(expected, random)
        assert len(chosen) == len(set(chosen)) == size
        counts[chosen] += 1
    # Four standard errors of a share.
    error = np.sqrt(expected * (1.0 - expected) / 2000)
    assert (np.abs(counts / 2000 - expected) <= 4.5 * error + 1e-9).all()


def test_labels_that_favor_sure_positives():
    need_data()
    data, plan = load("usps"), PLANS["usps-selected-4"]
    score = np.log(_propensity(data, plan.positives(1), plan)) / np.log(4.0)
    positive = np.isin(data.y_train, plan.positives(1))
    assert score[positive].mean() == pytest.approx(0.5, abs=0.01)
    run = replace(DIGITS, dataset="usps-selected-4", setting="two-sample", rate=0.1)
    means = {}
    for name in ("usps", "usps-selected-2", "usps-selected-4"):
        p, u = _choose(replace(run, dataset=name), data, np.random.default_rng(0))
        assert np.intersect1d(p, u).size == 0
        assert p.size == 400
        means[name] = score[p].mean()
    # With e = 4^r and r uniform, the mean of r among labeled rows is 4/3 - 1/log 4.
    assert means["usps-selected-4"] == pytest.approx(4 / 3 - 1 / np.log(4.0), abs=0.05)
    assert means["usps"] < means["usps-selected-2"] < means["usps-selected-4"]
    with pytest.raises(ValueError, match="'setting' must be 'two-sample'"):
        draw(replace(run, setting="one-sample"))


def test_labels_that_favor_a_feature_or_a_class():
    need_data()
    data, names = load("usps"), ("usps-selected-4", "usps-selected-by-feature-4")
    positives = PLANS["usps"].positives(1)
    likely = [_propensity(data, positives, PLANS[name]) for name in names]
    positive = np.isin(data.y_train, positives)
    score, feature = (np.log(e[positive]) / np.log(4.0) for e in likely)
    assert (score.min(), score.max()) == (feature.min(), feature.max())
    assert score.max() - score.min() <= 1.0
    assert abs(np.corrcoef(score, feature)[0, 1]) < 0.1
    run = replace(DIGITS, dataset="usps-selected-by-class-4", setting="two-sample", rate=0.1)
    p, u = _choose(run, data, np.random.default_rng(0))
    left = data.y_train[np.setdiff1d(np.flatnonzero(positive), u)]
    # The positive rows that are not unlabeled are labeled with odds of four to one; the tolerance
    # is four standard errors.
    favored = (left == 4).sum()
    expected = 4 * favored / (4 * favored + (left != 4).sum())
    assert (data.y_train[p] == 4).mean() == pytest.approx(expected, abs=0.07)


@pytest.mark.parametrize("name", ["-selected", "-selected-by-feature", "-selected-by-class"])
def test_known_propensities_undo_the_selection(name):
    need_data()
    run = replace(DIGITS, setting="two-sample", rate=0.1)
    plain, biased, repaired = (
        draw(replace(run, dataset=f"usps{suffix}")).training.positive.mean(axis=0)
        for suffix in ("", f"{name}-4", f"{name}-4-repaired")
    )
    assert np.linalg.norm(repaired - plain) < np.linalg.norm(biased - plain)
