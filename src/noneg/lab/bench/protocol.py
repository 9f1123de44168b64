"""Benchmark runs: their data sets as PU data, their settings, names and records.

A record is a file with one run, written atomically; a pack contains many records.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

from noneg.atomic import replacing
from noneg.checks import check_prior, check_pu_setting
from noneg.errors import InputError, MissingFileError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    Record = dict[str, Any]

Kind = Literal["table", "raw", "pixels", "image"]
View = Literal["turned", "cropped"]
Favor = Literal["score", "feature", "class"]
PUSetting = Literal["two-sample", "one-sample"]

# The format of records.
FORMAT = "noneg.bench/2"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to make PU data from a data set (PU benchmark paper, Appendix B).

    Attributes
    ----------
    classes : int
        Number of classes; each contributes the same number of training rows.
    rows : int
        Total number of training and validation rows, positive and unlabeled.
    cases : tuple of tuple of int
        The positive classes of case 1, 2, ...
    kind : {"table", "raw", "pixels", "image"}
        How rows are scaled: per feature, not at all, all pixels together, or per channel. The
        network is a ResNet for images and a multilayer perceptron otherwise.
    batch : int
        Default number of P rows, and also of U rows, in a step.
    view : {"turned", "cropped"}, optional
        Augmentation of training images: flipped and rotated, or flipped and shifted; see
        `noneg.learning.views`. By default, there is none.
    source : str, optional
        Data set of which this one is another version; the draws use the same rows.
    selection : float
        In the two-sample setting, the ratio of the largest and the smallest labeling probability of
        a positive; with 1, positives are labeled at random.
    favors : {"score", "feature", "class"}
        What the labeling probability increases with: a linear score; the first principal component
        of the positives, without what the score explains; or whether a row belongs to the first
        positive class.
    repaired : bool
        Whether labeled rows are resampled with the inverse of that probability, as is possible if
        it is known.
    """

    classes: int
    rows: int
    cases: tuple[tuple[int, ...], ...]
    kind: Kind = "table"
    batch: int = 64
    view: View | None = None
    source: str | None = None
    selection: float = 1.0
    favors: Favor = "score"
    repaired: bool = False

    def positives(self, case: int) -> tuple[int, ...]:
        """Return the positive classes of a case."""
        if case not in range(1, len(self.cases) + 1):
            msg = f"must be an integer from 1 to {len(self.cases)}, got {case!r}."
            raise InputError("case", msg)
        return self.cases[case - 1]

    def prior(self, case: int) -> float:
        """Return the share of positives in the population of a case."""
        return len(self.positives(case)) / self.classes


def _letters(*words: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(ascii_uppercase.index(letter) for letter in w)) for w in words)


_VEHICLES_AND_OTHERS = ((0, 1, 2, 8, 9), (2, 3, 5, 7, 9))
_DIGITS = ((4, 5, 7, 8, 9), (1, 4, 6, 8, 9))
_LETTERS = _letters("BVLRIOWSJKCHZ", "DTAYQGBLIWJCZ")
_BINARY = ((1,), (0,))

# The benchmark's four data sets, followed by others.
PLANS: dict[str, Plan] = {
    # The benchmark uses 20,000 rows; no class makes up exactly a tenth of the first 20,000 images.
    "cifar10": Plan(
        classes=10, rows=19_000, cases=_VEHICLES_AND_OTHERS, kind="image", view="cropped"
    ),
    "usps": Plan(classes=10, rows=4000, cases=_DIGITS, kind="pixels", view="turned"),
    # Features are small integers; the benchmark does not scale them.
    "letter": Plan(classes=26, rows=13_000, cases=_LETTERS, kind="raw"),
    # The same rows with standardized features.
    "letter-standardized": Plan(classes=26, rows=13_000, cases=_LETTERS, source="letter"),
    "mnist": Plan(classes=10, rows=20_000, cases=_DIGITS, kind="pixels"),
    "digits": Plan(classes=10, rows=1000, cases=_DIGITS, kind="pixels", batch=32),
    "breast_cancer": Plan(classes=2, rows=300, cases=_BINARY, batch=32),
    "spambase": Plan(classes=2, rows=2400, cases=_BINARY),
    "credit_default": Plan(classes=2, rows=9000, cases=_BINARY),
    "covtype": Plan(classes=7, rows=14_000, cases=((1,), (0, 1))),
}

