"""NcPU: the alignment, the labels with regret, and the networks."""

import numpy as np
import pytest
import torch
from learning.ranking import fit
from torch import nn

from noneg.learning.algorithms.ncpu import NcPU, alignment
from noneg.learning.contract import Batch, PUData, View
from noneg.learning.networks import MLP, ResNet
from noneg.learning.task import make_task
from noneg.learning.training import Trainer
from noneg.learning.views import Cropped

ROWS = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
DATA = PUData(ROWS[:4], ROWS[4:])
ROW = torch.tensor([5, 1, 0, 2])


def begin(**options):
    method = NcPU(width=5, **options)
    task = make_task(4, 6, setting="one-sample", prior=None)
    torch.manual_seed(1)
    method.begin(MLP(3, (7,)), task, DATA, 0)
    return method


def batch(strong=None):
    """Four positives, and four of the six unlabeled rows."""
    x = torch.cat([DATA.pos, DATA.unl[ROW]])
    other = (None, None) if strong is None else (strong[:4], strong[4:])
    return Batch(x, View(x[:4], torch.arange(4), other[0]), View(x[4:], ROW, other[1]), 0.1)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_alignment_by_definition():
    rng = np.random.default_rng(0)
    q, k = unit(rng.normal(size=(2, 6, 5)))
    positive = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    rows = [
        np.mean([2 * np.sqrt(1 - q[i] @ k[j]) for j in range(6) if positive[j] == positive[i]])
        for i in range(6)
    ]
    found = alignment(*map(torch.tensor, (q, k, positive)))
    assert float(found) == pytest.approx(np.mean(rows), abs=1e-7)


def test_close_pairs_have_the_largest_slopes():
    """With an angle t, the slope of 2 sqrt(1 - cos t) is sqrt(2) cos(t/2)."""
    angle = torch.tensor([0.1, 1.0, 2.0, 3.0], requires_grad=True)
    k, one = torch.tensor([[1.0, 0.0]]), torch.ones(1)
    losses = [alignment(torch.stack([t.cos(), t.sin()])[None], k, one) for t in angle]
    (slope,) = torch.autograd.grad(sum(losses), angle)
    torch.testing.assert_close(slope, 2**0.5 * (angle.detach() / 2).cos())


def test_slope_of_equal_rows_is_finite():
    q = torch.tensor([[1.0, 0.0]], requires_grad=True)
    alignment(q, q.detach(), torch.ones(1)).backward()
    assert q.grad.isfinite().all()


def test_loss_by_hand():
    method, strong = begin(weight=3.0), torch.randn(8, 3)
    net, target = method.players["net"], method.frozen["target"]
    with torch.no_grad():
        target[1][0].weight.mul_(0.5)  # no longer equal to the network
        inner = net.embed[0](batch().x)
        two = net.head(inner).numpy()
        q = unit(net.predictor(net.embed[1](inner)).numpy())
        k = unit(target[1](target[0](strong)).numpy())
    f = two[:, 1] - two[:, 0]
    score = 1 / (1 + np.exp(-f))
    positive = np.concatenate([np.ones(4), f[4:] >= 0])
    prototypes = np.stack([q[positive == c].sum(0) for c in (0, 1)])
    nearer = q[4:] @ unit(prototypes[1]) > q[4:] @ unit(prototypes[0] + 1e-12)
    label = 0.99 * 0.5 + 0.01 * nearer
    means = 0.99 * 0.5 + 0.01 * np.array(
        [np.maximum(score, 1 - score)[4:].mean(), 1 - score[4:].mean(), score[4:].mean()]
    )
    threshold = means[0] * means[1] / means[1:].max()
    s = np.where(1 - score[4:] >= threshold, 0.0, label)
    assert 0 < (s == 0.0).sum() < 4
    cross = -np.log(score[:4]).mean()
    cross -= (s * np.log(score[4:]) + (1 - s) * np.log(1 - score[4:])).mean()
    near = alignment(*map(torch.tensor, (q, k, positive)))
    value = method.loss("net", batch(strong)).detach()
    assert float(value) == pytest.approx(cross + 3.0 * float(near), rel=1e-5)
    np.testing.assert_allclose(method.state["means"].numpy(), means, rtol=1e-6)
    after = np.full(6, 0.5)
    after[ROW.numpy()] = label
    np.testing.assert_allclose(method.state["labels"].numpy(), after, rtol=1e-6)


