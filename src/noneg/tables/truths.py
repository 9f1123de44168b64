"""Truth values of a Parquet file, bit by bit as they were written.

Arrow unpacks such a column into bytes and packs it again, which takes as long as all the scores
beside it. In the usual layout (plain encoding, no value missing) a page is its bits, behind a
header. Any other layout, and whatever looks odd, is left to Arrow: the answer is then None.

Formats: https://parquet.apache.org/docs/file-format and Thrift's compact protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

DATA_PAGE, PLAIN, RLE = 0, 0, 3
# Fields of the structures PageHeader and DataPageHeader.
_KIND, _SIZE, _PACKED_SIZE, _DATA = 1, 2, 3, 5
_VALUES, _ENCODING, _LEVELS = 1, 2, 3


class _UnusualError(Exception):
    """A layout that Arrow must read."""


def read_truths(stream: BinaryIO, metadata: Any, number: int, name: str) -> Any:  # noqa: ANN401
    """Return a column of a row group as an Arrow array, or None.

    Parameters
    ----------
    stream : file
        The whole Parquet file.
    metadata : pyarrow.parquet.FileMetaData
    number : int
        The row group.
    name : str
        A column that is not nested.
    """
    import pyarrow as pa

    group = metadata.row_group(number)
    place = next((k for k in range(group.num_columns) if group.column(k).path_in_schema == name), 0)
    chunk, schema = group.column(place), metadata.schema.column(place)
    simple = schema.name == schema.path == name and chunk.physical_type == "BOOLEAN"
    if not simple or chunk.file_path or chunk.has_dictionary_page:
        return None
    try:
        stream.seek(chunk.data_page_offset)
        data = stream.read(chunk.total_compressed_size)
        pages = list(_pages(data, chunk, schema.max_definition_level))
    except (_UnusualError, IndexError, ValueError, OSError, RecursionError, pa.ArrowException):
        # Damage too: Arrow says best what is wrong. LZ4, whose frames differ, fails to unpack.
        return None
    truths = pa.concat_arrays(pages) if pages else pa.array([], pa.bool_())
    return truths if len(truths) == group.num_rows else None


def _pages(data: bytes, chunk: Any, levels: int) -> Iterator[Any]:  # noqa: ANN401
    """Yield the truth values of each page."""
    import pyarrow as pa

    at = 0
    while at < len(data):
        header, at = _structure(data, at)
        about, size = header.get(_DATA), _number(header, _PACKED_SIZE)
        page, at = data[at : at + size], at + size
        if _number(header, _KIND) != DATA_PAGE or not isinstance(about, dict):
            raise _UnusualError
        if chunk.compression != "UNCOMPRESSED":
            size = _number(header, _SIZE)
            _require(size <= chunk.total_uncompressed_size)
            page = pa.decompress(page, size, chunk.compression.lower(), asbytes=True)
        start, n = 0, _number(about, _VALUES)
        if levels:
            _require(levels == 1 and _number(about, _LEVELS) == RLE)
            start = 4 + int.from_bytes(page[:4], "little")
            _check_all_there(page[4:start], n)
        bits = page[start:]
        _require(_number(about, _ENCODING) == PLAIN and 8 * len(bits) >= n)
        yield pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(bits)])


def _check_all_there(levels: bytes, n: int) -> None:
    """Refuse definition levels, runs of bits, unless all are one."""
    at = 0
    while n > 0:
        run, at = _varint(levels, at)
        # The lowest bit marks bits that are written out.
        _require(run & 1 == 0 and run > 0 and levels[at] == 1)
        n, at = n - (run >> 1), at + 1


def _structure(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Read a structure of Thrift's compact protocol; return its fields and where it ends."""
    fields: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        step, kind = head >> 4, head & 15
        _require(step > 0)
        field += step
        fields[field], at = _value(data, at + 1, kind)
    return fields, at + 1


def _number(fields: dict[int, Any], field: int) -> int:
    number = fields.get(field)
    if type(number) is not int or number < 0:
        raise _UnusualError
    return number


def _require(usual: object) -> None:
    if not usual:
        raise _UnusualError


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind in (4, 5, 6):
        value, at = _varint(data, at)
        return (value >> 1) ^ -(value & 1), at
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == 12:
        return _structure(data, at)
    raise _UnusualError


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at
