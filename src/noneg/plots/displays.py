"""Displays of curves, prior sensitivity, score distributions and guaranteed precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from noneg import performance
from noneg.bins import Binned, Binning, bin_scores
from noneg.calibration import PriorCurve, ece_by_prior
from noneg.checks import Setting, is_labeled, is_pooled
from noneg.errors import InputError
from noneg.plots import base
from noneg.results import Estimate, to_frame
from noneg.selection import is_selected

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import NDArray

    from noneg.scores import PUScores

# The look of curves without marks, and of lines to compare them with.
PLAIN = {"marker": "", "linewidth": 1.6}
CHANCE: dict[str, Any] = {"color": "0.6", "linewidth": 1.0, "linestyle": ":"}

FEWEST = 5  # Fewest labeled positives above a threshold for its precision to be drawn.


@dataclass(kw_only=True, eq=False, repr=False)
class _CurveDisplay(base.Display):
    """A curve with the region that contains the true curve, by default drawn as a ROC curve."""

    curve: Any
    bounds: Any = None
    area: Estimate | None = None

    _bounds: ClassVar[Callable[..., Any]]
    _kind: ClassVar[str]
    _area_name: ClassVar[str]
    _axes: ClassVar[tuple[str, str]]
    _legend: ClassVar[Literal["best", "lower right"]]

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bounds: bool = True,
        level: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the curve from scores and draw it.

        Parameters
        ----------
        scores : PUScores
        bounds : bool
            Whether to shade the bounds if positives are hidden. With a selection factor, the shaded
            region lies between the extreme curves that it allows.
        level : float
            Confidence level of the bounds and of the interval for the area.
        ax : Axes, optional
        name : str, optional
            Name of the model, for the legend.
        **kwargs
            Properties of the line, such as ``color``.
        """
        found = None
        if bounds and is_selected(scores):
            found = performance.selected_curves(scores)
        elif bounds and scores.hidden:
            found = cls._bounds(scores, level=level)
        display = cls(bounds=found, name=name, **cls._measure(scores, level))
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            By default, the axes of a new figure.
        name : str, optional
            Name to use instead of the display's own.
        **kwargs
            Properties of the line; the region uses its color.
        """
        number = base.curve_number(self.begin(ax), self._kind)
        style = base.curve_style(number) | PLAIN | base.line_properties(kwargs)
        words = name or self.name or "estimate"
        area = f": {self._area_name} {self.area.value:.3f}" if self.area else ""
        style.setdefault("label", words + area)
        (self.line_,) = self.ax_.plot(*self._points(), **style)
        self.region_: Polygon | None = None
        if self.bounds is not None:
            upper, lower = self._sides()
            x, y = (np.append(one, other[::-1]) for one, other in zip(upper, lower, strict=True))
            look: dict[str, Any] = {
                "color": self.line_.get_color(),
                "alpha": 0.18,
                "label": "bounds",
            }
            (self.region_,) = self.ax_.fill(x, y, linewidth=0.0, **look)
        self.chance_ = self._draw_chance() if number == 0 else None
        base.unit_square(self.ax_, *self._axes)
        return self.finish(self._legend)

    def frame(self, backend: str | None = None) -> object:
        """Return the points of the curve as a data frame."""
        return self.curve.frame(backend)

    @classmethod
    def _measure(cls, scores: PUScores, level: float) -> dict[str, Any]:
        """Return the curve, its area, and the other fields of the display."""
        raise NotImplementedError

    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return self.curve.fpr, self.curve.tpr

    def _sides(self) -> tuple[Any, Any]:
        return self.bounds.upper.envelope(), self.bounds.lower.envelope()

    def _draw_chance(self) -> Line2D | None:
        (line,) = self.ax_.plot([0.0, 1.0], [0.0, 1.0], label="random", **CHANCE)
        return line


@dataclass(kw_only=True, eq=False, repr=False)
class PURocDisplay(_CurveDisplay):
    """ROC curve from positives and unlabeled rows, with the region that contains the true curve.

    Parameters
    ----------
    curve : RocCurve
        From `noneg.performance.roc`.
    bounds : RocBounds or SelectedCurves, optional
        From `noneg.performance.roc_bounds` or `noneg.performance.selected_curves`; the region
        between them is shaded.
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
        The diagonal, drawn once per axes.

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

    _bounds = staticmethod(performance.roc_bounds)
    _kind, _area_name = "roc", "AUC"
    _legend = "lower right"
    _axes = ("false positive rate", "true positive rate (recall)")

    @classmethod
    def _measure(cls, scores: PUScores, level: float) -> dict[str, Any]:
        area = performance.auroc_interval(scores, level=level)
        return {"curve": performance.roc(scores, drop_intermediate=True), "area": area}


