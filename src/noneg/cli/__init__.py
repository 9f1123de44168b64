"""The command line: ``noneg evaluate``, ``compare``, ``plan`` and others; no arithmetic here.

Only click is imported at the top of these files, so that ``noneg --help`` answers at once.
"""

import click

from noneg.cli import (
    apply,
    bench,
    compare,
    completion,
    demo,
    evaluate,
    explain,
    plan,
    prior,
    recalibrate,
    report,
    simulate,
    threshold,
)
from noneg.cli.group import Commands

__all__ = ["main"]


@click.group(
    "noneg",
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="noneg", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Tell how calibrated a classifier is from positives and unlabeled data, without negatives."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for module in (
    report,
    evaluate,
    threshold,
    compare,
    prior,
    recalibrate,
    apply,
    plan,
    simulate,
    bench,
    demo,
    explain,
    completion,
):
    main.add_command(module.command)
