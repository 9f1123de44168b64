"""Pages as templates: Markdown with tables that are filled from the stored ones."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import jinja2

from experiments.tables import Row, Tables, column, distinct, percent, pick, with_error


def only(rows: list[Row], name: str, **wanted: object) -> object:
    """Return this column of the single row that has these values."""
    (row,) = pick(rows, **wanted)
    return row[name]


FILTERS = {
    "below_of": lambda rows, a, b: [row for row in rows if row[a] < row[b]],
    "column": column,
    "comma": lambda value: f"{value:,}",
    "distinct": distinct,
    "error": with_error,
    "fixed": lambda value, digits: f"{value:.{digits}f}",
    "mean": lambda rows, name: float(column(rows, name).mean()),
    "only": only,
    "percent": percent,
    "pick": pick,
    "reached": lambda rows, a, b: [row for row in rows if row[a] >= row[b]],
    "signed": lambda value, digits: f"{value:+.{digits}f}",
    "yes": lambda value: "yes" if value else "no",
}


def functions(module: ModuleType) -> dict[str, Callable[[Tables], str]]:
    """Return the macros of the template next to a module, which may use the module's names."""
    path = Path(module.__file__).with_suffix(".md")
    if not path.exists():
        return {}
    options = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    page = jinja2.Environment(**options, autoescape=False)  # noqa: S701 - Markdown
    page.filters |= FILTERS
    page.globals |= vars(module)
    macros = vars(page.from_string(path.read_text(encoding="utf-8")).module)
    return {name: macro for name, macro in macros.items() if callable(macro)}
