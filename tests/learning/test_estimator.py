"""The scikit-learn interface: clone, pickle, search, recalibration, and no torch unless needed."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noneg.learning
from noneg.calibration import ece
from noneg.errors import InputError
from noneg.learning import BaggingPU, BoostedPU, LinearPU, PUClassifier, WeightedPU
from noneg.learning.algorithms.nnpu import NNPU
from noneg.learning.base import PUEstimator, sigmoid
from noneg.learning.estimator import TABLE_LEARNERS
from noneg.learning.networks import CNN, MLP
from noneg.performance import oracle_accuracy
from noneg.prior import estimate_prior
from noneg.scores import PUScores
from noneg.sklearn import PUStratifiedKFold

SMALL = {"algorithm": "nnpu", "epochs": 3, "batch_size": 64, "recalibrate": None}


def make(kind, setting="one-sample", prior=0.4, **options):
    if kind is PUClassifier:
        options = SMALL | options
    elif kind is WeightedPU:
        options = {"estimator": LogisticRegression()} | options
    elif kind is BaggingPU:
        options = {"n_estimators": 10} | options
    return kind(setting=setting, prior=prior, **options)


KINDS = [PUClassifier, *TABLE_LEARNERS.values()]


@pytest.mark.parametrize("name", TABLE_LEARNERS)
def test_every_table_learner_is_described(name):
    kind = TABLE_LEARNERS[name].__name__
    page = (Path(__file__).parents[2] / "docs" / "learning.md").read_text("utf-8")
    assert f"`{kind}" in page, f"add {kind} to the first table in docs/learning.md"
    assert f'"{name}"' in PUClassifier.__doc__, f"name {name!r} in the docstring of PUClassifier"


@pytest.fixture(scope="module")
def table(world):
    """One sample; half of its positives labeled."""
    x, y = world.draw(1500, world.prior, 21)
    labeled = y & (np.random.default_rng(1).random(1500) < 0.5)
    return x, labeled, y


@pytest.mark.parametrize("kind", KINDS)
def test_conventions(kind, table):
    x, labeled, _ = table
    model = make(kind)
    twin = clone(model)
    assert repr(twin) == repr(model)
    before = {k: v for k, v in model.get_params().items() if k != "estimator"}
    model.fit(x, labeled)
    assert before == {k: v for k, v in model.get_params().items() if k != "estimator"}
    p = model.predict_proba(x)
    assert p.shape == (1500, 2)
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert set(model.predict(x)) <= {0, 1}
    np.testing.assert_array_equal(model.predict(x), p.argmax(1))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(x), p)  # noqa: S301
    np.testing.assert_array_equal(twin.fit(x, labeled).predict_proba(x), p)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert model.n_features_in_ == 3


def assert_answers_agree(model, x):
    margin, p = model.decision_function(x), model.predict_proba(x)
    called = model.predict(x)
    assert np.isfinite(margin).all()
    np.testing.assert_array_equal(margin > 0.0, called)
    np.testing.assert_array_equal(p[:, 1] > 0.5, called)
    np.testing.assert_array_equal(p.argmax(1), called)


@pytest.mark.parametrize(
    "model",
    [
        LinearPU(setting="one-sample", prior=0.4),
        WeightedPU(setting="one-sample", prior=0.4),
        BaggingPU(setting="one-sample", prior=0.4),
        BaggingPU(setting="two-sample", prior=0.7),
        BaggingPU(setting="one-sample"),
        PUClassifier("nnpu", setting="one-sample", prior=0.4, epochs=3),
        PUClassifier(setting="one-sample", prior=0.4),
        PUClassifier("nnpu", setting="two-sample", prior=0.2, epochs=3, recalibrate="prior-shift"),
        PUClassifier("nnpu", setting="two-sample", prior=0.7, epochs=3, recalibrate="isotonic"),
        BoostedPU(setting="two-sample", prior=0.7, recalibrate=None),
    ],
    ids=str,
)
def test_margins_probabilities_and_predictions_agree(model, table):
    x, labeled, _ = table
    assert_answers_agree(clone(model).fit(x, labeled), x)


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose input is its probability."""

    def fit(self, _x, _y):
        return self

    def predict_proba(self, x):
        return np.column_stack([1.0 - x[:, 0], x[:, 0]])


