"""Rows dealt to parts, when only a few of the unlabeled ones are to be trained on."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from noneg.prior.discriminator import cross_fit
from noneg.prior.features import FeatureSamples
from noneg.randomness import stream


class Memory(ClassifierMixin, BaseEstimator):
    """Gives rows that it was trained on a probability of 0.9, and others 0.5."""

    def fit(self, rows, flags):
        self.classes_, self.seen_ = np.unique(flags), rows[:, 0]
        return self

    def predict_proba(self, rows):
        one = np.where(np.isin(rows[:, 0], self.seen_), 0.9, 0.5)
        return np.stack([1 - one, one], axis=1)


def test_a_part_that_gives_away_its_rows_scores_nobody():
    """All rows to train on lie in part 2 of 5, and go to parts 0 and 1; part 2 is empty then."""
    random = stream(0, "prior folds")
    random.permutation(6)
    kept = random.permutation(8) % 5 == 2
    assert kept.sum() == 2
    rows = np.arange(14.0)[:, None]
    samples = FeatureSamples(rows[:6], rows[6:], "two-sample")
    _, unlabeled = cross_fit(samples, Memory(), seed=0, kept=kept)
    assert np.isfinite(unlabeled).all()
    # At most 2 unlabeled rows among 4 to 6 positives move logits by log(2/4) to log(1/5); log(9)
    # more would have a row that the classifier which scores it was trained on.
    assert ((np.log(1 / 5) - 1e-9 <= unlabeled) & (unlabeled <= np.log(2 / 4))).all()
