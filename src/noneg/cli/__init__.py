"""The command line: ``noneg evaluate``, ``compare``, ``plan`` and others; no arithmetic here.

``noneg help`` shows a command's options or a topic, and ``noneg completion`` a shell script. Only
click is imported at the top of these files, to keep ``noneg --help`` fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from noneg.cli import (  # noqa: F401 - each module adds its commands
    audit,
    bench,
    compare,
    evaluate,
    monitor,
    plan,
    prior,
    recalibrate,
    sketch,
    threshold,
    train,
)
from noneg.cli.app import main
from noneg.cli.output import console
from noneg.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["main"]

ENDING = ".md"

LIST = "topics"


@main.command("help", short_help="Explain a command or a topic.")
@click.argument("topic", default=LIST)
@click.pass_context
def explain(context: click.Context, topic: str) -> None:
    """Explain TOPIC: a command or a help topic. Without TOPIC, list the topics.

    Examples
    --------
    noneg help settings
    """
    commands = main.commands
    if topic == LIST:
        _show(_contents())
    elif topic in topics():
        options = f"\nOptions: `noneg {topic} --help`" if topic in commands else ""
        _show(text(topic) + options)
    elif topic in commands:
        with click.Context(commands[topic], parent=context.find_root(), info_name=topic) as inner:
            click.echo(inner.get_help())
    else:
        hint = did_you_mean(topic, [*topics(), *commands])
        rule = f"must be a command, or one of {', '.join(topics())}; got {topic!r}.{hint}"
        raise InputError("topic", rule)


def topics() -> list[str]:
    """Return the names of all topics."""
    pages = (page.name for page in _folder().iterdir())
    return sorted(name.removesuffix(ENDING) for name in pages if name.endswith(ENDING))


def text(topic: str) -> str:
    """Return the page about a topic, as Markdown."""
    return _folder().joinpath(f"{topic}{ENDING}").read_text(encoding="utf-8")


def _folder() -> Traversable:
    from importlib.resources import files

    return files("noneg.cli").joinpath("topics")


def _contents() -> str:
    lines = [f"- `noneg help {name}`: {text(name).splitlines()[0][2:]}" for name in topics()]
    return "\n".join(["# Topics", "", *lines, "", "For a command: `noneg help report`"])


def _show(page: str) -> None:
    from rich.markdown import Markdown

    out = console()
    with out.capture() as captured:
        out.print(Markdown(page))
    for line in captured.get().splitlines():
        out.file.write(f"{line.rstrip()}\n")


SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

VARIABLE = "_NONEG_COMPLETE"


@main.command(short_help="Complete commands with the tab key.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    Examples
    --------
    eval "$(noneg completion bash)"
    """
    click.echo(SHELLS[shell](main, {}, "noneg", VARIABLE).source())
