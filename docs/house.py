"""Draw the layers of noneg from pyproject.toml: python docs/house.py

Floors are groups of layers; modules are ordered by layer, from left to right.
"""

import re
import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
FLOORS = [  # name, color, and modules with their contents
    ("command", "#f3c9a5", {"cli": "commands"}),
    ("research", "#f6d8ae", {"lab": "benchmark, information theory, data sets, SGLD"}),
    ("tools", "#f4dfb2", {"integrations": "MLflow"}),
    ("show", "#f2e6b6", {"report": "page, text, JSON", "plots": "matplotlib"}),
    (
        "answer",
        "#e4ecc0",
        {
            "comparison": "which model",
            "evaluation": "all at once",
            "gates": "yes or no",
            "monitoring": "over time",
            "page_state": "for sliders",
            "sensitivity": "by prior",
            "torch": "in loops",
            "verdict": "ok or not",
        },
    ),
    ("train", "#cfe5c3", {"learning": "networks, tables", "sklearn": "scorers, splits"}),
    ("review", "#c9e4c6", {"audit": "rows to review, answers"}),
    ("repair", "#c3e2c9", {"recalibration": "calibrators", "prior": "class prior"}),
    (
        "measure",
        "#b9dcd3",
        {
            "calibration": "errors, intervals",
            "groups": "by column",
            "performance": "risk, ROC, PR",
            "theory": "bounds, plans",
            "metrics": "all of them",
        },
    ),
    (
        "take in",
        "#bcd4ea",
        {"tables": "frames, files", "sketch": "mergeable sums"},
    ),
    (
        "rest on",
        "#d3cdea",
        {
            "simulation": "truth",
            "bins": "width, mass",
            "intervals": "engine",
            "likelihood": "of the labels",
            "selection": "bounds",
            "losses": "rules",
            "rules": "curves",
            "registry": "entries",
            "knowledge": "prior, selection",
            "laws": "in order",
            "scores": "PUScores",
        },
    ),
    (
        "bottom",
        "#ddd3d9",
        {
            "arrays": "types",
            "atomic": "files",
            "checks": "input",
            "errors": "as data",
            "extras": "optional",
            "kernels": "loops",
            "kernels_numba": "twins",
            "randomness": "streams",
            "results": "Estimate",
            "sentences": "words",
            "shares": "limits",
        },
    ),
]
LEFT, WIDTH, HEIGHT, GAP = 84, 1060, 52, 8


def layers():
    """Return the modules in the order of the layers that the linter enforces."""
    settings = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [name for layer in contract["layers"] for name in re.findall(r"\w+", layer)]


def words(middle, height, style, text):
    place = f'x="{middle:.0f}" y="{height}" text-anchor="middle"'
    return f"<text {place} {style}>{escape(text)}</text>"


def room(left, top, width, color, name, holds):
    middle, size = left + width / 2, f'width="{width:.0f}" height="{HEIGHT}"'
    return [
        f'<rect x="{left:.0f}" y="{top}" {size} rx="5" fill="{color}"/>',
        words(middle, top + 22, 'font-weight="bold"', name),
        words(middle, top + 40, 'font-size="12"', holds),
    ]


def picture():
    """Return the drawing as SVG."""
    drawn = [name for _, _, rooms in FLOORS for name in rooms]
    assert drawn == layers(), f"the floors are not the layers: {set(drawn) ^ set(layers())}"
    lines = ["<title>The layers of noneg, from the command line down to the loops</title>"]
    for number, (floor, color, rooms) in enumerate(FLOORS):
        top = GAP + number * (HEIGHT + GAP)
        width = (WIDTH - LEFT - GAP * len(rooms)) / len(rooms)
        lines.append(
            f'<text x="{LEFT - 12}" y="{top + 31}" text-anchor="end" fill="#7a7f87">{floor}</text>'
        )
        for place, (name, holds) in enumerate(rooms.items()):
            lines += room(LEFT + place * (width + GAP), top, width, color, name, holds)
    height = GAP + len(FLOORS) * (HEIGHT + GAP)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13" fill="#1f2328">'
    )
    paper = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, paper, *(f"  {line}" for line in lines), "</svg>"]) + "\n"


if __name__ == "__main__":
    (HERE / "house.svg").write_text(picture(), encoding="utf-8")
