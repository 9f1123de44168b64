"""``noneg completion``: what a shell needs to complete commands with the tab key."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE = "_NONEG_COMPLETE"


@click.command(
    "completion",
    short_help="Complete commands with the tab key.",
    epilog='\b\neval "$(noneg completion bash)"',
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print what SHELL must run to complete noneg's commands, options and files."""
    complete = SHELLS[shell]
    click.echo(complete(context.find_root().command, {}, "noneg", VARIABLE).source())


def file_names(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]
