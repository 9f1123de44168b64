"""One run: train, and measure at each checkpoint."""

from __future__ import annotations

import math
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.criteria import probabilities
from noneg.lab.bench.draws import Draw, draw
from noneg.lab.bench.measures import Facts, measure
from noneg.lab.bench.protocol import RunConfig, find_plan, write_record
from noneg.randomness import stream

with optional("noneg bench run"):
    import torch

    from noneg.learning import networks, views
    from noneg.learning.algorithms import ALGORITHMS
    from noneg.learning.contract import Algorithm, LogUniform, PUData, choose_task, space
    from noneg.learning.training import Precision, Run, Trainer, find_device, seeded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn

    from noneg.learning.training import Monitor


# Training rows have no true labels, so algorithms that need them are excluded.
METHODS = [name for name in ALGORITHMS if name != "pn-oracle"]
# Status of a run that was not started in time.
LEFT = "left"
LEARNING_RATE, SEARCHED_RATE = 1e-3, LogUniform(10**-4.5, 10**-2.5)


@dataclass(frozen=True)
class Setup:
    """Algorithm and hyperparameters of a run.

    Attributes
    ----------
    algorithm : Algorithm
    lr : float
        Learning rate.
    batch : int
        Number of P rows, and also of U rows, in a step.
    drawn : dict
        Hyperparameters of the algorithm that are not at their defaults.
    """

    algorithm: Algorithm
    lr: float
    batch: int
    drawn: dict[str, Any]


def set_up(run: RunConfig) -> Setup:
    """Return the hyperparameters of a run.

    Configuration 0 has the defaults. The others are random; a value depends on the configuration
    number and the hyperparameter's name, not on the algorithm.
    """
    if run.algorithm not in METHODS:
        raise InputError("algorithm", f"must be one of {', '.join(METHODS)}", value=run.algorithm)

    def random(name: str) -> np.random.Generator:
        return stream(run.configuration, f"hyperparameter {name}")

    kind, batch = ALGORITHMS[run.algorithm], find_plan(run.dataset).batch
    drawn: dict[str, Any] = {"lr": LEARNING_RATE}
    if run.configuration:
        searched = space(kind) | {"lr": SEARCHED_RATE}
        drawn = {name: search.draw(random(name)) for name, search in searched.items()}
        batch //= 2 ** int(random("batch").integers(3))
    drawn |= dict(run.options)
    rate = drawn.pop("lr")
    return Setup(kind(variant=run.variant, **drawn), rate, batch, drawn)


def is_possible(run: RunConfig) -> bool:
    """Return whether the algorithm supports the variant and correction of a run."""
    kind = ALGORITHMS[run.algorithm]
    if run.variant not in kind.variants:
        return False
    known = kind.bench_corrections if run.variant == "bench" else kind.corrections
    return run.correction in (None, "none", *known)


def versions(algorithms: Iterable[str] = METHODS) -> list[tuple[str, str, str | None]]:
    """Return the algorithms, variants and corrections to compare.

    These are all the benchmark's versions, with and without correction where there is one, followed
    by the original methods with their default correction.

    Examples
    --------
    >>> versions(["vpu"])
    [('vpu', 'bench', 'batch'), ('vpu', 'bench', 'none'), ('vpu', 'ref', None)]
    """
    names = list(algorithms)
    bench = [
        (name, "bench", correction)
        for name in names
        if "bench" in ALGORITHMS[name].variants
        for correction in ALGORITHMS[name].bench_corrections or (None,)
    ]
    return [*bench, *((name, "ref", None) for name in names)]


def perform(
    run: RunConfig, *, device: str | None = None, precision: Precision = "float32"
) -> dict[str, Any]:
    """Train one run and return its record.

    Parameters
    ----------
    run : RunConfig
    device : str, optional
        By default, a GPU if there is one.
    precision : {"float32", "bfloat16", "float16"}
        Precision of the trainer. Like the device, it is recorded but not part of the run's name.
    """
    rows = draw(run)
    start, worked = time.perf_counter(), time.process_time()
    with started(run, rows, device=device, precision=precision) as begun:
        begun.monitor = _monitor(run, rows)
        fit = begun.go()
    return done(
        run,
        fit.history,
        seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - worked,
        device=fit.algorithm.device.type,
        precision=precision,
        diverged=fit.diverged,
    )


def done(run: RunConfig, history: list[dict[str, float]], **known: object) -> dict[str, Any]:
    """Return the record of a run, with the measures of its checkpoints and further facts."""
    setup = set_up(run)
    drawn = {"lr": setup.lr, "batch": setup.batch, **setup.drawn}
    record = {"status": "done", "checkpoints": columns(history), **known}
    return record | {"hyperparameters": drawn, "versions": versions_used()}