def neighbors(p, n=40):
    """The doubles closest to p, on both sides."""
    return (np.float64(p).view(np.int64) + np.arange(-n, n + 1)).view(np.float64)


@pytest.mark.parametrize("prior", [None, 0.1, 0.3, 0.55])
@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
def test_bagging_agrees_next_to_the_cut_and_keeps_the_order_of_the_average(setting, prior):
    cut = 0.5
    if prior is not None:
        on_pos, on_unl = (0.1, 0.9) if setting == "one-sample" else (0.0, 1.0)
        cut = on_unl / (2 * prior - on_pos + on_unl)
    g = np.concatenate([neighbors(cut), np.linspace(0.0, 1.0, 101)])
    model = BaggingPU(Known(), setting=setting, prior=prior, n_estimators=1)
    model.fit(np.linspace(0, 1, 50)[:, None], np.arange(50) < 5)
    assert_answers_agree(model, g[:, None])
    # Not clipped where the probability is 1: the ranks are those of g.
    assert (np.diff(model.decision_function(g[-101:, None])) > 0.0).all()


def test_ties_and_certain_probabilities():
    class Fixed(PUEstimator):
        classes_ = np.array([0, 1])

        def _check_new(self, X):
            return X

        def _positive(self, X):
            return X

    p = np.concatenate([neighbors(0.5), [0.0, 5e-324, 1e-300, 1.0]])
    assert_answers_agree(Fixed(setting="one-sample"), p)
    margin = np.array([0.0, 5e-324, -5e-324, 1e-17, -1e-17, 1e-16, 1e-15, 800.0, -800.0])
    np.testing.assert_array_equal(sigmoid(margin) > 0.5, margin > 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_score_is_the_proxy_accuracy(kind, table, world):
    model = make(kind).fit(*table[:2])
    x, y = world.draw(4000, world.prior, 22)
    labeled = y & (np.random.default_rng(2).random(4000) < 0.5)
    called = model.predict(x)
    expected = 2 * 0.4 * called[labeled].mean() + (1 - called).mean()
    assert model.score(x, labeled) == pytest.approx(expected)
    # The accuracy plus the prior, up to noise.
    assert model.score(x, labeled) - 0.4 == pytest.approx((called == y).mean(), abs=0.04)


@pytest.mark.parametrize("kind", KINDS)
def test_learns_in_both_settings(kind, world):
    for setting in ("two-sample", "one-sample"):
        draw = (
            world.two_sample(800, 2400) if setting == "two-sample" else world.one_sample(3000, 0.5)
        )
        x = np.concatenate([draw[0].pos.numpy(), draw[0].unl.numpy()])
        labeled = np.arange(len(x)) < draw[0].n_pos
        options = {"epochs": 15} if kind is PUClassifier else {}
        if kind is BaggingPU:
            options = {"estimator": LogisticRegression()}
        model = make(kind, setting, **options).fit(x, labeled)
        rows, y = world.draw(10_000, world.prior, 31)
        assert (model.predict(rows) == y).mean() > world.bayes_accuracy() - 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_checked(kind, table):
    x, labeled, _ = table
    with pytest.raises(ValueError, match="'setting' must specify how"):
        make(kind, setting="guess").fit(x, labeled)
    if not kind.takes_labels:
        with pytest.raises(ValueError, match="must be 'two-sample' or 'one-sample'"):
            make(kind, setting="labeled").fit(x, labeled)
    with pytest.raises(ValueError, match="'y' must contain at least one labeled positive"):
        make(kind).fit(x, np.zeros(1500))
    with pytest.raises(ValueError, match="'y' must have one entry per row"):
        make(kind).fit(x, labeled[:-1])
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        make(kind).fit(x, labeled).predict(x[:, :2])
    if kind is not BaggingPU:
        with pytest.raises(ValueError, match=r"'prior' must be given.*"):
            make(kind, prior=None).fit(x, labeled)


def test_an_unknown_name_is_compared_with_table_learners_and_networks(table):
    x, labeled, _ = table
    known = (
        r"'algorithm' must be one of auto, boosted, .*nnpu.*got 'bosted'\. Did you mean 'boosted'"
    )
    with pytest.raises(ValueError, match=known):
        PUClassifier("bosted", setting="one-sample", prior=0.4).fit(x, labeled)


def test_grid_search_and_pipeline(table):
    x, labeled, _ = table
    model = PUClassifier(setting="one-sample", prior=0.4, **SMALL)
    grid = {"lr": [1e-5, 1e-2], "algorithm": ["upu", NNPU(loss_name="sigmoid")]}
    search = GridSearchCV(model, grid, cv=2).fit(x, labeled)
    assert search.best_params_["lr"] == 1e-2
    pipeline = make_pipeline(StandardScaler(), LinearPU(setting="one-sample", prior=0.4))
    assert pipeline.fit(x, labeled).score(x, labeled) > 1.1


def test_recalibration_repairs_overconfidence(world):
    """The sigmoid loss drives scores to 0 and 1; four seeds gave .14 to .15 and .01 to .04."""
    data, _ = world.two_sample(800, 3000)
    x = np.concatenate([data.pos.numpy(), data.unl.numpy()])
    labeled = np.arange(len(x)) < 800
    rows, y = world.draw(20_000, world.prior, 41)
    model = PUClassifier(
        NNPU(loss_name="sigmoid"),
        setting="two-sample",
        prior=world.prior,
        network=lambda: MLP(3, (50,)),
        epochs=20,
        batch_size=200,
        lr=0.01,
    ).fit(x, labeled)
    raw = expit(model._margin(rows))
    repaired = model.predict_proba(rows)[:, 1]
    before, after = (ece(PUScores.from_labels(y, s), bins=20) for s in (raw, repaired))
    assert before > 0.1
    assert after < 0.05


def test_validation_and_early_stopping(table):
    x, labeled, _ = table
    options = SMALL | {"epochs": 10, "algorithm": "tedn"}
    model = PUClassifier(setting="one-sample", validation=0.2, patience=2, **options)
    model.fit(x, labeled)
    assert "proxy_auc" in model.history_[-1]


@pytest.mark.parametrize("name", ["tedn", "vpu"])
def test_methods_without_a_prior_need_nothing_else(name, table):
    """A fifth of the rows is held out if the method requires it; no prior, no recalibration."""
    x, labeled, y = table
    model = PUClassifier(name, setting="one-sample", epochs=10).fit(x, labeled)
    assert model.calibrator_ is None
    assert (model.predict(x) == y).mean() > 0.7


@pytest.mark.parametrize("name", ["pusb", "lbe", "pue"])
def test_methods_for_selected_labels_are_not_recalibrated_under_scar(name, table):
    x, labeled, _ = table
    model = PUClassifier(name, setting="one-sample", prior=0.4, epochs=2)
    assert model.fit(x, labeled).calibrator_ is None
    assert model.set_params(recalibrate="platt").fit(x, labeled).calibrator_.name == "platt"


def test_images_and_own_networks(table):
    rng = np.random.default_rng(0)
    labeled = np.arange(60) < 20
    images = rng.normal(size=(60, 1, 28, 28)) + labeled[:, None, None, None]
    default = SMALL | {"algorithm": None}
    model = PUClassifier(setting="two-sample", prior=0.4, network=CNN, **default)
    assert model.fit(images, labeled).predict_proba(images).shape == (60, 2)
    assert model.algorithm_.name == "nnpu"
    x, labeled, _ = table
    own = PUClassifier(setting="one-sample", prior=0.4, network=MLP(3, (4,), outputs=1), **SMALL)
    assert own.fit(x, labeled).predict(x).shape == (1500,)


def test_weights_are_the_posterior_of_unlabeled_rows(table, world):
    x, labeled, _ = table
    model = make(WeightedPU).fit(x, labeled)
    a = (0.4 * 1500 - labeled.sum()) / (~labeled).sum()
    odds = a / (1 - a) * np.exp(2 * world.m * x[~labeled, 0])
    assert np.abs(model.weights_ - odds / (1 + odds)).mean() < 0.08


def test_bagging_scores_unlabeled_rows_out_of_bag(table):
    x, labeled, y = table
    model = make(BaggingPU, n_estimators=30).fit(x, labeled)
    oob = model.out_of_bag_
    hidden = y[~labeled]
    assert np.isfinite(oob).all()
    assert oob[hidden].mean() > oob[~hidden].mean() + 0.2
    # Without a prior, the probability is the average itself.
    plain = make(BaggingPU, prior=None).fit(x, labeled)
    np.testing.assert_allclose(plain.predict_proba(x)[:, 1], plain.decision_function(x) + 0.5)


def test_table_learners_do_not_load_torch():
    code = (
        "import sys, numpy as np\n"
        "from noneg.learning import BaggingPU, LinearPU, PUClassifier, WeightedPU\n"
        "x, s = np.arange(40.0)[:, None] % 7, np.arange(40) % 4 == 0\n"
        "for kind in (BaggingPU, LinearPU, PUClassifier, WeightedPU):\n"
        "    kind(setting='one-sample', prior=0.5).fit(x, s).predict(x)\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_default_is_deterministic_and_leaves_the_global_state(table):
    x, labeled, _ = table
    before = torch.get_rng_state()
    make(PUClassifier).fit(x, labeled)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "learn",
    [
        lambda x, y: LinearPU(setting="two-sample", prior=0.5).fit(x, y),
        lambda x, y: oracle_accuracy([0, 1] * 2, x[:, 0] / 4, labeled=y, setting="two-sample"),
        lambda x, y: list(PUStratifiedKFold(2, setting="two-sample").split(x, y)),
        lambda x, y: estimate_prior(x, y, setting="two-sample"),
    ],
    ids=["learner", "metric", "splitter", "prior"],
)
def test_advice_on_labels_names_no_argument_that_is_not_there(learn):
    x, y = np.arange(4.0)[:, None], np.array(["ok", "fraud", "ok", "fraud"])
    with pytest.raises(
        ValueError,
        match=r"value is unclear\. Pass (booleans, for example \w+ == 'fraud'|the pos.*)\.$",
    ):
        learn(x, y)


def test_the_score_takes_weights(table):
    x, labeled, _ = table
    model = LinearPU(setting="one-sample", prior=0.4).fit(x, labeled)
    twice = np.repeat(np.arange(1500), 1 + (x[:, 1] > 0))
    weighted = model.score(x, labeled, sample_weight=1.0 + (x[:, 1] > 0))
    assert weighted == pytest.approx(model.score(x[twice], labeled[twice]))
    with pytest.raises(InputError, match="'sample_weight' must have one entry per row, got 2"):
        model.score(x, labeled, sample_weight=[1.0, 2.0])
    with pytest.raises(InputError, match="must be finite and not negative, got nan in row 0"):
        model.score(x, labeled, sample_weight=np.full(1500, np.nan))


@pytest.mark.parametrize("learner", [BaggingPU, WeightedPU])
def test_a_table_without_rows_lacks_positives(learner):
    with pytest.raises(InputError, match="'y' must contain at least one labeled positive"):
        learner(setting="one-sample", prior=0.4).fit(np.empty((0, 3)), np.empty(0, bool))


@pytest.mark.parametrize(
    ("rows", "steps"), [(256, 1_000), (128 * 50, 1_500), (128 * 1_000, 20_000)], ids=str
)
def test_updates_have_a_floor_and_a_ceiling(rows, steps, monkeypatch):
    """30 epochs are 60, 1,500 and 30,000 updates."""
    asked = []

    def note(self, *_, **__):
        asked.append(self.steps)
        raise InterruptedError

    monkeypatch.setattr("noneg.learning.training.Trainer.fit", note)
    model = PUClassifier("upu", setting="two-sample", prior=0.4)
    with pytest.raises(InterruptedError):
        model.fit(np.zeros((rows + 20, 1)), np.arange(rows + 20) < 20)
    assert asked == [steps]


def test_a_missing_torch_is_named_with_its_extra(monkeypatch):
    def absent(_):
        raise ModuleNotFoundError(f"No module named '{missing}'", name=missing)

    monkeypatch.setattr(noneg.learning, "import_module", absent)
    missing = "torch"
    with pytest.raises(ImportError, match=r"noneg\.learning needs torch\. .*noneg\[learn\]"):
        noneg.learning.PUClassifier  # noqa: B018
    missing = "something_else"
    with pytest.raises(ModuleNotFoundError, match="something_else"):
        noneg.learning.PUClassifier  # noqa: B018
