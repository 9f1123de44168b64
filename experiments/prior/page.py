"""Tables and the picture, from the stored tables."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from experiments.drawing import panels
from experiments.prior.mixtures import REDUCIBLE, Cell, identifiable
from experiments.tables import Tables, grid, table
from noneg.prior import DEFAULT
from noneg.prior.base import overlapping

SEPARABLE = 0.9
CELL = ["world", "prior", "n_positive", "seed"]
DRAW = ["setting", "share", "seed"]
WIDTHS = "ours with the published widths"


def load(tables: Tables) -> pd.DataFrame:
    """All estimates of irreducible worlds and of reducible ones, with their errors."""
    study = pd.DataFrame(tables("study"))
    known = study[[*CELL, "auc", "auc_pu"]].drop_duplicates()
    peers = pd.DataFrame(tables("peers")).merge(known, on=CELL)
    # Other peers were asked about some of the cells only: they have a table of their own.
    everywhere = peers[peers["method"].str.startswith("pulearn")]
    data = pd.concat([study, everywhere], ignore_index=True)
    for name in ("low", "high", "seconds"):
        data[name] = pd.to_numeric(data[name])
    data["best"] = [identifiable(Cell(*cell)) for cell in data[CELL].itertuples(index=False)]
    data["bias"] = data["value"] - data["prior"]
    data["error"] = data["bias"].abs()
    return data


def fair(data: pd.DataFrame, least: float = SEPARABLE) -> pd.DataFrame:
    """Keep irreducible worlds, and cells in which the score tells the classes apart."""
    return data[~data["world"].isin(REDUCIBLE) & (data["auc"] >= least)]


def by_method(data: pd.DataFrame) -> pd.Series:
    return data.groupby("method")["error"].mean().sort_values()


def overall(data: pd.DataFrame) -> str:
    """One line a method: errors in separable cells, everywhere, and the time of one estimate."""
    near, every, lines = fair(data), fair(data, 0.0), []
    for name in by_method(near).index:
        a, b = (part[part["method"] == name] for part in (near, every))
        means = [f"{a['error'].mean():.4f}", f"{a['bias'].mean():+.4f}", f"{b['error'].mean():.4f}"]
        shown = f"**{name}**" if name == DEFAULT else name
        lines.append([shown, *means, f"{len(a)} / {len(b)}", f"{b['seconds'].mean():.2f}"])
    return table("method | error, separable | bias | error, all | cells | seconds", lines)


def pivot(data: pd.DataFrame, column: str) -> pd.DataFrame:
    return fair(data).pivot_table(index="method", columns=column, values="error")


def by(data: pd.DataFrame, column: str) -> str:
    """Mean absolute error of each method at each value of a column, separable cells."""
    found = pivot(data, column).loc[by_method(fair(data)).index]
    lines = [
        [name, *("-" if np.isnan(x) else f"{x:.3f}" for x in row)] for name, row in rows(found)
    ]
    return table(["method", *map(str, found.columns)], lines)


def rows(frame: pd.DataFrame) -> Iterable[tuple[str, np.ndarray]]:
    return zip(frame.index, frame.to_numpy(), strict=True)


def worst_gap(data: pd.DataFrame) -> str:
    """How much the default loses against the best other method, group by group."""
    lines = []
    for column in ("world", "n_positive", "prior"):
        for value, part in fair(data).groupby(column):
            # Only methods that answered every cell of the group compare fairly.
            full = part.groupby("method")["error"].agg(["mean", "size"])
            full = full[full["size"] == full.loc[DEFAULT, "size"]]["mean"]
            own, others = full[DEFAULT], full.drop(DEFAULT)
            best = f"{others.idxmin()} {others.min():.4f}"
            lines.append([column, value, f"{own:.4f}", best, f"{own - others.min():+.4f}"])
    return table("grouped by | group | default | best other | gap", lines)


def by_draw(data: pd.DataFrame) -> str:
    """Errors on each draw: a method chosen on the first one is measured fairly on the second."""
    found = pivot(data, "seed").dropna()
    found = found.sort_values(found.columns[0]).head(6)
    lines = [[name, *(f"{x:.4f}" for x in row)] for name, row in rows(found)]
    return table(["method", *(f"draw {seed}" for seed in found.columns)], lines)


def coverage(data: pd.DataFrame) -> str:
    """How often intervals at 95 % hold the share, and their width."""
    lines, every = [], fair(data, 0.0).dropna(subset=["high"])
    for where, keep in (("separable", True), ("others", False)):
        for name, a in every[(every["auc"] >= SEPARABLE) == keep].groupby("method"):
            below, inside = a["prior"] <= a["high"], a["prior"].between(a["low"], a["high"])
            shares = [inside.mean(), below.mean(), (a["high"] - a["low"]).mean()]
            lines.append([f"{name}, {where}", len(a), *(f"{x:.3f}" for x in shares)])
    return table("method | cells | share inside | share below the upper end | width", lines)


def reducible(data: pd.DataFrame) -> str:
    """What the default finds where negatives contain positives, and whether it is flagged."""
    own = data[(data["method"] == DEFAULT) & data["world"].str.startswith("gauss")].copy()
    own["flagged"] = [
        overlapping(
            r.auc_pu, r.value, r.n_positive, Cell(r.world, r.prior, r.n_positive, 0).n_unlabeled
        )
        for r in own.itertuples()
    ]
    found = own[own["n_positive"] >= 1000].groupby(["world", "prior"])
    means = found[["best", "value", "flagged"]].mean().reset_index()
    head = "world | truth, and what data can tell at best | found | flagged"
    line = "{world} | {prior:.2f}, {best:.3f} | {value:.3f} | {flagged:.2f}"
    return grid(head, line, means.to_dict("records"))


def difference(ours: pd.Series, theirs: pd.Series) -> tuple[float, float]:
    """Return ours minus theirs, and the standard error of that."""
    gap = ours.to_numpy() - theirs.to_numpy()
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(gap.size))


def paired(study: pd.DataFrame, peers: pd.DataFrame, least: float) -> str:
    """One line a peer: its error, ours on the same mixtures, and the difference."""
    own = fair(study[study["method"] == DEFAULT], least).set_index(CELL)
    lines = []
    for name, part in peers.groupby("method"):
        both = own.join(part.set_index(CELL)["value"].rename("peer"), how="inner").reset_index()
        if len(both) > 1:
            ours, theirs = ((both[c] - both["prior"]).abs() for c in ("value", "peer"))
            lines.append((name, len(both), theirs.mean(), ours.mean(), *difference(ours, theirs)))
    lines.sort(key=lambda line: line[2])
    return shown("method | mixtures | its error | ours | difference | error of it", lines)


def shown(head: str, lines: Iterable[Iterable]) -> str:
    names = head.split(" | ")
    return table(names, [[number(*cell) for cell in zip(names, x, strict=True)] for x in lines])


def number(name: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return "-"
    return f"{value:+.4f}" if name == "difference" else f"{value:.4f}"


def papers(tables: Tables) -> str:
    """Errors in the papers' settings: as published, by their code here, and ours.

    The error is against the share that the data can tell at best, as in DEDPUL's paper. The
    difference is ours less their code's, on the same draws.
    """
    found, published = pd.DataFrame(tables("papers")), pd.DataFrame(tables("published"))
    found["error"] = (found["value"] - found["best"]).abs()
    found["group"] = group(found["setting"])
    printed = published.groupby(["setting", "share"])["error"].mean()
    lines = []
    for name, part in found.groupby("group", sort=False):
        wide = part.pivot_table(index=DRAW, columns="method", values="error")
        places = {(setting.split(", width")[0], share) for setting, share, _ in wide.index}
        theirs = [printed[place] for place in places if place in printed.index]
        for peer in ("DEDPUL", "TEDn"):
            code, scores = f"{peer} code", f"ours on {peer}'s scores"
            both = wide.reindex(columns=(code, scores, "ours")).dropna()
            if peer == ("TEDn" if name.startswith("mnist") else "DEDPUL"):
                line = [name, peer, len(wide), float(np.mean(theirs)) if theirs else np.nan]
            elif len(both):
                line = [name, peer, len(both), np.nan]
            else:
                continue
            gap = difference(both["ours"], both[code]) if len(both) > 1 else (np.nan, np.nan)
            means = both[code].mean(), both[scores].mean(), wide[WIDTHS].mean(), wide["ours"].mean()
            lines.append((*line, *map(float, means), *gap))
    lines.append(everywhere(found, printed))
    head = "setting | peer | draws | published | its code here | ours on its scores | "
    return shown(head + f"{WIDTHS} | ours | difference | error of it", lines)


def everywhere(found: pd.DataFrame, printed: pd.Series) -> tuple:
    """The line of all settings in which DEDPUL's code was run."""
    columns = ["DEDPUL code", "ours on DEDPUL's scores", WIDTHS, "ours"]
    wide = found.pivot_table(index=DRAW, columns="method", values="error")[columns].dropna()
    theirs = float(np.mean([printed[setting, share] for setting, share, _ in wide.index]))
    gap = difference(wide["ours"], wide["DEDPUL code"])
    return ("all of DEDPUL's", "DEDPUL", len(wide), theirs, *map(float, wide.mean()), *gap)


