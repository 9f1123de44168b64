"""Checks of whether the data are consistent with the prior and the setting.

The labeled positives must be a random sample of all positives, and the prior must be right. Neither
can be proved from PU data, but both can be contradicted: wherever more positives are expected than
there are rows, something is wrong.

`scar_test` is a test of random labeling from features (Teisseyre, Furmanczyk & Mielniczuk 2024,
ECAI). If labeled positives are a random sample of all positives, their features follow the same
distribution as those of all positives. Since the positives are hidden, they are guessed: the
labeled rows, plus the unlabeled rows with the highest scores until the share of both together
equals the prior. Under random labeling, the labeled rows are a random subset of these rows, and the
test compares them with many such random subsets.

The test is valid only if the guess is right. Where the classes overlap, unlabeled rows with high
scores look different from labeled rows even under random labeling, and the test rejects too often.
It therefore requires classes that the score nearly separates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from noneg.bins import bin_scores
from noneg.calibration.reliability import ratio_limits, reliability
from noneg.checks import check_flags, check_level, check_prior, check_same_length, check_scores
from noneg.errors import InputError
from noneg.intervals import effective_size
from noneg.kernels import run_ends
from noneg.randomness import stream
from noneg.results import Record, at_most
from noneg.sentences import say
from noneg.shares import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from noneg.arrays import Flags, Floats, Places
    from noneg.scores import PUScores

    # Shares of a distribution above cuts, and the effective number of rows behind them.
    Shares = tuple[Floats, Floats | float]

Verdict = Literal["holds", "doubtful", "contradicted"]

CUTS = 32
FEW_POSITIVES = 30


@dataclass(frozen=True, kw_only=True)
class Check(Record):
    """The result of checking one assumption.

    Attributes
    ----------
    name : str
    verdict : {"holds", "doubtful", "contradicted"}
        "holds" means only that the data do not contradict the assumption.
    sentence : str
        A readable summary of the finding.
    value, limit : float
        The quantity checked, and the limit it was compared with.
    """

    name: str
    verdict: Verdict
    sentence: str
    value: float
    limit: float


def check_assumptions(scores: PUScores, *, level: float = 0.95) -> tuple[Check, ...]:
    """Look for contradictions between the data, the prior and the setting.

    Parameters
    ----------
    scores : PUScores
    level : float
        Confidence level for declaring a contradiction, simultaneous over the thresholds or score
        ranges examined.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> [check.verdict for check in check_assumptions(scores)]
    ['holds', 'holds', 'holds']
    >>> print(check_assumptions(scores.with_prior(0.6))[0].verdict)
    contradicted
    """
    level = check_level(level)
    if not scores.hidden:
        return ()
    return (_prior_fits(scores, level), _negatives_exist(scores, level), _enough_positives(scores))


def largest_prior(scores: PUScores, *, level: float = 0.95) -> float:
    r"""Return the largest prior that the data do not contradict.

    There can never be more positives than rows above a threshold, so the share a of positives among
    the unlabeled rows satisfies :math:`a \le \inf_t \mathrm{PPR}_U(t)/\mathrm{TPR}(t)`. The prior
    is a in the two-sample setting and :math:`\lambda + (1 - \lambda) a` in the one-sample setting,
    where :math:`\lambda` is the labeled share. Every share is replaced by its exact
    (Clopper-Pearson) confidence limit, simultaneous over the thresholds; weighted rows count by
    their effective number. If hidden positives may differ from labeled ones by a selection factor
    :math:`\Gamma`, their share above a threshold is at least :math:`\mathrm{TPR}(t)/\Gamma`, so
    the limit of a is multiplied by it.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated(0.3).draw(2000, 8000, setting="two-sample", seed=0)
    >>> 0.3 <= largest_prior(scores) < 0.4
    True
    """
    return PriorLimit.of(scores, check_level(level)).under(scores.selection)


@dataclass(frozen=True)
class PriorLimit:
    """The largest prior that fits both distributions.

    Attributes
    ----------
    labeled, share : float
        Upper limits for the labeled share of all rows, and for the share of positives among the
        unlabeled rows.
    """

    labeled: float
    share: float

    @classmethod
    def of(cls, scores: PUScores, level: float) -> Self:
        """Return the limits for these scores; see `largest_prior`."""
        unlabeled, positive = scores.groups_below(run_ends())
        reached = positive[:, 0]
        # For each share on an even grid, the last cut with at least that share of positives above.
        wanted = reached[-1] * (np.arange(CUTS) / CUTS + 1e-12)
        cuts = np.unique(np.searchsorted(reached, wanted, side="right") - 1)
        cuts = cuts[cuts >= 0]
        tails = _tail(positive, cuts, 0, 3), _tail(unlabeled, cuts, 1, 6)
        labeled, n = scores.labeled_share, scores.effective_marginal
        return cls.fit(*tails, labeled=labeled, n_marginal=n, level=level)

    @classmethod
    def fit(
        cls, positive: Shares, unlabeled: Shares, *, labeled: float, n_marginal: float, level: float
    ) -> Self:
        """Return the limit of the prior from the shares above all cuts; see `largest_prior`.

        Parameters
        ----------
        positive, unlabeled : (ndarray, ndarray)
            Shares of the distribution above each cut, and the effective number of rows behind each
            share.
        labeled : float
            Share of labeled rows in the one-sample setting; its own sampling error uses up half
            of the error probability. 0 in the two-sample setting.
        n_marginal : float
            Effective number of rows in the marginal sample.
        level : float
            One-sided, simultaneous over the cuts.
        """
        alpha = (1.0 - level) / (2.0 if labeled else 1.0)
        share = float(min(1.0, share_limits(positive, unlabeled, level=1.0 - alpha)[1].min()))
        most = 0.0
        if labeled:
            most = float(clopper_pearson(np.array(labeled), n_marginal, 2.0 * alpha)[1])
        return cls(most, share)

    def under(self, selection: float) -> float:
        """Return the limit if hidden positives differ from labeled ones by at most this factor."""
        return self.labeled + (1.0 - self.labeled) * min(1.0, selection * self.share)


def share_limits(positive: Shares, unlabeled: Shares, *, level: float) -> tuple[Floats, Floats]:
    """Return confidence limits for the ratio of the two distributions above each cut.

    Parameters
    ----------
    positive, unlabeled : (ndarray, ndarray)
        Shares of the distribution above each cut, and the effective number of rows behind each
        share.
    level : float
        Of each side, simultaneous over the cuts.
    """
    alpha = 2.0 * (1.0 - level) / positive[0].size
    limits = clopper_pearson(*positive, alpha), clopper_pearson(*unlabeled, alpha)
    return ratio_limits(unlabeled[0], limits[1], positive[0], limits[0])


def _tail(below: Floats, cuts: Places, mass: int, square: int) -> Shares:
    """Return the shares of a distribution above the cuts, and their effective numbers of rows."""
    total = below[-1]
    above = np.concatenate([total[None], total - below[cuts]])
    share = above[:, mass] / total[mass]
    with np.errstate(divide="ignore"):
        rows = np.full_like(share, total[mass] ** 2 / total[square])
    # Rows contribute 1 - share above the cut and -share below it.
    noise = above[:, square] * (1.0 - 2.0 * share) + share**2 * total[square]
    return share, np.minimum(effective_size(share, noise / total[mass] ** 2, rows), rows)


def noise_floor(scores: PUScores, *, edges: ArrayLike | None = None) -> float:
    r"""Return the calibration error produced by sampling noise in the positives alone.

    This is the expected plug-in error of a perfectly calibrated classifier with known marginal
    distribution, :math:`\pi\sum_b \sqrt{2 q_b (1-q_b)/(\pi_{3.14} n_P)}` over the optimal bins,
    with :math:`q_b` the share of bin b in the positive distribution implied by the scores. No
    matter how many unlabeled rows are added, smaller errors cannot be distinguished from noise
    (PU-ECE paper, Figure 5).

    Parameters
    ----------
    scores : PUScores
    edges : array-like, optional
        Fixed bin edges from 0 to 1, used instead of the optimal bins.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> scores = LogisticGaussian.calibrated().draw(100, 10_000, setting="two-sample", seed=0)
    >>> 0.05 < noise_floor(scores) < 0.1
    True
    """
    score = bin_scores(scores, edges=edges).score
    share = score / (score.sum() or 1.0)
    spread = np.sqrt(2.0 * share * (1.0 - share) / (np.pi * scores.effective_positive))
    return float(scores.known_prior * spread.sum())


def _prior_fits(scores: PUScores, level: float) -> Check:
    limit, prior = largest_prior(scores, level=level), scores.known_prior
    words = (
        f"The prior {prior:.4g} is compatible with the scores, as are all up to {at_most(limit)}."
    )
    verdict: Verdict = "holds"
    if prior > limit:
        # If the set of priors extends below the limit, the limit narrows it without refuting it.
        verdict = "contradicted" if scores.prior_set[0] > limit else "doubtful"
        words = say("prior", prior=prior, limit=at_most(limit))
    return Check(name="prior", verdict=verdict, sentence=words, value=prior, limit=limit)


def _negatives_exist(scores: PUScores, level: float) -> Check:
    diagram = reliability(scores, level=level, band="simultaneous")
    count = diagram.n_above_one
    worst = float(diagram.frequency.max(initial=0.0))
    if count:
        words = say("negatives", count=count, points=diagram.score.size)
    else:
        words = "Every score range leaves room for negatives, within sampling error."
    verdict: Verdict = "contradicted" if count else "holds"
    return Check(name="negatives", verdict=verdict, sentence=words, value=worst, limit=1.0)


def _enough_positives(scores: PUScores) -> Check:
    n, floor = scores.effective_positive, noise_floor(scores)
    few = n < FEW_POSITIVES
    words = say("positives", n_positive=n, floor=floor)
    verdict: Verdict = "doubtful" if few else "holds"
    return Check(
        name="positives", verdict=verdict, sentence=words, value=n, limit=float(FEW_POSITIVES)
    )


REPLICATES = 199
# Number of draws whose statistics are computed at a time.
AT_ONCE = 50


@dataclass(frozen=True, kw_only=True)
class ScarTest(Record):
    """The result of a test of random labeling.

    Attributes
    ----------
    statistic : float
        Mean over features of the Kolmogorov-Smirnov distance between labeled rows and all rows
        presumed positive.
    p_value : float
        Probability of a statistic at least this large under random labeling. A small value is
        evidence against random labeling only if the score separates the classes well.
    distances : dict of str to float
        The distance for each feature. If labeling was not random, the largest distances indicate
        the features it depended on.
    n_labeled, n_positive : int
        Number of labeled rows, and of rows presumed positive.
    replicates : int
    """

    statistic: float
    p_value: float
    distances: dict[str, float]
    n_labeled: int
    n_positive: int
    replicates: int


def scar_test(
    features: ArrayLike,
    labeled: ArrayLike,
    y_score: ArrayLike,
    *,
    prior: float,
    names: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> ScarTest:
    """Test from the features whether labeled positives are a random sample of all positives.

    For the one-sample setting, in which some of the positives are labeled. The test requires a
    score that nearly separates the classes; see the module.

    Parameters
    ----------
    features : array-like, shape (n, d)
        Numeric features that the labeling process may have depended on.
    labeled : array-like, shape (n,)
        1 for labeled positives, 0 for the other rows.
    y_score : array-like, shape (n,)
        Scores in [0, 1] that separate positives from negatives; use out-of-fold scores if the model
        was trained on these rows.
    prior : float
        Share of positives; must exceed the labeled share.
    names : sequence of str, optional
        Names of the features.
    replicates : int
        Number of random labelings.
    seed : int

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> positive = random.random(2000) < 0.3
    >>> x = np.stack([random.normal(size=2000), random.normal(size=2000)], axis=1)
    >>> score = np.where(positive, 0.9, 0.1)
    >>> at_random = positive & (random.random(2000) < 0.5)
    >>> by_first = positive & (random.random(2000) < np.where(x[:, 0] > 0, 0.8, 0.2))
    >>> scar_test(x, at_random, score, prior=0.3).p_value > 0.05
    True
    >>> found = scar_test(x, by_first, score, prior=0.3, names=["size", "age"])
    >>> found.p_value, max(found.distances, key=found.distances.get)
    (0.005, 'size')
    """
    flags, s, x = (
        check_flags(labeled, "labeled"),
        check_scores(y_score, "y_score"),
        _matrix(features),
    )
    check_same_length(labeled=flags.size, y_score=s.size, features=len(x))
    chosen = _positives(flags, s, check_prior(prior))
    columns = [str(k) for k in range(x.shape[1])] if names is None else list(names)
    if len(columns) != x.shape[1]:
        raise InputError("names", f"must name {x.shape[1]} features", value=len(columns))
    x, given = x[chosen], flags[chosen]
    found = _distances(x, given[None])[0]
    random = stream(seed, "scar")
    beyond = 0
    for start in range(0, replicates, AT_ONCE):
        size = (min(AT_ONCE, replicates - start), given.size)
        drawn = random.permuted(np.broadcast_to(given, size), axis=1)
        beyond += int((_distances(x, drawn).mean(axis=1) >= found.mean()).sum())
    return ScarTest(
        statistic=float(found.mean()),
        p_value=(1 + beyond) / (1 + replicates),
        distances=dict(zip(columns, found.tolist(), strict=True)),
        n_labeled=int(flags.sum()),
        n_positive=int(given.size),
        replicates=replicates,
    )


def _matrix(features: ArrayLike) -> Floats:
    x = np.asarray(features, dtype=np.float64)
    if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
        raise InputError("features", "must be a table of finite numbers, one row per score")
    return x


def _positives(flags: Flags, s: Floats, prior: float) -> Places:
    """Return the labeled rows plus the highest-scoring unlabeled rows, up to the prior."""
    n_labeled, wanted = int(flags.sum()), round(prior * s.size)
    if not 0 < n_labeled < wanted:
        rule = f"must exceed the labeled share, {n_labeled / s.size:.6g}, which must not be zero"
        raise InputError("prior", rule, value=prior)
    others = np.flatnonzero(~flags)
    top = others[np.argsort(-s[others], kind="stable")[: wanted - n_labeled]]
    return np.concatenate([np.flatnonzero(flags), top])


def _distances(x: Floats, labeled: Flags) -> Floats:
    """Return the distance between labeled rows and all rows for each labeling and feature."""
    share = np.arange(1, len(x) + 1) / len(x)
    out = np.empty((len(labeled), x.shape[1]))
    for k, column in enumerate(x.T):
        order = np.argsort(column, kind="stable")
        last = np.append(np.diff(column[order]) > 0.0, True)
        below = np.cumsum(labeled[:, order], axis=1)[:, last] / labeled.sum(axis=1, keepdims=True)
        out[:, k] = np.abs(below - share[last]).max(axis=1)
    return out
