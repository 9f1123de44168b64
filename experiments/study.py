"""One runner for all studies: it measures cells, stores tables, and creates figures and a page.

A `Study` has parts, each of which returns tables. A part passes a list of cells (dicts of
parameters) and a worker to `Run.map`, which uses several processes, or to `Run.resume`, which
stores the table after every cell and skips the cells that are already stored. Figures, texts and
sections of the README are generated only from the stored tables.

This file needs only NumPy, so that a study can run where noneg is not installed.
"""

import argparse
import hashlib
import importlib
import multiprocessing
import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path

import numpy as np

from experiments import STUDIES
from experiments.tables import SINGLE, Row, Tables, fill, place, read, write

HERE = Path(__file__).parent
BUILD = HERE.parent / "build"
PACKAGES = ("noneg", "numpy", "scipy", "scikit-learn", "matplotlib", "torch")
Cell = dict[str, object]
SETTINGS = ("two-sample", "one-sample")
# Seconds between two writes of a growing table.
PAUSE = 5.0


def seeded(*names: object) -> np.random.Generator:
    """Return random numbers that depend only on these names."""
    text = "|".join(map(str, names))
    # The stored tables were drawn when these words were spelled with two l's.
    text = text.replace("labeled", "label" + "led").replace("labeling", "label" + "ling")
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))


def versions() -> dict[str, str]:
    """Return the installed versions of the packages that affect the numbers."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package).partition("+")[0]
        except PackageNotFoundError:
            continue
    return found


def command() -> str:
    """Return the command for this run, with folder names instead of full paths."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return shlex.join(["python", "-m", "experiments", *words])


def data_file(name: str) -> Path | None:
    """Return a file from the folder named by NONEG_DATA, or None and a message."""
    folder = os.environ.get("NONEG_DATA")
    if folder and (Path(folder) / name).exists():
        return Path(folder) / name
    print(f"SKIPPED what needs {name}: NONEG_DATA names no folder that holds it.", file=sys.stderr)
    return None


def arrays(name: str) -> Mapping[str, np.ndarray] | None:
    """Return the arrays in such a file, which are read when they are used."""
    path = data_file(name)
    return None if path is None else np.load(path, allow_pickle=False)


def cells(**values: object) -> list[Cell]:
    """Return every combination of parameters, the last one varying fastest.

    A single number or word is the same in all cells.

    >>> cells(world="a", n=[10, 20])
    [{'world': 'a', 'n': 10}, {'world': 'a', 'n': 20}]
    """
    axes = [[value] if isinstance(value, SINGLE) else value for value in values.values()]
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*axes)]


def call(work: Callable, cell: Cell) -> object:
    found = work(**cell)
    return list(found) if isinstance(found, Iterator) else found


def named(cell: Cell, found: Row | Iterable[Row]) -> list[Row]:
    """Return one or more rows of a worker, with the parameters of their cell."""
    return [cell | row for row in ([found] if isinstance(found, dict) else found)]


