"""What the source never does, and how it always handles files."""

import ast
import csv
import html
import io
import json
import os
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

import noneg
from noneg import atomic
from noneg.cli import main
from noneg.simulation import LogisticGaussian
from noneg.tables import write

SOURCE = Path(noneg.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}

# Calls that execute content from a file or a user.
DANGEROUS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "os.execv",
    "os.spawnv",
    "pty.spawn",
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "joblib.load",
    "cloudpickle.load",
    "yaml.load",
    "yaml.unsafe_load",
    "dill.load",
}
MODULES = {"subprocess", "pickle", "marshal", "shelve", "dill", "yaml", "ctypes", "telnetlib"}
# Calls that open files for writing; each must be inside ``with replacing(path)``.
WRITERS = {"write_text", "write_bytes", "savefig", "to_csv", "write_parquet", "to_parquet"}


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def calls(tree):
    return [(dotted(x.func), x) for x in ast.walk(tree) if isinstance(x, ast.Call)]


# Files that may read pickles, and why.
PICKLES = {
    "lab/datasets.py": "arrays of a published archive, by a reader that knows only arrays",
}


def test_the_array_reader_accepts_only_arrays():
    from noneg.lab.datasets import _Arrays

    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    content = pickle.dumps({b"data": array}, protocol=2)
    assert np.array_equal(_Arrays(io.BytesIO(content)).load()[b"data"], array)
    for hostile in (print, os.system, np.load, ast.parse):
        with pytest.raises(pickle.UnpicklingError, match="is not part of an array"):
            _Arrays(io.BytesIO(pickle.dumps(hostile))).load()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_nothing_from_outside_is_executed(file):
    tree = TREES[file]
    if str(file.relative_to(SOURCE)) in PICKLES:
        allowed = {"pickle.load", "pickle.Unpickler"}
        assert {name for name, _ in calls(tree)} & DANGEROUS <= allowed
        return
    for name, call in calls(tree):
        assert name not in DANGEROUS, f"{file}:{call.lineno}"
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        assert "shell" not in given, f"{file}:{call.lineno}"
        if name.endswith("torch.load"):
            assert given["weights_only"].value is True, f"{file}:{call.lineno}"
        if name in ("np.load", "numpy.load"):
            found = given.get("allow_pickle")
            assert found is None or found.value is False, f"{file}:{call.lineno}"
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
            roots = {node.module or ""} if isinstance(node, ast.ImportFrom) else set(names)
            assert not {root.split(".")[0] for root in roots} & MODULES, f"{file}:{node.lineno}"


def guarded(tree):
    """Return the lines inside ``with replacing(...)`` blocks and those that create temporary
    folders."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            names = {dotted(getattr(item.context_expr, "func", None)) for item in node.items}
            if names & {"replacing", "atomic.replacing", "scratch"}:
                inside |= set(range(node.lineno, node.end_lineno + 1))
    return inside


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_files_are_written_whole_or_not_at_all(file):
    tree = TREES[file]
    inside = guarded(tree)
    for name, call in calls(tree):
        last = name.rsplit(".", 1)[-1]
        mode = next((x.value for x in call.args if isinstance(x, ast.Constant)), "r")
        opens = last == "open" and isinstance(mode, str) and set(mode) & set("wax+")
        saves = name in ("np.save", "np.savez", "torch.save", "json.dump")
        if (opens and len(mode) <= 3) or saves or (last in WRITERS and "." in name):
            where = str(file.relative_to(SOURCE))
            assert call.lineno in inside or where in EXCUSED, f"{where}:{call.lineno}"


# A pipe or a temporary copy that the same function reads and removes, and the null device.
EXCUSED = {"tables/files.py", "cli/app.py"}


def test_an_error_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", fail)
    with pytest.raises(OSError, match=r"cannot be written.*No space left.*No file was created"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with atomic.replacing(path) as partial:
        # Private content must not be readable by others in the meantime.
        assert partial.stat().st_mode & 0o077 == 0
        partial.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_private_while_they_are_written(tmp_path, ending):
    """DuckDB writes into the given file instead of a file of its own."""
    path = tmp_path / f"a.{ending}"
    scores = LogisticGaussian.calibrated().draw(3, 5, setting="two-sample", seed=0)
    write(scores, path)
    path.chmod(0o600)
    write(scores, path)
    assert path.stat().st_mode & 0o7777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 125 + ".txt")
    atomic.write_text(path, "x")
    assert path.read_text() == "x"


# Keeps a temporary folder and a partial file until it is killed.
HOLDER = """
import sys, time
from noneg.atomic import replacing, scratch
with replacing(sys.argv[1]) as partial, scratch() as folder:
    (folder / "rows").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not(tmp_path):
    def names():
        return sorted(path.name for path in tmp_path.iterdir())

    env = os.environ | {"TMPDIR": str(tmp_path)}
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, tmp_path / name], stdout=subprocess.PIPE, env=env
        )
        for name in ("dead", "alive")
    ]
    try:
        for holder in holders:
            assert holder.stdout.readline() == b"ready\n"
        # Not created by noneg, but with a similar name.
        (tmp_path / "noneg-results").mkdir()
        assert len(names()) == 5
        holders[0].kill()
        holders[0].wait(30)
        assert len(names()) == 5
        atomic.sweep(tmp_path)
        assert len(names()) == 3
        assert [name for name in names() if name.endswith(".partial.alive")]
    finally:
        for holder in holders:
            holder.kill()
            holder.wait(30)
            holder.stdout.close()
    sweeper = "from noneg.atomic import scratch\nwith scratch(): pass"
    subprocess.run([sys.executable, "-c", sweeper], check=True, env=env)
    assert names() == ["noneg-results"]


