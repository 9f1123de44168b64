"""What commands print: names made safe for a terminal, and results as strict JSON."""

from __future__ import annotations

from noneg.report.document import plain, printable

__all__ = ["plain", "printable", "to_json"]


def to_json(schema: str, content: dict[str, object]) -> str:
    """Return one JSON object that says what it is and who wrote it."""
    import json
    from importlib.metadata import version

    head = {"schema": schema, "version": version("noneg")}
    return json.dumps(plain(head | content), indent=2, allow_nan=False)
