"""The command group as a process: streams, signals, errors and exit codes.

Invalid input produces a one-paragraph message and exit code 2. Library errors name Python
arguments; here they are translated to the options of the command.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.options import Output
from noneg.cli.output import check_outputs
from noneg.errors import InputError
from noneg.sentences import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 1


class Command(click.Command):
    """A command that checks its files before any work is done: none replaces an input.

    The section "Examples" of its docstring is shown below the options.
    """

    def __init__(self, name: str | None, **settings: Any) -> None:
        text, _, examples = cleandoc(settings.pop("help")).partition("\n\nExamples\n--------\n")
        lines = (" ".join(line.split()) for line in examples.splitlines())
        super().__init__(name, help=text, epilog="\n".join(["\b", *lines]), **settings)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; errors know the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        outputs: list[tuple[str, str]] = []
        inputs: list[str] = []
        for parameter in self.params:
            name, value = str(parameter.name), ctx.params.get(str(parameter.name))
            if isinstance(parameter.type, Output):
                outputs += [] if value is None else [(name, value)]
            elif isinstance(parameter.type, click.Path):
                inputs += value if isinstance(value, tuple) else filter(None, [value])
        check_outputs(outputs, inputs)
        return super().invoke(ctx)


class Commands(click.Group):
    """A group that never shows a traceback for invalid input."""

    command_class = Command
    group_class = type

    def invoke(self, ctx: click.Context) -> object:
        """Run a command, and convert expected errors to messages about its options."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError, MemoryError) as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name else None
            options = option_names(command) if command else {}
            raise Refused(_words(error, options), f"{ctx.command_path} {name}") from error

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
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
            # The exception raised by a signal may have been converted to any other error.
            code = None if signals else _ended_by(error)
        if signals:
            sys.exit(128 + signals[0])
        sys.exit(code if isinstance(code, int) else 0)


def _ended_by(error: BaseException) -> int:
    """Explain the error that ended a command, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, OSError):
        # Errors from the streams, or from printing before or after a command.
        error = click.ClickException(_words(error, {}))
    if isinstance(error, click.ClickException):
        _explain(error)
        return WRONG_INPUT
    raise error


def _words(error: Exception, options: Mapping[str, str]) -> str:
    """Return the error message; system errors are shown without their number."""
    if isinstance(error, InputError):
        return error.told(options)
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}. Use fewer rows."
    if isinstance(error, OSError) and error.strerror is not None:
        what = "a file" if error.filename is None else repr(error.filename)
        return f"cannot use {what}: {error.strerror}."
    return str(error)


class Refused(click.ClickException):
    """An error raised by the library, and the command that caused it."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


def option_names(command: click.Command) -> dict[str, str]:
    """Return the command-line name of each library argument."""
    names = {"source": "FILE", "periods": "FILE", "path": "--out"}
    names |= {"folder": "FOLDER", "cells": "FOLDER"}
    for parameter in command.params:
        if parameter.name and isinstance(parameter, click.Option):
            options = (*parameter.opts, *parameter.secondary_opts)
            # An option that may be repeated has a plural name in Python.
            names |= {option.lstrip("-").replace("-", "_"): option for option in options}
            names[parameter.name] = max(parameter.opts, key=len)
    return names


def _explain(error: click.ClickException) -> None:
    message, context = error.format_message(), getattr(error, "ctx", None)
    where = context.command_path if context else getattr(error, "command", "noneg")
    if isinstance(error, click.UsageError):
        message = f"{message} Run '{where} --help' to list the options."
    click.echo(click.style(f"{where}: ", fg="red", bold=True) + printable(message), err=True)


# Seconds in which a repeated signal is ignored: signals often reach a process and its group.
GRACE = 1.0


class _StandardOutput(io.FileIO):
    """Standard output that is named in errors, after which further output is discarded."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # The interpreter flushes once more on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            raise OSError(f"cannot write to standard output: {error.strerror}.") from error


def prepare_streams() -> None:
    """Make all text printable, and name standard output in errors if it cannot be written."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    out = sys.stdout
    if out is None:
        raise OSError("standard output is closed. Redirect it to a file or to /dev/null.")
    if sys.stdout is sys.__stdout__ and not out.isatty():
        raw = _StandardOutput(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=out.encoding)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def stoppable(signals: list[int]) -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, record the signals received, and remove temporary files."""
    from noneg.atomic import clean_up

    last, ended = -GRACE, False

    def stop(number: int, _: object) -> None:
        nonlocal last
        if ended or time.monotonic() - last < GRACE:
            return
        signals.append(number)
        last = time.monotonic()
        raise KeyboardInterrupt

    with _handled_by(stop):
        try:
            yield
        finally:
            ended = True
            clean_up()


@contextmanager
def _handled_by(stop: Callable[[int, object], None]) -> Iterator[None]:
    """Handle the signals that stop a process, except those ignored at the parent's request."""
    former: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in former.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@click.group(
    "noneg",
    cls=Commands,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="noneg", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Evaluate and recalibrate classifiers with positive and unlabeled data, without negatives."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
