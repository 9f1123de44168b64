"""Separation of positives from unlabeled rows by classifiers that have not seen them."""

import numpy as np
import pytest
from prior.worlds import blobs, table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from noneg.prior import (
    Dedpul,
    FeatureSamples,
    ScoreLaws,
    default_classifiers,
    discriminate,
    estimate_prior,
)
from noneg.prior.discriminator import clearly_better, cross_fit
from noneg.randomness import stream


def test_rows_are_scored_by_classifiers_that_did_not_see_them():
    """A tree that memorizes rows must not have seen the rows it scores."""
    rng = np.random.default_rng(0)
    noise = FeatureSamples(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)), "two-sample")
    p, u = cross_fit(noise, DecisionTreeClassifier(random_state=0))
    auc = np.mean(p[:, None] > u[None, :]) + 0.5 * np.mean(p[:, None] == u[None, :])
    assert abs(auc - 0.5) < 4 / np.sqrt(12 * 150)


def chosen(samples, **options):
    """Return the default classifier and its logits."""
    n, d = samples.positive.shape
    pair = default_classifiers(n, d)
    found = cross_fit(samples, **options)
    tried = [cross_fit(samples, model, **options) for model in pair]
    same = [all(np.array_equal(a, b) for a, b in zip(found, each, strict=True)) for each in tried]
    assert same[int(clearly_better(tried[1], tried[0]))]
    return ("forest", "curves")[same.index(True)]


def test_smooth_populations_get_curves_and_interactions_a_forest():
    """One feature with wider negatives, as DEDPUL's authors draw them; and an exclusive or."""
    rng = np.random.default_rng(0)
    u = np.append(rng.normal(size=1500), 2 * rng.normal(size=1500))
    line = FeatureSamples(rng.normal(size=(500, 1)), u[:, None], "two-sample")
    assert chosen(line) == "curves"
    both = rng.choice([-1.0, 1.0], size=(900, 2)) + 0.2 * rng.normal(size=(900, 2))
    agree = both[:, 0] * both[:, 1] > 0
    squares = FeatureSamples(both[agree][:200], both, "two-sample")
    assert chosen(squares) == "forest"


def test_better_by_two_standard_errors_and_no_less():
    """A gain of g for every second positive and none elsewhere: significant with enough rows."""
    for n, clear in ((2, False), (4, False), (6, True), (400, True)):
        rows = np.zeros(n), np.zeros(3)
        gain = np.where(np.arange(n) % 2, 1.0, 0.0), np.zeros(3)
        # The mean is g / 2 and the deviation g / 2: above two standard errors if n > 4.
        assert clearly_better(gain, rows) == clear
        assert not clearly_better(rows, gain)
    assert not clearly_better(rows, rows)


def test_one_feature_is_as_good_as_its_true_ratio():
    """Normal classes with means 0 and 2: results from the feature agree with the exact density
    ratio."""
    gap = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p, u = rng.normal(size=500), np.append(rng.normal(size=1000), rng.normal(2, 1, 1000))
        flags = np.repeat([1, 0], [500, 2000])
        laws = discriminate(np.append(p, u)[:, None], flags, setting="two-sample")
        exact = [-np.log(0.5 + 0.5 * np.exp(2 * x - 2)) for x in (p, u)]
        truth = ScoreLaws.from_arrays(*exact, setting="two-sample", scale="logit")
        gap.append(Dedpul().find(laws).share - Dedpul().find(truth).share)
    # Each estimate has a counting error of at least .011; the mean of four has half of that.
    assert abs(np.mean(gap)) < 0.03


@pytest.mark.parametrize("d", [3, 101])
def test_few_rows_constant_columns_and_many_columns_are_no_trouble(d):
    rng = np.random.default_rng(0)
    p, u = rng.normal(size=(2, d)), rng.normal(size=(5, d))
    p[:, 1] = u[:, 1] = 7.0
    samples = FeatureSamples(p, u, "two-sample")
    first, again = (cross_fit(samples, seed=3) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert np.isfinite(a).all()
        assert np.array_equal(a, b)


def test_rows_to_train_on_that_share_a_part_are_dealt_again():
    samples = blobs(0.5, 40, 60)
    for first in range(55):
        kept = np.zeros(60, dtype=bool)
        kept[[first, first + 5]] = True
        p, u = cross_fit(samples, LogisticRegression(), folds=2, kept=kept)
        assert np.isfinite([*p, *u]).all()


def test_a_pipeline_is_shifted_to_equal_samples():
    samples = blobs(0.3, 200, 2000, far=2.0)
    plain = cross_fit(samples, LogisticRegression())
    pipe = cross_fit(samples, make_pipeline(StandardScaler(), LogisticRegression()))
    # The first is weighted, and the second is shifted; both approximate log p_P / p_U.
    assert abs(np.mean(plain[1]) - np.mean(pipe[1])) < 0.5
    assert np.corrcoef(plain[1], pipe[1])[0, 1] > 0.98


def test_one_sample_converts():
    X, flags = table(blobs(0.4, 200, 600))
    two = estimate_prior(
        X, flags, setting="two-sample", method="bbe", classifier=LogisticRegression()
    )
    one = estimate_prior(
        X, flags, setting="one-sample", method="bbe", classifier=LogisticRegression()
    )
    assert one.share == pytest.approx(two.share)
    assert one.value == pytest.approx((200 + 600 * two.share) / 800)


class Memory(ClassifierMixin, BaseEstimator):
    """Returns a probability of 0.9 for rows it was trained on, and 0.5 for others."""

    def fit(self, rows, flags):
        self.classes_, self.seen_ = np.unique(flags), rows[:, 0]
        return self

    def predict_proba(self, rows):
        one = np.where(np.isin(rows[:, 0], self.seen_), 0.9, 0.5)
        return np.stack([1 - one, one], axis=1)


def test_a_fold_without_rows_scores_no_row():
    """All training rows lie in part 2 of 5 and are moved to parts 0 and 1; part 2 is then empty."""
    random = stream(0, "prior folds")
    random.permutation(6)
    kept = random.permutation(8) % 5 == 2
    assert kept.sum() == 2
    rows = np.arange(14.0)[:, None]
    samples = FeatureSamples(rows[:6], rows[6:], "two-sample")
    _, unlabeled = cross_fit(samples, Memory(), seed=0, kept=kept)
    assert np.isfinite(unlabeled).all()
    # At most 2 unlabeled rows among 4 to 6 positives shift logits by log(2/4) to log(1/5); a row
    # scored by a classifier that was trained on it would add log(9).
    assert ((np.log(1 / 5) - 1e-9 <= unlabeled) & (unlabeled <= np.log(2 / 4))).all()
