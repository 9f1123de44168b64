"""Overhead of the trainer: steps per second compared with a bare PyTorch loop.

python -m benchmarks.learning [--rounds 7] [--threads 1] [--fit]

The network is the PU benchmark's network for tables (256-500-2), with its batches of 64 and 64 and
its SGD. Both loops take turns in one process. The best CPU seconds over all rounds are compared, so
other work on the machine has little effect. `--fit` times `PUClassifier().fit` on 10,000 rows with
50 columns.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import torch
from torch.nn.functional import softplus

from noneg.learning import ALGORITHMS, PUClassifier, PUData, Trainer
from noneg.learning.networks import MLP

N_POS, N_UNL, COLUMNS, SIZE, STEPS, PRIOR = 1080, 2520, 256, 64, 400, 0.4


def rows():
    generator = torch.Generator().manual_seed(0)
    pos = torch.randn(N_POS, COLUMNS, generator=generator) + 0.2
    return pos, torch.randn(N_UNL, COLUMNS, generator=generator)


def endless(n, generator):
    while True:
        order = torch.randperm(n, generator=generator)
        yield from order.split(SIZE)[: n // SIZE]


def entropy(f):
    return softplus(f) - torch.sigmoid(f) * f


def upu(p, u):
    against = softplus(p).mean()
    return PRIOR * softplus(-p).mean() + softplus(u).mean() - PRIOR * against


def nnpu(p, u):
    negative = softplus(u).mean() - PRIOR * softplus(p).mean()
    return PRIOR * softplus(-p).mean() + torch.relu(negative)


class Dist:
    """Dist-PU with its two stages written out."""

    def __init__(self, net, optimizer, unl, generator):
        self.net, self.optimizer, self.generator = net, optimizer, generator
        self.unl, self.soft = unl, torch.zeros(len(unl))
        self.random, self.second, self.weight = np.random.default_rng(0), False, 0.002

    def epoch(self, done):
        if done < 0.5:
            rate = (1.0 + math.cos(2.0 * math.pi * done)) / 2.0
        else:
            if not self.second:
                with torch.no_grad():
                    out = self.net(self.unl)
                    self.soft = torch.sigmoid(out[:, 1] - out[:, 0])
                self.optimizer.state.clear()
                self.second = True
            t = 2.0 * (done - 0.5)
            self.weight = 0.004 * (1.0 - math.cos(t * math.pi / 2.0))
            rate = 0.07 + 0.03 * (1.0 + math.cos(math.pi * t)) / 2.0
        self.optimizer.param_groups[0]["lr"] = 1e-3 * rate

    def loss(self, x, row, p, u):
        s_u = torch.sigmoid(u)
        loss = 1.0 - torch.sigmoid(p).mean() + (s_u.mean() - PRIOR).abs() / (2.0 * PRIOR)
        loss = loss + self.weight * entropy(u.clamp(-10.0, 10.0)).mean()
        if not self.second:
            return loss
        label = torch.cat([torch.ones_like(p), self.soft[row]])
        self.soft[row] = s_u.detach()
        g = self.random.beta(6.0, 6.0)
        order = torch.randperm(len(x), generator=self.generator)
        out = self.net(g * x + (1.0 - g) * x[order])
        f = (out[:, 1] - out[:, 0]).clamp(-10.0, 10.0)
        cross = (softplus(f) - (g * label + (1.0 - g) * label[order]) * f).mean()
        return loss + 5.0 * cross + 0.04 * entropy(f).mean()


def bare(name):
    """A handwritten loop."""
    pos, unl = rows()
    net = MLP(COLUMNS)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    generator = torch.Generator().manual_seed(1)
    from_pos, from_unl = endless(N_POS, generator), endless(N_UNL, generator)
    dist = Dist(net, optimizer, unl, generator)
    start = time.process_time()
    for step in range(STEPS):
        if name == "dist-pu" and step % (N_UNL // SIZE) == 0:
            dist.epoch(step / STEPS)
        row = next(from_unl)
        x = torch.cat([pos[next(from_pos)], unl[row]])
        out = net(x)
        f = out[:, 1] - out[:, 0]
        p, u = f[:SIZE], f[SIZE:]
        loss = (
            dist.loss(x, row, p, u) if name == "dist-pu" else {"upu": upu, "nnpu": nnpu}[name](p, u)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return time.process_time() - start


def trained(name):
    """The same with the trainer, including everything that `fit` does."""
    pos, unl = rows()
    trainer = Trainer(steps=STEPS, batch_size=SIZE, optimizer="sgd", lr=1e-3, device="cpu")
    start = time.process_time()
    trainer.fit(
        ALGORITHMS[name](),
        lambda: MLP(COLUMNS),
        PUData(pos, unl),
        setting="two-sample",
        prior=PRIOR,
    )
    return time.process_time() - start


def steps_per_second(rounds):
    print("| method | bare loop, steps/s | trainer, steps/s | ratio |\n|---|---|---|---|")
    for name in ("upu", "nnpu", "dist-pu"):
        bare(name), trained(name)
        times = [(bare(name), trained(name)) for _ in range(rounds)]
        by_hand, ours = (STEPS / min(column) for column in zip(*times, strict=True))
        print(f"| {name} | {by_hand:.0f} | {ours:.0f} | {ours / by_hand:.2f} |", flush=True)


def fit_seconds():
    rng = np.random.default_rng(0)
    y = rng.random(10_000) < PRIOR
    x = rng.normal(size=(10_000, 50)) + 0.3 * y[:, None]
    labeled = y & (rng.random(10_000) < 0.5)
    wall, cpu = time.perf_counter(), time.process_time()
    PUClassifier(setting="one-sample", prior=PRIOR).fit(x, labeled)
    print(
        f"PUClassifier().fit, 10,000 x 50: {time.perf_counter() - wall:.1f} s, "
        f"{time.process_time() - cpu:.1f} s of CPU"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    steps_per_second(options.rounds)
    if options.fit:
        fit_seconds()


if __name__ == "__main__":
    main()