def test_a_link_with_our_name_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    with atomic.scratch() as folder:
        name = folder.name
    (tmp_path / name).symlink_to(precious)
    atomic.sweep(tmp_path)
    assert (precious / "file").exists()


def test_a_device_is_written_to_as_it_is():
    atomic.write_text("/dev/null", "x")
    assert not Path("/dev/null").is_file()


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "{{ 7*7 }}{% raw %}",
    "[x](javascript:alert(1))",
    "`|a|b|`\n# no heading",
    "\u202etxt.exe",
]


class Tags(HTMLParser):
    """Tags and attributes as seen by a browser."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser.found


def structure(page):
    """Return the tags on a page, without the text between them and without chart data."""
    return [
        (tag, sorted(attrs))
        for tag, attrs in tags(page)
        if not any(name.startswith("on") for name in attrs)
    ]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    world = LogisticGaussian.less_calibrated()
    write(world.draw(60, 300, setting="two-sample", seed=0), folder / "plain.csv")
    return folder / "plain.csv"


def renamed(rows, folder, name):
    """The same rows with hostile column names, in a file with a hostile name."""
    lines = list(csv.reader(rows.read_text(encoding="utf-8").splitlines()))
    lines[0] = [f"s{name}", f"l{name}"]
    safe = name.replace("/", "_").replace("\n", "_")
    path = folder / f"f{safe}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)
    return path


def run(*arguments):
    result = CliRunner().invoke(main, [str(x) for x in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("ending", ["html", "md", "txt", "json"])
@pytest.mark.parametrize("name", HOSTILE)
def test_reports_show_hostile_names_as_text(rows, tmp_path, name, ending):
    path, out = renamed(rows, tmp_path, name), tmp_path / f"r.{ending}"
    arguments = ["--score", f"s{name}", "--label", f"l{name}", "--setting", "two-sample"]
    arguments += ["--prior", "0.5", "--no-recalibrate", "--title", f"t{name}", "-o", out]
    run("report", path, *arguments)
    text = out.read_text(encoding="utf-8")
    check_inert(text, ending)
    if ending == "html":
        clean = tmp_path / "clean.html"
        options = ["--score", "score", "--label", "label", "--setting", "two-sample"]
        run("report", rows, *options, "--prior", "0.5", "--no-recalibrate", "-o", clean)
        assert structure(text) == structure(clean.read_text(encoding="utf-8"))


# Tags that Markdown itself creates.
MARKDOWN = {"h1", "h2", "h3", "h4", "p", "ul", "ol", "li", "code", "pre", "em", "strong", "a"}
MARKDOWN |= {"table", "thead", "tbody", "tr", "th", "td", "br", "hr", "blockquote"}


def check_inert(text, ending):
    if ending == "html":
        scripts = [attrs for tag, attrs in tags(text) if tag == "script"]
        assert all("src" not in attrs for attrs in scripts)
        assert not [tag for tag, attrs in tags(text) if any(a.startswith("on") for a in attrs)]
        assert "<script>alert" not in text
        assert "<img src=x" not in text
    elif ending == "md":
        # Rendered by a reader that does not escape tags.
        shown = tags(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
        assert {tag for tag, _ in shown} <= MARKDOWN
        assert not [attrs for _, attrs in shown if "javascript" in attrs.get("href", "")]
        assert "\n# no heading" not in text
    elif ending == "json":
        json.loads(text)
    assert "\u202e" not in text or ending == "json"


@pytest.mark.parametrize("name", HOSTILE[:4])
def test_the_page_of_a_comparison_shows_hostile_names_as_text(rows, tmp_path, name):
    one, out = renamed(rows, tmp_path, name), tmp_path / "c.html"
    two = tmp_path / "other.csv"
    two.write_bytes(one.read_bytes())
    options = ["--score", f"s{name}", "--label", f"l{name}", "--setting", "two-sample"]
    run("compare", one, two, *options, "--prior", "0.5", "--names", f"a{name},b", "-o", out)
    check_inert(out.read_text(encoding="utf-8"), "html")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_terminal_gets_no_control_characters(rows, tmp_path, name):
    path = renamed(rows, tmp_path, f"{name}\x1b[31m\x07")
    options = ["--score", f"s{name}\x1b[31m\x07", "--label", f"l{name}\x1b[31m\x07"]
    shown = run("evaluate", path, *options, "--setting", "two-sample", "--prior", "0.5").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert html.unescape(shown) == shown or "&" in name
    assert np.all([character.isprintable() or character == "\n" for character in shown])


SETTINGS = {"one-sample", "two-sample", "labeled"}


def names_setting(node):
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(map(names_setting, node.elts))
    return isinstance(node, ast.Constant) and node.value in SETTINGS


def setting_comparisons(tree):
    """Yield the lines that compare with a setting: ==, !=, in, not in, or a match case."""
    for node in ast.walk(tree):
        compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if isinstance(node, ast.MatchValue):
            compared = [node.value]
        if any(map(names_setting, compared)):
            yield node.lineno


def test_setting_comparisons_are_found():
    code = "a == 'labeled'\nb not in ('x', 'two-sample')\n'no: labeled'\nf('labeled')\n"
    code += "match c:\n    case 'one-sample' | 'labeled':\n        pass\n"
    assert list(setting_comparisons(ast.parse(code))) == [1, 2, 6, 6]


def test_few_modules_ask_for_the_setting():
    # `PUScores` records whether labels are hidden and positives are pooled; so does `checks`.
    homes = {SOURCE / "laws.py", SOURCE / "scores.py"}
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file, tree in TREES.items()
        if file not in homes
        for line in setting_comparisons(tree)
    ]
    assert len(found) <= 20, found


def code_lines(text, first, last):
    """Return how many of these lines are code: neither blank nor a comment."""
    lines = map(str.strip, text.splitlines()[first - 1 : last])
    return sum(bool(line) and not line.startswith("#") for line in lines)


def body_sizes(text):
    """Return the code lines of every function below its docstring, by name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[ast.get_docstring(node) is not None :]
            size = code_lines(text, body[0].lineno, body[-1].end_lineno) if body else 0
            found.append((node.name, size))
    return found


def test_function_bodies_are_measured():
    code = 'def f():\n    """Say."""\n    # Why.\n    x = 1\n\n    return x\n'
    code += 'def g():\n    """No."""\n'
    assert body_sizes(code) == [("f", 2), ("g", 0)]


def test_functions_are_short():
    sizes = [
        (size, f"{file.relative_to(SOURCE)}:{name}")
        for file in FILES
        for name, size in body_sizes(file.read_text(encoding="utf-8"))
    ]
    assert np.median([size for size, _ in sizes]) < 6
    assert [place for size, place in sizes if size > 40] == []
