"""``noneg threshold`` chooses a threshold, and ``noneg negatives`` finds rows to exclude.

With a confidence, thresholds come with a guarantee from `noneg.performance.guarantees`; without
one, they are the best estimates.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options as opt
from noneg.cli.output import busy, check_outputs, force
from noneg.cli.question import Question
from noneg.cli.recalibrate import WHERE, check_table
from noneg.errors import InputError
from noneg.sentences import say

if TYPE_CHECKING:
    from noneg.performance import Promise
    from noneg.results import Estimate
    from noneg.scores import PUScores

ESTIMATED = ("precision", "recall", "f_beta", "cost")  # Arguments of `best_threshold`.
PROMISED = ("precision", "recall", "cost", "budget", "top")  # Goals that allow --confidence.
WISHES = ("precision", "recall", "f_beta", "cost", "budget", "top", "at")


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


@click.command(
    "threshold",
    short_help="Choose a decision threshold.",
    epilog="\b\nnoneg threshold scores.csv --score p --label confirmed --setting one-sample "
    "--recall 0.9 --confidence 0.95",
)
@opt.reading()
@opt.number("--precision", "Smallest threshold with at least this precision.")
@opt.number("--recall", "Largest threshold with at least this recall.")
@opt.number("--f-beta", "Threshold with the largest F-measure for this beta.")
@opt.number(
    "--cost",
    "Threshold with the lowest cost, given the costs of a false alarm and of a missed positive.",
    nargs=2,
    metavar="FP FN",
)
@opt.option("--budget", "Flag this many of the next rows.", type=int, metavar="N")
@opt.option("--top", "Flag this share of the next rows, such as 5%.", type=Share())
@opt.number("--at", "Evaluate this threshold instead of choosing one.", metavar="SCORE")
@opt.number("--confidence", "Guarantee the goal with this probability.")
@opt.flag("--on-average", "Guarantee the recall on average over data sets instead.")
@opt.option(
    "--next", "coming", "Number of future rows.  [default: as in FILE]", type=int, metavar="N"
)
@opt.by_groups
@opt.as_json
def threshold(files: tuple[str, ...], **asked: Any) -> None:
    """Choose the threshold from which to predict rows in FILE as positive.

    Choose one goal: --precision, --recall, --f-beta, --cost, --budget or --top. Add --confidence
    for a threshold with a guarantee. A guaranteed recall and a workload need no prior.
    """
    from noneg.report.answers import threshold_answer

    wish = _wish(asked)
    question = Question(files, asked)
    _check_groups(question, wish)
    scores = _scores(question, free=_is_free(wish) and not question.by)
    with busy("Searching"):
        found = _promised(scores, wish) if _is_promised(wish) else _estimated(scores, wish)
        rates = _rates(scores, found["threshold"], question.level)
        _look_ahead(scores, found, wish, question.level)
        groups = _by_group(question, scores, found["threshold"], wish) if question.by else {}
    content = {key: x for key, x in found.items() if key not in ("flagged", "notes")}
    content |= {name: rate.to_dict() for name, rate in rates.items()}
    content |= {"groups": groups} if groups else {}
    question.answer(
        "noneg.threshold/1",
        content,
        lambda: threshold_answer(scores, found, rates, question.level, groups),
    )


def _wish(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the requested properties of the threshold, removed from the options."""
    wish = {name: asked.pop(name) for name in (*WISHES, "confidence", "on_average", "coming")}
    name = opt.one_goal(WISHES, [name for name in WISHES if wish[name] is not None])
    if wish["on_average"] and (name != "recall" or wish["confidence"] is not None):
        raise click.UsageError("Give --on-average with --recall, and without --confidence.")
    if wish["confidence"] is not None and name not in PROMISED:
        raise click.UsageError(
            f"--confidence is available for {', '.join(PROMISED)}, not for {name}."
        )
    if wish["coming"] is not None and name not in ("budget", "top"):
        raise click.UsageError("Give --next with --budget or --top.")
    return wish


def _check_groups(question: Question, wish: dict[str, Any]) -> None:
    """Raise if a goal is not available by group; group thresholds need all rows in memory."""
    if not question.by:
        return
    if wish["budget"] is not None or wish["top"] is not None:
        raise click.UsageError("Give --by without --budget and --top: groups share one workload.")
    question.keep_rows()


