"""``noneg monitor``: track scores over time and detect changes."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import busy
from noneg.cli.question import Question, reading, short_names
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noneg.cli.options import Gates
    from noneg.monitoring import Monitoring
    from noneg.scores import PUScores
    from noneg.sketch import Sketch

    Period = tuple[str, PUScores]

# A year, a month, or a day with or without dashes, which a time may follow.
DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d).*)?|(\d\d)(\d\d)(?!\d).*)?", re.ASCII | re.DOTALL)


@main.command(short_help="Detect changes over time.")
@reading()
@opt.file("--reference", "Reference period; --prior applies to it.  [default: the first period]")
@opt.column("--time", "Column of dates, which splits the table FILE into periods.")
@opt.choice("--every", "Period length for --time.", among=["day", "week", "month"], default="week")
@opt.option(
    "--metrics",
    "Metrics to track in addition to the prior, separated by commas.",
    default="debiased_ece,auroc,precision",
    metavar="A,B,...",
)
@opt.option("--threshold", "Decision threshold, for metrics that need one.", default=0.5)
@opt.limited
@opt.page
@opt.written("--save", "Output file for a calibrator for noneg apply, if only the prior changed.")
@opt.force
@opt.as_json
def monitor(
    question: Question,
    gates: Gates,
    metrics: str,
    threshold: float,
    out: str | None,
    save: str | None,
    **options: Any,
) -> None:
    """Detect changes since the first FILE: in the prior, the shape, the labeling or the scores.

    Each FILE is a period, in order: a table, or its sums with --from-sketch or --from-sql. Exit
    code 3 means that a change was detected in some period, or that a gate failed in the last one.
    You may run this after every period: the probability of any false alarm stays below one minus
    the level.

    Examples
    --------
    noneg monitor day1.parquet day2.parquet day3.parquet --score p --label confirmed \
    --setting one-sample --prior 0.12 -o monitor.html
    """
    from noneg.monitoring import monitor
    from noneg.report.document import About
    from noneg.report.monitoring import monitoring_document

    watched = list(dict.fromkeys([*metrics.split(","), *_gated(gates)]))
    periods, reference = _periods(question, **options)
    with busy("Comparing"):
        found = monitor(
            periods, reference, metrics=watched, threshold=threshold, level=question.level
        )
    gates.outcomes = [gate.judge(found.looks[-1].metrics.get(gate.metric)) for gate in gates.gates]
    question.answer(
        "noneg.monitoring/1",
        gates.to_dict() | found.to_dict(),
        lambda: monitoring_document(found, About(), question.notes, brief=True),
        *_write(found, question, out, save),
        title=question.source.words,
    )
    gates.close(failed=bool(found.moved))


def _gated(gates: Gates) -> list[str]:
    for gate in gates.gates:
        if gate.threshold is not None:
            rule = "must not include a threshold here"
            raise InputError(f"fail_{gate.fails}", rule, remedy="Pass --threshold.")
    return [gate.metric for gate in gates.gates]


def _periods(
    question: Question, reference: str | None, time: str | None, every: str
) -> tuple[Iterator[Period], PUScores | None]:
    """Return the periods and the reference, if it is a file of its own."""
    if question.is_remote:
        rule = "must be local: a cluster provides one table, but there are several periods"
        raise InputError("engine", rule, remedy="Sketch each period there with noneg.read_sketch.")
    if question.summed == "sketch" and time:
        raise InputError("time", "must not be given with --from-sketch: pass one file per period.")
    question.check_known()
    if time is None:
        periods = _each(question)
    else:
        periods = (_cut_sums if question.summed else _cut)(question, time, every)
    if reference is None:
        return _settled(question, periods), None
    return periods, _with_prior(question, _read(question, reference))


def _settled(question: Question, periods: Iterator[Period]) -> Iterator[Period]:
    """Yield periods, the first of them with its prior."""
    for number, (name, scores) in enumerate(periods):
        yield name, scores if number else _with_prior(question, scores)


def _read(question: Question, file: str) -> PUScores:
    one = copy(question)
    one.files, one.prior_interval = (file,), None
    return one.read()


def _each(question: Question) -> Iterator[Period]:
    """Yield one period per file, named after the file."""
    for name, file in zip(short_names(question.files), question.files, strict=True):
        try:
            yield name, _read(question, file)
        except InputError:
            raise
        except ValueError as error:
            raise InputError("source", f"must be a period, but in {file!r}, {error}") from None


def _cut(question: Question, time: str, every: str) -> Iterator[Period]:
    """Yield the periods of one table in chronological order."""
    import numpy as np

    from noneg.knowledge import Knowledge
    from noneg.tables.batches import Wanted
    from noneg.tables.groups import Grouping
    from noneg.tables.reading import read_columns, to_scores

    dates = Grouping([time], remedy="Write the date into such rows, or leave them out.")
    wanted = Wanted(**question.columns, groups=dates)
    known = Knowledge.given(selection=question.selection)
    with question.opened() as (table, advance):
        rows = read_columns(table, wanted, progress=advance)
    names = _period_names([date for (date,) in dates.labels], time, every)
    periods, place = np.unique(names, return_inverse=True)
    codes = place[rows.codes]
    for code, name in enumerate(periods.tolist()):
        try:
            scores = to_scores(rows.part(codes == code), wanted, question.setting, known)
        except ValueError as error:
            raise InputError("time", f"produces an invalid period {name}: {error}") from None
        yield name, scores


def _cut_sums(question: Question, time: str, every: str) -> Iterator[Period]:
    """Yield the periods of a result whose rows were also grouped by date."""
    from noneg.tables.batches import as_text
    from noneg.tables.warehouse import read_groups

    sums: dict[str, Sketch] = {}
    for (date,), sketch in read_groups(list(question.files), by=[time]):
        (name,) = _period_names([as_text(date)], time, every)
        sums[name] = sums[name] + sketch if name in sums else sketch
    for name in sorted(sums):
        yield name, sums[name].scores(setting=question.setting, selection=question.selection)


def _with_prior(question: Question, scores: PUScores) -> PUScores:
    """Return the reference scores with a given prior, or one estimated from them."""
    from noneg.knowledge import Knowledge

    if question.prior_method is not None:
        return question.estimated(scores)
    known = {"prior": question.prior, "prior_interval": question.prior_interval}
    knowledge = Knowledge.given(**known, selection=question.selection)
    knowledge.check_setting(question.setting)
    return scores if question.is_labeled else scores.with_knowledge(knowledge)


def _period_names(dates: list[str], column: str, every: str) -> list[str]:
    """Return the period of each date: its day, its Monday or its month."""
    import numpy as np

    try:
        days = np.array([_date(text) for text in dates]).astype("datetime64[D]")
    except ValueError as error:
        rule = f"must contain dates such as 2026-03-31 in column {column!r}: {error}"
        raise InputError("time", rule) from None
    if every == "month":
        days = days.astype("datetime64[M]")
    if every == "week":
        days = np.busday_offset(days, 0, roll="backward", weekmask="Mon")
    return [str(day) for day in days]


def _date(text: str) -> str:
    """Return the date at the start of a timestamp, with dashes."""
    found = DATE.fullmatch(text.strip())
    if found is None:
        msg = f"{text!r} is not a date."
        raise ValueError(msg)
    return "-".join(filter(None, found.groups()))


def _write(found: Monitoring, question: Question, out: str | None, save: str | None) -> list[str]:
    """Write the page and the calibrator, and return messages about them."""
    from noneg.atomic import write_text

    told = []
    if found.calibrator is not None:
        score, name = question.score or "COLUMN", save or "calibrator.json"
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
