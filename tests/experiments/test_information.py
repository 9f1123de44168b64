"""The mathematics of experiments/information: stacked networks, their rows, and the tables."""

import numpy as np
import pytest

from noneg.lab.supersample import PUSupersample

torch = pytest.importorskip("torch")

from experiments.information import analysis, ensemble, study  # noqa: E402


@pytest.fixture
def few(monkeypatch):
    """Random images, and a pool that consists of them."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (300, 1, 28, 28)).astype(np.uint8)
    labels = rng.integers(0, 2, 300)
    monkeypatch.setattr(analysis, "pool", lambda _: (pixels, labels))
    return ensemble.Images("mnist", pixels, labels, "cpu")


def trained(images, monkeypatch, way, optimizer="sgld", kind="labeled"):
    monkeypatch.setitem(ensemble.BATCH, optimizer, 8)
    cell = analysis.Cell("mnist", kind, optimizer, 20, 1, 2, 2)
    rows, whole = ensemble.rows_of(cell, "cpu")
    training = ensemble.Training("mnist", optimizer, rows, way=way, device="cpu", seed=0)
    for _ in range(cell.epochs):
        training.epoch(images)
    return training.margins(images, whole, part=17)


@pytest.mark.parametrize("kind", ["labeled", "pu"])
def test_three_ways_to_convolve_train_the_same_networks(few, monkeypatch, kind):
    found = [trained(few, monkeypatch, way, kind=kind) for way in ("group", "patch", "loop")]
    assert found[1] == pytest.approx(found[0], abs=1e-5)
    assert found[2] == pytest.approx(found[0], abs=1e-5)
    # Different rows, weights and noise: the networks share nothing.
    assert np.abs(found[0][0] - found[0][1]).max() > 0.01


def test_a_network_of_an_ensemble_is_one_trained_alone(few):
    from noneg.learning.networks import CNN, margin
    from noneg.learning.task import soft_cross_entropy

    cell = analysis.Cell("mnist", "labeled", "sgd", 20, 1, 2, 2)
    rows, whole = ensemble.rows_of(cell, "cpu")
    together = ensemble.Training("mnist", "sgd", rows, way="group", device="cpu", seed=0)
    together.batch = 8
    source = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        alone = [CNN() for _ in range(2)][1]
    update = torch.optim.SGD(alone.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        together.epoch(few)
        order = rows.first.gather(1, torch.rand(rows.first.shape, generator=source).argsort(dim=1))
        for some in order[1].split(8):
            update.zero_grad()
            loss = soft_cross_entropy(margin(alone(few(some))), few.labels[some])
            loss.mean().backward()
            update.step()
    alone.eval()
    expected = margin(alone(few(whole[1]))).detach().numpy()
    assert together.margins(few, whole)[1] == pytest.approx(expected, abs=1e-5)


def test_the_noise_of_the_published_code_is_smaller_by_the_temperature():
    spread = []
    for name in ("sgld", "sgld-code"):
        w = torch.zeros(40_000, requires_grad=True)
        step = ensemble.make_optimizer("mnist", name, {"w": w}, 0)
        step((0.0 * w).sum())
        spread.append(float(w.detach().std()))
    # Initially, the inverse temperature is 100: sqrt(2 lr / beta), and a hundredth of it.
    assert spread[0] == pytest.approx((2 * 0.004 / 100) ** 0.5, rel=0.02)
    assert spread[0] / spread[1] == pytest.approx(100.0, rel=0.02)


@pytest.mark.usefixtures("few")
def test_pu_rows_are_apart_and_positives_are_positive():
    cell = analysis.Cell("mnist", "pu", "adam", 40, 2, 3, 1)
    labels = analysis.pool("mnist")[1]
    for number in range(2):
        pairs = cell.pairs(number)
        assert isinstance(pairs, PUSupersample)
        assert (pairs.n_positive, pairs.n_unlabeled) == (10, 40)
        assert labels[pairs.positive].all()
        assert np.unique(pairs.rows()).size == 100
    assert not np.array_equal(cell.pairs(0).rows(), cell.pairs(1).rows())
    assert cell.membership(1).shape == (3, 50)


@pytest.mark.usefixtures("few")
def test_tables_come_from_what_was_kept(tmp_path):
    cell = analysis.Cell("mnist", "labeled", "adam", 60, 2, 3, 1)
    margins = np.random.default_rng(1).normal(size=(2, 3, 60, 2)).astype(np.float32)
    analysis.keep(tmp_path, cell, margins, {"seed": 0})
    found = analysis.all_tables(analysis.stored(tmp_path), lambda *_: None)
    best = [row for row in found["bounds"] if row["is_rule"] and row["binning"] == "mass"]
    assert [row["bins"] for row in best] == [3]
    assert best[0]["bound"] == pytest.approx(np.sqrt(8 * 3 * np.log(2) / 60))
    assert best[0]["printed_information"] == 0.0
    assert found["recalibration"] == []
    assert found["training"][0]["networks"] == 6
    assert 0.3 < found["training"][0]["accuracy_seen"] < 0.7
    ((again, stored, about),) = analysis.stored(tmp_path)
    assert (again, about["seed"]) == (cell, 0)
    assert np.array_equal(stored, margins)


def test_the_candidates_are_nine_numbers_of_bins_and_the_gap_shrinks():
    assert study.candidates(10_000) == [10, 20, 21, 30, 43, 64, 100, 200, 300]
    for world in ("less calibrated", "better calibrated"):
        few_rows, many = (study.figure1_row(world, n, 20) for n in (100, 10_000))
        assert many["gap"] < few_rows["gap"] < few_rows["bound"]
        assert many["gap"] < many["bound"] < few_rows["bound"]
