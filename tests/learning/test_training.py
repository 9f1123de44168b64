"""The training loop: streams, checkpoints, resuming, early stopping, precision, progress."""

import io
import sys
from dataclasses import dataclass

import pytest
import torch
from learning.margins import begin
from torch import nn

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import Algorithm, PUData
from noneg.learning.networks import MLP, new_network
from noneg.learning.task import make_task
from noneg.learning.training import RowStream, Trainer, progress_bar, train, validation_value


class Interrupted(Exception):  # noqa: N818
    pass


@pytest.fixture(scope="module")
def data(world):
    return world.two_sample(101, 403, seed=2)[0]


def fit(algorithm, data, *, trainer=None, validation=None, resume=None, **options):
    options = {"steps": 20, "batch_size": 32} | options
    made = trainer or Trainer(**options)
    return made.fit(
        algorithm,
        lambda: nn.Sequential(MLP(3, (8,), outputs=8), nn.Dropout(0.2), nn.Linear(8, 2)),
        data,
        setting="two-sample",
        prior=0.4,
        validation=validation,
        resume=resume,
    )


def flat(algorithm):
    return torch.cat(
        [p.detach().ravel() for m in algorithm.players.values() for p in m.parameters()]
    )


@dataclass(kw_only=True, eq=False)
class Spy(Algorithm):
    """Two players, per-row state, and hooks that record what they saw."""

    title = "spy"
    citation = ""
    probability = ""

    def build(self, network):
        return {"net": network, "other": nn.Linear(3, 1)}

    def prepare(self, data):
        self.state["seen"] = torch.zeros(data.n_unl)
        self.events = []

    def loss(self, player, batch):
        self.events.append((player, batch.progress))
        assert torch.equal(batch.x[: len(batch.pos.x)], batch.pos.x)
        if player == "net":
            p, u = self.scores(batch)
            return u.mean() - p.mean()
        self.state["seen"].index_add_(0, batch.unl.row, torch.ones(len(batch.unl.row)))
        return self.players["other"](batch.unl.x).square().mean()

    def start_epoch(self, epoch):
        assert not torch.is_grad_enabled()
        self.events.append(("epoch", epoch.number))

    def before_scoring(self, data):
        self.events.append(("score", data.n_unl))


def test_players_hooks_and_row_state(data):
    spy = fit(Spy(), data, steps=30, batch_size=31).algorithm
    epochs = [k for kind, k in spy.events if kind == "epoch"]
    assert epochs == [0, 1, 2]  # 403 // 31 = 13 steps per epoch
    net = [k for kind, k in spy.events if kind == "net"]
    assert net == [step / 30 for step in range(30)]
    assert sum(kind == "other" for kind, _ in spy.events) == 30
    assert spy.events[-1] == ("score", 403)
    # 930 unlabeled rows were drawn: each at least twice, some three times.
    assert spy.state["seen"].sum() == 930
    assert set(spy.state["seen"].tolist()) == {2.0, 3.0}


def test_batches_match_their_row_numbers(data):
    @dataclass(kw_only=True, eq=False)
    class Look(Spy):
        def loss(self, player, batch):
            rows = data.unl.float()[batch.unl.row]
            assert torch.equal(batch.unl.x, rows)
            assert torch.equal(batch.pos.x, data.pos.float()[batch.pos.row])
            return super().loss(player, batch)

    fit(Look(), data)


