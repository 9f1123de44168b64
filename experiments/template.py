"""Pages as templates: Markdown with tables that are filled from the stored ones."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import jinja2

from experiments.tables import Row, Tables, column, distinct, percent, pick, with_error


def environment(**names: object) -> jinja2.Environment:
    """Return the Jinja environment for templates that may use these names."""
    page = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown
    )
    page.filters |= {"percent": percent, "error": with_error, "pick": pick, "column": column}
    page.filters["fixed"] = lambda value, digits: f"{value:.{digits}f}"
    page.filters["signed"] = lambda value, digits: f"{value:+.{digits}f}"
    page.filters["comma"] = lambda value: f"{value:,}"
    page.filters["yes"] = lambda value: "yes" if value else "no"
    page.filters |= {"distinct": distinct, "mean": mean, "only": only}
    page.filters["below_of"] = lambda rows, a, b: [r for r in rows if r[a] < r[b]]
    page.filters["reached"] = lambda rows, a, b: [r for r in rows if r[a] >= r[b]]
    page.globals |= names
    return page


def mean(rows: list[Row], name: str) -> float:
    return float(column(rows, name).mean())


def only(rows: list[Row], name: str, **wanted: object) -> object:
    """Return this column of the single row that has these values."""
    (row,) = pick(rows, **wanted)
    return row[name]


def page(path: Path, **names: object) -> jinja2.Template:
    """Return the template in this file, which may use these names."""
    return environment(**names).from_string(path.read_text(encoding="utf-8"))


def functions(module: ModuleType) -> dict[str, Callable[[Tables], str]]:
    """Return the macros of the template next to a module, which may use the module's names."""
    path = Path(module.__file__).with_suffix(".md")
    if not path.exists():
        return {}
    macros = vars(page(path, **vars(module)).module)
    return {name: macro for name, macro in macros.items() if callable(macro)}
