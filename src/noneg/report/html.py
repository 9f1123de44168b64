"""The page: one HTML file that holds everything and loads nothing."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from noneg.metrics import METRICS
from noneg.report.charts import DESCRIPTIONS
from noneg.report.content import FREE, document
from noneg.report.payload import payload
from noneg.report.printable import escaped_turns, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

    from noneg.evaluation import Evaluation
    from noneg.report.about import About

CHART_TITLES = {"roc": "ROC curve", "pr": "Precision and recall"}
LEGENDS = {
    "reliability": (
        ("stroke", "positive", "estimate with its interval"),
        ("dashed", "faint", "perfect calibration"),
    ),
    "distribution": (
        ("stroke", "positive", "positives"),
        ("dashed", "rows", "unlabeled or all rows"),
        ("dotted", "negative", "implied negatives"),
    ),
    "threshold": (
        ("stroke", "positive", "precision"),
        ("dashed", "negative", "recall"),
        ("dotted", "third", "F1"),
        ("dashed", "rows", "share flagged"),
    ),
    "recalibration": (
        ("stroke", "negative", "before (squares)"),
        ("stroke", "positive", "after (circles)"),
        ("dashed", "faint", "perfect calibration"),
    ),
    "truth": (
        ("stroke", "negative", "positives and unlabeled (squares)"),
        ("stroke", "positive", "all labels (circles)"),
        ("dashed", "faint", "perfect calibration"),
    ),
    "roc": (
        ("stroke", "positive", "estimate"),
        ("fill", "rows", "bounds"),
        ("dashed", "faint", "random"),
    ),
    "pr": (
        ("stroke", "positive", "estimate"),
        ("fill", "rows", "bounds"),
        ("dashed", "faint", "prior"),
    ),
    "prior_curve": (
        ("stroke", "positive", "debiased error with the interval"),
        ("dashed", "rows", "plain error"),
        ("stroke", "ink", "prior of the slider"),
        ("dashed", "negative", "largest compatible prior"),
    ),
}
# Sections whose tables hold words, and whose first column names the row.
WORDED = ("computed", "glossary")
HEADED = ("computed", "glossary", "metrics", "recalibration", "truth")


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
        ("recompute.js", "words.js", "page.js"),
        document=content,
        movable=evaluation.setting != "labelled",
        prior=evaluation.prior.value,
        interval=(known.low, known.high) if known.low < known.high else None,
        least=evaluation.sums.least_prior,
        rows=evaluation.n_marginal,
        level=f"{100 * evaluation.level:.6g}",
        two_diagrams=len(evaluation.sums.diagrams) > 1,
        free=[METRICS[name].title for name in FREE],
        chart_titles=CHART_TITLES,
        legends=LEGENDS,
        descriptions=DESCRIPTIONS,
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


def asset(name: str) -> str:
    """Return the text of a file of the package."""
    return files("noneg.report").joinpath("assets", name).read_text(encoding="utf-8")


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

    names = ("page.html.jinja", "explorer.html.jinja", "notebook.html.jinja")
    return Environment(
        loader=DictLoader({name: asset(name) for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
    )
