"""Bounds on performance without negatives, and proxy metrics, compared with the papers' claims.

Figures 2 to 5 and Tables 1 and 2 of Claesen et al. (2015), Propositions 1 and 2 and the internal
label shift of the PU benchmark paper, and the coverage of intervals. Figure 5 and the tables need
``covtype.npz``, the propositions ``usps.npz``, both in the folder named by NONEG_DATA; parts whose
data are not available are skipped with a message.
"""

import numpy as np
from matplotlib import pyplot as plt

from experiments import drawing
from experiments.drawing import BLUE, GREEN, ORANGE, PURPLE, VERMILION, line, panels
from experiments.pu_performance.proxies import proxies
from experiments.pu_performance.ranks import covtype, figure2, figure3, figure4, latent
from experiments.study import Run, Study, cells
from experiments.synthetic import worlds
from experiments.tables import Row, Tables, column, distinct, pick, records, standard_error
from noneg.metrics import METRICS
from noneg.scores import PUScores
from noneg.simulation import LogisticGaussian

PRIORS = (0.02, 0.1, 0.5)
N_POSITIVE, N_UNLABELED = 500, 5000
PLAIN = ("accuracy", "balanced_accuracy", "precision", "recall", "specificity")
PLAIN += ("false_positive_rate", "npv")
# Name in the table: metric and options.
NAMED = {name: (name, {}) for name in PLAIN} | {
    "f1": ("f_beta", {}),
    "f2": ("f_beta", {"beta": 2.0}),
    "mcc": ("mcc", {}),
    "cohen_kappa": ("cohen_kappa", {}),
    "precision_at": ("precision_at", {"k": 0.1}),
    "lift_at": ("lift_at", {"k": 0.1}),
    "auroc": ("auroc", {}),
    "average_precision": ("average_precision", {}),
    "partial_auc": ("partial_auc", {"max_fpr": 0.2}),
    **{
        f"risk {loss}": ("risk", {"loss": loss})
        for loss in ("zero-one", "brier", "log", "hinge", "sigmoid")
    },
}


def truth(world: LogisticGaussian) -> dict[str, float]:
    """Return every metric's value in the population."""
    every = worlds.population(world)
    return {name: METRICS[one].function(every, **options) for name, (one, options) in NAMED.items()}


def draw(world: LogisticGaussian, setting: str, seed: int) -> PUScores:
    n, labeled = N_POSITIVE + N_UNLABELED, N_POSITIVE
    if setting == "one-sample":
        labeled = min(labeled, int(world.prior * n / 2))  # half of the positives at most
    return worlds.draw(world, labeled, setting, seed, n - labeled)


def cover(setting: str, prior: float, trials: int) -> list[Row]:
    """Return the bias of each metric's estimates, and the coverage of its intervals."""
    world = LogisticGaussian(-0.5, 1.5, prior)
    targets = truth(world)
    found = np.empty((3, trials, len(targets)))
    for trial in range(trials):
        scores = draw(world, setting, trial)
        for k, (metric, options) in enumerate(NAMED.values()):
            one = METRICS[metric].interval(scores, **options)
            found[:, trial, k] = one.value, one.low, one.high
    value, low, high = found
    target, mean = np.array(list(targets.values())), value.mean(axis=0)
    return records(
        metric=targets,
        target=target,
        mean=mean,
        sd=value.std(axis=0, ddof=1),
        bias_in_se=(mean - target) / [standard_error(column) for column in value.T],
        mean_low=low.mean(axis=0),
        mean_high=high.mean(axis=0),
        below_low=(target < low).mean(axis=0),
        above_high=(target > high).mean(axis=0),
        coverage=((low <= target) & (target <= high)).mean(axis=0),
        trials=trials,
    )


def coverage(run: Run) -> dict[str, list[Row]]:
    every = cells(setting=worlds.SETTINGS, prior=PRIORS)
    return {"coverage": run.rows(cover, every, trials=run.trials(2000, 20))}


TRUTH = {"color": "black", "lw": 1.6}
NAIVE = {"color": VERMILION, "ls": "--", "label": r"$\hat\beta = 0$"}


def roc_axes(ax: plt.Axes, title: str) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls=":")
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.01))
    ax.set_title(title)
    ax.legend(loc="lower right")


