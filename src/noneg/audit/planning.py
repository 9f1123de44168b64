"""`plan`: a table of scores and labels -> the rows to review."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.design import Design
from noneg.audit.strata import SIZES, Pool, Strata, expected
from noneg.audit.targets import Census, Target
from noneg.bins import bin_scores
from noneg.checks import check_count, check_setting
from noneg.errors import InputError
from noneg.randomness import stream
from noneg.recalibration import Isotonic
from noneg.scores import PUScores
from noneg.tables.batches import Wanted
from noneg.tables.reading import read_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noneg.checks import Setting
    from noneg.sketch import Sketch
    from noneg.tables.batches import Columns

    Floats = NDArray[np.float64]
    # Scores, and how many rows have each.
    Weighted = tuple[Floats, Floats]

# Weight of the prior in the guess of each row, which keeps rows of score zero in play.
DOUBT = 0.1
# Bins of the calibration error.
BINS = 10
# Labeled positives kept in the design; more are thinned evenly in the order of scores.
KEPT = 2000
DEFAULT = ("prior",)


def _in_order(parts: Sequence[Weighted]) -> Weighted:
    """Return scores in order, and the number of rows below each and in all."""
    s, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(s, kind="stable")
    return s[order], np.concatenate([[0.0], np.cumsum(count[order])])


def plan(  # noqa: PLR0913 - each one names a fact that is never guessed
    source: object,
    *,
    score: str,
    label: str,
    setting: Setting,
    budget: int,
    targets: Sequence[str] = DEFAULT,
    prior: float | None = None,
    id: str | None = None,  # noqa: A002 - the column that people call so
    by: str | None = None,
    positive_label: object = None,
    unlabeled_label: object = None,
    unlabeled_is_empty: bool = False,
    sequential: bool = False,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
    marginal: Sketch | PUScores | None = None,
) -> Design:
    """Choose unlabeled rows to review, with known probabilities, for the numbers named.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        As in `noneg.read`; every row is read. Known negatives need no second review: they count
        as what they are.
    score, label, positive_label, unlabeled_label, unlabeled_is_empty
        As in `noneg.read`.
    setting : {"one-sample", "two-sample"}
        How the rows were sampled; in one sample the labeled positives are known rows of it.
    budget : int
        Rows to review.
    targets : sequence of str
        What the review is for: "prior", "auroc", "ece", "brier", "log_loss", or a metric of the
        confusion matrix with its threshold, such as "precision@0.9". All of them are estimated
        together; more targets make each less precise.
    prior : float, optional
        Share of positives, if there is a guess; else it is estimated from the scores. It only
        guides the choice of rows: the answers are right without it.
    id : str, optional
        Column that identifies a row; by default the row's place in the table, from 0.
    by : str, optional
        Column of groups; each gets strata of its own.
    sequential : bool
        Whether to choose rows so that the review may be stopped at any time by looking at the
        answers; see `sequences`.
    sizes : sequence of int
        Numbers of reviews to rehearse for.
    seed : int
    marginal : Sketch or PUScores, optional
        The whole table, if `source` is only a random sample of it to choose rows from.

    Returns
    -------
    Design

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.beta(0.5, 4.0, 5000)
    >>> hidden = rng.random(5000) < score
    >>> labeled = hidden & (rng.random(5000) < 0.3)
    >>> table = {"p": score, "confirmed": labeled}
    >>> plan(
    ...     table,
    ...     score="p",
    ...     label="confirmed",
    ...     setting="one-sample",
    ...     budget=100,
    ...     targets=["prior", "precision@0.5"],
    ...     sizes=[],
    ... )
    Design(100 rows to review for prior, precision@0.5; 13 strata)
    """
    if check_setting(setting) == "labelled":
        rule = "must not be 'labelled': every row has its label, so there is nothing to review"
        raise InputError("setting", rule)
    asked = tuple(dict.fromkeys(Target.parse(text) for text in targets))
    if not asked:
        raise InputError("targets", "must name at least one number to learn")
    wanted = Wanted(
        score=score,
        label=label,
        positive_label=positive_label,
        unlabeled_label=unlabeled_label,
        unlabeled_is_empty=unlabeled_is_empty,
        texts={name: column for name, column in (("id", id), ("by", by)) if column is not None},
    )
    rows = read_columns(source, wanted)
    made = Planner(rows, setting, prior, marginal, asked, check_count(budget, "budget", 2), seed)
    return made.design(sequential=sequential, sizes=sizes, source={"score": score, "label": label})


class Planner:
    """The steps from a table to a design."""

    def __init__(
        self,
        rows: Columns,
        setting: Setting,
        prior: float | None,
        marginal: Sketch | PUScores | None,
        targets: tuple[Target, ...],
        budget: int,
        seed: int,
    ) -> None:
        self.rows, self.targets, self.seed, self.budget = rows, targets, seed, budget
        self.scores = PUScores.from_pu_labels(rows.flags, rows.score, setting=setting, prior=prior)
        self.whole = self._whole(marginal)
        everyone = [self.whole[0]] + ([self.whole[1]] if self.scores.pooled else [])
        self.sorted, self.mass = _in_order(everyone)
        self.names, self.codes = self._groups()
        self.pool = self._pool()
        edges = bin_scores(self.scores.with_prior(0.5), bins=BINS).edges
        self.census = Census.of(targets, *self.whole, self._rank, edges, pooled=self.scores.pooled)
        self._check_flagged()

    def _whole(self, marginal: Sketch | PUScores | None) -> tuple[Weighted, Weighted]:
        """Return scores and numbers of all rows that are not labeled, and of those that are."""
        if marginal is None:
            law = self.scores
        elif self.rows.texts.get("by") or self.rows.negative is not None:
            rule = "must not be given with groups or known negatives: they are counted in the rows"
            raise InputError("marginal", rule)
        else:
            setting = self.scores.setting
            law = marginal if isinstance(marginal, PUScores) else marginal.scores(setting=setting)
        return tuple((s, np.broadcast_to(f * w, s.shape)) for s, f, _, w in law.in_order())  # type: ignore[return-value]

    def _groups(self) -> tuple[list[str], NDArray[np.intp]]:
        if "by" not in self.rows.texts:
            return [], np.zeros(self.rows.score.size, dtype=np.intp)
        names, codes = np.unique(self.rows.texts["by"], return_inverse=True)
        return names.tolist(), codes.astype(np.intp)

    def _pool(self) -> Pool:
        """Return the rows whose label nobody knows."""
        known = (
            self.rows.flags if self.rows.negative is None else self.rows.flags | self.rows.negative
        )
        row = np.flatnonzero(~known)
        if self.budget > row.size:
            rule = f"must be at most {row.size:,}, the number of rows that nobody reviewed"
            raise InputError("budget", rule, value=self.budget)
        row = row[np.lexsort((self.rows.score[row], self.codes[row]))]
        s = self.rows.score[row]
        return Pool(row, s, self._rank(s), self._hidden(s), self.codes[row])

    def _rank(self, s: Floats) -> Floats:
        """Return the mid-rank of scores among all rows, in [0, 1]."""
        below, upto = (self.mass[np.searchsorted(self.sorted, s, x)] for x in ("left", "right"))
        return np.asarray((below + upto) / (2.0 * self.mass[-1]))

    def _hidden(self, s: Floats) -> Floats:
        """Return the guessed probability that unlabeled rows are positive."""
        scores = self.scores
        if scores.prior is None:
            from noneg.prior import estimate_prior

            scores = estimate_prior(scores).apply(scores)
        prior = scores.known_prior
        guess = (1.0 - DOUBT) * Isotonic().fit(scores).transform(s) + DOUBT * prior
        labeled = min(scores.labelled_share / prior, 0.99)
        return np.clip(guess * (1.0 - labeled) / (1.0 - labeled * guess), 1e-9, 1.0 - 1e-9)

    def _check_flagged(self) -> None:
        for threshold, flagged in self.census.flagged.items():
            if flagged in (0.0, self.census.rows):
                which = "no row" if flagged == 0.0 else "every row"
                low, high = self.sorted[[0, -1]]
                rule = f"must split the rows, but {which} has a score of {threshold:g} or more"
                remedy = f"Scores lie between {low:.4g} and {high:.4g}."
                raise InputError("targets", rule, remedy=remedy)

    def _ids(self, row: NDArray[np.intp]) -> tuple[str, ...]:
        if "id" not in self.rows.texts:
            return tuple(map(str, row))
        names = np.array(self.rows.texts["id"], dtype=object)
        values, counts = np.unique(names, return_counts=True)
        if (counts > 1).any():
            rule = f"must name a column that identifies a row, but {values[counts > 1][0]!r} comes"
            raise InputError("id", f"{rule} {counts[counts > 1][0]} times")
        return tuple(names[row].tolist())

    def design(self, *, sequential: bool, sizes: Sequence[int], source: dict[str, Any]) -> Design:
        """Choose the rows."""
        pool, census, strata = self.pool, self.census, self.strata
        rng = stream(self.seed, "audit")
        chosen = (
            strata.sequence(self.budget, rng) if sequential else rng.permutation(strata.draw(rng))
        )
        at = strata.of_row[chosen]
        rate = self.budget * strata.share if sequential else strata.count
        kept = self._kept()
        score = self.rows.score[kept]
        rehearsed = [n for n in sizes if n <= pool.row.size]
        return Design(
            targets=self.targets,
            setting=self.scores.setting,
            prior=self.scores.prior,
            seed=self.seed,
            sequential=sequential,
            source=source,
            census=census,
            size=self._sizes(strata),
            share=strata.share,
            group=tuple(self.names[k] for k in pool.group[strata.first]) if self.names else (),
            corners=strata.corners,
            id=self._ids(pool.row[chosen]),
            score=pool.score[chosen],
            rank=pool.rank[chosen],
            stratum=at,
            probability=np.minimum(rate / strata.size, 1.0)[at],
            positive_score=score,
            positive_rank=self._rank(score),
            positive_stratum=self._stratum(strata, kept),
            n_positive=float(self.whole[1][1].sum()),
            n_unlabeled=float(self.whole[0][1].sum()),
            expected=expected(pool, census, self.targets, rehearsed, self.seed),
        )

    @cached_property
    def strata(self) -> Strata:
        """The strata of the rows to choose from."""
        return Strata.of(self.pool, self.census, self.targets, self.budget)

    def _sizes(self, strata: Strata) -> Floats:
        """Return the rows of each stratum in the whole table, of which the pool may be a sample."""
        (s, count), _ = self.whole
        if count.sum() == self.pool.row.size or self.rows.negative is not None:
            return strata.size
        at = np.searchsorted(self.pool.score[strata.first][1:], s, side="right")
        return np.bincount(at, count, strata.size.size).astype(np.float64)

    def _kept(self) -> NDArray[np.intp]:
        """Return labeled positives in the order of scores, at most so many, evenly spread."""
        positive = np.flatnonzero(self.rows.flags)
        order = positive[np.argsort(self.rows.score[positive], kind="stable")]
        if order.size <= KEPT:
            return order
        return order[((np.arange(KEPT) + 0.5) * order.size / KEPT).astype(np.intp)]

    def _stratum(self, strata: Strata, row: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the stratum that labeled rows would be in, -1 for a group without any."""
        low, group = self.pool.score[strata.first], self.pool.group[strata.first]
        out = np.full(row.size, -1, dtype=np.intp)
        for code in np.unique(group):
            here, there = np.flatnonzero(group == code), self.codes[row] == code
            place = np.searchsorted(low[here], self.rows.score[row[there]], side="right") - 1
            out[there] = here[np.maximum(place, 0)]
        return out
