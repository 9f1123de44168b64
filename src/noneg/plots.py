"""Results drawn with matplotlib, in the manner of scikit-learn's displays.

A display is built from results, or by its `from_scores` from a `PUScores`; `plot` only draws.
Global settings of matplotlib are read, never written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration import ece_interval, reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch
    from matplotlib.transforms import Transform

    from noneg.bins import Binned, Binning
    from noneg.calibration import Reliability
    from noneg.calibration.reliability import Band
    from noneg.checks import Setting
    from noneg.results import Estimate
    from noneg.scores import PUScores

    Place: TypeAlias = Axes | Sequence[Axes]

__all__ = ["ReliabilityDisplay"]

# Colours of Okabe and Ito (2008), told apart by colour-blind readers; markers and dashes tell the
# curves apart in greyscale.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":")
_SHIFTS = (0.0, 2.0, -2.0, 4.0, -4.0, 6.0)  # points to the right, so that no bar hides another
_WIDE, _HIGH = 0.6, 0.3  # the corner that a legend may need
_SHORT = 24  # letters of a name that leave room for a second column
_LIMITS = (-0.03, 1.03)
_ROUNDING = 1e-9  # a bin full of positives may miss 1 by the last digit
_ABOVE = "above 1, drawn at 1"
_KEY = "noneg_canvas"


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
            prior=scores.prior,
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
        _require_matplotlib()
        canvas = _canvas(ax, with_histogram=self.histogram is not None)
        self.ax_, self.ax_histogram_ = canvas.ax, canvas.histogram
        self.figure_, self.diagonal_ = canvas.ax.figure, canvas.diagonal
        number = len(canvas.bars)
        own = _style(number) | {"transform": _shifted(canvas.ax, number)}
        style = own | _line_properties(kwargs)
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
        rows = "unlabeled rows" if self.setting == "two-sample" else "all rows"
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
        positive = _count(self.n_positive, "positive")
        if self.setting == "labelled":
            rows = _count(self.n_positive + self.n_unlabeled, "row")
            return f"labelled: {rows}, {positive}"
        return f"{self.setting}: {positive}, {_count(self.n_unlabeled, 'unlabeled row')}"

    def _band_text(self) -> str:
        result = self.reliability
        band = f"{100 * result.level:g} % {result.band} intervals"
        if self.prior is None:
            return band
        if self.prior_interval is None:
            return f"prior {self.prior:.3g}, {band}"
        low, high = self.prior_interval
        return f"prior {self.prior:.3g} in [{low:.3g}, {high:.3g}], {band} at {self.prior:.3g}"


@dataclass(kw_only=True)
class _Canvas:
    """What the displays on an axes share; kept with the axes, where the next display finds it."""

    ax: Axes
    histogram: Axes | None
    diagonal: Line2D
    bars: list[LineCollection] = field(default_factory=list)

    def write_legend(self) -> Legend:
        """Name the curves, then the marks, in a free corner off the diagonal or above 1."""
        handles, labels = self.ax.get_legend_handles_labels()
        order = np.roll(np.arange(len(labels)), len(self.bars))
        upper, lower = self._crowding()
        full = bool(upper and lower)
        columns = 2 if full and max(map(len, labels)) <= _SHORT else 1
        room = 0.03 + 0.06 * np.ceil(len(labels) / columns) if full else 0.0
        bottom, top = _LIMITS
        self.ax.set_ylim(top=bottom + (top - bottom) / (1.0 - room))
        return self.ax.legend(
            [handles[i] for i in order],
            [labels[i] for i in order],
            loc="upper center" if full else "lower right" if upper else "upper left",
            ncols=columns,
            fontsize="small",
            edgecolor="none",
        )

    def _crowding(self) -> tuple[int, int]:
        """Return how many ends of intervals lie in the upper left and in the lower right corner."""
        ends = np.concatenate([end for bars in self.bars for end in bars.get_segments()])
        upper, lower = (
            int(((x < _WIDE) & (y > 1.0 - _HIGH)).sum()) for x, y in (ends.T, 1.0 - ends.T)
        )
        return upper, lower


def _require_matplotlib() -> None:
    try:
        import_module("matplotlib")
    except ImportError as error:
        msg = "noneg.plots needs matplotlib. Install it with: pip install 'noneg[plot]'"
        raise ImportError(msg) from error


def _canvas(ax: Place | None, *, with_histogram: bool) -> _Canvas:
    main, below = _split(_new_axes(with_histogram=with_histogram) if ax is None else ax)
    canvas: _Canvas | None = vars(main).get(_KEY)
    if canvas is None or canvas.diagonal.axes is None:
        if canvas is not None and canvas.histogram is not None:  # the axes was cleared
            below = canvas.histogram
            below.clear()
        canvas = _Canvas(ax=main, histogram=None, diagonal=_prepare(main))
        vars(main)[_KEY] = canvas
    if with_histogram and canvas.histogram is None:
        canvas.histogram = _add_panel(main) if below is None else below
        if canvas.histogram is not None:
            _prepare_panel(main, canvas.histogram)
    return canvas


def _split(ax: Place) -> tuple[Axes, Axes | None]:
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax, None
    if len(ax) != 2:
        msg = f"'ax' must be an Axes, or a pair for diagram and histograms, got {len(ax)} of them."
        raise ValueError(msg)
    return ax[0], ax[1]


def _new_axes(*, with_histogram: bool) -> Axes:
    import matplotlib.pyplot as plt

    size = (4.8, 6.0) if with_histogram else (4.8, 4.8)
    return plt.subplots(figsize=size, layout="constrained")[1]


def _prepare(ax: Axes) -> Line2D:
    """Set up limits, labels and the diagonal, which is returned."""
    (diagonal,) = ax.plot(
        [0.0, 1.0],
        [0.0, 1.0],
        color="0.6",
        linewidth=1.0,
        label="perfect calibration",
        zorder=1.5,
    )
    ax.set(xlim=_LIMITS, ylim=_LIMITS, xlabel="score", ylabel="share of positives")
    ax.set_xticks(np.linspace(0.0, 1.0, 6))
    ax.set_yticks(np.linspace(0.0, 1.0, 6))
    ax.spines[["top", "right"]].set_visible(False)
    return diagonal


def _add_panel(ax: Axes) -> Axes | None:
    """Give the lower part of an axes' place in a grid to a second one."""
    place = ax.get_subplotspec()
    if place is None:
        return None
    grid = place.subgridspec(2, 1, height_ratios=[3.4, 1.2], hspace=0.06)
    ax.set_subplotspec(grid[0, 0])
    panel = ax.figure.add_subplot(grid[1, 0], sharex=ax)
    ax.figure.sca(ax)
    return panel


def _prepare_panel(ax: Axes, panel: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("")
    ax.tick_params(labelbottom=False)
    panel.set(xlim=ax.get_xlim(), xlabel="score", ylabel="share per bin")
    panel.set_xticks(ax.get_xticks())
    panel.margins(y=0.4)  # room for the legend
    panel.yaxis.set_major_locator(MaxNLocator(3))
    panel.spines[["top", "right"]].set_visible(False)
    ax.figure.align_ylabels([ax, panel])


def _style(number: int) -> dict[str, Any]:
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "linewidth": 0.9,
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 4.5,
        "zorder": 3,
    }


def _shifted(ax: Axes, number: int) -> Transform:
    from matplotlib.transforms import ScaledTranslation

    inches = _SHIFTS[number % len(_SHIFTS)] / 72.0
    return ax.transData + ScaledTranslation(inches, 0.0, ax.figure.dpi_scale_trans)


def _line_properties(kwargs: dict[str, object]) -> dict[str, Any]:
    """Write short names in full, so that they replace ours."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)


def _count(n: float, noun: str) -> str:
    number = "infinitely many" if np.isinf(n) else f"{n:,.0f}"
    return f"{number} {noun}{'s' * (n != 1)}"
