"""The options that commands share, and what they ask for: the rows to read and their prior."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from noneg.cli.output import busy, console, progress, say
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from noneg.audit import Audit
    from noneg.evaluation import Evaluation
    from noneg.prior import PriorEstimate
    from noneg.report import About
    from noneg.scores import PUScores
    from noneg.sketch import Sketch
    from noneg.tables.batches import Columns

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

STANDARD_INPUT = "-"


def file_names(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


class SettingChoice(click.Choice[str]):
    """The sampling settings; whoever leaves them out or misspells one reads what each one means."""

    def __init__(self) -> None:
        super().__init__(["two-sample", "one-sample", "labelled"])

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Return one sentence for each setting."""
        from noneg.checks import explain_settings

        return f"It says how the rows were sampled. {explain_settings()}."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting, or explain all of them."""
        from noneg.checks import SETTINGS, SPELLINGS, explain_settings

        setting = SPELLINGS.get(value, value)
        if setting not in SETTINGS:
            self.fail(f"{value!r} is not a setting. {explain_settings()}.", param, ctx)
        return setting


class EstimatedPrior(str):
    """A prior to be estimated from the scores; the text is the method, empty for the default."""

    __slots__ = ()


class UnknownPrior(str):
    """A prior that nobody knows; what needs none is told all the same."""

    __slots__ = ()


class PriorChoice(click.ParamType[Any]):
    """A number, ``estimate``, ``estimate:METHOD`` or ``unknown``."""

    name = "prior"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """Return what the help shows."""
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


setting = click.option(
    "--setting", type=SettingChoice(), required=True, help="How the rows were sampled."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
one_score = click.option("--score", required=True, metavar="COLUMN", help="Scores in [0, 1].")
_PRIOR = (
    click.option(
        "--prior",
        type=PriorChoice(),
        help="Share of positives in the population, in (0, 1); or have it estimated from the "
        "scores; or say that nobody knows it.",
    ),
    click.option(
        "--prior-interval",
        type=float,
        nargs=2,
        metavar="LOW HIGH",
        help="What is known of the prior; --prior may then be left out.",
    ),
    click.option(
        "--selection",
        type=float,
        default=1.0,
        show_default=True,
        metavar="FACTOR",
        help="How many times more or less likely than a labeled positive a hidden one may be to "
        "look as it does; 1 if labels are random.",
    ),
)
_AUDIT = click.option(
    "--audit",
    metavar="FILE",
    help="What noneg audit read -o wrote: the prior, its interval, and how selective labeling "
    "may be.",
)
LABELS = (
    click.option("--positive-label", metavar="VALUE", help="The label that means positive."),
    click.option(
        "--unlabeled-label",
        metavar="VALUE",
        help="The label of rows that nobody looked at, where a third one means negative.",
    ),
    click.option(
        "--unlabeled-is-empty",
        is_flag=True,
        help="Rows that nobody looked at have no label, and a second label means negative.",
    ),
)
_ROWS = (
    *LABELS,
    click.option("--weight", metavar="COLUMN", help="One weight a row."),
    click.option(
        "--weight-kind",
        type=click.Choice(["frequency", "importance"]),
        default="frequency",
        show_default=True,
        help="Whether a weight counts identical rows or corrects unequal sampling.",
    ),
    click.option(
        "--exact/--sketch",
        default=None,
        help="Keep every row in memory, or count rows in fine buckets.  "
        "[default: buckets above two million rows]",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Who reads the rows: this machine, or a Spark cluster.",
    ),
    click.option("--master", metavar="URL", help="The Spark cluster, such as spark://host:7077."),
    click.option(
        "--table", metavar="NAME", help="A table of the Spark catalogue, instead of FILE."
    ),
    click.option(
        "--level", type=float, default=0.95, show_default=True, help="Level of intervals."
    ),
)


def reading(
    *, score: Decorator = one_score, setting: Decorator = setting, prior: bool = True
) -> Decorator:
    """Add the FILE argument and the options that say what to read; `Question` takes them.

    Commands may describe --score and --setting themselves, and estimate the prior themselves.
    """
    options = (
        click.argument("files", nargs=-1, metavar="FILE...", shell_complete=file_names),
        score,
        click.option(
            "--label",
            required=True,
            metavar="COLUMN",
            help="Two values: positive, or not; or three, see --unlabeled-label.",
        ),
        setting,
        *((*_PRIOR, _AUDIT) if prior else ()),
        *_ROWS,
    )
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


@dataclass(frozen=True)
class Source:
    """What a command read, in words and for JSON.

    Examples
    --------
    >>> source = Source(("-",), {"score": "p", "label": "y", "weight": None})
    >>> source.name, source.words
    ('standard input', "standard input: score 'p', label 'y'")
    >>> Source((), {"score": "p"}, table="loans").name
    'loans'
    """

    files: tuple[str, ...]
    columns: Mapping[str, object]
    table: str | None = None

    @property
    def name(self) -> str:
        """The files, or the table."""
        files = ["standard input" if file == STANDARD_INPUT else file for file in self.files]
        return ", ".join([*files, *filter(None, [self.table])])

    @property
    def words(self) -> str:
        """The name, and the columns."""
        named = [f"{key.replace('_', ' ')} {_shown(x, repr)}" for key, x in self._given()]
        return f"{self.name}: {', '.join(named)}"

    def _given(self) -> list[tuple[str, object]]:
        return [(key, value) for key, value in self.columns.items() if value]

    def to_dict(self) -> dict[str, object]:
        """Return plain text and lists, ready for JSON."""
        table = {} if self.table is None else {"table": self.table}
        return {"files": list(self.files), **self.columns, **table}

    def about(self, title: str) -> About:
        """Return what a page says of its origin."""
        from noneg.report.document import About, digest_files

        where = {"files" if self.table is None else "table": self.name}
        columns = {key.replace("_", " "): _shown(value, str) for key, value in self._given()}
        return About(
            title=title,
            source=where | columns,
            command=shlex.join(["noneg", *sys.argv[1:]]),
            digests=digest_files(self.files),
        )


def _shown(value: object, how: Callable[[object], str]) -> str:
    return ", ".join(map(how, value)) if isinstance(value, tuple) else how(value)


COLUMNS = (
    *("score", "label", "positive_label", "unlabeled_label", "unlabeled_is_empty"),
    *("weight", "weight_kind"),
)


class Question:
    """The rows that a command was asked about: the values of the options of `reading`."""

    def __init__(self, files: Sequence[str], asked: dict[str, Any]) -> None:
        from noneg.checks import check_level, check_selection

        self.files = tuple(files)
        names = ("engine", "master", "table", "exact", "level")
        self.engine, self.master, self.table, self.exact, self.level = map(asked.pop, names)
        self.setting = asked.pop("setting")
        self.prior = asked.pop("prior", None)
        self.prior_interval = asked.pop("prior_interval", None)
        self.selection = check_selection(asked.pop("selection", 1.0))
        self.columns = {name: asked.pop(name) for name in COLUMNS}
        self.notes: tuple[str, ...] = ()
        check_level(self.level)
        self._check_engine()
        self.audit = self._load(asked.pop("audit", None))

    @property
    def source(self) -> Source:
        """What is read, in words."""
        unsaid = {"weight_kind"} | {name for name in COLUMNS[3:5] if not self.columns[name]}
        named = {name: x for name, x in self.columns.items() if name not in unsaid}
        return Source(self.files, named, self.table)

    @property
    def is_labelled(self) -> bool:
        """Whether every row has its label, which determines the prior."""
        from noneg.checks import is_labelled

        return is_labelled(self.setting)

    @property
    def is_remote(self) -> bool:
        """Whether a cluster reads the rows."""
        return bool(self.engine != "local")

    def _check_engine(self) -> None:
        if not self.files and self.table is None:
            raise click.UsageError("Missing argument 'FILE...'.")
        if self.is_remote and not self.master:
            rule = "must say where the cluster is with --engine spark, such as"
            raise InputError("master", f"{rule} spark://host:7077, or local[2] for this machine.")
        for name, value in (("master", self.master), ("table", self.table)):
            if not self.is_remote and value is not None:
                raise InputError(name, "must come with --engine spark", value=value)

    def _load(self, path: str | None) -> Audit | None:
        """Take what is known of the population from an audit, if one is given."""
        if path is None:
            return None
        from noneg.audit import Audit

        for name in ("prior", "prior_interval"):
            if getattr(self, name) is not None:
                raise InputError("audit", "must not be given with --prior, which it brings")
        audit = Audit.load(path)
        if audit.setting != self.setting:
            rule = f"must be of the same setting, but {path!r} is of {audit.setting} rows"
            raise InputError("audit", rule)
        self.prior, self.prior_interval = audit.middle, audit.prior_set
        if self.selection == 1.0:
            self.selection = audit.factor
        self.notes = (audit.told(self.selection),)
        return audit

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, Callable[[int, int | None], None] | None]]:
        """Yield what `noneg.tables` reads, files or the frame of a cluster, and a bar for rows."""
        if not self.is_remote:
            with progress(f"Reading {self.source.name}") as advance:
                yield list(self.files), advance
            return
        from noneg.tables.engines import spark_table

        cluster = spark_table(self.master, self.files, self.table)
        with busy(f"Reading on {self.master}"), cluster as frame:
            yield frame, None

    def read(self, prior: float | None) -> PUScores:
        """Return the scores under a prior."""
        from noneg.tables import read
        from noneg.tables.batches import Wanted

        known = {
            "prior": prior,
            "prior_interval": self.prior_interval,
            "selection": self.selection,
        }
        if Wanted(**self.columns).has_negatives:
            return self._read_three(known)
        with self.opened() as (table, advance):
            return read(
                table,
                **self.columns,
                setting=self.setting,
                **known,
                exact=self.exact,
                progress=advance,
            )

    def _read_three(self, known: dict[str, Any]) -> PUScores:
        """Return the scores of rows some of which are known negatives, and note what these tell."""
        from noneg.knowledge import Knowledge
        from noneg.tables.batches import Wanted
        from noneg.tables.reading import read_rows, to_scores

        wanted, facts = Wanted(**self.columns), Knowledge.given(**known)
        with self.opened() as (table, advance):
            rows = read_rows(table, wanted, exact=self.exact, progress=advance)
        scores = to_scores(rows, wanted, self.setting, facts)
        self.note_negatives(rows, scores.prior)
        return scores

    def note_negatives(self, rows: Columns | Sketch, prior: float | None) -> None:
        """Note what known negatives bound, and what they cannot do."""
        from noneg.sketch import Sketch

        if isinstance(rows, Sketch) or rows.negative is None or not rows.negative.any():
            return
        from noneg.audit import known_negatives

        rest = ~rows.flags & ~rows.negative
        groups = (rows.score[group] for group in (rows.flags, rows.negative, rest))
        found = known_negatives(*groups, setting=self.setting, prior=prior, level=self.level)
        self.notes = (*self.notes, *found.notes)

    def read_unsettled(self) -> PUScores:
        """Return the scores before anything is known of the prior."""
        return self.read(None)

    def scores(self) -> tuple[PUScores, PriorEstimate | None]:
        """Return the scores, and how ``--prior estimate`` was answered, None without it."""
        method = self.prior_method
        if method is None:
            self.check_known()
            return self.read(self.prior), None
        from noneg.prior import estimate_prior

        scores = self.read_unsettled()
        found = estimate_prior(scores, method=method, level=self.level)
        return found.apply(scores), found

    def scores_or_unknown(self) -> tuple[PUScores, PriorEstimate | None]:
        """Return the same for a command that can do without a prior."""
        if not isinstance(self.prior, UnknownPrior):
            self.check_known(needed=False)
            return self.scores()
        self._check_alone("unknown")
        return self.read_unsettled(), None

    def check_known(self, *, needed: bool = True) -> None:
        """Refuse a prior that nobody gave, for numbers that need one."""
        from noneg.checks import missing_prior

        if isinstance(self.prior, UnknownPrior):
            rule = "must be known here: a number, or 'estimate' for what these rows tell of it"
            raise InputError("prior", rule, value="unknown")
        if self.prior is None and self.prior_interval is None and not self.is_labelled:
            raise missing_prior(self.setting, needed=needed)

    def _check_alone(self, word: str) -> None:
        """Refuse labels, or an interval, beside a prior that is not given."""
        from noneg.checks import determined

        if self.is_labelled:
            raise determined("prior", word)
        if self.prior_interval:
            rule = f"must not be given with --prior {word}"
            raise InputError("prior_interval", rule, remedy="Leave out --prior.")

    def tell_notes(self) -> None:
        """Print notes on the rows where the answer has no place for them."""
        for note in self.notes:
            say(console(error=True), f"Note: {note}")

    @property
    def prior_method(self) -> str | None:
        """The method that ``--prior estimate`` asks for, None where a prior is given."""
        if not isinstance(self.prior, EstimatedPrior):
            return None
        self._check_alone("estimate")
        from noneg.prior import DEFAULT

        return str(self.prior) or DEFAULT


def tell_prior(
    evaluation: Evaluation, found: PriorEstimate | None, question: Question
) -> Evaluation:
    """Write into an evaluation how its prior was estimated, and what speaks against it."""
    from dataclasses import replace

    warnings = (*evaluation.warnings, *question.notes)
    evaluation = replace(evaluation, warnings=warnings, audit=question.audit)
    if found is None:
        return evaluation
    # The ends that were used, which lie inside (0, 1).
    ends = evaluation.prior
    prior = replace(found.to_estimate(), low=ends.low, high=ends.high)
    warnings = (*evaluation.warnings, *found.warnings, f"Estimated prior: {found.assumption}.")
    return replace(evaluation, prior=prior, warnings=warnings)
