"""`read`: reviewed rows -> numbers of the whole table that need neither a prior nor SCAR."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noneg.audit.answers import POSITIVE, UNSURE, Answers, read_answers
from noneg.audit.estimates import Draws, interval
from noneg.audit.fusion import Agreement, Contrast
from noneg.audit.sequences import Sequence, sequence
from noneg.audit.targets import Target
from noneg.checks import check_level
from noneg.errors import InputError, MissingFileError
from noneg.randomness import stream
from noneg.results import Estimate, aligned

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from noneg.audit.design import Design
    from noneg.checks import Setting
    from noneg.scores import PUScores

    Floats = NDArray[np.float64]

SCHEMA = "noneg.audit/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """What a review tells of the whole table.

    Attributes
    ----------
    estimates : dict of str to Estimate
        The prior and every target of the design, of the whole table, from the review and the
        labeled positives as rows of it. No prior and no assumption on labeling is used.
    agreements : dict of str to Agreement
        Labeled positives against positives found, by target.
    selection : Estimate
        Selection factor: how many times more or less likely than a labeled positive a hidden one
        is to look as it does.
    sequences : dict of str to Sequence
        Intervals at every look, for the numbers of `until`.
    until : dict of str to float
        Wanted half-widths.
    n_reviewed, n_positive, n_unsure, n_skipped, n_missing, budget : int
        Rows with an answer, found positive, unsure, passed over, not reached, and on the list.
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
        """The interval of the prior, inside (0, 1)."""
        edge = 1.0 / (2.0 * (self.n_labeled + self.n_unlabeled))
        low, high = np.clip([self.prior.low, self.prior.high], edge, 1.0 - edge)
        return float(low), float(high)

    @property
    def middle(self) -> float:
        """The prior to quote numbers at, inside its interval."""
        return float(np.clip(self.prior.value, *self.prior_set))

    def told(self, selection: float) -> str:
        """Return where the prior comes from, and up to which selection numbers hold, in words."""
        low, high = self.prior_set
        return (
            f"The prior, {self.middle:.4g} in [{low:.4g}, {high:.4g}], is from a review of "
            f"{self.n_reviewed:,} rows. Numbers allow for selection by a factor of {selection:.3g}."
        )

    @property
    def is_done(self) -> bool:
        """Whether every half-width of `until` is reached."""
        return all(self.sequences[name].half_width <= width for name, width in self.until.items())

    def apply(self, scores: PUScores) -> PUScores:
        """Return scores with the prior that the review found, its interval and the selection.

        The upper limit of the selection factor is passed on: what the review cannot exclude.
        """
        return scores.with_prior(self.middle, self.prior_set).with_selection(self.factor)

    @property
    def factor(self) -> float:
        """Upper limit of the selection factor."""
        if not np.isfinite(self.selection.high):
            rule = "has no upper limit of the selection factor: it found too few positives"
            remedy = "Review more rows, or pass --selection yourself."
            raise InputError("audit", rule, remedy=remedy)
        return max(1.0, self.selection.high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        counts = ("n_reviewed", "n_positive", "n_unsure", "n_skipped", "n_missing", "budget")
        sizes = ("n_labeled", "n_unlabeled", "setting", "level")
        return {
            **{name: getattr(self, name) for name in (*counts, *sizes)},
            "estimates": {name: one.to_dict() for name, one in self.estimates.items()},
            "agreements": {name: one.to_dict() for name, one in self.agreements.items()},
            "selection": self.selection.to_dict(),
            "sequences": {
                name: one.last.to_dict() | {"until": self.until[name]}
                for name, one in self.sequences.items()
            },
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return text that `load` reads, and ``--audit`` of the commands."""
        from importlib.metadata import version

        head = {"schema": SCHEMA, "version": version("noneg")}
        return json.dumps(head | _finite(self.to_dict()), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Audit:
        """Return what `to_json` wrote, without the course of sequences."""
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise KeyError(content["schema"])  # noqa: TRY301
            made = {name: content[name] for name in _PLAIN}
            found = {name: _estimate(one) for name, one in content["estimates"].items()}
            agreements = {
                name: _agreement(name, one, found[name])
                for name, one in content["agreements"].items()
            }
            selection = _estimate(content["selection"])
        except (ValueError, KeyError, TypeError) as error:
            rule = f"must be what noneg audit read -o wrote ({SCHEMA})"
            raise InputError("audit", rule) from error
        notes = tuple(content["notes"])
        return cls(estimates=found, agreements=agreements, selection=selection, notes=notes, **made)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Audit:
        """Read the file of an audit."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            rule = f"must be a file that exists, got {str(path)!r}"
            raise MissingFileError(
                "audit", rule, remedy="Write it by noneg audit read -o."
            ) from error

    def __str__(self) -> str:
        rows = [
            (name, str(one), f"{100 * one.level:g} % interval")
            for name, one in self.estimates.items()
        ]
        head = f"{self.n_reviewed} of {self.budget} rows reviewed, {self.n_positive} positive"
        return f"{head}\n{aligned(rows)}"


_PLAIN = (
    *("n_reviewed", "n_positive", "n_unsure", "n_skipped", "n_missing", "budget"),
    *("n_labeled", "n_unlabeled", "setting", "level"),
)


def _finite(value: Any) -> Any:  # noqa: ANN401
    """Return content for strict JSON: what is not finite becomes None."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _estimate(content: Mapping[str, Any]) -> Estimate:
    given = {name: content[name] for name in ("value", "low", "high", "level", "method")}
    blank = {"value": np.inf, "low": -np.inf, "high": np.inf}
    identified = tuple(content["identified"]) if "identified" in content else None
    filled: dict[str, Any] = {k: blank.get(k) if v is None else v for k, v in given.items()}
    return Estimate(**filled, identified=identified, raw=content.get("raw"))


def _agreement(name: str, content: Mapping[str, Any], audit: Estimate) -> Agreement:
    fused = None if content["fused"] is None else _estimate(content["fused"])
    return Agreement(
        target=name,
        audit=audit,
        labeled=content["labeled"],
        p_value=content["p_value"],
        fused=fused,
    )


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
    """Read the answers of a review and say what they tell of the whole table.

    Parameters
    ----------
    source : path, list of paths, mapping of columns, or data frame
        The list of rows with its column of answers: 1 or yes, 0 or no, unsure, or nothing.
    design : Design or path, optional
        What `plan` returned, or its file; by default the file beside the list.
    id, answer : str
        Names of the columns.
    positive_label, negative_label : object, optional
        Words of your own for the answers.
    level : float
        Level of intervals.
    until : mapping of str to float, optional
        Wanted half-widths, such as ``{"precision@0.9": 0.03}``, of a sequential design. Intervals
        then hold at every look.

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
    """Return what answers tell of the whole table."""
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
        n_reviewed=answers.n_reviewed,
        n_positive=answers.n_positive,
        n_unsure=answers.n_unsure,
        n_skipped=answers.n_skipped,
        n_missing=answers.n_missing,
        budget=design.budget,
        n_labeled=design.n_positive,
        n_unlabeled=design.n_unlabeled,
        setting=design.setting,
        level=level,
        notes=tuple(_notes(answers)),
    )


def _bounded(target: Target, answers: Answers, plain: Draws, level: float) -> Estimate:
    """Return the interval, for every way in which unsure answers may turn out."""
    census = answers.design.census
    middle = interval(target, census, plain, level)
    unsure = answers.code == UNSURE
    if not unsure.any():
        return middle
    n = answers.code.size
    features = census.features(answers.design.score[:n], answers.design.rank[:n])
    totals = census.known + plain.review.totals
    up = features @ target.gradient(census, totals) > 0.0
    ends = []
    for which in (~up, up):
        y = np.where(unsure, which, answers.code == POSITIVE)
        draws = Draws(answers.review(y), stream(answers.design.seed, "audit unsure"))
        ends.append(interval(target, census, draws, level))
    both = [one.value for one in (*ends, middle)]
    return Estimate(
        value=middle.value,
        low=min(one.low for one in (*ends, middle)),
        high=max(one.high for one in (*ends, middle)),
        level=level,
        method=f"{middle.method}, unsure answers either way",
        identified=(min(both), max(both)),
        raw=middle.raw,
    )


def _sequences(answers: Answers, until: Mapping[str, float], level: float) -> dict[str, Sequence]:
    if not until:
        return {}
    if (answers.code == UNSURE).any():
        rule = "cannot be followed with unsure or skipped answers"
        raise InputError("until", rule, remedy="Decide them, or leave --until out.")
    y = (answers.code == POSITIVE).astype(np.float64)
    return {name: sequence(Target.parse(name, "until"), answers, y, level) for name in until}


def _notes(answers: Answers) -> list[str]:
    notes = []
    if answers.n_missing:
        notes.append(
            f"No answer yet: the last {answers.n_missing:,} rows of the list. Its order is random, "
            f"so the first {answers.code.size:,} are a smaller sample of the same kind."
        )
    if answers.n_skipped:
        notes.append(
            f"Rows passed over: {answers.n_skipped:,}. Nobody knows why, so each counts once as "
            "positive and once as negative, and intervals hold both ways."
        )
    if answers.n_unsure:
        notes.append(
            f"Unsure answers: {answers.n_unsure:,}. Estimates count them as negative; intervals "
            "hold whichever way they turn out."
        )
    if answers.n_positive < FEW:
        notes.append(
            f"Reviewed rows found positive: only {answers.n_positive}. Intervals are wide because "
            "one unseen positive in a large stratum would change much."
        )
    return notes


FEW = 10