def band(ax: plt.Axes, rows: list[Row], x: str, color: str, label: str, alpha: float = 0.3):
    ends = column(rows, x), column(rows, "lower"), column(rows, "upper")
    ax.fill_between(*ends, color="white", lw=0)
    ax.fill_between(*ends, color=color, alpha=alpha, lw=0)
    line(ax, rows, x, "lower", color=color, lw=1.2, label=label)
    line(ax, rows, x, "upper", color=color, lw=1.2)


def draw_figure2(tables: Tables) -> plt.Figure:
    labels = {"titles": ("bounds, mean and 95% of trials", "width by kind of band")}
    labels |= {"x": "known positives (log scale)", "y": "AUROC"}
    figure, (left, right) = panels(1, 2, size=(12, 5), **labels)
    paper = pick(tables("figure2"), band="pointwise")
    n = column(paper, "n_known")
    for end, color, marker in (("upper", BLUE, "v"), ("lower", VERMILION, "^")):
        tails = column(paper, f"{end}_2.5%"), column(paper, f"{end}_97.5%")
        left.fill_between(n, *tails, color=color, alpha=0.2, lw=0)
        line(left, paper, "n_known", end, color=color, marker=marker, lw=2, label=f"{end} bound")
    left.axhline(column(paper, "true_auc").mean(), **TRUTH, label="true AUROC")
    left.set_xscale("log")
    left.legend(loc="lower right")
    for name, color, marker in (("pointwise", BLUE, "o"), ("exact", ORANGE, "s")):
        part, look = pick(tables("figure2"), band=name), {"color": color, "marker": marker}
        line(right, part, "n_known", "width", **look, lw=2, label=name)
    guide = column(paper, "width")[-1] * np.sqrt(n[-1] / n)
    right.plot(n, guide, color="0.4", ls=":", lw=1.6, label=r"$|P_L|^{-1/2}$ from the last point")
    right.set(xscale="log", yscale="log", ylabel="upper minus lower bound (log scale)")
    right.legend()
    return figure


def draw_figure3(tables: Tables) -> plt.Figure:
    curves, areas = tables("figure3_curves"), tables("figure3")
    figure, (left, right) = panels(1, 2, size=(12, 5.6))
    for beta, color in ((0.5, PURPLE), (0.4, GREEN), (0.3, BLUE), (0.1, ORANGE)):
        band(left, pick(curves, beta=beta), "fpr", color, rf"$\hat\beta = {beta}$")
    line(left, pick(curves, beta=0), "fpr", "lower", **NAIVE, lw=2)
    line(left, pick(curves, beta="true"), "fpr", "lower", **TRUTH, label="true curve")
    roc_axes(left, r"ROC bounds, $\beta = 0.3$")
    for row in areas[1:]:
        beta, ends = row["beta"], (row["roc_lower"], row["roc_upper"])
        color = BLUE if beta == 0.3 else "0.45"
        right.plot([beta, beta], ends, color=color, lw=5, marker="_", ms=14)
    right.axhline(areas[0]["roc_lower"], **TRUTH, label="true AUROC")
    right.axvline(0.3, color=BLUE, ls=":", lw=1.2, label=r"true $\beta$")
    right.set(xlabel=r"assumed $\hat\beta$", ylabel="AUROC", title="bounds on the area")
    right.legend(loc="upper left")
    return figure


def draw_figure4(tables: Tables) -> plt.Figure:
    curves, values = tables("figure4_curves"), tables("figure4")
    names = distinct(values, "model")
    colors = dict(zip(names, (BLUE, VERMILION, GREEN, PURPLE), strict=True))
    titles = ("no latent positives", "a tenth latent positives")
    figure, axes = panels(2, 2, size=(12, 10))
    for (left, right), pair, title in zip(axes, (names[:2], names[2:]), titles, strict=True):
        for model in pair:
            for beta, dashes in ((0, "-"), (0.1, "--")):
                look = {"color": colors[model], "ls": dashes, "lw": 1.8}
                look["label"] = rf"model {model}, $\hat\beta = {beta}$"
                line(left, pick(curves, model=model, beta=beta), "fpr", "tpr", **look)
        roc_axes(left, f"{title}: curves")
        area_panel(right, {m: pick(values, model=m) for m in pair}, colors)
        right.set_title(f"{title}: areas")
    return figure


