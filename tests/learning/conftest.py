"""A small population with hidden labels, and a single torch thread."""

import pytest
import torch
from learning.gaussians import TwoGaussians


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def world():
    return TwoGaussians()
