"""Benchmark runs: their data sets as PU data, their settings and their names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

from noneg.checks import check_prior, check_pu_setting
from noneg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Kind = Literal["table", "raw", "pixels", "image"]
View = Literal["turned", "cropped"]
Favor = Literal["score", "feature", "class"]
PUSetting = Literal["two-sample", "one-sample"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to make PU data from a data set (PU benchmark paper, Appendix B).

    Attributes
    ----------
    classes : int
        Number of classes; each contributes the same number of training rows.
    rows : int
        Total number of training and validation rows, positive and unlabeled.
    cases : tuple of tuple of int
        The positive classes of case 1, 2, ...
    kind : {"table", "raw", "pixels", "image"}
        How rows are scaled: per feature, not at all, all pixels together, or per channel. The
        network is a ResNet for images and a multilayer perceptron otherwise.
    batch : int
        Default number of P rows, and also of U rows, in a step.
    view : {"turned", "cropped"}, optional
        Augmentation of training images: flipped and rotated, or flipped and shifted; see
        `noneg.learning.views`. By default, there is none.
    source : str, optional
        Data set of which this one is another version; the draws use the same rows.
    selection : float
        In the two-sample setting, the ratio of the largest and the smallest labeling probability of
        a positive; with 1, positives are labeled at random.
    favors : {"score", "feature", "class"}
        What the labeling probability increases with: a linear score; the first principal component
        of the positives, without what the score explains; or whether a row belongs to the first
        positive class.
    repaired : bool
        Whether labeled rows are resampled with the inverse of that probability, as is possible if
        it is known.
    """

    classes: int
    rows: int
    cases: tuple[tuple[int, ...], ...]
    kind: Kind = "table"
    batch: int = 64
    view: View | None = None
    source: str | None = None
    selection: float = 1.0
    favors: Favor = "score"
    repaired: bool = False

    def positives(self, case: int) -> tuple[int, ...]:
        """Return the positive classes of a case."""
        if case not in range(1, len(self.cases) + 1):
            msg = f"must be an integer from 1 to {len(self.cases)}, got {case!r}."
            raise InputError("case", msg)
        return self.cases[case - 1]

    def prior(self, case: int) -> float:
        """Return the share of positives in the population of a case."""
        return len(self.positives(case)) / self.classes


def _letters(*words: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(ascii_uppercase.index(letter) for letter in w)) for w in words)


_VEHICLES_AND_OTHERS = ((0, 1, 2, 8, 9), (2, 3, 5, 7, 9))
_DIGITS = ((4, 5, 7, 8, 9), (1, 4, 6, 8, 9))
_BINARY = ((1,), (0,))

# The benchmark's four data sets, followed by others.
PLANS: dict[str, Plan] = {
    # The benchmark uses 20,000 rows; no class makes up exactly a tenth of the first 20,000 images.
    "cifar10": Plan(
        classes=10, rows=19_000, cases=_VEHICLES_AND_OTHERS, kind="image", view="cropped"
    ),
    "usps": Plan(classes=10, rows=4000, cases=_DIGITS, kind="pixels", view="turned"),
    # Features are small integers; the benchmark does not scale them.
    "letter": Plan(
        classes=26,
        rows=13_000,
        cases=_letters("BVLRIOWSJKCHZ", "DTAYQGBLIWJCZ"),
        kind="raw",
    ),
    # The same rows with standardized features.
    "letter-standardized": Plan(
        classes=26,
        rows=13_000,
        cases=_letters("BVLRIOWSJKCHZ", "DTAYQGBLIWJCZ"),
        source="letter",
    ),
    "mnist": Plan(classes=10, rows=20_000, cases=_DIGITS, kind="pixels"),
    "digits": Plan(classes=10, rows=1000, cases=_DIGITS, kind="pixels", batch=32),
    "breast_cancer": Plan(classes=2, rows=300, cases=_BINARY, batch=32),
    "spambase": Plan(classes=2, rows=2400, cases=_BINARY),
    "credit_default": Plan(classes=2, rows=9000, cases=_BINARY),
    "covtype": Plan(classes=7, rows=14_000, cases=((1,), (0, 1))),
}

