"""Reviewers' answers: converting a completed list to the reviewed rows of a design.

Rows are reviewed in the order of the list, which is random, so an unfinished review is a smaller
sample of the same kind. A skipped row is different: the reason for skipping it is unknown, so it is
treated like "unsure", once as positive and once as negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.estimates import Review
from noneg.audit.planning import Design
from noneg.errors import Argument, InputError
from noneg.tables.batches import as_text
from noneg.tables.labels import meaning
from noneg.tables.reading import read_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places

# Fewest answers per stratum; smaller strata are merged with a neighbor.
LEAST = 4
POSITIVE, NEGATIVE, UNSURE, MISSING = 1, 0, 2, 3
WORDS = {
    POSITIVE: ("1", "yes", "y", "true", "positive"),
    NEGATIVE: ("0", "no", "n", "false", "negative"),
    UNSURE: ("unsure", "?", "unclear"),
}
_MEANING = {word: code for code, words in WORDS.items() for word in words}


@dataclass(frozen=True, eq=False)
class Answers:
    """Reviewers' answers for the rows of a design, in its order.

    Attributes
    ----------
    design : Design
    code : ndarray of int
        Codes for the rows up to the last answer: 1 positive, 0 negative, 2 unsure or skipped.
    n_unsure, n_skipped : int
        Numbers of rows marked as unsure, and of rows skipped before a later answer.
    """

    design: Design
    code: Places
    n_unsure: int
    n_skipped: int

    @property
    def n_reviewed(self) -> int:
        """Number of rows with an answer, including unsure ones."""
        return self.code.size - self.n_skipped

    @property
    def n_missing(self) -> int:
        """Number of rows at the end of the list that were not reached."""
        return self.design.budget - self.code.size

    @property
    def n_positive(self) -> int:
        """Number of rows found positive."""
        return int((self.code == POSITIVE).sum())

    @cached_property
    def joined(self) -> Places:
        """The merged stratum of each; strata with few answers join the next one."""
        rows = self.design.stratum[: self.code.size]
        return join(np.bincount(rows, minlength=self.design.size.size), LEAST)

    @property
    def at(self) -> Places:
        """The merged stratum of each row with a code."""
        return self.joined[self.design.stratum[: self.code.size]]

    @cached_property
    def features(self) -> Floats:
        """Features of the rows with a code."""
        design, n = self.design, self.code.size
        return design.census.features(design.score[:n], design.rank[:n])

    def review(self, y: NDArray[Any]) -> Review:
        """Return the reviewed rows, ordered by stratum, with these labels."""
        design, joined, order = self.design, self.joined, np.argsort(self.at, kind="stable")
        first = np.searchsorted(joined, np.arange(joined[-1] + 1))
        last = np.append(first[1:], joined.size) - 1
        return Review(
            self.at[order],
            # The weight of a row comes from its original stratum, even after merging.
            1.0 / design.probability[order],
            self.features[order],
            np.asarray(y, dtype=np.float64)[order],
            np.bincount(joined, design.size).astype(np.float64),
            np.stack([design.corners[first, 0], design.corners[last, 1]], axis=1),
        )


def join(counts: Places, least: int) -> Places:
    """Return the number of the merged stratum for each stratum.

    Examples
    --------
    >>> join(np.array([1, 5, 2, 2, 9, 1]), 4)
    array([0, 0, 1, 1, 2, 2])
    """
    out, held, number = np.zeros(counts.size, dtype=np.intp), 0, 0
    for h, count in enumerate(counts):
        out[h] = number
        held += int(count)
        if held >= least:
            number, held = number + 1, 0
    # A remainder at the end joins the last full stratum.
    return np.minimum(out, max(number - 1, 0))


def read_answers(
    source: object,
    design: Design | str | os.PathLike[str] | None = None,
    *,
    id: str = "id",  # noqa: A002
    answer: str = "answer",
    positive_label: object = None,
    negative_label: object = None,
) -> Answers:
    """Read lists with answers; the design defaults to the file next to the first list."""
    plan = _plan(source, design)
    code = _codes(source, plan, id, answer, _words(positive_label, negative_label))
    there = np.flatnonzero(code != MISSING)
    if not there.size:
        rule = "must contain at least one answer, got none"
        raise InputError("answer", rule, remedy="Fill in the column: 1, 0 or unsure.")
    code = code[: there[-1] + 1]
    unsure, skipped = int((code == UNSURE).sum()), int((code == MISSING).sum())
    return Answers(plan, np.where(code == MISSING, UNSURE, code), unsure, skipped)


def unanswered(
    source: object, design: Design | str | os.PathLike[str] | None = None
) -> tuple[Design, list[int]]:
    """Return the design of a list, and the indices of its unanswered rows, in order."""
    plan = _plan(source, design)
    code = _codes(source, plan, "id", "answer", _MEANING)
    return plan, np.flatnonzero(code == MISSING).tolist()


def _plan(source: object, design: Design | str | os.PathLike[str] | None) -> Design:
    return design if isinstance(design, Design) else Design.load(design or design_path(source))


def _codes(
    source: object, plan: Design, name: str, answer: str, words: Mapping[str, int]
) -> Places:
    """Return the answer code for each row of the design."""
    columns = read_texts(source, {"id": name, "answer": answer})
    known = {one: row for row, one in enumerate(plan.id)}
    code = np.full(plan.budget, MISSING, dtype=np.intp)
    for k, (one, said) in enumerate(zip(columns["id"], columns["answer"], strict=True)):
        row, found = known.get(as_text(one)), _code(said, words, k)
        if row is None:
            rule = f"must contain rows of the list, but {as_text(one)!r} is not one of them"
            raise InputError("id", rule, remedy="Does this list belong to the design?")
        if found == MISSING:
            continue
        if code[row] not in (MISSING, found):
            rule = f"must have one answer per row, but {as_text(one)!r} has two answers"
            raise InputError("answer", rule, remedy="Keep one, or write unsure.")
        code[row] = found
    return code


def _words(positive: object, negative: object) -> dict[str, int]:
    own = {POSITIVE: positive, NEGATIVE: negative}
    given = {
        str(label).strip().casefold(): code for code, label in own.items() if label is not None
    }
    return _MEANING | given


def _code(said: object, words: Mapping[str, int], row: int) -> int:
    if said is None or said != said or not str(said).strip():  # noqa: PLR0124
        return MISSING
    text = str(said).strip().casefold()
    means = meaning(text)
    if text not in words and isinstance(means, (bool, int, float)) and means in (0, 1):
        text = str(int(means))
    if text not in words:
        rule = "must contain 1 (yes), 0 (no), 'unsure', or no value"
        remedy = ("Pass other words as ", Argument("positive_label"), " and ")
        named = (*remedy, Argument("negative_label"), ".")
        raise InputError("answer", rule, value=said, row=row, remedy=named)
    return words[text]


def design_path(source: object) -> Path:
    """Return the path of the design file, which is next to the list.

    Examples
    --------
    >>> design_path("lists/to_review.csv").as_posix()
    'lists/to_review.design.json'
    """
    first = source[0] if isinstance(source, (list, tuple)) and source else source
    if not isinstance(first, (str, Path)):
        rule = "must be given if the list is not a file"
        raise InputError("design", rule, remedy="Pass the design returned by noneg.audit.plan.")
    name = Path(first).name.partition(".")[0]
    return Path(first).with_name(f"{name}.design.json")
