"""``noneg audit``: choose rows to review, evaluate the answers, and list the next rows."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import noneg
from noneg.atomic import write_text
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import answer, busy, check_outputs, tell
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.audit import Design

_LIST = opt.Output("must end in .csv, because people fill it in", ".csv")
_DESIGN = opt.file("--design", "Design file.  [default: NAME.design.json next to the list]")


@main.group(short_help="Plan and evaluate a review of some rows.")
def audit() -> None:
    """Choose rows to review, and estimate metrics of the whole table from the answers."""


@audit.command(short_help="Choose rows to review.")
@opt.FILES
@opt.one_score
@opt.column("--label", "Column that marks the labeled positives.", required=True)
@opt.setting
@opt.all_of(*opt.LABELS)
@opt.number("--prior", "Rough guess of the share of positives; it only guides the choice of rows.")
@opt.option("--budget", "Number of rows to review.", type=int, required=True)
@opt.option(
    "--for",
    "targets",
    "Metric to estimate: prior, auroc, ece, brier, log_loss, precision@0.9, "
    "recall@0.9, ...; may be repeated.",
    multiple=True,
    default=("prior",),
    metavar="NUMBER",
)
@opt.column("--id", "Column that identifies a row.  [default: row number from 0]")
@opt.column("--by", "Column of groups; each group gets its own strata.")
@opt.flag("--sequential", "Allow stopping early based on the answers (--until).")
@opt.option("--seed", "Seed of the random choice of rows.", default=0)
@opt.written(
    "-o",
    "--out",
    "Output list to fill in; the design is written next to it.",
    type=_LIST,
    default="to_review.csv",
)
@opt.force
@opt.as_json
def plan(files: tuple[str, ...], out: str, **asked: Any) -> None:
    """Draw rows of FILE to review, with known probabilities, and write them to a list.

    Examples
    --------
    noneg audit plan scores.csv --score p --label confirmed --setting one-sample --budget 200 \
    --for precision@0.9 --for recall@0.9 --for prior
    """
    from noneg.audit.reading import design_path
    from noneg.report.answers import plan_document

    beside = str(design_path(out))
    check_outputs([("design", beside)], files)
    with busy("Choosing rows"):
        design = noneg.audit.plan(list(files), **asked)
    write_text(out, _list(design, range(design.budget)))
    write_text(beside, design.to_json())
    facts = {
        "source": {"files": list(files), **design.source},
        "targets": [str(target) for target in design.targets],
        "budget": design.budget,
        "sequential": design.sequential,
        "strata": int(design.size.size),
        "expected": design.expected.to_dict(),
    }
    answer(
        "noneg.audit-plan/1",
        facts | {"out": out, "design": beside},
        lambda: plan_document(design),
        f"Wrote {out} (the list to fill in) and {beside} (the design, needed to read the answers).",
    )


def _list(design: Design, rows: Sequence[int]) -> str:
    """Return the rows of a design as text for reviewers."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = design.columns()
    writer.writerow(columns)
    for row in rows:
        review, name, probability, answer = (column[row] for column in columns.values())
        writer.writerow([review, name, f"{probability:.6g}", answer])
    return stream.getvalue()


