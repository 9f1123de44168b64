"""The precision-recall curve with its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from noneg.performance import average_precision_interval, pr, pr_bounds
from noneg.plots.roc import curve_label, fill_between_curves
from noneg.plots.style import (
    curve_number,
    curve_style,
    line_properties,
    new_axes,
    unit_square,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    from noneg.performance import PrBounds, PrCurve
    from noneg.results import Estimate
    from noneg.scores import PUScores


@dataclass(kw_only=True, eq=False, repr=False)
class PUPrecisionRecallDisplay:
    """Precision-recall curve from positives and unlabeled rows, with the bounds of the true one.

    Parameters
    ----------
    curve : PrCurve
        From `noneg.performance.pr`.
    bounds : PrBounds, optional
        From `noneg.performance.pr_bounds`.
    area : Estimate, optional
        Average precision, for the legend.
    prior : float, optional
        Precision of a random ranking, drawn as a level.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    line_ : Line2D
    region_ : Polygon or None
    chance_ : Line2D or None
        The level of the prior, drawn once on an axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import PUPrecisionRecallDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.less_calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> display = PUPrecisionRecallDisplay.from_scores(scores)
    >>> display.ax_.get_ylabel()
    'precision'
    >>> plt.close(display.figure_)
    """

    curve: PrCurve
    bounds: PrBounds | None = None
    area: Estimate | None = None
    prior: float | None = None
    name: str | None = None

    figure_: Figure | SubFigure = field(init=False)
    ax_: Axes = field(init=False)
    line_: Line2D = field(init=False)
    region_: Polygon | None = field(init=False)
    chance_: Line2D | None = field(init=False)

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bounds: bool = True,
        level: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Compute the curve of scores and draw it; options as in `PURocDisplay.from_scores`."""
        hidden = bounds and scores.setting != "labelled"
        display = cls(
            curve=pr(scores),
            bounds=pr_bounds(scores, level=level) if hidden else None,
            area=average_precision_interval(scores, level=level),
            prior=scores.prior,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:  # noqa: ANN401
        """Draw the display; parameters as in `PURocDisplay.plot`."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        number = curve_number(self.ax_, "pr")
        style = curve_style(number) | {"marker": "", "linewidth": 1.6} | line_properties(kwargs)
        style.setdefault("label", curve_label(name or self.name, "AP", self.area))
        shown = self.curve.thresholds < float("inf")  # the first point is a convention
        recall, precision = self.curve.recall[shown], self.curve.precision[shown]
        (self.line_,) = self.ax_.plot(recall, precision, **style)
        self.region_ = None
        if self.bounds is not None:
            upper, lower = self.bounds.upper, self.bounds.lower
            self.region_ = fill_between_curves(
                self.ax_,
                (upper.recall, upper.precision),
                (lower.recall, lower.precision),
                self.line_.get_color(),
            )
        self.chance_ = None
        if number == 0 and self.prior is not None:
            look: dict[str, Any] = {"color": "0.6", "linewidth": 1.0, "linestyle": ":"}
            self.chance_ = self.ax_.axhline(self.prior, label="prior", **look)
        unit_square(self.ax_, "recall", "precision")
        self.ax_.legend(loc="best", fontsize="small", edgecolor="none")
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the points of the curve, as `PrCurve.frame` does."""
        return self.curve.frame(backend)
