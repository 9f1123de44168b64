"""Figures and tables of the page, from the stored tables."""

import json
from functools import partial

import numpy as np
from matplotlib import pyplot as plt

from experiments.drawing import BLUE, ORANGE, SKY, VERMILION, panels, shared_legend
from experiments.pu_ece_neural.measures import CALIBRATORS, NAMES
from experiments.study import HERE
from experiments.synthetic import bias_page
from experiments.tables import Row, Tables, column, distinct, grid, pick, table, with_error

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
TITLES = {"": "as trained", "_platt": "Platt", "_isotonic": "isotonic", "_auto": "Auto"}
SUFFIXES = ("", *(f"_{c}" for c in CALIBRATORS))
USABLE = 0.02  # probabilities that are off by two points on average
TOLERANCE = 0.08  # of a slope beside the synthetic one
CLASSES = (("negative", BLUE), ("positive", VERMILION))


def errors_panel(ax: plt.Axes, tables: Tables, name: str) -> None:
    for classifier, look in LOOKS.items():
        own = pick(tables("summary"), data="mnist", name=classifier)
        n, mean, error = (column(own, c) for c in ("n", name, f"{name}_se"))
        ax.fill_between(n, mean - error, mean + error, color=look["color"], alpha=0.2, lw=0)
        ax.plot(n, mean, **look, ms=6, lw=2, label=classifier)
    ax.set(xscale="log", yscale="log", xlabel="labelled images (for PU: positives)")


def draw_figure1(tables: Tables) -> plt.Figure:
    figure, ax = panels(size=(8, 5.6), shade="0.88")
    errors_panel(ax, tables, "ece")
    ax.set_ylabel("ECE on test images (log scale)")
    ax.set_title("MNIST, digits 5 to 9 positive; bands: standard error")
    shared_legend(figure, ax, 4)
    return figure


def draw_recalibration(tables: Tables) -> plt.Figure:
    figure, axes = panels(1, 4, size=(15, 5.4), shade="0.88", sharex=True, sharey=True)
    for ax, suffix in zip(axes, SUFFIXES, strict=True):
        errors_panel(ax, tables, f"ece{suffix}")
        ax.set(title=TITLES[suffix], xlabel="labelled images")
    axes[0].set_ylabel("ECE on test images (log scale)")
    shared_legend(figure, axes[0], 8)
    return figure


