"""Charts of the page that compares models; see `noneg.report.charts`."""

from __future__ import annotations

from typing import Any, NamedTuple

from noneg.report.charts import FAINT, INK, diagonal, named, share, styled, tooltip

DIAGRAM = "models"
HEIGHT = 260


class Look(NamedTuple):
    """How a model is told from the others, in colour and without."""

    colour: str
    dash: list[int]
    shape: str


LOOKS = (
    Look("var(--model-0)", [1, 0], "circle"),
    Look("var(--model-1)", [6, 3], "square"),
    Look("var(--model-2)", [2, 2], "diamond"),
    Look("var(--model-3)", [8, 3, 2, 3], "triangle-down"),
    Look("var(--model-4)", [10, 4], "cross"),
    Look("var(--model-5)", [4, 2], "triangle-up"),
)


def _by_model(names: list[str], part: str) -> dict[str, Any]:
    values = [getattr(LOOKS[k % len(LOOKS)], part) for k in range(len(names))]
    scale = {"domain": names, "range": values}
    return {"field": "model", "type": "nominal", "scale": scale, "legend": None}


def models(names: list[str]) -> dict[str, Any]:
    """Reliability diagrams of all models on the same axes."""
    import altair as alt

    base = named(DIAGRAM).transform_calculate(
        shown="min(datum.frequency, 1)", top="min(datum.high, 1)", bottom="min(datum.low, 1)"
    )
    x, y = share("score", "score (mean of its range)"), share("shown", "share of positives")
    colour = _by_model(names, "colour")
    bars = base.mark_rule(strokeWidth=2, opacity=0.4).encode(
        x=x, y=share("bottom", "share of positives"), y2="top", color=colour
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        x=x, y=y, color=colour, strokeDash=_by_model(names, "dash")
    )
    tip = [
        {"field": "model", "type": "nominal"},
        *tooltip(("score", "mean score"), ("frequency", "share of positives")),
    ]
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x=x, y=y, color=colour, shape=_by_model(names, "shape"), tooltip=tip
    )
    return _finished(alt.layer(diagonal(), bars, lines, points), 320)


def difference(name: str, title: str, names: list[str]) -> dict[str, Any]:
    """Differences from the reference with their intervals."""
    import altair as alt

    base = named(f"difference_{name}")
    y = {"field": "model", "type": "nominal", "title": None, "axis": {"labelLimit": 110}}
    colour = _by_model(names, "colour")
    x = {
        "type": "quantitative",
        "title": f"difference in {title[0].lower()}{title[1:]}",
        "axis": {"tickCount": 4, "labelFlush": False, "labelOverlap": True},
    }
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=x | {"field": "low"}, x2="high", y=y, color=colour
    )
    tip = tooltip(("value", "difference"), ("low", "lower end"), ("high", "upper end"))
    points = base.mark_point(filled=True, opacity=1, size=70).encode(
        x=x | {"field": "value"}, y=y, color=colour, shape=_by_model(names, "shape"), tooltip=tip
    )
    zero = (
        alt.Chart(alt.InlineData(values=[{"x": 0}]))
        .mark_rule(stroke=FAINT, strokeDash=[5, 4])
        .encode(x="x:Q")
    )
    return _finished(alt.layer(zero, bars, points), max(90, 42 * (len(names) - 1) + 30))


def order(name: str, title: str, names: list[str], *, turns: bool) -> dict[str, Any]:
    """Draw a criterion of each model over the prior, and where the order changes."""
    import altair as alt

    x = {
        "field": "prior",
        "type": "quantitative",
        "title": "class prior",
        "scale": {"zero": False, "nice": False},
        "axis": {"tickCount": 6, "labelFlush": False},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "title": f"{title[0].lower()}{title[1:]}",
        "scale": {"zero": False},
    }
    lines = (
        named(f"order_{name}")
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=_by_model(names, "colour"),
            strokeDash=_by_model(names, "dash"),
            tooltip=[
                {"field": "model", "type": "nominal"},
                *tooltip(("prior", "prior"), ("value", "value")),
            ],
        )
    )
    now = named("now").mark_rule(stroke=INK, strokeWidth=1.2).encode(x=x)
    layers = [lines, now]
    if turns:
        crossing = named(f"crossing_{name}")
        layers.append(crossing.mark_rule(stroke=FAINT, strokeDash=[3, 3]).encode(x=x))
    return _finished(alt.layer(*layers), HEIGHT)


def _finished(chart: Any, height: int) -> dict[str, Any]:  # noqa: ANN401
    spec: dict[str, Any] = styled(chart.properties(width="container", height=height)).to_dict()
    return spec
