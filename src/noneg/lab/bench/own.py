"""The benchmark on a table of one's own: no row has a known negative label.

A third of the labelled and of the unlabeled rows is held out. Every method is trained on the others
with several learning rates, each time as one population; proxy accuracy on validation rows chooses
rate and checkpoint. The methods are then compared on the rows that were held out, by the criteria
of `noneg.compare`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.comparison import compare
from noneg.errors import InputError
from noneg.extras import optional
from noneg.lab.bench.criteria import CRITERIA
from noneg.randomness import stream

with optional("noneg bench run"):
    import torch

    from noneg.lab.bench.criteria import probabilities
    from noneg.lab.bench.population import Member, Population
    from noneg.lab.bench.work import METHODS
    from noneg.learning.algorithms import ALGORITHMS
    from noneg.learning.contract import PUData
    from noneg.learning.networks import MLP
    from noneg.learning.training import Trainer, find_device, seeded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from noneg.checks import Setting
    from noneg.comparison import Comparison

    Floats = NDArray[np.float64]

# Standardized tables want larger rates than the benchmark's search tries.
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
TEST, VALIDATION = 1.0 / 3.0, 0.1
# Fewer labelled rows leave nothing to choose by.
LEAST = 30
BY = list(CRITERIA).index("proxy_accuracy")


@dataclass(frozen=True)
class Ranking:
    """Methods, compared on rows that none of them has seen.

    Attributes
    ----------
    comparison : Comparison
        Its intervals hold for all methods at once.
    left_out : dict
        Why a method could not be trained, by name.
    """

    comparison: Comparison
    left_out: dict[str, str]

    @property
    def winner(self) -> str | None:
        """The method that beats all others by proxy accuracy; None if there is none."""
        return self.comparison.criteria["proxy_accuracy"].winner


@dataclass(frozen=True)
class _Parts:
    """Standardized rows: for training, for the choice, and held out with their labels."""

    training: PUData
    validation: PUData
    test: Floats
    flags: NDArray[np.bool_]


def rank_on(  # noqa: PLR0913 - each one names a fact that is never guessed
    X: ArrayLike,
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
    """Train methods on a table, and compare them on rows that were held out.

    Parameters
    ----------
    X : array-like, shape (n, d)
        Features.
    labeled : array-like
        1 for labelled positives and 0 for unlabeled rows.
    setting : {"one-sample", "two-sample"}
        How the rows were sampled; never guessed.
    prior : float
        Share of positives in the population.
    prior_interval : (float, float), optional
        What is known of it; the comparison then holds for every prior in it.
    algorithms : iterable of str, optional
        Names in `noneg.learning.ALGORITHMS`; by default all.
    steps : int
        Updates of a run.
    seed : int
        Of split, weights and batches.
    device : str, optional
        Of torch.

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
    parts = _split(np.asarray(X, dtype=np.float64), np.asarray(labeled, dtype=bool), seed)
    scores: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    for name in names:
        trainers = [
            Trainer(steps=steps, batch_size=64, optimizer="sgd", lr=rate, seed=seed, device=device,
                    checkpoint_every=max(1, steps // 30), criterion="proxy_accuracy")
            for rate in RATES
        ]  # fmt: skip
        try:
            scores[name] = _scores(name, trainers, parts, setting, prior)
        except (ValueError, FloatingPointError) as error:
            left_out[name] = str(error)
    if len(scores) < 2:
        msg = f"must be such that two methods can be trained on this table: {left_out}"
        raise InputError("algorithms", msg)
    known = {"prior": prior, "prior_interval": prior_interval, "setting": setting}
    # The winner is compared with all others at once.
    level = 1.0 - 0.05 / (len(scores) - 1)
    found = compare(scores, parts.flags, **known, level=level)  # type: ignore[arg-type]
    return Ranking(found, left_out)


def _split(x: Floats, flags: NDArray[np.bool_], seed: int) -> _Parts:
    """Hold rows out, of the labelled and of the unlabeled ones alike; scale by training rows."""
    random, groups = stream(seed, "own table"), []
    for flag in (True, False):
        rows = random.permutation(np.flatnonzero(flags == flag))
        if rows.size < LEAST:
            rule = f"must mark at least {LEAST} rows as labelled, and leave as many"
            raise InputError("labeled", rule, value=int(flags.sum()))
        ends = [int(TEST * rows.size), int((TEST + VALIDATION) * rows.size)]
        groups.append(np.split(rows, ends))
    kept = np.concatenate([part[2] for part in groups])
    spread = x[kept].std(0)
    x = (x - x[kept].mean(0)) / np.where(spread > 0.0, spread, 1.0)

    def data(k: int) -> PUData:
        pos, unl = (torch.from_numpy(x[part[k]]).float() for part in groups)
        return PUData(pos, unl)

    test = np.concatenate([part[0] for part in groups])
    return _Parts(data(2), data(1), x[test], flags[test])


def _scores(
    name: str, trainers: list[Trainer], parts: _Parts, setting: Setting, prior: float
) -> Floats:
    """Return the scores of held-out rows by the rate and checkpoint that proxy accuracy chooses."""
    width = parts.test.shape[1]
    given: dict[str, Any] = {"network": lambda: MLP(width), "data": parts.training,
                             "setting": setting, "prior": prior,
                             "validation": parts.validation}  # fmt: skip
    try:
        members = [_member(ALGORITHMS[name](), trainer, parts, given) for trainer in trainers]
        population = Population(members, prior)
        population.rehearse()
    except (RuntimeError, TypeError):
        return _one_by_one(name, trainers, parts, given)
    while population.step < population.total:
        population.advance()
    population.wait()
    best = population.best[BY]
    if not bool(best.isfinite().any()):
        raise FloatingPointError(f"{name} diverged at every learning rate.")
    logits = population.kept[BY, int(best.argmax()), -len(parts.test) :]
    return probabilities(logits).cpu().numpy()


def _member(algorithm: Any, trainer: Trainer, parts: _Parts, given: dict[str, Any]) -> Member:  # noqa: ANN401
    with seeded(trainer.seed, find_device(trainer.device)):
        run = trainer.begin(algorithm, **given)
        random = torch.get_rng_state()
    held = [parts.validation.pos, parts.validation.unl, torch.from_numpy(parts.test).float()]
    # Nobody knows the hidden labels here, and nothing is chosen by them.
    return Member(run, torch.cat(held), torch.zeros(parts.validation.n_unl), random)


def _one_by_one(name: str, trainers: list[Trainer], parts: _Parts, given: dict[str, Any]) -> Floats:
    """Do without a population, for methods that are not one program."""
    fits = [trainer.fit(ALGORITHMS[name](), **given) for trainer in trainers]
    values = [max((h.get("proxy_accuracy", -1.0) for h in fit.history), default=-1.0)
              for fit in fits]  # fmt: skip
    best = fits[int(np.argmax(values))].algorithm
    return probabilities(best.decision(torch.from_numpy(parts.test).float())).cpu().numpy()