def group(setting: pd.Series) -> pd.Series:
    """Worlds on a line by law and by what differs, everything else by its name."""
    law = setting.str.extract(r"^(\w+)\((\d), (\d)\)$")
    kind = np.where(law[1] == "0", "wider negatives", "shifted negatives")
    return pd.Series(np.where(law[0].isna(), setting, law[0] + ", " + kind), index=setting.index)


def text_headline(tables: Tables) -> str:
    """A few lines for the documentation."""
    data = load(tables)
    error = fair(data).groupby("method")["error"].agg(["mean", "size"]).sort_values("mean")
    size = error.loc[DEFAULT, "size"]
    lines = [[name, f"{value:.3f}"] for name, value in error[error["size"] == size]["mean"].items()]
    draws = len(data[CELL].drop_duplicates())
    words = f"{draws} mixtures, shares from .05 to .9, 50 to 5000 labelled positives; errors where"
    words += " the score tells the hidden classes apart with an AUC of at least .9"
    return f"{words} ({size} mixtures):\n\n{table('method | mean absolute error', lines)}"


def text_summary(tables: Tables) -> str:
    data = load(tables)
    study, peers = (pd.DataFrame(tables(name)) for name in ("study", "peers"))
    draws, seconds = len(data[CELL].drop_duplicates()), data["seconds"].sum()
    peers_asked = f"Separable mixtures:\n\n{paired(study, peers, SEPARABLE)}\n\n"
    peers_asked += f"All irreducible mixtures:\n\n{paired(study, peers, 0.0)}"
    parts = {
        "Mean absolute error": overall(data),
        "By world": by(data, "world"),
        "By number of positives": by(data, "n_positive"),
        "By share": by(data, "prior"),
        "The default against the best other method": worst_gap(data),
        "Peers, on the mixtures that each was asked about": peers_asked,
        "In the settings of the papers": papers(tables),
        "By draw: chosen on one, measured on the other": by_draw(data),
        "Intervals at 95 %": coverage(data),
        "Reducible and other Gaussian worlds, from 1000 positives on": reducible(data),
    }
    text = f"{draws} mixtures, {len(data)} estimates, {seconds:.0f} s of estimating.\n"
    text += "Separable: the AUC of the P-vs-U score for the hidden labels is at least .9.\n"
    return text + "".join(f"\n## {title}\n\n{part}\n" for title, part in parts.items())


def draw_study(tables: Tables) -> plt.Figure:
    """Error against the number of positives, and estimates against the truth."""
    data = load(tables)
    near = fair(data)
    names = ["dedpul", "bbe", "tedn", "quick", "elkan-noto-e1", "alphamax", "tice", "km2"]
    figure, (left, right) = panels(1, 2, size=(11, 5.2), shade=None)
    for k, name in enumerate([*names, *({"pulearn EM"} & set(near["method"]))]):
        line = near[near["method"] == name].groupby("n_positive")["error"].mean()
        width = 2.6 if name == DEFAULT else 1.2
        left.plot(line.index, line, "o-", color=f"C{k}", lw=width, ms=4, label=name)
    left.axhline(0.03, color="0.6", lw=1, ls=":")
    left.set(xscale="log", yscale="log", xlabel="labelled positives", ylabel="mean absolute error")
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
