"""Do intervals cover when labeled positives are not a random draw of all positives?

In made worlds the truth sits exactly at the end of what is identified: how often does the interval
reach it? On the species of the NCEAS survey nobody made the selection: for how many species does
the survey's own value lie inside the interval, for which selection factor, and how wide is it?
"""

from experiments.selection import minimax, nceas, worlds
from experiments.study import Run, Study, cells, data_file


def adversarial(run: Run) -> None:
    every = cells(
        world=list(worlds.NEGATIVES),
        setting=["two-sample", "one-sample"],
        prior=[0.02, 0.1, 0.5],
        n_positive=run.pick([100, 300, 1000], [100]),
        trials=[run.trials(60, 5)],
    )
    run.resume("adversarial", worlds.cover, every)


def species(run: Run) -> None:
    if data_file("nceas") is None:
        return
    regions = run.pick(list(nceas.REGIONS), ["SA"])
    every = cells(region=regions, model=list(nceas.MODELS))
    run.resume("species", nceas.measure, every)


def maps(run: Run) -> dict[str, list]:
    every = cells(model=list(minimax.SPREADS), prior=[0.02, 0.1, 0.5], selection=[1.5, 2.0, 3.0])
    return {"minimax": run.rows(minimax.compare, every)}


STUDY = Study("selection", (species, maps, adversarial), page="experiments.selection.page")
