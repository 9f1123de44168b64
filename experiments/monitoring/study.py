"""How often are alarms false, how soon is a drift detected, and is it attributed correctly?

One look: bias and coverage of the prior of new rows, and size and power of the tests. Many looks:
false alarms over 100 looks, delays and attribution after a drift of one component, and bands for
metrics.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter

import numpy as np

from experiments.study import SETTINGS, Run, Study, cells, seeded
from experiments.synthetic.worlds import population
from experiments.tables import averaged
from noneg.monitoring import TESTS, alarms, monitor, name_look, window_tests
from noneg.performance import auroc, precision
from noneg.prior.shift import Counts, compare_positives, fit_shift, shared_edges
from noneg.scores import PUScores
from noneg.simulation import LogitMixture, MixtureLaw


@dataclass(frozen=True)
class World:
    """Distributions of the logit of positives, negatives and labeled positives, and the prior."""

    prior: float
    positive: MixtureLaw
    negative: MixtureLaw
    labeled: MixtureLaw | None = None
    steps: int = 0

    @property
    def mixture(self) -> LogitMixture:
        return LogitMixture(positive=self.positive, negative=self.negative, prior=self.prior)

    @cached_property
    def marginal(self) -> MixtureLaw:
        return self.mixture.marginal_law()

    def shares(self, law: MixtureLaw, edges: np.ndarray) -> np.ndarray:
        """Return the exact distribution in bins; discrete scores lie in the middle of their
        step."""
        if self.steps:
            edges = np.floor(edges * self.steps + 0.5 + 1e-9) / self.steps
        return law.moments(edges)[:, 0]

    def draw(self, law: MixtureLaw, n: int, rng: np.random.Generator) -> np.ndarray:
        scores = law.draw(n, seed=rng)
        return (np.floor(scores * self.steps) + 0.5) / self.steps if self.steps else scores


def components(law: MixtureLaw) -> Iterator[tuple[float, float, float]]:
    return zip(law.weights, law.means, law.sds, strict=True)


def law(*parts: tuple[float, float, float]) -> MixtureLaw:
    """Return a distribution from the share, mean and standard deviation of each component."""
    weights, means, sds = zip(*parts, strict=True)
    return MixtureLaw(weights=weights, means=means, sds=sds)


WORLDS = {
    "apart": World(0.2, law((1.0, 1.0, 1.0)), law((1.0, -1.0, 1.0))),
    "overlapping": World(0.3, law((1.0, 0.3, 1.0)), law((1.0, -0.7, 1.0))),
    "rare": World(0.05, law((1.0, -1.0, 1.3)), law((1.0, -4.0, 1.3))),
    "two kinds": World(
        0.2, law((0.6, 2.0, 0.8), (0.4, 0.0, 1.0)), law((0.7, -2.5, 1.0), (0.3, -0.5, 1.0))
    ),
    "ten values": World(0.3, law((1.0, 1.0, 1.2)), law((1.0, -1.0, 1.2)), steps=10),
}

# Worlds that nobody looked at while the rule that names a drift was made.
HELD_OUT = {
    "skewed": World(
        0.15, law((0.8, 1.5, 0.7), (0.2, -0.5, 1.5)), law((0.5, -2.0, 1.5), (0.5, -0.8, 0.7))
    ),
    "close": World(0.4, law((1.0, 0.6, 0.9)), law((1.0, -0.5, 1.2))),
    "rare kinds": World(0.03, law((1.0, 0.0, 1.5)), law((0.9, -4.5, 1.0), (0.1, -2.0, 1.0))),
}


def moved(world: World, drift: str) -> World:
    """Return the population after a drift of one component."""
    p, n = world.positive, world.negative
    if drift == "prior":
        return replace(world, prior=world.prior + 0.05)
    if drift == "shape":
        return replace(world, negative=law(*((w, m, 1.3 * sd) for w, m, sd in components(n))))
    if drift == "shape, towards positives":
        half = [(w / 2, m + by, sd) for w, m, sd in components(n) for by in (0.0, 0.5)]
        return replace(world, negative=law(*half))
    if drift == "labeling":
        return replace(world, labeled=law(*((w, m + 0.5, sd) for w, m, sd in components(p))))
    if drift == "scores":
        # Logits stretched by a factor of 1 / 0.7 have a calibration slope of 0.7.
        p, n = (law(*((w, m / 0.7, sd / 0.7) for w, m, sd in components(x))) for x in (p, n))
        return replace(world, positive=p, negative=n)
    return world


def reference_period(world, setting, n_positive, n, rng) -> PUScores:
    """Return a reference period; in one sample, this is the approximate number of labeled rows."""
    if setting == "two-sample":
        samples = ((world.positive, n_positive), (world.marginal, n))
        parts = (world.draw(own, k, rng) for own, k in samples)
        return PUScores(*parts, prior=world.prior, setting=setting)
    hidden = rng.random(n) < world.prior
    score = world.draw(world.negative, n, rng)
    score[hidden] = world.draw(world.positive, int(hidden.sum()), rng)
    known = hidden & (rng.random(n) < n_positive / (n * world.prior))
    return PUScores.from_pu_labels(known, score, prior=world.prior, setting=setting)


def counts_of_periods(world, edges, sizes, shape, rng, *, pooled) -> Counts:
    """Return counts for independent periods: labeled positives, and everyone."""
    n_positive, n = sizes
    labeled = world.shares(world.labeled or world.positive, edges)
    everyone = world.shares(world.marginal, edges)
    if not pooled:
        samples = ((n_positive, labeled), (n, everyone))
        positive, marginal = (rng.multinomial(k, p, shape).astype(float) for k, p in samples)
    else:
        # The number of labeled rows in a bin cannot exceed the number of positives there.
        there = world.prior * world.shares(world.positive, edges)
        known = np.minimum(n_positive / n * labeled, there)
        both = rng.multinomial(n, np.concatenate([known, everyone - known]), shape).astype(float)
        positive = both[..., : known.size]
        marginal = positive + both[..., known.size :]
    squares = np.stack([positive.sum(axis=-1), marginal.sum(axis=-1)], axis=-1)
    return Counts(positive, marginal, squares, pooled)


def draw(world, setting, reference, rng):
    """Return a reference period, bins derived from it, and counts of `AGAIN` similar periods."""
    scores = reference_period(world, setting, *reference, rng)
    edges = shared_edges(scores)
    counts = counts_of_periods(world, edges, reference, (AGAIN, 1), rng, pooled=scores.pooled)
    return scores, edges, counts


# Labeled positives and sample of everyone: in the reference, and in a period.
SIZES = {"small": ((300, 3_000), (50, 1_000)), "large": ((1_000, 10_000), (200, 5_000))}
# Each drift, with its name in the tables.
NAMES = {
    "prior": "prior, + 0.05",
    "shape": "shape: negatives' logits spread 1.3 times as far",
    "shape, towards positives": "shape: half of the negatives move 0.5 toward positives",
    "labeling": "labeling: labeled positives 0.5 higher",
    "scores": "scores: calibration slope 0.7",
}
ANSWERS = {name: (name,) for name in ("prior", "shape", "labeling", "scores")}
CHANGE, LOOKS = 10, 60
# Draws of the counts that share the same bins, derived from another reference period.
AGAIN = 10


def one_look(world, setting, size, drift, trials):
    """Return bias and coverage of the new prior, and how often each test rejects at 5%."""
    rng, old = seeded(world, setting, size, drift), WORLDS[world]
    new = moved(old, drift)
    reference, sizes = SIZES[size]
    found = []
    for _ in range(trials // AGAIN):
        _, edges, counts = draw(old, setting, reference, rng)
        fresh = counts_of_periods(new, edges, sizes, (AGAIN, 1), rng, pooled=counts.pooled)
        fit, labeling = fit_shift(counts, fresh), compare_positives(counts, fresh)
        found.append([fit.moved, fit.error, fit.moved_p, fit.shape_p, labeling])
    d, error, *p = np.concatenate(found, axis=1)
    by_prior, by_shape, by_labeling = (float(np.mean(one <= 0.05)) for one in p)
    prior, scale = old.prior + (1.0 - old.prior) * d, 1.0 - old.prior
    yield {
        "prior": new.prior,
        "bias": float(np.mean(prior) - new.prior),
        "sd": float(np.std(prior)),
        "covers": float(np.mean(np.abs(prior - new.prior) <= 1.959964 * scale * error)),
        "moved": by_prior,
        "shape": by_shape,
        "labeling": by_labeling,
    }


def looked(world, setting, size, drift, looks, rng):
    """Yield `AGAIN` draws: reference, counts and tests; the drift comes after look `CHANGE`."""
    (reference, sizes), before = SIZES[size], (WORLDS | HELD_OUT)[world]
    scores, edges, old = draw(before, setting, reference, rng)
    periods = counts_of_periods(before, edges, sizes, (AGAIN, looks), rng, pooled=old.pooled)
    if drift != "none":
        after = moved(before, drift)
        later = counts_of_periods(after, edges, sizes, (AGAIN, looks), rng, pooled=old.pooled)
        for name in ("positive", "marginal", "squares"):
            getattr(periods, name)[:, CHANGE:] = getattr(later, name)[:, CHANGE:]
    p_values, windows = window_tests(scores, old, periods)
    found = p_values, windows, alarms(p_values, 0.95)
    for k in range(AGAIN):
        one = [counts.mapped(itemgetter(k)) for counts in (old, periods)]
        yield scores, one[0].mapped(itemgetter(0)), one[1], [part[k] for part in found]


@averaged()
def false_alarms(world, setting, size, trials, looks):
    """Yield whether there is any alarm if nothing changes."""
    rng = seeded("alarms", world, setting, size)
    draws = (looked(world, setting, size, "none", looks, rng) for _ in range(trials // AGAIN))
    for *_, tests in chain.from_iterable(draws):
        each = dict(zip(TESTS, tests[2].any(axis=0), strict=True))
        yield {"alarms": any(each.values())} | {f"{name}_alarms": x for name, x in each.items()}


def delays(world, setting, size, drift, trials):
    """Return the looks from a drift to its alarm, and how often the alarm names each component."""
    rng, right = seeded("delays", world, setting, size, drift), drift.split(",")[0]
    waited, early, names = [], 0, {"": [], "_later": []}
    draws = (looked(world, setting, size, drift, LOOKS, rng) for _ in range(trials // AGAIN))
    for *rows, tests in chain.from_iterable(draws):
        when = np.flatnonzero(tests[2].any(axis=1))
        early += bool(when.size and when[0] < CHANGE)
        when = when[when >= CHANGE]
        waited.append(when[0] - CHANGE + 1 if when.size else np.inf)
        if when.size:
            names[""].append(name_look(*rows, tests, when[0]))
            names["_later"].append(name_look(*rows, tests, when[when <= when[0] + 3][-1]))
    half, most = np.quantile(waited, [0.5, 0.9], method="higher")
    yield {
        "before": early / trials,
        "told": float(np.isfinite(waited).mean()),
        "half": float(half),
        "nine_tenths": float(most),
        **{
            f"named_{name}{when}": float(np.mean([one == answer for one in found] or [np.nan]))
            for when, found in names.items()
            for name, answer in {"right": (right,), **ANSWERS}.items()
        },
    }


def truth(world):
    """Return AUROC, precision at 0.5 and calibration error of a population."""
    every = population(world.mixture)
    return {
        "prior": world.prior,
        "auroc": auroc(every),
        "precision": precision(every),
        "debiased_ece": world.mixture.tce(),
    }


@averaged()
def bands(world, drift, trials, looks):
    """Yield whether the band for a metric contains the truth at all looks."""
    rng, new = seeded("bands", world, drift), moved(WORLDS[world], drift)
    right = truth(new)
    for _ in range(trials):
        start = reference_period(WORLDS[world], "two-sample", 1_000, 5_000, rng)
        periods = (
            (str(k), reference_period(new, "two-sample", 200, 2_000, rng)) for k in range(looks)
        )
        found = monitor(periods, start).columns()
        ends = {name: (found[f"{name}_low"][1:], found[f"{name}_high"][1:]) for name in right}
        yield {n: np.all((a <= right[n]) & (right[n] <= b)) for n, (a, b) in ends.items()}


def shift(run: Run) -> None:
    drifts, trials = ("none", "prior", "shape", "labeling"), run.trials(1_000, 20)
    every = cells(world=WORLDS, setting=SETTINGS, size=SIZES, drift=drifts, trials=trials)
    run.resume("shift", one_look, every)


def drift(run: Run) -> None:
    axes = {"world": [*WORLDS, *HELD_OUT], "setting": "two-sample", "size": SIZES, "drift": NAMES}
    run.resume("delays", delays, cells(**axes, trials=run.trials(500, 10)))


def wolf(run: Run) -> None:
    axes = {"world": WORLDS, "setting": SETTINGS, "size": SIZES}
    every = cells(**axes, trials=run.trials(200, 10), looks=run.pick(100, 10))
    run.resume("alarms", false_alarms, every)


def over_time(run: Run) -> None:
    worlds, looks = run.pick(("apart", "rare", "two kinds"), ("apart",)), run.pick(10, 3)
    every = cells(world=worlds, drift=("none", "prior"), trials=run.trials(200, 2), looks=looks)
    run.resume("bands", bands, every)


STUDY = Study("monitoring", (shift, drift, wolf, over_time))
