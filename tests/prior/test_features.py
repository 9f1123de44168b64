"""Estimators from features: formulas, cross-fitting, and worlds with a known share."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from noneg.prior import (
    FROM_FEATURES,
    Dedpul,
    FeatureSamples,
    KernelMeanGradient,
    KernelMeanRoot,
    PenalisedL1,
    ReCPEFeatures,
    ScoreLaws,
    Tedn,
    Tice,
    default_classifiers,
    discriminate,
    estimate_prior,
)
from noneg.prior.candidates import clearly_better
from noneg.prior.discriminator import cross_fit
from noneg.prior.kernel_mean import Walk, project
from noneg.prior.tice import _best_bound


def blobs(share, n, m, far=4.0, d=2, seed=0):
    rng = np.random.default_rng(seed)
    hidden = round(share * m)
    p, u = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    p[:, 0] += far
    u[:hidden, 0] += far
    return FeatureSamples(p, u, "two-sample")


def table(samples):
    n, m = len(samples.positive), len(samples.unlabeled)
    return np.concatenate([samples.positive, samples.unlabeled]), np.repeat([1, 0], [n, m])


TOLERANCE = {"tedn": 0.05, "km1": 0.12, "km2": 0.12, "tice": 0.15, "penl1": 0.15}


@pytest.mark.parametrize("name", list(TOLERANCE))
@pytest.mark.parametrize("share", [0.25, 0.6])
def test_separated_classes_are_recovered(name, share):
    options = {"classifier": LogisticRegression()} if name == "tedn" else {}
    estimator = FROM_FEATURES[name](**options)
    found = [estimator.find(blobs(share, 400, 800, seed=s)).share for s in range(1)]
    assert abs(np.mean(found) - share) < TOLERANCE[name]


def test_the_two_rules_of_kernel_means_differ():
    samples = blobs(0.3, 60, 90)
    walk = Walk.along(samples.positive, samples.unlabeled, steps=100)
    assert KernelMeanRoot().limit(walk) == pytest.approx(1 / np.sqrt(60))
    gradient = 0.8 * walk.distance(1.05) / 0.05 + 0.2 * walk.apart
    assert KernelMeanGradient().limit(walk) == pytest.approx(gradient, rel=1e-6)


def test_the_distance_to_the_hull_is_that_of_least_squares():
    samples = blobs(0.4, 40, 60, far=2.0)
    walk = Walk.along(samples.positive, samples.unlabeled, steps=2000)
    root = np.linalg.cholesky(walk.kernel + 1e-10 * np.eye(100)).T
    heavy = 1e4 * np.ones((1, 100))
    for at in (1.2, 2.0, 4.0):
        target = at * walk.unlabeled + (1 - at) * walk.positive
        v, _ = nnls(np.vstack([root, heavy]), np.append(root @ target, 1e4), maxiter=100_000)
        exact = np.sqrt((v - target) @ walk.kernel @ (v - target))
        assert walk.distance(at) == pytest.approx(exact, rel=0.02, abs=2e-3)
    assert walk.distance(1.0) == pytest.approx(0.0, abs=1e-9)


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=8)
        y = project(x)
        assert y.sum() == pytest.approx(1)
        assert (y >= 0).all()
        # Moving mass to any other corner increases the distance.
        assert ((x - y) @ (np.eye(8) - y).T <= 1e-12).all()


def test_the_bound_of_a_pure_box_is_the_formula():
    """One column, its upper half pure: 60 of 100 labelled there among the estimating rows."""
    cells = np.repeat([[0], [3]], [400, 200], axis=0).astype(np.uint8)
    labels = np.zeros(600, dtype=bool)
    labels[400:460] = labels[500:560] = True
    in_tree = np.zeros(600, dtype=bool)
    in_tree[:200] = in_tree[400:500] = True
    delta = max(0.025, 1 / (1 + 0.004 * 300))
    exact = 0.6 - np.sqrt(0.25 * (1 - delta) / delta / 100)
    assert _best_bound(cells, labels, in_tree, 0.5) == pytest.approx(exact)


def test_rows_are_scored_by_classifiers_that_did_not_see_them():
    """A tree that learns rows by heart must not know the rows it scores."""
    rng = np.random.default_rng(0)
    noise = FeatureSamples(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)), "two-sample")
    p, u = cross_fit(noise, DecisionTreeClassifier(random_state=0))
    auc = np.mean(p[:, None] > u[None, :]) + 0.5 * np.mean(p[:, None] == u[None, :])
    assert abs(auc - 0.5) < 4 / np.sqrt(12 * 150)


def chosen(samples, **options):
    """Return what is taken when no classifier is named, and the logits of it."""
    n, d = samples.positive.shape
    pair = default_classifiers(n, d)
    found = cross_fit(samples, **options)
    tried = [cross_fit(samples, model, **options) for model in pair]
    same = [all(np.array_equal(a, b) for a, b in zip(found, each, strict=True)) for each in tried]
    assert same[int(clearly_better(tried[1], tried[0]))]
    return ("forest", "curves")[same.index(True)]


def test_smooth_worlds_get_curves_and_interactions_a_forest():
    """One feature, wider negatives, as DEDPUL's authors draw them; and an exclusive or."""
    rng = np.random.default_rng(0)
    u = np.append(rng.normal(size=1500), 2 * rng.normal(size=1500))
    line = FeatureSamples(rng.normal(size=(500, 1)), u[:, None], "two-sample")
    assert chosen(line) == "curves"
    both = rng.choice([-1.0, 1.0], size=(900, 2)) + 0.2 * rng.normal(size=(900, 2))
    agree = both[:, 0] * both[:, 1] > 0
    squares = FeatureSamples(both[agree][:200], both, "two-sample")
    assert chosen(squares) == "forest"


