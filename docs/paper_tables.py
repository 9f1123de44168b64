"""The directive ``{paper}``: a table of a paper's statements and where they are covered, from a CSV
file."""

import csv
from collections import Counter
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent / "papers"


OPEN = "the experiment is set up, its results are not stored yet"


def entries(name):
    """Return the rows of a paper's file; a missing result is open, whatever its status."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        if row["evidence"] and not (FOLDER.parents[1] / row["evidence"]).exists():
            row["status"] = "open"
            row["note"] = "; ".join(filter(None, [row["note"], OPEN]))
    return rows


def shown(place):
    """Return a location as Markdown: a link into the reference, or a path."""
    if place.startswith("noneg."):
        return f"{{any}}`{place.rsplit('.', 1)[1]} <{place}>`"
    return f"`{place}`"


def cell(text):
    return text.replace("|", "\\|")


def markdown(rows):
    """Return a table, preceded by the number of entries with each status."""
    counts = Counter(row["status"] for row in rows)
    head = (
        f"{len(rows)} entries: {', '.join(f'{n} {status}' for status, n in counts.most_common())}."
    )
    lines = [head, "", "| item | says | where | status |", "|---|---|---|---|"]
    for row in rows:
        where = ", ".join(shown(place) for place in row["where"].split("; ") if place)
        status = f"**{row['status']}**" + (f": {row['note']}" if row["note"] else "")
        lines.append(f"| {cell(row['item'])} | {cell(row['says'])} | {where} | {cell(status)} |")
    return "\n".join(lines)


class Paper(SphinxDirective):
    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        self.env.note_dependency(str(FOLDER / f"{name}.csv"))
        return self.parse_text_to_nodes(markdown(entries(name)))


def setup(app):
    app.add_directive("paper", Paper)
    return {"parallel_read_safe": True}
