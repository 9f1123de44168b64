"""Vega-Lite charts, built with Altair: pure functions that return specifications.

Charts refer to data by name instead of including them. The page fills them in for the prior on its
slider, and `noneg.report.html.picture` for the prior of the evaluation. Colors are CSS variables of
the page, so light, dark and print themes can change them without redrawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from noneg.sentences import in_sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

    from noneg.report.payload import Rows


Spec: TypeAlias = dict[str, Any]

Chart: TypeAlias = Any  # Altair's chart classes have no useful common type


POSITIVE, NEGATIVE, ROWS = "var(--positive)", "var(--negative)", "var(--rows)"

INK, FAINT = "var(--ink)", "var(--faint)"

DASHED: dict[str, Any] = {"stroke": FAINT, "strokeDash": [5, 4]}

CURVE: dict[str, Any] = {"stroke": POSITIVE, "strokeWidth": 2, "clip": True}

# Entries of legends.
PERFECT = ("dashed", "faint", "perfect calibration")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart, and the text that the page shows around it.

    Attributes
    ----------
    name : str
    build : callable
        Returns the Altair chart.
    description : str
        Text alternative for readers who cannot see the chart.
    title : str
        Shown when several charts appear side by side.
    legend : tuple of (str, str, str)
        Kind of line, color and text of each entry.
    height : int
    rows : dict of str to list
        Data by name, if they do not follow a slider.
    """

    name: str
    build: Callable[[], Chart]
    description: str
    title: str = ""
    legend: tuple[tuple[str, str, str], ...] = ()
    height: int = 300
    rows: dict[str, Rows] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        """The Vega-Lite specification in the colors and fonts of the page."""
        return _specification(self.build, self.height)

    def of(self, rows: Rows) -> Drawing:
        """Return the same chart of these rows, which do not follow a slider."""
        return replace(self, rows={self.name: rows})


@lru_cache
def _specification(build: Callable[[], Chart], height: int) -> Spec:
    spec: Spec = styled(build().properties(width="container", height=height)).to_dict()
    return spec


CHARTS: dict[str, Drawing] = {}


def drawing(
    description: str, *legend: tuple[str, str, str], title: str = "", height: int = 300
) -> Callable[[Callable[[], Chart]], Drawing]:
    """Turn a function into a chart for the page, under the name of the function.

    Examples
    --------
    >>> reliability.name, reliability.spec["width"]
    ('reliability', 'container')
    """

    def register(build: Callable[[], Chart]) -> Drawing:
        name = build.__name__
        CHARTS[name] = Drawing(
            name=name,
            build=build,
            description=description,
            title=title or description.rstrip("."),
            legend=legend,
            height=height,
        )
        return CHARTS[name]

    return register


def styled(chart: Chart) -> Chart:
    """Return a chart in the colors and fonts of the page."""
    plain = chart.configure(background="transparent", font="system-ui, sans-serif", aria=False)
    axis = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    axis |= {"labelColor": INK, "titleColor": INK, "domainColor": FAINT, "tickColor": FAINT}
    return plain.configure_axis(gridColor="var(--grid)", **axis).configure_view(stroke=None)


def named(name: str) -> alt.Chart:
    """Return an empty chart of the named data."""
    import altair as alt

    return alt.Chart(alt.NamedData(name=name))


