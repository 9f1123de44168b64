"""Many runs: processes of this machine, or the workers of a Dask cluster.

A run writes its own record, so nothing but its status travels, a killed sweep loses the runs under
way alone, and any engine may try a run again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from noneg.bench.records import open_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from noneg.bench.protocol import RunConfig

    Tell = Callable[[int, int, int], None]

# How often a cluster tries a run whose worker died.
RETRIES = 3


def run_all(
    runs: Iterable[RunConfig],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    device: str | None = None,
    retry_failed: bool = False,
    tell: Tell | None = None,
) -> dict[str, int]:
    """Do all runs that have no record yet.

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
    retry_failed : bool
        Do runs again that failed.
    tell : callable, optional
        Called with the numbers of runs done, failed and to do, whenever one ends.

    Returns
    -------
    dict
        How many were ``done`` and ``failed`` now, and ``kept`` from before.
    """
    asked = list(dict.fromkeys(runs))
    left = open_runs(folder, asked, retry_failed=retry_failed)
    counts = {"done": 0, "failed": 0, "kept": len(asked) - len(left)}
    place = os.path.abspath(folder)  # noqa: PTH100 - workers may start elsewhere
    ends = (
        _on_cluster(left, place, device, scheduler)
        if scheduler
        else _here(left, place, device, jobs)
    )
    for status in ends:
        counts[status] += 1
        if tell is not None:
            tell(counts["done"], counts["failed"], len(left))
    return counts


def _work(run: RunConfig, folder: str, device: str | None) -> str:
    from noneg.bench.work import perform_and_write

    return perform_and_write(run, folder, device=device)


def _here(runs: Sequence[RunConfig], folder: str, device: str | None, jobs: int) -> Iterator[str]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    return iter(parallel(delayed(_work)(run, folder, device) for run in runs))


def _on_cluster(
    runs: Sequence[RunConfig], folder: str, device: str | None, scheduler: str
) -> Iterator[str]:
    from distributed import Client, as_completed

    with Client(scheduler) as client:  # type: ignore[no-untyped-call]
        futures = [
            client.submit(_work, run, folder, device, key=run.key, retries=RETRIES) for run in runs
        ]
        for future in as_completed(futures):  # type: ignore[no-untyped-call]
            yield str(future.result())
