"""The reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration import ece_interval, reliability
from noneg.checks import is_labelled, is_pooled
from noneg.plots.base import (
    count,
    curve_style,
    find_canvas,
    line_properties,
    require_matplotlib,
    shifted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

    from noneg.bins import Binned, Binning
    from noneg.calibration import Reliability
    from noneg.calibration.reliability import Band
    from noneg.checks import Setting
    from noneg.plots.base import Place
    from noneg.results import Estimate
    from noneg.scores import PUScores

_ROUNDING = 1e-9  # a bin full of positives may miss 1 by the last digit
_ABOVE = "above 1, drawn at 1"


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability diagram above the score histograms of positives and of all or unlabeled rows.

    Frequencies above 1, which noise or a wrong prior can cause, are drawn as triangles at 1; the
    numbers in `reliability` stay as they were estimated.

    Parameters
    ----------
    reliability : Reliability
        Points and intervals, from `noneg.calibration.reliability`.
    histogram : Binned, optional
        Shares of rows in narrow bins, from `noneg.bins.bin_scores`; without it the diagram alone is
        drawn.
    error : Estimate, optional
        Calibration error for the subtitle, from `noneg.calibration.ece_interval`.
    setting : {"two-sample", "one-sample", "labelled"}, optional
        How the rows were sampled, for the subtitle.
    n_positive, n_unlabeled : float, optional
        Labelled positives and other rows, for the subtitle.
    prior : float, optional
        Share of positives in the population, for the subtitle.
    prior_interval : (float, float), optional
        What is known of the prior.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Where the diagram is. These and the following exist once `plot` has run.
    ax_histogram_ : Axes or None
        Where the histograms are.
    line_ : Line2D
        The points, joined.
    bars_ : LineCollection
        Their intervals.
    above_one_ : Line2D
        The triangles; empty when no frequency exceeds 1.
    diagonal_ : Line2D
        Perfect calibration.
    positive_, marginal_ : StepPatch or None
        The histograms.
    legend_ : Legend

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import ReliabilityDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian.less_calibrated()
    >>> scores = world.draw(1000, 10_000, setting="two-sample", seed=0)
    >>> display = ReliabilityDisplay.from_scores(scores, name="logistic")
    >>> display.ax_.get_ylabel()
    'share of positives'
    >>> plt.close(display.figure_)
    """

    reliability: Reliability
    histogram: Binned | None = None
    error: Estimate | None = None
    setting: Setting | None = None
    n_positive: float | None = None
    n_unlabeled: float | None = None
    prior: float | None = None
    prior_interval: tuple[float, float] | None = None
    name: str | None = None

    figure_: Figure | SubFigure = field(init=False)
    ax_: Axes = field(init=False)
    ax_histogram_: Axes | None = field(init=False)
    line_: Line2D = field(init=False)
    bars_: LineCollection = field(init=False)
    above_one_: Line2D = field(init=False)
    diagonal_: Line2D = field(init=False)
    positive_: StepPatch | None = field(init=False)
    marginal_: StepPatch | None = field(init=False)
    legend_: Legend = field(init=False)

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bins: int = 15,
        binning: Binning = "width",
        level: float = 0.95,
        band: Band = "pointwise",
        histogram_bins: int | None = 30,
        ax: Place | None = None,
        name: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Compute the reliability diagram of scores and draw it.

        The calibration error of the subtitle is `noneg.ece` with its default bins, whatever bins
        are drawn; it is left out for a population known exactly.

        Parameters
        ----------
        scores : PUScores
        bins, binning, level, band
            As in `noneg.calibration.reliability`.
        histogram_bins : int, optional
            Bars of the histograms, of equal width; None leaves the histograms out.
        ax : Axes or pair of Axes, optional
            As in `plot`.
        name : str, optional
            Name of the model, for the legend.
        **kwargs
            Properties of the line, such as ``color``.

        Examples
        --------
        Two models on the same axes:

        >>> import matplotlib.pyplot as plt
        >>> from noneg.plots import ReliabilityDisplay
        >>> from noneg.simulation import LogisticGaussian
        >>> size = {"setting": "two-sample", "seed": 0}
        >>> one = LogisticGaussian.less_calibrated().draw(500, 5000, **size)
        >>> two = LogisticGaussian.better_calibrated().draw(500, 5000, **size)
        >>> first = ReliabilityDisplay.from_scores(one, name="one")
        >>> second = ReliabilityDisplay.from_scores(two, name="two", ax=first.ax_)
        >>> [text.get_text() for text in second.legend_.get_texts()]
        ['one', 'two', 'perfect calibration', 'above 1, drawn at 1']
        >>> plt.close(first.figure_)
        """
        narrow = histogram_bins and bin_scores(scores, bins=histogram_bins, binning="width")
        endless = np.isinf(min(scores.n_positive, scores.n_marginal))  # no optimal number of bins
        display = cls(
            reliability=reliability(scores, bins=bins, binning=binning, level=level, band=band),
            histogram=narrow or None,
            error=None if endless else ece_interval(scores, level=level),
            setting=scores.setting,
            n_positive=scores.n_positive,
            n_unlabeled=scores.n_unlabeled,
            prior=scores.known_prior,
            prior_interval=scores.prior_interval,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self,
        ax: Place | None = None,
        *,
        name: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            By default a new figure. An axes of a grid gives its lower part to the histograms, an
            axes outside any grid shows the diagram alone, and a pair holds one each. The `ax_` of
            another display shows both together, the later one two points to the right.
        name : str, optional
            Name of the model, instead of the display's own.
        **kwargs
            Properties of the line, such as ``color``; intervals and histograms follow it.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        require_matplotlib()
        canvas = find_canvas(ax, with_histogram=self.histogram is not None)
        self.ax_, self.ax_histogram_ = canvas.ax, canvas.histogram
        self.figure_, self.diagonal_ = canvas.ax.figure, canvas.diagonal
        number = len(canvas.bars)
        own = curve_style(number) | {"transform": shifted(canvas.ax, number)}
        style = own | line_properties(kwargs)
        name = style.pop("label", None) or name or self.name
        label = name or (f"estimate {number + 1}" if number else "estimate")
        self._draw_curve(style, label)
        self._draw_histograms(own["linestyle"])
        self._write_subtitle(f"{label}: " if name or number else "", first=number == 0)
        canvas.bars.append(self.bars_)
        self.legend_ = canvas.write_legend()
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the table behind the diagram, as `Reliability.frame` does."""
        return self.reliability.frame(backend)

    def _draw_curve(self, style: dict[str, Any], label: str) -> None:
        from matplotlib.container import ErrorbarContainer

        ax, result = self.ax_, self.reliability
        height, low, high = (
            np.minimum(column, 1.0) for column in (result.frequency, result.low, result.high)
        )
        above = result.frequency > 1.0 + _ROUNDING
        (self.line_,) = ax.plot(result.score, height, **({"markevery": ~above} | style))
        look = {key: style[key] for key in ("color", "transform", "zorder")}
        self.bars_ = ax.vlines(result.score, low, high, linewidth=1.1, alpha=0.7, **look)
        (self.above_one_,) = ax.plot(
            result.score[above], height[above], "^", markersize=6.5, **look
        )
        if above.any() and _ABOVE not in ax.get_legend_handles_labels()[1]:
            self.above_one_.set_label(_ABOVE)
        # Matplotlib's own error bars store differences, and would round the limits.
        ax.add_container(
            ErrorbarContainer((self.line_, (), (self.bars_,)), has_yerr=True, label=label)
        )

    def _draw_histograms(self, dashes: str) -> None:
        self.positive_ = self.marginal_ = None
        if self.histogram is None or self.ax_histogram_ is None:
            return
        ax, data, colour = self.ax_histogram_, self.histogram, self.line_.get_color()
        rows = "all rows" if is_pooled(self.setting) else "unlabeled rows"
        known = ax.get_legend_handles_labels()[1]
        labels = [f"_{text}" if text in known else text for text in ("positives", rows)]
        self.positive_ = ax.stairs(data.positive, data.edges, fill=True, linewidth=0.0, alpha=0.3)
        if known:
            self.positive_.set(facecolor="none", edgecolor=colour, hatch="//////", alpha=0.6)
        else:
            self.positive_.set(facecolor=colour)
        self.marginal_ = ax.stairs(
            data.marginal, data.edges, color=colour, linewidth=1.1, linestyle=dashes
        )
        for patch, text in zip((self.positive_, self.marginal_), labels, strict=True):
            patch.set_label(text)
        ax.legend(loc="upper center", frameon=False, fontsize="small", ncols=2)

    def _write_subtitle(self, prefix: str, *, first: bool) -> None:
        """Add what is not yet said to the left title; only lines that differ name the model."""
        title = self.ax_.get_title(loc="left")
        lines = title.split("\n") if title else []
        new = [text for text in (self._sample_text(), self._band_text()) if text not in lines]
        lines += [text if first else prefix + text for text in new if text]
        if self.error is not None:
            lines.append(f"{prefix}calibration error {self.error}")
        title = "\n".join(lines)
        self.ax_.set_title(title, loc="left", fontsize="small", alpha=0.75, wrap=True)

    def _sample_text(self) -> str:
        if self.setting is None or self.n_positive is None or self.n_unlabeled is None:
            return ""
        positive = count(self.n_positive, "positive")
        if is_labelled(self.setting):
            rows = count(self.n_positive + self.n_unlabeled, "row")
            return f"labelled: {rows}, {positive}"
        return f"{self.setting}: {positive}, {count(self.n_unlabeled, 'unlabeled row')}"

    def _band_text(self) -> str:
        result = self.reliability
        band = f"{100 * result.level:g} % {result.band} intervals"
        if self.prior is None:
            return band
        if self.prior_interval is None:
            return f"prior {self.prior:.3g}, {band}"
        low, high = self.prior_interval
        return f"prior {self.prior:.3g} in [{low:.3g}, {high:.3g}], {band} at {self.prior:.3g}"
