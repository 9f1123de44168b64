"""A command as a process: its standard streams, and the signals that stop it."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A signal is often sent twice, to a process and to its group.
GRACE = 1.0


class _StandardOutput(io.FileIO):
    """The standard output: an error names it, and what is printed later goes nowhere."""

    def write(self, data: Any) -> int:  # noqa: ANN401
        try:
            return super().write(data)
        except OSError as error:
            # The interpreter flushes once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            raise OSError(f"standard output cannot be written: {error.strerror}.") from error


def prepare_streams() -> None:
    """Let every text be printed, and name the standard output where it cannot be written."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    out = sys.stdout
    if out is None:
        raise OSError("standard output is closed. Send it to a file, or to /dev/null.")
    if sys.stdout is sys.__stdout__ and not out.isatty():
        raw = _StandardOutput(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=out.encoding)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def stoppable(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, note which signals came, and remove temporary files."""
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
    """Handle the signals that stop a process, except those that its parent had it ignore."""
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
