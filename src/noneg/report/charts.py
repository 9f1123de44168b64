"""Vega-Lite charts, built with Altair: pure functions that return specifications.

Data are named, not included: the page fills them in for the prior of its slider, and
`noneg.report.notebook` for the prior of the evaluation. Colours are variables of the page, so that
light, dark and print change them without drawing again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

Spec: TypeAlias = dict[str, Any]
Chart: TypeAlias = Any  # Altair's kinds of charts share no useful type

HEIGHT = 300
POSITIVE, NEGATIVE, ROWS = "var(--positive)", "var(--negative)", "var(--rows)"
INK, FAINT = "var(--ink)", "var(--faint)"


@cache
def specification(name: str) -> Spec:
    """Return the Vega-Lite specification of a chart by name.

    Examples
    --------
    >>> specification("reliability")["width"]
    'container'
    """
    chart = CHARTS[name]().properties(width="container", height=HEIGHT)
    spec: Spec = styled(chart).to_dict(validate=True)
    return spec


def styled(chart: Chart) -> Chart:
    """Return a chart in the colours and letters of the page."""
    font = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return (
        chart.configure(background="transparent", font="system-ui, sans-serif", aria=False)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=FAINT,
            tickColor=FAINT,
            gridColor="var(--grid)",
            **font,
        )
        .configure_view(stroke=None)
    )


def named(name: str) -> alt.Chart:
    """Return an empty chart of the data of that name."""
    import altair as alt

    return alt.Chart(alt.NamedData(name=name))


def share(field: str, title: str) -> dict[str, Any]:
    """Return an axis from 0 to 1."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"tickCount": 6, "labelFlush": False},
    }


def tooltip(*fields: tuple[str, str]) -> list[dict[str, str]]:
    """Return what is shown under the pointer: fields and their titles."""
    return [
        {"field": field, "title": title, "type": "quantitative", "format": ".4f"}
        for field, title in fields
    ]


def diagonal() -> alt.Chart:
    """Return the line of perfect calibration, or of a random ranking."""
    import altair as alt

    data = alt.InlineData(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])
    return (
        alt.Chart(data)
        .mark_line(stroke=FAINT, strokeDash=[5, 4], strokeWidth=1.2)
        .encode(x="x:Q", y="y:Q")
    )


def reliability() -> Chart:
    """Share of positives against score, with intervals; shares above 1 as triangles at 1."""
    import altair as alt

    base = named("reliability").transform_calculate(
        shown="min(datum.frequency, 1)",
        top="min(datum.high, 1)",
        bottom="min(datum.low, 1)",
        kind="datum.frequency > 1.000000001 ? 'above' : 'inside'",
    )
    x = share("score", "score (mean of its range)")
    y = share("shown", "share of positives")
    tip = tooltip(
        ("score", "mean score"),
        ("frequency", "share of positives"),
        ("low", "lower end"),
        ("high", "upper end"),
        ("marginal", "share of all rows"),
    )
    bars = base.mark_rule(stroke=POSITIVE, strokeWidth=2, opacity=0.55).encode(
        x=x, y=share("bottom", "share of positives"), y2="top"
    )
    line = base.mark_line(stroke=POSITIVE, strokeWidth=1.5).encode(x=x, y=y)
    point = base.mark_point(filled=True, fill=POSITIVE, opacity=1, size=60).encode(
        x=x,
        y=y,
        shape=alt.Shape(
            "kind:N",
            scale=alt.Scale(domain=["inside", "above"], range=["circle", "triangle-up"]),
            legend=None,
        ),
        tooltip=tip,
    )
    return alt.layer(diagonal(), bars, line, point)


