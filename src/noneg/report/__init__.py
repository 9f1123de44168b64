"""The report: an `Evaluation` or a `Comparison` as one self-contained page, Markdown, text or JSON.

Rendering is a pure function of the evaluation and `About`; nothing is computed from rows here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.report.comparing import comparison_to_html as comparison_to_html
    from noneg.report.document import About as About
    from noneg.report.html import (
        save as save,
        to_html as to_html,
        to_json as to_json,
        to_markdown as to_markdown,
        to_notebook as to_notebook,
        to_text as to_text,
    )
    from noneg.report.monitoring import monitoring_to_html as monitoring_to_html

# Charts and templates are loaded only when a report is rendered.
_NAMES = {
    "comparing": ("comparison_to_html",),
    "document": ("About",),
    "html": ("save", "to_html", "to_json", "to_markdown", "to_notebook", "to_text"),
    "monitoring": ("monitoring_to_html",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"noneg.report.{_HOME[name]}"), name)
    msg = f"module 'noneg.report' has no attribute {name!r}"
    raise AttributeError(msg)