def test_streams_are_independent_and_endless():
    cpu = torch.device("cpu")
    rows = RowStream(7, 5, seed=0, purpose="a", device=cpu)
    drawn = torch.cat([rows.next() for _ in range(21)])
    assert torch.bincount(drawn, minlength=7).tolist() == [15] * 7
    assert not torch.equal(drawn[:7], drawn[7:14])
    other = RowStream(7, 5, seed=0, purpose="b", device=cpu)
    assert not torch.equal(drawn[:35], torch.cat([other.next() for _ in range(7)]))
    large = RowStream(3, 10, seed=0, purpose="a", device=cpu).next()
    assert torch.bincount(large).min() >= 3


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_resume_gives_the_same_weights(optimizer, data, tmp_path):
    options = {"optimizer": optimizer, "checkpoint_every": 7, "folder": tmp_path, "steps": 20}
    whole = fit(Spy(), data, validation=data, **options)
    assert [entry["step"] for entry in whole.history] == [7, 14, 20]

    @dataclass(kw_only=True, eq=False)
    class Broken(Spy):
        def after_step(self, batch):
            if batch.progress == 17 / 20:
                raise Interrupted

    with pytest.raises(Interrupted):
        fit(Broken(), data, validation=data, **options)
    resumed = fit(Spy(), data, validation=data, resume=tmp_path / "last.pt", **options)
    assert torch.equal(flat(resumed.algorithm), flat(whole.algorithm))
    assert torch.equal(resumed.algorithm.state["seen"], whole.algorithm.state["seen"])
    assert resumed.history == whole.history


def test_another_run_cannot_be_resumed(data, tmp_path):
    fit(Spy(), data, folder=tmp_path)
    with pytest.raises(
        ValueError, match=r"'resume' must be a file from the same run, spy .* seed 1"
    ):
        fit(Spy(), data, resume=tmp_path / "last.pt", seed=1)


def test_early_stopping_keeps_the_best_weights(data, world):
    held = world.two_sample(200, 400, seed=9)[0]
    algorithm = ALGORITHMS["upu"]()
    seen = {}

    def remember(algorithm, step):
        seen[step] = flat(algorithm).clone()
        return {"size": float(seen[step].norm())}

    # The learning rate is so high that the result gets worse.
    trainer = Trainer(steps=400, batch_size=32, lr=0.3, checkpoint_every=5, patience=3)
    got = trainer.fit(
        algorithm,
        lambda: MLP(3, (8,)),
        data,
        setting="two-sample",
        prior=0.4,
        validation=held,
        monitor=remember,
    )
    values = {int(entry["step"]): entry["proxy_auc"] for entry in got.history}
    assert got.step == max(values, key=values.get)
    assert got.steps == got.step + 3 * 5 < 400
    assert torch.equal(flat(got.algorithm), seen[got.step])
    assert {"step", "loss", "proxy_auc", "size"} == set(got.history[0])


def test_mixed_precision_trains(data):
    full = fit(ALGORITHMS["nnpu"](), data, steps=60, lr=0.01)
    half = fit(ALGORITHMS["nnpu"](), data, steps=60, lr=0.01, precision="bfloat16")
    x = data.unl.float()
    a, b = full.algorithm.decision(x), half.algorithm.decision(x)
    assert b.dtype == torch.float32
    assert not torch.equal(a, b)
    assert float((a - b).abs().mean()) < 0.1 * float(a.std())


def test_views_are_augmented_in_training_only(data):
    def weak(x, generator):
        return x + torch.randn(x.shape, generator=generator)

    @dataclass(kw_only=True, eq=False)
    class Views(Spy):
        needs_strong = True

        def loss(self, player, batch):
            assert not torch.equal(batch.unl.x, data.unl.float()[batch.unl.row])
            assert torch.equal(batch.unl.strong, 2.0 * data.unl.float()[batch.unl.row])
            return super().loss(player, batch)

        def start_epoch(self, epoch):
            assert torch.equal(epoch.data.unl, data.unl.float())

    augmented = PUData(data.pos, data.unl, weak=weak, strong=lambda x, _: 2.0 * x)
    one, two = (fit(Views(), augmented).algorithm for _ in range(2))
    assert torch.equal(flat(one), flat(two))


def test_the_callers_network_is_not_trained(data):
    net = MLP(3, (4,))
    before = net[1].weight.clone()
    train("upu", net, data.pos, data.unl, setting="two-sample", prior=0.4, steps=5)
    assert torch.equal(net[1].weight, before)


@dataclass(kw_only=True, eq=False)
class Diverging(Spy):
    """Its loss is infinite from the middle of training on."""

    def loss(self, player, batch):
        value = super().loss(player, batch)
        return value * torch.where(torch.tensor(batch.progress) < 0.5, 1.0, torch.inf)


