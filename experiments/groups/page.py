"""Tables for the README, computed from the stored results."""

from experiments.tables import Row, Tables, column, pick

TITLES = {
    "prior": "prior",
    "bias": "prior minus mean score",
    "debiased_ece": "calibration error",
    "auroc": "AUROC",
    "precision": "precision at 0.5",
    "recall": "recall at 0.5",
}
GROUPS = (5, 20, 200)


def covered(tables: Tables) -> list[Row]:
    """Return how often all groups are covered: mean and smallest value over populations."""
    rows = []
    for metric, title in TITLES.items():
        row: Row = {"metric": title}
        for groups in GROUPS:
            here = pick(tables("coverage"), metric=metric, groups=groups)
            found = column(here, "covered")
            row[f"worlds{groups}"] = f"{len(here)} x {here[0]['draws']}" if here else "0"
            row[f"mean{groups}"] = float(found.mean()) if found.size else float("nan")
            row[f"least{groups}"] = float(found.min()) if found.size else float("nan")
        rows.append(row)
    return rows


def sizes(tables: Tables) -> list[Row]:
    """Return how often the tests reject, in calibrated populations and in others."""
    rows = []
    for calibrated in (True, False):
        for groups in GROUPS:
            wanted = {"metric": "prior", "groups": groups, "calibrated": calibrated}
            found = pick(tables("coverage"), **wanted)
            if found:
                tests = {name: float(column(found, name).mean()) for name in ("test", "largest")}
                worlds = {"groups": groups, "worlds": len(found), "trials": found[0]["trials"]}
                rows.append({"calibrated": calibrated} | worlds | tests)
    return rows
