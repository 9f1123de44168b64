"""Calibration of networks trained without negatives: Figures 1 to 5 of the PU-ECE paper.

``train`` trains the networks that are missing in the folder of logits (``--logits``, minutes on a
GPU), with the data in NONEG_DATA; ``measure`` uses all available logits. Both resume where they
stopped.
"""

import argparse
import json
from pathlib import Path

from experiments.drawing import style
from experiments.pu_ece_neural import measures
from experiments.pu_ece_neural.measures import Model, load, save
from experiments.pu_ece_neural.mixtures import measure_mixture, mixture_world, predicted_rows
from experiments.study import BUILD, Run, Study, command, versions
from experiments.synthetic.pu_ece import SIZES
from experiments.tables import Row, read, write

TRIALS, QUICK_TRIALS = {"mnist": 100, "cifar": 3}, {"mnist": 2, "cifar": 1}
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
# The paper does not state which of these it used.
MIXED = {
    "mnist": ("PU-sigmoid", "PU-logistic", "PU-GA-sigmoid", "PU-GA-logistic"),
    "cifar10": ("PU-sigmoid", "PU-logistic"),
}
TABLES = ("figure4", "figure5", "slopes", "floors", "mixtures", "worlds")


def logits(run: Run) -> Path:
    folder = run.options.logits or BUILD / "pu_ece_neural" / run.pick("full", "quick")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def train(run: Run) -> None:
    import torch

    from experiments.pu_ece_neural import networks
    from experiments.pu_ece_neural.ensemble import Clock, OutOfTime

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    asked, plans = run.options, run.pick(networks.PLANS, networks.QUICK)
    clock = Clock(run.started + 60 * asked.minutes, logits(run))
    for name in asked.data:
        trials = run.trials(TRIALS[name], QUICK_TRIALS[name])
        images = networks.images(name, plans[name], device)
        place = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
        made = {"command": command(), "seed": asked.first, "device": place}
        made |= {k.lower(): v for k, v in versions().items()}
        parts = {"mnist": networks.mnist_parts, "cifar": networks.cifar_parts}[name]
        every = range(asked.first, asked.first + trials)
        for label, work in parts(images, plans[name], every, asked.block):
            path = clock.folder / f"{label}.npz"
            if path.exists():
                continue
            try:
                save(path, work(clock), made)
            except OutOfTime:
                run.say(label, "is out of time, and kept")
                return
            run.say(label)


def shown(models: list[Model]) -> dict[str, Model]:
    """Return the first trial of each classifier at its largest size."""
    found: dict[str, Model] = {}
    for model in sorted(models, key=lambda m: (-m.n, m.trial)):
        found.setdefault(f"{TITLES[model.data]}, {model.name}", model)
    return found


def measure_files(run: Run, paths: list[Path], kept: Path) -> tuple[list[Model], list[Row]]:
    """Return all models and their rows; results from a file are cached, with how it was created."""
    models, rows, made = [], [], {}
    for path in paths:
        found, how = load(path)
        models += found
        made[json.dumps(how)] = made.get(json.dumps(how), 0) + len(found)
        table = kept / f"{path.stem}.csv"
        if not table.exists():
            write(table, run.map(measures.measure, [{"model": m} for m in found]), run.digits)
        rows += read(table)
    training = [{"classifiers": count} | json.loads(how) for how, count in made.items()]
    analysis = {"command": command()} | {k.lower(): v for k, v in versions().items()}
    text = json.dumps({"training": training, "analysis": analysis}, indent=1)
    (run.out / "made.json").write_text(text + "\n")
    return models, sorted(rows, key=lambda r: (r["data"], r["name"], r["n"], r["trial"]))


def measure(run: Run) -> dict[str, list[Row]]:
    kept = logits(run) / "measured"
    kept.mkdir(exist_ok=True)
    models, rows = measure_files(run, sorted(logits(run).glob("*-P*.npz")), kept)
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    for name, model in (first := shown(models)).items():
        folder = kept / name.replace(", ", "-")
        if model.name not in MIXED[model.data] or model.trial != 0:
            continue
        if not folder.exists():
            size = run.pick((SIZES, 100), (SIZES[::4], 10))
            found = measure_mixture(run, name, mixture_world(model), *size)
            folder.mkdir()
            for table in TABLES:
                write(folder / f"{table}.csv", found[table])
        for table in TABLES:
            tables[table] += read(folder / f"{table}.csv")
    return tables | {
        "models": rows,
        "summary": measures.summary_rows(rows),
        "ordering": measures.ordering_rows(rows),
        "histograms": measures.histogram_rows(first),
        "predicted": predicted_rows(tables["mixtures"], SIZES),
    }


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--logits", type=Path, help="folder of trained logits")
    add("--data", nargs="+", choices=TRIALS, default=list(TRIALS), help="train on these")
    add("--first", type=int, default=0, help="number of the first trial")
    add("--block", type=int, default=10, help="trials trained together")


STUDY = Study(
    "pu_ece_neural",
    parts=(train, measure),
    page="experiments.pu_ece_neural.page",
    style=style(),
    arguments=arguments,
    digits=5,
)
