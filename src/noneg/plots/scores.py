"""Where the scores of positives, of all rows, and of the implied negatives lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from noneg.bins import bin_scores
from noneg.plots.style import COLOURS, DASHES, new_axes
from noneg.results import to_frame

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import StepPatch
    from numpy.typing import NDArray

    from noneg.bins import Binned
    from noneg.checks import Setting
    from noneg.scores import PUScores


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreDistributionDisplay:
    r"""Histograms of the positive law, the marginal law and the negatives that both imply.

    The implied share of negatives in a bin is :math:`(\mu(I_b) - \pi\mu_+(I_b))/(1 - \pi)`. Noise
    or too large a prior take it below zero; it is drawn as it is.

    Parameters
    ----------
    histogram : Binned
        From `noneg.bins.bin_scores`.
    setting : {"two-sample", "one-sample", "labelled"}, optional
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
    name: str | None = None

    figure_: Figure | SubFigure = field(init=False)
    ax_: Axes = field(init=False)
    positive_: StepPatch = field(init=False)
    marginal_: StepPatch = field(init=False)
    negative_: StepPatch = field(init=False)

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        bins: int = 40,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Compute the histograms of scores and draw them.

        Parameters
        ----------
        scores : PUScores
        bins : int
            Bars, of equal width.
        ax : Axes, optional
        name : str, optional
        **kwargs
            Properties of all three outlines, such as ``linewidth``.
        """
        histogram = bin_scores(scores, bins=bins, binning="width")
        return cls(histogram=histogram, setting=scores.setting, name=name).plot(ax, **kwargs)

    @property
    def negative(self) -> NDArray[np.float64]:
        """Share of the negatives in each bin, as implied."""
        binned = self.histogram
        return (binned.marginal - binned.prior * binned.positive) / (1.0 - binned.prior)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:  # noqa: ANN401
        """Draw the display.

        Parameters
        ----------
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            Instead of the display's own.
        **kwargs
            Properties of all three outlines.
        """
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        binned = self.histogram
        style: dict[str, Any] = {"linewidth": 1.4} | kwargs
        self.ax_.stairs(binned.positive, binned.edges, fill=True, color=COLOURS[0], alpha=0.2)
        rows = "unlabeled rows" if self.setting == "two-sample" else "all rows"
        negatives = "negatives" if self.setting == "labelled" else "implied negatives"
        self.positive_, self.marginal_, self.negative_ = (
            self.ax_.stairs(
                share,
                binned.edges,
                baseline=None,
                **({"color": colour, "linestyle": dashes, "label": label} | style),
            )
            for share, colour, dashes, label in (
                (binned.positive, COLOURS[0], DASHES[0], "positives"),
                (binned.marginal, "0.4", DASHES[1], rows),
                (self.negative, COLOURS[1], DASHES[3], negatives),
            )
        )
        self.ax_.set(xlabel="score", ylabel="share of rows per bin", xlim=(-0.03, 1.03))
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(loc="best", fontsize="small", edgecolor="none")
        title = name or self.name
        if title:
            self.ax_.set_title(title, loc="left", fontsize="small")
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the histograms, a row a bin."""
        binned = self.histogram
        columns = {
            "left": binned.edges[:-1],
            "right": binned.edges[1:],
            "positive": binned.positive,
            "marginal": binned.marginal,
            "negative": self.negative,
        }
        return to_frame(columns, backend)
