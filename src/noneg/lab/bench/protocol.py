"""Runs of the benchmark: their data sets as PU data, their settings and their names."""

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
PUSetting = Literal["two-sample", "one-sample"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """PU data made of one data set (PU benchmark paper, Appendix B).

    Attributes
    ----------
    classes : int
        Number of classes; each gives equally many training rows.
    rows : int
        Training and validation rows, positives and unlabeled ones together.
    cases : tuple of tuple of int
        The positive classes of case 1, 2, ...
    kind : {"table", "raw", "pixels", "image"}
        How rows are scaled: each feature, not at all, all pixels alike, or each channel. The
        network is a ResNet for images, else a perceptron.
    batch : int
        Default number of rows of P and of U in a step.
    view : {"turned", "cropped"}, optional
        How training images vary: mirrored and turned, or mirrored and shifted; see
        `noneg.learning.views`. By default they do not.
    source : str, optional
        Data set of which this one is another view; its draws are the same rows.
    selection : float
        How much likelier the surest positive of two samples is to be labelled than the least sure
        one; with 1, positives are labelled at random.
    repaired : bool
        Whether labelled rows are drawn again by the inverse of that likelihood, as somebody would
        who knows it.
    """

    classes: int
    rows: int
    cases: tuple[tuple[int, ...], ...]
    kind: Kind = "table"
    batch: int = 64
    view: View | None = None
    source: str | None = None
    selection: float = 1.0
    repaired: bool = False

    def positives(self, case: int) -> tuple[int, ...]:
        """Return the positive classes of a case."""
        if case not in range(1, len(self.cases) + 1):
            msg = f"must be a whole number from 1 to {len(self.cases)}, got {case!r}."
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

# The benchmark's own four, then data sets that it does not have.
PLANS: dict[str, Plan] = {
    # The benchmark takes 20,000 rows; of the first 20,000 images no class fills its tenth exactly.
    "cifar10": Plan(
        classes=10, rows=19_000, cases=_VEHICLES_AND_OTHERS, kind="image", view="cropped"
    ),
    "usps": Plan(classes=10, rows=4000, cases=_DIGITS, kind="pixels", view="turned"),
    # Features are small whole numbers; the benchmark leaves them as they are.
    "letter": Plan(
        classes=26,
        rows=13_000,
        cases=_letters("BVLRIOWSJKCHZ", "DTAYQGBLIWJCZ"),
        kind="raw",
    ),
    # The same rows, each feature standardized.
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

# Labels that favor sure positives, with and without the repair of known propensities.
SELECTIONS = (1.5, 2.0, 4.0)
PLANS |= {
    f"{name}-selected-{selection:g}{'-repaired' if repaired else ''}": replace(
        PLANS[name], source=PLANS[name].source or name, selection=selection, repaired=repaired
    )
    for name in ("usps", "letter-standardized")
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
        Which classes are positive, from 1.
    rate : float
        Labelled positives as a share of all training rows.
    algorithm : str
        A name in `noneg.learning.ALGORITHMS`.
    variant : {"ref", "bench"}
        The original method, or the version behind the benchmark paper's numbers.
    correction : str or None
        One-sample correction; None for the algorithm's own.
    configuration : int
        0 for default hyperparameters; others are drawn at random, the same for every algorithm
        where they share a hyperparameter.
    split : int
        Number of the draw of the rows.
    steps, every : int
        Updates, and updates between checkpoints.
    given_prior : float or None
        The prior told to the algorithm and to the criteria, where it is not the true one.
    augmented : bool
        Whether training images vary as the plan of the data set says.
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
        """Return plain numbers and text; runs without options are named as they always were."""
        values = asdict(self)
        options = dict(values.pop("options"))
        return values | ({"options": options} if options else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """Return the run that `to_dict` described."""
        known = {f.name for f in fields(cls)}
        if set(values) - known:
            msg = f"must hold fields of a run, got {sorted(set(values) - known)}."
            raise InputError("values", msg)
        options = tuple(dict(values.get("options", ())).items())
        return cls(**{**values, "options": options})


def sweep(**axes: Iterable[Any]) -> list[RunConfig]:
    """Return all runs of a grid.

    Parameters
    ----------
    **axes : iterable
        Values of fields of `RunConfig`, by their names.

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
