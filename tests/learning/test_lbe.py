"""LBE: expectation, the two distributions in its rounds, and the prior."""

import math

import pytest
import torch
from learning.fixed import Table, rows

from noneg.learning import networks
from noneg.learning.algorithms.lbe import LBE
from noneg.learning.contract import Batch, Epoch, PUData, View
from noneg.learning.task import make_task

# Rows of P and of U in three cells.
POS, UNL = torch.tensor([2, 10, 28]), torch.tensor([20, 12, 8])
LABELED = POS / (POS + UNL)  # probability of a label, e, since both samples have 40 rows
LOGIT = torch.logit(LABELED.double())


def make(variant, h, eta, setting="one-sample", prior=None):
    """LBE on the cells, with tables as networks; frozen copies hold h and eta."""
    pos, unl = rows(POS), rows(UNL)
    lbe = LBE(variant=variant)
    task = make_task(len(pos), len(unl), setting=setting, prior=prior)
    lbe.begin(Table(h), task, PUData(pos, unl), 0)
    with torch.no_grad():
        lbe.frozen["bias"].margins.copy_(torch.as_tensor(eta))
    lbe.state["rounds"] = 1
    x = torch.cat([pos, unl])
    n = len(pos)
    one = Batch(x, View(x[:n], torch.arange(n)), View(x[n:], torch.arange(len(unl))), 0.5)
    return lbe, one


def slope(lbe, one, player, margins):
    """Return the gradient of a player's loss at given margins."""
    network = lbe.players[player]
    with torch.no_grad():
        network.margins.copy_(margins)
    return network.double_gradient(lbe.loss(player, one))


def test_expectation_by_definition():
    h, eta = torch.tensor([0.2, 0.5, 0.9]).double(), torch.tensor([0.3, 0.6, 0.1]).double()
    lbe, _ = make("ref", torch.logit(h), torch.logit(eta))
    wanted = (1 - eta) * h / ((1 - eta) * h + 1 - h)
    got = lbe.expected(torch.arange(3)[:, None])
    torch.testing.assert_close(got.double(), wanted, atol=1e-6, rtol=0.0)


@pytest.mark.parametrize("t", [1, 2, 7])
def test_odds_distribution_of_the_benchmark(t):
    """odds(h_t) = (t + 1) odds(e): the optimum of each round, with eta fitted to the labels."""
    lbe, one = make("bench", LOGIT + math.log(t), LOGIT)
    at = LOGIT + math.log(t + 1)
    assert slope(lbe, one, "net", at).abs().max() < 1e-4
    assert slope(lbe, one, "bias", LOGIT).abs().max() < 1e-4
    assert slope(lbe, one, "net", at + 0.1).abs().min() > 0.1


def test_original_stops_after_one_round():
    """From h = e and eta = 1/2: h = e (3 - 2 e) / (2 - e), and h eta = e from then on."""
    e = LABELED.double()
    h = e * (3 - 2 * e) / (2 - e)
    first, one = make("ref", LOGIT, torch.zeros(3))
    again, _ = make("ref", torch.logit(h), torch.logit(e / h))
    for lbe in (first, again):
        assert slope(lbe, one, "net", torch.logit(h)).abs().max() < 1e-6
        assert slope(lbe, one, "bias", torch.logit(e / h)).abs().max() < 1e-6
    assert slope(first, one, "net", torch.logit(h) + 0.1).abs().min() > 1e-3


def test_warm_up_trains_the_classifier_on_p_against_u():
    lbe, one = make("ref", torch.zeros(3), torch.zeros(3))
    lbe.state["rounds"] = 0
    assert list(lbe.turns()) == ["net"]
    assert slope(lbe, one, "net", LOGIT).abs().max() < 1e-6
    data = PUData(rows(POS), rows(UNL))
    for number, progress, rounds in ((0, 0.0, 0), (1, 0.05, 0), (2, 0.1, 1), (3, 0.15, 2)):
        with torch.no_grad():
            lbe.players["net"].margins.fill_(float(number))
            lbe.start_epoch(Epoch(number, progress, data, None, {}))
        assert lbe.state["rounds"] == rounds
    assert float(lbe.frozen["net"].margins.detach()[0]) == 3.0
    assert list(lbe.turns()) == ["net", "bias"]


def test_benchmark_sums_after_the_warm_up_alone():
    """The loss is mean_P + mean_U in the warm-up and 40 times that afterward, with 40 rows of
    each."""
    lbe, one = make("bench", torch.zeros(3), torch.zeros(3))
    lbe.state["rounds"] = 0
    at = LOGIT + 0.3
    first = slope(lbe, one, "net", at)
    odds = torch.sigmoid(at)
    wanted = (UNL / UNL.sum()) * odds - (POS / POS.sum()) * (1.0 - odds)
    torch.testing.assert_close(first.double(), wanted, atol=1e-6, rtol=0.0)
    lbe.state["rounds"] = 1
    with torch.no_grad():
        lbe.frozen["net"].margins.fill_(-40.0)  # no row is expected to be positive
    torch.testing.assert_close(slope(lbe, one, "net", at), 40.0 * first, atol=1e-4, rtol=0.0)


def test_benchmark_starts_both_networks_alike():
    for variant, alike in (("bench", True), ("ref", False)):
        lbe = LBE(variant=variant)
        task = make_task(40, 40, setting="one-sample", prior=None)
        data = PUData(torch.zeros(40, 3), torch.zeros(40, 3))
        lbe.begin(networks.MLP(3), task, data, 0)
        one, two = (next(iter(lbe.players[name].parameters())) for name in ("net", "bias"))
        assert bool((one == two).all()) is alike


def test_probabilities_move_from_the_training_rows_to_the_population():
    """Two samples of 40: with prior .3, a share (40 + 12) / 80 of the training rows is positive."""
    lbe, _ = make("ref", LOGIT, torch.zeros(3), "two-sample", 0.3)
    assert lbe.shift == pytest.approx(math.log(0.3 / 0.7) - math.log(0.65 / 0.35))
    assert make("ref", LOGIT, torch.zeros(3), "one-sample", 0.6)[0].shift == 0.0
    assert make("ref", LOGIT, torch.zeros(3), "two-sample")[0].shift == 0.0
