"""Names of files and columns are anybody's text; here they become safe to show."""

from __future__ import annotations

import math
import unicodedata

_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}  # controls, halves of pairs, separators of lines
_TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


def printable(text: str) -> str:
    r"""Escape what would move the cursor, break the line or turn its direction; keep the rest.

    Examples
    --------
    >>> print(printable("[red]\n\x1b[2J 🦔"))
    [red]\n\x1b[2J 🦔
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNSEEN or character in _TURNING
        else character
        for character in text
    )


def plain(value: object) -> object:
    """Return a value as strict JSON knows it: no NaN, no infinity, no NumPy.

    Examples
    --------
    >>> plain({"value": float("nan"), "sizes": (1, float("inf"))})
    {'value': None, 'sizes': [1, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