def area_panel(ax: plt.Axes, models: dict[str, list[Row]], colors: dict[str, str]) -> None:
    """Draw areas against beta, with gray where some model's curve would leave the unit square."""
    for name, rows in models.items():
        line(ax, rows, "beta", "auc", color=colors[name], lw=2, label=f"model {name}")
        line(ax, rows, "beta", "auc_unclipped", color=colors[name], ls=":", lw=1.6)
    ax.plot([], [], color="0.3", ls=":", lw=1.6, label=r"$(\mathrm{PAUC}-\beta/2)/(1-\beta)$")
    limit = min(rows[0]["largest_beta"] for rows in models.values())
    ax.axvspan(limit, 0.2, color="0.93", lw=0, label=r"$\hat\beta$ contradicts a model's ranks")
    ax.set(xlabel=r"assumed $\hat\beta$", ylabel="AUROC", xlim=(0, 0.2))
    ax.legend(loc="upper left")


def draw_figure5(tables: Tables) -> plt.Figure:
    cdf, curves = tables("figure5_cdf"), tables("figure5_curves")
    figure, axes = panels(1, 3, size=(16, 5.4))
    rank = column(cdf, "rank") / 1000
    ends = column(cdf, "low"), column(cdf, "high")
    axes[0].fill_between(rank, *ends, color=BLUE, alpha=0.35, lw=0)
    axes[0].plot([], [], color=BLUE, alpha=0.5, lw=6, label="95% band from known positives")
    axes[0].plot(rank, column(cdf, "latent"), **TRUTH, label="latent positives")
    axes[0].set(xlabel="rank, thousands", ylabel="rank CDF", title="(a) rank CDF", ylim=(0, 1.01))
    axes[0].legend(loc="lower right")
    for ax, kind in zip(axes[1:], ("roc", "pr"), strict=True):
        here = pick(curves, curve=kind)
        interval = r"$0.8\beta \leq \hat\beta \leq 1.2\beta$"
        band(ax, pick(here, beta="0.8 to 1.2 beta"), "x", ORANGE, interval)
        band(ax, pick(here, beta="beta"), "x", BLUE, r"$\hat\beta = \beta$", 0.45)
        line(ax, pick(here, beta="beta = 0"), "x", "lower", **NAIVE, lw=1.8)
        line(ax, pick(here, beta="true"), "x", "lower", **TRUTH, label="true curve")
    roc_axes(axes[1], "(b) ROC")
    axes[2].set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.01), title="(c) PR")
    return figure


GUESSES = ((0.8, -0.22, ORANGE, "s"), (1, 0.0, BLUE, "o"), (1.2, 0.22, GREEN, "^"))


def draw_tables(tables: Tables) -> plt.Figure:
    rows = pick(tables("tables"), band="pointwise")
    negatives, known = (sorted(distinct(rows, f"known_{c}")) for c in ("negatives", "positives"))
    labels = {"x": "% of positives known", "sharex": True, "sharey": True}
    labels["titles"] = [f"{100 * share:.0f}% of negatives known" for share in negatives]
    labels["y"] = ("Table 1: from known positives\nAUROC, %",
                   "Table 2: from the tighter class\nAUROC, %")  # fmt: skip
    figure, axes = panels(2, len(negatives), size=(16, 8), **labels)
    for panel_row, basis in zip(axes, ("positives", "tighter"), strict=True):
        for ax, share in zip(panel_row, negatives, strict=True):
            part = pick(rows, basis=basis, known_negatives=share)
            for guess, *look in GUESSES:
                range_panel(ax, pick(part, guess=guess), *look)
            ax.axhline(100 * rows[0]["true_auc"], color="black", ls="--", lw=1.2)
    for ax in axes[1]:
        ax.set_xticks(range(len(known)), [f"{100 * k:.0f}" for k in known])
    looks = [
        (rf"$\hat\beta = {g}\,\beta$", {"color": c, "marker": m, "lw": 3}) for g, _, c, m in GUESSES
    ]
    looks.append(("true AUROC", {"color": "black", "ls": "--"}))
    hollow = {"color": "0.4", "marker": "o", "mfc": "white", "lw": 3}
    drawing.legend_below(figure, *looks, ("from known negatives", hollow))
    return figure


def range_panel(ax: plt.Axes, rows: list[Row], offset: float, color: str, marker: str) -> None:
    for k, row in enumerate(sorted(rows, key=lambda r: r["known_positives"])):
        fill = "white" if row["from_negatives"] > 0.5 else color
        look = {"color": color, "lw": 3, "marker": marker, "ms": 6, "mfc": fill}
        ax.plot([k + offset] * 2, (100 * row["lower"], 100 * row["upper"]), **look)


