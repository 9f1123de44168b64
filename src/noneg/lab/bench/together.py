"""Benchmark runs as populations: how runs are grouped, stepped and recorded.

A record contains the checkpoints selected by any criterion, measured as in a single run;
`noneg.lab.bench.select` gives the same result as with a record of all checkpoints.
"""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import fields, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg.extras import optional
from noneg.lab.bench.draws import draw
from noneg.lab.bench.measures import measure
from noneg.lab.bench.protocol import find_plan
from noneg.lab.bench.records import write_record

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterable, Sequence

    from numpy.typing import NDArray

    from noneg.lab.bench.draws import Draw
    from noneg.lab.bench.protocol import RunConfig
    from noneg.lab.bench.work import Setup

    Family = list[RunConfig]

with optional("noneg bench run"):
    import torch

    from noneg.lab.bench.criteria import probabilities
    from noneg.lab.bench.population import Member, Population
    from noneg.lab.bench.work import (
        arguments,
        columns,
        facts,
        failure,
        hyperparameters,
        make_trainer,
        perform_and_write,
        set_up,
        told_prior,
        versions_used,
    )
    from noneg.learning.streams import seeded
    from noneg.learning.training import Run, find_device


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


def train_together(
    runs: Sequence[RunConfig],
    size: int,
    *,
    folder: str | os.PathLike[str],
    device: str | None = None,
    jobs: int = 1,
    deadline: float = float("inf"),
) -> Generator[str, None, None]:
    """Train runs as populations, and yield "done" or "failed" as their records are written.

    Parameters
    ----------
    runs : sequence of RunConfig
    size : int
        Number of runs to train at once.
    folder : path
        Folder for the records.
    device : str, optional
    jobs : int
        Number of processes for measuring.
    deadline : float
        Time after which no run is started.
    """
    found = [part for family in families(runs) for part in _cut(family, size)]
    with Crew(folder, device=device, jobs=jobs) as crew:
        while crew.going or (found and time.time() < deadline):
            while found and crew.size + len(found[0]) <= size and time.time() < deadline:
                crew.begin(found.pop(0))
            crew.advance()
            yield from crew.write(wait=jobs == 1)
        yield from crew.write()


def _cut(family: Family, size: int) -> list[Family]:
    return [family[start : start + size] for start in range(0, len(family), size)]


@lru_cache(maxsize=32)
def _rows(world: RunConfig) -> Draw:
    return draw(world)


def rows_of(run: RunConfig) -> Draw:
    """Return the rows of a run, which do not depend on the method."""
    plain: dict[str, Any] = {"variant": "ref", "correction": None, "given_prior": None}
    plain |= {"configuration": 0, "options": ()}
    return _rows(replace(run, algorithm="nnpu", steps=1, every=1, augmented=True, **plain))


def make_member(run: RunConfig, setup: Setup, device: str | None) -> Member:
    """Return a run at its first step."""
    rows, trainer = rows_of(run), make_trainer(run, setup, device=device)
    with seeded(trainer.seed, find_device(device)):
        begun = Run(trainer, **arguments(run, rows, setup))
        random = torch.get_rng_state()
    held = (rows.validation.positive, rows.validation.unlabeled, rows.test.rows)
    labels = torch.from_numpy(rows.validation.labels)
    return Member(begun, torch.from_numpy(np.concatenate(held)), labels, random)


class Crew:
    """Populations that train in parallel, and the processes that measure their checkpoints.

    Parameters
    ----------
    folder : path
        Folder for the records.
    device : str, optional
    jobs : int
        Number of processes for measuring.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, device: str | None = None, jobs: int = 1
    ) -> None:
        self.folder, self.device, self.versions = folder, device, versions_used()
        self.pool: Executor | None = None
        if jobs > 1:
            self.pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        self.going: list[tuple[Family, Population]] = []
        self.spent: dict[int, tuple[float, float]] = {}
        self.waiting: list[tuple[RunConfig, dict[str, Any], list[Any]]] = []
        self.ended: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
            before = self.spent.get(id(population), (0.0, 0.0))
            self.spent[id(population)] = (before[0] + spent[0], before[1] + spent[1])
        for family, population in ended:
            seconds, cpu_seconds = self.spent.pop(id(population))
            times = {"seconds": seconds, "cpu_seconds": cpu_seconds, "population": size}
            known = {"device": population.device.type, "precision": "float32"}
            self._hand_over(family, population, times | known)
        self.going = [one for one in self.going if one not in ended]

    def _populations(self, family: Family) -> list[tuple[Family, Population]]:
        """Return one population, or several if the members' hyperparameters must be equal.

        Runs that cannot be trained as a population are trained here, one after the other.
        """
        if find_plan(family[0].dataset).kind != "image":
            for parts in ([family], families(family, apart=True)):
                try:
                    return [(part, self._population(part)) for part in parts]
                except (RuntimeError, TypeError):
                    continue
        threads = torch.get_num_threads()
        self.ended += [
            perform_and_write(run, self.folder, device=self.device, threads=threads)
            for run in family
        ]
        return []

    def _population(self, family: Family) -> Population:
        members = [make_member(run, set_up(run), self.device) for run in family]
        population = Population(members, told_prior(family[0], rows_of(family[0])))
        population.rehearse()
        return population

    def _hand_over(self, family: Family, population: Population, spent: dict[str, Any]) -> None:
        """Submit the checkpoints kept by a population for measuring."""
        found = population.checkpoints
        best, chosen, kept, finite, ended = (
            part.cpu().numpy()
            for part in (found.best, found.chosen, found.kept, found.finite, found.ended)
        )
        for m, run in enumerate(family):
            steps = np.where(np.isfinite(best[:, m]), chosen[:, m], 0)
            places = {int(step): k for k, step in enumerate(steps) if step}
            record = spent | {"diverged": not finite[m]}
            record |= {"hyperparameters": hyperparameters(set_up(run)), "versions": self.versions}
            error = population.errors.get(m)
            if error is None and not finite[m] and not places:
                title = population.template.title
                error = FloatingPointError(f"The loss of {title} is not finite at step {ended[m]}.")
            if error is not None:
                write_record(self.folder, run, failure(error))
                self.ended.append("failed")
                continue
            jobs = [self._submit(run, step, kept[places[step], m]) for step in sorted(places)]
            self.waiting.append((run, record, jobs))

    def _submit(self, run: RunConfig, step: int, logits: NDArray[np.float32]) -> Any:  # noqa: ANN401
        scores = probabilities(torch.from_numpy(logits)).numpy()
        given: Any = (scores, step, *facts(run, rows_of(run)))
        return measure(*given) if self.pool is None else self.pool.submit(measure, *given)

    def write(self, *, wait: bool = True) -> list[str]:
        """Write the measured records (all of them with `wait`), and return the runs' statuses."""
        left = []
        for run, record, jobs in self.waiting:
            if not wait and any(isinstance(job, Future) and not job.done() for job in jobs):
                left.append((run, record, jobs))
                continue
            history = [job.result() if isinstance(job, Future) else job for job in jobs]
            write_record(
                self.folder, run, {"status": "done", "checkpoints": columns(history), **record}
            )
            self.ended.append("done")
        self.waiting, ended, self.ended = left, self.ended, []
        return ended
