"""Every algorithm goes on after an interruption as if there had been none."""

import pytest
import torch
from torch import nn

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.contract import PUData
from noneg.learning.training import Trainer

# The oracle has no state of its own, and wants labels.
CASES = [
    (name, variant)
    for name, kind in ALGORITHMS.items()
    for variant in kind.variants
    if name != "pn-oracle"
]


class Interrupted(Exception):  # noqa: N818
    pass


class Net(nn.Sequential):
    """With batch statistics and dropout, whose state must come back too."""

    def __init__(self):
        super().__init__(
            nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        )


def stop(_, step):
    if step > 20:  # the file of step 20 is written by then
        raise Interrupted
    return {}


def weights(fit):
    modules = [*fit.algorithm.players.values(), *fit.algorithm.frozen.values()]
    return [value for module in modules for value in module.state_dict().values()]


@pytest.mark.parametrize(("name", "variant"), CASES)
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
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert torch.equal(one, other)
