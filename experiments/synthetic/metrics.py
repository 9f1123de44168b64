"""Which calibration metric should you trust on PU data?

For populations from well to badly calibrated, priors from .05 to .5 and 30 to 10,000 positives: the
mean absolute distance of every calibration error in the registry from the true one.
"""

import numpy as np

from experiments.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, panels, shared_legend
from experiments.study import Run, Study, cells
from experiments.synthetic.worlds import LINES, MIXTURES, draw, shaped
from experiments.tables import Row, Tables, column, distinct, pick, records, standard_error
from noneg.metrics import METRICS

PRIORS = (0.05, 0.2, 0.5)
SIZES = (30, 100, 300, 1000, 3000, 10_000)
NAMES = [name for name, metric in METRICS.items() if metric.family == "calibration error"]
COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000", "#999999")
MARKERS = "osDv^PX*"


def distances(world: str, prior: float, n_positive: int, trials: int) -> list[Row]:
    """Return the distance between every metric and the truth in one cell."""
    law = shaped(world, prior)
    truth, values = law.tce(), np.empty((trials, len(NAMES)))
    for trial in range(trials):
        scores = draw(law, n_positive, "two-sample", trial)
        values[trial] = [METRICS[name].function(scores) for name in NAMES]
    gap = np.abs(values - truth)
    mean, error = values.mean(axis=0), gap.mean(axis=0)
    spread = [standard_error(column) for column in gap.T]
    return records(metric=NAMES, tce=truth, mean=mean, error=error, standard_error=spread)


def study(run: Run) -> dict[str, list[Row]]:
    sizes = run.pick(SIZES, SIZES[:3])
    # Large samples first, so that the last processes to finish are short.
    every = cells(world=[*LINES, *MIXTURES], prior=PRIORS, n_positive=sizes)
    every.sort(key=lambda cell: -cell["n_positive"])
    return {"study": run.rows(distances, every, trials=run.trials(20, 4))}


def mean_error(rows: list[Row], **wanted: object) -> float:
    return column(pick(rows, **wanted), "error").mean()


def ranked(rows: list[Row]) -> list[tuple[str, list[float]]]:
    """Return the mean absolute error per metric and size, over priors and populations, best metric
    first; the last number is the mean over sizes."""
    sizes = sorted(distinct(rows, "n_positive"))
    errors = {m: [mean_error(rows, metric=m, n_positive=n) for n in sizes] for m in NAMES}
    found = [(name, [*own, float(np.mean(own))]) for name, own in errors.items()]
    return sorted(found, key=lambda pair: pair[1][-1])


def draw_study(tables: Tables):
    """Plot the distance against the number of positives, one panel per population."""
    rows = tables("study")
    worlds = [*LINES, *MIXTURES]
    labels = {"titles": worlds, "x": "labeled positives", "y": "mean distance from the true error"}
    options = {"shade": None, "layout": None, "sharey": True} | labels
    figure, axes = panels(1, len(worlds), size=(20, 4.4), **options)
    for ax, world in zip(axes, worlds, strict=True):
        for k, name in enumerate(NAMES):
            mine = pick(rows, world=world, metric=name)
            sizes = sorted(distinct(mine, "n_positive"))
            look = {"color": COLORS[k % len(COLORS)], "marker": MARKERS[k % len(MARKERS)]}
            look |= {"ls": "-" if k < len(COLORS) else "--", "ms": 4, "label": name}
            ax.plot(sizes, [mean_error(mine, n_positive=n) for n in sizes], **look)
        ax.set(xscale="log", yscale="log")
    shared_legend(figure, axes[0], 6, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    return figure


STUDY = Study("metric_study", (study,), style={"savefig.dpi": 110})
