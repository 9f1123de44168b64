"""Format the results: aligned text for the terminal, CSV and Markdown for storage."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.tables import table, write

PACKAGES = ["noneg", "numpy", "numba", "scipy", "pandas", "torch"]
PACKAGES += ["relplot", "probcal", "torchmetrics", "scikit-learn", "netcal", "mcgrad"]
PACKAGES += ["calzone-tool", "mapie", "uncertainty-calibration", "pulearn"]
HEADER = ("", "seconds", "ratio", "warm-up", "calls", "arrays", "value", "note")


def number(x, digits=3):
    return "-" if x is None else f"{x:.{digits}g}" if abs(x) < 1000 else f"{x:,.0f}"


def cells(row):
    return (
        row.case,
        number(row.seconds),
        number(row.ratio),
        number(row.first),
        str(row.calls) if row.calls else "-",
        number(row.arrays),
        number(row.value, 6),
        row.note,
    )


def aligned(lines):
    """Return columns of text, with words left-aligned and numbers right-aligned."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    left = {0, len(widths) - 1}
    return "\n".join(
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(lines):
    head, *rest = lines
    return table(head, rest, f"l{'r' * (len(head) - 2)}l")


def lines_of(title, rows):
    return [(title, *HEADER[1:]), *map(cells, rows)]


def machine():
    info = Path("/proc/cpuinfo")
    names = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.split(": ")[1] for line in names if line.startswith("model name")), None)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.machine()}"
    return f"{model or platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}"


def versions(names=PACKAGES):
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "(not installed)"
    return found


def parser(about, **numbers):
    """Return a parser of numbers with these defaults, and of the folder of the results."""
    parser = argparse.ArgumentParser(description=about)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    return parser


def written(name):
    """Return how a file was written: the command, the processors, and their load."""
    command = shlex.join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]])
    machine = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
    return f"Written by `{command}`; {machine}"


def save(path, *lines):
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def load():
    return f"{os.getloadavg()[0]:.2f}"


def about():
    """Return how a run is made: the command, the machine, the versions, and the load before."""
    return {
        "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "machine": machine(),
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
        "load": f"{load()} before",
    }


def target_lines(targets, results):
    lines = [("target", "n", "measured", "at most", "")]
    for target in targets:
        for n in results:
            if target.n in (None, n):
                x = target.measure(results[n])
                verdict = "not measured" if x is None else "pass" if x <= target.limit else "FAIL"
                lines.append((target.name, f"{n:,}", number(x), f"{target.limit:g}", verdict))
    return lines


def write_run(folder, about, targets, results):
    """Write a run as peers.md and peers.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = ["# noneg and its peers, one run"]
    parts += ["\n".join(f"- {key}: {text}" for key, text in about.items())]
    parts += ["## Targets", markdown(targets)]
    rows = []
    for n, blocks in results.items():
        parts.append(f"## n = {n:,}")
        for title, block in blocks.items():
            parts.append(markdown(lines_of(title, block)))
            rows += [{"n": n, "block": title, **asdict(row)} for row in block]
    save(folder / "peers.md", "\n\n".join(parts))
    write(folder / "peers.csv", rows, digits=None)
