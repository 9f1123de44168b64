"""Experiments are scripts in folders of their own; a test file names its FOLDER and MODULES."""

import sys

import pytest


@pytest.fixture
def modules(request, monkeypatch):
    """Import the experiment's files, and forget them after the test."""
    names = request.module.MODULES
    monkeypatch.syspath_prepend(str(request.module.FOLDER))
    yield {name: __import__(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)
