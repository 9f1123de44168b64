"""Calibration of networks trained without negatives: Figures 1 to 5 of the PU-ECE paper.

``train`` trains the networks that are missing in the folder of logits (``--logits``, minutes on a
GPU), with the data in NONEG_DATA; ``measure`` measures those that have no row yet. Both resume
where they stopped.
"""

import argparse
import json
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import BLUE, ORANGE, SKY, VERMILION, panels, shared_legend, style
from experiments.pu_ece_neural import measures
from experiments.pu_ece_neural.measures import CALIBRATORS, NAMES, Model, load, save
from experiments.study import BUILD, HERE, Run, Study, command, versions
from experiments.synthetic import pu_ece as bias
from experiments.tables import Row, Tables, column, distinct, pick, read, write

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

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    asked, plans = run.options, run.pick(networks.PLANS, networks.QUICK)
    clock = networks.Clock(run.started + 60 * asked.minutes, logits(run))
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
            except networks.OutOfTime:
                run.say(label, "is out of time, and kept")
                return
            run.say(label)


def shown(models: list[Model]) -> dict[str, Model]:
    """Return the first trial of each classifier at its largest size."""
    found: dict[str, Model] = {}
    for model in sorted(models, key=lambda m: (-m.n, m.trial)):
        found.setdefault(f"{TITLES[model.data]}, {model.name}", model)
    return found


def measure(run: Run) -> dict[str, list[Row]]:
    """Measure the logits that have no row yet; without those of the first trials, only add rows to
    the stored tables."""
    path, place, models = run.out / "models.csv", itemgetter("data", "name", "n", "trial"), []
    rows = read(path) if path.exists() else []
    known = {place(row) for row in rows}
    for file in sorted(logits(run).glob("*-P*.npz")):
        found, how = load(file)
        models += found
        if new := [model for model in found if place(vars(model)) not in known]:
            rows += run.map(measures.measure, [{"model": model} for model in new])
            rows.sort(key=place)
            write(path, rows, run.digits)
            record(run.out / "made.json", how, len(new))
    tables = {"summary": measures.summary_rows(rows), "ordering": measures.ordering_rows(rows)}
    first = shown([model for model in models if model.trial == 0])
    return tables | (mixed_tables(run, first) if first else {})


def record(path: Path, how: dict[str, object], classifiers: int) -> None:
    """Add to the stored description how classifiers were trained, and how all were measured."""
    made = json.loads(path.read_text()) if path.exists() else {"training": []}
    for entry in made["training"]:
        if entry == {"classifiers": entry["classifiers"]} | how:
            entry["classifiers"] += classifiers
            break
    else:
        made["training"].append({"classifiers": classifiers} | how)
    made["analysis"] = {"command": command()} | {k.lower(): v for k, v in versions().items()}
    path.write_text(json.dumps(made, indent=1) + "\n")


def mixed_tables(run: Run, first: dict[str, Model]) -> dict[str, list[Row]]:
    """Return the tables about the first trial of each classifier."""
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    for name, model in first.items():
        if model.name in MIXED[model.data]:
            size = run.pick((bias.SIZES, 100), (bias.SIZES[::4], 10))
            found = measures.measure_mixture(run, name, measures.mixture_world(model), *size)
            for table, kept in tables.items():
                kept.extend(found[table])
    return tables | {
        "histograms": measures.histogram_rows(first),
        "predicted": measures.predicted_rows(tables["mixtures"], bias.SIZES),
    }


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--logits", type=Path, help="folder of trained logits")
    add("--data", nargs="+", choices=TRIALS, default=list(TRIALS), help="train on these")
    add("--first", type=int, default=0, help="number of the first trial")
    add("--block", type=int, default=10, help="trials trained together")


LOOKS = {
    "PN-logistic": {"color": BLUE, "marker": "o", "ls": "-"},
    "PN-sigmoid": {"color": SKY, "marker": "s", "ls": "-"},
    "PU-sigmoid": {"color": ORANGE, "marker": "^", "ls": "-"},
    "PU-logistic": {"color": VERMILION, "marker": "D", "ls": "-"},
    "PU-mixed-sigmoid": {"color": ORANGE, "marker": "v", "ls": ":"},
    "PU-mixed-logistic": {"color": VERMILION, "marker": "X", "ls": ":"},
    "PU-GA-sigmoid": {"color": ORANGE, "marker": "^", "ls": "--", "mfc": "white"},
    "PU-GA-logistic": {"color": VERMILION, "marker": "D", "ls": "--", "mfc": "white"},
}
TREATMENTS = {"": "as trained", "_platt": "Platt", "_isotonic": "isotonic", "_auto": "Auto"}
SUFFIXES = ("", *(f"_{c}" for c in CALIBRATORS))
USABLE = 0.02  # probabilities that are off by two points on average
TOLERANCE = 0.08  # tolerance for a slope, compared with the synthetic one
LABEL = "ECE on test images (log scale)"
CLASSES = (("negative", BLUE), ("positive", VERMILION))


