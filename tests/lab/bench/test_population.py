"""Populations: each member gives the same result as a single run, and none affects another."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from noneg.cli import main
from noneg.errors import InputError
from noneg.lab.bench import RunConfig, draws, engine, load_records, select, sweep
from noneg.lab.bench.criteria import CRITERIA, Criteria, probabilities
from noneg.lab.bench.draws import Draw, Training, Validation, draw
from noneg.lab.bench.engine import Crew, families, make_member, run_all
from noneg.lab.bench.measures import on_validation
from noneg.lab.bench.population import Population
from noneg.lab.bench.programs import row_plan
from noneg.lab.bench.work import set_up, started, versions
from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.training import RowStream

# Here an epoch has five steps, so that every method goes through its stages.
RUN = RunConfig(
    dataset="breast_cancer",
    setting="one-sample",
    algorithm="nnpu",
    steps=60,
    every=20,
    variant="bench",
)
# One version of each method that can be trained as one program, and originals with randomness or
# state.
BENCH = {m[0]: m for m in reversed(versions()) if m[1] == "bench"}
OTHERS = [m for m in versions() if m[1] == "ref" and m[0] not in BENCH and m[0] != "tedn"]
STATEFUL = [(name, "ref", None) for name in ("vpu", "dist-pu", "glws", "lbe", "pubn", "robust-pu")]
TRAINED = [*BENCH.values(), *OTHERS, *STATEFUL]


def weights(algorithm):
    parts = [p.detach().flatten() for m in algorithm.players.values() for p in m.parameters()]
    return torch.cat(parts)


def alone(run):
    with started(run, draw(run), device="cpu") as begun:
        for module in begun.algorithm.players.values():
            module.train()
        while begun.step < begun.total:
            begun.advance()
    return begun.algorithm


def populations(runs):
    crew = Crew(".", device="cpu")
    for family in families(runs):
        crew.begin(family)
    return crew.going


def finished(runs):
    for family, population in populations(runs):
        while population.step < population.total:
            population.advance()
        yield from zip(family, (run.algorithm for run in population.runs), strict=True)


@pytest.mark.parametrize("method", TRAINED, ids=lambda m: "/".join(map(str, m)))
def test_a_member_is_its_single_run(method):
    names = dict(zip(("algorithm", "variant", "correction"), method, strict=True))
    runs = [replace(RUN, **names, configuration=k, split=k % 2) for k in (0, 2)]
    for run, algorithm in finished(runs):
        one, many = weights(alone(run)), weights(algorithm)
        # Rounding errors, which losses that sharpen their own labels amplify.
        assert (one - many).abs().max() <= 1e-3 * one.abs().max()


@pytest.fixture
def images(monkeypatch):
    """A few random images in place of CIFAR-10, and a run on them."""
    random = np.random.default_rng(0)

    def noise(n):
        return random.normal(size=(n, 3, 32, 32)).astype(np.float32)

    rows = Draw(
        Training(noise(200), noise(300)),
        Validation(noise(30), noise(50), random.integers(0, 2, 50)),
        draws.Test(noise(20), random.integers(0, 2, 20), np.ones(20)),
        prior=0.5,
    )
    monkeypatch.setattr(engine, "rows_of", lambda _: rows)
    return rows, replace(RUN, dataset="cifar10", steps=3, every=3)


@pytest.mark.parametrize("name", ["nnpu", "cvir"])
def test_a_network_for_images_is_a_population_of_one(images, name):
    rows, run = images
    run = replace(run, algorithm=name)
    ((family, population),) = populations([run])
    population.advance()
    with started(run, rows, device="cpu") as begun:
        for module in begun.algorithm.players.values():
            module.train()
        while begun.step < begun.total:
            begun.advance()
    assert family == [run]
    # Batch normalization's running means and variances are among these.
    one, many = (
        a.players["net"].state_dict() for a in (begun.algorithm, population.runs[0].algorithm)
    )
    torch.testing.assert_close(many, one, rtol=1e-3, atol=1e-5)


def test_images_train_in_half_precision(images, tmp_path):
    _, run = images
    runs = [run, replace(run, algorithm="ncpu", variant="ref")]
    assert run_all(runs, tmp_path, population=2, precision="bfloat16")["done"] == 2
    assert {record["precision"] for record in load_records(tmp_path)} == {"bfloat16"}


def test_configurations_differ_within_a_population():
    runs = [replace(RUN, configuration=k) for k in (0, 2)]
    one, two = (weights(algorithm) for _, algorithm in finished(runs))
    assert (one - two).abs().max() > 1e-4


def test_records_choose_what_single_runs_choose(tmp_path):
    axes = {"dataset": ["breast_cancer"], "setting": ["one-sample"], "steps": [60], "every": [10]}
    runs = sweep(**axes, algorithm=["nnpu", "pusb"], configuration=range(2), split=range(2))
    assert run_all(runs, tmp_path / "many", population=5)["done"] == 8
    assert run_all(runs, tmp_path / "one")["done"] == 8
    for criterion in CRITERIA:
        many, one = (select(load_records(tmp_path / x), by=criterion) for x in ("many", "one"))
        for ours, theirs in zip(many, one, strict=True):
            assert (ours.run, ours.step) == (theirs.run, theirs.step)
            assert ours.metrics == pytest.approx(theirs.metrics, abs=1e-5)
    assert run_all(runs, tmp_path / "many", population=5)["kept"] == 8


class Exploding(ALGORITHMS["nnpu"]):
    """A method whose loss becomes NaN on request."""

    beyond: float = math.inf

    def loss(self, player, batch):
        late = torch.as_tensor(batch.progress) >= self.beyond
        return super().loss(player, batch) * torch.where(late, torch.nan, 1.0)


def test_a_diverging_member_does_not_hurt_the_others():
    runs = [replace(RUN, split=k) for k in range(3)]
    members = [make_member(run, "cpu") for run in runs]
    for member in members:
        member.run.algorithm.__class__ = Exploding
    population = Population(members)
    population._hyper["beyond"] = torch.tensor([math.inf, 0.5, math.inf])
    while population.step < population.total:
        population.advance()
    assert population.checkpoints.finite.tolist() == [True, False, True]
    assert population.checkpoints.ended.tolist() == [0, 40, 0]
    # Its earlier checkpoints remain.
    assert population.checkpoints.chosen[:, 1].max() == 20
    for m in (0, 2):
        got = weights(population.runs[m].algorithm)
        torch.testing.assert_close(got, weights(alone(runs[m])), atol=1e-4, rtol=1e-3)


def test_a_member_that_raises_is_a_failed_record(tmp_path, monkeypatch):
    kind = ALGORITHMS["cvir"]
    start, seen = kind.start_epoch, []

    def once(self, epoch):
        if epoch.number == 1 and not seen:
            seen.append(self)
            raise ValueError("a broken epoch")
        start(self, epoch)

    monkeypatch.setattr(kind, "start_epoch", once)
    runs = [replace(RUN, algorithm="cvir", split=k) for k in range(3)]
    counts = run_all(runs, tmp_path, population=3)
    assert (counts["done"], counts["failed"]) == (2, 1)
    errors = [r["error"] for r in load_records(tmp_path) if r["status"] == "failed"]
    assert errors == ["ValueError: a broken epoch"]


def test_methods_that_cannot_be_stacked_are_trained_alone(tmp_path):
    counts = run_all([replace(RUN, algorithm="tedn", variant="ref")], tmp_path, population=2)
    assert counts["done"] == 1


def test_runs_without_enough_rows_are_failed_records(tmp_path):
    counts = run_all([replace(RUN, setting="two-sample"), RUN], tmp_path, population=2)
    assert (counts["done"], counts["failed"]) == (1, 1)
    (error,) = (r["error"] for r in load_records(tmp_path) if r["status"] == "failed")
    assert "must leave enough rows of every class of breast_cancer" in error


def test_families_share_a_program():
    runs = [replace(RUN, configuration=k, split=s) for k in range(4) for s in range(2)]
    found = families(runs)
    assert sorted(run.key for family in found for run in family) == sorted(r.key for r in runs)
    assert all(len({set_up(run).batch for run in family}) == 1 for family in found)
    other = replace(RUN, given_prior=0.4)
    assert len(families([RUN, other])) == 2


def test_unlike_members_are_rejected():
    members = [make_member(r, "cpu") for r in (RUN, replace(RUN, steps=40))]
    with pytest.raises(InputError, match="'runs' must share one algorithm"):
        Population(members)


@pytest.mark.parametrize("setting", ["one-sample", "two-sample"])
@pytest.mark.parametrize("scale", [1.0, 40.0, 3000.0])
def test_criteria_are_those_of_the_library(setting, scale):
    random = np.random.default_rng(0)
    p, u = (scale * random.normal(m, 1.0, (3, n)) for m, n in ((1.0, 60), (0.0, 140)))
    if scale == 40.0:  # ties
        p, u = np.rint(p / 40.0), np.rint(u / 40.0)
    labels = random.integers(0, 2, (3, 140))
    p, u = (probabilities(torch.from_numpy(x)) for x in (p, u))
    found = Criteria(60, 140, 0.5, setting)(p, u, torch.from_numpy(labels))
    for m in range(3):
        wanted, _ = on_validation(p[m].numpy(), u[m].numpy(), labels[m], prior=0.5, setting=setting)
        assert found[:, m].tolist() == pytest.approx([wanted[name] for name in CRITERIA], abs=1e-9)


def test_row_plans_are_the_streams_of_a_single_run():
    plan = row_plan(7, 30, 50, 8, 20)
    cpu = torch.device("cpu")
    rows = {
        "pos": RowStream(30, 8, seed=7, purpose="positive rows", device=cpu),
        "unl": RowStream(50, 8, seed=7, purpose="unlabeled rows", device=cpu),
    }
    for step in plan:
        assert step[:8].tolist() == rows["pos"].next().tolist()
        assert (step[8:] - 30).tolist() == rows["unl"].next().tolist()


def test_the_command_trains_populations(tmp_path):
    base = ["bench", "run", "--dataset", "digits", "--setting", "one-sample"]
    options = ["--algorithm", "upu", "--splits", "2", "--steps", "20", "--every", "10"]
    folder = ["--out", str(tmp_path / "records")]
    runner = CliRunner()
    assert "2 done" in runner.invoke(main, [*base, *options, *folder, "--population", "2"]).output
    refused = runner.invoke(main, [*base, *options, *folder, "--population", "0"])
    assert refused.exit_code != 0
    assert "--population" in refused.output


@pytest.mark.parametrize(
    ("name", "other"), [("scheduler", "tcp://here:1"), ("precision", "float16")]
)
def test_options_that_do_not_go_together(tmp_path, name, other):
    with pytest.raises(InputError, match=f"'{name}' must"):
        run_all([RUN], tmp_path, population=2, **{name: other})
