"""Records of runs: one file per run, written atomically, or packs of many records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noneg.atomic import replacing
from noneg.errors import InputError, MissingFileError
from noneg.lab.bench.protocol import RunConfig

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    Record = dict[str, Any]

FORMAT = "noneg.bench/2"


class DamagedRecordError(ValueError):
    """A file that is not a complete record of a run, such as a truncated one."""


def record_path(folder: str | os.PathLike[str], run: RunConfig) -> Path:
    """Return the path of a run's record."""
    return Path(folder) / f"{run.key}.json"


def write_record(folder: str | os.PathLike[str], run: RunConfig, content: Record) -> None:
    """Write the record of a run.

    Parameters
    ----------
    folder : path
    run : RunConfig
    content : dict
        `status` ("done" or "failed") and the measurements.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    whole = {"format": FORMAT, "key": run.key, "run": run.to_dict(), **content}
    with replacing(record_path(folder, run)) as partial:
        partial.write_text(json.dumps(whole, allow_nan=False), encoding="utf-8")


def read_record(path: Path) -> Record:
    """Return a record; reject a file that is not a record or has another run's name."""
    return _checked(path.read_bytes(), path.name, path.stem)


def _checked(text: str | bytes, file: str, key: str | None = None) -> Record:
    try:
        record: Record = json.loads(text)
        run = RunConfig.from_dict(record["run"])
        _ = record["checkpoints" if record["status"] == "done" else "error"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        msg = (
            f"'folder' contains {file}, which is not a complete record of a run ({error}). "
            "Remove it."
        )
        raise DamagedRecordError(msg) from error
    if record.get("format") != FORMAT:
        msg = (
            f"contains {file} in the format {record.get('format')!r}, but the "
            f"current format is {FORMAT!r}. Remove that file, or use another folder."
        )
        raise InputError("folder", msg)
    if key not in (None, run.key) or record.get("key") != run.key:
        msg = f"contains {file}, but the run in it is named {run.key}. Remove that file."
        raise InputError("folder", msg)
    return record


def pack_records(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Write all records in a folder to one file of JSON lines, and return their number.

    `load_records` can read such a file. Packs from several machines, put in one folder with the
    extension ``.jsonl``, are read together.

    Parameters
    ----------
    folder, path : path

    Examples
    --------
    >>> import tempfile
    >>> from noneg.lab.bench import RunConfig
    >>> from noneg.lab.bench.records import write_record
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_record(folder, run, {"status": "done", "checkpoints": {}})
    ...     pack_records(folder, f"{folder}/all.jsonl")
    1
    """
    records = load_records(folder)
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, allow_nan=False) + "\n" for record in records)
    return len(records)


def load_records(folder: str | os.PathLike[str]) -> list[Record]:
    """Return all records in a folder, sorted by name, with each run once.

    Parameters
    ----------
    folder : path
        A folder of records and packs of records, or one pack.

    Returns
    -------
    list of dict
        Each has `run`, `status`, `checkpoints`, `seconds` and `versions`.

    Examples
    --------
    >>> import tempfile
    >>> from noneg.lab.bench import RunConfig
    >>> from noneg.lab.bench.records import write_record
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_record(folder, run, {"status": "done", "checkpoints": {}})
    ...     print([record["run"]["algorithm"] for record in load_records(folder)])
    ['nnpu']
    """
    place = Path(folder)
    if place.is_file():
        packs, single = [place], []
    elif place.is_dir():
        packs, single = sorted(place.glob("[!.]*.jsonl")), sorted(place.glob("[!.]*.json"))
    else:
        msg = f"must be a folder of records, or a pack of them, got {str(folder)!r}."
        raise MissingFileError("folder", msg)
    found = {record["key"]: record for pack in packs for record in _read_pack(pack)}
    found |= {path.stem: read_record(path) for path in single}
    return [found[key] for key in sorted(found)]


def _read_pack(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as lines:
        return [_checked(line, f"{path.name}:{n}") for n, line in enumerate(lines, 1)]


def open_runs(
    folder: str | os.PathLike[str], runs: Iterable[RunConfig], *, retry_failed: bool = False
) -> tuple[list[RunConfig], list[RunConfig]]:
    """Return the runs without a complete record, each once, and those with a damaged record.

    The former include failed runs if those are to be retried.
    """
    packs = sorted(Path(folder).glob("[!.]*.jsonl"))
    status = {record["key"]: record["status"] for pack in packs for record in _read_pack(pack)}
    damaged = []
    for run in (asked := list(dict.fromkeys(runs))):
        path = record_path(folder, run)
        if not path.exists():
            continue
        try:
            status[run.key] = read_record(path)["status"]
        except DamagedRecordError:
            damaged.append(run)
            status.pop(run.key, None)
    kept = {"done"} if retry_failed else {"done", "failed"}
    return [run for run in asked if status.get(run.key) not in kept], damaged
