"""Time calls in turns, and measure the peak memory of each."""

from __future__ import annotations

import ctypes
import gc
import random
import time
import warnings
from collections.abc import Callable  # noqa: TC003
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
# The kernel's count of resident memory is accurate to a few hundred kilobytes; smaller values are
# noise.
ROWS_WORTH_WEIGHING = 1_000_000
# Seconds per case and round, with at least one call.
TURN = 0.2


@dataclass(frozen=True)
class Case:
    """A name and a factory: `make(data)` imports and converts, and returns the call to time."""

    name: str
    make: Callable[[Any], Callable[[], Any]]
    note: str = ""
    renew: bool = False  # call `make` again before every call, because the call modifies its input
    slow: bool = False  # takes minutes on many rows


@dataclass
class Row:
    """The measurements for one case."""

    case: str
    seconds: float | None = None
    ratio: float | None = None
    first: float | None = None
    calls: int = 0
    arrays: float | None = None
    value: float | None = None
    note: str = ""


@dataclass
class _Run:
    case: Case
    data: Any
    row: Row
    kept: Callable[[], Any] | None = None
    times: list[float] = field(default_factory=list)

    def call(self):
        if self.kept is None or self.case.renew:
            self.kept = self.case.make(self.data)
        start = time.perf_counter()
        value = self.kept()
        return time.perf_counter() - start, value

    def warm_up(self):
        try:
            self.row.first, self.row.value = self.call()
        except ModuleNotFoundError as error:
            self.row.note = f"not run: {error.name} is not installed"
        except Exception as error:  # noqa: BLE001
            self.row.note = f"failed: {type(error).__name__}: {error}"
        if self.case.slow and self.row.first is not None:
            self.times.append(self.row.first)
        return self.row.first is not None

    def take_turn(self):
        gc.collect()
        end = time.perf_counter() + TURN
        self.times.append(self.call()[0])
        while time.perf_counter() < end:
            self.times.append(self.call()[0])

    def weigh(self, n_rows):
        if n_rows < ROWS_WORTH_WEIGHING:
            return
        if self.case.renew:
            self.kept = self.case.make(self.data)
        self.row.arrays = peak_bytes(self.kept) / (8.0 * n_rows)


def compare(cases, data, n_rows, *, repeats, patience, limit):
    """Return one row per case; seconds are for the best call, and ratios are relative to the first
    case.

    Every case is warmed up once; then all take turns of equal length, in a new order each round, so
    that noise affects them equally. A call longer than `patience` is not repeated; for a slow case,
    the warm-up already counts as a call.
    """
    rows = [Row(case.name, note=case.note) for case in cases]
    runs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, row in zip(cases, rows, strict=True):
            if case.slow and n_rows > limit:
                row.note = f"not run above {limit:,} rows (--limit); {case.note}"
                continue
            run = _Run(case, data, row)
            if run.warm_up():
                runs.append(run)
        _take_turns(runs, repeats, patience)
        for run in runs:
            run.row.calls, run.row.seconds = len(run.times), min(run.times)
            if run.row.seconds <= patience:
                run.weigh(n_rows)
    _fill_ratios(rows)
    return rows


def best_of_turns(calls, rounds, warm_up=0):
    """Return the best CPU and wall-clock seconds of each call; calls take turns.

    The first rounds, such as those that compile kernels, may be a warm-up.
    """
    found = {name: [] for name in calls}
    for _ in range(warm_up + rounds):
        for name, call in calls.items():
            clock, processor = time.perf_counter(), time.process_time()
            call()
            found[name].append((time.process_time() - processor, time.perf_counter() - clock))
    every = found.items()
    return {name: [min(x) for x in zip(*times[warm_up:], strict=True)] for name, times in every}


def _take_turns(runs, repeats, patience):
    shuffle = random.Random(0).shuffle  # noqa: S311
    order = list(runs)
    for _ in range(repeats):
        shuffle(order)
        for run in order:
            if min(run.times, default=0.0) <= patience:
                run.take_turn()


def _fill_ratios(rows):
    base = rows[0].seconds
    for row in rows:
        if base and row.seconds is not None:
            row.ratio = row.seconds / base


def peak_bytes(call):
    """Return the growth of peak resident memory during one call (Linux only)."""
    if not (STATUS.exists() and CLEAR_REFS.exists()):
        return float("nan")
    gc.collect()
    _return_free_memory()
    before = _status("VmRSS")
    CLEAR_REFS.write_text("5", encoding="ascii")
    kept = call()
    peak = _status("VmHWM")
    del kept
    return max(0.0, peak - before)


def _return_free_memory():
    """Return freed heap memory to the system: a call that reuses it would seem to need less."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return


def _status(key):
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(key):
            return 1024.0 * float(line.split()[1])
    raise KeyError(key)
