"""The sentences of reports and notes: templates in ``sentences.json``, and what makes text safe.

A template contains names and formats in braces, as in `str.format`. The page in the browser fills
in some of them itself; ``assets/words.js`` supports the formats ``.3f``, ``,.0f`` and ``.4g``.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Self

# Beginnings of titles that are names.
NAMES = ("BEDROC", "Brier", "Cohen", "F1", "Kolmogorov", "Matthews")

_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}  # Control characters, surrogates and line separators.
# Marks that change the direction of text.
TURNING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


@cache
def templates() -> dict[str, str]:
    """Return every template by key."""
    import json
    from importlib.resources import files

    found: dict[str, str] = json.loads(
        files("noneg").joinpath("sentences.json").read_text(encoding="utf-8")
    )
    return found


def say(key: str, /, **values: object) -> str:
    """Return a sentence with its values filled in.

    Examples
    --------
    >>> say("plan_done", eps=0.01)
    'The upper half of the interval is already no wider than 0.01.'
    """
    return templates()[key].format(**values)


def printable(text: str) -> str:
    r"""Escape characters that move the cursor, break the line or change the text direction.

    Examples
    --------
    >>> print(printable("[red]\n\x1b[2J 🦔"))
    [red]\n\x1b[2J 🦔
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNSEEN or character in TURNING
        else character
        for character in text
    )


def in_sentence(title: str) -> str:
    """Return a title as it is written within a sentence: only names start with a capital.

    Examples
    --------
    >>> in_sentence("Log loss"), in_sentence("Brier score")
    ('log loss', 'Brier score')
    """
    return title if title.startswith(NAMES) else title[0].lower() + title[1:]


class Notice(str):
    """A sentence that needs attention, with a code for programs.

    Attributes
    ----------
    code : str
        A code such as "prior" or "mean_score"; it stays the same if the wording changes.

    Examples
    --------
    >>> notice("swapped").code
    'swapped'
    """

    __slots__ = ("code",)

    code: str

    def __new__(cls, text: str, code: str = "") -> Self:
        """Return a sentence with a code."""
        found = super().__new__(cls, text)
        found.code = code
        return found


def notice(code: str, /, **values: object) -> Notice:
    """Return the notice for a code, with its values filled in."""
    return Notice(say(code, **values), code)