def distribution() -> Chart:
    """Shares of positives, all rows and implied negatives, as steps."""
    base = (
        named("distribution")
        .transform_calculate(middle="(datum.left + datum.right) / 2")
        .transform_fold(["positive", "marginal", "negative"], as_=["law", "share"])
    )
    x = share("middle", "score")
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of rows per bin (square-root scale)",
        "scale": {"type": "sqrt"},
        "axis": {"tickCount": 6, "format": ".2~f"},
    }
    look = {
        "color": _keyed([POSITIVE, ROWS, NEGATIVE]),
        "strokeDash": _keyed([[1, 0], [6, 3], [2, 2]]),
    }
    lines = base.mark_line(interpolate="step", strokeWidth=2, clip=True).encode(
        x=x, y=y, **look, tooltip=tooltip(("left", "score from"), ("share", "share of rows"))
    )
    area = (
        base.transform_filter("datum.law === 'positive'")
        .mark_area(interpolate="step", fill=POSITIVE, fillOpacity=0.15)
        .encode(x=x, y=y)
    )
    return area + lines


def _keyed(values: list[Any]) -> dict[str, Any]:
    return {
        "field": "law",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["positive", "marginal", "negative"], "range": values},
        "legend": None,
    }


def _region(name: str) -> alt.Chart:
    return (
        named(name)
        .mark_line(filled=True, fill=ROWS, fillOpacity=0.22, strokeWidth=0, interpolate="linear")
        .encode(x="x:Q", y="y:Q", order="order:Q")
    )


# Without negatives noise may take the precision above 1; it is drawn at 1.
_DRAWN = "isValid(datum.precision) ? min(datum.precision, 1) : null"


def _ring(x: str, y: str) -> alt.Chart:
    return (
        named("selected")
        .transform_calculate(precision=_DRAWN)
        .mark_point(size=150, stroke=INK, strokeWidth=2.5, filled=False, opacity=1, clip=True)
        .encode(x=share(x, ""), y=share(y, ""))
    )


def roc() -> Chart:
    """ROC curve with the region that bounds allow, and the chosen threshold."""
    import altair as alt

    x, y = share("fpr", "false positive rate"), share("tpr", "true positive rate (recall)")
    tip = tooltip(("threshold", "threshold"), ("fpr", "false positive rate"), ("tpr", "recall"))
    line = (
        named("curves")
        .mark_line(stroke=POSITIVE, strokeWidth=2, clip=True, interpolate="linear")
        .encode(x=x, y=y, order="threshold:Q", tooltip=tip)
    )
    chance = diagonal()
    return alt.layer(_region("roc_bounds"), chance, line, _ring("fpr", "tpr"))


def pr() -> Chart:
    """Precision-recall curve with the region that bounds allow, and the chosen threshold."""
    import altair as alt

    x, y = share("tpr", "recall"), share("precision", "precision")
    tip = tooltip(("threshold", "threshold"), ("tpr", "recall"), ("precision", "precision"))
    line = (
        named("curves")
        .transform_calculate(precision=_DRAWN)
        .transform_filter("isValid(datum.precision)")
        .mark_line(stroke=POSITIVE, strokeWidth=2, clip=True)
        .encode(x=x, y=y, order="threshold:Q", tooltip=tip)
    )
    level = (
        named("now")
        .mark_rule(stroke=FAINT, strokeDash=[5, 4], strokeWidth=1.2)
        .encode(y=share("prior", "precision"))
    )
    return alt.layer(_region("pr_bounds"), level, line, _ring("tpr", "precision"))


def threshold() -> Chart:
    """Precision, recall, F1 and share flagged over the threshold."""
    import altair as alt

    kinds = {
        "precision": (POSITIVE, [1, 0]),
        "tpr": (NEGATIVE, [6, 3]),
        "f_beta": ("var(--third)", [2, 2]),
        "ppr": (ROWS, [8, 3, 2, 3]),
    }
    lines = (
        named("curves")
        .transform_calculate(precision=_DRAWN)
        .transform_fold(list(kinds), as_=["kind", "share"])
        .transform_filter("isValid(datum.share)")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=share("threshold", "threshold"),
            y=share("share", "share"),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(kinds), range=[kind[0] for kind in kinds.values()]),
                legend=None,
            ),
            strokeDash=alt.StrokeDash(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(kinds), range=[kind[1] for kind in kinds.values()]),
                legend=None,
            ),
            tooltip=tooltip(("threshold", "threshold"), ("share", "share")),
        )
    )
    rule = (
        named("selected")
        .mark_rule(stroke=INK, strokeWidth=1.5)
        .encode(x=share("threshold", "threshold"))
    )
    return alt.layer(lines, rule)