def test_better_by_two_standard_errors_and_no_less():
    """A gain of g for every second positive, none elsewhere: clear from 4 positives on."""
    for n, clear in ((2, False), (4, False), (6, True), (400, True)):
        rows = np.zeros(n), np.zeros(3)
        gain = np.where(np.arange(n) % 2, 1.0, 0.0), np.zeros(3)
        # Mean g / 2, deviation g / 2: above two standard errors if n > 4.
        assert clearly_better(gain, rows) == clear
        assert not clearly_better(rows, gain)
    assert not clearly_better(rows, rows)


def test_one_feature_is_as_good_as_its_true_ratio():
    """Normal classes, means 0 and 2: from the feature as from the exact density ratio."""
    gap = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p, u = rng.normal(size=500), np.append(rng.normal(size=1000), rng.normal(2, 1, 1000))
        flags = np.repeat([1, 0], [500, 2000])
        laws = discriminate(np.append(p, u)[:, None], flags, setting="two-sample")
        exact = [-np.log(0.5 + 0.5 * np.exp(2 * x - 2)) for x in (p, u)]
        truth = ScoreLaws.from_arrays(*exact, setting="two-sample", scale="logit")
        gap.append(Dedpul().find(laws).share - Dedpul().find(truth).share)
    # Each answer has an error of counting of .011 at least; four of them, half of that.
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


def test_rows_to_train_on_that_share_a_part_are_dealt_anew():
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
    # The first is weighted, the second shifted; both are about log p_P / p_U.
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


def test_dropping_likely_positives_keeps_the_answer():
    samples = blobs(0.5, 300, 900, far=3.0)
    for rounds in (1, 3):
        tedn = Tedn(classifier=LogisticRegression(), rounds=rounds)
        assert tedn.find(samples).share == pytest.approx(0.5, abs=0.06)
    X, flags = table(samples)
    found = Tedn(classifier=LogisticRegression()).fit(X, flags, setting="two-sample")
    assert found.method == "tedn"
    assert found.low < 0.5 < found.high


@pytest.mark.parametrize("name", list(FROM_FEATURES))
def test_too_few_rows_are_answered_or_explained(name):
    X = np.random.default_rng(0).normal(size=(20, 2))
    estimator = FROM_FEATURES[name](resamples=2)
    for n in (1, 19):
        flags = np.arange(20) < n
        if hasattr(estimator, "classifier"):
            with pytest.raises(ValueError, match="'labeled' must mark at least two positives"):
                estimator.fit(X, flags, setting="two-sample")
            continue
        found = estimator.fit(X, flags, setting="two-sample")
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.warnings


@pytest.mark.parametrize(
    ("X", "labeled", "match"),
    [
        ([[1.0], [np.nan], [2.0]], [1, 0, 0], "'X' must be finite, got nan in row 1, column 0"),
        ([["a"], ["b"]], [1, 0], "'X' must hold numbers"),
        ([[1.0], [2.0]], [1, 0, 0], "'labeled' must have one entry a row"),
        ([[1.0], [2.0]], [0, 0], "'labeled' must hold at least one labelled positive"),
        ([[1.0], [2.0]], [1, 1], "'labeled' must hold at least one unlabeled row"),
        (np.zeros((2, 0)), [1, 0], "'X' must be a table"),
    ],
)
def test_bad_tables_are_explained(X, labeled, match):
    with pytest.raises(ValueError, match=match):
        FeatureSamples.of(X, labeled, setting="two-sample")


def test_other_mistakes():
    X, flags = table(blobs(0.3, 20, 40))
    with pytest.raises(ValueError, match=r"'folds' must be at least 2, got 1"):
        discriminate(X, flags, setting="two-sample", classifier=LogisticRegression(), folds=1)
    with pytest.raises(ValueError, match=r"'rounds' must be at least 1, got 0"):
        Tedn(rounds=0).fit(X, flags, setting="two-sample")
    with pytest.raises(ValueError, match="'X' must differ"):
        KernelMeanGradient().fit(np.ones((30, 2)), np.arange(30) < 10, setting="two-sample")
    with pytest.raises(ValueError, match=r"'resamples' must be at least 2"):
        PenalisedL1(resamples=1).fit(X, flags, setting="two-sample")
    with pytest.raises(ValueError, match=r"'fraction'"):
        ReCPEFeatures(fraction=0.0)


def test_many_columns_become_components():
    rng = np.random.default_rng(0)
    samples = blobs(0.4, 300, 600, far=6.0)
    more = [
        np.hstack([x, 0.01 * rng.normal(size=(len(x), 60))])
        for x in (samples.positive, samples.unlabeled)
    ]
    found = Tice().find(FeatureSamples(*more, "two-sample"))
    assert abs(found.share - Tice().find(samples).share) < 0.15
