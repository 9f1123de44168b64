"""The sentences of reports and notes: templates in ``sentences.json``.

A template contains names and formats in braces, as in `str.format`. The page in the browser fills
in some of them itself; ``assets/words.js`` supports the formats ``.3f``, ``,.0f`` and ``.4g``.
"""

from __future__ import annotations

from functools import cache
from typing import Self

# Beginnings of titles that are names.
NAMES = ("BEDROC", "Brier", "Cohen", "F1", "Kolmogorov", "Matthews")


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
