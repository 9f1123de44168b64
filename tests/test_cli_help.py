"""Help topics and shell completion: every topic exists and refers only to existing names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import noneg
from noneg.cli import main, text, topics

BIN = Path(sys.executable).parent
BASH = shutil.which("bash")
WANTED = [
    "completion",
    "files",
    "gates",
    "intervals",
    "large",
    "prior",
    "recalibration",
    "settings",
]


def run(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_topic_is_listed_with_its_title():
    assert set(WANTED) <= set(topics())
    shown = run("help")
    assert shown == run("help", "topics")
    for topic in topics():
        assert f"noneg help {topic}" in shown
        assert text(topic).splitlines()[0].removeprefix("# ") in shown


@pytest.mark.parametrize("topic", topics())
def test_a_topic_is_shown_as_plain_text(topic):
    shown = run("help", topic)
    lines = shown.splitlines()
    # Some versions of rich draw a box around it.
    assert text(topic).splitlines()[0].removeprefix("# ") in "".join(lines[:3])
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in shown
    assert "`" not in shown


def options_of(command):
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)} | {"--help"}


@pytest.mark.parametrize("topic", topics())
def test_a_topic_names_only_what_exists(topic):
    quoted = re.findall(r"`([^`]+)`", text(topic))
    everywhere = set().union(*map(options_of, main.commands.values())) | {"--version"}
    for words in (part.split() for part in quoted):
        known = everywhere
        if words[0] == "noneg" and not words[1].startswith("-"):
            assert words[1] in main.commands, words
            known = options_of(main.commands[words[1]]) | {"--version"}
            if words[1] == "help":
                assert words[2] in {*topics(), *main.commands}, words
        for option in filter(lambda word: word.startswith("--"), words):
            assert option in known, words


def test_help_of_a_command_is_its_help():
    for name in main.commands:
        if name in topics():
            assert f"Options: noneg {name} --help" in run("help", name)
        else:
            assert run("help", name) == run(name, "--help")


def test_an_unknown_topic_gets_a_hint():
    result = CliRunner().invoke(main, ["help", "settngs"])
    assert result.exit_code == 2
    assert "Did you mean 'settings'?" in result.stderr
    assert "Did you mean" not in CliRunner().invoke(main, ["help", "qqqq"]).stderr


def test_the_version_is_that_of_the_package():
    assert run("--version") == f"noneg {noneg.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(shell):
    assert "_NONEG_COMPLETE" in run("completion", shell)
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2


@pytest.mark.skipif(not BASH, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["noneg", "eva"], ["evaluate"]),
        (["noneg", "evaluate", "--set"], ["--setting"]),
        (["noneg", "evaluate", "--setting", "two"], ["two-sample"]),
        # The shell's own completion of files takes over.
        (["noneg", "apply", "cali"], ["compopt -o default"]),
        (["noneg", "help", ""], []),
    ],
    ids=" ".join,
)
def test_a_real_bash_completes(words, expected, tmp_path):
    line = " ".join(f"'{word}'" for word in words)
    script = f"""
        eval "$(noneg completion bash)"
        compopt() {{ echo compopt "$@"; }}  # the real one works only while tab is pressed
        COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}
        _noneg_completion noneg "${{COMP_WORDS[$COMP_CWORD]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
        complete -p noneg
    """
    found = subprocess.run(
        [BASH, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    *completed, registered = found.stdout.splitlines()
    assert set(expected) <= set(completed), found
    assert "_noneg_completion" in registered


def test_files_are_completed_by_the_shell():
    for name in ("evaluate", "report", "recalibrate", "compare", "prior", "apply"):
        for parameter in main.commands[name].params:
            if isinstance(parameter, click.Argument):
                items = parameter.shell_complete(click.Context(main.commands[name]), "da")
                assert [(item.value, item.type) for item in items] == [("da", "file")]