# Labels that favor certain positives, with and without correction by known propensities.
SELECTIONS = (1.5, 2.0, 4.0)
_FAVORS: dict[Favor, str] = {"score": "", "feature": "by-feature-", "class": "by-class-"}
PLANS |= {
    f"{name}-selected-{words}{selection:g}{'-repaired' if repaired else ''}": replace(
        PLANS[name],
        source=PLANS[name].source or name,
        selection=selection,
        favors=favors,
        repaired=repaired,
    )
    for name in ("usps", "letter-standardized")
    for favors, words in _FAVORS.items()
    for selection in SELECTIONS
    for repaired in (False, True)
}


def find_plan(dataset: object) -> Plan:
    """Return the plan of a data set.

    Examples
    --------
    >>> find_plan("usps").prior(1)
    0.5
    """
    if dataset not in PLANS:
        raise InputError("dataset", f"must be one of {', '.join(PLANS)}", value=dataset)
    return PLANS[str(dataset)]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run.

    Attributes
    ----------
    dataset : str
        A name in `PLANS`.
    setting : {"one-sample", "two-sample"}
    case : int
        Index of the set of positive classes, starting from 1.
    rate : float
        Labeled positives as a share of all training rows.
    algorithm : str
        A name in `noneg.learning.ALGORITHMS`.
    variant : {"ref", "bench"}
        The original method, or the version behind the benchmark paper's numbers.
    correction : str or None
        One-sample correction; None for the algorithm's own.
    configuration : int
        0 for default hyperparameters; other numbers give random ones, with the same value for all
        algorithms that share a hyperparameter.
    split : int
        Index of the random split.
    steps, every : int
        Number of updates, and number of updates between checkpoints.
    given_prior : float or None
        The prior given to the algorithm and the criteria, if it is not the true one.
    augmented : bool
        Whether training images are augmented as in the data set's plan.
    options : tuple of (str, float)
        Hyperparameters that replace those of the configuration, such as ``("lr", 0.01)``.

    Examples
    --------
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> run.key == RunConfig.from_dict(run.to_dict()).key
    True
    """

    dataset: str
    setting: PUSetting
    algorithm: str
    case: int = 1
    rate: float = 0.3
    variant: Literal["ref", "bench"] = "ref"
    correction: str | None = None
    configuration: int = 0
    split: int = 0
    steps: int = 20_000
    every: int = 100
    given_prior: float | None = None
    augmented: bool = True
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        find_plan(self.dataset).positives(self.case)
        check_pu_setting(self.setting)
        if not 0.0 < self.rate < 1.0:
            raise InputError("rate", "must be a share in (0, 1)", value=self.rate)
        if self.given_prior is not None:
            check_prior(self.given_prior, "given_prior")
        for name in ("steps", "every"):
            if getattr(self, name) < 1:
                raise InputError(name, "must be at least 1", value=getattr(self, name))

    @property
    def key(self) -> str:
        """The name of the run: a hash of everything it depends on."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def method(self) -> str:
        """Name in tables: algorithm, variant, correction and options."""
        parts = [self.algorithm, *(["bench"] if self.variant == "bench" else [])]
        chosen = [f"{name}={value}" for name, value in self.options]
        return "/".join([*parts, *([self.correction] if self.correction else []), *chosen])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings; `options` is omitted if empty, to keep run names."""
        values = asdict(self)
        options = dict(values.pop("options"))
        return values | ({"options": options} if options else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """Return a run from the output of `to_dict`."""
        known = {f.name for f in fields(cls)}
        if set(values) - known:
            msg = f"must contain fields of a run, got {sorted(set(values) - known)}."
            raise InputError("values", msg)
        options = tuple(dict(values.get("options", ())).items())
        return cls(**{**values, "options": options})


def sweep(**axes: Iterable[Any]) -> list[RunConfig]:
    """Return all runs in a grid.

    Parameters
    ----------
    **axes : iterable
        Values for the fields of `RunConfig`, by name.

    Examples
    --------
    >>> grid = sweep(
    ...     dataset=["digits"], setting=["one-sample"], algorithm=["upu", "nnpu"], split=range(3)
    ... )
    >>> len(grid), grid[-1].algorithm, grid[-1].split
    (6, 'nnpu', 2)
    """
    points = product(*axes.values())
    return [RunConfig.from_dict(dict(zip(axes, point, strict=True))) for point in points]


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
    >>> from noneg.lab.bench.protocol import write_record
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
    >>> from noneg.lab.bench.protocol import write_record
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
