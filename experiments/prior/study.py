"""How far is every estimator of the class prior from the truth?

Mixtures of USPS, Letter, Spambase, Covertype and two Gaussian classes: shares from .05 to .9, 50 to
5000 labeled positives, with ``--trials`` draws of each. An interrupted run resumes where it
stopped.

``peers`` runs pulearn 0.2.0 on the same mixtures, in an environment that needs pulearn, pandas and
matplotlib but not noneg (with ``--no-page``). ``train_originals`` and ``originals`` run the
published code of DEDPUL and TEDn for comparison; ``--originals`` names the folder of their clones.
"""

import argparse
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from experiments import study as studies
from experiments.drawing import panels
from experiments.study import BUILD, Cell, Run, Study, arrays
from experiments.tables import Row, Tables, standard_error, table

PRIORS = (0.05, 0.2, 0.5, 0.75, 0.9)
SIZES = (50, 200, 1000, 5000)
REAL = ("usps", "letter", "spambase", "covtype")
# Positives N(m, 1) against negatives in five dimensions; only the first separates the classes.
GAUSSIAN = {"gauss-3": 3.0, "gauss-2": 2.0, "gauss-wide": 1.0, "gauss-mixed": 4.0}
REDUCIBLE = ("gauss-wide", "gauss-mixed")


def counts(world: str, prior: float, n_positive: int) -> tuple[int, int]:
    """Return the numbers of positives and negatives among the unlabeled rows."""
    rows = max(1200 if world == "spambase" else 2000, n_positive)
    return round(prior * rows), rows - round(prior * rows)


def possible(world: str, prior: float, n_positive: int, seed: int = 0) -> bool:  # noqa: ARG001
    """Whether a data set has enough rows for a mixture."""
    if world in GAUSSIAN:
        return True
    y, (hidden, rest) = load(world)[1], counts(world, prior, n_positive)
    return n_positive + hidden <= y.sum() and rest <= (~y).sum()


def cells(seeds: int, sizes: tuple[int, ...] = SIZES) -> list[Cell]:
    """Return all mixtures: a population, the share of positives in U, and labeled positives."""
    every = studies.cells(
        seed=range(seeds), n_positive=sizes, world=(*REAL, *GAUSSIAN), prior=PRIORS
    )
    names = ("world", "prior", "n_positive", "seed")
    return [{name: cell[name] for name in names} for cell in every if possible(**cell)]


def draw(world: str, prior: float, n_positive: int, seed: int) -> tuple[np.ndarray, ...]:
    """Features of positives and unlabeled rows, and the hidden labels of the latter."""
    rng = np.random.default_rng([seed, n_positive, *world.encode()])
    n, (k, rest) = n_positive, counts(world, prior, n_positive)
    if world in GAUSSIAN:
        p, hidden, negative = _gaussian(world, rng, n, k, rest)
    else:
        X, y = load(world)
        positives, negatives = (rng.permutation(np.flatnonzero(flag)) for flag in (y, ~y))
        p, hidden, negative = X[positives[:n]], X[positives[n : n + k]], X[negatives[:rest]]
    return p, np.concatenate([hidden, negative]), np.repeat([1, 0], [k, rest])


def _gaussian(world: str, rng, n: int, k: int, rest: int):
    p, hidden, negative = (rng.normal(size=(size, 5)) for size in (n, k, rest))
    if world == "gauss-wide":
        # Wider than the positives: nowhere negligible relative to them.
        negative[:, 0] *= 2.0
    negative[:, 0] -= GAUSSIAN[world]
    if world == "gauss-mixed":
        # A fifth of the negatives are drawn like positives.
        same = rng.random(rest) < 0.2
        negative[same, 0] += GAUSSIAN[world]
    return p, hidden, negative


def identifiable(world: str, prior: float) -> float:
    """Return the smallest identifiable upper bound of the share: a + (1 - a) inf p_N / p_P."""
    # The log ratio of N(-1, 2^2) to N(0, 1) is smallest at 1/3.
    x = 1.0 / 3.0
    wide = float(np.exp(-np.log(2.0) - (x + 1.0) ** 2 / 8.0 + x**2 / 2.0))
    return prior + (1.0 - prior) * {"gauss-mixed": 0.2, "gauss-wide": wide}.get(world, 0.0)


