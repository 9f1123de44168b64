"""Train the CNN of Futami & Fujisawa (2024), Table 2, on MNIST 4 against 9; many trials at once.

    python train_mnist.py rows.npz scores.npz [--trials 20] [--epochs 200]

`rows.npz` holds `images` (n, 784) and `labels` (1 for a nine). Each trial draws 4000 rows to train
on and 100 more for recalibration; the rest is for testing. The networks of all trials lie side by
side in one grouped convolution, which a GPU runs in the time of a few: they share no weight, no
batch and no statistic. `scores.npz` gets the probability of a nine for every row and trial.
Needs numpy, torch and this library's source folder in PYTHONPATH, and nothing else.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from noneg.learning import SGLD, Annealing

N_TRAIN, N_RECALIBRATION = 4000, 100
CONVOLUTIONS = [(32, 4, 2, 1), (32, 4, 2, 1), (64, 3, 2, 0), (256, 3, 1, 0)]


class Networks(nn.Module):
    """Table 2 of the paper, one network a trial."""

    def __init__(self, trials):
        super().__init__()
        self.trials, channels, layers = trials, 1, []
        for out, kernel, stride, padding in CONVOLUTIONS:
            conv = nn.Conv2d(
                trials * channels, trials * out, kernel, stride, padding, groups=trials
            )
            layers += [conv, nn.BatchNorm2d(trials * out), nn.ReLU()]
            channels = out
        self.body = nn.Sequential(*layers)
        self.heads = nn.ParameterList()
        for before, after in ((256, 128), (128, 2)):
            reach = 1.0 / math.sqrt(before)
            self.heads.append(
                nn.Parameter(torch.empty(trials, before, after).uniform_(-reach, reach))
            )
            self.heads.append(nn.Parameter(torch.empty(trials, 1, after).uniform_(-reach, reach)))

    def forward(self, images):
        """Map (batch, trials, 28, 28) to logits (trials, batch, 2)."""
        x = self.body(images).reshape(len(images), self.trials, -1).transpose(0, 1)
        first, bias, second, last = self.heads
        x = torch.relu(torch.baddbmm(bias, x, first))
        return torch.baddbmm(last, x, second)


def make_optimiser(name, parameters):
    """Return an optimiser of Table 3, and what changes its rate after each step, if anything.

    The paper states the rate of SGLD and its decay, but no temperature. Its code adapts that of
    Harutyunyan et al. (2021), whose schedule `Annealing` is, with a largest inverse temperature of
    4000 for MNIST. That code's noise is smaller than the formula says: it multiplies draws of
    standard deviation 1/beta, not 1, by sqrt(2 lr/beta). Here the noise is the formula's.
    """
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-3, betas=(0.9, 0.999)), None
    optimiser = SGLD(parameters, lr=0.004, inverse_temperature=100.0, seed=0)
    return optimiser, Annealing(optimiser, every=100, high=4000.0)


def batches(n, size, trials, generator, device):
    """Yield the places of each trial's next batch, an epoch long; the last one may be short."""
    order = torch.rand(trials, n, generator=generator, device=device).argsort(dim=1)
    for start in range(0, n, size):
        yield order[:, start : start + size]


def train(images, labels, rows, name, epochs):
    """Return scores of all rows under each trial's network, trained on its own rows."""
    device, trials = images.device, len(rows)
    generator = torch.Generator(device=device).manual_seed(1)
    networks = Networks(trials).to(device)
    optimiser, annealing = make_optimiser(name, networks.parameters())
    size = 128 if name == "adam" else 100
    start = time.time()
    for epoch in range(epochs):
        for place in batches(rows.shape[1], size, trials, generator, device):
            chosen = torch.gather(rows, 1, place)
            logits = networks(images[chosen].transpose(0, 1))
            loss = nn.functional.cross_entropy(
                logits.reshape(-1, 2), labels[chosen].reshape(-1), reduction="sum"
            )
            optimiser.zero_grad()
            (loss / place.shape[1]).backward()
            optimiser.step()
            if annealing is not None:
                annealing.step()
        if epoch % 20 == 0:
            print(name, "epoch", epoch, f"{time.time() - start:.1f} s", flush=True)
    networks.eval()
    out = []
    with torch.no_grad():
        for part in images.split(500):
            stacked = part[:, None].expand(-1, trials, -1, -1)
            out.append(networks(stacked).double().softmax(dim=-1)[:, :, 1].cpu())
    return torch.cat(out, dim=1).numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=200)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with np.load(arguments.source) as stored:
        images, labels = stored["images"], stored["labels"]
    pixels = torch.tensor(images, dtype=torch.float32, device=device).reshape(-1, 28, 28)
    pixels = (pixels / 255.0 - 0.1307) / 0.3081
    random = np.random.default_rng(0)
    order = np.stack([random.permutation(len(labels)) for _ in range(arguments.trials)])
    found = {"order": order.astype(np.int32), "labels": labels}
    rows = torch.tensor(order[:, :N_TRAIN], device=device)
    for name in ("adam", "sgld"):
        y = torch.tensor(labels, dtype=torch.long, device=device)
        found[name] = train(pixels, y, rows, name, arguments.epochs).astype(np.float64)
        np.savez_compressed(arguments.out, **found)


if __name__ == "__main__":
    main()
