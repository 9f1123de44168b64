"""The question that the options of a command ask: which rows to read, and with which prior."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import noneg
from noneg.cli import options as opt
from noneg.cli.output import answer, busy, progress, say
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from noneg.checks import WeightKind
    from noneg.report import About
    from noneg.results import Estimate
    from noneg.scores import PUScores
    from noneg.tables.batches import Columns
    from noneg.tables.groups import GroupSums

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Source:
    """The input of a command, as text and for JSON.

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
        """Name of the files or the table."""
        files = ["standard input" if file == STANDARD_INPUT else file for file in self.files]
        return ", ".join([*files, *filter(None, [self.table])])

    @property
    def words(self) -> str:
        """Name and columns of the input as text."""
        named = [f"{key.replace('_', ' ')} {_shown(x, repr)}" for key, x in self._given()]
        return f"{self.name}: {', '.join(named)}"

    def _given(self) -> list[tuple[str, object]]:
        return [(key, value) for key, value in self.columns.items() if value]

    def to_dict(self) -> dict[str, object]:
        """Return plain text and lists, ready for JSON."""
        table = {} if self.table is None else {"table": self.table}
        return {"files": list(self.files), **self.columns, **table}

    def about(self, title: str) -> About:
        """Return the origin to be shown on a page."""
        from noneg.report.document import About, digest_files, last_changed

        where = {"files" if self.table is None else "table": self.name}
        columns = {key.replace("_", " "): _shown(value, str) for key, value in self._given()}
        return About(
            title=title,
            source=where | columns,
            command=shlex.join(["noneg", *sys.argv[1:]]),
            digests=digest_files(self.files),
            date=last_changed(self.files),
        )


def short_names(files: Sequence[str]) -> list[str]:
    """Return the names of files without folder and suffix, if these are distinct."""
    stems = ["standard input" if file == STANDARD_INPUT else Path(file).stem for file in files]
    return stems if len(set(stems)) == len(stems) else list(files)


def _shown(value: object, how: Callable[[object], str]) -> str:
    return ", ".join(map(how, value)) if isinstance(value, tuple) else how(value)


COLUMNS = (
    *("score", "label", "positive_label", "unlabeled_label", "unlabeled_is_empty"),
    *("weight", "weight_kind"),
)


