"""Many runs, in local processes or on the workers of a Dask cluster.

Each run writes its own record, so only its status is sent back, a killed sweep loses only the runs
in progress, and a run can safely be retried.
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

# Number of times a cluster retries a run whose worker died.
RETRIES = 3
# Status of a run that was not started in time.
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
    """Perform all runs that have no record yet, in order.

    Parameters
    ----------
    runs : iterable of RunConfig
    folder : path
        Folder for the records; with a cluster, all workers must have access to it.
    jobs : int
        Number of processes, with one thread each.
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://host:port``; its workers are used instead.
    device : str, optional
        Torch device.
    precision : {"float32", "bfloat16", "float16"}
        Precision of the trainer.
    population : int, optional
        Train up to this many runs at once as stacked networks, for tables in single precision; the
        processes then only measure. The records contain the checkpoints selected by any criterion.
    retry_failed : bool
        Whether to retry failed runs.
    seconds : float, optional
        Start no run after this many seconds; a later call performs the rest.
    tell : callable, optional
        Called with the numbers of runs done, failed and to do, whenever a run ends.

    Returns
    -------
    dict
        Numbers of runs that were ``done`` and ``failed`` now, ``kept`` from before, and ``left``,
        and of ``damaged`` records, whose runs are repeated.
    """
    asked = list(dict.fromkeys(runs))
    left, damaged = open_runs(folder, asked, retry_failed=retry_failed)
    counts = {"done": 0, "failed": 0, "kept": len(asked) - len(left), "damaged": len(damaged)}
    # Use an absolute path, since workers may start in another folder.
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
        # Workers stopped while writing a record leave a partial file.
        ends.close()
        sweep(Path(folder))
    return counts | {"left": len(left) - counts["done"] - counts["failed"]}


def check_population(population: int, scheduler: str | None, precision: Precision) -> None:
    """Reject options that are incompatible with a population."""
    if population < 1:
        raise InputError("population", "must be an integer of at least 1", value=population)
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
