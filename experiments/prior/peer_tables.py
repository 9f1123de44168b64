"""Peers against our default: the same mixtures, and the settings of their papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
CELL = ["world", "prior", "n_positive", "seed"]


def paired(study: pd.DataFrame, peers: pd.DataFrame, default: str, keep) -> pd.DataFrame:
    """One line a peer: its error, ours on the same mixtures, and the difference.

    `study` and `peers` hold estimates by cell and method; `keep` picks cells by their lines of the
    default.
    """
    own = study[study["method"] == default].set_index(CELL)
    own = own[keep(own)]
    rows = []
    for name, part in peers.groupby("method"):
        both = own.join(part.set_index(CELL)["value"].rename("peer"), how="inner").reset_index()
        if len(both) > 1:
            ours = (both["value"] - both["prior"]).abs()
            theirs = (both["peer"] - both["prior"]).abs()
            rows.append((name, len(both), theirs.mean(), *difference(ours, theirs)))
    names = ["method", "mixtures", "its error", "ours", "difference", "error of it"]
    return pd.DataFrame(rows, columns=names).sort_values("its error")


def difference(ours: pd.Series, theirs: pd.Series) -> tuple[float, float, float]:
    """Our mean error, ours minus theirs, and the standard error of that."""
    gap = ours.to_numpy() - theirs.to_numpy()
    return float(ours.mean()), float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(gap.size))


def markdown(frame: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(frame.columns) + " |", "|---" * frame.shape[1] + "|"]
    for row in frame.itertuples(index=False):
        cells = [shown(name, value) for name, value in zip(frame.columns, row, strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shown(name: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return "-"
    return f"{value:+.4f}" if name == "difference" else f"{value:.4f}"


def papers() -> pd.DataFrame:
    """Errors in the papers' settings: as published, by their code here, and ours.

    The error is against the share that the data can tell at best, as in DEDPUL's paper. The
    difference is ours less their code's, on the same draws.
    """
    found = pd.read_csv(HERE / "papers.csv")
    found["error"] = (found["value"] - found["best"]).abs()
    found["group"] = group(found["setting"])
    printed = pd.read_csv(HERE / "published.csv").groupby(["setting", "share"])["error"].mean()
    rows = []
    for name, part in found.groupby("group", sort=False):
        wide = part.pivot_table(
            index=["setting", "share", "seed"], columns="method", values="error"
        )
        places = {(setting.split(", width")[0], share) for setting, share, _ in wide.index}
        shown = [printed[place] for place in places if place in printed.index]
        widths = "ours with the published widths"
        for peer in ("DEDPUL", "TEDn"):
            columns = (f"{peer} code", f"ours on {peer}'s scores", "ours")
            both = wide.reindex(columns=columns).dropna()
            if peer == ("TEDn" if name.startswith("mnist") else "DEDPUL"):
                line = [name, peer, len(wide), np.mean(shown) if shown else np.nan]
            elif len(both):
                line = [name, peer, len(both), np.nan]
            else:
                continue
            gap = difference(both["ours"], both[columns[0]])[1:] if len(both) > 1 else (np.nan,) * 2
            means = [both[c].mean() for c in columns[:2]]
            rows.append((*line, *means, wide[widths].mean(), wide["ours"].mean(), *gap))
    rows.append(everywhere(found, printed, widths))
    names = ["setting", "peer", "draws", "published", "its code here", "ours on its scores"]
    names += [widths, "ours", "difference", "error of it"]
    return pd.DataFrame(rows, columns=names)


def everywhere(found: pd.DataFrame, printed: pd.Series, widths: str) -> tuple:
    """The line of all settings in which DEDPUL's code was run."""
    columns = ["DEDPUL code", "ours on DEDPUL's scores", widths, "ours"]
    wide = found.pivot_table(index=["setting", "share", "seed"], columns="method", values="error")
    wide = wide[columns].dropna()
    shown = [printed[setting, share] for setting, share, _ in wide.index]
    gap = difference(wide["ours"], wide["DEDPUL code"])[1:]
    return ("all of DEDPUL's", "DEDPUL", len(wide), np.mean(shown), *wide.mean(), *gap)


def group(setting: pd.Series) -> pd.Series:
    """Worlds on a line by law and by what differs, everything else by its name."""
    law = setting.str.extract(r"^(\w+)\((\d), (\d)\)$")
    kind = np.where(law[1] == "0", "wider negatives", "shifted negatives")
    return pd.Series(np.where(law[0].isna(), setting, law[0] + ", " + kind), index=setting.index)