@dataclass(kw_only=True, eq=False, repr=False)
class PUPrecisionRecallDisplay(_CurveDisplay):
    """Precision-recall curve from positives and unlabeled rows, with bounds on the true curve.

    Parameters
    ----------
    curve : PrCurve
        From `noneg.performance.pr`.
    bounds : PrBounds or SelectedCurves, optional
        From `noneg.performance.pr_bounds` or `noneg.performance.selected_curves`.
    area : Estimate, optional
        Average precision, for the legend.
    prior : float, optional
        Precision of a random ranking, drawn as a horizontal line.
    positives : float, optional
        Number of labeled positives; the curve begins where `FEWEST` of them are flagged.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    line_ : Line2D
    region_ : Polygon or None
    chance_ : Line2D or None
        The horizontal line at the prior, drawn once per axes.

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

    prior: float | None = None
    positives: float | None = None

    _bounds = staticmethod(performance.pr_bounds)
    _kind, _area_name = "pr", "AP"
    _legend = "best"
    _axes = ("recall", "precision")

    @classmethod
    def _measure(cls, scores: PUScores, level: float) -> dict[str, Any]:
        area = performance.average_precision_interval(scores, level=level)
        known = {"prior": scores.known_prior, "positives": scores.effective_positive}
        return {"curve": performance.pr(scores), "area": area, **known}

    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        shown = self.curve.thresholds < float("inf")  # The first point is a convention.
        if self.positives is not None:  # The precision of a handful of rows is noise.
            shown &= self.curve.recall * self.positives >= FEWEST
        return self.curve.recall[shown], self.curve.precision[shown]

    def _sides(self) -> tuple[Any, Any]:
        upper, lower = self.bounds.upper, self.bounds.lower
        return (upper.recall, upper.precision), (lower.recall, lower.precision)

    def _draw_chance(self) -> Line2D | None:
        return None if self.prior is None else self.ax_.axhline(self.prior, label="prior", **CHANCE)


@dataclass(kw_only=True, eq=False, repr=False)
class PriorSensitivityDisplay(base.Display):
    """The calibration error as a function of the prior, with fixed bins.

    Parameters
    ----------
    curve : PriorCurve
        From `noneg.calibration.ece_by_prior`.
    prior : float
        The given prior, marked by a point.
    prior_interval : (float, float), optional
        Interval for the prior, shaded.
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

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        binning: Binning = "mass",
        level: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the error as a function of the prior and draw it.

        Parameters
        ----------
        scores : PUScores
            Labeled data are rejected because their prior is fixed.
        binning : {"mass", "width"}
            As in `noneg.ece`, with the optimal number of bins.
        level : float
            Confidence level at which a prior counts as contradicted.
        ax : Axes, optional
        name : str, optional
        **kwargs
            Properties of the line.
        """
        if not scores.hidden:
            msg = "must be PU scores, got fully labeled scores, whose labels determine the prior."
            raise InputError("scores", msg)
        display = cls(
            curve=ece_by_prior(scores, binning=binning),
            prior=scores.known_prior,
            prior_interval=scores.prior_interval,
            largest=performance.largest_prior(scores, level=level),
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the display; parameters as in `PURocDisplay.plot`."""
        number = base.curve_number(self.begin(ax), "prior")
        style = base.curve_style(number) | PLAIN | base.line_properties(kwargs)
        style.setdefault("label", name or self.name or "calibration error")
        (self.line_,) = self.ax_.plot(self.curve.prior, self.curve.error, **style)
        color = self.line_.get_color()
        height = float(self.curve(self.prior))
        (self.point_,) = self.ax_.plot([self.prior], [height], "o", color=color)
        if self.prior_interval is not None:
            self.ax_.axvspan(*self.prior_interval, color=color, alpha=0.12, linewidth=0.0)
        self.limit_: Line2D | None = None
        if self.largest is not None and self.largest < 1.0:
            look = CHANCE | {"color": color, "label": "largest compatible prior"}
            self.limit_ = self.ax_.axvline(self.largest, **look)
        self.ax_.set(xlim=(-0.02, 1.02), xlabel="class prior", ylabel="calibration error")
        self.ax_.set_ylim(bottom=0.0)
        return self.finish()

    def frame(self, backend: str | None = None) -> object:
        """Return the vertices of the piecewise linear curve."""
        return to_frame({"prior": self.curve.prior, "ece": self.curve.error}, backend)


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreDistributionDisplay(base.Display):
    r"""Histograms of the scores of positives, of all rows, and of the implied negatives.

    The implied share of negatives in a bin is :math:`(\mu(I_b) - \pi\mu_+(I_b))/(1 - \pi)`. Noise
    or too large a prior can make it negative; it is not clipped.

    Parameters
    ----------
    histogram : Binned
        From `noneg.bins.bin_scores`.
    setting : {"two-sample", "one-sample", "labeled"}, optional
        How the rows were sampled, for the legend.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    positive_, marginal_, negative_ : StepPatch

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import ScoreDistributionDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.less_calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> display = ScoreDistributionDisplay.from_scores(scores)
    >>> display.ax_.get_xlabel()
    'score'
    >>> plt.close(display.figure_)
    """

    histogram: Binned
    setting: Setting | None = None

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bins: int = 40,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the histograms from scores and draw them.

        Parameters
        ----------
        scores : PUScores
        bins : int
            Number of bars of equal width.
        ax : Axes, optional
        name : str, optional
        **kwargs
            Properties of all three outlines, such as ``linewidth``.
        """
        histogram = bin_scores(scores, bins=bins, binning="width")
        return cls(histogram=histogram, setting=scores.setting, name=name).plot(ax, **kwargs)

    @property
    def negative(self) -> NDArray[np.float64]:
        """Implied share of the negatives in each bin."""
        return self.histogram.negative

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            By default, the axes of a new figure.
        name : str, optional
            Name to use instead of the display's own.
        **kwargs
            Properties of all three outlines.
        """
        self.begin(ax)
        binned = self.histogram
        style: dict[str, Any] = {"linewidth": 1.4} | kwargs
        self.ax_.stairs(binned.positive, binned.edges, fill=True, color=base.COLORS[0], alpha=0.2)
        rows = "all rows" if is_pooled(self.setting) else "unlabeled rows"
        negatives = "negatives" if is_labeled(self.setting) else "implied negatives"
        looks = (
            (binned.positive, base.COLORS[0], base.DASHES[0], "positives"),
            (binned.marginal, "0.4", base.DASHES[1], rows),
            (binned.negative, base.COLORS[1], base.DASHES[3], negatives),
        )
        self.positive_, self.marginal_, self.negative_ = (
            self.ax_.stairs(share, binned.edges, baseline=None, **(look | style))
            for share, *own in looks
            for look in (dict(zip(("color", "linestyle", "label"), own, strict=True)),)
        )
        self.ax_.set(xlabel="score", ylabel="share of rows per bin", xlim=base.LIMITS)
        title = name or self.name
        if title:
            self.ax_.set_title(title, loc="left", fontsize="small")
        return self.finish()

    def frame(self, backend: str | None = None) -> object:
        """Return the histograms, one row per bin."""
        return to_frame(self.histogram.columns(), backend)


