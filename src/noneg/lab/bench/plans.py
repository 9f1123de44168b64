"""How each data set becomes PU data: which classes are positive, how many rows, which network."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal

Kind = Literal["table", "raw", "pixels", "image"]
View = Literal["turned", "cropped"]


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
    """

    classes: int
    rows: int
    cases: tuple[tuple[int, ...], ...]
    kind: Kind = "table"
    batch: int = 64
    view: View | None = None

    def positives(self, case: int) -> tuple[int, ...]:
        """Return the positive classes of a case."""
        if case not in range(1, len(self.cases) + 1):
            msg = f"'case' must be a whole number from 1 to {len(self.cases)}, got {case!r}."
            raise ValueError(msg)
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
    "mnist": Plan(classes=10, rows=20_000, cases=_DIGITS, kind="pixels"),
    "digits": Plan(classes=10, rows=1000, cases=_DIGITS, kind="pixels", batch=32),
    "breast_cancer": Plan(classes=2, rows=300, cases=_BINARY, batch=32),
    "spambase": Plan(classes=2, rows=2400, cases=_BINARY),
    "credit_default": Plan(classes=2, rows=9000, cases=_BINARY),
    "covtype": Plan(classes=7, rows=14_000, cases=((1,), (0, 1))),
}


def find_plan(dataset: object) -> Plan:
    """Return the plan of a data set.

    Examples
    --------
    >>> find_plan("usps").prior(1)
    0.5
    """
    if dataset not in PLANS:
        msg = f"'dataset' must be one of {', '.join(PLANS)}, got {dataset!r}."
        raise ValueError(msg)
    return PLANS[str(dataset)]