@dataclass(kw_only=True)
class Question:
    """The rows a command should process, given by the values of the options of `reading`."""

    files: tuple[str, ...]
    score: Any
    label: str
    positive_label: str | None
    unlabeled_label: str | None
    unlabeled_is_empty: bool
    weight: str | None
    weight_kind: WeightKind
    setting: Any
    prior: Any = None
    prior_interval: Any = None
    selection: float = 1.0
    audit: str | None = None
    exact: bool | None
    engine: str
    master: Any
    table: str | None
    summed: str | None
    level: Any
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from noneg.checks import check_level, check_selection, is_labeled

        self.selection = check_selection(self.selection)
        # Whether every row has its label, which determines the prior.
        self.is_labeled = is_labeled(self.setting)
        # What `read` finds if rows have groups: who is in which group, sums by group, and the rows,
        # which are in memory after `keep_rows`.
        self.grouping: Any = None
        self.groups: GroupSums | None = None
        self.rows: Any = None
        self.notes: tuple[str, ...] = ()
        self.found: Estimate | None = None
        check_level(self.level)
        self._check_engine()
        self.known = None if self.audit is None else self._load(self.audit)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns to read, and the meaning of the labels."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def source(self) -> Source:
        """Description of the input."""
        groups: dict[str, object] = {"by": self.by} if self.by else {}
        if self.summed:
            return Source(self.files, {"summed": self.summed} | groups)
        # Options about a third label are told only if they are used.
        told = [x for x in COLUMNS[:-1] if getattr(self, x) or not x.startswith("unlabeled")]
        return Source(self.files, {x: getattr(self, x) for x in told} | groups, self.table)

    @property
    def reading(self) -> str:
        """The files and columns as options for another command."""
        cluster = ("engine", "master", "table") if self.is_remote else ()
        words = [*self.files, *(["--unlabeled-is-empty"] if self.unlabeled_is_empty else [])]
        for name in ("score", "label", "positive_label", "unlabeled_label", "setting", *cluster):
            if (value := getattr(self, name)) is not None:
                words += [f"--{opt.dashed(name)}", str(value)]
        return shlex.join(words)

    @property
    def has_scores(self) -> bool:
        """Whether there are scores, either per row or summed."""
        return bool(self.score or self.summed)

    @property
    def is_remote(self) -> bool:
        """Whether a cluster reads the rows."""
        return bool(self.engine != "local")

    def _check_engine(self) -> None:
        if not self.files and self.table is None:
            raise click.UsageError("Missing argument 'FILE...'.")
        if self.is_remote and not self.master:
            rule = "must give the address of the cluster with --engine spark, such as"
            raise InputError("master", f"{rule} spark://host:7077, or local[2] for this machine.")
        columns = any(getattr(self, name) for name in COLUMNS[:-1])
        if self.summed and (self.is_remote or self.exact or columns):
            rule = "must not be combined with columns, --exact or --engine"
            raise InputError(f"from_{self.summed}", f"{rule}: its rows are already summed")
        if self.by and self.summed == "sketch":
            rule = "must not be given with --from-sketch, which has no groups"
            raise InputError("by", rule, remedy="Pass the rows, or --from-sql with a query --by.")
        for name, value in (("master", self.master), ("table", self.table)):
            if not self.is_remote and value is not None:
                raise InputError(name, "requires --engine spark", value=value)

    def _load(self, path: str) -> noneg.audit.Audit:
        """Load knowledge about the population from an audit."""
        if self.prior is not None or self.prior_interval is not None:
            rule = "must not be given with --prior: it already contains a prior"
            raise InputError("audit", rule)
        audit = noneg.audit.Audit.load(path)
        if audit.setting != self.setting:
            rule = f"must use the same setting, but {path!r} is from {audit.setting} rows"
            raise InputError("audit", rule)
        self.prior, self.prior_interval = audit.middle, audit.prior_set
        if self.selection == 1.0:
            self.selection = audit.factor
        self.notes = (audit.told(self.selection),)
        return audit

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, Callable[[int, int | None], None] | None]]:
        """Yield the input for `noneg.tables`, files or a cluster's frame, and a progress bar."""
        if not self.is_remote:
            with progress(f"Reading {self.source.name}") as advance:
                yield list(self.files), advance
            return
        from noneg.tables.engines import spark_table

        cluster = spark_table(self.master, self.files, self.table)
        with busy(f"Reading on {self.master}"), cluster as frame:
            yield frame, None

    def read(self, prior: float | None = None) -> PUScores:
        """Return the scores with a given prior or none, and record notes on known negatives."""
        from noneg.knowledge import Knowledge
        from noneg.tables.batches import Wanted
        from noneg.tables.groups import Grouping
        from noneg.tables.reading import read_rows, to_scores

        known = {"prior": prior, "prior_interval": self.prior_interval, "selection": self.selection}
        if self.summed:
            return self._sketch().scores(setting=self.setting, **known)
        grouping = self.grouping = Grouping(self.by) if self.by else None
        wanted, facts = Wanted(**self.columns, groups=grouping), Knowledge.given(**known)
        facts.check_setting(self.setting)
        with self.opened() as (table, advance):
            rows = read_rows(table, wanted, exact=self.exact, progress=advance)
        scores = to_scores(rows, wanted, self.setting, facts)
        if grouping is not None:
            self.rows, self.groups = rows, grouping.sums(rows, wanted.weight_kind)
        self.note_negatives(rows, scores.prior)
        return scores

    def _sketch(self) -> noneg.Sketch:
        """Return the sum of the given sketches."""
        from noneg.tables.warehouse import read_by_group, read_sums

        if self.by:
            sketch, self.groups = read_by_group(list(self.files), self.by)
            return sketch
        if self.summed == "sql":
            return read_sums(list(self.files))
        try:
            first, *others = map(noneg.Sketch.load, self.files)
        except InputError as error:
            raise error.about("source") from error
        return sum(others, start=first)

    def keep_rows(self) -> None:
        """Ask for all rows in memory, as commands that separate groups do."""
        if self.exact is False or self.summed:
            rule = "Give --by without --sketch or --from-sql"
            raise click.UsageError(f"{rule}: groups are separated row by row.")
        self.exact = True

    def note_negatives(self, rows: Columns | noneg.Sketch, prior: float | None) -> None:
        """Record the bounds that follow from known negatives, and their limitations."""
        if isinstance(rows, noneg.Sketch) or rows.negative is None or not rows.negative.any():
            return

        rest = ~rows.flags & ~rows.negative
        groups = (rows.score[group] for group in (rows.flags, rows.negative, rest))
        options = {"setting": self.setting, "prior": prior, "level": self.level}
        found = noneg.audit.known_negatives(*groups, **options)
        self.notes += found.notes

    def scores(self, *, needed: bool = True) -> PUScores:
        """Return the scores with what is known about the prior."""
        self.check_known(needed=needed)
        if self.prior_method is not None:
            return self.estimated(self.read())
        return self.read(None if self.prior == "unknown" else self.prior)

    def estimated(self, scores: PUScores, told: str = "The estimated prior") -> PUScores:
        """Return scores with the prior estimated from them, and note what the estimate assumes."""
        method = str(self.prior_method)
        try:
            found = noneg.prior.estimate_prior(scores, method=method, level=self.level)
        except InputError as error:
            raise (error.about("prior") if error.argument == "method" else error) from error
        self.notes += (*found.warnings, f"{told} assumes that {found.assumption}.")
        used = found.apply(scores)
        low, high = used.prior_set
        self.found = replace(found.to_estimate(), value=used.known_prior, low=low, high=high)
        return used

    def check_known(self, *, needed: bool = True) -> None:
        """Raise if the prior is missing; it may be unknown if it is not needed."""
        from noneg.checks import missing_prior

        if self.prior == "unknown":
            if needed:
                rule = "must be known here: give a number, or 'estimate' to estimate it from these"
                raise InputError("prior", f"{rule} rows", value="unknown")
            self._check_alone("unknown")
        if self.prior is None and self.prior_interval is None and not self.is_labeled:
            raise missing_prior(self.setting, needed=needed)

    def _check_alone(self, word: str) -> None:
        """Raise if labels or an interval are combined with a prior that is not a number."""
        from noneg.checks import determined

        if self.is_labeled:
            raise determined("prior", word)
        if self.prior_interval:
            rule = f"must not be given with --prior {word}"
            raise InputError("prior_interval", rule, remedy="Omit --prior.")

    def answer(self, schema: str, content: Mapping[str, Any], *shown: Any, **options: Any) -> None:
        """Print the source and an answer; see `noneg.cli.output.answer`."""
        answer(schema, {"source": self.source.to_dict(), **content}, *shown, **options)

    def tell_notes(self) -> None:
        """Print notes on the rows if the output cannot include them."""
        for note in self.notes:
            say(f"Note: {note}", error=True)

    @property
    def prior_method(self) -> str | None:
        """The method requested by ``--prior estimate``, or None if a prior is given."""
        word, _, method = str(self.prior).partition(":")
        if word != "estimate":
            return None
        self._check_alone(word)

        return method or noneg.prior.DEFAULT


