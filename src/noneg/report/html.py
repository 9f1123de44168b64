"""An evaluation as a page, notebook cell, Markdown, text or JSON: views of its `Document`.

The page is a single self-contained HTML file that loads nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noneg.atomic import write_text
from noneg.errors import InputError
from noneg.evaluation import FACTORS, Evaluation
from noneg.metrics import METRICS
from noneg.page_state import EXPLORED
from noneg.report import charts
from noneg.report.content import document
from noneg.report.document import WIDTH, About, Document, asset, escaped_turns, markdown, text
from noneg.report.payload import Rows, data_names, datasets, payload
from noneg.results import plain
from noneg.sentences import say

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from jinja2 import Environment

    from noneg.recalibration.choose import HeldOut
    from noneg.report.charts import Drawing

SCHEMA = "noneg.report/1"
# What differs from page to page; a page without sliders needs nothing else.
STILL: dict[str, object] = {
    "movable": False,
    "contradicted": False,
    "two_diagrams": False,
    "noted": False,
    "free": (),
}


def to_html(
    evaluation: Evaluation, about: About | None = None, *, truth: Evaluation | None = None
) -> str:
    """Return the report as one HTML page that works without a network.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
        The origin of the numbers: title, files, command.
    truth : Evaluation, optional
        Evaluation of the same rows with all their labels, if known. A final section then shows
        estimates and truth side by side.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> page = to_html(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> page.startswith("<!DOCTYPE html>"), "http://" in page.split("<script>")[0]
    (True, False)
    """
    known = evaluation.prior
    return page(
        document(evaluation, about, truth),
        payload(evaluation, about.reading if about else ""),
        ("recompute.js", "selection.js", "words.js", "strip.js", "sort.js", "page.js"),
        evaluation=evaluation,
        movable=not evaluation.is_labeled,
        contradicted=evaluation.verdict.key == "verdict_contradicted",
        estimated=evaluation.prior_kind in ("upper bound", "unknown"),
        interval=known.low < known.high,
        largest=FACTORS[-1] if evaluation.selection_sums else None,
        level=f"{100 * evaluation.level:.6g}",
        two_diagrams=len(evaluation.sums.diagrams) > 1,
        free=[one.title for one in METRICS.values() if not one.needs_prior],
        explored=EXPLORED,
        noted=bool(about and about.noted),
    )


def page(
    content: Document,
    data: Mapping[str, Any] | None = None,
    scripts: Iterable[str] = ("sort.js", "compare.js"),
    **values: object,
) -> str:
    """Return a document as one HTML page with its charts; by default, no number follows a slider.

    Parameters
    ----------
    content : Document
    data : mapping, optional
        What the scripts compute with.
    scripts : iterable of str
        Names of files in ``assets``.
    **values
        Values for the template.
    """
    texts = [vega(), *map(asset, scripts)]
    drawings = content.drawings
    drawn = {
        "still": {name: rows for one in drawings for name, rows in one.rows.items()},
        "charts": {one.name: one.spec for one in drawings},
        "chart_data": {one.name: sorted(data_names(one.spec)) for one in drawings},
    }
    template = environment().get_template("page.html.jinja")
    html = template.render(
        STILL | values,
        document=content,
        data=as_json({**(data or {}), **drawn}),
        scripts=texts,
        style=asset("style.css"),
        policy=policy(texts),
        version=version("noneg"),
    )
    # A file name may contain a lone surrogate or change the text direction.
    return escaped_turns(html)


def as_json(data: dict[str, Any]) -> str:
    r"""Return strict JSON that cannot close a script element.

    Examples
    --------
    >>> print(as_json({"name": "</script>&"}))
    {"name":"\u003c/script\u003e\u0026"}
    """
    text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def policy(scripts: Iterable[str]) -> str:
    """Return a content security policy that runs only these scripts and loads nothing."""
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def vega() -> str:
    """Return the Vega libraries, which are bundled with the installed package."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    # A browser would close the script element here, even inside a string.
    return bundle.replace("</script", "<\\/script")


@cache
def environment() -> Environment:
    """Return the templates; values are escaped, except for our own files and charts."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("noneg.report", "assets")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    made.globals["say"] = say
    return made


# Charts in a notebook, and the size of each.
SHOWN = (charts.reliability, charts.distribution, charts.roc, charts.pr)
SIZE = {"width": 380, "height": 240, "autosize": {"type": "fit", "contains": "padding"}}

_VARIABLE = re.compile(r"(--[\w-]+):\s*([^;]+);")


def to_notebook(evaluation: Evaluation) -> str:
    """Return HTML for a notebook cell: summary and charts at the prior of the evaluation.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> shown = to_notebook(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> "<svg" in shown, "<script" in shown
    (True, False)
    """
    return notebook_cell(document(evaluation), SHOWN, datasets(evaluation))


def notebook_cell(
    content: Document, drawings: Iterable[Drawing], data: Mapping[str, Rows] | None = None
) -> str:
    """Return a document and pictures of its charts for a notebook cell."""
    template = environment().get_template("notebook.html.jinja")
    colors = {name.removeprefix("--"): color for name, color in _light_colors().items()}
    pictures = [(one, picture(one, data or {})) for one in drawings]
    return template.render(document=content, charts=pictures, colors=colors)


def picture(drawing: Drawing, data: Mapping[str, Rows]) -> str:
    """Return a chart as an SVG image in the colors of the light page."""
    import vl_convert

    spec, colors = json.dumps(drawing.spec | SIZE), _light_colors()
    drawn = json.loads(re.sub(r"var\((--[\w-]+)\)", lambda found: colors[found[1]], spec))
    drawn["datasets"] = {**drawn.get("datasets", {}), **data, **drawing.rows}
    image: str = vl_convert.vegalite_to_svg(drawn)
    return image


def _light_colors() -> dict[str, str]:
    first = asset("style.css").split("}", 1)[0]
    return dict(_VARIABLE.findall(first))


def to_markdown(evaluation: Evaluation, about: About | None = None) -> str:
    """Return the report as Markdown.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> text = to_markdown(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> print(text.splitlines()[0])
    # Can these scores be trusted?
    """
    return markdown(document(evaluation, about))


def to_text(
    evaluation: Evaluation, about: About | None = None, *, width: int = WIDTH, color: bool = False
) -> str:
    """Return the report for a terminal.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
    width : int
        Width of the terminal in columns.
    color : bool
        Whether to add escape codes for bold text and color.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> text = to_text(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> print(text.splitlines()[0])
    Can these scores be trusted?
    """
    return text(document(evaluation, about), width=width, color=color)


def to_json(evaluation: Evaluation, about: About | None = None) -> str:
    """Return the report as JSON: the verdict, the evaluation, and its origin.

    Examples
    --------
    >>> import json
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> found = json.loads(to_json(evaluate(world.draw(500, 5000, setting="two-sample", seed=0))))
    >>> found["schema"], found["evaluation"]["setting"]
    ('noneg.report/1', 'two-sample')
    """
    content, repaired = document(evaluation, about), evaluation.recalibration
    found = {
        "schema": SCHEMA,
        "version": version("noneg"),
        "title": content.title,
        "verdict": [str(one) for one in content.verdict],
        "action": [str(one) for one in content.action or ()],
        "warnings": list(content.warnings),
        "source": dict(about.rows()) if about else {},
        "command": about.command if about else "",
        "evaluation": evaluation.to_dict(),
        "recalibration": None if repaired is None else _held_out(repaired),
    }
    return json.dumps(plain(found), indent=2, allow_nan=False)


# Functions that render a report, by format, and the format of each file extension.
FORMATS = {"html": to_html, "markdown": to_markdown, "text": to_text, "json": to_json}
ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".txt": "text", ".json": "json"}


def format_of(path: str | os.PathLike[str], remedy: str = "Choose one of these.") -> str:
    """Return the format of a file by its extension; any other extension raises an error."""
    found = ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        rule = f"must end in {', '.join(ENDINGS)}"
        raise InputError("path", rule, value=str(path), remedy=remedy)
    return found


def save(evaluation: Evaluation, path: str | os.PathLike[str], about: About | None = None) -> None:
    """Write a report to a file in the format of its extension: .html, .md, .txt or .json.

    Parameters
    ----------
    evaluation : Evaluation
    path : path
        An existing file of this name is replaced.
    about : About, optional
        The origin of the numbers.

    Examples
    --------
    >>> import tempfile
    >>> from noneg import PUScores, evaluate
    >>> found = evaluate(PUScores.from_labels([0, 0, 1, 1] * 50, [0.1, 0.4, 0.6, 0.9] * 50))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(found, f"{folder}/report.md")
    ...     print(Path(f"{folder}/report.md").read_text(encoding="utf-8")[:30])
    # Can these scores be trusted?
    """
    write_text(path, FORMATS[format_of(path)](evaluation, about))


def _held_out(found: HeldOut) -> dict[str, object]:
    return {
        "method": found.chosen,
        "reason": found.reason,
        "folds": found.folds,
        "errors": {name: list(pair) for name, pair in found.errors.items()},
        "brier_change": found.change["brier"].to_dict(),
        "mapped": [{"score": s, **one.to_dict()} for s, one in found.mapped.items()],
        **{side: diagram.to_dict() for side, diagram in found.reliability.items()},
        "calibrator": found.calibrator.to_json(),
        "warnings": list(found.warnings),
    }
