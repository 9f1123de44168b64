"""The calibration error as a function of the class prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from noneg.calibration import ece_by_prior
from noneg.performance import largest_prior
from noneg.plots.style import curve_number, curve_style, line_properties, new_axes
from noneg.results import to_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

    from noneg.bins import Binning
    from noneg.calibration import PriorCurve
    from noneg.scores import PUScores


@dataclass(kw_only=True, eq=False, repr=False)
class PriorSensitivityDisplay:
    """How much the calibration error would change with the prior, bins held.

    Parameters
    ----------
    curve : PriorCurve
        From `noneg.calibration.ece_by_prior`.
    prior : float
        The prior that was given, marked by a point.
    prior_interval : (float, float), optional
        What is known of it, shaded.
    largest : float, optional
        Largest prior that the data do not contradict, marked by a line.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    line_, point_ : Line2D
    limit_ : Line2D or None

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import PriorSensitivityDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.less_calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> display = PriorSensitivityDisplay.from_scores(scores)
    >>> display.ax_.get_xlabel()
    'class prior'
    >>> plt.close(display.figure_)
    """

    curve: PriorCurve
    prior: float
    prior_interval: tuple[float, float] | None = None
    largest: float | None = None
    name: str | None = None

    figure_: Figure | SubFigure = field(init=False)
    ax_: Axes = field(init=False)
    line_: Line2D = field(init=False)
    point_: Line2D = field(init=False)
    limit_: Line2D | None = field(init=False)

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        binning: Binning = "mass",
        level: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Compute the error over the prior and draw it.

        Parameters
        ----------
        scores : PUScores
            The prior of labelled data cannot be another, so they are refused.
        binning : {"mass", "width"}
            As in `noneg.ece`, with the optimal number of bins.
        level : float
            At which priors are contradicted.
        ax : Axes, optional
        name : str, optional
        **kwargs
            Properties of the line.
        """
        if scores.setting == "labelled":
            msg = "'scores' must be PU scores, got labelled ones: their labels determine the prior."
            raise ValueError(msg)
        display = cls(
            curve=ece_by_prior(scores, binning=binning),
            prior=scores.prior,
            prior_interval=scores.prior_interval,
            largest=largest_prior(scores, level=level),
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:  # noqa: ANN401
        """Draw the display; parameters as in `PURocDisplay.plot`."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        number = curve_number(self.ax_, "prior")
        own = curve_style(number) | {"marker": "", "linewidth": 1.6}
        style = own | line_properties(kwargs)
        style.setdefault("label", name or self.name or "calibration error")
        (self.line_,) = self.ax_.plot(self.curve.prior, self.curve.error, **style)
        colour = self.line_.get_color()
        height = float(self.curve(self.prior))
        (self.point_,) = self.ax_.plot([self.prior], [height], "o", color=colour)
        if self.prior_interval is not None:
            self.ax_.axvspan(*self.prior_interval, color=colour, alpha=0.12, linewidth=0.0)
        self.limit_ = None
        if self.largest is not None and self.largest < 1.0:
            look: dict[str, Any] = {"color": colour, "linewidth": 1.0, "linestyle": ":"}
            self.limit_ = self.ax_.axvline(self.largest, label="largest compatible prior", **look)
        self.ax_.set(xlim=(-0.02, 1.02), xlabel="class prior", ylabel="calibration error")
        self.ax_.set_ylim(bottom=0.0)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(loc="best", fontsize="small", edgecolor="none")
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the corners of the curve, between which it is straight."""
        return to_frame({"prior": self.curve.prior, "ece": self.curve.error}, backend)
