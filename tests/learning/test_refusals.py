"""What learners refuse, by name, and what they say where an extra is missing."""

import io
import sys

import numpy as np
import pytest
import torch
from learning.margins import begin

import noneg.learning
from noneg.learning import LinearPU, tabular
from noneg.learning.algorithms import find_algorithm
from noneg.learning.contract import PUData
from noneg.learning.losses import find_loss, natural_break
from noneg.learning.networks import CNN, new_network
from noneg.learning.task import make_task
from noneg.learning.training import Trainer, progress_bar, validation_value
from noneg.performance import oracle_accuracy
from noneg.prior import estimate_prior
from noneg.sklearn import PUStratifiedKFold

ROWS = torch.zeros(3, 2)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: find_algorithm("luck"), r"'algorithm' must be one of upu, nnpu.*got 'luck'"),
        (lambda: find_loss("cubic"), r"'loss' must be one of .*got 'cubic'"),
        (lambda: CNN(norm="layer"), r"'norm' must be 'batch' or 'group', got 'layer'"),
        (lambda: PUData(ROWS[:0], ROWS), r"'pos' must hold at least one row"),
        (lambda: PUData(ROWS, ROWS[:0]), r"'unl' must hold at least one row"),
        (lambda: PUData(ROWS, ROWS[:, :1]), r"rows of one shape, got \(3, 2\) and \(3, 1\)"),
    ],
)
def test_wrong_arguments_are_named(build, words):
    with pytest.raises(ValueError, match=words):
        build()


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
        ValueError, match=r"what is positive\. Pass booleans, for example \w+ == 'fraud'\.$"
    ):
        learn(x, y)


def test_scores_of_weighted_rows_are_somebody_elses():
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model = LinearPU(setting="two-sample", prior=0.5).fit(x, y)
    with pytest.raises(
        ValueError, match=r"'sample_weight' must be None; weigh with noneg\.sklearn"
    ):
        model.score(x, y, sample_weight=np.ones(4))


def test_a_search_that_does_not_end_is_named(monkeypatch):
    """One step is too few for any problem; people are told to raise alpha."""
    monkeypatch.setattr(tabular, "_MOST_STEPS", 1)
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    for loss in ("logistic", "double-hinge"):
        with pytest.raises(ArithmeticError, match="alpha"):
            LinearPU(setting="two-sample", prior=0.5, loss=loss).fit(x, y)


def test_criteria_of_a_population_need_a_prior():
    task = make_task(3, 3, setting="two-sample", prior=None)
    method = begin("cvir", torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]), task)
    rows = PUData(torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [1.5]]))
    with pytest.raises(ValueError, match="'prior' must be known for 'log_loss', got None"):
        validation_value(method, rows, "log_loss")
    assert task.balanced_shift == 0.0


def test_a_function_makes_a_network_and_an_optimizer():
    layer = torch.nn.Linear(2, 1)
    assert new_network(lambda: layer) is layer

    def made(parameters):
        return torch.optim.SGD(parameters, lr=0.125)

    optimizer = Trainer(optimizer=made).make_optimizer(layer.parameters())
    assert optimizer.param_groups[0]["lr"] == 0.125


def test_a_single_trend_is_its_own_break():
    assert natural_break(torch.tensor([3.5])) == 3.5


def test_a_bar_is_drawn_on_terminals_only(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    for screen, drawn in ((Screen(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setenv("TERM", "xterm")
        with progress_bar(10, "nnPU", show=True) as at:
            at(10)
        assert ("nnPU" in screen.getvalue()) == drawn


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