def _by_group(
    question: Question, scores: PUScores, threshold: float, wish: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the threshold of each group, and the effect of the overall threshold in that group.

    All numbers hold for all groups simultaneously. The error probability is divided among the
    groups, and half of it is spent on their priors.
    """
    from noneg.groups import by_group, members, own_knowledge
    from noneg.tables.groups import Grouping

    rows, cut = question.kept_rows, min(threshold, 1.0)
    grouping = Grouping(question.by, (cut,))
    grouping.found = question.grouping.found if question.grouping else {}
    kind = question.columns["weight_kind"]
    sums = grouping.sums(rows, kind)
    sure = wish["confidence"] or question.level
    table = by_group(
        scores, sums, metrics=("precision", "recall"), threshold=cut, level=(1.0 + sure) / 2.0
    )
    known, groups = own_knowledge(scores, table), grouping.names_of(rows.codes)
    if wish["confidence"] is not None:
        wish = wish | {"confidence": 1.0 - (1.0 - sure) / (2.0 * len(table.group))}
    found: dict[str, dict[str, Any]] = {}
    for group, here in members(table, groups).items():
        own = rows.part(here).scores(question.setting, kind)
        own = own.with_knowledge(known[group]) if own.hidden else own
        chosen = _promised(own, wish) if _is_promised(wish) else _estimated(own, wish)
        names = ("prior", "precision", "recall")
        overall = {name: table.estimate(group, name).to_dict() for name in names}
        found[group] = {name: chosen[name] for name in ("threshold", "value", "flagged")}
        found[group] |= {"prior": overall.pop("prior"), "with_overall_threshold": overall}
    return found


def _is_free(wish: dict[str, Any]) -> bool:
    """Return whether no prior is needed."""
    workload = wish["budget"] is not None or wish["top"] is not None
    return workload or (wish["recall"] is not None and _is_promised(wish))


def _is_promised(wish: dict[str, Any]) -> bool:
    workload = wish["budget"] is not None or wish["top"] is not None
    return workload or wish["on_average"] or wish["confidence"] is not None


def _scores(question: Question, *, free: bool) -> PUScores:
    if free and question.prior is None:
        return question.read()
    scores, _ = question.scores()
    question.tell_notes()
    return scores


def _promised(scores: PUScores, wish: dict[str, Any]) -> dict[str, Any]:
    from noneg.intervals import tail_means
    from noneg.performance import confusion

    promise = _promise(scores, wish)
    found: dict[str, Any] = {
        "threshold": promise.threshold,
        "value": promise.value,
        "criterion": promise.words,
        "promise": promise.to_dict(),
        "flagged": float(tail_means(scores, [min(promise.threshold, 2.0)]).marginal[0]),
        "notes": _notes(scores, promise),
    }
    if scores.prior is not None:
        found["confusion"] = confusion(scores, threshold=min(promise.threshold, 2.0)).to_dict()
    return found


def _promise(scores: PUScores, wish: dict[str, Any]) -> Promise:
    from noneg import performance

    sure = wish["confidence"]
    for name in ("recall", "precision", "cost"):
        if wish[name] is not None:
            find = getattr(performance, f"{name}_threshold")
            return find(scores, confidence=sure, **{name: wish[name]})
    rows = wish["coming"] or round(scores.n_marginal)
    budget = wish["budget"] if wish["top"] is None else max(1, int(wish["top"] * rows + 1e-9))
    return performance.budget_threshold(scores, budget=budget, rows=rows, confidence=sure)


def _assumption(scores: PUScores) -> str:
    odds = f", up to a factor of {scores.selection:g}" if scores.selection > 1.0 else ""
    return say("certain_random", factor=odds)


def _notes(scores: PUScores, promise: Promise) -> list[str]:
    if promise.promised == "flagged":
        return []
    assumed = f"{_assumption(scores)} " if scores.hidden else ""
    few = [say("certain_few")] if promise.threshold == 0.0 else []
    return [*few, f"{assumed}{say('certain_fixed')}"]


def _estimated(scores: PUScores, wish: dict[str, Any]) -> dict[str, Any]:
    from noneg.performance import best_threshold, confusion, precision
    from noneg.report.answers import GIVEN

    if wish["at"] is not None:
        matrix = confusion(scores, threshold=wish["at"])
        value, criterion, at = precision(scores, threshold=wish["at"]), GIVEN, wish["at"]
    else:
        best = best_threshold(scores, **{name: wish[name] for name in ESTIMATED})
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


def _look_ahead(
    scores: PUScores, found: dict[str, Any], wish: dict[str, Any], level: float
) -> None:
    """Add the number of next rows that will be flagged, if requested."""
    if wish["budget"] is None and wish["top"] is None:
        return
    from scipy.stats import betabinom

    rows, n = wish["coming"] or round(scores.n_marginal), scores.effective_marginal
    above = found["flagged"] * n
    low, high = (
        float(betabinom.ppf(q, rows, above + extra, n - above + 1 - extra)) if n > above else rows
        for q, extra in (((1 - level) / 2, above > 0), ((1 + level) / 2, 1))
    )
    expected = found["flagged"] * rows
    found["next"] = {"rows": rows, "expected": expected, "low": max(low, 0.0), "high": high}


@click.command(
    "negatives",
    short_help="Certify unlabeled rows as negative.",
    epilog="\b\nnoneg negatives scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12 --fdr 0.05",
)
@opt.reading()
@opt.option("--fdr", "Largest expected share of positives among certified rows.", default=0.05)
@opt.file("--out", WHERE)
@opt.option(
    "--column",
    "Name of the new column: the p-value of being positive.",
    default="p_positive",
    metavar="NAME",
)
@force
@opt.as_json
def negatives(
    files: tuple[str, ...],
    fdr: float,
    out: str | None,
    column: str,
    *,
    force: bool,
    **asked: Any,
) -> None:
    """Certify unlabeled rows in FILE as negative, with false discovery control.

    No prior is needed; with one, more rows are certified. Remove certified rows from a review
    queue, or train on them as negatives.
    """
    from noneg.performance import certified_negatives, positive_p_values
    from noneg.report.answers import negatives_answer
    from noneg.tables.writing import map_scores

    question = Question(files, asked)
    if question.is_labeled:
        raise InputError("setting", "must contain unlabeled rows: there is nothing to certify.")
    check_outputs({"path": out}, files, force=force)
    if out:
        check_table(question, out)
    scores = _scores(question, free=True)
    with busy("Testing rows"):
        found = certified_negatives(scores, fdr=fdr)
    if out:
        score = question.columns["score"]
        with busy(f"Writing {out}"):
            map_scores(
                list(files), out, lambda s: positive_p_values(scores, s), score=score, column=column
            )
    notes = [_assumption(scores), *([f"Wrote p-values to {out}."] if out else [])]
    content = found.to_dict() | {"out": out}
    question.answer("noneg.negatives/1", content, lambda: negatives_answer(scores, found, notes))
