"""`plan` chooses the rows to review from a table of scores and labels; a `Design` stores them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.strata import SIZES, Expected, Pool, Strata, expected
from noneg.audit.targets import Census, Target
from noneg.bins import bin_scores
from noneg.checks import Setting, check_count, check_setting
from noneg.errors import InputError, MissingFileError
from noneg.laws import placements
from noneg.randomness import stream
from noneg.recalibration import Isotonic
from noneg.results import Table, plain_fields
from noneg.scores import PUScores
from noneg.tables.batches import Columns, Wanted
from noneg.tables.reading import read_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places
    from noneg.sketch import Sketch

    # Scores, and the number of rows with each score.
    Weighted = tuple[Floats, Floats]

SCHEMA = "noneg.audit-design/1"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Design(Table):
    """Rows to review, and all information needed to read the answers.

    Attributes
    ----------
    targets : tuple of Target
        Metrics to estimate from the review.
    setting : {"one-sample", "two-sample"}
    prior : float or None
        The given prior, if any; it only guides the choice of rows.
    seed : int
    sequential : bool
        Whether the review may be stopped at any point after looking at the answers.
    source : mapping
        Files and columns.
    census : Census
        Everything about the table that is known without a review.
    size, share : ndarray
        Number of unlabeled rows in each stratum, and its share of the reviews.
    group : tuple of str
        The group of each stratum; empty if there are no groups.
    corners : ndarray, shape (strata, 2, features)
        Features at the lowest and highest scores of each stratum.
    id : tuple of str
        The rows to review, in order.
    score, rank, stratum, probability : ndarray
        Attributes of these rows; `probability` is the probability of being chosen.
    positive_score, positive_rank, positive_stratum : ndarray
        Labeled positives, thinned if there are many.
    n_positive, n_unlabeled : float
    expected : Expected
    """

    targets: tuple[Target, ...]
    setting: Setting
    prior: float | None
    seed: int
    sequential: bool
    source: Mapping[str, Any]
    census: Census
    size: Floats
    share: Floats
    group: tuple[str, ...]
    corners: Floats
    id: tuple[str, ...]
    score: Floats
    rank: Floats
    stratum: Places
    probability: Floats
    positive_score: Floats
    positive_rank: Floats
    positive_stratum: Places
    n_positive: float
    n_unlabeled: float
    expected: Expected

    @property
    def budget(self) -> int:
        """Number of rows to review."""
        return len(self.id)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the list for reviewers: id, probability, and an empty answer column."""
        return {
            "review": np.arange(1, self.budget + 1),
            "id": np.array(self.id, dtype=object),
            "probability": self.probability,
            "answer": np.full(self.budget, "", dtype=object),
        }

    def to_json(self) -> str:
        """Return the design as text that `from_json` can read."""
        targets = [[target.name, target.threshold] for target in self.targets]
        return json.dumps({"schema": SCHEMA, **plain_fields(self), "targets": targets})

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Restore a design from the output of `to_json`."""
        remedy = "Pass the JSON file that was written with the list."
        with stored(text, "design", SCHEMA, "a design written by noneg audit plan", remedy) as one:
            made = {name: _MADE.get(name, np.array)(one[name]) for name in _FIELDS}
        return cls(**made)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Design:
        """Read a design file."""
        remedy = "It was written together with the list of rows, and its name ends in .design.json."
        return cls.from_json(file_text(path, "design", remedy))

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.targets))
        return f"Design({self.budget} rows to review for {names}; {self.size.size} strata)"


def file_text(path: str | os.PathLike[str], argument: str, remedy: str) -> str:
    """Return the text of the file given as an argument."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        rule = f"must be an existing file, got {str(path)!r}"
        raise MissingFileError(argument, rule, remedy=remedy) from error


