"""``noneg threshold``: from which score on to act."""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any

import click

from noneg.cli import options
from noneg.cli.reading import read_scores, reading

if TYPE_CHECKING:
    from noneg.performance import BestThreshold
    from noneg.results import Estimate
    from noneg.scores import PUScores

WANTED = ("precision", "recall", "f_beta", "cost")  # what `best_threshold` takes
GIVEN = "as given"
SHOWN = {"precision": "Precision", "recall": "Recall", "f_beta": "F1", "accuracy": "Accuracy"}


@click.command(
    "threshold",
    short_help="Choose the score from which on to act.",
    epilog="\b\nnoneg threshold scores.csv --score p --label confirmed --setting one-sample "
    "--prior 0.12 --precision 0.9",
)
@reading
@click.option("--precision", type=float, help="Smallest threshold with at least this precision.")
@click.option("--recall", type=float, help="Largest threshold with at least this recall.")
@click.option("--f-beta", type=float, help="Threshold of the largest F-measure for this beta.")
@click.option(
    "--cost",
    type=float,
    nargs=2,
    metavar="FP FN",
    help="Threshold of the smallest cost, if a false alarm and a missed positive cost this much.",
)
@click.option("--at", type=float, metavar="SCORE", help="Choose nothing: measure this threshold.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals.")
@options.as_json
def command(
    files: tuple[str, ...],
    at: float | None,
    level: float,
    *,
    as_json: bool,
    **question: Any,  # noqa: ANN401
) -> None:
    """Choose the score in FILE from which on to call rows positive.

    Say what you want: --precision, --recall, --f-beta or --cost. Then measure what came out on
    other rows, with --at.
    """
    from noneg.checks import check_level
    from noneg.cli.printable import to_json
    from noneg.cli.terminal import busy
    from noneg.performance import best_threshold

    wanted = {name: question.pop(name) for name in WANTED}
    if sum(value is not None for value in (at, *wanted.values())) != 1:
        raise click.UsageError(
            "Give exactly one of --precision, --recall, --f-beta, --cost and --at."
        )
    check_level(level)
    scores = read_scores(files, question, level)
    with busy("Searching"):
        best = best_threshold(scores, **wanted) if at is None else _given(scores, at)
        rates = _rates(scores, best.threshold, level)
    if as_json:
        found = {name: rate.to_dict() for name, rate in rates.items()}
        source = {"files": list(files), "score": question["score"], "label": question["label"]}
        click.echo(to_json("noneg.threshold/1", {"source": source, **best.to_dict(), **found}))
        return
    _show(scores, best, rates, level)


def _given(scores: PUScores, at: float) -> BestThreshold:
    from noneg.performance import BestThreshold, confusion, precision

    return BestThreshold(
        threshold=at,
        value=precision(scores, threshold=at),
        criterion=GIVEN,
        confusion=confusion(scores, threshold=at),
    )


def _rates(scores: PUScores, threshold: float, level: float) -> dict[str, Estimate]:
    from noneg.metrics import estimate

    if isinf(threshold):  # no row is flagged
        return {}
    return {name: estimate(name, scores, threshold=threshold, level=level) for name in SHOWN}


def _show(scores: PUScores, best: BestThreshold, rates: dict[str, Estimate], level: float) -> None:
    from noneg.cli.terminal import console, say, show_table

    out = console()
    say(out, f"{scores!r}")
    where = f"Act from a score of {best.threshold:.6g} on" if rates else "Never act"
    say(out, f"{where}: {best.criterion}.", style="bold")
    out.print()
    rows = [["Rows flagged", f"{100 * float(best.confusion.ppr):.1f} %", "of everyone"]]
    rows += [
        [SHOWN[name], f"{rate.value:.4f}", f"[{rate.low:.4f}, {rate.high:.4f}]"]
        for name, rate in rates.items()
    ]
    show_table(out, ["", "value", f"{100 * level:.6g} % interval"], rows)
    if best.criterion == GIVEN:
        return
    out.print()
    say(
        out,
        "The threshold was chosen on these rows, so it looks a little better than it is; intervals "
        "take it as given. Measure it on other rows, with --at, before you promise anything.",
    )
