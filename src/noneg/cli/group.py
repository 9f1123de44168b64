"""The group of commands, and what people see when something is wrong: one paragraph, exit code 2.

Messages of the library name Python arguments; here they become the options of the command.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.printable import printable
from noneg.cli.process import prepare_streams, stoppable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 1
_LEADING_NAMES = re.compile(r"(?:'\w+'(?:, | and | ))+")
_SNAKE = re.compile(r"(?<![\w'-])([a-z]+_[a-z]+)(?![\w'(=])")
_BESIDE = re.compile(r"\S+ \(on the command line ([^)]*)\)")
_KEYWORD = re.compile(r"(?<![\w'\"/.-])(\w+)='?([\w.-]*\w)'?")


class Commands(click.Group):
    """A group that never shows a traceback for a wrong input."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what it refuses becomes an error of its usage."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError, MemoryError) as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name else None
            options = option_names(command) if command else {}
            message = as_options(_words(error), options)
            raise Refused(message, f"{ctx.command_path} {name}") from error

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run the command line and exit."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        signals: list[int] = []
        try:
            with stoppable(signals):
                prepare_streams()
                code = super().main(args, standalone_mode=False, **extra)
                sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001
            # What a signal raises may have become any other error on its way.
            code = None if signals else _ended_by(error)
        if signals:
            sys.exit(128 + signals[0])
        sys.exit(code if isinstance(code, int) else 0)


def _ended_by(error: BaseException) -> int:
    """Explain what ended a command, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, OSError):
        # The streams, and what is printed before or after a command.
        error = click.ClickException(_words(error))
    if isinstance(error, click.ClickException):
        _explain(error)
        return WRONG_INPUT
    raise error


def _words(error: Exception) -> str:
    """Return what went wrong; errors of the system come with a number that nobody needs."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}. Ask for fewer rows."
    if isinstance(error, OSError) and error.strerror is not None:
        what = "a file" if error.filename is None else repr(error.filename)
        return f"{what} cannot be used: {error.strerror}."
    return str(error)


class Refused(click.ClickException):
    """What the library refused, and the command that asked."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


def option_names(command: click.Command) -> dict[str, str]:
    """Return what stands on the command line for each argument of the library."""
    names = {"source": "FILE", "path": "--out"}
    for parameter in command.params:
        if parameter.name and isinstance(parameter, click.Option):
            names[parameter.name] = max(parameter.opts, key=len)
    return names


def as_options(message: str, options: Mapping[str, str]) -> str:
    """Say ``--prior-interval`` where the library says 'prior_interval'.

    Quoted names are arguments at the beginning only; further on they may be columns or labels.

    Examples
    --------
    >>> as_options("'prior' must be larger with setting='one-sample'.", {"prior": "--prior"})
    "--prior must be larger with setting='one-sample'."
    """

    def option(match: re.Match[str]) -> str:
        return options.get(match[1], match[0])

    def keyword(match: re.Match[str]) -> str:
        return f"{options[match[1]]} {match[2]}" if match[1] in options else match[0]

    start = _LEADING_NAMES.match(message)
    if start:
        message = re.sub(r"'(\w+)'", option, start[0]) + message[start.end() :]
    message = _BESIDE.sub(r"\1", message)
    message = _SNAKE.sub(option, _KEYWORD.sub(keyword, message))
    return message.replace("got None", "got nothing")


def _explain(error: click.ClickException) -> None:
    message, context = error.format_message(), getattr(error, "ctx", None)
    where = context.command_path if context else getattr(error, "command", "noneg")
    if isinstance(error, click.UsageError):
        message = f"{message} Run '{where} --help' for the options."
    click.echo(click.style(f"{where}: ", fg="red", bold=True) + printable(message), err=True)
