"""Metrics for PyTorch training loops: the same results, from sums kept on any device.

Each class is a torchmetrics ``Metric``. Its state consists of the sums of a `noneg.Sketch`, added
over batches and processes, so an epoch of any length takes a few megabytes, and ``compute`` gives
the same number as `noneg` does for all rows together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from noneg.checks import Setting, check_prior, check_selection, check_setting
from noneg.errors import InputError
from noneg.extras import optional
from noneg.kernels import FINE_GRID, FIRST_TAIL_KEY, MANTISSA_BITS, TAIL_EDGE
from noneg.metrics import find_metric
from noneg.sketch import Sketch

with optional("noneg.torch"):
    import torch
    from torchmetrics import Metric

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "PUAUROC",
    "PUAccuracy",
    "PUAveragePrecision",
    "PUBrierScore",
    "PUCalibrationError",
    "PUDebiasedCalibrationError",
    "PUKolmogorovSmirnovError",
    "PULogLoss",
    "PUMetric",
    "PUPrecision",
    "PURecall",
    "PUSmoothCalibrationError",
    "bucket_of",
]

N_BUCKETS = FINE_GRID.size


def bucket_of(scores: torch.Tensor) -> torch.Tensor:
    """Return the sketch bucket of each score, on the device of the scores.

    The result equals `noneg.kernels.bucket_of` for the grid of sketches.

    Examples
    --------
    >>> import torch
    >>> bucket_of(torch.tensor([0.0, 0.5, 1.0])).tolist()
    [0, 93697, 187393]
    """
    s = scores.double()
    middle = (s * FINE_GRID.scale).long() + FINE_GRID.offset
    upper = torch.where(s < 1.0 - TAIL_EDGE, middle, N_BUCKETS - 1 - _tail_bucket(1.0 - s))
    return torch.where(s < TAIL_EDGE, _tail_bucket(s), upper)


def _tail_bucket(distance: torch.Tensor) -> torch.Tensor:
    key = distance.contiguous().view(torch.int64) >> (52 - MANTISSA_BITS)
    return (key - (FIRST_TAIL_KEY - 1)).clamp(min=0)


def add_rows(
    count: torch.Tensor,
    total: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    scores: torch.Tensor,
    flags: torch.Tensor,
) -> None:
    """Add rows to the sums of buckets, in place; unlabeled rows come first, then positives.

    Parameters
    ----------
    count, total : Tensor, shape (2 N_BUCKETS,)
        Number of rows (int64) and sum of scores (float64).
    low, high : Tensor, shape (N_BUCKETS,)
        Smallest and largest score in both groups.
    scores, flags : Tensor
        Scores in [0, 1], and 1 for positives.
    """
    s = scores.double()
    bucket = bucket_of(s)
    cell = bucket + N_BUCKETS * (flags == 1)
    count += torch.bincount(cell, minlength=2 * N_BUCKETS)
    total.index_add_(0, cell, s)
    low.scatter_reduce_(0, bucket, s, "amin")
    high.scatter_reduce_(0, bucket, s, "amax")


class PUMetric(Metric):
    """Any metric of `noneg.metrics.METRICS` over all batches and processes.

    Parameters
    ----------
    metric : str
        Name of the metric.
    setting : {"two-sample", "one-sample", "labeled"}
        How the rows were sampled; never guessed.
    prior : float, optional
        Share of positives in the population; not needed for labeled data.
    selection : float
        How much hidden positives may differ from labeled ones; see `bounds`.
    options : dict, optional
        Options of the metric, such as ``{"bins": 15}``; they may also be passed as keywords.
    validate_args : bool
        Check each batch. On a GPU, this waits for the batch; turn it off if that is too slow.
    **kwargs
        Options of the metric and of torchmetrics, such as ``dist_sync_on_step``.

    Examples
    --------
    >>> import torch
    >>> metric = PUMetric("auroc", setting="labeled")
    >>> metric.update(torch.tensor([0.9, 0.2]), torch.tensor([1, 0]))
    >>> metric.update(torch.tensor([0.3, 0.4]), torch.tensor([1, 0]))
    >>> metric.compute().item()
    0.75
    """

    full_state_update = False
    is_differentiable = False
    count: torch.Tensor
    total: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor

    def __init__(
        self,
        metric: str,
        *,
        setting: Setting,
        prior: float | None = None,
        selection: float = 1.0,
        options: dict[str, Any] | None = None,
        validate_args: bool = True,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        found = find_metric(metric)
        known = found.options
        chosen = dict(options or {}) | {name: kwargs.pop(name) for name in known if name in kwargs}
        found.check_options(chosen)
        try:
            super().__init__(**kwargs)
        except ValueError as error:
            names = ", ".join(["setting", "prior", "selection", "options", "validate_args", *known])
            msg = f"{error}. Valid options are {names} and those of torchmetrics.Metric."
            raise ValueError(msg) from error
        self.metric, self.options = found, chosen
        self.setting = check_setting(setting)
        self.prior = None if prior is None else check_prior(prior)
        self.selection = check_selection(selection)
        self.validate_args = validate_args
        zeros = torch.zeros(2 * N_BUCKETS, dtype=torch.int64)
        self.add_state("count", zeros, dist_reduce_fx="sum")
        self.add_state("total", zeros.double(), dist_reduce_fx="sum")
        # No score is below -1 or above 2, so the values of empty buckets have no effect.
        bounds = torch.ones(N_BUCKETS, dtype=torch.float64)
        self.add_state("low", 2.0 * bounds, dist_reduce_fx="min")
        self.add_state("high", -bounds, dist_reduce_fx="max")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : Tensor
            Scores in [0, 1]; apply a sigmoid to logits first.
        target : Tensor
            1 for labeled positives, 0 for unlabeled rows (for labeled data, the labels).
        """
        s, flags = preds.detach().double().flatten(), target.detach().flatten()
        if self.validate_args:
            _check_batch(s, flags)
        add_rows(self.count, self.total, self.low, self.high, s, flags)

    def sketch(self) -> Sketch:
        """Return all rows seen by this process so far as a sketch."""
        sketch = Sketch(setting=self.setting, prior=self.prior)
        low, high = self.low.cpu().numpy(), self.high.cpu().numpy()
        there = np.flatnonzero(high >= 0.0)
        counts, totals = (x.cpu().numpy().reshape(2, -1) for x in (self.count, self.total))
        for group in (0, 1):
            sums = np.stack([counts[group], totals[group]], axis=-1)[there]
            sketch.add_sums(group, there, sums.astype(np.float64), low[there], high[there])
        return sketch

    def compute(self) -> torch.Tensor:
        """Return the metric over all rows."""
        value = self.metric.function(self.sketch().scores(), **self.options)
        return torch.tensor(value, dtype=torch.float64, device=self.total.device)

    def bounds(self) -> torch.Tensor:
        """Return the smallest and largest value possible under `selection`, without noise.

        Like `compute`, this covers all rows of all processes.

        Examples
        --------
        >>> import torch
        >>> metric = PUMetric("recall", setting="two-sample", prior=0.3, selection=2.0)
        >>> metric.update(torch.tensor([0.9, 0.2, 0.6, 0.4]), torch.tensor([1, 1, 0, 0]))
        >>> metric.bounds()
        tensor([0.2500, 0.7500], dtype=torch.float64)
        """
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn,
            should_sync=self._to_sync,
            should_unsync=self._should_unsync,
        ):
            scores = self.sketch().scores(selection=self.selection)
        found = self.metric.estimate(scores, **self.options)
        ends = found.identified or (found.value, found.value)
        return torch.tensor(ends, dtype=torch.float64, device=self.total.device)

    def plot(self, val: Any = None, ax: Any = None) -> Any:  # noqa: ANN401
        """Plot the value of `compute`, or the values given as `val`, with Matplotlib."""
        return self._plot(val, ax)

    def set_dtype(self, dst_type: str | torch.dtype) -> Self:
        """Raise an error for any type other than double."""
        if str(dst_type) not in ("torch.float64", "torch.DoubleTensor"):
            msg = "must be torch.float64, the precision needed for sums of many rows"
            remedy = "Convert the result of compute() instead."
            raise InputError("dst_type", msg, value=dst_type, remedy=remedy)
        return self

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], *args: Any) -> Self:  # noqa: ANN401
        """Move the sums to another device; they stay doubles if the model changes its dtype."""

        def moved(state: torch.Tensor) -> torch.Tensor:
            new = fn(state)
            return new if new.dtype == state.dtype else state.to(new.device)

        super()._apply(moved, *args)
        return self


