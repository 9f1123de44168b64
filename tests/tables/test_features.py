"""Feature tables from files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noneg.tables.reading import read_features


@pytest.fixture
def columns():
    return {"a": [1.0, 2.5, 3.0], "b": [4, 5, 6], "y": ["yes", "no", "no"]}


def test_parquet_and_csv_give_the_same_table(tmp_path, columns):
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    lines = ["a;b;y", *(";".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for name in ("t.parquet", "t.csv"):
        found = read_features(tmp_path / name, label="y", positive_label="yes")
        assert found.names == ("a", "b")
        np.testing.assert_array_equal(found.X, [[1.0, 4.0], [2.5, 5.0], [3.0, 6.0]])
        np.testing.assert_array_equal(found.flags, [True, False, False])
    some = read_features(tmp_path / "t.csv", label="y", positive_label="yes", columns=["b"])
    np.testing.assert_array_equal(some.X[:, 0], [4, 5, 6])


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        (
            "a,y\n1,1\n,0\n",
            {},
            "column 'a' must contain a number in every row, but line 3 .* none",
        ),
        ("a,y\n1,1\nred,0\n", {}, "column 'a' must contain numbers, got 'red' in line 3"),
        ("y\n1\n0\n", {}, "must contain a feature in addition to the label"),
        ("a,y\n1,1\n2,0\n", {"columns": ["c"]}, "^'feature' must name a column of .*'c'"),
        ("a,y\n1,1\n2,0\n", {"label": "z"}, "'label' must name a column"),
    ],
)
def test_bad_files_are_explained(tmp_path, text, options, match):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        read_features(path, **{"label": "y", **options})
