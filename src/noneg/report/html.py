"""An evaluation as a page, in a notebook, as Markdown, text and JSON: views of its `Document`.

The page is one HTML file that holds everything and loads nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from noneg.evaluation import FACTORS
from noneg.metrics import METRICS
from noneg.page_state import EXPLORED
from noneg.report.charts import CHARTS, specification
from noneg.report.content import document
from noneg.report.document import WIDTH, asset, escaped_turns, markdown, plain, text
from noneg.report.payload import datasets, payload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

    from noneg.evaluation import Evaluation
    from noneg.recalibration.choose import HeldOut
    from noneg.report.document import About


SCHEMA = "noneg.report/1"
# Sections whose tables hold words, and whose first column names the row.
WORDED = ("computed", "glossary")

HEADED = (
    *("computed", "glossary", "metrics", "recalibration", "truth"),
    *("audit", "labelling", "stopping"),
)


def to_html(
    evaluation: Evaluation, about: About | None = None, *, truth: Evaluation | None = None
) -> str:
    """Return the report as one HTML page that works without a network.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
        Title, files, command: where the numbers come from.
    truth : Evaluation, optional
        Of the same rows with all their labels, where these are known: a last section then sets
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
        payload(evaluation, charts, truth),
        ("recompute.js", "selection.js", "words.js", "strip.js", "page.js"),
        document=content,
        movable=not evaluation.is_labelled,
        prior=evaluation.prior.value,
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
    )


def render(template: str, data: dict[str, Any], scripts: Iterable[str], **values: object) -> str:
    """Fill a template of a page in with its data, style and scripts."""
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
    # A name of a file may hold half a character or turn the direction of the line.
    return escaped_turns(page)


def as_json(data: dict[str, Any]) -> str:
    r"""Return strict JSON in which nothing can end a script element.

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
    """Return a content-security policy: these scripts run, no other does, nothing is loaded."""
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def vega() -> str:
    """Return the Vega libraries, which the installed package brings along."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    # A browser would end the script element here, wherever the text stands.
    return bundle.replace("</script", "<\\/script")


@cache
def environment() -> Environment:
    """Return the templates; whatever is filled in is escaped, but for our own files and charts."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    names = (
        "page.html.jinja",
        "strip.html.jinja",
        "selection.html.jinja",
        "explorer.html.jinja",
        "notebook.html.jinja",
    )
    return Environment(
        loader=DictLoader({name: asset(name) for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
    )


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
    template = environment().get_template("notebook.html.jinja")
    charts = [(CHARTS[name].description, svg(name, evaluation)) for name in SHOWN]
    return template.render(document=document(evaluation), charts=charts)


def svg(name: str, evaluation: Evaluation) -> str:
    """Return a chart as an SVG picture in the colours of the light page."""
    import vl_convert

    fit = {"autosize": {"type": "fit", "contains": "padding"}}
    spec = specification(name) | SIZE | fit
    spec["datasets"] = {**spec.get("datasets", {}), **datasets(evaluation)}
    picture: str = vl_convert.vegalite_to_svg(light(spec))
    return picture


def light(value: Any) -> Any:  # noqa: ANN401
    """Return a specification with the colours of the light page in place of its variables."""
    if isinstance(value, dict):
        return {key: light(item) for key, item in value.items()}
    if isinstance(value, list):
        return [light(item) for item in value]
    if isinstance(value, str) and value.startswith("var("):
        return _light_colours()[value[4:-1]]
    return value


def _light_colours() -> dict[str, str]:
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
    evaluation: Evaluation, about: About | None = None, *, width: int = WIDTH, colour: bool = False
) -> str:
    """Return the report for a terminal.

    Parameters
    ----------
    evaluation : Evaluation
    about : About, optional
    width : int
        Columns of the terminal.
    colour : bool
        Whether to add the codes for bold and colour.

    Examples
    --------
    >>> from noneg import evaluate
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> text = to_text(evaluate(world.draw(500, 5000, setting="two-sample", seed=0)))
    >>> print(text.splitlines()[0])
    Can these scores be trusted?
    """
    return text(document(evaluation, about), width=width, colour=colour)


def to_json(evaluation: Evaluation, about: About | None = None) -> str:
    """Return the report as JSON: the verdict, the evaluation, and where it comes from.

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
        "warnings": list(content.warnings),
        "source": dict(about.rows()) if about else {},
        "command": about.command if about else "",
        "evaluation": evaluation.to_dict(),
        "recalibration": None if repaired is None else _held_out(repaired),
    }
    return json.dumps(plain(found), indent=2, allow_nan=False)


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
