"""Run a command in a folder of its own, and judge how it ended."""

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner
from hypothesis import event

from noneg.cli import main

KEPT = ("kept.csv", "kept.html", "kept.json")


@contextmanager
def folder_of(**files):
    """A new folder with these files, and with some that must stay as they are."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in KEPT:
            Path(name).write_text("somebody's work")
        for name, content in files.items():
            Path(name.replace("_", ".")).write_bytes(content)
        try:
            yield
        finally:
            os.chdir(here)


def contents():
    """All files below the folder we are in."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def check(arguments):
    """Success with whole files, or one paragraph, exit code 2, and every file as it was."""
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


def _check_success(arguments, before, after):
    changed = [name for name in before if after.get(name) != before[name]]
    # The pages that people look at replace the former ones.
    allowed = arguments[0] in ("report", "compare") or "--force" in arguments
    assert allowed or not changed, (arguments, changed)
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
