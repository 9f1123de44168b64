"""What a notebook shows: the verdict, the numbers and still charts, without a script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from noneg.report.charts import DESCRIPTIONS, specification
from noneg.report.content import document
from noneg.report.datasets import datasets
from noneg.report.html import asset, environment

if TYPE_CHECKING:
    from noneg.evaluation import Evaluation

SHOWN = ("reliability", "distribution", "roc", "pr")
WIDTH, HEIGHT = 380, 240
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
    charts = [(DESCRIPTIONS[name], svg(name, evaluation)) for name in SHOWN]
    return template.render(document=document(evaluation), charts=charts)


def svg(name: str, evaluation: Evaluation) -> str:
    """Return a chart as an SVG picture in the colours of the light page."""
    import vl_convert

    spec = specification(name) | {
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
    }
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
