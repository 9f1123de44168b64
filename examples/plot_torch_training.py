"""
Calibration of a network while it trains
========================================

The metrics in `noneg.torch` are updated batch by batch, can be summed over processes, and stay on
the GPU. Here they monitor a custom training loop. There is no need to keep the scores, because the
state is a sketch of fixed size.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from noneg.torch import PUAUROC, PUCalibrationError

torch.manual_seed(0)
prior = 0.4


def draw(n_positive, n_unlabeled):
    """Return features, and flags for the labeled positives."""
    positive = torch.rand(n_unlabeled) < prior
    sign = torch.cat([torch.ones(n_positive), 2.0 * positive - 1.0])
    X = torch.randn(n_positive + n_unlabeled, 20)
    X[:, 0] += sign
    labeled = torch.cat([torch.ones(n_positive), torch.zeros(n_unlabeled)]).bool()
    return X, labeled


X, labeled = draw(300, 3000)
X_new, labeled_new = draw(1000, 5000)
network = nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)


def nonnegative_risk(z, flags):
    """nnPU with the logistic loss."""
    positive, rest = z[flags], z[~flags]
    gain = prior * nn.functional.softplus(-positive).mean()
    negatives = (
        nn.functional.softplus(rest).mean() - prior * nn.functional.softplus(positive).mean()
    )
    return gain + torch.relu(negatives)


# %%
# Create two metrics; `setting` and `prior` are given once.

watched = {
    "calibration error": PUCalibrationError(setting="two-sample", prior=prior),
    "AUC": PUAUROC(setting="two-sample", prior=prior),
}
history = {name: [] for name in watched}

for _epoch in range(15):
    for rows in torch.randperm(len(X)).split(330):
        optimizer.zero_grad()
        nonnegative_risk(network(X[rows]), labeled[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        for rows in torch.arange(len(X_new)).split(1000):
            for metric in watched.values():
                metric.update(torch.sigmoid(network(X_new[rows])), labeled_new[rows])
    for name, metric in watched.items():
        history[name].append(metric.compute().item())
        metric.reset()

# %%
# The AUC hardly changes. The calibration error decreases, then increases again when the network
# overfits, so it shows when to stop without a single negative.

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, (name, values) in zip(axes, history.items(), strict=True):
    ax.plot(range(1, 16), values, marker=".")
    ax.set(xlabel="epoch", title=name)