def stairs(rows: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    return column(rows, "count"), np.append(column(rows[:1], "left"), column(rows, "right"))


def histograms(tables: Tables, kind: str) -> plt.Figure:
    figure, axes = panels(2, 4, size=(16, 7.2), shade=None)
    for ax, name in zip(axes.flat, NAMES, strict=True):
        own = pick(tables("histograms"), world=f"MNIST, {name}", kind=kind)
        for label, colour in CLASSES:
            found = stairs(pick(own, **{"class": label}))
            ax.stairs(*found, fill=True, color=colour, alpha=0.45, label=f"{label} class")
            ax.stairs(*found, color=colour, lw=1.2)
        ax.set(title=name, xlabel=kind, ylabel="test images")
        if kind == "score":
            ax.set(yscale="log", ylabel="test images (log scale)", ylim=(0.8, 8000))
    shared_legend(figure, axes[0, 0], 2)
    return figure


draw_figure2 = partial(histograms, kind="logit")
draw_figure3 = partial(histograms, kind="score")


def draw_mixtures(tables: Tables) -> plt.Figure:
    """Draw the mixtures over the logits they were fitted to."""
    worlds = distinct(tables("mixtures"), "world")
    columns = -(-len(worlds) // 2)
    figure, axes = panels(2, columns, size=(5 * columns, 8), shade=None)
    for ax in axes.flat[len(worlds) :]:
        ax.set_axis_off()
    for ax, world in zip(axes.flat, worlds, strict=False):
        for label, colour in CLASSES:
            keys = {"world": world, "class": label}
            count, edges = stairs(pick(tables("histograms"), kind="logit", **keys))
            density = count / count.sum() / np.diff(edges)
            ax.stairs(density, edges, fill=True, color=colour, alpha=0.35)
            law = pick(tables("mixtures"), **keys)
            w, m, s = (column(law, c) for c in ("weight", "mean", "sd"))
            x = np.linspace(*ax.get_xlim(), 500)
            heights = w / s / np.sqrt(2 * np.pi) * np.exp(-(((x[:, None] - m) / s) ** 2) / 2)
            look = {"color": colour, "lw": 1.8, "label": f"{label}, Gaussians: {len(law)}"}
            ax.plot(x, heights.sum(1), **look)
        ax.set(title=world, xlabel="logit", ylabel="density")
        ax.legend(fontsize=9)
    return figure


def two_worlds(tables: Tables) -> tuple[str, ...]:
    """Return the first two data sets with PU-sigmoid, or what there is."""
    worlds = distinct(tables("worlds"), "world")
    return tuple(sorted(worlds, key=lambda w: not w.endswith("PU-sigmoid"))[:2])


def draw_figure4(tables: Tables) -> plt.Figure:
    return bias_page.draw_figure4(tables, two_worlds(tables))


def draw_figure5(tables: Tables) -> plt.Figure:
    return bias_page.draw_figure5(tables, two_worlds(tables))


def synthetic_slopes() -> list[Row]:
    return Tables(HERE / "pu_ece")("slopes")


def draw_slopes(tables: Tables) -> plt.Figure:
    """Draw the slopes of Figure 4 as they were measured over those that noise in bins explains."""
    measured = pick(tables("slopes") + synthetic_slopes(), figure=4, n_low=100)
    figure, ax = panels(size=(7.4, 6.4))
    groups = {"synthetic": ("black", "*"), "CIFAR-10": (BLUE, "s"), "MNIST": (VERMILION, "o")}
    for group, (colour, mark) in groups.items():
        points = []
        for p in pick(tables("predicted"), figure=4):
            data, comma, _ = p["world"].partition(",")
            if (data if comma else "synthetic") == group:
                (m,) = pick(measured, world=p["world"], setting=p["setting"])
                points.append([p["slope"], m["slope"], m["standard_error"]])
        look = {"color": colour, "marker": mark, "ms": 11 if mark == "*" else 6, "ls": "none"}
        points = np.array(points).reshape(-1, 3).T
        ax.errorbar(*points, **look, capsize=2, lw=1, label=group)
    ax.axline((-0.4, -0.4), slope=1, color="0.4", lw=1, label="as expected")
    ax.axhline(-1 / 3, color="0.4", lw=1, ls=":", label="-1/3, the rate of the bound")
    ax.set(xlabel="slope expected from noise in bins", ylabel="slope measured (± standard error)")
    ax.set_title("Figure 4: log bias on log N, N from 100")
    ax.legend()
    return figure


def show_made(tables: Tables) -> str:
    found = json.loads((tables.folder / "made.json").read_text())
    line = "- {classifiers:,} classifiers, seeds from {seed}: {device}, Python {python}, torch "
    line += "{torch}, numpy {numpy}; `{command}`"
    analysis = found["analysis"]
    packages = ", ".join(f"{k} {v}" for k, v in analysis.items() if k != "command")
    last = f"- measured with {packages}; `{analysis['command']}`"
    return "\n".join([*(line.format_map(t) for t in found["training"]), last])


def show_figure1(tables: Tables) -> str:
    rows = pick(tables("summary"), data="mnist")
    lines = []
    for name in NAMES:
        own = pick(rows, name=name)
        lines.append([name, own[0]["trials"], *(with_error(r["ece"], r["ece_se"]) for r in own)])
    return table(["classifier", "trials", *(f"n = {n:,}" for n in distinct(rows, "n"))], lines)


def show_ordering(tables: Tables) -> str:
    head = "data | n | claim | difference (95 % interval) | trials | so in | verdict"
    line = "{data} | {n:,} | {smaller} < {larger} | {difference:+.4f} ({low:+.4f}, {high:+.4f}) | "
    line += "{trials} | {percent:.0f} % | {verdict}"
    rows = pick(tables("ordering"), error="ece")
    return grid(head, line, [r | {"percent": 100 * r["share_of_trials"]} for r in rows])


def largest(tables: Tables) -> list[Row]:
    """Return the rows of each data set with the most labelled images."""
    rows = tables("summary")
    return [r for r in rows if r["n"] == max(o["n"] for o in pick(rows, data=r["data"]))]


def show_logits(tables: Tables) -> str:
    head = (
        "data | n | classifier | accuracy % | AUC % | median logit of positives | their quartile "
    )
    head += "range | median logit of negatives | scores within .01 of 0 or 1 % | epoch kept"
    line = "{data} | {n:,} | {name} | {accuracy:.1f} | {auc:.1f} | {positive_median:.1f} | "
    line += "{positive_iqr:.1f} | {negative_median:.1f} | {extreme:.1f} | {epoch:.0f}"
    shares = ("accuracy", "auc", "extreme")
    return grid(head, line, [r | {c: 100 * r[c] for c in shares} for r in largest(tables)])


def show_recalibration(tables: Tables) -> str:
    lines = []
    for r in tables("summary"):
        cells = [with_error(r[f"ece{s}"], r[f"ece{s}_se"]) for s in SUFFIXES]
        named = [r["data"], f"{r['n']:,}", r["name"], r["trials"]]
        lines.append([*named, *cells, f"{r['ece_if_calibrated']:.4f}"])
    head = "data | n | classifier | trials | ECE | Platt | isotonic | Auto | if calibrated"
    return table(head, lines)


def show_usable(tables: Tables) -> str:
    """The smallest mean error of each classifier and size over treatments, and which it was."""
    rows, lines = pick(tables("summary"), data="mnist"), []
    for name in NAMES:
        cells = []
        for r in pick(rows, name=name):
            errors = {s: r[f"ece{s}"] for s in SUFFIXES if not np.isnan(r[f"ece{s}"])}
            best = min(errors, key=errors.get)
            text = f"{errors[best]:.3f} {TITLES[best]}"
            cells.append(f"**{text}**" if errors[best] <= USABLE else text)
        lines.append([name, *cells])
    return table(["classifier", *(f"n = {n:,}" for n in distinct(rows, "n"))], lines)


def show_proper(tables: Tables) -> str:
    """Brier score and log loss: they ask for sharp probabilities too."""
    head = (
        "data | n | classifier | Brier | Platt | isotonic | Auto | log loss | Platt | isotonic | "
    )
    line = ["{data} | {n:,} | {name}", *(f"{{brier{s}:.4f}}" for s in SUFFIXES)]
    line += [f"{{log_loss{s}:.3f}}" for s in SUFFIXES]
    return grid(head + "Auto", " | ".join(line), largest(tables))


def show_pu_ece(tables: Tables) -> str:
    lines = []
    for data in ("mnist", "cifar10"):
        for name in NAMES:
            if part := pick(tables("models"), data=data, name=name):
                found, true = column(part, "pu_ece"), column(part, "ece")
                gap = np.abs(found - true)
                cells = [f"{v:.4f}" for v in (true.mean(), found.mean(), gap.mean(), gap.max())]
                lines.append([data, name, len(part), *cells])
    head = "data | classifier | models | mean ECE | mean PU-ECE | mean absolute difference"
    return table(f"{head} | largest", lines)


def show_mixtures(tables: Tables) -> str:
    lines = []
    for world in tables("worlds"):
        own = pick(tables("mixtures"), world=world["world"])
        numbers = [len(pick(own, **{"class": label})) for label in ("positive", "negative")]
        true = [f"{world['tce']:.4f}", f"{world['lipschitz']:.3g}"]
        lines.append([world["world"], own[0]["prior"], *numbers, *true])
    head = "mixture | prior | Gaussians, positives | negatives | TCE | L, logits to ±12"
    return table(head, lines)


def compared(tables: Tables) -> list[Row]:
    """Set each slope beside the nearer synthetic one, and beside the one that noise explains."""
    out = []
    for r in pick(tables("slopes"), n_low=100):
        keys = {"figure": r["figure"], "setting": r["setting"]}
        known, expected = (
            [s for s in pick(rows, **keys) if s["world"] in bias_page.SYNTHETIC]
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


def show_slopes(tables: Tables) -> str:
    """Slopes on mixtures beside those of the two synthetic classifiers, and beside theory."""
    rows = compared(tables)
    head = "figure | mixture | setting | slope from N = 100 | expected from noise in bins"
    head += f" | nearer synthetic slope | distance | within {TOLERANCE}"
    line = "{figure} | {world} | {setting} | {slope:.3f} ± {standard_error:.3f} | {expected:.3f} | "
    line += "{near:.3f} ({kind}) | {distance:.3f} ± {distance_se:.3f} | {within}"
    within = [r | {"within": "yes" if r["distance"] <= TOLERANCE else "no"} for r in rows]
    counts = "\n".join(f"- Figure {f}: {counted(pick(rows, figure=f))}" for f in (4, 5))
    return f"{grid(head, line, within)}\n\n{counts}"


def counted(rows: list[Row]) -> str:
    """Say how many slopes agree, how sure that is, and how many theory expects to differ."""
    far = [r for r in rows if r["distance"] > TOLERANCE]
    sure = [r for r in far if r["distance"] - 2.0 * r["distance_se"] > TOLERANCE]
    foreseen = [r for r in far if r["expected_distance"] > TOLERANCE]
    gaps = column(rows, "slope") - column(rows, "expected")
    near = int((np.abs(gaps) <= TOLERANCE).sum())
    return (
        f"**within {TOLERANCE} of a synthetic slope: {len(rows) - len(far)} of {len(rows)}.** Of "
        f"the other {len(far)}, by more than two standard errors beyond that: {len(sure)}; as "
        f"expected outside: {len(foreseen)}. Within {TOLERANCE} of the slope expected from noise: "
        f"{near} of {len(rows)} (root mean square {np.sqrt((gaps**2).mean()):.3f})."
    )


def show_floors(tables: Tables) -> str:
    head = "mixture | n_P | bias at the largest n_U | floor, n_U infinite"
    return grid(head, bias_page.FLOOR, tables("floors"))