def prior_curve() -> Chart:
    """Calibration error over the prior, with its interval, the prior, and what the data allow."""
    import altair as alt

    base = named("prior_curve")
    x = share("prior", "class prior")
    y = {"field": "ece", "type": "quantitative", "title": "calibration error"}
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(fill=POSITIVE, fillOpacity=0.15)
        .encode(x=x, y={**y, "field": "low"}, y2="high")
    )
    plain = base.mark_line(stroke=ROWS, strokeWidth=1.5, strokeDash=[6, 3]).encode(
        x=x, y=y, tooltip=tooltip(("prior", "prior"), ("ece", "plain error"))
    )
    debiased = (
        base.transform_filter("isValid(datum.debiased_ece)")
        .mark_line(stroke=POSITIVE, strokeWidth=2)
        .encode(
            x=x,
            y={**y, "field": "debiased_ece"},
            tooltip=tooltip(("prior", "prior"), ("debiased_ece", "debiased error")),
        )
    )
    now = named("now").mark_rule(stroke=INK, strokeWidth=1.5).encode(x=x)
    limit = (
        named("now")
        .transform_filter("isValid(datum.largest_prior)")
        .mark_rule(stroke=NEGATIVE, strokeDash=[3, 3], strokeWidth=1.5)
        .encode(x=share("largest_prior", "class prior"))
    )
    return alt.layer(band, plain, debiased, limit, now)


def overlay(data: str, sides: list[str], xlabel: str) -> Chart:
    """Two reliability diagrams on the same axes, told apart by colour and shape."""
    import altair as alt

    base = named(data).transform_calculate(
        shown="min(datum.frequency, 1)", top="min(datum.high, 1)", bottom="min(datum.low, 1)"
    )
    x, y = share("score", xlabel), share("shown", "share of positives")

    def by_side(values: list[str]) -> dict[str, Any]:
        scale = {"domain": sides, "range": values}
        return {"field": "side", "type": "nominal", "scale": scale, "legend": None}

    colour = by_side([NEGATIVE, POSITIVE])
    bars = base.mark_rule(strokeWidth=2, opacity=0.45).encode(
        x=x, y=share("bottom", "share of positives"), y2="top", color=colour
    )
    lines = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour)
    tip = tooltip(("score", "mean score"), ("frequency", "share of positives"))
    points = base.mark_point(filled=True, opacity=1, size=55).encode(
        x=x, y=y, color=colour, shape=by_side(["square", "circle"]), tooltip=tip
    )
    return alt.layer(diagonal(), bars, lines, points)


def recalibration() -> Chart:
    """Reliability diagrams before and after recalibration."""
    return overlay("recalibration", ["before", "after"], "score, or repaired score")


def truth() -> Chart:
    """Reliability diagrams from positives and unlabeled rows, and from all labels."""
    return overlay("truth", ["positives and unlabeled", "all labels"], "score")


CHARTS: dict[str, Callable[[], Chart]] = {
    "reliability": reliability,
    "distribution": distribution,
    "roc": roc,
    "pr": pr,
    "threshold": threshold,
    "prior_curve": prior_curve,
    "recalibration": recalibration,
    "truth": truth,
}

# What each chart shows, for those who do not see it.
DESCRIPTIONS = {
    "reliability": "Reliability diagram: share of positives against score, with intervals.",
    "distribution": "Histogram of the scores of positives, of all rows and of implied negatives.",
    "roc": "ROC curve with its bounds and the chosen threshold.",
    "pr": "Precision-recall curve with its bounds and the chosen threshold.",
    "threshold": "Precision, recall, F1 and share of flagged rows over the threshold.",
    "prior_curve": "Calibration error over the class prior with its interval.",
    "recalibration": "Reliability diagrams before and after recalibration.",
    "truth": "Reliability diagrams from positives and unlabeled rows, and from all labels.",
}
