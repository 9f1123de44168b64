"""Tables for the README, computed from the stored results."""

from experiments.tables import Tables, column, distinct, pick, table

NAMES = {
    ("", "none"): "unchanged",
    ("hidden", "auto"): "`Auto`, labels hidden",
    ("hidden", "multi"): "`Multi`, labels hidden",
    ("known", "auto"): "`Auto`, all labels",
    ("known", "multi"): "`Multi`, all labels",
    ("known", "mcgrad"): "MCGrad, all labels",
}


def show_groups(tables: Tables) -> str:
    """Return the mean over splits; the interval and name of the worst group are from the first
    split."""
    body = []
    for name in distinct(tables("groups"), "table"):
        for (labels, method), words in NAMES.items():
            rows = pick(tables("groups"), table=name, labels=labels, method=method)
            if not rows:
                continue
            first = rows[0]
            body.append(
                [
                    name,
                    words,
                    f"{column(rows, 'worst').mean():.3f}",
                    f"{first['group']}: {first['worst']:.3f} ± {first['half']:.3f}",
                    f"{column(rows, 'excluded').mean():.1f} of {first['groups']}",
                    f"{column(rows, 'mean').mean():.4f}",
                    f"{column(rows, 'brier').mean():.4f}",
                ]
            )
    head = [
        "table",
        "scores",
        "worst group",
        "which, with its interval",
        "wrong groups",
        "mean error",
        "Brier",
    ]
    return table(head, body, "llrlrrr")


def show_summary(tables: Tables) -> str:
    out = []
    for name in distinct(tables("groups"), "table"):
        rows = pick(tables("groups"), table=name)
        words = [
            f"{column(pick(rows, labels=labels, method=method), 'worst').mean():.3f}"
            for labels, method in NAMES
        ]
        out.append(
            f"- {name}: the worst group is off by {words[0]} before and {words[2]} after a repair "
            f"with labels hidden ({words[1]} with a map of the score alone); with all labels "
            f"{words[4]}, MCGrad {words[5]}."
        )
    return "\n".join(out)


def show_found(tables: Tables) -> str:
    body = [
        [
            row["table"],
            row["rule"],
            f"{row['positives']}",
            f"{row['prior']:.3f}",
            f"{row['score']:.3f}",
            f"{row['residual']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]",
        ]
        for row in tables("found")
        if row["low"] > 0.0 or row["high"] < 0.0
    ]
    return table(["table", "group", "positives", "prior", "mean score", "residual"], body, "llrrrl")


def show_gains(tables: Tables) -> str:
    body = []
    for name in distinct(tables("gains"), "table"):
        [real] = pick(tables("gains"), table=name, truth="table")
        drawn = pick(tables("gains"), table=name, truth="scores")
        left = int((column(drawn, "trees") == 0).sum())
        gain = f"{real['gain']:.4f} ± {real['error']:.4f}"
        body.append([name, f"{real['trees']}", gain, f"{left} of {len(drawn)}"])
    head = ["table", "trees", "held-out loss lowered by", "left alone if the scores are right"]
    return table(head, body, "lrrr")
