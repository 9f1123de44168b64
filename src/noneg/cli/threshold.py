"""``noneg threshold`` chooses a threshold, and ``noneg negatives`` finds rows to exclude.

With a confidence, thresholds come with a guarantee from `noneg.performance.guarantees`; without
one, they are the best estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import TYPE_CHECKING, Any

import click

import noneg
from noneg.cli import options as opt
from noneg.cli.app import main
from noneg.cli.output import busy
from noneg.cli.question import Question, reading
from noneg.cli.recalibrate import check_table, table_out, write_table
from noneg.errors import InputError
from noneg.sentences import say

if TYPE_CHECKING:
    from noneg.performance import Promise
    from noneg.results import Estimate
    from noneg.scores import PUScores

WORKLOADS = ("budget", "top")
PROMISED = ("precision", "recall", "cost", *WORKLOADS)  # Goals that allow --confidence.
GOALS = ("precision", "recall", "f_beta", "cost", *WORKLOADS, "at")


class Share(click.ParamType[float]):
    """A share, written as 0.05 or as 5%."""

    name = "share"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share."""
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
        except ValueError:
            share = -1.0
        if not 0.0 < share <= 1.0:
            self.fail(f"{value!r} is not a share in (0, 1], such as 0.05 or 5%.", param, ctx)
        return share


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The requested properties of a threshold; exactly one of them is its goal."""

    precision: float | None
    recall: float | None
    f_beta: float | None
    cost: tuple[float, float] | None
    budget: int | None
    top: float | None
    at: float | None
    confidence: float | None
    on_average: bool
    coming: int | None

    def __post_init__(self) -> None:
        goal = self.goal
        if self.on_average and (goal != "recall" or self.confidence is not None):
            raise click.UsageError("Give --on-average with --recall, and without --confidence.")
        if self.confidence is not None and goal not in PROMISED:
            rule = f"--confidence is available for {', '.join(PROMISED)}"
            raise click.UsageError(f"{rule}, not for {goal}.")
        if self.coming is not None and not self.is_workload:
            raise click.UsageError("Give --next with --budget or --top.")
        if self.coming is not None:
            from noneg.checks import check_count

            check_count(self.coming, "next", 1)

    @property
    def goal(self) -> str:
        """The goal, an argument of a function for thresholds."""
        return opt.one_goal(GOALS, [name for name in GOALS if getattr(self, name) is not None])

    @property
    def value(self) -> Any:
        """The value of the goal."""
        return getattr(self, self.goal)

    @property
    def is_workload(self) -> bool:
        """Whether a number of rows is to be flagged."""
        return self.goal in WORKLOADS

    @property
    def is_promised(self) -> bool:
        """Whether the threshold comes with a guarantee."""
        return self.is_workload or self.on_average or self.confidence is not None

    def rows(self, scores: PUScores) -> int:
        """Return the number of future rows."""
        return self.coming or round(scores.n_marginal)


@main.command(short_help="Choose a decision threshold.")
@reading()
@opt.given_as(
    Wish,
    opt.number("--precision", "Smallest threshold with at least this precision."),
    opt.number("--recall", "Largest threshold with at least this recall."),
    opt.number("--f-beta", "Threshold with the largest F-measure for this beta."),
    opt.number(
        "--cost",
        "Threshold with the lowest cost, given the costs of a false alarm and of a missed "
        "positive.",
        nargs=2,
        metavar="FP FN",
    ),
    opt.option("--budget", "Flag this many of the next rows.", type=int, metavar="N"),
    opt.option("--top", "Flag this share of the next rows, such as 5%.", type=Share()),
    opt.number("--at", "Evaluate this threshold instead of choosing one.", metavar="SCORE"),
    opt.number("--confidence", "Guarantee the goal with this probability."),
    opt.flag("--on-average", "Guarantee the recall on average over data sets instead."),
    opt.option(
        "--next", "coming", "Number of future rows.  [default: as in FILE]", type=int, metavar="N"
    ),
)
@opt.by_groups
@opt.as_json
def threshold(question: Question, wish: Wish) -> None:
    """Choose the threshold from which to predict rows in FILE as positive.

    Choose one goal: --precision, --recall, --f-beta, --cost, --budget or --top. Add --confidence
    for a threshold with a guarantee. A guaranteed recall and a workload need no prior.

    Examples
    --------
    noneg threshold scores.csv --score p --label confirmed --setting one-sample --recall 0.9 \
    --confidence 0.95
    """
    from noneg.report.answers import threshold_answer

    _check_groups(question, wish)
    free = wish.is_workload or (wish.goal == "recall" and wish.is_promised)
    scores = _scores(question, free=free and not question.by)
    with busy("Searching"):
        found = _found(scores, wish)
        rates = _rates(scores, found["threshold"], question.level)
        if wish.is_workload:
            found["next"] = _look_ahead(scores, found["flagged"], wish, question.level)
        groups = _by_group(question, scores, found["threshold"], wish) if question.by else {}
    content = {key: x for key, x in found.items() if key not in ("flagged", "notes")}
    content |= rates | ({"groups": groups} if groups else {})
    question.answer(
        "noneg.threshold/1",
        content,
        lambda: threshold_answer(scores, found, rates, question.level, groups),
    )


def _check_groups(question: Question, wish: Wish) -> None:
    """Raise if a goal is not available by group; group thresholds need all rows in memory."""
    if not question.by:
        return
    if wish.is_workload:
        raise click.UsageError("Give --by without --budget and --top: groups share one workload.")
    question.keep_rows()


def _by_group(question: Question, scores: PUScores, threshold: float, wish: Wish) -> dict[str, Any]:
    """Return the threshold of each group, and the effect of the overall threshold in that group.

    All numbers hold for all groups simultaneously. The error probability is divided among the
    groups, and half of it is spent on their priors.
    """
    from noneg.groups import by_group, members, own_knowledge
    from noneg.tables.groups import Grouping

    rows, cut = question.rows, min(threshold, 1.0)
    grouping = Grouping(question.by, (cut,))
    grouping.found = question.grouping.found
    sums = grouping.sums(rows, question.weight_kind)
    sure, metrics = wish.confidence or question.level, ("precision", "recall")
    table = by_group(scores, sums, metrics=metrics, threshold=cut, level=(1.0 + sure) / 2.0)
    known, groups = own_knowledge(scores, table), grouping.names_of(rows.codes)
    if wish.confidence is not None:
        wish = replace(wish, confidence=1.0 - (1.0 - sure) / (2.0 * len(table.group)))
    found: dict[str, dict[str, Any]] = {}
    for group, here in members(table, groups).items():
        own = rows.part(here).scores(question.setting, question.weight_kind)
        own = own.with_knowledge(known[group]) if own.hidden else own
        chosen = _found(own, wish)
        found[group] = {name: chosen[name] for name in ("threshold", "value", "flagged")}
        found[group] |= {
            "prior": table.estimate(group, "prior"),
            "with_overall_threshold": {name: table.estimate(group, name) for name in metrics},
        }
    return found


def _scores(question: Question, *, free: bool) -> PUScores:
    if free and question.prior is None:
        return question.read()
    scores = question.scores()
    question.tell_notes()
    return scores


def _found(scores: PUScores, wish: Wish) -> dict[str, Any]:
    """Return the threshold with its properties."""
    return _promised(scores, wish) if wish.is_promised else _estimated(scores, wish)


def _promised(scores: PUScores, wish: Wish) -> dict[str, Any]:
    from noneg.intervals import tail_means

    promise = _promise(scores, wish)
    cut = min(promise.threshold, 2.0)
    found: dict[str, Any] = {
        "threshold": promise.threshold,
        "value": promise.value,
        "criterion": promise.words,
        "promise": promise.to_dict(),
        "flagged": float(tail_means(scores, [cut]).marginal[0]),
        "notes": _notes(scores, promise),
    }
    if scores.prior is not None:
        found["confusion"] = noneg.performance.confusion(scores, threshold=cut).to_dict()
    return found


def _promise(scores: PUScores, wish: Wish) -> Promise:
    if not wish.is_workload:
        find = getattr(noneg.performance, f"{wish.goal}_threshold")
        return find(scores, confidence=wish.confidence, **{wish.goal: wish.value})
    rows = wish.rows(scores)
    budget = wish.value if wish.goal == "budget" else max(1, int(wish.value * rows + 1e-9))
    return noneg.performance.budget_threshold(
        scores, budget=budget, rows=rows, confidence=wish.confidence
    )


def _assumption(scores: PUScores) -> str:
    odds = f", up to a factor of {scores.selection:g}" if scores.selection > 1.0 else ""
    return say("certain_random", factor=odds)


def _notes(scores: PUScores, promise: Promise) -> list[str]:
    if promise.promised == "flagged":
        return []
    assumed = f"{_assumption(scores)} " if scores.hidden else ""
    few = [say("certain_few")] if promise.threshold == 0.0 else []
    return [*few, f"{assumed}{say('certain_fixed')}"]


def _estimated(scores: PUScores, wish: Wish) -> dict[str, Any]:
    from noneg.report.answers import GIVEN

    if wish.goal == "at":
        at, criterion = wish.value, GIVEN
        matrix = noneg.performance.confusion(scores, threshold=at)
        value = noneg.performance.precision(scores, threshold=at)
    else:
        best = noneg.performance.best_threshold(scores, **{wish.goal: wish.value})
        matrix, value, criterion, at = best.confusion, best.value, best.criterion, best.threshold
    return {
        "threshold": at,
        "value": value,
        "criterion": criterion,
        "confusion": matrix.to_dict(),
        "flagged": float(matrix.ppr),
        "notes": [] if criterion == GIVEN else [say("threshold_chosen_here")],
    }


def _rates(scores: PUScores, threshold: float, level: float) -> dict[str, Estimate]:
    from noneg.metrics import METRICS, estimate
    from noneg.report.answers import SHOWN

    if isinf(threshold):  # No row is flagged.
        return {}
    known = [name for name in SHOWN if scores.prior is not None or not METRICS[name].needs_prior]
    return {name: estimate(name, scores, threshold=threshold, level=level) for name in known}


def _look_ahead(scores: PUScores, flagged: float, wish: Wish, level: float) -> dict[str, float]:
    """Return the number of next rows that will be flagged."""
    from scipy.stats import betabinom

    rows, n = wish.rows(scores), scores.effective_marginal
    above = flagged * n
    low, high = (
        float(betabinom.ppf(q, rows, above + extra, n - above + 1 - extra)) if n > above else rows
        for q, extra in (((1 - level) / 2, above > 0), ((1 + level) / 2, 1))
    )
    return {"rows": rows, "expected": flagged * rows, "low": max(low, 0.0), "high": high}


@main.command(short_help="Certify unlabeled rows as negative.")
@reading()
@opt.option("--fdr", "Largest expected share of positives among certified rows.", default=0.05)
@table_out()
@opt.option(
    "--column",
    "Name of the new column: the p-value of being positive.",
    default="p_positive",
    metavar="NAME",
)
@opt.force
@opt.as_json
def negatives(question: Question, fdr: float, out: str | None, column: str) -> None:
    """Certify unlabeled rows in FILE as negative, with false discovery control.

    No prior is needed; with one, more rows are certified. Remove certified rows from a review
    queue, or train on them as negatives.

    Examples
    --------
    noneg negatives scores.csv --score p --label confirmed --setting one-sample --prior 0.12 \
    --fdr 0.05
    """
    from noneg.report.answers import negatives_answer

    if question.is_labeled:
        raise InputError("setting", "must contain unlabeled rows: there is nothing to certify.")
    check_table(question, out)
    scores = _scores(question, free=True)
    with busy("Testing rows"):
        found = noneg.performance.certified_negatives(scores, fdr=fdr)
    if out:
        p_values = partial(noneg.performance.positive_p_values, scores)
        write_table(question.files, out, p_values, score=question.score, column=column)
    notes = [_assumption(scores), *([f"Wrote p-values to {out}."] if out else [])]
    content = found.to_dict() | {"out": out}
    question.answer("noneg.negatives/1", content, lambda: negatives_answer(scores, found, notes))
