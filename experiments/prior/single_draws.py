r"""How often is a single BBE estimate within .02 of the truth, and what does its rule cost?

Positives are N(d, 1) and negatives N(0, 1), with 2000 positives and 4000 rows from the mixture.

The rule picks the cut where the ratio plus ``K / q_P`` is smallest, and therefore prefers a cut
where the ratio happens to be low. If the classes are far apart, the effect can be derived. On the
scale ``t = (1 - q) / q``, where q is the share of positives above the cut, the error of the ratio
is a Brownian motion with variance ``s^2 t``, where ``s^2 = a / n_U + a^2 / n_P``, and ``K / q`` is
a drift ``K t``. Minus their minimum, M, is exponential with mean ``s^2 / 2K``; the location T of
the minimum is inverse Gaussian with mean ``M / K`` and shape ``(M / s)^2``; and the error there is
``-(M + K T)``, with mean ``-s^2 / K``. The share hidden in the unlabeled rows adds its own binomial
error.

The rule with an allowance of one standard error is shown for comparison, also for overlapping
classes.
"""

from itertools import product

import numpy as np
from scipy.stats import norm

from experiments import tables
from noneg.prior import BestBin, ScoreLaws

N, M, WITHIN = 2000, 4000, 0.02
SEPARATIONS, PRIORS = (4.0, 5.0, 6.0), (0.2, 0.5, 0.8)
OVERLAPPING = (2.0, 3.0)


def limit_errors(prior: float, size: int = 200_000) -> np.ndarray:
    """Draw errors of the rule from the theory above."""
    rng = np.random.default_rng(0)
    square, slack = prior / M + prior**2 / N, BestBin().slack(N, M)
    lowest = rng.exponential(square / (2.0 * slack), size)
    place = rng.wald(lowest / slack, lowest**2 / square)
    return rng.normal(0.0, np.sqrt(prior * (1.0 - prior) / M), size) - lowest - slack * place


def fixed_cut(prior: float) -> float:
    """Return the share of estimates within .02 for a cut below all positives and above all
    negatives."""
    return float(2.0 * norm.cdf(WITHIN / np.sqrt(prior * (1.0 - prior) / M)) - 1.0)


def draw(far: float, prior: float, seed: int) -> ScoreLaws:
    rng = np.random.default_rng([seed, round(100 * prior), round(10 * far)])
    u = rng.normal(0.0, 1.0, M) + far * (rng.random(M) < prior)
    return ScoreLaws.from_arrays(rng.normal(far, 1.0, N), u, setting="two-sample", scale="logit")


def errors(far: float, prior: float, draws: int, rule: BestBin | None = None) -> np.ndarray:
    rule = BestBin() if rule is None else rule
    return np.array([rule.find(draw(far, prior, k)).share for k in range(draws)]) - prior


def within(found: np.ndarray) -> float:
    return float(np.mean(np.abs(found) < WITHIN))


def cell(found: np.ndarray) -> str:
    return f"{found.mean():+.3f}, {100 * within(found):.1f}%"


def table(draws: int) -> str:
    heads = [f"separation {far:g}" for far in SEPARATIONS]
    lines = []
    for prior in PRIORS:
        cells = [cell(errors(far, prior, draws)) for far in SEPARATIONS]
        cells += [cell(limit_errors(prior)), f"{100 * fixed_cut(prior):.1f}%"]
        lines.append([prior, *cells])
    return tables.table(["prior", *heads, "theory, far apart", "a cut fixed beforehand"], lines)


def allowance_table(draws: int) -> str:
    """Apply both rules to the same draws."""
    places, lines = [*OVERLAPPING, *SEPARATIONS], []
    rules = {"published": BestBin(), "allowance 1": BestBin(allowance=1.0)}
    for prior, (name, rule) in product(PRIORS, rules.items()):
        lines.append([prior, name, *(cell(errors(far, prior, draws, rule)) for far in places)])
    return tables.table(["prior", "rule", *(f"separation {far:g}" for far in places)], lines)
