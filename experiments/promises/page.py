"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.tables import Row, Tables, column, distinct, percent, pick, table


def least(rows: list[Row], name: str) -> str:
    return percent(column(rows, name).min())


def show_recall(tables: Tables) -> str:
    """Return one line per population: the smallest share of guarantees that hold, by size and
    alpha."""
    rows, lines = tables("recall"), []
    sizes = distinct(rows, "n")
    for world in distinct(rows, "world"):
        for gamma in distinct(pick(rows, world=world), "gamma"):
            mine = pick(rows, world=world, gamma=gamma)
            kept = [least(pick(mine, n=n), "kept") for n in sizes]
            later = [row for row in mine if row["all_flagged"] < 1]
            most = percent(column(later, "kept_by_next").max())
            lines.append([world, f"{gamma:g}", *kept, most])
    head = ["labeled positives", "selection", *(f"n = {n}" for n in sizes), "next score, at most"]
    trials = rows[0]["trials"]
    return table(head, lines, "lr") + (
        f"\n\nShare (%) of {trials:,} draws in which at least 1 - alpha of all positives reach "
        "the threshold, the smallest over alpha = .05, .1 and .2; 95% is guaranteed (standard "
        f"error {percent(np.sqrt(0.95 * 0.05 / trials))}). The last column is the largest such "
        "share if the next higher score is used instead, if that differs from flagging everything."
    )


def show_precision(tables: Tables) -> str:
    """Return failed guarantees, and recall relative to the oracle, one line for each prior and
    model."""
    rows, lines = tables("precision"), []
    two = pick(rows, setting="two-sample")
    sizes = distinct(two, "n_positive")
    for known in distinct(two, "known"):
        for model in distinct(two, "model"):
            for prior in distinct(two, "prior"):
                mine = pick(two, known=known, model=model, prior=prior)
                cells = [f"{row['recall']:.2f} ({percent(row['broken'])})" for row in mine]
                wanted = f"{mine[0]['wanted']:.2f}"
                lines.append([known, model, f"{prior:g}", wanted, *cells])
    head = ["prior", "model", "prior is", "requested precision", *(f"n = {n:,}" for n in sizes)]
    one = pick(rows, setting="one-sample")
    most = percent(max(column(rows, "broken")))
    return table(head, lines, "lllr") + (
        "\n\nMean recall at the guaranteed threshold, 0 if there is none, and in "
        f"parentheses the share (%) of {rows[0]['trials']:,} draws in which the guarantee fails; "
        f"5% are allowed, and at most {most}% fail in {len(rows)} cells. "
        f"An oracle with the true labels reaches a recall of {rows[0]['oracle']:g}. In "
        f"one sample ({len(one)} cells), at most {percent(max(column(one, 'broken')))}% "
        f"fail, with a mean recall of {column(one, 'recall').mean():.2f}."
    )


def show_negatives(tables: Tables) -> str:
    """Return the false discovery rate and power, one line for each model and prior."""
    rows, lines = tables("negatives"), []
    for model in distinct(rows, "model"):
        for prior in distinct(rows, "prior"):
            cells = []
            for known in ("prior", "nothing"):
                mine = pick(rows, model=model, prior=prior, known=known)
                fdr, power = column(mine, "fdr"), column(mine, "power")
                cells += [f"{fdr.max():.4f}", f"{power.min():.2f} to {power.max():.2f}"]
            lines.append([model, f"{prior:g}", *cells])
    head = "model | prior | FDR, prior known | power | FDR, no prior | power"
    above = [row for row in rows if row["fdr"] > row["q"] + 3 * row["se"]]
    adverse = tables("selected")
    worst = max(column(adverse, "fdr") / column(adverse, "q"))
    return table(head, lines, "lr") + (
        "\n\nLargest false discovery rate and range of the power over both settings and numbers "
        f"of positives (50 and 500); q = {rows[0]['q']:g}, {rows[0]['trials']:,} draws. "
        f"{len(above)} of {len(rows)} cells lie above q by more than three standard "
        "errors. Where hidden positives sit as low as a selection factor of 1.5 or 2 allows and it "
        f"is given, the rate is at most {worst:.2f} q in {len(adverse)} cells."
    )


def show_nceas(tables: Tables) -> str:
    """Compare species with the survey, one line for each region and selection factor."""
    rows, lines = tables("nceas"), []
    for region in distinct(rows, "region"):
        for factor in distinct(rows, "factor"):
            mine = pick(rows, region=region, factor=factor)
            found = column(mine, "recall")
            ratio = column(mine, "fdp") / column(mine, "prior")
            lines.append(
                [
                    region,
                    str(len(mine)),
                    f"{factor:g}",
                    percent((found >= 0.9).mean(), 0),
                    f"{found.mean():.2f}",
                    f"{column(mine, 'flagged').mean():.2f}",
                    f"{ratio.mean():.2f}",
                    f"{column(mine, 'power').mean():.2f}",
                ]
            )
    head = "region | species | selection | recall kept (%) | mean recall | flagged"
    return table(f"{head} | FDP / prevalence (.25 wanted) | power", lines, "lr")


def show_venn(tables: Tables) -> str:
    """Compare Venn-Abers with isotonic regression, one line for each setting and size."""
    lines = [
        [
            row["setting"],
            f"{row['n_positive']:,}",
            f"{row['width']:.3f}",
            percent(row["inside"]),
            f"{row['error']:.4f}",
            f"{row['isotonic']:.4f}",
        ]
        for row in tables("venn")
    ]
    head = "rows | positives | mean width | true probability inside (%) | error | error of isotonic"
    return table(head, lines, "lr")


def show_learners(tables: Tables) -> str:
    """Return the test AUROC, one line per learner; n/a if too few rows were certified."""
    rows = tables("learners")
    places = list(dict.fromkeys((row["data"], row["model"]) for row in rows))
    lines = []
    for name in distinct(rows, "learner"):
        means = [column(pick(rows, learner=name, data=d, model=m), "auroc") for d, m in places]
        shown = ["n/a" if np.isnan(x).any() else f"{x.mean():.3f}" for x in means]
        lines.append([name, *shown])
    return table(["learner", *(f"{d}, {m}" for d, m in places)], lines, "lr")


def show_cost(tables: Tables) -> str:
    rows = tables("cost")
    base = rows[0]["seconds"]
    lines = [
        [f"`{row['function']}`", f"{row['seconds']:.2f}", f"{row['seconds'] / base:.2f}"]
        for row in rows
    ]
    return table(f"{rows[0]['rows']:,} rows | seconds | of an exact AUROC", lines, "lr")
