"""Tables and the figure, computed from the stored results."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from experiments.drawing import panels
from experiments.prior.study import REDUCIBLE, counts, identifiable
from experiments.tables import Tables, standard_error
from noneg.prior.base import null_deviation, separable

# The default at the time of the study.
DEFAULT = "dedpul"
SEPARABLE = 0.9
CELL = ["world", "prior", "n_positive", "seed"]
DRAW = ["setting", "share", "seed"]
WIDTHS = "ours with the published widths"


def load(tables: Tables) -> pd.DataFrame:
    """Return all estimates for irreducible and for reducible populations, with their errors."""
    study = pd.DataFrame(tables("study"))
    known = study[[*CELL, "auc", "auc_pu"]].drop_duplicates()
    peers = pd.DataFrame(tables("peers")).merge(known, on=CELL)
    # Other peers were run on only some of the cells, so they have a separate table.
    everywhere = peers[peers["method"].str.startswith("pulearn")]
    data = pd.concat([study, everywhere], ignore_index=True)
    for name in ("low", "high", "seconds"):
        data[name] = pd.to_numeric(data[name])
    data["best"] = [identifiable(*cell[:2]) for cell in data[CELL].itertuples(index=False)]
    data["bias"] = data["value"] - data["prior"]
    data["error"] = data["bias"].abs()
    return data


def fair(data: pd.DataFrame, least: float = SEPARABLE) -> pd.DataFrame:
    """Keep irreducible populations and cells in which the score separates the classes."""
    return data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= least)]


def by_method(data: pd.DataFrame) -> pd.Series:
    return data.groupby("method")["error"].mean().sort_values()


def overall(data: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method: errors in separable cells and overall, and the time per
    estimate."""
    near, every = (part.groupby("method") for part in (fair(data), fair(data, 0.0)))
    found = near.agg(error=("error", "mean"), bias=("bias", "mean"), cells=("error", "size"))
    rest = {
        "everywhere": ("error", "mean"),
        "all": ("error", "size"),
        "seconds": ("seconds", "mean"),
    }
    return found.join(every.agg(**rest)).sort_values("error")


