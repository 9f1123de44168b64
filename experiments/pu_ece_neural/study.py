"""Calibration of networks trained without negatives: Figures 1 to 5 of the PU-ECE paper.

``train`` trains the networks that are missing in the folder of logits (``--logits``, minutes on a
GPU), with the data in NONEG_DATA; ``measure`` uses all available logits. Both resume where they
stopped.
"""

import argparse
import json
from operator import itemgetter
from pathlib import Path

from experiments.drawing import style
from experiments.pu_ece_neural import measures
from experiments.pu_ece_neural.measures import Model, load, save
from experiments.pu_ece_neural.mixtures import measure_mixture, mixture_world, predicted_rows
from experiments.study import BUILD, Run, Study, command, versions
from experiments.synthetic.pu_ece import SIZES
from experiments.tables import Row, merged, read, write

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


def measure_files(run: Run, folder: Path) -> list[Model]:
    """Measure every file of logits that has no table yet, and return the models of all files."""
    models = []
    for path in sorted(folder.glob("*-P*.npz")):
        found, how = load(path)
        models += found
        table = folder / "measured" / f"{path.stem}.csv"
        if not table.exists():
            write(table, run.map(measures.measure, [{"model": m} for m in found]), run.digits)
            table.with_suffix(".json").write_text(json.dumps(how))
    return models


def gather(run: Run, measured: Path) -> list[Row]:
    """Return the stored rows with those of the measured files, and record how they were made."""
    note, rows, made = run.out / "made.json", [], {}
    if note.exists():
        for entry in json.loads(note.read_text())["training"]:
            count = entry.pop("classifiers")
            made[json.dumps(entry)] = count
    counts: dict[str, int] = {}
    for table in sorted(measured.glob("*.csv")):
        found, how = read(table), table.with_suffix(".json").read_text()
        counts[how] = counts.get(how, 0) + len(found)
        rows += found
    training = [{"classifiers": n} | json.loads(how) for how, n in (made | counts).items()]
    analysis = {"command": command()} | {k.lower(): v for k, v in versions().items()}
    text = json.dumps({"training": training, "analysis": analysis}, indent=1)
    note.write_text(text + "\n")
    place = ("data", "name", "n", "trial")
    return sorted(
        merged(run.out / "models.csv", rows, *place, digits=run.digits), key=itemgetter(*place)
    )


def measure(run: Run) -> dict[str, list[Row]]:
    """Measure all logits; without those of the first trials, only add rows to the stored tables."""
    kept = logits(run) / "measured"
    kept.mkdir(exist_ok=True)
    models = measure_files(run, logits(run))
    rows = gather(run, kept)
    found = {
        "models": rows,
        "summary": measures.summary_rows(rows),
        "ordering": measures.ordering_rows(rows),
    }
    first = shown([model for model in models if model.trial == 0])
    return found | (mixed_tables(run, kept, first) if first else {})


def mixed_tables(run: Run, kept: Path, first: dict[str, Model]) -> dict[str, list[Row]]:
    """Return the tables about the first trial of each classifier."""
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    for name, model in first.items():
        folder = kept / name.replace(", ", "-")
        if model.name not in MIXED[model.data]:
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
