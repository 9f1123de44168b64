"""Tables of means and spreads over splits, compared with the paper's numbers."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.checks import is_pooled
from noneg.errors import InputError
from noneg.lab.bench.measures import columns, find_sign, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Form = Literal["markdown", "latex", "csv"]

PAPER_RATE = 0.3
# The paper's method names, by algorithm, variant and correction; "+c" is the paper's correction.
_CORRECTED = ("upu", "nnpu", "nnpu-ga", "pusb", "vpu", "dist-pu")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One metric for one method, over splits.

    Attributes
    ----------
    world : tuple
        Data set, setting, case, rate and given prior.
    method, metric, criterion : str
    mean : float
    std : float
        Sample standard deviation over splits; nan for one split.
    error : float
        Standard error of the mean; the paper's "std" is the same, with n instead of n - 1.
    splits : int
    """

    world: tuple[Any, ...]
    method: str
    metric: str
    criterion: str
    mean: float
    std: float
    error: float
    splits: int


def summarize(
    records: Sequence[Mapping[str, Any]],
    *,
    metrics: Iterable[str] = ("accuracy", "auc", "f1"),
    criteria: Iterable[str] = ("proxy_accuracy", "proxy_auc", "oracle_accuracy"),
) -> list[Cell]:
    """Return means over splits of the metrics selected by each criterion.

    Parameters
    ----------
    records : sequence of dict
        Records from `load_records`.
    metrics, criteria : iterable of str

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> from dataclasses import replace
    >>> from noneg.lab.bench import RunConfig
    >>> run = RunConfig(dataset="usps", setting="one-sample", algorithm="lbe")
    >>> records = [
    ...     {
    ...         "run": replace(run, split=split).to_dict(),
    ...         "status": "done",
    ...         "checkpoints": {"step": [100], "proxy_auc": [0.9], "accuracy": [accuracy]},
    ...     }
    ...     for split, accuracy in enumerate([0.90, 0.92])
    ... ]
    >>> cells = summarize(records, metrics=["accuracy"], criteria=["proxy_auc"])
    >>> [(cell.method, round(cell.mean, 3), round(cell.error, 3)) for cell in cells]
    [('lbe', 0.91, 0.01)]
    """
    names, cells = list(metrics), []
    for name in names:
        find_sign(name, columns(), "metrics")
    for criterion in criteria:
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for found in select(records, by=criterion):
            groups.setdefault((found.world, found.method), []).append(found.metrics)
        for (world, method), chosen in groups.items():
            place = {"world": world, "method": method, "criterion": criterion}
            cells += [_cell([c.get(metric) for c in chosen], place, metric) for metric in names]
    return cells


def _cell(found: list[float | None], place: dict[str, Any], metric: str) -> Cell:
    values = np.array(found, dtype=np.float64)
    std = float(values.std(ddof=1)) if values.size > 1 else math.nan
    error = std / math.sqrt(values.size)
    mean = float(values.mean())
    return Cell(**place, metric=metric, mean=mean, std=std, error=error, splits=values.size)


def render(cells: Sequence[Cell], form: Form = "markdown") -> str:
    """Return a table with one row per method and one column per metric and criterion.

    Values are in percent. The number after ± is the standard error of the mean.

    Parameters
    ----------
    cells : sequence of Cell
    form : {"markdown", "latex", "csv"}

    Examples
    --------
    >>> world = ("usps", "one-sample", 1, 0.3, None)
    >>> names = {"method": "lbe", "metric": "accuracy", "criterion": "proxy_auc"}
    >>> print(render([Cell(world=world, **names, mean=0.91, std=0.014, error=0.01, splits=2)]))
    | data | method | accuracy by proxy_auc |
    | --- | --- | ---: |
    | usps 1, one-sample 30% | lbe | 91.00 ± 1.00 |
    <BLANKLINE>
    """
    if form == "csv":
        return _as_csv(cells)
    columns = list(dict.fromkeys((c.metric, c.criterion) for c in cells))
    rows: dict[tuple[Any, ...], dict[tuple[str, str], Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.world, cell.method), {})[cell.metric, cell.criterion] = cell
    head = ["data", "method", *(f"{metric} by {criterion}" for metric, criterion in columns)]
    body = [
        [_world(world), method, *(_number(found.get(column)) for column in columns)]
        for (world, method), found in rows.items()
    ]
    return _markdown(head, body) if form == "markdown" else _latex(head, body)


