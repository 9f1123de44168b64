"""The reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg.bins import Binned, Binning, bin_scores, optimal_bin_count
from noneg.calibration import ece_interval, reliability, smooth_reliability
from noneg.checks import Setting, is_labeled, is_pooled
from noneg.plots import base
from noneg.results import Estimate, count

if TYPE_CHECKING:
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

    from noneg.arrays import Floats
    from noneg.calibration import Reliability, SmoothReliability
    from noneg.calibration.reliability import Band
    from noneg.scores import PUScores

_ROUNDING = 1e-9  # A bin with only positives may differ from 1 by rounding error.
_ABOVE = "above 1, drawn at 1"
MOST_BINS = 15


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(base.Display):
    """Reliability diagram above the score histograms of positives and of all or unlabeled rows.

    Shows a smooth curve with its band and, in a lighter style, one point per bin with its interval.
    Frequencies above 1, which noise or a wrong prior can cause, are drawn as triangles at 1; the
    numbers in `reliability` are not clipped.

    Parameters
    ----------
    reliability : Reliability
        Points and intervals, from `noneg.calibration.reliability`.
    smooth : SmoothReliability, optional
        The curve, from `noneg.calibration.smooth_reliability`; without it, the points are joined.
    histogram : Binned, optional
        Shares of rows in narrow bins, from `noneg.bins.bin_scores`; without it, only the diagram is
        drawn.
    error : Estimate, optional
        Calibration error for the subtitle, from `noneg.calibration.ece_interval`.
    setting : {"two-sample", "one-sample", "labeled"}, optional
        How the rows were sampled, for the subtitle.
    n_positive, n_unlabeled : float, optional
        Number of labeled positives and of other rows, for the subtitle.
    prior : float, optional
        Share of positives in the population, for the subtitle.
    prior_interval : (float, float), optional
        Interval for the prior.
    name : str, optional
        Name of the model, for the legend.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Figure and axes of the diagram. All of these attributes are set by `plot`.
    ax_histogram_ : Axes or None
        Axes of the histograms.
    line_ : Line2D
        The points, joined if there is no smooth curve.
    bars_ : LineCollection
        The intervals of the points.
    curve_ : Line2D or None
        The smooth curve.
    band_ : FillBetweenPolyCollection or None
        The band around the curve.
    above_one_ : Line2D
        The triangles; empty when no frequency exceeds 1.
    diagonal_ : Line2D
        The line of perfect calibration.
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
    smooth: SmoothReliability | None = None
    histogram: Binned | None = None
    error: Estimate | None = None
    setting: Setting | None = None
    n_positive: float | None = None
    n_unlabeled: float | None = None
    prior: float | None = None
    prior_interval: tuple[float, float] | None = None

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bins: int | None = None,
        binning: Binning = "width",
        level: float = 0.95,
        band: Band = "pointwise",
        histogram_bins: int | None = 30,
        ax: base.Place | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the reliability diagram from scores and draw it.

        The calibration error in the subtitle is `noneg.ece` with its default bins, regardless of
        the bins drawn; it is omitted for a population known exactly.

        Parameters
        ----------
        scores : PUScores
        bins : int, optional
            By default, the optimal number, but at most 15.
        binning, level, band
            As in `noneg.calibration.reliability`.
        histogram_bins : int, optional
            Number of equal-width bars in the histograms; None omits the histograms.
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
        endless = np.isinf(min(scores.n_positive, scores.n_marginal))  # No optimal number of bins.
        bins = bins or (MOST_BINS if endless else min(MOST_BINS, optimal_bin_count(scores)))
        display = cls(
            reliability=reliability(scores, bins=bins, binning=binning, level=level, band=band),
            smooth=smooth_reliability(scores, level=level),
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

    def plot(self, ax: base.Place | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : Axes or pair of Axes, optional
            By default, a new figure. Axes in a grid give up their lower part to the histograms,
            axes outside any grid show only the diagram, and a pair shows the diagram and the
            histograms separately. Passing the `ax_` of another display overlays the two, with the
            later one shifted by two points to the right.
        name : str, optional
            Name of the model, instead of the display's own.
        **kwargs
            Properties of the line, such as ``color``; intervals and histograms use the same color.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        base.require_matplotlib()
        canvas = base.find_canvas(ax, with_histogram=self.histogram is not None)
        self.ax_, self.ax_histogram_ = canvas.ax, canvas.histogram
        self.figure_, self.diagonal_ = canvas.ax.figure, canvas.diagonal
        number = len(canvas.bars)
        own = base.curve_style(number) | {"transform": base.shifted(canvas.ax, number)}
        style = own | base.line_properties(kwargs)
        name = style.pop("label", None) or name or self.name
        label = name or (f"estimate {number + 1}" if number else "estimate")
        self._draw_curve(style, label)
        self._draw_histograms(own["linestyle"])
        self._write_subtitle(f"{label}: " if name or number else "", first=number == 0)
        canvas.bars.append(self.bars_)
        self.legend_ = canvas.write_legend()
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the table underlying the diagram, as `Reliability.frame` does."""
        return self.reliability.frame(backend)

    def _draw_curve(self, style: dict[str, Any], label: str) -> None:
        from matplotlib.container import ErrorbarContainer

        ax, result = self.ax_, self.reliability
        height, low, high = _clipped(result)
        above = result.frequency > 1.0 + _ROUNDING
        self._draw_smooth(style)
        light = {} if self.smooth is None else {"linestyle": "none", "alpha": 0.5}
        (self.line_,) = ax.plot(result.score, height, **({"markevery": ~above} | style | light))
        look = {key: style[key] for key in ("color", "transform", "zorder")}
        opacity = 0.7 if self.smooth is None else 0.35
        self.bars_ = ax.vlines(result.score, low, high, linewidth=1.1, alpha=opacity, **look)
        (self.above_one_,) = ax.plot(
            result.score[above], height[above], "^", markersize=6.5, **look
        )
        if above.any() and _ABOVE not in ax.get_legend_handles_labels()[1]:
            self.above_one_.set_label(_ABOVE)
        # Matplotlib's own error bars store differences, which adds rounding error to the limits.
        ax.add_container(
            ErrorbarContainer((self.line_, (), (self.bars_,)), has_yerr=True, label=label)
        )

    def _draw_smooth(self, style: dict[str, Any]) -> None:
        """Draw the smooth curve and its band, clipped at 1."""
        self.curve_: Line2D | None = None
        self.band_: FillBetweenPolyCollection | None = None
        if self.smooth is None:
            return
        score = self.smooth.score
        frequency, low, high = _clipped(self.smooth)
        look = {key: style[key] for key in ("color", "linestyle", "zorder")}
        (self.curve_,) = self.ax_.plot(score, frequency, linewidth=1.8, **look)
        self.band_ = self.ax_.fill_between(
            score, low, high, color=look["color"], alpha=0.15, linewidth=0.0
        )

    def _draw_histograms(self, dashes: str) -> None:
        self.positive_: StepPatch | None = None
        self.marginal_: StepPatch | None = None
        if self.histogram is None or self.ax_histogram_ is None:
            return
        ax, data, color = self.ax_histogram_, self.histogram, self.line_.get_color()
        rows = "all rows" if is_pooled(self.setting) else "unlabeled rows"
        known = ax.get_legend_handles_labels()[1]
        labels = [f"_{text}" if text in known else text for text in ("positives", rows)]
        self.positive_ = ax.stairs(data.positive, data.edges, fill=True, linewidth=0.0, alpha=0.3)
        if known:
            self.positive_.set(facecolor="none", edgecolor=color, hatch="//////", alpha=0.6)
        else:
            self.positive_.set(facecolor=color)
        self.marginal_ = ax.stairs(
            data.marginal, data.edges, color=color, linewidth=1.1, linestyle=dashes
        )
        for patch, text in zip((self.positive_, self.marginal_), labels, strict=True):
            patch.set_label(text)
        ax.legend(loc="upper center", frameon=False, fontsize="small", ncols=2)

    def _write_subtitle(self, prefix: str, *, first: bool) -> None:
        """Add any new lines to the left title; only lines that differ name the model."""
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
        if is_labeled(self.setting):
            rows = count(self.n_positive + self.n_unlabeled, "row")
            return f"labeled: {rows}, {positive}"
        return f"{self.setting}: {positive}, {count(self.n_unlabeled, 'unlabeled row')}"

    def _band_text(self) -> str:
        result = self.reliability
        band = f"{100 * result.level:g}% {result.band} intervals"
        if self.prior is None:
            return band
        if self.prior_interval is None:
            return f"prior {self.prior:.3g}, {band}"
        low, high = self.prior_interval
        return f"prior {self.prior:.3g} in [{low:.3g}, {high:.3g}], {band} at {self.prior:.3g}"


def _clipped(found: Reliability | SmoothReliability) -> Floats:
    """Return frequencies with their limits, at most 1."""
    return np.minimum([found.frequency, found.low, found.high], 1.0)
