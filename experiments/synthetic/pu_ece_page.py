"""Figures and tables for the bias of PU-ECE, in synthetic populations and for trained
classifiers."""

from matplotlib import pyplot as plt

from experiments.drawing import (
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    legend_below,
    line,
    panels,
    shared_legend,
)
from experiments.synthetic.pu_ece import LIMIT, SYNTHETIC
from experiments.tables import Row, Tables, column, pick

STYLES = {
    4: {
        LIMIT: (BLUE, "o", r"PU-ECE, $n_P=N,\ n_U=\infty$"),
        "n_P = inf, n_U = N": (ORANGE, "s", r"PU-ECE, $n_P=\infty,\ n_U=N$"),
        "n_P = N, n_U = 10 N": (GREEN, "^", r"PU-ECE, $n_P=N,\ n_U=10N$"),
        "labeled, n = N": (VERMILION, "D", r"labeled ECE, $n=N$"),
    },
    5: {
        "n_P = 100, n_U = N": (ORANGE, "s", r"$n_P=100,\ n_U=N$"),
        "n_P = 1000, n_U = N": (GREEN, "^", r"$n_P=1{,}000,\ n_U=N$"),
        "n_P = 10000, n_U = N": (VERMILION, "D", r"$n_P=10{,}000,\ n_U=N$"),
        LIMIT: (BLUE, "o", r"$n_P=N,\ n_U=\infty$"),
    },
}
OUTLINE = {"lw": 0.9, "ls": (0, (2, 1))}
MEAN = ("mean of trials", {"color": "0.25", "marker": "o", "ms": 5, "lw": 2})
BAND = ("90% of trials", {"color": "0.82", "lw": 9})
GUIDE = (r"$N^{-1/3}$ from first point", {"color": "black", "ls": ":", "lw": 1.8})


def add_curve(ax: plt.Axes, rows: list[Row], look: tuple[str, str, str], *, band: bool) -> None:
    """Draw a curve with a band for 90% of its trials, as an outline if it shares a panel."""
    n, ends = column(rows, "n"), [column(rows, end) for end in ("low", "high")]
    if band:
        ax.fill_between(n, *ends, color=look[0], alpha=0.2, lw=0)
    else:
        for end in ends:
            ax.plot(n, end, color=look[0], **OUTLINE)
    line(ax, rows, "n", "bias", color=look[0], marker=look[1], ms=5, lw=2)


def add_guide(ax: plt.Axes, rows: list[Row]) -> None:
    """Draw the theoretical rate, starting from the first measured point."""
    n = column(rows, "n")
    ax.plot(n, rows[0]["bias"] * (n / n[0]) ** (-1 / 3), **GUIDE[1])


def grid_of_panels(worlds: tuple[str, str], number: int, columns: int, width: float, high: float):
    titles = [look[2] for look in STYLES[number].values()]
    labels = {"x": "$N$ (log scale)", "y": [f"{w}\n|ECE $-$ TCE| (log scale)" for w in worlds]}
    options = {"shade": "0.88", "sharex": True, "sharey": True, "titles": titles} | labels
    figure, axes = panels(2, columns, size=(width, 8.2), **options)
    for ax in axes.flat:
        ax.set(xscale="log", yscale="log", xlim=(8.5, 11_800), ylim=(2e-4, high))
    return figure, axes


def draw_figure4(tables: Tables, worlds: tuple[str, str] = SYNTHETIC) -> plt.Figure:
    figure, axes = grid_of_panels(worlds, 4, 4, 14, 9)
    for row, world in zip(axes, worlds, strict=True):
        for ax, setting in zip(row, STYLES[4], strict=True):
            setting_panel(ax, pick(tables("figure4"), world=world), setting)
            fits = pick(tables("slopes"), figure=4, world=world, setting=setting, n_low=100)
            text = r"slope ${slope:.2f} \pm {standard_error:.2f}$, $N \geq 100$"
            ax.text(11, 2.8e-4, text.format_map(fits[0]))
    bound = ("bound on the mean", {"color": "0.25", "ls": "--", "lw": 1.5})
    others = ("the other settings", {"color": "0.7", "lw": 1})
    legend_below(figure, MEAN, BAND, bound, GUIDE, others)
    return figure


