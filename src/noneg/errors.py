"""`InputError`: a violated rule, stored as data until it is printed.

For Python callers, the message names arguments; for the command line, it names options.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class Argument:
    """A mention of another argument inside a message, such as ``setting='two-sample'``.

    `call` is the equivalent that a Python caller would write.

    Examples
    --------
    >>> mentioned = Argument("setting", "two-sample")
    >>> str(mentioned), mentioned.told({"setting": "--setting"})
    ("setting='two-sample'", '--setting two-sample')
    """

    name: str
    value: str | float = ""
    call: str = ""

    def __str__(self) -> str:
        return self.call or (f"{self.name}={self.value!r}" if self.value != "" else self.name)

    def told(self, options: Mapping[str, str]) -> str:
        """Return the mention, with the command-line option for the argument if there is one."""
        if self.name not in options:
            return str(self)
        return f"{options[self.name]} {self.value}".rstrip()


Words = str | Argument | tuple[str | Argument, ...]
_UNSAID: Any = object()


class InputError(ValueError):
    """An argument violates a rule; the message is assembled when it is printed.

    Parameters
    ----------
    argument : str or tuple of str
        Name of the argument, or of several that violate the rule together.
    rule : str or parts
        Text that follows the name: "must be a number". Other arguments are mentioned as `Argument`
        parts.
    value : object, optional
        The value that was given.
    row : int, optional
        The first row that violates the rule.
    lack : str
        Description of the problem if there is no value to show: "has none".
    remedy : str or parts
        The next step, as a sentence.

    Examples
    --------
    >>> error = InputError("prior", "must be a number in (0, 1)", value=40, remedy="Divide by 100.")
    >>> print(error)
    'prior' must be a number in (0, 1), got 40. Divide by 100.
    >>> error.told({"prior": "--prior"})
    '--prior must be a number in (0, 1), got 40. Divide by 100.'
    """

    def __init__(
        self,
        argument: str | tuple[str, ...],
        rule: Words,
        *,
        value: object = _UNSAID,
        row: int | None = None,
        lack: str = "",
        remedy: Words = "",
    ) -> None:
        super().__init__(argument, rule)
        self.argument, self.rule, self.remedy = argument, rule, remedy
        # A missing value is not stored, so that copies in other processes agree.
        self.found = () if value is _UNSAID else (value,)
        self.row, self.lack = row, lack
        self.place = "" if row is None else f"row {row}"
        self.is_column = False

    def __str__(self) -> str:
        return self.told({})

    def told(self, options: Mapping[str, str]) -> str:
        """Return the message for a command, with its options in place of arguments."""
        rule, remedy = _told(self.rule, options), _told(self.remedy, options)
        end = "" if rule.endswith((".", "?")) else "."
        message = f"{self._subject(options)} {rule}{self._instead(options)}{end}"
        return f"{message} {remedy}" if remedy else message

    def of_column(self, place: Callable[[int], str] | None = None) -> InputError:
        """Return the error for a column named by the argument; `place` locates a row."""
        other = copy.copy(self)
        other.is_column = self.argument not in ("positive_label", "weight_kind")
        if place is not None and self.row is not None:
            other.place = place(self.row)
        return other

    def about(self, argument: str) -> InputError:
        """Return the same error about another argument, which contained the faulty one."""
        other = copy.copy(self)
        other.argument = argument
        return other

    def _subject(self, options: Mapping[str, str]) -> str:
        if self.is_column:
            return f"column '{self.argument}'"
        names = (self.argument,) if isinstance(self.argument, str) else self.argument
        *others, last = (options.get(name, f"'{name}'") for name in names)
        return f"{', '.join(others)} and {last}" if others else last

    def _instead(self, options: Mapping[str, str]) -> str:
        if self.lack:
            return f", but {self.place} {self.lack}"
        where = f" in {self.place}" if self.place else ""
        got = ["nothing" if options and value is None else repr(value) for value in self.found]
        return f", got {got[0]}{where}" if got else ""


class MissingFileError(InputError, FileNotFoundError):
    """An argument names a file that does not exist."""


class UnwritableFileError(InputError, OSError):
    """An argument names a file that cannot be written."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that suggests the closest known name; empty if none is close.

    Examples
    --------
    >>> did_you_mean("debiased-ece", ["ece", "debiased_ece"])
    " Did you mean 'debiased_ece'?"
    """
    names = {other.casefold(): other for other in map(str, known)}
    close = get_close_matches(str(name).casefold(), names, n=1)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def _told(words: Words, options: Mapping[str, str]) -> str:
    parts = words if isinstance(words, tuple) else (words,)
    return "".join(x.told(options) if isinstance(x, Argument) else x for x in parts)
