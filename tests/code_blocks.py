"""Find the code blocks on a page, run them in order in one folder, and compare their output.

    python tests/code_blocks.py docs/start.md # runs the page and rewrites its outputs

A fence of kind ``sh`` is run by bash, ``python`` and ``{doctest}`` by this interpreter in one
namespace for the page; a fence of kind ``text`` is the output of the block before it, with dots for
parts that may vary. A paragraph directly above a block, which readers also see, may change how it
is run:

    *Not run by the tests: REASON.*
    *The tests run it smaller: `--steps 20` for `--steps 2000`.*
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    + [
        path
        for path in (ROOT / "docs").rglob("*.md")
        if not {"_build", "gallery", "generated"} & set(path.relative_to(ROOT).parts)
    ]
)
FENCE = re.compile(
    r"^(?P<fence>```+)(?P<kind>\S*)[^\n]*\n(?P<code>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"\*Not run by the tests: (?P<reason>.+)\*")
SMALLER = re.compile(r"\*The tests run it smaller: (?P<pairs>.+)\.\*")
PAIR = re.compile(r"`([^`]*)` for `([^`]+)`")
RUN = {"sh", "python", "{doctest}"}
OUTPUT = "text"
DEMO = re.compile(r"^noneg demo --data \.", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PATIENCE = 600  # seconds per block; the machine may be busy


@dataclass(frozen=True)
class Block:
    """A fenced block, its first line number, and the paragraph above it."""

    kind: str
    code: str
    line: int
    remark: str

    @property
    def skipped(self) -> str | None:
        """The reason for not running it, or None."""
        found = NOT_RUN.fullmatch(self.remark)
        return found["reason"] if found else None

    @property
    def runnable(self) -> str:
        """The code as the tests run it."""
        found, code = SMALLER.fullmatch(self.remark), self.code
        for new, old in PAIR.findall(found["pairs"]) if found else []:
            assert old in code, f"line {self.line}: {old!r} is not in the block"
            code = code.replace(old, new)
        return code


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found, end = [], 0
    for match in FENCE.finditer(text):
        above = text[end : match.start()].strip().split("\n\n")[-1]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["kind"], match["code"], line, " ".join(above.split())))
        end = match.end()
    return found


class Reader:
    """Follows a page block by block in a folder, like a reader."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.said: str | None = None

    def follow(self, block: Block) -> None:
        """Run a block, or compare an output."""
        if block.kind == OUTPUT:
            self.compare(block)
        elif block.kind in RUN:
            run = {"sh": self._bash, "python": self._python, "{doctest}": self._doctest}
            code = block.runnable
            with chdir(self.folder):
                if block.skipped is None:
                    kind = "{doctest}" if code.startswith(">>>") else block.kind
                    self.said = run[kind](code, block.line)
                else:
                    self.said = None

    def compare(self, block: Block) -> None:
        """Compare an output with what was printed."""
        if self.said is None:
            return
        if not matches(block.code, self.said):
            raise AssertionError(
                f"{self.page.name}, line {block.line}: expected\n{block.code}\ngot\n{self.said}"
            )

    def _bash(self, code: str, line: int) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],  # noqa: S607
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        where = f"{self.page.name}, line {line}"
        assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def _python(self, code: str, line: int) -> str:
        out = StringIO()
        # Add empty lines at the start, so that a traceback shows the line number on the page.
        program = compile("\n" * line + code, str(self.page), "exec")
        with redirect_stdout(out):
            exec(program, self.names)  # noqa: S102
        return out.getvalue()

    def _doctest(self, code: str, line: int) -> str:
        test = doctest.DocTestParser().get_doctest(
            code, self.names, self.page.name, str(self.page), line
        )
        report = StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, report.getvalue()
        return ""


def matches(expected: str, got: str) -> bool:
    """Return whether an output matches the expected one, up to whitespace and dots."""
    return doctest.OutputChecker().check_output(expected, got, FLAGS)


def rewrite(page: Path, folder: Path) -> None:
    """Run a page and update its outputs where they have changed."""
    text, reader = page.read_text(encoding="utf-8"), Reader(page, folder)
    pieces, end = [], 0
    for block, match in zip(blocks(text), FENCE.finditer(text), strict=True):
        new = block.code
        if block.kind == OUTPUT and reader.said is not None and not matches(new, reader.said):
            new = "\n".join(line.rstrip() for line in reader.said.strip("\n").splitlines()) + "\n"
        elif block.kind != OUTPUT:
            reader.follow(block)
        pieces += [text[end : match.start("code")], new]
        end = match.end("code")
    page.write_text("".join([*pieces, text[end:]]), encoding="utf-8")


def demo_files(folder: Path) -> None:
    """Write the files that the first command of the tour creates."""
    from noneg.demo import tables, write_table

    for name, table in tables().items():
        write_table(table, folder / name)


def makes_its_files(page: Path) -> bool:
    """Return whether a page starts with an empty folder."""
    return DEMO.search(page.read_text(encoding="utf-8")) is not None


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    for name in sys.argv[1:]:
        with TemporaryDirectory() as where:
            if not makes_its_files(Path(name)):
                demo_files(Path(where))
            rewrite(Path(name).resolve(), Path(where))