def by(data: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the mean absolute error of each method at each value of a column, for separable
    cells."""
    found = fair(data).pivot_table(index="method", columns=column, values="error")
    return found.loc[by_method(fair(data)).index]


def worst_gap(data: pd.DataFrame):
    """Yield the default and the best other method for each group."""
    for column in ("world", "n_positive", "prior"):
        for value, part in fair(data).groupby(column):
            # Only methods with results for every cell in the group can be compared fairly.
            full = part.groupby("method")["error"].agg(["mean", "size"])
            full = full[full["size"] == full.loc[DEFAULT, "size"]]["mean"]
            others = full.drop(DEFAULT)
            yield column, value, full[DEFAULT], others.idxmin(), others.min()


def by_draw(data: pd.DataFrame) -> pd.DataFrame:
    """Return errors for each draw: the second draw is a fair test of methods chosen on the
    first."""
    found = by(data, "seed").dropna().sort_index()
    return found.sort_values(found.columns[0]).head(6)


def coverage(data: pd.DataFrame):
    """Yield how often 95% intervals contain the share, and their width."""
    every = fair(data, 0.0).dropna(subset=["high"])
    for where, keep in (("separable", True), ("others", False)):
        for name, a in every[(every["auc"] >= SEPARABLE) == keep].groupby("method"):
            below, inside = a["prior"] <= a["high"], a["prior"].between(a["low"], a["high"])
            width = (a["high"] - a["low"]).mean()
            yield f"{name}, {where}", len(a), inside.mean(), below.mean(), width


def reducible(data: pd.DataFrame) -> pd.DataFrame:
    """Return what the default finds if negatives contain positives, and whether it is flagged."""
    own = data[(data["method"] == DEFAULT) & data["world"].str.startswith("gauss")].copy()
    noise = [
        null_deviation(r.n_positive, sum(counts(r.world, r.prior, r.n_positive)))
        for r in own.itertuples()
    ]
    rows = zip(own["auc_pu"], own["value"], noise, strict=True)
    own["flagged"] = [not separable(*row, deviations=1.0) for row in rows]
    found = own[own["n_positive"] >= 1000].groupby(["world", "prior"])
    return found[["best", "value", "flagged"]].mean().reset_index()


def difference(ours: pd.Series, theirs: pd.Series) -> tuple[float, float]:
    """Return ours minus theirs, and its standard error."""
    gap = ours.to_numpy() - theirs.to_numpy()
    return float(gap.mean()), standard_error(gap)


def paired(tables: Tables, least: float) -> list[tuple]:
    """Return one line per peer: its error, ours on the same mixtures, and the difference."""
    study, peers = (pd.DataFrame(tables(name)) for name in ("study", "peers"))
    own = fair(study[study["method"] == DEFAULT], least).set_index(CELL)
    lines = []
    for name, part in peers.groupby("method"):
        both = own.join(part.set_index(CELL)["value"].rename("peer"), how="inner").reset_index()
        if len(both) > 1:
            ours, theirs = ((both[c] - both["prior"]).abs() for c in ("value", "peer"))
            lines.append((name, len(both), theirs.mean(), ours.mean(), *difference(ours, theirs)))
    return sorted(lines, key=lambda line: line[2])


def papers(tables: Tables) -> list[tuple]:
    """Return errors in the papers' settings: published, from their code here, and ours.

    The error is relative to the identifiable share, as in DEDPUL's paper. The difference is ours
    minus their code's, on the same draws.
    """
    found, published = pd.DataFrame(tables("papers")), pd.DataFrame(tables("published"))
    found["error"] = (found["value"] - found["best"]).abs()
    found["group"] = group(found["setting"])
    printed = published.groupby(["setting", "share"])["error"].mean()
    lines = []
    for name, part in found.groupby("group", sort=False):
        wide = part.pivot_table(index=DRAW, columns="method", values="error")
        own = "TEDn" if name.startswith("mnist") else "DEDPUL"
        places = {(setting.split(", width")[0], share) for setting, share, _ in wide.index}
        theirs = [printed[place] for place in places if place in printed.index]
        peers = {"DEDPUL": None, "TEDn": None} | {own: theirs}
        lines += [compared(name, peer, wide, known) for peer, known in peers.items()]
    wide = found.pivot_table(index=DRAW, columns="method", values="error")
    wide = wide[["DEDPUL code", "ours on DEDPUL's scores", WIDTHS, "ours"]].dropna()
    theirs = [printed[setting, share] for setting, share, _ in wide.index]
    lines.append(compared("all of DEDPUL's", "DEDPUL", wide, theirs))
    return [line for line in lines if line[2]]


def compared(name: str, peer: str, wide: pd.DataFrame, theirs: list[float] | None) -> tuple:
    """Return a line for a peer in its own settings, with published errors, or in others."""
    code, scores = f"{peer} code", f"ours on {peer}'s scores"
    both = wide.reindex(columns=(code, scores, "ours")).dropna()
    gap = difference(both["ours"], both[code]) if len(both) > 1 else (np.nan, np.nan)
    means = both[code].mean(), both[scores].mean(), wide[WIDTHS].mean(), wide["ours"].mean()
    published = float(np.mean(theirs)) if theirs else np.nan
    return (name, peer, len(both if theirs is None else wide), published, *map(float, means), *gap)


def group(setting: pd.Series) -> pd.Series:
    """Group one-dimensional populations by distribution and difference, and everything else by
    name."""
    law = setting.str.extract(r"^(\w+)\((\d), (\d)\)$")
    kind = np.where(law[1] == "0", "wider negatives", "shifted negatives")
    return pd.Series(np.where(law[0].isna(), setting, law[0] + ", " + kind), index=setting.index)


def draw_study(tables: Tables) -> plt.Figure:
    """Draw the error against the number of positives, and estimates against the truth."""
    data = load(tables)
    near = fair(data)
    names = ["dedpul", "bbe", "tedn", "quick", "elkan-noto-e1", "alphamax", "tice", "km2"]
    figure, (left, right) = panels(1, 2, size=(11, 5.2), shade=None)
    for k, name in enumerate([*names, *({"pulearn EM"} & set(near["method"]))]):
        line = near[near["method"] == name].groupby("n_positive")["error"].mean()
        width = 2.6 if name == DEFAULT else 1.2
        left.plot(line.index, line, "o-", color=f"C{k}", lw=width, ms=4, label=name)
    left.axhline(0.03, color="0.6", lw=1, ls=":")
    left.set(xscale="log", yscale="log", xlabel="labeled positives", ylabel="mean absolute error")
    left.set_title("Where classes are separable (AUC at least .9)", fontsize=10)
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter(lambda x, _: f"{x:g}" if round(100 * x) in (2, 3, 5) else "")
    own = data[(data["method"] == DEFAULT) & (data["n_positive"] == 1000)]
    for k, (world, part) in enumerate(own.groupby("world")):
        mean, style = part.groupby("prior")["value"].mean(), "s--" if world in REDUCIBLE else "o-"
        right.plot(mean.index, mean, style, color=f"C{k}", ms=4, lw=1.2, label=world)
    right.plot([0, 1], [0, 1], color="0.6", lw=1)
    right.set(xlabel="true share", ylabel=f"{DEFAULT}, 1000 positives", xlim=(0, 1), ylim=(0, 1))
    right.set_title("Dashed: negatives contain positives", fontsize=10)
    for ax in (left, right):
        ax.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return figure
