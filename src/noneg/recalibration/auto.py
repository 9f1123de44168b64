"""Choose a calibrator by its loss on rows that it has not seen."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from noneg.calibration.proper import scoring_rule
from noneg.functionals import normalise
from noneg.recalibration.contract import (
    CalibrationWarning,
    Calibrator,
    Floats,
    State,
    refusal,
)
from noneg.recalibration.folds import splits, weighty_rows

if TYPE_CHECKING:
    from noneg.functionals import LawMeans
    from noneg.scores import PUScores

# Candidates, the simplest first.
CANDIDATES = (
    "identity",
    "prior-shift",
    "temperature",
    "platt",
    "beta",
    "bpm",
    "mix-n-match",
    "spline",
    "isotonic",
)


class Auto(Calibrator):
    """Choose the method by cross-fitted loss, and prefer simple ones.

    Each candidate is fitted on all folds but one and predicts the rows of that fold. The loss of
    these predictions, Brier score or log loss in their PU form, is compared with that of the best
    candidate, row by row. Of all candidates whose loss is larger by at most one standard error of
    the difference, the simplest is taken and fitted on all rows. "identity" is a candidate: scores
    that nothing improves stay as they are.

    Parameters
    ----------
    score : {"brier", "log"}
        The loss. Log loss punishes probabilities of 0 and 1 that fail; with few positives its PU
        form is noisy.
    candidates : sequence of str, optional
        Names of methods, the simplest first; by default all that learn a smooth or rising map.
    folds : int
        Number of folds; fewer if there are not so many positives.
    seed : int
        Of the random folds.

    Attributes
    ----------
    chosen_ : Calibrator
        The method that was taken, fitted.
    reason_ : str
        Why it was taken.
    table_ : list of dict
        Of each candidate: method, loss, difference from the best and its standard error.

    Examples
    --------
    >>> from noneg.simulation import LogisticGaussian
    >>> world = LogisticGaussian(beta0=-1.0, beta1=3.0)
    >>> auto = Auto().fit(world.draw(1000, 10_000, setting="two-sample", seed=1))
    >>> auto.chosen_
    Platt()
    """

    name = "auto"
    monotone = False

    def __init__(
        self,
        score: Literal["brier", "log"] = "brier",
        candidates: tuple[str, ...] | list[str] | None = None,
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.score = score
        self.candidates = candidates
        self.folds = folds
        self.seed = seed

    def _fit(self, scores: PUScores) -> State:
        from noneg.recalibration import make

        names = list(CANDIDATES if self.candidates is None else self.candidates)
        for name in names:
            make(name)
        number = self._folds(scores)
        table: list[dict[str, Any]] = []
        chosen = names[0]
        reason = f"{chosen}: a single row of a class cannot be held out, so nothing is compared."
        if number > 1:
            means = _cross_fitted(scores, names, self.score, number, self.seed)
            table, chosen, reason = _compare(means, names, self.score, number)
        self._chosen = make(chosen).fit(scores)
        return {"chosen": self._chosen.to_dict(), "reason": reason, "table": table}

    def _folds(self, scores: PUScores) -> int:
        if isinstance(self.folds, bool) or int(self.folds) != self.folds or self.folds < 2:
            raise ValueError(f"'folds' must be a whole number from 2, got {self.folds!r}.")
        return int(min(self.folds, *weighty_rows(scores)))

    def _map(self, s: Floats) -> Floats:
        return self.chosen_.transform(s)

    def _check(self, state: State) -> None:
        from noneg.recalibration import load_object

        if set(state) != {"chosen", "reason", "table"} or not isinstance(state["chosen"], dict):
            raise refusal("its state must hold 'chosen', 'reason' and 'table'")
        self._chosen = load_object(state["chosen"])

    @property
    def chosen_(self) -> Calibrator:
        """The method that was taken, fitted."""
        self._require_fit()
        return self._chosen

    @property
    def reason_(self) -> str:
        """Why it was taken."""
        return str(self.state_["reason"])

    @property
    def table_(self) -> list[dict[str, Any]]:
        """Loss of each candidate, and its difference from the best with a standard error."""
        return list(self.state_["table"])


def _compare(
    means: LawMeans, names: list[str], score: str, number: int
) -> tuple[list[dict[str, Any]], str, str]:
    """Return the table of candidates, the one to take, and why."""
    losses = means.prior * means.positive + means.marginal
    best = int(np.argmin(losses))
    errors = [_difference_error(means, i, best) for i in range(len(names))]
    table: list[dict[str, Any]] = [
        {
            "method": name,
            "loss": float(losses[i]),
            "difference": float(losses[i] - losses[best]),
            "standard_error": errors[i],
        }
        for i, name in enumerate(names)
    ]
    taken = next(i for i, row in enumerate(table) if row["difference"] <= row["standard_error"])
    return table, names[taken], _reason(table, taken, best, score, number)


def _reason(table: list[dict[str, Any]], taken: int, best: int, score: str, number: int) -> str:
    loss = {"brier": "Brier score", "log": "log loss"}[score]
    start = f"{table[taken]['method']}: "
    held_out = f"{loss} {table[taken]['loss']:.5f} on held-out rows ({number} folds)"
    if taken == best:
        return f"{start}the smallest {held_out}."
    return (
        f"{start}{held_out} is within one standard error of the smallest, "
        f"{table[best]['loss']:.5f} of {table[best]['method']} "
        f"(difference {table[taken]['difference']:.5f}, standard error "
        f"{table[taken]['standard_error']:.5f}), and it is the simpler method."
    )


def _difference_error(means: LawMeans, i: int, best: int) -> float:
    gradient = np.zeros(means.covariance.shape[0])
    k = means.positive.size
    for place, sign in ((i, 1.0), (best, -1.0)):
        gradient[place] += sign * means.prior
        gradient[k + place] += sign
        gradient[-1] += sign * means.positive[place]
    return float(np.sqrt(means.variance(gradient)))


def _cross_fitted(
    scores: PUScores, names: list[str], score: str, number: int, seed: int
) -> LawMeans:
    """Return the means of gain and base of all candidates on rows that they have not seen."""
    from noneg.recalibration import make

    loss, k = scoring_rule(score).loss, len(names)
    first, second = np.zeros(2 * k + 2), np.zeros((2 * k + 2, 2 * k + 2))
    for rest, groups in splits(scores, number, seed):
        with warnings.catch_warnings():
            # What the final fit has to say is said once.
            warnings.simplefilter("ignore", CalibrationWarning)
            fitted = [make(name).fit(rest) for name in names]
        for positive, (s, f, a, w) in enumerate(groups):
            row = np.zeros((2 * k + 2, s.size))
            predicted = [calibrator.transform(s) for calibrator in fitted]
            if positive:
                row[: k + 1] = [*(loss(p, 1) - loss(p, 0) for p in predicted), np.ones_like(s)]
                row[: k + 1] *= a
            if not positive or scores.setting != "two-sample":
                row[k + 1 :] = [*(loss(p, 0) for p in predicted), np.ones_like(s)]
                row[k + 1 :] *= w
            first += (row * f).sum(axis=1)
            second += (row * f) @ row.T
    return normalise(scores, first, second, k)