def _check_batch(s: torch.Tensor, flags: torch.Tensor) -> None:
    if s.shape != flags.shape:
        msg = f"must have one entry per score, got {flags.numel()} for {s.numel()} scores."
        raise InputError("target", msg)
    if not bool(((s >= 0.0) & (s <= 1.0)).all()):
        wrong = s[~((s >= 0.0) & (s <= 1.0))][0].item()
        msg = f"must contain scores in [0, 1], got {wrong!r}. Apply a sigmoid to logits first."
        raise InputError("preds", msg)
    if not bool(((flags == 0) | (flags == 1)).all()):
        wrong = flags[(flags != 0) & (flags != 1)][0].item()
        raise InputError("target", "must contain 0 and 1", value=wrong)


class _Named(PUMetric):
    """A metric whose name is fixed by its class."""

    name: ClassVar[str]

    def __init__(self, *, setting: Setting, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(self.name, setting=setting, **kwargs)


def _named(class_name: str, name: str) -> type[_Named]:
    """Return the class for one metric, with the options of the metric's function."""
    metric = find_metric(name)
    options = ", ".join(metric.options) or "none"
    text = f"""{metric.title} over all batches and processes.

    Parameters
    ----------
    setting, prior, selection, validate_args
        As in `PUMetric`.
    **kwargs
        Options of the metric `{name}` ({options}), and of torchmetrics, such as
        ``dist_sync_on_step``.

    Examples
    --------
    >>> import torch
    >>> from noneg.torch import {class_name}
    >>> metric = {class_name}(setting="labeled")
    >>> metric.update(torch.tensor([0.9, 0.2, 0.6, 0.4]), torch.tensor([1, 0, 1, 0]))
    >>> bool(metric.compute() >= 0.0)
    True
    """
    body: dict[str, object] = {"name": name, "__doc__": text, "__module__": __name__}
    body["higher_is_better"] = {"higher": True, "lower": False}.get(metric.better)
    return type(class_name, (_Named,), body)


PUCalibrationError = _named("PUCalibrationError", "ece")
PUDebiasedCalibrationError = _named("PUDebiasedCalibrationError", "debiased_ece")
PUSmoothCalibrationError = _named("PUSmoothCalibrationError", "smooth_ece")
PUKolmogorovSmirnovError = _named("PUKolmogorovSmirnovError", "ks_error")
PUBrierScore = _named("PUBrierScore", "brier")
PULogLoss = _named("PULogLoss", "log_loss")
PUAUROC = _named("PUAUROC", "auroc")
PUAveragePrecision = _named("PUAveragePrecision", "average_precision")
PUAccuracy = _named("PUAccuracy", "accuracy")
PUPrecision = _named("PUPrecision", "precision")
PURecall = _named("PURecall", "recall")
