"""Many runs: processes of this machine, or the workers of a Dask cluster.

A run writes its own record, so nothing but its status travels, a killed sweep loses the runs under
way alone, and any engine may try a run again.
"""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from noneg.atomic import sweep
from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.records import open_runs

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Sequence

    from noneg.lab.bench.protocol import RunConfig
    from noneg.learning.training import Precision

    Tell = Callable[[int, int, int], None]
    Ends = Generator[str, None, None]

# How often a cluster tries a run whose worker died.
RETRIES = 3
# What is said of a run that was not started in time.
LEFT = "left"


def run_all(  # noqa: PLR0913
    runs: Iterable[RunConfig],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    device: str | None = None,
    precision: Precision = "float32",
    population: int | None = None,
    retry_failed: bool = False,
    seconds: float | None = None,
    tell: Tell | None = None,
) -> dict[str, int]:
    """Do all runs that have no record yet, in their order.

    Parameters
    ----------
    runs : iterable of RunConfig
    folder : path
        Where records are kept; with a cluster, a folder that all workers see.
    jobs : int
        Processes, one thread each.
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://host:port``; its workers are used instead.
    device : str, optional
        Of torch.
    precision : {"float32", "bfloat16", "float16"}
        Of the trainer.
    population : int, optional
        Train up to so many runs at once as stacked networks, on tables in single precision; the
        processes then measure. Their records hold the checkpoints that some criterion chooses.
    retry_failed : bool
        Do runs again that failed.
    seconds : float, optional
        Start no run after so many seconds; a later call does the others.
    tell : callable, optional
        Called with the numbers of runs done, failed and to do, whenever one ends.

    Returns
    -------
    dict
        How many were ``done`` and ``failed`` now, ``kept`` from before, and are ``left``; and how
        many records were ``damaged``, so that their runs are done again.
    """
    asked = list(dict.fromkeys(runs))
    left, damaged = open_runs(folder, asked, retry_failed=retry_failed)
    counts = {"done": 0, "failed": 0, "kept": len(asked) - len(left), "damaged": len(damaged)}
    # A whole path, since workers may start elsewhere.
    work = partial(_work, folder=str(Path(folder).absolute()), device=device, precision=precision)
    deadline = math.inf if seconds is None else time.time() + seconds
    if population is not None:
        check_population(population, scheduler, precision)
        from noneg.lab.bench.together import train_together

        ends = train_together(
            left, population, folder=folder, device=device, jobs=jobs, deadline=deadline
        )
    elif scheduler:
        ends = _on_cluster(left, partial(work, deadline=deadline), scheduler)
    else:
        ends = _here(left, partial(work, deadline=deadline), jobs)
    try:
        for status in ends:
            if status == LEFT:
                continue
            counts[status] += 1
            if tell is not None:
                tell(counts["done"], counts["failed"], len(left))
    finally:
        # Workers that were stopped in the middle of a record leave a part of it.
        ends.close()
        sweep(Path(folder))
    return counts | {"left": len(left) - counts["done"] - counts["failed"]}


def check_population(population: int, scheduler: str | None, precision: Precision) -> None:
    """Refuse options that do not go with a population."""
    if population < 1:
        raise InputError("population", "must be a whole number from 1 on", value=population)
    if scheduler:
        rule = "must not be given with 'population': a population trains in one process"
        raise InputError("scheduler", rule, value=scheduler)
    if precision != "float32":
        raise InputError("precision", "must be 'float32' with 'population'", value=precision)


def _work(
    run: RunConfig, *, folder: str, device: str | None, precision: Precision, deadline: float
) -> str:
    if time.time() > deadline:
        return LEFT
    from noneg.lab.bench.work import perform_and_write

    return perform_and_write(run, folder, device=device, precision=precision)


def _here(runs: Sequence[RunConfig], work: Callable[[RunConfig], str], jobs: int) -> Ends:
    with optional("'jobs'"):
        from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    ends: Ends = parallel(delayed(work)(run) for run in runs)
    return ends


def _on_cluster(
    runs: Sequence[RunConfig], work: Callable[[RunConfig], str], scheduler: str
) -> Ends:
    with optional("'scheduler'"):
        from distributed import Client, as_completed

    with Client(scheduler) as client:  # type: ignore[no-untyped-call]
        futures = [client.submit(work, run, key=run.key, retries=RETRIES) for run in runs]
        for future in as_completed(futures):  # type: ignore[no-untyped-call]
            yield str(future.result())
