"""How commands declare their options; those on the rows to read are in `noneg.cli.question`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial, reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from noneg.cli.output import say
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from noneg.evaluation import Evaluation
    from noneg.gates import Gate, Outcome
    from noneg.scores import PUScores

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Output(click.Path):
    """A file to write, which `noneg.cli.app.Command` checks before any work is done.

    Parameters
    ----------
    rule : str
        What the name must end in, as text.
    *suffixes : str
        The allowed endings; any ending if there are none.
    """

    def __init__(self, rule: str = "", *suffixes: str) -> None:
        super().__init__(readable=False)
        self.rule, self.suffixes = rule, suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return the path, or raise an error if the name does not imply the format."""
        if self.suffixes and not value.lower().endswith(self.suffixes):
            name = "path" if param is None else str(param.name)
            remedy = "Choose a different name."
            raise InputError(name, self.rule, value=value, remedy=remedy)
        return str(value)


def option(*words: str, **settings: Any) -> Decorator:
    """Return an option of a command; the last word is its help."""
    return click.option(*words[:-1], help=words[-1], **settings)


def choice(*words: str, among: Sequence[str], **settings: Any) -> Decorator:
    """Return an option with a few values."""
    return option(*words, type=click.Choice(among), **settings)


def _kept(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Store how to answer; `noneg.cli.output` looks it up."""
    context.meta[str(parameter.name)] = value


INPUT = click.Path(readable=False)
column = partial(option, metavar="COLUMN")
file = partial(option, metavar="FILE", type=INPUT)
written = partial(option, metavar="FILE", type=Output())
number = partial(option, type=float)
flag = partial(option, is_flag=True)
files = partial(click.argument, "files", nargs=-1, metavar="FILE...", type=INPUT)
as_json = flag(
    "--json", "as_json", "Print a JSON object instead of text.", expose_value=False, callback=_kept
)
force = flag(
    "--force", "Replace existing files, but never an input.", expose_value=False, callback=_kept
)
PAGE = Output("must end in .html", ".html", ".htm")
page = written("-o", "--out", "Also write a page with charts to this .html file.", type=PAGE)


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


class PriorChoice(click.ParamType[Any]):
    """A number, ``estimate``, ``estimate:METHOD`` or ``unknown``."""

    name = "prior"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return the placeholder shown in the help."""
        return "NUMBER|estimate[:METHOD]|unknown"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """Return the number, or the text."""
        if value == "unknown" or value.partition(":")[0] == "estimate":
            return value
        try:
            return float(value)
        except ValueError:
            from noneg.checks import number_advice

            advice = number_advice(value, "Pass the share of positives, such as 0.05.")
            told = f"{value!r} is neither a number nor 'estimate' nor 'unknown'."
            self.fail(f"{told} {advice}", param, ctx)


FILES = files(required=True)
two_labels = column("--label", "Column with two values, one of them positive.", required=True)
setting = option("--setting", "How the rows were sampled.", type=SettingChoice(), required=True)
by_groups = column(
    "--by",
    "Column of groups to evaluate separately; may be repeated for combinations.",
    multiple=True,
)


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


def given_as(kind: type, *options: Decorator) -> Decorator:
    """Add options that a command receives as one object, made from those that are its fields."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(*made: object, **given: Any) -> None:
            names = [field.name for field in fields(kind) if field.name in given]
            own = kind(**{name: given.pop(name) for name in names})
            command(*made, own, **given)

        return all_of(*options)(run)

    return add


def needed(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Raise if a column is missing, unless a warehouse has already summed the rows."""
    if value is None and not context.params.get("summed"):
        raise click.MissingParameter(ctx=context, param=parameter)
    return value


one_score = column("--score", "Column of scores in [0, 1].  [required]", callback=needed)
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
    choice(
        "--weight-kind",
        "Whether a weight counts identical rows or corrects for unequal sampling.",
        among=["frequency", "importance"],
        default="frequency",
    ),
)

# Exit code when a metric fails its limit or has changed from the baseline.
NOT_GOOD_ENOUGH = 3

_LIMITS = (
    option(
        "--fail-above",
        "Exit with code 3 if the entire interval of a metric lies above a limit, such as "
        "debiased_ece=0.05.",
        multiple=True,
        metavar="METRIC=LIMIT",
    ),
    option(
        "--fail-below",
        "Exit with code 3 if the entire interval lies below a limit, such as "
        "precision=0.8, or precision@0.3=0.8 at threshold 0.3. A limit inside the "
        "interval is reported as 'cannot tell'.",
        multiple=True,
        metavar="METRIC=LIMIT",
    ),
    flag(
        "--strict",
        "Exit with code 3 unless the entire interval lies on the right side of each limit.",
    ),
)
_BASELINE = file(
    "--baseline",
    "Output of an earlier noneg evaluate --json: exit with code 3 if a metric is "
    "significantly worse.",
)


@dataclass
class Gates:
    """The gates of a command, and their outcomes."""

    fail_above: tuple[str, ...]
    fail_below: tuple[str, ...]
    strict: bool
    baseline: str | None = None

    def __post_init__(self) -> None:
        from noneg.gates import Gate

        self.gates: list[Gate] = [
            *(Gate.parse(text, "above") for text in self.fail_above),
            *(Gate.parse(text, "below") for text in self.fail_below),
        ]
        self.outcomes: list[Outcome] = []
        self.note = ""

    def judge(self, evaluation: Evaluation, scores: PUScores) -> None:
        """Apply the gates to an evaluation of these scores."""
        from noneg.gates import compare_with, other_prior

        prior = evaluation.prior
        if scores.prior is None:
            scores = scores.with_prior(prior.value, (prior.low, prior.high))
        for gate in self.gates:
            found = evaluation.metrics.get(gate.metric)
            if gate.threshold is not None:
                found = gate.estimate(scores, evaluation.level)
            self.outcomes.append(gate.judge(found))
        if self.baseline is not None:
            level = evaluation.level
            self.outcomes += compare_with(self.baseline, evaluation.metrics, level=level)
            self.note = other_prior(self.baseline, prior)

    @property
    def failed(self) -> bool:
        """Whether a gate failed."""
        from noneg.gates import failing

        return failing(self.outcomes, strict=self.strict)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcomes for JSON under their key; empty if there are no gates."""
        if not self.outcomes:
            return {}
        gates = {"failed": self.failed, "strict": self.strict, "outcomes": self.outcomes}
        return {"gates": gates | ({"note": self.note} if self.note else {})}

    def close(self, *, failed: bool = False) -> None:
        """Print the outcomes to standard error, and exit with code 3 if a gate failed."""
        for outcome in self.outcomes:
            say(f"Gate {outcome}.", error=True)
        if self.note:
            say(f"{self.note}.", error=True)
        if failed or self.failed:
            click.get_current_context().exit(NOT_GOOD_ENOUGH)


limited = given_as(Gates, *_LIMITS)
gated = given_as(Gates, *_LIMITS, _BASELINE)