def standardized(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


@cache
def load(world: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and binary labels of a data set: even digits, A-M, spam, cover type 2."""
    z = arrays(f"{world}.npz")
    if world == "usps":
        X, y = (np.concatenate([z[f"{x}_train"], z[f"{x}_test"]]) for x in "Xy")
        return X, y % 2 == 0
    if world == "letter":
        return z["X"].astype(np.float64), z["y"] < 13
    if world == "spambase":
        return np.log1p(z["X"]), z["y"] == 1
    columns = [z["quantitative"], np.eye(4)[z["wilderness"]], np.eye(40)[z["soil"]]]
    return np.hstack(columns), z["cover_type"] == 2


DRAWS, FRESH = 2, 2


def every(run: Run) -> list[Cell]:
    return cells(run.trials(DRAWS, 1), run.pick(SIZES, SIZES[:1]))


def study(run: Run) -> None:
    from experiments.prior.measure import measure

    run.resume("study", measure, every(run))


def single_draws(run: Run) -> None:
    from experiments.prior import single_draws as rule

    for name, made in (("single_draws", rule.table), ("allowance", rule.allowance_table)):
        text = made(run.trials(400, 10)) + "\n"
        (run.out / f"{name}.md").write_text(text, encoding="utf-8")


def fresh_draw(run: Run) -> None:
    """Is the choice between forest and curves as good as the forest, on rows not used to design it?

    The rule was designed on draws 0 and 1 of the study. Here it is tested on another draw of the
    real mixtures and compared with the forest alone: same rows, same folds, the default estimator.
    """
    from experiments.prior.measure import choice

    asked = run.pick(REAL, REAL[2:3])
    todo = [c for c in cells(FRESH + 1) if c["seed"] == FRESH and c["world"] in asked]
    found = np.array(run.map(choice, todo), dtype=float)
    worlds, lines = np.array([cell["world"] for cell in todo]), []
    for world in (*dict.fromkeys(worlds), "all"):
        chosen, forest, curves = found[(worlds == world) | (world == "all")].T
        gap, error = chosen - forest, standard_error(chosen - forest)
        means = [f"{chosen.mean():.4f}", f"{forest.mean():.4f}", f"{gap.mean():+.4f} ± {error:.4f}"]
        lines.append([world, chosen.size, int(curves.sum()), *means])
    head = "world | cells | curves taken | error | error of the forest | difference"
    text = table(head, lines, "lr") + "\n"
    (run.out / "fresh_draw.md").write_text(text, encoding="utf-8")


def pulearn(world: str, prior: float, n_positive: int, seed: int):
    """Yield pulearn's estimates, converted to the share among the unlabeled rows.

    It estimates the share in the pooled sample, which assumes one sample; ``(pi n - n_P) / n_U`` is
    exact.
    """
    from pulearn.priors import HistogramMatchPriorEstimator, ScarEMPriorEstimator
    from sklearn.ensemble import RandomForestClassifier

    p, u, _ = draw(world, prior, n_positive, seed)
    X, y = standardized(np.concatenate([p, u])), np.repeat([1, 0], [len(p), len(u)])
    methods = {"histogram": HistogramMatchPriorEstimator(), "EM": ScarEMPriorEstimator()}
    if world not in GAUSSIAN:
        forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=10, random_state=0)
        methods["histogram, forest"] = HistogramMatchPriorEstimator(estimator=forest)
    for name, estimator in methods.items():
        start = time.process_time()
        share = float(np.clip((estimator.estimate(X, y).pi * y.size - len(p)) / len(u), 0, 1))
        seconds = time.process_time() - start
        yield {"method": f"pulearn {name}", "value": share, "seconds": seconds}


def peers(run: Run) -> None:
    # Other peers share the table.
    run.resume("peers", pulearn, every(run), mine=lambda row: row["method"].startswith("pulearn"))


def train_originals(run: Run) -> None:
    """Train the networks of both projects, and save their scores."""
    from experiments.prior.originals import tasks, train

    asked = run.options
    asked.scores.mkdir(parents=True, exist_ok=True)
    todo = tasks(run.trials(DRAWS, 1), wide=asked.wide, few=run.quick)
    fixed = {"folder": asked.originals, "scores": asked.scores}
    fixed["until"] = run.started + 60 * asked.minutes
    run.map(train, [{"task": task} for task in todo], **fixed)


def originals(run: Run) -> dict[str, list[Row]]:
    """Estimate from all available scores, theirs and the study's."""
    from experiments.prior.originals import estimate_all, loaded, same_scores

    folder = run.options.originals
    options = {"mine": lambda row: row["method"] == "BBE code, same scores", "folder": folder}
    run.resume("peers", same_scores, every(run), **options)
    return estimate_all(loaded(folder), run.options.scores, run.trials(DRAWS, 1), run.out)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--originals", type=Path, help="folder of the clones of DEDPUL and PU_learning")
    add("--scores", type=Path, default=BUILD / "originals", help="folder of trained scores")
    add("--wide", action="store_true", help="TEDn's own network for digits")


# The default at the time of the study.
DEFAULT = "dedpul"
SEPARABLE = 0.9
CELL = ["world", "prior", "n_positive", "seed"]
DRAW = ["setting", "share", "seed"]
WIDTHS = "ours with the published widths"


def estimates(tables: Tables) -> pd.DataFrame:
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
    from noneg.prior.base import null_deviation, separable

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
    data = estimates(tables)
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


STUDY = Study(
    "prior",
    parts=(study, single_draws, fresh_draw, peers, train_originals, originals),
    style={"savefig.dpi": 130},
    named=("fresh_draw", "peers", "train_originals", "originals"),
    arguments=arguments,
    digits=5,
)