def setting_panel(ax: plt.Axes, rows: list[Row], setting: str) -> None:
    """Draw one panel of Figure 4, with the other settings in gray behind it."""
    for other in STYLES[4]:
        line(ax, pick(rows, setting=other), "n", "bias", color="0.7", lw=1)
    curve, look = pick(rows, setting=setting), STYLES[4][setting]
    add_curve(ax, curve, look, band=True)
    line(ax, curve, "n", "bound", color=look[0], ls="--", lw=1.5)
    add_guide(ax, curve)


def draw_figure5(tables: Tables, worlds: tuple[str, str] = SYNTHETIC) -> plt.Figure:
    figure, axes = grid_of_panels(worlds, 5, 3, 13, 0.6)
    for row, world in zip(axes, worlds, strict=True):
        for ax, floor in zip(row, pick(tables("floors"), world=world), strict=True):
            setting = f"n_P = {floor['n_positive']}, n_U = N"
            curve, reference = (
                pick(tables("figure5"), world=world, setting=s) for s in (setting, LIMIT)
            )
            add_curve(ax, reference, STYLES[5][LIMIT], band=False)
            add_curve(ax, curve, STYLES[5][setting], band=True)
            ax.axhline(floor["floor"], color=STYLES[5][setting][0], ls="--", lw=1.5)
            add_guide(ax, reference)
    blue = (STYLES[5][LIMIT][2], {"color": BLUE, "marker": "o", "ms": 5, "lw": 2})
    fixed = (r"$n_P$ fixed", {"color": "0.25", "marker": "^", "ms": 6, "lw": 2})
    floor = (r"floor: same $n_P,\ n_U=\infty$", {"color": "0.25", "ls": "--", "lw": 1.5})
    outline = ("90%, outlined", {"color": BLUE} | OUTLINE)
    legend_below(figure, fixed, BAND, floor, blue, outline, GUIDE)
    return figure


def draw_figure6(tables: Tables) -> plt.Figure:
    titles = [f"15 bins of equal {binning}" for binning in ("width", "mass")]
    label = "frequency of positives in the bin"
    figure, axes = panels(1, 2, size=(12, 6.6), sharey=True, titles=titles, y=label)
    for ax, binning in zip(axes, ("width", "mass"), strict=True):
        diagram_panel(ax, pick(tables("figure6"), binning=binning), tables("figure6_curve"))
    shared_legend(figure, axes[0], 4)
    return figure


def diagram_panel(ax: plt.Axes, points: list[Row], curve: list[Row]) -> None:
    ax.plot([0, 1], [0, 1], color="0.55", ls=":", lw=1.6, label="perfect calibration")
    line(ax, curve, "score", "posterior", color="black", lw=1.6, label="true curve")
    ring = {"marker": "o", "ms": 11, "mfc": "none", "mec": VERMILION, "mew": 1.6, "ls": ""}
    line(ax, points, "true_score", "true_frequency", **ring, label="true value of the bin")
    bars = {"color": BLUE, "ls": "", "marker": "o", "ms": 5, "capsize": 4, "lw": 1.6}
    found = (column(points, name) for name in ("score", "frequency", "sd"))
    ax.errorbar(*found, **bars, label="PU estimate: mean and sd over the trials")
    ax.set(xlabel="mean score of the bin", xlim=(-0.02, 1.02), ylim=(-0.02, 1.1), aspect="equal")


def of_kind(rows: list[Row], *, labeled: bool) -> list[Row]:
    return [r for r in rows if r["setting"].startswith("labeled") == labeled]


def brief(number: float) -> str:
    return f"{number:.2g}" if abs(number) > 1e-12 else "0"
