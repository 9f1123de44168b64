"""The report: `Evaluation` -> one self-contained page, or Markdown, text, JSON.

Rendering is a pure function of the evaluation and of `About`; nothing is computed from rows here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noneg.report.about import About
    from noneg.report.html import to_html

__all__ = ["About", "to_html"]

_HOME = {"About": "about", "to_html": "html"}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"noneg.report.{_HOME[name]}"), name)
    msg = f"module 'noneg.report' has no attribute {name!r}"
    raise AttributeError(msg)
