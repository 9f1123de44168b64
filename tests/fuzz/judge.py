"""Run a command in a separate folder, and check how it ended."""

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import duckdb
from click.testing import CliRunner
from hypothesis import event

from noneg.cli import main

KEPT = ("kept.csv", "kept.html", "kept.json")


@contextmanager
def folder_of(files):
    """Create a folder with these files, and with some that must not change."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in KEPT:
            Path(name).write_text("somebody's work")
        for name, content in files.items():
            Path(name).write_bytes(content)
        try:
            yield
        finally:
            os.chdir(here)


def contents():
    """Return all files below the current folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def check(arguments):
    """Require success with complete files, or one paragraph, exit code 2, and unchanged files."""
    before = contents()
    result = CliRunner().invoke(main, arguments)
    error = result.exception
    assert error is None or isinstance(error, SystemExit), (arguments, repr(error))
    after = contents()
    assert not [name for name in after if "partial" in name], arguments
    event(f"exit code {result.exit_code}")
    if result.exit_code == 0:
        _check_success(arguments, before, after)
    else:
        _check_refusal(arguments, result)
        assert after == before, arguments
    return result


def check_sound(arguments):
    """Require success, with output that programs can parse and tables that can be read again.

    An estimated prior may be rejected, because the scores may not separate positives from unlabeled
    rows.
    """
    result = check(arguments)
    if result.exit_code:
        assert any(word.startswith("estimate") for word in arguments), (arguments, result.stderr)
        assert "but the estimate by" in result.stderr, (arguments, result.stderr)
        return
    if "--json" in arguments:
        assert strict_json(result.stdout)["schema"].startswith("noneg."), arguments
    assert result.stdout.strip(), arguments
    for path in Path().glob("o.*"):
        _check_written(path, arguments)


def strict_json(text):
    """Read JSON without NaN or infinities, which other parsers reject."""

    def refuse(word):
        raise AssertionError(f"{word} is not valid JSON")

    return json.loads(text, parse_constant=refuse)


def _check_written(path, arguments):
    if arguments[0] in ("report", "compare"):
        text = path.read_text(encoding="utf-8")
        form = arguments[arguments.index("--format") + 1] if "--format" in arguments else None
        if (form or path.suffix) in ("json", ".json"):
            strict_json(text)
        if (form or path.suffix) in ("html", ".html"):
            assert text.rstrip().endswith("</html>"), arguments
        return
    column = "score" if arguments[0] == "simulate" else "calibrated"
    if "--column" in arguments:
        column = arguments[arguments.index("--column") + 1]
    values = read_table(path)[column]
    assert ((values >= 0.0) & (values <= 1.0)).all(), arguments


def read_table(path):
    """Read a table with an independent reader."""
    return duckdb.sql(f"FROM '{path}'").fetchnumpy()


def _check_success(arguments, before, after):
    changed = [name for name in before if after.get(name) != before[name]]
    assert "--force" in arguments or not changed, (arguments, changed)
    for name in set(after) - set(before):
        assert after[name], (arguments, name)
        if name.endswith(".json") and not ({"html", "markdown", "text"} & set(arguments)):
            json.loads(after[name])


def _check_refusal(arguments, result):
    said = result.stderr
    assert result.exit_code == 2, (arguments, result.output)
    assert said.startswith(("noneg:", "noneg ")), (arguments, said)
    assert len(said) > 20, (arguments, said)
    assert said.count("\n") == 1, (arguments, said)
    for word in ("Traceback", "Errno", "codec", "object has no", "NoneType", "_duckdb", "C long"):
        assert word not in said, (arguments, said)
