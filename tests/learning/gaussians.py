"""A small population with hidden labels and a known distribution."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit

from noneg.learning.contract import PUData


@dataclass(frozen=True)
class TwoGaussians:
    """Unit Gaussians around +m (positive) and -m on the first axis, in 3 dimensions."""

    prior: float = 0.4
    m: float = 1.0

    def draw(self, n, prior, seed):
        rng = np.random.default_rng(seed)
        y = rng.random(n) < prior
        x = rng.normal(size=(n, 3))
        x[:, 0] += np.where(y, self.m, -self.m)
        return x, y

    def posterior(self, x):
        log_odds = 2.0 * self.m * x[:, 0] + np.log(self.prior / (1.0 - self.prior))
        return expit(log_odds)

    def bayes_accuracy(self):
        x, _ = self.draw(200_000, self.prior, 99)
        q = self.posterior(x)
        return float(np.maximum(q, 1.0 - q).mean())

    def two_sample(self, n_pos, n_unl, seed=0):
        pos, _ = self.draw(n_pos, 1.0, seed)
        unl, y = self.draw(n_unl, self.prior, seed + 1)
        return PUData(torch.tensor(pos), torch.tensor(unl)), y

    def one_sample(self, n, c, seed=0):
        """One sample, with exactly a share c of its positives labeled."""
        x, y = self.draw(n, self.prior, seed)
        labeled = np.zeros(n, dtype=bool)
        where = np.flatnonzero(y)
        labeled[where[: int(c * where.size)]] = True
        return PUData(torch.tensor(x[labeled]), torch.tensor(x[~labeled])), y[~labeled]

    def accuracy(self, algorithm, n=20_000):
        x, y = self.draw(n, self.prior, 77)
        score = algorithm.decision(torch.tensor(x, dtype=torch.float32)).cpu().numpy()
        return float(((score >= 0.0) == y).mean())
