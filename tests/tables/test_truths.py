"""Truth values read from pages: what Arrow reads, or nothing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noneg
from noneg.tables.truths import read_truths

N = 30_011


def truths(share=0.2):
    return np.random.default_rng(3).random(N) < share


def write(path, values, *, nullable=True, **options):
    """Write the column between two others, in row groups that are no multiple of eight."""
    fields = [
        pa.field("before", pa.int64()),
        pa.field("label", pa.bool_(), nullable=nullable),
        pa.field("score", pa.float64()),
    ]
    score = np.random.default_rng(4).random(len(values))
    columns = [np.arange(len(values)), pa.array(values), score]
    table = pa.table(columns, schema=pa.schema(fields))
    pq.write_table(table, path, row_group_size=10_003, **options)


def read(path, name="label"):
    metadata = pq.read_metadata(path)
    with path.open("rb") as stream:
        return [read_truths(stream, metadata, k, name) for k in range(metadata.num_row_groups)]


USUAL = {
    "snappy": {},
    "zstd": {"compression": "zstd"},
    "gzip": {"compression": "gzip"},
    "brotli": {"compression": "brotli"},
    "no compression": {"compression": "none"},
    "many pages": {"data_page_size": 100, "write_batch_size": 77},
    "required": {"nullable": False},
    "checked": {"write_page_checksum": True},
    "no statistics": {"write_statistics": False},
}


@pytest.mark.parametrize("case", USUAL)
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_pages_are_read_as_arrow_reads_them(case, share, tmp_path):
    path = tmp_path / "t.parquet"
    write(path, truths(share), **USUAL[case])
    found = read(path)
    assert pa.chunked_array(found).equals(pq.read_table(path)["label"])


def nested(path):
    pq.write_table(pa.table({"label": [{"label": True}] * 9}), path)


UNUSUAL = {
    "a value is missing": lambda path: write(path, [*truths()[:-1].tolist(), None]),
    "run-length encoding": lambda path: write(path, truths(), data_page_version="2.0"),
    "frames of LZ4": lambda path: write(path, truths(), compression="lz4"),
    "nested": nested,
    "no truth values": lambda path: pq.write_table(pa.table({"label": [0, 1]}), path),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_is_unusual_is_left_to_arrow(case, tmp_path):
    UNUSUAL[case](tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")[-1] is None


@pytest.mark.parametrize(
    "options", [{}, {"data_page_version": "2.0"}, {"compression": "lz4"}], ids=str
)
def test_a_sketch_has_the_same_labels_either_way(options, tmp_path):
    path, values = tmp_path / "t.parquet", truths()
    write(path, values, **options)
    found = noneg.read_sketch(str(path), score="score", label="label")
    want = noneg.Sketch().update(values, pq.read_table(path)["score"].to_numpy())
    np.testing.assert_array_equal(found._table[:, [0, 2, 4, 5]], want._table[:, [0, 2, 4, 5]])


def test_a_missing_label_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    UNUSUAL["a value is missing"](path)
    with pytest.raises(ValueError, match=f"'label' must hold a label .* row {N - 1} of"):
        noneg.read_sketch(str(path), score="score", label="label")


def test_a_header_without_end_is_left_to_arrow(tmp_path):
    """It opens a structure in a structure, and so on."""
    path = tmp_path / "t.parquet"
    write(path, truths(), compression="none")
    chunk = pq.read_metadata(path).row_group(0).column(1)
    content, at = bytearray(path.read_bytes()), chunk.data_page_offset
    content[at : at + chunk.total_compressed_size] = b"\x1c" * chunk.total_compressed_size
    path.write_bytes(content)
    assert read(path)[0] is None


def test_damaged_pages_never_become_labels(tmp_path):
    """Any byte may be wrong: the answer is Arrow's, or none, or differs only in the bits."""
    path = tmp_path / "t.parquet"
    write(path, truths(), compression="none", nullable=False)
    whole, rng = path.read_bytes(), np.random.default_rng(5)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    for _ in range(300):
        content = bytearray(whole)
        content[chunk.data_page_offset + rng.integers(0, 24)] ^= 1 << rng.integers(0, 8)
        path.write_bytes(content)
        found = read(path)[0]
        assert found is None or len(found) == 10_003
