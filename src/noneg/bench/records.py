"""One file a run, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noneg.atomic import replacing
from noneg.bench.protocol import RunConfig

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    Record = dict[str, Any]

FORMAT = "noneg.bench/1"


def record_path(folder: str | os.PathLike[str], run: RunConfig) -> Path:
    """Return where the record of a run is kept."""
    return Path(folder) / f"{run.key}.json"


def write_record(folder: str | os.PathLike[str], run: RunConfig, content: Record) -> None:
    """Write the record of a run.

    Parameters
    ----------
    folder : path
    run : RunConfig
    content : dict
        `status` ("done" or "failed") and what was measured.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    whole = {"format": FORMAT, "key": run.key, "run": run.to_dict(), **content}
    with replacing(record_path(folder, run)) as partial:
        partial.write_text(json.dumps(whole, allow_nan=False), encoding="utf-8")


def read_record(path: Path) -> Record:
    """Return a record; refuse a file that is none, or that has another run's name."""
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
        run = RunConfig.from_dict(record["run"])
    except (KeyError, TypeError, ValueError) as error:
        msg = f"'folder' holds {path.name}, which is no record of a run ({error}). Remove it."
        raise ValueError(msg) from error
    if record.get("format") != FORMAT or run.key != path.stem or record.get("key") != run.key:
        msg = f"'folder' holds {path.name}, whose run has the name {run.key}. Remove that file."
        raise ValueError(msg)
    return record


def load_records(folder: str | os.PathLike[str]) -> list[Record]:
    """Return all records of a folder, in the order of their names.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of dict
        With `run`, `status`, `checkpoints`, `seconds` and `versions`.

    Examples
    --------
    >>> import tempfile
    >>> from noneg.bench import RunConfig
    >>> from noneg.bench.records import write_record
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_record(folder, run, {"status": "done", "checkpoints": {}})
    ...     print([record["run"]["algorithm"] for record in load_records(folder)])
    ['nnpu']
    """
    place = Path(folder)
    if not place.is_dir():
        msg = f"'folder' must be a folder of records, got {str(folder)!r}."
        raise FileNotFoundError(msg)
    return [read_record(path) for path in sorted(place.glob("[!.]*.json"))]


def open_runs(
    folder: str | os.PathLike[str], runs: Iterable[RunConfig], *, retry_failed: bool = False
) -> list[RunConfig]:
    """Return the runs that have no record yet, each once; failed ones too if they are retried."""
    left = []
    for run in dict.fromkeys(runs):
        path = record_path(folder, run)
        done = path.exists() and not (retry_failed and read_record(path)["status"] == "failed")
        if not done:
            left.append(run)
    return left
