"""The PU benchmark paper's study, with calibration.

It can be stopped at any time; the same command resumes where it stopped. ``--only dataset=usps
case=1 rate=0.3`` trains some of the runs. The page and its tables are generated only from the
records.
"""

import argparse
from pathlib import Path

from experiments.study import BUILD, Run, Study
from experiments.training import plan


def kept(runs: list, rules: list[str]) -> list:
    """Return the runs that match every rule, such as ``given_prior=0.35,0.7``."""
    split = [rule.partition("=") for rule in rules]
    return [
        run
        for run in runs
        if all(str(getattr(run, name)) in values.split(",") for name, _, values in split)
    ]


def folder(run: Run, name: str = "pu_benchmark") -> Path:
    return (run.options.records or BUILD / name) / run.pick("full", "quick-records")


def train(run: Run, runs: list, folder: Path, **options: object) -> None:
    """Train the runs that have no record yet."""
    from noneg.lab.bench.engine import run_all

    asked, left = run.options, 60 * run.options.minutes
    options |= {
        "jobs": asked.processes,
        "device": asked.device,
        "population": asked.population,
    }
    options["seconds"] = left if left < float("inf") else None
    options["tell"] = lambda done, failed, total: run.say(done, "done,", failed, "failed of", total)
    run.say(run_all(runs, folder, **options))


def tables(run: Run) -> None:
    train_some(run, plan.tables(quick=run.quick))


def images(run: Run) -> None:
    train_some(run, plan.images(quick=run.quick))


def train_some(run: Run, runs: list) -> None:
    precision = "bfloat16" if run.options.device.startswith("cuda") else "float32"
    train(run, kept(runs, run.options.only), folder(run), precision=precision)


def records(run: Run) -> None:
    """Add the trained runs to the stored records."""
    from experiments.training.selections import collect

    collect(folder(run), run.out)


def common_arguments(parser: argparse.ArgumentParser, population: int | None = None) -> None:
    parser.add_argument("--device", default="cpu", help="of torch")
    parser.add_argument("--records", type=Path, help="folder of records")
    parser.add_argument("--population", type=int, default=population, help="runs to train at once")


def arguments(parser: argparse.ArgumentParser) -> None:
    common_arguments(parser)
    add = parser.add_argument
    add("--only", nargs="*", default=[], metavar="FIELD=VALUE,...", help="runs with these values")


STUDY = Study(
    "pu_benchmark",
    parts=(tables, images, records),
    page="experiments.training.benchmark_page",
    style={"savefig.dpi": 110},
    named=("images",),
    arguments=arguments,
)