def amount(field: str, title: str, **more: Any) -> Spec:  # noqa: ANN401
    """Return an axis of numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def share(field: str, title: str) -> Spec:
    """Return an axis from 0 to 1."""
    scale = {"domain": [0, 1], "nice": False}
    return amount(field, title, scale=scale, axis={"tickCount": 6, "labelFlush": False})


def kind(field: str, **look: Any) -> Spec:  # noqa: ANN401
    """Return an axis of names without a title, whose labels have this look."""
    return {"field": field, "type": "nominal", "title": None, "axis": look}


def tooltip(*fields: tuple[str, str], name: str = "") -> list[Spec]:
    """Return the fields of a tooltip with their titles, after the field that names a row."""
    numbers = [amount(field, title, format=".4f") for field, title in fields]
    return [{"field": name, "type": "nominal"}, *numbers] if name else numbers


# Titles of the ends of an interval in tooltips.
ENDS = ("low", "lower end"), ("high", "upper end")


def layer(*charts: Chart) -> Chart:
    """Return charts drawn on top of each other."""
    import altair as alt

    return alt.layer(*charts)


def fixed(*values: dict[str, float]) -> alt.Chart:
    """Return an empty chart of data that never change."""
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(values)))


def diagonal() -> alt.Chart:
    """Return the line of perfect calibration, or of a random ranking."""
    ends = fixed({"x": 0, "y": 0}, {"x": 1, "y": 1})
    return ends.mark_line(**DASHED, strokeWidth=1.2).encode(x="x:Q", y="y:Q")


# The height of a diagram, and the encoding of an interval in it.
TALL = "share of positives"
INTERVAL = {"y": share("bottom", TALL), "y2": "top"}


def clipped(data: str, **more: str) -> alt.Chart:
    """Return an empty chart of frequencies with intervals, which are drawn at most at 1."""
    ends = {"shown": "frequency", "top": "high", "bottom": "low"}
    drawn = {name: f"min(datum.{field}, 1)" for name, field in ends.items()}
    return named(data).transform_calculate(**drawn, **more)


@drawing(
    "Reliability diagram: share of positives against score, as a smooth curve with "
    "its band, and in score ranges.",
    ("stroke", "positive", "share of positives"),
    ("fill", "positive", "interval"),
    ("dot", "positive", "score ranges"),
    PERFECT,
)
def reliability() -> Chart:
    """Share of positives against score: a smooth curve with its band, and faint bins."""
    return layer(diagonal(), *_smooth(), *_ranges())


def _smooth() -> tuple[Chart, Chart]:
    """Return the band and the line of the smooth curve, clipped at 1."""
    base, x = clipped("smooth"), share("score", "score")
    band = base.mark_area(fill=POSITIVE, fillOpacity=0.18).encode(x=x, **INTERVAL)
    tip = tooltip(("score", "score"), ("frequency", TALL), *ENDS)
    line = base.mark_line(stroke=POSITIVE, strokeWidth=2.5)
    return band, line.encode(x=x, y=share("shown", TALL), tooltip=tip)


def _ranges() -> tuple[Chart, Chart]:
    """Return the faint bins with their intervals; shares above 1 are triangles at 1."""
    base = clipped("reliability", kind="datum.frequency > 1.000000001 ? 'above' : 'inside'")
    x, mean = share("score", "score"), (("score", "mean score"), ("frequency", TALL))
    bars = base.mark_rule(stroke=POSITIVE, strokeWidth=1.2, opacity=0.35).encode(x=x, **INTERVAL)
    point = base.mark_point(filled=True, fill=POSITIVE, opacity=0.45, size=40).encode(
        x=x,
        y=share("shown", TALL),
        shape=by("kind", ["inside", "above"], ["circle", "triangle-up"]),
        tooltip=tooltip(*mean, *ENDS, ("marginal", "share of all rows")),
    )
    return bars, point


@drawing(
    "Histogram of the scores of positives, of all rows and of implied negatives.",
    ("stroke", "positive", "positives"),
    ("dashed", "rows", "unlabeled or all rows"),
    ("dotted", "negative", "implied negatives"),
)
def distribution() -> Chart:
    """Shares of positives, all rows and implied negatives, as steps."""
    laws = ["positive", "marginal", "negative"]
    bins = named("distribution").transform_calculate(middle="(datum.left + datum.right) / 2")
    base = bins.transform_fold([*laws], as_=["law", "share"])
    x = share("middle", "score")
    ticks, title = {"tickCount": 6, "format": ".2~f"}, "share of rows per bin (square-root scale)"
    y = amount("share", title, scale={"type": "sqrt"}, axis=ticks)
    look = {
        "color": by("law", laws, [POSITIVE, ROWS, NEGATIVE]),
        "strokeDash": by("law", laws, [[1, 0], [6, 3], [2, 2]]),
    }
    tip = tooltip(("left", "score from"), ("share", "share of rows"))
    lines = base.mark_line(interpolate="step", strokeWidth=2, clip=True)
    positive = base.transform_filter("datum.law === 'positive'")
    area = positive.mark_area(interpolate="step", fill=POSITIVE, fillOpacity=0.15)
    return area.encode(x=x, y=y) + lines.encode(x=x, y=y, **look, tooltip=tip)


def by(field: str, names: list[str], values: list[Any]) -> dict[str, Any]:
    """Return an encoding that depends on a field: one value for each of its names."""
    scale = {"domain": names, "range": values}
    return {"field": field, "type": "nominal", "title": None, "scale": scale, "legend": None}


def _region(name: str) -> alt.Chart:
    look: Spec = {"fill": ROWS, "fillOpacity": 0.22, "strokeWidth": 0, "interpolate": "linear"}
    return named(name).mark_line(filled=True, **look).encode(x="x:Q", y="y:Q", order="order:Q")


# Without negatives, noise may push the precision above 1; it is drawn at 1.
_DRAWN = "isValid(datum.precision) ? min(datum.precision, 1) : null"


def _ring(x: str, y: str) -> alt.Chart:
    chosen = named("selected").transform_calculate(precision=_DRAWN)
    look: Spec = {"stroke": INK, "strokeWidth": 2.5, "filled": False, "opacity": 1, "clip": True}
    return chosen.mark_point(size=150, **look).encode(x=share(x, ""), y=share(y, ""))


@drawing(
    "ROC curve with its bounds and the chosen threshold.",
    ("stroke", "positive", "estimate"),
    ("fill", "rows", "bounds"),
    ("dashed", "faint", "random"),
    title="ROC curve",
)
def roc() -> Chart:
    """ROC curve with the region that bounds allow, and the chosen threshold."""
    x, y = share("fpr", "false positive rate"), share("tpr", "true positive rate (recall)")
    tip = tooltip(("threshold", "threshold"), ("fpr", "false positive rate"), ("tpr", "recall"))
    line = named("curves").mark_line(interpolate="linear", **CURVE)
    line = line.encode(x=x, y=y, order="threshold:Q", tooltip=tip)
    return layer(_region("roc_bounds"), diagonal(), line, _ring("fpr", "tpr"))


@drawing(
    "Precision-recall curve with its bounds and the chosen threshold.",
    ("stroke", "positive", "estimate"),
    ("fill", "rows", "bounds"),
    ("dashed", "faint", "prior"),
    title="Precision and recall",
)
def pr() -> Chart:
    """Precision-recall curve with the region that bounds allow, and the chosen threshold."""
    x, y = share("tpr", "recall"), share("precision", "precision")
    tip = tooltip(("threshold", "threshold"), ("tpr", "recall"), ("precision", "precision"))
    known = named("curves").transform_calculate(precision=_DRAWN)
    known = known.transform_filter("isValid(datum.precision) && datum.enough")
    # Of all thresholds with the same recall the highest is the best; the others would be a
    # vertical stroke.
    best = known.transform_joinaggregate(highest="max(threshold)", groupby=["tpr"])
    best = best.transform_filter("datum.threshold === datum.highest")
    line = best.mark_line(**CURVE).encode(x=x, y=y, order="threshold:Q", tooltip=tip)
    level = named("now").mark_rule(**DASHED, strokeWidth=1.2).encode(y=share("prior", "precision"))
    return layer(_region("pr_bounds"), level, line, _ring("tpr", "precision"))


@drawing(
    "Estimated and guaranteed precision, recall, F1 and share of flagged rows "
    "against the threshold.",
    ("stroke", "positive", "precision"),
    ("dotted", "positive", "guaranteed precision"),
    ("dashed", "negative", "recall"),
    ("stroke", "third", "F1"),
    ("dashed", "rows", "share flagged"),
)
def threshold() -> Chart:
    """Precision, guaranteed precision, recall, F1 and share flagged against the threshold."""
    kinds = ["precision", "promised", "tpr", "f_beta", "ppr"]
    promised = "datum.enough && datum.promised > 0 ? datum.promised : null"
    known = named("curves").transform_calculate(precision=f"datum.enough ? ({_DRAWN}) : null")
    known = known.transform_calculate(promised=promised)
    folded = known.transform_fold([*kinds], as_=["kind", "share"])
    lines = folded.transform_filter("isValid(datum.share)").mark_line(strokeWidth=2, clip=True)
    x, y = share("threshold", "threshold"), share("share", "share")
    look = {
        "color": by("kind", kinds, [POSITIVE, POSITIVE, NEGATIVE, "var(--third)", ROWS]),
        "strokeDash": by("kind", kinds, [[1, 0], [2, 2], [6, 3], [1, 0], [8, 3, 2, 3]]),
    }
    tip = tooltip(("threshold", "threshold"), ("share", "share"))
    rule = named("selected").mark_rule(stroke=INK, strokeWidth=1.5).encode(x=x)
    return layer(lines.encode(x=x, y=y, **look, tooltip=tip), rule)


@drawing(
    "Calibration error against the class prior, with its interval.",
    ("stroke", "positive", "debiased error with interval"),
    ("dashed", "rows", "plain error"),
    ("stroke", "ink", "slider position"),
    ("dashed", "negative", "largest compatible prior"),
)
def prior_curve() -> Chart:
    """Calibration error against the prior, with its interval and the largest possible prior."""
    base, title = named("prior_curve"), "share of positives (prior)"
    x, y = share("prior", title), amount("ece", "calibration error")
    band = base.transform_filter("isValid(datum.low)").mark_area(fill=POSITIVE, fillOpacity=0.15)
    plain = base.mark_line(stroke=ROWS, strokeWidth=1.5, strokeDash=[6, 3])
    known = base.transform_filter("isValid(datum.debiased_ece)")
    debiased = known.mark_line(stroke=POSITIVE, strokeWidth=2)
    errors = ("ece", "plain error"), ("debiased_ece", "debiased error")
    tips = [tooltip(("prior", "prior"), error) for error in errors]
    now = named("now")
    limit = now.transform_filter("isValid(datum.largest_prior)")
    limit = limit.mark_rule(stroke=NEGATIVE, strokeDash=[3, 3], strokeWidth=1.5)
    return layer(
        band.encode(x=x, y=y | {"field": "low"}, y2="high"),
        plain.encode(x=x, y=y, tooltip=tips[0]),
        debiased.encode(x=x, y=y | {"field": "debiased_ece"}, tooltip=tips[1]),
        limit.encode(x=share("largest_prior", title)),
        now.mark_rule(stroke=INK, strokeWidth=1.5).encode(x=x),
    )


class Look(NamedTuple):
    """The style that distinguishes a model from the others, with and without color."""

    color: str
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
SIDES = (Look(NEGATIVE, [1, 0], "square"), Look(POSITIVE, [1, 0], "circle"))


def _looks(field: str, names: list[str], part: str, looks: tuple[Look, ...] = LOOKS) -> Spec:
    values = [getattr(looks[k % len(looks)], part) for k in range(len(names))]
    return by(field, names, values)


def overlay(
    data: str, field: str, names: list[str], xlabel: str, looks: tuple[Look, ...] = LOOKS
) -> Chart:
    """Reliability diagrams on the same axes, distinguished by color, dashes and shape."""
    base = clipped(data)
    look = {part: _looks(field, names, part, looks) for part in Look._fields}
    both = {"x": share("score", xlabel), "color": look["color"]}
    bars = base.mark_rule(strokeWidth=2, opacity=0.4).encode(**both, **INTERVAL)
    both |= {"y": share("shown", TALL)}
    lines = base.mark_line(strokeWidth=1.8).encode(**both, strokeDash=look["dash"])
    tip = tooltip(("score", "mean score"), ("frequency", TALL), name=field)
    points = base.mark_point(filled=True, opacity=1, size=60)
    return layer(diagonal(), bars, lines, points.encode(**both, shape=look["shape"], tooltip=tip))


@drawing(
    "Reliability diagrams before and after recalibration.",
    ("stroke", "negative", "before (squares)"),
    ("stroke", "positive", "after (circles)"),
    PERFECT,
)
def recalibration() -> Chart:
    """Reliability diagrams before and after recalibration."""
    title = "score, before or after recalibration"
    return overlay("recalibration", "side", ["before", "after"], title, SIDES)


@drawing(
    "Reliability diagrams from positives and unlabeled rows, and from all labels.",
    ("stroke", "negative", "positives and unlabeled (squares)"),
    ("stroke", "positive", "all labels (circles)"),
    PERFECT,
)
def truth() -> Chart:
    """Reliability diagrams from positives and unlabeled rows, and from all labels."""
    return overlay("truth", "side", ["positives and unlabeled", "all labels"], "score", SIDES)


REVIEWED = ["review", "labeled positives", "both"]


@drawing(
    "Metrics from the review, from labeled positives and from both, with intervals.",
    ("stroke", "model-0", "review (circles)"),
    ("stroke", "model-1", "labeled positives (squares)"),
    ("stroke", "model-2", "both, where they agree (diamonds)"),
)
def audit() -> Chart:
    """Metrics from the review, from labeled positives and from both, with intervals."""
    y = kind("metric", labelLimit=140)
    offset = {"field": "side", "type": "nominal", "sort": REVIEWED}
    tip = tooltip(("value", "value"), *ENDS, name="side")
    looks = {name: _looks("side", REVIEWED, name) for name in ("color", "shape")}
    return layer(*intervals("audit", share("", "value"), y, tip, yOffset=offset, **looks))


def intervals(data: str, x: Spec, y: Spec, tip: list[Spec], **look: Spec) -> tuple[Chart, Chart]:
    """Return horizontal intervals and the points in them; all look the same by default."""
    base, alike = named(data), not look
    style: Spec = {"stroke": POSITIVE} if alike else {}
    marks: Spec = {"size": 60, "color": POSITIVE} if alike else {"size": 70}
    lines: Spec = {name: one for name, one in look.items() if name != "shape"}
    low, value = x | {"field": "low"}, x | {"field": "value"}
    bars = base.mark_rule(strokeWidth=2.5, **style).encode(x=low, x2="high", y=y, **lines)
    points = base.mark_point(filled=True, opacity=1, **marks)
    return bars, points.encode(x=value, y=y, tooltip=tip, **look)


@drawing(
    "Prior minus mean score of each group, with simultaneous intervals; zero means calibrated.",
    height=420,
)
def groups() -> Chart:
    """Prior minus mean score of each group, with intervals."""
    y = kind("group", labelLimit=160, labelOverlap=True) | {"sort": None}
    title = "prior minus mean score (below zero, scores are too high)"
    x = amount("value", title, axis={"tickCount": 6})
    tip = tooltip(("value", "prior minus mean score"), *ENDS, name="group")
    return layer(_zero(x), *intervals("groups", x, y, tip))


def _zero(x: Spec) -> Chart:
    """Return a vertical line at zero on this axis."""
    return fixed({"zero": 0}).mark_rule(**DASHED).encode(x=x | {"field": "zero"})


def difference(data: str, title: str, names: list[str]) -> Chart:
    """Differences from the reference with their intervals."""
    y = kind("model", labelLimit=110)
    ticks = {"tickCount": 4, "labelFlush": False, "labelOverlap": True}
    x = amount("value", f"difference in {in_sentence(title)}", axis=ticks)
    looks = {part: _looks("model", names, part) for part in ("color", "shape")}
    tip = tooltip(("value", "difference"), *ENDS)
    return layer(_zero(x), *intervals(data, x, y, tip, **looks))


def order(data: str, crossings: str, title: str, names: list[str]) -> Chart:
    """Draw a criterion for each model against the prior, and mark the `crossings`, if any."""
    x = share("prior", "share of positives (prior)") | {"scale": {"zero": False, "nice": False}}
    y = amount("value", in_sentence(title), scale={"zero": False})
    color, dash = (_looks("model", names, part) for part in ("color", "dash"))
    tip = tooltip(("prior", "prior"), ("value", "value"), name="model")
    lines = named(data).mark_line(strokeWidth=2)
    now = named("now").mark_rule(stroke=INK, strokeWidth=1.2)
    layers = [lines.encode(x=x, y=y, color=color, strokeDash=dash, tooltip=tip), now.encode(x=x)]
    if crossings:
        turns = named(crossings).mark_rule(stroke=FAINT, strokeDash=[3, 3])
        layers.append(turns.encode(x=x))
    return layer(*layers)


def over_time(name: str, title: str) -> Chart:
    """Draw a metric over time: its band, its value, alarms, and the reference."""
    x = kind("period", labelOverlap="greedy", labelAngle=0, grid=False) | {"sort": None}
    y = amount("value", in_sentence(title), scale={"zero": False})
    base = named(f"time_{name}")
    color = {
        "condition": {"test": "datum.moved !== ''", "value": NEGATIVE},
        "value": POSITIVE,
    }
    moved = {"field": "moved", "type": "nominal", "title": "moved"}
    tip = [*tooltip(("value", "value"), *ENDS, name="period"), moved]
    bars = base.mark_rule(strokeWidth=6, opacity=0.3)
    points = base.mark_point(filled=True, opacity=1, size=55)
    return layer(
        named(f"start_{name}").mark_rule(**DASHED).encode(y=y),
        base.mark_line(stroke=POSITIVE, strokeWidth=1.2).encode(x=x, y=y),
        bars.encode(x=x, y=y | {"field": "low"}, y2="high", color=color),
        points.encode(x=x, y=y, color=color, tooltip=tip),
    )
