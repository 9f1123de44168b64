"""From scores and options to the problem that bounds solve: beta, band, basis and table checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np
from scipy.stats import binom

from noneg.checks import check_level, check_number
from noneg.performance.bands import Band, band_limits, check_band
from noneg.performance.contingency import Assumptions, Basis, Problem, Table
from noneg.performance.ranking import Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from noneg.performance.bands import Limits
    from noneg.scores import PUScores

    Beta = float | tuple[float, float] | None

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """Options that all bounds share; see `noneg.performance.roc_bounds`."""

    beta: Beta
    band: Band
    level: float
    known_negatives: ArrayLike | None
    basis: Basis
    table: Table | None
    resamples: int
    seed: int
    threshold: ArrayLike | None = None
    prevalence: bool = True  # whether the answer depends on the share of positives in the table


def latent_fraction(scores: PUScores, *, level: float | None = None) -> tuple[float, float]:
    r"""Return what is known of beta, the share of latent positives among the unlabeled rows.

    It is the prior :math:`\pi` in the two-sample setting and
    :math:`\bar\pi = (1 - c)\pi / (1 - c\pi)` in the one-sample setting, where c is the share of
    positives that are labelled; an interval if the prior is one (Claesen et al., Eq. 7).

    Parameters
    ----------
    scores : PUScores
    level : float, optional
        With it, the interval also allows for chance: a sample of the population does not hold
        exactly the population's share of positives. Exact binomial quantiles.

    Examples
    --------
    >>> from noneg import PUScores
    >>> scores = PUScores([0.9, 0.8], [0.7, 0.4, 0.3, 0.1], prior=0.5, setting="one-sample")
    >>> latent_fraction(scores)
    (0.25, 0.25)
    """
    if scores.setting == "labelled":
        return 0.0, 0.0
    priors = scores.prior_interval or (scores.prior, scores.prior)
    known = scores.n_positive if scores.setting == "one-sample" else 0.0
    n = scores.n_unlabeled + known
    if level is None:
        counts = [prior * n for prior in priors]
    else:
        tail = (1.0 - check_level(level)) / 2.0
        ends = zip((tail, 1.0 - tail), priors, strict=True)
        counts = [float(binom.ppf(q, n, prior)) for q, prior in ends]
    low, high = (min(1.0, max(0.0, (count - known) / scores.n_unlabeled)) for count in counts)
    return low, high


def pose(scores: PUScores, options: Options) -> list[Problem]:
    """Return the problem to solve, or both when the tighter basis is asked for."""
    check_band(options.band)
    check_level(options.level)
    check_count(options.resamples, "resamples", 2)
    check_count(options.seed, "seed", 0)
    table = _check_table(scores, options)
    beta = latent_fraction(scores) if options.beta is None else check_beta(scores, options.beta)
    ranking = rank(scores, options.known_negatives, options.threshold)
    latent = tuple(float(round(b * ranking.n_unlabeled)) for b in beta)
    bases = _bases(ranking, options.basis)
    return [
        Problem(
            ranking=ranking,
            limits=_limits(ranking, basis, (latent[0], latent[1]), options),
            latent=(latent[0], latent[1]),
            assumes=Assumptions(
                beta=beta, band=options.band, level=options.level, basis=basis, table=table
            ),
        )
        for basis in bases
    ]


def tightest(answers: list[T], width: Callable[[T], float]) -> T:
    """Return the answer with the smallest width; the width of a single one is never computed."""
    return answers[0] if len(answers) == 1 else min(answers, key=width)


def _limits(
    ranking: Ranking, basis: Basis, latent: tuple[float, float], options: Options
) -> Limits:
    group = ranking.groups[int(basis == "negatives")]
    if not group.scores.size or not ranking.n_unlabeled:
        unused = np.zeros(group.scores.size + 1)
        return unused, unused
    share, n = group.share()
    if group.masses is not None and options.band in ("pointwise", "bootstrap"):
        msg = (
            f"'band' must be 'exact', 'prediction' or 'dkw' when positives have labelling rates, "
            f"got {options.band!r}: unequal weights have no binomial law."
        )
        raise ValueError(msg)
    hidden = latent[0] if basis == "positives" else ranking.n_unlabeled - latent[1]
    return band_limits(
        share,
        n,
        band=options.band,
        level=options.level,
        latent=hidden,
        resamples=options.resamples,
        seed=options.seed,
    )


def check_beta(scores: PUScores, beta: Any) -> tuple[float, float]:  # noqa: ANN401
    """Return beta as an interval within [0, 1]."""
    rule = "the share of positives among the unlabeled rows, a number in [0, 1] or a pair of them"
    if scores.setting == "labelled":
        msg = f"'beta' must be left out for labelled data, where nothing is hidden, got {beta!r}."
        raise ValueError(msg)
    pair = tuple(beta) if isinstance(beta, (tuple, list, np.ndarray)) else (beta, beta)
    ends = tuple(check_number(b, "beta", rule) for b in pair)
    if len(ends) != 2 or not 0.0 <= ends[0] <= ends[1] <= 1.0:
        msg = f"'beta' must be {rule}, smaller first, got {beta!r}."
        raise ValueError(msg)
    return ends


def check_count(value: object, name: str, least: int) -> int:
    """Return a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        msg = f"'{name}' must be a whole number of at least {least}, got {value!r}."
        raise ValueError(msg)
    return int(value)


def _check_table(scores: PUScores, options: Options) -> Table:
    table = options.table
    if table is None:
        two = scores.setting == "two-sample" and options.prevalence
        return "unlabeled" if two else "all"
    if table not in get_args(Table):
        msg = (
            "'table' must be 'all' (known and unlabeled rows) or 'unlabeled' (these only, as they "
            f"are the sample of everyone), got {table!r}."
        )
        raise ValueError(msg)
    if table == "unlabeled" and scores.setting == "labelled":
        msg = "'table' must be 'all' for labelled data, which has no unlabeled rows."
        raise ValueError(msg)
    return table


def _bases(ranking: Ranking, basis: object) -> list[Basis]:
    if basis not in get_args(Basis):
        msg = (
            "'basis' must be 'positives' or 'negatives' (whose ranks the bounds rest on) or "
            f"'tighter' (whichever gives the narrower bounds), got {basis!r}."
        )
        raise ValueError(msg)
    some = ranking.groups[1].total > 0
    if basis == "negatives" and not some:
        msg = (
            "'basis' is 'negatives', but there are no known negatives. Pass their scores as "
            "known_negatives, or use basis='positives'."
        )
        raise ValueError(msg)
    if basis == "tighter":
        return ["positives", "negatives"] if some else ["positives"]
    return [basis]  # type: ignore[list-item]