def draw_latent(tables: Tables) -> plt.Figure:
    labels = {"x": "latent positives for each known one (log scale)"}
    labels["y"] = "tables that contain the truth, %"
    figure, ax = panels(1, 1, size=(7.5, 5), **labels)
    looks = (("prediction", BLUE, "o"), ("exact", ORANGE, "s"), ("pointwise", VERMILION, "^"))
    for name, color, marker in looks:
        part = pick(tables("latent"), band=name)
        ratio = column(part, "latent") / column(part, "known")
        look = {"color": color, "marker": marker, "lw": 2, "label": name}
        ax.plot(ratio, 100 * column(part, "coverage"), **look)
    ax.axhline(95, color="black", ls="--", lw=1.2, label="nominal")
    ax.set_xscale("log")
    ax.set_xticks([0.25, 1, 4, 16, 64], labels=["1/4", "1", "4", "16", "64"])
    ax.legend(loc="lower right")
    return figure


def draw_proxies(tables: Tables) -> plt.Figure:
    figure, axes = panels(1, 3, size=(16, 5.4))
    looks = {
        "two-sample": {"color": BLUE, "marker": "o"},
        "one-sample": {"color": VERMILION, "marker": "x"},
    }
    titles = {"PA": "Proposition 1: proxy accuracy", "PAUC": "Proposition 2: proxy AUC"}
    for ax, (proxy, title) in zip(axes, titles.items(), strict=False):
        for setting, look in looks.items():
            part = pick(tables("propositions"), proxy=proxy, setting=setting)
            line(ax, part, "expected", "mean", **look, ls="", ms=6, alpha=0.8, label=setting)
        ends = np.array(ax.get_xlim())
        ax.plot(ends, ends, color="black", lw=1, label="equal")
        ax.set(xlabel="expected from the truth", ylabel="mean over validation sets", title=title)
        ax.legend(loc="lower right")
    for proxy, dashes in (("PA", "-"), ("PAUC", "--")):
        for setting, look in looks.items():
            part = pick(tables("orders"), proxy=proxy, setting=setting, case="case 1")
            look |= {"ls": dashes, "lw": 1.8, "label": f"{proxy}, {setting}"}
            line(axes[2], part, "n", "pairs_in_order", 100, **look)
    axes[2].set(xscale="log", xlabel="rows of the validation set (log scale)")
    axes[2].set(ylabel="pairs of classifiers in order, %", title="one validation set, case 1")
    axes[2].set_xticks([250, 1000, 4000], labels=["250", "1,000", "4,000"])
    axes[2].minorticks_off()
    axes[2].legend(loc="lower right")
    return figure


def draw_shift(tables: Tables) -> plt.Figure:
    cases = ("case 1", "case 2")
    labels = {"titles": [f"USPS, {case}" for case in cases], "x": "positives labeled, %"}
    figure, axes = panels(1, 2, size=(12, 5), sharey=True, y="test accuracy, %", **labels)
    looks = {
        "two-sample": (BLUE, "o", "two samples"),
        "one-sample": (VERMILION, "s", "one sample, risk for two"),
        "one-sample, corrected": (GREEN, "^", "one sample, corrected"),
    }
    for ax, case in zip(axes, cases, strict=True):
        for name, (color, marker, label) in looks.items():
            part = pick(tables("shift"), case=case, training=name)
            x, y, error = (column(part, c) for c in ("labeled", "accuracy", "standard_error"))
            look = {"color": color, "marker": marker, "lw": 2, "capsize": 3, "label": label}
            ax.errorbar(100 * x, 100 * y, 200 * error, **look)
    axes[0].legend(loc="lower left")
    return figure


def z_scores(rows: list[Row]) -> tuple[float, float, float]:
    """Return the largest gap from the expectation, also in standard errors, and their rms."""
    gap, error = column(rows, "mean") - column(rows, "expected"), column(rows, "standard_error")
    # a classifier that predicts no positives has no error
    z = gap[error > 1e-9] / error[error > 1e-9]
    return np.abs(gap).max(), np.abs(z).max(), np.sqrt((z**2).mean())


STUDY = Study(
    "pu_performance",
    parts=(figure2, figure3, figure4, latent, covtype, proxies, coverage),
    style=drawing.style(12, 12.5, 10.5),
    optional=("figure5", "tables", "propositions", "orders", "shift", "coverage"),
)
