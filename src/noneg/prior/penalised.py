r"""PenL1: the share at which a penalised L1 distance between ``t p_P`` and ``p_U`` is smallest.

du Plessis, Niu and Sugiyama (2017), Class-prior estimation for learning from positive and
unlabeled data. With Gaussian bumps :math:`\phi_l` on unlabeled rows and
:math:`\beta_l(t) = t\,E_+[\phi_l] - E_U[\phi_l]`,

.. math:: J(t) = \frac{1}{\lambda} \sum_l \max(0, \beta_l(t))^2 - t + 1,

where a penalty makes it infinite to put more positives somewhere than there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from noneg.prior.contract import Found
from noneg.prior.features import FeatureEstimator, FeatureSamples
from noneg.randomness import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHARES = np.arange(1, 100) / 100.0
WIDTHS = np.geomspace(0.01, 10.0, 10)
PENALTIES = np.geomspace(1e-3, 10.0, 10)
FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class PenalisedL1(FeatureEstimator):
    """PenL1, width and penalty chosen by cross-validation for every share.

    Columns are standardised; shares are tried in steps of .01, the authors' in steps of .05.

    Parameters
    ----------
    centres : int
        Bumps, on unlabeled rows.
    max_rows : int
        Most rows of each kind.

    Examples
    --------
    >>> import numpy as np
    >>> from noneg.prior import PenalisedL1
    >>> x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (4, 4, 0)])
    >>> found = PenalisedL1().fit(x[:, None], [1] * 200 + [0] * 400, setting="two-sample")
    >>> abs(found.value - 0.5) < 0.1
    True
    """

    name: ClassVar[str] = "penl1"
    title: ClassVar[str] = "Penalised L1 (PenL1)"
    citation: ClassVar[str] = "du Plessis et al. (2017), Class-prior estimation"
    assumption: ClassVar[str] = (
        "labelled positives are a random sample of all positives, and somewhere negatives are "
        "negligible against positives; little overlap and few dimensions"
    )

    centres: int = 200
    max_rows: int = 1000

    def find(self, samples: FeatureSamples) -> Found:
        """Return the share with the smallest penalised distance."""
        random = stream(self.seed, "penalised L1")
        part = samples.standardised().at_most(self.max_rows, random)
        p, u = part.positive, part.unlabeled
        chosen = u[random.choice(len(u), min(self.centres, len(u)), replace=False)]
        near = [cdist(x, chosen, "sqeuclidean") for x in (p, u)]
        middle = float(np.sqrt(np.median(cdist(chosen, chosen, "sqeuclidean")))) or 1.0
        parts = [random.permutation(len(x)) % FOLDS for x in (p, u)]
        score, value = zip(
            *(_at_width(near, parts, factor * middle) for factor in WIDTHS), strict=True
        )
        # For each share the width and the penalty that predict best.
        scores, values = np.concatenate(score, axis=1), np.concatenate(value, axis=1)
        best = values[np.arange(SHARES.size), np.argmin(scores, axis=1)]
        return Found(float(SHARES[int(np.argmin(best))]), {"distance": float(best.min())})


def _at_width(
    near: list[Floats], parts: list[NDArray[np.intp]], width: float
) -> tuple[Floats, Floats]:
    """Return the cross-validation score and J, a row a share and a column a penalty."""
    bumps = [np.exp(-square / (2.0 * width**2)) for square in near]
    score = np.zeros((SHARES.size, 1))
    for fold in range(FOLDS):
        if any((part == fold).all() or not (part == fold).any() for part in parts):
            continue
        held = _excess(*(b[part == fold] for b, part in zip(bumps, parts, strict=True)))
        rest = _excess(*(b[part != fold] for b, part in zip(bumps, parts, strict=True)))
        score -= (np.maximum(0.0, rest) * held).sum(axis=1, keepdims=True)
    square = (np.maximum(0.0, _excess(*bumps)) ** 2).sum(axis=1, keepdims=True)
    return score / PENALTIES, square / PENALTIES - SHARES[:, None] + 1.0


def _excess(positive: Floats, unlabeled: Floats) -> Floats:
    """Return beta, a row a share."""
    return SHARES[:, None] * positive.mean(axis=0) - unlabeled.mean(axis=0)