@dataclass
class Run:
    """The requested options, and the folder for the tables."""

    out: Path
    quick: bool = False
    options: argparse.Namespace = field(default_factory=argparse.Namespace)
    digits: int | None = 6
    started: float = field(default_factory=time.time)

    def say(self, *words: object) -> None:
        print(f"[{time.time() - self.started:7.1f} s]", *words, flush=True)

    def pick(self, full: object, quick: object) -> object:
        return quick if self.quick else full

    def trials(self, full: int, quick: int) -> int:
        return self.options.trials or self.pick(full, quick)

    @property
    def minutes_over(self) -> bool:
        return time.time() - self.started > 60 * self.options.minutes

    def over(self, work: Callable, cells: Iterable[Cell], **fixed: object) -> Iterator:
        """Yield the worker's results in order, from several processes or from this one; torch
        cannot be forked."""
        one = partial(call, partial(work, **fixed))
        if self.options.processes == 1:
            yield from map(one, cells)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.options.processes, mp_context=context) as pool:
            yield from pool.map(one, cells)

    def map(self, work: Callable, cells: Iterable[Cell], **fixed: object) -> list:
        """Return the worker's results for all cells, in order."""
        cells, found = list(cells), []
        for result in self.over(work, cells, **fixed):
            found.append(result)
            if len(found) % max(1, len(cells) // 10) == 0:
                self.say(work.__name__, f"{len(found)} of {len(cells)}")
        return found

    def rows(self, work: Callable, cells: Iterable[Cell], **fixed: object) -> list[Row]:
        """Return one table from cells whose worker returns one or more rows."""
        cells, rows = list(cells), []
        for cell, found in zip(cells, self.map(work, cells, **fixed), strict=True):
            rows += named(cell, found)
        return rows

    def resume(
        self,
        name: str,
        work: Callable,
        cells: list[Cell],
        mine: Callable = lambda _: True,
        **fixed: object,
    ) -> None:
        """Measure the cells missing from the stored table; a cell has all of its rows or none.

        A killed run loses the results of its last few seconds. `mine` selects the rows that belong
        to this worker if several share the table.
        """
        if not cells:
            return
        path = self.out / f"{name}.csv"
        rows = read(path, raw=True) if path.exists() else []
        done = {place(row, cells[0], self.digits) for row in rows if mine(row)}
        left = [cell for cell in cells if place(cell, cells[0], self.digits) not in done]
        stored = 0.0
        for k, found in enumerate(self.over(work, left, **fixed)):
            rows += named(left[k], found)
            over_time = self.minutes_over
            if over_time or k + 1 == len(left) or time.time() > stored + PAUSE:
                write(path, rows, self.digits)
                stored = time.time()
            self.say(name, f"{k + 1} of {len(left)}", *left[k].values())
            if over_time:
                return


@dataclass(frozen=True)
class Study:
    """Parts that measure something, and the outputs generated from their tables.

    A part is a function that returns tables by name. The functions of the study's module, and the
    macros of the template next to it, generate the outputs from stored tables: ``draw_x`` draws the
    figure x.png, ``text_x`` writes the text x.md, and ``show_x`` fills section x of the README. The
    parts in `named` run only on request. Outputs in `optional` are omitted if their table is
    missing. With `page_of_all`, the page needs every row, so a quick run writes tables alone.
    """

    name: str
    parts: tuple[Callable[[Run], dict[str, list[Row]] | None], ...]
    style: dict[str, object] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None
    digits: int | None = 6
    page_of_all: bool = False

    @property
    def home(self) -> Path:
        return HERE / self.name

    def made(self, kind: str, folder: Path) -> dict[str, Callable[[Tables], object]]:
        """Return the page functions of one kind, with None for outputs that have no table."""
        from experiments import template

        module = importlib.import_module(STUDIES[self.name])
        every = vars(module) | template.functions(module)
        found = {n.removeprefix(kind): f for n, f in every.items() if n.startswith(kind)}
        absent = {n for n in self.optional if not (folder / f"{n}.csv").exists()}
        return found | dict.fromkeys(found.keys() & absent)

    def main(self, words: list[str]) -> None:
        options = self.parser().parse_args(words)
        out = options.out or (BUILD / self.name / "quick" if options.quick else self.home)
        run = Run(out, options.quick, options, self.digits)
        if out != self.home:
            out.mkdir(parents=True, exist_ok=True)
            for page in self.home.glob("README.md"):
                shutil.copy(page, out)
        if not options.redraw:
            self.measure(run)
        if not options.no_page and not (options.quick and self.page_of_all):
            self.render(out, None if options.redraw else self.made_with())
        run.say("wrote", out)

    def parser(self) -> argparse.ArgumentParser:
        module = importlib.import_module(STUDIES[self.name])
        kind = argparse.RawDescriptionHelpFormatter
        about = {"prog": f"python -m experiments {self.name}", "description": module.__doc__}
        parser = argparse.ArgumentParser(**about, formatter_class=kind)
        add = parser.add_argument
        add("--quick", action="store_true", help="small, into build/NAME/quick")
        add("--parts", nargs="+", choices=[p.__name__ for p in self.parts], help="these alone")
        add("--trials", type=int, help="repetitions of a cell")
        add("--processes", type=int, default=os.cpu_count(), help="side by side")
        add("--minutes", type=float, default=np.inf, help="start nothing after so many")
        add("--out", type=Path, help="folder of the tables")
        add("--redraw", action="store_true", help="pictures and page from the stored tables")
        add("--no-page", action="store_true", help="tables alone")
        self.arguments(parser)
        return parser

    def measure(self, run: Run) -> None:
        for part in self.parts:
            asked, name = run.options.parts, part.__name__
            if name not in (asked or {name} - set(self.named)):
                continue
            for table, rows in (part(run) or {}).items():
                if rows:
                    write(run.out / f"{table}.csv", rows, self.digits)

    def made_with(self) -> str:
        return ", ".join([f"`{command()}`", *(f"{k} {v}" for k, v in versions().items())])

    def render(self, folder: Path, made_with: str | None = None, *, pictures: bool = True) -> None:
        """Draw the figures and write the texts and the page; `made_with` is None if the tables are
        old."""
        tables = Tables(folder, self.home)
        for name, draw in self.made("draw_", folder).items():
            if pictures and draw is not None:
                self.draw(draw, tables, folder / f"{name}.png")
        for name, text in self.made("text_", folder).items():
            if text is not None:
                (folder / f"{name}.md").write_text(f"{text(tables).strip()}\n", encoding="utf-8")
        places = {
            name: f"(left out: no {name}.csv)" if show is None else show(tables)
            for name, show in self.made("show_", folder).items()
        }
        if places:
            page = folder / "README.md"
            if made_with is not None and "<!-- versions -->" in page.read_text(encoding="utf-8"):
                places["versions"] = made_with
            fill(page, places)

    def draw(self, figure: Callable, tables: Tables, path: Path) -> None:
        from matplotlib import pyplot as plt

        with plt.rc_context(self.style):
            figure(tables).savefig(path)
        plt.close("all")
