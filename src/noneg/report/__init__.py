"""The report: `Evaluation` -> one self-contained page, or Markdown, text, JSON.

Rendering is a pure function of the evaluation and of `About`; nothing is computed from rows here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.report.about import About
    from noneg.report.comparing import comparison_to_html
    from noneg.report.html import to_html
    from noneg.report.notebook import to_notebook
    from noneg.report.plain import to_json, to_markdown, to_text

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
    "About": "about",
    "comparison_to_html": "comparing",
    "to_html": "html",
    "to_json": "plain",
    "to_markdown": "plain",
    "to_notebook": "notebook",
    "to_text": "plain",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"noneg.report.{_HOME[name]}"), name)
    msg = f"module 'noneg.report' has no attribute {name!r}"
    raise AttributeError(msg)
