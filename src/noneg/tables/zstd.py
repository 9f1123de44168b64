"""Whether a zstd file is whole. A reader that stops at the last full block would drop rows."""

from __future__ import annotations

import os
from typing import BinaryIO

_FRAME = 0xFD2FB528
_SKIPPABLE = 0x184D2A50  # the last four bits are free
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_REPEATED_BYTE = 1


def is_whole(stream: BinaryIO) -> bool:
    """Walk over the blocks of every frame (RFC 8878, section 3.1) without decompressing them.

    Examples
    --------
    >>> from io import BytesIO
    >>> empty = bytes.fromhex("28b52ffd2000010000")
    >>> is_whole(BytesIO(empty)), is_whole(BytesIO(empty[:-1]))
    (True, False)
    """
    end = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    try:
        while stream.tell() < end:
            _skip_frame(stream)
    except EOFError:
        return False
    return stream.tell() == end


def _skip_frame(stream: BinaryIO) -> None:
    magic = _number(stream, 4)
    if magic & ~0xF == _SKIPPABLE:
        stream.seek(_number(stream, 4), os.SEEK_CUR)
        return
    if magic != _FRAME:
        raise EOFError
    flags = _number(stream, 1)
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    size = _SIZE_BYTES[flags >> 6] or single
    stream.seek((1 - single) + _DICTIONARY_BYTES[flags & 3] + size, os.SEEK_CUR)
    last = 0
    while not last:
        header = _number(stream, 3)
        last, kind, length = header & 1, header >> 1 & 3, header >> 3
        stream.seek(1 if kind == _REPEATED_BYTE else length, os.SEEK_CUR)
    stream.seek(4 * checksum, os.SEEK_CUR)


def _number(stream: BinaryIO, n_bytes: int) -> int:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise EOFError
    return int.from_bytes(data, "little")
