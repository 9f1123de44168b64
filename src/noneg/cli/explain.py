"""``noneg help``: a command's options, or a page about a topic."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files

import click

ENDING = ".md"
LIST = "topics"


@click.command("help", short_help="Explain a command or a topic.", epilog="\b\nnoneg help settings")
@click.argument("topic", default=LIST)
@click.pass_context
def command(context: click.Context, topic: str) -> None:
    """Explain TOPIC: a command, or one of the topics that are listed without it."""
    root = context.find_root()
    commands = root.command.commands if isinstance(root.command, click.Group) else {}
    if topic == LIST:
        _show(_contents())
    elif topic in topics():
        options = f"\nOptions: `noneg {topic} --help`" if topic in commands else ""
        _show(text(topic) + options)
    elif topic in commands:
        with click.Context(commands[topic], parent=root, info_name=topic) as inner:
            click.echo(inner.get_help())
    else:
        near = get_close_matches(topic, [*topics(), *commands], 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"'topic' must be a command, or one of {', '.join(topics())}; got {topic!r}.{hint}"
        )


def topics() -> list[str]:
    """Return the names of all topics."""
    pages = (page.name for page in files("noneg.cli").joinpath("topics").iterdir())
    return sorted(name.removesuffix(ENDING) for name in pages if name.endswith(ENDING))


def text(topic: str) -> str:
    """Return the page about a topic, as Markdown."""
    page = files("noneg.cli").joinpath("topics", f"{topic}{ENDING}")
    return page.read_text(encoding="utf-8")


def _contents() -> str:
    lines = [f"- `noneg help {name}`: {text(name).splitlines()[0][2:]}" for name in topics()]
    return "\n".join(["# Topics", "", *lines, "", "And every command: `noneg help report`"])


def _show(page: str) -> None:
    from rich.markdown import Markdown

    from noneg.cli.terminal import console

    out = console()
    with out.capture() as captured:
        out.print(Markdown(page))
    for line in captured.get().splitlines():
        out.file.write(f"{line.rstrip()}\n")
