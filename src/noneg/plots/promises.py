"""What can be promised of the precision, beside its estimate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from noneg.performance import fdp_envelope
from noneg.plots.base import COLOURS, DASHES, line_properties, new_axes, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

    from noneg.performance import FdpEnvelope
    from noneg.scores import PUScores


@dataclass(eq=False)
class PromisedPrecisionDisplay:
    """Precision against recall: the estimate, and what can be promised at all thresholds at once.

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
        The estimate, cut off at 1.
    promise_ : Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from noneg.plots import PromisedPrecisionDisplay
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.less_calibrated().draw(500, 5000, setting="two-sample", seed=0)
    >>> display = PromisedPrecisionDisplay.from_scores(scores)
    >>> display.promise_.get_label()
    'promised with 95 % confidence'
    >>> plt.close(display.figure_)
    """

    envelope: FdpEnvelope
    name: str | None = None
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)
    line_: Line2D = field(init=False, repr=False)
    promise_: Line2D = field(init=False, repr=False)

    @classmethod
    def from_scores(
        cls,
        scores: PUScores,
        *,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """Compute the envelope and draw it."""
        return cls(fdp_envelope(scores, confidence=confidence), name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:  # noqa: ANN401
        """Draw both curves.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure.
        name : str, optional
            Name of the model, for the legend.
        **kwargs
            Properties of the line of the estimate.
        """
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        unit_square(self.ax_, "recall", "precision")
        found, look = self.envelope, {"color": COLOURS[0]} | line_properties(kwargs)
        words = name or self.name or "estimate"
        estimate = np.minimum(found.precision, 1.0)
        (self.line_,) = self.ax_.plot(found.recall, estimate, label=words, **look)
        sure = f"promised with {100 * found.confidence:.6g} % confidence"
        below: dict[str, Any] = {
            "color": self.line_.get_color(),
            "linestyle": DASHES[1],
            "label": sure,
        }
        (self.promise_,) = self.ax_.plot(found.recall, found.promised, **below)
        self.ax_.legend(loc="lower left")
        return self

    def frame(self, backend: str | None = None) -> object:
        """Return the curves as a pandas, Polars or PyArrow frame, whichever is installed."""
        return self.envelope.frame(backend)
