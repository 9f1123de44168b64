"""The choice of sentences in the report; `assets/words.js` makes the same choices in the browser.

The templates are in ``noneg/sentences.json``; both fill them in with the same numbers.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from noneg.recalibration.maps import Identity
from noneg.results import Estimate, at_most, count, fitting
from noneg.sentences import say
from noneg.theory import plan
from noneg.verdict import COMMON, Point, scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noneg.comparison import Comparison
    from noneg.evaluation import Evaluation

EPS = 0.01  # Target precision of the sample size in the report.
TENTHS = tuple(k / 10 for k in range(1, 10))  # Thresholds in the tables.
REVIEWED = 200  # Rows to review if the verdict is unclear.
SECOND = 0.25  # A second deviation is mentioned if it is at least this share of the largest.


def sample(evaluation: Evaluation | Comparison) -> str:
    """Return a description of the rows."""
    prior, sizes = known_prior(evaluation), counts(evaluation)
    if evaluation.is_labeled:
        rows = count(evaluation.n_marginal, "labeled row")
        return f"{rows}, {sizes['positive']} positive; {prior}"
    return f"{sizes['positive']} and {sizes['rows']}; {evaluation.setting}; {prior}"


def known_prior(evaluation: Evaluation | Comparison) -> str:
    """Return a description of the prior."""
    found = evaluation.prior
    if evaluation.is_labeled or not found.low < found.high:
        return f"prior {found.value:.6g}"
    kind = getattr(evaluation, "prior_kind", "interval")
    if kind == "interval":
        return f"prior {found.value:.6g} in [{found.low:.6g}, {found.high:.6g}]"
    value, low, high = fitting(found.value, found.low, found.high)
    least = f"at least {low} and " if float(low) > 0.0 else ""
    return f"prior {'unknown, ' * (kind == 'unknown')}{least}at most {high} (estimate {value})"


def short(x: float) -> str:
    """Return a share with two decimals, or two significant digits if it is small.

    Examples
    --------
    >>> short(0.8512), short(0.00123)
    ('0.85', '0.0012')
    """
    places = 2 if x >= 0.1 or x <= 0.0 else 1 - math.floor(math.log10(x))  # noqa: PLR2004
    return f"{x:.{places}f}"


def decimals(prior: float) -> int:
    """Return the number of decimals for errors at this prior: 3, or more if positives are rare.

    Examples
    --------
    >>> decimals(0.3), decimals(0.005)
    (3, 5)
    """
    return 2 - math.floor(math.log10(scale(prior) or COMMON))


# The next step after each verdict: a sentence "do_x" and a command "run_x".
ACTIONS = {
    "verdict_probabilities": "use",
    "verdict_none": "use",
    "verdict_nearly": "use",
    "verdict_somewhat": "repair",
    "verdict_no": "repair",
    "verdict_off": "repair",
    "verdict_contradicted": "prior",
    "verdict_unsure": "review",
    "verdict_mixed": "review",
    "verdict_unknown": "review",
}
# With all labels, there is nothing to review, and the prior is known.
LABELED_ACTIONS = ACTIONS | dict.fromkeys(
    (key for key, name in ACTIONS.items() if name in ("review", "prior")), "more"
)
# Placeholders in a command for files and columns that are not known.
PLACEHOLDER = "FILE --score COLUMN --label COLUMN --setting {setting}"


def actions(evaluation: Evaluation) -> dict[str, str]:
    """Return the next step for each verdict; recalibration only if some map does better."""
    found = LABELED_ACTIONS if evaluation.is_labeled else ACTIONS
    key, after = evaluation.verdict.key, evaluation.recalibration
    if after is not None and after.chosen == Identity.name and found[key] == "repair":
        return found | {key: "more" if evaluation.is_labeled else "review"}
    return found


def action(evaluation: Evaluation, rows: str) -> tuple[str, str]:
    """Return the next step and its command; `rows` are the files and columns of the command."""
    name, budget = actions(evaluation)[evaluation.verdict.key], review_budget(evaluation)
    options = {"rows": rows, "known": known(evaluation), "prior": evaluation.prior.value}
    return say(f"do_{name}", budget=budget), say(f"run_{name}", **options, budget=budget)


def review_budget(evaluation: Evaluation) -> int:
    """Return the number of rows to review: `REVIEWED`, or all unlabeled rows if there are fewer."""
    return int(min(REVIEWED, evaluation.n_unlabeled))


def rows_options(evaluation: Evaluation, reading: str) -> str:
    """Return files and columns for a command, or placeholders."""
    return reading or PLACEHOLDER.format(setting=evaluation.setting)


def known(evaluation: Evaluation) -> str:
    """Return the options that pass the same prior and selection factor to a command."""
    prior = evaluation.prior
    if evaluation.is_labeled:
        return ""
    kinds = {"exact": "prior", "interval": "interval"}
    kind = kinds.get(evaluation.prior_kind, "estimate")
    text = say(f"known_{kind}", prior=prior.value, low=prior.low, high=prior.high)
    factor = evaluation.selection
    return text + (say("known_selection", factor=factor) if factor > 1.0 else "")


def counts(evaluation: Evaluation | Comparison) -> dict[str, str]:
    """Return the number of rows of each kind, as text."""
    if evaluation.is_labeled:
        rows = count(evaluation.n_marginal, "row")
        return {"rows": rows, "positive": count(evaluation.n_positive)}
    positive = count(evaluation.n_positive, "labeled positive")
    return {"positive": positive, "rows": count(evaluation.n_unlabeled, "unlabeled row")}


def plain_sample(evaluation: Evaluation) -> str:
    """Return a description of the rows without technical terms."""
    if evaluation.is_labeled:
        return say("sample_labeled", **counts(evaluation))
    text = say("sample", **counts(evaluation), prior=plain_prior(evaluation))
    factor = evaluation.selection
    return f"{text} {say('sample_factor', factor=factor)}" if factor > 1.0 else text


def plain_prior(evaluation: Evaluation) -> str:
    """Return the share of positives with its range or bound."""
    prior, kind = evaluation.prior, evaluation.prior_kind
    if not prior.low < prior.high:
        return f"{prior.value:.6g}, as given"
    if kind == "interval":
        return f"{prior.value:.6g} ({prior.low:.6g} to {prior.high:.6g}), as given"
    value, _, high = fitting(prior.value, prior.low, prior.high)
    return f"estimated as {value}, at most {high}"


def flips(evaluation: Evaluation) -> dict[str, str]:
    """Return the priors at which no miscalibration is detected, and the largest possible prior."""
    sums, found = evaluation.sums, evaluation.consistent
    limit = {"limit": at_most(evaluation.largest_prior)}
    if found is None:
        return limit
    low, high = max(found[0], sums.least_prior), min(found[1], evaluation.largest_prior)
    if low > high:
        return limit
    _, least, most = fitting(low, low, high)
    return limit | {"low": least, "high": most}


def depends(evaluation: Evaluation) -> str:
    """Return sentences on the priors that show no miscalibration, and on those ruled out."""
    found, prior, sums = flips(evaluation), evaluation.prior, evaluation.sums
    ends = evaluation.consistent
    parts = []
    possible = sums.least_prior <= prior.value <= evaluation.largest_prior
    if not possible:
        parts.append(say("depends_limit", **found))
    elif evaluation.prior_kind == "interval" and prior.high > evaluation.largest_prior:
        parts.append(say("depends_reaches", **found, least=prior.low, most=prior.high))
    fine = possible and ends is not None and ends[0] <= prior.value <= ends[1]
    key = "never" if "low" not in found else "fine" if fine else "off"
    parts.append(say(f"depends_{key}", **found))
    if evaluation.selection > 1.0:
        parts.append(say("depends_factor"))
    return " ".join(parts)


def verdict_estimate(evaluation: Evaluation) -> str:
    """Return a sentence on what the rows imply about an unknown prior."""
    prior = evaluation.prior
    value, _, high = fitting(prior.value, prior.low, prior.high)
    return say("estimate_bound", value=value, high=high, percent=100 * evaluation.level)


def verdict_error(error: Estimate, prior: float) -> str:
    """Return a sentence on the size of the calibration error."""
    value, low, high = (f"{x:.{decimals(prior)}f}" for x in (error.value, error.low, error.high))
    return say("error", value=value, low=low, high=high, percent=100 * error.level)


def verdict_selection(stands: float | None, selection: float) -> str:
    """Return sentences on the selection factors for which the verdict and the intervals hold."""
    if selection > 1.0:
        parts = [say("selected_labels", factor=selection)]
    else:
        parts = [] if stands == 1.0 else [say("random_labels")]
    if stands is not None:
        parts.append(say("stands_up_to", factor=stands) if stands > 1.0 else say("stands_not"))
    return " ".join(parts)


def verdict_where(diagram: Sequence[Point], *, rejected: bool = True) -> str:
    """Return sentences on scores that are significantly too high or too low, with an example.

    Neighboring points on the same side of the diagonal are merged into one range if one of them
    deviates significantly from the diagonal, judged by simultaneous intervals.
    """
    runs = _runs(diagram)
    if not runs and rejected:
        return say("where_together")
    if not runs:
        return say("where_nowhere", **_example(min(diagram, key=lambda p: abs(p.score - 0.5))))
    runs.sort(key=_weight, reverse=True)
    first, *others = runs
    worst = max((point for point in first if point.side), key=lambda point: point.gap)
    text = say("where", **_named(first, diagram), **_example(worst))
    if others and _weight(others[0]) >= SECOND * _weight(first):
        text += f" {say('where_also', **_named(others[0], diagram))}"
    return text if rejected else f"{text} {say('where_weak')}"


def _example(point: Point) -> dict[str, str]:
    shares = {name: getattr(point, name) for name in ("score", "frequency", "low", "high")}
    return {name: short(min(x, 1.0)) for name, x in shares.items()}


def _named(run: list[Point], diagram: Sequence[Point]) -> dict[str, str]:
    direction = "low" if run[0].frequency > run[0].score else "high"
    return {"range": _range(run, diagram), "direction": direction}


def _runs(diagram: Sequence[Point]) -> list[list[Point]]:
    """Return runs on one side of the diagonal, each from its first to its last sure deviation."""
    runs = []
    for _, side in groupby(diagram, key=lambda point: point.frequency > point.score):
        run = list(side)
        sure = [i for i, point in enumerate(run) if point.side]
        runs += [run[sure[0] : sure[-1] + 1]] if sure else []
    return runs


def _weight(run: list[Point]) -> float:
    return sum(point.weight for point in run)


def _range(run: list[Point], diagram: Sequence[Point]) -> str:
    kinds = {(1, 1): "whole", (0, 1): "above", (1, 0): "up_to", (0, 0): "between"}
    kind = kinds[run[0] is diagram[0], run[-1] is diagram[-1]]
    return say(f"range_{kind}", left=short(run[0].left), right=short(run[-1].right))


def bound_sentence(expected: float, probable: float, level: float, bins: int) -> str:
    """Return a sentence on the theoretical bound."""
    key = "bound_vacuous" if expected > 1.0 else "bound"
    return say(key, bins=bins, expected=expected, probable=probable, percent=100 * level)


def plan_sentence(needed: float | None, n_positive: float) -> str:
    """Return a sentence on the number of positives needed for a narrow interval."""
    if needed is None:
        return say("plan_rows", eps=EPS)
    key = "plan_done" if needed <= n_positive else "plan"
    return say(key, eps=EPS, more=needed - n_positive, needed=needed)


def positives_needed(evaluation: Evaluation) -> int | None:
    """Return the number of positives that reduces the half-width to `EPS`, if one exists."""
    sums, n = evaluation.sums, evaluation.n_marginal
    mean = sums.mean_score
    if not mean > 0.0 or sums.z**2 * mean / n >= EPS**2:
        return None
    return plan(
        EPS,
        evaluation.prior.value,
        n_unlabeled=None if math.isinf(n) else int(n),
        method="normal",
        delta=1.0 - evaluation.level,
        mean_score=min(mean, 1.0),
    ).n_positive
