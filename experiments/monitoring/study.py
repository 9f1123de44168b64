"""How often are alarms false, how soon is a drift detected, and is it attributed correctly?

One look: bias and coverage of the prior of new rows, and size and power of the tests. Many looks:
false alarms over 100 looks, delays and attribution after a drift of one component, and bands for
metrics.
"""

from operator import itemgetter

import numpy as np

from experiments.monitoring.worlds import HELD_OUT, WORLDS, draw, draw_counts, draw_reference, moved
from experiments.study import Run, Study, cells, seeded
from experiments.synthetic.worlds import population
from noneg.monitoring import alarms, monitor, name_look, window_tests
from noneg.performance import auroc, precision
from noneg.prior.shift import compare_positives, fit_shift
from noneg.simulation import LogitMixture

SETTINGS = ["two-sample", "one-sample"]
# Labeled positives and sample of everyone: in the reference, and in a period.
SIZES = {"small": ((300, 3_000), (50, 1_000)), "large": ((1_000, 10_000), (200, 5_000))}
DRIFTS = ["prior", "shape", "shape, towards positives", "labeling", "scores"]
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
        _, edges, counts = draw(old, setting, reference, rng, AGAIN)
        fresh = draw_counts(new, edges, sizes, (AGAIN, 1), rng, pooled=counts.pooled)
        fit = fit_shift(counts, fresh)
        labeling = compare_positives(counts, fresh)
        found.append([fit.moved, fit.error, fit.moved_p, fit.shape_p, labeling])
    d, error, *p = np.moveaxis(np.array(found), 1, 0).reshape(5, -1)
    prior, scale = old.prior + (1.0 - old.prior) * d, 1.0 - old.prior
    yield {
        "prior": new.prior,
        "bias": float(np.mean(prior) - new.prior),
        "sd": float(np.std(prior)),
        "covers": float(np.mean(np.abs(prior - new.prior) <= 1.959964 * scale * error)),
        **{
            name: float(np.mean(x <= 0.05))
            for name, x in zip(("moved", "shape", "labeling"), p, strict=True)
        },
    }


def looked(world, setting, size, drift, looks, rng):
    """Yield `AGAIN` draws: reference, counts and tests; the drift comes after look `CHANGE`."""
    (reference, sizes), before = SIZES[size], (WORLDS | HELD_OUT)[world]
    scores, edges, old = draw(before, setting, reference, rng, AGAIN)
    periods = draw_counts(before, edges, sizes, (AGAIN, looks), rng, pooled=old.pooled)
    if drift != "none":
        after = moved(before, drift)
        later = draw_counts(after, edges, sizes, (AGAIN, looks), rng, pooled=old.pooled)
        for name in ("positive", "marginal", "squares"):
            getattr(periods, name)[:, CHANGE:] = getattr(later, name)[:, CHANGE:]
    p_values, windows = window_tests(scores, old, periods)
    found = p_values, windows, alarms(p_values, 0.95)
    for k in range(AGAIN):
        one = [counts.mapped(itemgetter(k)) for counts in (old, periods)]
        yield scores, one[0].mapped(itemgetter(0)), one[1], [part[k] for part in found]


def false_alarms(world, setting, size, trials, looks):
    """Return the share of draws with any alarm if nothing changes."""
    rng = seeded("alarms", world, setting, size)
    draws = (looked(world, setting, size, "none", looks, rng) for _ in range(trials // AGAIN))
    any_look = np.array([tests[2].any(axis=0) for many in draws for *_, tests in many])
    names = ("prior", "shape", "labeling")
    each = {f"{n}_alarms": float(x) for n, x in zip(names, any_look.mean(axis=0), strict=True)}
    yield {"alarms": float(any_look.any(axis=1).mean()), **each}


def delays(world, setting, size, drift, trials):
    """Return the looks from a drift to its alarm, and how often the alarm names each component."""
    rng, right = seeded("delays", world, setting, size, drift), drift.split(",")[0]
    waited, early, names = [], 0, {"": [], "_later": []}
    draws = (looked(world, setting, size, drift, LOOKS, rng) for _ in range(trials // AGAIN))
    for *rows, tests in (one for many in draws for one in many):
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
    positive, negative = (zip(*parts, strict=True) for parts in (world.positive, world.negative))
    laws = {"positive": tuple(positive), "negative": tuple(negative)}
    mixture = LogitMixture(**laws, prior=world.prior)
    every = population(mixture)
    return {
        "prior": world.prior,
        "auroc": auroc(every),
        "precision": precision(every),
        "debiased_ece": mixture.tce(),
    }


def bands(world, drift, trials, looks):
    """Return the share of draws in which the band for a metric contains the truth at all looks."""
    rng, new = seeded("bands", world, drift), moved(WORLDS[world], drift)
    right, held = truth(new), []
    for _ in range(trials):
        start = draw_reference(WORLDS[world], "two-sample", 1_000, 5_000, rng)
        periods = (
            (str(k), draw_reference(new, "two-sample", 200, 2_000, rng)) for k in range(looks)
        )
        found = monitor(periods, start).columns()
        held.append(
            [
                np.all((found[f"{n}_low"][1:] <= x) & (x <= found[f"{n}_high"][1:]))
                for n, x in right.items()
            ]
        )
    yield dict(zip(right, np.mean(held, axis=0).tolist(), strict=True))


def shift(run: Run) -> None:
    drifts = ["none", "prior", "shape", "labeling"]
    trials = [run.trials(1_000, 20)]
    every = cells(
        world=list(WORLDS), setting=SETTINGS, size=list(SIZES), drift=drifts, trials=trials
    )
    run.resume("shift", one_look, every)


def drift(run: Run) -> None:
    every = cells(
        world=[*WORLDS, *HELD_OUT],
        setting=["two-sample"],
        size=list(SIZES),
        drift=DRIFTS,
        trials=[run.trials(500, 10)],
    )
    run.resume("delays", delays, every)


def wolf(run: Run) -> None:
    every = cells(
        world=list(WORLDS),
        setting=SETTINGS,
        size=list(SIZES),
        trials=[run.trials(200, 10)],
        looks=[run.pick(100, 10)],
    )
    run.resume("alarms", false_alarms, every)


def over_time(run: Run) -> None:
    every = cells(
        world=run.pick(["apart", "rare", "two kinds"], ["apart"]),
        drift=["none", "prior"],
        trials=[run.trials(200, 2)],
        looks=[run.pick(10, 3)],
    )
    run.resume("bands", bands, every)


STUDY = Study("monitoring", (shift, drift, wolf, over_time), page="experiments.monitoring.page")
