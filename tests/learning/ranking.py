"""How well a method ranks rows of the two-Gaussian population, by seed.

``PYTHONPATH=tests python tests/learning/ranking.py`` writes the record: mean and standard deviation
over seeds 1 to 20 for every method without a guarantee. The test uses seed 0, so that the
tolerances do not depend on the tested run.
"""

import csv
from pathlib import Path
from statistics import mean, stdev

import torch

from noneg.learning.algorithms import ALGORITHMS
from noneg.learning.networks import MLP
from noneg.learning.training import Trainer

RECORD = Path(__file__).with_suffix(".csv")
# If the distribution were normal, a test with another seed would fail once in 30,000 times.
DEVIATIONS = 4.0


def make(name, variant="ref", hidden=None):
    """Return an algorithm; only the oracle gets the hidden labels."""
    kind = ALGORITHMS[name]
    options = {"truth": torch.as_tensor(hidden)} if "truth" in kind.__dataclass_fields__ else {}
    return kind(variant=variant, **options)


def fit(algorithm, data, prior, *, setting="two-sample", held=None, **options):
    """Train a small network."""
    trainer = Trainer(**{"batch_size": 256, "lr": 0.01, "epochs": 50} | options)
    return trainer.fit(
        algorithm,
        lambda: MLP(3, (8,)),
        data,
        setting=setting,
        prior=prior,
        validation=(held or data) if algorithm.needs_validation else None,
    ).algorithm


def ranking(name, world, seed):
    """Return the AUC of a method trained on a new draw of 1,000 positives and 4,000 unlabeled
    rows."""
    data, hidden = world.two_sample(1000, 4000, seed=1 + 10 * seed)
    trained = fit(make(name, "ref", hidden), data, world.prior, epochs=30, seed=seed)
    x, y = world.draw(4000, world.prior, 8 + 10 * seed)
    ranks = trained.decision(torch.tensor(x, dtype=torch.float32)).numpy().argsort().argsort()
    return float((ranks[y].mean() - (y.sum() - 1) / 2) / (~y).sum())


def least(name):
    """Return the smallest AUC that variation between seeds explains."""
    with RECORD.open() as file:
        row = next(row for row in csv.DictReader(file) if row["method"] == name)
    return float(row["mean"]) - DEVIATIONS * float(row["deviation"])


def main(seeds=20):
    from learning.gaussians import TwoGaussians

    torch.set_num_threads(1)
    with RECORD.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "seeds", "mean", "deviation", "smallest"])
        for name in sorted(name for name, kind in ALGORITHMS.items() if not kind.consistent):
            values = [ranking(name, TwoGaussians(), seed) for seed in range(1, seeds + 1)]
            numbers = (mean(values), stdev(values), min(values))
            writer.writerow([name, seeds, *(f"{x:.4f}" for x in numbers)])


if __name__ == "__main__":
    main()
