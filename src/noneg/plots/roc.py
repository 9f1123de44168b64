"""The ROC curve with its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg.performance import auroc_interval, roc, roc_bounds
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

    from noneg.performance import RocBounds, RocCurve
    from noneg.results import Estimate
    from noneg.scores import PUScores


@dataclass(kw_only=True, eq=False, repr=False)
class PURocDisplay:
    """ROC curve from positives and unlabeled rows, and the region in which the true one lies.

    Parameters
    ----------
    curve : RocCurve
        From `noneg.performance.roc`.
    bounds : RocBounds, optional
        From `noneg.performance.roc_bounds`; their envelopes are shaded.
    area : Estimate, optional
        Area under the curve, for the legend.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    line_ : Line2D
    region_ : Polygon or None
    chance_ : Line2D or None
        The diagonal, drawn once on an axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import PURocDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> display = PURocDisplay.from_scores(world.draw(500, 5000, setting="two-sample", seed=0))
    >>> display.ax_.get_xlabel()
    'false positive rate'
    >>> plt.close(display.figure_)
    """

    curve: RocCurve
    bounds: RocBounds | None = None
    area: Estimate | None = None
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
        """Compute the ROC curve of scores and draw it.

        Parameters
        ----------
        scores : PUScores
        bounds : bool
            Whether to shade the bounds, where positives are hidden.
        level : float
            Of the bounds and of the area's interval.
        ax : Axes, optional
        name : str, optional
            Name of the model, for the legend.
        **kwargs
            Properties of the line, such as ``color``.
        """
        hidden = bounds and scores.setting != "labelled"
        display = cls(
            curve=roc(scores, drop_intermediate=True),
            bounds=roc_bounds(scores, level=level) if hidden else None,
            area=auroc_interval(scores, level=level),
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:  # noqa: ANN401
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            Instead of the display's own.
        **kwargs
            Properties of the line; the region follows its colour.
        """
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        number = curve_number(self.ax_, "roc")
        style = curve_style(number) | {"marker": "", "linewidth": 1.6} | line_properties(kwargs)
        style.setdefault("label", curve_label(name or self.name, "AUC", self.area))
        (self.line_,) = self.ax_.plot(self.curve.fpr, self.curve.tpr, **style)
        self.region_ = None
        if self.bounds is not None:
            self.region_ = fill_between_curves(
                self.ax_,
                self.bounds.upper.envelope(),
                self.bounds.lower.envelope(),
                self.line_.get_color(),
            )
        self.chance_ = None
        if number == 0:
            look: dict[str, Any] = {"color": "0.6", "linewidth": 1.0, "linestyle": ":"}
            (self.chance_,) = self.ax_.plot([0.0, 1.0], [0.0, 1.0], label="random", **look)
        unit_square(self.ax_, "false positive rate", "true positive rate (recall)")
        self.ax_.legend(loc="lower right", fontsize="small", edgecolor="none")
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the points of the curve, as `RocCurve.frame` does."""
        return self.curve.frame(backend)


def curve_label(name: str | None, area: str, found: Estimate | None) -> str:
    """Return what the legend says of a curve."""
    words = name or "estimate"
    return words if found is None else f"{words}: {area} {found.value:.3f}"


def fill_between_curves(
    ax: Axes,
    upper: tuple[np.ndarray, np.ndarray],
    lower: tuple[np.ndarray, np.ndarray],
    colour: Any,  # noqa: ANN401
) -> Polygon:
    """Shade the region between two curves, each given by x and y."""
    x = np.concatenate([upper[0], lower[0][::-1]])
    y = np.concatenate([upper[1], lower[1][::-1]])
    (region,) = ax.fill(x, y, color=colour, alpha=0.18, linewidth=0.0, label="bounds")
    return region
