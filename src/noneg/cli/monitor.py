"""``noneg monitor``: track scores over time and detect changes."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.gates import Gates, gated
from noneg.cli.output import busy, check_outputs, check_page, console, force, say
from noneg.cli.question import Question
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from noneg.monitoring import Monitoring
    from noneg.scores import PUScores
    from noneg.sketch import Sketch
    from noneg.tables.groups import Grouping

    Period = tuple[str, PUScores]

# Length of the date part of a timestamp, such as 2026-03-31.
DAY = 10
# Days from the first Monday of 1970 back to its first day.
MONDAY = 3


@click.command(
    "monitor",
    short_help="Detect changes over time.",
    epilog="\b\nnoneg monitor day1.parquet day2.parquet day3.parquet --score p --label confirmed "
    "--setting one-sample --prior 0.12 -o monitor.html",
)
@opt.reading()
@opt.file(
    "--reference",
    "Reference period; --prior applies to it.  [default: the first period]",
    shell_complete=opt.file_names,
)
@opt.column("--time", "Column of dates, which splits the table FILE into periods.")
@opt.option(
    "--every",
    "Period length for --time.",
    type=click.Choice(["day", "week", "month"]),
    default="week",
)
@opt.option(
    "--metrics",
    "Metrics to track in addition to the prior, separated by commas.",
    default="debiased_ece,auroc,precision",
    metavar="A,B,...",
)
@opt.option("--threshold", "Decision threshold, for metrics that need one.", default=0.5)
@gated(baseline=False)
@opt.file("-o", "--out", "Also write a page with charts to this .html file.")
@opt.file("--save", "Output file for a calibrator for noneg apply, if only the prior changed.")
@force
@opt.as_json
def monitor(
    files: tuple[str, ...], out: str | None, save: str | None, *, force: bool, **asked: Any
) -> None:
    """Detect changes since the first FILE: in the prior, the shape, the labeling or the scores.

    Each FILE is a period, in order: a table, or its sums with --from-sketch or --from-sql. Exit
    code 3 means that a change was detected in some period, or that a gate failed in the last one.
    You may run this after every period: the probability of any false alarm stays below one minus
    the level.
    """
    from noneg.report.document import About
    from noneg.report.monitoring import monitoring_document

    options = {name: asked.pop(name) for name in ("reference", "time", "every")}
    metrics, threshold = asked.pop("metrics").split(","), asked.pop("threshold")
    gates, question = Gates(asked), Question(files, asked)
    if out is not None:
        check_page(out)
    check_outputs({"path": out, "save": save}, files, force=force)
    metrics = list(dict.fromkeys([*metrics, *_gated(gates)]))
    found = _measure(question, options, metrics=metrics, threshold=threshold)
    gates.outcomes = [gate.judge(found.looks[-1].metrics.get(gate.metric)) for gate in gates.gates]
    written = _write(found, question, out, save)
    question.answer(
        "noneg.monitoring/1",
        gates.to_dict() | found.to_dict(),
        lambda: monitoring_document(found, About(), question.notes, brief=True),
        question.source.words,
    )
    for text in () if question.as_json else written:
        say(console(), text)
    gates.close(failed=bool(found.moved))


def _gated(gates: Gates) -> list[str]:
    for gate in gates.gates:
        if gate.threshold is not None:
            rule = "must not include a threshold here"
            raise InputError(f"fail_{gate.fails}", rule, remedy="Pass --threshold.")
    return [gate.metric for gate in gates.gates]


def _measure(question: Question, options: dict[str, Any], **asked: Any) -> Monitoring:
    from noneg.monitoring import monitor

    if question.is_remote:
        rule = "must be local: a cluster provides one table, but there are several periods"
        raise InputError("engine", rule, remedy="Sketch each period there with noneg.read_sketch.")
    if question.summed == "sketch" and options["time"]:
        raise InputError("time", "must not be given with --from-sketch: pass one file per period.")
    question.check_known()
    first = options["reference"]
    reference = None if first is None else _settled(question, first)
    if options["time"] is None:
        periods = _each(question, first is None)
    else:
        cut = _cut_sums if question.summed else _cut
        periods = cut(question, options["time"], options["every"], first is None)
    with busy("Comparing"):
        return monitor(periods, reference, level=question.level, **asked)


def _each(question: Question, settle: bool) -> Iterator[Period]:  # noqa: FBT001
    """Yield one period per file, named after the file."""
    names = [Path(file).stem for file in question.files]
    if len(set(names)) < len(names):
        names = list(question.files)
    for number, (name, file) in enumerate(zip(names, question.files, strict=True)):
        first = settle and number == 0
        try:
            scores = _settled(question, file) if first else _read(question, file, None)
        except InputError:
            raise
        except ValueError as error:
            raise InputError("source", f"must be a period, but in {file!r}, {error}") from None
        yield name, scores


def _settled(question: Question, file: str) -> PUScores:
    """Return the reference scores with a given or estimated prior."""
    if question.prior_method is not None:
        return _with_prior(question, _read(question, file, None))
    return _read(question, file, question.prior, question.prior_interval)


def _read(
    question: Question,
    file: str,
    prior: float | None,
    interval: tuple[float, float] | None = None,
) -> PUScores:
    one = copy(question)
    one.files, one.prior_interval = (file,), interval
    return one.read(prior)


def _cut(question: Question, time: str, every: str, settle: bool) -> Iterator[Period]:  # noqa: FBT001
    """Yield the periods of one table in chronological order."""
    from noneg.knowledge import Knowledge
    from noneg.tables.batches import Wanted
    from noneg.tables.reading import read_columns, to_scores

    periods = _periods(time, every)
    wanted = Wanted(**question.columns, groups=periods)
    with question.opened() as (table, advance):
        rows = read_columns(table, wanted, progress=advance)
    nothing = Knowledge.given(None, None, selection=question.selection)
    for number, ((name,), code) in enumerate(sorted(periods.found.items())):
        assert rows.codes is not None  # noqa: S101 - groups were wanted
        here = rows.part(rows.codes == code)
        try:
            scores = to_scores(here, wanted, question.setting, nothing)
        except ValueError as error:
            raise InputError("time", f"produces an invalid period {name}: {error}") from None
        yield name, _with_prior(question, scores) if settle and number == 0 else scores


def _cut_sums(question: Question, time: str, every: str, settle: bool) -> Iterator[Period]:  # noqa: FBT001
    """Yield the periods of a result whose rows were also grouped by date."""
    from noneg.tables.batches import as_text
    from noneg.tables.warehouse import read_groups

    sums: dict[str, Sketch] = {}
    for (date,), sketch in read_groups(list(question.files), by=[time]):
        (name,) = _period_names([as_text(date)], time, every)
        sums[name] = sums[name] + sketch if name in sums else sketch
    for number, name in enumerate(sorted(sums)):
        scores = sums[name].scores(setting=question.setting, selection=question.selection)
        yield name, _with_prior(question, scores) if settle and number == 0 else scores


def _with_prior(question: Question, scores: PUScores) -> PUScores:
    """Return the reference scores with a given prior, or one estimated from them."""
    from noneg.knowledge import Knowledge

    if question.prior_method is not None:
        return question.estimated(scores)[0]
    known = {"prior": question.prior, "prior_interval": question.prior_interval}
    knowledge = Knowledge.given(**known, selection=question.selection)
    knowledge.check_setting(question.setting)
    return scores if question.is_labeled else scores.with_knowledge(knowledge)


def _periods(column: str, every: str) -> Grouping:
    """Return groups of rows by day, week or month, found while the dates are read."""
    from noneg.tables.groups import Grouping

    class Periods(Grouping):
        def _coded(self, parts: list[tuple[list[str], NDArray[Any]]]) -> NDArray[np.int64]:
            ((dates, row),) = parts
            names = _period_names(dates, column, every)
            return super()._coded([(names, row)])

    return Periods([column])


def _period_names(dates: list[str], column: str, every: str) -> list[str]:
    """Return the period of each date: its day, its Monday or its month."""
    import numpy as np

    try:
        days = np.array([date[:DAY] for date in dates]).astype("datetime64[D]")
    except ValueError as error:
        rule = f"must contain dates such as 2026-03-31 in column {column!r}: {error}"
        raise InputError("time", rule) from None
    if every == "month":
        days = days.astype("datetime64[M]")
    if every == "week":
        number = days.astype(np.int64)
        days = (number - (number + MONDAY) % 7).astype("datetime64[D]")
    return [str(day) for day in days]


def _write(found: Monitoring, question: Question, out: str | None, save: str | None) -> list[str]:
    """Write the page and the calibrator, and return messages about them."""
    from noneg.atomic import write_text

    told = []
    if found.calibrator is not None:
        score, name = question.columns["score"] or "COLUMN", save or "calibrator.json"
        if not question.summed:
            found.calibrator.fitted_on_["score_column"] = score
        if save is None:
            told.append("Run this again with --save calibrator.json to write a calibrator.")
        else:
            write_text(save, found.calibrator.to_json())
            told.append(f"Wrote {save}")
        told.append(f"Now recalibrate new rows: noneg apply {name} FILE --score {score} --out NEW")
    elif save is not None:
        told.append(f"Did not write {save}: a prior shift would not correct these scores.")
    if out is not None:
        from noneg.report.monitoring import monitoring_to_html

        about = question.source.about("What changed?")
        write_text(out, monitoring_to_html(found, about, notes=question.notes))
        told.append(f"Wrote {out}")
    return told
