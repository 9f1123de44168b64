"""The command line: ``noneg evaluate``, ``compare``, ``plan`` and others; no arithmetic here.

``noneg help`` shows a command's options or a topic, and ``noneg completion`` a shell script. Only
click is imported at the top of these files, to keep ``noneg --help`` fast.
"""

from __future__ import annotations

from importlib.resources import files

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from noneg.cli.app import Commands
from noneg.cli.audit import audit
from noneg.cli.bench import bench
from noneg.cli.compare import compare
from noneg.cli.evaluate import demo, evaluate, report
from noneg.cli.monitor import monitor
from noneg.cli.output import console
from noneg.cli.plan import plan, simulate
from noneg.cli.prior import prior
from noneg.cli.recalibrate import apply, recalibrate
from noneg.cli.sketch import sketch
from noneg.cli.threshold import negatives, threshold
from noneg.cli.train import predict, train
from noneg.errors import InputError, did_you_mean

__all__ = ["main"]


@click.group(
    "noneg",
    cls=Commands,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(package_name="noneg", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Evaluate and recalibrate classifiers with positive and unlabeled data, without negatives."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


ENDING = ".md"

LIST = "topics"


@click.command("help", short_help="Explain a command or a topic.", epilog="\b\nnoneg help settings")
@click.argument("topic", default=LIST)
@click.pass_context
def explain(context: click.Context, topic: str) -> None:
    """Explain TOPIC: a command or a help topic. Without TOPIC, list the topics."""
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
        hint = did_you_mean(topic, [*topics(), *commands])
        rule = f"must be a command, or one of {', '.join(topics())}; got {topic!r}.{hint}"
        raise InputError("topic", rule)


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


@click.command(
    "completion",
    short_help="Complete commands with the tab key.",
    epilog='\b\neval "$(noneg completion bash)"',
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    complete = SHELLS[shell]
    click.echo(complete(context.find_root().command, {}, "noneg", VARIABLE).source())


_COMMANDS = (
    report,
    evaluate,
    threshold,
    negatives,
    compare,
    monitor,
    prior,
    recalibrate,
    apply,
    plan,
    simulate,
)
for command in (*_COMMANDS, sketch, audit, train, predict, bench, demo, explain, completion):
    main.add_command(command)
