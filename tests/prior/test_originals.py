"""Our BBE and DEDPUL compared with the published code on the same scores
(reference/originals.json)."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference.make_originals import sample

from noneg.prior import BestBin, Dedpul, ScoreLaws
from noneg.prior.from_scores import MOST_POINTS, TOLERANCE, _Posterior, _share

STORED = json.loads((Path(__file__).parents[1] / "reference" / "originals.json").read_text())
CASES = STORED["cases"]
PUBLISHED = Dedpul(bandwidth_positive=0.1, bandwidth_unlabeled=0.05)
WITH_RATIO = [case for case in CASES if "ratio" in case]


def world(case):
    return ScoreLaws.from_arrays(
        *sample(*(case[key] for key in ("far", "share", "n", "m"))), setting="two-sample"
    )


def name(case):
    return "-".join(str(case[key]) for key in ("far", "share", "n"))


@pytest.mark.parametrize("case", CASES, ids=name)
def test_best_bin_is_the_published_one(case):
    assert BestBin().find(world(case)).share == pytest.approx(case["bbe"], abs=1e-12)


def test_best_bin_with_ties_differs_by_the_row_that_is_left_out():
    case = STORED["ties"]
    scores = sample(*(case[key] for key in ("far", "share", "n", "m")))
    rounded = (np.round(x, case["decimals"]) for x in scores)
    found = BestBin().find(ScoreLaws.from_arrays(*rounded, setting="two-sample"))
    one_row = 1.0 / (case["m"] * found.diagnostics["pure_mass"])
    assert 0.0 <= found.share - case["bbe"] <= one_row + 1e-12


@pytest.mark.parametrize("case", WITH_RATIO, ids=name)
def test_the_published_ratio_gives_the_published_share(case):
    """Both stop when a step is smaller than the tolerance."""
    posterior = _Posterior(np.array(case["ratio"]), np.full(case["m"], 1.0 / case["m"]))
    assert _share(posterior).share == pytest.approx(case["dedpul"], abs=2 * TOLERANCE)


@pytest.mark.parametrize("case", WITH_RATIO, ids=name)
def test_the_shares_differ_by_no_more_than_the_ratios_do(case):
    """If |g - h| <= d and g increases by at most L < 1 per step, the fixed points are within d / (1
    - L)."""
    laws, m = world(case), case["m"]
    ours, theirs = PUBLISHED.ratio(laws), np.array(case["ratio"])
    found = PUBLISHED.find(laws).share
    low, high = sorted((found, case["dedpul"]))
    apart = np.mean(np.minimum(1, low * ours)) - np.mean(np.minimum(1, low * theirs))
    slope = np.sum(ours[low * ours < 1]) / m
    bound = (abs(apart) + 2 * TOLERANCE) / (1 - slope)
    assert high - low <= bound
    # Bandwidths differ by 1 / 2m, density floors by 1e-5, and windows at both ends.
    assert bound < counting(case) / 5


@pytest.mark.parametrize("case", CASES, ids=name)
def test_dedpul_is_the_published_one_within_a_part_of_the_error_of_counting(case):
    """Above 1024 points, groups of rows replace rows: a tenth before that, half after."""
    part = 0.1 if case["n"] + case["m"] <= MOST_POINTS else 0.5
    assert abs(PUBLISHED.find(world(case)).share - case["dedpul"]) < part * counting(case)


def counting(case):
    """The standard error of a share counted in the unlabeled rows, a lower limit for any
    estimate."""
    return np.sqrt(case["share"] * (1 - case["share"]) / case["m"])
