"""Do intervals cover if labeled positives are not a random sample of all positives?

In simulated populations, the truth lies exactly at the end of the identified range: how often does
the interval reach it? For the species in the NCEAS survey, the selection is real: for how many
species does the survey's value lie inside the interval, at which selection factor, and how wide is
the interval?
"""

from experiments.nceas import GROUPS
from experiments.selection import minimax, nceas, outer, worlds
from experiments.study import Run, Study, cells, data_file
from experiments.tables import read


def adversarial(run: Run) -> None:
    every = cells(
        world=list(worlds.NEGATIVES),
        setting=["two-sample", "one-sample"],
        prior=[0.02, 0.1, 0.5],
        n_positive=run.pick([100, 300, 1000], [100]),
        trials=[run.trials(60, 5)],
    )
    run.resume("adversarial", worlds.cover, every)


def again(run: Run) -> None:
    """Repeat the measurement with more and different draws for each metric of a cell that looks
    weak."""
    short: dict[tuple, list[str]] = {}
    for row in read(run.out / "adversarial.csv"):
        if min(row["low_reached"], row["high_reached"]) < worlds.AGAIN:
            cell = tuple(row[key] for key in ("world", "setting", "prior", "n_positive"))
            short.setdefault(cell, []).append(row["metric"])
    names = ("world", "setting", "prior", "n_positive")
    every = [
        dict(zip(names, cell, strict=True)) | {"trials": run.trials(400, 5), "metrics": metric}
        for cell, metrics in short.items()
        for metric in metrics
    ]
    if every:
        run.resume("again", worlds.cover, every)


def species(run: Run) -> None:
    if data_file("nceas") is None:
        return
    regions = run.pick(list(GROUPS), ["SA"])
    every = cells(region=regions, model=list(nceas.MODELS))
    run.resume("species", nceas.measure, every)


def maps(run: Run) -> dict[str, list]:
    every = cells(model=list(minimax.SPREADS), prior=[0.02, 0.1, 0.5], selection=[1.5, 2.0, 3.0])
    return {"minimax": run.rows(minimax.compare, every)}


def outer_bounds(run: Run) -> dict[str, list]:
    every = cells(kind=list(outer.KINDS), cases=[run.trials(200, 5)])
    return {"outer": run.rows(outer.excess, every)}


STUDY = Study(
    "selection",
    (species, maps, adversarial, again, outer_bounds),
    page="experiments.selection.page",
)
