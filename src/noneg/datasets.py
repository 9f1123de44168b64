"""Moved to `noneg.lab.datasets`."""

from __future__ import annotations

from noneg._moved import find_moved


def __getattr__(name: str) -> object:
    return find_moved(__name__, name)
