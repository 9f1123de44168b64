"""The report: an `Evaluation` or a `Comparison` as one self-contained page, Markdown, text or JSON.

Rendering is a pure function of the evaluation and of `About`; nothing is computed from rows here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.report.comparing import comparison_to_html
    from noneg.report.document import About
    from noneg.report.html import to_html, to_json, to_markdown, to_notebook, to_text

__all__ = [
    "About",
    "comparison_to_html",
    "to_html",
    "to_json",
    "to_markdown",
    "to_notebook",
    "to_text",
]

# Charts and templates are loaded when a report is made.
_HOME = {
    "About": "document",
    "comparison_to_html": "comparing",
    "to_html": "html",
    "to_json": "html",
    "to_markdown": "html",
    "to_notebook": "html",
    "to_text": "html",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"noneg.report.{_HOME[name]}"), name)
    msg = f"module 'noneg.report' has no attribute {name!r}"
    raise AttributeError(msg)
