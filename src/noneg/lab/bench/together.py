"""Runs of the benchmark as populations: who trains with whom, and what becomes a record.

A record holds the checkpoints that some criterion chooses, measured as those of a single run are;
`noneg.lab.bench.select` finds in it what it would find in a record of all checkpoints.
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
from noneg.lab.bench.measures import on_test, on_validation
from noneg.lab.bench.protocol import find_plan
from noneg.lab.bench.records import write_record

with optional("noneg bench run"):
    import torch

    from noneg.lab.bench.criteria import probabilities
    from noneg.lab.bench.population import Member, Population
    from noneg.lab.bench.work import (
        arguments,
        columns,
        failure,
        hyperparameters,
        make_trainer,
        perform_and_write,
        set_up,
        told_prior,
        versions_used,
    )
    from noneg.learning.training import find_device, seeded

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from noneg.lab.bench.draws import Draw
    from noneg.lab.bench.protocol import RunConfig
    from noneg.lab.bench.work import Setup

    Family = list[RunConfig]


def families(runs: Iterable[RunConfig], *, apart: bool = False) -> list[Family]:
    """Return runs that are one program, in the order of their first ones.

    Parameters
    ----------
    runs : iterable of RunConfig
    apart : bool
        Whether hyperparameters that differ part runs, too.
    """
    found: dict[tuple[Any, ...], Family] = defaultdict(list)
    for run in runs:
        setup = set_up(run)
        options = {f.name: getattr(setup.algorithm, f.name) for f in fields(setup.algorithm)}
        fixed = {k: v for k, v in options.items() if apart or not isinstance(v, float)}
        world = replace(run, case=1, configuration=0, split=0)
        prior = find_plan(run.dataset).prior(run.case)
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
) -> Iterator[str]:
    """Train runs as populations, and yield "done" or "failed" as their records are written.

    Parameters
    ----------
    runs : sequence of RunConfig
    size : int
        Runs to train at once.
    folder : path
        Where records go.
    device : str, optional
    jobs : int
        Processes that measure.
    deadline : float
        Time after which no batch of runs is begun.
    """
    with Crew(folder, device=device, jobs=jobs) as crew:
        for batch in batches(runs, size):
            if time.time() > deadline:
                break
            crew.train(batch)
            yield from crew.write(wait=jobs == 1)
        yield from crew.write()


def batches(runs: Sequence[RunConfig], size: int) -> Iterator[list[Family]]:
    """Yield families to train side by side, at most `size` runs together."""
    batch: list[Family] = []
    for family in families(runs):
        for start in range(0, len(family), size):
            part = family[start : start + size]
            if batch and sum(map(len, batch)) + len(part) > size:
                yield batch
                batch = []
            batch.append(part)
    if batch:
        yield batch


@lru_cache(maxsize=32)
def _rows(world: RunConfig) -> Draw:
    return draw(world)


def rows_of(run: RunConfig) -> Draw:
    """Return the rows of a run, which do not depend on the method."""
    plain = {"variant": "ref", "correction": None, "configuration": 0, "given_prior": None}
    return _rows(replace(run, algorithm="nnpu", steps=1, every=1, augmented=True, **plain))


def make_member(run: RunConfig, setup: Setup, device: str | None) -> Member:
    """Return a run at its first step."""
    rows, trainer = rows_of(run), make_trainer(run, setup, device=device)
    with seeded(trainer.seed, find_device(device)):
        begun = trainer.begin(**arguments(run, rows, setup))
        random = torch.get_rng_state()
    held = (rows.validation.positive, rows.validation.unlabeled, rows.test.rows)
    labels = torch.from_numpy(rows.validation.labels)
    return Member(begun, torch.from_numpy(np.concatenate(held)), labels, random)


class Crew:
    """Populations that train side by side, and the processes that measure what they keep.

    Parameters
    ----------
    folder : path
        Where records go.
    device : str, optional
    jobs : int
        Processes that measure.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, device: str | None = None, jobs: int = 1
    ) -> None:
        self.folder, self.device, self.versions = folder, device, versions_used()
        self.pool: Executor | None = None
        if jobs > 1:
            self.pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        self.waiting: list[tuple[RunConfig, dict[str, Any], list[Any]]] = []
        self.ended: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def train(self, batch: Sequence[Family]) -> None:
        """Train families side by side; their records follow when they are measured."""
        start, worked = time.perf_counter(), time.process_time()
        made = [one for family in batch for one in self._populations(family)]
        going = [population for _, population in made]
        while going:
            for population in going:
                population.advance()
            going = [population for population in going if population.step < population.total]
        if going := [population for _, population in made]:
            if going[0].stream is not None:  # pragma: no cover - needs a GPU
                torch.cuda.synchronize(going[0].device)
            n = sum(map(len, going))
            spent = {
                "seconds": (time.perf_counter() - start) / n,
                "cpu_seconds": (time.process_time() - worked) / n,
                "device": going[0].device.type,
                "precision": "float32",
                "population": n,
            }
            for family, population in made:
                self._hand_over(family, population, spent)

    def _populations(self, family: Family) -> list[tuple[Family, Population]]:
        """Return one population, or several where hyperparameters must be the same.

        What is no program of many members at all is trained here, one run after the other.
        """
        if find_plan(family[0].dataset).kind != "image":
            for parts in ([family], families(family, apart=True)):
                try:
                    return [(part, self._population(part)) for part in parts]
                except (RuntimeError, TypeError):
                    continue
        options = {"device": self.device, "threads": torch.get_num_threads()}
        self.ended += [perform_and_write(run, self.folder, **options) for run in family]
        return []

    def _population(self, family: Family) -> Population:
        members = [make_member(run, set_up(run), self.device) for run in family]
        population = Population(members, told_prior(family[0], rows_of(family[0])))
        population.rehearse()
        return population

    def _hand_over(self, family: Family, population: Population, spent: dict[str, Any]) -> None:
        """Send what a population kept to be measured."""
        best, chosen, kept, finite, ended = (
            part.cpu().numpy()
            for part in (
                population.best,
                population.chosen,
                population.kept,
                population.finite,
                population.ended,
            )
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
        rows = rows_of(run)
        scores = probabilities(torch.from_numpy(logits)).numpy()
        held, test = rows.validation, rows.test
        given = (scores, held.positive.shape[0], held.labels, test.labels, test.weight)
        given = (*given, told_prior(run, rows), run.setting, step)
        return _measure(*given) if self.pool is None else self.pool.submit(_measure, *given)

    def write(self, *, wait: bool = True) -> list[str]:
        """Write the records that are measured, all if we wait, and return how runs ended."""
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


def _measure(
    scores: NDArray[np.float64],
    n_pos: int,
    labels: NDArray[np.int64],
    test_labels: NDArray[np.int64],
    weight: NDArray[np.float64],
    prior: float,
    setting: Any,  # noqa: ANN401
    step: int,
) -> dict[str, float]:
    """Return all measures of one checkpoint."""
    positive, unlabeled, test = np.split(scores, [n_pos, n_pos + labels.size])
    found, calibrator = on_validation(positive, unlabeled, labels, prior=prior, setting=setting)
    return {"step": float(step), **found, **on_test(test, test_labels, weight, calibrator)}
