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
from typing import TYPE_CHECKING, Any, get_args

from noneg.atomic import write_text
from noneg.errors import InputError
from noneg.evaluation import FACTORS
from noneg.metrics import METRICS
from noneg.page_state import EXPLORED
from noneg.report.charts import CHARTS, specification
from noneg.report.content import document
from noneg.report.document import WIDTH, asset, escaped_turns, markdown, text
from noneg.report.payload import data_names, datasets, payload
from noneg.results import plain
from noneg.sentences import say
from noneg.verdict import Code

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from jinja2 import Environment

    from noneg.evaluation import Evaluation
    from noneg.recalibration.choose import HeldOut
    from noneg.report.charts import Drawing, Spec
    from noneg.report.document import About, Document
    from noneg.report.payload import Rows

SCHEMA = "noneg.report/1"
# Sections whose tables contain text, and whose first column names the row.
WORDED = ("computed", "glossary", "rows")

HEADED = (
    *("computed", "glossary", "metrics", "recalibration", "truth"),
    *("audit", "labeling", "stopping", "groups"),
)


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
    content = document(evaluation, about, truth)
    known = evaluation.prior
    charts = [name for section in content.sections for name in section.charts]
    return render(
        "page.html.jinja",
        payload(evaluation, charts, truth, about.reading if about else ""),
        ("recompute.js", "selection.js", "words.js", "strip.js", "sort.js", "page.js"),
        document=content,
        movable=not evaluation.is_labeled,
        prior=evaluation.prior.value,
        contradicted=evaluation.verdict.key == "verdict_contradicted",
        estimated=evaluation.prior_kind in ("upper bound", "unknown"),
        interval=(known.low, known.high) if known.low < known.high else None,
        least=evaluation.sums.least_prior,
        selection=evaluation.selection,
        largest=FACTORS[-1] if evaluation.selection_sums else None,
        rows=evaluation.n_marginal,
        level=f"{100 * evaluation.level:.6g}",
        two_diagrams=len(evaluation.sums.diagrams) > 1,
        free=[one.title for one in METRICS.values() if not one.needs_prior],
        explored=EXPLORED,
        drawings=CHARTS,
        worded=WORDED,
        headed=HEADED,
        codes=_code_words(),
        noted=bool(about and about.noted),
    )


def _code_words() -> dict[str, str]:
    return {code: say(f"code_{code}") for code in get_args(Code)}


def render_still(
    content: Document,
    drawings: Mapping[str, Drawing],
    *,
    scripts: Iterable[str],
    headed: Iterable[str],
) -> str:
    """Return a page whose numbers do not follow a slider, with its drawings."""
    charts = {name: one.spec() for name, one in drawings.items()}
    rows = {name: found for one in drawings.values() for name, found in one.rows.items()}
    used = {name: sorted(data_names(spec)) for name, spec in charts.items()}
    return render(
        "page.html.jinja",
        {"charts": charts, "datasets": rows, "chart_data": used},
        scripts,
        document=content,
        movable=False,
        contradicted=False,
        two_diagrams=False,
        free=[],
        codes=_code_words(),
        drawings=drawings,
        worded=("computed",),
        headed=("computed", *headed),
    )


def render(template: str, data: dict[str, Any], scripts: Iterable[str], **values: object) -> str:
    """Fill in a page template with its data, style and scripts."""
    texts = [vega(), *map(asset, scripts)]
    page = (
        environment()
        .get_template(template)
        .render(
            values,
            data=as_json(data),
            scripts=texts,
            style=asset("style.css"),
            policy=policy(texts),
            version=version("noneg"),
        )
    )
    # A file name may contain a lone surrogate or change the text direction.
    return escaped_turns(page)


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
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


SHOWN = ("reliability", "distribution", "roc", "pr")

SIZE = {"width": 380, "height": 240}

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
    charts = [(CHARTS[name], svg(name, evaluation)) for name in SHOWN]
    return notebook_cell(document(evaluation), charts)


def notebook_cell(content: Document, charts: Sequence[tuple[Drawing, str]]) -> str:
    """Return a document and its charts for a notebook cell."""
    template = environment().get_template("notebook.html.jinja")
    colors = {name.removeprefix("--"): color for name, color in _light_colors().items()}
    return template.render(document=content, charts=charts, colors=colors)


def svg(name: str, evaluation: Evaluation) -> str:
    """Return a chart as an SVG image in the colors of the light page."""
    fit = {"autosize": {"type": "fit", "contains": "padding"}}
    return picture(specification(name) | fit, datasets(evaluation))


def picture(spec: Spec, data: Mapping[str, Rows]) -> str:
    """Return a chart of named data as an SVG image in the colors of the light page."""
    import vl_convert

    drawn = spec | SIZE | {"datasets": {**spec.get("datasets", {}), **data}}
    image: str = vl_convert.vegalite_to_svg(light(drawn))
    return image


def light(value: Any) -> Any:  # noqa: ANN401
    """Return a specification with color variables replaced by those of the light page."""
    if isinstance(value, dict):
        return {key: light(item) for key, item in value.items()}
    if isinstance(value, list):
        return [light(item) for item in value]
    if isinstance(value, str) and value.startswith("var("):
        return _light_colors()[value[4:-1]]
    return value


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
