"""Shapes, sizes and independence of the networks."""

import pytest
import torch
from torch import nn

from noneg.learning.networks import CNN, MLP, ResNet, margin, new_network, resnet32


def test_sizes_of_the_papers():
    count = lambda net: sum(p.numel() for p in net.parameters())  # noqa: E731
    assert count(MLP(256)) == 256 * 500 + 500 + 500 * 2 + 2
    assert count(MLP(784, (100, 100), outputs=1)) == 78500 + 10100 + 101
    # Harutyunyan et al.'s network: convolutions with biases, normalization with scale and shift.
    convs = 32 * 16 + 32 + 32 * 32 * 16 + 32 + 64 * 32 * 9 + 64 + 256 * 64 * 9 + 256
    assert count(CNN()) == convs + 2 * (32 + 32 + 64 + 256) + 256 * 128 + 128 + 128 * 2 + 2


@pytest.mark.parametrize("size", [32, 64])
def test_resnet32_has_the_features_of_the_benchmark(size):
    net = resnet32(size=size).eval()
    assert net.layers[-1].in_features == (64 if size == 32 else 256)
    assert net(torch.zeros(2, 3, size, size)).shape == (2, 2)


def test_group_normalization_keeps_rows_apart():
    x = torch.randn(4, 1, 28, 28)
    for norm, apart in (("group", True), ("batch", False)):
        net = CNN(norm=norm).train()
        assert torch.allclose(net(x)[:1], net(x[[0, 0]])[:1], atol=1e-5) == apart


def test_new_network_redraws_every_weight():
    net = ResNet((4, 8), (1, 1), channels=1)
    other = new_network(net)
    for a, b in zip(net.modules(), other.modules(), strict=True):
        if isinstance(a, (nn.Conv2d, nn.Linear)):
            assert not torch.equal(a.weight, b.weight)
    # The root's own rule takes precedence over the layers' rules.
    stem = [new_network(net).layers[0].weight.detach().std() for _ in range(100)]
    assert float(torch.stack(stem).mean()) == pytest.approx((2 / 36) ** 0.5, rel=0.05)


def test_margin_rejects_more_classes():
    with pytest.raises(ValueError, match="one or two logits"):
        margin(torch.zeros(2, 3))
    assert margin(torch.ones(3, 1)).shape == (3,)
