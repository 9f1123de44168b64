"""`read`: estimating metrics of the whole table from reviewed rows, without a prior or SCAR.

Rows are reviewed in the order of the list, which is random, so an unfinished review is a smaller
sample of the same kind. A skipped row is different: the reason for skipping it is unknown, so it is
treated like "unsure", once as positive and once as negative.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.estimates import Agreement, Contrast, Draws, Review, interval
from noneg.audit.planning import Design, file_text, stored
from noneg.audit.sequences import Sequence, sequence
from noneg.audit.targets import Target
from noneg.checks import Setting, check_level
from noneg.errors import Argument, InputError
from noneg.randomness import stream
from noneg.results import Estimate, aligned, plain, plain_fields
from noneg.sentences import say
from noneg.tables.batches import as_text
from noneg.tables.labels import meaning
from noneg.tables.reading import read_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from noneg.arrays import Floats, Places
    from noneg.scores import PUScores

SCHEMA = "noneg.audit/1"
# Fewest positives that a reader should rely on.
FEW = 10
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """Results of a review for the whole table.

    Attributes
    ----------
    estimates : dict of str to Estimate
        The prior and every target of the design for the whole table, from the review and the
        labeled positives, which count as rows of the table. Neither a prior nor an assumption about
        labeling is used.
    agreements : dict of str to Agreement
        Comparison of labeled positives with positives found, by target.
    selection : Estimate
        Selection factor: the largest ratio, in either direction, between the shares of hidden and
        of labeled positives in a score range.
    sequences : dict of str to Sequence
        Intervals at every look, for the metrics in `until`.
    until : dict of str to float
        Target half-widths.
    n_reviewed, n_positive, n_unsure, n_skipped, n_missing, budget : int
        Numbers of rows answered, found positive, unsure, skipped, not reached, and on the list.
    n_labeled, n_unlabeled : float
    setting : {"one-sample", "two-sample"}
    level : float
    notes : tuple of str
    """

    estimates: Mapping[str, Estimate]
    agreements: Mapping[str, Agreement]
    selection: Estimate
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    until: Mapping[str, float] = field(default_factory=dict)
    n_reviewed: int
    n_positive: int
    n_unsure: int
    n_skipped: int
    n_missing: int
    budget: int
    n_labeled: float
    n_unlabeled: float
    setting: Setting
    level: float
    notes: tuple[str, ...] = ()

    @property
    def prior(self) -> Estimate:
        """Share of positives in the table."""
        return self.estimates["prior"]

    @property
    def prior_set(self) -> tuple[float, float]:
        """The interval for the prior, inside (0, 1)."""
        edge = 1.0 / (2.0 * (self.n_labeled + self.n_unlabeled))
        low, high = np.clip([self.prior.low, self.prior.high], edge, 1.0 - edge)
        return float(low), float(high)

    @property
    def middle(self) -> float:
        """The prior at which metrics are reported, inside its interval."""
        return float(np.clip(self.prior.value, *self.prior_set))

    def told(self, selection: float) -> str:
        """Describe the source of the prior, and the selection up to which results hold."""
        low, high = self.prior_set
        known = {"prior": self.middle, "low": low, "high": high, "rows": self.n_reviewed}
        return say("review_prior", **known, factor=selection)

    @property
    def is_done(self) -> bool:
        """Whether every half-width in `until` has been reached."""
        return all(self.sequences[name].half_width <= width for name, width in self.until.items())

    def apply(self, scores: PUScores) -> PUScores:
        """Return scores with the prior from the review, its interval, and the selection factor.

        The upper limit of the selection factor is used, because the review cannot exclude it.
        """
        return scores.with_prior(self.middle, self.prior_set).with_selection(self.factor)

    @property
    def factor(self) -> float:
        """Upper limit of the selection factor."""
        if not np.isfinite(self.selection.high):
            rule = (
                "has no upper limit for the selection factor, because the review found too few "
                "positives"
            )
            remedy = "Review more rows, or pass --selection."
            raise InputError("audit", rule, remedy=remedy)
        return max(1.0, self.selection.high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        sequences = {
            name: one.last.to_dict() | {"until": self.until[name]}
            for name, one in self.sequences.items()
        }
        found = plain_fields(self, *_PLAIN, "estimates", "agreements", "selection")
        return found | {"sequences": sequences, "notes": list(self.notes)}

    def to_json(self) -> str:
        """Return text that `load` and the ``--audit`` option of the commands can read."""
        from importlib.metadata import version

        head = {"schema": SCHEMA, "version": version("noneg")}
        return json.dumps(plain(head | self.to_dict()), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """Restore an audit from the output of `to_json`, without the history of sequences."""
        with stored(text, "audit", SCHEMA, "a file written by noneg audit read -o") as content:
            made = {name: content[name] for name in _PLAIN}
            found = {name: _estimate(one) for name, one in content["estimates"].items()}
            agreements = {
                name: _agreement(name, one, found[name])
                for name, one in content["agreements"].items()
            }
            selection, notes = _estimate(content["selection"]), tuple(content["notes"])
        return cls(estimates=found, agreements=agreements, selection=selection, notes=notes, **made)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Audit:
        """Read an audit file."""
        return cls.from_json(file_text(path, "audit", "Create it with noneg audit read -o."))

    def __str__(self) -> str:
        rows = [
            (name, str(one), f"{100 * one.level:g}% interval")
            for name, one in self.estimates.items()
        ]
        head = f"{self.n_reviewed} of {self.budget} rows reviewed, {self.n_positive} positive"
        return f"{head}\n{aligned(rows)}"


_COUNTED = ("n_reviewed", "n_positive", "n_unsure", "n_skipped", "n_missing")
_PLAIN = (*_COUNTED, "budget", "n_labeled", "n_unlabeled", "setting", "level")


def _estimate(content: Mapping[str, Any]) -> Estimate:
    given = {name: content[name] for name in ("value", "low", "high", "level", "method")}
    blank = {"value": np.inf, "low": -np.inf, "high": np.inf}
    identified = tuple(content["identified"]) if "identified" in content else None
    filled: dict[str, Any] = {k: blank.get(k) if v is None else v for k, v in given.items()}
    return Estimate(**filled, identified=identified, raw=content.get("raw"))


def _agreement(name: str, content: Mapping[str, Any], audit: Estimate) -> Agreement:
    fused = None if content["fused"] is None else _estimate(content["fused"])
    given = {field: content[field] for field in ("labeled", "p_value")}
    return Agreement(target=name, audit=audit, fused=fused, **given)


def read(
    source: object,
    design: Design | str | os.PathLike[str] | None = None,
    *,
    id: str = "id",  # noqa: A002 - the column that people call so
    answer: str = "answer",
    positive_label: object = None,
    negative_label: object = None,
    level: float = 0.95,
    until: Mapping[str, float] | None = None,
) -> Audit:
    """Read the answers of a review and estimate metrics of the whole table.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        The list of rows with its answer column: 1 or yes, 0 or no, unsure, or empty.
    design : Design or path, optional
        The result of `plan`, or its file; defaults to the file next to the list.
    id, answer : str
        Names of the columns.
    positive_label, negative_label : object, optional
        Custom words for the answers.
    level : float
        Confidence level of the intervals.
    until : mapping of str to float, optional
        Target half-widths, such as ``{"precision@0.9": 0.03}``, for a sequential design. Intervals
        are then valid at every look.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.beta(0.5, 4.0, 5000)
    >>> hidden = rng.random(5000) < score
    >>> labeled = hidden & (rng.random(5000) < 0.3)
    >>> table = {"p": score, "confirmed": labeled}
    >>> from noneg.audit import plan
    >>> columns = {"score": "p", "label": "confirmed", "setting": "one-sample"}
    >>> design = plan(table, **columns, budget=100, sizes=[])
    >>> answers = [int(hidden[int(row)]) for row in design.id]
    >>> audit = read({"id": design.id, "answer": answers}, design)
    >>> audit.prior.low < float(hidden.mean()) < audit.prior.high
    True
    """
    words = {"positive_label": positive_label, "negative_label": negative_label}
    answers = read_answers(source, design, id=id, answer=answer, **words)
    return estimate(answers, level=check_level(level), until=until or {})


def estimate(answers: Answers, *, level: float = 0.95, until: Mapping[str, float]) -> Audit:
    """Estimate metrics of the whole table from answers."""
    design = answers.design
    targets = dict.fromkeys((Target("prior"), *design.targets))
    rng = stream(design.seed, "audit answers")
    plain = Draws(answers.review(answers.code == POSITIVE), rng)
    found = {str(target): _bounded(target, answers, plain, level) for target in targets}
    contrast = Contrast(answers, plain, rng)
    agreements = {
        str(target): contrast.agreement(target, found[str(target)])
        for target in targets
        if target.name != "prior"
    }
    return Audit(
        estimates=found,
        agreements=agreements,
        selection=contrast.selection(level),
        sequences=_sequences(answers, until, level),
        until=dict(until),
        **{name: getattr(answers, name) for name in _COUNTED},
        budget=design.budget,
        n_labeled=design.n_positive,
        n_unlabeled=design.n_unlabeled,
        setting=design.setting,
        level=level,
        notes=tuple(_notes(answers)),
    )


def _bounded(target: Target, answers: Answers, plain: Draws, level: float) -> Estimate:
    """Return an interval that holds for every possible resolution of unsure answers."""
    census = answers.design.census
    middle = interval(target, census, plain, level)
    unsure = answers.code == UNSURE
    if not unsure.any():
        return middle
    totals = census.known + plain.review.totals
    up = answers.features @ target.gradient(census, totals) > 0.0
    ends = [middle]
    for which in (~up, up):
        y = np.where(unsure, which, answers.code == POSITIVE)
        draws = Draws(answers.review(y), stream(answers.design.seed, "audit unsure"))
        ends.append(interval(target, census, draws, level))
    values = [one.value for one in ends]
    return replace(
        middle,
        low=min(one.low for one in ends),
        high=max(one.high for one in ends),
        method=f"{middle.method}, for every resolution of unsure answers",
        identified=(min(values), max(values)),
    )


def _sequences(answers: Answers, until: Mapping[str, float], level: float) -> dict[str, Sequence]:
    if not until:
        return {}
    if (answers.code == UNSURE).any():
        rule = "cannot be used with unsure or skipped answers"
        raise InputError("until", rule, remedy="Resolve them, or omit --until.")
    return {name: sequence(Target.parse(name, "until"), answers, level) for name in until}


def _notes(answers: Answers) -> list[str]:
    notes = []
    if answers.n_missing:
        rows = {"missing": answers.n_missing, "reached": answers.code.size}
        notes.append(say("review_unfinished", **rows))
    if answers.n_skipped:
        notes.append(say("review_skipped", rows=answers.n_skipped))
    if answers.n_unsure:
        notes.append(say("review_unsure", rows=answers.n_unsure))
    if answers.n_positive < FEW:
        notes.append(say("review_few", rows=answers.n_positive))
    return notes
