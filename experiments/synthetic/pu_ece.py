"""How far is PU-ECE from the true calibration error? Figures 4, 5 and 6 of the PU-ECE paper.

Draws data of growing size from classifiers whose calibration is known exactly, measures |ECE -
TCE|, fits its rate and compares it with Theorem 1.
"""

import math

import numpy as np

from experiments.drawing import style
from experiments.study import Run, Study, seeded
from experiments.synthetic import bias_page
from experiments.synthetic.bias import SIZES, Measured, all_cells, figure_tables, measure
from experiments.synthetic.worlds import PAPER, known
from experiments.tables import Row
from noneg.bins import bin_scores
from noneg.calibration import reliability

LESS = "less calibrated"
# The calibrated classifier is a control for the rates; it is not in the paper.
SHOWN = {4: list(PAPER), 5: list(bias_page.SYNTHETIC)}
BINNINGS = ("mass", "width")
DELTA = 0.1
DIAGRAM_SIZES, DIAGRAM_BINS = (1000, 10_000), 15


def theorem_row(m: Measured) -> Row:
    """Return how often a trial violates the bounds that hold with probability 1 - DELTA."""
    tail, printed = (m.cell.bound(m.binning, DELTA, form) for form in ("corrected", "printed"))
    expected = m.cell.bound(m.binning)
    return (
        {"figure": m.cell.figure, "binning": m.binning}
        | m.cell.names
        | {
            "expected_bound": expected.value,
            "expected_statistical_part": expected.statistical,
            "bias_over_expected_bound": m.total.mean() / expected.value,
            "statistical_over_expected_part": m.from_noise.mean() / expected.statistical,
            "bound": tail.value,
            "vacuous": tail.vacuous,
            "share_above": (m.total > tail.value).mean(),
            "share_above_printed": (m.total > printed.value).mean(),
            "share_above_binning_part": (m.from_binning > tail.binning).mean(),
            "share_above_statistical_part": (m.from_noise > tail.statistical).mean(),
            "largest_ratio": (m.total / tail.value).max(),
            "largest_statistical_ratio": (m.from_noise / tail.statistical).max(),
            "trials": m.cell.trials,
        }
    )


def diagram_rows(binning: str, trials: int) -> list[Row]:
    """Figure 6: mean and spread of the points in the diagram, and their true positions."""
    world, options = PAPER[LESS], {"bins": DIAGRAM_BINS, "binning": binning}
    score, frequency = np.empty((2, trials, DIAGRAM_BINS))
    for trial in range(trials):
        rng = seeded(6, LESS, *DIAGRAM_SIZES, trial)
        diagram = reliability(world.draw(*DIAGRAM_SIZES, setting="two-sample", seed=rng), **options)
        score[trial], frequency[trial] = diagram.score, diagram.frequency
    truth = bin_scores(world.draw(math.inf, math.inf, setting="two-sample", seed=0), **options)
    return [
        {
            "binning": binning,
            "bin": b + 1,
            "left": truth.edges[b],
            "right": truth.edges[b + 1],
            "score": score[:, b].mean(),
            "frequency": frequency[:, b].mean(),
            "sd": frequency[:, b].std(ddof=1),
            "share_above_one": (frequency[:, b] > 1.0).mean(),
            "true_score": truth.mean_score[b],
            "true_frequency": truth.frequency[b],
            "trials": trials,
        }
        for b in range(DIAGRAM_BINS)
    ]


def curve_rows() -> list[Row]:
    """The true calibration curve behind Figure 6."""
    score = np.linspace(0.0, 1.0, 201)
    posterior = PAPER[LESS].posterior(score)
    return [{"score": s, "posterior": p} for s, p in zip(score, posterior, strict=True)]


def study(run: Run) -> dict[str, list[Row]]:
    worlds = {name: known(world) for name, world in PAPER.items()}
    sizes, trials = run.pick(SIZES, SIZES[::4]), run.trials(100, 10)
    found = run.map(measure, all_cells(worlds, SHOWN, sizes, trials), binnings=BINNINGS)
    measured = [m for both in found for m in both]
    return figure_tables(measured, worlds) | {
        "figure6": [row for binning in BINNINGS for row in diagram_rows(binning, trials)],
        "figure6_curve": curve_rows(),
        "theorem1": [theorem_row(m) for m in measured],
    }


STUDY = Study("pu_ece", parts=(study,), page=bias_page.__name__, style=style())