def told_prior(run: RunConfig, rows: Draw) -> float:
    """Return the prior given to the method and the criteria."""
    return rows.prior if run.given_prior is None else run.given_prior


@contextmanager
def started(run: RunConfig, rows: Draw, **options: Any) -> Iterator[Run]:  # noqa: ANN401
    """Seed torch's random state, and yield the run at its first step; options are the trainer's."""
    setup = set_up(run)
    trainer = Trainer(
        steps=run.steps,
        batch_size=setup.batch,
        optimizer="sgd",
        lr=setup.lr,
        # The same for every method.
        seed=1000 * run.split + run.configuration,
        checkpoint_every=run.every,
        **options,
    )
    algorithm, data, held = setup.algorithm, _varied(run, rows), _tensors(rows.validation)
    known: Any = {"setting": run.setting, "prior": told_prior(run, rows)}
    task = choose_task(algorithm, data, correction=run.correction, **known)
    with seeded(trainer.seed, find_device(trainer.device)):
        yield Run(trainer, algorithm, _network(run, rows), data, task, held)


def failure(error: Exception) -> dict[str, Any]:
    """Return the record of a run that raised an error."""
    return {
        "status": "failed",
        "error": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
        "versions": versions_used(),
    }


def perform_and_write(
    run: RunConfig,
    folder: str | os.PathLike[str],
    *,
    device: str | None = None,
    precision: Precision = "float32",
    threads: int = 1,
    deadline: float = math.inf,
) -> str:
    """Train one run and write its record; an error during the run is recorded as a failure.

    Returns
    -------
    str
        "done", "failed", or "left" if it is past the deadline, in which case nothing is done.
    """
    if time.time() > deadline:
        return LEFT
    torch.set_num_threads(threads)
    try:
        content = perform(run, device=device, precision=precision)
    except Exception as error:  # noqa: BLE001 - whatever a method raises is its result
        content = failure(error)
    write_record(folder, run, content)
    return str(content["status"])


def _tensors(part: Any) -> PUData:  # noqa: ANN401
    return PUData(torch.from_numpy(part.positive), torch.from_numpy(part.unlabeled))


def _varied(run: RunConfig, rows: Draw) -> PUData:
    """Return the training rows with the plan's augmentation, if there is one."""
    plain, kind = _tensors(rows.training), find_plan(run.dataset).view
    if kind is None or not run.augmented:
        return plain
    if kind == "cropped":
        view: views.Cropped | views.Turned = views.Cropped()
    else:
        # The smallest scaled value is the background.
        side, black = math.isqrt(plain.pos.shape[1]), float(rows.training.unlabeled.min())
        view = views.Turned(side, black=black)
    return replace(plain, weak=view, strong=view)


def _network(run: RunConfig, rows: Draw) -> Callable[[], nn.Module]:
    if find_plan(run.dataset).kind == "image":
        # The fastest layout for half-precision convolutions on a GPU.
        layout = torch.channels_last
        return lambda: networks.resnet32().to(memory_format=layout)  # type: ignore[call-overload]
    width = rows.training.positive.shape[1]
    return lambda: networks.MLP(width)


def facts(run: RunConfig, rows: Draw) -> Facts:
    """Return what is known about the held-out rows of a run."""
    held, test, prior = rows.validation, rows.test, told_prior(run, rows)
    return Facts(len(held.positive), held.labels, test.labels, test.weight, prior, run.setting)


def _monitor(run: RunConfig, rows: Draw) -> Monitor:
    """Return the function that measures at a checkpoint."""
    held, known = rows.validation, facts(run, rows)
    parts = [torch.from_numpy(x) for x in (held.positive, held.unlabeled, rows.test.rows)]

    def monitor(algorithm: Algorithm, step: int) -> dict[str, float]:
        if not algorithm.ready():
            return {}
        logits = torch.cat([algorithm.decision(x.to(algorithm.device)) for x in parts])
        return measure(probabilities(logits).cpu().numpy(), step, known)

    return monitor


def columns(history: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Return the history as columns, with None where a value is not finite or was not measured.

    Values are rounded to seven digits, which is enough for any table and halves the size.
    """

    def kept(value: float | None) -> float | None:
        return None if value is None or not np.isfinite(value) else float(f"{value:.7g}")

    names = dict.fromkeys(name for entry in history for name in entry)
    return {name: [kept(entry.get(name)) for entry in history] for name in names}


def versions_used() -> dict[str, str]:
    """Return the versions of Python and the packages that a run depends on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def of(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:  # Run from its source folder.
            return "not installed"

    packages = {name: of(name) for name in ("noneg", "numpy", "scipy", "torch")}
    return {"python": platform.python_version(), **packages}