def test_a_diverging_loss_is_an_error(data):
    with pytest.raises(FloatingPointError, match=r"The loss of spy is (inf|nan) at step 13"):
        fit(Diverging(), data, checkpoint_every=13)


def test_with_validation_rows_the_weights_from_before_are_kept(data):
    options = {"validation": data, "checkpoint_every": 5}
    got = fit(Diverging(), data, **options)
    assert got.diverged
    assert got.steps == 15
    assert [entry["step"] for entry in got.history] == [5, 10]
    assert got.step in (5, 10)
    assert torch.isfinite(flat(got.algorithm)).all()
    assert not fit(Spy(), data, **options).diverged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "'steps' must be"),
        ({"precision": "float8"}, "'precision' must be"),
        ({"optimizer": "lion"}, "'optimizer' must be"),
        ({"criterion": "beauty"}, "'criterion' must be"),
    ],
)
def test_bad_options_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        Trainer(**options)


def test_prior_and_setting_are_never_guessed(data):
    with pytest.raises(ValueError, match="'prior' must be given: UPU"):
        train("upu", MLP(3), data.pos, data.unl, setting="two-sample")
    with pytest.raises(ValueError, match="'setting' must specify"):
        train("upu", MLP(3), data.pos, data.unl, setting=None, prior=0.4)
    with pytest.raises(ValueError, match="'prior' must be at least the labeled share"):
        train("upu", MLP(3), data.pos, data.unl, setting="one-sample", prior=0.1)


# The oracle has no state of its own, and needs labels.
VARIANTS = [
    (name, variant)
    for name, kind in ALGORITHMS.items()
    for variant in kind.variants
    if name != "pn-oracle"
]


class Net(nn.Sequential):
    """With batch statistics and dropout, whose state must also be restored."""

    def __init__(self):
        super().__init__(
            nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        )


def stop(_, step):
    if step > 20:  # by then, the file for step 20 has been written
        raise Interrupted
    return {}


def all_weights(fit):
    modules = [*fit.algorithm.players.values(), *fit.algorithm.frozen.values()]
    return [value for module in modules for value in module.state_dict().values()]


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_resumed_run_ends_with_the_same_weights(name, variant, tmp_path):
    rng = torch.Generator().manual_seed(0)
    data = PUData(torch.randn(60, 3, generator=rng) + 1.0, torch.randn(150, 3, generator=rng))
    trainer = Trainer(steps=40, batch_size=50, checkpoint_every=10, folder=tmp_path)

    def fit(**options):
        return trainer.fit(
            ALGORITHMS[name](variant=variant),
            Net,
            data,
            setting="two-sample",
            prior=0.4,
            validation=data,
            **options,
        )

    whole = fit()
    with pytest.raises(Interrupted):
        fit(monitor=stop)
    resumed = fit(resume=tmp_path / "last.pt")
    assert resumed.history == whole.history
    for one, other in zip(all_weights(whole), all_weights(resumed), strict=True):
        assert torch.equal(one, other)


def test_criteria_of_a_population_need_a_prior():
    task = make_task(3, 3, setting="two-sample", prior=None)
    method = begin("cvir", torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]), task)
    rows = PUData(torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [1.5]]))
    with pytest.raises(ValueError, match="'prior' must be given for the criterion 'log_loss'"):
        validation_value(method, rows, "log_loss")
    assert task.balanced_shift == 0.0


def test_a_function_makes_a_network_and_an_optimizer():
    layer = torch.nn.Linear(2, 1)
    assert new_network(lambda: layer) is layer

    def made(parameters):
        return torch.optim.SGD(parameters, lr=0.125)

    optimizer = Trainer(optimizer=made).make_optimizer(layer.parameters())
    assert optimizer.param_groups[0]["lr"] == 0.125


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


def test_a_table_that_is_not_standardized_is_named():
    data = PUData(torch.full((8, 2), 7.5), torch.full((8, 2), 7.5))
    trainer = Trainer(steps=1, batch_size=4)
    with pytest.warns(UserWarning, match=r"not standardized: .* of 7\.5\..*PUClassifier does"):
        trainer.fit(ALGORITHMS["upu"](), lambda: MLP(2), data, setting="two-sample", prior=0.4)
