"""The benchmark on your own table, which has no known negatives.

A third of the labeled rows and a third of the unlabeled rows are held out. Each method is trained
on the others with several learning rates, and proxy accuracy on validation rows
selects the rate and the checkpoint. The methods are then compared on the held-out rows by the
criteria in `noneg.compare`. Since networks need numbers, text becomes one column per value, and a
missing number becomes the mean of its column.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.checks import Setting, check_flags, check_prior, check_pu_setting, check_same_length
from noneg.comparison import Comparison, compare
from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.criteria import probabilities
from noneg.learning.base import standard_scale
from noneg.learning.propensity import encoded
from noneg.randomness import stream

with optional("noneg bench run"):
    import torch

    from noneg.lab.bench.work import METHODS
    from noneg.learning.algorithms import ALGORITHMS
    from noneg.learning.contract import PUData
    from noneg.learning.networks import MLP
    from noneg.learning.training import Fit, Trainer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats

# Standardized tables need larger learning rates than those in the benchmark's search.
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
TEST, VALIDATION = 1.0 / 3.0, 0.1
# With fewer labeled rows, there are too few validation rows for selection.
LEAST = 30


@dataclass(frozen=True)
class Ranking:
    """Methods compared on held-out rows.

    Attributes
    ----------
    comparison : Comparison
        The comparison. Its level is raised so that, for each criterion, the winner or one of the
        tied methods is the best one with a probability of at least 95%, whatever the number of
        methods; each single interval holds at the raised level.
    left_out : dict
        Reasons why methods could not be trained, by name.
    """

    comparison: Comparison
    left_out: dict[str, str]

    @property
    def winner(self) -> str | None:
        """The method that beats all others in proxy accuracy, or None if there is none."""
        return self.comparison.criteria["proxy_accuracy"].winner


@dataclass(frozen=True)
class _Parts:
    """Standardized rows for training and selection, and held-out rows with their labels."""

    training: PUData
    validation: PUData
    test: Floats
    flags: Flags


def rank_on(  # noqa: PLR0913 - each one names a fact that is never guessed
    X: Any,  # noqa: ANN401 - a matrix or a data frame
    labeled: ArrayLike,
    *,
    setting: Setting,
    prior: float,
    prior_interval: tuple[float, float] | None = None,
    algorithms: Iterable[str] | None = None,
    steps: int = 3000,
    seed: int = 0,
    device: str | None = None,
) -> Ranking:
    """Train methods on a table, and compare them on held-out rows.

    Parameters
    ----------
    X : array-like or data frame, shape (n, d)
        Features; a data frame may contain text and missing values.
    labeled : array-like
        1 for labeled positives and 0 for unlabeled rows.
    setting : {"one-sample", "two-sample"}
        How the rows were sampled; never guessed.
    prior : float
        Share of positives in the population.
    prior_interval : (float, float), optional
        Interval that contains the prior; the comparison then holds for every prior in it.
    algorithms : iterable of str, optional
        Names in `noneg.learning.ALGORITHMS`; by default, all.
    steps : int
        Number of updates per run.
    seed : int
        Seed for the split, the weights and the batches.
    device : str, optional
        Torch device.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.5
    >>> X = rng.normal(2.0 * y[:, None], 1.0, (600, 2))
    >>> labeled = y & (rng.random(600) < 0.5)
    >>> found = rank_on(
    ...     X, labeled, setting="one-sample", prior=0.5, algorithms=["nnpu", "naive"], steps=100
    ... )
    >>> found.comparison.models
    ('nnpu', 'naive')
    """
    names = list(algorithms or METHODS)
    if set(names) - set(METHODS) or len(names) < 2:
        rule = f"must be at least two of {', '.join(METHODS)}"
        raise InputError("algorithms", rule, value=names)
    check_pu_setting(setting)
    check_prior(prior)
    x, flags = encoded(X), check_flags(labeled, "labeled", choosable=False)
    check_same_length(X=len(x), labeled=flags.size)
    parts = _split(x, flags, seed)
    scores: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    trainers = [_trainer(rate, steps, seed, device) for rate in RATES]
    for name in names:
        try:
            scores[name] = _scores(name, trainers, parts, setting, prior)
        except (ValueError, FloatingPointError) as error:
            left_out[name] = str(error)
    if len(scores) < 2:
        msg = f"must include two methods that can be trained on this table: {left_out}"
        raise InputError("algorithms", msg)
    known = {"prior": prior, "prior_interval": prior_interval, "setting": setting}
    # A wrong winner must seem better than the best method, which is one of so many others.
    level = 1.0 - 0.05 / (len(scores) - 1)
    found = compare(scores, parts.flags, **known, level=level)  # type: ignore[arg-type]
    return Ranking(found, left_out)


def _trainer(rate: float, steps: int, seed: int, device: str | None) -> Trainer:
    return Trainer(
        steps=steps,
        batch_size=64,
        optimizer="sgd",
        lr=rate,
        seed=seed,
        device=device,
        checkpoint_every=max(1, steps // 30),
        criterion="proxy_accuracy",
    )


def _split(x: Floats, flags: Flags, seed: int) -> _Parts:
    """Hold out labeled and unlabeled rows, and standardize with the training rows."""
    random, groups = stream(seed, "own table"), []
    for flag in (True, False):
        rows = random.permutation(np.flatnonzero(flags == flag))
        if rows.size < LEAST:
            rule = (
                f"must mark at least {LEAST} rows as labeled and leave at least as many unlabeled"
            )
            raise InputError("labeled", rule, value=int(flags.sum()))
        ends = [int(TEST * rows.size), int((TEST + VALIDATION) * rows.size)]
        groups.append(np.split(rows, ends))
    kept = np.concatenate([part[2] for part in groups])
    center, scale = standard_scale(x[kept])
    x = (x - center) / scale

    def data(k: int) -> PUData:
        pos, unl = (torch.from_numpy(x[part[k]]).float() for part in groups)
        return PUData(pos, unl)

    test = np.concatenate([part[0] for part in groups])
    return _Parts(data(2), data(1), x[test], flags[test])


def _scores(
    name: str, trainers: list[Trainer], parts: _Parts, setting: Setting, prior: float
) -> Floats:
    """Return scores of held-out rows with the rate and checkpoint selected by proxy accuracy."""
    fits, width = [], parts.test.shape[1]
    for trainer in trainers:
        # A rate at which training diverges before the first checkpoint is skipped.
        with suppress(FloatingPointError):
            fit = trainer.fit(
                ALGORITHMS[name](),
                lambda: MLP(width),
                parts.training,
                setting=setting,
                prior=prior,
                validation=parts.validation,
            )
            fits.append(fit)
    if not fits:
        raise FloatingPointError(f"{name} diverged at every learning rate.")
    best = max(fits, key=_best_value).algorithm
    return probabilities(best.decision(torch.from_numpy(parts.test).float())).cpu().numpy()


def _best_value(fit: Fit) -> float:
    return max((entry.get("proxy_accuracy", -1.0) for entry in fit.history), default=-1.0)
