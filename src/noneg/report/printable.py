"""Names of files and columns are anybody's text; here they become safe to show."""

from __future__ import annotations

import math
import re
import unicodedata

_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}  # controls, halves of pairs, separators of lines
_TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
_TURNS = re.compile(f"[{''.join(sorted(_TURNING))}\ud800-\udfff]")


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


def escaped_turns(page: str) -> str:
    r"""Escape what no page may hold: halves of pairs, and marks that turn the line.

    The escape is that of JSON and JavaScript, so data inside the page stay what they are.

    Examples
    --------
    >>> escaped_turns("<p>\u202etxt.exe</p>\n") == "<p>\\u202etxt.exe</p>\n"
    True
    """
    return _TURNS.sub(lambda found: f"\\u{ord(found[0]):04x}", page)


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