def errors_panel(ax: plt.Axes, tables: Tables, name: str) -> None:
    for classifier, look in LOOKS.items():
        own = pick(tables("summary"), data="mnist", name=classifier)
        n, mean, error = (column(own, c) for c in ("n", name, f"{name}_se"))
        ax.fill_between(n, mean - error, mean + error, color=look["color"], alpha=0.2, lw=0)
        ax.plot(n, mean, **look, ms=6, lw=2, label=classifier)
    ax.set(xscale="log", yscale="log")


def draw_figure1(tables: Tables) -> plt.Figure:
    title = "MNIST, digits 5 to 9 positive; bands: standard error"
    labels = {"titles": [title], "x": "labeled images (for PU: positives)", "y": LABEL}
    figure, ax = panels(size=(8, 5.6), shade="0.88", **labels)
    errors_panel(ax, tables, "ece")
    shared_legend(figure, ax, 4)
    return figure


def draw_recalibration(tables: Tables) -> plt.Figure:
    shared = {"shade": "0.88", "sharex": True, "sharey": True, "y": LABEL}
    titles = [TREATMENTS[suffix] for suffix in SUFFIXES]
    figure, axes = panels(1, 4, size=(15, 5.4), titles=titles, x="labeled images", **shared)
    for ax, suffix in zip(axes, SUFFIXES, strict=True):
        errors_panel(ax, tables, f"ece{suffix}")
    shared_legend(figure, axes[0], 8)
    return figure


