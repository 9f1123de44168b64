"""Tables for the README, computed from the stored results."""

import numpy as np

from experiments.tables import Tables, column, distinct, pick, table

NAMES = ("prior", "precision", "recall", "auroc", "ece")
DESIGNS = {"simple": "simple random sample", "own": "planned for it", "together": "planned for all"}
LEAST, MOST = 0.93, 0.98


def show_rmse(tables: Tables) -> str:
    rows = tables("rmse")
    body = []
    for case in distinct(rows, "case"):
        for target in distinct(rows, "target"):
            here = pick(rows, case=case, target=target)
            found = {row["design"]: row["rmse"] for row in here}
            found["own"] = found[target]
            body.append([case, target, *(f"{found[name]:.4f}" for name in DESIGNS)])
    return table(["case", "number", *DESIGNS.values()], body, "llrrr")


def show_coverage(tables: Tables) -> str:
    rows, body = tables("coverage"), []
    for prior in distinct(rows, "prior"):
        for budget in distinct(rows, "budget"):
            cells = []
            for name in NAMES:
                share = column(pick(rows, prior=prior, budget=budget, target=name), "coverage")
                cells.append(
                    f"{100 * share.min():.1f} to {100 * share.max():.1f}" if share.size else ""
                )
            if any(cells):
                body.append([f"{prior:g}", f"{budget:,}", *cells])
    return table(["prior", "reviews", *NAMES], body, "rrl")


def show_coverage_summary(tables: Tables) -> str:
    rows = tables("coverage")
    share = column(rows, "coverage")
    few = np.array([row["positives_found"] < 30 for row in rows])
    inside = (share >= LEAST) & (share <= MOST)
    above = share > MOST
    return (
        f"{len(rows)} cells of {rows[0]['trials']} reviews: coverage is at least "
        f"{100 * share.min():.1f}%, below 93% in {(share < LEAST).sum()} cells, between 93 and "
        f"98% in {inside.sum()} and above in {above.sum()}, {(few & above).sum()} of them with "
        "fewer than 30 positives found."
    )


def show_labeling(tables: Tables) -> str:
    body = [
        [
            f"{r['prior']:g}",
            r["setting"],
            f"{r['budget']:,}",
            f"{r['selection']:g}",
            f"{100 * r['rejected_recall']:.1f}",
            f"{100 * r['rejected_auroc']:.1f}",
            f"{r['true_factor']:.2f}",
            f"{100 * r['factor_held']:.1f}",
            f"{r['factor_limit']:.1f}",
        ]
        for r in tables("labeling")
    ]
    head = (
        "prior | setting | reviews | selection | rejects by recall, % | by AUROC, % | true factor"
    )
    return table(f"{head} | limit holds it, % | median limit", body, "rlr")


def show_looks(tables: Tables) -> str:
    body = [
        [
            f"{r['prior']:g}",
            r["model"],
            r["target"],
            f"{100 * r['excluded']:.2f}",
            f"{r['width']:.2f}",
        ]
        for r in tables("looks")
    ]
    return table("prior | model | number | ever excluded, % | width after 1,000", body, "rllr")


def show_species(tables: Tables) -> str:
    rows, body = tables("species"), []
    for region in distinct(rows, "region"):
        for reviews in distinct(pick(rows, region=region), "reviews"):
            here = pick(rows, region=region, reviews=reviews)
            mean = {name: column(here, name).mean() for name in here[0] if name not in HEAD}
            cells = [f"{mean[name]:.3f}" for name in ("auroc_before", "auroc_after")]
            cells += [f"{100 * mean['auroc_held']:.0f}"]
            cells += [f"{mean[name]:.3f}" for name in ("prior_before", "prior_after")]
            body.append(
                [region, f"{len(here)}", f"{reviews}", *cells, f"{100 * mean['prior_held']:.0f}"]
            )
    head = "region | species | reviews | AUROC, error before | after | interval holds it, %"
    return table(f"{head} | prior, error before | after | interval holds it, %", body, "lrr")


HEAD = ("region", "species", "reviews")
