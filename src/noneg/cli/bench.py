"""``noneg bench``: train many PU learners on the same rows, and compare them."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.app import main, option_names
from noneg.cli.output import console, say, show
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from noneg.lab.bench import Cell
    from noneg.lab.bench.protocol import RunConfig

# With `--data`, the options that describe the table, and those that also apply without it.
OWN = ("data", "label", "prior")
COMMON = ("setting", "algorithms", "steps", "device")
# Errors that `noneg bench run` prints; the records contain all of them.
SHOWN_ERRORS = 5


@main.group(short_help="Train and compare PU learners on the same rows.")
def bench() -> None:
    """Train many PU learners on the same rows, and compare them.

    Every run has a name and writes one record. An interrupted sweep resumes where it stopped.
    """


@bench.command()
@opt.option("--dataset", "Data set; may be repeated.", multiple=True)
@opt.file(
    "--data", "Your own table instead: all methods are trained on it and compared on held-out rows."
)
@opt.column("--label", "With --data: column that marks the labeled positives.")
@opt.option("--prior", "With --data: the share of positives, or 'estimate'.", metavar="NUMBER")
@opt.option(
    "--algorithm", "algorithms", "Algorithm; may be repeated.  [default: all]", multiple=True
)
@opt.choice(
    "--setting",
    "Sampling setting; may be repeated.",
    multiple=True,
    among=["one-sample", "two-sample"],
    required=True,
)
@opt.option("--case", "Class prior case of the benchmark.", multiple=True, default=[1])
@opt.option(
    "--rate", "Labeled positives, as a share of all training rows.", multiple=True, default=[0.3]
)
@opt.choice(
    "--variant",
    "Original methods, or the benchmark's versions where they exist.",
    multiple=True,
    among=["ref", "bench"],
    default=["ref"],
)
@opt.choice(
    "--correction",
    "One-sample correction.  [default: that of the method]",
    multiple=True,
    among=["weighted", "shift", "batch", "none"],
)
@opt.flag(
    "--versions",
    "Run all rows of the benchmark's tables: its versions with and without "
    "correction, and the original methods. Replaces --variant and --correction.",
)
@opt.number("--given-prior", "Prior to give to the methods, correct or not.", multiple=True)
@opt.option("--configurations", "Sets of hyperparameters: the default and random ones.", default=1)
@opt.option("--splits", "Number of random splits.", default=3)
@opt.option("--steps", "Training steps per run.", default=20_000)
@opt.option("--every", "Steps between checkpoints.", default=100)
@opt.option(
    "--augmented/--plain", "Whether to augment training images as the benchmark does.", default=True
)
@opt.option(
    "--out", "folder", "Folder for the records.", type=click.Path(file_okay=False), default="bench"
)
@opt.option("--jobs", "Number of processes.", default=1)
@opt.option("--scheduler", "Address of a Dask scheduler, tcp://host:port.")
@opt.option("--device", "Torch device, such as cuda.")
@opt.choice(
    "--precision",
    "Numeric precision of training; half precision needs a GPU.",
    among=["float32", "bfloat16", "float16"],
    default="float32",
)
@opt.option(
    "--population",
    "Train up to this many runs at once as stacked networks; --jobs processes then "
    "compute metrics.",
    type=int,
)
@opt.flag("--retry-failed", "Repeat failed runs.")
@opt.number("--minutes", "Start no new run after this many minutes.  [default: no limit]")
def run(folder: str, **question: Any) -> None:
    """Do all runs of a grid that have no record yet, or compare methods on your own table.

    Examples
    --------
    noneg bench run --dataset digits --algorithm nnpu --algorithm upu --steps 2000
    """
    from noneg.lab.bench.engine import run_all

    _check_use(own_table=question["data"] is not None)
    own = {name: question.pop(name) for name in ("data", "label", "prior")}
    if own["data"] is not None:
        _rank_own(question, **own)
        return
    if not question["dataset"]:
        raise InputError("dataset", "must be given, or --data with your own table")
    names = ("jobs", "scheduler", "device", "precision", "population", "retry_failed")
    engine = {name: question.pop(name) for name in names}
    minutes = question.pop("minutes")
    seconds = None if minutes is None else 60.0 * minutes
    runs = _grid(question)
    counts = run_all(runs, folder, **engine, seconds=seconds, tell=_progress())
    left = f", {counts['left']} left" if counts["left"] else ""
    kept = f"{counts['kept']} kept from an earlier sweep{left}"
    click.echo(f"{counts['done']} done, {counts['failed']} failed, {kept}, in {folder}")
    if counts["damaged"]:
        one = counts["damaged"] == 1
        what = "record was damaged and its run" if one else "records were damaged and their runs"
        click.echo(f"{counts['damaged']} {what} done again.")
    _show_failures(runs, folder)


def _check_use(*, own_table: bool) -> None:
    """Reject options of the grid if there is an own table, and those of the table otherwise."""
    context = click.get_current_context()
    names = option_names(context.command)
    given = [
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    wrong = [name for name in given if name not in (*OWN, *COMMON)]
    if not own_table:
        wrong = [name for name in given if name in OWN]
    if wrong:
        named = ", ".join(names[name] for name in wrong)
        word = "with" if own_table else "without"
        raise click.UsageError(f"{named} cannot be given {word} --data.")


def _show_failures(runs: Iterable[RunConfig], folder: str) -> None:
    """Print the most frequent errors of the runs in the grid, whenever they were recorded."""
    from noneg.lab.bench import load_records

    asked = {run.key for run in runs}
    records = (record for record in load_records(folder) if record["key"] in asked)
    failed = [record for record in records if record["status"] == "failed"]
    errors = Counter((record["run"]["algorithm"], record["error"]) for record in failed)
    for (method, error), times in errors.most_common(SHOWN_ERRORS):
        click.echo(f"{method} failed{'' if times == 1 else f' {times} times'}: {error}")
    if failed:
        click.echo("Records of failed runs contain the error; --retry-failed repeats these runs.")


def _rank_own(question: dict[str, Any], *, data: str, label: str | None, prior: Any) -> None:
    """Train all methods on a table, and report which is best, if any."""
    from noneg.lab.bench.own import rank_on
    from noneg.learning.propensity import encoded
    from noneg.report.comparing import comparison_summary

    for name, value in (("label", label), ("prior", prior)):
        if value is None:
            raise InputError(name, "must be given with --data")
    if len(question["setting"]) != 1:
        raise InputError("setting", "must be given once with --data", value=question["setting"])
    setting = question["setting"][0]
    rows, flags = _own_rows(data, str(label))
    x = encoded(rows)
    share, interval = _own_prior(x, flags, setting, prior)
    names = question["algorithms"] or None
    options = {"steps": question["steps"], "device": question["device"]}
    known = {"setting": setting, "prior": share, "prior_interval": interval}
    found = rank_on(x, flags, algorithms=names, **known, **options)
    if interval is not None:
        low, high = interval
        say(f"Estimated prior: {share:.3f}, 95% interval {low:.3f} to {high:.3f}.")
    show(comparison_summary(found.comparison, ()))
    level = 100.0 * found.comparison.level
    say(
        f"The level of {level:.4g}% allows for the number of methods: for each metric, the best "
        "method is the winner or one of those that tie, with a probability of at least 95%."
    )
    for name, reason in found.left_out.items():
        say(f"{name} was left out: {reason}")


def _own_rows(data: str, label: str) -> tuple[Any, Any]:
    """Return the features in a file as a data frame, and flags for the labeled positives."""
    from noneg.checks import check_flags
    from noneg.tables.frames import check_columns, read_table

    table = read_table(data)
    check_columns(table, [("label", label)])
    if len(table.column_names) == 1:
        rule = "must contain a feature in addition to the label, got no other column"
        raise InputError("data", rule)
    return table.drop_columns(label), check_flags(table[label].to_numpy(), "label")


def _own_prior(
    x: Any, flags: Any, setting: Any, prior: Any
) -> tuple[float, tuple[float, float] | None]:
    """Return the prior, with its interval if it is estimated."""
    if prior == "estimate":
        from noneg.prior import estimate_prior

        found = estimate_prior(x, flags, setting=setting)
        return found.value, (found.low, found.high)
    try:
        return float(prior), None
    except ValueError:
        rule = "must be a number in (0, 1) or 'estimate'"
        raise InputError("prior", rule, value=prior) from None


def _grid(question: dict[str, Any]) -> list[RunConfig]:
    """Return the valid runs, with only the variants and corrections that each method supports."""
    from noneg.checks import check_count
    from noneg.lab.bench.protocol import sweep
    from noneg.lab.bench.work import METHODS, is_possible, versions

    for name in ("configurations", "splits"):
        check_count(question[name], name, 1)
    unknown = set(question["algorithms"]) - set(METHODS)
    if unknown:
        raise InputError("algorithm", f"must be among {', '.join(METHODS)}", value=min(unknown))
    names = question["algorithms"] or METHODS
    all_of_them = set(versions(names)) if question["versions"] else None
    runs = sweep(
        **{name: question[name] for name in ("dataset", "setting", "case", "rate")},
        **{name: [question[name]] for name in ("steps", "every", "augmented")},
        algorithm=names,
        variant=["bench", "ref"] if all_of_them else question["variant"],
        correction=[None, "batch", "none"] if all_of_them else question["correction"] or [None],
        given_prior=question["given_prior"] or [None],
        configuration=range(question["configurations"]),
        split=range(question["splits"]),
    )
    possible = [one for one in runs if is_possible(one)]
    if all_of_them:
        possible = [x for x in possible if (x.algorithm, x.variant, x.correction) in all_of_them]
    if not possible:
        rule = "must include a method with the requested variant and correction; none has both"
        raise InputError("algorithm", rule)
    return possible


def _progress() -> Callable[[int, int, int], None]:
    """Return a callback that shows throughput and time left; it is silent without a terminal."""
    start, out = time.monotonic(), console(error=True)

    def tell(done: int, failed: int, total: int) -> None:
        if not out.is_terminal:
            return
        ended = done + failed
        rate = ended / (time.monotonic() - start)
        left = (total - ended) / rate / 60.0
        speed = f"{60 * rate:.1f} per minute, {left:.0f} min left"
        end = "\n" if ended == total else "\r"
        out.print(f"{ended}/{total} runs, {failed} failed, {speed}", end=end)

    return tell


@bench.command()
@click.argument("folder", type=click.Path(exists=True))
@opt.option("--like", "A table of the benchmark paper, paper-1 to paper-18.")
@opt.option("--metric", "metrics", "Test metric.  [default: accuracy, auc and f1]", multiple=True)
@opt.option("--by", "Selection criterion.  [default: the paper's three]", multiple=True)
@opt.choice("--form", "Output.", among=["markdown", "latex", "csv"], default="markdown")
@opt.written(
    "--plot", "Write a critical-difference diagram for the first metric and criterion to this file."
)
@opt.force
def table(folder: str, like: str | None, form: Any, plot: str | None, **question: Any) -> None:
    """Print mean test metrics over splits for the model that each criterion selects.

    Examples
    --------
    noneg bench table bench --like paper-15 --form latex
    """
    from noneg.lab.bench import load_records, render, summarize

    records, metrics = load_records(folder), None
    if like is not None:
        records, metrics = _like(records, like)
    asked = {"metrics": question["metrics"] or metrics, "criteria": question["by"]}
    cells = summarize(records, **{name: value for name, value in asked.items() if value})
    click.echo(render(cells, form), nl=False)
    if plot is not None:
        _draw(cells, plot)


def _draw(cells: list[Cell], path: str) -> None:
    """Write the critical-difference diagram for the first metric and criterion of the table."""
    from noneg.atomic import replacing
    from noneg.lab.bench import CriticalDifferenceDisplay

    if not cells:
        raise InputError("folder", "must contain records of the methods to rank, but contains none")
    one, draw = cells[0], CriticalDifferenceDisplay.from_cells
    display = draw(cells, metric=one.metric, criterion=one.criterion)
    with replacing(path) as partial:
        display.figure_.savefig(partial, dpi=150)  # type: ignore[union-attr]  # a whole figure


def _like(records: list[dict[str, Any]], like: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the records that match the setup of a table in the paper, and its metrics."""
    from noneg.lab.bench import paper_numbers
    from noneg.lab.bench.summaries import PAPER_RATE

    theirs = [n for n in paper_numbers() if f"paper-{n['table']}" == like]
    if not theirs:
        rule = "must be a table of the benchmark paper such as 'paper-15'"
        raise InputError("like", rule, value=like)
    world = {"setting": "one-sample", "rate": PAPER_RATE, "given_prior": None}
    world |= {name: theirs[0][name] for name in ("dataset", "case")}
    kept = [r for r in records if all(r["run"][name] == x for name, x in world.items())]
    return kept, list(dict.fromkeys(n["metric"] for n in theirs))


@bench.command()
@click.argument("folder", type=click.Path(exists=True))
@opt.option("--metric", "metrics", "Metric.", multiple=True, default=["accuracy"])
def compare(folder: str, metrics: tuple[str, ...]) -> None:
    """Print our results next to those of the benchmark paper, in percent.

    Examples
    --------
    noneg bench compare bench
    """
    from noneg.lab.bench import against_paper, load_records, summarize
    from noneg.results import aligned

    rows = against_paper(summarize(load_records(folder), metrics=metrics))
    if not rows:
        say("No record matches a setup and method in the paper's tables.")
        return
    names = ("table", "method", "metric", "criterion", "ours", "paper", "difference")
    click.echo(aligned([names, *([_shown(row[name]) for name in names] for row in rows)]))


def _shown(value: object) -> str:
    return f"{value:6.2f}" if isinstance(value, float) else str(value)