def stairs(rows: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    return column(rows, "count"), np.append(column(rows[:1], "left"), column(rows, "right"))


def histograms(tables: Tables, kind: str) -> plt.Figure:
    figure, axes = panels(2, 4, size=(16, 7.2), shade=None)
    for ax, name in zip(axes.flat, NAMES, strict=True):
        own = pick(tables("histograms"), world=f"MNIST, {name}", kind=kind)
        for label, color in CLASSES:
            found = stairs(pick(own, **{"class": label}))
            ax.stairs(*found, fill=True, color=color, alpha=0.45, label=f"{label} class")
            ax.stairs(*found, color=color, lw=1.2)
        ax.set(title=name, xlabel=kind, ylabel="test images")
        if kind == "score":
            ax.set(yscale="log", ylabel="test images (log scale)", ylim=(0.8, 8000))
    shared_legend(figure, axes[0, 0], 2)
    return figure


draw_figure2 = partial(histograms, kind="logit")
draw_figure3 = partial(histograms, kind="score")


def draw_mixtures(tables: Tables) -> plt.Figure:
    """Draw the mixtures over the logits to which they were fitted."""
    worlds = distinct(tables("mixtures"), "world")
    columns = -(-len(worlds) // 2)
    figure, axes = panels(2, columns, size=(5 * columns, 8), shade=None)
    for ax in axes.flat[len(worlds) :]:
        ax.set_axis_off()
    for ax, world in zip(axes.flat, worlds, strict=False):
        for label, color in CLASSES:
            keys = {"world": world, "class": label}
            count, edges = stairs(pick(tables("histograms"), kind="logit", **keys))
            density = count / count.sum() / np.diff(edges)
            ax.stairs(density, edges, fill=True, color=color, alpha=0.35)
            law = pick(tables("mixtures"), **keys)
            w, m, s = (column(law, c) for c in ("weight", "mean", "sd"))
            x = np.linspace(*ax.get_xlim(), 500)
            heights = w / s / np.sqrt(2 * np.pi) * np.exp(-(((x[:, None] - m) / s) ** 2) / 2)
            look = {"color": color, "lw": 1.8, "label": f"{label}, Gaussians: {len(law)}"}
            ax.plot(x, heights.sum(1), **look)
        ax.set(title=world, xlabel="logit", ylabel="density")
        ax.legend(fontsize=9)
    return figure


def two_worlds(tables: Tables) -> tuple[str, ...]:
    """Return the first two data sets with PU-sigmoid, or whatever is available."""
    worlds = distinct(tables("worlds"), "world")
    return tuple(sorted(worlds, key=lambda w: not w.endswith("PU-sigmoid"))[:2])


def draw_figure4(tables: Tables) -> plt.Figure:
    return bias.draw_figure4(tables, two_worlds(tables))


def draw_figure5(tables: Tables) -> plt.Figure:
    return bias.draw_figure5(tables, two_worlds(tables))


def synthetic_slopes() -> list[Row]:
    return Tables(HERE / "pu_ece")("slopes")


def draw_slopes(tables: Tables) -> plt.Figure:
    """Plot the measured slopes in Figure 4 against those explained by noise in bins."""
    measured = pick(tables("slopes") + synthetic_slopes(), figure=4, n_low=100)
    figure, ax = panels(size=(7.4, 6.4))
    groups = {"synthetic": ("black", "*"), "CIFAR-10": (BLUE, "s"), "MNIST": (VERMILION, "o")}
    for group, (color, mark) in groups.items():
        points = []
        for p in pick(tables("predicted"), figure=4):
            data, comma, _ = p["world"].partition(",")
            if (data if comma else "synthetic") == group:
                (m,) = pick(measured, world=p["world"], setting=p["setting"])
                points.append([p["slope"], m["slope"], m["standard_error"]])
        look = {"color": color, "marker": mark, "ms": 11 if mark == "*" else 6, "ls": "none"}
        points = np.array(points).reshape(-1, 3).T
        ax.errorbar(*points, **look, capsize=2, lw=1, label=group)
    ax.axline((-0.4, -0.4), slope=1, color="0.4", lw=1, label="as expected")
    ax.axhline(-1 / 3, color="0.4", lw=1, ls=":", label="-1/3, the rate of the bound")
    ax.set(xlabel="slope expected from noise in bins", ylabel="slope measured (± standard error)")
    ax.set_title("Figure 4: log bias on log N, N from 100")
    ax.legend()
    return figure


def made(tables: Tables) -> dict:
    return json.loads((tables.folder / "made.json").read_text(encoding="utf-8"))


def largest(tables: Tables) -> list[Row]:
    """Return the rows for each data set with the most labeled images."""
    rows = tables("summary")
    return [r for r in rows if r["n"] == max(o["n"] for o in pick(rows, data=r["data"]))]


def best(row: Row) -> tuple[float, str]:
    """Return the smallest mean error over treatments, and the treatment."""
    errors = {s: row[f"ece{s}"] for s in SUFFIXES if not np.isnan(row[f"ece{s}"])}
    suffix = min(errors, key=errors.get)
    return errors[suffix], TREATMENTS[suffix]


def compared(tables: Tables) -> list[Row]:
    """Compare each slope with the nearer synthetic one, and with the one explained by noise."""
    out = []
    for r in pick(tables("slopes"), n_low=100):
        keys = {"figure": r["figure"], "setting": r["setting"]}
        known, expected = (
            [s for s in pick(rows, **keys) if s["world"] in bias.SYNTHETIC]
            for rows in (pick(synthetic_slopes(), n_low=100), tables("predicted"))
        )
        near = min(known, key=lambda s, slope=r["slope"]: abs(s["slope"] - slope))
        (own,) = pick(tables("predicted"), world=r["world"], **keys)
        out.append(
            r
            | {"expected": own["slope"], "near": near["slope"], "kind": near["world"].split()[0]}
            | {"distance": abs(r["slope"] - near["slope"])}
            | {"distance_se": float(np.hypot(r["standard_error"], near["standard_error"]))}
            | {"expected_distance": min(abs(p["slope"] - own["slope"]) for p in expected)}
        )
    return out


def counted(rows: list[Row]) -> Row:
    """Count how many slopes agree, how certain this is, and how many theory predicts to differ."""
    far = [r for r in rows if r["distance"] > TOLERANCE]
    sure = [r for r in far if r["distance"] - 2.0 * r["distance_se"] > TOLERANCE]
    foreseen = [r for r in far if r["expected_distance"] > TOLERANCE]
    gaps = column(rows, "slope") - column(rows, "expected")
    near = int((np.abs(gaps) <= TOLERANCE).sum())
    counts = {"all": len(rows), "far": len(far), "sure": len(sure), "foreseen": len(foreseen)}
    return counts | {"near": near, "rms": np.sqrt((gaps**2).mean())}


STUDY = Study(
    "pu_ece_neural",
    parts=(train, measure),
    style=style(),
    arguments=arguments,
    digits=5,
)
