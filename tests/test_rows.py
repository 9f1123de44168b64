"""Requests for information that rows of one sample or of a population do not have."""

import numpy as np
import pytest

from noneg.laws import FlaggedRows, PopulationRows, WeightedRows
from noneg.simulation import LogisticGaussian

S = np.array([0.4, 0.1, 0.9])
SAMPLES = {
    "plain": FlaggedRows(S, None),
    "weighted": WeightedRows(S, np.ones(3), np.ones(3), np.ones(3)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_single_sample_has_one_group(name):
    rows = SAMPLES[name]
    assert sorted(np.concatenate([s for s, *_ in rows.chunks(0)])) == [0.1, 0.4, 0.9]
    assert rows.in_order(0)[0].tolist() == [0.1, 0.4, 0.9]
    assert not [s for s, *_ in rows.chunks(1) if s.size]
    assert rows.in_order(1)[0].size == 0


def test_a_population_has_no_rows():
    world = LogisticGaussian.calibrated().draw(np.inf, 5, setting="two-sample", seed=0)
    rows = world._rows.sources[1]
    assert isinstance(rows, PopulationRows)
    for ask in (
        rows.by_bucket,
        lambda: rows.in_run(0, 0),
        lambda: rows.chunks(0),
        lambda: rows.in_order(0),
    ):
        with pytest.raises(ValueError, match="'scores' must contain rows for this metric"):
            ask()