def test_a_row_returns_to_its_label_when_the_classifier_regrets():
    method = begin(keep_label=0.5)
    method.state["prototypes"][1] = torch.eye(5)[0]
    q, positive, row = torch.eye(5)[[0, 0]], torch.ones(2), torch.tensor([3])
    labels = [
        method.labels(q, torch.tensor([score]), positive, row).item() for score in (0.1, 0.1, 0.9)
    ]
    assert labels == [0.0, 0.0, 0.9375]
    assert method.state["labels"][3] == 0.9375


def test_the_threshold_rises_with_confidence():
    method, found = begin(keep=0.5), []
    for sure in (0.5, 0.8, 0.95, 0.99):
        score = torch.tensor([sure, 1.0 - sure])
        method.labels(torch.eye(5)[[0, 0]], score, torch.tensor([1.0, 0.0]), torch.arange(2))
        found.append(float(method.state["means"][0]))
    assert found == sorted(found)
    assert found[-1] > 0.85


def test_target_follows_slowly():
    method = begin(keep=0.9)
    before = [p.clone() for p in method.frozen["target"].parameters()]
    with torch.no_grad():
        for p in method.players["net"].parameters():
            p.add_(1.0)
        method.after_step(batch())
    for old, new in zip(before, method.frozen["target"].parameters(), strict=True):
        torch.testing.assert_close(new, old + 0.1)


def test_network_keeps_its_outputs():
    net, x = MLP(3, (7,)), torch.randn(5, 3)
    expected = net(x)
    method = NcPU()
    method.frozen = {}
    torch.testing.assert_close(method.build(net)["net"](x), expected)
    with pytest.raises(ValueError, match="'network' must have a linear layer"):
        method.build(nn.Flatten())


def test_network_may_be_a_single_layer():
    net, x = nn.Linear(3, 2), torch.randn(5, 3)
    expected = net(x)
    method = NcPU()
    method.frozen = {}
    built = method.build(net)["net"]
    torch.testing.assert_close(built(x), expected)
    assert built.head is net
    trainer = Trainer(steps=2, batch_size=4)
    trained = trainer.fit(NcPU(width=4), nn.Linear(3, 2), DATA, setting="two-sample").algorithm
    assert trained.decision(DATA.unl).isfinite().all()


def test_hidden_labels_are_found_in_two_gaussians(world):
    data, hidden = world.two_sample(500, 1000)
    trained = fit(NcPU(keep_label=0.9), data, world.prior, epochs=40, batch_size=100)
    right = ((trained.state["labels"].numpy() >= 0.5) == hidden).mean()
    # Random labels with the right count have .52; the Bayes rule has .84.
    assert right > 0.65


def test_images_with_two_views():
    images = torch.rand(24, 3, 8, 8, generator=torch.Generator().manual_seed(3))
    data = PUData(images[:8], images[8:], weak=Cropped(1), strong=Cropped(1))
    task = make_task(8, 16, setting="two-sample", prior=None)
    method = NcPU(width=4)
    method.begin(ResNet((4, 8), (1, 1), size=8), task, data, 0)
    x = torch.cat([images[:4], images[8:12]])
    rows = torch.arange(4)
    one = Batch(x, View(x[:4], rows, x[:4].flip(-1)), View(x[4:], rows, x[4:].flip(-1)), 0.0)
    method.loss("net", one).backward()
    assert method.decision(images[8:]).shape == (16,)