_LABEL = opt.column(
    "--label",
    "Column with two values, one of them positive, or three (see --unlabeled-label).  [required]",
    callback=opt.needed,
)
_PRIOR = (
    opt.option(
        "--prior",
        "Share of positives in the population, in (0, 1); 'estimate' to estimate it "
        "from the scores; or 'unknown'.",
        type=opt.PriorChoice(),
    ),
    opt.number(
        "--prior-interval",
        "Range that contains the prior; --prior is then optional.",
        nargs=2,
        metavar="LOW HIGH",
    ),
    opt.option(
        "--selection",
        "Largest factor by which the score distribution of hidden positives may "
        "differ from that of labeled ones; 1 if positives were labeled at random.",
        default=1.0,
        metavar="FACTOR",
    ),
    opt.file(
        "--audit",
        "File written by noneg audit read -o, with the prior, its interval and the "
        "selection factor.",
    ),
)
_ROWS = (
    *opt.LABELS,
    *opt.WEIGHTS,
    opt.option(
        "--exact/--sketch",
        "Whether to keep every row in memory or to count rows in fine buckets.  "
        "[default: buckets above two million rows]",
        default=None,
    ),
    opt.choice(
        "--engine",
        "Where to read the rows: on this machine or on a Spark cluster.",
        among=["local", "spark"],
        default="local",
    ),
    opt.option(
        "--master", "Address of the Spark cluster, such as spark://host:7077.", metavar="URL"
    ),
    opt.option("--table", "Table in the Spark catalog, instead of FILE.", metavar="NAME"),
    opt.option(
        "--from-sketch",
        "summed",
        "FILE is a sketch; it needs neither --score nor --label.",
        flag_value="sketch",
        is_eager=True,
    ),
    opt.option(
        "--from-sql",
        "summed",
        "FILE is the result of the query printed by noneg sketch --sql.",
        flag_value="sql",
        is_eager=True,
    ),
    opt.option("--level", "Confidence level.", default=0.95),
)


def reading(
    *,
    score: opt.Decorator = opt.one_score,
    setting: opt.Decorator = opt.setting,
    prior: bool = True,
) -> opt.Decorator:
    """Add the FILE argument and the options that specify what to read, as a `Question`.

    Commands may supply their own help for --score and --setting, and estimate the prior themselves.
    """
    known = _PRIOR if prior else ()
    return opt.given_as(Question, opt.files(), score, _LABEL, setting, *known, *_ROWS)
