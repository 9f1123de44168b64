"""Many runs: in local processes, on the workers of a Dask cluster, or trained as populations.

Each run writes its own record, so only its status is sent back, a killed sweep loses only the runs
in progress, and a run can safely be retried. The record of a run trained in a population contains
the checkpoints selected by any criterion, measured as in a single run; `noneg.lab.bench.select`
gives the same result as with a record of all checkpoints.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.atomic import sweep
from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.draws import Draw, draw
from noneg.lab.bench.measures import measure_all
from noneg.lab.bench.protocol import RunConfig, find_plan, open_runs, write_record

with optional("noneg bench run"):
    import torch

    from noneg.lab.bench.criteria import Criteria, probabilities
    from noneg.lab.bench.population import Member, Population
    from noneg.lab.bench.work import (
        LEFT,
        done,
        facts,
        failure,
        perform_and_write,
        set_up,
        started,
    )
    from noneg.learning.training import find_device

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Sequence

    from noneg.learning.training import Precision

    Family = list[RunConfig]
    Ends = Generator[str, None, None]

# Number of times a cluster retries a run whose worker died.
RETRIES = 3


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
    tell: Callable[[int, int, int], None] | None = None,
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
        Train up to this many runs at once, as stacked networks if they are for tables; the
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
    if jobs == 0:
        raise InputError("jobs", "must not be 0; -1 uses all processors")
    if scheduler is None:
        find_device(device)
    asked = list(dict.fromkeys(runs))
    left, damaged = open_runs(folder, asked, retry_failed=retry_failed)
    counts = {"done": 0, "failed": 0, "kept": len(asked) - len(left), "damaged": len(damaged)}
    deadline = math.inf if seconds is None else time.time() + seconds
    if population is not None:
        check_population(population, scheduler, precision)
        crew = Crew(folder, device=device, precision=precision, jobs=jobs)
        ends = crew.train(left, population, deadline)
    else:
        # Use an absolute path, since workers may start in another folder.
        place = str(Path(folder).absolute())
        known: Any = {"device": device, "precision": precision, "deadline": deadline}
        work = partial(perform_and_write, folder=place, **known)
        ends = _on_cluster(left, work, scheduler) if scheduler else _here(left, work, jobs)
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
    if precision == "float16":
        rule = "must be 'float32' or 'bfloat16' with 'population'"
        raise InputError("precision", rule, value=precision)


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


def families(runs: Iterable[RunConfig], *, apart: bool = False) -> list[Family]:
    """Group the runs that can share one program, in order of first appearance.

    Parameters
    ----------
    runs : iterable of RunConfig
    apart : bool
        Whether runs with different hyperparameters are put in different groups.
    """
    found: dict[tuple[Any, ...], Family] = defaultdict(list)
    for run in runs:
        setup = set_up(run)
        options = {f.name: getattr(setup.algorithm, f.name) for f in fields(setup.algorithm)}
        fixed = {k: v for k, v in options.items() if apart or not isinstance(v, float)}
        plan = find_plan(run.dataset)
        # Other versions of a data set have rows of the same sizes.
        world = replace(run, dataset=plan.source or run.dataset, case=1, configuration=0, split=0)
        world, prior = replace(world, options=()), plan.prior(run.case)
        found[world, prior, setup.batch, tuple(sorted(fixed.items()))].append(run)
    return list(found.values())


@lru_cache(maxsize=32)
def _rows(**world: Any) -> Draw:  # noqa: ANN401
    return draw(RunConfig(algorithm="nnpu", **world))


def rows_of(run: RunConfig) -> Draw:
    """Return the rows of a run, which do not depend on the method."""
    names = ("dataset", "setting", "case", "rate", "split")
    return _rows(**{name: getattr(run, name) for name in names})


def make_member(run: RunConfig, device: str | None, precision: Precision = "float32") -> Member:
    """Return a run at its first step."""
    rows = rows_of(run)
    with started(run, rows, device=device, precision=precision) as begun:
        random = torch.get_rng_state()
    known = facts(run, rows)
    held = np.concatenate([rows.validation.positive, rows.validation.unlabeled, rows.test.rows])
    criteria = Criteria(known.n_pos, known.labels.size, known.prior, known.setting)
    labels = torch.from_numpy(known.labels)
    return Member(begun, torch.from_numpy(held), labels, criteria, random)


@dataclass(eq=False)
class Crew:
    """Populations that train in parallel, and the processes that measure their checkpoints.

    Parameters
    ----------
    folder : path
        Folder for the records.
    device : str, optional
    precision : {"float32", "bfloat16"}
    jobs : int
        Number of processes for measuring.
    """

    folder: str | os.PathLike[str]
    _: KW_ONLY
    device: str | None = None
    precision: Precision = "float32"
    jobs: int = 1

    def __post_init__(self) -> None:
        self.pool: Executor | None = None
        if self.jobs > 1:
            self.pool = ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"))
        self.going: list[tuple[Family, Population]] = []
        self.waiting: list[tuple[RunConfig, dict[str, Any], Future[Any]]] = []
        self.ended: list[str] = []

    def train(self, runs: Iterable[RunConfig], size: int, deadline: float = math.inf) -> Ends:
        """Train runs, and yield "done" or "failed" as their records are written.

        Parameters
        ----------
        runs : iterable of RunConfig
        size : int
            Number of runs to train at once.
        deadline : float
            Time after which no run is started.
        """
        cuts = ((family, k) for family in families(runs) for k in range(0, len(family), size))
        found = [family[start : start + size] for family, start in cuts]
        try:
            while self.going or (found and time.time() < deadline):
                while found and self.size + len(found[0]) <= size and time.time() < deadline:
                    self.begin(found.pop(0))
                self.advance()
                yield from self.write()
            yield from self.write(wait=True)
        finally:
            if self.pool is not None:
                self.pool.shutdown(cancel_futures=True)

    @property
    def size(self) -> int:
        """Number of runs in training."""
        return sum(len(family) for family, _ in self.going)

    def begin(self, family: Family) -> None:
        """Start training a family alongside the others."""
        self.going += self._populations(family)

    def advance(self) -> None:
        """Train all populations to the next checkpoint; submit finished ones for measuring."""
        if not self.going:
            return
        size, start, worked = self.size, time.perf_counter(), time.process_time()
        for _, population in self.going:
            population.advance()
        ended = [one for one in self.going if one[1].step >= one[1].total]
        for _, population in ended:
            population.wait()
        # The time for a round is divided among all runs trained in it.
        spent = (time.perf_counter() - start) / size, (time.process_time() - worked) / size
        for _, population in self.going:
            population.spent += np.array(spent)
        for family, population in ended:
            self._hand_over(family, population, size)
        self.going = [one for one in self.going if one not in ended]

    def _populations(self, family: Family) -> list[tuple[Family, Population]]:
        """Return one population, or several if the members' hyperparameters must be equal.

        Runs that cannot be trained as a population are trained here, one after the other.
        """
        ways = [[family], families(family, apart=True)]
        if find_plan(family[0].dataset).kind == "image":
            # Stacked convolutions are slow.
            ways = [[[run] for run in family]]
        for parts in ways:
            try:
                return [(part, self._population(part)) for part in parts]
            except (RuntimeError, TypeError, ValueError):
                continue
        threads = torch.get_num_threads()
        known: Any = {"device": self.device, "precision": self.precision, "threads": threads}
        self.ended += [perform_and_write(run, self.folder, **known) for run in family]
        return []

    def _population(self, family: Family) -> Population:
        members = [make_member(run, self.device, self.precision) for run in family]
        population = Population(members)
        population.rehearse()
        return population

    def _hand_over(self, family: Family, population: Population, size: int) -> None:
        """Submit the checkpoints kept by a population for measuring."""
        times = dict(zip(("seconds", "cpu_seconds"), population.spent.tolist(), strict=True))
        known = {"device": population.device.type, "precision": self.precision, "population": size}
        found = population.checkpoints
        best, chosen, kept, finite, ended = (
            part.cpu().numpy()
            for part in (found.best, found.chosen, found.kept, found.finite, found.ended)
        )
        for m, run in enumerate(family):
            steps = np.where(np.isfinite(best[:, m]), chosen[:, m], 0)
            places = {int(step): k for k, step in enumerate(steps) if step}
            error = population.errors.get(m)
            if error is None and not finite[m] and not places:
                title = population.template.title
                error = FloatingPointError(f"The loss of {title} is not finite at step {ended[m]}.")
            if error is not None:
                write_record(self.folder, run, failure(error))
                self.ended.append("failed")
                continue
            logits = {step: torch.from_numpy(kept[places[step], m]) for step in sorted(places)}
            scores = {step: probabilities(one).numpy() for step, one in logits.items()}
            history = self._submit(measure_all, scores, facts(run, rows_of(run)))
            self.waiting.append((run, times | known | {"diverged": not finite[m]}, history))

    def _submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:  # noqa: ANN401
        """Do the work in another process, or right now if there is none."""
        if self.pool is not None:
            return self.pool.submit(work, *given)
        found = Future[Any]()
        found.set_result(work(*given))
        return found

    def write(self, *, wait: bool = False) -> list[str]:
        """Write the measured records (all of them with `wait`), and return the runs' statuses."""
        ready = [one for one in self.waiting if wait or one[-1].done()]
        for run, known, history in ready:
            write_record(self.folder, run, done(run, history.result(), **known))
            self.ended.append("done")
        self.waiting = [one for one in self.waiting if one not in ready]
        ended, self.ended = self.ended, []
        return ended