@contextmanager
def stored(
    text: str, argument: str, schema: str, what: str, remedy: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the content of a file; an error in the block means that it is not what it must be."""
    try:
        content = json.loads(text)
        if content["schema"] != schema:
            raise KeyError(content["schema"])  # noqa: TRY301
        yield content
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(argument, f"must be {what} ({schema})", remedy=remedy) from error


_FIELDS = tuple(Design.__dataclass_fields__)
_MADE: dict[str, Callable[[Any], Any]] = {
    "targets": lambda pairs: tuple(Target(*pair) for pair in pairs),
    "setting": str,
    "prior": lambda x: x,
    "seed": int,
    "sequential": bool,
    "source": dict,
    "census": Census.from_dict,
    "group": tuple,
    "id": tuple,
    "stratum": lambda x: np.array(x, dtype=np.intp),
    "positive_stratum": lambda x: np.array(x, dtype=np.intp),
    "n_positive": float,
    "n_unlabeled": float,
    "expected": lambda x: Expected(**{name: np.array(column) for name, column in x.items()}),
}


# Weight of the prior in each row's guess, so that rows with score zero can be chosen.
DOUBT = 0.1
# Number of bins for the calibration error.
BINS = 10
# Most labeled positives kept in the design; beyond this, they are thinned evenly by score.
KEPT = 2000
DEFAULT = ("prior",)


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
    """Choose unlabeled rows to review, with known probabilities, for the given targets.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        As in `noneg.read`; every row is read. Known negatives are not reviewed again; they count as
        negatives.
    score, label, positive_label, unlabeled_label, unlabeled_is_empty
        As in `noneg.read`.
    setting : {"one-sample", "two-sample"}
        How the rows were sampled; in one sample, the labeled positives are known rows of it.
    budget : int
        Number of rows to review.
    targets : sequence of str
        Metrics to estimate: "prior", "auroc", "ece", "brier", "log_loss", or a metric of the
        confusion matrix with its threshold, such as "precision@0.9". All of them are estimated
        together; with more targets, each is less precise.
    prior : float, optional
        A guess of the share of positives; if omitted, it is estimated from the scores. It only
        guides the choice of rows: the results are valid without it.
    id : str, optional
        Column that identifies a row; defaults to the row's position in the table, from 0.
    by : str, optional
        Column of groups; each group gets its own strata.
    sequential : bool
        Whether to choose rows so that the review may be stopped at any time based on the answers;
        see `sequences`.
    sizes : sequence of int
        Numbers of reviews to simulate.
    seed : int
    marginal : Sketch or PUScores, optional
        The whole table, if `source` is only a random sample of it from which to choose rows.

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
    if check_setting(setting) == "labeled":
        rule = "must not be 'labeled': every row has its label, so there is nothing to review"
        raise InputError("setting", rule)
    asked = tuple(dict.fromkeys(Target.parse(text) for text in targets))
    if not asked:
        raise InputError("targets", "must name at least one metric to estimate")
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
        parts = self.whole if self.scores.pooled else self.whole[:1]
        s, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(s, kind="stable")
        self.sorted, self.count = s[order], count[order]
        self.names, self.codes = self._groups()
        edges = bin_scores(self.scores.with_prior(0.5), bins=BINS).edges
        everyone, pooled = (self.sorted, self.count), self.scores.pooled
        self.census = Census.of(targets, everyone, self.whole[1], self._rank, edges, pooled=pooled)
        self.pool = self._pool()
        self._check_flagged()

    def _whole(self, marginal: Sketch | PUScores | None) -> tuple[Weighted, Weighted]:
        """Return scores and counts of all rows that are not labeled, and of those that are."""
        if marginal is None:
            law = self.scores
        elif self.rows.texts.get("by") or self.rows.negative is not None:
            rule = "must not be given with groups or known negatives, which are counted in the rows"
            raise InputError("marginal", rule)
        else:
            setting = self.scores.setting
            law = marginal if isinstance(marginal, PUScores) else marginal.scores(setting=setting)
        return tuple((s, np.broadcast_to(f * w, s.shape)) for s, f, _, w in law.in_order())  # type: ignore[return-value]

    def _groups(self) -> tuple[list[str], Places]:
        if "by" not in self.rows.texts:
            return [], np.zeros(self.rows.score.size, dtype=np.intp)
        names, codes = np.unique(self.rows.texts["by"], return_inverse=True)
        return names.tolist(), codes.astype(np.intp)

    def _pool(self) -> Pool:
        """Return the rows whose labels are unknown."""
        known = (
            self.rows.flags if self.rows.negative is None else self.rows.flags | self.rows.negative
        )
        row = np.flatnonzero(~known)
        if self.budget > row.size:
            rule = f"must be at most {row.size:,}, the number of rows that have not been reviewed"
            raise InputError("budget", rule, value=self.budget)
        row = row[np.lexsort((self.rows.score[row], self.codes[row]))]
        s = self.rows.score[row]
        columns = row, s, self._rank(s), self._hidden(s), self.codes[row]
        return Pool(*columns, self.census, self.targets)

    def _rank(self, s: Floats) -> Floats:
        """Return the mid-rank of scores among all rows, in [0, 1]."""
        return placements(s, self.sorted, self.count)

    def _hidden(self, s: Floats) -> Floats:
        """Return guessed probabilities that unlabeled rows are positive."""
        scores = self.scores
        if scores.prior is None:
            from noneg.prior import estimate_prior

            scores = estimate_prior(scores).apply(scores)
        prior = scores.known_prior
        guess = (1.0 - DOUBT) * Isotonic().fit(scores).transform(s) + DOUBT * prior
        labeled = min(scores.labeled_share / prior, 0.99)
        return np.clip(guess * (1.0 - labeled) / (1.0 - labeled * guess), 1e-9, 1.0 - 1e-9)

    def _check_flagged(self) -> None:
        for threshold, flagged in self.census.flagged.items():
            if flagged in (0.0, self.census.rows):
                which = "no row" if flagged == 0.0 else "every row"
                low, high = self.sorted[[0, -1]]
                rule = f"must split the rows, but {which} has a score of {threshold:g} or more"
                remedy = f"Scores lie between {low:.4g} and {high:.4g}."
                raise InputError("targets", rule, remedy=remedy)

    def _ids(self, row: Places) -> tuple[str, ...]:
        if "id" not in self.rows.texts:
            return tuple(map(str, row))
        names = np.array(self.rows.texts["id"], dtype=object)
        values, counts = np.unique(names, return_counts=True)
        if (counts > 1).any():
            rule = (
                f"must name a column that identifies a row, but {values[counts > 1][0]!r} appears"
            )
            raise InputError("id", f"{rule} {counts[counts > 1][0]} times")
        return tuple(names[row].tolist())

    def design(self, *, sequential: bool, sizes: Sequence[int], source: dict[str, Any]) -> Design:
        """Choose the rows."""
        pool, strata = self.pool, self.strata
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
            census=self.census,
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
            expected=expected(pool, rehearsed, self.seed),
        )

    @cached_property
    def strata(self) -> Strata:
        """The strata of the candidate rows."""
        return Strata.of(self.pool, self.budget)

    def _sizes(self, strata: Strata) -> Floats:
        """Return the stratum sizes in the whole table, of which the pool may be a sample."""
        (s, count), _ = self.whole
        if count.sum() == self.pool.row.size or self.rows.negative is not None:
            return strata.size
        at = np.searchsorted(self.pool.score[strata.first][1:], s, side="right")
        return np.bincount(at, count, strata.size.size).astype(np.float64)

    def _kept(self) -> Places:
        """Return labeled positives sorted by score, thinned evenly to at most `KEPT`."""
        positive = np.flatnonzero(self.rows.flags)
        order = positive[np.argsort(self.rows.score[positive], kind="stable")]
        if order.size <= KEPT:
            return order
        return order[((np.arange(KEPT) + 0.5) * order.size / KEPT).astype(np.intp)]

    def _stratum(self, strata: Strata, row: Places) -> Places:
        """Return the stratum that labeled rows would fall in; -1 if their group has none."""
        low, group = self.pool.score[strata.first], self.pool.group[strata.first]
        out = np.full(row.size, -1, dtype=np.intp)
        for code in np.unique(group):
            here, there = np.flatnonzero(group == code), self.codes[row] == code
            place = np.searchsorted(low[here], self.rows.score[row[there]], side="right") - 1
            out[there] = here[np.maximum(place, 0)]
        return out