# Labels that favor certain positives, with and without correction by known propensities.
SELECTIONS = (1.5, 2.0, 4.0)
_FAVORS: dict[Favor, str] = {"score": "", "feature": "by-feature-", "class": "by-class-"}
PLANS |= {
    f"{name}-selected-{words}{selection:g}{'-repaired' if repaired else ''}": replace(
        PLANS[name],
        source=PLANS[name].source or name,
        selection=selection,
        favors=favors,
        repaired=repaired,
    )
    for name in ("usps", "letter-standardized")
    for favors, words in _FAVORS.items()
    for selection in SELECTIONS
    for repaired in (False, True)
}


def find_plan(dataset: object) -> Plan:
    """Return the plan of a data set.

    Examples
    --------
    >>> find_plan("usps").prior(1)
    0.5
    """
    if dataset not in PLANS:
        raise InputError("dataset", f"must be one of {', '.join(PLANS)}", value=dataset)
    return PLANS[str(dataset)]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One training run.

    Attributes
    ----------
    dataset : str
        A name in `PLANS`.
    setting : {"one-sample", "two-sample"}
    case : int
        Index of the set of positive classes, starting from 1.
    rate : float
        Labeled positives as a share of all training rows.
    algorithm : str
        A name in `noneg.learning.ALGORITHMS`.
    variant : {"ref", "bench"}
        The original method, or the version behind the benchmark paper's numbers.
    correction : str or None
        One-sample correction; None for the algorithm's own.
    configuration : int
        0 for default hyperparameters; other numbers give random ones, with the same value for all
        algorithms that share a hyperparameter.
    split : int
        Index of the random split.
    steps, every : int
        Number of updates, and number of updates between checkpoints.
    given_prior : float or None
        The prior given to the algorithm and the criteria, if it is not the true one.
    augmented : bool
        Whether training images are augmented as in the data set's plan.
    options : tuple of (str, float)
        Hyperparameters that replace those of the configuration, such as ``("lr", 0.01)``.

    Examples
    --------
    >>> run = RunConfig(dataset="digits", setting="one-sample", algorithm="nnpu")
    >>> run.key == RunConfig.from_dict(run.to_dict()).key
    True
    """

    dataset: str
    setting: PUSetting
    algorithm: str
    case: int = 1
    rate: float = 0.3
    variant: Literal["ref", "bench"] = "ref"
    correction: str | None = None
    configuration: int = 0
    split: int = 0
    steps: int = 20_000
    every: int = 100
    given_prior: float | None = None
    augmented: bool = True
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        find_plan(self.dataset).positives(self.case)
        check_pu_setting(self.setting)
        if not 0.0 < self.rate < 1.0:
            raise InputError("rate", "must be a share in (0, 1)", value=self.rate)
        if self.given_prior is not None:
            check_prior(self.given_prior, "given_prior")
        for name in ("steps", "every"):
            if getattr(self, name) < 1:
                raise InputError(name, "must be at least 1", value=getattr(self, name))

    @property
    def key(self) -> str:
        """The name of the run: a hash of everything it depends on."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def method(self) -> str:
        """Name in tables: algorithm, variant, correction and options."""
        parts = [self.algorithm, *(["bench"] if self.variant == "bench" else [])]
        chosen = [f"{name}={value}" for name, value in self.options]
        return "/".join([*parts, *([self.correction] if self.correction else []), *chosen])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings; `options` is omitted if empty, to keep run names."""
        values = asdict(self)
        options = dict(values.pop("options"))
        return values | ({"options": options} if options else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """Return a run from the output of `to_dict`."""
        known = {f.name for f in fields(cls)}
        if set(values) - known:
            msg = f"must contain fields of a run, got {sorted(set(values) - known)}."
            raise InputError("values", msg)
        options = tuple(dict(values.get("options", ())).items())
        return cls(**{**values, "options": options})


def sweep(**axes: Iterable[Any]) -> list[RunConfig]:
    """Return all runs in a grid.

    Parameters
    ----------
    **axes : iterable
        Values for the fields of `RunConfig`, by name.

    Examples
    --------
    >>> grid = sweep(
    ...     dataset=["digits"], setting=["one-sample"], algorithm=["upu", "nnpu"], split=range(3)
    ... )
    >>> len(grid), grid[-1].algorithm, grid[-1].split
    (6, 'nnpu', 2)
    """
    points = product(*axes.values())
    return [RunConfig.from_dict(dict(zip(axes, point, strict=True))) for point in points]