@audit.command(short_help="Estimate metrics of the whole table from the answers.")
@opt.FILES
@_DESIGN
@opt.column("--id", "Column of the list.", default="id")
@opt.column("--answer", "Column of the list.", default="answer")
@opt.option("--negative-label", "Answer that means negative.", metavar="VALUE")
@opt.option("--level", "Confidence level.", default=0.95)
@opt.option(
    "--until",
    "Report whether you can stop: target half-width of a metric, such as precision@0.9=0.03.",
    multiple=True,
    metavar="NUMBER=WIDTH",
)
@opt.column("--score", "Column of scores in a table with three labels and no design.")
@opt.column("--label", "Column of labels in that table: positive, negative or unlabeled.")
@opt.choice("--setting", "Sampling setting of that table.", among=["one-sample", "two-sample"])
@opt.number("--prior", "Share of positives in that table, for bounds on the AUROC.")
@opt.all_of(*opt.LABELS)
@opt.written("-o", "--out", "Output file for the --audit option of other commands.")
@opt.force
@opt.as_json
def read(files: tuple[str, ...], out: str | None, **asked: Any) -> None:
    """Read the filled-in list FILE and estimate metrics of the whole table.

    Without a design, FILE may be a table with known negatives that were not drawn at random. Only
    bounds and checks are then available.

    Examples
    --------
    noneg audit read to_review.csv -o audit.json
    noneg audit read table.csv --score p --label checked --unlabeled-is-empty --setting one-sample
    """
    if asked["label"] is not None:
        _read_table(files, out, asked)
        return
    from noneg.report.answers import audit_document

    names = ("design", "id", "answer", "positive_label", "negative_label", "level")
    options = {name: asked[name] for name in names}
    found = noneg.audit.read(list(files), until=_until(asked["until"]), **options)
    if out is not None:
        write_text(out, found.to_json() + "\n")
    words = (
        f"Wrote {out}. Pass it as --audit to evaluate, report, compare, threshold or recalibrate."
    )
    told = [] if out is None else [words]
    answer("noneg.audit/1", found.to_dict(), lambda: audit_document(found), *told)


def _until(given: Sequence[str]) -> dict[str, float]:
    wanted = {}
    for text in given:
        name, _, width = text.partition("=")
        try:
            wanted[name] = float(width)
        except ValueError:
            rule = "must be a metric in the table and a half-width"
            remedy = "Write precision@0.9=0.03, for example."
            raise InputError("until", rule, value=text, remedy=remedy) from None
    return wanted


def _read_table(files: Sequence[str], out: str | None, asked: dict[str, Any]) -> None:
    """Report what can be learned from the known negatives in a table."""
    from noneg.report.answers import negatives_document
    from noneg.tables.batches import Wanted
    from noneg.tables.reading import read_columns

    for name in ("score", "setting"):
        if asked[name] is None:
            raise InputError(name, "must be given with --label")
    names = ("score", "label", "positive_label", "unlabeled_label", "unlabeled_is_empty")
    wanted = Wanted(**{name: asked[name] for name in names})
    if not wanted.has_negatives:
        rule = "must specify which rows were not reviewed"
        raise InputError("unlabeled_label", rule, remedy="Or pass --unlabeled-is-empty.")
    if out is not None:
        reason = "known negatives that were not drawn at random do not allow estimates"
        remedy = "Choose rows to review with noneg audit plan."
        raise InputError("path", f"must not be given: {reason}", remedy=remedy)
    rows = read_columns(list(files), wanted)
    assert rows.negative is not None  # noqa: S101 - three labels were asked for
    groups = (rows.flags, rows.negative, ~rows.flags & ~rows.negative)
    options = {name: asked[name] for name in ("setting", "prior", "level")}
    found = noneg.audit.known_negatives(*(rows.score[group] for group in groups), **options)
    answer("noneg.known-negatives/1", found.to_dict(), lambda: negatives_document(found))


@audit.command("next", short_help="Write the next rows to review.")
@opt.FILES
@_DESIGN
@opt.option("--rows", "Number of rows.", default=50)
@opt.written("-o", "--out", "Output list to fill in.", type=_LIST, required=True)
@opt.force
def next_(files: tuple[str, ...], design: str | None, rows: int, out: str) -> None:
    """Write the rows of a list that come next: those without an answer, from the top."""
    from noneg.audit.reading import unanswered

    plan, left = unanswered(list(files), design)
    if not left:
        raise InputError("source", "must contain rows without an answer, but every row has one")
    write_text(out, _list(plan, left[:rows]))
    tell(f"Wrote {len(left[:rows])} of the {len(left):,} remaining rows to {out}.")