@dataclass(eq=False, repr=False)
class PromisedPrecisionDisplay(base.Display):
    """Precision against recall: the estimate, and a guarantee that holds at all thresholds.

    Parameters
    ----------
    envelope : FdpEnvelope
        From `noneg.performance.fdp_envelope`.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
    line_ : Line2D
        The estimate, clipped at 1.
    promise_ : Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import PromisedPrecisionDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.less_calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> display = PromisedPrecisionDisplay.from_scores(scores)
    >>> display.promise_.get_label()
    'guaranteed with 95% confidence'
    >>> plt.close(display.figure_)
    """

    envelope: performance.FdpEnvelope

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the envelope and draw it."""
        found = performance.fdp_envelope(scores, confidence=confidence)
        return cls(found, name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw both curves.

        Parameters
        ----------
        ax : Axes, optional
            By default, the axes of a new figure.
        name : str, optional
            Name of the model, for the legend.
        **kwargs
            Properties of the line that shows the estimate.
        """
        base.unit_square(self.begin(ax), "recall", "precision")
        found, look = self.envelope, {"color": base.COLORS[0]} | base.line_properties(kwargs)
        words = name or self.name or "estimate"
        estimate = np.minimum(found.precision, 1.0)
        (self.line_,) = self.ax_.plot(found.recall, estimate, label=words, **look)
        sure = f"guaranteed with {100 * found.confidence:.6g}% confidence"
        # A color that is passed, unlike one that is set later, does not advance the cycle.
        below: dict[str, Any] = {"color": self.line_.get_color(), "linestyle": base.DASHES[1]}
        (self.promise_,) = self.ax_.plot(found.recall, found.promised, label=sure, **below)
        return self.finish("lower left")

    def frame(self, backend: str | None = None) -> object:
        """Return the curves as a pandas, Polars or PyArrow frame, whichever is installed."""
        return self.envelope.frame(backend)
