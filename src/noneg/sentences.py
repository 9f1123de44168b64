"""Sentences that Python and the page in a browser both say: templates in ``sentences.json``.

A template holds names and formats in braces, as `str.format` reads them; ``assets/words.js`` reads
the same file and knows the formats ``.3f``, ``,.0f`` and ``.4g``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Self


@cache
def templates() -> dict[str, str]:
    """Return every template by its key."""
    found: dict[str, str] = json.loads(
        files("noneg").joinpath("sentences.json").read_text(encoding="utf-8")
    )
    return found


def say(key: str, /, **values: object) -> str:
    """Return a sentence, filled in.

    Examples
    --------
    >>> say("plan_done", eps=0.01)
    'The upper half of the interval is no wider than 0.01 already.'
    """
    return templates()[key].format(**values)


class Notice(str):
    """A sentence that needs attention, with the code by which programs know it.

    Attributes
    ----------
    code : str
        Such as "prior" or "mean_score"; it stays when the words change.

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
    """Return the notice of a code, filled in."""
    return Notice(say(code, **values), code)