def _as_csv(cells: Sequence[Cell]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    world = ("dataset", "setting", "case", "rate", "given_prior")
    names = ("method", "metric", "criterion", "mean", "std", "error", "splits")
    writer.writerow([*world, *names])
    writer.writerows([*cell.world, *(getattr(cell, name) for name in names)] for cell in cells)
    return out.getvalue()


def _world(world: tuple[Any, ...]) -> str:
    dataset, setting, case, rate, prior = world
    told = "" if prior is None else f", given prior {prior:g}"
    return f"{dataset} {case}, {setting} {rate:.0%}{told}"


def _number(cell: Cell | None) -> str:
    if cell is None or math.isnan(cell.mean):
        return "n/a"
    spread = "" if math.isnan(cell.error) else f" ± {100 * cell.error:.2f}"
    return f"{100 * cell.mean:.2f}{spread}"


def _markdown(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _latex(head: list[str], body: list[list[str]]) -> str:
    def row(cells: list[str]) -> str:
        text = " & ".join(cells).replace("_", r"\_").replace("%", r"\%")
        return text.replace("±", r"$\pm$") + r" \\"

    lines = [
        rf"\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}",
        r"\toprule",
        row(head),
        r"\midrule",
        *(row(line) for line in body),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def paper_numbers(table: int | None = None) -> list[dict[str, Any]]:
    """Return the numbers from the PU benchmark paper, Tables 1, 2 and 5 to 18, in percent.

    The row for PAN in Table 17 is omitted because one of its numbers is missing, and it is unclear
    which. Method names that end in "-c" in the paper end in "+c" here.

    Parameters
    ----------
    table : int, optional
        One table only.

    Examples
    --------
    >>> numbers = paper_numbers(15)
    >>> [n["mean"] for n in numbers if n["method"] == "nnpu"][:3]
    [90.6, 87.49, 90.22]
    """
    text = files("noneg.lab.bench").joinpath("paper.csv").read_text(encoding="utf-8")
    kinds = {"table": int, "case": int, "mean": float, "spread": float}
    rows: list[dict[str, Any]] = [
        row | {name: kind(row[name]) for name, kind in kinds.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]
    found = [row for row in rows if table in (None, row["table"])]
    if not found:
        known = ", ".join(str(k) for k in sorted({row["table"] for row in rows}))
        raise InputError("table", f"must be one of {known}", value=table)
    return found


def paper_name(method: str) -> str | None:
    """Return the paper's name for a method, or None if it is not in the paper.

    The paper's corrected methods append the positives to the batch, and the others are not adapted
    to the one-sample setting; both are the variant "bench" where there is one.

    Examples
    --------
    >>> paper_name("nnpu/bench/batch"), paper_name("nnpu/bench/none"), paper_name("lbe")
    ('nnpu+c', 'nnpu', 'lbe')
    """
    algorithm, *rest = method.split("/")
    correction = rest[-1] if rest and rest[-1] != "bench" else None
    if algorithm not in _CORRECTED:
        return algorithm if correction in (None, "none") else None
    if "bench" not in rest or correction not in ("batch", "none"):
        return None
    return f"{algorithm}+c" if correction == "batch" else algorithm


def against_paper(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Compare cells with the paper's numbers, in percent, for matching worlds and methods.

    Parameters
    ----------
    cells : iterable of Cell
        Cells from `summarize`.

    Returns
    -------
    list of dict
        Each has `table`, `dataset`, `case`, `method`, `metric`, `criterion`, `ours`, `ours_error`,
        `paper`, `paper_error` and `difference`.

    Examples
    --------
    >>> world = ("usps", "one-sample", 1, 0.3, None)
    >>> names = {"method": "lbe", "metric": "accuracy", "criterion": "proxy_auc"}
    >>> cell = Cell(world=world, **names, mean=0.91, std=0.014, error=0.01, splits=2)
    >>> [(row["table"], row["ours"], row["paper"]) for row in against_paper([cell])]
    [(15, 91.0, 87.1)]
    """
    theirs = {
        (n["dataset"], n["case"], n["method"], n["metric"], n["criterion"]): n
        for n in paper_numbers()
    }
    rows = []
    for cell in cells:
        dataset, setting, case, rate, prior = cell.world
        number = theirs.get((dataset, case, paper_name(cell.method), cell.metric, cell.criterion))
        if number is None or not is_pooled(setting) or rate != PAPER_RATE or prior is not None:
            continue
        rows.append({
            "table": number["table"],
            "dataset": dataset,
            "case": case,
            "method": cell.method,
            "metric": cell.metric,
            "criterion": cell.criterion,
            "ours": 100 * cell.mean,
            "ours_error": 100 * cell.error,
            "paper": number["mean"],
            "paper_error": number["spread"],
            "difference": 100 * cell.mean - number["mean"],
        })  # fmt: skip
    return rows
