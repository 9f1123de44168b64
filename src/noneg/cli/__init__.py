"""The command line: ``noneg evaluate``, ``compare``, ``plan`` and others; no arithmetic here.

Only click is imported at the top of these files, to keep ``noneg --help`` fast.
"""

import click

from noneg.cli.app import Commands
from noneg.cli.audit import audit
from noneg.cli.bench import bench
from noneg.cli.compare import compare
from noneg.cli.evaluate import demo, evaluate, report
from noneg.cli.help import completion, explain
from noneg.cli.monitor import monitor
from noneg.cli.plan import plan, simulate
from noneg.cli.prior import prior
from noneg.cli.recalibrate import apply, recalibrate
from noneg.cli.sketch import sketch
from noneg.cli.threshold import negatives, threshold
from noneg.cli.train import predict, train

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
