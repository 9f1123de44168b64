"""The options common to all commands; `noneg.cli.question` reads the rows that they describe."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def file_names(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Let the shell complete file names."""
    return [CompletionItem(incomplete, type="file")]


def option(*words: str, **settings: Any) -> Decorator:
    """Return an option of a command; the last word is its help."""
    return click.option(*words[:-1], help=words[-1], **settings)


column = partial(option, metavar="COLUMN")
file = partial(option, metavar="FILE")
number = partial(option, type=float)
flag = partial(option, is_flag=True)


class ListingOption(click.Option):
    """An option whose help lists registered names, which are imported only when help is shown."""

    def __init__(self, *names: Any, listing: Callable[[], str], **options: Any) -> None:
        super().__init__(*names, **options)
        self.listing = listing

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the name of the option and its help."""
        self.help = self.listing()
        return super().get_help_record(ctx)


class SettingChoice(click.Choice[str]):
    """The sampling settings; an omitted or misspelled one produces an explanation of each."""

    def __init__(self) -> None:
        super().__init__(["two-sample", "one-sample", "labeled"])

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Return one sentence for each setting."""
        from noneg.checks import explain_settings

        return f"It specifies how the rows were sampled. {explain_settings()}."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting, or raise an error that explains all of them."""
        from noneg.checks import SETTINGS, SPELLINGS, explain_settings

        setting = SPELLINGS.get(value, value)
        if setting not in SETTINGS:
            self.fail(f"{value!r} is not a setting. {explain_settings()}.", param, ctx)
        return setting


class EstimatedPrior(str):
    """A prior to be estimated from the scores; the text is the method, empty for the default."""

    __slots__ = ()


class UnknownPrior(str):
    """An unknown prior; results that need no prior are still reported."""

    __slots__ = ()


class PriorChoice(click.ParamType[Any]):
    """A number, ``estimate``, ``estimate:METHOD`` or ``unknown``."""

    name = "prior"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return the placeholder shown in the help."""
        return "NUMBER|estimate[:METHOD]|unknown"

    def convert(
        self,
        value: str,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float | EstimatedPrior | UnknownPrior:
        """Return the number or the method."""
        word, _, method = value.partition(":")
        if word == "estimate":
            return EstimatedPrior(method)
        if value == "unknown":
            return UnknownPrior(value)
        try:
            return float(value)
        except ValueError:
            from noneg.checks import number_advice

            advice = number_advice(value, "Pass the share of positives, such as 0.05.")
            told = f"{value!r} is neither a number nor 'estimate' nor 'unknown'."
            self.fail(f"{told} {advice}", param, ctx)


FILES = click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", shell_complete=file_names
)
two_labels = column("--label", "Column with two values, one of them positive.", required=True)
setting = option("--setting", "How the rows were sampled.", type=SettingChoice(), required=True)
by_groups = column(
    "--by",
    "Column of groups to evaluate separately; may be repeated for combinations.",
    multiple=True,
)
as_json = flag("--json", "as_json", "Print a JSON object instead of text.")


def dashed(name: str) -> str:
    """Return the option that corresponds to an argument."""
    return name.replace("_", "-")


def all_of(*options: Decorator) -> Decorator:
    """Add several options to a command, in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def alike(helps: Mapping[str, str], **settings: Any) -> Decorator:
    """Add options that differ only in their names and helps, in this order."""
    named = {f"--{dashed(name)}": text for name, text in helps.items()}
    return all_of(*(option(name, text, **settings) for name, text in named.items()))


def one_goal(goals: Iterable[str], given: Iterable[str]) -> str:
    """Return the only goal among the given options; any other number is an error."""
    chosen = [name for name in goals if name in given]
    if len(chosen) != 1:
        *others, last = (f"--{dashed(name)}" for name in goals)
        raise click.UsageError(f"Give exactly one of {', '.join(others)} and {last}.")
    return chosen[0]


def _needed(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Raise if a column is missing, unless a warehouse has already summed the rows."""
    if value is None and not context.params.get("summed"):
        raise click.MissingParameter(ctx=context, param=parameter)
    return value


one_score = column("--score", "Column of scores in [0, 1].  [required]", callback=_needed)
_LABEL = column(
    "--label",
    "Column with two values, one of them positive, or three (see --unlabeled-label).  [required]",
    callback=_needed,
)
_PRIOR = (
    option(
        "--prior",
        "Share of positives in the population, in (0, 1); 'estimate' to estimate it "
        "from the scores; or 'unknown'.",
        type=PriorChoice(),
    ),
    number(
        "--prior-interval",
        "Range that contains the prior; --prior is then optional.",
        nargs=2,
        metavar="LOW HIGH",
    ),
    option(
        "--selection",
        "Largest factor by which the score distribution of hidden positives may "
        "differ from that of labeled ones; 1 if positives were labeled at random.",
        default=1.0,
        metavar="FACTOR",
    ),
    file(
        "--audit",
        "File written by noneg audit read -o, with the prior, its interval and the "
        "selection factor.",
    ),
)
LABELS = (
    option("--positive-label", "Label that means positive.", metavar="VALUE"),
    option(
        "--unlabeled-label",
        "Label of rows that were not reviewed, if a third label means negative.",
        metavar="VALUE",
    ),
    flag(
        "--unlabeled-is-empty",
        "Rows that were not reviewed have no label, and a second label means negative.",
    ),
)
WEIGHTS = (
    column("--weight", "Column of row weights."),
    option(
        "--weight-kind",
        "Whether a weight counts identical rows or corrects for unequal sampling.",
        type=click.Choice(["frequency", "importance"]),
        default="frequency",
    ),
)
_ROWS = (
    *LABELS,
    *WEIGHTS,
    option(
        "--exact/--sketch",
        "Whether to keep every row in memory or to count rows in fine buckets.  "
        "[default: buckets above two million rows]",
        default=None,
    ),
    option(
        "--engine",
        "Where to read the rows: on this machine or on a Spark cluster.",
        type=click.Choice(["local", "spark"]),
        default="local",
    ),
    option("--master", "Address of the Spark cluster, such as spark://host:7077.", metavar="URL"),
    option("--table", "Table in the Spark catalog, instead of FILE.", metavar="NAME"),
    option(
        "--from-sketch",
        "summed",
        "FILE is a sketch; it needs neither --score nor --label.",
        flag_value="sketch",
        is_eager=True,
    ),
    option(
        "--from-sql",
        "summed",
        "FILE is the result of the query printed by noneg sketch --sql.",
        flag_value="sql",
        is_eager=True,
    ),
    option("--level", "Confidence level.", default=0.95),
)


def reading(
    *, score: Decorator = one_score, setting: Decorator = setting, prior: bool = True
) -> Decorator:
    """Add the FILE argument and the options that specify what to read, as used by `Question`.

    Commands may supply their own help for --score and --setting, and estimate the prior themselves.
    """
    files = click.argument("files", nargs=-1, metavar="FILE...", shell_complete=file_names)
    return all_of(files, score, _LABEL, setting, *(_PRIOR if prior else ()), *_ROWS)
