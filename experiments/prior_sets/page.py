"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.prior_sets.worlds import IRREDUCIBLE
from experiments.tables import Row, Tables, column, distinct, percent, pick, table

CALIBRATED, WRONG = 0.02, 0.05
OFF = ("off", "somewhat", "no")
TITLES = {"two-sample": "two samples", "one-sample": "one sample"}


def show_sets(tables: Tables) -> str:
    rows = tables("sets")
    lines = [
        [
            world,
            TITLES[setting],
            str(len(part)),
            percent(column(part, "covered").mean()),
            percent(column(part, "covered").min()),
            percent(column(part, "bounded").min()),
        ]
        for world in distinct(rows, "world")
        for setting in TITLES
        for part in [pick(rows, world=world, setting=setting)]
    ]
    head = "population | setting | cells | prior in the set, % | worst cell | bounded, worst cell"
    least = min(column(rows, "covered"))
    said = (
        f"In {len(rows)} cells, the set contains the prior in at least {percent(least)}% of draws."
    )
    return f"{said}\n\n{table(head, lines, 'llr')}"


def show_claims(tables: Tables) -> str:
    lines = [
        [
            r["world"],
            f"{r['prior']:g}",
            str(r["size"]),
            percent(r["claimed"], 0),
            percent(r["inside"], 0),
        ]
        for r in tables("claims")
        if r["world"] in IRREDUCIBLE
    ]
    rows = [r for r in tables("claims") if r["claimed"] > 0]
    weight = column(rows, "claimed")
    held = float(weight @ column(rows, "inside") / weight.sum())
    said = f"Of all intervals claimed, {percent(held)}% contain the prior."
    head = "population | prior | positives | interval claimed, % | of these, contain the prior, %"
    return f"{said}\n\n{table(head, lines, 'lr')}"


def text_points_table(tables: Tables) -> str:
    rows = tables("points")
    found = {m: column(pick(rows, method=m), "error") for m in distinct(rows, "method")}
    best = np.min(list(found.values()), axis=0)
    order = sorted(found, key=lambda m: found[m].mean())
    lines = [
        [
            m,
            f"{found[m].mean():.3f}",
            f"{np.exp(np.log(found[m] + 0.002).mean()):.3f}",
            str(int((found[m] == best).sum())),
        ]
        for m in order
    ]
    return table("point estimate | mean error | geometric mean | best in cells", lines, "lr")


show_points = text_points_table


def rates(rows: list[Row]) -> list[str]:
    out = []
    for name in ("exact", "estimate"):
        out += [
            percent(np.mean([r[f"p_{name}"] < 0.05 for r in rows])),
            percent(np.mean([r[f"verdict_{name}"] in OFF for r in rows])),
        ]
    return [*out, percent(np.mean([r["held"] for r in rows]))]


def judged(tables: Tables) -> dict[str, list[Row]]:
    """Return the rows for calibrated models, and for miscalibrated ones."""
    rows = tables("verdicts")
    good = [r for r in rows if r["wrong"] == "as it is" and r["error"] <= CALIBRATED]
    return {"calibrated": good, "miscalibrated": [r for r in rows if r["error"] >= WRONG]}


def text_verdict_table(tables: Tables) -> str:
    lines = []
    for kind, rows in judged(tables).items():
        for setting, title in TITLES.items():
            part = pick(rows, setting=setting)
            models = {(r["world"], r["model"], r["wrong"]) for r in part}
            lines.append([kind, title, str(len(models)), str(len(part)), *rates(part)])
    head = (
        "models | setting | models | draws | p < .05, exact prior, % | verdict off, exact | "
        "p < .05, estimate | verdict off, estimate | prior in the set"
    )
    return table(head, lines, "llr")


def show_verdicts(tables: Tables) -> str:
    wrong = judged(tables)["miscalibrated"]
    lines = [
        [kind, TITLES[setting], *rates(pick(wrong, wrong=kind, setting=setting))]
        for kind in distinct(wrong, "wrong")
        for setting in TITLES
    ]
    head = (
        "distorted | setting | p < .05, exact, % | verdict off, exact | p < .05, estimate | "
        "verdict off, estimate | prior in the set"
    )
    return f"{text_verdict_table(tables)}\n\n{table(head, lines, 'llr')}"


def show_sources(tables: Tables) -> str:
    lines = [
        [
            r["way"],
            TITLES[r["setting"]],
            "yes" if r["fits"] else "no",
            f"{r['prior']:g}",
            f"{r['error']:+.4f}",
            f"{r['deviation']:.4f}",
            percent(r["covered"]),
            percent(r["alarms"]),
        ]
        for r in tables("sources")
    ]
    head = "way | setting | holds | prior | mean error | deviation | covered, % | alarms, %"
    return table(head, lines, "lllr")


def show_nceas(tables: Tables) -> str:
    rows, lines = tables("nceas"), []
    regions = distinct(rows, "region")
    for method in distinct(rows, "method"):
        cells = []
        for region in regions:
            part = pick(rows, method=method, region=region)
            truth = column(part, "prevalence")
            error = np.abs(column(part, "value") - truth).mean() if part else np.nan
            inside = (column(part, "low") <= truth) & (truth <= column(part, "high"))
            cells.append(f"{error:.3f} ({percent(inside.mean(), 0)})" if part else "")
        few = len(pick(rows, method=method)) < len(pick(rows, method=rows[0]["method"]))
        lines.append([f"{method} *" if few else method, *cells])
    counts = [len(pick(rows, method=rows[0]["method"], region=region)) for region in regions]
    heads = [f"{region}, {n} species" for region, n in zip(regions, counts, strict=True)]
    said = (
        "Mean distance from the prevalence (and % of species whose prevalence is in the set); "
        "methods with a star were asked about the first five species of a region:"
    )
    return f"{said}\n\n{table(['method', *heads], lines, 'lr')}"
