"""Columns of any library in, the same kind out; and what scikit-learn's `set_output` asks for."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from noneg import PUScores
from noneg.recalibration import METHODS, Platt

SCORES = PUScores.from_labels(np.arange(60) % 3 == 0, (np.arange(60) * 7 % 60 + 0.5) / 60)
S = np.linspace(0, 1, 7)


@pytest.mark.parametrize("name", METHODS)
def test_a_column_keeps_its_kind_name_and_index(name):
    fitted = METHODS[name]().fit(SCORES)
    expected = fitted.transform(S)
    assert isinstance(expected, np.ndarray)
    pandas = fitted.transform(pd.Series(S, index=range(3, 10), name="p"))
    pd.testing.assert_series_equal(pandas, pd.Series(expected, index=range(3, 10), name="p"))
    polars = fitted.transform(pl.Series("p", S))
    assert polars.equals(pl.Series("p", expected), check_names=True)
    arrow = fitted.transform(pa.chunked_array([S]))
    assert isinstance(arrow, pa.ChunkedArray)
    assert arrow.to_pylist() == expected.tolist()


def test_lists_and_tables_give_arrays():
    fitted = Platt().fit(SCORES)
    assert isinstance(fitted.transform(S.tolist()), np.ndarray)
    assert fitted.transform(S[:6].reshape(2, 3)).shape == (2, 3)
    assert isinstance(fitted.transform(0.5), np.ndarray)
    assert isinstance(fitted.predict_proba(pd.Series(S)), np.ndarray)
    assert isinstance(fitted.transform(memoryview(S)), np.ndarray)


@pytest.mark.parametrize(("kind", "made"), [("pandas", pd.Series), ("polars", pl.Series)])
def test_set_output_chooses_the_library(kind, made):
    fitted = Platt().fit(SCORES)
    expected = fitted.transform(S).tolist()
    assert fitted.set_output(transform=kind) is fitted
    for given in (S, pd.Series(S, index=range(3, 10), name="p"), pl.Series("p", S)):
        found = fitted.transform(given)
        assert isinstance(found, made)
        assert found.to_list() == expected
        assert found.name == ("" if isinstance(given, np.ndarray) else "p")
    assert isinstance(fitted.set_output(transform=None).transform(S), made)
    assert isinstance(fitted.set_output(transform="default").transform(S), np.ndarray)
    with pytest.raises(ValueError, match="'transform' must be one of default, pandas, polars"):
        fitted.set_output(transform="numpy")
